/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "nat64-syn.h"

#include <stdlib.h>
#include <string.h>

#include "pk-csum.h"
#include "xlat-hash.h"

#define SLOTS 4

_Static_assert(sizeof(struct nat64_syn_key) == 12, "compared as bytes");

/* A SYN but for its bytes, which are elsewhere: whoever looks for old ones
 * reads these alone. */
struct slot {
    struct nat64_syn_key key;
    uint32_t tick;
    uint16_t origin;
    uint16_t len;                /* 0: an empty slot. */
};

struct bucket {
    struct slot slots[SLOTS];
    uint8_t lock;
} __attribute__((aligned(64)));

struct nat64_syns {
    unsigned int refs;
    uint32_t max;
    uint32_t n;
    uint32_t n_buckets;
    uint64_t seed;
    struct bucket *buckets;
    uint8_t (*packets)[NAT64_SYN_BYTES];    /* By bucket and slot. */
};

struct nat64_syns *
nat64_syns_create(uint32_t max, uint64_t seed)
{
    struct nat64_syns *syns = calloc(1, sizeof *syns);

    if (!syns) {
        return NULL;
    }
    syns->refs = 1;
    syns->max = max;
    syns->n_buckets = (max - 1) / SLOTS + 1;
    syns->seed = seed;
    syns->buckets = xlat_big_alloc(syns->n_buckets * sizeof *syns->buckets);
    syns->packets = xlat_big_alloc(max * sizeof *syns->packets);
    if (!syns->buckets || !syns->packets) {
        nat64_syns_unref(syns);
        return NULL;
    }
    return syns;
}

struct nat64_syns *
nat64_syns_ref(struct nat64_syns *syns)
{
    __atomic_fetch_add(&syns->refs, 1, __ATOMIC_RELAXED);
    return syns;
}

void
nat64_syns_unref(struct nat64_syns *syns)
{
    if (syns
        && __atomic_fetch_sub(&syns->refs, 1, __ATOMIC_ACQ_REL) == 1) {
        free(syns->packets);
        free(syns->buckets);
        free(syns);
    }
}

uint32_t
nat64_syns_max(const struct nat64_syns *syns)
{
    return syns->max;
}

uint32_t
nat64_syns_n(const struct nat64_syns *syns)
{
    return __atomic_load_n(&syns->n, __ATOMIC_RELAXED);
}

size_t
nat64_syns_bytes(const struct nat64_syns *syns)
{
    return (sizeof *syns + syns->n_buckets * sizeof *syns->buckets
            + syns->max * sizeof *syns->packets);
}

static struct bucket *
lock_bucket(struct nat64_syns *syns, uint32_t i)
{
    struct bucket *b = &syns->buckets[i];

    while (__atomic_exchange_n(&b->lock, 1, __ATOMIC_ACQUIRE)) {
        /* Four comparisons and a copy long. */
    }
    return b;
}

static void
unlock_bucket(struct bucket *b)
{
    __atomic_store_n(&b->lock, 0, __ATOMIC_RELEASE);
}

/* Returns the number of the bucket of 'key'. */
static uint32_t
bucket_of(const struct nat64_syns *syns, const struct nat64_syn_key *key)
{
    uint64_t a = (uint64_t) key->remote << 32 | key->outside;
    uint64_t b = (uint32_t) key->remote_port << 16 | key->outside_port;
    uint64_t hash = xlat_hash_mix(a ^ syns->seed,
                                  UINT64_C(0x9e3779b97f4a7c15) ^ syns->seed);

    hash = xlat_hash_mix(hash ^ b,
                         UINT64_C(0xd6e8feb86659fd93) ^ syns->seed);
    return (hash >> 32) * syns->n_buckets >> 32;
}

/* Returns how many slots bucket 'i' has: the last one may have fewer. */
static uint32_t
n_slots(const struct nat64_syns *syns, uint32_t i)
{
    uint32_t left = syns->max - i * SLOTS;

    return left < SLOTS ? left : SLOTS;
}

/* Returns the slot of 'key' among the 'n' of 'b', or NULL. */
static struct slot *
find(struct bucket *b, uint32_t n, const struct nat64_syn_key *key)
{
    for (uint32_t i = 0; i < n; i++) {
        if (b->slots[i].len && !memcmp(&b->slots[i].key, key, sizeof *key)) {
            return &b->slots[i];
        }
    }
    return NULL;
}

