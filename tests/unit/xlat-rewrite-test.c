/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* xlat_rewrite_apply(): every pair of families, every protocol that has a
 * checksum, with and without ports; right is what a full computation says. */

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "packet.h"
#include "pk-csum.h"
#include "xlat-private.h"
#include "xlat-rewrite.h"

static struct packet packet;
static uint8_t l4[PACKET_MAX];

static const char *const srcs[] = { "192.0.2.33", "2001:db8:1::21" };
static const char *const dsts[] = { "198.51.100.7", "2001:db8:64::c633:6407" };

/* Random bytes for an address, now and then extreme ones. */
static void
random_addr(union pk_addr *addr)
{
    int kind = rand() % 8;

    for (int i = 0; i < 16; i++) {
        addr->bytes[i] = kind == 0 ? 0 : kind == 1 ? 0xff : rand();
    }
}

static void
random_rewrite(struct xlat_rewrite *rw, uint8_t from, uint8_t to)
{
    memset(rw, 0, sizeof *rw);
    rw->from = from;
    rw->to = to;
    rw->flags = rand() & (XLAT_RW_SRC | XLAT_RW_DST | XLAT_RW_PORTS
                          | XLAT_RW_TTL_DEC | XLAT_RW_TOS_SET);
    rw->tos = rand();
    rw->src_port = rand();
    rw->dst_port = rand();
    random_addr(&rw->src);
    random_addr(&rw->dst);
}

/* A random transport header for family 'family' at 'l4'. */
static uint32_t
random_l4(uint8_t family, uint8_t *proto)
{
    uint32_t n = rand() % 100;
    bool reply = rand() & 1;

    switch (rand() % 4) {
    case 0:
        *proto = IPPROTO_UDP;
        return packet_udp(l4, rand(), rand(), n);
    case 1:
        *proto = IPPROTO_TCP;
        return packet_tcp(l4, rand(), rand(), n);
    case 2:
        *proto = 132;            /* SCTP: not touched. */
        return packet_tcp(l4, rand(), rand(), n);
    default:
        *proto = family == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6;
        return packet_icmp(l4, family == 4 ? (reply ? 0 : 8) : 128 + reply, 0,
                           rand(), NULL, n);
    }
}

/* Checks what the headers of 'pk' say after 'rw'. */
static void
check_fields(const struct xlat_rewrite *rw, const struct pk_info *old,
             const struct pk *pk, const union pk_addr old_addrs[2])
{
    bool all = rw->from != rw->to;
    struct pk_info new;

    ck_assert_int_eq(pk_parse(pk->data, pk->len, 0, &new), PK_OK);
    ck_assert_uint_eq(new.family, rw->to);
    ck_assert_uint_eq(new.ttl, old->ttl - !!(rw->flags & XLAT_RW_TTL_DEC));
    ck_assert_uint_eq(new.tos, rw->flags & XLAT_RW_TOS_SET ? rw->tos
                                                           : old->tos);
    ck_assert_uint_eq(new.len - new.l4_ofs, old->len - old->l4_ofs);

    size_t bytes = rw->to == 4 ? 4 : 16;
    const uint8_t *addrs = pk->data + (rw->to == 4 ? 12 : 8);
    ck_assert(!memcmp(addrs, all || rw->flags & XLAT_RW_SRC
                             ? &rw->src : &old_addrs[0], bytes));
    ck_assert(!memcmp(addrs + bytes, all || rw->flags & XLAT_RW_DST
                                     ? &rw->dst : &old_addrs[1], bytes));
}

static void
check_ports(const struct xlat_rewrite *rw, const struct pk_info *old,
            const struct pk *pk)
{
    const uint8_t *new_l4 = pk->data + pk->len - pk_l4_bytes(old);
    bool ports = rw->flags & XLAT_RW_PORTS;

    if (old->proto == IPPROTO_TCP || old->proto == IPPROTO_UDP) {
        ck_assert_uint_eq(pk_get16(new_l4),
                          ports ? rw->src_port : pk_get16(l4));
        ck_assert_uint_eq(pk_get16(new_l4 + 2),
                          ports ? rw->dst_port : pk_get16(l4 + 2));
    } else if (old->proto != 132) {
        ck_assert_uint_eq(pk_get16(new_l4 + 4),
                          ports ? rw->src_port : pk_get16(l4 + 4));
    }
    /* The rest of the payload is the same. */
    uint32_t n = pk_l4_bytes(old);
    if (n > 20) {
        ck_assert(!memcmp(new_l4 + 20, l4 + 20, n - 20));
    }
}

static void
build_random(uint8_t family, struct pk_info *info)
{
    uint8_t proto;
    uint32_t l4_bytes = random_l4(family, &proto);

    packet_build(&packet, &(struct packet_spec) {
        .src = srcs[family == 6], .dst = dsts[family == 6], .proto = proto,
        .tos = rand(), .ttl = 2 + rand() % 200, .df = rand() & 1,
        .l4 = l4, .l4_bytes = l4_bytes });
    memcpy(l4, packet.pk.data + packet.pk.len - l4_bytes, l4_bytes);
    ck_assert_int_eq(pk_parse(packet.pk.data, packet.pk.len, 0, info), PK_OK);
}

