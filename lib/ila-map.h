/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef ILA_MAP_H
#define ILA_MAP_H 1

/* The mappings of an ila zone: identifier to locator and back.
 *
 * Compiled from a configuration and immutable then, but for the counters of
 * the mappings, which live on in the map that replaces it (ila-stats.h).  Any
 * number of threads may look up.  Identifiers, locators and SIR prefixes are
 * 64-bit halves of addresses in host byte order. */

#include <stdbool.h>
#include <stddef.h>

#include "ila-mapping.h"
#include "xlat-hash.h"
#include "xlat-prefix.h"

struct ila_map {
    struct ila_mapping *mappings;
    size_t n;
    struct xlat_hash by_identifier;
    uint64_t *sirs;                  /* SIR prefixes. */
    size_t n_sirs;                   /* At least 1. */
    bool plain;                      /* One SIR prefix, and no mapping changes
                                      * an identifier. */
    unsigned int modes;              /* 1 << enum ila_csum_mode of those that
                                      * occur. */
    struct ila_stats *stats;         /* Shared with other maps. */
};

/* Compiles 'n' mappings and 'n_sirs' SIR prefixes, all the caller's.  'prev',
 * which may be null, is the map that the new one replaces; the counters of
 * each identifier go on.
 *
 * Returns 0, or a positive errno: EINVAL, with '*errorp' set to a sentence
 * that the caller frees (an identifier twice, a locator that is a SIR prefix,
 * two identifiers that look the same behind a checksum-neutral mapping), or
 * ENOMEM. */
int ila_map_create(const struct ila_mapping *, size_t n,
                   const uint64_t *sirs, size_t n_sirs,
                   const struct ila_map *prev,
                   struct ila_map **, char **errorp);
void ila_map_destroy(struct ila_map *);

/* Returns the mapping of 'identifier', or NULL. */
static inline const struct ila_mapping *ila_map_find(const struct ila_map *,
                                                     uint64_t identifier);

/* Returns whether 'prefix' is one of the SIR prefixes. */
bool ila_map_is_sir(const struct ila_map *, uint64_t prefix);

/* What a lookup by locator found. */
struct ila_back {
    const struct ila_mapping *mapping;
    uint64_t sir;                    /* SIR prefix to write. */
};

/* Finds the mapping whose packets have 'identifier' behind 'locator' on the
 * wire, where a checksum-neutral mapping may have changed the identifier.
 *
 * Among several SIR prefixes, the first is written, but of a checksum-neutral
 * mapping the one under which the identifier comes out right. */
bool ila_map_find_back(const struct ila_map *, uint64_t locator,
                       uint64_t identifier, struct ila_back *);

/* Finds the mappings of 'n' <= XLAT_BATCH destinations, SIR prefixes or
 * locators with identifiers, as ila_map_find() does (in a plain map; in others
 * it is a guess), fetching what all of them need side by side, down to the
 * counters of 'thread'.  Pays in a large map. */
void ila_map_find_batch(const struct ila_map *, unsigned int thread,
                        const struct xlat_ip6 *dsts, size_t n,
                        const struct ila_mapping **found);

/* Returns whether the map is so large that ila_map_find_batch() pays. */
bool ila_map_is_large(const struct ila_map *);

/* Inline for the packet path's sake. */

static inline bool
ila_map_equal(uint32_t number, const void *identifier, const void *mappings)
{
    return ((const struct ila_mapping *) mappings)[number].identifier
           == *(const uint64_t *) identifier;
}

static inline const struct ila_mapping *
ila_map_find(const struct ila_map *map, uint64_t identifier)
{
    uint32_t number = xlat_hash_find(&map->by_identifier,
                                     xlat_hash_1(&map->by_identifier,
                                                 identifier),
                                     ila_map_equal, &identifier,
                                     map->mappings);

    return number != XLAT_HASH_NONE ? &map->mappings[number] : NULL;
}

#endif /* ila-map.h */
