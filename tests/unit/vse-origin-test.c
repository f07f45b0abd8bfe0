/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Numbers for where packets come from, with a datapath of dummy ports. */

#include <config.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "dp-packet.h"
#include "dpif.h"
#include "dummy.h"
#include "netdev.h"
#include "odp-util.h"
#include "packets.h"
#include "util.h"
#include "vse-origin.h"

static struct dpif *dpif;
static uint64_t now_us;
static struct dp_packet *packet;
static struct vse_packet vp;

static odp_port_t
add_port(const char *name)
{
    struct netdev *netdev;
    odp_port_t port = ODPP_NONE;

    ck_assert_int_eq(netdev_open(name, "dummy", &netdev), 0);
    ck_assert_int_eq(dpif_port_add(dpif, netdev, &port), 0);
    netdev_close(netdev);
    return port;
}

static void
begin(void)
{
    dummy_enable("");
    ck_assert_int_eq(dpif_create("ovs-test", "dummy", &dpif), 0);
    now_us = 5000000;
    packet = dp_packet_new(100);
}

static void
end(void)
{
    dp_packet_delete(packet);
    dpif_delete(dpif);
    dpif_close(dpif);
}

/* Makes 'vp' that of a packet from 'host' at 'port', with 'n_tags' VLAN tags
 * of 'tci'. */
static void
make(odp_port_t port, uint32_t host, int n_tags, uint16_t tci)
{
    memset(&vp, 0, sizeof vp);
    memset(&packet->md, 0, sizeof packet->md);
    packet->md.in_port.odp_port = port;
    packet->packet_type = htonl(PT_ETH);
    vp.packet = packet;
    vp.l2_bytes = ETH_HEADER_LEN + 4 * n_tags;
    vp.l2[0] = 2;
    vp.l2[6] = 2;
    memcpy(&vp.l2[8], &host, sizeof host);
    for (int i = 0; i < n_tags; i++) {
        memcpy(&vp.l2[12 + 4 * i], "\x81\x00", 2);
        vp.l2[14 + 4 * i] = tci >> 8;
        vp.l2[15 + 4 * i] = tci;
    }
    memcpy(&vp.l2[vp.l2_bytes - 2], "\x86\xdd", 2);
}

static uint16_t
number(void)
{
    return vse_origin_number(&vp, now_us);
}

static uint16_t
number_of(odp_port_t port, uint32_t host, int n_tags, uint16_t tci)
{
    make(port, host, n_tags, tci);
    return number();
}

static bool
is_found(uint16_t n)
{
    struct vse_origin origin;

    return vse_origin_find(n, dpif, &origin);
}

START_TEST(test_same_and_other)
{
    odp_port_t p1, p2;
    uint16_t n;
    struct vse_origin origin;

    begin();
    p1 = add_port("p1");
    p2 = add_port("p2");
    n = number_of(p1, 1, 1, 10);
    ck_assert_uint_ne(n, 0);
    ck_assert_uint_eq(number(), n);
    ck_assert_uint_ne(number_of(p2, 1, 1, 10), n);
    ck_assert_uint_ne(number_of(p1, 2, 1, 10), n);
    ck_assert_uint_ne(number_of(p1, 1, 1, 11), n);
    ck_assert_uint_ne(number_of(p1, 1, 2, 10), n);
    ck_assert_uint_ne(number_of(p1, 1, 0, 0), n);

    /* Priorities, and what is behind, make no difference. */
    ck_assert_uint_eq(number_of(p1, 1, 1, 0x700a), n);
    vp.l2[16] = 0x08;
    vp.l2[17] = 0x00;
    ck_assert_uint_eq(number(), n);

    ck_assert(vse_origin_wants_run());
    ck_assert(!is_found(n));
    vse_origin_run(dpif);
    ck_assert(!vse_origin_wants_run());
    ck_assert(vse_origin_find(n, dpif, &origin));
    ck_assert(origin.port == p1);
    ck_assert_uint_eq(origin.l2_bytes, 18);
    ck_assert_mem_eq(origin.l2, vp.l2, 14);
    ck_assert_mem_eq(&origin.l2[14], "\0\x0a\0\0", 4);
    end();
}
END_TEST

