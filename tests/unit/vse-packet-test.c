/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Packets of OVS's, lent to a translation and taken back: what stands beside
 * the bytes.  The translation is played here. */

#include <config.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "dp-packet.h"
#include "packets.h"
#include "vse-packet.h"

/* Fills in an IP header of 'family' for 'pk', no more of it than is read. */
static void
put_ip(struct pk *pk, int family, uint8_t next_header)
{
    memset(pk->data, 0, family == 4 ? 20 : 40);
    pk->data[0] = family == 4 ? 0x45 : 0x60;
    pk->data[family == 4 ? 9 : 6] = next_header;
}

/* Returns a frame of 'tags' VLAN tags and an IP packet of 'family' with
 * 'l4_bytes' behind its header. */
static struct dp_packet *
make_packet(int family, int tags, size_t l4_bytes, size_t headroom)
{
    size_t ip_bytes = family == 4 ? 20 : 40;
    size_t l2_bytes = ETH_HEADER_LEN + tags * VLAN_HEADER_LEN;
    struct dp_packet *packet;
    struct pk pk;

    packet = dp_packet_new_with_headroom(l2_bytes + ip_bytes + l4_bytes,
                                         headroom);
    uint8_t *frame = dp_packet_put_zeros(packet,
                                         l2_bytes + ip_bytes + l4_bytes);
    memset(frame, 0xd, ETH_ADDR_LEN);
    memset(frame + ETH_ADDR_LEN, 0x5, ETH_ADDR_LEN);
    for (int i = 0; i < tags; i++) {
        memcpy(frame + 12 + 4 * i, "\x81\x00\x00\x0a", 4);
    }
    memcpy(frame + l2_bytes - 2, family == 4 ? "\x08\x00" : "\x86\xdd", 2);
    pk.data = frame + l2_bytes;
    put_ip(&pk, family, 17);
    packet->l3_ofs = l2_bytes;
    packet->l4_ofs = l2_bytes + ip_bytes;
    dp_packet_set_rss_hash(packet, 0x1234);
    return packet;
}

/* Plays the translation of 'packet' to 'family'. */
static void
translate(struct dp_packet *packet, int family, uint8_t next_header)
{
    struct vse_packet vp;
    struct pk pk;

    ck_assert(vse_packet_lend(&vp, packet, &pk));
    int growth = (family == 4 ? 20 : 40) - ((pk.data[0] >> 4) == 4 ? 20 : 40);
    growth += next_header == IPPROTO_FRAGMENT ? 8 : 0;
    ck_assert_int_ge((int) pk.headroom, growth);
    pk.data -= growth;
    pk.len += growth;
    pk.headroom -= growth;
    put_ip(&pk, family, next_header);
    vse_packet_take(&vp, &pk);
}

static void
check_l2(struct dp_packet *packet, int tags, uint16_t ethertype)
{
    const uint8_t *frame = dp_packet_data(packet);
    size_t l2_bytes = ETH_HEADER_LEN + 4 * tags;

    ck_assert_uint_eq(frame[0], 0xd);
    ck_assert_uint_eq(frame[6], 0x5);
    for (int i = 0; i < tags; i++) {
        ck_assert_mem_eq(frame + 12 + 4 * i, "\x81\x00\x00\x0a", 4);
    }
    ck_assert_uint_eq(frame[l2_bytes - 2] << 8 | frame[l2_bytes - 1],
                      ethertype);
    ck_assert_uint_eq(packet->l3_ofs, l2_bytes);
}

START_TEST(test_both_ways)
{
    for (int tags = 0; tags <= 4; tags++) {
        struct dp_packet *packet = make_packet(6, tags, 100, 128);

        translate(packet, 4, 17);
        check_l2(packet, tags, ETH_TYPE_IP);
        ck_assert_uint_eq(packet->l4_ofs, packet->l3_ofs + 20);
        ck_assert_uint_eq(dp_packet_l3_size(packet), 120);
        ck_assert(dp_packet_ip_checksum_valid(packet));
        ck_assert_uint_eq(dp_packet_get_rss_hash(packet), 0x1234);

        translate(packet, 6, 17);
        check_l2(packet, tags, ETH_TYPE_IPV6);
        ck_assert_uint_eq(packet->l4_ofs, packet->l3_ofs + 40);
        ck_assert_uint_eq(dp_packet_l3_size(packet), 140);
        ck_assert(dp_packet_ip_checksum_unknown(packet));
        dp_packet_delete(packet);
    }
}
END_TEST

