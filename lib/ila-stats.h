/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef ILA_STATS_H
#define ILA_STATS_H 1

/* Storage for the counters of a zone's mappings.
 *
 * One 'struct ila_stats' is shared by all maps that replace each other.  A
 * mapping has a slot; a slot is referenced by each map that has its mapping,
 * so that counters go on when a map is replaced, and is free once none has
 * it.  Counters of a slot do not move.
 *
 * Slots are for the control path, of any thread: there is a lock.  Counting is
 * for the packet path. */

#include <stdbool.h>
#include <stdint.h>

/* [0]: packets to the locator; [1]: to the identifier. */
struct ila_counters {
    uint64_t packets[2];
    uint64_t bytes[2];
} __attribute__((aligned(32)));

struct ila_stats;

/* Makes a storage without slots, with one reference.  NULL if there is no
 * memory. */
struct ila_stats *ila_stats_create(void);
struct ila_stats *ila_stats_ref(struct ila_stats *);
void ila_stats_unref(struct ila_stats *);

/* Takes a slot with counters of zero and one reference.  Returns 0 or
 * ENOMEM. */
int ila_stats_take(struct ila_stats *, uint32_t *slotp);

/* Adds, or takes away, a reference to 'slot'. */
void ila_stats_share(struct ila_stats *, uint32_t slot);
void ila_stats_release(struct ila_stats *, uint32_t slot);

/* The counters of a slot, valid as long as it has references. */
struct ila_counters *ila_stats_counters(struct ila_stats *, uint32_t slot);

/* Counts 'packets' of 'bytes' together in direction 'dir', 0 or 1. */
static inline void
ila_counters_add(struct ila_counters *c, int dir, uint32_t packets,
                 uint32_t bytes)
{
    __atomic_fetch_add(&c->packets[dir], packets, __ATOMIC_RELAXED);
    __atomic_fetch_add(&c->bytes[dir], bytes, __ATOMIC_RELAXED);
}

#endif /* ila-stats.h */
