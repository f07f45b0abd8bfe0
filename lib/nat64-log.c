/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* What a zone tells its session log. */

#include "nat64-private.h"
#include "xlat-private.h"

/* An event that is told because something is used up is told once a second. */
#define QUIET_TICKS (1000000 >> NAT64_TICK_SHIFT)

static struct nat64_event
event_of(const struct nat64 *nat64, enum nat64_event_kind kind,
         const struct nat64_tuple *t)
{
    return (struct nat64_event) {
        .kind = kind,
        .proto = nat64_ipproto(nat64_sort_proto(t->sort)),
        .inside_family = nat64->shape.inside_family,
        .tenant = t->tenant,
        .inside = t->inside,
        .inside_port = be16toh(t->inside_port),
        .inside_bits = nat64->shape.inside_family == 6 ? 128 : 32,
    };
}

void
nat64_log_tuple(struct nat64 *nat64, enum nat64_event_kind kind,
                const struct nat64_tuple *t)
{
    struct nat64_event event = event_of(nat64, kind, t);

    event.outside = t->outside;
    event.outside_port = be16toh(t->outside_port);
    nat64_events_put(nat64->events, &event);
}

void
nat64_log_block(struct nat64 *nat64, enum nat64_event_kind kind,
                const struct nat64_subscriber *s,
                const struct nat64_block *block)
{
    uint16_t first = block->first_word * NAT64_PORTS_BLOCK;
    struct nat64_event event = {
        .kind = kind,
        .inside_family = nat64->shape.inside_family,
        .tenant = s->tenant,
        .inside = s->prefix,
        .outside = htobe32(nat64->places.addresses[block->place]->ip),
        .outside_port = first,
        .last_port = first + block->n_words * NAT64_PORTS_BLOCK - 1,
        .inside_bits = nat64->shape.inside_family == 6
                       ? nat64->shape.subscriber_prefix6 : 32,
    };

    nat64_events_put(nat64->events, &event);
}

static bool
is_same_inside(const struct nat64_tuple *a, const struct nat64_tuple *b)
{
    return (a->inside.u64[0] == b->inside.u64[0]
            && a->inside.u64[1] == b->inside.u64[1]
            && a->tenant == b->tenant && a->inside_port == b->inside_port);
}

static bool
has_session(const struct nat64 *nat64, const struct nat64_session *s)
{
    const struct nat64_tuple *t = &s->dir[NAT64_OUT].tuple;
    const struct nat64_session *found = nat64_find(nat64, NAT64_IN, t);

    return found && is_same_inside(&found->dir[NAT64_OUT].tuple, t);
}

/* Returns whether 'nat64' has the binding 'b' of 'old', which is 't'. */
static bool
has_binding(const struct nat64 *nat64, const struct nat64 *old,
            const struct nat64_binding *b, const struct nat64_tuple *t)
{
    const struct nat64_binding *found;
    struct nat64_tuple found_t;

    if (b->flags & NAT64_BINDING_PRIVATE) {
        return b->sessions != NAT64_NONE
               && has_session(nat64, &old->sessions[b->sessions]);
    }
    found = nat64_binding_find_outside(nat64, t);
    if (!found) {
        return false;
    }
    found_t = nat64_binding_tuple(nat64, found);
    return is_same_inside(&found_t, t);
}

static void
log_replaced_sessions(struct nat64 *old, const struct nat64 *nat64)
{
    uint32_t n = nat64_n_touched(&old->free_sessions);

    for (uint32_t i = 0; i < n; i++) {
        const struct nat64_session *s = &old->sessions[i];

        if (__atomic_load_n(&old->due[i], __ATOMIC_ACQUIRE)
            && !has_session(nat64, s)) {
            nat64_log_tuple(old, NAT64_EVENT_SESSION_DEL,
                            &s->dir[NAT64_OUT].tuple);
        }
    }
}

static void
log_replaced_bindings(struct nat64 *old, const struct nat64 *nat64)
{
    uint32_t n = nat64_n_touched(&old->free_bindings);

    for (uint32_t i = 0; i < n; i++) {
        const struct nat64_binding *b = &old->bindings[i];
        struct nat64_tuple t;

        if (b->flags & NAT64_BINDING_LIVE) {
            t = nat64_binding_tuple(old, b);
            if (!has_binding(nat64, old, b, &t)) {
                nat64_log_tuple(old, NAT64_EVENT_BINDING_DEL, &t);
            }
        }
    }
}

