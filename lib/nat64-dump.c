/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Sessions and gauges, for whoever looks. */

#include "nat64-private.h"
#include "nat64.h"
#include "xlat-zone-private.h"

/* Returns the protocol of 'sort', as the inside has it. */
static uint8_t
proto_of(const struct nat64 *nat64, uint8_t sort)
{
    switch (nat64_sort_proto(sort)) {
    case NAT64_TCP:
        return IPPROTO_TCP;
    case NAT64_UDP:
        return IPPROTO_UDP;
    default:
        return nat64->shape.inside_family == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6;
    }
}

static uint64_t
n_bytes(const struct nat64 *nat64)
{
    return (sizeof *nat64
            + nat64->shape.max_sessions * (uint64_t) (sizeof *nat64->sessions
                                       + sizeof *nat64->due
                                       + sizeof *nat64->bindings)
            + 4 * nat64_index_bytes(nat64->shape.max_sessions)
            + nat64_subscribers_bytes(&nat64->subscribers));
}

void
nat64_get_gauges(const struct xlat_zone *zone, struct nat64_gauges *gauges)
{
    struct nat64 *nat64 = zone->stateful->nat64;
    const struct nat64_pool *pool = &zone->stateful->pool;

    *gauges = (struct nat64_gauges) {
        .sessions = __atomic_load_n(&nat64->n_sessions, __ATOMIC_RELAXED),
        .bindings = __atomic_load_n(&nat64->n_bindings, __ATOMIC_RELAXED),
        .max_sessions = nat64->shape.max_sessions,
        .subscribers = __atomic_load_n(&nat64->subscribers.n,
                                       __ATOMIC_RELAXED),
        .bytes = n_bytes(nat64) + nat64_frags_bytes(),
    };
    if (zone->stateful->held) {
        gauges->fragments_held = nat64_held_n(zone->stateful->held);
        gauges->bytes += nat64_held_bytes(zone->stateful->held);
    }
    if (zone->stateful->syns) {
        gauges->stored_syns = nat64_syns_n(zone->stateful->syns);
        gauges->bytes += nat64_syns_bytes(zone->stateful->syns);
    }
    if (nat64->events) {
        gauges->events_lost = nat64_events_lost(nat64->events);
        gauges->bytes += nat64_events_bytes();
    }
    for (size_t i = 0; i < pool->n; i++) {
        for (size_t proto = 0; proto < NAT64_N_PROTOS; proto++) {
            const struct nat64_ports *p = &pool->addresses[i]->ports[proto];

            gauges->ports_in_use += nat64_ports_n_used(p);
            gauges->ports += nat64_ports_n(p);
        }
        gauges->bytes += sizeof *pool->addresses[i];
    }
}

bool
nat64_next_event(const struct xlat_zone *zone, struct nat64_event *event)
{
    struct nat64_events *events
        = __atomic_load_n(&zone->stateful->nat64->events, __ATOMIC_ACQUIRE);

    return events && nat64_events_take(events, event);
}

struct nat64_events *
nat64_events_of(const struct xlat_zone *zone)
{
    struct nat64_events *events
        = __atomic_load_n(&zone->stateful->nat64->events, __ATOMIC_ACQUIRE);

    return events ? nat64_events_ref(events) : NULL;
}

static void
get_counters(const struct nat64_session *s, struct nat64_session_info *info)
{
    for (int dir = 0; dir < 2; dir++) {
        info->packets[dir] = nat64_packets(&s->dir[dir]);
        info->bytes[dir] = __atomic_load_n(&s->dir[dir].bytes,
                                           __ATOMIC_RELAXED);
    }
}

static void
get_info(const struct xlat_zone *zone, uint32_t tick,
         const struct nat64_session *s, struct nat64_session_info *info)
{
    const struct nat64 *nat64 = zone->stateful->nat64;
    const struct nat64_tuple *t = &s->dir[NAT64_OUT].tuple;
    uint64_t ticks = nat64_ticks_left(&zone->set, s, tick);

    *info = (struct nat64_session_info) {
        .id = s - nat64->sessions + 1,
        .generation = nat64_generation(s),
        .proto = proto_of(nat64, t->sort),
        .state = nat64_state_name(nat64_state(&s->dir[NAT64_OUT])),
        .inside_family = nat64->shape.inside_family,
        .tenant = t->tenant,
        .inside = t->inside,
        .outside = t->outside,
        .remote = t->remote,
        .inside_port = be16toh(t->inside_port),
        .outside_port = be16toh(t->outside_port),
        .remote_port = be16toh(t->remote_port),
        .expires_s = (ticks << NAT64_TICK_SHIFT) / 1000000,
    };
    nat64_remote(nat64, t->sort, t->remote, &info->remote_inside);
    get_counters(s, info);
}

bool
nat64_dump(const struct xlat_zone *zone, uint64_t now_us, uint32_t *cursor,
           uint32_t n, void (*cb)(const struct nat64_session_info *,
                                  void *aux), void *aux)
{
    const struct nat64 *nat64 = zone->stateful->nat64;
    uint32_t end = nat64_n_touched(&nat64->free_sessions);
    uint32_t stop = *cursor < end && n < end - *cursor ? *cursor + n : end;
    uint32_t tick = nat64_tick(now_us);

    for (; *cursor < stop; ++*cursor) {
        const struct nat64_session *s = &nat64->sessions[*cursor];

        if (__atomic_load_n(&nat64->due[*cursor], __ATOMIC_ACQUIRE)
            && nat64_is_alive(&zone->set, s, tick)) {
            struct nat64_session_info info;

            get_info(zone, tick, s, &info);
            cb(&info, aux);
        }
    }
    return *cursor < end;
}

/* Makes '*t' the outside and the remote transport address of 'key'. */
static void
key_of(const struct nat64_session_info *key, struct nat64_tuple *t)
{
    *t = (struct nat64_tuple) {
        .outside = key->outside,
        .remote = key->remote,
        .outside_port = htobe16(key->outside_port),
        .remote_port = htobe16(key->remote_port),
        .sort = nat64_proto_of(key->proto),
    };
}

bool
nat64_find_session(const struct xlat_zone *zone, uint64_t now_us,
                   const struct nat64_session_info *key,
                   struct nat64_session_info *info)
{
    const struct nat64 *nat64 = zone->stateful->nat64;
    const struct nat64_session *s;
    struct nat64_tuple t;

    key_of(key, &t);
    s = nat64_find(nat64, NAT64_IN, &t);
    if (!s || !nat64_is_alive(&zone->set, s, nat64_tick(now_us))) {
        return false;
    }
    get_info(zone, nat64_tick(now_us), s, info);
    return true;
}

bool
nat64_has_binding(const struct xlat_zone *zone,
                  const struct nat64_session_info *key)
{
    struct nat64_tuple t;

    key_of(key, &t);
    return nat64_binding_find_outside(zone->stateful->nat64, &t);
}
