/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include "packet.h"

#include <arpa/inet.h>
#include <check.h>
#include <stdio.h>
#include <string.h>

static void
put16(uint8_t *p, uint16_t x)
{
    p[0] = x >> 8;
    p[1] = x;
}

static void
put32(uint8_t *p, uint32_t x)
{
    put16(p, x >> 16);
    put16(p + 2, x);
}

static uint16_t
get16(const uint8_t *p)
{
    return p[0] << 8 | p[1];
}

void
packet_init(struct packet *packet, uint32_t n)
{
    ck_assert_uint_le(n, PACKET_MAX - 64);
    memset(packet->buf, 0xee, PACKET_HEADROOM);
    packet->pk = (struct pk) {
        .data = packet->buf + PACKET_HEADROOM,
        .len = n,
        .headroom = PACKET_HEADROOM,
        .tailroom = PACKET_MAX - n,
    };
}

void
packet_hex(struct packet *packet, const char *hex)
{
    uint32_t n = strlen(hex) / 2;

    packet_init(packet, n);
    for (uint32_t i = 0; i < n; i++) {
        unsigned int byte;

        ck_assert_int_eq(sscanf(hex + 2 * i, "%2x", &byte), 1);
        packet->pk.data[i] = byte;
    }
}

static void
fill(uint8_t *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        p[i] = i + 1;
    }
}

uint32_t
packet_udp(uint8_t *l4, uint16_t src, uint16_t dst, uint32_t n)
{
    put16(l4, src);
    put16(l4 + 2, dst);
    put16(l4 + 4, 8 + n);
    put16(l4 + 6, 0);
    fill(l4 + 8, n);
    return 8 + n;
}

uint32_t
packet_tcp(uint8_t *l4, uint16_t src, uint16_t dst, uint32_t n)
{
    memset(l4, 0, 20);
    put16(l4, src);
    put16(l4 + 2, dst);
    put32(l4 + 4, 1000);
    l4[12] = 5 << 4;
    l4[13] = 0x10;
    put16(l4 + 14, 65000);
    fill(l4 + 20, n);
    return 20 + n;
}

uint32_t
packet_icmp(uint8_t *l4, uint8_t type, uint8_t code, uint32_t rest,
            const uint8_t *data, uint32_t n)
{
    l4[0] = type;
    l4[1] = code;
    put16(l4 + 2, 0);
    put32(l4 + 4, rest);
    if (data) {
        memcpy(l4 + 8, data, n);
    } else {
        fill(l4 + 8, n);
    }
    return 8 + n;
}

