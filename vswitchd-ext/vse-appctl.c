/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include <config.h>

#include "vse-appctl.h"

#include <stdlib.h>
#include <string.h>

#include "nat64.h"
#include "openvswitch/json.h"
#include "timeval.h"
#include "unixctl.h"
#include "util.h"
#include "vse-action.h"
#include "vse-config.h"
#include "vse-expire.h"
#include "vse-query.h"
#include "vse-record.h"
#include "vse-sessions.h"
#include "vse-zones.h"
#include "xlat-prefix.h"
#include "xlat-zone.h"

/* The main thread makes and sends an answer whole: it has to be bounded.
 * (Sessions come in pieces.) */
#define MAX_LISTED 10000

static unixctl_cb_func xlat_list, xlat_show, xlat_mappings, xlat_sessions,
    xlat_query, xlat_stats, xlat_flush;

void
vse_appctl_init(void)
{
    unixctl_command_register("xlat/list", "", 0, 0, xlat_list, NULL);
    unixctl_command_register("xlat/show", "zone", 1, 1, xlat_show, NULL);
    unixctl_command_register("xlat/mappings", "zone [text]", 1, 2,
                             xlat_mappings, NULL);
    unixctl_command_register("xlat/sessions",
                             "zone [filter] [--limit=n] [--cursor=n]", 1, 4,
                             xlat_sessions, NULL);
    unixctl_command_register("xlat/query", "zone tuple|address", 2, 2,
                             xlat_query, NULL);
    unixctl_command_register("xlat/stats", "[zone]", 0, 1, xlat_stats, NULL);
    unixctl_command_register("xlat/flush", "zone", 1, 1, xlat_flush, NULL);
}

static void
reply_error(struct unixctl_conn *conn, char *error)
{
    unixctl_command_reply_error(conn, error);
    free(error);
}

/* Returns the zone that 'id' names, or answers 'conn' with an error. */
static const struct vse_config_zone *
find_row(struct unixctl_conn *conn, const char *id)
{
    const struct vse_config_zone *row = vse_config_find(id);

    if (!row) {
        reply_error(conn, xasprintf("no zone \"%s\"", id));
    }
    return row;
}

/* Likewise, the zone as packets see it. */
static const struct xlat_zone *
find_zone(struct unixctl_conn *conn, const char *id)
{
    const struct vse_config_zone *row = find_row(conn, id);
    const struct xlat_zone *zone = row ? vse_zone_find(row->number) : NULL;

    if (row && !zone) {
        reply_error(conn, xasprintf("zone %"PRIu32" is not in force: %s",
                                    row->number,
                                    row->error ? row->error : "no reason"));
    }
    return zone;
}

static const struct json *
in_force(const struct vse_config_zone *row, const char *column)
{
    return (row->in_force
            ? shash_find_data(json_object(row->in_force), column)
            : NULL);
}

static void
put_column(struct vse_record *r, const struct vse_config_zone *row,
           const char *column)
{
    const struct json *value = in_force(row, column);

    vse_record_put(r, column, value ? json_clone(value) : json_null_create());
}

static uint64_t
sum_drops(const struct xlat_counters *counters)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < XLAT_N_DROPS; i++) {
        sum += counters->drops[i];
    }
    return sum;
}

/* Returns the number of sessions of 'zone', which may be null, or nothing if
 * it has none. */
static struct json *
count_sessions(const struct xlat_zone *zone)
{
    struct nat64_gauges gauges;

    if (!zone || !xlat_zone_is_stateful(zone)) {
        return json_null_create();
    }
    nat64_get_gauges(zone, &gauges);
    return json_integer_create(gauges.sessions);
}

static void
list_zone(const struct vse_config_zone *row, struct vse_record *r)
{
    const struct xlat_zone *zone = vse_zone_find(row->number);
    struct xlat_counters counters = { .packets = 0 };

    if (zone) {
        xlat_zone_get_counters(zone, &counters);
    }
    vse_record_put_int(r, "zone", row->number);
    vse_record_put(r, "name", row->name ? json_string_create(row->name)
                                        : json_null_create());
    put_column(r, row, "kind");
    vse_record_put_string(r, "state", row->error ? "refused" : "active");
    vse_record_put_int(r, "packets", counters.packets);
    vse_record_put_int(r, "translated", counters.translated);
    vse_record_put_int(r, "passed", counters.passed);
    vse_record_put_int(r, "replies", counters.replies);
    vse_record_put_int(r, "dropped", sum_drops(&counters));
    vse_record_put(r, "sessions", count_sessions(zone));
}

