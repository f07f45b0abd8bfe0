/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Checksums, header parsing and fragmentation. */

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "packet.h"
#include "pk-csum.h"
#include "pk-frag.h"
#include "pk-parse.h"

#define MAX_BYTES 2000

static struct packet packet;
static uint8_t l4[PACKET_MAX];

static enum pk_parse_result
parse(const struct packet *p, struct pk_info *info)
{
    return pk_parse(p->pk.data, p->pk.len, 0, info);
}

static void
fill_random(uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        p[i] = rand();
    }
}

/* The example of RFC 1071, 3. */
START_TEST(csum_rfc1071)
{
    const uint8_t data[] = { 0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7 };

    ck_assert_uint_eq(ntohs(pk_csum_fold(pk_csum_bytes(data, 8))), 0xddf2);
    ck_assert_uint_eq(ntohs(pk_csum_finish(pk_csum_bytes(data, 8))), 0x220d);
}
END_TEST

START_TEST(csum_random)
{
    uint8_t data[MAX_BYTES];

    srand(_i);
    fill_random(data, sizeof data);
    for (size_t n = 0; n < 100; n++) {
        size_t ofs = rand() % 8;

        ck_assert_uint_eq(ntohs(pk_csum_fold(pk_csum_bytes(data + ofs, n))),
                          packet_sum(data + ofs, n, 0));
    }
}
END_TEST

/* RFC 1624, 4: the case in which RFC 1141 gave 0xffff. */
START_TEST(csum_update_rfc1624)
{
    uint16_t delta = pk_csum_delta(htons(0x5555), htons(0x3285));

    ck_assert_uint_eq(pk_csum_update(htons(0xdd2f), delta), htons(0x0000));
}
END_TEST

/* "the result must be what a full computation gives" (RFC 1624, 2). */
START_TEST(csum_update_random)
{
    srand(_i);
    for (int i = 0; i < 1000; i++) {
        uint8_t data[40];
        pk_be16 csum;
        uint64_t old;

        fill_random(data, sizeof data);
        csum = pk_csum_finish(pk_csum_bytes(data, sizeof data));
        old = pk_csum_bytes(data + 8, 16);
        fill_random(data + 8, 16);
        if (i & 1) {
            memset(data + 8, i & 2 ? 0xff : 0, 16);
        }
        csum = pk_csum_update(csum,
                              pk_csum_delta(old,
                                            pk_csum_bytes(data + 8, 16)));
        ck_assert_uint_eq(csum,
                          pk_csum_finish(pk_csum_bytes(data, sizeof data)));
    }
}
END_TEST

START_TEST(parse_4_plain)
{
    struct pk_info info;

    packet_build(&packet, &(struct packet_spec) {
        .src = "192.0.2.1", .dst = "198.51.100.7", .proto = IPPROTO_UDP,
        .df = true, .tos = 0x28, .ttl = 9, .id = 77,
        .l4 = l4, .l4_bytes = packet_udp(l4, 1, 2, 5) });
    packet.pk.len += 13;          /* Ethernet padding. */
    ck_assert_int_eq(parse(&packet, &info), PK_OK);
    ck_assert_uint_eq(info.family, 4);
    ck_assert_uint_eq(info.len, 33);
    ck_assert_uint_eq(info.total, 33);
    ck_assert_uint_eq(info.l4_ofs, 20);
    ck_assert_uint_eq(info.tos, 0x28);
    ck_assert_uint_eq(info.ttl, 9);
    ck_assert_uint_eq(info.frag_id, 77);
    ck_assert(info.dont_frag && !info.is_frag && !info.source_route);
}
END_TEST

/* Every way in which an IPv4 packet can be wrong. */
START_TEST(parse_4_bad)
{
    static const struct {
        int ofs, value;
        uint32_t len;
        enum pk_parse_result result;
    } cases[] = {
        { 0, 0x45, 0, PK_TRUNCATED },
        { 0, 0x45, 19, PK_TRUNCATED },
        { 0, 0x44, 28, PK_BAD_HDR },
        { 0, 0x48, 28, PK_TRUNCATED },   /* Header longer than packet. */
        { 3, 19, 28, PK_BAD_HDR },       /* Total less than header. */
        { 3, 29, 28, PK_TRUNCATED },     /* Total more than packet. */
        { 0, 0x55, 28, PK_NOT_IP },
        { 6, 0x1f, 28, PK_OK },
    };
    struct pk_info info;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        packet_build(&packet, &(struct packet_spec) {
            .src = "192.0.2.1", .dst = "198.51.100.7", .proto = 200,
            .l4 = l4, .l4_bytes = 8 });
        packet.pk.data[cases[i].ofs] = cases[i].value;
        ck_assert_int_eq(pk_parse(packet.pk.data, cases[i].len,
                                  PK_PARSE_CSUM_OK, &info),
                         cases[i].result);
    }
}
END_TEST

