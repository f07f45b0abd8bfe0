/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "nat64-zone.h"

#include <errno.h>
#include <stdlib.h>

#include "nat64-private.h"
#include "nat64.h"
#include "xlat-conf-private.h"
#include "xlat-special.h"
#include "xlat-text.h"
#include "xlat-zone-private.h"

/* Subscribers by default. */
#define SESSIONS_PER_SUBSCRIBER 256
#define MIN_SUBSCRIBERS 1024

static const char default_inside4[]
    = "10.0.0.0/8,100.64.0.0/10,172.16.0.0/12,192.168.0.0/16";

static int place_prefixes(struct xlat_zone *, char **errorp);

/* Returns a sentence if 'conf' has what a stateful zone cannot have. */
static char *
check(const struct xlat_conf *conf)
{
    const char *kind = conf->kind == XLAT_KIND_NAT44 ? "nat44" : "nat64";
    uint32_t size = conf->set.port_block_size;

    if (conf->n_eams || conf->eamt_file) {
        return xlat_error("a %s zone has no explicit address mappings", kind);
    }
    if (conf->n_mappings || conf->mapping_file) {
        return xlat_error("a %s zone has no ILA mappings", kind);
    }
    if (conf->kind == XLAT_KIND_NAT44 && conf->n_pool6) {
        return xlat_error("a nat44 zone has no pool6");
    }
    if (conf->kind == XLAT_KIND_NAT64 && !conf->n_pool6) {
        return xlat_error("a nat64 zone needs a prefix in pool6");
    }
    if (conf->n_pool6 > NAT64_MAX_POOL6) {
        return xlat_error("pool6 of a nat64 zone has at most %d prefixes",
                          NAT64_MAX_POOL6);
    }
    if (size & (size - 1) || (size && size < NAT64_PORTS_BLOCK)) {
        return xlat_error("port-block-size %u is not 0 or a power of 2 from "
                          "%d", size, NAT64_PORTS_BLOCK);
    }
    if (size > NAT64_PORTS_BLOCK && conf->set.n_shares > 1) {
        return xlat_error("port-block-size is at most %d where the ports are "
                          "shared", NAT64_PORTS_BLOCK);
    }
    return NULL;
}

/* ------------------------------------------------------------------------
 * Static bindings.
 * ------------------------------------------------------------------------ */

/* Returns a sentence about 'bib' if 'what' is wrong with it. */
static char *
bib_error(const struct xlat_bib *bib, const char *what)
{
    uint32_t ip = bib->outside;

    return xlat_error("bib: the binding to %u.%u.%u.%u:%u %s", ip >> 24,
                      ip >> 16 & 0xff, ip >> 8 & 0xff, ip & 0xff,
                      bib->outside_port, what);
}

static char *
check_bib(const struct xlat_zone *zone, const struct xlat_bib *bib)
{
    const struct nat64_view *view = zone->stateful;
    const struct nat64_shape *shape = &view->nat64->shape;

    if (bib->family != shape->inside_family) {
        return bib_error(bib, "has an inside of the other family");
    } else if (!nat64_is_inside(zone, &bib->inside)) {
        return bib_error(bib, "has an inside that is not inside");
    } else if (!nat64_pool_find(&view->pool, bib->outside,
                                bib->outside_port)) {
        return bib_error(bib, "is not in pool4");
    } else if (nat64_ports_share_of(bib->outside_port, shape->n_shares)
               != shape->share) {
        return bib_error(bib, "is not in this share");
    }
    return NULL;
}

/* Returns a sentence if two of the bindings of 'view' are equal by
 * 'compare'. */
static char *
check_twice(struct nat64_view *view, int (*compare)(const void *,
                                                    const void *),
            const char *what)
{
    qsort(view->bibs, view->n_bibs, sizeof *view->bibs, compare);
    for (size_t i = 1; i < view->n_bibs; i++) {
        if (!compare(&view->bibs[i - 1], &view->bibs[i])) {
            return bib_error(&view->bibs[i], what);
        }
    }
    return NULL;
}

static int
copy_bibs(struct xlat_zone *zone, const struct xlat_conf *conf, char **errorp)
{
    struct nat64_view *view = zone->stateful;

    view->bibs = calloc(conf->n_bibs + 1, sizeof *view->bibs);
    if (!view->bibs) {
        return ENOMEM;
    }
    view->n_bibs = conf->n_bibs;
    for (size_t i = 0; i < conf->n_bibs && !*errorp; i++) {
        view->bibs[i] = conf->bibs[i];
        *errorp = check_bib(zone, &view->bibs[i]);
    }
    if (!*errorp) {
        *errorp = check_twice(view, xlat_bib_compare_outside,
                              "is there twice");
    }
    if (!*errorp) {
        *errorp = check_twice(view, xlat_bib_compare_inside,
                              "has an inside that has another one");
    }
    return *errorp ? EINVAL : 0;
}

/* ------------------------------------------------------------------------
 * The whole.
 * ------------------------------------------------------------------------ */

