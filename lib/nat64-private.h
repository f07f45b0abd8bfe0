/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef NAT64_PRIVATE_H
#define NAT64_PRIVATE_H 1

/* The state of a stateful zone: sessions, bindings, and how to find them.
 * Shared by all snapshots of the zone (struct xlat_zone).
 *
 * A session is one connection: two lines of memory, one for each direction,
 * with the whole of what a packet of that direction needs, so that the threads
 * of the two directions do not share a line.  A binding (RFC 6146, 3.1) is
 * what the sessions of one inside transport address have in common: their
 * outside transport address.  Everything is allocated when the zone is
 * configured; a packet allocates only in the sense that it takes an unused
 * slot.
 *
 * Who may do what, when.
 *
 *   Reading.  A packet finds its session by one of the indexes, compares its
 *   key, and uses it, without a lock.  It writes the stamp and the counters of
 *   its own direction.
 *
 *   Changing.  A session and a binding appear, disappear and are linked with
 *   'bib_by_inside' locked for the inside transport address (nat64_lock()).
 *   So at most one thread works on the sessions of one binding, and a search
 *   under that lock is final.  The other indexes change under it without locks
 *   of their own: each key in them belongs to one binding.
 *
 *   Freeing.  A slot that was removed from the indexes may still be read by
 *   packets that found it before.  It goes to 'limbo', and is used again only
 *   when those are through, which the owner's RCU says by the postpone
 *   callback; so does its port.  So a packet is never translated by what
 *   another connection has written into its session, and never with a port
 *   that has another owner already.
 *
 *   Order of locks: 'control', then one bucket of 'bib_by_inside'.
 *
 * Time is in ticks of 65,536 us, which 32 bits count for nine years; only
 * differences matter.
 *
 * Private to nat64-*.c, xlat-zone.c and tests. */

#include <pthread.h>

#include "nat64-frag.h"
#include "nat64-index.h"
#include "nat64-pool.h"
#include "nat64-tcp.h"
#include "pk.h"
#include "xlat-6052.h"
#include "xlat-settings.h"
#include "xlat.h"

#define NAT64_TICK_SHIFT 16

/* pool6 prefixes that a zone may have: what fits beside the protocol. */
#define NAT64_MAX_POOL6 32

/* What a packet belongs to.  'sort' is enum nat64_proto and, multiplied by
 * NAT64_N_SORTS, the place of the pool6 prefix: a host that reaches a server
 * by two prefixes has two bindings, since answers could not be told apart. */
#define NAT64_N_SORTS 4

struct nat64_tuple {
    union pk_addr inside;
    union {
        uint32_t tenant;         /* In NAT64_OUT. */
        uint32_t previous;       /* In NAT64_IN: see struct nat64_flow. */
    };
    pk_be32 outside;             /* The zone's own address. */
    pk_be32 remote;
    pk_be16 inside_port;         /* Ports; of ICMP, all the identifiers that */
    pk_be16 outside_port;        /* there are: inside and outside. */
    pk_be16 remote_port;
    uint8_t sort;

    /* Of sessions, and no part of the key. */
    uint8_t state;               /* enum nat64_state.  That of NAT64_OUT is the
                                  * session's, that of NAT64_IN a copy for its
                                  * own packets. */
    uint16_t delta;              /* What this direction adds to the transport
                                  * checksum: as in struct xlat_rewrite. */
    uint16_t generation;         /* Half of it: in NAT64_OUT the upper. */
};

/* One direction of a session. */
struct nat64_flow {
    struct nat64_tuple tuple;
    uint32_t stamp;              /* Tick of the last packet that counts. */
    uint32_t link;               /* NAT64_OUT: the binding, or NAT64_NONE.
                                  * NAT64_IN: the binding's next session; the
                                  * one before is tuple.previous. */
    uint64_t packets;
    uint64_t bytes;              /* IP bytes, before translation. */
};

struct nat64_session {
    struct nat64_flow dir[2];    /* By enum nat64_dir. */
} __attribute__((aligned(128)));