START_TEST(test_fragment_header)
{
    struct dp_packet *packet = make_packet(4, 0, 100, 128);

    translate(packet, 6, IPPROTO_FRAGMENT);
    ck_assert_uint_eq(packet->l4_ofs, ETH_HEADER_LEN + 48);
    dp_packet_delete(packet);
}
END_TEST

/* ILA leaves lengths and extension headers alone. */
START_TEST(test_same_family)
{
    struct dp_packet *packet = make_packet(6, 0, 100, 128);

    packet->l4_ofs += 24;
    translate(packet, 6, 0);
    ck_assert_uint_eq(packet->l4_ofs, ETH_HEADER_LEN + 40 + 24);
    dp_packet_delete(packet);
}
END_TEST

/* IPv4 to IPv4 changes in place; options, if there are any, stay. */
START_TEST(test_ip4_in_place)
{
    for (int tags = 0; tags <= 4; tags++) {
        struct dp_packet *packet = make_packet(4, tags, 100, 128);
        const uint8_t *frame = dp_packet_data(packet);
        struct vse_packet vp;
        struct pk pk;

        ((uint8_t *) dp_packet_l3(packet))[0] = 0x46;
        ck_assert(vse_packet_lend(&vp, packet, &pk));
        pk.len -= 10;              /* Of them, padding. */
        vse_packet_take(&vp, &pk);
        check_l2(packet, tags, ETH_TYPE_IP);
        ck_assert_ptr_eq(dp_packet_data(packet), frame);
        ck_assert_uint_eq(packet->l4_ofs, packet->l3_ofs + 24);
        ck_assert_uint_eq(dp_packet_l3_size(packet), 110);
        ck_assert(dp_packet_ip_checksum_valid(packet));
        dp_packet_delete(packet);
    }
}
END_TEST

START_TEST(test_padding)
{
    struct dp_packet *packet = make_packet(4, 0, 26, 128);
    struct vse_packet vp;
    struct pk pk;

    dp_packet_set_l2_pad_size(packet, 18);
    ck_assert(vse_packet_lend(&vp, packet, &pk));
    ck_assert_uint_eq(pk.len, 28);
    ck_assert_uint_ge(pk.tailroom, 18);

    translate(packet, 6, 17);
    ck_assert_uint_eq(dp_packet_size(packet), ETH_HEADER_LEN + 48);
    ck_assert_uint_eq(dp_packet_l2_pad_size(packet), 0);
    dp_packet_delete(packet);
}
END_TEST

START_TEST(test_offloads)
{
    struct dp_packet *packet = make_packet(4, 0, 3000, 128);
    struct vse_packet vp;
    struct pk pk;

    dp_packet_l4_checksum_set_partial(packet);
    dp_packet_l4_proto_set_tcp(packet);
    dp_packet_set_tso_segsz(packet, 1460);
    ck_assert(vse_packet_lend(&vp, packet, &pk));
    ck_assert_uint_eq(pk.flags, PK_L4_PARTIAL);
    ck_assert_uint_eq(pk.gso_size, 1460);
    pk.data -= 20;
    pk.len += 20;
    pk.gso_size = 1440;
    put_ip(&pk, 6, 6);
    vse_packet_take(&vp, &pk);
    ck_assert(dp_packet_l4_checksum_partial(packet));
    ck_assert(dp_packet_l4_proto_tcp(packet));
    ck_assert_uint_eq(dp_packet_get_tso_segsz(packet), 1440);
    dp_packet_delete(packet);
}
END_TEST

/* A header checksum that nobody has written is written before lib sees it. */
START_TEST(test_partial_ip_checksum)
{
    struct dp_packet *packet = make_packet(4, 0, 100, 128);
    struct vse_packet vp;
    struct pk pk;

    dp_packet_ip_checksum_set_partial(packet);
    ck_assert(vse_packet_lend(&vp, packet, &pk));
    ck_assert_uint_eq(csum(pk.data, 20), 0);
    dp_packet_delete(packet);
}
END_TEST

/* Inner headers of a packet that OVS has encapsulated keep their distance from
 * the end. */
