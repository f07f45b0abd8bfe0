/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Sessions and gauges, for whoever looks. */

#include "nat64-private.h"
#include "nat64.h"
#include "xlat-zone-private.h"

static const uint8_t protos[NAT64_N_PROTOS] = {
    [NAT64_TCP] = IPPROTO_TCP,
    [NAT64_UDP] = IPPROTO_UDP,
    [NAT64_ICMP] = IPPROTO_ICMPV6,
};

static uint64_t
n_bytes(const struct nat64 *nat64)
{
    return (sizeof *nat64
            + nat64->max * (uint64_t) (sizeof *nat64->sessions
                                       + sizeof *nat64->due
                                       + sizeof *nat64->bindings)
            + 4 * nat64_index_bytes(nat64->max));
}

void
nat64_get_gauges(const struct xlat_zone *zone, struct nat64_gauges *gauges)
{
    struct nat64 *nat64 = zone->stateful->nat64;
    const struct nat64_pool *pool = &zone->stateful->pool;

    *gauges = (struct nat64_gauges) {
        .sessions = __atomic_load_n(&nat64->n_sessions, __ATOMIC_RELAXED),
        .bindings = __atomic_load_n(&nat64->n_bindings, __ATOMIC_RELAXED),
        .max_sessions = nat64->max,
        .bytes = n_bytes(nat64),
    };
    for (size_t i = 0; i < pool->n; i++) {
        for (size_t proto = 0; proto < NAT64_N_PROTOS; proto++) {
            const struct nat64_ports *p = &pool->addresses[i]->ports[proto];

            gauges->ports_in_use += nat64_ports_n_used(p);
            gauges->ports += nat64_ports_n(p);
        }
        gauges->bytes += sizeof *pool->addresses[i];
    }
}

static void
get_counters(const struct nat64_session *s, struct nat64_session_info *info)
{
    for (int dir = 0; dir < 2; dir++) {
        info->packets[dir] = __atomic_load_n(&s->dir[dir].packets,
                                             __ATOMIC_RELAXED);
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
    const struct xlat_6052 *prefix
        = &nat64->prefixes[nat64_sort_prefix(t->sort)];
    uint64_t ticks = nat64_ticks_left(&zone->set, s, tick);

    *info = (struct nat64_session_info) {
        .id = s - nat64->sessions + 1,
        .generation = nat64_generation(s),
        .proto = protos[nat64_sort_proto(t->sort)],
        .state = nat64_state_name(nat64_state(&s->dir[NAT64_OUT])),
        .tenant = t->tenant,
        .inside = t->inside,
        .outside = t->outside,
        .remote = t->remote,
        .inside_port = be16toh(t->inside_port),
        .outside_port = be16toh(t->outside_port),
        .remote_port = be16toh(t->remote_port),
        .expires_s = (ticks << NAT64_TICK_SHIFT) / 1000000,
    };
    xlat_ip6_store(xlat_6052_embed(prefix, be32toh(t->remote)),
                   &info->remote6);
    get_counters(s, info);
}

bool
nat64_dump(const struct xlat_zone *zone, uint64_t now_us, uint32_t *cursor,
           uint32_t n, void (*cb)(const struct nat64_session_info *,
                                  void *aux), void *aux)
{
    const struct nat64 *nat64 = zone->stateful->nat64;
    uint32_t end = nat64_n_touched(&nat64->free_sessions);
    uint32_t stop = n < end - *cursor ? *cursor + n : end;
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
