/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "xlat-pool.h"

#include <errno.h>
#include <stdlib.h>

#include "xlat-special.h"
#include "xlat-text.h"

void
xlat_pool_init(struct xlat_pool *pool)
{
    *pool = (struct xlat_pool) { .prefixes = NULL };
}

void
xlat_pool_destroy(struct xlat_pool *pool)
{
    free(pool->prefixes);
}

static uint64_t
prefix_size(const struct xlat_prefix *prefix)
{
    return UINT64_C(1) << (32 - prefix->len);
}

char *
xlat_pool_add(struct xlat_pool *pool, const struct xlat_prefix *prefix)
{
    char text[XLAT_PREFIX_TEXT_SIZE];

    xlat_prefix_format(prefix, text);
    if (prefix->len < 8 || xlat_prefix_has_unroutable(prefix)) {
        return xlat_error("pool4 %s is not made of unicast addresses", text);
    }
    if (xlat_prefix_has_private(prefix)) {
        return xlat_error("pool4 %s has private or shared address space, "
                          "which cannot stand for routers (RFC 6791, 4)",
                          text);
    }
    for (size_t i = 0; i < pool->n; i++) {
        if (xlat_prefix_overlaps(&pool->prefixes[i], prefix)) {
            char other[XLAT_PREFIX_TEXT_SIZE];

            xlat_prefix_format(&pool->prefixes[i], other);
            return xlat_error("pool4 %s overlaps %s", text, other);
        }
    }

    struct xlat_prefix *prefixes = realloc(pool->prefixes, (pool->n + 1)
                                           * sizeof *prefixes);
    if (!prefixes) {
        return xlat_error("out of memory");
    }
    prefixes[pool->n++] = *prefix;
    pool->prefixes = prefixes;
    pool->n_addresses += prefix_size(prefix);
    return NULL;
}

int
xlat_pool_copy(struct xlat_pool *copy, const struct xlat_pool *pool)
{
    *copy = *pool;
    copy->prefixes = malloc((pool->n + 1) * sizeof *copy->prefixes);
    if (!copy->prefixes) {
        xlat_pool_init(copy);
        return ENOMEM;
    }
    for (size_t i = 0; i < pool->n; i++) {
        copy->prefixes[i] = pool->prefixes[i];
    }
    return 0;
}

uint32_t
xlat_pool_choose(const struct xlat_pool *pool, uint64_t random)
{
    uint64_t i = (random >> 32) * pool->n_addresses >> 32;
    const struct xlat_prefix *prefix = pool->prefixes;

    while (i >= prefix_size(prefix)) {
        i -= prefix_size(prefix++);
    }
    return (prefix->ip.hi >> 32) + i;
}
