/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* What subscribers and zones may have: sessions, ports, new sessions a second,
 * blocks of ports. */

#include <arpa/inet.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nat64-net.h"
#include "xlat.h"

#define NAT44 "kind=nat44 pool4=192.0.2.1 "
#define NAT64 "kind=nat64 pool6=2001:db8:64::/96 pool4=192.0.2.1 "
#define SERVER "198.51.100.7"
#define SERVER6 "2001:db8:64::c633:6407"

/* Sends from 'n' ports of 'host' on, and returns how many passed; the others
 * must be refused because of 'drop'. */
static unsigned int
send_many(struct net *net, const char *host, uint16_t port, unsigned int n,
          enum xlat_drop drop)
{
    unsigned int passed = 0;

    for (unsigned int i = 0; i < n; i++) {
        if (net_out(net, host, port + i, SERVER, 53) >= 0) {
            passed++;
        } else {
            ck_assert_int_eq(net->verdict, XLAT_REPLY);
            ck_assert_int_eq(net->drop, drop);
        }
    }
    return passed;
}

START_TEST(sessions)
{
    struct net net;

    net_begin(&net, NAT44 "subscriber-sessions=3");
    ck_assert_uint_eq(send_many(&net, "10.0.0.1", 1000, 5,
                                XLAT_DROP_SUBSCRIBER_SESSIONS), 3);
    ck_assert_uint_eq(send_many(&net, "10.0.0.1", 1000, 3, 0), 3);
    ck_assert_uint_eq(send_many(&net, "10.0.0.2", 1000, 3, 0), 3);
    net.ctx.tenant = 1;
    ck_assert_uint_eq(send_many(&net, "10.0.0.1", 1000, 5,
                                XLAT_DROP_SUBSCRIBER_SESSIONS), 3);
    net.ctx.tenant = 0;
    ck_assert_uint_eq(net_gauges(&net).subscribers, 3);

    /* What has ended counts no more. */
    net_wait(&net, 302);
    ck_assert_uint_eq(net_gauges(&net).subscribers, 0);
    ck_assert_uint_eq(send_many(&net, "10.0.0.1", 1000, 5,
                                XLAT_DROP_SUBSCRIBER_SESSIONS), 3);
    net_end(&net);
}
END_TEST

/* Sessions that the outside begins count for the subscriber they reach. */
START_TEST(sessions_from_outside)
{
    struct net net;
    int port;

    net_begin(&net, NAT44 "subscriber-sessions=3");
    port = net_out(&net, "10.0.0.1", 1000, SERVER, 53);
    ck_assert_int_eq(net_in(&net, "198.51.100.8", 53, "192.0.2.1", port),
                     1000);
    ck_assert_int_eq(net_in(&net, "198.51.100.9", 53, "192.0.2.1", port),
                     1000);
    ck_assert_int_eq(net_in(&net, "198.51.100.10", 53, "192.0.2.1", port), -1);
    ck_assert_int_eq(net.drop, XLAT_DROP_SUBSCRIBER_SESSIONS);
    net_end(&net);
}
END_TEST

START_TEST(ports)
{
    struct net net;

    net_begin(&net, NAT44 "subscriber-ports=2 max-ports=3");
    ck_assert_uint_eq(send_many(&net, "10.0.0.1", 1000, 4,
                                XLAT_DROP_SUBSCRIBER_PORTS), 2);
    /* A binding may have any number of sessions. */
    ck_assert_int_ge(net_out(&net, "10.0.0.1", 1000, "198.51.100.8", 53), 0);
    ck_assert_uint_eq(send_many(&net, "10.0.0.2", 1000, 2,
                                XLAT_DROP_MAX_PORTS), 1);
    /* What the zone refused does not count for the subscriber. */
    net_change(&net, NAT44 "subscriber-ports=2");
    ck_assert_uint_eq(send_many(&net, "10.0.0.2", 2000, 2,
                                XLAT_DROP_SUBSCRIBER_PORTS), 1);
    net_end(&net);
}
END_TEST

START_TEST(rates)
{
    struct net net;

    net_begin(&net, NAT44 "subscriber-rate=2 session-rate=5");
    ck_assert_uint_eq(send_many(&net, "10.0.0.1", 1000, 4,
                                XLAT_DROP_SUBSCRIBER_RATE), 2);
    ck_assert_uint_eq(send_many(&net, "10.0.0.2", 1000, 2, 0), 2);
    ck_assert_uint_eq(send_many(&net, "10.0.0.3", 1000, 2,
                                XLAT_DROP_SESSION_RATE), 1);
    /* Old sessions go on. */
    ck_assert_uint_eq(send_many(&net, "10.0.0.1", 1000, 2, 0), 2);
    net_wait(&net, 1);
    ck_assert_uint_eq(send_many(&net, "10.0.0.1", 2000, 4,
                                XLAT_DROP_SUBSCRIBER_RATE), 2);
    net_end(&net);
}
END_TEST

