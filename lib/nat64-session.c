/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Sessions: finding, making and removing them (RFC 6146, 3.2 and 3.5). */

#include <endian.h>

#include "nat64-private.h"
#include "pk-csum.h"
#include "xlat-private.h"

/* Sessions of a binding that are looked at for the sake of one packet from
 * outside. */
#define MAX_LOOKS 256

static bool is_full(const struct nat64 *);
static struct nat64_session *alloc_session(struct nat64 *, enum xlat_drop *);
static struct nat64_session *add_session(const struct nat64_make *,
                                         const struct nat64_tuple *,
                                         struct nat64_binding *, bool counted,
                                         struct nat64_session *slot,
                                         enum xlat_drop *);

/* Likewise, the prefix of 't'. */
static bool
has_prefix(const struct nat64 *nat64, const struct nat64_tuple *t)
{
    return __atomic_load_n(&nat64->prefix_used[nat64_sort_prefix(t->sort)],
                           __ATOMIC_ACQUIRE);
}

struct nat64_session *
nat64_find(const struct nat64 *nat64, enum nat64_dir dir,
           const struct nat64_tuple *tuple)
{
    uint32_t i = dir == NAT64_OUT
                 ? nat64_index_find(&nat64->by_inside,
                                    nat64_hash_inside(nat64, tuple),
                                    nat64_equal_inside, tuple,
                                    nat64->sessions)
                 : nat64_index_find(&nat64->by_outside,
                                    nat64_hash_outside(nat64, tuple),
                                    nat64_equal_outside, tuple,
                                    nat64->sessions);

    return i == NAT64_NONE ? NULL : &nat64->sessions[i];
}

/* Has both directions see the state of 's'.  In the end they do: whoever
 * copies it last has seen the last one. */
static void
copy_state(struct nat64_session *s)
{
    const uint8_t *own = &s->dir[NAT64_OUT].tuple.state;
    uint8_t state;

    do {
        state = __atomic_load_n(own, __ATOMIC_SEQ_CST);
        __atomic_store_n(&s->dir[NAT64_IN].tuple.state, state,
                         __ATOMIC_SEQ_CST);
    } while (__atomic_load_n(own, __ATOMIC_SEQ_CST) != state);
}

/* Sets the state of 's', whose lock is held. */
static void
set_state(struct nat64_session *s, enum nat64_state state)
{
    __atomic_store_n(&s->dir[NAT64_OUT].tuple.state, state, __ATOMIC_SEQ_CST);
    copy_state(s);
}

bool
nat64_move(struct nat64_session *s, uint8_t *state, uint8_t next)
{
    if (!__atomic_compare_exchange_n(&s->dir[NAT64_OUT].tuple.state, state,
                                     next, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_ACQUIRE)) {
        return false;
    }
    copy_state(s);
    return true;
}

/* Has the session end no earlier than now. */
static void
set_due(struct nat64 *nat64, const struct nat64_session *s, uint32_t tick)
{
    __atomic_store_n(&nat64->due[s - nat64->sessions], tick ? tick : 1,
                     __ATOMIC_RELEASE);
}

/* Makes a session whose time is over a new one of the same connection. */
static void
revive(const struct nat64_make *make, struct nat64_session *s)
{
    for (int dir = 0; dir < 2; dir++) {
        __atomic_store_n(&s->dir[dir].stamp, make->tick, __ATOMIC_RELAXED);
    }
    nat64_set_origin(s, make->origin);
    set_state(s, make->state);
    set_due(make->view->nat64, s, make->tick);
}

/* Returns the binding that a new session of 'tuple' is to have, or NULL if it
 * is to have one of its own. */
static struct nat64_binding *
find_binding(const struct nat64_make *make, const struct nat64_tuple *tuple)
{
    struct nat64_binding *b = nat64_binding_find_inside(make->view->nat64,
                                                        tuple);

    return (b && (make->set->mapping == XLAT_MAPPING_ENDPOINT_INDEPENDENT
                  || nat64_flags(b) & NAT64_BINDING_STATIC) ? b : NULL);
}

/* Makes a binding of 'tuple', which has been admitted. */
static struct nat64_binding *
add_binding(const struct nat64_make *make, const struct nat64_tuple *tuple,
            bool counted, enum xlat_drop *drop)
{
    bool is_private = make->set->mapping == XLAT_MAPPING_PER_FLOW;
    struct nat64_binding *b;

    b = nat64_binding_add(make, tuple,
                          (is_private ? NAT64_BINDING_PRIVATE : 0)
                          | (counted ? NAT64_BINDING_COUNTED : 0), drop);
    if (!b && counted) {
        nat64_leave(make->view->nat64, tuple, true, true);
    }
    return b;
}

