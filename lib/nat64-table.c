/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* The storage of a stateful zone's sessions and bindings. */

#include <stdlib.h>

#include "nat64-private.h"

_Static_assert(sizeof(struct nat64_flow) == 64, "one line of memory");
_Static_assert(sizeof(struct nat64_session) == 128, "two lines of memory");
_Static_assert(sizeof(struct nat64_binding) == 32, "half a line of memory");

static void destroy(struct nat64 *);

static bool
init_indexes(struct nat64 *nat64, uint32_t max, uint64_t seed)
{
    return !(nat64_index_init(&nat64->by_inside, max, seed)
             || nat64_index_init(&nat64->by_outside, max, seed + 1)
             || nat64_index_init(&nat64->bib_by_inside, max, seed + 2)
             || nat64_index_init(&nat64->bib_by_outside, max, seed + 3));
}

static void
init_stack(struct nat64_stack *stack, uint32_t max)
{
    *stack = (struct nat64_stack) { .head = NAT64_NONE, .max = max };
}

struct nat64 *
nat64_create(const struct nat64_shape *shape, uint64_t seed)
{
    struct nat64 *nat64 = calloc(1, sizeof *nat64);
    uint32_t max = shape->max_sessions;

    if (!nat64) {
        return NULL;
    }
    nat64->refs = 1;
    nat64->shape = *shape;
    nat64->sessions = xlat_big_alloc(max * sizeof *nat64->sessions);
    nat64->due = xlat_big_alloc(max * sizeof *nat64->due);
    nat64->bindings = xlat_big_alloc(max * sizeof *nat64->bindings);
    init_stack(&nat64->free_sessions, max);
    init_stack(&nat64->free_bindings, max);
    for (size_t i = 0; i < NAT64_N_PROTOS; i++) {
        nat64->cooling[i].first = nat64->cooling[i].last = NAT64_NONE;
    }
    /* There are no prefixes inside a nat44 zone, as if there were one. */
    nat64->prefix_used[0] = shape->inside_family == 4;
    nat64_places_init(&nat64->places, shape->share, shape->n_shares,
                      shape->block_words);
    pthread_mutex_init(&nat64->control, NULL);
    nat64->frags = nat64_frags_create(seed + 4);
    if (!nat64->sessions || !nat64->due || !nat64->bindings || !nat64->frags
        || !init_indexes(nat64, max, seed)
        || nat64_subscribers_init(&nat64->subscribers, shape->max_subscribers,
                                  seed + 5)) {
        destroy(nat64);
        return NULL;
    }
    return nat64;
}

static void
destroy(struct nat64 *nat64)
{
    pthread_mutex_destroy(&nat64->control);
    nat64_places_destroy(&nat64->places);
    nat64_index_destroy(&nat64->by_inside);
    nat64_index_destroy(&nat64->by_outside);
    nat64_index_destroy(&nat64->bib_by_inside);
    nat64_index_destroy(&nat64->bib_by_outside);
    nat64_frags_destroy(nat64->frags);
    nat64_subscribers_destroy(&nat64->subscribers);
    nat64_events_unref(nat64->events);
    free(nat64->bindings);
    free(nat64->due);
    free(nat64->sessions);
    free(nat64);
}

struct nat64 *
nat64_ref(struct nat64 *nat64)
{
    __atomic_fetch_add(&nat64->refs, 1, __ATOMIC_RELAXED);
    return nat64;
}

void
nat64_unref(struct nat64 *nat64)
{
    if (nat64
        && __atomic_fetch_sub(&nat64->refs, 1, __ATOMIC_ACQ_REL) == 1) {
        destroy(nat64);
    }
}

/* Returns the word of the slot at 'p' that links it while it is free. */
static uint32_t *
link_of(void *slots, size_t slot_bytes, uint32_t slot)
{
    return (uint32_t *) ((char *) slots + slot * slot_bytes);
}

/* Reads a link that may be none any more, since another thread has taken its
 * slot and writes to it; then the value is of no use. */
static uint32_t __attribute__((noinline, no_sanitize("thread")))
read_link(const uint32_t *link)
{
    return *(const volatile uint32_t *) link;
}

static uint32_t
alloc(struct nat64_stack *stack, void *slots, size_t slot_bytes)
{
    uint64_t head = __atomic_load_n(&stack->head, __ATOMIC_ACQUIRE);

    while ((uint32_t) head != NAT64_NONE) {
        uint32_t next = read_link(link_of(slots, slot_bytes,
                                          (uint32_t) head));
        uint64_t new = ((head >> 32) + 1) << 32 | next;

        if (__atomic_compare_exchange_n(&stack->head, &head, new, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            return head;
        }
    }

    uint32_t n = __atomic_load_n(&stack->n_touched, __ATOMIC_RELAXED);
    while (n < stack->max) {
        if (__atomic_compare_exchange_n(&stack->n_touched, &n, n + 1, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            return n;
        }
    }
    return NAT64_NONE;
}

static void
give_back(struct nat64_stack *stack, void *slots, size_t slot_bytes,
          uint32_t slot)
{
    uint64_t head = __atomic_load_n(&stack->head, __ATOMIC_RELAXED);
    uint64_t new;

    do {
        __atomic_store_n(link_of(slots, slot_bytes, slot), (uint32_t) head,
                         __ATOMIC_RELAXED);
        new = ((head >> 32) + 1) << 32 | slot;
    } while (!__atomic_compare_exchange_n(&stack->head, &head, new, false,
                                          __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
}

uint32_t
nat64_session_alloc(struct nat64 *nat64)
{
    return alloc(&nat64->free_sessions, nat64->sessions,
                 sizeof *nat64->sessions);
}

void
nat64_session_free(struct nat64 *nat64, uint32_t session)
{
    give_back(&nat64->free_sessions, nat64->sessions,
              sizeof *nat64->sessions, session);
}

uint32_t
nat64_binding_alloc(struct nat64 *nat64)
{
    return alloc(&nat64->free_bindings, nat64->bindings,
                 sizeof *nat64->bindings);
}

void
nat64_binding_free(struct nat64 *nat64, uint32_t binding)
{
    give_back(&nat64->free_bindings, nat64->bindings,
              sizeof *nat64->bindings, binding);
}

uint32_t
nat64_n_touched(const struct nat64_stack *stack)
{
    return __atomic_load_n(&stack->n_touched, __ATOMIC_ACQUIRE);
}
