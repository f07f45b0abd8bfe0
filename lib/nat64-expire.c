/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* The end of sessions: by time, by configuration, by command. */

#include <stdlib.h>

#include "nat64-limbo.h"
#include "xlat-private.h"

/* Probes in one call of nat64_run(): sessions whose packets have all ceased at
 * once are probed one after another. */
#define MAX_PROBES 1000

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

uint32_t
nat64_fragment_ticks(const struct xlat_settings *set)
{
    return ((uint64_t) set->fragment_timeout * 1000000 >> NAT64_TICK_SHIFT)
           + 1;
}

/* Returns the tick at which 's', in 'state', has no time left. */
static uint32_t
end_of(const struct xlat_settings *set, const struct nat64_session *s,
       enum nat64_state state)
{
    return (nat64_last_stamp(s)
            + nat64_timeout(set, s->dir[NAT64_OUT].tuple.sort, state));
}

uint32_t
nat64_ticks_left(const struct xlat_settings *set,
                 const struct nat64_session *s, uint32_t tick)
{
    int32_t left = end_of(set, s, nat64_state(&s->dir[NAT64_OUT])) - tick;

    return left > 0 ? left : 0;
}

/* Returns whether 's' has time left at 'tick' in the state in which it is. */
static bool
has_time(const struct xlat_settings *set, const struct nat64_session *s,
         uint32_t tick)
{
    enum nat64_state state = nat64_state(&s->dir[NAT64_OUT]);

    return state != NAT64_DEAD
           && (int32_t) (end_of(set, s, state) - tick) >= 0;
}

/* Returns whether 's' has no time left at 'tick' in ESTABLISHED but some in
 * TRANS, into which it goes with a probe. */
static bool
wants_probe(const struct xlat_settings *set, const struct nat64_session *s,
            uint32_t tick)
{
    uint8_t sort = s->dir[NAT64_OUT].tuple.sort;
    uint32_t end;

    if (nat64_state(&s->dir[NAT64_OUT]) != NAT64_ESTABLISHED
        || !set->tcp_probe || !nat64_origin(s)) {
        return false;
    }
    end = end_of(set, s, NAT64_ESTABLISHED);
    return ((int32_t) (end - tick) < 0
            && (int32_t) (end + nat64_timeout(set, sort, NAT64_TRANS) - tick)
               >= 0);
}

bool
nat64_is_alive(const struct xlat_settings *set,
               const struct nat64_session *s, uint32_t tick)
{
    return has_time(set, s, tick) || wants_probe(set, s, tick);
}

/* Returns whether there is a session 'i'.  Then its key remains as it is while
 * 'control' is locked. */
static bool
is_there(const struct nat64 *nat64, uint32_t i)
{
    return __atomic_load_n(&nat64->due[i], __ATOMIC_ACQUIRE) != 0;
}

/* Has session 'i', which has time until 'end', not be looked at before,
 * unless a packet has just brought its end nearer. */
