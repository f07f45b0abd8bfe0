/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* ICMP errors: types and codes, pointers and MTUs, the packet inside, and
 * extensions (RFC 4884). */

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "packet.h"
#include "pk-csum.h"
#include "siit.h"
#include "xlat-icmp.h"
#include "xlat-private.h"

static struct siit s;
static struct packet quote;
static uint8_t l4[PACKET_MAX];
static uint8_t inner_l4[PACKET_MAX];

static const char *const C6 = "2001:db8:1::21";     /* 192.0.2.33. */
static const char *const S6 = "2001:db8:64::c633:6407";
static const char *const C4 = "192.0.2.33";
static const char *const S4 = "198.51.100.7";
static const char *const R4 = "203.0.113.9";
static const char *const R6 = "2001:db8:64::cb00:7109";

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

/* Builds in 'quote' a packet from client to server. */
static void
build_quote(bool v4, uint8_t proto, uint32_t l4_bytes)
{
    packet_build(&quote, &(struct packet_spec) {
        .src = v4 ? C4 : C6, .dst = v4 ? S4 : S6, .proto = proto, .ttl = 1,
        .l4 = inner_l4, .l4_bytes = l4_bytes });
}

/* Builds an error from a router to the client with the first 'n' bytes of
 * 'quote' inside. */
static void
build_error(bool v4, uint8_t type, uint8_t code, uint32_t rest, uint32_t n)
{
    packet_build(&s.packet, &(struct packet_spec) {
        .src = v4 ? R4 : R6, .dst = v4 ? C4 : C6,
        .proto = v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6,
        .l4 = l4, .l4_bytes = packet_icmp(l4, type, code, rest,
                                          quote.pk.data, n) });
}

/* The error that comes back the other way, from an IPv6 router that the EAM
 * has, to the server. */
static void
build_error_64(uint8_t type, uint8_t code, uint32_t rest, uint32_t n)
{
    packet_build(&s.packet, &(struct packet_spec) {
        .src = "2001:db8:1::fe", .dst = S6, .proto = IPPROTO_ICMPV6,
        .l4 = l4, .l4_bytes = packet_icmp(l4, type, code, rest,
                                          quote.pk.data, n) });
}

static void
build_quote_64(uint8_t proto, uint32_t l4_bytes)
{
    packet_build(&quote, &(struct packet_spec) {
        .src = S6, .dst = C6, .proto = proto, .ttl = 1,
        .l4 = inner_l4, .l4_bytes = l4_bytes });
}

/* RFC 7915, 4.2. */
START_TEST(types_46)
{
    static const int codes[16][2] = {
        { 1, 0 }, { 1, 0 }, { 4, 1 }, { 1, 4 }, { 2, 0 }, { 1, 0 }, { 1, 0 },
        { 1, 0 }, { 1, 0 }, { 1, 1 }, { 1, 1 }, { 1, 0 }, { 1, 0 }, { 1, 1 },
        { -1, -1 }, { 1, 1 },
    };

    build_quote(true, IPPROTO_UDP, packet_udp(inner_l4, 1, 2, 30));
    for (int code = 0; code < 256; code++) {
        build_error(true, 3, code, 0, 28);
        if (code > 15 || codes[code][0] < 0) {
            siit_dropped(&s, XLAT_DROP_ICMP_TYPE);
            continue;
        }
        siit_translated(&s);
        ck_assert_int_eq(s.job.pk.data[40], codes[code][0]);
        ck_assert_int_eq(s.job.pk.data[41], codes[code][1]);
        if (code == 2) {
            ck_assert_uint_eq(ntohl(pk_get32(s.job.pk.data + 44)), 6);
        }
    }
    for (int type = 0; type < 256; type++) {
        build_error(true, type, 1, 0, 28);
        if (type == 3 || type == 11) {
            siit_translated(&s);
        } else if (type != 0 && type != 8) {
            siit_dropped(&s, XLAT_DROP_ICMP_TYPE);
        }
    }
}
END_TEST

