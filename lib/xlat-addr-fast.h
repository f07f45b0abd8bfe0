/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_ADDR_FAST_H
#define XLAT_ADDR_FAST_H 1

/* Translation of usual addresses in a zone whose address map is 'fast'
 * (xlat-addr-map.h): what xlat-addr.c does with them, and nothing to decide.
 * Private to xlat-addr.c and xlat-run.c. */

#include "xlat-special.h"
#include "xlat-zone-private.h"

/* Where the addresses stand in the headers. */
enum {
    XLAT_SRC4_OFS = 12,
    XLAT_DST4_OFS = 16,
    XLAT_SRC6_OFS = 8,
    XLAT_DST6_OFS = 24,
};

static inline bool
xlat_addr_fast_6to4(const struct xlat_addr_map *map, struct xlat_ip6 ip,
                    uint32_t *ip4)
{
    const struct xlat_ip6 *pool6 = &map->pool6[0].prefix.ip;

    if (!((ip.hi ^ pool6->hi) | (ip.lo ^ pool6->lo) >> 32)) {
        *ip4 = ip.lo;
        return !xlat_ip4_is_unroutable(*ip4);
    }
    const struct xlat_eam *eam = map->eamt ? xlat_eamt_find6(map->eamt, ip)
                                           : NULL;
    if (!eam) {
        return false;
    }
    *ip4 = xlat_eam_6to4(eam, ip);
    return true;
}

static inline struct xlat_ip6
xlat_addr_fast_4to6(const struct xlat_addr_map *map, uint32_t ip4,
                    bool use_eamt)
{
    const struct xlat_eam *eam = use_eamt ? xlat_eamt_find4(map->eamt, ip4)
                                          : NULL;
    struct xlat_ip6 ip = map->pool6[0].prefix.ip;

    ip.lo |= ip4;
    return eam ? xlat_eam_4to6(eam, ip4) : ip;
}

/* Translates the addresses of the IPv6 header at 'ip'.  Returns false if they
 * need a closer look. */
static inline bool
xlat_addr_fast_64(const struct xlat_zone *zone, const uint8_t *ip,
                  uint32_t *src, uint32_t *dst)
{
    const struct xlat_addr_map *map = &zone->addrs;

    return (xlat_addr_fast_6to4(map, xlat_ip6_load(ip + XLAT_DST6_OFS), dst)
            && xlat_addr_fast_6to4(map, xlat_ip6_load(ip + XLAT_SRC6_OFS),
                                   src));
}

/* Likewise for the IPv4 header at 'ip'. */
static inline bool
xlat_addr_fast_46(const struct xlat_zone *zone, const uint8_t *ip,
                  struct xlat_ip6 *src, struct xlat_ip6 *dst)
{
    const struct xlat_addr_map *map = &zone->addrs;
    uint32_t src4 = xlat_ip4_load(ip + XLAT_SRC4_OFS);
    uint32_t dst4 = xlat_ip4_load(ip + XLAT_DST4_OFS);

    if (xlat_ip4_is_unroutable(src4) || xlat_ip4_is_unroutable(dst4)) {
        return false;
    }
    *src = xlat_addr_fast_4to6(map, src4, map->eamt && zone->set.hairpin
                                          != XLAT_HAIRPIN_SIMPLE);
    *dst = xlat_addr_fast_4to6(map, dst4, map->eamt);
    return true;
}

#endif /* xlat-addr-fast.h */
