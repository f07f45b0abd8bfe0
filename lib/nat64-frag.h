/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef NAT64_FRAG_H
#define NAT64_FRAG_H 1

/* Which session fragments belong to: those behind the first have no ports.
 *
 * The first fragment of a packet says so, the others ask.  A fixed number of
 * packets is remembered; who fills the store forgets others early, and costs
 * nobody anything else.  A fragment that asks before the first one has come is
 * held (nat64-held.h) under the same lock under which the first one looks for
 * such: neither can miss the other.
 *
 * Any number of threads; each bucket of four packets has a lock, held for the
 * comparison of four keys, and while a fragment is put or called: these locks
 * come before those of nat64-held.c. */

#include <stdbool.h>
#include <stdint.h>

#include "pk-parse.h"

/* Packets that are remembered. */
#define NAT64_FRAGS 4096

struct nat64_frags;
struct nat64_held;
struct nat64_lost;

/* What the fragments of one packet have in common (RFC 791, 2.3; RFC 8200,
 * 4.5), and tenants have not. */
struct nat64_frag_key {
    uint8_t addresses[32];       /* Of IPv4, the first 8 bytes. */
    uint32_t id;
    uint32_t tenant;
    uint8_t proto;
    uint8_t family;              /* 0: an empty slot. */
    uint8_t zero[6];
};

/* A fragment. */
struct nat64_frag {
    struct nat64_frag_key key;
    uint64_t hash;               /* Of the key. */
    const uint8_t *ip;           /* The IP packet, ... */
    uint32_t bytes;              /* ... of this length. */
    uint32_t tick;               /* Now. */
    uint32_t max_age;            /* In ticks, of what it may be the same packet
                                  * with. */
};

/* Makes an empty store, or returns NULL.  'seed' keys its hash. */
struct nat64_frags *nat64_frags_create(uint64_t seed);
void nat64_frags_destroy(struct nat64_frags *);
uint64_t nat64_frags_bytes(void);

/* Makes '*frag' the fragment 'ip', which 'info' describes, of a host of
 * 'tenant' (0 of packets from outside). */
void nat64_frag_init(struct nat64_frag *frag, const struct nat64_frags *,
                     const uint8_t *ip, const struct pk_info *info,
                     uint32_t tenant, uint32_t tick, uint32_t max_age);

/* Remembers that the fragments of the packet of 'frag' have 'ports': the 4
 * bytes of its transport header that tell sessions apart.  Returns a ticket
 * for those that wait in 'held', which may be null, or 0 if there are none. */
uint32_t nat64_frags_put(struct nat64_frags *, const struct nat64_frag *frag,
                         uint32_t ports, struct nat64_held *held);

/* Finds '*ports' of 'frag'.  Otherwise returns false, with a copy of 'frag' in
 * 'held', unless that is null, and what has made room for it added to
 * '*lost'. */
bool nat64_frags_find(struct nat64_frags *, const struct nat64_frag *frag,
                      uint32_t *ports, struct nat64_held *held,
                      struct nat64_lost *lost);

#endif /* nat64-frag.h */