/* T11 and RFC 7915, figure 3. */
START_TEST(pointers_46)
{
    static const int pointers[20] = {
        0, 1, 4, 4, -1, -1, -1, -1, 7, 6, -1, -1, 8, 8, 8, 8, 24, 24, 24, 24,
    };

    build_quote(true, IPPROTO_UDP, packet_udp(inner_l4, 1, 2, 30));
    for (uint32_t i = 0; i < 256; i++) {
        for (int code = 0; code <= 2; code += 2) {
            build_error(true, 12, code, i << 24, 28);
            if (i >= 20 || pointers[i] < 0) {
                siit_dropped(&s, XLAT_DROP_PARAM_POINTER);
            } else {
                siit_translated(&s);
                ck_assert_uint_eq(s.job.pk.data[40], 4);
                ck_assert_uint_eq(s.job.pk.data[41], 0);
                ck_assert_uint_eq(ntohl(pk_get32(s.job.pk.data + 44)),
                                  pointers[i]);
            }
        }
    }
}
END_TEST

/* RFC 7915, 5.2 and figure 6. */
START_TEST(types_64)
{
    static const int codes[] = { 1, 10, 1, 1, 3 };

    build_quote_64(IPPROTO_UDP, packet_udp(inner_l4, 1, 2, 30));
    for (int code = 0; code < 8; code++) {
        build_error_64(1, code, 0, 48);
        if (code > 4) {
            siit_dropped(&s, XLAT_DROP_ICMP_TYPE);
        } else {
            siit_translated(&s);
            ck_assert_uint_eq(s.job.pk.data[20], 3);
            ck_assert_uint_eq(s.job.pk.data[21], codes[code]);
        }
    }
    build_error_64(3, 0, 0, 48);
    siit_translated(&s);
    ck_assert_uint_eq(s.job.pk.data[20], 11);
    build_error_64(4, 1, 6, 48);
    siit_translated(&s);
    ck_assert_uint_eq(s.job.pk.data[20], 3);
    ck_assert_uint_eq(s.job.pk.data[21], 2);
    build_error_64(4, 2, 6, 48);
    siit_dropped(&s, XLAT_DROP_ICMP_TYPE);
    for (uint32_t i = 0; i < 60; i++) {
        int want = i < 2 ? (int) i : i < 4 ? -1 : i < 6 ? 2 : i == 6 ? 9
                   : i == 7 ? 8 : i < 24 ? 12 : i < 40 ? 16 : -1;

        build_error_64(4, 0, i, 48);
        if (want < 0) {
            siit_dropped(&s, XLAT_DROP_PARAM_POINTER);
        } else {
            siit_translated(&s);
            ck_assert_uint_eq(s.job.pk.data[20], 12);
            ck_assert_int_eq(s.job.pk.data[24], want);
        }
    }
    for (int type = 130; type < 138; type++) {
        build_error_64(type, 0, 0, 48);
        siit_dropped(&s, XLAT_DROP_ICMP_TYPE);
    }
}
END_TEST

START_TEST(mtu_46)
{
    static const struct {
        uint32_t mtu4, mtu6, told, want;
    } cases[] = {
        { 1500, 1500, 1400, 1420 },
        { 1500, 1500, 1480, 1500 },
        { 1500, 1500, 1500, 1500 },      /* IPv6 side. */
        { 1400, 9000, 1500, 1420 },      /* IPv4 side. */
        { 1500, 9000, 576, 1280 },       /* Never below 1280. */
        { 1500, 9000, 0, 1512 },         /* Plateau 1492. */
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct xlat_settings set = {
            .mtu4 = cases[i].mtu4, .mtu6 = cases[i].mtu6,
        };
        struct xlat_icmp hdr;
        uint8_t icmp[8] = { 3, 4 };

        pk_put16(icmp + 6, htons(cases[i].told));
        ck_assert_int_eq(xlat_icmp_46(icmp, &set, 1500, &hdr), XLAT_N_DROPS);
        ck_assert_uint_eq(hdr.type, 2);
        ck_assert_uint_eq(hdr.rest, cases[i].want);
    }
}
END_TEST

