/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "xlat-hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* With four keys to a bucket on average, 2 in 100 buckets overflow. */
#define KEYS_PER_BUCKET 4

#define HUGE_PAGE ((size_t) 2 << 20)

void *
xlat_big_alloc(size_t size)
{
    size_t alignment = size >= HUGE_PAGE ? HUGE_PAGE : 128;
    size_t rounded = (size + alignment - 1) / alignment * alignment;

    if (rounded < size) {
        return NULL;
    }
    void *p = aligned_alloc(alignment, rounded ? rounded : alignment);
    if (p) {
        if (alignment == HUGE_PAGE) {
            /* Advice: without huge pages it works too, slower. */
            (void) madvise(p, rounded, MADV_HUGEPAGE);
        }
        memset(p, 0, rounded ? rounded : alignment);
    }
    return p;
}

int
xlat_hash_init(struct xlat_hash *h, size_t n, uint64_t seed)
{
    size_t n_buckets = n / KEYS_PER_BUCKET + 1;

    h->seed = seed;
    h->n_buckets = n_buckets;
    h->buckets = n < UINT32_MAX
                 ? xlat_big_alloc(n_buckets * sizeof *h->buckets) : NULL;
    return h->buckets ? 0 : ENOMEM;
}

void
xlat_hash_destroy(struct xlat_hash *h)
{
    free(h->buckets);
    h->buckets = NULL;
}

static int
find_empty(const struct xlat_hash_bucket *b)
{
    for (int slot = 0; slot < XLAT_HASH_SLOTS; slot++) {
        if (!(b->tags[slot / 4] >> slot % 4 * 16 & 0xffff)) {
            return slot;
        }
    }
    return -1;
}

void
xlat_hash_insert(struct xlat_hash *h, uint64_t hash, uint32_t number)
{
    struct xlat_hash_bucket *b = xlat_hash_home(h, hash);
    int slot;

    /* There are twice as many slots as keys, so one is empty. */
    while ((slot = find_empty(b)) < 0) {
        b->overflow = 1;
        if (++b == h->buckets + h->n_buckets) {
            b = h->buckets;
        }
    }
    b->tags[slot / 4] |= xlat_hash_tag(hash) << slot % 4 * 16;
    b->numbers[slot] = number;
}