/* Returns an empty slot of the 'n' of 'b', or the oldest. */
static struct slot *
choose(struct bucket *b, uint32_t n)
{
    struct slot *oldest = &b->slots[0];

    for (uint32_t i = 0; i < n; i++) {
        if (!b->slots[i].len) {
            return &b->slots[i];
        } else if ((int32_t) (b->slots[i].tick - oldest->tick) < 0) {
            oldest = &b->slots[i];
        }
    }
    return oldest;
}

static void
add_n(struct nat64_syns *syns, uint32_t n)
{
    __atomic_fetch_add(&syns->n, n, __ATOMIC_RELAXED);
}

static void
empty(struct nat64_syns *syns, struct slot *slot)
{
    slot->len = 0;
    add_n(syns, -1);
}

void
nat64_syns_put(struct nat64_syns *syns, const uint8_t *ip,
               const struct pk_info *info, uint32_t tick, uint16_t origin)
{
    const uint8_t *tcp = ip + info->l4_ofs;
    struct nat64_syn_key key = {
        .remote = pk_get32(ip + 12),
        .outside = pk_get32(ip + 16),
        .remote_port = pk_get16(tcp),
        .outside_port = pk_get16(tcp + 2),
    };
    uint32_t i = bucket_of(syns, &key);
    struct bucket *b = lock_bucket(syns, i);
    uint32_t n = n_slots(syns, i);

    if (!find(b, n, &key)) {
        struct slot *slot = choose(b, n);
        uint16_t len = info->len < NAT64_SYN_BYTES ? info->len
                                                   : NAT64_SYN_BYTES;

        add_n(syns, !slot->len);
        *slot = (struct slot) {
            .key = key,
            .tick = tick,
            .origin = origin,
            .len = len,
        };
        memcpy(syns->packets[i * SLOTS + (slot - b->slots)], ip, len);
    }
    unlock_bucket(b);
}

void
nat64_syns_forget(struct nat64_syns *syns, const struct nat64_syn_key *key)
{
    uint32_t i = bucket_of(syns, key);
    struct bucket *b = lock_bucket(syns, i);
    struct slot *slot = find(b, n_slots(syns, i), key);

    if (slot) {
        empty(syns, slot);
    }
    unlock_bucket(b);
}

/* Returns the first slot of 'b', from the 'first' to before the 'n'-th, with a
 * SYN that came more than 'max_age' ticks before 'tick', or NULL. */
static struct slot *
find_old(struct bucket *b, uint32_t first, uint32_t n, uint32_t tick,
         uint32_t max_age)
{
    for (uint32_t i = first; i < n; i++) {
        struct slot *slot = &b->slots[i];

        if (slot->len && (int32_t) (tick - slot->tick) > (int32_t) max_age) {
            return slot;
        }
    }
    return NULL;
}

/* Copies the SYN of 'slot', the 'i'-th of all, and empties the slot. */
static void
take(struct nat64_syns *syns, struct slot *slot, uint32_t i,
     struct nat64_syn *syn)
{
    syn->key = slot->key;
    syn->tick = slot->tick;
    syn->origin = slot->origin;
    syn->len = slot->len;
    memcpy(syn->packet, syns->packets[i], slot->len);
    empty(syns, slot);
}

bool
nat64_syns_take(struct nat64_syns *syns, uint32_t *cursor, uint32_t tick,
                uint32_t max_age, struct nat64_syn *syn)
{
    bool taken = false;

    while (!taken && *cursor < syns->max && nat64_syns_n(syns)) {
        uint32_t i = *cursor / SLOTS;
        struct bucket *b = lock_bucket(syns, i);
        struct slot *slot = find_old(b, *cursor % SLOTS, n_slots(syns, i),
                                     tick, max_age);

        *cursor = slot ? i * SLOTS + (slot - b->slots) : (i + 1) * SLOTS;
        if (slot) {
            take(syns, slot, (*cursor)++, syn);
            taken = true;
        }
        unlock_bucket(b);
    }
    return taken;
}
