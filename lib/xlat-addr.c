/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "xlat-addr.h"

#include "xlat-addr-fast.h"
#include "xlat-private.h"
#include "xlat-special.h"
#include "xlat-zone-private.h"

/* What had the mapping of an address. */
struct found {
    const struct xlat_eam *eam;
    const struct xlat_6052 *pool6;
};

static void
put4(union pk_addr *addr, uint32_t ip)
{
    addr->u64[0] = addr->u64[1] = 0;
    addr->in4 = htobe32(ip);
}

/* Returns whether 'p' must not represent 'ip' although it could. */
static inline bool
is_banned(const struct xlat_zone *zone, const struct xlat_6052 *p,
          uint32_t ip)
{
    return p->global_only && !zone->set.wkp_non_global
           && xlat_ip4_is_non_global(ip);
}

static inline const struct xlat_6052 *
find_pool6(const struct xlat_addr_map *map, struct xlat_ip6 ip)
{
    for (size_t i = 0; i < map->n_pool6; i++) {
        if (xlat_prefix_contains(&map->pool6[i].prefix, ip)) {
            return &map->pool6[i];
        }
    }
    return NULL;
}

/* Finds the mapping of 'ip': the EAMT goes before pool6 (RFC 7757, 3.3), the
 * other order being used only where it makes no difference. */
static inline struct found
find_64(const struct xlat_addr_map *map, struct xlat_ip6 ip)
{
    struct found found = { NULL, NULL };

    if (map->pool6_first) {
        found.pool6 = find_pool6(map, ip);
        if (found.pool6) {
            return found;
        }
    }
    if (map->eamt) {
        found.eam = xlat_eamt_find6(map->eamt, ip);
    }
    if (!found.eam && !map->pool6_first) {
        found.pool6 = find_pool6(map, ip);
    }
    return found;
}

/* Translates 'ip' by what find_64() found. */
static inline enum xlat_drop
apply_64(const struct xlat_zone *zone, const struct found *found,
         struct xlat_ip6 ip, uint32_t *ip4)
{
    if (found->eam) {
        *ip4 = xlat_eam_6to4(found->eam, ip);
    } else if (found->pool6) {
        *ip4 = xlat_6052_extract(found->pool6, ip);
        if (is_banned(zone, found->pool6, *ip4)) {
            return XLAT_DROP_BAD_EMBEDDED;
        }
    } else {
        return XLAT_DROP_NO_MAPPING;
    }
    return xlat_ip4_is_unroutable(*ip4) ? XLAT_DROP_BAD_EMBEDDED : XLAT_OK;
}

static inline enum xlat_drop
translate_64(const struct xlat_zone *zone, struct xlat_ip6 ip, uint32_t *ip4,
             struct found *found)
{
    *found = find_64(&zone->addrs, ip);
    return apply_64(zone, found, ip, ip4);
}

static inline enum xlat_drop
translate_46(const struct xlat_zone *zone, uint32_t ip4, bool use_eamt,
             struct xlat_ip6 *ip, struct found *found)
{
    const struct xlat_addr_map *map = &zone->addrs;

    *found = (struct found) {
        .eam = map->eamt && use_eamt
               ? xlat_eamt_find4(map->eamt, ip4) : NULL,
    };
    if (found->eam) {
        *ip = xlat_eam_4to6(found->eam, ip4);
        return XLAT_OK;
    }
    if (!map->n_pool6) {
        return XLAT_DROP_NO_MAPPING;
    }
    found->pool6 = &map->pool6[0];
    if (is_banned(zone, found->pool6, ip4)) {
        return XLAT_DROP_BAD_EMBEDDED;
    }
    *ip = xlat_6052_embed(found->pool6, ip4);
    return XLAT_OK;
}

static inline bool
is_denied6(const struct xlat_zone *zone, struct xlat_ip6 ip)
{
    return zone->addrs.deny.n && xlat_deny_has6(&zone->addrs.deny, ip);
}

