/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "nat64-frag.h"

#include <stdlib.h>
#include <string.h>

#include "xlat-hash.h"

#define SLOTS 4

/* What the fragments of one packet have in common (RFC 791, 2.3; RFC 8200,
 * 4.5). */
struct key {
    uint8_t addresses[32];       /* Of IPv4, the first 8 bytes. */
    uint32_t id;
    uint8_t proto;
    uint8_t family;              /* 0: an empty slot. */
    uint16_t zero;
};

struct slot {
    struct key key;
    uint32_t tick;
    uint32_t ports;
};

struct bucket {
    struct slot slots[SLOTS];
    uint8_t lock;
} __attribute__((aligned(64)));

struct nat64_frags {
    uint64_t seed;
    struct bucket *buckets;
};

#define N_BUCKETS (NAT64_FRAGS / SLOTS)

struct nat64_frags *
nat64_frags_create(uint64_t seed)
{
    struct nat64_frags *frags = malloc(sizeof *frags);

    if (frags) {
        frags->seed = seed;
        frags->buckets = xlat_big_alloc(N_BUCKETS * sizeof *frags->buckets);
        if (!frags->buckets) {
            free(frags);
            return NULL;
        }
    }
    return frags;
}

void
nat64_frags_destroy(struct nat64_frags *frags)
{
    if (frags) {
        free(frags->buckets);
        free(frags);
    }
}

static void
make_key(const uint8_t *ip, const struct pk_info *info, struct key *key)
{
    *key = (struct key) {
        .id = info->frag_id,
        .proto = info->proto,
        .family = info->family,
    };
    if (info->family == 4) {
        memcpy(key->addresses, ip + 12, 8);
    } else {
        memcpy(key->addresses, ip + 8, 32);
    }
}

static struct bucket *
lock_bucket(struct nat64_frags *frags, const struct key *key)
{
    uint64_t hash = frags->seed;
    uint64_t words[sizeof *key / 8];
    struct bucket *b;

    memcpy(words, key, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        hash = xlat_hash_mix(hash ^ words[i],
                             UINT64_C(0x9e3779b97f4a7c15) ^ frags->seed);
    }
    b = &frags->buckets[(hash >> 32) * N_BUCKETS >> 32];
    while (__atomic_exchange_n(&b->lock, 1, __ATOMIC_ACQUIRE)) {
        /* Four comparisons long. */
    }
    return b;
}

static void
unlock_bucket(struct bucket *b)
{
    __atomic_store_n(&b->lock, 0, __ATOMIC_RELEASE);
}

/* Returns the slot of 'key', or NULL with '*oldest' the one to be given to a
 * new key. */
static struct slot *
find(struct bucket *b, const struct key *key, struct slot **oldest)
{
    *oldest = &b->slots[0];
    for (int i = 0; i < SLOTS; i++) {
        struct slot *slot = &b->slots[i];

        if (!memcmp(&slot->key, key, sizeof *key)) {
            return slot;
        }
        if (!slot->key.family
            || ((*oldest)->key.family
                && (int32_t) (slot->tick - (*oldest)->tick) < 0)) {
            *oldest = slot;
        }
    }
    return NULL;
}

void
nat64_frags_put(struct nat64_frags *frags, const uint8_t *ip,
                const struct pk_info *info, uint32_t tick, uint32_t ports)
{
    struct key key;
    struct slot *slot, *oldest;
    struct bucket *b;

    make_key(ip, info, &key);
    b = lock_bucket(frags, &key);
    slot = find(b, &key, &oldest);
    slot = slot ? slot : oldest;
    *slot = (struct slot) {
        .key = key,
        .tick = tick,
        .ports = ports,
    };
    unlock_bucket(b);
}

bool
nat64_frags_find(struct nat64_frags *frags, const uint8_t *ip,
                 const struct pk_info *info, uint32_t tick, uint32_t max_age,
                 uint32_t *ports)
{
    struct key key;
    struct slot *slot, *oldest;
    struct bucket *b;
    bool found = false;

    make_key(ip, info, &key);
    b = lock_bucket(frags, &key);
    slot = find(b, &key, &oldest);
    if (slot && (int32_t) (tick - slot->tick) <= (int32_t) max_age) {
        *ports = slot->ports;
        found = true;
    }
    unlock_bucket(b);
    return found;
}
