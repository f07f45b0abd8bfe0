/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Packets through a siit zone: sizes, fragments, transport oddities, the
 * translator's own ICMP errors, and that the short path and the long way give
 * the same. */

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "packet.h"
#include "pk-csum.h"
#include "pk-frag.h"
#include "siit.h"
#include "xlat-private.h"

static struct siit s;
static uint8_t l4[PACKET_MAX];

static const char *const C6 = "2001:db8:1::21";     /* 192.0.2.33. */
static const char *const S6 = "2001:db8:64::c633:6407";
static const char *const C4 = "192.0.2.33";
static const char *const S4 = "198.51.100.7";

static void
setup(void)
{
    siit_init(&s, NULL);
}

static void
teardown(void)
{
    siit_destroy(&s);
}

static void
build_udp4(uint32_t total, bool df, uint8_t ttl)
{
    packet_build(&s.packet, &(struct packet_spec) {
        .src = S4, .dst = C4, .proto = IPPROTO_UDP, .df = df, .ttl = ttl,
        .id = 0x1234, .tos = 0x2e,
        .l4 = l4, .l4_bytes = packet_udp(l4, 53, 4000, total - 28) });
}

static void
build_udp6(uint32_t total, uint8_t hop_limit)
{
    packet_build(&s.packet, &(struct packet_spec) {
        .src = C6, .dst = S6, .proto = IPPROTO_UDP, .ttl = hop_limit,
        .tos = 0x2e,
        .l4 = l4, .l4_bytes = packet_udp(l4, 4000, 53, total - 48) });
}

static const struct pk_info *
info(void)
{
    static struct pk_info i;

    ck_assert_int_eq(pk_parse(s.job.pk.data, s.job.pk.len, 0, &i), PK_OK);
    return &i;
}

START_TEST(udp_46)
{
    build_udp4(100, true, 64);
    siit_translated(&s);
    ck_assert_uint_eq(s.job.pk.len, 120);
    ck_assert_uint_eq(info()->ttl, 63);
    ck_assert_uint_eq(info()->tos, 0x2e);
    ck_assert(!info()->is_frag);
    packet_check_addr(AF_INET6, s.job.pk.data + 8, S6);
    packet_check_addr(AF_INET6, s.job.pk.data + 24, C6);
    ck_assert_uint_eq(pk_get32(s.job.pk.data) & htonl(0xfffff), 0);
}
END_TEST

START_TEST(udp_64)
{
    build_udp6(120, 64);
    siit_translated(&s);
    ck_assert_uint_eq(s.job.pk.len, 100);
    ck_assert_uint_eq(info()->ttl, 63);
    ck_assert_uint_eq(info()->tos, 0x2e);
    ck_assert(!info()->dont_frag);
    packet_check_addr(AF_INET, s.job.pk.data + 12, C4);
    packet_check_addr(AF_INET, s.job.pk.data + 16, S4);
}
END_TEST

START_TEST(tos_settings)
{
    siit_destroy(&s);
    siit_init(&s, "reset-traffic-class=true tos-override=17");
    build_udp4(100, true, 64);
    siit_translated(&s);
    ck_assert_uint_eq(info()->tos, 0);
    build_udp6(120, 64);
    siit_translated(&s);
    ck_assert_uint_eq(info()->tos, 17);
}
END_TEST

/* Each ordinary packet, sent over the long way by one thing that only the
 * short path minds, gives the same bytes. */
START_TEST(short_path_equals_long_way)
{
    static struct packet copy;

    for (uint32_t total = 68; total <= 1480; total++) {
        bool v4 = total & 1;

        if (v4) {
            build_udp4(total, true, 64);
        } else {
            build_udp6(total, 64);
        }
        copy = s.packet;
        copy.pk.data = copy.buf + (s.packet.pk.data - s.packet.buf);
        siit_run(&s);

        struct pk shorter = s.job.pk;
        struct xlat_tally tally = { .packets = 0 };
        struct xlat_ctx ctx = s.ctx;
        struct xlat_job job = { .pk = copy.pk };
        struct xlat_way way = {
            .zone = s.zone, .ctx = &ctx, .tally = &tally, .job = &job,
        };

        xlat_siit_run(&way);
        ck_assert_int_eq(job.verdict, s.job.verdict);
        ck_assert_uint_eq(job.pk.len, shorter.len);
        ck_assert_uint_eq(job.pk.headroom, shorter.headroom);
        ck_assert_uint_eq(job.pk.tailroom, shorter.tailroom);
        if (!v4) {
            /* Identification and header checksum are drawn. */
            memset(job.pk.data + 4, 0, 2);
            memset(shorter.data + 4, 0, 2);
            memset(job.pk.data + 10, 0, 2);
            memset(shorter.data + 10, 0, 2);
        }
        ck_assert(!memcmp(job.pk.data, shorter.data, job.pk.len));
    }
}
END_TEST