/* Blocks are never taken over. */
static void
log_replaced_blocks(struct nat64 *old)
{
    for (uint32_t i = 0; i < old->subscribers.n_touched; i++) {
        const struct nat64_subscriber *s = &old->subscribers.all[i];

        for (int j = 0; j < NAT64_MAX_BLOCKS; j++) {
            if (s->blocks[j].n_words) {
                nat64_log_block(old, NAT64_EVENT_BLOCK_DEL, s, &s->blocks[j]);
            }
        }
    }
}

void
nat64_log_replaced(struct nat64 *old, const struct nat64 *nat64)
{
    if (nat64_logs(old, XLAT_LOG_SESSIONS)
        && nat64_logs(nat64, XLAT_LOG_SESSIONS)) {
        log_replaced_sessions(old, nat64);
    }
    if (nat64_logs(old, XLAT_LOG_BINDINGS)
        && nat64_logs(nat64, XLAT_LOG_BINDINGS)) {
        log_replaced_bindings(old, nat64);
    }
    if (nat64_logs(old, XLAT_LOG_BLOCKS)
        && nat64_logs(nat64, XLAT_LOG_BLOCKS)) {
        log_replaced_blocks(old);
    }
}

/* Returns the kind of event that a drop because of 'drop' is, or -1. */
static int
kind_of(enum xlat_drop drop)
{
    switch ((int) drop) {
    case XLAT_DROP_NO_PORT:
        return NAT64_EVENT_NO_PORT;
    case XLAT_DROP_TABLE_FULL:
        return NAT64_EVENT_TABLE_FULL;
    case XLAT_DROP_MAX_PORTS:
    case XLAT_DROP_SESSION_RATE:
    case XLAT_DROP_SUBSCRIBERS:
    case XLAT_DROP_SUBSCRIBER_PORTS:
    case XLAT_DROP_SUBSCRIBER_RATE:
    case XLAT_DROP_SUBSCRIBER_SESSIONS:
        return NAT64_EVENT_LIMIT;
    default:
        return -1;
    }
}

/* Returns the limit that was met by a drop because of 'drop'. */
static uint32_t
limit_of(const struct nat64_make *make, enum xlat_drop drop)
{
    const struct nat64_shape *shape = &make->view->nat64->shape;

    switch ((int) drop) {
    case XLAT_DROP_TABLE_FULL:
        return shape->max_sessions;
    case XLAT_DROP_MAX_PORTS:
        return make->set->max_ports;
    case XLAT_DROP_SESSION_RATE:
        return make->set->session_rate;
    case XLAT_DROP_SUBSCRIBERS:
        return shape->max_subscribers;
    case XLAT_DROP_SUBSCRIBER_PORTS:
        return make->set->subscriber_ports
               ? make->set->subscriber_ports
               : make->set->port_blocks * shape->block_words
                 * NAT64_PORTS_BLOCK;
    case XLAT_DROP_SUBSCRIBER_RATE:
        return make->set->subscriber_rate;
    case XLAT_DROP_SUBSCRIBER_SESSIONS:
        return make->set->subscriber_sessions;
    default:
        return 0;
    }
}

void
nat64_log_drop(const struct nat64_make *make, enum xlat_drop drop,
               const struct nat64_tuple *t)
{
    struct nat64 *nat64 = make->view->nat64;
    uint32_t tick = make->tick;
    int kind = kind_of(drop);
    uint32_t told;

    if (kind < 0) {
        return;
    }
    told = __atomic_load_n(&nat64->told[drop], __ATOMIC_RELAXED);
    if ((!told || tick - told > QUIET_TICKS)
        && __atomic_compare_exchange_n(&nat64->told[drop], &told,
                                       tick ? tick : 1, false,
                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        struct nat64_event event = event_of(nat64, kind, t);

        event.drop = drop;
        event.limit = limit_of(make, drop);
        nat64_events_put(nat64->events, &event);
    }
}
