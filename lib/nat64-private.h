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

#include "nat64-event.h"
#include "nat64-frag.h"
#include "nat64-held.h"
#include "nat64-index.h"
#include "nat64-pool.h"
#include "nat64-subscriber.h"
#include "nat64-syn.h"
#include "nat64-tcp.h"
#include "nat64.h"
#include "pk.h"
#include "xlat-6052.h"
#include "xlat-bib.h"
#include "xlat-deny.h"
#include "xlat-settings.h"
#include "xlat.h"

#define NAT64_TICK_SHIFT 16

/* pool6 prefixes that a zone may have: what fits beside the protocol. */
#define NAT64_MAX_POOL6 32

/* What a packet belongs to.  'sort' is enum nat64_proto and, multiplied by
 * NAT64_N_SORTS, the place of the pool6 prefix: a host that reaches a server
 * by two prefixes has two bindings, since answers could not be told apart.
 * Inside a nat44 zone there are no prefixes, and inside addresses have 4
 * bytes, followed by zeros. */
#define NAT64_N_SORTS 4

struct nat64_tuple {
    union pk_addr inside;
    uint32_t tenant;
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
    uint16_t previous;           /* Half of the number of the session before
                                  * this one in its binding's list: in
                                  * NAT64_OUT the upper. */
};

/* The session is counted by its subscriber. */
#define NAT64_LINK_COUNTED (UINT32_C(1) << 31)

/* One direction of a session. */
struct nat64_flow {
    struct nat64_tuple tuple;
    uint32_t stamp;              /* Tick of the last packet that counts. */
    uint32_t link;               /* NAT64_OUT: the binding, and perhaps
                                  * NAT64_LINK_COUNTED.  NAT64_IN: the
                                  * binding's next session, or NAT64_NONE. */
    uint64_t packets;            /* 48 bits, and above them: in NAT64_OUT how
                                  * often the slot has been used, in NAT64_IN
                                  * the session's origin (xlat.h). */
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
    uint8_t flags;               /* NAT64_BINDING_*: nat64_flags(). */
};

enum nat64_binding_flags {
    NAT64_BINDING_LIVE = 1 << 0,
    NAT64_BINDING_STATIC = 1 << 1,    /* Lives without sessions. */
    NAT64_BINDING_PRIVATE = 1 << 2,   /* Of one session; not to be found. */
    NAT64_BINDING_COUNTED = 1 << 3,   /* By its subscriber. */
    NAT64_BINDING_FOREIGN = 1 << 4,   /* Its port is in another one's share. */
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

/* What the memory and the counts of a state depend on: a zone whose
 * configuration has another shape gets another state. */
struct nat64_shape {
    uint32_t inside_family;      /* 6, or of nat44 4. */
    uint32_t max_sessions;       /* And bindings. */
    uint32_t max_subscribers;
    uint32_t subscriber_prefix6;
    uint32_t block_words;        /* Of a block of ports; 0: no blocks. */
    uint32_t share;
    uint32_t n_shares;
};

struct nat64 {
    unsigned int refs;
    struct nat64_shape shape;
    uint32_t n_heirs;            /* States that have taken over or are about
                                  * to: then there are no new sessions.  Read
                                  * with nat64_lock() held. */

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
    struct nat64_subscribers subscribers;
    uint64_t tat_ns;             /* xlat_tokens_take(), of session-rate. */