/* T3, and RFC 7915, 4.1. */
START_TEST(too_big_46)
{
    build_udp4(1480, true, 64);
    siit_translated(&s);
    ck_assert_uint_eq(s.job.pk.frag_mtu, 0);

    build_udp4(1481, true, 64);
    siit_reply(&s, XLAT_DROP_TOO_BIG);
    const uint8_t *ip = s.job.pk.data;
    ck_assert_uint_eq(ip[20], 3);
    ck_assert_uint_eq(ip[21], 4);
    ck_assert_uint_eq(ntohs(pk_get16(ip + 26)), 1480);
    ck_assert_uint_eq(s.job.pk.len, 576);
    packet_check_addr(AF_INET, ip + 12, "203.0.113.1");
    packet_check_addr(AF_INET, ip + 16, S4);
    ck_assert_uint_eq(pk_get32(ip + 28), pk_get32(s.packet.pk.data));
}
END_TEST

START_TEST(fragment_46)
{
    struct pk_frag frag;
    uint8_t buf[1280];
    int n, total = 0;

    build_udp4(1260, false, 64);
    siit_translated(&s);
    ck_assert_uint_eq(s.job.pk.frag_mtu, 0);

    build_udp4(1261, false, 64);
    siit_translated(&s);
    ck_assert_uint_eq(s.job.pk.frag_mtu, 1280);
    ck_assert_uint_eq(s.job.pk.frag_id, 0x1234);
    pk_frag_init(&frag, &s.job.pk);
    while ((n = pk_frag_next(&frag, buf, sizeof buf)) > 0) {
        total += n - 48;
    }
    ck_assert_int_eq(total, 1241);
}
END_TEST

START_TEST(too_big_64)
{
    siit_destroy(&s);
    siit_init(&s, "mtu4=1400");
    build_udp6(1420, 64);
    siit_translated(&s);
    ck_assert(info()->dont_frag);
    build_udp6(1421, 64);
    siit_reply(&s, XLAT_DROP_TOO_BIG);
    const uint8_t *ip = s.job.pk.data;
    ck_assert_uint_eq(ip[40], 2);
    ck_assert_uint_eq(ip[41], 0);
    ck_assert_uint_eq(ntohl(pk_get32(ip + 44)), 1420);
    ck_assert_uint_eq(s.job.pk.len, 1280);
    packet_check_addr(AF_INET6, ip + 8, S6);
    packet_check_addr(AF_INET6, ip + 24, C6);
}
END_TEST

/* A narrower IPv4 side than IPv6 allows. */
START_TEST(fragment_64)
{
    siit_destroy(&s);
    siit_init(&s, "mtu4=576");
    build_udp6(1280, 64);
    siit_translated(&s);
    ck_assert_uint_eq(s.job.pk.frag_mtu, 576);
    ck_assert(!info()->dont_frag);
    build_udp6(1281, 64);
    siit_reply(&s, XLAT_DROP_TOO_BIG);
    ck_assert_uint_eq(ntohl(pk_get32(s.job.pk.data + 44)), 1280);
}
END_TEST

