/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef NAT64_INDEX_H
#define NAT64_INDEX_H 1

/* An index that changes under its readers: from a key's hash to a number, the
 * key's place in an array that the caller has.
 *
 * Buckets are 64 bytes, one cache line: twelve numbers, and a tag of 8 bits
 * for each.  A key stands in its first bucket or, if that was full, in its
 * second one, or behind that.  Each bucket counts the keys that have gone past
 * it, so that a lookup reads on only where there is a reason to.  Keys never
 * move.  The hash is keyed: nobody outside can choose keys that meet in one
 * bucket.
 *
 * Threads.  Any number may look up, insert and remove at once, without locks:
 * whoever turns a slot from 0 to a number has inserted, and only who inserted
 * a number removes it.  A lookup that runs beside an insertion may miss the
 * new key, and one beside a removal may still find the old one, so
 *
 *   - who must not miss a key (or not insert it twice) looks and inserts with
 *     nat64_index_lock() held, which locks all keys of one first bucket;
 *   - what a removed number stands for must remain readable until no lookup
 *     that began before can be under way (the owner's RCU says when).
 *
 * Whoever holds one lock may lock in another index, in the order that
 * nat64.h gives; never two buckets of one. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "xlat-hash.h"

#define NAT64_INDEX_SLOTS 12
#define NAT64_NONE UINT32_MAX

/* Buckets that a key may stand in. */
#define NAT64_INDEX_PROBES 32

struct nat64_bucket {
    uint32_t numbers[NAT64_INDEX_SLOTS];   /* Number + 1; 0: empty. */
    uint8_t tags[NAT64_INDEX_SLOTS];
    uint8_t lock;
    uint8_t n_past;                        /* Keys that have gone past. */
    uint8_t pad[2];
} __attribute__((aligned(64)));

struct nat64_index {
    struct nat64_bucket *buckets;
    uint32_t n_buckets;
    uint64_t seeds[4];
};

/* Makes 'index' ready for 'n' keys at once, at most 2^31.  'seed' keys the
 * hash.  Returns 0 or ENOMEM. */
int nat64_index_init(struct nat64_index *index, size_t n, uint64_t seed);
void nat64_index_destroy(struct nat64_index *);

/* Returns the bytes that an index for 'n' keys takes. */
size_t nat64_index_bytes(size_t n);

/* Inserts 'number', below 2^32 - 1, under 'hash'.  Returns false if it finds
 * no room, which does not happen to an index with at most 'n' keys but by very
 * bad luck. */
bool nat64_index_insert(struct nat64_index *, uint64_t hash, uint32_t number);

/* Removes 'number', which was inserted under 'hash'. */
void nat64_index_remove(struct nat64_index *, uint64_t hash, uint32_t number);

/* Locks the keys that have their first bucket in common with 'hash', and
 * unlocks them.  Spins: hold it for a packet's work, no longer. */
void nat64_index_lock(struct nat64_index *, uint64_t hash);
void nat64_index_unlock(struct nat64_index *, uint64_t hash);

/* Waits until every lock that is held now has been given up. */
void nat64_index_wait_unlocked(struct nat64_index *);

/* Returns the hash of a key of four words. */
static inline uint64_t
nat64_index_hash_4(const struct nat64_index *index, uint64_t a, uint64_t b,
                   uint64_t c, uint64_t d)
{
    return xlat_hash_mix(xlat_hash_mix(a ^ index->seeds[0],
                                       b ^ index->seeds[1])
                         ^ c ^ index->seeds[2], d ^ index->seeds[3]);
}

/* Returns the hash of a key of two words. */
static inline uint64_t
nat64_index_hash_2(const struct nat64_index *index, uint64_t a, uint64_t b)
{
    return xlat_hash_mix(xlat_hash_mix(a ^ index->seeds[0],
                                       b ^ index->seeds[1]),
                         index->seeds[2]);
}

static inline struct nat64_bucket *
nat64_index_first(const struct nat64_index *index, uint64_t hash)
{
    return &index->buckets[(hash >> 32) * index->n_buckets >> 32];
}

/* Returns the bucket for a key that has gone past 'n' others, 1 or more. */
static inline struct nat64_bucket *
nat64_index_probe(const struct nat64_index *index, uint64_t hash,
                  unsigned int n)
{
    uint32_t i = ((hash & UINT32_MAX) * index->n_buckets >> 32) + n - 1;

    return &index->buckets[i < index->n_buckets ? i : i % index->n_buckets];
}

/* Returns a bit for each slot of 'b' that has the tag of 'hash'. */
static inline unsigned int
nat64_bucket_matches(const struct nat64_bucket *b, uint64_t hash)
{
    uint8_t tag = hash;

#if defined __SSE2__ && !defined __SANITIZE_THREAD__
    /* One load of 16 bytes that others write one by one: each of them is seen
     * as before or as behind, which is all that is asked of it. */
    __m128i tags = _mm_load_si128((const __m128i *) b->tags);

    return (_mm_movemask_epi8(_mm_cmpeq_epi8(tags, _mm_set1_epi8(tag)))
            & ((1 << NAT64_INDEX_SLOTS) - 1));
#else
    unsigned int matches = 0;

    for (unsigned int i = 0; i < NAT64_INDEX_SLOTS; i++) {
        matches |= (unsigned int) (__atomic_load_n(&b->tags[i],
                                                   __ATOMIC_RELAXED)
                                   == tag) << i;
    }
    return matches;
#endif
}

static inline void
nat64_index_prefetch(const struct nat64_index *index, uint64_t hash)
{
    __builtin_prefetch(nat64_index_first(index, hash));
}

/* Returns the number that a lookup of 'hash' compares first, most likely the
 * right one, or NAT64_NONE.  For prefetching it. */
static inline uint32_t
nat64_index_guess(const struct nat64_index *index, uint64_t hash)
{
    const struct nat64_bucket *b = nat64_index_first(index, hash);
    unsigned int matches = nat64_bucket_matches(b, hash);

    return matches ? __atomic_load_n(&b->numbers[__builtin_ctz(matches)],
                                     __ATOMIC_ACQUIRE) - 1
                   : NAT64_NONE;
}

/* Returns whether what is at 'number' has the key looked for. */
typedef bool nat64_index_equal(uint32_t number, const void *key,
                               const void *aux);

static inline __attribute__((always_inline)) uint32_t
nat64_bucket_find(const struct nat64_bucket *b, uint64_t hash,
                  nat64_index_equal *equal, const void *key, const void *aux)
{
    for (unsigned int m = nat64_bucket_matches(b, hash); m; m &= m - 1) {
        uint32_t number = __atomic_load_n(&b->numbers[__builtin_ctz(m)],
                                          __ATOMIC_ACQUIRE);

        if (number && equal(number - 1, key, aux)) {
            return number - 1;
        }
    }
    return NAT64_NONE;
}

/* Returns the number inserted under 'hash' for which 'equal' returns true, or
 * NAT64_NONE. */
static inline __attribute__((always_inline)) uint32_t
nat64_index_find(const struct nat64_index *index, uint64_t hash,
                 nat64_index_equal *equal, const void *key, const void *aux)
{
    const struct nat64_bucket *b = nat64_index_first(index, hash);

    for (unsigned int n = 1;; n++) {
        uint32_t number = nat64_bucket_find(b, hash, equal, key, aux);

        if (number != NAT64_NONE || n == NAT64_INDEX_PROBES
            || !__atomic_load_n(&b->n_past, __ATOMIC_ACQUIRE)) {
            return number;
        }
        b = nat64_index_probe(index, hash, n);
    }
}

#endif /* nat64-index.h */
