/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include <config.h>

#include "vse-sessions.h"

#include <stdlib.h>
#include <string.h>

#include "nat64.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/list.h"
#include "openvswitch/poll-loop.h"
#include "timeval.h"
#include "unixctl.h"
#include "util.h"
#include "vse-endpoint.h"
#include "vse-record.h"
#include "vse-zones.h"
#include "xlat-zone.h"

/* Sessions in an answer. */
#define DEFAULT_LIMIT 10000
#define MAX_LIMIT 20000

/* So long is the main thread held in one turn, but for what one look at
 * STEP_SLOTS slots takes. */
#define SLICE_US 5000
#define STEP_SLOTS 256

/* What sessions are asked for: all conditions that are set have to hold. */
struct filter {
    char *text;                    /* Part of the text, or NULL. */
    uint8_t proto;                 /* 0: any; any of ICMP: IPPROTO_ICMP. */
    bool has_tenant;
    uint32_t tenant;
    char *state;                   /* NULL: any. */
    bool has_inside, has_outside, has_remote;
    struct vse_endpoint inside, outside, remote;
};

/* A command that has not been answered yet. */
struct request {
    struct ovs_list node;          /* In 'requests'. */
    unsigned int zone;
    struct filter filter;
    uint32_t cursor;               /* Where to go on. */
    unsigned int limit;
    struct vse_records records;
};

static struct ovs_list requests = OVS_LIST_INITIALIZER(&requests);

static void request_destroy(struct request *);
static char *argument_parse(struct request *, const char *);
static bool search(struct request *);
static void reply(struct request *, bool more);

void
vse_sessions_start(struct unixctl_conn *conn, unsigned int zone,
                   const char *const args[], int n)
{
    struct request *r = xzalloc(sizeof *r);
    char *error = NULL;

    r->zone = zone;
    r->limit = DEFAULT_LIMIT;
    vse_records_init(&r->records, conn);
    for (int i = 0; i < n && !error; i++) {
        error = argument_parse(r, args[i]);
    }
    if (error) {
        unixctl_command_reply_error(conn, error);
        free(error);
        request_destroy(r);
    } else {
        ovs_list_push_back(&requests, &r->node);
    }
}

void
vse_sessions_run(void)
{
    long long int start = time_usec();

    while (!ovs_list_is_empty(&requests)
           && time_usec() - start < SLICE_US) {
        struct request *r = CONTAINER_OF(ovs_list_front(&requests),
                                         struct request, node);
        bool more = search(r);

        if (!more || r->records.n >= r->limit) {
            ovs_list_remove(&r->node);
            reply(r, more);
            request_destroy(r);
        }
    }
}

void
vse_sessions_wait(void)
{
    if (!ovs_list_is_empty(&requests)) {
        poll_immediate_wake();
    }
}

static void
request_destroy(struct request *r)
{
    vse_records_destroy(&r->records);
    free(r->filter.text);
    free(r->filter.state);
    free(r);
}

/* ------------------------------------------------------------------------
 * Arguments.
 * ------------------------------------------------------------------------ */

static const struct proto {
    const char *name;
    uint8_t number;
} protos[] = {
    { "tcp", IPPROTO_TCP },
    { "udp", IPPROTO_UDP },
    { "icmp", IPPROTO_ICMP },
};

static const char *
proto_name(uint8_t number)
{
    for (size_t i = 0; i < ARRAY_SIZE(protos); i++) {
        if (protos[i].number == number) {
            return protos[i].name;
        }
    }
    return "icmp";                 /* Also IPPROTO_ICMPV6. */
}

static bool
proto_parse(const char *name, uint8_t *number)
{
    for (size_t i = 0; i < ARRAY_SIZE(protos); i++) {
        if (!strcmp(protos[i].name, name)) {
            *number = protos[i].number;
            return true;
        }
    }
    return false;
}

static bool
condition_parse(struct filter *f, const char *key, const char *value)
{
    if (!strcmp(key, "proto")) {
        return proto_parse(value, &f->proto);
    } else if (!strcmp(key, "tenant")) {
        f->has_tenant = true;
        return str_to_uint(value, 10, &f->tenant);
    } else if (!strcmp(key, "state")) {
        free(f->state);
        f->state = xstrdup(value);
        return true;
    } else if (!strcmp(key, "inside")) {
        f->has_inside = true;
        return vse_endpoint_parse(value, &f->inside);
    } else if (!strcmp(key, "outside")) {
        f->has_outside = true;
        return vse_endpoint_parse(value, &f->outside);
    } else if (!strcmp(key, "remote")) {
        f->has_remote = true;
        return vse_endpoint_parse(value, &f->remote);
    }
    return false;
}

/* Parses "KEY=VALUE,...". */
static char *
conditions_parse(struct filter *f, const char *arg)
{
    char *copy = xstrdup(arg);
    char *save = NULL;
    char *error = NULL;
    char *item;

    for (item = strtok_r(copy, ",", &save); item && !error;
         item = strtok_r(NULL, ",", &save)) {
        char *value = strchr(item, '=');

        if (value) {
            *value++ = '\0';
        }
        if (!value || !condition_parse(f, item, value)) {
            error = xasprintf("\"%s%s%s\" is not proto=tcp|udp|icmp, "
                              "tenant=N, state=STATE, or inside, outside or "
                              "remote =ADDRESS[:PORT]", item,
                              value ? "=" : "", value ? value : "");
        }
    }
    free(copy);
    return error;
}

