/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "ila-map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ila-csum.h"
#include "ila-stats.h"
#include "xlat-prefix.h"
#include "xlat-special.h"
#include "xlat-text.h"

/* Above this, waiting for memory costs more than going in stages. */
#define LARGE 4096

/* Any value will do: the keys are the operator's. */
#define SEED UINT64_C(0xbb67ae8584caa73b)

#define MODE(NAME) (1u << ILA_CSUM_##NAME)

bool
ila_map_is_sir(const struct ila_map *map, uint64_t prefix)
{
    for (size_t i = 0; i < map->n_sirs; i++) {
        if (map->sirs[i] == prefix) {
            return true;
        }
    }
    return false;
}

/* Looks whether 'identifier' is at 'locator' by one of 'modes'. */
static bool
find_at(const struct ila_map *map, uint64_t locator, uint64_t identifier,
        unsigned int modes, uint64_t sir, struct ila_back *back)
{
    const struct ila_mapping *m = ila_map_find(map, identifier);

    if (!m || m->locator != locator || !(modes & 1u << m->csum_mode)) {
        return false;
    }
    back->mapping = m;
    back->sir = sir;
    return true;
}

/* Looks for a checksum-neutral mapping, under each SIR prefix. */
static bool
find_neutral(const struct ila_map *map, uint64_t locator, uint64_t wire,
             enum ila_csum_mode mode, struct ila_back *back)
{
    for (size_t i = 0; i < map->n_sirs; i++) {
        uint64_t sir = map->sirs[i];
        uint64_t identifier = ila_csum_neutral_to_identifier(
            wire, sir, locator, mode == ILA_CSUM_NEUTRAL_MAP);

        if (find_at(map, locator, identifier, 1u << mode, sir, back)) {
            return true;
        }
        if ((identifier & 0xffff) == 0xffff
            && find_at(map, locator, identifier & ~UINT64_C(0xffff),
                       1u << mode, sir, back)) {
            return true;
        }
    }
    return false;
}

bool
ila_map_find_back(const struct ila_map *map, uint64_t locator,
                  uint64_t identifier, struct ila_back *back)
{
    bool c_bit = identifier & ILA_C_BIT;
    unsigned int as_it_is = MODE(ADJ_TRANSPORT) | MODE(NO_ACTION);

    if (c_bit && map->modes & MODE(NEUTRAL_MAP)
        && find_neutral(map, locator, identifier, ILA_CSUM_NEUTRAL_MAP,
                        back)) {
        return true;
    }
    if (map->modes & MODE(NEUTRAL_MAP_AUTO)
        && find_neutral(map, locator, identifier, ILA_CSUM_NEUTRAL_MAP_AUTO,
                        back)) {
        return true;
    }
    /* A clear C bit means that nothing was done to the identifier. */
    if (!c_bit) {
        as_it_is |= MODE(NEUTRAL_MAP);
    }
    return map->modes & as_it_is
           && find_at(map, locator, identifier, as_it_is, map->sirs[0], back);
}

/* Returns the identifier by which a lookup most likely succeeds. */
static uint64_t
likely_identifier(const struct ila_map *map, uint64_t prefix,
                  uint64_t identifier)
{
    bool c_bit = identifier & ILA_C_BIT && map->modes & MODE(NEUTRAL_MAP);

    if (!(map->modes & (MODE(NEUTRAL_MAP) | MODE(NEUTRAL_MAP_AUTO)))
        || (!c_bit && !(map->modes & MODE(NEUTRAL_MAP_AUTO)))
        || ila_map_is_sir(map, prefix)) {
        return identifier;
    }
    return ila_csum_neutral_to_identifier(identifier, map->sirs[0], prefix,
                                          c_bit);
}

void
ila_map_find_batch(const struct ila_map *map, unsigned int thread,
                   const struct xlat_ip6 *dsts, size_t n,
                   const struct ila_mapping **found)
{
    const struct xlat_hash *h = &map->by_identifier;
    uint64_t identifiers[XLAT_BATCH], hashes[XLAT_BATCH];

    for (size_t i = 0; i < n; i++) {
        identifiers[i] = likely_identifier(map, dsts[i].hi, dsts[i].lo);
        hashes[i] = xlat_hash_1(h, identifiers[i]);
        xlat_hash_prefetch(h, hashes[i]);
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t number = xlat_hash_guess(h, hashes[i]);

        found[i] = number != XLAT_HASH_NONE ? &map->mappings[number] : NULL;
        __builtin_prefetch(found[i]);
    }
    for (size_t i = 0; i < n; i++) {
        if (found[i] && found[i]->identifier != identifiers[i]) {
            found[i] = ila_map_find(map, identifiers[i]);
        }
        if (found[i]) {
            __builtin_prefetch(ila_stats_counters(map->stats, thread,
                                                  found[i]->slot), 1);
        }
    }
}

bool
ila_map_is_large(const struct ila_map *map)
{
    return map->n > LARGE;
}

/* Names 'm' for an error. */
static void
describe(const struct ila_mapping *m, char *s, size_t size)
{
    char text[XLAT_ID64_TEXT_SIZE];
    char line[32] = "";

    xlat_id64_format(m->identifier, text);
    if (m->line) {
        snprintf(line, sizeof line, " (line %u)", (unsigned) m->line);
    }
    snprintf(s, size, "%s%s", text, line);
}

static char *
conflict(const struct ila_mapping *a, const struct ila_mapping *b,
         const char *how)
{
    char text_a[64], text_b[64];

    describe(a, text_a, sizeof text_a);
    describe(b, text_b, sizeof text_b);
    return xlat_error("mappings of identifiers %s and %s %s", text_a, text_b,
                      how);
}

/* Returns a sentence if 'm' cannot be in 'map' beside those that are there
 * already. */
