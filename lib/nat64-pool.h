/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef NAT64_POOL_H
#define NAT64_POOL_H 1

/* The external addresses of a stateful zone, and their ports.
 *
 * 'struct nat64_places' is what all snapshots of the zone share: each address
 * that is in the pool, or still in use, has a place there, by whose number
 * bindings know it.  'struct nat64_pool' is what one snapshot may take ports
 * of, immutable.
 *
 * Places are given and taken by one thread at a time, ports by any. */

#include <stddef.h>

#include "nat64-ports.h"

struct xlat_conf;

/* What has ports of its own: TCP, UDP, and ICMP queries their identifiers. */
enum nat64_proto {
    NAT64_TCP,
    NAT64_UDP,
    NAT64_ICMP,
    NAT64_N_PROTOS
};

#define NAT64_MAX_ADDRESSES 4096

/* Whom a block of ports is for. */
struct nat64_use {
    uint32_t owner;              /* 0: nobody; or a number. */
    uint32_t n_static;           /* Ports that are in use by configuration. */
};

/* An address, with a range of its ports.  The same address may have several
 * ranges, which do not overlap. */
struct nat64_address {
    uint32_t ip;                 /* Host byte order. */
    uint16_t low_port;
    uint16_t high_port;
    uint16_t place;
    uint32_t n_pools;            /* struct nat64_pool that have it. */
    uint32_t n_foreign;          /* Bindings with ports that are not here. */
    bool open;                   /* In the latest configuration. */
    bool waiting;                /* Has no ports yet, since an address with
                                  * some of them, closed, is still in use. */
    struct nat64_use *uses;      /* Of each block of ports.  NULL: there are
                                  * no blocks. */
    uint64_t blocks_used[NAT64_PORTS_WORDS / 64];    /* A bit for each. */
    struct nat64_ports ports[NAT64_N_PROTOS];
};

struct nat64_places {
    struct nat64_address *addresses[NAT64_MAX_ADDRESSES];
    uint32_t share;              /* Of each address's ports: nat64-ports.h. */
    uint32_t n_shares;
    uint32_t block_words;        /* Of a block of ports; 0: no blocks. */
};

void nat64_places_init(struct nat64_places *, uint32_t share,
                       uint32_t n_shares, uint32_t block_words);
void nat64_places_destroy(struct nat64_places *);

struct nat64_pool {
    struct nat64_address **addresses;   /* By ip, then low_port. */
    size_t n;
    uint32_t first_ip;                  /* All are from here ... */
    uint32_t last_ip;                   /* ... to here. */
};

/* Makes 'pool' that of 'conf', with places for addresses that have none yet,
 * the others keeping theirs.  Returns 0, or a positive errno with '*errorp'
 * set to a sentence that the caller frees, or NULL: EINVAL (overlapping
 * ranges, special addresses, too many), ENOMEM; 'pool' is then empty. */
int nat64_pool_create(struct nat64_pool *pool, struct nat64_places *,
                      const struct xlat_conf *conf, char **errorp);
void nat64_pool_destroy(struct nat64_pool *);

/* Opens the addresses of 'pool' and closes all others.  Returns whether any
 * was closed. */
bool nat64_places_open(struct nat64_places *, const struct nat64_pool *pool);

/* Gives up the places of addresses that no pool has and no port is in use of,
 * and gives their ports to those that have waited for them. */
void nat64_places_clean(struct nat64_places *);

/* Returns the address that has 'port' of 'ip', or NULL. */
struct nat64_address *nat64_pool_find(const struct nat64_pool *, uint32_t ip,
                                      uint16_t port);

/* Returns whether 'ip' is an address of the pool. */
bool nat64_pool_has(const struct nat64_pool *, uint32_t ip);

/* Takes a port of 'proto', like 'like' if possible (see nat64_ports_take()),
 * of the address that belongs to 'host', a hash, or if that has none left, of
 * another one (RFC 4787, REQ-2).  Returns the address with '*portp' set, or
 * NULL.  Looks at 256 places at most. */
struct nat64_address *nat64_pool_take(const struct nat64_pool *,
                                      enum nat64_proto proto, uint64_t host,
                                      uint16_t like, uint64_t random,
                                      uint16_t *portp);

/* Takes a block of 'a' that is nobody's and has a port of 'proto' left, at
 * random.  Returns its number, or -1. */
int nat64_pool_take_block(const struct nat64_places *,
                          struct nat64_address *a, enum nat64_proto proto,
                          uint64_t random);

/* Gives block 'i' back. */
void nat64_pool_give_block(struct nat64_address *a, uint32_t i);

/* Returns whether no port of block 'i' of 'a', which has 'n_words' words, is
 * in use but by configuration. */
bool nat64_pool_block_is_unused(const struct nat64_places *,
                                const struct nat64_address *a, uint32_t i,
                                uint32_t n_words);

/* A walk over the addresses of a pool, from that of 'host' on, a hash, as far
 * as a search goes: 'address' becomes NULL at its end. */
struct nat64_walk {
    struct nat64_address *address;
    size_t i;
    size_t left;
};

struct nat64_walk nat64_walk_begin(const struct nat64_pool *, uint64_t host);
void nat64_walk_next(const struct nat64_pool *, struct nat64_walk *);

/* Takes 'port' of 'ip' itself.  Returns the address, or NULL. */
struct nat64_address *nat64_pool_take_this(const struct nat64_pool *,
                                           enum nat64_proto proto,
                                           uint32_t ip, uint16_t port);

#endif /* nat64-pool.h */