static inline bool
is_denied4(const struct xlat_zone *zone, uint32_t ip)
{
    return zone->addrs.deny.n && xlat_deny_has4(&zone->addrs.deny, ip);
}

/* Translates an IPv6 destination, after all checks. */
static inline enum xlat_drop
dst_64(const struct xlat_zone *zone, struct xlat_ip6 ip, uint32_t *ip4,
       struct found *found)
{
    if (xlat_ip6_is_unroutable(ip)) {
        return XLAT_DROP_NO_MAPPING;
    }
    if (is_denied6(zone, ip)) {
        return XLAT_DROP_DENIED;
    }
    enum xlat_drop drop = translate_64(zone, ip, ip4, found);
    return drop == XLAT_OK && is_denied4(zone, *ip4) ? XLAT_DROP_DENIED : drop;
}

/* Translates an IPv4 destination, after all checks; without 'use_eamt', by RFC
 * 6052 alone. */
static inline enum xlat_drop
dst_46(const struct xlat_zone *zone, uint32_t ip4, bool use_eamt,
       struct xlat_ip6 *ip, struct found *found)
{
    if (xlat_ip4_is_unroutable(ip4)) {
        return XLAT_DROP_NO_MAPPING;
    }
    if (is_denied4(zone, ip4)) {
        return XLAT_DROP_DENIED;
    }
    enum xlat_drop drop = translate_46(zone, ip4, use_eamt, ip, found);
    return drop == XLAT_OK && is_denied6(zone, *ip) ? XLAT_DROP_DENIED : drop;
}

static inline enum xlat_drop
src_64(const struct xlat_zone *zone, struct xlat_ip6 ip, uint32_t *ip4)
{
    struct found found;

    if (xlat_ip6_is_unroutable(ip)) {
        return XLAT_DROP_BAD_SOURCE;
    }
    return dst_64(zone, ip, ip4, &found);
}

static inline enum xlat_drop
src_46(const struct xlat_zone *zone, uint32_t ip4, bool use_eamt,
       struct xlat_ip6 *ip)
{
    struct found found;

    if (xlat_ip4_is_unroutable(ip4)) {
        return XLAT_DROP_BAD_SOURCE;
    }
    return dst_46(zone, ip4, use_eamt, ip, &found);
}

/* Returns whether an IPv4 address that came out of pool6 belongs to an IPv6
 * node behind this zone (RFC 7757, 4.2.2). */
static inline bool
is_behind(const struct xlat_zone *zone, const struct found *found,
          uint32_t ip4)
{
    return zone->set.hairpin == XLAT_HAIRPIN_INTRINSIC && found->pool6
           && zone->addrs.eamt && xlat_eamt_find4(zone->addrs.eamt, ip4);
}

/* Translates 'src4' and 'dst4', IPv4 addresses of a packet that is no ICMP
 * error, into 'a'. */
static enum xlat_drop
pair_46(const struct xlat_zone *zone, struct xlat_addr *a, uint32_t src4,
        uint32_t dst4, bool src_by_eamt)
{
    struct xlat_ip6 src, dst;
    struct found found;
    enum xlat_drop drop = dst_46(zone, dst4, true, &dst, &found);

    if (drop == XLAT_OK) {
        drop = src_46(zone, src4, src_by_eamt, &src);
    }
    if (drop == XLAT_OK) {
        a->to = 6;
        xlat_ip6_store(src, &a->src);
        xlat_ip6_store(dst, &a->dst);
    }
    return drop;
}

static enum xlat_drop
pair_64(const struct xlat_zone *zone, struct xlat_addr *a)
{
    uint32_t src4, dst4;
    struct found found;
    enum xlat_drop drop = dst_64(zone, xlat_ip6_load(a->ip + XLAT_DST6_OFS),
                                 &dst4, &found);

    if (drop == XLAT_OK) {
        drop = src_64(zone, xlat_ip6_load(a->ip + XLAT_SRC6_OFS), &src4);
    }
    if (drop != XLAT_OK) {
        return drop;
    }
    if (is_behind(zone, &found, dst4)) {
        return pair_46(zone, a, src4, dst4, false);
    }
    a->to = 4;
    put4(&a->src, src4);
    put4(&a->dst, dst4);
    return XLAT_OK;
}

