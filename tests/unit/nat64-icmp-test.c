/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* ICMP errors through stateful zones: about hairpinned packets (RFC 5508,
 * REQ-7), and with as little in them as there may be. */

#include <arpa/inet.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "nat64-net.h"
#include "packet.h"
#include "pk-csum.h"
#include "pk-parse.h"

#define NAT44 "kind=nat44 pool4=192.0.2.1 "
#define NAT64 "kind=nat64 pool6=2001:db8:64::/96 pool4=192.0.2.1 "
#define POOL "192.0.2.1"
#define POOL6 "2001:db8:64::c000:201"
#define SERVER "198.51.100.7"

/* Sends an error 'type', 'code' from 'src' to 'dst' about the datagram
 * 'about'.  Returns whether it is translated, into '*job'. */
static bool
send_error(struct net *net, const char *src, const char *dst, uint8_t type,
           uint8_t code, const struct packet_spec *about, struct xlat_job *job)
{
    static struct packet packet, quoted;
    uint8_t l4[600];
    struct packet_spec spec = {
        .src = src, .dst = dst, .l4 = l4,
        .proto = strchr(src, ':') ? IPPROTO_ICMPV6 : IPPROTO_ICMP,
    };

    packet_build(&quoted, about);
    spec.l4_bytes = packet_icmp(l4, type, code, 0, quoted.pk.data,
                                quoted.pk.len);
    packet_build(&packet, &spec);
    memset(job, 0, sizeof *job);
    job->pk = packet.pk;
    xlat_run(net->zone, &net->ctx, job, 1);
    if (job->verdict == XLAT_TRANSLATED) {
        packet_check(&job->pk);
    }
    return job->verdict == XLAT_TRANSLATED;
}

static uint16_t
port_at(const uint8_t *p)
{
    return ntohs(pk_get16(p));
}

/* A host inside says of a datagram from another one, which has come by the
 * outside, that nobody listens. */
START_TEST(hairpin_64)
{
    uint8_t udp[64];
    struct packet_spec about = { .proto = IPPROTO_UDP, .l4 = udp,
                                 .src = POOL6, .dst = "2001:db8:1::b" };
    struct xlat_job job;
    const uint8_t *ip;
    struct net net;
    int a, b;

    net_begin(&net, NAT64);
    b = net_out(&net, "2001:db8:1::b", 53, "2001:db8:64::c633:6407", 9);
    a = net_out(&net, "2001:db8:1::a", 1000, POOL6, b);
    about.l4_bytes = packet_udp(udp, a, 53, 20);
    ck_assert(send_error(&net, "2001:db8:1::b", POOL6, 1, 4, &about, &job));

    ip = job.pk.data;
    ck_assert_uint_eq(ip[0] >> 4, 6);
    ck_assert_uint_eq(ip[7], 63);
    packet_check_addr(AF_INET6, ip + 8, POOL6);
    packet_check_addr(AF_INET6, ip + 24, "2001:db8:1::a");
    ck_assert_uint_eq(ip[40], 1);
    ck_assert_uint_eq(ip[41], 4);
    packet_check_addr(AF_INET6, ip + 48 + 8, "2001:db8:1::a");
    packet_check_addr(AF_INET6, ip + 48 + 24, POOL6);
    ck_assert_uint_eq(port_at(ip + 88), 1000);
    ck_assert_uint_eq(port_at(ip + 90), b);
    net_end(&net);
}
END_TEST

START_TEST(hairpin_44)
{
    uint8_t udp[64];
    struct packet_spec about = { .proto = IPPROTO_UDP, .l4 = udp,
                                 .src = POOL, .dst = "10.0.0.2" };
    struct xlat_job job;
    const uint8_t *ip;
    struct net net;
    int a, b;

    net_begin(&net, NAT44);
    b = net_out(&net, "10.0.0.2", 53, SERVER, 9);
    a = net_out(&net, "10.0.0.1", 1000, POOL, b);
    about.l4_bytes = packet_udp(udp, a, 53, 20);
    ck_assert(send_error(&net, "10.0.0.2", POOL, 3, 3, &about, &job));

    ip = job.pk.data;
    ck_assert_uint_eq(ip[8], 63);
    packet_check_addr(AF_INET, ip + 12, POOL);
    packet_check_addr(AF_INET, ip + 16, "10.0.0.1");
    packet_check_addr(AF_INET, ip + 28 + 12, "10.0.0.1");
    packet_check_addr(AF_INET, ip + 28 + 16, POOL);
    ck_assert_uint_eq(port_at(ip + 48), 1000);
    ck_assert_uint_eq(port_at(ip + 50), b);

    /* Nobody has sent such a one. */
    about.l4_bytes = packet_udp(udp, a ^ 2, 53, 20);
    ck_assert(!send_error(&net, "10.0.0.2", POOL, 3, 3, &about, &job));
    ck_assert_uint_eq(job.drop, XLAT_DROP_ICMP_INNER);
    net_end(&net);
}
END_TEST

/* However small the MTU is, what is quoted tells the session. */
START_TEST(small_mtu)
{
    static const uint8_t options[40] = { 1, 1, 1, 1 };
    uint8_t udp[128];
    struct packet_spec about = { .proto = IPPROTO_UDP, .l4 = udp,
                                 .dst = SERVER, .src = POOL };
    struct xlat_job job;
    const uint8_t *ip;
    struct net net;

    net_begin(&net, NAT44 "mtu4=68");
    for (uint32_t n = 0; n <= sizeof options; n += 4) {
        int port = net_out(&net, "10.0.0.1", 1000 + n, SERVER, 53);

        about.ext = n ? options : NULL;
        about.ext_bytes = n;
        about.l4_bytes = packet_udp(udp, port, 53, 100);
        ck_assert(send_error(&net, "203.0.113.9", POOL, 11, 0, &about, &job));
        ip = job.pk.data;
        packet_check_addr(AF_INET, ip + 16, "10.0.0.1");
        packet_check_addr(AF_INET, ip + 28 + 12, "10.0.0.1");
        ck_assert_uint_ge(job.pk.len, 28 + 20 + n + 8);
        ck_assert_uint_le(job.pk.len, n > 12 ? 28 + 20 + n + 8 : 68);
        ck_assert_uint_eq(port_at(ip + 48 + n), 1000 + n);
        ck_assert_uint_eq(port_at(ip + 50 + n), 53);
    }
    net_end(&net);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("nat64-icmp");
    TCase *tc = tcase_create("all");
    SRunner *sr = srunner_create(s);
    int n;

    tcase_add_test(tc, hairpin_64);
    tcase_add_test(tc, hairpin_44);
    tcase_add_test(tc, small_mtu);
    suite_add_tcase(s, tc);
    srunner_run_all(sr, CK_ENV);
    n = srunner_ntests_failed(sr);
    srunner_free(sr);
    return n ? EXIT_FAILURE : EXIT_SUCCESS;
}