START_TEST(expired)
{
    for (uint8_t ttl = 1; ttl <= 2; ttl++) {
        build_udp4(100, false, ttl);
        if (ttl == 1) {
            siit_reply(&s, XLAT_DROP_TTL);
            ck_assert_uint_eq(s.job.pk.data[20], 11);
            ck_assert_uint_eq(s.job.pk.data[21], 0);
        } else {
            siit_translated(&s);
        }
        build_udp6(100, ttl);
        if (ttl == 1) {
            siit_reply(&s, XLAT_DROP_TTL);
            ck_assert_uint_eq(s.job.pk.data[40], 3);
            ck_assert_uint_eq(s.job.pk.data[41], 0);
        } else {
            siit_translated(&s);
        }
    }
}
END_TEST

/* RFC 1122, 3.2.2 and RFC 4443, 2.4 (e): silence. */
START_TEST(no_reply)
{
    uint8_t quote[28] = { 0x45 };

    packet_build(&s.packet, &(struct packet_spec) {
        .src = S4, .dst = C4, .proto = IPPROTO_ICMP, .ttl = 1,
        .l4 = l4, .l4_bytes = packet_icmp(l4, 5, 0, 0, quote, 28) });
    siit_dropped(&s, XLAT_N_DROPS);
    packet_build(&s.packet, &(struct packet_spec) {
        .src = S4, .dst = C4, .proto = IPPROTO_UDP, .ttl = 1,
        .frag_ofs = 80, .l4 = l4, .l4_bytes = 80 });
    siit_dropped(&s, XLAT_DROP_TTL);

    /* An echo request may be answered. */
    packet_build(&s.packet, &(struct packet_spec) {
        .src = S4, .dst = C4, .proto = IPPROTO_ICMP, .ttl = 1,
        .l4 = l4, .l4_bytes = packet_icmp(l4, 8, 0, 0, NULL, 28) });
    siit_reply(&s, XLAT_DROP_TTL);

    build_udp4(100, false, 1);
    s.packet.pk.headroom = 27;
    siit_dropped(&s, XLAT_DROP_TTL);
}
END_TEST

/* An IPv6 fragment that is not the first one, of 'proto'. */
static void
build_later_fragment(uint8_t proto, uint8_t ttl, uint32_t n)
{
    packet_build(&s.packet, &(struct packet_spec) {
        .src = C6, .dst = S6, .proto = proto, .ttl = ttl, .frag_hdr = true,
        .id = 7, .frag_ofs = 1448, .more = true, .l4 = l4, .l4_bytes = n });
}

/* RFC 4443 has no rule against errors about them, and path MTU discovery needs
 * them. */
START_TEST(reply_about_fragment)
{
    build_later_fragment(IPPROTO_UDP, 1, 80);
    siit_reply(&s, XLAT_DROP_TTL);
    ck_assert_uint_eq(s.job.pk.data[40], 3);
    ck_assert_uint_eq(s.job.pk.len, 48 + 40 + 8 + 80);
    ck_assert_mem_eq(s.job.pk.data + 48, s.packet.pk.data, 128);
    build_later_fragment(IPPROTO_UDP, 64, 1488);
    siit_reply(&s, XLAT_DROP_TOO_BIG);
    ck_assert_uint_eq(s.job.pk.data[40], 2);
    ck_assert_uint_eq(ntohl(pk_get32(s.job.pk.data + 44)), 1520);

    /* What may be part of an ICMPv6 error. */
    build_later_fragment(IPPROTO_ICMPV6, 1, 80);
    siit_dropped(&s, XLAT_N_DROPS);
    build_later_fragment(IPPROTO_DSTOPTS, 64, 80);
    siit_dropped(&s, XLAT_DROP_BAD_EXT_HDR);
}
END_TEST

/* No error about an error, wherever in the packet that is. */
START_TEST(no_reply_behind_ext)
{
    static const struct {
        uint8_t proto;           /* Behind the fragment header. */
        uint8_t next[17];        /* What follows. */
        bool is_reply;
    } cases[] = {
        { 60, { 58, 0, 1, 4, 0, 0, 0, 0, 1 }, false },
        { 60, { 58, 0, 1, 4, 0, 0, 0, 0, 128 }, true },
        { 60, { 17, 0, 1, 4, 0, 0, 0, 0, 1 }, true },
        { 60, { 60, 0, 1, 4, 0, 0, 0, 0,
                58, 0, 1, 4, 0, 0, 0, 0, 4 }, false },
        { 51, { 58, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 }, false },
        { 51, { 6, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 }, true },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memset(l4, 0, 80);
        memcpy(l4, cases[i].next, sizeof cases[i].next);
        packet_build(&s.packet, &(struct packet_spec) {
            .src = C6, .dst = S6, .proto = cases[i].proto, .frag_hdr = true,
            .more = true, .id = 7, .l4 = l4, .l4_bytes = 80 });
        siit_run(&s);
        ck_assert_int_eq(s.job.verdict,
                         cases[i].is_reply ? XLAT_REPLY : XLAT_DROPPED);
    }
}
END_TEST

