/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include "oracle-packet.h"

#include <netinet/in.h>
#include <string.h>

uint16_t
orc_get16(const uint8_t *p)
{
    return p[0] << 8 | p[1];
}

uint32_t
orc_get32(const uint8_t *p)
{
    return (uint32_t) p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

void
orc_put16(uint8_t *p, uint16_t v)
{
    p[0] = v >> 8;
    p[1] = v;
}

void
orc_put32(uint8_t *p, uint32_t v)
{
    p[0] = v >> 24;
    p[1] = v >> 16;
    p[2] = v >> 8;
    p[3] = v;
}

static uint16_t
fold(uint64_t sum)
{
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return sum;
}

uint16_t
orc_sum(const uint8_t *p, size_t n)
{
    uint64_t sum = 0;
    size_t i;

    for (i = 0; i + 1 < n; i += 2) {
        sum += orc_get16(p + i);
    }
    if (n & 1) {
        sum += p[n - 1] << 8;
    }
    return fold(sum);
}

uint16_t
orc_add(uint16_t a, uint16_t b)
{
    return ((uint32_t) a + b) % 0xffff;
}

uint16_t
orc_sub(uint16_t a, uint16_t b)
{
    return ((uint32_t) a % 0xffff + 0xffff - b % 0xffff) % 0xffff;
}

uint16_t
orc_pseudo4(uint32_t src, uint32_t dst, uint8_t proto, uint32_t len)
{
    uint8_t p[12];

    orc_put32(p, src);
    orc_put32(p + 4, dst);
    p[8] = 0;
    p[9] = proto;
    orc_put16(p + 10, len);
    return orc_sum(p, sizeof p);
}

uint16_t
orc_pseudo6(const uint8_t src[16], const uint8_t dst[16], uint8_t proto,
            uint32_t len)
{
    uint8_t p[40];

    memcpy(p, src, 16);
    memcpy(p + 16, dst, 16);
    orc_put32(p + 32, len);
    orc_put32(p + 36, proto);
    return orc_sum(p, sizeof p);
}

unsigned int
orc_ip4_decode(const uint8_t *p, size_t n, bool quoted, struct orc_ip4 *ip)
{
    unsigned int faults = ORC_OK;

    if (n < 20) {
        return ORC_TRUNCATED;
    }
    ip->hdr_len = (p[0] & 15) * 4;
    ip->tos = p[1];
    ip->total_len = orc_get16(p + 2);
    ip->id = orc_get16(p + 4);
    ip->df = p[6] & 0x40;
    ip->mf = p[6] & 0x20;
    ip->frag_ofs = (orc_get16(p + 6) & 0x1fff) * 8;
    ip->ttl = p[8];
    ip->proto = p[9];
    ip->csum = orc_get16(p + 10);
    ip->src = orc_get32(p + 12);
    ip->dst = orc_get32(p + 16);

    if (p[0] >> 4 != 4 || ip->hdr_len < 20 || ip->total_len < ip->hdr_len) {
        faults |= ORC_BAD_HDR;
    }
    if (ip->hdr_len > n || (!quoted && ip->total_len > n)) {
        faults |= ORC_TRUNCATED;
    }
    if (faults) {
        return faults;
    }
    ip->payload = p + ip->hdr_len;
    ip->payload_len = (ip->total_len < n ? ip->total_len : n) - ip->hdr_len;
    return ORC_OK;
}

/* Those that RFC 7915, 5.1, does not skip count behind a fragment header only,
 * where 5.1.1 wants none at all (but ESP): authentication, mobility, HIP and
 * Shim6 headers. */
static bool
is_ext_hdr(uint8_t proto, bool behind_frag)
{
    return (proto == IPPROTO_HOPOPTS || proto == IPPROTO_ROUTING
            || proto == IPPROTO_FRAGMENT || proto == IPPROTO_DSTOPTS
            || (behind_frag && (proto == IPPROTO_AH || proto == 135
                                || proto == 139 || proto == 140)));
}

/* Takes the fragment header at 'ip->payload'. */
static void
take_frag(struct orc_ip6 *ip)
{
    const uint8_t *p = ip->payload;

    ip->has_frag = true;
    ip->proto = p[0];
    ip->frag_ofs = orc_get16(p + 2) & 0xfff8;
    ip->mf = p[3] & 1;
    ip->frag_id = orc_get32(p + 4);
}

static void
take_ext_hdrs(struct orc_ip6 *ip)
{
    for (unsigned int i = 0; is_ext_hdr(ip->proto, ip->has_frag); i++) {
        const uint8_t *p = ip->payload;
        size_t n;

        if (ip->has_frag) {
            ip->ext_faults |= ORC_EXT_BEHIND_FRAG;
            if (ip->proto == IPPROTO_AH) {
                ip->ext_faults |= ORC_EXT_AH;
            }
            return;
        }
        if (ip->payload_len_here < 8) {
            ip->ext_faults |= ORC_EXT_CUT;
            return;
        }
        n = ip->proto == IPPROTO_FRAGMENT ? 8 : 8 * (p[1] + 1);
        if (n > ip->payload_len_here) {
            ip->ext_faults |= ORC_EXT_CUT;
        }
        if (ip->proto == IPPROTO_HOPOPTS && i) {
            ip->ext_faults |= ORC_EXT_HBH_LATE;
        }
        if (ip->proto == IPPROTO_ROUTING && p[3]
            && !(ip->ext_faults & ORC_EXT_SEGMENTS_LEFT)) {
            ip->ext_faults |= ORC_EXT_SEGMENTS_LEFT;
            ip->segments_left_ofs = ip->hdr_len + 3;
        }
        if (n > ip->payload_len_here) {
            return;
        }
        if (ip->proto == IPPROTO_FRAGMENT) {
            take_frag(ip);
        } else {
            ip->proto = p[0];
        }
        ip->payload += n;
        ip->payload_len_here -= n;
        ip->hdr_len += n;
    }
}

unsigned int
orc_ip6_decode(const uint8_t *p, size_t n, bool quoted, struct orc_ip6 *ip)
{
    if (n < 40) {
        return ORC_TRUNCATED;
    }
    memset(ip, 0, sizeof *ip);
    ip->tc = orc_get16(p) >> 4;
    ip->flow = orc_get32(p) & 0xfffff;
    ip->payload_len = orc_get16(p + 4);
    ip->proto = p[6];
    ip->hop_limit = p[7];
    memcpy(ip->src, p + 8, 16);
    memcpy(ip->dst, p + 24, 16);

    if (p[0] >> 4 != 6) {
        return ORC_BAD_HDR;
    }
    if (!quoted && 40u + ip->payload_len > n) {
        return ORC_TRUNCATED;
    }
    ip->hdr_len = 40;
    ip->payload = p + 40;
    ip->payload_len_here = ip->payload_len < n - 40 ? ip->payload_len : n - 40;
    take_ext_hdrs(ip);
    return ORC_OK;
}

size_t
orc_ip4_encode(uint8_t *p, const struct orc_ip4 *ip)
{
    p[0] = 0x45;
    p[1] = ip->tos;
    orc_put16(p + 2, ip->total_len);
    orc_put16(p + 4, ip->id);
    orc_put16(p + 6, ip->frag_ofs / 8 | ip->df << 14 | ip->mf << 13);
    p[8] = ip->ttl;
    p[9] = ip->proto;
    orc_put16(p + 10, 0);
    orc_put32(p + 12, ip->src);
    orc_put32(p + 16, ip->dst);
    orc_put16(p + 10, ~orc_sum(p, 20));
    return 20;
}

size_t
orc_ip6_encode(uint8_t *p, const struct orc_ip6 *ip)
{
    orc_put32(p, 6u << 28 | (uint32_t) ip->tc << 20 | ip->flow);
    orc_put16(p + 4, ip->payload_len);
    p[6] = ip->has_frag ? IPPROTO_FRAGMENT : ip->proto;
    p[7] = ip->hop_limit;
    memcpy(p + 8, ip->src, 16);
    memcpy(p + 24, ip->dst, 16);
    if (!ip->has_frag) {
        return 40;
    }
    p[40] = ip->proto;
    p[41] = 0;
    orc_put16(p + 42, ip->frag_ofs | ip->mf);
    orc_put32(p + 44, ip->frag_id);
    return 48;
}

bool
orc_ip4_source_route(const uint8_t *p, unsigned int hdr_len, bool *bad)
{
    bool found = false;
    unsigned int i = 20;

    *bad = false;
    while (i < hdr_len && p[i] != 0) {
        if (p[i] == 1) {                /* No operation. */
            i++;
            continue;
        }
        if (i + 1 >= hdr_len || p[i + 1] < 2 || i + p[i + 1] > hdr_len) {
            *bad = true;
            break;
        }
        if (p[i] == 131 || p[i] == 137) {
            if (p[i + 1] < 3) {
                *bad = true;
            } else if (p[i + 2] <= p[i + 1]) {
                found = true;
            }
        }
        i += p[i + 1];
    }
    return found;
}

int
orc_csum_ofs(uint8_t proto)
{
    switch (proto) {
    case IPPROTO_TCP:
        return 16;
    case IPPROTO_UDP:
        return 6;
    case IPPROTO_ICMP:
    case IPPROTO_ICMPV6:
        return 2;
    default:
        return -1;
    }
}
