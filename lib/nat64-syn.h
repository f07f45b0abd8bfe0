/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef NAT64_SYN_H
#define NAT64_SYN_H 1

/* SYNs from outside that no session belongs to (RFC 6146, 3.5.2.2; RFC 5382,
 * REQ-4).
 *
 * Somebody inside may be opening the same connection right now, so that such a
 * SYN is not refused at once: it is remembered, and refused when nobody has
 * done so for a while.  What is remembered is its begin, which the ICMP error
 * quotes.
 *
 * A fixed number of SYNs is remembered.  Who fills the store has others' SYNs
 * forgotten, which then get no answer, and costs nobody anything else.
 *
 * Any number of threads; each bucket of four SYNs has a lock, held for the
 * comparison of four keys and a copy. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pk-parse.h"

/* Bytes of a SYN that are kept: all of its headers, whatever their options. */
#define NAT64_SYN_BYTES 128

/* The connection that a SYN would begin. */
struct nat64_syn_key {
    pk_be32 remote;
    pk_be32 outside;
    pk_be16 remote_port;
    pk_be16 outside_port;
};

struct nat64_syn {
    struct nat64_syn_key key;
    uint32_t tick;               /* When it came. */
    uint16_t origin;             /* From where (xlat.h), not 0. */
    uint16_t len;                /* Bytes of 'packet'. */
    uint8_t packet[NAT64_SYN_BYTES];
};

struct nat64_syns;

/* Makes an empty store for 'max' SYNs, 1 or more, with one reference, or
 * returns NULL.  'seed' keys its hash. */
struct nat64_syns *nat64_syns_create(uint32_t max, uint64_t seed);
struct nat64_syns *nat64_syns_ref(struct nat64_syns *);

/* NULL is allowed. */
void nat64_syns_unref(struct nat64_syns *);

/* Returns the SYNs that there may be, that there are, and the bytes of memory
 * that the store takes. */
uint32_t nat64_syns_max(const struct nat64_syns *);
uint32_t nat64_syns_n(const struct nat64_syns *);
size_t nat64_syns_bytes(const struct nat64_syns *);

/* Remembers the SYN at 'ip', an IPv4 packet with a TCP header, which 'info'
 * describes; 'tick' and 'origin' as in struct nat64_syn.  One that is there
 * already remains as it is: its sender repeats it. */
void nat64_syns_put(struct nat64_syns *, const uint8_t *ip,
                    const struct pk_info *info, uint32_t tick,
                    uint16_t origin);

/* Forgets the SYN of 'key', if there is one. */
void nat64_syns_forget(struct nat64_syns *, const struct nat64_syn_key *key);

/* Takes one SYN that came more than 'max_age' ticks before 'tick' out of the
 * store, looking from '*cursor' on, where it leaves how to go on; begin with
 * 0.  Returns false if there are no more. */
bool nat64_syns_take(struct nat64_syns *, uint32_t *cursor, uint32_t tick,
                     uint32_t max_age, struct nat64_syn *syn);

#endif /* nat64-syn.h */
