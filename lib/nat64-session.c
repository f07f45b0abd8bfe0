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

static struct nat64_session *alloc_session(struct nat64 *, enum xlat_drop *);
static struct nat64_session *add_session(const struct nat64_make *,
                                         const struct nat64_tuple *,
                                         struct nat64_binding *,
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

/* Sets the state of 's', whose lock is held. */
static void
set_state(struct nat64_session *s, enum nat64_state state)
{
    __atomic_store_n(&s->dir[NAT64_OUT].tuple.state, state, __ATOMIC_RELEASE);
    __atomic_store_n(&s->dir[NAT64_IN].tuple.state, state, __ATOMIC_RELEASE);
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
    set_state(s, make->state);
    set_due(make->view->nat64, s, make->tick);
}

struct nat64_session *
nat64_make_out(const struct nat64_make *make, struct nat64_tuple *tuple,
               enum xlat_drop *drop)
{
    struct nat64 *nat64 = make->view->nat64;
    struct nat64_binding *b = NULL;
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
        if (make->set->mapping == XLAT_MAPPING_ENDPOINT_INDEPENDENT) {
            b = nat64_binding_find_inside(nat64, tuple);
        }
        if (!b) {
            b = nat64_binding_add(make, tuple, drop);
        } else if (!nat64_binding_is_open(nat64, b)) {
            *drop = XLAT_DROP_NO_PORT;
            b = NULL;
        }
        if (b) {
            tuple->outside = nat64_binding_ip(nat64, b);
            tuple->outside_port = b->outside_port;
            s = add_session(make, tuple, b, slot, drop);
        } else {
            nat64_session_free(nat64, slot - nat64->sessions);
        }
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

    if (!remote && b->flags & NAT64_BINDING_STATIC) {
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

/* Finishes nat64_make_in() for the binding 'b', with the lock held. */
static struct nat64_session *
make_in_of(const struct nat64_make *make, struct nat64_tuple *tuple,
           struct nat64_binding *b, enum xlat_drop *drop)
{
    struct nat64 *nat64 = make->view->nat64;
    struct nat64_session *s = nat64_find(nat64, NAT64_IN, tuple);

    *drop = XLAT_DROP_NO_BINDING;
    if (!nat64_binding_is_open(nat64, b) || !has_prefix(nat64, tuple)
        || !has_live_session(make, b, NULL)) {
        return NULL;
    }
    if (make->set->filtering == XLAT_FILTERING_ADDRESS_DEPENDENT
        && !has_live_session(make, b, &tuple->remote)) {
        *drop = XLAT_DROP_FILTERED;
        return NULL;
    }
    if (!s) {
        struct nat64_session *slot = alloc_session(nat64, drop);

        return slot ? add_session(make, tuple, b, slot, drop) : NULL;
    }
    if (!nat64_is_alive(make->set, s, make->tick)) {
        revive(make, s);
    }
    return s;
}

struct nat64_session *
nat64_make_in(const struct nat64_make *make, struct nat64_tuple *tuple,
              enum xlat_drop *drop)
{
    struct nat64 *nat64 = make->view->nat64;
    struct nat64_binding *b = nat64_binding_find_outside(nat64, tuple);
    struct nat64_session *s = NULL;

    *drop = XLAT_DROP_NO_BINDING;
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
        s = make_in_of(make, tuple, b, drop);
    }
    nat64_unlock(nat64, tuple);
    return s;
}

static enum xlat_drop
peek_out(const struct nat64_make *make, struct nat64_tuple *tuple)
{
    const struct nat64 *nat64 = make->view->nat64;
    const struct nat64_binding *b = NULL;
    enum nat64_proto proto = nat64_sort_proto(tuple->sort);
    struct nat64_address *address;
    uint16_t port;

    if (make->set->mapping == XLAT_MAPPING_ENDPOINT_INDEPENDENT) {
        b = nat64_binding_find_inside(nat64, tuple);
    }
    if (b) {
        tuple->outside = nat64_binding_ip(nat64, b);
        tuple->outside_port = b->outside_port;
        return XLAT_OK;
    }
    address = nat64_binding_take_port(make, tuple, &port);
    if (!address) {
        return XLAT_DROP_NO_PORT;
    }
    nat64_ports_give(&address->ports[proto], port);
    tuple->outside = htobe32(address->ip);
    tuple->outside_port = htobe16(port);
    return XLAT_OK;
}

static enum xlat_drop
peek_in(const struct nat64_make *make, struct nat64_tuple *tuple)
{
    const struct nat64 *nat64 = make->view->nat64;
    const struct nat64_binding *b = nat64_binding_find_outside(nat64, tuple);

    if (!b || !has_live_session(make, b, NULL)) {
        return XLAT_DROP_NO_BINDING;
    }
    if (make->set->filtering == XLAT_FILTERING_ADDRESS_DEPENDENT
        && !has_live_session(make, b, &tuple->remote)) {
        return XLAT_DROP_FILTERED;
    }
    tuple->inside = b->inside;
    tuple->inside_port = b->inside_port;
    tuple->sort = b->sort;
    return XLAT_OK;
}

enum xlat_drop
nat64_peek(const struct nat64_make *make, enum nat64_dir dir,
           struct nat64_tuple *tuple)
{
    return dir == NAT64_OUT ? peek_out(make, tuple) : peek_in(make, tuple);
}

/* Sets what the two directions add to transport checksums. */
static void
set_deltas(const struct nat64 *nat64, struct nat64_session *s)
{
    const struct nat64_tuple *t = &s->dir[NAT64_OUT].tuple;
    struct xlat_ip6 remote = xlat_6052_embed(
        &nat64->prefixes[nat64_sort_prefix(t->sort)], be32toh(t->remote));
    uint8_t remote6[16];
    uint64_t inside, outside;

    xlat_ip6_store(remote, remote6);
    inside = pk_csum_addr6(&t->inside) + pk_csum_addr6(remote6)
             + t->inside_port;
    outside = (uint64_t) t->outside + t->remote + t->outside_port;
    s->dir[NAT64_OUT].tuple.delta = pk_csum_delta(inside, outside);
    s->dir[NAT64_IN].tuple.delta = pk_csum_delta(outside, inside);
}

/* Puts 's' in front of the sessions of 'b'. */
static void
link_session(struct nat64 *nat64, struct nat64_session *s,
             struct nat64_binding *b)
{
    uint32_t i = s - nat64->sessions;

    s->dir[NAT64_OUT].link = b - nat64->bindings;
    s->dir[NAT64_IN].link = b->sessions;
    s->dir[NAT64_IN].tuple.previous = NAT64_NONE;
    if (b->sessions != NAT64_NONE) {
        nat64->sessions[b->sessions].dir[NAT64_IN].tuple.previous = i;
    }
    b->sessions = i;
}

static void
unlink_session(struct nat64 *nat64, const struct nat64_session *s,
               struct nat64_binding *b)
{
    uint32_t next = s->dir[NAT64_IN].link;
    uint32_t previous = s->dir[NAT64_IN].tuple.previous;

    if (next != NAT64_NONE) {
        nat64->sessions[next].dir[NAT64_IN].tuple.previous = previous;
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
    uint32_t generation = nat64_generation(s) + 1;

    for (int dir = 0; dir < 2; dir++) {
        s->dir[dir] = (struct nat64_flow) {
            .tuple = *t,
            .stamp = make->tick,
        };
        s->dir[dir].tuple.state = make->state;
    }
    s->dir[NAT64_OUT].tuple.generation = generation >> 16;
    s->dir[NAT64_IN].tuple.generation = generation;
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

static struct nat64_session *
alloc_session(struct nat64 *nat64, enum xlat_drop *drop)
{
    uint32_t i = nat64_session_alloc(nat64);

    *drop = XLAT_DROP_TABLE_FULL;
    return i == NAT64_NONE ? NULL : &nat64->sessions[i];
}

/* Makes 'slot' a session of 'b'. */
static struct nat64_session *
add_session(const struct nat64_make *make, const struct nat64_tuple *t,
            struct nat64_binding *b, struct nat64_session *s,
            enum xlat_drop *drop)
{
    struct nat64 *nat64 = make->view->nat64;

    init_session(make, t, s);
    link_session(nat64, s, b);
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
    return s;
}

uint32_t
nat64_remove(struct nat64 *nat64, struct nat64_session *s)
{
    uint32_t i = s - nat64->sessions;
    struct nat64_binding *b = &nat64->bindings[s->dir[NAT64_OUT].link];

    set_state(s, NAT64_DEAD);
    __atomic_store_n(&nat64->due[i], 0, __ATOMIC_RELAXED);
    nat64_index_remove(&nat64->by_inside,
                       nat64_hash_inside(nat64, &s->dir[NAT64_OUT].tuple), i);
    nat64_index_remove(&nat64->by_outside,
                       nat64_hash_outside(nat64, &s->dir[NAT64_IN].tuple), i);
    unlink_session(nat64, s, b);
    __atomic_fetch_sub(&nat64->n_sessions, 1, __ATOMIC_RELAXED);
    if (b->sessions != NAT64_NONE || b->flags & NAT64_BINDING_STATIC) {
        return NAT64_NONE;
    }
    nat64_binding_remove(nat64, b);
    return b - nat64->bindings;
}