static char *
number_parse(const char *value, unsigned int low, unsigned int high,
             unsigned int *number)
{
    if (str_to_uint(value, 10, number) && *number >= low && *number <= high) {
        return NULL;
    }
    return xasprintf("\"%s\" is not a number from %u to %u", value, low,
                     high);
}

static char *
argument_parse(struct request *r, const char *arg)
{
    if (!strncmp(arg, "--limit=", 8)) {
        return number_parse(arg + 8, 1, MAX_LIMIT, &r->limit);
    } else if (!strncmp(arg, "--cursor=", 9)) {
        return number_parse(arg + 9, 0, UINT32_MAX, &r->cursor);
    } else if (!strncmp(arg, "--", 2)) {
        return xasprintf("there is no option \"%s\"", arg);
    } else if (strchr(arg, '=')) {
        return conditions_parse(&r->filter, arg);
    }
    free(r->filter.text);
    r->filter.text = xstrdup(arg);
    return NULL;
}

/* ------------------------------------------------------------------------
 * Sessions.
 * ------------------------------------------------------------------------ */

/* A session's transport addresses. */
struct ends {
    struct vse_endpoint inside, outside, remote;
    struct vse_endpoint remote_inside;
};

static struct ends
ends_of(const struct nat64_session_info *info)
{
    return (struct ends) {
        .inside = vse_endpoint_load(info->inside_family, &info->inside,
                                    info->inside_port),
        .outside = vse_endpoint_load(4, &info->outside, info->outside_port),
        .remote = vse_endpoint_load(4, &info->remote, info->remote_port),
        .remote_inside = vse_endpoint_load(info->inside_family,
                                           &info->remote_inside,
                                           info->remote_port),
    };
}

/* Returns whether the session meets all conditions of 'f' but for its
 * text. */
static bool
is_wanted(const struct filter *f, const struct nat64_session_info *info,
          const struct ends *ends)
{
    return ((!f->proto || !strcmp(proto_name(f->proto),
                                  proto_name(info->proto)))
            && (!f->has_tenant || f->tenant == info->tenant)
            && (!f->state || !strcasecmp(f->state, info->state))
            && (!f->has_inside
                || vse_endpoint_matches(&f->inside, &ends->inside))
            && (!f->has_outside
                || vse_endpoint_matches(&f->outside, &ends->outside))
            && (!f->has_remote
                || vse_endpoint_matches(&f->remote, &ends->remote)
                || vse_endpoint_matches(&f->remote, &ends->remote_inside)));
}

static void
put_session(struct vse_record *record, const struct nat64_session_info *info,
            const char *inside, const char *outside)
{
    vse_record_put_string(record, "proto", proto_name(info->proto));
    vse_record_put_string(record, "inside", inside);
    vse_record_put_string(record, "outside", outside);
    vse_record_put_int(record, "tenant", info->tenant);
    vse_record_put_string(record, "state", info->state);
    vse_record_put_int(record, "expires", info->expires_s);
    vse_record_put_int(record, "packets-out", info->packets[0]);
    vse_record_put_int(record, "bytes-out", info->bytes[0]);
    vse_record_put_int(record, "packets-in", info->packets[1]);
    vse_record_put_int(record, "bytes-in", info->bytes[1]);
}

static void
see_session(const struct nat64_session_info *info, void *request)
{
    struct request *r = request;
    struct ends ends = ends_of(info);
    struct ds inside = DS_EMPTY_INITIALIZER;
    struct ds outside = DS_EMPTY_INITIALIZER;

    if (!is_wanted(&r->filter, info, &ends)) {
        return;
    }
    vse_endpoint_format(&ends.inside, &inside);
    vse_endpoint_format(&ends.outside, &outside);
    ds_put_cstr(&outside, " > ");
    vse_endpoint_format(&ends.remote, &outside);
    if (!r->filter.text || strstr(ds_cstr(&inside), r->filter.text)
        || strstr(ds_cstr(&outside), r->filter.text)) {
        put_session(vse_records_add(&r->records), info, ds_cstr(&inside),
                    ds_cstr(&outside));
    }
    ds_destroy(&inside);
    ds_destroy(&outside);
}

/* Looks at some more sessions.  Returns false if there are no more. */
static bool
search(struct request *r)
{
    const struct xlat_zone *zone = vse_zone_find(r->zone);

    /* A slot has one session at most, so that the limit is not passed. */
    return (zone && xlat_zone_is_stateful(zone)
            && nat64_dump(zone, time_usec(), &r->cursor,
                          MIN(STEP_SLOTS, r->limit - r->records.n),
                          see_session, r));
}

static void
reply(struct request *r, bool more)
{
    char *next = more ? xasprintf("--cursor=%"PRIu32, r->cursor) : NULL;

    vse_records_reply_part(&r->records, "sessions", next);
    free(next);
}