START_TEST(prefix)
{
    struct net net;

    net_begin(&net, NAT64 "subscriber-prefix6=64 subscriber-sessions=1");
    ck_assert_int_ge(net_out(&net, "2001:db8:1::5", 1, SERVER6, 53), 0);
    ck_assert_int_eq(net_out(&net, "2001:db8:1::6", 1, SERVER6, 53), -1);
    ck_assert_int_eq(net.drop, XLAT_DROP_SUBSCRIBER_SESSIONS);
    ck_assert_int_ge(net_out(&net, "2001:db8:2::5", 1, SERVER6, 53), 0);

    /* Another length keeps sessions, and counts anew. */
    net_change(&net, NAT64 "subscriber-prefix6=128 subscriber-sessions=1");
    ck_assert_uint_eq(net_gauges(&net).sessions, 2);
    ck_assert_int_ge(net_out(&net, "2001:db8:1::6", 1, SERVER6, 53), 0);
    net_end(&net);
}
END_TEST

START_TEST(too_many_subscribers)
{
    struct net net;

    net_begin(&net, NAT44 "subscriber-sessions=9 max-subscribers=2");
    ck_assert_uint_eq(send_many(&net, "10.0.0.1", 1, 1, 0), 1);
    ck_assert_uint_eq(send_many(&net, "10.0.0.2", 1, 1, 0), 1);
    ck_assert_uint_eq(send_many(&net, "10.0.0.3", 1, 1,
                                XLAT_DROP_SUBSCRIBERS), 0);
    /* Who has sessions gets more. */
    ck_assert_uint_eq(send_many(&net, "10.0.0.2", 2, 1, 0), 1);
    net_end(&net);
}
END_TEST

/* Limits that begin while there are sessions count those that come. */
START_TEST(limits_later)
{
    struct net net;

    net_begin(&net, NAT44);
    ck_assert_uint_eq(send_many(&net, "10.0.0.1", 1000, 5, 0), 5);
    net_change(&net, NAT44 "subscriber-sessions=2");
    ck_assert_uint_eq(send_many(&net, "10.0.0.1", 2000, 5,
                                XLAT_DROP_SUBSCRIBER_SESSIONS), 2);
    net_wait(&net, 302);
    ck_assert_uint_eq(send_many(&net, "10.0.0.1", 1000, 5,
                                XLAT_DROP_SUBSCRIBER_SESSIONS), 2);
    net_change(&net, NAT44);
    net_wait(&net, 302);
    ck_assert_uint_eq(net_gauges(&net).subscribers, 0);
    net_end(&net);
}
END_TEST

/* RFC 4787, REQ-2: all sessions of a host have one outside address, as long as
 * that has ports; hosts are spread over all addresses. */
START_TEST(paired_addresses)
{
    unsigned int n_hosts[16] = { 0 };
    struct net net;
    char host[32];

    net_begin(&net, "kind=nat44 pool4=192.0.2.0/28");
    for (int i = 0; i < 200; i++) {
        pk_be32 first = 0;

        snprintf(host, sizeof host, "10.0.0.%d", i + 1);
        for (int j = 0; j < 20; j++) {
            ck_assert_int_ge(net_out(&net, host, 1000 + j, SERVER, 53), 0);
            first = first ? first : net.src4;
            ck_assert_uint_eq(net.src4, first);
        }
        n_hosts[ntohl(first) % 16]++;
    }
    for (int i = 0; i < 16; i++) {
        ck_assert_uint_ge(n_hosts[i], 1);
        ck_assert_uint_le(n_hosts[i], 40);
    }
    net_end(&net);
}
END_TEST

/* When it has none left, other ones follow: here each address has 64 ports. */
START_TEST(paired_addresses_used_up)
{
    unsigned int changes = 0;
    pk_be32 last = 0;
    struct net net;

    net_begin(&net, "kind=nat44 pool4=192.0.2.0/28:1024-1087");
    for (int i = 0; i < 16 * 64; i++) {
        ck_assert_int_ge(net_out(&net, "10.0.0.1", 1000 + i, SERVER, 53), 0);
        changes += net.src4 != last;
        last = net.src4;
    }
    ck_assert_uint_eq(changes, 16);
    ck_assert_int_eq(net_out(&net, "10.0.0.1", 999, SERVER, 53), -1);
    ck_assert_int_eq(net.drop, XLAT_DROP_NO_PORT);
    net_end(&net);
}
END_TEST

