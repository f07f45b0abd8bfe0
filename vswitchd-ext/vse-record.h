/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_RECORD_H
#define VSE_RECORD_H 1

/* What an appctl command answers, said once and shown as text or as JSON.
 *
 * A record is a list of fields in the order in which text shows them.  One
 * record is a JSON object, or a line "key: value" for each field.  A list of
 * records with the same keys is a JSON array, or a table under a line of keys.
 *
 * Main thread only. */

#include <stddef.h>
#include <stdint.h>

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

struct vse_records {
    struct vse_record *records;
    size_t n, allocated;
};

void vse_records_init(struct vse_records *);
void vse_records_destroy(struct vse_records *);

/* Appends an empty record and returns it; valid until the next call. */
struct vse_record *vse_records_add(struct vse_records *);

/* Answer the command of 'conn', in the format it asks for. */
void vse_record_reply(const struct vse_record *, struct unixctl_conn *);
void vse_records_reply(const struct vse_records *, struct unixctl_conn *);

#endif /* vse-record.h */
