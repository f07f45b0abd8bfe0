/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "nat64-pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "xlat-conf-private.h"
#include "xlat-hash.h"
#include "xlat-special.h"
#include "xlat-text.h"

/* Addresses that a search for a port looks at. */
#define MAX_LOOKS 256

static int add_prefix(struct nat64_pool *, struct nat64_places *,
                      const struct xlat_conf_pool4 *, char **errorp);
static char *check(const struct nat64_pool *);

void
nat64_places_init(struct nat64_places *places, uint32_t share,
                  uint32_t n_shares, uint32_t block_words)
{
    memset(places, 0, sizeof *places);
    places->share = share;
    places->n_shares = n_shares;
    places->block_words = block_words;
}

static void
destroy(struct nat64_address *a)
{
    if (a) {
        free(a->uses);
        free(a);
    }
}

void
nat64_places_destroy(struct nat64_places *places)
{
    for (size_t i = 0; i < NAT64_MAX_ADDRESSES; i++) {
        destroy(places->addresses[i]);
    }
}

static int
compare(const void *a_, const void *b_)
{
    const struct nat64_address *a = *(struct nat64_address *const *) a_;
    const struct nat64_address *b = *(struct nat64_address *const *) b_;

    return a->ip != b->ip ? (a->ip < b->ip ? -1 : 1)
           : (int) a->low_port - b->low_port;
}

int
nat64_pool_create(struct nat64_pool *pool, struct nat64_places *places,
                  const struct xlat_conf *conf, char **errorp)
{
    int error = 0;

    *errorp = NULL;
    pool->n = 0;
    pool->addresses = calloc(NAT64_MAX_ADDRESSES, sizeof *pool->addresses);
    if (!pool->addresses) {
        return ENOMEM;
    }
    for (size_t i = 0; i < conf->n_pool4 && !error; i++) {
        error = add_prefix(pool, places, &conf->pool4[i], errorp);
    }
    if (!error) {
        qsort(pool->addresses, pool->n, sizeof *pool->addresses, compare);
        *errorp = check(pool);
        error = *errorp ? EINVAL : 0;
    }
    if (!error) {
        pool->first_ip = pool->addresses[0]->ip;
        pool->last_ip = pool->addresses[pool->n - 1]->ip;
    }
    if (error) {
        nat64_pool_destroy(pool);
    }
    return error;
}

void
nat64_pool_destroy(struct nat64_pool *pool)
{
    for (size_t i = 0; i < pool->n; i++) {
        __atomic_fetch_sub(&pool->addresses[i]->n_pools, 1, __ATOMIC_RELEASE);
    }
    free(pool->addresses);
    pool->addresses = NULL;
    pool->n = 0;
}

static bool
overlaps(const struct nat64_address *a, const struct nat64_address *b)
{
    return (a->ip == b->ip && a->low_port <= b->high_port
            && b->low_port <= a->high_port);
}

/* Returns which ports of word 'word' 'a' has. */
static uint64_t
mask_of(const struct nat64_places *places, const struct nat64_address *a,
        uint32_t word)
{
    return nat64_ports_mask(a->low_port, a->high_port, places->share,
                            places->n_shares, word);
}

/* Makes blocks with ports usable, at once: threads may be at work that know
 * 'a' without any. */
static void
fill_blocks(const struct nat64_places *places, struct nat64_address *a)
{
    uint32_t n_words = places->block_words;
    uint64_t usable[NAT64_PORTS_WORDS / 64] = { 0 };

    for (uint32_t word = 0; n_words && word < NAT64_PORTS_WORDS; word++) {
        uint32_t block = word / n_words;

        if (mask_of(places, a, word)) {
            usable[block / 64] |= UINT64_C(1) << block % 64;
        }
    }
    for (size_t i = 0; i < sizeof usable / sizeof usable[0]; i++) {
        __atomic_store_n(&a->blocks_used[i], ~usable[i], __ATOMIC_RELEASE);
    }
}

/* Gives 'a' its ports, unless others have some of them. */
static void
fill(const struct nat64_places *places, struct nat64_address *a)
{
    bool empty = false;

    for (size_t i = 0; i < NAT64_MAX_ADDRESSES; i++) {
        const struct nat64_address *b = places->addresses[i];

        empty = empty || (b && b != a && overlaps(a, b));
    }
    for (size_t proto = 0; proto < NAT64_N_PROTOS; proto++) {
        nat64_ports_init(&a->ports[proto], empty ? 1 : a->low_port,
                         empty ? 0 : a->high_port, places->share,
                         places->n_shares);
    }
    if (!empty) {
        fill_blocks(places, a);
    }
    a->waiting = empty;
}

/* Returns the address with 'ip' and these ports, in a new place if it has
 * none, or NULL with '*error' set. */