static char *
check(const struct ila_map *map, const struct ila_mapping *m)
{
    const struct ila_mapping *twin = ila_map_find(map, m->identifier);

    if (twin) {
        return conflict(twin, m, "are the same");
    }
    if (ila_map_is_sir(map, m->locator)) {
        char text[64];

        describe(m, text, sizeof text);
        return xlat_error("mapping of identifier %s has a SIR prefix of the "
                          "zone as locator", text);
    }
    if (xlat_ip6_is_unroutable((struct xlat_ip6) { m->locator, 0 })) {
        char text[64];

        describe(m, text, sizeof text);
        return xlat_error("mapping of identifier %s has a locator with "
                          "special addresses", text);
    }
    return NULL;
}

/* Returns the identifier of 'm' as it is on the wire in the place of 'sir'. */
static uint64_t
wire_identifier(const struct ila_mapping *m, uint64_t sir)
{
    bool c_bit = m->csum_mode == ILA_CSUM_NEUTRAL_MAP;

    return c_bit || m->csum_mode == ILA_CSUM_NEUTRAL_MAP_AUTO
           ? ila_csum_neutral_to_locator(m->identifier, sir, m->locator, c_bit)
           : m->identifier;
}

/* Returns whether all packets of 'm' are dropped. */
static bool
is_never_used(const struct ila_mapping *m)
{
    return m->csum_mode == ILA_CSUM_NEUTRAL_MAP && m->identifier & ILA_C_BIT;
}

/* Returns a sentence if what one mapping makes of an identifier is what
 * another makes of its own, so that the way back is not known: lower 16 bits
 * of 0x0000 and 0xffff look the same behind a checksum-neutral mapping, among
 * others. */
static char *
check_ways_back(const struct ila_map *map)
{
    if (!(map->modes & (MODE(NEUTRAL_MAP) | MODE(NEUTRAL_MAP_AUTO)))) {
        return NULL;
    }
    for (size_t i = 0; i < map->n; i++) {
        const struct ila_mapping *m = &map->mappings[i];

        for (size_t k = 0; k < map->n_sirs && !is_never_used(m); k++) {
            struct ila_back back;

            if (ila_map_find_back(map, m->locator,
                                  wire_identifier(m, map->sirs[k]), &back)
                && back.mapping != m) {
                return conflict(back.mapping, m, "look the same behind a "
                                "checksum-neutral mapping to one locator");
            }
        }
    }
    return NULL;
}

/* Finds counters for mapping 'i': those that the identifier has in 'prev', or
 * new ones. */
static int
set_counters(struct ila_map *map, size_t i, const struct ila_map *prev)
{
    struct ila_mapping *m = &map->mappings[i];
    const struct ila_mapping *old = prev ? ila_map_find(prev, m->identifier)
                                         : NULL;

    if (old) {
        m->slot = old->slot;
        ila_stats_share(map->stats, m->slot);
        return 0;
    }
    return ila_stats_take(map->stats, &m->slot);
}

/* Adds the 'n' mappings of 'mappings' to 'map', which has room for them. */
static int
fill(struct ila_map *map, const struct ila_mapping *mappings, size_t n,
     const struct ila_map *prev, char **errorp)
{
    for (size_t i = 0; i < n; i++) {
        const struct ila_mapping *m = &mappings[i];

        *errorp = check(map, m);
        if (*errorp) {
            return EINVAL;
        }
        map->mappings[i] = *m;
        map->mappings[i].delta = ila_csum_delta(map->sirs[0], m->locator);
        if (set_counters(map, i, prev)) {
            return ENOMEM;
        }
        /* From here on ila_map_destroy() releases its counters. */
        map->n++;
        map->modes |= 1u << m->csum_mode;
        xlat_hash_insert(&map->by_identifier,
                         xlat_hash_1(&map->by_identifier, m->identifier), i);
    }
    map->plain = map->n_sirs == 1
                 && !(map->modes & (MODE(NEUTRAL_MAP)
                                    | MODE(NEUTRAL_MAP_AUTO)));
    *errorp = check_ways_back(map);
    return *errorp ? EINVAL : 0;
}

static int
init(struct ila_map *map, size_t n, const uint64_t *sirs, size_t n_sirs,
     const struct ila_map *prev)
{
    map->mappings = xlat_big_alloc(n * sizeof *map->mappings);
    map->sirs = calloc(n_sirs, sizeof *sirs);
    map->stats = prev ? ila_stats_ref(prev->stats) : ila_stats_create();
    if (!map->mappings || !map->sirs || !map->stats) {
        return ENOMEM;
    }
    memcpy(map->sirs, sirs, n_sirs * sizeof *sirs);
    map->n_sirs = n_sirs;
    return xlat_hash_init(&map->by_identifier, n, SEED);
}

int
ila_map_create(const struct ila_mapping *mappings, size_t n,
               const uint64_t *sirs, size_t n_sirs,
               const struct ila_map *prev,
               struct ila_map **mapp, char **errorp)
{
    struct ila_map *map = calloc(1, sizeof *map);
    int error = map ? init(map, n, sirs, n_sirs, prev) : ENOMEM;

    *mapp = NULL;
    *errorp = NULL;
    if (!error) {
        error = fill(map, mappings, n, prev, errorp);
    }
    if (error) {
        ila_map_destroy(map);
        return error;
    }
    *mapp = map;
    return 0;
}

void
ila_map_destroy(struct ila_map *map)
{
    if (map) {
        for (size_t i = 0; i < map->n; i++) {
            ila_stats_release(map->stats, map->mappings[i].slot);
        }
        ila_stats_unref(map->stats);
        xlat_hash_destroy(&map->by_identifier);
        free(map->mappings);
        free(map->sirs);
        free(map);
    }
}