START_TEST(mtu_64)
{
    static const struct {
        uint32_t mtu4, mtu6, told, want;
    } cases[] = {
        { 1500, 1500, 1400, 1380 },
        { 1500, 1500, 1500, 1480 },
        { 1500, 1500, 9000, 1480 },
        { 1300, 9000, 1500, 1300 },
        { 1500, 1500, 10, 68 },          /* Not wrapped. */
        { 1500, 1500, 0, 68 },
        { 65535, 65535, 0xffffffff, 65515 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct xlat_settings set = {
            .mtu4 = cases[i].mtu4, .mtu6 = cases[i].mtu6,
        };
        struct xlat_icmp hdr;
        uint8_t icmp[8] = { 2, 0 };

        pk_put32(icmp + 4, htonl(cases[i].told));
        ck_assert_int_eq(xlat_icmp_64(icmp, &set, &hdr), XLAT_N_DROPS);
        ck_assert_uint_eq(hdr.type, 3);
        ck_assert_uint_eq(hdr.code, 4);
        ck_assert_uint_eq(hdr.rest, cases[i].want);
    }
}
END_TEST

/* T1: an echo inside becomes an echo, with a right checksum of its own. */
START_TEST(echo_inside)
{
    build_quote(true, IPPROTO_ICMP,
                packet_icmp(inner_l4, 8, 0, 0x12340001, NULL, 56));
    build_error(true, 3, 1, 0, quote.pk.len);
    siit_translated(&s);

    struct pk inner = { .data = s.job.pk.data + 48,
                        .len = s.job.pk.len - 48 };
    ck_assert_uint_eq(s.job.pk.data[40], 1);
    ck_assert_uint_eq(inner.data[40], 128);
    ck_assert_uint_eq(inner.data[6], IPPROTO_ICMPV6);
    ck_assert_uint_eq(inner.data[7], 1);          /* Hop limit unchanged. */
    packet_check(&inner);
    packet_check_addr(AF_INET6, s.job.pk.data + 8, R6);
    packet_check_addr(AF_INET6, s.job.pk.data + 24, C6);
    packet_check_addr(AF_INET6, inner.data + 8, C6);
    packet_check_addr(AF_INET6, inner.data + 24, S6);
}
END_TEST

/* T2 and "cut short": every length from none at all. */
START_TEST(cut_short)
{
    static const uint8_t protos[] = { IPPROTO_TCP, IPPROTO_UDP, 47, 1 };

    for (size_t i = 0; i < sizeof protos; i++) {
        uint32_t n = protos[i] == 1
                     ? packet_icmp(inner_l4, 8, 0, 1, NULL, 40)
                     : protos[i] == IPPROTO_UDP
                     ? packet_udp(inner_l4, 1000, 2000, 40)
                     : packet_tcp(inner_l4, 1000, 2000, 28);

        for (uint32_t cut = 0; cut <= n; cut++) {
            build_quote(true, protos[i], n);
            build_error(true, 3, 4, 1400, 20 + cut);
            siit_translated(&s);
            ck_assert_uint_eq(s.job.pk.len, 48 + 40 + cut);
            ck_assert_uint_eq(ntohs(pk_get16(s.job.pk.data + 52)), n);
            if (cut == n) {
                struct pk inner = { .data = s.job.pk.data + 48,
                                    .len = s.job.pk.len - 48 };
                packet_check(&inner);
            }

            build_quote_64(protos[i] == 1 ? 58 : protos[i], n);
            if (protos[i] == 1) {
                quote.pk.data[40] = 128;
                packet_fill_csum(quote.pk.data, quote.pk.len, 40, 58);
            }
            build_error_64(2, 0, 1400, 40 + cut);
            siit_translated(&s);
            ck_assert_uint_eq(s.job.pk.len, 28 + 20 + cut);
            ck_assert_uint_eq(packet_sum(s.job.pk.data + 28, 20, 0), 0xffff);
            if (cut == n) {
                struct pk inner = { .data = s.job.pk.data + 28,
                                    .len = s.job.pk.len - 28 };
                packet_check(&inner);
            }
        }
    }
}
END_TEST

/* X1: no packet inside, half of one, another version, another error. */
START_TEST(bad_inside)
{
    for (int v4 = 0; v4 < 2; v4++) {
        uint32_t hdr = v4 ? 20 : 40;

        if (v4) {
            build_quote(true, IPPROTO_UDP, packet_udp(inner_l4, 1, 2, 30));
        } else {
            build_quote_64(IPPROTO_UDP, packet_udp(inner_l4, 1, 2, 30));
        }
        for (uint32_t n = 0; n < hdr; n++) {
            if (v4) {
                build_error(true, 3, 1, 0, n);
            } else {
                build_error_64(1, 0, 0, n);
            }
            siit_dropped(&s, XLAT_DROP_ICMP_INNER);
        }
    }
    build_quote(false, IPPROTO_UDP, packet_udp(inner_l4, 1, 2, 30));
    build_error(true, 3, 1, 0, quote.pk.len);
    siit_dropped(&s, XLAT_DROP_ICMP_INNER);
    build_quote(true, IPPROTO_ICMP, packet_icmp(inner_l4, 3, 1, 0, NULL, 30));
    build_error(true, 3, 1, 0, quote.pk.len);
    siit_dropped(&s, XLAT_DROP_ICMP_INNER);
    build_quote(true, IPPROTO_UDP, packet_udp(inner_l4, 1, 2, 30));
    build_error(true, 3, 1, 0, quote.pk.len);
    s.packet.pk.len = 27;
    siit_dropped(&s, XLAT_DROP_TRUNCATED);
}
END_TEST

/* Real routers have decremented the TTL and left the checksum behind. */
START_TEST(bad_inner_csum)
{
    build_quote(true, IPPROTO_UDP, packet_udp(inner_l4, 1, 2, 30));
    quote.pk.data[10] ^= 0x55;
    build_error(true, 11, 0, 0, quote.pk.len);
    siit_translated(&s);
}
END_TEST

/* T13. */
START_TEST(inner_udp_zero)
{
    packet_hex(&s.packet,
               "4500003c0000000040017c9ecb007101c0000221030328550000000045000"
               "020000000003c119271c0000221c63364070fa00035000c00006162636"
               "4");
    siit_translated(&s);
    ck_assert_uint_eq(s.job.pk.data[40], 1);
    ck_assert_uint_eq(s.job.pk.data[41], 4);
    ck_assert_uint_eq(s.job.pk.len, 100);
}
END_TEST

/* An inner fragment behind the first has no transport header. */
START_TEST(inner_fragment)
{
    for (int first = 0; first < 2; first++) {
        packet_build(&quote, &(struct packet_spec) {
            .src = C4, .dst = S4, .proto = IPPROTO_ICMP, .id = 0x7777,
            .more = first, .frag_ofs = first ? 0 : 1480,
            .l4 = inner_l4,
            .l4_bytes = packet_icmp(inner_l4, first ? 8 : 99, 0, 1, NULL,
                                    40) });
        build_error(true, 11, 1, 0, quote.pk.len);
        siit_translated(&s);
        const uint8_t *inner = s.job.pk.data + 48;
        ck_assert_uint_eq(inner[6], IPPROTO_FRAGMENT);
        ck_assert_uint_eq(inner[40], IPPROTO_ICMPV6);
        ck_assert_uint_eq(ntohl(pk_get32(inner + 44)), 0x7777);
        ck_assert_uint_eq(inner[48], first ? 128 : 99);
        ck_assert_uint_eq(ntohs(pk_get16(inner + 4)), 56);
    }
}
END_TEST

/* T8: length attribute in 32-bit words, then in 64-bit words; the quote is
 * padded to 128 bytes, as RFC 4884, 3 wants. */
START_TEST(extension_46)
{
    static const uint8_t ext[] = {
        0x20, 0x00, 0x9d, 0xef, 0x00, 0x08, 0x01, 0x01, 0x00, 0x06, 0x41,
        0x01,
    };

    packet_hex(&s.packet,
               "4500006c000000003d017f6ecb007101c00002210b001433001100004500"
               "05c8000040003c064cd4c0000221c63364079c4001bb000003e800000001"
               "5010faf002e500005a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"
               "5a5a5a5a5a5a20009def0008010100064101");
    siit_run(&s);
    ck_assert_int_eq(s.job.verdict, XLAT_TRANSLATED);
    packet_check(&s.job.pk);
    const uint8_t *icmp = s.job.pk.data + 40;
    ck_assert_uint_eq(icmp[0], 3);
    ck_assert_uint_eq(icmp[4], 128 / 8);
    ck_assert_uint_eq(s.job.pk.len, 40 + 8 + 128 + 12);
    ck_assert(!memcmp(icmp + 8 + 128, ext, sizeof ext));
    ck_assert_uint_eq(icmp[8 + 87], 0x5a);
    for (int i = 88; i < 128; i++) {
        ck_assert_uint_eq(icmp[8 + i], 0);
    }
}
END_TEST

/* Appends an extension of 'n' bytes to a quote padded to 'length' bytes. */
static uint32_t
add_extension(uint32_t length, uint32_t n)
{
    memset(quote.pk.data + quote.pk.len, 0, length);
    memset(quote.pk.data + length, 0xe7, n);
    return length + n;
}

/* The padded quote follows the packet inside, whichever way it goes. */
START_TEST(extension_sizes)
{
    for (uint32_t n = 0; n < 900; n += 13) {
        uint32_t length, total;

        /* To 6. */
        build_quote(true, IPPROTO_UDP, packet_udp(inner_l4, 1, 2, n));
        length = (quote.pk.len + 3) / 4 * 4;
        length = length < 128 ? 128 : length;
        total = add_extension(length, 16);
        build_error(true, 11, 0, length / 4 << 16, total);
        siit_translated(&s);
        length = (n + 48 + 7) / 8 * 8;
        length = length < 128 ? 128 : length;
        ck_assert_uint_eq(s.job.pk.data[44], length / 8);
        ck_assert_uint_eq(s.job.pk.len, 48 + length + 16);
        ck_assert_uint_eq(s.job.pk.data[48 + length], 0xe7);
        ck_assert_uint_eq(s.job.pk.data[48 + length - 1],
                          length > n + 48 ? 0 : (uint8_t) n);

        /* To 4. */
        build_quote_64(IPPROTO_UDP, packet_udp(inner_l4, 1, 2, n));
        length = (quote.pk.len + 7) / 8 * 8;
        length = length < 128 ? 128 : length;
        total = add_extension(length, 16);
        build_error_64(3, 0, length / 8 << 24, total);
        siit_translated(&s);
        length = (n + 28 + 3) / 4 * 4;
        length = length < 128 ? 128 : length;
        ck_assert_uint_eq(s.job.pk.data[25], length / 4);
        ck_assert_uint_eq(s.job.pk.len, 28 + length + 16);
        ck_assert_uint_eq(s.job.pk.data[28 + length], 0xe7);
    }
}
END_TEST

/* Appends an extension with its checksum: 'n' objects of 'bytes' bytes. */
static uint32_t
add_objects(uint32_t length, uint32_t n, uint16_t bytes)
{
    uint8_t *ext = quote.pk.data + length;
    uint32_t total = add_extension(length, 4 + n * bytes);

    pk_put32(ext, htonl(0x20000000));
    for (uint32_t i = 0; i < n; i++) {
        pk_put16(ext + 4 + i * bytes, htons(bytes));
    }
    pk_put16(ext + 2, htons(~packet_sum(ext, 4 + n * bytes, 0)));
    return total;
}

/* Checks that the result, to IPv6, has a quote of 'length' bytes and an
 * extension of 'ext_bytes', its checksum right. */
static void
check_extension(uint32_t length, uint32_t ext_bytes)
{
    siit_translated(&s);
    ck_assert_uint_eq(s.job.pk.data[44], length / 8);
    ck_assert_uint_eq(s.job.pk.len, 48 + length + ext_bytes);
    ck_assert_uint_eq(packet_sum(s.job.pk.data + 48 + length, ext_bytes, 0),
                      0xffff);
}

/* The quote gives way to extensions, down to 128 bytes; then objects go. */
START_TEST(extension_and_limit)
{
    build_quote(true, IPPROTO_UDP, packet_udp(inner_l4, 1, 2, 700));
    build_error(true, 11, 0, 728u / 4 << 16, add_objects(728, 1, 480));
    check_extension(1232 / 8 * 8 - 488, 484);
    build_quote(true, IPPROTO_UDP, packet_udp(inner_l4, 1, 2, 700));
    build_error(true, 11, 0, 728u / 4 << 16, add_objects(728, 2, 548));
    check_extension(128, 4 + 2 * 548);
    build_quote(true, IPPROTO_UDP, packet_udp(inner_l4, 1, 2, 700));
    build_error(true, 11, 0, 728u / 4 << 16, add_objects(728, 3, 500));
    check_extension(128, 4 + 2 * 500);
    build_quote(true, IPPROTO_UDP, packet_udp(inner_l4, 1, 2, 100));
    build_error(true, 11, 0, 128u / 4 << 16, add_objects(128, 3, 500));
    check_extension(128, 4 + 2 * 500);
}
END_TEST

/* RFC 7915, 4.2: "simply truncated"; here to nothing, as it has no objects.
 * And none where the new type has no length attribute. */
START_TEST(extension_too_long)
{
    uint32_t total;

    build_quote(true, IPPROTO_UDP, packet_udp(inner_l4, 1, 2, 100));
    total = add_extension(128, 1200);
    build_error(true, 11, 0, 128 / 4 << 16, total);
    siit_translated(&s);
    ck_assert_uint_eq(s.job.pk.len, 48 + 148);
    ck_assert_uint_eq(s.job.pk.data[44], 0);

    total = add_extension(128, 100);
    build_error(true, 12, 0, 0, total);
    s.packet.pk.data[25] = 32;
    packet_fill_csum(s.packet.pk.data, s.packet.pk.len, 20, 1);
    siit_translated(&s);
    ck_assert_uint_eq(ntohl(pk_get32(s.job.pk.data + 44)), 0);
    ck_assert_uint_eq(s.job.pk.len, 48 + 148);

    /* The length attribute of ICMPv4 ends at 1020 bytes. */
    build_quote_64(IPPROTO_UDP, packet_udp(inner_l4, 1, 2, 1052));
    total = add_extension(1104, 16);
    build_error_64(3, 0, 1104u / 8 << 24, total);
    siit_translated(&s);
    ck_assert_uint_eq(s.job.pk.data[25], 255);
    ck_assert_uint_eq(s.job.pk.len, 28 + 1020 + 16);
}
END_TEST

/* Errors are no larger than IPv6 guarantees. */
START_TEST(cut_46)
{
    build_quote(true, IPPROTO_UDP, packet_udp(inner_l4, 1, 2, 1400));
    build_error(true, 3, 3, 0, quote.pk.len);
    siit_translated(&s);
    ck_assert_uint_eq(s.job.pk.len, 1280);
    ck_assert_uint_eq(s.job.pk.frag_mtu, 0);
}
END_TEST

/* What was damaged stays damaged. */
START_TEST(outer_csum_wrong)
{
    build_quote(true, IPPROTO_UDP, packet_udp(inner_l4, 1, 2, 30));
    build_error(true, 3, 3, 0, quote.pk.len);
    s.packet.pk.data[s.packet.pk.len - 1] ^= 1;
    siit_run(&s);
    ck_assert_int_eq(s.job.verdict, XLAT_TRANSLATED);
    uint8_t *ip = s.job.pk.data;
    pk_be16 csum = pk_get16(ip + 42);
    packet_fill_csum(ip, s.job.pk.len, 40, IPPROTO_ICMPV6);
    ck_assert_uint_ne(pk_get16(ip + 42), csum);
}
END_TEST

/* RFC 6791: routers without a mapping speak with an address of pool4. */
START_TEST(router_without_mapping)
{
    build_quote_64(IPPROTO_UDP, packet_udp(inner_l4, 1, 2, 30));
    build_error_64(3, 0, 0, quote.pk.len);
    s.packet.pk.data[8] = 0xfd;
    packet_fill_csum(s.packet.pk.data, s.packet.pk.len, 40, IPPROTO_ICMPV6);
    siit_translated(&s);
    packet_check_addr(AF_INET, s.job.pk.data + 12, "203.0.113.1");
}
END_TEST

START_TEST(error_hairpin)
{
    siit_destroy(&s);
    siit_init(&s, "hairpin=intrinsic");
    /* B, 2001:db8:1::5 (192.0.2.5), refuses what A, C6, sent to
     * 2001:db8:64::192.0.2.5, and knows A as 2001:db8:64::192.0.2.33. */
    packet_build(&quote, &(struct packet_spec) {
        .src = "2001:db8:64::c000:221", .dst = "2001:db8:1::5",
        .proto = IPPROTO_UDP,
        .l4 = inner_l4, .l4_bytes = packet_udp(inner_l4, 1, 2, 30) });
    packet_build(&s.packet, &(struct packet_spec) {
        .src = "2001:db8:1::5", .dst = "2001:db8:64::c000:221",
        .proto = IPPROTO_ICMPV6, .ttl = 20,
        .l4 = l4, .l4_bytes = packet_icmp(l4, 1, 4, 0, quote.pk.data,
                                          quote.pk.len) });
    siit_translated(&s);
    ck_assert_uint_eq(s.job.pk.len, s.packet.pk.len);
    ck_assert_uint_eq(s.job.pk.data[7], 19);
    ck_assert_uint_eq(s.job.pk.data[40], 1);
    ck_assert_uint_eq(s.job.pk.data[41], 4);
    packet_check_addr(AF_INET6, s.job.pk.data + 8, "2001:db8:64::c000:205");
    packet_check_addr(AF_INET6, s.job.pk.data + 24, C6);
    struct pk inner = { .data = s.job.pk.data + 48,
                        .len = s.job.pk.len - 48 };
    packet_check(&inner);
    packet_check_addr(AF_INET6, inner.data + 8, C6);
    packet_check_addr(AF_INET6, inner.data + 24, "2001:db8:64::c000:205");
}
END_TEST

/* Without headroom for all of it, nothing is written in front. */
START_TEST(no_headroom)
{
    build_quote(true, IPPROTO_UDP, packet_udp(inner_l4, 1, 2, 30));
    for (uint32_t headroom = 38; headroom <= 40; headroom++) {
        build_error(true, 3, 3, 0, quote.pk.len);
        s.packet.pk.headroom = headroom;
        if (headroom < 40) {
            siit_dropped(&s, XLAT_DROP_NO_HEADROOM);
        } else {
            siit_translated(&s);
        }
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("xlat-icmp");
    TCase *tc = tcase_create("all");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, types_46);
    tcase_add_test(tc, pointers_46);
    tcase_add_test(tc, types_64);
    tcase_add_test(tc, mtu_46);
    tcase_add_test(tc, mtu_64);
    tcase_add_test(tc, echo_inside);
    tcase_add_test(tc, cut_short);
    tcase_add_test(tc, bad_inside);
    tcase_add_test(tc, bad_inner_csum);
    tcase_add_test(tc, inner_udp_zero);
    tcase_add_test(tc, inner_fragment);
    tcase_add_test(tc, extension_46);
    tcase_add_test(tc, extension_sizes);
    tcase_add_test(tc, extension_and_limit);
    tcase_add_test(tc, extension_too_long);
    tcase_add_test(tc, cut_46);
    tcase_add_test(tc, outer_csum_wrong);
    tcase_add_test(tc, router_without_mapping);
    tcase_add_test(tc, error_hairpin);
    tcase_add_test(tc, no_headroom);
    suite_add_tcase(suite, tc);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
