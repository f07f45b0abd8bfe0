/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "slow-nat64.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "oracle-packet.h"

bool
slow_is_icmp(const struct slow_ip *ip)
{
    return ip->proto == (ip->family == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6);
}

bool
slow_is_echo(const struct slow_ip *ip)
{
    return slow_is_icmp(ip) && (ip->family == 4
                                ? ip->type == 8 || ip->type == 0
                                : ip->type == 128 || ip->type == 129);
}

static size_t
hdr_bytes(const struct slow_ip *ip)
{
    return ip->family == 4 ? 20 : ip->frag ? 48 : 40;
}

uint32_t
slow_ip_len(const struct slow_ip *ip)
{
    return hdr_bytes(ip) + ip->l4_len;
}

/* Sets the checksum at 'ofs' of the 'len' bytes of transport at 'p'. */
static void
put_csum(const struct slow_ip *ip, uint8_t *p, size_t ofs, uint32_t len)
{
    uint16_t pseudo = (ip->family == 6
                       ? orc_pseudo6(ip->src, ip->dst, ip->proto, len)
                       : slow_is_icmp(ip) ? 0
                       : orc_pseudo4(orc_get32(ip->src), orc_get32(ip->dst),
                                     ip->proto, len));
    uint16_t csum;

    orc_put16(p + ofs, 0);
    csum = 0xffff - orc_add(orc_sum(p, len), pseudo);
    orc_put16(p + ofs, csum == 0xffff && ip->proto != IPPROTO_UDP ? 0 : csum);
}

/* Writes the whole transport part of the datagram that 'ip' is part of. */
static void
put_l4(const struct slow_ip *ip, uint8_t *p)
{
    for (uint32_t i = 0; i < ip->l4_full; i++) {
        p[i] = i * 7 + 3;
    }
    if (ip->proto == IPPROTO_TCP) {
        orc_put16(p, ip->sport);
        orc_put16(p + 2, ip->dport);
        p[12] = 0x50;
        p[13] = ip->flags;
        put_csum(ip, p, 16, ip->l4_full);
    } else if (ip->proto == IPPROTO_UDP) {
        orc_put16(p, ip->sport);
        orc_put16(p + 2, ip->dport);
        orc_put16(p + 4, ip->l4_full);
        put_csum(ip, p, 6, ip->l4_full);
        if (ip->no_csum) {
            orc_put16(p + 6, 0);
        }
    } else if (slow_is_icmp(ip)) {
        p[0] = ip->type;
        p[1] = ip->code;
        orc_put16(p + 4, ip->sport);
        put_csum(ip, p, 2, ip->l4_full);
    }
}

/* Writes the IP headers of 'ip' in front of 'l4_len' bytes. */
static void
put_hdr(const struct slow_ip *ip, uint32_t l4_len, uint8_t *p)
{
    if (ip->family == 4) {
        orc_ip4_encode(p, &(struct orc_ip4) {
            .tos = ip->tos, .total_len = 20 + l4_len, .id = ip->id,
            .df = ip->df, .mf = ip->mf, .frag_ofs = ip->ofs, .ttl = ip->ttl,
            .proto = ip->proto, .src = orc_get32(ip->src),
            .dst = orc_get32(ip->dst),
        });
    } else {
        struct orc_ip6 hdr = {
            .tc = ip->tos, .payload_len = (ip->frag ? 8 : 0) + l4_len,
            .hop_limit = ip->ttl, .has_frag = ip->frag, .frag_ofs = ip->ofs,
            .mf = ip->mf, .frag_id = ip->id, .proto = ip->proto,
        };

        memcpy(hdr.src, ip->src, 16);
        memcpy(hdr.dst, ip->dst, 16);
        orc_ip6_encode(p, &hdr);
    }
}

/* Writes 'ip', which is no ICMP error. */
static void
put_ip(const struct slow_ip *ip, uint8_t *p)
{
    uint8_t l4[SLOW_MAX_BYTES];

    put_hdr(ip, ip->l4_len, p);
    put_l4(ip, l4);
    memcpy(p + hdr_bytes(ip), l4 + ip->ofs, ip->l4_len);
}

size_t
slow_put_packet(const struct slow_packet *packet, uint8_t *p)
{
    const struct slow_ip *ip = &packet->ip;
    uint8_t *icmp = p + hdr_bytes(ip);
    uint32_t n = hdr_bytes(&packet->quote) + packet->quote_len;

    if (!packet->is_error) {
        put_ip(ip, p);
        return slow_ip_len(ip);
    }
    put_ip(&packet->quote, icmp + 8);
    put_hdr(ip, 8 + n, p);
    icmp[0] = ip->type;
    icmp[1] = ip->code;
    orc_put32(icmp + 4, ip->rest);
    put_csum(ip, icmp, 2, 8 + n);
    return hdr_bytes(ip) + 8 + n;
}

static void
print_ip(const struct slow_ip *ip)
{
    char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];
    int family = ip->family == 4 ? AF_INET : AF_INET6;

    inet_ntop(family, ip->src, src, sizeof src);
    inet_ntop(family, ip->dst, dst, sizeof dst);
    printf("%s %u > %s %u proto %u flags %02x type %u/%u ttl %u len %u", src,
           ip->sport, dst, ip->dport, ip->proto, ip->flags, ip->type,
           ip->code, ip->ttl, slow_ip_len(ip));
    if (ip->frag || ip->mf || ip->ofs) {
        printf(" fragment %u+%u of %u mf %d id %#x", ip->ofs, ip->l4_len,
               ip->l4_full, ip->mf, ip->id);
    }
}

void
slow_print_packet(const char *what, const struct slow_packet *p)
{
    printf("#   %s: tenant %#x ", what, p->tenant);
    print_ip(&p->ip);
    if (p->is_error) {
        printf(" about (%u bytes of) ", p->quote_len);
        print_ip(&p->quote);
    }
    printf("\n");
}