START_TEST(test_tunnel)
{
    struct dp_packet *packet = make_packet(6, 0, 200, 128);

    dp_packet_tunnel_set_vxlan(packet);
    packet->inner_l3_ofs = 14 + 40 + 8 + 8 + 14;
    packet->inner_l4_ofs = packet->inner_l3_ofs + 20;
    const uint8_t *inner = dp_packet_inner_l3(packet);
    translate(packet, 4, 17);
    ck_assert(dp_packet_tunnel_vxlan(packet));
    ck_assert_ptr_eq(dp_packet_inner_l3(packet), inner);
    ck_assert_ptr_eq(dp_packet_inner_l4(packet), inner + 20);
    dp_packet_delete(packet);

    packet = make_packet(6, 0, 200, 128);
    packet->inner_l3_ofs = 20;
    translate(packet, 4, 17);
    ck_assert_ptr_null(dp_packet_inner_l3(packet));
    dp_packet_delete(packet);
}
END_TEST

START_TEST(test_headroom)
{
    struct dp_packet *packet = make_packet(4, 1, 100, 0);
    struct vse_packet vp;
    struct pk pk;

    /* A buffer that may be replaced is. */
    translate(packet, 6, 17);
    check_l2(packet, 1, ETH_TYPE_IPV6);
    dp_packet_delete(packet);

    /* One that may not is left as it is: lib drops the packet. */
    packet = make_packet(4, 0, 100, 4);
    packet->source = DPBUF_AFXDP;
    ck_assert(vse_packet_lend(&vp, packet, &pk));
    ck_assert_uint_eq(pk.headroom, 4);
    packet->source = DPBUF_MALLOC;
    dp_packet_delete(packet);
}
END_TEST

START_TEST(test_too_large)
{
    struct dp_packet *packet = make_packet(4, 0, 65480, 20);
    struct vse_packet vp;
    struct pk pk;

    ck_assert(!vse_packet_lend(&vp, packet, &pk));
    dp_packet_delete(packet);
}
END_TEST

/* Frames of other types, also those whose first byte looks like IP. */
START_TEST(test_not_ip)
{
    struct dp_packet *packet = make_packet(4, 0, 100, 128);
    struct vse_packet vp;
    struct pk pk;
    uint8_t *frame = dp_packet_data(packet);

    frame[13] = 0x06;
    ck_assert(vse_packet_lend(&vp, packet, &pk));
    ck_assert_uint_ne(pk.data[0] >> 4, 4);
    ck_assert_uint_ne(pk.data[0] >> 4, 6);
    dp_packet_delete(packet);

    packet = make_packet(4, 5, 100, 128);
    ck_assert(vse_packet_lend(&vp, packet, &pk));
    ck_assert_uint_eq(pk.data[0] >> 4, 0);
    dp_packet_delete(packet);

    packet = make_packet(4, 0, 100, 128);
    packet->l2_5_ofs = ETH_HEADER_LEN;
    ck_assert(vse_packet_lend(&vp, packet, &pk));
    ck_assert_uint_eq(pk.data[0] >> 4, 0);
    dp_packet_delete(packet);
}
END_TEST

/* From a port without Ethernet. */
START_TEST(test_packet_type)
{
    struct dp_packet *packet = make_packet(6, 0, 100, 128);

    dp_packet_pull(packet, ETH_HEADER_LEN);
    packet->l3_ofs = 0;
    packet->l4_ofs = 40;
    packet->packet_type = htonl(PT_IPV6);
    translate(packet, 4, 17);
    ck_assert_uint_eq(packet->packet_type, htonl(PT_IPV4));
    ck_assert_uint_eq(packet->l3_ofs, 0);
    ck_assert_uint_eq(dp_packet_size(packet), 120);
    dp_packet_delete(packet);
}
END_TEST

START_TEST(test_reply)
{
    struct dp_packet *packet = make_packet(4, 1, 3000, 128);
    struct vse_packet vp;
    struct pk pk;

    dp_packet_l4_checksum_set_partial(packet);
    dp_packet_l4_proto_set_tcp(packet);
    dp_packet_set_tso_segsz(packet, 1460);
    dp_packet_tunnel_set_vxlan(packet);
    ck_assert(vse_packet_lend(&vp, packet, &pk));
    pk.data -= 28;
    pk.len = 576;
    put_ip(&pk, 4, 1);
    vse_packet_take_reply(&vp, &pk);

    const uint8_t *frame = dp_packet_data(packet);
    ck_assert_uint_eq(frame[0], 0x5);
    ck_assert_uint_eq(frame[6], 0xd);
    ck_assert_mem_eq(frame + 12, "\x81\x00\x00\x0a\x08\x00", 6);
    ck_assert_uint_eq(dp_packet_size(packet), 18 + 576);
    ck_assert_uint_eq(packet->l4_ofs, 18 + 20);
    ck_assert(!dp_packet_l4_checksum_partial(packet));
    ck_assert(!dp_packet_tunnel(packet));
    ck_assert(dp_packet_ip_checksum_valid(packet));
    ck_assert_uint_eq(dp_packet_get_tso_segsz(packet), 0);
    ck_assert_ptr_null(dp_packet_inner_l3(packet));
    dp_packet_delete(packet);
}
END_TEST

