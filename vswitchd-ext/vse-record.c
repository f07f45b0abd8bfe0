/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include <config.h>

#include "vse-record.h"

#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "unixctl.h"
#include "util.h"

static bool wants_json(struct unixctl_conn *);
static void keep_last(struct vse_records *);
static struct json *record_to_json(const struct vse_record *);
static void record_to_text(const struct vse_record *, struct ds *);
static void records_to_text(const struct vse_records *, struct ds *);
static void value_to_text(const struct json *, struct ds *);

void
vse_record_init(struct vse_record *r)
{
    memset(r, 0, sizeof *r);
}

void
vse_record_clear(struct vse_record *r)
{
    for (size_t i = 0; i < r->n; i++) {
        free(r->fields[i].key);
        json_destroy(r->fields[i].value);
    }
    r->n = 0;
}

void
vse_record_destroy(struct vse_record *r)
{
    vse_record_clear(r);
    free(r->fields);
}

void
vse_record_put(struct vse_record *r, const char *key, struct json *value)
{
    if (r->n >= r->allocated) {
        r->fields = x2nrealloc(r->fields, &r->allocated, sizeof *r->fields);
    }
    r->fields[r->n++] = (struct vse_field) { xstrdup(key), value };
}

void
vse_record_put_string(struct vse_record *r, const char *key,
                      const char *value)
{
    if (value) {
        vse_record_put(r, key, json_string_create(value));
    }
}

void
vse_record_put_int(struct vse_record *r, const char *key, int64_t value)
{
    vse_record_put(r, key, json_integer_create(value));
}

void
vse_records_init(struct vse_records *rs, struct unixctl_conn *conn)
{
    memset(rs, 0, sizeof *rs);
    rs->conn = conn;
    rs->array = wants_json(conn) ? json_array_create_empty() : NULL;
    vse_record_init(&rs->last);
    ds_init(&rs->cells);
}

void
vse_records_destroy(struct vse_records *rs)
{
    vse_record_destroy(&rs->last);
    json_destroy(rs->array);
    ds_destroy(&rs->cells);
    free(rs->widths);
}

struct vse_record *
vse_records_add(struct vse_records *rs)
{
    keep_last(rs);
    rs->has_last = true;
    rs->n++;
    return &rs->last;
}

void
vse_record_reply(const struct vse_record *r, struct unixctl_conn *conn)
{
    if (wants_json(conn)) {
        unixctl_command_reply_json(conn, record_to_json(r));
    } else {
        struct ds ds = DS_EMPTY_INITIALIZER;

        record_to_text(r, &ds);
        unixctl_command_reply(conn, ds_cstr(&ds));
        ds_destroy(&ds);
    }
}

static struct json *
take_array(struct vse_records *rs)
{
    struct json *array = rs->array;

    rs->array = NULL;
    return array;
}

void
vse_records_reply(struct vse_records *rs)
{
    keep_last(rs);
    if (rs->array) {
        unixctl_command_reply_json(rs->conn, take_array(rs));
    } else {
        struct ds ds = DS_EMPTY_INITIALIZER;

        records_to_text(rs, &ds);
        unixctl_command_reply(rs->conn, ds_cstr(&ds));
        ds_destroy(&ds);
    }
}

void
vse_records_reply_part(struct vse_records *rs, const char *name,
                       const char *more)
{
    keep_last(rs);
    if (rs->array) {
        struct json *object = json_object_create();

        json_object_put(object, name, take_array(rs));
        json_object_put(object, "more", more ? json_string_create(more)
                                             : json_null_create());
        unixctl_command_reply_json(rs->conn, object);
    } else {
        struct ds ds = DS_EMPTY_INITIALIZER;

        records_to_text(rs, &ds);
        if (more) {
            ds_put_format(&ds, "more: %s\n", more);
        }
        unixctl_command_reply(rs->conn, ds_cstr(&ds));
        ds_destroy(&ds);
    }
}

static bool
wants_json(struct unixctl_conn *conn)
{
    return (unixctl_command_get_output_format(conn)
            == UNIXCTL_OUTPUT_FMT_JSON);
}