static uint32_t
default_subscribers(uint32_t max_sessions)
{
    uint32_t n = max_sessions / SESSIONS_PER_SUBSCRIBER;

    n = n > MIN_SUBSCRIBERS ? n : MIN_SUBSCRIBERS;
    return n < max_sessions ? n : max_sessions;
}

static struct nat64_shape
shape_of(const struct xlat_conf *conf)
{
    const struct xlat_settings *set = &conf->set;
    uint32_t n_subscribers = set->max_subscribers
                             ? set->max_subscribers
                             : default_subscribers(set->max_sessions);

    return (struct nat64_shape) {
        .inside_family = conf->kind == XLAT_KIND_NAT44 ? 4 : 6,
        .max_sessions = set->max_sessions,
        .max_subscribers = n_subscribers,
        .subscriber_prefix6 = set->subscriber_prefix6,
        .block_words = set->port_block_size / NAT64_PORTS_BLOCK,
        .share = set->share,
        .n_shares = set->n_shares,
    };
}

static bool
is_same_shape(const struct nat64_shape *a, const struct nat64_shape *b)
{
    return (a->inside_family == b->inside_family
            && a->max_sessions == b->max_sessions
            && a->max_subscribers == b->max_subscribers
            && a->subscriber_prefix6 == b->subscriber_prefix6
            && a->block_words == b->block_words && a->share == b->share
            && a->n_shares == b->n_shares);
}

/* Gives 'view' its state: that of 'prev', if it has the shape that 'conf'
 * asks for. */
static int
find_or_create(struct nat64_view *view, const struct xlat_conf *conf,
               const struct xlat_zone *prev)
{
    struct nat64_shape shape = shape_of(conf);
    struct nat64 *nat64 = prev && prev->stateful ? prev->stateful->nat64
                                                 : NULL;

    if (nat64 && is_same_shape(&nat64->shape, &shape)) {
        view->nat64 = nat64_ref(nat64);
        return 0;
    }
    view->nat64 = nat64_create(&shape, conf->seed);
    if (view->nat64 && nat64) {
        view->nat64->events = nat64->events ? nat64_events_ref(nat64->events)
                                            : NULL;
    }
    return view->nat64 ? 0 : ENOMEM;
}

/* Makes the queue of the session log, if that is on and there is none. */
static int
place_events(struct nat64 *nat64, const struct xlat_conf *conf)
{
    if (conf->set.log != XLAT_LOG_NONE && !nat64->events) {
        __atomic_store_n(&nat64->events, nat64_events_create(),
                         __ATOMIC_RELEASE);
        return nat64->events ? 0 : ENOMEM;
    }
    return 0;
}

/* Takes the sessions over from the state that 'prev' has. */
static void
take_over(struct xlat_zone *zone, const struct xlat_zone *prev)
{
    struct nat64_view *view = zone->stateful;
    struct nat64 *old = prev->stateful->nat64;

    view->heir_of = nat64_ref(old);
    __atomic_fetch_add(&old->n_heirs, 1, __ATOMIC_SEQ_CST);
    nat64_index_wait_unlocked(&old->bib_by_inside);
    if (old->shape.inside_family == view->nat64->shape.inside_family
        && !old->shape.block_words && !view->nat64->shape.block_words) {
        pthread_mutex_lock(&old->control);
        nat64_import_all(zone, prev);
        pthread_mutex_unlock(&old->control);
    }
}

/* Makes '*inside4' the prefixes of 'conf'. */
static int
copy_inside4(struct xlat_deny *inside4, const struct xlat_conf *conf,
             char **errorp)
{
    if (conf->kind == XLAT_KIND_NAT64) {
        return 0;
    } else if (!conf->inside4.n) {
        *errorp = xlat_deny_parse(inside4, default_inside4);
        return *errorp ? ENOMEM : 0;
    }
    return xlat_deny_copy(inside4, &conf->inside4);
}

/* Makes 'view' hold as many fragments as 'conf' says, those of 'prev' if it
 * holds as many. */
static int
place_held(struct nat64_view *view, const struct xlat_conf *conf,
           const struct nat64_view *prev)
{
    uint32_t slots = conf->set.fragments_held;

    if (slots) {
        view->held = prev && prev->held
                     && nat64_held_slots(prev->held) == slots
                     ? nat64_held_ref(prev->held) : nat64_held_create(slots);
    }
    return slots && !view->held ? ENOMEM : 0;
}

/* Makes 'view' store as many SYNs as 'conf' says, those of 'prev' if it stores
 * as many. */
static int
place_syns(struct nat64_view *view, const struct xlat_conf *conf,
           const struct nat64_view *prev)
{
    uint32_t max = conf->set.stored_syns;

    if (!max) {
        return 0;
    }
    view->syns = prev && prev->syns && nat64_syns_max(prev->syns) == max
                 ? nat64_syns_ref(prev->syns)
                 : nat64_syns_create(max, conf->seed + 5);
    return view->syns ? 0 : ENOMEM;
}