/* Makes 'slot' a session of 'tuple', which it completes.  Returns NULL, with
 * '*drop' set, if it cannot. */
static struct nat64_session *
make_out_in(const struct nat64_make *make, struct nat64_tuple *tuple,
            struct nat64_session *slot, enum xlat_drop *drop)
{
    struct nat64 *nat64 = make->view->nat64;
    struct nat64_binding *b = find_binding(make, tuple);
    bool counted;

    if (b && !nat64_binding_is_open(nat64, b)) {
        *drop = XLAT_DROP_NO_PORT;
        b = NULL;
    } else {
        *drop = nat64_admit(make, tuple, !b, &counted);
        if (*drop != XLAT_OK) {
            b = NULL;
        } else if (!b) {
            b = add_binding(make, tuple, counted, drop);
        }
    }
    if (!b) {
        nat64_session_free(nat64, slot - nat64->sessions);
        return NULL;
    }
    tuple->outside = nat64_binding_ip(nat64, b);
    tuple->outside_port = b->outside_port;
    return add_session(make, tuple, b, counted, slot, drop);
}

struct nat64_session *
nat64_make_out(const struct nat64_make *make, struct nat64_tuple *tuple,
               enum xlat_drop *drop)
{
    struct nat64 *nat64 = make->view->nat64;
    struct nat64_session *s, *slot;

    nat64_lock(nat64, tuple);
    s = nat64_find(nat64, NAT64_OUT, tuple);
    if (s) {
        tuple->outside = s->dir[NAT64_OUT].tuple.outside;
        tuple->outside_port = s->dir[NAT64_OUT].tuple.outside_port;
        if (!nat64_is_alive(make->set, s, make->tick)) {
            revive(make, s);
        }
        nat64_unlock(nat64, tuple);
        return s;
    }
    /* No more of what nat64_fit() is about to end. */
    *drop = XLAT_DROP_NO_MAPPING;
    slot = has_prefix(nat64, tuple) ? alloc_session(nat64, drop) : NULL;
    if (slot) {
        s = make_out_in(make, tuple, slot, drop);
    }
    nat64_unlock(nat64, tuple);
    return s;
}

/* Returns whether a session of 'b' is alive, or 'b' needs none; with
 * 'remote', only one with that remote address counts (RFC 6146, 3.5:
 * address-dependent filtering). */
static bool
has_live_session(const struct nat64_make *make, const struct nat64_binding *b,
                 const pk_be32 *remote)
{
    const struct nat64 *nat64 = make->view->nat64;
    uint32_t i = b->sessions;

    if (!remote && nat64_flags(b) & NAT64_BINDING_STATIC) {
        return true;
    }
    for (int look = 0; i != NAT64_NONE && look < MAX_LOOKS; look++) {
        const struct nat64_session *s = &nat64->sessions[i];

        if ((!remote || s->dir[NAT64_IN].tuple.remote == *remote)
            && nat64_is_alive(make->set, s, make->tick)) {
            return true;
        }
        i = s->dir[NAT64_IN].link;
    }
    return false;
}

/* Returns why there may not be a new session of 'tuple' with 'b', or
 * XLAT_OK and, if it counts, '*counted'. */
static enum xlat_drop
check_in_new(const struct nat64_make *make, const struct nat64_tuple *tuple,
             bool *counted)
{
    const struct nat64 *nat64 = make->view->nat64;

    if (nat64_find(nat64, NAT64_OUT, tuple)) {
        /* The same inside and remote have a binding of their own. */
        return XLAT_DROP_NO_BINDING;
    } else if (is_full(nat64)) {
        return XLAT_DROP_TABLE_FULL;
    }
    return nat64_admit(make, tuple, false, counted);
}

/* Makes a session of 'tuple' with the binding 'b'. */
static struct nat64_session *
make_in_new(const struct nat64_make *make, struct nat64_tuple *tuple,
            struct nat64_binding *b, enum xlat_drop *drop)
{
    struct nat64 *nat64 = make->view->nat64;
    struct nat64_session *slot;
    bool counted;

    *drop = check_in_new(make, tuple, &counted);
    if (*drop != XLAT_OK) {
        return NULL;
    }
    slot = alloc_session(nat64, drop);
    if (!slot) {
        nat64_leave(nat64, tuple, counted, false);
        return NULL;
    }
    return add_session(make, tuple, b, counted, slot, drop);
}

