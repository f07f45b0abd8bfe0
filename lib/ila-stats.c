/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "ila-stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NONE UINT32_MAX
#define HUGE_PAGE ((size_t) 2 << 20)

struct ila_slot {
    uint32_t n_refs;
    uint32_t next_free;          /* While there are no references. */
};

static struct ila_slot *
get_slot(struct ila_stats *stats, uint32_t slot)
{
    unsigned int k = ila_stats_chunk(&slot);

    return &stats->slots[k][slot];
}

/* Returns the size of all threads' counters in chunk 'k'. */
static size_t
counters_bytes(unsigned int k)
{
    return ((size_t) ILA_STATS_CHUNK << k) * XLAT_MAX_THREADS
           * sizeof(struct ila_counters);
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
        munmap(stats->memory[k], counters_bytes(k) + HUGE_PAGE);
        free(stats->slots[k]);
    }
    pthread_mutex_destroy(&stats->mutex);
    free(stats);
}

/* Allocates chunk 'k' of the counters.  The memory is the system's zeros,
 * which become memory of ours, in huge pages if it has them, where a thread
 * counts. */
static int
add_counters(struct ila_stats *stats, unsigned int k)
{
    size_t n = (size_t) ILA_STATS_CHUNK << k;
    size_t bytes = counters_bytes(k);
    uint8_t *memory = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED) {
        return ENOMEM;
    }
    uint8_t *aligned = memory + (-(uintptr_t) memory & (HUGE_PAGE - 1));
    if (n * sizeof(struct ila_counters) >= HUGE_PAGE) {
        /* Advice: without huge pages it works too, slower. */
        (void) madvise(aligned, bytes, MADV_HUGEPAGE);
    }
    for (unsigned int i = 0; i < XLAT_MAX_THREADS; i++) {
        stats->counters[i][k] = (struct ila_counters *) aligned + i * n;
    }
    stats->memory[k] = memory;
    return 0;
}

/* Adds a chunk, all of whose slots are free. */
static int
add_chunk(struct ila_stats *stats)
{
    unsigned int k = stats->n_chunks;
    size_t n = (size_t) ILA_STATS_CHUNK << k;
    uint32_t first = n - ILA_STATS_CHUNK;
    struct ila_slot *slots;

    if (k == ILA_STATS_CHUNKS) {
        return ENOMEM;
    }
    slots = calloc(n, sizeof *slots);
    if (!slots || add_counters(stats, k)) {
        free(slots);
        return ENOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        slots[i].next_free = i + 1 < n ? first + i + 1 : stats->first_free;
    }
    stats->slots[k] = slots;
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
        struct ila_slot *slot = get_slot(stats, stats->first_free);

        *slotp = stats->first_free;
        stats->first_free = slot->next_free;
        slot->n_refs = 1;
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

/* Makes the counters of 'slot' zero again, without touching memory where
 * nobody has counted. */
static void
clear(struct ila_stats *stats, uint32_t slot)
{
    static const struct ila_counters zero;

    for (unsigned int i = 0; i < XLAT_MAX_THREADS; i++) {
        struct ila_counters *c = ila_stats_counters(stats, i, slot);

        if (memcmp(c, &zero, sizeof zero)) {
            *c = zero;
        }
    }
}

void
ila_stats_release(struct ila_stats *stats, uint32_t i)
{
    pthread_mutex_lock(&stats->mutex);
    struct ila_slot *slot = get_slot(stats, i);
    if (!--slot->n_refs) {
        clear(stats, i);
        slot->next_free = stats->first_free;
        stats->first_free = i;
    }
    pthread_mutex_unlock(&stats->mutex);
}

void
ila_stats_get(const struct ila_stats *stats, uint32_t slot,
              struct ila_counters *copy)
{
    memset(copy, 0, sizeof *copy);
    for (unsigned int i = 0; i < XLAT_MAX_THREADS; i++) {
        const struct ila_counters *c = ila_stats_counters(stats, i, slot);

        for (int dir = 0; dir < 2; dir++) {
            copy->packets[dir] += __atomic_load_n(&c->packets[dir],
                                                  __ATOMIC_RELAXED);
            copy->bytes[dir] += __atomic_load_n(&c->bytes[dir],
                                                __ATOMIC_RELAXED);
        }
    }
}
