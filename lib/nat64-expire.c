/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* The end of sessions: by time, by configuration, by command.
 *
 * What ends is first removed from the indexes, then, when no packet can read
 * it any more, given back: 'struct limbo' is what is on its way. */

#include <stdlib.h>

#include "nat64-private.h"
#include "nat64.h"
#include "xlat-zone-private.h"

#define LIMBO_SLOTS 4096

/* Ports that have been used wait for their turn as long as one in ENOUGH_LEFT,
 * and as many as MANY_LEFT, are free. */
#define ENOUGH_LEFT 8
#define MANY_LEFT 64

struct limbo {
    struct nat64 *nat64;
    uint32_t tick;
    uint32_t n_sessions;
    uint32_t n_bindings;
    uint32_t sessions[LIMBO_SLOTS];
    uint32_t bindings[LIMBO_SLOTS];
};

/* One call of a function of nat64.h. */
struct work {
    const struct xlat_zone *zone;
    struct nat64 *nat64;
    uint32_t tick;
    nat64_postpone *postpone;
    struct limbo *limbo;
};

uint32_t
nat64_timeout(const struct xlat_settings *set, uint8_t sort,
              enum nat64_state state)
{
    uint32_t seconds = 0;

    switch (state) {
    case NAT64_STATELESS:
        seconds = nat64_sort_proto(sort) == NAT64_UDP ? set->udp_timeout
                                                      : set->icmp_timeout;
        break;
    case NAT64_IN_INIT:
        seconds = set->tcp_incoming_syn_timeout;
        break;
    case NAT64_ESTABLISHED:
    case NAT64_IN_FIN:
    case NAT64_OUT_FIN:
        seconds = set->tcp_established_timeout;
        break;
    case NAT64_OUT_INIT:
    case NAT64_BOTH_FIN:
    case NAT64_TRANS:
        seconds = set->tcp_transitory_timeout;
        break;
    case NAT64_DEAD:
    case NAT64_N_STATES:
        return 0;
    }
    return ((uint64_t) seconds * 1000000 >> NAT64_TICK_SHIFT) + 1;
}

static uint32_t
last_stamp(const struct nat64_session *s)
{
    uint32_t a = __atomic_load_n(&s->dir[NAT64_OUT].stamp, __ATOMIC_RELAXED);
    uint32_t b = __atomic_load_n(&s->dir[NAT64_IN].stamp, __ATOMIC_RELAXED);

    return (int32_t) (a - b) > 0 ? a : b;
}

/* Returns the tick at which 's', in 'state', has no time left. */
static uint32_t
end_of(const struct xlat_settings *set, const struct nat64_session *s,
       enum nat64_state state)
{
    return last_stamp(s) + nat64_timeout(set, s->dir[NAT64_OUT].tuple.sort,
                                         state);
}

uint32_t
nat64_ticks_left(const struct xlat_settings *set,
                 const struct nat64_session *s, uint32_t tick)
{
    int32_t left = end_of(set, s, nat64_state(&s->dir[NAT64_OUT])) - tick;

    return left > 0 ? left : 0;
}

bool
nat64_is_alive(const struct xlat_settings *set,
               const struct nat64_session *s, uint32_t tick)
{
    enum nat64_state state = nat64_state(&s->dir[NAT64_OUT]);

    return state != NAT64_DEAD
           && (int32_t) (end_of(set, s, state) - tick) >= 0;
}

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
    struct limbo *limbo = limbo_;
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

static void
begin(struct work *work, const struct xlat_zone *zone, uint32_t tick,
      nat64_postpone *postpone)
{
    *work = (struct work) {
        .zone = zone,
        .nat64 = zone->stateful->nat64,
        .tick = tick,
        .postpone = postpone,
    };
    pthread_mutex_lock(&work->nat64->control);
}

/* Sends what is in limbo on its way.  Not with the mutex held, since it may
 * be back at once. */
static void
send_limbo(struct work *work)
{
    struct limbo *limbo = work->limbo;

    work->limbo = NULL;
    if (limbo) {
        pthread_mutex_unlock(&work->nat64->control);
        work->postpone(release, limbo);
        pthread_mutex_lock(&work->nat64->control);
    }
}

