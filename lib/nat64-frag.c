/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "nat64-frag.h"

#include <stdlib.h>
#include <string.h>

#include "nat64-held.h"
#include "xlat-hash.h"

#define SLOTS 4

struct slot {
    struct nat64_frag_key key;
    uint32_t tick;
    uint32_t order;              /* Of arrival in the bucket: many come within
                                  * a tick. */
    uint32_t ports;
};

struct bucket {
    struct slot slots[SLOTS];
    uint32_t order;              /* Of the next packet. */
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

uint64_t
nat64_frags_bytes(void)
{
    return sizeof(struct nat64_frags) + N_BUCKETS * sizeof(struct bucket);
}

static uint64_t
hash_key(const struct nat64_frag_key *key, uint64_t seed)
{
    uint64_t words[sizeof *key / 8];
    uint64_t hash = seed;

    memcpy(words, key, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        hash = xlat_hash_mix(hash ^ words[i],
                             UINT64_C(0x9e3779b97f4a7c15) ^ seed);
    }
    return hash;
}

void
nat64_frag_init(struct nat64_frag *frag, const struct nat64_frags *frags,
                const uint8_t *ip, const struct pk_info *info,
                uint32_t tenant, uint32_t tick, uint32_t max_age)
{
    *frag = (struct nat64_frag) {
        .key = {
            .id = info->frag_id,
            .tenant = tenant,
            .proto = info->proto,
            .family = info->family,
        },
        .ip = ip,
        .bytes = info->len,
        .tick = tick,
        .max_age = max_age,
    };
    if (info->family == 4) {
        memcpy(frag->key.addresses, ip + 12, 8);
    } else {
        memcpy(frag->key.addresses, ip + 8, 32);
    }
    frag->hash = hash_key(&frag->key, frags->seed);
}

static struct bucket *
lock_bucket(struct nat64_frags *frags, const struct nat64_frag *frag)
{
    struct bucket *b = &frags->buckets[(frag->hash >> 32) * N_BUCKETS >> 32];

    while (__atomic_exchange_n(&b->lock, 1, __ATOMIC_ACQUIRE)) {
        /* As long as the header says. */
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
find(struct bucket *b, const struct nat64_frag_key *key, struct slot **oldest)
{
    *oldest = &b->slots[0];
    for (int i = 0; i < SLOTS; i++) {
        struct slot *slot = &b->slots[i];

        if (!memcmp(&slot->key, key, sizeof *key)) {
            return slot;
        }
        if (!slot->key.family
            || ((*oldest)->key.family
                && (int32_t) (slot->order - (*oldest)->order) < 0)) {
            *oldest = slot;
        }
    }
    return NULL;
}

uint32_t
nat64_frags_put(struct nat64_frags *frags, const struct nat64_frag *frag,
                uint32_t ports, struct nat64_held *held)
{
    struct bucket *b = lock_bucket(frags, frag);
    struct slot *oldest;
    struct slot *slot = find(b, &frag->key, &oldest);
    uint32_t ticket;

    slot = slot ? slot : oldest;
    *slot = (struct slot) {
        .key = frag->key,
        .tick = frag->tick,
        .order = b->order++,
        .ports = ports,
    };
    ticket = held ? nat64_held_call(held, frag) : 0;
    unlock_bucket(b);
    return ticket;
}

bool
nat64_frags_find(struct nat64_frags *frags, const struct nat64_frag *frag,
                 uint32_t *ports, struct nat64_held *held,
                 struct nat64_lost *lost)
{
    struct bucket *b = lock_bucket(frags, frag);
    struct slot *oldest;
    const struct slot *slot = find(b, &frag->key, &oldest);
    bool found = slot && ((int32_t) (frag->tick - slot->tick)
                          <= (int32_t) frag->max_age);

    if (found) {
        *ports = slot->ports;
    } else if (held) {
        nat64_held_put(held, frag, lost);
    }
    unlock_bucket(b);
    return found;
}