uint16_t
packet_sum(const uint8_t *data, uint32_t n, uint32_t sum)
{
    for (uint32_t i = 0; i < n; i++) {
        sum += i & 1 ? data[i] : data[i] << 8;
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return sum;
}

/* The sum of transport header, payload and pseudo-header. */
static uint16_t
l4_sum(const uint8_t *ip, uint32_t len, uint32_t l4_ofs, uint8_t proto)
{
    uint32_t n = len - l4_ofs;
    uint32_t sum = packet_sum(ip + l4_ofs, n, 0);

    if (ip[0] >> 4 == 4) {
        return proto == IPPROTO_ICMP ? sum
               : packet_sum(ip + 12, 8, sum + n + proto);
    }
    return packet_sum(ip + 8, 32, sum + n + proto);
}

static int
csum_ofs(uint8_t proto)
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

void
packet_fill_csum(uint8_t *ip, uint32_t len, uint32_t l4_ofs, uint8_t proto)
{
    int ofs = csum_ofs(proto);

    if (ofs >= 0) {
        put16(ip + l4_ofs + ofs, 0);

        uint16_t csum = ~l4_sum(ip, len, l4_ofs, proto);
        put16(ip + l4_ofs + ofs,
              !csum && proto == IPPROTO_UDP ? 0xffff : csum);
    }
}

static uint32_t
build_4(uint8_t *ip, const struct packet_spec *spec)
{
    uint32_t hdr = 20 + spec->ext_bytes;

    memset(ip, 0, 20);
    ip[0] = 0x40 | hdr / 4;
    ip[1] = spec->tos;
    put16(ip + 2, hdr + spec->l4_bytes);
    put16(ip + 4, spec->id);
    put16(ip + 6, (spec->df ? 0x4000 : 0) | (spec->more ? 0x2000 : 0)
                  | spec->frag_ofs / 8);
    ip[8] = spec->ttl ? spec->ttl : 64;
    ip[9] = spec->proto;
    ck_assert_int_eq(inet_pton(AF_INET, spec->src, ip + 12), 1);
    ck_assert_int_eq(inet_pton(AF_INET, spec->dst, ip + 16), 1);
    if (spec->ext_bytes) {
        memcpy(ip + 20, spec->ext, spec->ext_bytes);
    }
    put16(ip + 10, ~packet_sum(ip, hdr, 0));
    return hdr;
}

static uint32_t
build_6(uint8_t *ip, const struct packet_spec *spec)
{
    uint8_t *next = ip + 6;
    uint32_t hdr = 40;

    put32(ip, 0x60000000 | (uint32_t) spec->tos << 20);
    ip[7] = spec->ttl ? spec->ttl : 64;
    ck_assert_int_eq(inet_pton(AF_INET6, spec->src, ip + 8), 1);
    ck_assert_int_eq(inet_pton(AF_INET6, spec->dst, ip + 24), 1);
    if (spec->ext_bytes) {
        *next = spec->ext_type;
        memcpy(ip + hdr, spec->ext, spec->ext_bytes);
        next = ip + hdr + spec->ext_last;
        hdr += spec->ext_bytes;
    }
    if (spec->frag_hdr || spec->frag_ofs || spec->more) {
        *next = IPPROTO_FRAGMENT;
        next = ip + hdr;
        ip[hdr + 1] = 0;
        put16(ip + hdr + 2, spec->frag_ofs | spec->more);
        put32(ip + hdr + 4, spec->id);
        hdr += 8;
    }
    *next = spec->proto;
    put16(ip + 4, hdr - 40 + spec->l4_bytes);
    return hdr;
}

void
packet_build(struct packet *packet, const struct packet_spec *spec)
{
    uint8_t *ip = packet->buf + PACKET_HEADROOM;
    bool is_6 = strchr(spec->src, ':');
    uint32_t hdr = is_6 ? build_6(ip, spec) : build_4(ip, spec);

    memcpy(ip + hdr, spec->l4, spec->l4_bytes);
    packet_init(packet, hdr + spec->l4_bytes);
    if (!spec->frag_ofs && !spec->more) {
        packet_fill_csum(ip, packet->pk.len, hdr, spec->proto);
    }
}

static void
check_l4(const uint8_t *ip, uint32_t len, uint32_t l4_ofs, uint8_t proto)
{
    if (csum_ofs(proto) >= 0
        && !(proto == IPPROTO_UDP && !get16(ip + l4_ofs + 6))) {
        ck_assert_uint_eq(l4_sum(ip, len, l4_ofs, proto), 0xffff);
    }
}

void
packet_check(const struct pk *pk)
{
    const uint8_t *ip = pk->data;

    if (ip[0] >> 4 == 4) {
        uint32_t hdr = (ip[0] & 0xf) * 4;

        ck_assert_uint_ge(hdr, 20);
        ck_assert_uint_ge(pk->len, hdr);
        ck_assert_uint_eq(get16(ip + 2), pk->len);
        ck_assert_uint_eq(packet_sum(ip, hdr, 0), 0xffff);
        if (!(get16(ip + 6) & 0x3fff)) {
            check_l4(ip, pk->len, hdr, ip[9]);
        }
    } else {
        ck_assert_uint_eq(ip[0] >> 4, 6);
        ck_assert_uint_ge(pk->len, 40);
        ck_assert_uint_eq(get16(ip + 4) + 40, pk->len);
        check_l4(ip, pk->len, 40, ip[6]);
    }
}

void
packet_check_addr(int family, const uint8_t *addr, const char *text)
{
    char buf[INET6_ADDRSTRLEN];

    inet_ntop(family, addr, buf, sizeof buf);
    ck_assert_str_eq(buf, text);
}