static void
xlat_list(struct unixctl_conn *conn, int argc OVS_UNUSED,
          const char *argv[] OVS_UNUSED, void *aux OVS_UNUSED)
{
    struct vse_records rs;
    size_t n;
    const struct vse_config_zone **rows = vse_config_get_all(&n);

    vse_records_init(&rs, conn);
    for (size_t i = 0; i < n; i++) {
        list_zone(rows[i], vse_records_add(&rs));
    }
    vse_records_reply(&rs);
    vse_records_destroy(&rs);
    free(rows);
}

static void
show_zone(const struct vse_config_zone *row, struct vse_record *r)
{
    const struct xlat_zone *zone = vse_zone_find(row->number);

    vse_record_put_int(r, "zone", row->number);
    vse_record_put_string(r, "name", row->name);
    vse_record_put_string(r, "state", row->error ? "refused" : "active");
    vse_record_put_string(r, "error", row->error);
    if (!zone) {
        vse_record_put_string(r, "in-force", "none");
        return;
    }
    if (row->error) {
        vse_record_put_string(r, "in-force", "previous");
    }
    put_column(r, row, "kind");
    if (xlat_zone_kind(zone) != XLAT_KIND_NAT44) {
        put_column(r, row, "pool6");
    }
    put_column(r, row, "pool4");
    if (xlat_zone_is_stateful(zone)) {
        put_column(r, row, "bib");
    } else {
        vse_record_put_int(r, "eamt-entries", xlat_zone_n_eams(zone));
        vse_record_put_int(r, "mappings", xlat_zone_n_mappings(zone));
    }
    put_column(r, row, "other_config");
}

static void
xlat_show(struct unixctl_conn *conn, int argc OVS_UNUSED, const char *argv[],
          void *aux OVS_UNUSED)
{
    const struct vse_config_zone *row = find_row(conn, argv[1]);
    struct vse_record r;

    if (row) {
        vse_record_init(&r);
        show_zone(row, &r);
        vse_record_reply(&r, conn);
        vse_record_destroy(&r);
    }
}

/* The entries of a zone whose text contains 'text'. */
struct listing {
    struct vse_records records;
    const char *text;              /* NULL: all. */
    bool too_many;
};

/* Returns a new record for an entry that reads 'a' and 'b', or NULL if it is
 * not wanted. */
static struct vse_record *
listing_add(struct listing *l, const char *a, const char *b)
{
    if (l->text && !strstr(a, l->text) && !strstr(b, l->text)) {
        return NULL;
    } else if (l->records.n >= MAX_LISTED) {
        l->too_many = true;
        return NULL;
    }
    return vse_records_add(&l->records);
}

/* Answers 'conn', for which 'l' was made, with it, which is destroyed. */
static void
listing_reply(struct listing *l, struct unixctl_conn *conn)
{
    if (l->too_many) {
        reply_error(conn, xasprintf("more than %d entries: give a part of the "
                                    "text of those to list", MAX_LISTED));
    } else {
        vse_records_reply(&l->records);
    }
    vse_records_destroy(&l->records);
}

static void
list_eam(const char *prefix6, const char *prefix4, void *listing)
{
    struct vse_record *r = listing_add(listing, prefix6, prefix4);

    if (r) {
        vse_record_put_string(r, "prefix6", prefix6);
        vse_record_put_string(r, "prefix4", prefix4);
    }
}

static void
list_mapping(const struct xlat_mapping_info *info, void *listing)
{
    char identifier[XLAT_ID64_TEXT_SIZE];
    char locator[XLAT_ID64_TEXT_SIZE];

    xlat_id64_format(info->identifier, identifier);
    xlat_id64_format(info->locator, locator);

    struct vse_record *r = listing_add(listing, identifier, locator);
    if (r) {
        vse_record_put_string(r, "identifier", identifier);
        vse_record_put_string(r, "locator", locator);
        vse_record_put_string(r, "csum_mode", info->csum_mode);
        vse_record_put_string(r, "ident_type", info->ident_type);
        vse_record_put_int(r, "to-locator-packets", info->packets[0]);
        vse_record_put_int(r, "to-locator-bytes", info->bytes[0]);
        vse_record_put_int(r, "to-identifier-packets", info->packets[1]);
        vse_record_put_int(r, "to-identifier-bytes", info->bytes[1]);
    }
}

