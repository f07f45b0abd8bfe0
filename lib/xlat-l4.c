/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* What both directions of translation demand of the transport header. */

#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>

#include "pk-csum.h"
#include "xlat-private.h"

#define UDP_CSUM_OFS 6

static bool is_foreign_icmp(const struct pk_info *);
static bool is_no_transport(const struct pk_info *);
static enum xlat_drop prepare_icmp(const struct xlat_way *);
static enum xlat_drop prepare_udp(struct xlat_way *);

enum xlat_drop
xlat_l4_prepare(struct xlat_way *way)
{
    const struct pk_info *info = &way->info;

    if (info->proto == IPPROTO_IGMP || is_foreign_icmp(info)) {
        return XLAT_DROP_ICMP_TYPE;      /* RFC 7915, 4.2 and 5.2. */
    } else if (is_no_transport(info)) {
        return XLAT_DROP_BAD_EXT_HDR;
    } else if (xlat_is_icmp(info) && xlat_is_cut(info)) {
        return XLAT_DROP_ICMP_FRAGMENT;
    } else if (!pk_has_l4(info)) {
        return XLAT_OK;
    } else if (pk_l4_bytes(info) < pk_min_l4_bytes(info->proto)) {
        return XLAT_DROP_TRUNCATED;
    } else if (xlat_is_icmp(info)) {
        return prepare_icmp(way);
    } else if (info->proto == IPPROTO_UDP) {
        return prepare_udp(way);
    } else {
        return XLAT_OK;
    }
}

/* Returns true if the packet is ICMP of the other family, which means nothing
 * here and would be obeyed there: redirects and the like that no translator
 * has looked at. */
static bool
is_foreign_icmp(const struct pk_info *info)
{
    return info->proto == (info->family == 4 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
}

/* Returns true if an IPv4 packet has a protocol that is none, but would make
 * its payload an extension header of the IPv6 packet: source routes, options
 * and fragments that no filter of the IPv4 side has seen. */
static bool
is_no_transport(const struct pk_info *info)
{
    return (info->family == 4
            && (info->proto == IPPROTO_HOPOPTS
                || info->proto == IPPROTO_ROUTING
                || info->proto == IPPROTO_FRAGMENT
                || info->proto == IPPROTO_DSTOPTS));
}

static enum xlat_drop
prepare_icmp(const struct xlat_way *way)
{
    uint8_t type = way->job->pk.data[way->info.l4_ofs];
    bool is_query = (way->info.family == 4
                     ? type == ICMP_ECHO || type == ICMP_ECHOREPLY
                     : (type == ICMP6_ECHO_REQUEST
                        || type == ICMP6_ECHO_REPLY));

    return is_query ? XLAT_OK : XLAT_DROP_ICMP_TYPE;
}

/* Returns the sum of the pseudo-header of family 'info->family' for
 * 'l4_bytes' bytes. */
static uint64_t
pseudo_sum(const uint8_t *ip, const struct pk_info *info, uint32_t l4_bytes)
{
    uint64_t sum = pk_csum_pseudo(l4_bytes, info->proto);

    if (info->family == 4) {
        return sum + pk_csum_addr4(ip + 12) + pk_csum_addr4(ip + 16);
    }
    return sum + pk_csum_addr6(ip + 8) + pk_csum_addr6(ip + 24);
}

/* Returns true if the packet of 'way', of UDP with a header, lacks its
 * checksum. */
static bool
lacks_csum(const struct xlat_way *way)
{
    const struct pk *pk = &way->job->pk;

    return !(pk->flags & PK_L4_PARTIAL
             || pk_get16(pk->data + way->info.l4_ofs + UDP_CSUM_OFS));
}

static enum xlat_drop
prepare_udp(struct xlat_way *way)
{
    const struct pk_info *info = &way->info;
    uint32_t bytes = ntohs(pk_get16(way->job->pk.data + info->l4_ofs + 4));

    if (!lacks_csum(way)) {
        return XLAT_OK;
    }
    switch (way->zone->set.udp_zero_checksum) {
    case XLAT_UDP_ZERO_FORWARD:
        return XLAT_OK;
    case XLAT_UDP_ZERO_COMPUTE:
        if (xlat_is_cut(info)) {
            /* The rest is not there (RFC 7915, 4.5). */
            return XLAT_DROP_UDP_CSUM_ZERO;
        }
        return (bytes < PK_UDP_HDR_BYTES || bytes > pk_l4_bytes(info)
                ? XLAT_DROP_BAD_HDR : XLAT_OK);
    case XLAT_UDP_ZERO_DROP:
    default:
        return XLAT_DROP_UDP_CSUM_ZERO;
    }
}

void
xlat_l4_fill_csum(struct xlat_way *way)
{
    const struct pk_info *info = &way->info;
    struct pk *pk = &way->job->pk;
    uint8_t *udp = pk->data + info->l4_ofs;

    if (way->zone->set.udp_zero_checksum == XLAT_UDP_ZERO_COMPUTE
        && info->proto == IPPROTO_UDP && pk_has_l4(info) && lacks_csum(way)) {
        uint32_t bytes = ntohs(pk_get16(udp + 4));
        pk_be16 csum = pk_csum_finish(pseudo_sum(pk->data, info, bytes)
                                      + pk_csum_bytes(udp, bytes));

        pk_put16(udp + UDP_CSUM_OFS, csum ? csum : 0xffff);
    }
}

void
xlat_l4_complete_csum(struct pk *pk, const struct pk_info *info)
{
    uint16_t ofs = xlat_is_icmp(info) ? 2 : pk_csum_ofs(info->proto);
    uint8_t *l4 = pk->data + info->l4_ofs;
    uint32_t bytes = pk_l4_bytes(info);

    if (!(pk->flags & PK_L4_PARTIAL) || xlat_is_cut(info) || !ofs) {
        return;
    }

    /* What is in the field is not used: not everyone who changes an address
     * in front of us keeps it right. */
    pk_put16(l4 + ofs, 0);

    uint64_t sum = pk_csum_bytes(l4, bytes);
    if (info->proto != IPPROTO_ICMP) {
        sum += pseudo_sum(pk->data, info, bytes);
    }
    pk_be16 csum = pk_csum_finish(sum);
    pk_put16(l4 + ofs, !csum && info->proto == IPPROTO_UDP ? 0xffff : csum);
    pk->flags &= ~PK_L4_PARTIAL;
}