/* All memory that a zone of a million sessions takes. */
START_TEST(memory)
{
    struct nat64_gauges gauges;
    struct net net;

    net_begin(&net, "kind=nat44 pool4=192.0.2.0/28 max-sessions=1000000");
    gauges = net_gauges(&net);
    ck_assert_uint_eq(gauges.max_sessions, 1000000);
    ck_assert_uint_le(gauges.bytes, UINT64_C(192) * gauges.max_sessions);
    ck_assert_uint_ge(gauges.bytes, UINT64_C(128) * gauges.max_sessions);
    net_end(&net);
}
END_TEST

#define BLOCKS "kind=nat44 pool4=192.0.2.1:1024-65535 port-block-size=128 "

START_TEST(blocks)
{
    unsigned int of_block[65536 / 128] = { 0 };
    unsigned int n_blocks = 0;
    struct net net;

    net_begin(&net, BLOCKS "port-blocks=2");
    for (int i = 0; i < 256; i++) {
        int port = net_out(&net, "10.0.0.1", 1000 + i, SERVER, 53);

        ck_assert_int_ge(port, 1024);
        n_blocks += !of_block[port / 128]++;
    }
    ck_assert_uint_eq(n_blocks, 2);
    ck_assert_int_eq(net_out(&net, "10.0.0.1", 999, SERVER, 53), -1);
    ck_assert_int_eq(net.drop, XLAT_DROP_SUBSCRIBER_PORTS);

    int port = net_out(&net, "10.0.0.2", 1000, SERVER, 53);
    ck_assert_uint_eq(of_block[port / 128], 0);
    net_end(&net);
}
END_TEST

/* Blocks go back when their last port has cooled, all of them. */
START_TEST(blocks_come_back)
{
    struct net net;
    char host[32];

    net_begin(&net, BLOCKS);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 504; i++) {
            snprintf(host, sizeof host, "10.0.%d.%d", 1 + i / 250, i % 250);
            ck_assert_int_ge(net_out(&net, host, 1, SERVER, 53), 0);
        }
        ck_assert_int_eq(net_out(&net, "10.9.9.9", 1, SERVER, 53), -1);
        ck_assert_int_eq(net.drop, XLAT_DROP_NO_PORT);
        net_wait(&net, 302 + 122);
        ck_assert_uint_eq(net_gauges(&net).ports_in_use, 0);
        ck_assert_uint_eq(net_gauges(&net).subscribers, 0);
    }
    net_end(&net);
}
END_TEST

/* A static binding keeps a block from nobody: not when its port is taken by
 * the configuration, nor when it is that of a binding that was there. */
START_TEST(blocks_with_static_ports)
{
    struct net net;
    char text[256];
    int port, other;

    net_begin(&net, BLOCKS);
    port = net_out(&net, "10.0.0.1", 1, SERVER, 53);
    ck_assert_int_ge(net_out(&net, "10.0.0.1", 2, SERVER, 53), 0);
    other = port + 4;            /* In the same block. */
    if (other / 128 != port / 128) {
        other = port - 4;
    }
    snprintf(text, sizeof text, BLOCKS "bib=udp,10.0.0.1:1,192.0.2.1:%d "
             "bib=udp,10.0.0.2:1,192.0.2.1:%d", port, other);
    net_change(&net, text);
    ck_assert_int_eq(net_in(&net, SERVER, 53, "192.0.2.1", port), 1);
    ck_assert_int_eq(net_out(&net, "10.0.0.1", 3, SERVER, 53) / 128,
                     port / 128);
    net_wait(&net, 302 + 122);
    ck_assert_uint_eq(net_gauges(&net).subscribers, 0);
    ck_assert_uint_eq(net_gauges(&net).ports_in_use, 2);
    ck_assert_int_eq(net_in(&net, SERVER, 53, "192.0.2.1", port), 1);
    ck_assert_int_eq(net_in(&net, SERVER, 53, "192.0.2.1", other), 1);

    net_change(&net, BLOCKS);
    net_wait(&net, 122);
    ck_assert_uint_eq(net_gauges(&net).ports_in_use, 0);
    net_end(&net);
}
END_TEST

#define TWO_BLOCKS "kind=nat44 pool4=192.0.2.1:1024-1151 port-block-size=64 "

/* Of two blocks, one is full of static bindings of UDP. */
START_TEST(block_full_of_static_ports)
{
    char text[8192] = TWO_BLOCKS;
    size_t used = strlen(text);
    struct net net;

    for (int i = 0; i < 64; i++) {
        used += snprintf(text + used, sizeof text - used,
                         "bib=udp,10.0.1.%d:1,192.0.2.1:%d ", i, 1024 + i);
    }
    for (int round = 0; round < 20; round++) {
        net_begin(&net, text);
        net.ctx.rng = round + 1;
        ck_assert_int_ge(net_out(&net, "10.0.0.1", 1, SERVER, 53), 1088);
        ck_assert_int_eq(net_out(&net, "10.0.0.2", 1, SERVER, 53), -1);
        ck_assert_int_eq(net.drop, XLAT_DROP_NO_PORT);
        net_end(&net);
    }
}
END_TEST

