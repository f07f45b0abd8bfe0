/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "nat64-walk.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nat64-private.h"
#include "xlat-zone-private.h"

static char wrong[128];

#define MUST(CONDITION, ...)                                            \
    ((CONDITION) || *wrong                                              \
     ? (void) 0 : (void) snprintf(wrong, sizeof wrong, __VA_ARGS__))

/* What has been seen. */
struct seen {
    uint32_t sessions;
    uint32_t bindings;
    uint32_t foreign;            /* Of these, those without a port. */
    uint32_t cooling;            /* Bindings that have ended. */
    uint32_t counted_sessions;
    uint32_t counted_bindings;
};

static bool
same_tuple(const struct nat64_tuple *a, const struct nat64_tuple *b)
{
    return (!memcmp(&a->inside, &b->inside, 16) && a->tenant == b->tenant
            && a->outside == b->outside && a->remote == b->remote
            && a->inside_port == b->inside_port
            && a->outside_port == b->outside_port
            && a->remote_port == b->remote_port && a->sort == b->sort);
}

static void
walk_session(const struct nat64 *nat64, uint32_t i, struct seen *seen)
{
    const struct nat64_session *s = &nat64->sessions[i];
    const struct nat64_tuple *out = &s->dir[NAT64_OUT].tuple;
    const struct nat64_tuple *in = &s->dir[NAT64_IN].tuple;
    const struct nat64_binding *b = nat64_binding_of(nat64, s);
    struct nat64_tuple t = nat64_binding_tuple(nat64, b);

    seen->sessions++;
    seen->counted_sessions += (s->dir[NAT64_OUT].link & NAT64_LINK_COUNTED)
                              != 0;
    MUST(b->flags & NAT64_BINDING_LIVE, "session %u: dead binding", i);
    t.remote = out->remote;
    t.remote_port = out->remote_port;
    MUST(same_tuple(out, in) && same_tuple(out, &t),
         "session %u: keys that differ", i);
    if (out->state != NAT64_DEAD) {
        MUST(nat64_find(nat64, NAT64_OUT, out) == s
             && nat64_find(nat64, NAT64_IN, in) == s,
             "session %u: not to be found", i);
        MUST(out->state == in->state, "session %u: two states", i);
    }
}

/* Returns how many sessions 'b' has. */
static uint32_t
walk_list(const struct nat64 *nat64, const struct nat64_binding *b)
{
    uint32_t previous = NAT64_NONE, n = 0;

    for (uint32_t i = b->sessions;
         i != NAT64_NONE && n <= nat64->shape.max_sessions; n++) {
        const struct nat64_session *s = &nat64->sessions[i];

        MUST(nat64->due[i] && nat64_binding_of(nat64, s) == b
             && nat64_previous(s) == previous, "session %u: wrong list", i);
        previous = i;
        i = s->dir[NAT64_IN].link;
    }
    MUST(n || b->flags & NAT64_BINDING_STATIC, "a binding without sessions");
    return n;
}

static bool
is_used(const struct nat64_address *a, enum nat64_proto proto, uint16_t port)
{
    return a->ports[proto].used[port / 64] >> port % 64 & 1;
}

/* Looks at binding 'i'.  'owned' has a bit for each port of each address and
 * protocol that some binding has.  Returns its sessions. */
static uint32_t
walk_binding(const struct nat64 *nat64, uint32_t i, uint8_t *owned,
             struct seen *seen)
{
    const struct nat64_binding *b = &nat64->bindings[i];
    const struct nat64_address *a = nat64->places.addresses[b->place];
    enum nat64_proto proto = nat64_sort_proto(b->sort);
    struct nat64_tuple t = nat64_binding_tuple(nat64, b);
    uint16_t port = be16toh(b->outside_port);
    uint8_t *bit = &owned[(b->place * NAT64_N_PROTOS + proto) * 8192
                          + port / 8];

    seen->bindings++;
    seen->foreign += (b->flags & NAT64_BINDING_FOREIGN) != 0;
    seen->counted_bindings += (b->flags & NAT64_BINDING_COUNTED) != 0;
    MUST(a && (b->flags & NAT64_BINDING_FOREIGN || is_used(a, proto, port)),
         "binding %u: a port that is not in use", i);
    MUST(!(*bit & 1 << port % 8), "binding %u: port %u has two owners", i,
         port);
    *bit |= 1 << port % 8;
    MUST(b->flags & NAT64_BINDING_PRIVATE
         || (nat64_binding_find_inside(nat64, &t) == b
             && nat64_binding_find_outside(nat64, &t) == b),
         "binding %u: not to be found", i);
    return walk_list(nat64, b);
}

static void
walk_tables(const struct nat64 *nat64, struct seen *seen)
{
    uint32_t n_places = NAT64_MAX_ADDRESSES, listed = 0;
    uint8_t *owned;

    while (n_places && !nat64->places.addresses[n_places - 1]) {
        n_places--;
    }
    owned = calloc(n_places * NAT64_N_PROTOS, 8192);
    for (uint32_t i = 0; i < nat64_n_touched(&nat64->free_sessions); i++) {
        if (nat64->due[i]) {
            walk_session(nat64, i, seen);
        }
    }
    for (uint32_t i = 0; i < nat64_n_touched(&nat64->free_bindings); i++) {
        if (nat64->bindings[i].flags & NAT64_BINDING_LIVE) {
            listed += walk_binding(nat64, i, owned, seen);
        }
    }
    free(owned);
    MUST(seen->sessions == nat64->n_sessions && listed == seen->sessions,
         "%u sessions, of bindings %u, counted %u", seen->sessions, listed,
         nat64->n_sessions);
    MUST(seen->bindings == nat64->n_bindings, "%u bindings, counted %u",
         seen->bindings, nat64->n_bindings);
}