START_TEST(parse_4_csum)
{
    struct pk_info info;

    packet_build(&packet, &(struct packet_spec) {
        .src = "192.0.2.1", .dst = "198.51.100.7", .proto = 200,
        .l4 = l4, .l4_bytes = 8 });
    packet.pk.data[10] ^= 1;
    ck_assert_int_eq(parse(&packet, &info), PK_BAD_HDR);
    ck_assert_int_eq(pk_parse(packet.pk.data, packet.pk.len,
                              PK_PARSE_QUOTE, &info), PK_OK);
}
END_TEST

/* RFC 791, 3.1: the route has ended when the pointer passes the length. */
START_TEST(parse_4_source_route)
{
    static const struct {
        uint8_t opt[8];
        bool unexpired;
    } cases[] = {
        { { 131, 7, 4, 192, 0, 2, 9, 0 }, true },
        { { 1, 137, 7, 4, 192, 0, 2, 9 }, true },
        { { 131, 7, 8, 192, 0, 2, 9, 0 }, false },
        { { 7, 7, 4, 192, 0, 2, 9, 0 }, false },    /* Record route. */
        { { 0, 131, 7, 4, 192, 0, 2, 9 }, false },  /* Behind the end. */
        { { 131, 9, 4, 192, 0, 2, 9, 0 }, false },  /* Too long. */
        { { 131, 0, 4, 192, 0, 2, 9, 0 }, false },
    };
    struct pk_info info;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        packet_build(&packet, &(struct packet_spec) {
            .src = "192.0.2.1", .dst = "198.51.100.7", .proto = 200,
            .ext = cases[i].opt, .ext_bytes = 8, .l4 = l4, .l4_bytes = 8 });
        ck_assert_int_eq(parse(&packet, &info), PK_OK);
        ck_assert_uint_eq(info.l4_ofs, 28);
        ck_assert_int_eq(info.source_route, cases[i].unexpired);
    }
}
END_TEST

static void
build_6_ext(uint8_t type, const uint8_t *ext, uint32_t n, uint32_t last,
            bool frag, uint8_t proto)
{
    packet_build(&packet, &(struct packet_spec) {
        .src = "2001:db8::1", .dst = "2001:db8::2", .proto = proto,
        .ext = ext, .ext_bytes = n, .ext_type = type, .ext_last = last,
        .frag_hdr = frag, .id = 0x12345678,
        .l4 = l4, .l4_bytes = packet_udp(l4, 1, 2, 40) });
}

START_TEST(parse_6_ext)
{
    /* Hop-by-hop, destination options, routing with no segments left. */
    const uint8_t ext[] = {
        60, 0, 1, 4, 0, 0, 0, 0,
        43, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0,
    };
    struct pk_info info;

    build_6_ext(0, ext, sizeof ext, 24, true, IPPROTO_UDP);
    ck_assert_int_eq(parse(&packet, &info), PK_OK);
    ck_assert_uint_eq(info.proto, IPPROTO_UDP);
    ck_assert_uint_eq(info.l4_ofs, 40 + 32 + 8);
    ck_assert(info.is_frag && !info.more_frags && !info.frag_ofs);
    ck_assert_uint_eq(info.frag_id, 0x12345678);

    /* Cut anywhere, it is too short; as a quote it is too, until the chain
     * is whole. */
    for (uint32_t n = 0; n < packet.pk.len; n++) {
        ck_assert_int_eq(pk_parse(packet.pk.data, n, 0, &info),
                         PK_TRUNCATED);
        ck_assert_int_eq(pk_parse(packet.pk.data, n, PK_PARSE_QUOTE, &info),
                         n < 80 ? PK_TRUNCATED : PK_OK);
    }
}
END_TEST

START_TEST(parse_6_bad_ext)
{
    const uint8_t routing[] = { 0, 0, 0, 2, 0, 0, 0, 0 };
    const uint8_t too_long[] = { 0, 255, 0, 0, 0, 0, 0, 0 };
    uint8_t many[17 * 8] = { 0 };
    struct pk_info info;

    build_6_ext(43, routing, 8, 0, false, IPPROTO_UDP);
    ck_assert_int_eq(parse(&packet, &info), PK_BAD_ROUTING);
    ck_assert_uint_eq(info.bad_ofs, 43);
    ck_assert_uint_eq(info.proto, IPPROTO_UDP);

    build_6_ext(0, too_long, 8, 0, false, IPPROTO_UDP);
    ck_assert_int_eq(parse(&packet, &info), PK_TRUNCATED);

    build_6_ext(0, many, sizeof many, 16 * 8, false, IPPROTO_UDP);
    ck_assert_int_eq(parse(&packet, &info), PK_BAD_EXT);
    build_6_ext(0, many, 16 * 8, 15 * 8, false, IPPROTO_UDP);
    ck_assert_int_eq(parse(&packet, &info), PK_OK);

    /* RFC 7915, 5.1.1. */
    build_6_ext(0, NULL, 0, 0, true, IPPROTO_DSTOPTS);
    ck_assert_int_eq(parse(&packet, &info), PK_BAD_EXT);
    build_6_ext(0, NULL, 0, 0, true, IPPROTO_AH);
    ck_assert_int_eq(parse(&packet, &info), PK_BAD_AH);
    build_6_ext(0, NULL, 0, 0, true, IPPROTO_ESP);
    ck_assert_int_eq(parse(&packet, &info), PK_OK);
}
END_TEST

