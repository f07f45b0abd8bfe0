/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Attacks: whatever comes, memory is bounded and sessions that there are go
 * on. */

#include <check.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nat64-net.h"
#include "nat64-private.h"
#include "packet.h"
#include "xlat-zone-private.h"
#include "zone-util.h"

#define NAT64 "kind=nat64 pool6=2001:db8:64::/96 pool4=192.0.2.1 "
#define HOST "2001:db8:1::5"
#define SERVER "198.51.100.7"
#define SERVER6 "2001:db8:64::c633:6407"
#define POOL "192.0.2.1"
#define MANY 50000

/* Runs the packet of 'spec' and returns what became of it. */
static enum xlat_verdict
run(struct net *net, const struct packet_spec *spec)
{
    static struct packet packet;
    struct xlat_job job;

    packet_build(&packet, spec);
    memset(&job, 0, sizeof job);
    job.pk = packet.pk;
    xlat_run(net->zone, &net->ctx, &job, 1);
    net->drop = job.drop;
    return job.verdict;
}

/* A session that must live through everything. */
static int
begin(struct net *net)
{
    int port;

    net_begin(net, NAT64 "max-sessions=1000 icmp-error-rate=100");
    port = net_out(net, HOST, 4000, SERVER6, 53);
    ck_assert_int_ge(port, 0);
    return port;
}

static void
check_and_end(struct net *net, int port, uint64_t bytes)
{
    ck_assert_int_eq(net_out(net, HOST, 4000, SERVER6, 53), port);
    ck_assert_int_eq(net_in(net, SERVER, 53, POOL, port), 4000);
    ck_assert_uint_eq(net_gauges(net).bytes, bytes);
    net_end(net);
}

/* SYNs from everywhere to everywhere. */
START_TEST(unsolicited_syns)
{
    struct net net;
    int port = begin(&net);
    uint64_t bytes = net_gauges(&net).bytes;
    char src[32];
    uint8_t l4[64];

    for (int i = 0; i < MANY; i++) {
        struct packet_spec spec = {
            .src = src, .dst = POOL, .proto = IPPROTO_TCP, .l4 = l4,
            .l4_bytes = packet_tcp(l4, i, i * 7, 0),
        };

        snprintf(src, sizeof src, "203.0.113.%d", i % 250);
        l4[13] = 2;
        ck_assert_int_ne(run(&net, &spec), XLAT_TRANSLATED);
    }
    ck_assert_uint_eq(net_gauges(&net).sessions, 1);
    ck_assert_uint_eq(net_gauges(&net).bindings, 1);
    check_and_end(&net, port, bytes);
}
END_TEST

/* Pieces of packets that never become whole, of both kinds. */
START_TEST(fragments)
{
    struct net net;
    int port = begin(&net);
    uint64_t bytes = net_gauges(&net).bytes;
    uint8_t l4[64];
    struct packet_spec spec = {
        .src = SERVER, .dst = POOL, .proto = IPPROTO_UDP, .l4 = l4,
        .l4_bytes = packet_udp(l4, 53, port, 40),
    };

    l4[6] = 1;                   /* There is a checksum. */
    for (int i = 0; i < MANY; i++) {
        spec.id = i;
        spec.more = true;
        spec.frag_ofs = i % 2 ? 0 : 1480;
        run(&net, &spec);
    }
    /* Those of a packet in order get through all the same. */
    spec.id = 77;
    spec.frag_ofs = 0;
    ck_assert_int_eq(run(&net, &spec), XLAT_TRANSLATED);
    spec.frag_ofs = 48;
    ck_assert_int_eq(run(&net, &spec), XLAT_TRANSLATED);
    check_and_end(&net, port, bytes);
}
END_TEST

/* One host that wants everything. */
START_TEST(greedy_host)
{
    struct net net;
    int port = begin(&net);
    uint64_t bytes = net_gauges(&net).bytes;

    for (int i = 0; i < MANY; i++) {
        net_out(&net, "2001:db8:1::bad", 1 + i, SERVER6, 53);
    }
    ck_assert_uint_eq(net_gauges(&net).sessions, 1000);
    ck_assert_int_eq(net_out(&net, "2001:db8:1::bad", 65535, SERVER6, 53), -1);
    ck_assert_int_eq(net.drop, XLAT_DROP_TABLE_FULL);
    check_and_end(&net, port, bytes);
}
END_TEST

/* Sources that would make the translator talk to itself. */
START_TEST(sources_inside_pool6)
{
    struct net net;
    int port = begin(&net);
    uint64_t bytes = net_gauges(&net).bytes;

    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(net_out(&net, "2001:db8:64::c000:201", i + 1, SERVER6,
                                 53), -1);
        ck_assert_int_eq(net.drop, XLAT_DROP_POOL6_SOURCE);
    }
    ck_assert_uint_eq(net_gauges(&net).sessions, 1);
    check_and_end(&net, port, bytes);
}
END_TEST

/* Who finds keys that collide in one zone, or in one run, has found nothing
 * about another one. */
START_TEST(colliding_keys)
{
    struct nat64_shape shape = {
        .inside_family = 6, .max_sessions = 10000, .max_subscribers = 1,
        .subscriber_prefix6 = 128, .n_shares = 1,
    };
    struct nat64 *a = nat64_create(&shape, 1);
    struct nat64 *b = nat64_create(&shape, 2);
    struct nat64_tuple t = { .sort = NAT64_UDP };
    unsigned int n = 0, same = 0;
    const struct nat64_bucket *first = NULL, *first_b = NULL;

    for (uint32_t i = 0; i < 1000000; i++) {
        const struct nat64_bucket *in_a, *in_b;

        t.remote = i;
        in_a = nat64_index_first(&a->by_inside, nat64_hash_inside(a, &t));
        in_b = nat64_index_first(&b->by_inside, nat64_hash_inside(b, &t));
        first = first ? first : in_a;
        first_b = first_b ? first_b : in_b;
        if (in_a == first) {
            n++;
            same += in_b == first_b;
        }
    }
    ck_assert_uint_gt(n, 500);
    ck_assert_uint_lt(same, n / 20);
    nat64_unref(a);
    nat64_unref(b);
}
END_TEST

/* A port in use costs a search nothing: the last free one of many is found by
 * few looks, and that there is none even sooner. */
START_TEST(last_port)
{
    static struct nat64_ports ports;
    struct rng rng;
    int n = 0;

    rng_init(&rng, 1);
    nat64_ports_init(&ports, 1024, 65535, 0, 1);
    while (nat64_ports_take(&ports, 1024, rng_next(&rng)) >= 0) {
        n++;
    }
    ck_assert_int_eq(n, 64512);
    for (int i = 0; i < 1000; i++) {
        uint16_t port = 1024 + rng_below(&rng, 64512);

        nat64_ports_give(&ports, port);
        ck_assert_int_eq(nat64_ports_take(&ports, rng_next(&rng),
                                          rng_next(&rng)), port);
    }
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("nat64-attack");
    TCase *tc = tcase_create("all");
    SRunner *sr = srunner_create(s);
    int n;

    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, unsolicited_syns);
    tcase_add_test(tc, fragments);
    tcase_add_test(tc, greedy_host);
    tcase_add_test(tc, sources_inside_pool6);
    tcase_add_test(tc, colliding_keys);
    tcase_add_test(tc, last_port);
    suite_add_tcase(s, tc);
    srunner_run_all(sr, CK_ENV);
    n = srunner_ntests_failed(sr);
    srunner_free(sr);
    return n ? EXIT_FAILURE : EXIT_SUCCESS;
}
