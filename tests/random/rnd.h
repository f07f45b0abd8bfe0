/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef RND_H
#define RND_H 1

/* Cheap random numbers, the same on every machine for the same seed
 * (xorshift64*).  Also readable from a fuzzer's bytes: see
 * rnd_from_bytes(). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct rnd {
    uint64_t state;
    const uint8_t *bytes;        /* If not NULL, numbers come from here ... */
    size_t n;                    /* ... until these are used up; then 0. */
};

static inline struct rnd
rnd_from_seed(uint64_t seed)
{
    /* One step of splitmix64, so that near seeds are far apart. */
    uint64_t x = seed + UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (struct rnd) { (x ^ x >> 31) | 1, NULL, 0 };
}

static inline struct rnd
rnd_from_bytes(const uint8_t *bytes, size_t n)
{
    return (struct rnd) { 1, bytes, n };
}

static inline uint32_t
rnd32(struct rnd *rnd)
{
    if (rnd->bytes) {
        uint32_t x = 0;

        for (int i = 0; i < 2 && rnd->n; i++) {
            x = x << 8 | *rnd->bytes++;
            rnd->n--;
        }
        return x * 0x00010001u;
    }
    rnd->state ^= rnd->state >> 12;
    rnd->state ^= rnd->state << 25;
    rnd->state ^= rnd->state >> 27;
    return rnd->state * UINT64_C(0x2545f4914f6cdd1d) >> 32;
}

/* A number from 0 to n - 1. */
static inline uint32_t
rnd_below(struct rnd *rnd, uint32_t n)
{
    return rnd->bytes ? rnd32(rnd) % n : (uint64_t) rnd32(rnd) * n >> 32;
}

/* A number from 'low' to 'high'. */
static inline uint32_t
rnd_range(struct rnd *rnd, uint32_t low, uint32_t high)
{
    return low + rnd_below(rnd, high - low + 1);
}

/* True in 'per_mille' of 1000 cases. */
static inline bool
rnd_chance(struct rnd *rnd, uint32_t per_mille)
{
    return rnd_below(rnd, 1000) < per_mille;
}

/* One of the elements of an array. */
#define RND_OF(RND, ARRAY) \
    ((ARRAY)[rnd_below(RND, sizeof (ARRAY) / sizeof (ARRAY)[0])])

static inline void
rnd_bytes(struct rnd *rnd, uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        p[i] = rnd32(rnd);
    }
}

#endif /* rnd.h */