static struct nat64_address *
find_or_add(struct nat64_places *places, uint32_t ip, uint16_t low,
            uint16_t high, int *error)
{
    struct nat64_address *a;
    size_t place = NAT64_MAX_ADDRESSES;

    for (size_t i = 0; i < NAT64_MAX_ADDRESSES; i++) {
        a = places->addresses[i];
        if (!a) {
            place = place == NAT64_MAX_ADDRESSES ? i : place;
        } else if (a->ip == ip && a->low_port == low && a->high_port == high) {
            return a;
        }
    }
    *error = place == NAT64_MAX_ADDRESSES ? ENOSPC : ENOMEM;
    a = place == NAT64_MAX_ADDRESSES ? NULL : calloc(1, sizeof *a);
    if (a && places->block_words) {
        a->uses = calloc(NAT64_PORTS_WORDS / places->block_words,
                         sizeof *a->uses);
        if (!a->uses) {
            free(a);
            a = NULL;
        }
    }
    if (a) {
        memset(a->blocks_used, 0xff, sizeof a->blocks_used);
        a->ip = ip;
        a->low_port = low;
        a->high_port = high;
        a->place = place;
        a->n_pools = 0;
        a->open = true;
        fill(places, a);
        places->addresses[place] = a;
    }
    return a;
}

static int
too_many(char **errorp)
{
    *errorp = xlat_error("pool4 has more than %d addresses",
                         NAT64_MAX_ADDRESSES);
    return EINVAL;
}

static int
add_prefix(struct nat64_pool *pool, struct nat64_places *places,
           const struct xlat_conf_pool4 *conf, char **errorp)
{
    uint32_t first = conf->prefix.ip.hi >> 32;
    uint64_t n = UINT64_C(1) << (32 - conf->prefix.len);
    /* Port 0 is nobody's. */
    uint16_t low = conf->has_ports && conf->low_port ? conf->low_port : 1;
    uint16_t high = conf->has_ports ? conf->high_port : UINT16_MAX;

    if (xlat_prefix_has_unroutable(&conf->prefix)) {
        char text[XLAT_PREFIX_TEXT_SIZE];

        xlat_prefix_format(&conf->prefix, text);
        *errorp = xlat_error("pool4 %s has special addresses", text);
        return EINVAL;
    }
    if (pool->n + n > NAT64_MAX_ADDRESSES) {
        return too_many(errorp);
    }
    for (uint64_t i = 0; i < n; i++) {
        int error;
        struct nat64_address *a = find_or_add(places, first + i, low, high,
                                              &error);
        if (!a) {
            return error == ENOSPC ? too_many(errorp) : error;
        }
        __atomic_fetch_add(&a->n_pools, 1, __ATOMIC_RELAXED);
        pool->addresses[pool->n++] = a;
    }
    return 0;
}

/* Returns a sentence if addresses overlap. */
static char *
check(const struct nat64_pool *pool)
{
    for (size_t i = 1; i < pool->n; i++) {
        const struct nat64_address *a = pool->addresses[i - 1];
        const struct nat64_address *b = pool->addresses[i];

        if (a->ip == b->ip && a->high_port >= b->low_port) {
            return xlat_error("pool4 has %u.%u.%u.%u twice", a->ip >> 24,
                              a->ip >> 16 & 0xff, a->ip >> 8 & 0xff,
                              a->ip & 0xff);
        }
    }
    return pool->n ? NULL : xlat_error("a stateful zone needs an address in "
                                       "pool4");
}

/* Returns whether 'pool' has 'a' itself, not one that only begins with the
 * same port. */
static bool
has_address(const struct nat64_pool *pool, const struct nat64_address *a)
{
    struct nat64_address **found = bsearch(&a, pool->addresses, pool->n,
                                           sizeof a, compare);

    return found && *found == a;
}

bool
nat64_places_open(struct nat64_places *places, const struct nat64_pool *pool)
{
    bool closed = false;

    for (size_t i = 0; i < pool->n; i++) {
        __atomic_store_n(&pool->addresses[i]->open, true, __ATOMIC_RELEASE);
    }
    for (size_t i = 0; i < NAT64_MAX_ADDRESSES; i++) {
        struct nat64_address *a = places->addresses[i];

        if (a && a->open && !has_address(pool, a)) {
            __atomic_store_n(&a->open, false, __ATOMIC_RELEASE);
            closed = true;
        }
    }
    return closed;
}

static bool
is_in_use(const struct nat64_address *a)
{
    return (__atomic_load_n(&a->n_pools, __ATOMIC_ACQUIRE)
            || __atomic_load_n(&a->n_foreign, __ATOMIC_ACQUIRE)
            || nat64_ports_n_used(&a->ports[NAT64_TCP])
            || nat64_ports_n_used(&a->ports[NAT64_UDP])
            || nat64_ports_n_used(&a->ports[NAT64_ICMP]));
}

void
nat64_places_clean(struct nat64_places *places)
{
    for (size_t i = 0; i < NAT64_MAX_ADDRESSES; i++) {
        struct nat64_address *a = places->addresses[i];

        if (a && !is_in_use(a)) {
            places->addresses[i] = NULL;
            destroy(a);
        }
    }
    for (size_t i = 0; i < NAT64_MAX_ADDRESSES; i++) {
        struct nat64_address *a = places->addresses[i];

        if (a && a->waiting) {
            fill(places, a);
        }
    }
}