struct nat64_binding {
    union pk_addr inside;
    uint32_t tenant;
    uint32_t sessions;           /* The first of them, or NAT64_NONE.  Of a
                                  * binding without life: the next one. */
    pk_be16 inside_port;
    pk_be16 outside_port;
    uint16_t place;              /* Of the outside address. */
    uint8_t sort;
    uint8_t flags;               /* NAT64_BINDING_*. */
};

enum nat64_binding_flags {
    NAT64_BINDING_LIVE = 1 << 0,
    NAT64_BINDING_STATIC = 1 << 1,    /* Lives without sessions. */
    NAT64_BINDING_PRIVATE = 1 << 2,   /* Of one session; not to be found. */
};

/* Slots without a use: those given back, linked by their first word, and those
 * that never were taken. */
struct nat64_stack {
    uint64_t head;               /* Slot, and above, how often it changed. */
    uint32_t n_touched;          /* Slots from here on were never taken. */
    uint32_t max;
};

/* Bindings that wait until their port may be used again, oldest first, linked
 * by 'sessions', with the tick of their death in 'tenant'. */
struct nat64_cooling {
    uint32_t first;
    uint32_t last;
};

struct nat64 {
    unsigned int refs;
    uint32_t max;                /* Sessions, and bindings. */

    struct nat64_session *sessions;
    uint32_t *due;               /* For each session, 0, or a tick before which
                                  * it does not end. */
    struct nat64_binding *bindings;
    struct nat64_stack free_sessions;
    struct nat64_stack free_bindings;

    struct nat64_index by_inside;      /* Sessions, for NAT64_OUT. */
    struct nat64_index by_outside;     /* Sessions, for NAT64_IN. */
    struct nat64_index bib_by_inside;
    struct nat64_index bib_by_outside;
    struct nat64_frags *frags;

    struct nat64_places places;
    struct xlat_6052 prefixes[NAT64_MAX_POOL6];

    /* Gauges. */
    uint32_t n_sessions;
    uint32_t n_bindings;

    pthread_mutex_t control;     /* Of configuration and expiry: for the places
                                  * and prefixes above, and what follows. */
    bool prefix_used[NAT64_MAX_POOL6];
    uint32_t prefix_closing[NAT64_MAX_POOL6];   /* Calls of nat64_fit() that
                                  * have closed it and wait for packets that
                                  * may still read it. */
    struct nat64_cooling cooling[NAT64_N_PROTOS];
    uint32_t n_cooling;          /* In all of them. */
};

/* What a snapshot of a zone has of its own. */
struct nat64_view {
    struct nat64 *nat64;
    struct nat64_pool pool;
    uint8_t prefix_places[NAT64_MAX_POOL6];    /* Of the zone's pool6. */
};

/* nat64-table.c: storage. */

/* Makes a state for 'max' sessions, with one reference; 'seed' keys its
 * hashes.  Returns NULL if there is no memory. */
struct nat64 *nat64_create(uint32_t max, uint64_t seed);
struct nat64 *nat64_ref(struct nat64 *);
void nat64_unref(struct nat64 *);

/* Takes an unused slot, or returns NAT64_NONE. */
uint32_t nat64_session_alloc(struct nat64 *);
uint32_t nat64_binding_alloc(struct nat64 *);

/* Gives slots back that nobody reads any more. */
void nat64_session_free(struct nat64 *, uint32_t session);
void nat64_binding_free(struct nat64 *, uint32_t binding);

/* Slots from this one on have never been used. */
uint32_t nat64_n_touched(const struct nat64_stack *);

/* Lock and unlock everything that has the inside transport address of
 * 'tuple'. */
void nat64_lock(struct nat64 *, const struct nat64_tuple *tuple);
void nat64_unlock(struct nat64 *, const struct nat64_tuple *tuple);

/* What making a session or a binding takes besides. */
struct nat64_make {
    const struct nat64_view *view;
    const struct xlat_settings *set;
    enum nat64_state state;      /* Of a new session. */
    uint32_t tick;
    uint64_t random;
};

/* nat64-bib.c: bindings. */

/* Returns the binding of the inside, or of the outside transport address of
 * 'tuple', or NULL.  With nat64_lock() held, the first is final. */
struct nat64_binding *nat64_binding_find_inside(const struct nat64 *,
                                                const struct nat64_tuple *);
