/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* IPv4 to IPv6: which packets go on, and in which size (RFC 7915, 4). */

#include "xlat-private.h"

#define HDR_GROWTH (PK_IP6_HDR_BYTES - PK_IP4_HDR_BYTES)

static enum xlat_drop fit(struct xlat_way *, const struct xlat_rewrite *);
static enum xlat_drop fit_gso(struct xlat_way *, uint32_t hdr_bytes,
                              uint32_t limit);

enum xlat_drop
xlat_46_prepare(struct xlat_way *way, const struct xlat_rewrite *rw)
{
    enum xlat_drop drop = xlat_46_prepare_ttl(way);

    if (drop == XLAT_OK) {
        drop = xlat_l4_prepare(way);
    }
    return drop == XLAT_OK ? fit(way, rw) : drop;
}

enum xlat_drop
xlat_46_prepare_ttl(struct xlat_way *way)
{
    if (way->info.ttl <= 1) {
        return XLAT_DROP_TTL;
    } else if (way->info.source_route) {
        return XLAT_DROP_SOURCE_ROUTE;
    } else {
        return XLAT_OK;
    }
}

/* Sees to it that the result fits: refuses what must not be fragmented, and
 * has everything else fragmented so that it passes any IPv6 path, since there
 * nobody else will do it (RFC 7915, 4). */
static enum xlat_drop
fit(struct xlat_way *way, const struct xlat_rewrite *rw)
{
    const struct xlat_settings *set = &way->zone->set;
    const struct pk_info *info = &way->info;
    struct pk *pk = &way->job->pk;
    uint32_t hdr_bytes = xlat_rewrite_hdr_bytes(rw, info);
    uint32_t frag_max = (set->lowest_ipv6_mtu < set->mtu6
                         ? set->lowest_ipv6_mtu : set->mtu6);
    uint32_t limit = info->dont_frag ? set->mtu6 : frag_max;

    if (pk->gso_size) {
        return fit_gso(way, hdr_bytes, limit);
    } else if (hdr_bytes + pk_l4_bytes(info) <= limit) {
        return XLAT_OK;
    } else if (info->dont_frag) {
        way->param = (set->mtu6 - HDR_GROWTH
                      - (info->is_frag ? PK_FRAG_HDR_BYTES : 0));
        return XLAT_DROP_TOO_BIG;
    }
    pk->frag_mtu = limit;
    pk->frag_id = info->frag_id;
    xlat_l4_complete_csum(pk, info);
    return XLAT_OK;
}

/* A GSO packet of TCP gets segments that fit, whatever it had before.  One of
 * UDP keeps them: each is a datagram. */
static enum xlat_drop
fit_gso(struct xlat_way *way, uint32_t hdr_bytes, uint32_t limit)
{
    struct pk *pk = &way->job->pk;
    uint32_t mtu6 = way->zone->set.mtu6;
    uint32_t l4_hdr_bytes = pk_gso_l4_hdr_bytes(pk, &way->info);

    if (!l4_hdr_bytes) {
        return XLAT_DROP_BAD_HDR;
    } else if (hdr_bytes + pk_wire_l4_bytes(pk, &way->info) <= limit) {
        return XLAT_OK;
    } else if (way->info.proto == IPPROTO_TCP) {
        pk->gso_size = limit - hdr_bytes - l4_hdr_bytes;
        return XLAT_OK;
    } else if (hdr_bytes + pk_wire_l4_bytes(pk, &way->info) <= mtu6) {
        return XLAT_OK;
    }
    way->param = mtu6 - HDR_GROWTH;
    return XLAT_DROP_TOO_BIG;
}
