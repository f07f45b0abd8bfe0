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

/* Returns whether 'is_bad' is true of an end of 'prefix'. */
static bool
is_any(const struct xlat_prefix *prefix, bool (*is_bad)(uint32_t))
{
    uint32_t first = prefix->ip.hi >> 32;

    return is_bad(first) || is_bad(first | ~xlat_mask4(prefix->len));
}

static bool
is_unroutable(uint32_t ip)
{
    return xlat_ip4_is_unroutable(ip);
}

char *
xlat_pool_add(struct xlat_pool *pool, const struct xlat_prefix *prefix)
{
    char text[XLAT_PREFIX_TEXT_SIZE];

    xlat_prefix_format(prefix, text);
    if (prefix->len < 8 || is_any(prefix, is_unroutable)) {
        return xlat_error("pool4 %s is not made of unicast addresses", text);
    }
    if (is_any(prefix, xlat_ip4_is_private)) {
        return xlat_error("pool4 %s is private or shared address space, which "
                          "cannot stand for routers (RFC 6791, 4)", text);
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