/* Checks that ports in use are those of bindings that live or cool. */
static void
walk_ports(const struct nat64 *nat64, struct seen *seen)
{
    uint32_t used = 0;

    for (int proto = 0; proto < NAT64_N_PROTOS; proto++) {
        uint32_t i = nat64->cooling[proto].first;

        for (; i != NAT64_NONE; i = nat64->bindings[i].sessions) {
            seen->cooling++;
            seen->foreign += (nat64->bindings[i].flags
                              & NAT64_BINDING_FOREIGN) != 0;
        }
    }
    for (int i = 0; i < NAT64_MAX_ADDRESSES; i++) {
        const struct nat64_address *a = nat64->places.addresses[i];

        for (int proto = 0; a && proto < NAT64_N_PROTOS; proto++) {
            static struct nat64_ports fresh;
            uint32_t n = 0;

            nat64_ports_init(&fresh, a->low_port, a->high_port,
                             nat64->shape.share, nat64->shape.n_shares);
            for (uint32_t word = 0; word < NAT64_PORTS_WORDS; word++) {
                n += __builtin_popcountll(a->ports[proto].used[word]
                                          & ~fresh.used[word]);
            }
            MUST(a->waiting || n == nat64_ports_n_used(&a->ports[proto]),
                 "%x has %u ports in use, counted %u", a->ip, n,
                 nat64_ports_n_used(&a->ports[proto]));
            used += nat64_ports_n_used(&a->ports[proto]);
        }
    }
    MUST(used == seen->bindings + seen->cooling - seen->foreign,
         "%u ports are in use, by %u bindings, %u cooling", used,
         seen->bindings, seen->cooling);
}

/* Returns the free slots of a stack, whose slots have 'bytes' each. */
static uint32_t
n_free(const struct nat64_stack *stack, const void *slots, size_t bytes)
{
    uint32_t i = stack->head, n = 0;

    while (i != NAT64_NONE && n <= stack->max) {
        memcpy(&i, (const char *) slots + i * bytes, sizeof i);
        n++;
    }
    return n + stack->max - stack->n_touched;
}

static void
walk_slots(const struct nat64 *nat64, const struct seen *seen)
{
    uint32_t max = nat64->shape.max_sessions, n;

    n = n_free(&nat64->free_sessions, nat64->sessions,
               sizeof *nat64->sessions);
    MUST(n + seen->sessions == max, "%u slots free, %u sessions", n,
         seen->sessions);
    n = n_free(&nat64->free_bindings, nat64->bindings,
               sizeof *nat64->bindings);
    MUST(n + seen->bindings + seen->cooling == max,
         "%u slots free, %u bindings, %u cooling", n, seen->bindings,
         seen->cooling);
}

static void
walk_subscribers(const struct nat64 *nat64, const struct seen *seen)
{
    const struct nat64_subscribers *subs = &nat64->subscribers;
    uint32_t sessions = 0, bindings = 0, n = 0;

    for (uint32_t i = 0; i < subs->index.n_buckets; i++) {
        const struct nat64_bucket *b = &subs->index.buckets[i];

        MUST(!b->lock, "a subscriber is locked");
        for (int slot = 0; slot < NAT64_INDEX_SLOTS; slot++) {
            if (b->numbers[slot]) {
                n++;
                sessions += subs->all[b->numbers[slot] - 1].n_sessions;
                bindings += subs->all[b->numbers[slot] - 1].n_bindings;
            }
        }
    }
    MUST(n == subs->n && sessions == seen->counted_sessions
         && bindings == seen->counted_bindings,
         "%u subscribers (%u) with %u sessions (%u), %u bindings (%u)", n,
         subs->n, sessions, seen->counted_sessions, bindings,
         seen->counted_bindings);
}

const char *
nat64_walk(const struct xlat_zone *zone)
{
    const struct nat64 *nat64 = zone->stateful->nat64;
    struct seen seen = { .sessions = 0 };

    *wrong = '\0';
    walk_tables(nat64, &seen);
    walk_ports(nat64, &seen);
    walk_slots(nat64, &seen);
    walk_subscribers(nat64, &seen);
    return *wrong ? wrong : NULL;
}

const char *
nat64_walk_empty(const struct xlat_zone *zone)
{
    const struct nat64 *nat64 = zone->stateful->nat64;
    struct nat64_gauges gauges;
    uint32_t n = 0;

    if (nat64_walk(zone)) {
        return wrong;
    }
    nat64_get_gauges(zone, &gauges);
    MUST(!gauges.sessions && !gauges.bindings && !gauges.ports_in_use
         && !gauges.subscribers,
         "%u sessions, %u bindings, %u ports and %u subscribers are left",
         gauges.sessions, gauges.bindings, (unsigned int) gauges.ports_in_use,
         gauges.subscribers);
    for (int i = 0; i < NAT64_MAX_ADDRESSES; i++) {
        n += nat64->places.addresses[i] != NULL;
    }
    MUST(n == zone->stateful->pool.n, "%u addresses in place, of %zu", n,
         zone->stateful->pool.n);
    return *wrong ? wrong : NULL;
}