/* Cuts a UDP packet of 'n' bytes of payload and puts it together again. */
static void
check_fragments(const char *src, const char *dst, uint32_t n, uint16_t mtu)
{
    static uint8_t again[PACKET_MAX];
    static uint8_t buf[PACKET_MAX];
    uint32_t l4_bytes = packet_udp(l4, 1000, 2000, n);
    struct pk_frag frag;
    struct pk_info info;
    uint32_t end = 0;
    bool last = false;
    int bytes;

    packet_build(&packet, &(struct packet_spec) {
        .src = src, .dst = dst, .proto = IPPROTO_UDP, .id = 0xabcd,
        .l4 = l4, .l4_bytes = l4_bytes });
    packet.pk.frag_mtu = mtu;
    packet.pk.frag_id = 0xabcd;
    pk_frag_init(&frag, &packet.pk);
    ck_assert_int_lt(pk_frag_next(&frag, buf, 10), 0);
    while ((bytes = pk_frag_next(&frag, buf, sizeof buf)) > 0) {
        ck_assert(!last);
        ck_assert_int_le(bytes, mtu);
        ck_assert_int_eq(pk_parse(buf, bytes, 0, &info), PK_OK);
        ck_assert_uint_eq(info.len, bytes);
        ck_assert_uint_eq(info.frag_ofs, end);
        ck_assert_uint_eq(info.frag_id, 0xabcd);
        ck_assert_uint_eq(info.proto, IPPROTO_UDP);
        memcpy(again + end, buf + info.l4_ofs, bytes - info.l4_ofs);
        end += bytes - info.l4_ofs;
        last = !info.more_frags;
    }
    ck_assert(last);
    ck_assert_int_eq(pk_frag_next(&frag, buf, sizeof buf), 0);
    ck_assert_uint_eq(end, l4_bytes);
    ck_assert(!memcmp(again, packet.pk.data + packet.pk.len - l4_bytes, end));
}

START_TEST(frag_whole)
{
    for (uint32_t n = 1300; n < 4000; n += 37) {
        check_fragments("2001:db8::1", "2001:db8::2", n, 1280);
        check_fragments("192.0.2.1", "192.0.2.2", n, 1280);
        check_fragments("192.0.2.1", "192.0.2.2", n, 68);
    }
    check_fragments("192.0.2.1", "192.0.2.2", 65000, 1500);
}
END_TEST

/* A fragment that is cut further keeps offset and M flag. */
START_TEST(frag_of_fragment)
{
    for (int more = 0; more < 2; more++) {
        uint8_t buf[1280];
        struct pk_frag frag;
        struct pk_info info;
        uint32_t end = 1448;
        int bytes;

        packet_build(&packet, &(struct packet_spec) {
            .src = "2001:db8::1", .dst = "2001:db8::2", .proto = IPPROTO_UDP,
            .id = 0x5678, .frag_ofs = 1448, .more = more,
            .l4 = l4, .l4_bytes = 1448 });
        packet.pk.frag_mtu = 1280;
        packet.pk.frag_id = 99;
        pk_frag_init(&frag, &packet.pk);
        while ((bytes = pk_frag_next(&frag, buf, sizeof buf)) > 0) {
            ck_assert_int_eq(pk_parse(buf, bytes, 0, &info), PK_OK);
            ck_assert_uint_eq(info.l4_ofs, 48);
            ck_assert_uint_eq(info.frag_ofs, end);
            ck_assert_uint_eq(info.frag_id, 0x5678);
            end += bytes - 48;
        }
        ck_assert_uint_eq(end, 2 * 1448);
        ck_assert_int_eq(info.more_frags, more);
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("pk");
    TCase *tc = tcase_create("all");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_test(tc, csum_rfc1071);
    tcase_add_loop_test(tc, csum_random, 1, 20);
    tcase_add_test(tc, csum_update_rfc1624);
    tcase_add_loop_test(tc, csum_update_random, 1, 20);
    tcase_add_test(tc, parse_4_plain);
    tcase_add_test(tc, parse_4_bad);
    tcase_add_test(tc, parse_4_csum);
    tcase_add_test(tc, parse_4_source_route);
    tcase_add_test(tc, parse_6_ext);
    tcase_add_test(tc, parse_6_bad_ext);
    tcase_add_test(tc, frag_whole);
    tcase_add_test(tc, frag_of_fragment);
    suite_add_tcase(suite, tc);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