/* Does the same as translation by the rules below, if the zone is fast and the
 * addresses are usual.  Returns false, and does nothing, if not. */
static inline bool
fast(const struct xlat_zone *zone, struct xlat_addr *a)
{
    if (!zone->addrs.fast) {
        return false;
    }
    if (a->from == 6) {
        uint32_t src, dst;

        if (!xlat_addr_fast_64(zone, a->ip, &src, &dst)) {
            return false;
        }
        a->to = 4;
        put4(&a->src, src);
        put4(&a->dst, dst);
    } else {
        struct xlat_ip6 src, dst;

        if (!xlat_addr_fast_46(zone, a->ip, &src, &dst)) {
            return false;
        }
        a->to = 6;
        xlat_ip6_store(src, &a->src);
        xlat_ip6_store(dst, &a->dst);
    }
    a->drop = XLAT_OK;
    return true;
}

/* The long way. */
static void __attribute__((noinline))
translate(const struct xlat_zone *zone, struct xlat_addr *a)
{
    if (a->from == 6) {
        a->drop = pair_64(zone, a);
    } else {
        a->drop = pair_46(zone, a, xlat_ip4_load(a->ip + XLAT_SRC4_OFS),
                          xlat_ip4_load(a->ip + XLAT_DST4_OFS),
                          zone->set.hairpin != XLAT_HAIRPIN_SIMPLE);
    }
}

void
xlat_addr_one(const struct xlat_zone *zone, struct xlat_addr *a)
{
    if (!fast(zone, a)) {
        translate(zone, a);
    }
}

/* Of an address that pool6 has, the EAMT is not asked. */
static inline bool
asks_eamt(const struct xlat_addr_map *map, struct xlat_ip6 ip)
{
    return !map->pool6_first || !find_pool6(map, ip);
}

typedef void prefetch6(const struct xlat_eamt *, struct xlat_ip6);
typedef void prefetch4(const struct xlat_eamt *, uint32_t);

static inline void
prefetch(const struct xlat_addr_map *map, const struct xlat_addr *addrs,
         size_t n, prefetch6 *stage6, prefetch4 *stage4)
{
    for (size_t i = 0; i < n; i++) {
        const struct xlat_addr *a = &addrs[i];

        if (!a->ip) {
            continue;
        } else if (a->from == 6) {
            struct xlat_ip6 src = xlat_ip6_load(a->ip + XLAT_SRC6_OFS);
            struct xlat_ip6 dst = xlat_ip6_load(a->ip + XLAT_DST6_OFS);

            if (asks_eamt(map, src)) {
                stage6(map->eamt, src);
            }
            if (asks_eamt(map, dst)) {
                stage6(map->eamt, dst);
            }
        } else {
            stage4(map->eamt, xlat_ip4_load(a->ip + XLAT_SRC4_OFS));
            stage4(map->eamt, xlat_ip4_load(a->ip + XLAT_DST4_OFS));
        }
    }
}

void
xlat_addr_batch(const struct xlat_zone *zone, struct xlat_addr *addrs,
                size_t n)
{
    if (zone->addrs.prefetch) {
        prefetch(&zone->addrs, addrs, n, xlat_eamt_prefetch_bucket6,
                 xlat_eamt_prefetch_bucket4);
        prefetch(&zone->addrs, addrs, n, xlat_eamt_prefetch_entry6,
                 xlat_eamt_prefetch_entry4);
    }
    for (size_t i = 0; i < n; i++) {
        if (addrs[i].ip) {
            xlat_addr_one(zone, &addrs[i]);
        }
    }
}