static void
xlat_mappings(struct unixctl_conn *conn, int argc, const char *argv[],
              void *aux OVS_UNUSED)
{
    const struct xlat_zone *zone = find_zone(conn, argv[1]);
    struct listing l = { .text = argc > 2 ? argv[2] : NULL };

    if (!zone) {
        return;
    }
    vse_records_init(&l.records, conn);
    xlat_zone_for_each_eam(zone, list_eam, &l);
    xlat_zone_for_each_mapping(zone, list_mapping, &l);
    listing_reply(&l, conn);
}

static void
xlat_sessions(struct unixctl_conn *conn, int argc, const char *argv[],
              void *aux OVS_UNUSED)
{
    const struct xlat_zone *zone = find_zone(conn, argv[1]);

    if (zone) {
        vse_sessions_start(conn, xlat_zone_number(zone), argv + 2, argc - 2);
    }
}

static void
xlat_query(struct unixctl_conn *conn, int argc OVS_UNUSED, const char *argv[],
           void *aux OVS_UNUSED)
{
    const struct xlat_zone *zone = find_zone(conn, argv[1]);
    struct vse_record r;

    if (!zone) {
        return;
    }
    vse_record_init(&r);
    char *error = vse_query(zone, argv[2], &r);
    if (error) {
        reply_error(conn, error);
    } else {
        vse_record_reply(&r, conn);
    }
    vse_record_destroy(&r);
}

static void
put_counter(const char *name, uint64_t value, void *record)
{
    vse_record_put_int(record, name, value);
}

/* Packets that no zone has counted. */
static void
put_switch_counters(struct vse_record *r)
{
    uint64_t drops[XLAT_N_DROPS] = { 0 };

    vse_action_get_drops(drops);
    for (size_t i = 0; i < XLAT_N_DROPS; i++) {
        if (drops[i] || i == XLAT_DROP_NO_ZONE) {
            char *name = xasprintf("drop-%s", xlat_drop_name(i));

            vse_record_put_int(r, name, drops[i]);
            free(name);
        }
    }
}

/* What there is right now of a stateful zone. */
static void
put_gauges(const struct xlat_zone *zone, struct vse_record *r)
{
    struct nat64_gauges gauges;

    if (xlat_zone_is_stateful(zone)) {
        nat64_get_gauges(zone, &gauges);
        vse_record_put_int(r, "sessions", gauges.sessions);
        vse_record_put_int(r, "max-sessions", gauges.max_sessions);
        vse_record_put_int(r, "bindings", gauges.bindings);
        vse_record_put_int(r, "stored-syns", gauges.stored_syns);
        vse_record_put_int(r, "subscribers", gauges.subscribers);
        vse_record_put_int(r, "log-events-lost", gauges.events_lost);
        vse_record_put_int(r, "ports-in-use", gauges.ports_in_use);
        vse_record_put_int(r, "ports", gauges.ports);
        vse_record_put_int(r, "fragments-held", gauges.fragments_held);
        vse_record_put_int(r, "memory-bytes", gauges.bytes);
    }
}

static void
xlat_stats(struct unixctl_conn *conn, int argc, const char *argv[],
           void *aux OVS_UNUSED)
{
    struct vse_record r;

    vse_record_init(&r);
    if (argc < 2) {
        put_switch_counters(&r);
        vse_record_reply(&r, conn);
    } else {
        const struct xlat_zone *zone = find_zone(conn, argv[1]);
        struct xlat_counters counters;

        if (zone) {
            xlat_zone_get_counters(zone, &counters);
            xlat_counters_for_each(&counters, put_counter, &r);
            put_gauges(zone, &r);
            vse_record_reply(&r, conn);
        }
    }
    vse_record_destroy(&r);
}

static void
xlat_flush(struct unixctl_conn *conn, int argc OVS_UNUSED, const char *argv[],
           void *aux OVS_UNUSED)
{
    const struct vse_config_zone *row = find_row(conn, argv[1]);
    const struct xlat_zone *zone = row ? vse_zone_find(row->number) : NULL;
    struct vse_record r;

    if (!row) {
        return;
    }
    vse_record_init(&r);
    vse_record_put_int(&r, "zone", row->number);
    if (zone && xlat_zone_is_stateful(zone)) {
        vse_record_put_int(&r, "flushed",
                           nat64_flush(zone, time_usec(), vse_postpone));
    } else {
        vse_record_put_int(&r, "flushed", 0);
        vse_record_put_string(&r, "note",
                              "translation in this zone is stateless: there "
                              "are no sessions, and counters never fall");
    }
    vse_record_reply(&r, conn);
    vse_record_destroy(&r);
}
