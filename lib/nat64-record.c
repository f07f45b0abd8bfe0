/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Sessions as records: out of one state, into another one. */

#include <errno.h>

#include "nat64-limbo.h"
#include "xlat-private.h"
#include "xlat-special.h"

/* ------------------------------------------------------------------------
 * Out.
 * ------------------------------------------------------------------------ */

static uint32_t
idle_ms(const struct nat64_session *s, uint32_t tick)
{
    uint32_t ticks = tick - nat64_last_stamp(s);

    return ((uint64_t) ticks << NAT64_TICK_SHIFT) / 1000;
}

static void
get_record(const struct nat64 *nat64, const struct nat64_session *s,
           uint32_t tick, struct nat64_record *r)
{
    const struct nat64_tuple *t = &s->dir[NAT64_OUT].tuple;
    const struct nat64_binding *b = nat64_binding_of(nat64, s);

    *r = (struct nat64_record) {
        .version = NAT64_RECORD_VERSION,
        .proto = nat64_ipproto(nat64_sort_proto(t->sort)),
        .inside_family = nat64->shape.inside_family,
        .state = nat64_state(&s->dir[NAT64_OUT]),
        .mapping = (nat64_flags(b) & NAT64_BINDING_PRIVATE) != 0,
        .tenant = t->tenant,
        .idle_ms = idle_ms(s, tick),
        .inside = t->inside,
        .outside = t->outside,
        .remote = t->remote,
        .inside_port = be16toh(t->inside_port),
        .outside_port = be16toh(t->outside_port),
        .remote_port = be16toh(t->remote_port),
    };
    if (r->inside_family == 6) {
        const struct xlat_prefix *prefix
            = &nat64->prefixes[nat64_sort_prefix(t->sort)].prefix;

        r->pool6_len = prefix->len;
        xlat_ip6_store(prefix->ip, &r->pool6);
    }
    for (int dir = 0; dir < 2; dir++) {
        r->packets[dir] = nat64_packets(&s->dir[dir]);
        r->bytes[dir] = __atomic_load_n(&s->dir[dir].bytes, __ATOMIC_RELAXED);
    }
}

bool
nat64_export(const struct xlat_zone *zone, uint64_t now_us, uint32_t *cursor,
             uint32_t n, void (*cb)(const struct nat64_record *, void *aux),
             void *aux)
{
    const struct nat64 *nat64 = zone->stateful->nat64;
    uint32_t end = nat64_n_touched(&nat64->free_sessions);
    uint32_t stop = *cursor < end && n < end - *cursor ? *cursor + n : end;
    uint32_t tick = nat64_tick(now_us);

    for (; *cursor < stop; ++*cursor) {
        const struct nat64_session *s = &nat64->sessions[*cursor];
        struct nat64_record r;

        if (__atomic_load_n(&nat64->due[*cursor], __ATOMIC_ACQUIRE)
            && nat64_is_alive(&zone->set, s, tick)) {
            get_record(nat64, s, tick, &r);
            cb(&r, aux);
        }
    }
    return *cursor < end;
}

/* ------------------------------------------------------------------------
 * In.
 * ------------------------------------------------------------------------ */

static bool
is_state_of(uint8_t state, uint8_t proto)
{
    return (proto == IPPROTO_TCP
            ? state > NAT64_STATELESS && state < NAT64_N_STATES
            : state == NAT64_STATELESS);
}

/* Returns the place of the record's pool6, or -1 if the zone has none such. */
static int
place_of(const struct xlat_zone *zone, const struct nat64_record *r)
{
    struct xlat_ip6 ip = xlat_ip6_load(&r->pool6);

    if (r->inside_family == 4) {
        return 0;
    }
    for (size_t i = 0; i < zone->addrs.n_pool6; i++) {
        const struct xlat_prefix *prefix = &zone->addrs.pool6[i].prefix;

        if (prefix->len == r->pool6_len && prefix->ip.hi == ip.hi
            && prefix->ip.lo == ip.lo) {
            return zone->stateful->prefix_places[i];
        }
    }
    return -1;
}

/* Reads the record into '*t'.  Returns 0 or EINVAL. */
static int
read_record(const struct xlat_zone *zone, const struct nat64_record *r,
            struct nat64_tuple *t)
{
    int place = place_of(zone, r);

    if (r->version != NAT64_RECORD_VERSION || place < 0
        || r->inside_family != zone->stateful->nat64->shape.inside_family
        || (r->proto != IPPROTO_TCP && r->proto != IPPROTO_UDP
            && r->proto != IPPROTO_ICMP)
        || !is_state_of(r->state, r->proto) || r->mapping > 1
        || (r->proto == IPPROTO_ICMP && r->remote_port)
        || !nat64_is_inside(zone, &r->inside)
        || xlat_ip4_is_unroutable(be32toh(r->remote))) {
        return EINVAL;
    }
    *t = (struct nat64_tuple) {
        .inside = r->inside,
        .tenant = r->tenant,
        .outside = r->outside,
        .remote = r->remote,
        .inside_port = htobe16(r->inside_port),
        .outside_port = htobe16(r->outside_port),
        .remote_port = htobe16(r->remote_port),
        .sort = place * NAT64_N_SORTS + nat64_proto_of(r->proto),
    };
    return nat64_check_hosts(zone, t) == XLAT_OK ? 0 : EINVAL;
}

