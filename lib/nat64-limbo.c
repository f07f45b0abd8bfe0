/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "nat64-limbo.h"

#include <stdlib.h>

#define LIMBO_SLOTS 4096

/* Ports that have been used wait for their turn as long as one in ENOUGH_LEFT,
 * and as many as MANY_LEFT, are free. */
#define ENOUGH_LEFT 8
#define MANY_LEFT 64

struct nat64_limbo {
    struct nat64 *nat64;
    uint32_t tick;
    uint32_t n_sessions;
    uint32_t n_bindings;
    uint32_t sessions[LIMBO_SLOTS];
    uint32_t bindings[LIMBO_SLOTS];
};

static void
cool(struct nat64 *nat64, uint32_t i, uint32_t tick)
{
    struct nat64_binding *b = &nat64->bindings[i];
    struct nat64_cooling *cooling = &nat64->cooling[nat64_sort_proto(b->sort)];

    b->tenant = tick;
    b->sessions = NAT64_NONE;
    if (cooling->first == NAT64_NONE) {
        cooling->first = i;
    } else {
        nat64->bindings[cooling->last].sessions = i;
    }
    cooling->last = i;
    nat64->n_cooling++;
}

/* Gives back what 'limbo' holds, as nobody reads it any more. */
static void
release(void *limbo_)
{
    struct nat64_limbo *limbo = limbo_;
    struct nat64 *nat64 = limbo->nat64;

    pthread_mutex_lock(&nat64->control);
    for (uint32_t i = 0; i < limbo->n_sessions; i++) {
        nat64_session_free(nat64, limbo->sessions[i]);
    }
    for (uint32_t i = 0; i < limbo->n_bindings; i++) {
        cool(nat64, limbo->bindings[i], limbo->tick);
    }
    pthread_mutex_unlock(&nat64->control);
    nat64_unref(nat64);
    free(limbo);
}

void
nat64_work_begin(struct nat64_work *work, const struct xlat_zone *zone,
                 uint32_t tick, nat64_postpone *postpone)
{
    *work = (struct nat64_work) {
        .zone = zone,
        .nat64 = zone->stateful->nat64,
        .tick = tick,
        .postpone = postpone,
    };
    pthread_mutex_lock(&work->nat64->control);
}

void
nat64_limbo_send(struct nat64_work *work)
{
    struct nat64_limbo *limbo = work->limbo;

    work->limbo = NULL;
    if (limbo) {
        pthread_mutex_unlock(&work->nat64->control);
        work->postpone(release, limbo);
        pthread_mutex_lock(&work->nat64->control);
    }
}

void
nat64_work_end(struct nat64_work *work)
{
    nat64_limbo_send(work);
    pthread_mutex_unlock(&work->nat64->control);
}

bool
nat64_limbo_open(struct nat64_work *work)
{
    if (work->limbo && (work->limbo->n_sessions == LIMBO_SLOTS
                        || work->limbo->n_bindings == LIMBO_SLOTS)) {
        nat64_limbo_send(work);
    }
    if (!work->limbo) {
        work->limbo = malloc(sizeof *work->limbo);
        if (!work->limbo) {
            return false;
        }
        work->limbo->nat64 = nat64_ref(work->nat64);
        work->limbo->tick = work->tick;
        work->limbo->n_sessions = work->limbo->n_bindings = 0;
    }
    return true;
}

void
nat64_limbo_remove(struct nat64_work *work, uint32_t i)
{
    struct nat64_limbo *limbo = work->limbo;
    uint32_t binding = nat64_remove(work->nat64, &work->nat64->sessions[i]);

    limbo->sessions[limbo->n_sessions++] = i;
    if (binding != NAT64_NONE) {
        limbo->bindings[limbo->n_bindings++] = binding;
    }
}

