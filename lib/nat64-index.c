/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "nat64-index.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

/* Keys a bucket that an index is made for: four fifths of what fits. */
#define KEYS_PER_BUCKET_X10 98

/* Looks at a lock before the thread that holds it gets a chance to run. */
#define SPINS 1000

static size_t
n_buckets(size_t n)
{
    return n * 10 / KEYS_PER_BUCKET_X10 + 2;
}

size_t
nat64_index_bytes(size_t n)
{
    return n_buckets(n) * sizeof(struct nat64_bucket);
}

int
nat64_index_init(struct nat64_index *index, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < 4; i++) {
        seed = xlat_hash_mix(seed + UINT64_C(0x9e3779b97f4a7c15),
                             UINT64_C(0xd6e8feb86659fd93));
        index->seeds[i] = seed;
    }
    index->n_buckets = n_buckets(n);
    index->buckets = xlat_big_alloc(nat64_index_bytes(n));
    return index->buckets ? 0 : ENOMEM;
}

void
nat64_index_destroy(struct nat64_index *index)
{
    free(index->buckets);
    index->buckets = NULL;
}

static bool
insert_in(struct nat64_bucket *b, uint8_t tag, uint32_t number)
{
    for (unsigned int i = 0; i < NAT64_INDEX_SLOTS; i++) {
        uint32_t empty = 0;

        if (!__atomic_load_n(&b->numbers[i], __ATOMIC_RELAXED)
            && __atomic_compare_exchange_n(&b->numbers[i], &empty, number + 1,
                                           false, __ATOMIC_ACQ_REL,
                                           __ATOMIC_RELAXED)) {
            __atomic_store_n(&b->tags[i], tag, __ATOMIC_RELEASE);
            return true;
        }
    }
    return false;
}

static struct nat64_bucket *
nth_bucket(const struct nat64_index *index, uint64_t hash, unsigned int n)
{
    return n ? nat64_index_probe(index, hash, n)
             : nat64_index_first(index, hash);
}

/* Returns whether the 'n'-th bucket of 'hash' is one of those before.  A key
 * is not put there: it would be removed as one that has gone past fewer. */
static bool
is_again(const struct nat64_index *index, uint64_t hash, unsigned int n)
{
    return n && (n > index->n_buckets
                 || nth_bucket(index, hash, n) == nth_bucket(index, hash, 0));
}

/* Takes back that a key has gone past the first 'n' buckets of 'hash'. */
static void
uncount(struct nat64_index *index, uint64_t hash, unsigned int n)
{
    while (n--) {
        if (is_again(index, hash, n)) {
            continue;
        }
        __atomic_fetch_sub(&nth_bucket(index, hash, n)->n_past, 1,
                           __ATOMIC_ACQ_REL);
    }
}

bool
nat64_index_insert(struct nat64_index *index, uint64_t hash, uint32_t number)
{
    for (unsigned int n = 0; n < NAT64_INDEX_PROBES; n++) {
        struct nat64_bucket *b = nth_bucket(index, hash, n);

        if (is_again(index, hash, n)) {
            continue;
        }
        if (insert_in(b, hash, number)) {
            return true;
        }
        /* Counted before it is there: who reads a smaller count would not
         * have found the key either. */
        if (__atomic_fetch_add(&b->n_past, 1, __ATOMIC_ACQ_REL)
            >= UINT8_MAX - 64) {
            uncount(index, hash, n + 1);
            return false;
        }
    }
    uncount(index, hash, NAT64_INDEX_PROBES);
    return false;
}

static bool
remove_from(struct nat64_bucket *b, uint32_t number)
{
    for (unsigned int i = 0; i < NAT64_INDEX_SLOTS; i++) {
        if (__atomic_load_n(&b->numbers[i], __ATOMIC_RELAXED) == number + 1) {
            __atomic_store_n(&b->numbers[i], 0, __ATOMIC_RELEASE);
            return true;
        }
    }
    return false;
}

void
nat64_index_remove(struct nat64_index *index, uint64_t hash, uint32_t number)
{
    for (unsigned int n = 0; n < NAT64_INDEX_PROBES; n++) {
        if (!is_again(index, hash, n)
            && remove_from(nth_bucket(index, hash, n), number)) {
            uncount(index, hash, n);
            return;
        }
    }
}

static void
wait_for(const uint8_t *lock)
{
    for (int i = 0; __atomic_load_n(lock, __ATOMIC_RELAXED); i++) {
        if (i % SPINS == SPINS - 1) {
            sched_yield();
        }
    }
}

void
nat64_index_lock(struct nat64_index *index, uint64_t hash)
{
    uint8_t *lock = &nat64_index_first(index, hash)->lock;

    while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) {
        wait_for(lock);
    }
}

void
nat64_index_unlock(struct nat64_index *index, uint64_t hash)
{
    __atomic_store_n(&nat64_index_first(index, hash)->lock, 0,
                     __ATOMIC_RELEASE);
}

void
nat64_index_wait_unlocked(struct nat64_index *index)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < index->n_buckets; i++) {
        wait_for(&index->buckets[i].lock);
        (void) __atomic_load_n(&index->buckets[i].lock, __ATOMIC_ACQUIRE);
    }
}
