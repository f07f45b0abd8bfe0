/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_HASH_H
#define XLAT_HASH_H 1

/* An index: from a key's hash to a number, the key's place in an array that
 * the caller has.
 *
 * Buckets are 64 bytes, one cache line: eight tags of 16 bits, compared four
 * at a time, and eight numbers.  A lookup that finds nothing costs one line;
 * one that finds its key, one more in the caller's array.  Both can be
 * prefetched for a batch of keys before the first is looked up.
 *
 * Built once, by one thread, for a number of keys known before; then read by
 * any number.  Not good at removing: it cannot. */

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define XLAT_HASH_NONE UINT32_MAX
#define XLAT_HASH_SLOTS 8

struct xlat_hash_bucket {
    uint64_t tags[2];              /* Tag I: 16 bits of tags[I / 4], lowest
                                    * first.  0: empty. */
    uint32_t numbers[XLAT_HASH_SLOTS];
    uint32_t overflow;             /* Keys of this bucket may stand in the
                                    * next one. */
    uint32_t pad[3];
} __attribute__((aligned(64)));

struct xlat_hash {
    struct xlat_hash_bucket *buckets;
    uint32_t n_buckets;
    uint64_t seed;
};

/* Makes 'h' ready for up to 'n' insertions.  'seed' goes into every hash.
 * Returns 0 or ENOMEM. */
int xlat_hash_init(struct xlat_hash *h, size_t n, uint64_t seed);
void xlat_hash_destroy(struct xlat_hash *);

/* Inserts 'number' under 'hash'.  The caller has seen that its key is not
 * there. */
void xlat_hash_insert(struct xlat_hash *, uint64_t hash, uint32_t number);

/* Allocates 'size' bytes of zeros, aligned to two cache lines, in huge pages
 * if it is large and the system has them.  NULL if there is no memory.  Freed
 * by free(). */
void *xlat_big_alloc(size_t size);

/* Returns the product of 'a' and 'b', its halves folded together. */
static inline uint64_t
xlat_hash_mix(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 product = (unsigned __int128) a * b;

    return (uint64_t) product ^ (uint64_t) (product >> 64);
}

/* Returns the hash of a key of one word. */
static inline uint64_t
xlat_hash_1(const struct xlat_hash *h, uint64_t a)
{
    return xlat_hash_mix(a ^ h->seed, UINT64_C(0x9e3779b97f4a7c15));
}

/* Returns the hash of a key of two words. */
static inline uint64_t
xlat_hash_2(const struct xlat_hash *h, uint64_t a, uint64_t b)
{
    return xlat_hash_mix(xlat_hash_1(h, a) ^ b,
                         UINT64_C(0xd6e8feb86659fd93));
}

static inline struct xlat_hash_bucket *
xlat_hash_home(const struct xlat_hash *h, uint64_t hash)
{
    return &h->buckets[(hash >> 32) * h->n_buckets >> 32];
}

/* The lowest bit is set, as 0 means an empty slot. */
static inline uint64_t
xlat_hash_tag(uint64_t hash)
{
    return (hash & 0xffff) | 1;
}

/* Returns a word in which bit 15 of each 16 bits is set where 'tags' has
 * 'tag'. */
static inline uint64_t
xlat_hash_match(uint64_t tags, uint64_t tag)
{
    const uint64_t low15 = UINT64_C(0x7fff7fff7fff7fff);
    uint64_t x = tags ^ tag * UINT64_C(0x0001000100010001);

    return ~(((x & low15) + low15) | x | low15);
}

/* Returns a word with a bit for each slot of 'b' that has the tag of 'hash'.
 * All slots at once: where in a bucket a key stands cannot be predicted. */
static inline uint64_t
xlat_hash_matches(const struct xlat_hash_bucket *b, uint64_t hash)
{
    uint64_t tag = xlat_hash_tag(hash);

#ifdef __SSE2__
    __m128i tags = _mm_load_si128((const __m128i *) b->tags);
    __m128i equal = _mm_cmpeq_epi16(tags, _mm_set1_epi16(tag));

    return _mm_movemask_epi8(equal) & 0x5555;
#else
    return xlat_hash_match(b->tags[0], tag) >> 8
           | xlat_hash_match(b->tags[1], tag);
#endif
}

/* Returns the slot of the lowest bit in 'matches', not 0. */
static inline unsigned int
xlat_hash_slot(uint64_t matches)
{
    unsigned int bit = __builtin_ctzll(matches);

#ifdef __SSE2__
    return bit / 2;
#else
    return bit >> 4 | (bit & 8) >> 1;
#endif
}

static inline void
xlat_hash_prefetch(const struct xlat_hash *h, uint64_t hash)
{
    __builtin_prefetch(xlat_hash_home(h, hash));
}

/* Returns the number that a lookup of 'hash' compares first, most likely the
 * right one, or XLAT_HASH_NONE.  For prefetching it. */
static inline uint32_t
xlat_hash_guess(const struct xlat_hash *h, uint64_t hash)
{
    const struct xlat_hash_bucket *b = xlat_hash_home(h, hash);
    uint64_t matches = xlat_hash_matches(b, hash);

    return matches ? b->numbers[xlat_hash_slot(matches)] : XLAT_HASH_NONE;
}

/* Returns whether the key at 'number' is the one looked for. */
typedef bool xlat_hash_equal(uint32_t number, const void *key,
                             const void *aux);

/* Returns the number inserted under 'hash' for which 'equal' returns true, or
 * XLAT_HASH_NONE. */
static inline __attribute__((always_inline)) uint32_t
xlat_hash_find(const struct xlat_hash *h, uint64_t hash,
               xlat_hash_equal *equal, const void *key, const void *aux)
{
    const struct xlat_hash_bucket *b = xlat_hash_home(h, hash);

    for (;;) {
        uint64_t matches = xlat_hash_matches(b, hash);

        for (; matches; matches &= matches - 1) {
            uint32_t number = b->numbers[xlat_hash_slot(matches)];

            if (equal(number, key, aux)) {
                return number;
            }
        }
        if (!b->overflow) {
            return XLAT_HASH_NONE;
        }
        if (++b == h->buckets + h->n_buckets) {
            b = h->buckets;
        }
    }
}

#endif /* xlat-hash.h */
