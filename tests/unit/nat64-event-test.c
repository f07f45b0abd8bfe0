/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* The queue of a session log, what zones put into it, and how it reads. */

#include <arpa/inet.h>
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "nat64-event.h"
#include "nat64-net.h"
#include "xlat-log.h"
#include "zone-util.h"

/* ------------------------------------------------------------------------
 * The queue.
 * ------------------------------------------------------------------------ */

static void
put(struct nat64_events *events, uint32_t number)
{
    struct nat64_event event = { .tenant = number, .limit = ~number };

    nat64_events_put(events, &event);
}

/* Checks that the next event is 'number'. */
static void
take(struct nat64_events *events, uint32_t number)
{
    struct nat64_event event;

    /* An assertion that holds costs a system call. */
    if (!nat64_events_take(events, &event) || event.tenant != number
        || event.limit != ~number) {
        ck_abort_msg("number %u", number);
    }
}

START_TEST(order)
{
    struct nat64_events *events = nat64_events_create();
    struct nat64_event event;
    uint32_t n_put = 0, n_taken = 0;
    struct rng rng;

    rng_init(&rng, 1);
    ck_assert(!nat64_events_take(events, &event));
    while (n_taken < 3 * NAT64_EVENTS) {
        for (uint32_t n = rng_below(&rng, 1000); n; n--) {
            put(events, n_put++);
        }
        for (uint32_t n = rng_below(&rng, 1000); n && n_taken < n_put; n--) {
            take(events, n_taken++);
        }
        while (n_put - n_taken > NAT64_EVENTS - 1000) {
            take(events, n_taken++);
        }
    }
    ck_assert_uint_eq(nat64_events_lost(events), 0);
    nat64_events_unref(events);
}
END_TEST

START_TEST(full)
{
    struct nat64_events *events = nat64_events_create();
    struct nat64_event event;

    for (uint32_t i = 0; i < NAT64_EVENTS + 5; i++) {
        put(events, i);
    }
    ck_assert_uint_eq(nat64_events_lost(events), 5);
    take(events, 0);
    put(events, NAT64_EVENTS);
    put(events, NAT64_EVENTS + 1);
    ck_assert_uint_eq(nat64_events_lost(events), 6);
    for (uint32_t i = 1; i <= NAT64_EVENTS; i++) {
        take(events, i);
    }
    ck_assert(!nat64_events_take(events, &event));
    ck_assert_uint_eq(nat64_events_lost(events), 6);
    nat64_events_unref(events);
}
END_TEST

#define N_PRODUCERS 3
#define N_EACH 200000

struct producer {
    pthread_t thread;
    struct nat64_events *events;
    uint16_t number;
};

static void *
produce(void *producer_)
{
    struct producer *p = producer_;

    for (uint32_t i = 0; i < N_EACH; i++) {
        struct nat64_event event = {
            .tenant = i, .inside_port = p->number, .limit = ~i,
        };

        nat64_events_put(p->events, &event);
    }
    return NULL;
}

/* Every event arrives once, in the order of its producer, or is lost. */
START_TEST(producers)
{
    struct nat64_events *events = nat64_events_create();
    struct producer all[N_PRODUCERS];
    uint32_t next[N_PRODUCERS] = { 0 };
    uint64_t n_taken = 0;

    for (int i = 0; i < N_PRODUCERS; i++) {
        all[i] = (struct producer) {
            .events = nat64_events_ref(events), .number = i,
        };
        pthread_create(&all[i].thread, NULL, produce, &all[i]);
    }
    while (n_taken + nat64_events_lost(events) < N_PRODUCERS * N_EACH) {
        struct nat64_event event;

        if (!nat64_events_take(events, &event)) {
            sched_yield();
            continue;
        }
        n_taken++;
        if (event.inside_port >= N_PRODUCERS || event.limit != ~event.tenant
            || event.tenant < next[event.inside_port]) {
            ck_abort_msg("producer %u, number %u", event.inside_port,
                         event.tenant);
        }
        next[event.inside_port] = event.tenant + 1;
    }
    ck_assert_uint_gt(n_taken, 0);
    for (int i = 0; i < N_PRODUCERS; i++) {
        pthread_join(all[i].thread, NULL);
        nat64_events_unref(events);
    }
    nat64_events_unref(events);
}
END_TEST