START_TEST(test_fragments)
{
    struct dp_packet *packet = make_packet(4, 1, 3008, 128);
    struct dp_packet_batch batch;
    struct vse_packet vp;
    struct pk pk;
    size_t bytes = 0;

    packet->md.recirc_id = 7;
    memset(dp_packet_l4(packet), 0xa5, 3008);
    dp_packet_batch_init(&batch);
    ck_assert(vse_packet_lend(&vp, packet, &pk));
    pk.data -= 20;
    pk.len += 20;
    put_ip(&pk, 6, 17);
    pk.data[4] = 3008 >> 8;
    pk.data[5] = 3008 & 255;
    pk.frag_mtu = 1280;
    pk.frag_id = 0x12345678;
    vse_packet_take_fragments(&vp, &pk, &batch);

    ck_assert_uint_eq(dp_packet_batch_size(&batch), 3);
    DP_PACKET_BATCH_FOR_EACH (i, packet, &batch) {
        check_l2(packet, 1, ETH_TYPE_IPV6);
        ck_assert_uint_eq(packet->l4_ofs, 18 + 48);
        ck_assert_uint_eq(packet->md.recirc_id, 7);
        ck_assert_uint_eq(dp_packet_get_rss_hash(packet), 0x1234);
        ck_assert_uint_le(dp_packet_size(packet), 18 + 1280);
        ck_assert_uint_eq(((uint8_t *) dp_packet_l4(packet))[0], 0xa5);
        bytes += dp_packet_l4_size(packet);
    }
    ck_assert_uint_eq(bytes, 3008);
    dp_packet_delete_batch(&batch, true);
    dp_packet_batch_destroy(&batch);
}
END_TEST

/* A packet from where another one is from, which is translated already, but
 * not taken back. */
START_TEST(test_new_like)
{
    struct dp_packet *packet = make_packet(6, 1, 3000, 128), *other;
    uint8_t ip[80] = { 0x60, [6] = IPPROTO_FRAGMENT, [79] = 0xa5 };
    struct vse_packet vp;
    struct pk pk;

    packet->md.recirc_id = 7;
    ck_assert(vse_packet_lend(&vp, packet, &pk));
    pk.data += 20;
    pk.len -= 20;
    put_ip(&pk, 4, 17);
    other = vse_packet_new_like(&vp, ip, sizeof ip);
    vse_packet_take(&vp, &pk);
    dp_packet_delete(packet);

    check_l2(other, 1, ETH_TYPE_IPV6);
    ck_assert_uint_eq(dp_packet_l3_size(other), sizeof ip);
    ck_assert_mem_eq(dp_packet_l3(other), ip, sizeof ip);
    ck_assert_uint_eq(other->md.recirc_id, 7);
    ck_assert_uint_eq(dp_packet_get_rss_hash(other), 0x1234);
    translate(other, 4, 17);
    check_l2(other, 1, ETH_TYPE_IP);
    ck_assert_uint_eq(dp_packet_size(other), 18 + 60);
    ck_assert_uint_eq(other->l4_ofs, 18 + 20);
    dp_packet_delete(other);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("vse-packet");
    TCase *tc = tcase_create("packets");
    SRunner *runner = srunner_create(suite);
    int n_failed;

    suite_add_tcase(suite, tc);
    tcase_add_test(tc, test_both_ways);
    tcase_add_test(tc, test_fragment_header);
    tcase_add_test(tc, test_same_family);
    tcase_add_test(tc, test_ip4_in_place);
    tcase_add_test(tc, test_padding);
    tcase_add_test(tc, test_offloads);
    tcase_add_test(tc, test_partial_ip_checksum);
    tcase_add_test(tc, test_tunnel);
    tcase_add_test(tc, test_headroom);
    tcase_add_test(tc, test_too_large);
    tcase_add_test(tc, test_not_ip);
    tcase_add_test(tc, test_packet_type);
    tcase_add_test(tc, test_reply);
    tcase_add_test(tc, test_fragments);
    tcase_add_test(tc, test_new_like);
    srunner_run_all(runner, CK_ENV);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
