/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef ZONE_UTIL_H
#define ZONE_UTIL_H 1

/* Zones for unit tests, made of a few words. */

#include <stdint.h>

struct xlat_conf;
struct xlat_zone;

/* Makes a configuration of 'text': items separated by white space, each
 * "NAME=VALUE".  NAME is "zone", "kind", "pool6", "pool4", "eam" (VALUE:
 * PREFIX6,PREFIX4), "bib", "ila" (IDENTIFIER,LOCATOR[,CSUM_MODE[,IDENT_TYPE]])
 * or a key of other_config.  Returns NULL with '*errorp' set to the first
 * sentence of complaint, which the caller frees. */
struct xlat_conf *zone_conf(const char *text, char **errorp);

/* Makes a zone of 'text' in the place of 'prev', which may be null.  Fails the
 * test if it is refused. */
struct xlat_zone *zone_make(const char *text, const struct xlat_zone *prev);

/* Fails the test unless 'text' is refused, by the configuration or by the
 * zone, with a sentence that has 'words' in it. */
void zone_refuse(const char *text, const char *words);

/* A pseudorandom generator (splitmix64): a test prints its seed. */
struct rng {
    uint64_t state;
};
void rng_init(struct rng *, uint64_t seed);
uint64_t rng_next(struct rng *);
static inline uint32_t
rng_below(struct rng *rng, uint32_t n)
{
    return (rng_next(rng) >> 32) * n >> 32;
}

#endif /* zone-util.h */