/* An IPv4 host does not write extension headers into IPv6 packets. */
START_TEST(no_transport)
{
    static const uint8_t protos[] = { 0, 43, 44, 60 };

    for (size_t i = 0; i < sizeof protos; i++) {
        packet_build(&s.packet, &(struct packet_spec) {
            .src = S4, .dst = C4, .proto = 253, .l4 = l4,
            .l4_bytes = 1300 });
        s.packet.pk.data[9] = protos[i];
        pk_put16(s.packet.pk.data + 10, 0);
        pk_put16(s.packet.pk.data + 10,
                 htons(~packet_sum(s.packet.pk.data, 20, 0)));
        siit_dropped(&s, XLAT_DROP_BAD_EXT_HDR);
    }
}
END_TEST

/* RFC 791, 3.1: no datagram has more than 65535 bytes, its header included. */
START_TEST(past_the_end)
{
    for (uint32_t n = 8; n <= 16; n += 8) {
        bool fits = n == 8;
        uint16_t ofs = 65504;

        packet_build(&s.packet, &(struct packet_spec) {
            .src = C6, .dst = S6, .proto = IPPROTO_UDP, .frag_hdr = true,
            .id = 7, .frag_ofs = ofs, .l4 = l4, .l4_bytes = n });
        if (fits) {
            siit_translated(&s);
        } else {
            siit_dropped(&s, XLAT_DROP_GROWN_PAST_MAX);
        }
        packet_build(&s.packet, &(struct packet_spec) {
            .src = S4, .dst = C4, .proto = IPPROTO_UDP, .id = 7,
            .frag_ofs = ofs, .l4 = l4, .l4_bytes = n });
        if (fits) {
            siit_translated(&s);
        } else {
            siit_dropped(&s, XLAT_DROP_BAD_HDR);
        }
    }
}
END_TEST

START_TEST(reply_rate)
{
    struct xlat_counters counters;

    siit_destroy(&s);
    siit_init(&s, "icmp-error-rate=10 icmp-error-burst=3");
    s.ctx.now_us = 1000000;
    for (int i = 0; i < 5; i++) {
        build_udp4(100, false, 1);
        siit_run(&s);
        ck_assert_int_eq(s.job.verdict, i < 3 ? XLAT_REPLY : XLAT_DROPPED);
    }
    s.ctx.now_us += 100000;
    build_udp4(100, false, 1);
    siit_reply(&s, XLAT_DROP_TTL);
    build_udp4(100, false, 1);
    siit_dropped(&s, XLAT_DROP_TTL);
    xlat_zone_get_counters(s.zone, &counters);
    ck_assert_uint_eq(counters.replies, 4);
    ck_assert_uint_eq(counters.replies_limited, 3);
    ck_assert_uint_eq(counters.drops[XLAT_DROP_TTL], 3);
    ck_assert_uint_eq(counters.packets, 7);
}
END_TEST

START_TEST(source_route)
{
    const uint8_t opt[] = { 131, 7, 4, 192, 0, 2, 9, 0 };
    const uint8_t ended[] = { 131, 7, 8, 192, 0, 2, 9, 0 };

    packet_build(&s.packet, &(struct packet_spec) {
        .src = S4, .dst = C4, .proto = IPPROTO_UDP, .ext = opt,
        .ext_bytes = 8, .l4 = l4, .l4_bytes = packet_udp(l4, 1, 2, 40) });
    siit_reply(&s, XLAT_DROP_SOURCE_ROUTE);
    ck_assert_uint_eq(s.job.pk.data[20], 3);
    ck_assert_uint_eq(s.job.pk.data[21], 5);

    packet_build(&s.packet, &(struct packet_spec) {
        .src = S4, .dst = C4, .proto = IPPROTO_UDP, .ext = ended,
        .ext_bytes = 8, .l4 = l4, .l4_bytes = packet_udp(l4, 1, 2, 40) });
    siit_translated(&s);
    ck_assert_uint_eq(s.job.pk.len, 40 + 48);
}
END_TEST