struct nat64_binding *nat64_binding_find_outside(const struct nat64 *,
                                                 const struct nat64_tuple *);

/* Returns the outside address of the binding. */
pk_be32 nat64_binding_ip(const struct nat64 *, const struct nat64_binding *);

/* Returns whether the configuration still has that address. */
bool nat64_binding_is_open(const struct nat64 *, const struct nat64_binding *);

/* Takes a port for a binding of 'tuple'.  Returns its address, with '*portp'
 * set, or NULL. */
struct nat64_address *nat64_binding_take_port(const struct nat64_make *,
                                              const struct nat64_tuple *tuple,
                                              uint16_t *portp);

/* Makes a binding of 'tuple', without sessions.  Returns NULL, with '*drop'
 * set, if it cannot.  With nat64_lock() held. */
struct nat64_binding *nat64_binding_add(const struct nat64_make *,
                                        const struct nat64_tuple *tuple,
                                        enum xlat_drop *drop);

/* Removes the binding, which has no sessions, from the indexes.  With
 * nat64_lock() held. */
void nat64_binding_remove(struct nat64 *, struct nat64_binding *);

/* nat64-session.c: sessions. */

/* Returns the session with the key of 'tuple' for packets of 'dir', or
 * NULL. */
struct nat64_session *nat64_find(const struct nat64 *, enum nat64_dir dir,
                                 const struct nat64_tuple *tuple);

/* Finds the session with the key of 'tuple' for packets from inside, or makes
 * it, with a binding if need be, and completes 'tuple' by its outside
 * transport address.  Returns it, or NULL with '*drop' set. */
struct nat64_session *nat64_make_out(const struct nat64_make *,
                                     struct nat64_tuple *tuple,
                                     enum xlat_drop *drop);

/* The same for packets from outside, for which there must be a binding;
 * completes 'tuple' by the inside. */
struct nat64_session *nat64_make_in(const struct nat64_make *,
                                    struct nat64_tuple *tuple,
                                    enum xlat_drop *drop);

/* Completes 'tuple' as nat64_make_out() or nat64_make_in() would, by 'dir',
 * but makes nothing.  Returns XLAT_N_DROPS, or the reason. */
enum xlat_drop nat64_peek(const struct nat64_make *, enum nat64_dir dir,
                          struct nat64_tuple *tuple);

/* Removes 's' from the indexes, and its binding if it was the last.  With
 * nat64_lock() held.  Returns the binding's slot if it is gone too, or
 * NAT64_NONE.  Both slots are the caller's now, to be freed when nobody can
 * read them any more. */
uint32_t nat64_remove(struct nat64 *, struct nat64_session *s);

/* nat64-expire.c: time. */

/* Returns the ticks that a session of 'sort' in 'state' lives without
 * packets. */
uint32_t nat64_timeout(const struct xlat_settings *, uint8_t sort,
                       enum nat64_state state);

/* Returns the ticks that the session has left at 'tick'. */
uint32_t nat64_ticks_left(const struct xlat_settings *,
                          const struct nat64_session *, uint32_t tick);

/* Returns whether the session has time left at 'tick'. */
bool nat64_is_alive(const struct xlat_settings *,
                    const struct nat64_session *, uint32_t tick);

/* Has 's' be looked at soon, since it may end sooner than was thought; not if
 * it has ended meanwhile. */
static inline void
nat64_hasten(struct nat64 *nat64, const struct nat64_session *s, uint32_t tick)
{
    uint32_t *due = &nat64->due[s - nat64->sessions];
    uint32_t old = __atomic_load_n(due, __ATOMIC_RELAXED);

    while (old
           && !__atomic_compare_exchange_n(due, &old, tick ? tick : 1, false,
                                           __ATOMIC_RELEASE,
                                           __ATOMIC_RELAXED)) {
        /* 'old' is new. */
    }
}

/* Inline for the packet path's sake. */

static inline uint32_t
nat64_tick(uint64_t now_us)
{
    return now_us >> NAT64_TICK_SHIFT;
}

static inline enum nat64_proto
nat64_sort_proto(uint8_t sort)
{
    return sort % NAT64_N_SORTS;
}

