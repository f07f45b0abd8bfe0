/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef NAT64_SUBSCRIBER_H
#define NAT64_SUBSCRIBER_H 1

/* Subscribers: who the hosts inside belong to, how much each of them has, and
 * how much each may have (RFC 6888, 3, REQ-4 and REQ-5).
 *
 * A subscriber is a prefix of inside addresses (subscriber-prefix6; of IPv4,
 * one address) of one tenant.  It is remembered as long as it has sessions or
 * bindings that are counted, or blocks of ports.  Only what begins while a
 * limit is set is counted.
 *
 * Any number of threads; all that concerns one subscriber happens with its
 * bucket of the index locked, which is the last lock in the order of
 * nat64-private.h. */

#include "nat64-index.h"
#include "pk.h"
#include "xlat.h"

struct nat64;
struct nat64_address;
struct nat64_binding;
struct nat64_make;
struct nat64_tuple;

#define NAT64_MAX_BLOCKS 8

/* A block of ports of an address, the same in each protocol. */
struct nat64_block {
    uint16_t place;              /* Of the address. */
    uint16_t first_word;         /* Of struct nat64_ports. */
    uint16_t n_words;            /* 0: no block. */
};

struct nat64_subscriber {
    union pk_addr prefix;
    uint32_t tenant;
    uint32_t n_sessions;
    uint32_t n_bindings;
    uint32_t next_free;          /* Of one without a use. */
    uint64_t tat_ns;             /* xlat_tokens_take(). */
    struct nat64_block blocks[NAT64_MAX_BLOCKS];
};

struct nat64_subscribers {
    struct nat64_index index;
    struct nat64_subscriber *all;
    uint32_t max;
    uint32_t n;                  /* Gauge. */
    uint32_t n_touched;
    uint32_t free;               /* First of those that were given back. */
    uint8_t lock;                /* Of 'n_touched' and 'free'. */
};

/* Returns 0, or ENOMEM. */
int nat64_subscribers_init(struct nat64_subscribers *, uint32_t max,
                           uint64_t seed);
void nat64_subscribers_destroy(struct nat64_subscribers *);
uint64_t nat64_subscribers_bytes(const struct nat64_subscribers *);

/* Returns a number that depends on the subscriber of 't' alone. */
uint64_t nat64_subscriber_hash(const struct nat64 *,
                               const struct nat64_tuple *t);

/* Asks whether there may be one more session of 't', with a binding of its
 * own if 'binding', and counts it if limits are set: then '*counted' becomes
 * true, and nat64_leave() must be called once it is gone, or did not come to
 * be.  Returns XLAT_N_DROPS, or the reason why there may not.  With
 * nat64_lock() held. */
enum xlat_drop nat64_admit(const struct nat64_make *,
                           const struct nat64_tuple *t, bool binding,
                           bool *counted);

/* Counts a session or a binding of 't', or both, which were counted, as
 * gone. */
void nat64_leave(struct nat64 *, const struct nat64_tuple *t, bool session,
                 bool binding);

/* Takes a port for a binding of 't' out of its subscriber's blocks, or of a
 * new one.  Returns its address, or NULL with '*drop' set. */
struct nat64_address *nat64_block_take_port(const struct nat64_make *,
                                            const struct nat64_tuple *t,
                                            uint16_t *portp,
                                            enum xlat_drop *drop);

/* Looks whether the block that 'port' of 'address' is in, if any, has no port
 * in use any more but by configuration, and takes it from its subscriber
 * then. */
void nat64_block_clean(struct nat64 *, struct nat64_address *address,
                       uint16_t port);

/* Has 'n' (1 or -1) more ports of the block that 'port' of 'address' is in, if
 * any, be in use by configuration, so that they keep it from nobody. */
void nat64_block_add_static(struct nat64 *, struct nat64_address *address,
                            uint16_t port, int n);

#endif /* nat64-subscriber.h */