static void
get_addrs(const struct pk *pk, uint8_t family, union pk_addr addrs[2])
{
    size_t bytes = family == 4 ? 4 : 16;

    memset(addrs, 0, 2 * sizeof *addrs);
    memcpy(&addrs[0], pk->data + (family == 4 ? 12 : 8), bytes);
    memcpy(&addrs[1], pk->data + (family == 4 ? 16 : 24), bytes);
}

START_TEST(apply_random)
{
    srand(_i);
    for (int i = 0; i < 2000; i++) {
        uint8_t from = rand() & 1 ? 4 : 6;
        uint8_t to = rand() & 1 ? 4 : 6;
        union pk_addr old_addrs[2];
        struct xlat_rewrite rw;
        struct pk_info info;
        uint32_t room;

        build_random(from, &info);
        get_addrs(&packet.pk, from, old_addrs);
        random_rewrite(&rw, from, to);
        xlat_rewrite_set_delta(&rw, packet.pk.data, &info);
        room = packet.pk.headroom + packet.pk.len + packet.pk.tailroom;
        ck_assert_int_eq(xlat_rewrite_apply(&rw, &packet.pk, &info, i),
                         XLAT_N_DROPS);
        ck_assert_uint_eq(packet.pk.headroom + packet.pk.len
                          + packet.pk.tailroom, room);
        check_fields(&rw, &info, &packet.pk, old_addrs);
        check_ports(&rw, &info, &packet.pk);
        packet_check(&packet.pk);
    }
}
END_TEST

/* The sum is not just equivalent, but the one that a full computation
 * gives. */
START_TEST(apply_canonical_csum)
{
    srand(_i);
    for (int i = 0; i < 2000; i++) {
        uint8_t from = rand() & 1 ? 4 : 6;
        struct xlat_rewrite rw;
        struct pk_info info;
        uint8_t copy[200];

        build_random(from, &info);
        random_rewrite(&rw, from, from == 4 ? 6 : 4);
        xlat_rewrite_set_delta(&rw, packet.pk.data, &info);
        xlat_rewrite_apply(&rw, &packet.pk, &info, i);

        uint32_t l4_ofs = packet.pk.len - pk_l4_bytes(&info);
        memcpy(copy, packet.pk.data, packet.pk.len);
        packet_fill_csum(copy, packet.pk.len, l4_ofs,
                         copy[rw.to == 4 ? 9 : 6]);
        ck_assert(!memcmp(copy, packet.pk.data, packet.pk.len));
    }
}
END_TEST

/* A partial checksum is the sum of the pseudo-header, before and after. */
START_TEST(apply_partial)
{
    srand(_i);
    for (int i = 0; i < 500; i++) {
        uint8_t from = rand() & 1 ? 4 : 6;
        uint8_t to = rand() & 1 ? 4 : 6;
        struct xlat_rewrite rw;
        struct pk_info info;
        uint16_t ofs;
        uint8_t *csum;

        build_random(from, &info);
        ofs = xlat_is_icmp(&info) ? 2 : pk_csum_ofs(info.proto);
        if (!ofs) {
            continue;
        }
        /* What the sender would have: what the payload sums up to, taken
         * from the whole. */
        csum = packet.pk.data + info.l4_ofs + ofs;
        pk_put16(csum, 0);
        uint16_t body = packet_sum(packet.pk.data + info.l4_ofs,
                                   pk_l4_bytes(&info), 0);
        packet_fill_csum(packet.pk.data, packet.pk.len, info.l4_ofs,
                         info.proto);
        uint16_t whole = ~ntohs(pk_get16(csum));
        uint32_t pseudo = whole + (uint16_t) ~body;
        pk_put16(csum, htons((pseudo & 0xffff) + (pseudo >> 16)));

        packet.pk.flags = PK_L4_PARTIAL;
        random_rewrite(&rw, from, to);
        xlat_rewrite_set_delta(&rw, packet.pk.data, &info);
        ck_assert_int_eq(xlat_rewrite_apply(&rw, &packet.pk, &info, i),
                         XLAT_N_DROPS);

        /* Completed by whoever is behind us, it is right. */
        struct pk_info new;
        ck_assert_int_eq(pk_parse(packet.pk.data, packet.pk.len, 0, &new),
                         PK_OK);
        csum = packet.pk.data + new.l4_ofs + ofs;
        uint16_t complete = ~packet_sum(packet.pk.data + new.l4_ofs,
                                        pk_l4_bytes(&new), 0);
        pk_put16(csum, htons(complete));
        packet_check(&packet.pk);
    }
}
END_TEST

static void
rewrite_46(struct xlat_rewrite *rw)
{
    memset(rw, 0, sizeof *rw);
    rw->from = 4;
    rw->to = 6;
    random_addr(&rw->src);
    random_addr(&rw->dst);
}