/* What becomes static counts no more. */
START_TEST(static_bindings_do_not_count)
{
    struct net net;
    char text[128];
    int port;

    net_begin(&net, NAT44 "subscriber-ports=1");
    port = net_out(&net, "10.0.0.1", 1000, SERVER, 53);
    ck_assert_int_eq(net_out(&net, "10.0.0.1", 1001, SERVER, 53), -1);
    snprintf(text, sizeof text, NAT44 "subscriber-ports=1 "
             "bib=udp,10.0.0.1:1000,192.0.2.1:%d", port);
    net_change(&net, text);
    ck_assert_int_ge(net_out(&net, "10.0.0.1", 1001, SERVER, 53), 0);
    ck_assert_int_eq(net_out(&net, "10.0.0.1", 1002, SERVER, 53), -1);
    net_wait(&net, 302);
    ck_assert_uint_eq(net_gauges(&net).subscribers, 0);
    net_end(&net);
}
END_TEST

/* A dry run says what limits would say to the outside. */
START_TEST(dry_run_from_outside)
{
    struct net net;
    int port;

    net_begin(&net, NAT44 "subscriber-sessions=2 max-sessions=3");
    port = net_out(&net, "10.0.0.1", 1000, SERVER, 53);
    net.ctx.dry_run = true;
    ck_assert_int_eq(net_in(&net, "198.51.100.8", 53, "192.0.2.1", port),
                     1000);
    net.ctx.dry_run = false;
    ck_assert_int_ge(net_out(&net, "10.0.0.1", 1000, "198.51.100.9", 53), 0);
    for (int i = 0; i < 2; i++) {
        net.ctx.dry_run = i;
        ck_assert_int_eq(net_in(&net, "198.51.100.8", 53, "192.0.2.1", port),
                         -1);
        ck_assert_int_eq(net.drop, XLAT_DROP_SUBSCRIBER_SESSIONS);
    }
    net.ctx.dry_run = false;
    port = net_out(&net, "10.0.0.2", 1000, SERVER, 53);
    for (int i = 0; i < 2; i++) {
        net.ctx.dry_run = i;
        ck_assert_int_eq(net_in(&net, "198.51.100.8", 53, "192.0.2.1", port),
                         -1);
        ck_assert_int_eq(net.drop, XLAT_DROP_TABLE_FULL);
    }
    net_end(&net);
}
END_TEST

/* A dry run takes nothing. */
START_TEST(dry_run)
{
    struct net net;

    net_begin(&net, BLOCKS "subscriber-sessions=1 subscriber-rate=1");
    net.ctx.dry_run = true;
    for (int i = 0; i < 5; i++) {
        ck_assert_int_ge(net_out(&net, "10.0.0.1", i + 1, SERVER, 53), 0);
    }
    ck_assert_uint_eq(net_gauges(&net).subscribers, 0);
    ck_assert_uint_eq(net_gauges(&net).ports_in_use, 0);
    net.ctx.dry_run = false;
    ck_assert_int_ge(net_out(&net, "10.0.0.1", 1, SERVER, 53), 0);
    net.ctx.dry_run = true;
    ck_assert_int_eq(net_out(&net, "10.0.0.1", 2, SERVER, 53), -1);
    ck_assert_int_eq(net.drop, XLAT_DROP_SUBSCRIBER_SESSIONS);
    net_end(&net);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("nat64-subscriber");
    TCase *tc = tcase_create("all");
    SRunner *sr = srunner_create(s);
    int n;

    tcase_add_test(tc, sessions);
    tcase_add_test(tc, sessions_from_outside);
    tcase_add_test(tc, ports);
    tcase_add_test(tc, rates);
    tcase_add_test(tc, prefix);
    tcase_add_test(tc, too_many_subscribers);
    tcase_add_test(tc, limits_later);
    tcase_add_test(tc, paired_addresses);
    tcase_add_test(tc, paired_addresses_used_up);
    tcase_add_test(tc, memory);
    tcase_add_test(tc, blocks);
    tcase_add_test(tc, blocks_come_back);
    tcase_add_test(tc, blocks_with_static_ports);
    tcase_add_test(tc, block_full_of_static_ports);
    tcase_add_test(tc, static_bindings_do_not_count);
    tcase_add_test(tc, dry_run_from_outside);
    tcase_add_test(tc, dry_run);
    suite_add_tcase(s, tc);
    srunner_run_all(sr, CK_ENV);
    n = srunner_ntests_failed(sr);
    srunner_free(sr);
    return n ? EXIT_FAILURE : EXIT_SUCCESS;
}