/* Where nothing can be sent. */
START_TEST(test_none)
{
    odp_port_t p1;

    begin();
    p1 = add_port("p1");
    ck_assert_uint_eq(number_of(ODPP_NONE, 1, 0, 0), 0);
    make(p1, 1, 0, 0);
    packet->md.tunnel.ip_dst = htonl(1);
    ck_assert_uint_eq(number(), 0);
    make(p1, 1, 0, 0);
    packet->md.tunnel.ipv6_dst.s6_addr[15] = 1;
    ck_assert_uint_eq(number(), 0);
    make(p1, 1, 0, 0);
    vp.l2[0] |= 1;
    ck_assert_uint_eq(number(), 0);
    make(p1, 1, 0, 0);
    vp.l2[6] |= 1;
    ck_assert_uint_eq(number(), 0);
    make(p1, 1, 0, 0);
    packet->packet_type = htonl(PT_IPV4);
    ck_assert_uint_eq(number(), 0);

    /* LLC and SNAP. */
    make(p1, 1, 2, 0);
    memcpy(&vp.l2[12], "\x00\x40\xaa\xaa\x03\x00\x00\x00\x08\x00", 10);
    ck_assert_uint_eq(number(), 0);
    ck_assert(!vse_origin_wants_run());
    ck_assert(!is_found(0));
    end();
}
END_TEST

/* As many as there is room for; those used last remain. */
START_TEST(test_bound)
{
    static uint16_t numbers[20000];
    unsigned int n_found = 0;
    odp_port_t p1;

    begin();
    p1 = add_port("p1");
    for (uint32_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        now_us += 1000000;
        numbers[i] = number_of(p1, i, 0, 0);
        ck_assert_uint_ne(numbers[i], 0);
        ck_assert_uint_eq(number_of(p1, 0, 0, 0), numbers[0]);
    }
    vse_origin_run(dpif);
    ck_assert(!vse_origin_wants_run());
    ck_assert(is_found(numbers[0]));
    ck_assert(is_found(numbers[ARRAY_SIZE(numbers) - 1]));
    for (uint32_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        struct vse_origin origin;
        uint32_t host;

        if (vse_origin_find(numbers[i], dpif, &origin)) {
            memcpy(&host, &origin.l2[8], sizeof host);
            n_found += host == i;
        }
    }
    ck_assert_uint_eq(n_found, VSE_ORIGINS);
    end();
}
END_TEST

/* A port that is gone, and another one in its place. */
START_TEST(test_gone)
{
    odp_port_t p1, q1;
    uint16_t n, m;

    begin();
    p1 = add_port("p1");
    n = number_of(p1, 1, 0, 0);
    vse_origin_run(dpif);
    ck_assert(is_found(n));
    ck_assert_int_eq(dpif_port_del(dpif, p1, false), 0);
    q1 = add_port("q1");
    ck_assert(p1 == q1);
    ck_assert(!is_found(n));
    now_us += 1000000;
    m = number_of(q1, 1, 0, 0);
    ck_assert_uint_ne(m, n);
    vse_origin_run(dpif);
    ck_assert(is_found(m));
    ck_assert(!is_found(n));

    /* One that goes before anybody has looked. */
    n = number_of(q1, 2, 0, 0);
    ck_assert_int_eq(dpif_port_del(dpif, q1, false), 0);
    vse_origin_run(dpif);
    ck_assert(!vse_origin_wants_run());
    ck_assert(!is_found(n));
    end();
}
END_TEST

int
main(int argc OVS_UNUSED, char *argv[])
{
    Suite *suite = suite_create("vse-origin");
    TCase *tc = tcase_create("origins");
    SRunner *runner = srunner_create(suite);
    int n_failed;

    set_program_name(argv[0]);
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, test_same_and_other);
    tcase_add_test(tc, test_none);
    tcase_add_test(tc, test_bound);
    tcase_add_test(tc, test_gone);
    srunner_run_all(runner, CK_ENV);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
