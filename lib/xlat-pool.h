/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_POOL_H
#define XLAT_POOL_H 1

/* The pool of IPv4 addresses that stand for IPv6 routers without a mapping
 * (RFC 6791).
 *
 * Immutable once filled.  Addresses are in host byte order. */

#include <stddef.h>

#include "xlat-prefix.h"

struct xlat_pool {
    struct xlat_prefix *prefixes;    /* IPv4. */
    size_t n;
    uint64_t n_addresses;            /* Of all prefixes together. */
};

/* Makes an empty pool. */
void xlat_pool_init(struct xlat_pool *);
void xlat_pool_destroy(struct xlat_pool *);

/* Adds 'prefix'.  Returns NULL, or a sentence that says why it cannot be added
 * (private or special addresses, overlap), which the caller frees. */
char *xlat_pool_add(struct xlat_pool *, const struct xlat_prefix *prefix);

/* Makes '*copy', not initialized, equal to 'pool'.  Returns 0 or ENOMEM. */
int xlat_pool_copy(struct xlat_pool *copy, const struct xlat_pool *pool);

/* Returns the address that 'random', a number uniform over 64 bits, chooses.
 * The pool is not empty. */
uint32_t xlat_pool_choose(const struct xlat_pool *, uint64_t random);

#endif /* xlat-pool.h */