bool
xlat_addr_own_source(const struct xlat_zone *zone, uint64_t *rng,
                     uint8_t family, union pk_addr *source)
{
    const struct xlat_settings *set = &zone->set;
    const struct xlat_pool *pool4 = &zone->addrs.pool4;

    if (family == 6 && !IN6_IS_ADDR_UNSPECIFIED(&set->icmp_source6)) {
        source->in6 = set->icmp_source6;
    } else if (family == 4 && set->icmp_source4) {
        put4(source, be32toh(set->icmp_source4));
    } else if (family == 4 && pool4->n_addresses) {
        put4(source, xlat_pool_choose(pool4, xlat_rng_next(rng)));
    } else {
        return false;
    }
    return true;
}

/* The IPv4 source of an ICMP error from an IPv6 router at 'ip'. */
static enum xlat_drop
router_64(const struct xlat_zone *zone, uint64_t *rng, struct xlat_ip6 ip,
          uint32_t *ip4)
{
    const struct xlat_pool *pool4 = &zone->addrs.pool4;
    enum xlat_drop drop = src_64(zone, ip, ip4);

    if (drop == XLAT_OK || drop == XLAT_DROP_DENIED) {
        return drop;
    }
    if (pool4->n_addresses) {
        *ip4 = xlat_pool_choose(pool4, xlat_rng_next(rng));
        return XLAT_OK;
    }
    *ip4 = be32toh(zone->set.icmp_source4);
    return *ip4 ? XLAT_OK : XLAT_DROP_NO_MAPPING;
}

/* The IPv6 source of an ICMP error from an IPv4 router at 'ip4', which may be
 * any, but not one that the well-known prefix may not represent. */
static enum xlat_drop
router_46(const struct xlat_zone *zone, uint32_t ip4, bool use_eamt,
          struct xlat_ip6 *ip)
{
    struct found found;

    if (is_denied4(zone, ip4)) {
        return XLAT_DROP_DENIED;
    }
    enum xlat_drop drop = translate_46(zone, ip4, use_eamt, ip, &found);
    if (drop != XLAT_OK && !IN6_IS_ADDR_UNSPECIFIED(&zone->set.icmp_source6)) {
        *ip = xlat_ip6_load(&zone->set.icmp_source6);
        return XLAT_OK;
    }
    return drop == XLAT_OK && is_denied6(zone, *ip) ? XLAT_DROP_DENIED : drop;
}

static struct xlat_ip6
load6(const struct xlat_addr *addr, size_t ofs)
{
    return xlat_ip6_load(addr->ip + ofs);
}

/* The IPv4 addresses of an ICMP error: outer and inner, source and
 * destination.  The inner ones are valid if 'has_inner'. */
struct quad {
    uint32_t src;
    uint32_t dst;
    uint32_t inner_src;
    uint32_t inner_dst;
    bool has_inner;
};

/* Translates the IPv4 addresses of the packet inside an ICMP error.  Both get
 * the checks of destinations, as it went the other way. */
static enum xlat_drop
inner_46(const struct xlat_zone *zone, const struct quad *q, bool hairpin,
         struct xlat_addr *inner)
{
    struct xlat_ip6 src, dst;
    struct found found;
    enum xlat_drop drop = dst_46(zone, q->inner_src, true, &src, &found);

    if (drop == XLAT_OK) {
        drop = dst_46(zone, q->inner_dst, !hairpin, &dst,
                      &found);
    }
    if (drop == XLAT_OK) {
        inner->to = 6;
        xlat_ip6_store(src, &inner->src);
        xlat_ip6_store(dst, &inner->dst);
    }
    return drop;
}

/* 'hairpin': by the rules for hairpinned packets (RFC 7757, 4.2.1). */
static void
error_46(const struct xlat_zone *zone, const struct quad *q, bool hairpin,
         struct xlat_addr *outer, struct xlat_addr *inner)
{
    bool from_destination = q->has_inner && q->src == q->inner_dst;
    struct xlat_ip6 src, dst;
    struct found found;