    struct nat64_events *events; /* NULL until the log is first on. */
    uint32_t log;                /* enum xlat_log: how much of it. */
    uint32_t told[XLAT_N_DROPS]; /* Tick of the last event about it. */

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
    uint32_t n_views;            /* That there have been. */
    uint32_t fitted;             /* Number of the view that nat64_fit() has
                                  * seen last. */
    bool has_statics;            /* Perhaps: static bindings. */
    bool wants_statics;          /* Some are not there yet. */
};

/* What a snapshot of a zone has of its own. */
struct nat64_view {
    struct nat64 *nat64;
    uint32_t number;             /* From 1, in the order of creation. */
    struct nat64_pool pool;
    uint8_t prefix_places[NAT64_MAX_POOL6];    /* Of the zone's pool6. */
    struct xlat_deny inside4;                  /* Of nat44: who is inside. */
    struct xlat_bib *bibs;                     /* By their inside. */
    size_t n_bibs;
    struct nat64_held *held;     /* NULL: none are held. */
    struct nat64 *heir_of;       /* The state that this one's takes over from,
                                  * until nat64_fit(). */
    struct nat64_syns *syns;     /* Shared with other snapshots that may store
                                  * as many.  NULL if none are stored. */
};

/* nat64-table.c: storage. */

/* Makes a state of 'shape' with one reference; 'seed' keys its hashes.
 * Returns NULL if there is no memory. */
struct nat64 *nat64_create(const struct nat64_shape *shape, uint64_t seed);
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
    const struct xlat_zone *zone;
    const struct nat64_view *view;       /* Of 'zone', ... */
    const struct xlat_settings *set;     /* ... and this, too. */
    enum nat64_state state;      /* Of a new session. */
    uint16_t origin;             /* Where its inside is (xlat.h). */
    bool dry_run;
    uint64_t now_us;
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

/* Returns what the sessions of the binding have in common. */
struct nat64_tuple nat64_binding_tuple(const struct nat64 *,
                                       const struct nat64_binding *);

/* Returns whether 'tuple' has the binding's inside and outside. */
bool nat64_binding_is_of(const struct nat64 *, const struct nat64_binding *,
                         const struct nat64_tuple *tuple);

/* Makes the binding a static one, or one like others.  With 'control' locked
 * and nat64_lock() held. */
void nat64_binding_set_static(struct nat64 *, struct nat64_binding *, bool);

/* Takes a port for a binding of 'tuple'.  Returns its address, with '*portp'
 * set, or NULL with '*drop' set. */
struct nat64_address *nat64_binding_take_port(const struct nat64_make *,
                                              const struct nat64_tuple *tuple,
                                              uint16_t *portp,
                                              enum xlat_drop *drop);

/* Gives back a port of 'address' that nobody uses any more. */
void nat64_give_port(struct nat64 *, struct nat64_address *address,
                     enum nat64_proto, uint16_t port);

/* Makes a binding of 'tuple', without sessions, with 'flags' besides
 * NAT64_BINDING_LIVE.  Returns NULL, with '*drop' set, if it cannot.  With
 * nat64_lock() held. */
struct nat64_binding *nat64_binding_add(const struct nat64_make *,
                                        const struct nat64_tuple *tuple,
                                        uint8_t flags, enum xlat_drop *drop);

/* Likewise, with 'port' of 'address', which the caller has taken and, if this
 * returns NULL, still has. */
struct nat64_binding *nat64_binding_add_with(
    struct nat64 *, const struct nat64_tuple *tuple,
    const struct nat64_address *address, uint16_t port, uint8_t flags);

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
 * but makes nothing.  Returns XLAT_N_DROPS, or the reason.  A packet
 * that begins no session (its state is NAT64_DEAD) meets none of the limits of
 * those. */
enum xlat_drop nat64_peek(const struct nat64_make *, enum nat64_dir dir,
                          struct nat64_tuple *tuple);

/* Makes 'slot', which nat64_session_alloc() gave, a session of 'tuple' with
 * the binding 'b'.  Returns NULL if the indexes have no room.  With
 * nat64_lock() held. */
struct nat64_session *nat64_add(const struct nat64_make *,
                                const struct nat64_tuple *tuple,
                                struct nat64_binding *b, uint32_t slot);

/* Moves 's' from '*state' to 'next', unless somebody else has moved it: then
 * returns false with '*state' set to where it is. */
bool nat64_move(struct nat64_session *s, uint8_t *state, uint8_t next);

/* Removes 's' from the indexes, and its binding if it was the last.  With
 * nat64_lock() held.  Returns the binding's slot if it is gone too, or
 * NAT64_NONE.  Both slots are the caller's now, to be freed when nobody can
 * read them any more. */
uint32_t nat64_remove(struct nat64 *, struct nat64_session *s);

/* nat64-zone.c: returns whether 'addr' may be the address of a host inside. */
bool nat64_is_inside(const struct xlat_zone *, const union pk_addr *addr);

/* nat64-tuple.c: returns why the zone does not translate between the hosts of
 * the session 'tuple', or XLAT_OK. */
enum xlat_drop nat64_check_hosts(const struct xlat_zone *,
                                 const struct nat64_tuple *tuple);

/* nat64-record.c: sessions from elsewhere. */

/* Makes the sessions of 'prev', whose state is frozen and whose 'control' is
 * locked, sessions of 'zone', which nobody uses yet, as far as they fit. */
void nat64_import_all(struct xlat_zone *zone, const struct xlat_zone *prev);

/* nat64-log.c: events for the session log, which must be on: nat64_logs(). */

/* A session or a binding appears or disappears. */
void nat64_log_tuple(struct nat64 *, enum nat64_event_kind,
                     const struct nat64_tuple *);

/* A subscriber gets or loses a block of ports. */
void nat64_log_block(struct nat64 *, enum nat64_event_kind,
                     const struct nat64_subscriber *,
                     const struct nat64_block *);

/* What 'old' had ends, but for what is in 'nat64', which takes its place. */
void nat64_log_replaced(struct nat64 *old, const struct nat64 *nat64);

/* A session of the tuple could not begin because of 'drop'. */
void nat64_log_drop(const struct nat64_make *, enum xlat_drop drop,
                    const struct nat64_tuple *);

/* nat64-expire.c: time. */

/* Returns the ticks that a session of 'sort' in 'state' lives without
 * packets. */
uint32_t nat64_timeout(const struct xlat_settings *, uint8_t sort,
                       enum nat64_state state);

/* Returns the ticks that may lie between two fragments of a packet. */
uint32_t nat64_fragment_ticks(const struct xlat_settings *);

/* Returns the ticks that the session has left at 'tick'. */
uint32_t nat64_ticks_left(const struct xlat_settings *,
                          const struct nat64_session *, uint32_t tick);

/* Returns whether the session has time left at 'tick', or will have when it is
 * probed. */
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

/* Returns whether the session log has 'what'. */
static inline bool
nat64_logs(const struct nat64 *nat64, enum xlat_log what)
{
    return __builtin_expect(__atomic_load_n(&nat64->log, __ATOMIC_ACQUIRE)
                            >= what, false);
}

/* Returns the flags of 'b'.  Whoever sees NAT64_BINDING_LIVE in them with
 * 'control' locked sees the rest, too, which remains as it is. */
static inline uint8_t
nat64_flags(const struct nat64_binding *b)
{
    return __atomic_load_n(&b->flags, __ATOMIC_ACQUIRE);
}

/* Sets them, with nat64_lock() held; NAT64_BINDING_STATIC is
 * nat64_binding_set_static()'s. */
static inline void
nat64_set_flags(struct nat64_binding *b, uint8_t flags)
{
    __atomic_store_n(&b->flags, flags, __ATOMIC_RELEASE);
}

/* Returns the binding of 's'. */
static inline struct nat64_binding *
nat64_binding_of(const struct nat64 *nat64, const struct nat64_session *s)
{
    return &nat64->bindings[s->dir[NAT64_OUT].link & ~NAT64_LINK_COUNTED];
}

/* nat64-send.c: packets that a zone sends of its own accord. */

/* Sends a probe to the inside of the session of 't', which is one of TCP, and
 * counts it. */
void nat64_send_probe(const struct xlat_zone *, const struct nat64_tuple *t,
                      uint16_t origin, nat64_send *send, void *aux);

/* Refuses the SYNs that have waited for tcp-incoming-syn-timeout at 'now_us'.
 * 'send' may be NULL, as for nat64_run(). */
void nat64_refuse_syns(const struct xlat_zone *, uint64_t now_us,
                       nat64_send *send, void *aux);

/* nat64-session.c: sets '*addr' to what 'remote', of a session of 'sort', is
 * to the inside. */
void nat64_remote(const struct nat64 *, uint8_t sort, pk_be32 remote,
                  union pk_addr *addr);

/* Inline for the packet path's sake. */

/* Returns the IPv4 address 'ip' as an inside address. */
static inline union pk_addr
nat64_inside4(pk_be32 ip)
{
    union pk_addr addr = { .u64 = { 0, 0 } };

    addr.in4 = ip;
    return addr;
}

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

/* Returns enum nat64_proto of IPPROTO_TCP, _UDP, or that of ICMP. */
static inline enum nat64_proto
nat64_proto_of(uint8_t proto)
{
    return proto == IPPROTO_TCP ? NAT64_TCP
           : proto == IPPROTO_UDP ? NAT64_UDP : NAT64_ICMP;
}

/* Returns the contrary: IPPROTO_ICMP for that of ICMP. */
static inline uint8_t
nat64_ipproto(enum nat64_proto proto)
{
    return proto == NAT64_TCP ? IPPROTO_TCP
           : proto == NAT64_UDP ? IPPROTO_UDP : IPPROTO_ICMP;
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

/* Returns the tick of the last packet of 's' that counts. */
static inline uint32_t
nat64_last_stamp(const struct nat64_session *s)
{
    uint32_t a = __atomic_load_n(&s->dir[NAT64_OUT].stamp, __ATOMIC_RELAXED);
    uint32_t b = __atomic_load_n(&s->dir[NAT64_IN].stamp, __ATOMIC_RELAXED);

    return (int32_t) (a - b) > 0 ? a : b;
}

#define NAT64_COUNT_BITS 48
#define NAT64_COUNT_MAX ((UINT64_C(1) << NAT64_COUNT_BITS) - 1)

/* Counts a packet of 'bytes' in 'flow'.  Two threads that do so at once may
 * lose one.  Where 48 bits are full, packets count no more, so that what
 * stands above them remains. */
static inline void
nat64_count(struct nat64_flow *flow, uint32_t bytes)
{
    uint64_t packets = __atomic_load_n(&flow->packets, __ATOMIC_RELAXED);
    bool fits = (packets + 1) << (64 - NAT64_COUNT_BITS);

    __atomic_store_n(&flow->packets, packets + fits, __ATOMIC_RELAXED);
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
    t->tenant = flow->tuple.tenant;
    t->outside = flow->tuple.outside;
    t->remote = flow->tuple.remote;
    t->inside_port = flow->tuple.inside_port;
    t->outside_port = flow->tuple.outside_port;
    t->remote_port = flow->tuple.remote_port;
    t->sort = flow->tuple.sort;
}

static inline uint64_t
nat64_packets(const struct nat64_flow *flow)
{
    return (__atomic_load_n(&flow->packets, __ATOMIC_RELAXED)
            & NAT64_COUNT_MAX);
}

/* What stands above the packets of 'flow'. */
static inline uint16_t
nat64_above_packets(const struct nat64_flow *flow)
{
    return (__atomic_load_n(&flow->packets, __ATOMIC_RELAXED)
            >> NAT64_COUNT_BITS);
}

/* Returns the origin of the session's inside, 0 if it is not known. */
static inline uint16_t
nat64_origin(const struct nat64_session *s)
{
    return nat64_above_packets(&s->dir[NAT64_IN]);
}

/* Sets it, unless 'origin' is 0.  Packets from outside count beside it without
 * a locked operation and may undo that. */
static inline void
nat64_set_origin(struct nat64_session *s, uint16_t origin)
{
    uint64_t *packets = &s->dir[NAT64_IN].packets;
    uint64_t old = __atomic_load_n(packets, __ATOMIC_RELAXED);
    uint64_t new;

    do {
        new = (old & NAT64_COUNT_MAX)
              | (uint64_t) origin << NAT64_COUNT_BITS;
    } while (origin && new != old
             && !__atomic_compare_exchange_n(packets, &old, new, true,
                                             __ATOMIC_RELAXED,
                                             __ATOMIC_RELAXED));
}

/* Tells a session from others that have had its slot. */
static inline uint16_t
nat64_generation(const struct nat64_session *s)
{
    return nat64_above_packets(&s->dir[NAT64_OUT]);
}

static inline uint32_t
nat64_previous(const struct nat64_session *s)
{
    return (uint32_t) s->dir[NAT64_OUT].tuple.previous << 16
           | s->dir[NAT64_IN].tuple.previous;
}

static inline void
nat64_set_previous(struct nat64_session *s, uint32_t previous)
{
    s->dir[NAT64_OUT].tuple.previous = previous >> 16;
    s->dir[NAT64_IN].tuple.previous = previous;
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