START_TEST(ext_hdrs)
{
    const uint8_t routing[] = { 0, 0, 0, 1, 0, 0, 0, 0 };
    const uint8_t hops[] = { 60, 0, 1, 4, 0, 0, 0, 0, 0, 0, 1, 4, 0, 0, 0, 0 };

    packet_build(&s.packet, &(struct packet_spec) {
        .src = C6, .dst = S6, .proto = IPPROTO_UDP, .ext = routing,
        .ext_bytes = 8, .ext_type = 43,
        .l4 = l4, .l4_bytes = packet_udp(l4, 1, 2, 40) });
    siit_reply(&s, XLAT_DROP_ROUTING_HDR);
    ck_assert_uint_eq(s.job.pk.data[40], 4);
    ck_assert_uint_eq(s.job.pk.data[41], 0);
    ck_assert_uint_eq(ntohl(pk_get32(s.job.pk.data + 44)), 43);

    packet_build(&s.packet, &(struct packet_spec) {
        .src = C6, .dst = S6, .proto = IPPROTO_UDP, .ext = hops,
        .ext_bytes = 16, .ext_type = 0, .ext_last = 8,
        .l4 = l4, .l4_bytes = packet_udp(l4, 1, 2, 40) });
    siit_translated(&s);
    ck_assert_uint_eq(s.job.pk.len, 20 + 48);

    l4[0] = IPPROTO_TCP;
    packet_build(&s.packet, &(struct packet_spec) {
        .src = C6, .dst = S6, .proto = IPPROTO_AH, .frag_hdr = true,
        .more = true, .l4 = l4, .l4_bytes = 80 });
    siit_reply(&s, XLAT_DROP_AH);
    ck_assert_uint_eq(s.job.pk.data[40], 1);
    ck_assert_uint_eq(s.job.pk.data[41], 1);
}
END_TEST

static void
build_udp_zero(bool v4, bool more, uint16_t udp_bytes)
{
    packet_build(&s.packet, &(struct packet_spec) {
        .src = v4 ? S4 : C6, .dst = v4 ? C4 : S6, .proto = IPPROTO_UDP,
        .more = more, .l4 = l4, .l4_bytes = packet_udp(l4, 1, 2, 40) });
    uint8_t *udp = s.packet.pk.data + s.packet.pk.len - 48;
    pk_put16(udp + 4, htons(udp_bytes));
    pk_put16(udp + 6, 0);
}

START_TEST(udp_zero)
{
    static const char *const modes[] = {
        "udp-zero-checksum=drop", "udp-zero-checksum=compute",
        "udp-zero-checksum=forward",
    };

    for (int i = 0; i < 6; i++) {
        int mode = i / 2;

        siit_destroy(&s);
        siit_init(&s, modes[mode]);
        build_udp_zero(i & 1, false, 48);
        if (mode == 0) {
            siit_dropped(&s, XLAT_DROP_UDP_CSUM_ZERO);
            continue;
        }
        siit_translated(&s);
        ck_assert_int_eq(pk_get16(s.job.pk.data + s.job.pk.len - 42) != 0,
                         mode == 1);

        build_udp_zero(i & 1, true, 100);
        if (mode == 1) {
            siit_dropped(&s, XLAT_DROP_UDP_CSUM_ZERO);
            build_udp_zero(i & 1, false, 49);
            siit_dropped(&s, XLAT_DROP_BAD_HDR);
            build_udp_zero(i & 1, false, 7);
            siit_dropped(&s, XLAT_DROP_BAD_HDR);
        } else {
            siit_translated(&s);
        }
    }
}
END_TEST