/* Returns the number of addresses of 'pool' below 'ip'. */
static size_t
n_below(const struct nat64_pool *pool, uint32_t ip)
{
    size_t low = 0, high = pool->n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (pool->addresses[middle]->ip < ip) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool
nat64_pool_has(const struct nat64_pool *pool, uint32_t ip)
{
    size_t i = n_below(pool, ip);

    return i < pool->n && pool->addresses[i]->ip == ip;
}

struct nat64_address *
nat64_pool_take(const struct nat64_pool *pool, enum nat64_proto proto,
                uint64_t host, uint16_t like, uint64_t random,
                uint16_t *portp)
{
    for (struct nat64_walk w = nat64_walk_begin(pool, host); w.address;
         nat64_walk_next(pool, &w)) {
        struct nat64_ports *ports = &w.address->ports[proto];
        int port = nat64_ports_are_used_up(ports) ? -1
                   : nat64_ports_take(ports, like, random);

        if (port >= 0) {
            *portp = port;
            return w.address;
        }
    }
    return NULL;
}

struct nat64_walk
nat64_walk_begin(const struct nat64_pool *pool, uint64_t host)
{
    size_t i = ((host >> 32) * pool->n) >> 32;

    return (struct nat64_walk) {
        .address = pool->addresses[i],
        .i = i,
        .left = pool->n < MAX_LOOKS ? pool->n : MAX_LOOKS,
    };
}

void
nat64_walk_next(const struct nat64_pool *pool, struct nat64_walk *w)
{
    w->i = w->i + 1 == pool->n ? 0 : w->i + 1;
    w->address = --w->left ? pool->addresses[w->i] : NULL;
}

/* Returns whether block 'i' of 'a' has a port of 'proto' left. */
static bool
has_port(const struct nat64_places *places, const struct nat64_address *a,
         enum nat64_proto proto, uint32_t i)
{
    uint32_t first = i * places->block_words;
    uint64_t left = 0;

    for (uint32_t word = first; word < first + places->block_words && !left;
         word++) {
        left = mask_of(places, a, word)
               & ~__atomic_load_n(&a->ports[proto].used[word],
                                  __ATOMIC_RELAXED);
    }
    return left != 0;
}

int
nat64_pool_take_block(const struct nat64_places *places,
                      struct nat64_address *a, enum nat64_proto proto,
                      uint64_t random)
{
    const uint32_t n = NAT64_PORTS_WORDS / 64;
    uint32_t turn = (random >> 32) % 64;

    for (uint32_t i = 0; i < n; i++) {
        uint64_t *word = &a->blocks_used[(i + (uint32_t) random) % n];
        uint64_t free, tried = 0;

        while ((free = ~__atomic_load_n(word, __ATOMIC_RELAXED) & ~tried)) {
            uint64_t turned = turn ? free >> turn | free << (64 - turn) : free;
            uint64_t bit = UINT64_C(1)
                           << (__builtin_ctzll(turned) + turn) % 64;

            uint32_t block = (word - a->blocks_used) * 64
                             + __builtin_ctzll(bit);

            if (__atomic_fetch_or(word, bit, __ATOMIC_ACQ_REL) & bit) {
                continue;
            } else if (has_port(places, a, proto, block)) {
                return block;
            }
            /* All are in use by configuration. */
            nat64_pool_give_block(a, block);
            tried |= bit;
        }
    }
    return -1;
}

void
nat64_pool_give_block(struct nat64_address *a, uint32_t i)
{
    __atomic_fetch_and(&a->blocks_used[i / 64], ~(UINT64_C(1) << i % 64),
                       __ATOMIC_ACQ_REL);
}

bool
nat64_pool_block_is_unused(const struct nat64_places *places,
                           const struct nat64_address *a, uint32_t i,
                           uint32_t n_words)
{
    uint32_t n_static = __atomic_load_n(&a->uses[i].n_static,
                                        __ATOMIC_SEQ_CST);
    uint32_t n = 0;

    for (uint32_t word = i * n_words;
         word < (i + 1) * n_words && n <= n_static; word++) {
        uint64_t mask = mask_of(places, a, word);

        for (int proto = 0; proto < NAT64_N_PROTOS; proto++) {
            uint64_t used = __atomic_load_n(&a->ports[proto].used[word],
                                            __ATOMIC_SEQ_CST);

            n += __builtin_popcountll(used & mask);
        }
    }
    return n <= n_static;
}

struct nat64_address *
nat64_pool_find(const struct nat64_pool *pool, uint32_t ip, uint16_t port)
{
    for (size_t i = n_below(pool, ip);
         i < pool->n && pool->addresses[i]->ip == ip; i++) {
        struct nat64_address *a = pool->addresses[i];

        if (a->low_port <= port && port <= a->high_port) {
            return a;
        }
    }
    return NULL;
}

struct nat64_address *
nat64_pool_take_this(const struct nat64_pool *pool, enum nat64_proto proto,
                     uint32_t ip, uint16_t port)
{
    struct nat64_address *a = nat64_pool_find(pool, ip, port);

    return a && nat64_ports_take_this(&a->ports[proto], port) ? a : NULL;
}
