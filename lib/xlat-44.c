/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* IPv4 to IPv4: which packets go on, and in which size.  Nothing grows, so
 * that this is what a router does (RFC 1812, 5.2 and 5.3). */

#include <netinet/ip_icmp.h>

#include "xlat-private.h"

static enum xlat_drop
prepare_l4(const struct xlat_way *way)
{
    const struct pk_info *info = &way->info;

    if (!pk_has_l4(info)) {
        return XLAT_OK;
    } else if (pk_l4_bytes(info) < pk_min_l4_bytes(info->proto)) {
        return XLAT_DROP_TRUNCATED;
    } else if (xlat_is_icmp(info)) {
        uint8_t type = way->job->pk.data[info->l4_ofs];

        return type == ICMP_ECHO || type == ICMP_ECHOREPLY
               ? XLAT_OK : XLAT_DROP_ICMP_TYPE;
    }
    return XLAT_OK;
}

static enum xlat_drop
too_big(struct xlat_way *way)
{
    way->param = way->zone->set.mtu4;
    return XLAT_DROP_TOO_BIG;
}

static enum xlat_drop
fit_gso(struct xlat_way *way)
{
    const struct pk_info *info = &way->info;
    struct pk *pk = &way->job->pk;
    uint32_t mtu4 = way->zone->set.mtu4;
    uint32_t l4_hdr_bytes = pk_gso_l4_hdr_bytes(pk, info);

    if (!l4_hdr_bytes) {
        return XLAT_DROP_BAD_HDR;
    } else if (info->l4_ofs + pk_wire_l4_bytes(pk, info) <= mtu4) {
        return XLAT_OK;
    } else if (info->proto == IPPROTO_TCP
               && info->l4_ofs + l4_hdr_bytes < mtu4) {
        pk->gso_size = mtu4 - info->l4_ofs - l4_hdr_bytes;
        return XLAT_OK;
    }
    return too_big(way);
}

static enum xlat_drop
fit(struct xlat_way *way)
{
    const struct pk_info *info = &way->info;
    struct pk *pk = &way->job->pk;

    if (pk->gso_size) {
        return fit_gso(way);
    } else if (info->len <= way->zone->set.mtu4) {
        return XLAT_OK;
    } else if (info->dont_frag) {
        return too_big(way);
    }
    pk->frag_mtu = way->zone->set.mtu4;
    pk->frag_id = info->frag_id;
    xlat_l4_complete_csum(pk, info);
    return XLAT_OK;
}

enum xlat_drop
xlat_44_prepare(struct xlat_way *way)
{
    enum xlat_drop drop = xlat_46_prepare_ttl(way);

    if (drop == XLAT_OK) {
        drop = prepare_l4(way);
    }
    return drop == XLAT_OK ? fit(way) : drop;
}