static void
put_larger(uint64_t *counter, uint64_t value)
{
    if (value > __atomic_load_n(counter, __ATOMIC_RELAXED)) {
        __atomic_store_n(counter, value, __ATOMIC_RELAXED);
    }
}

/* Gives 's' the counters of the record where those are larger. */
static void
put_counters(const struct nat64_record *r, struct nat64_session *s)
{
    for (int dir = 0; dir < 2; dir++) {
        struct nat64_flow *flow = &s->dir[dir];
        uint64_t above = (uint64_t) nat64_above_packets(flow)
                         << NAT64_COUNT_BITS;

        put_larger(&flow->packets, above | (r->packets[dir] < NAT64_COUNT_MAX
                                            ? r->packets[dir]
                                            : NAT64_COUNT_MAX));
        put_larger(&flow->bytes, r->bytes[dir]);
    }
}

/* Gives 's' the time of the record, which is 'stamp', if that is younger. */
static void
put_stamp(uint32_t stamp, struct nat64_session *s)
{
    for (int dir = 0; dir < 2; dir++) {
        struct nat64_flow *flow = &s->dir[dir];

        if ((int32_t) (stamp - __atomic_load_n(&flow->stamp, __ATOMIC_RELAXED))
            > 0) {
            nat64_stamp(flow, stamp);
        }
    }
}

static void
put_state(uint8_t next, struct nat64_session *s)
{
    uint8_t state = nat64_state(&s->dir[NAT64_OUT]);

    while (state != NAT64_DEAD && state != next
           && !nat64_move(s, &state, next)) {
        /* 'state' is new. */
    }
}

/* Returns the tick of the last packet of the record, at 'tick'. */
static uint32_t
stamp_of(const struct nat64_record *r, uint32_t tick)
{
    return tick - (uint32_t) (((uint64_t) r->idle_ms * 1000)
                              >> NAT64_TICK_SHIFT);
}

/* Brings 's', whose lock is held, up to date by the record. */
static void
refresh(const struct xlat_zone *zone, const struct nat64_record *r,
        uint64_t now_us, struct nat64_session *s)
{
    uint32_t tick = nat64_tick(now_us);

    put_stamp(stamp_of(r, tick), s);
    put_counters(r, s);
    put_state(r->state, s);
    nat64_hasten(zone->stateful->nat64, s, tick);
}

/* Returns the binding of 't', made if need be, or NULL with '*error' set.
 * With nat64_lock() held. */
static struct nat64_binding *
find_or_add_binding(const struct nat64_view *view, const struct nat64_tuple *t,
                    bool is_private, int *error)
{
    struct nat64 *nat64 = view->nat64;
    uint16_t port = be16toh(t->outside_port);
    struct nat64_address *a = nat64_pool_find(&view->pool,
                                              be32toh(t->outside), port);
    bool foreign = (nat64_ports_share_of(port, nat64->shape.n_shares)
                    != nat64->shape.share);
    struct nat64_binding *b = is_private ? NULL
                              : nat64_binding_find_inside(nat64, t);
    enum nat64_proto proto = nat64_sort_proto(t->sort);

    *error = EEXIST;
    if (b) {
        return (b->outside_port == t->outside_port
                && nat64_binding_ip(nat64, b) == t->outside ? b : NULL);
    } else if (nat64_binding_find_outside(nat64, t)
               || (foreign && nat64_find(nat64, NAT64_IN, t))
               || (!foreign && !nat64_ports_take_this(&a->ports[proto],
                                                      port))) {
        return NULL;
    }
    b = nat64_binding_add_with(nat64, t, a, port,
                               (is_private ? NAT64_BINDING_PRIVATE : 0)
                               | (foreign ? NAT64_BINDING_FOREIGN : 0));
    if (b && foreign) {
        __atomic_fetch_add(&a->n_foreign, 1, __ATOMIC_RELAXED);
    } else if (!b && !foreign) {
        nat64_give_port(nat64, a, proto, port);
    }
    *error = ENOSPC;
    return b;
}

/* Returns whether the latest configuration has the address and prefix of
 * 't'. */
static bool
is_open(const struct nat64_view *view, const struct nat64_tuple *t)
{
    const struct nat64_address *a
        = nat64_pool_find(&view->pool, be32toh(t->outside),
                          be16toh(t->outside_port));

    return (a && a->open
            && view->nat64->prefix_used[nat64_sort_prefix(t->sort)]);
}