/* Ends the cell of 'column' that begins at 'start'. */
static void
end_cell(struct vse_records *rs, size_t column, size_t start)
{
    rs->widths[column] = MAX(rs->widths[column], rs->cells.length - start);
    ds_put_char(&rs->cells, '\0');
}

/* Puts a line of keys, those of 'r', above the first record. */
static void
put_keys(struct vse_records *rs, const struct vse_record *r)
{
    rs->n_columns = r->n;
    rs->widths = xcalloc(r->n, sizeof *rs->widths);
    for (size_t i = 0; i < r->n; i++) {
        size_t start = rs->cells.length;

        ds_put_cstr(&rs->cells, r->fields[i].key);
        end_cell(rs, i, start);
    }
}

static void
put_values(struct vse_records *rs, const struct vse_record *r)
{
    ovs_assert(r->n == rs->n_columns);
    for (size_t i = 0; i < r->n; i++) {
        size_t start = rs->cells.length;

        value_to_text(r->fields[i].value, &rs->cells);
        end_cell(rs, i, start);
    }
}

/* Keeps what is needed of the last record, and empties it. */
static void
keep_last(struct vse_records *rs)
{
    if (!rs->has_last) {
        return;
    } else if (rs->array) {
        struct json *object = record_to_json(&rs->last);

        json_array_add(rs->array, json_serialized_object_create(object));
        json_destroy(object);
    } else {
        if (!rs->widths) {
            put_keys(rs, &rs->last);
        }
        put_values(rs, &rs->last);
    }
    vse_record_clear(&rs->last);
    rs->has_last = false;
}

static struct json *
record_to_json(const struct vse_record *r)
{
    struct json *object = json_object_create();

    for (size_t i = 0; i < r->n; i++) {
        json_object_put(object, r->fields[i].key,
                        json_clone(r->fields[i].value));
    }
    return object;
}

static void
record_to_text(const struct vse_record *r, struct ds *ds)
{
    for (size_t i = 0; i < r->n; i++) {
        ds_put_format(ds, "%s: ", r->fields[i].key);
        value_to_text(r->fields[i].value, ds);
        ds_put_char(ds, '\n');
    }
}

/* Appends 'cell', and, unless it is the last of its line, as many spaces as
 * the widest of its column has characters more, and two. */
static void
put_cell(struct ds *ds, const char *cell, size_t n, size_t width, bool last)
{
    ds_put_buffer(ds, cell, n);
    ds_put_char_multiple(ds, last ? '\n' : ' ', last ? 1 : width - n + 2);
}

static void
records_to_text(const struct vse_records *rs, struct ds *ds)
{
    const char *cell = rs->cells.string;
    const char *end = cell + rs->cells.length;

    while (cell < end) {
        for (size_t i = 0; i < rs->n_columns; i++) {
            size_t n = strlen(cell);

            put_cell(ds, cell, n, rs->widths[i], i + 1 == rs->n_columns);
            cell += n + 1;
        }
    }
}

static void
object_to_text(const struct json *object, struct ds *ds)
{
    const struct shash_node **nodes = shash_sort(json_object(object));
    size_t n = shash_count(json_object(object));

    for (size_t i = 0; i < n; i++) {
        ds_put_format(ds, "%s%s=", i ? ", " : "", nodes[i]->name);
        value_to_text(nodes[i]->data, ds);
    }
    free(nodes);
}

/* An array reads "a, b", an object "k=v, k=v", a string as it is. */
static void
value_to_text(const struct json *value, struct ds *ds)
{
    switch (value->type) {
    case JSON_STRING:
        ds_put_cstr(ds, json_string(value));
        break;

    case JSON_ARRAY:
        for (size_t i = 0; i < json_array_size(value); i++) {
            ds_put_cstr(ds, i ? ", " : "");
            value_to_text(json_array_at(value, i), ds);
        }
        break;

    case JSON_OBJECT:
        object_to_text(value, ds);
        break;

    case JSON_NULL:
        ds_put_char(ds, '-');
        break;

    case JSON_FALSE:
    case JSON_TRUE:
    case JSON_INTEGER:
    case JSON_REAL:
    case JSON_SERIALIZED_OBJECT:
    case JSON_N_TYPES:
    default:
        json_to_ds(value, 0, ds);
        break;
    }
}