/* T4 of the other direction and RFC 7915, 4.1: the fragment header. */
START_TEST(apply_fragment_46)
{
    struct xlat_rewrite rw;
    struct pk_info info;

    packet_build(&packet, &(struct packet_spec) {
        .src = srcs[0], .dst = dsts[0], .proto = IPPROTO_UDP, .id = 0x5678,
        .frag_ofs = 1480, .more = true, .l4 = l4, .l4_bytes = 800 });
    ck_assert_int_eq(pk_parse(packet.pk.data, packet.pk.len, 0, &info), 0);
    rewrite_46(&rw);
    ck_assert_int_eq(xlat_rewrite_apply(&rw, &packet.pk, &info, 1),
                     XLAT_N_DROPS);
    packet_check(&packet.pk);
    ck_assert_uint_eq(packet.pk.len, 848);
    ck_assert_int_eq(pk_parse(packet.pk.data, packet.pk.len, 0, &info), 0);
    ck_assert(info.is_frag && info.more_frags);
    ck_assert_uint_eq(info.frag_ofs, 1480);
    ck_assert_uint_eq(info.frag_id, 0x5678);
    ck_assert_uint_eq(info.proto, IPPROTO_UDP);
}
END_TEST

START_TEST(apply_fragment_64)
{
    struct xlat_rewrite rw = { .from = 6, .to = 4 };
    struct pk_info info;

    packet_build(&packet, &(struct packet_spec) {
        .src = srcs[1], .dst = dsts[1], .proto = IPPROTO_UDP,
        .id = 0x12345678, .frag_ofs = 16, .more = true,
        .l4 = l4, .l4_bytes = 1400 });
    ck_assert_int_eq(pk_parse(packet.pk.data, packet.pk.len, 0, &info), 0);
    ck_assert_int_eq(xlat_rewrite_apply(&rw, &packet.pk, &info, 1),
                     XLAT_N_DROPS);
    packet_check(&packet.pk);
    ck_assert_int_eq(pk_parse(packet.pk.data, packet.pk.len, 0, &info), 0);
    ck_assert(info.more_frags && !info.dont_frag);
    ck_assert_uint_eq(info.frag_ofs, 16);
    ck_assert_uint_eq(info.frag_id, 0x5678);
}
END_TEST

/* RFC 7915, 5.1: DF and identification by size. */
START_TEST(apply_df)
{
    for (uint32_t total = 1259; total <= 1262; total++) {
        struct xlat_rewrite rw = { .from = 6, .to = 4 };
        struct pk_info info;

        packet_build(&packet, &(struct packet_spec) {
            .src = srcs[1], .dst = dsts[1], .proto = IPPROTO_UDP,
            .l4 = l4, .l4_bytes = packet_udp(l4, 1, 2, total - 28) });
        pk_parse(packet.pk.data, packet.pk.len, 0, &info);
        xlat_rewrite_set_delta(&rw, packet.pk.data, &info);
        xlat_rewrite_apply(&rw, &packet.pk, &info, 0x1234);
        packet_check(&packet.pk);
        ck_assert_uint_eq(packet.pk.len, total);
        pk_parse(packet.pk.data, packet.pk.len, 0, &info);
        ck_assert_int_eq(info.dont_frag, total > 1260);
        ck_assert_uint_eq(info.frag_id, total > 1260 ? 0 : 0x1234);
    }
}
END_TEST

/* X4: without headroom nothing is written. */
START_TEST(apply_no_headroom)
{
    struct xlat_rewrite rw;
    struct pk_info info;
    uint8_t copy[100];

    packet_build(&packet, &(struct packet_spec) {
        .src = srcs[0], .dst = dsts[0], .proto = IPPROTO_UDP,
        .l4 = l4, .l4_bytes = packet_udp(l4, 1, 2, 10) });
    packet.pk.headroom = 19;
    memcpy(copy, packet.pk.data, packet.pk.len);
    pk_parse(packet.pk.data, packet.pk.len, 0, &info);
    rewrite_46(&rw);
    ck_assert_int_eq(xlat_rewrite_apply(&rw, &packet.pk, &info, 1),
                     XLAT_DROP_NO_HEADROOM);
    ck_assert(!memcmp(copy, packet.pk.data, packet.pk.len));
    packet.pk.headroom = 20;
    ck_assert_int_eq(xlat_rewrite_apply(&rw, &packet.pk, &info, 1),
                     XLAT_N_DROPS);
    ck_assert_uint_eq(packet.pk.headroom, 0);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("xlat-rewrite");
    TCase *tc = tcase_create("all");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(tc, apply_random, 1, 10);
    tcase_add_loop_test(tc, apply_canonical_csum, 1, 10);
    tcase_add_loop_test(tc, apply_partial, 1, 10);
    tcase_add_test(tc, apply_fragment_46);
    tcase_add_test(tc, apply_fragment_64);
    tcase_add_test(tc, apply_df);
    tcase_add_test(tc, apply_no_headroom);
    suite_add_tcase(suite, tc);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
