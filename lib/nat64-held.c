/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "nat64-held.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "nat64-private.h"
#include "xlat-hash.h"
#include "xlat-private.h"

/* Slots in a bucket, if there are as many: any packet that links of 1500 bytes
 * carry is held whole, should its first fragment come last. */
#define SLOTS 64

struct slot {
    struct nat64_frag_key key;
    uint32_t tick;
    uint32_t order;              /* Of arrival in the bucket. */
    uint32_t ticket;             /* 0: not called. */
    uint32_t bytes;              /* 0: an empty slot. */
};

struct bucket {
    uint32_t first;              /* Its slots: from here on, ... */
    uint32_t n;                  /* ... so many. */
    uint32_t order;              /* Of the next fragment. */
    uint16_t n_calls;
    uint8_t lock;
} __attribute__((aligned(64)));

struct nat64_held {
    unsigned int refs;
    uint32_t n_slots;
    uint32_t n_buckets;
    struct bucket *buckets;
    struct slot *slots;
    uint8_t (*data)[XLAT_HELD_MAX];    /* By slot. */
    uint32_t n __attribute__((aligned(64)));   /* Slots in use. */
};

/* A ticket is the number of a bucket, and above it that of a call. */
#define TICKET_SHIFT 16

/* ------------------------------------------------------------------------
 * Storage.
 * ------------------------------------------------------------------------ */

static void
destroy(struct nat64_held *held)
{
    free(held->data);
    free(held->slots);
    free(held->buckets);
    free(held);
}

/* Deals the slots out. */
static void
init_buckets(struct nat64_held *held)
{
    for (uint64_t i = 0; i < held->n_buckets; i++) {
        struct bucket *b = &held->buckets[i];

        b->first = i * held->n_slots / held->n_buckets;
        b->n = (i + 1) * held->n_slots / held->n_buckets - b->first;
    }
}

struct nat64_held *
nat64_held_create(uint32_t slots)
{
    struct nat64_held *held = xlat_big_alloc(sizeof *held);

    if (!held) {
        return NULL;
    }
    held->refs = 1;
    held->n_slots = slots;
    held->n_buckets = slots < SLOTS ? 1 : slots / SLOTS;
    held->buckets = xlat_big_alloc(held->n_buckets * sizeof *held->buckets);
    held->slots = xlat_big_alloc(slots * sizeof *held->slots);
    held->data = xlat_big_alloc(slots * sizeof *held->data);
    if (!held->buckets || !held->slots || !held->data) {
        destroy(held);
        return NULL;
    }
    init_buckets(held);
    return held;
}

struct nat64_held *
nat64_held_ref(struct nat64_held *held)
{
    __atomic_fetch_add(&held->refs, 1, __ATOMIC_RELAXED);
    return held;
}

void
nat64_held_unref(struct nat64_held *held, struct nat64_lost *lost)
{
    if (held && __atomic_fetch_sub(&held->refs, 1, __ATOMIC_ACQ_REL) == 1) {
        nat64_held_flush(held, lost);
        destroy(held);
    }
}

uint32_t
nat64_held_slots(const struct nat64_held *held)
{
    return held->n_slots;
}

uint32_t
nat64_held_n(const struct nat64_held *held)
{
    return __atomic_load_n(&held->n, __ATOMIC_RELAXED);
}

uint64_t
nat64_held_bytes(const struct nat64_held *held)
{
    return (sizeof *held + held->n_buckets * (uint64_t) sizeof *held->buckets
            + held->n_slots * (uint64_t) (sizeof *held->slots
                                          + sizeof *held->data));
}

/* ------------------------------------------------------------------------
 * Slots.
 * ------------------------------------------------------------------------ */

static struct bucket *
bucket_of(const struct nat64_held *held, const struct nat64_frag *frag)
{
    return &held->buckets[(frag->hash & UINT32_MAX) * held->n_buckets >> 32];
}

static void
lock(struct bucket *b)
{
    while (__atomic_exchange_n(&b->lock, 1, __ATOMIC_ACQUIRE)) {
        /* As long as the header says. */
    }
}

static void
unlock(struct bucket *b)
{
    __atomic_store_n(&b->lock, 0, __ATOMIC_RELEASE);
}

static void
clear(struct nat64_held *held, struct slot *slot)
{
    slot->bytes = 0;
    __atomic_fetch_sub(&held->n, 1, __ATOMIC_RELAXED);
}

static void
lose(struct nat64_held *held, struct slot *slot, struct nat64_lost *lost)
{
    lost->packets++;
    lost->bytes += slot->bytes;
    clear(held, slot);
}

static bool
is_old(const struct slot *slot, uint32_t tick, uint32_t max_age)
{
    return (int32_t) (tick - slot->tick) > (int32_t) max_age;
}

/* Returns an empty slot of 'b', or else that of the fragment that came
 * first. */
