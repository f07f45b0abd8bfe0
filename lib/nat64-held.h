/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef NAT64_HELD_H
#define NAT64_HELD_H 1

/* Fragments that have come in front of the first one of their packet (RFC
 * 6146, 3.4), copied into a fixed number of slots (5.3).
 *
 * Slots are in buckets, by the hash of what the fragments of a packet have in
 * common.  In a full bucket the oldest fragment makes room, so that who sends
 * fragments without their first ones costs others theirs, and nothing else.
 * When the first one comes, nat64_held_call() finds those of its packet and
 * gives them a ticket, with which nat64_held_take() hands them out, each once.
 * What is not taken leaves like what was never called: by its age, or for
 * another.
 *
 * Who takes a fragment away otherwise adds it to a 'struct nat64_lost', since
 * only then it is known what has become of it.
 *
 * Shared by the snapshots of a zone that hold as many.  Any number of threads;
 * each bucket has a lock, held for the comparison of its keys and the copy of
 * one fragment. */

#include <stddef.h>
#include <stdint.h>

struct nat64_frag;
struct nat64_held;
struct xlat_zone;

/* Fragments that were held in vain, and their IP bytes. */
struct nat64_lost {
    uint32_t packets;
    uint64_t bytes;
};

/* Makes a store of 'slots' slots, 1 to 65536, with one reference.  Returns
 * NULL if there is no memory. */
struct nat64_held *nat64_held_create(uint32_t slots);
struct nat64_held *nat64_held_ref(struct nat64_held *);

/* Gives a reference up; the last one adds what is held to '*lost'.  NULL is
 * allowed. */
void nat64_held_unref(struct nat64_held *, struct nat64_lost *lost);

uint32_t nat64_held_slots(const struct nat64_held *);
uint32_t nat64_held_n(const struct nat64_held *);
uint64_t nat64_held_bytes(const struct nat64_held *);

/* Keeps a copy of 'frag', of XLAT_HELD_MAX bytes at most, and adds to '*lost'
 * the one that made room for it, if any. */
void nat64_held_put(struct nat64_held *, const struct nat64_frag *frag,
                    struct nat64_lost *lost);

/* Returns a ticket for the fragments of the packet whose first one is 'frag',
 * not those that are too old for it, or 0 if there are none. */
uint32_t nat64_held_call(struct nat64_held *, const struct nat64_frag *frag);

/* Copies the one of those that came first to the 'size' bytes at 'buf', and
 * forgets it.  Returns its bytes, or 0 if there are no more. */
size_t nat64_held_take(struct nat64_held *, uint32_t ticket, void *buf,
                       size_t size);

/* Takes away those that are older than 'max_age' ticks at 'tick', or all. */
void nat64_held_expire(struct nat64_held *, uint32_t tick, uint32_t max_age,
                       struct nat64_lost *lost);
void nat64_held_flush(struct nat64_held *, struct nat64_lost *lost);

/* Counts '*lost' as packets that 'thread' (xlat.h) has dropped. */
void nat64_lost_count(const struct nat64_lost *lost, const struct xlat_zone *,
                      unsigned int thread);

#endif /* nat64-held.h */