    outer->drop = dst_46(zone, q->dst, true, &dst, &found);
    if (outer->drop == XLAT_OK) {
        outer->drop = router_46(zone, q->src, !(hairpin && from_destination),
                                &src);
    }
    if (outer->drop == XLAT_OK) {
        outer->to = 6;
        xlat_ip6_store(src, &outer->src);
        xlat_ip6_store(dst, &outer->dst);
    }
    if (q->has_inner) {
        inner->drop = inner_46(zone, q, hairpin, inner);
    }
}

static void
error_64(const struct xlat_zone *zone, uint64_t *rng, struct xlat_addr *outer,
         struct xlat_addr *inner)
{
    struct quad q = { .has_inner = false };
    struct found found;
    bool hairpin = false;

    outer->drop = dst_64(zone, load6(outer, XLAT_DST6_OFS), &q.dst,
                         &found);
    if (outer->drop == XLAT_OK) {
        outer->drop = router_64(zone, rng, load6(outer, XLAT_SRC6_OFS),
                                &q.src);
    }
    if (inner) {
        inner->drop = dst_64(zone, load6(inner, XLAT_DST6_OFS),
                             &q.inner_dst, &found);
        if (inner->drop == XLAT_OK) {
            inner->drop = dst_64(zone, load6(inner, XLAT_SRC6_OFS),
                                 &q.inner_src, &found);
        }
        q.has_inner = inner->drop == XLAT_OK;
        hairpin = q.has_inner && is_behind(zone, &found, q.inner_src);
    }
    if (outer->drop == XLAT_OK && hairpin) {
        error_46(zone, &q, true, outer, inner);
        return;
    }
    outer->to = 4;
    put4(&outer->src, q.src);
    put4(&outer->dst, q.dst);
    if (q.has_inner) {
        inner->to = 4;
        put4(&inner->src, q.inner_src);
        put4(&inner->dst, q.inner_dst);
    }
}

void
xlat_addr_error(const struct xlat_zone *zone, uint64_t *rng,
                struct xlat_addr *outer, struct xlat_addr *inner)
{
    if (outer->from == 6) {
        error_64(zone, rng, outer, inner);
    } else {
        struct quad q = {
            .src = xlat_ip4_load(outer->ip + XLAT_SRC4_OFS),
            .dst = xlat_ip4_load(outer->ip + XLAT_DST4_OFS),
            .inner_src = inner ? xlat_ip4_load(inner->ip + XLAT_SRC4_OFS) : 0,
            .inner_dst = inner ? xlat_ip4_load(inner->ip + XLAT_DST4_OFS) : 0,
            .has_inner = inner != NULL,
        };

        error_46(zone, &q, zone->set.hairpin == XLAT_HAIRPIN_SIMPLE, outer,
                 inner);
    }
}

static void
describe(const struct found *found, struct xlat_via *via)
{
    *via = (struct xlat_via) { .kind = XLAT_VIA_NONE };
    if (found->eam) {
        via->kind = XLAT_VIA_EAMT;
        via->prefix6 = xlat_eam_prefix6(found->eam);
        via->prefix4 = xlat_eam_prefix4(found->eam);
    } else if (found->pool6) {
        via->kind = XLAT_VIA_6052;
        via->prefix6 = found->pool6->prefix;
    }
}

enum xlat_drop
xlat_addr_64(const struct xlat_zone *zone, const struct in6_addr *ip,
             pk_be32 *ip4, struct xlat_via *via)
{
    struct found found = { NULL, NULL };
    uint32_t result = 0;
    enum xlat_drop drop = dst_64(zone, xlat_ip6_load(ip), &result, &found);

    *ip4 = htobe32(result);
    describe(&found, via);
    return drop;
}

enum xlat_drop
xlat_addr_46(const struct xlat_zone *zone, pk_be32 ip4, struct in6_addr *ip,
             struct xlat_via *via)
{
    struct found found = { NULL, NULL };
    struct xlat_ip6 result = { 0, 0 };
    enum xlat_drop drop = dst_46(zone, be32toh(ip4), true, &result,
                                 &found);

    xlat_ip6_store(result, ip);
    describe(&found, via);
    return drop;
}