static inline uint8_t
nat64_sort_prefix(uint8_t sort)
{
    return sort / NAT64_N_SORTS;
}

/* Sets the stamp of 'flow'. */
static inline void
nat64_stamp(struct nat64_flow *flow, uint32_t tick)
{
    if (__atomic_load_n(&flow->stamp, __ATOMIC_RELAXED) != tick) {
        __atomic_store_n(&flow->stamp, tick, __ATOMIC_RELAXED);
    }
}

/* Counts a packet of 'bytes' in 'flow'.  Two threads that do so at once may
 * lose one. */
static inline void
nat64_count(struct nat64_flow *flow, uint32_t bytes)
{
    __atomic_store_n(&flow->packets,
                     __atomic_load_n(&flow->packets, __ATOMIC_RELAXED) + 1,
                     __ATOMIC_RELAXED);
    __atomic_store_n(&flow->bytes,
                     __atomic_load_n(&flow->bytes, __ATOMIC_RELAXED) + bytes,
                     __ATOMIC_RELAXED);
}

/* Copies of the tuple of 'flow' what never changes while the session can be
 * found. */
static inline void
nat64_tuple_get(const struct nat64_flow *flow, struct nat64_tuple *t)
{
    t->inside = flow->tuple.inside;
    t->outside = flow->tuple.outside;
    t->remote = flow->tuple.remote;
    t->inside_port = flow->tuple.inside_port;
    t->outside_port = flow->tuple.outside_port;
    t->remote_port = flow->tuple.remote_port;
    t->sort = flow->tuple.sort;
}

static inline uint32_t
nat64_generation(const struct nat64_session *s)
{
    return (uint32_t) s->dir[NAT64_OUT].tuple.generation << 16
           | s->dir[NAT64_IN].tuple.generation;
}

static inline enum nat64_state
nat64_state(const struct nat64_flow *flow)
{
    return __atomic_load_n(&flow->tuple.state, __ATOMIC_ACQUIRE);
}

/* Returns the hash of a session's key in 'by_inside', ... */
static inline uint64_t
nat64_hash_inside(const struct nat64 *nat64, const struct nat64_tuple *t)
{
    return nat64_index_hash_4(&nat64->by_inside, t->inside.u64[0],
                              t->inside.u64[1],
                              (uint64_t) t->tenant << 32 | t->remote,
                              (uint64_t) t->inside_port << 32
                              | (uint32_t) t->remote_port << 16 | t->sort);
}

/* ... and in 'by_outside'. */
static inline uint64_t
nat64_hash_outside(const struct nat64 *nat64, const struct nat64_tuple *t)
{
    return nat64_index_hash_2(&nat64->by_outside,
                              (uint64_t) t->outside << 32 | t->remote,
                              (uint64_t) t->outside_port << 32
                              | (uint32_t) t->remote_port << 16
                              | nat64_sort_proto(t->sort));
}

static inline bool
nat64_equal_inside(uint32_t number, const void *key_, const void *sessions_)
{
    const struct nat64_session *sessions = sessions_;
    const struct nat64_tuple *a = &sessions[number].dir[NAT64_OUT].tuple;
    const struct nat64_tuple *b = key_;

    return !((a->inside.u64[0] ^ b->inside.u64[0])
             | (a->inside.u64[1] ^ b->inside.u64[1])
             | (a->tenant ^ b->tenant) | (a->remote ^ b->remote)
             | (uint16_t) (a->inside_port ^ b->inside_port)
             | (uint16_t) (a->remote_port ^ b->remote_port)
             | (a->sort ^ b->sort));
}

static inline bool
nat64_equal_outside(uint32_t number, const void *key_, const void *sessions_)
{
    const struct nat64_session *sessions = sessions_;
    const struct nat64_tuple *a = &sessions[number].dir[NAT64_IN].tuple;
    const struct nat64_tuple *b = key_;

    return !((a->outside ^ b->outside) | (a->remote ^ b->remote)
             | (uint16_t) (a->outside_port ^ b->outside_port)
             | (uint16_t) (a->remote_port ^ b->remote_port)
             | (nat64_sort_proto(a->sort) ^ nat64_sort_proto(b->sort)));
}

#endif /* nat64-private.h */