void
nat64_end_binding(struct nat64_work *work, uint32_t i)
{
    struct nat64 *nat64 = work->nat64;
    struct nat64_binding *b = &nat64->bindings[i];
    struct nat64_tuple t = nat64_binding_tuple(nat64, b);
    bool there = true;

    while (there && nat64_limbo_open(work)) {
        nat64_lock(nat64, &t);
        /* Its slot may have become another one's. */
        there = (nat64_flags(b) & NAT64_BINDING_LIVE
                 && nat64_binding_is_of(nat64, b, &t));
        if (there) {
            nat64_binding_set_static(nat64, b, false);
            if (b->sessions != NAT64_NONE) {
                nat64_limbo_remove(work, b->sessions);
            } else {
                nat64_binding_remove(nat64, b);
                work->limbo->bindings[work->limbo->n_bindings++] = i;
            }
            there = nat64_flags(b) & NAT64_BINDING_LIVE;
        }
        nat64_unlock(nat64, &t);
    }
}

/* Returns how many ports of 'proto' should be free but are not. */
static uint64_t
n_short(const struct nat64_pool *pool, enum nat64_proto proto)
{
    uint64_t used = 0, all = 0, want;

    for (size_t i = 0; i < pool->n; i++) {
        used += nat64_ports_n_used(&pool->addresses[i]->ports[proto]);
        all += nat64_ports_n(&pool->addresses[i]->ports[proto]);
    }
    want = all / ENOUGH_LEFT > MANY_LEFT ? all / ENOUGH_LEFT : MANY_LEFT;
    return used + want > all ? used + want - all : 0;
}

/* Returns how many more slots for bindings should be free: they wait with
 * their ports. */
static uint64_t
n_short_of_slots(const struct nat64 *nat64)
{
    uint64_t used = nat64->n_cooling
                    + __atomic_load_n(&nat64->n_bindings, __ATOMIC_RELAXED);
    uint64_t max = nat64->shape.max_sessions;
    uint64_t want = max / ENOUGH_LEFT + 1;

    return used + want > max ? used + want - max : 0;
}

/* Returns whether 'b', which has cooled longest, has done so long enough. */
static bool
is_cool(const struct nat64_work *work, const struct nat64_binding *b)
{
    uint32_t delay = ((uint64_t) work->zone->set.port_reuse_delay * 1000000
                      >> NAT64_TICK_SHIFT);

    return (nat64_sort_proto(b->sort) == NAT64_ICMP
            || work->tick - b->tenant > delay
            || !work->nat64->places.addresses[b->place]->open);
}

void
nat64_free_cool(struct nat64_work *work, enum nat64_proto proto)
{
    struct nat64 *nat64 = work->nat64;
    struct nat64_cooling *cooling = &nat64->cooling[proto];
    uint64_t short_of_ports = n_short(&work->zone->stateful->pool, proto);
    uint64_t short_of_slots = n_short_of_slots(nat64);
    uint64_t early = (short_of_ports > short_of_slots ? short_of_ports
                                                      : short_of_slots);

    while (cooling->first != NAT64_NONE) {
        uint32_t i = cooling->first;
        struct nat64_binding *b = &nat64->bindings[i];
        struct nat64_address *a = nat64->places.addresses[b->place];

        if (!is_cool(work, b) && !early) {
            return;
        }
        /* What a closed address gives helps nobody. */
        early -= early > 0 && a->open;
        nat64->n_cooling--;
        cooling->first = b->sessions;
        if (nat64_flags(b) & NAT64_BINDING_FOREIGN) {
            __atomic_fetch_sub(&a->n_foreign, 1, __ATOMIC_RELEASE);
        } else {
            nat64_give_port(nat64, a, proto, be16toh(b->outside_port));
        }
        nat64_binding_free(nat64, i);
    }
}

bool
nat64_take_cooling(struct nat64 *nat64, enum nat64_proto proto,
                   const struct nat64_address *a, uint16_t port)
{
    struct nat64_cooling *cooling = &nat64->cooling[proto];
    uint32_t before = NAT64_NONE;

    for (uint32_t i = cooling->first; i != NAT64_NONE;
         before = i, i = nat64->bindings[i].sessions) {
        struct nat64_binding *b = &nat64->bindings[i];

        if (b->place != a->place || be16toh(b->outside_port) != port
            || nat64_flags(b) & NAT64_BINDING_FOREIGN) {
            continue;
        }
        if (before == NAT64_NONE) {
            cooling->first = b->sessions;
        } else {
            nat64->bindings[before].sessions = b->sessions;
        }
        if (cooling->last == i) {
            cooling->last = before;
        }
        nat64->n_cooling--;
        nat64_binding_free(nat64, i);
        return true;
    }
    return false;
}