/* ------------------------------------------------------------------------
 * Text.
 * ------------------------------------------------------------------------ */

static struct nat64_event
event6(enum nat64_event_kind kind)
{
    struct nat64_event event = {
        .kind = kind, .proto = IPPROTO_TCP, .inside_family = 6,
        .inside_bits = 128, .inside_port = 4000, .outside_port = 5000,
        .outside = inet_addr("192.0.2.1"),
    };

    inet_pton(AF_INET6, "2001:db8::1", &event.inside);
    return event;
}

static struct nat64_event
event4(enum nat64_event_kind kind)
{
    return (struct nat64_event) {
        .kind = kind, .proto = IPPROTO_ICMP, .inside_family = 4,
        .inside_bits = 32, .inside = { .in4 = inet_addr("10.0.0.1") },
        .inside_port = 7, .outside_port = 64, .last_port = 127,
        .outside = inet_addr("192.0.2.1"), .tenant = 12,
    };
}

static void
check_text(const struct nat64_event *event, uint32_t zone, const char *wanted)
{
    char text[NAT64_EVENT_TEXT_SIZE];

    nat64_event_format(event, zone, text);
    ck_assert_str_eq(text, wanted);
}

START_TEST(words)
{
    struct nat64_event e = event6(NAT64_EVENT_SESSION_ADD);
    char text[NAT64_EVENT_TEXT_SIZE];

    check_text(&e, 1, "nat64 zone=1 event=session-add proto=tcp "
               "inside=[2001:db8::1]:4000 outside=192.0.2.1:5000 tenant=0");
    e = event4(NAT64_EVENT_BINDING_DEL);
    check_text(&e, 65535, "nat64 zone=65535 event=binding-delete proto=icmp "
               "inside=10.0.0.1:7 outside=192.0.2.1:64 tenant=12");
    e = event4(NAT64_EVENT_BLOCK_ADD);
    check_text(&e, 1, "nat64 zone=1 event=block-add inside=10.0.0.1 "
               "outside=192.0.2.1:64-127 tenant=12");
    e = event6(NAT64_EVENT_BLOCK_DEL);
    inet_pton(AF_INET6, "2001:db8:1::", &e.inside);
    e.inside_bits = 56;
    e.last_port = 5063;
    check_text(&e, 1, "nat64 zone=1 event=block-delete "
               "inside=2001:db8:1::/56 outside=192.0.2.1:5000-5063 tenant=0");
    e = event6(NAT64_EVENT_NO_PORT);
    e.proto = IPPROTO_UDP;
    e.outside = 0;
    check_text(&e, 1, "nat64 zone=1 event=no-port proto=udp "
               "inside=[2001:db8::1]:4000 tenant=0");
    e.kind = NAT64_EVENT_LIMIT;
    e.drop = XLAT_DROP_SUBSCRIBER_SESSIONS;
    check_text(&e, 1, "nat64 zone=1 event=limit proto=udp "
               "inside=[2001:db8::1]:4000 limit=subscriber-sessions tenant=0");

    /* The longest. */
    memset(&e, 0xff, sizeof e);
    e.kind = NAT64_EVENT_LIMIT;
    e.drop = XLAT_DROP_SUBSCRIBER_SESSIONS;
    e.inside_family = 6;
    check_text(&e, UINT32_MAX, "nat64 zone=4294967295 event=limit proto=icmp "
               "inside=[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535 "
               "outside=255.255.255.255:65535 limit=subscriber-sessions "
               "tenant=4294967295");

    nat64_event_format_missing("lost", UINT64_MAX, 3, text);
    ck_assert_str_eq(text, "nat64 zone=3 event=lost "
                     "count=18446744073709551615");
}
END_TEST

