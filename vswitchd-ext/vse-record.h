/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_RECORD_H
#define VSE_RECORD_H 1

/* What an appctl command answers, said once and shown as text or as JSON.
 *
 * A record is a list of fields in the order in which text shows them.  One
 * record is a JSON object, or a line "key: value" for each field.  A list of
 * records with the same keys is a JSON array, or a table under a line of keys.
 * A list may be long: of its records, the last excepted, only the text of
 * their values is kept, or their JSON.
 *
 * Main thread only. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "openvswitch/dynamic-string.h"

struct json;
struct unixctl_conn;

struct vse_field {
    char *key;
    struct json *value;
};

struct vse_record {
    struct vse_field *fields;
    size_t n, allocated;
};

void vse_record_init(struct vse_record *);
void vse_record_destroy(struct vse_record *);

/* Append a field.  vse_record_put() takes ownership of 'value'; a null string
 * is not put at all. */
void vse_record_put(struct vse_record *, const char *key, struct json *value);
void vse_record_put_string(struct vse_record *, const char *key,
                           const char *value);
void vse_record_put_int(struct vse_record *, const char *key, int64_t value);

/* Empties the record. */
void vse_record_clear(struct vse_record *);

struct vse_records {
    struct unixctl_conn *conn;
    struct vse_record last;
    bool has_last;
    size_t n;                      /* 'last' included. */

    /* What is kept of the others. */
    struct json *array;            /* For JSON, else NULL. */
    struct ds cells;               /* For text: keys and values, each with a
                                    * zero byte behind it. */
    size_t *widths;                /* Characters, of 'n_columns' columns. */
    size_t n_columns;
};

/* Begins a list that will answer the command of 'conn', in the format it asks
 * for. */
void vse_records_init(struct vse_records *, struct unixctl_conn *conn);
void vse_records_destroy(struct vse_records *);

/* Appends an empty record and returns it; valid until the next call. */
struct vse_record *vse_records_add(struct vse_records *);

/* Answer the command: vse_record_reply() that of 'conn'. */
void vse_record_reply(const struct vse_record *, struct unixctl_conn *conn);
void vse_records_reply(struct vse_records *);

/* Likewise, with a list that may go on: 'more' says how to ask for the rest,
 * or is NULL.  In JSON the list is the member 'name' of an object, and 'more'
 * another. */
void vse_records_reply_part(struct vse_records *, const char *name,
                            const char *more);

#endif /* vse-record.h */