int
nat64_compile(struct xlat_zone *zone, const struct xlat_conf *conf,
              const struct xlat_zone *prev, char **errorp)
{
    struct nat64_view *view;
    int error;

    *errorp = check(conf);
    if (*errorp) {
        return EINVAL;
    }
    view = calloc(1, sizeof *view);
    if (!view) {
        return ENOMEM;
    }
    zone->stateful = view;
    error = find_or_create(view, conf, prev);
    if (!error) {
        error = place_held(view, conf, prev ? prev->stateful : NULL);
    }
    if (!error) {
        error = place_events(view->nat64, conf);
    }
    if (!error) {
        error = place_syns(view, conf, prev ? prev->stateful : NULL);
    }
    if (!error) {
        error = copy_inside4(&view->inside4, conf, errorp);
    }
    if (!error) {
        pthread_mutex_lock(&view->nat64->control);
        view->number = ++view->nat64->n_views;
        /* What a configuration has left behind that was refused. */
        nat64_places_clean(&view->nat64->places);
        error = nat64_pool_create(&view->pool, &view->nat64->places, conf,
                                  errorp);
        if (!error) {
            error = copy_bibs(zone, conf, errorp);
        }
        if (!error) {
            error = place_prefixes(zone, errorp);
        }
        pthread_mutex_unlock(&view->nat64->control);
    }
    if (!error && prev && prev->stateful
        && prev->stateful->nat64 != view->nat64) {
        take_over(zone, prev);
    }
    return error;
}

bool
nat64_is_inside(const struct xlat_zone *zone, const union pk_addr *addr)
{
    if (zone->kind == XLAT_KIND_NAT44) {
        union pk_addr only4 = nat64_inside4(addr->in4);
        uint32_t ip = be32toh(addr->in4);

        return (!memcmp(addr, &only4, sizeof only4)
                && !xlat_ip4_is_unroutable(ip)
                && xlat_deny_has4(&zone->stateful->inside4, ip));
    }
    for (size_t i = 0; i < zone->addrs.n_pool6; i++) {
        if (xlat_prefix_contains(&zone->addrs.pool6[i].prefix,
                                 xlat_ip6_load(addr))) {
            return false;
        }
    }
    return !xlat_ip6_is_unroutable(xlat_ip6_load(addr));
}

void
nat64_view_destroy(struct xlat_zone *zone)
{
    struct nat64_view *view = zone->stateful;
    struct nat64_lost lost = { .packets = 0 };

    if (view) {
        nat64_held_unref(view->held, &lost);
        nat64_lost_count(&lost, zone, 0);
        if (view->heir_of) {
            /* nat64_fit() has never seen it. */
            __atomic_fetch_sub(&view->heir_of->n_heirs, 1, __ATOMIC_SEQ_CST);
            nat64_unref(view->heir_of);
        }
        nat64_pool_destroy(&view->pool);
        xlat_deny_destroy(&view->inside4);
        free(view->bibs);
        nat64_syns_unref(view->syns);
        nat64_unref(view->nat64);
        free(view);
    }
}

static bool
is_same(const struct xlat_6052 *a, const struct xlat_6052 *b)
{
    return (a->prefix.ip.hi == b->prefix.ip.hi
            && a->prefix.ip.lo == b->prefix.ip.lo
            && a->prefix.len == b->prefix.len);
}

/* Returns the place of 'prefix', a new one if it has none, or -1. */
static int
place_prefix(struct nat64 *nat64, const struct xlat_6052 *prefix)
{
    int place = -1;

    for (int i = 0; i < NAT64_MAX_POOL6; i++) {
        bool busy = nat64->prefix_used[i] || nat64->prefix_closing[i];

        if (busy && is_same(&nat64->prefixes[i], prefix)) {
            place = i;
            break;
        } else if (!busy && place < 0) {
            place = i;
        }
    }
    if (place >= 0) {
        if (!is_same(&nat64->prefixes[place], prefix)) {
            nat64->prefixes[place] = *prefix;
        }
        __atomic_store_n(&nat64->prefix_used[place], true, __ATOMIC_RELEASE);
    }
    return place;
}

/* Takes back that places are used beside those of 'used'. */
static void
unplace_prefixes(struct nat64 *nat64, const bool used[NAT64_MAX_POOL6])
{
    for (int i = 0; i < NAT64_MAX_POOL6; i++) {
        __atomic_store_n(&nat64->prefix_used[i], used[i], __ATOMIC_RELEASE);
    }
}

static int
place_prefixes(struct xlat_zone *zone, char **errorp)
{
    struct nat64_view *view = zone->stateful;
    bool used[NAT64_MAX_POOL6];

    memcpy(used, view->nat64->prefix_used, sizeof used);
    for (size_t i = 0; i < zone->addrs.n_pool6; i++) {
        int place = place_prefix(view->nat64, &zone->addrs.pool6[i]);

        if (place < 0) {
            unplace_prefixes(view->nat64, used);
            *errorp = xlat_error("pool6 of a nat64 zone has at most %d "
                                 "prefixes, those included that it has right "
                                 "now", NAT64_MAX_POOL6);
            return EINVAL;
        }
        view->prefix_places[i] = place;
    }
    return 0;
}
