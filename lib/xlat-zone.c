/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "xlat-zone.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ila-map.h"
#include "ila-stats.h"
#include "nat64-zone.h"
#include "xlat-conf-private.h"
#include "xlat-special.h"
#include "xlat-text.h"
#include "xlat-zone-private.h"

static int compile_siit(struct xlat_zone *, const struct xlat_conf *,
                        char **errorp);
static int compile_nat64(struct xlat_zone *, const struct xlat_conf *,
                         const struct xlat_zone *prev, char **errorp);
static int compile_ila(struct xlat_zone *, const struct xlat_conf *,
                       const struct xlat_zone *prev, char **errorp);

static int
compile(struct xlat_zone *zone, const struct xlat_conf *conf,
        const struct xlat_zone *prev, char **errorp)
{
    zone->number = conf->number;
    zone->kind = conf->kind;
    zone->set = conf->set;
    if (zone->set.lowest_ipv6_mtu > zone->set.mtu6) {
        zone->set.lowest_ipv6_mtu = zone->set.mtu6;
    }
    xlat_pool_init(&zone->addrs.pool4);
    xlat_deny_init(&zone->addrs.deny);

    zone->log_to = strdup(conf->log_to ? conf->log_to : "syslog");
    if (!zone->log_to) {
        return ENOMEM;
    }
    zone->stats = prev ? xlat_stats_ref(prev->stats) : xlat_stats_create();
    if (!zone->stats) {
        return ENOMEM;
    }
    switch (zone->kind) {
    case XLAT_KIND_SIIT:
        return compile_siit(zone, conf, errorp);
    case XLAT_KIND_NAT64:
    case XLAT_KIND_NAT44:
        return compile_nat64(zone, conf, prev, errorp);
    case XLAT_KIND_ILA:
    default:
        return compile_ila(zone, conf, prev, errorp);
    }
}

int
xlat_zone_create(const struct xlat_conf *conf, const struct xlat_zone *prev,
                 struct xlat_zone **zonep, char **errorp)
{
    struct xlat_zone *zone = calloc(1, sizeof *zone);

    *zonep = NULL;
    *errorp = NULL;
    int error = zone ? compile(zone, conf, prev, errorp) : ENOMEM;
    if (error) {
        xlat_zone_destroy(zone);
        if (!*errorp) {
            *errorp = xlat_error("out of memory");
        }
        return error;
    }
    *zonep = zone;
    return 0;
}

void
xlat_zone_destroy(struct xlat_zone *zone)
{
    if (zone) {
        free(zone->addrs.pool6);
        xlat_eamt_destroy(zone->addrs.eamt);
        xlat_pool_destroy(&zone->addrs.pool4);
        xlat_deny_destroy(&zone->addrs.deny);
        ila_map_destroy(zone->ila);
        nat64_view_destroy(zone);
        xlat_stats_unref(zone->stats);
        free(zone->log_to);
        free(zone);
    }
}

enum xlat_kind
xlat_zone_kind(const struct xlat_zone *zone)
{
    return zone->kind;
}

uint32_t
xlat_zone_number(const struct xlat_zone *zone)
{
    return zone->number;
}

bool
xlat_zone_is_stateful(const struct xlat_zone *zone)
{
    return zone->stateful != NULL;
}

const char *
xlat_zone_log_to(const struct xlat_zone *zone)
{
    return zone->stateful && zone->set.log != XLAT_LOG_NONE ? zone->log_to
                                                            : NULL;
}

uint32_t
xlat_zone_log_rate(const struct xlat_zone *zone)
{
    return zone->set.log_rate;
}

void
xlat_zone_get_counters(const struct xlat_zone *zone, struct xlat_counters *c)
{
    xlat_stats_get(zone->stats, c);
}

size_t
xlat_zone_n_eams(const struct xlat_zone *zone)
{
    return zone->addrs.eamt ? xlat_eamt_count(zone->addrs.eamt) : 0;
}

size_t
xlat_zone_n_mappings(const struct xlat_zone *zone)
{
    return zone->ila ? zone->ila->n : 0;
}

void
xlat_zone_for_each_eam(const struct xlat_zone *zone,
                       void (*cb)(const char *prefix6, const char *prefix4,
                                  void *aux), void *aux)
{
    for (size_t i = 0; i < xlat_zone_n_eams(zone); i++) {
        const struct xlat_eam *eam = xlat_eamt_get(zone->addrs.eamt, i);
        struct xlat_prefix prefix6 = xlat_eam_prefix6(eam);
        struct xlat_prefix prefix4 = xlat_eam_prefix4(eam);
        char text6[XLAT_PREFIX_TEXT_SIZE], text4[XLAT_PREFIX_TEXT_SIZE];

        xlat_prefix_format(&prefix6, text6);
        xlat_prefix_format(&prefix4, text4);
        cb(text6, text4, aux);
    }
}