/* ------------------------------------------------------------------------
 * Zones.
 * ------------------------------------------------------------------------ */

#define NAT44 "kind=nat44 zone=2 pool4=192.0.2.1:5000-5001 "
#define NAT64 "kind=nat64 zone=2 pool6=2001:db8:64::/96 " \
              "pool4=192.0.2.1:5056-5119 "
#define SERVER "198.51.100.7"
#define SERVER6 "2001:db8:64::c633:6407"

/* Checks the next event of 'net' by its text without what all have in
 * common; NULL: there is none. */
static void
check_next(struct net *net, const char *wanted)
{
    static const char begin[] = "nat64 zone=2 event=";
    char text[NAT64_EVENT_TEXT_SIZE] = "";
    struct nat64_event event;

    if (nat64_next_event(net->zone, &event)) {
        nat64_event_format(&event, xlat_zone_number(net->zone), text);
        ck_assert_int_eq(strncmp(text, begin, sizeof begin - 1), 0);
        ck_assert_str_eq(text + sizeof begin - 1, wanted ? wanted : "none");
    } else {
        ck_assert_msg(!wanted, "no %s", wanted);
    }
}

START_TEST(off)
{
    struct net net;
    uint64_t bytes;

    net_begin(&net, NAT44);
    ck_assert_ptr_null(nat64_events_of(net.zone));
    ck_assert_ptr_null(xlat_zone_log_to(net.zone));
    bytes = net_gauges(&net).bytes;
    net_out(&net, "10.0.0.1", 5000, SERVER, 53);
    check_next(&net, NULL);

    /* On, and off again: the queue remains, and nothing gets into it. */
    net_change(&net, NAT44 "log=sessions");
    ck_assert_uint_eq(net_gauges(&net).bytes, bytes + nat64_events_bytes());
    ck_assert_str_eq(xlat_zone_log_to(net.zone), "syslog");
    net_change(&net, NAT44);
    ck_assert_ptr_null(xlat_zone_log_to(net.zone));
    net_out(&net, "10.0.0.1", 5001, SERVER, 53);
    check_next(&net, NULL);
    net_end(&net);
}
END_TEST

START_TEST(sessions)
{
    struct net net;

    net_begin(&net, NAT44 "log=sessions port-reuse-delay=0");
    net.ctx.tenant = 7;
    net_out(&net, "10.0.0.1", 5000, SERVER, 53);
    check_next(&net, "binding-add proto=udp inside=10.0.0.1:5000 "
               "outside=192.0.2.1:5000 tenant=7");
    check_next(&net, "session-add proto=udp inside=10.0.0.1:5000 "
               "outside=192.0.2.1:5000 tenant=7");
    check_next(&net, NULL);
    net_out(&net, "10.0.0.1", 5000, SERVER, 54);
    check_next(&net, "session-add proto=udp inside=10.0.0.1:5000 "
               "outside=192.0.2.1:5000 tenant=7");
    net_out(&net, "10.0.0.1", 5000, SERVER, 54);
    net_wait(&net, 302);
    check_next(&net, "session-delete proto=udp inside=10.0.0.1:5000 "
               "outside=192.0.2.1:5000 tenant=7");
    check_next(&net, "session-delete proto=udp inside=10.0.0.1:5000 "
               "outside=192.0.2.1:5000 tenant=7");
    check_next(&net, "binding-delete proto=udp inside=10.0.0.1:5000 "
               "outside=192.0.2.1:5000 tenant=7");
    check_next(&net, NULL);

    /* Fewer words. */
    net_change(&net, NAT44 "log=bindings port-reuse-delay=0");
    net_out(&net, "10.0.0.1", 5000, SERVER, 53);
    check_next(&net, "binding-add proto=udp inside=10.0.0.1:5000 "
               "outside=192.0.2.1:5000 tenant=7");
    net_out(&net, "10.0.0.1", 5000, SERVER, 54);
    check_next(&net, NULL);
    net_change(&net, NAT44 "log=blocks port-reuse-delay=0");
    net_wait(&net, 302);
    check_next(&net, NULL);
    net_end(&net);
}
END_TEST

