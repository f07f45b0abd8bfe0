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

static struct json *record_to_json(const struct vse_record *);
static void record_to_text(const struct vse_record *, struct ds *);
static struct json *records_to_json(const struct vse_records *);
static void records_to_text(const struct vse_records *, struct ds *);
static void value_to_text(const struct json *, struct ds *);

void
vse_record_init(struct vse_record *r)
{
    memset(r, 0, sizeof *r);
}

void
vse_record_destroy(struct vse_record *r)
{
    for (size_t i = 0; i < r->n; i++) {
        free(r->fields[i].key);
        json_destroy(r->fields[i].value);
    }
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
vse_records_init(struct vse_records *rs)
{
    memset(rs, 0, sizeof *rs);
}

void
vse_records_destroy(struct vse_records *rs)
{
    for (size_t i = 0; i < rs->n; i++) {
        vse_record_destroy(&rs->records[i]);
    }
    free(rs->records);
}

struct vse_record *
vse_records_add(struct vse_records *rs)
{
    if (rs->n >= rs->allocated) {
        rs->records = x2nrealloc(rs->records, &rs->allocated,
                                 sizeof *rs->records);
    }
    vse_record_init(&rs->records[rs->n]);
    return &rs->records[rs->n++];
}

static bool
wants_json(struct unixctl_conn *conn)
{
    return (unixctl_command_get_output_format(conn)
            == UNIXCTL_OUTPUT_FMT_JSON);
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

void
vse_records_reply(const struct vse_records *rs, struct unixctl_conn *conn)
{
    if (wants_json(conn)) {
        unixctl_command_reply_json(conn, records_to_json(rs));
    } else {
        struct ds ds = DS_EMPTY_INITIALIZER;

        records_to_text(rs, &ds);
        unixctl_command_reply(conn, ds_cstr(&ds));
        ds_destroy(&ds);
    }
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

static struct json *
records_to_json(const struct vse_records *rs)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < rs->n; i++) {
        json_array_add(array, record_to_json(&rs->records[i]));
    }
    return array;
}

static void
put_cell(struct ds *ds, const char *text, size_t width, bool last)
{
    if (last) {
        ds_put_format(ds, "%s\n", text);
    } else {
        ds_put_format(ds, "%-*s  ", (int) width, text);
    }
}

static size_t
column_width(const struct vse_records *rs, size_t column, struct ds *cell)
{
    size_t width = strlen(rs->records[0].fields[column].key);

    for (size_t i = 0; i < rs->n; i++) {
        ds_clear(cell);
        value_to_text(rs->records[i].fields[column].value, cell);
        width = MAX(width, cell->length);
    }
    return width;
}

static void
records_to_text(const struct vse_records *rs, struct ds *ds)
{
    if (!rs->n) {
        return;
    }

    const struct vse_record *first = &rs->records[0];
    size_t *widths = xmalloc(first->n * sizeof *widths);
    struct ds cell = DS_EMPTY_INITIALIZER;

    for (size_t j = 0; j < first->n; j++) {
        widths[j] = column_width(rs, j, &cell);
        put_cell(ds, first->fields[j].key, widths[j], j + 1 == first->n);
    }
    for (size_t i = 0; i < rs->n; i++) {
        for (size_t j = 0; j < first->n; j++) {
            ds_clear(&cell);
            value_to_text(rs->records[i].fields[j].value, &cell);
            put_cell(ds, ds_cstr(&cell), widths[j], j + 1 == first->n);
        }
    }
    ds_destroy(&cell);
    free(widths);
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