static void
get_info(const struct xlat_zone *zone, const struct ila_mapping *m,
         struct xlat_mapping_info *info)
{
    struct ila_counters counters;

    ila_stats_get(zone->ila->stats, m->slot, &counters);
    *info = (struct xlat_mapping_info) {
        .identifier = m->identifier,
        .locator = m->locator,
        .csum_mode = ila_csum_mode_name(m->csum_mode),
        .ident_type = ila_ident_type_name(m->ident_type),
    };
    for (int dir = 0; dir < 2; dir++) {
        info->packets[dir] = counters.packets[dir];
        info->bytes[dir] = counters.bytes[dir];
    }
}

void
xlat_zone_for_each_mapping(const struct xlat_zone *zone,
                           void (*cb)(const struct xlat_mapping_info *,
                                      void *aux), void *aux)
{
    for (size_t i = 0; i < xlat_zone_n_mappings(zone); i++) {
        struct xlat_mapping_info info;

        get_info(zone, &zone->ila->mappings[i], &info);
        cb(&info, aux);
    }
}

bool
xlat_zone_find_mapping(const struct xlat_zone *zone, uint64_t identifier,
                       struct xlat_mapping_info *info)
{
    const struct ila_mapping *m = zone->ila
                                  ? ila_map_find(zone->ila, identifier) : NULL;

    if (m) {
        get_info(zone, m, info);
    }
    return m != NULL;
}

static int
invalid(char **errorp, char *error)
{
    *errorp = error;
    return error ? EINVAL : 0;
}

/* Returns a sentence if two prefixes of pool6 overlap. */
static char *
check_pool6(const struct xlat_conf *conf)
{
    for (size_t i = 0; i < conf->n_pool6; i++) {
        for (size_t j = 0; j < i; j++) {
            if (xlat_prefix_overlaps(&conf->pool6[i], &conf->pool6[j])) {
                char text_i[XLAT_PREFIX_TEXT_SIZE];
                char text_j[XLAT_PREFIX_TEXT_SIZE];

                xlat_prefix_format(&conf->pool6[i], text_i);
                xlat_prefix_format(&conf->pool6[j], text_j);
                return xlat_error("pool6 %s overlaps %s", text_i, text_j);
            }
        }
    }
    return NULL;
}

/* Returns a sentence if 'conf' has what a siit zone cannot have. */
static char *
check_siit(const struct xlat_conf *conf)
{
    if (conf->n_mappings || conf->mapping_file) {
        return xlat_error("a siit zone has no ILA mappings");
    }
    if (conf->n_bibs) {
        return xlat_error("a siit zone has no bindings");
    }
    for (size_t i = 0; i < conf->n_pool4; i++) {
        if (conf->pool4[i].has_ports) {
            return xlat_error("pool4 of a siit zone has no ports: its "
                              "addresses stand for IPv6 routers (RFC 6791)");
        }
    }
    return check_pool6(conf);
}

static int
compile_pool6(struct xlat_addr_map *map, const struct xlat_conf *conf,
              char **errorp)
{
    map->pool6 = calloc(conf->n_pool6 + 1, sizeof *map->pool6);
    if (!map->pool6) {
        return ENOMEM;
    }
    for (size_t i = 0; i < conf->n_pool6; i++) {
        *errorp = xlat_6052_init(&map->pool6[i], &conf->pool6[i]);
        if (*errorp) {
            return EINVAL;
        }
        map->n_pool6++;
    }
    return 0;
}

static int
compile_pool4(struct xlat_addr_map *map, const struct xlat_conf *conf,
              char **errorp)
{
    for (size_t i = 0; i < conf->n_pool4; i++) {
        *errorp = xlat_pool_add(&map->pool4, &conf->pool4[i].prefix);
        if (*errorp) {
            return EINVAL;
        }
    }
    return 0;
}

/* Looks how the EAMT lies to pool6.  An entry inside a pool6 prefix is an
 * exception to it; one around it would leave nothing of it. */
static char *
compare_with_pool6(struct xlat_addr_map *map, const struct xlat_conf *conf)
{
    map->pool6_first = true;
    for (size_t i = 0; i < conf->n_eams * map->n_pool6; i++) {
        struct xlat_prefix prefix = xlat_eam_prefix6(
            &conf->eams[i / map->n_pool6]);
        const struct xlat_prefix *pool6
            = &map->pool6[i % map->n_pool6].prefix;

        if (xlat_prefix_overlaps(&prefix, pool6)) {
            map->pool6_first = false;
            if (prefix.len <= pool6->len) {
                char text[XLAT_PREFIX_TEXT_SIZE];
                char pool6_text[XLAT_PREFIX_TEXT_SIZE];

                xlat_prefix_format(&prefix, text);
                xlat_prefix_format(pool6, pool6_text);
                return xlat_error("address mapping of %s leaves nothing of "
                                  "pool6 %s", text, pool6_text);
            }
        }
    }
    return NULL;
}