START_TEST(echo)
{
    packet_build(&s.packet, &(struct packet_spec) {
        .src = C6, .dst = S6, .proto = IPPROTO_ICMPV6,
        .l4 = l4, .l4_bytes = packet_icmp(l4, 128, 0, 0x12340001, NULL, 56) });
    siit_translated(&s);
    ck_assert_uint_eq(s.job.pk.data[20], 8);
    ck_assert_uint_eq(s.job.pk.data[9], 1);
    packet_build(&s.packet, &(struct packet_spec) {
        .src = S4, .dst = C4, .proto = IPPROTO_ICMP,
        .l4 = l4, .l4_bytes = packet_icmp(l4, 0, 0, 0x12340001, NULL, 56) });
    siit_translated(&s);
    ck_assert_uint_eq(s.job.pk.data[40], 129);
    ck_assert_uint_eq(s.job.pk.data[6], 58);

    /* T5: both fragments alike. */
    for (int first = 0; first < 2; first++) {
        packet_build(&s.packet, &(struct packet_spec) {
            .src = S4, .dst = C4, .proto = IPPROTO_ICMP, .more = first,
            .frag_ofs = first ? 0 : 1480, .l4 = l4,
            .l4_bytes = packet_icmp(l4, 8, 0, 1, NULL, 520) });
        siit_dropped(&s, XLAT_DROP_ICMP_FRAGMENT);
    }
    packet_build(&s.packet, &(struct packet_spec) {
        .src = S4, .dst = C4, .proto = IPPROTO_ICMP,
        .l4 = l4, .l4_bytes = packet_icmp(l4, 13, 0, 1, NULL, 12) });
    siit_dropped(&s, XLAT_DROP_ICMP_TYPE);
}
END_TEST

