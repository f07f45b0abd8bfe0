/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* IPv6 to IPv4: which packets go on, and in which size (RFC 7915, 5). */

#include "xlat-hdr.h"
#include "xlat-private.h"

#define HDR_GROWTH (PK_IP6_HDR_BYTES - PK_IP4_HDR_BYTES)
#define IP6_MIN_MTU 1280

static enum xlat_drop fit(struct xlat_way *, const struct xlat_rewrite *);
static enum xlat_drop fit_gso(struct xlat_way *, uint32_t hdr_bytes);

enum xlat_drop
xlat_64_prepare(struct xlat_way *way, const struct xlat_rewrite *rw)
{
    enum xlat_drop drop = xlat_64_prepare_ttl(way);

    if (drop == XLAT_OK) {
        drop = xlat_l4_prepare(way);
    }
    return drop == XLAT_OK ? fit(way, rw) : drop;
}

enum xlat_drop
xlat_64_prepare_ttl(struct xlat_way *way)
{
    return way->info.ttl <= 1 ? XLAT_DROP_TTL : XLAT_OK;
}

static enum xlat_drop
too_big(struct xlat_way *way)
{
    uint32_t mtu = way->zone->set.mtu4 + HDR_GROWTH;

    way->param = mtu > IP6_MIN_MTU ? mtu : IP6_MIN_MTU;
    return XLAT_DROP_TOO_BIG;
}

/* Sees to it that the result fits.  A sender who was told so goes down to 1280
 * bytes and no further (RFC 8200, 5): what such packets become is fragmented
 * where the IPv4 side is narrower still. */
static enum xlat_drop
fit(struct xlat_way *way, const struct xlat_rewrite *rw)
{
    struct pk *pk = &way->job->pk;
    uint32_t hdr_bytes = xlat_rewrite_hdr_bytes(rw, &way->info);
    uint32_t bytes = hdr_bytes + pk_l4_bytes(&way->info);

    if (pk->gso_size) {
        return fit_gso(way, hdr_bytes);
    } else if (bytes <= way->zone->set.mtu4) {
        return XLAT_OK;
    } else if (bytes > XLAT_IP4_DF0_MAX) {
        return too_big(way);
    }
    pk->frag_mtu = way->zone->set.mtu4;
    xlat_l4_complete_csum(pk, &way->info);
    return XLAT_OK;
}

static enum xlat_drop
fit_gso(struct xlat_way *way, uint32_t hdr_bytes)
{
    struct pk *pk = &way->job->pk;
    uint32_t mtu4 = way->zone->set.mtu4;
    uint32_t l4_hdr_bytes = pk_gso_l4_hdr_bytes(pk, &way->info);

    if (!l4_hdr_bytes) {
        return XLAT_DROP_BAD_HDR;
    } else if (hdr_bytes + pk_wire_l4_bytes(pk, &way->info) <= mtu4) {
        return XLAT_OK;
    } else if (way->info.proto == IPPROTO_TCP
               && hdr_bytes + l4_hdr_bytes < mtu4) {
        pk->gso_size = mtu4 - hdr_bytes - l4_hdr_bytes;
        return XLAT_OK;
    }
    return too_big(way);
}