static int
compile_eamt(struct xlat_addr_map *map, const struct xlat_conf *conf,
             char **errorp)
{
    *errorp = compare_with_pool6(map, conf);
    if (*errorp) {
        return EINVAL;
    }
    if (!conf->n_eams) {
        return 0;
    }
    int error = xlat_eamt_create(conf->eams, conf->n_eams,
                                 conf->set.refuse_nested_eams, &map->eamt,
                                 errorp);
    if (!error) {
        map->prefetch = xlat_eamt_is_large(map->eamt);
    }
    return error;
}

/* Returns whether xlat-addr.c may take its short way: see 'fast' in struct
 * xlat_addr_map. */
static bool
is_fast(const struct xlat_zone *zone, const struct xlat_conf *conf)
{
    const struct xlat_addr_map *map = &zone->addrs;

    if (map->n_pool6 != 1 || map->pool6[0].prefix.len != 96
        || (map->pool6[0].global_only && !zone->set.wkp_non_global)
        || !map->pool6_first || conf->deny.n
        || zone->set.hairpin == XLAT_HAIRPIN_INTRINSIC) {
        return false;
    }
    for (size_t i = 0; i < conf->n_eams; i++) {
        struct xlat_prefix prefix6 = xlat_eam_prefix6(&conf->eams[i]);
        struct xlat_prefix prefix4 = xlat_eam_prefix4(&conf->eams[i]);

        if (xlat_prefix_has_unroutable(&prefix6)
            || xlat_prefix_has_unroutable(&prefix4)) {
            return false;
        }
    }
    return true;
}

static int
compile_siit(struct xlat_zone *zone, const struct xlat_conf *conf,
             char **errorp)
{
    struct xlat_addr_map *map = &zone->addrs;
    int error = invalid(errorp, check_siit(conf));

    if (!error) {
        error = compile_pool6(map, conf, errorp);
    }
    if (!error) {
        error = compile_pool4(map, conf, errorp);
    }
    if (!error) {
        error = compile_eamt(map, conf, errorp);
    }
    if (!error) {
        map->fast = is_fast(zone, conf);
        error = xlat_deny_copy(&map->deny, &conf->deny);
    }
    return error;
}

static int
compile_nat64(struct xlat_zone *zone, const struct xlat_conf *conf,
              const struct xlat_zone *prev, char **errorp)
{
    int error = invalid(errorp, check_pool6(conf));

    if (!error) {
        error = compile_pool6(&zone->addrs, conf, errorp);
    }
    if (!error) {
        zone->addrs.pool6_first = true;
        zone->addrs.fast = (zone->kind == XLAT_KIND_NAT44
                            || (zone->addrs.n_pool6 == 1
                                && zone->addrs.pool6[0].prefix.len == 96));
        error = xlat_deny_copy(&zone->addrs.deny, &conf->deny);
    }
    return error ? error : nat64_compile(zone, conf, prev, errorp);
}

/* Returns a sentence if 'conf' has what an ila zone cannot have. */
static char *
check_ila(const struct xlat_conf *conf)
{
    if (conf->n_eams || conf->eamt_file) {
        return xlat_error("an ila zone has no explicit address mappings");
    }
    if (conf->n_pool4) {
        return xlat_error("an ila zone has no pool4");
    }
    if (conf->n_bibs) {
        return xlat_error("an ila zone has no bindings");
    }
    if (!conf->n_pool6) {
        return xlat_error("an ila zone needs a SIR prefix in pool6");
    }
    for (size_t i = 0; i < conf->n_pool6; i++) {
        if (conf->pool6[i].len != 64) {
            char text[XLAT_PREFIX_TEXT_SIZE];

            xlat_prefix_format(&conf->pool6[i], text);
            return xlat_error("pool6 %s is not a SIR prefix, which has 64 "
                              "bits", text);
        }
        if (xlat_prefix_has_unroutable(&conf->pool6[i])) {
            char text[XLAT_PREFIX_TEXT_SIZE];

            xlat_prefix_format(&conf->pool6[i], text);
            return xlat_error("pool6 %s has special addresses", text);
        }
    }
    return check_pool6(conf);
}

static int
compile_ila(struct xlat_zone *zone, const struct xlat_conf *conf,
            const struct xlat_zone *prev, char **errorp)
{
    int error = invalid(errorp, check_ila(conf));

    if (error) {
        return error;
    }
    uint64_t *sirs = calloc(conf->n_pool6, sizeof *sirs);
    if (!sirs) {
        return ENOMEM;
    }
    for (size_t i = 0; i < conf->n_pool6; i++) {
        sirs[i] = conf->pool6[i].ip.hi;
    }
    error = ila_map_create(conf->mappings, conf->n_mappings, sirs,
                           conf->n_pool6, prev ? prev->ila : NULL, &zone->ila,
                           errorp);
    free(sirs);
    return error;
}