/* T15: segments fit, whatever they were. */
START_TEST(gso)
{
    static const struct {
        bool v4, df;
        uint16_t before, after;
    } cases[] = {
        { true, true, 1460, 1440 },
        { true, true, 1400, 1400 },
        { true, false, 1460, 1220 },
        { false, false, 1440, 1440 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool v4 = cases[i].v4;

        packet_build(&s.packet, &(struct packet_spec) {
            .src = v4 ? S4 : C6, .dst = v4 ? C4 : S6, .proto = IPPROTO_TCP,
            .df = cases[i].df,
            .l4 = l4, .l4_bytes = packet_tcp(l4, 1, 2, 65000) });
        s.packet.pk.gso_size = cases[i].before;
        siit_translated(&s);
        ck_assert_uint_eq(s.job.pk.gso_size, cases[i].after);
        ck_assert_uint_eq(s.job.pk.frag_mtu, 0);
        if (!v4) {
            ck_assert(info()->dont_frag);
        }
    }

    /* UDP keeps its datagrams. */
    for (uint16_t size = 1432; size <= 1452; size += 20) {
        packet_build(&s.packet, &(struct packet_spec) {
            .src = S4, .dst = C4, .proto = IPPROTO_UDP, .df = true,
            .l4 = l4, .l4_bytes = packet_udp(l4, 1, 2, 30000) });
        s.packet.pk.gso_size = size;
        if (size + 48 <= 1500) {
            siit_translated(&s);
            ck_assert_uint_eq(s.job.pk.gso_size, size);
        } else {
            siit_reply(&s, XLAT_DROP_TOO_BIG);
        }
    }
}
END_TEST

START_TEST(unknown_protocols)
{
    static const uint8_t protos[] = { 47, 50, 51, 59, 89, 132, 253 };

    for (size_t i = 0; i < sizeof protos; i++) {
        packet_build(&s.packet, &(struct packet_spec) {
            .src = S4, .dst = C4, .proto = protos[i],
            .l4 = l4, .l4_bytes = i });
        siit_translated(&s);
        ck_assert_uint_eq(s.job.pk.data[6], protos[i]);
        packet_build(&s.packet, &(struct packet_spec) {
            .src = C6, .dst = S6, .proto = protos[i],
            .l4 = l4, .l4_bytes = i });
        siit_translated(&s);
        ck_assert_uint_eq(s.job.pk.data[9], protos[i]);
    }
}
END_TEST

/* X3, X4. */
START_TEST(malformed)
{
    for (uint32_t n = 0; n < 100; n++) {
        build_udp4(100, false, 64);
        s.packet.pk.len = n;
        siit_dropped(&s, XLAT_DROP_TRUNCATED);
        build_udp6(100, 64);
        s.packet.pk.len = n;
        siit_dropped(&s, XLAT_DROP_TRUNCATED);
    }
    build_udp4(100, false, 64);
    s.packet.pk.len += 6;
    siit_translated(&s);
    ck_assert_uint_eq(s.job.pk.len, 120);
    build_udp4(100, false, 64);
    s.packet.pk.headroom = 19;
    siit_dropped(&s, XLAT_DROP_NO_HEADROOM);
    packet_build(&s.packet, &(struct packet_spec) {
        .src = S4, .dst = C4, .proto = IPPROTO_TCP, .l4 = l4,
        .l4_bytes = 19 });
    siit_dropped(&s, XLAT_DROP_TRUNCATED);
}
END_TEST

START_TEST(miss)
{
    for (int pass = 0; pass < 2; pass++) {
        siit_destroy(&s);
        siit_init(&s, pass ? "miss=pass" : "miss=drop");
        packet_build(&s.packet, &(struct packet_spec) {
            .src = C6, .dst = "2001:db8:ffff::1", .proto = IPPROTO_UDP,
            .l4 = l4, .l4_bytes = packet_udp(l4, 1, 2, 40) });
        siit_run(&s);
        ck_assert_int_eq(s.job.verdict, pass ? XLAT_PASSED : XLAT_DROPPED);
        packet_hex(&s.packet, "000108000604000100");
        siit_run(&s);
        ck_assert_int_eq(s.job.verdict, pass ? XLAT_PASSED : XLAT_DROPPED);
    }
}
END_TEST

/* RFC 7757, 4.2.2: out and in again at once, one hop. */
START_TEST(hairpin)
{
    siit_destroy(&s);
    siit_init(&s, "hairpin=intrinsic");
    packet_build(&s.packet, &(struct packet_spec) {
        .src = C6, .dst = "2001:db8:64::c000:205", .proto = IPPROTO_TCP,
        .ttl = 9, .l4 = l4, .l4_bytes = packet_tcp(l4, 1, 2, 1440) });
    siit_translated(&s);
    packet_check_addr(AF_INET6, s.job.pk.data + 8, "2001:db8:64::c000:221");
    packet_check_addr(AF_INET6, s.job.pk.data + 24, "2001:db8:1::5");
    ck_assert_uint_eq(s.job.pk.len, 1500);
    ck_assert_uint_eq(info()->ttl, 8);
    packet_build(&s.packet, &(struct packet_spec) {
        .src = C6, .dst = "2001:db8:64::c000:205", .proto = IPPROTO_ICMPV6,
        .l4 = l4, .l4_bytes = packet_icmp(l4, 128, 0, 7, NULL, 40) });
    siit_translated(&s);
    ck_assert_uint_eq(s.job.pk.data[40], 128);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("xlat-siit");
    TCase *tc = tcase_create("all");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, udp_46);
    tcase_add_test(tc, udp_64);
    tcase_add_test(tc, tos_settings);
    tcase_add_test(tc, short_path_equals_long_way);
    tcase_add_test(tc, too_big_46);
    tcase_add_test(tc, fragment_46);
    tcase_add_test(tc, too_big_64);
    tcase_add_test(tc, fragment_64);
    tcase_add_test(tc, expired);
    tcase_add_test(tc, no_reply);
    tcase_add_test(tc, reply_about_fragment);
    tcase_add_test(tc, no_reply_behind_ext);
    tcase_add_test(tc, no_transport);
    tcase_add_test(tc, past_the_end);
    tcase_add_test(tc, reply_rate);
    tcase_add_test(tc, source_route);
    tcase_add_test(tc, ext_hdrs);
    tcase_add_test(tc, udp_zero);
    tcase_add_test(tc, echo);
    tcase_add_test(tc, gso);
    tcase_add_test(tc, unknown_protocols);
    tcase_add_test(tc, malformed);
    tcase_add_test(tc, miss);
    tcase_add_test(tc, hairpin);
    suite_add_tcase(suite, tc);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