START_TEST(blocks)
{
    struct net net;

    net_begin(&net, NAT64 "log=blocks port-block-size=64 port-blocks=1 "
              "port-reuse-delay=0 subscriber-prefix6=64");
    for (int i = 0; i < 65; i++) {
        net_out(&net, "2001:db8:1::5", 1000 + i, SERVER6, 53);
    }
    check_next(&net, "block-add inside=2001:db8:1::/64 "
               "outside=192.0.2.1:5056-5119 tenant=0");
    check_next(&net, "limit proto=udp inside=[2001:db8:1::5]:1064 "
               "limit=subscriber-ports tenant=0");
    check_next(&net, NULL);
    net_wait(&net, 302);
    check_next(&net, "block-delete inside=2001:db8:1::/64 "
               "outside=192.0.2.1:5056-5119 tenant=0");
    check_next(&net, NULL);
    net_end(&net);
}
END_TEST

/* What is used up is said once a second. */
START_TEST(used_up)
{
    struct nat64_event event;
    struct net net;

    net_begin(&net, NAT44 "log=blocks");
    for (int i = 0; i < 6; i++) {
        net_out(&net, "10.0.0.1", 5000 + i, SERVER, 53);
    }
    check_next(&net, "no-port proto=udp inside=10.0.0.1:5002 tenant=0");
    check_next(&net, NULL);
    net_wait(&net, 2);
    net_out(&net, "10.0.0.2", 5009, SERVER, 53);
    net_out(&net, "10.0.0.2", 5010, SERVER, 53);
    check_next(&net, "no-port proto=udp inside=10.0.0.2:5009 tenant=0");
    check_next(&net, NULL);

    /* Another reason has a second of its own, and a limit. */
    net_change(&net, NAT44 "log=blocks max-sessions=2");
    net_out(&net, "10.0.0.1", 5000, SERVER, 99);
    ck_assert(nat64_next_event(net.zone, &event));
    ck_assert_uint_eq(event.kind, NAT64_EVENT_TABLE_FULL);
    ck_assert_uint_eq(event.limit, 2);
    net_end(&net);

    net_begin(&net, NAT44 "log=blocks subscriber-sessions=1");
    net_out(&net, "10.0.0.1", 5000, SERVER, 53);
    net_out(&net, "10.0.0.1", 5000, SERVER, 54);
    ck_assert(nat64_next_event(net.zone, &event));
    ck_assert_uint_eq(event.kind, NAT64_EVENT_LIMIT);
    ck_assert_uint_eq(event.drop, XLAT_DROP_SUBSCRIBER_SESSIONS);
    ck_assert_uint_eq(event.limit, 1);
    net_end(&net);
}
END_TEST

/* Packets from outside begin sessions, too. */
START_TEST(from_outside)
{
    struct net net;

    net_begin(&net, NAT44 "log=sessions");
    net.ctx.tenant = 9;
    net_out(&net, "10.0.0.1", 5000, SERVER, 53);
    check_next(&net, "binding-add proto=udp inside=10.0.0.1:5000 "
               "outside=192.0.2.1:5000 tenant=9");
    check_next(&net, "session-add proto=udp inside=10.0.0.1:5000 "
               "outside=192.0.2.1:5000 tenant=9");
    net.ctx.tenant = 0;
    net_in(&net, "198.51.100.8", 53, "192.0.2.1", 5000);
    check_next(&net, "session-add proto=udp inside=10.0.0.1:5000 "
               "outside=192.0.2.1:5000 tenant=9");
    check_next(&net, NULL);
    net_end(&net);
}
END_TEST