/* Returns why 'b', whose lock is held, lets a packet of 'tuple' not in, or
 * XLAT_OK. */
static enum xlat_drop
filter(const struct nat64_make *make, const struct nat64_tuple *tuple,
       const struct nat64_binding *b)
{
    const struct nat64 *nat64 = make->view->nat64;
    enum xlat_drop drop;

    if (!nat64_binding_is_open(nat64, b) || !has_prefix(nat64, tuple)
        || !has_live_session(make, b, NULL)) {
        return XLAT_DROP_NO_BINDING;
    }
    drop = nat64_check_hosts(make->zone, tuple);
    if (drop != XLAT_OK) {
        return drop;
    }
    return (make->set->filtering == XLAT_FILTERING_ADDRESS_DEPENDENT
            && !has_live_session(make, b, &tuple->remote)
            ? XLAT_DROP_FILTERED : XLAT_OK);
}

/* Finds the binding of the outside of 'tuple', completes 'tuple' by its inside
 * and locks that.  Returns the binding; or NULL, with nothing locked. */
static struct nat64_binding *
lock_outside(struct nat64 *nat64, struct nat64_tuple *tuple)
{
    struct nat64_binding *b = nat64_binding_find_outside(nat64, tuple);

    if (!b) {
        return NULL;
    }
    tuple->inside = b->inside;
    tuple->tenant = b->tenant;
    tuple->inside_port = b->inside_port;
    tuple->sort = b->sort;
    nat64_lock(nat64, tuple);
    /* It may be another one by now. */
    if (nat64_binding_find_inside(nat64, tuple) == b
        && nat64_binding_ip(nat64, b) == tuple->outside
        && b->outside_port == tuple->outside_port) {
        return b;
    }
    nat64_unlock(nat64, tuple);
    return NULL;
}

struct nat64_session *
nat64_make_in(const struct nat64_make *make, struct nat64_tuple *tuple,
              enum xlat_drop *drop)
{
    struct nat64 *nat64 = make->view->nat64;
    struct nat64_binding *b = lock_outside(nat64, tuple);
    struct nat64_session *s = NULL;

    *drop = b ? filter(make, tuple, b) : XLAT_DROP_NO_BINDING;
    if (*drop == XLAT_OK) {
        s = nat64_find(nat64, NAT64_IN, tuple);
        if (!s) {
            s = make_in_new(make, tuple, b, drop);
        } else if (!nat64_is_alive(make->set, s, make->tick)) {
            revive(make, s);
        }
    }
    if (b) {
        nat64_unlock(nat64, tuple);
    }
    return s;
}

/* Finds the outside that a new session of 'tuple' would have. */
static enum xlat_drop
peek_out_new(const struct nat64_make *make, struct nat64_tuple *tuple)
{
    struct nat64 *nat64 = make->view->nat64;
    const struct nat64_binding *b = find_binding(make, tuple);
    struct nat64_address *address;
    enum xlat_drop drop;
    uint16_t port;
    bool counted;

    if (!has_prefix(nat64, tuple)) {
        return XLAT_DROP_NO_MAPPING;
    } else if (is_full(nat64)) {
        return XLAT_DROP_TABLE_FULL;
    } else if (b && !nat64_binding_is_open(nat64, b)) {
        return XLAT_DROP_NO_PORT;
    }
    drop = nat64_admit(make, tuple, !b, &counted);
    if (drop != XLAT_OK) {
        return drop;
    } else if (b) {
        tuple->outside = nat64_binding_ip(nat64, b);
        tuple->outside_port = b->outside_port;
        return XLAT_OK;
    }
    address = nat64_binding_take_port(make, tuple, &port, &drop);
    if (!address) {
        return drop;
    }
    nat64_give_port(nat64, address, nat64_sort_proto(tuple->sort), port);
    tuple->outside = htobe32(address->ip);
    tuple->outside_port = htobe16(port);
    return XLAT_OK;
}

static enum xlat_drop
peek_out(const struct nat64_make *make, struct nat64_tuple *tuple)
{
    struct nat64 *nat64 = make->view->nat64;
    const struct nat64_session *s;
    enum xlat_drop drop = XLAT_OK;

    nat64_lock(nat64, tuple);
    s = nat64_find(nat64, NAT64_OUT, tuple);
    if (s) {
        nat64_tuple_get(&s->dir[NAT64_OUT], tuple);
    } else {
        drop = peek_out_new(make, tuple);
    }
    nat64_unlock(nat64, tuple);
    return drop;
}

