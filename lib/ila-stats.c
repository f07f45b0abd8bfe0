/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "ila-stats.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "xlat-hash.h"

#define NONE UINT32_MAX

/* Chunk K has FIRST_CHUNK << K slots, from slot (FIRST_CHUNK << K) -
 * FIRST_CHUNK on. */
#define FIRST_CHUNK 64
#define N_CHUNKS 24

struct slot {
    uint32_t n_refs;
    uint32_t next_free;          /* While there are no references. */
};

struct chunk {
    struct ila_counters *counters;
    struct slot *slots;
};

struct ila_stats {
    pthread_mutex_t mutex;
    uint32_t n_refs;
    uint32_t first_free;         /* Slot, or NONE. */
    unsigned int n_chunks;
    struct chunk chunks[N_CHUNKS];
};

/* Returns the chunk that has 'slot', which becomes its place there. */
static struct chunk *
find_chunk(struct ila_stats *stats, uint32_t *slot)
{
    unsigned int k = 31 - __builtin_clz(*slot / FIRST_CHUNK + 1);

    *slot -= (FIRST_CHUNK << k) - FIRST_CHUNK;
    return &stats->chunks[k];
}

static struct slot *
get_slot(struct ila_stats *stats, uint32_t slot)
{
    struct chunk *chunk = find_chunk(stats, &slot);

    return &chunk->slots[slot];
}

struct ila_counters *
ila_stats_counters(struct ila_stats *stats, uint32_t slot)
{
    struct chunk *chunk = find_chunk(stats, &slot);

    return &chunk->counters[slot];
}

struct ila_stats *
ila_stats_create(void)
{
    struct ila_stats *stats = calloc(1, sizeof *stats);

    if (stats) {
        pthread_mutex_init(&stats->mutex, NULL);
        stats->n_refs = 1;
        stats->first_free = NONE;
    }
    return stats;
}

struct ila_stats *
ila_stats_ref(struct ila_stats *stats)
{
    __atomic_fetch_add(&stats->n_refs, 1, __ATOMIC_RELAXED);
    return stats;
}

void
ila_stats_unref(struct ila_stats *stats)
{
    if (!stats
        || __atomic_fetch_sub(&stats->n_refs, 1, __ATOMIC_ACQ_REL) != 1) {
        return;
    }
    for (unsigned int k = 0; k < stats->n_chunks; k++) {
        free(stats->chunks[k].counters);
        free(stats->chunks[k].slots);
    }
    pthread_mutex_destroy(&stats->mutex);
    free(stats);
}

/* Adds a chunk, all of whose slots are free. */
static int
add_chunk(struct ila_stats *stats)
{
    unsigned int k = stats->n_chunks;
    size_t n = (size_t) FIRST_CHUNK << k;
    uint32_t first = n - FIRST_CHUNK;

    if (k == N_CHUNKS) {
        return ENOMEM;
    }
    struct ila_counters *counters = xlat_big_alloc(n * sizeof *counters);
    struct slot *slots = calloc(n, sizeof *slots);
    if (!counters || !slots) {
        free(counters);
        free(slots);
        return ENOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        slots[i].next_free = i + 1 < n ? first + i + 1 : stats->first_free;
    }
    stats->chunks[k] = (struct chunk) { counters, slots };
    stats->n_chunks++;
    stats->first_free = first;
    return 0;
}

int
ila_stats_take(struct ila_stats *stats, uint32_t *slotp)
{
    pthread_mutex_lock(&stats->mutex);
    int error = stats->first_free == NONE ? add_chunk(stats) : 0;
    if (!error) {
        uint32_t i = stats->first_free;
        struct slot *slot = get_slot(stats, i);

        stats->first_free = slot->next_free;
        slot->n_refs = 1;
        memset(ila_stats_counters(stats, i), 0, sizeof(struct ila_counters));
        *slotp = i;
    }
    pthread_mutex_unlock(&stats->mutex);
    return error;
}

void
ila_stats_share(struct ila_stats *stats, uint32_t slot)
{
    pthread_mutex_lock(&stats->mutex);
    get_slot(stats, slot)->n_refs++;
    pthread_mutex_unlock(&stats->mutex);
}

void
ila_stats_release(struct ila_stats *stats, uint32_t i)
{
    pthread_mutex_lock(&stats->mutex);
    struct slot *slot = get_slot(stats, i);
    if (!--slot->n_refs) {
        slot->next_free = stats->first_free;
        stats->first_free = i;
    }
    pthread_mutex_unlock(&stats->mutex);
}