/* What is in the queue survives that the state is made anew, in which no
 * sessions begin, and those end that do not fit. */
START_TEST(change)
{
    struct net net;

    net_begin(&net, NAT44 "log=sessions max-sessions=100");
    net_out(&net, "10.0.0.1", 5000, SERVER, 53);
    net_change(&net, NAT44 "log=sessions max-sessions=200");
    check_next(&net, "binding-add proto=udp inside=10.0.0.1:5000 "
               "outside=192.0.2.1:5000 tenant=0");
    check_next(&net, "session-add proto=udp inside=10.0.0.1:5000 "
               "outside=192.0.2.1:5000 tenant=0");
    check_next(&net, NULL);
    net_out(&net, "10.0.0.2", 5001, SERVER, 54);
    check_next(&net, "binding-add proto=udp inside=10.0.0.2:5001 "
               "outside=192.0.2.1:5001 tenant=0");
    check_next(&net, "session-add proto=udp inside=10.0.0.2:5001 "
               "outside=192.0.2.1:5001 tenant=0");
    net_change(&net, NAT44 "log=sessions max-sessions=1");
    check_next(&net, "session-delete proto=udp inside=10.0.0.2:5001 "
               "outside=192.0.2.1:5001 tenant=0");
    check_next(&net, "binding-delete proto=udp inside=10.0.0.2:5001 "
               "outside=192.0.2.1:5001 tenant=0");
    check_next(&net, NULL);

    /* Another family has nothing of it. */
    net_change(&net, NAT64 "log=sessions");
    check_next(&net, "session-delete proto=udp inside=10.0.0.1:5000 "
               "outside=192.0.2.1:5000 tenant=0");
    check_next(&net, "binding-delete proto=udp inside=10.0.0.1:5000 "
               "outside=192.0.2.1:5000 tenant=0");
    check_next(&net, NULL);
    net_end(&net);
}
END_TEST

START_TEST(change_of_blocks)
{
    struct net net;

    net_begin(&net, NAT64 "log=blocks port-block-size=64");
    net_out(&net, "2001:db8:1::5", 1000, SERVER6, 53);
    check_next(&net, "block-add inside=2001:db8:1::5 "
               "outside=192.0.2.1:5056-5119 tenant=0");
    net_change(&net, NAT64 "log=blocks");
    check_next(&net, "block-delete inside=2001:db8:1::5 "
               "outside=192.0.2.1:5056-5119 tenant=0");
    check_next(&net, NULL);
    net_end(&net);
}
END_TEST

START_TEST(change_per_flow)
{
    struct net net;

    net_begin(&net, NAT44 "log=bindings mapping=per-flow max-sessions=9");
    net_out(&net, "10.0.0.1", 5000, SERVER, 53);
    net_out(&net, "10.0.0.1", 5000, SERVER, 54);
    check_next(&net, "binding-add proto=udp inside=10.0.0.1:5000 "
               "outside=192.0.2.1:5000 tenant=0");
    check_next(&net, "binding-add proto=udp inside=10.0.0.1:5000 "
               "outside=192.0.2.1:5001 tenant=0");
    net_change(&net, NAT44 "log=bindings mapping=per-flow max-sessions=1");
    check_next(&net, "binding-delete proto=udp inside=10.0.0.1:5000 "
               "outside=192.0.2.1:5001 tenant=0");
    check_next(&net, NULL);
    net_end(&net);
}
END_TEST