static enum xlat_drop
peek_in(const struct nat64_make *make, struct nat64_tuple *tuple)
{
    struct nat64 *nat64 = make->view->nat64;
    const struct nat64_binding *b = lock_outside(nat64, tuple);
    enum xlat_drop drop;
    bool counted;

    if (!b) {
        return XLAT_DROP_NO_BINDING;
    }
    drop = filter(make, tuple, b);
    if (drop == XLAT_OK && make->state != NAT64_DEAD
        && !nat64_find(nat64, NAT64_IN, tuple)) {
        drop = check_in_new(make, tuple, &counted);
    }
    nat64_unlock(nat64, tuple);
    return drop;
}

enum xlat_drop
nat64_peek(const struct nat64_make *make, enum nat64_dir dir,
           struct nat64_tuple *tuple)
{
    return dir == NAT64_OUT ? peek_out(make, tuple) : peek_in(make, tuple);
}

void
nat64_remote(const struct nat64 *nat64, uint8_t sort, pk_be32 remote,
             union pk_addr *addr)
{
    if (nat64->shape.inside_family == 4) {
        *addr = nat64_inside4(remote);
    } else {
        const struct xlat_6052 *prefix
            = &nat64->prefixes[nat64_sort_prefix(sort)];

        xlat_ip6_store(xlat_6052_embed(prefix, be32toh(remote)), addr);
    }
}

/* Sets what the two directions add to transport checksums. */
static void
set_deltas(const struct nat64 *nat64, struct nat64_session *s)
{
    const struct nat64_tuple *t = &s->dir[NAT64_OUT].tuple;
    union pk_addr remote;
    uint64_t inside, outside;

    nat64_remote(nat64, t->sort, t->remote, &remote);
    /* What an address of 4 bytes does not fill is zero. */
    inside = pk_csum_addr6(&t->inside) + pk_csum_addr6(&remote)
             + t->inside_port;
    outside = (uint64_t) t->outside + t->remote + t->outside_port;
    s->dir[NAT64_OUT].tuple.delta = pk_csum_delta(inside, outside);
    s->dir[NAT64_IN].tuple.delta = pk_csum_delta(outside, inside);
}

/* Puts 's' in front of the sessions of 'b'. */
static void
link_session(struct nat64 *nat64, struct nat64_session *s,
             struct nat64_binding *b, bool counted)
{
    uint32_t i = s - nat64->sessions;

    s->dir[NAT64_OUT].link = ((b - nat64->bindings)
                              | (counted ? NAT64_LINK_COUNTED : 0));
    s->dir[NAT64_IN].link = b->sessions;
    nat64_set_previous(s, NAT64_NONE);
    if (b->sessions != NAT64_NONE) {
        nat64_set_previous(&nat64->sessions[b->sessions], i);
    }
    b->sessions = i;
}

static void
unlink_session(struct nat64 *nat64, const struct nat64_session *s,
               struct nat64_binding *b)
{
    uint32_t next = s->dir[NAT64_IN].link;
    uint32_t previous = nat64_previous(s);

    if (next != NAT64_NONE) {
        nat64_set_previous(&nat64->sessions[next], previous);
    }
    if (previous != NAT64_NONE) {
        nat64->sessions[previous].dir[NAT64_IN].link = next;
    } else {
        b->sessions = next;
    }
}

/* Fills a new session in.  The slot's generation goes on. */
static void
init_session(const struct nat64_make *make, const struct nat64_tuple *t,
             struct nat64_session *s)
{
    uint64_t generation = (uint16_t) (nat64_generation(s) + 1);

    for (int dir = 0; dir < 2; dir++) {
        s->dir[dir] = (struct nat64_flow) {
            .tuple = *t,
            .stamp = make->tick,
        };
        s->dir[dir].tuple.state = make->state;
    }
    s->dir[NAT64_OUT].packets = generation << NAT64_COUNT_BITS;
    s->dir[NAT64_IN].packets = (uint64_t) make->origin << NAT64_COUNT_BITS;
    set_deltas(make->view->nat64, s);
}