static void
end(struct work *work)
{
    send_limbo(work);
    pthread_mutex_unlock(&work->nat64->control);
}

/* Returns whether there is a session 'i'.  Then its key remains as it is while
 * 'control' is locked. */
static bool
is_there(const struct nat64 *nat64, uint32_t i)
{
    return __atomic_load_n(&nat64->due[i], __ATOMIC_ACQUIRE) != 0;
}

/* Makes sure that there is room in limbo for one more.  Returns false if there
 * is no memory.  May unlock 'control' for a while: sessions that were there
 * need not be there any more. */
static bool
open_limbo(struct work *work)
{
    if (work->limbo && work->limbo->n_sessions == LIMBO_SLOTS) {
        send_limbo(work);
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

/* Removes session 'i', whose lock is held. */
static void
remove_session(struct work *work, uint32_t i)
{
    struct limbo *limbo = work->limbo;
    uint32_t binding = nat64_remove(work->nat64, &work->nat64->sessions[i]);

    limbo->sessions[limbo->n_sessions++] = i;
    if (binding != NAT64_NONE) {
        limbo->bindings[limbo->n_bindings++] = binding;
    }
}

/* Has session 'i', which has time until 'end', not be looked at before,
 * unless a packet has just brought its end nearer. */
static void
postpone_end(struct nat64 *nat64, uint32_t i, uint32_t due, uint32_t end)
{
    __atomic_compare_exchange_n(&nat64->due[i], &due, end ? end : 1, false,
                                __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Ends session 'i' if its time is over. */
static void
expire(struct work *work, uint32_t i, uint32_t due)
{
    const struct xlat_settings *set = &work->zone->set;
    struct nat64_session *s = &work->nat64->sessions[i];

    if (nat64_is_alive(set, s, work->tick)) {
        postpone_end(work->nat64, i, due,
                     end_of(set, s, nat64_state(&s->dir[NAT64_OUT])));
        return;
    }
    if (!open_limbo(work) || !is_there(work->nat64, i)) {
        return;
    }
    nat64_lock(work->nat64, &s->dir[NAT64_OUT].tuple);
    if (!nat64_is_alive(set, s, work->tick)) {
        remove_session(work, i);
    }
    nat64_unlock(work->nat64, &s->dir[NAT64_OUT].tuple);
}

static void
expire_all(struct work *work)
{
    const uint32_t *due = work->nat64->due;
    uint32_t n = nat64_n_touched(&work->nat64->free_sessions);

    for (uint32_t i = 0; i < n; i++) {
        uint32_t d = __atomic_load_n(&due[i], __ATOMIC_ACQUIRE);

        if (d && (int32_t) (d - work->tick) <= 0) {
            expire(work, i, d);
        }
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
    uint64_t want = nat64->max / ENOUGH_LEFT + 1;

    return used + want > nat64->max ? used + want - nat64->max : 0;
}

/* Returns whether 'b', which has cooled longest, has done so long enough. */
static bool
is_cool(const struct work *work, const struct nat64_binding *b)
{
    uint32_t delay = ((uint64_t) work->zone->set.port_reuse_delay * 1000000
                      >> NAT64_TICK_SHIFT);

    return (nat64_sort_proto(b->sort) == NAT64_ICMP
            || work->tick - b->tenant > delay
            || !work->nat64->places.addresses[b->place]->open);
}

static void
free_cool(struct work *work, enum nat64_proto proto)
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
        early -= early > 0;
        nat64->n_cooling--;
        cooling->first = b->sessions;
        nat64_ports_give(&a->ports[proto], be16toh(b->outside_port));
        nat64_binding_free(nat64, i);
    }
}

void
nat64_run(const struct xlat_zone *zone, uint64_t now_us,
          nat64_postpone *postpone)
{
    struct work work;

    begin(&work, zone, nat64_tick(now_us), postpone);
    expire_all(&work);
    send_limbo(&work);
    for (int proto = 0; proto < NAT64_N_PROTOS; proto++) {
        free_cool(&work, proto);
    }
    nat64_places_clean(&work.nat64->places);
    end(&work);
}

/* Ends the sessions for which 'ends' returns true, and returns how many those
 * were. */
static uint32_t
end_those(struct work *work, bool (*ends)(const struct work *,
                                          const struct nat64_session *))
{
    struct nat64 *nat64 = work->nat64;
    uint32_t n = 0;

    /* Whoever makes one that we would not see is through then. */
    nat64_index_wait_unlocked(&nat64->bib_by_inside);
    for (uint32_t i = 0; i < nat64_n_touched(&nat64->free_sessions); i++) {
        struct nat64_session *s = &nat64->sessions[i];

        if (is_there(nat64, i) && ends(work, s) && open_limbo(work)
            && is_there(nat64, i) && ends(work, s)) {
            nat64_lock(nat64, &s->dir[NAT64_OUT].tuple);
            remove_session(work, i);
            nat64_unlock(nat64, &s->dir[NAT64_OUT].tuple);
            n++;
        }
    }
    return n;
}

static bool
ends_anyway(const struct work *work, const struct nat64_session *s)
{
    (void) work;
    (void) s;
    return true;
}

uint32_t
nat64_flush(const struct xlat_zone *zone, uint64_t now_us,
            nat64_postpone *postpone)
{
    struct work work;
    uint32_t n;

    begin(&work, zone, nat64_tick(now_us), postpone);
    n = end_those(&work, ends_anyway);
    end(&work);
    return n;
}

static bool
ends_by_conf(const struct work *work, const struct nat64_session *s)
{
    const struct nat64 *nat64 = work->nat64;
    const struct nat64_flow *out = &s->dir[NAT64_OUT];
    const struct nat64_binding *b = &nat64->bindings[out->link];

    return (!nat64->places.addresses[b->place]->open
            || !nat64->prefix_used[nat64_sort_prefix(out->tuple.sort)]);
}

/* The prefixes that a call of nat64_fit() has closed. */
struct closed {
    struct nat64 *nat64;
    bool places[NAT64_MAX_POOL6];
};

/* Gives the places of 'closed' up, as nobody reads them any more. */
static void
release_prefixes(void *closed_)
{
    struct closed *closed = closed_;
    struct nat64 *nat64 = closed->nat64;

    pthread_mutex_lock(&nat64->control);
    for (size_t i = 0; i < NAT64_MAX_POOL6; i++) {
        nat64->prefix_closing[i] -= closed->places[i];
    }
    pthread_mutex_unlock(&nat64->control);
    nat64_unref(nat64);
    free(closed);
}

/* Closes the prefixes that 'zone' does not have.  Returns those, to be
 * released when packets have passed, or NULL if there are none.  (Or if there
 * is no memory: then their places remain as they are.) */
static struct closed *
close_prefixes(const struct xlat_zone *zone, struct nat64 *nat64)
{
    bool used[NAT64_MAX_POOL6] = { false };
    struct closed *closed = NULL;

    for (size_t i = 0; i < zone->addrs.n_pool6; i++) {
        used[zone->stateful->prefix_places[i]] = true;
    }
    for (size_t i = 0; i < NAT64_MAX_POOL6; i++) {
        if (nat64->prefix_used[i] && !used[i]) {
            nat64->prefix_closing[i]++;
            closed = closed ? closed : calloc(1, sizeof *closed);
            if (closed) {
                closed->places[i] = true;
            }
        }
        __atomic_store_n(&nat64->prefix_used[i], used[i], __ATOMIC_RELEASE);
    }
    if (closed) {
        closed->nat64 = nat64_ref(nat64);
    }
    return closed;
}

void
nat64_fit(const struct xlat_zone *zone, uint64_t now_us,
          nat64_postpone *postpone)
{
    struct work work;
    struct closed *closed;
    struct nat64 *nat64;

    begin(&work, zone, nat64_tick(now_us), postpone);
    nat64 = work.nat64;
    nat64_places_open(&nat64->places, &zone->stateful->pool);
    closed = close_prefixes(zone, nat64);
    end_those(&work, ends_by_conf);

    /* Timeouts may be shorter now. */
    for (uint32_t i = 0; i < nat64_n_touched(&nat64->free_sessions); i++) {
        uint32_t due = __atomic_load_n(&nat64->due[i], __ATOMIC_RELAXED);

        if (due) {
            postpone_end(nat64, i, due, work.tick);
        }
    }
    end(&work);
    if (closed) {
        postpone(release_prefixes, closed);
    }
}