static struct slot *
find_room(const struct nat64_held *held, const struct bucket *b)
{
    struct slot *first = &held->slots[b->first];

    for (uint32_t i = 0; i < b->n; i++) {
        struct slot *slot = &held->slots[b->first + i];

        if (!slot->bytes) {
            return slot;
        } else if ((int32_t) (slot->order - first->order) < 0) {
            first = slot;
        }
    }
    return first;
}

void
nat64_held_put(struct nat64_held *held, const struct nat64_frag *frag,
               struct nat64_lost *lost)
{
    struct bucket *b = bucket_of(held, frag);
    struct slot *slot;

    lock(b);
    slot = find_room(held, b);
    if (slot->bytes) {
        lose(held, slot, lost);
    }
    *slot = (struct slot) {
        .key = frag->key,
        .tick = frag->tick,
        .order = b->order++,
        .bytes = frag->bytes,
    };
    memcpy(held->data[slot - held->slots], frag->ip, frag->bytes);
    __atomic_fetch_add(&held->n, 1, __ATOMIC_RELAXED);
    unlock(b);
}

/* Returns a ticket of 'b' that has not been used for long. */
static uint32_t
new_ticket(const struct nat64_held *held, struct bucket *b)
{
    b->n_calls += b->n_calls == UINT16_MAX ? 2 : 1;
    return (uint32_t) b->n_calls << TICKET_SHIFT | (b - held->buckets);
}

uint32_t
nat64_held_call(struct nat64_held *held, const struct nat64_frag *frag)
{
    struct bucket *b = bucket_of(held, frag);
    uint32_t ticket = 0;

    /* Those of the packet of 'frag' are seen, if there are any: they were put
     * under the lock that the caller has. */
    if (!nat64_held_n(held)) {
        return 0;
    }
    lock(b);
    for (uint32_t i = 0; i < b->n; i++) {
        struct slot *slot = &held->slots[b->first + i];

        if (slot->bytes && !memcmp(&slot->key, &frag->key, sizeof slot->key)
            && !is_old(slot, frag->tick, frag->max_age)) {
            ticket = ticket ? ticket : new_ticket(held, b);
            slot->ticket = ticket;
        }
    }
    unlock(b);
    return ticket;
}

/* Returns the slot with 'ticket' in 'b' of the fragment that came first, or
 * NULL. */
static struct slot *
find_called(const struct nat64_held *held, const struct bucket *b,
            uint32_t ticket)
{
    struct slot *first = NULL;

    for (uint32_t i = 0; i < b->n; i++) {
        struct slot *slot = &held->slots[b->first + i];

        if (slot->bytes && slot->ticket == ticket
            && (!first || (int32_t) (slot->order - first->order) < 0)) {
            first = slot;
        }
    }
    return first;
}

size_t
nat64_held_take(struct nat64_held *held, uint32_t ticket, void *buf,
                size_t size)
{
    uint32_t number = ticket & ((1u << TICKET_SHIFT) - 1);
    struct bucket *b;
    struct slot *slot;
    size_t n = 0;

    if (!ticket || number >= held->n_buckets) {
        return 0;
    }
    b = &held->buckets[number];
    lock(b);
    slot = find_called(held, b, ticket);
    if (slot && slot->bytes <= size) {
        n = slot->bytes;
        memcpy(buf, held->data[slot - held->slots], n);
        clear(held, slot);
    }
    unlock(b);
    return n;
}

/* Takes away those that are older than 'max_age' ticks at 'tick', or all. */
static void
sweep(struct nat64_held *held, bool all, uint32_t tick, uint32_t max_age,
      struct nat64_lost *lost)
{
    for (uint32_t i = 0; i < held->n_buckets && nat64_held_n(held); i++) {
        struct bucket *b = &held->buckets[i];

        lock(b);
        for (uint32_t k = b->first; k < b->first + b->n; k++) {
            struct slot *slot = &held->slots[k];

            if (slot->bytes && (all || is_old(slot, tick, max_age))) {
                lose(held, slot, lost);
            }
        }
        unlock(b);
    }
}

void
nat64_held_expire(struct nat64_held *held, uint32_t tick, uint32_t max_age,
                  struct nat64_lost *lost)
{
    sweep(held, false, tick, max_age, lost);
}

void
nat64_held_flush(struct nat64_held *held, struct nat64_lost *lost)
{
    sweep(held, true, 0, 0, lost);
}

size_t
nat64_take_held(const struct xlat_zone *zone, uint32_t ticket, void *buf,
                size_t size)
{
    struct nat64_held *held = zone->stateful->held;

    return held ? nat64_held_take(held, ticket, buf, size) : 0;
}

void
nat64_lost_count(const struct nat64_lost *lost, const struct xlat_zone *zone,
                 unsigned int thread)
{
    if (lost->packets) {
        xlat_stats_add_drops(zone->stats, thread, XLAT_DROP_FRAGMENT,
                             lost->packets, lost->bytes);
    }
}