/* Makes the session of 't', with the lock held. */
static int
add(const struct xlat_zone *zone, const struct nat64_record *r,
    const struct nat64_tuple *t, uint16_t origin, uint64_t now_us)
{
    const struct nat64_view *view = zone->stateful;
    struct nat64_make make = {
        .zone = zone,
        .view = view,
        .set = &zone->set,
        .state = r->state,
        .origin = origin,
        .tick = stamp_of(r, nat64_tick(now_us)),
    };
    struct nat64_session *s = nat64_find(view->nat64, NAT64_OUT, t);
    struct nat64_binding *b;
    uint32_t slot;
    int error;

    if (s) {
        if (s->dir[NAT64_OUT].tuple.outside != t->outside
            || s->dir[NAT64_OUT].tuple.outside_port != t->outside_port) {
            return EEXIST;
        }
        refresh(zone, r, now_us, s);
        return 0;
    }
    slot = nat64_session_alloc(view->nat64);
    if (slot == NAT64_NONE) {
        return ENOSPC;
    }
    b = find_or_add_binding(view, t, r->mapping, &error);
    if (!b) {
        nat64_session_free(view->nat64, slot);
        return error;
    }
    s = nat64_add(&make, t, b, slot);
    if (!s) {
        return ENOSPC;
    }
    put_counters(r, s);
    return 0;
}

/* nat64_import() with 'control' locked, and the session's origin. */
static int
import(const struct xlat_zone *zone, const struct nat64_record *r,
       uint16_t origin, uint64_t now_us)
{
    struct nat64 *nat64 = zone->stateful->nat64;
    struct nat64_tuple t;
    int error = read_record(zone, r, &t);

    if (error || nat64->shape.block_words || !is_open(zone->stateful, &t)) {
        return EINVAL;
    }
    nat64_lock(nat64, &t);
    error = add(zone, r, &t, origin, now_us);
    nat64_unlock(nat64, &t);
    return error;
}

int
nat64_import(const struct xlat_zone *zone, const struct nat64_record *r,
             uint64_t now_us)
{
    pthread_mutex_t *control = &zone->stateful->nat64->control;
    int error;

    pthread_mutex_lock(control);
    error = import(zone, r, 0, now_us);
    pthread_mutex_unlock(control);
    return error;
}

/* Finds the session of the record, and locks it by '*t'.  Returns 0, or
 * EINVAL or ENOENT with nothing locked. */
static int
find_and_lock(const struct xlat_zone *zone, const struct nat64_record *r,
              struct nat64_tuple *t, struct nat64_session **sp)
{
    struct nat64 *nat64 = zone->stateful->nat64;
    int error = read_record(zone, r, t);
    struct nat64_session *s;

    if (error) {
        return error;
    }
    nat64_lock(nat64, t);
    s = nat64_find(nat64, NAT64_OUT, t);
    if (!s || s->dir[NAT64_OUT].tuple.outside != t->outside
        || s->dir[NAT64_OUT].tuple.outside_port != t->outside_port) {
        nat64_unlock(nat64, t);
        return ENOENT;
    }
    *sp = s;
    return 0;
}

int
nat64_refresh(const struct xlat_zone *zone, const struct nat64_record *r,
              uint64_t now_us)
{
    struct nat64_session *s;
    struct nat64_tuple t;
    int error = find_and_lock(zone, r, &t, &s);

    if (!error) {
        refresh(zone, r, now_us, s);
        nat64_unlock(zone->stateful->nat64, &t);
    }
    return error;
}

int
nat64_forget(const struct xlat_zone *zone, const struct nat64_record *r,
             uint64_t now_us, nat64_postpone *postpone)
{
    struct nat64_work work;
    struct nat64_session *s;
    struct nat64_tuple t;
    int error = ENOMEM;

    nat64_work_begin(&work, zone, nat64_tick(now_us), postpone);
    if (nat64_limbo_open(&work)) {
        error = find_and_lock(zone, r, &t, &s);
        if (!error) {
            nat64_limbo_remove(&work, s - work.nat64->sessions);
            nat64_unlock(work.nat64, &t);
        }
    }
    nat64_work_end(&work);
    return error;
}

/* ------------------------------------------------------------------------
 * From one state to another.
 * ------------------------------------------------------------------------ */

void
nat64_import_all(struct xlat_zone *zone, const struct xlat_zone *prev)
{
    const struct nat64 *old = prev->stateful->nat64;
    const struct nat64_shape *shape = &zone->stateful->nat64->shape;
    bool same_share = (old->shape.share == shape->share
                       && old->shape.n_shares == shape->n_shares);
    uint32_t n = nat64_n_touched(&old->free_sessions);

    for (uint32_t i = 0; i < n; i++) {
        const struct nat64_session *s = &old->sessions[i];
        struct nat64_record r;
        uint32_t stamp;

        if (!__atomic_load_n(&old->due[i], __ATOMIC_ACQUIRE)) {
            continue;
        }
        /* As if it were the time of its last packet. */
        stamp = nat64_last_stamp(s);
        get_record(old, s, stamp, &r);
        /* With another share, others' sessions are theirs to take over. */
        if (same_share
            || nat64_ports_share_of(r.outside_port, shape->n_shares)
               == shape->share) {
            import(zone, &r, nat64_origin(s),
                   (uint64_t) stamp << NAT64_TICK_SHIFT);
        }
    }
}
