/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "nat64-ports.h"

#include <string.h>

#define ODD UINT64_C(0xaaaaaaaaaaaaaaaa)

/* The well-known ports, and the others, in words. */
static const struct range {
    unsigned int first, end;
} ranges[] = {
    { 0, 1024 / 64 },
    { 1024 / 64, NAT64_PORTS_WORDS },
};

_Static_assert(NAT64_PORTS_BLOCK == 64, "a word has one holder");

static uint64_t
parity_mask(unsigned int parity)
{
    return parity ? ODD : ~ODD;
}

static uint64_t
load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* Marks 'word' as full for 'parity', unless somebody gives a port back right
 * now. */
static void
mark_full(struct nat64_ports *ports, unsigned int word, unsigned int parity)
{
    uint64_t *mark = &ports->full[parity][word / 64];
    uint64_t bit = UINT64_C(1) << word % 64;

    __atomic_fetch_or(mark, bit, __ATOMIC_SEQ_CST);
    if (~__atomic_load_n(&ports->used[word], __ATOMIC_SEQ_CST)
        & parity_mask(parity)) {
        __atomic_fetch_and(mark, ~bit, __ATOMIC_SEQ_CST);
    }
}

uint64_t
nat64_ports_mask(uint16_t first, uint16_t last, unsigned int share,
                 unsigned int n_shares, unsigned int word)
{
    unsigned int low = word * 64, high = low + 63;
    uint64_t mask = UINT64_MAX;

    if (low > last || high < first
        || nat64_ports_share_of(low, n_shares) != share) {
        return 0;
    }
    if (first > low) {
        mask &= UINT64_MAX << (first - low);
    }
    if (last < high) {
        mask &= UINT64_MAX >> (high - last);
    }
    return mask;
}

void
nat64_ports_init(struct nat64_ports *ports, uint16_t first, uint16_t last,
                 unsigned int share, unsigned int n_shares)
{
    uint32_t n_ports = 0;

    /* Threads may be at work that know 'ports' without any: until the end,
     * they see that there are none. */
    __atomic_store_n(&ports->n_ports, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&ports->n_used, 0, __ATOMIC_RELAXED);
    for (unsigned int word = 0; word < NAT64_PORTS_WORDS; word++) {
        uint64_t mask = nat64_ports_mask(first, last, share, n_shares, word);

        n_ports += __builtin_popcountll(mask);
        __atomic_store_n(&ports->used[word], ~mask, __ATOMIC_SEQ_CST);
        mark_full(ports, word, 0);
        mark_full(ports, word, 1);
    }
    __atomic_store_n(&ports->n_ports, n_ports, __ATOMIC_RELEASE);
}

/* Takes bit 'bit' of 'word'.  Returns false if it is taken. */
static bool
take_bit(struct nat64_ports *ports, unsigned int word, unsigned int bit)
{
    uint64_t mask = UINT64_C(1) << bit;
    uint64_t before = __atomic_fetch_or(&ports->used[word], mask,
                                        __ATOMIC_SEQ_CST);

    if (before & mask) {
        return false;
    }
    __atomic_fetch_add(&ports->n_used, 1, __ATOMIC_RELAXED);
    if (!(~(before | mask) & parity_mask(bit % 2))) {
        mark_full(ports, word, bit % 2);
    }
    return true;
}

/* Takes a port of 'word' with 'parity', the first free one from a random place
 * on.  Returns it, or -1. */
static int
take_in_word(struct nat64_ports *ports, unsigned int word, unsigned int parity,
             unsigned int random)
{
    unsigned int turn = random % 64;
    uint64_t free;

    while ((free = ~load(&ports->used[word]) & parity_mask(parity))) {
        uint64_t turned = turn ? free >> turn | free << (64 - turn) : free;
        unsigned int bit = (__builtin_ctzll(turned) + turn) % 64;

        if (take_bit(ports, word, bit)) {
            return word * 64 + bit;
        }
    }
    mark_full(ports, word, parity);
    return -1;
}

/* Returns the first word from 'first' on, below 'end', that is not marked as
 * full for 'parity', or 'end'. */
static unsigned int
find_word(const struct nat64_ports *ports, unsigned int parity,
          unsigned int first, unsigned int end)
{
    while (first < end) {
        uint64_t open = ~load(&ports->full[parity][first / 64]) >> first % 64;

        if (open) {
            unsigned int word = first + __builtin_ctzll(open);

            return word < end ? word : end;
        }
        first = (first / 64 + 1) * 64;
    }
    return end;
}

/* Takes a port of 'range' with 'parity', from a random word on.  Returns it,
 * or -1. */
static int
take_in_range(struct nat64_ports *ports, const struct range *range,
              unsigned int parity, uint64_t random)
{
    unsigned int n = range->end - range->first;
    unsigned int start = range->first + ((uint32_t) random * (uint64_t) n
                                         >> 32);
    unsigned int word = start;
    bool wrapped = false;

    for (int i = 0; i < NAT64_PORTS_MAX_LOOKS; i++) {
        unsigned int end = wrapped ? start : range->end;

        word = find_word(ports, parity, word, end);
        if (word < end) {
            int port = take_in_word(ports, word, parity, random >> 32);

            if (port >= 0) {
                return port;
            }
            word++;
        } else if (!wrapped) {
            wrapped = true;
            word = range->first;
        } else {
            break;
        }
    }
    return -1;
}

int
nat64_ports_take(struct nat64_ports *ports, uint16_t like, uint64_t random)
{
    unsigned int range = like >= 1024;
    unsigned int parity = like % 2;

    for (int i = 0; i < 4; i++) {
        int port = take_in_range(ports, &ranges[range ^ i / 2],
                                 parity ^ i % 2, random);

        if (port >= 0) {
            return port;
        }
    }
    return -1;
}

int
nat64_ports_take_in(struct nat64_ports *ports, unsigned int first_word,
                    unsigned int n_words, uint16_t like, uint64_t random)
{
    for (unsigned int i = 0; i < 2 * n_words; i++) {
        unsigned int parity = (like + i / n_words) % 2;
        unsigned int word = first_word + ((uint32_t) random + i) % n_words;
        int port = take_in_word(ports, word, parity, random >> 32);

        if (port >= 0) {
            return port;
        }
    }
    return -1;
}

bool
nat64_ports_take_this(struct nat64_ports *ports, uint16_t port)
{
    return take_bit(ports, port / 64, port % 64);
}

void
nat64_ports_give(struct nat64_ports *ports, uint16_t port)
{
    unsigned int word = port / 64;

    __atomic_fetch_and(&ports->used[word], ~(UINT64_C(1) << port % 64),
                       __ATOMIC_SEQ_CST);
    __atomic_fetch_and(&ports->full[port % 2][word / 64],
                       ~(UINT64_C(1) << word % 64), __ATOMIC_SEQ_CST);
    __atomic_fetch_sub(&ports->n_used, 1, __ATOMIC_RELAXED);
}