/* Checks that the next target of '*textp' is IPv4 or IPv6 'ip' and 'port'. */
static void
check_collector(const char **textp, const char *ip, uint16_t port)
{
    struct xlat_log_target t;
    char text[INET6_ADDRSTRLEN], *error;

    ck_assert(xlat_log_next(textp, &t, &error));
    ck_assert_int_eq(t.kind, XLAT_LOG_IPFIX);
    if (t.address.ss_family == AF_INET) {
        struct sockaddr_in *sin = (struct sockaddr_in *) &t.address;

        inet_ntop(AF_INET, &sin->sin_addr, text, sizeof text);
        ck_assert_uint_eq(ntohs(sin->sin_port), port);
    } else {
        struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *) &t.address;

        inet_ntop(AF_INET6, &sin6->sin6_addr, text, sizeof text);
        ck_assert_uint_eq(ntohs(sin6->sin6_port), port);
    }
    ck_assert_str_eq(text, ip);
}

START_TEST(targets)
{
#define Z "kind=nat44 pool4=192.0.2.1 log=sessions "
    const char *text = "ipfix:192.0.2.1:99, ipfix:192.0.2.2 ipfix:"
                       "[2001:db8::1]:9,ipfix:[2001:db8::2],"
                       "ipfix:2001:db8::3,file:/var/log/x,syslog";
    struct xlat_log_target t;
    struct xlat_zone *zone;
    char *error;

    zone = zone_make(Z "log-to=syslog,file:/var/log/x", NULL);
    ck_assert_str_eq(xlat_zone_log_to(zone), "syslog,file:/var/log/x");
    xlat_zone_destroy(zone);

    check_collector(&text, "192.0.2.1", 99);
    check_collector(&text, "192.0.2.2", 4739);
    check_collector(&text, "2001:db8::1", 9);
    check_collector(&text, "2001:db8::2", 4739);
    check_collector(&text, "2001:db8::3", 4739);
    ck_assert(xlat_log_next(&text, &t, &error));
    ck_assert_int_eq(t.kind, XLAT_LOG_FILE);
    ck_assert_str_eq(t.path, "/var/log/x");
    ck_assert(xlat_log_next(&text, &t, &error));
    ck_assert_int_eq(t.kind, XLAT_LOG_SYSLOG);
    ck_assert(!xlat_log_next(&text, &t, &error));
    ck_assert_ptr_null(error);

    zone_refuse(Z "log-to=sys", "log-to: \"sys\" is none of syslog, "
                "file:/PATH and ipfix:ADDRESS[:PORT]");
    zone_refuse(Z "log-to=", "log-to names no target");
    zone_refuse(Z "log-to=,", "log-to names no target");
    zone_refuse(Z "log-to=file:log", "\"file:log\" is none");
    zone_refuse(Z "log-to=file:", "is none");
    zone_refuse(Z "log-to=syslog,ipfix:host", "\"ipfix:host\" is none");
    zone_refuse(Z "log-to=ipfix:192.0.2.1:0", "is none");
    zone_refuse(Z "log-to=ipfix:192.0.2.1:65536", "is none");
    zone_refuse(Z "log-to=ipfix:[2001:db8::1", "is none");
    zone_refuse(Z "log-to=ipfix:[2001:db8::1]9", "is none");
    zone_refuse(Z "log-to=ipfix:", "is none");
    zone_refuse(Z "log-rate=0", "log-rate=0 is not valid");
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("nat64-event");
    TCase *t = tcase_create("all");
    SRunner *sr = srunner_create(s);
    int n;

    tcase_add_test(t, order);
    tcase_add_test(t, full);
    tcase_add_test(t, producers);
    tcase_add_test(t, words);
    tcase_add_test(t, off);
    tcase_add_test(t, sessions);
    tcase_add_test(t, blocks);
    tcase_add_test(t, used_up);
    tcase_add_test(t, from_outside);
    tcase_add_test(t, change);
    tcase_add_test(t, change_of_blocks);
    tcase_add_test(t, change_per_flow);
    tcase_add_test(t, targets);
    suite_add_tcase(s, t);
    srunner_run_all(sr, CK_ENV);
    n = srunner_ntests_failed(sr);
    srunner_free(sr);
    return n ? EXIT_FAILURE : EXIT_SUCCESS;
}
