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
 * for the packet path: each thread has counters of its own ('thread' as in
 * struct xlat_ctx), in memory that nobody has until it is written to. */

#include <pthread.h>
#include <stdint.h>

#include "xlat-stats.h"

/* [0]: packets to the locator; [1]: to the identifier. */
struct ila_counters {
    uint64_t packets[2];
    uint64_t bytes[2];
} __attribute__((aligned(32)));

/* Slots come in chunks.  Chunk K has ILA_STATS_CHUNK << K, from slot
 * (ILA_STATS_CHUNK << K) - ILA_STATS_CHUNK on. */
#define ILA_STATS_CHUNK 64
#define ILA_STATS_CHUNKS 24

/* Private but for inline functions. */
struct ila_stats {
    struct ila_counters *counters[XLAT_MAX_THREADS][ILA_STATS_CHUNKS];
    struct ila_slot *slots[ILA_STATS_CHUNKS];
    void *memory[ILA_STATS_CHUNKS];        /* Of 'counters'. */
    unsigned int n_chunks;
    uint32_t first_free;                   /* Slot, or none. */
    uint32_t n_refs;
    pthread_mutex_t mutex;
};

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

/* Copies the sums of a slot's counters, which never fall. */
void ila_stats_get(const struct ila_stats *, uint32_t slot,
                   struct ila_counters *copy);

/* Returns the chunk that has 'slot', which becomes its place there. */
static inline unsigned int
ila_stats_chunk(uint32_t *slot)
{
    unsigned int k = 31 - __builtin_clz(*slot / ILA_STATS_CHUNK + 1);

    *slot -= (ILA_STATS_CHUNK << k) - ILA_STATS_CHUNK;
    return k;
}

/* Returns the counters of 'thread' for a slot, valid as long as it has
 * references. */
static inline struct ila_counters *
ila_stats_counters(const struct ila_stats *stats, unsigned int thread,
                   uint32_t slot)
{
    unsigned int k = ila_stats_chunk(&slot);

    return &stats->counters[thread][k][slot];
}

/* Counts 'packets' of 'bytes' together in direction 'dir', 0 or 1. */
static inline void
ila_stats_add(struct ila_stats *stats, unsigned int thread, uint32_t slot,
              int dir, uint32_t packets, uint32_t bytes)
{
    struct ila_counters *c = ila_stats_counters(stats, thread, slot);

    xlat_count(&c->packets[dir], packets, thread);
    xlat_count(&c->bytes[dir], bytes, thread);
}

#endif /* ila-stats.h */