static void
postpone_end(struct nat64 *nat64, uint32_t i, uint32_t due, uint32_t end)
{
    __atomic_compare_exchange_n(&nat64->due[i], &due, end ? end : 1, false,
                                __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Moves 's', whose lock is held, into TRANS, its time there beginning at the
 * end of that in ESTABLISHED.  Returns false if a packet was faster.
 *
 * First the stamp, so that nobody sees a session in TRANS without time.  A
 * packet that has seen it in ESTABLISHED stamps it no matter what it is by
 * then: if that is seen here, all is as it was.  If not, the session has its
 * time in TRANS from that packet on, until the next one. */
static bool
leave_established(const struct xlat_settings *set, struct nat64_session *s,
                  uint32_t tick)
{
    uint32_t *stamp = &s->dir[NAT64_OUT].stamp;
    uint32_t old = __atomic_load_n(stamp, __ATOMIC_RELAXED);
    uint32_t end = end_of(set, s, NAT64_ESTABLISHED);
    uint8_t state = NAT64_ESTABLISHED;

    if ((int32_t) (end - tick) >= 0
        || !__atomic_compare_exchange_n(stamp, &old, end, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)
        || !nat64_move(s, &state, NAT64_TRANS)) {
        return false;
    }
    if (nat64_last_stamp(s) != end) {
        state = NAT64_TRANS;
        nat64_move(s, &state, NAT64_ESTABLISHED);
        return false;
    }
    return true;
}

/* Probes session 'i', which wants it.  May unlock 'control' for a while. */
static void
probe(struct nat64_work *work, uint32_t i, uint32_t due)
{
    const struct xlat_settings *set = &work->zone->set;
    struct nat64 *nat64 = work->nat64;
    struct nat64_session *s = &nat64->sessions[i];
    uint16_t origin = nat64_origin(s);
    struct nat64_tuple t;
    bool moved;

    if (work->n_probes == MAX_PROBES) {
        return;
    }
    nat64_tuple_get(&s->dir[NAT64_OUT], &t);
    nat64_lock(nat64, &t);
    moved = (wants_probe(set, s, work->tick)
             && leave_established(set, s, work->tick));
    nat64_unlock(nat64, &t);
    if (!moved) {
        return;
    }
    postpone_end(nat64, i, due, end_of(set, s, NAT64_TRANS));
    work->n_probes++;
    if (work->send) {
        pthread_mutex_unlock(&nat64->control);
        nat64_send_probe(work->zone, &t, origin, work->send, work->aux);
        pthread_mutex_lock(&nat64->control);
    }
}

/* Ends session 'i' if its time is over, or probes it. */
static void
expire(struct nat64_work *work, uint32_t i, uint32_t due)
{
    const struct xlat_settings *set = &work->zone->set;
    struct nat64_session *s = &work->nat64->sessions[i];

    if (has_time(set, s, work->tick)) {
        postpone_end(work->nat64, i, due,
                     end_of(set, s, nat64_state(&s->dir[NAT64_OUT])));
        return;
    }
    if (wants_probe(set, s, work->tick)) {
        probe(work, i, due);
        return;
    }
    if (!nat64_limbo_open(work) || !is_there(work->nat64, i)) {
        return;
    }
    nat64_lock(work->nat64, &s->dir[NAT64_OUT].tuple);
    if (!nat64_is_alive(set, s, work->tick)) {
        nat64_limbo_remove(work, i);
    }
    nat64_unlock(work->nat64, &s->dir[NAT64_OUT].tuple);
}

static void
expire_all(struct nat64_work *work)
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

/* Drops the fragments that have waited in vain. */
static void
expire_held(const struct xlat_zone *zone, uint32_t tick)
{
    struct nat64_held *held = zone->stateful->held;
    struct nat64_lost lost = { .packets = 0 };

    if (held) {
        nat64_held_expire(held, tick, nat64_fragment_ticks(&zone->set), &lost);
        nat64_lost_count(&lost, zone, 0);
    }
}

void
nat64_drop_held(const struct xlat_zone *zone)
{
    struct nat64_held *held = zone->stateful->held;
    struct nat64_lost lost = { .packets = 0 };

    if (held) {
        nat64_held_flush(held, &lost);
        nat64_lost_count(&lost, zone, 0);
    }
}

void
nat64_run(const struct xlat_zone *zone, uint64_t now_us,
          nat64_postpone *postpone, nat64_send *send, void *aux)
{
    struct nat64_work work;

    nat64_work_begin(&work, zone, nat64_tick(now_us), postpone);
    work.send = send;
    work.aux = aux;
    expire_all(&work);
    nat64_limbo_send(&work);
    for (int proto = 0; proto < NAT64_N_PROTOS; proto++) {
        nat64_free_cool(&work, proto);
    }
    nat64_places_clean(&work.nat64->places);
    nat64_make_statics(&work);
    nat64_work_end(&work);
    expire_held(zone, work.tick);
    nat64_refuse_syns(zone, now_us, send, aux);
}

/* Ends the sessions for which 'ends' returns true, and returns how many those
 * were. */
static uint32_t
end_those(struct nat64_work *work, bool (*ends)(const struct nat64_work *,
                                          const struct nat64_session *))
{
    struct nat64 *nat64 = work->nat64;
    uint32_t n = 0;

    /* Whoever makes one that we would not see is through then. */
    nat64_index_wait_unlocked(&nat64->bib_by_inside);
    for (uint32_t i = 0; i < nat64_n_touched(&nat64->free_sessions); i++) {
        struct nat64_session *s = &nat64->sessions[i];

        if (is_there(nat64, i) && ends(work, s) && nat64_limbo_open(work)
            && is_there(nat64, i) && ends(work, s)) {
            nat64_lock(nat64, &s->dir[NAT64_OUT].tuple);
            nat64_limbo_remove(work, i);
            nat64_unlock(nat64, &s->dir[NAT64_OUT].tuple);
            n++;
        }
    }
    return n;
}

static bool
ends_anyway(const struct nat64_work *work, const struct nat64_session *s)
{
    (void) work;
    (void) s;
    return true;
}

uint32_t
nat64_flush(const struct xlat_zone *zone, uint64_t now_us,
            nat64_postpone *postpone)
{
    struct nat64_work work;
    uint32_t n;

    nat64_work_begin(&work, zone, nat64_tick(now_us), postpone);
    n = end_those(&work, ends_anyway);
    nat64_work_end(&work);
    nat64_drop_held(zone);
    return n;
}

static bool
ends_by_conf(const struct nat64_work *work, const struct nat64_session *s)
{
    const struct nat64 *nat64 = work->nat64;
    const struct nat64_flow *out = &s->dir[NAT64_OUT];
    const struct nat64_binding *b = nat64_binding_of(nat64, s);

    return (!nat64->places.addresses[b->place]->open
            || !nat64->prefix_used[nat64_sort_prefix(out->tuple.sort)]
            || !nat64_is_inside(work->zone, &out->tuple.inside)
            || nat64_check_hosts(work->zone, &out->tuple) != XLAT_OK);
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
    bool used[NAT64_MAX_POOL6] = { nat64->shape.inside_family == 4 };
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
    struct nat64_work work;
    struct closed *closed;
    struct nat64 *nat64;

    nat64_work_begin(&work, zone, nat64_tick(now_us), postpone);
    nat64 = work.nat64;
    nat64->fitted = zone->stateful->number;
    __atomic_store_n(&nat64->log, zone->set.log, __ATOMIC_RELEASE);
    if (zone->stateful->heir_of) {
        nat64_log_replaced(zone->stateful->heir_of, nat64);
        nat64_unref(zone->stateful->heir_of);
        zone->stateful->heir_of = NULL;
    }
    nat64_places_open(&nat64->places, &zone->stateful->pool);
    closed = close_prefixes(zone, nat64);
    end_those(&work, ends_by_conf);
    nat64_fit_statics(&work);

    /* Timeouts may be shorter now. */
    for (uint32_t i = 0; i < nat64_n_touched(&nat64->free_sessions); i++) {
        uint32_t due = __atomic_load_n(&nat64->due[i], __ATOMIC_RELAXED);

        if (due) {
            postpone_end(nat64, i, due, work.tick);
        }
    }
    nat64_work_end(&work);
    if (closed) {
        postpone(release_prefixes, closed);
    }
}