/* Inserts 's' into the indexes.  Returns false if they have no room. */
static bool
index_session(struct nat64 *nat64, struct nat64_session *s)
{
    uint32_t i = s - nat64->sessions;
    uint64_t inside = nat64_hash_inside(nat64, &s->dir[NAT64_OUT].tuple);

    if (!nat64_index_insert(&nat64->by_inside, inside, i)) {
        return false;
    }
    if (!nat64_index_insert(&nat64->by_outside,
                            nat64_hash_outside(nat64,
                                               &s->dir[NAT64_IN].tuple), i)) {
        nat64_index_remove(&nat64->by_inside, inside, i);
        return false;
    }
    return true;
}

static bool
is_full(const struct nat64 *nat64)
{
    return (__atomic_load_n(&nat64->n_heirs, __ATOMIC_ACQUIRE)
            || __atomic_load_n(&nat64->n_sessions, __ATOMIC_RELAXED)
               >= nat64->shape.max_sessions);
}

/* Takes a slot, with nat64_lock() held. */
static struct nat64_session *
alloc_session(struct nat64 *nat64, enum xlat_drop *drop)
{
    uint32_t i = is_full(nat64) ? NAT64_NONE : nat64_session_alloc(nat64);

    *drop = XLAT_DROP_TABLE_FULL;
    return i == NAT64_NONE ? NULL : &nat64->sessions[i];
}

/* Forgets the SYN that has waited for the session of 't', which is there. */
static void
forget_syn(const struct nat64_make *make, const struct nat64_tuple *t)
{
    struct nat64_syns *syns = make->view->syns;

    if (syns && nat64_syns_n(syns)
        && nat64_sort_proto(t->sort) == NAT64_TCP) {
        struct nat64_syn_key key = {
            .remote = t->remote,
            .outside = t->outside,
            .remote_port = t->remote_port,
            .outside_port = t->outside_port,
        };

        nat64_syns_forget(syns, &key);
    }
}

/* Makes 'slot' a session of 'b'. */
static struct nat64_session *
add_session(const struct nat64_make *make, const struct nat64_tuple *t,
            struct nat64_binding *b, bool counted, struct nat64_session *s,
            enum xlat_drop *drop)
{
    struct nat64 *nat64 = make->view->nat64;

    init_session(make, t, s);
    link_session(nat64, s, b, counted);
    __atomic_fetch_add(&nat64->n_sessions, 1, __ATOMIC_RELAXED);
    if (!index_session(nat64, s)) {
        /* Somebody may have seen it: expiry will see to it. */
        *drop = XLAT_DROP_TABLE_FULL;
        set_state(s, NAT64_DEAD);
        set_due(nat64, s, make->tick);
        return NULL;
    }
    set_due(nat64, s, make->tick + nat64_timeout(make->set, t->sort,
                                                 make->state));
    forget_syn(make, t);
    if (nat64_logs(nat64, XLAT_LOG_SESSIONS)) {
        nat64_log_tuple(nat64, NAT64_EVENT_SESSION_ADD, t);
    }
    return s;
}

struct nat64_session *
nat64_add(const struct nat64_make *make, const struct nat64_tuple *t,
          struct nat64_binding *b, uint32_t slot)
{
    struct nat64 *nat64 = make->view->nat64;
    enum xlat_drop drop;

    return add_session(make, t, b, false, &nat64->sessions[slot], &drop);
}

uint32_t
nat64_remove(struct nat64 *nat64, struct nat64_session *s)
{
    uint32_t i = s - nat64->sessions;
    struct nat64_binding *b = nat64_binding_of(nat64, s);

    if (nat64_logs(nat64, XLAT_LOG_SESSIONS)) {
        nat64_log_tuple(nat64, NAT64_EVENT_SESSION_DEL,
                        &s->dir[NAT64_OUT].tuple);
    }
    set_state(s, NAT64_DEAD);
    __atomic_store_n(&nat64->due[i], 0, __ATOMIC_RELAXED);
    nat64_index_remove(&nat64->by_inside,
                       nat64_hash_inside(nat64, &s->dir[NAT64_OUT].tuple), i);
    nat64_index_remove(&nat64->by_outside,
                       nat64_hash_outside(nat64, &s->dir[NAT64_IN].tuple), i);
    unlink_session(nat64, s, b);
    __atomic_fetch_sub(&nat64->n_sessions, 1, __ATOMIC_RELAXED);
    if (s->dir[NAT64_OUT].link & NAT64_LINK_COUNTED) {
        nat64_leave(nat64, &s->dir[NAT64_OUT].tuple, true, false);
    }
    if (b->sessions != NAT64_NONE || nat64_flags(b) & NAT64_BINDING_STATIC) {
        return NAT64_NONE;
    }
    nat64_binding_remove(nat64, b);
    return b - nat64->bindings;
}
