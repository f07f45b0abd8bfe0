/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* What changes while there are sessions: static bindings, tables, shares; and
 * sessions as records. */

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nat64-net.h"
#include "xlat-conf.h"
#include "xlat.h"
#include "zone-util.h"

#define NAT44 "kind=nat44 pool4=192.0.2.1 "
#define NAT64 "kind=nat64 pool6=2001:db8:64::/96 pool4=192.0.2.1 "
#define POOL "192.0.2.1"
#define SERVER "198.51.100.7"
#define SERVER6 "2001:db8:64::c633:6407"

static void
at_once(void (*cb)(void *aux), void *aux)
{
    cb(aux);
}

START_TEST(static_binding)
{
    struct net net;

    net_begin(&net, NAT64 "bib=udp,[2001:db8:1::5]:80,192.0.2.1:8080 "
                    "bib=tcp,[2001:db8:1::5]:80,192.0.2.1:8080");
    ck_assert_uint_eq(net_gauges(&net).bindings, 2);
    ck_assert_int_eq(net_in(&net, SERVER, 1, POOL, 8080), 80);
    ck_assert_int_eq(net_in(&net, SERVER, 1, POOL, 8081), -1);
    ck_assert_int_eq(net.drop, XLAT_DROP_NO_BINDING);
    ck_assert_int_eq(net_out(&net, "2001:db8:1::5", 80, SERVER6, 9), 8080);

    /* Time and flushes leave it. */
    net_wait(&net, 302);
    ck_assert_uint_eq(net_gauges(&net).sessions, 0);
    ck_assert_uint_eq(net_gauges(&net).bindings, 2);
    ck_assert_int_eq(net_in(&net, SERVER, 1, POOL, 8080), 80);
    nat64_flush(net.zone, net.ctx.now_us, at_once);
    ck_assert_int_eq(net_in(&net, SERVER, 1, POOL, 8080), 80);

    /* Without it, its sessions are gone at once. */
    net_change(&net, NAT64 "bib=tcp,[2001:db8:1::5]:80,192.0.2.1:8080");
    ck_assert_uint_eq(net_gauges(&net).sessions, 0);
    ck_assert_int_eq(net_in(&net, SERVER, 1, POOL, 8080), -1);
    net_change(&net, NAT64);
    ck_assert_uint_eq(net_gauges(&net).bindings, 0);
    net_end(&net);
}
END_TEST

/* The configuration wins against who has the port or the inside. */
START_TEST(static_binding_wins)
{
    struct net net;
    char text[256];
    int port, other;

    net_begin(&net, NAT44);
    port = net_out(&net, "10.0.0.1", 80, SERVER, 53);
    other = net_out(&net, "10.0.0.2", 80, SERVER, 53);
    snprintf(text, sizeof text, NAT44 "bib=udp,10.0.0.3:80,192.0.2.1:%d "
             "bib=udp,10.0.0.2:80,192.0.2.1:%d", port, other ^ 1);
    net_change(&net, text);
    net_wait(&net, 1);
    ck_assert_int_eq(net_in(&net, SERVER, 53, POOL, port), 80);
    ck_assert_int_eq(net_out(&net, "10.0.0.3", 80, SERVER, 53), port);
    ck_assert_int_eq(net_out(&net, "10.0.0.2", 80, SERVER, 53), other ^ 1);
    ck_assert_int_ne(net_out(&net, "10.0.0.1", 80, SERVER, 53), port);
    net_end(&net);
}
END_TEST

#define MAX_POSTPONED 8

static struct {
    void (*cb)(void *aux);
    void *aux;
} postponed[MAX_POSTPONED];
static int n_postponed;

static void
later(void (*cb)(void *aux), void *aux)
{
    ck_assert_int_lt(n_postponed, MAX_POSTPONED);
    postponed[n_postponed].cb = cb;
    postponed[n_postponed++].aux = aux;
}

static void
call_postponed(void)
{
    for (int i = 0; i < n_postponed; i++) {
        postponed[i].cb(postponed[i].aux);
    }
    n_postponed = 0;
}

/* One that has to wait for its port is not forgotten by who still has the
 * configuration before in hand. */
START_TEST(static_binding_waits)
{
    struct xlat_zone *old;
    struct net net;
    char text[256];
    int port;

    net_begin(&net, NAT44);
    port = net_out(&net, "10.0.0.1", 80, SERVER, 53);
    old = net.zone;
    snprintf(text, sizeof text, NAT44 "bib=udp,10.0.0.3:80,192.0.2.1:%d",
             port);
    net.zone = zone_make(text, old);
    nat64_fit(net.zone, net.ctx.now_us, later);
    nat64_run(old, net.ctx.now_us, later, NULL, NULL);
    ck_assert_int_eq(net_in(&net, SERVER, 53, POOL, port), -1);
    call_postponed();
    nat64_run(old, net.ctx.now_us, later, NULL, NULL);
    ck_assert_int_eq(net_in(&net, SERVER, 53, POOL, port), -1);
    nat64_run(net.zone, net.ctx.now_us, later, NULL, NULL);
    ck_assert_int_eq(net_in(&net, SERVER, 53, POOL, port), 80);
    call_postponed();
    xlat_zone_destroy(old);
    net_end(&net);
}
END_TEST

START_TEST(static_binding_of_a_tenant)
{
    struct net net;

    net_begin(&net, NAT44 "bib=udp,10.0.0.1:80,192.0.2.1:80,tenant=1 "
                    "bib=udp,10.0.0.1:80,192.0.2.1:81,tenant=2");
    ck_assert_int_eq(net_in(&net, SERVER, 1, POOL, 80), 80);
    ck_assert_uint_eq(net.tenant, 1);
    ck_assert_int_eq(net_in(&net, SERVER, 1, POOL, 81), 80);
    ck_assert_uint_eq(net.tenant, 2);
    net.ctx.tenant = 2;
    ck_assert_int_eq(net_out(&net, "10.0.0.1", 80, SERVER, 9), 81);
    net_end(&net);
}
END_TEST

/* In zones with a binding for each session, too. */
START_TEST(static_binding_per_flow)
{
    struct net net;

    net_begin(&net, NAT44 "mapping=per-flow "
                    "bib=udp,10.0.0.1:80,192.0.2.1:80");
    ck_assert_int_eq(net_out(&net, "10.0.0.1", 80, SERVER, 1), 80);
    ck_assert_int_eq(net_out(&net, "10.0.0.1", 80, SERVER, 2), 80);
    net_end(&net);
}
END_TEST

START_TEST(wrong_bindings)
{
    static const struct {
        const char *bib;
        const char *words;
    } cases[] = {
        { "udp,10.0.0.1:80,192.0.2.2:80", "not in pool4" },
        { "udp,[2001:db8::1]:80,192.0.2.1:80", "the other family" },
        { "gre,10.0.0.1:80,192.0.2.1:80", "none of tcp" },
        { "udp,10.0.0.1,192.0.2.1:80", "not an inside address" },
        { "udp,10.0.0.1:80", "expected" },
        { "udp,10.0.0.1:80,192.0.2.1:0", "not an IPv4 address and port" },
        { "udp,10.0.0.1:80,192.0.2.1:80,tenant=x", "not tenant=N" },
        { "udp,10.0.0.1:80,192.0.2.1:80,tenant=1,2", "too much" },
        { "udp,10.0.0.1:80,192.0.2.1:80 bib=udp,10.0.0.2:80,192.0.2.1:80",
          "twice" },
        { "udp,10.0.0.1:80,192.0.2.1:80 bib=udp,10.0.0.1:80,192.0.2.1:81",
          "has another one" },
        { "icmp,10.0.0.1:80,192.0.2.1:0", "not an IPv4 address and port" },
        { "udp,127.0.0.1:80,192.0.2.1:80", "no host" },
        { "udp,11.0.0.1:80,192.0.2.1:80", "not inside" },
        { "udp,10.0.0.1:80,192.0.2.1:64 share=0/2", "not in this share" },
    };
    char text[256];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(text, sizeof text, NAT44 "bib=%s", cases[i].bib);
        zone_refuse(text, cases[i].words);
    }
    zone_refuse(NAT64 "bib=udp,[2001:db8:64::5]:80,192.0.2.1:80",
                "not inside");
    zone_refuse("kind=siit pool6=2001:db8:64::/96 "
                "bib=udp,10.0.0.1:80,192.0.2.1:80", "no bindings");
}
END_TEST

/* More sessions, fewer sessions: those that fit go on. */
START_TEST(resized)
{
    struct net net;
    int ports[40];
    int alive = 0;

    net_begin(&net, NAT64 "max-sessions=50");
    for (int i = 0; i < 40; i++) {
        ports[i] = net_out(&net, "2001:db8:1::5", 100 + i, SERVER6, 53);
        ck_assert_int_ge(ports[i], 0);
    }
    net_wait(&net, 200);
    net_change(&net, NAT64 "max-sessions=5000");
    ck_assert_uint_eq(net_gauges(&net).sessions, 40);
    ck_assert_uint_eq(net_gauges(&net).max_sessions, 5000);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(net_in(&net, SERVER, 53, POOL, ports[i]), 100 + i);
    }
    net_wait(&net, 102);       /* Their time went on, too. */
    ck_assert_uint_eq(net_gauges(&net).sessions, 20);

    net_change(&net, NAT64 "max-sessions=10");
    ck_assert_uint_eq(net_gauges(&net).sessions, 10);
    for (int i = 0; i < 20; i++) {
        alive += net_in(&net, SERVER, 53, POOL, ports[i]) == 100 + i;
    }
    ck_assert_int_eq(alive, 10);
    net_end(&net);
}
END_TEST

/* Asks for the configuration 'text', which must be refused. */
static void
refuse(const struct net *net, const char *text)
{
    struct xlat_zone *zone;
    char *error;
    struct xlat_conf *conf = zone_conf(text, &error);

    ck_assert_ptr_nonnull(conf);
    ck_assert_int_eq(xlat_zone_create(conf, net->zone, &zone, &error), EINVAL);
    xlat_conf_destroy(conf);
    free(error);
}

/* Of two configurations that would take over, none of which does, the second
 * one waits, too. */
START_TEST(two_refused_changes)
{
    struct xlat_zone *a, *b;
    struct net net;

    net_begin(&net, NAT44);
    a = zone_make(NAT44 "max-sessions=77", net.zone);
    b = zone_make(NAT44 "max-sessions=78", net.zone);
    refuse(&net, NAT44 "max-sessions=79 bib=udp,10.0.0.1:1,192.0.2.9:1");
    xlat_zone_destroy(a);
    ck_assert_int_eq(net_out(&net, "10.0.0.1", 1, SERVER, 53), -1);
    xlat_zone_destroy(b);
    ck_assert_int_ge(net_out(&net, "10.0.0.1", 1, SERVER, 53), 0);
    net_end(&net);
}
END_TEST

/* Who is inside no more has no sessions. */
START_TEST(inside_changes)
{
    struct net net;

    net_begin(&net, NAT44 "inside4=10.0.0.0/8,172.16.0.0/12");
    ck_assert_int_ge(net_out(&net, "10.0.0.1", 1, SERVER, 53), 0);
    ck_assert_int_ge(net_out(&net, "172.16.0.1", 1, SERVER, 53), 0);
    net_change(&net, NAT44 "inside4=172.16.0.0/12");
    ck_assert_uint_eq(net_gauges(&net).sessions, 1);
    net_change(&net, NAT44 "inside4=10.0.0.0/8 max-sessions=50");
    ck_assert_uint_eq(net_gauges(&net).sessions, 0);
    net_end(&net);
}
END_TEST

/* Who is denied has no sessions any more, and none again: nor have static
 * bindings, that remain. */
START_TEST(deny_changes)
{
    static const struct {
        const char *deny;
        enum xlat_drop out, in;
    } cases[] = {
        { "2001:db8:1::/64", XLAT_DROP_DENIED, XLAT_DROP_DENIED },
        { "2001:db8:64::c633:6400/120", XLAT_DROP_DENIED, XLAT_DROP_DENIED },
        { "198.51.100.0/24", XLAT_DROP_DENIED, XLAT_DROP_DENIED },
        { "192.0.2.0/24", XLAT_N_DROPS, XLAT_DROP_DENIED },
    };
    char text[256];
    struct net net;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool ends = cases[i].out != XLAT_N_DROPS;

        net_begin(&net, NAT64 "bib=udp,[2001:db8:1::5]:80,192.0.2.1:80");
        ck_assert_int_eq(net_out(&net, "2001:db8:1::5", 80, SERVER6, 9), 80);
        snprintf(text, sizeof text, NAT64 "bib=udp,[2001:db8:1::5]:80,"
                 "192.0.2.1:80 deny=%s", cases[i].deny);
        net_change(&net, text);
        ck_assert_uint_eq(net_gauges(&net).sessions, !ends);
        ck_assert_uint_eq(net_gauges(&net).bindings, 1);
        ck_assert_int_eq(net_in(&net, SERVER, 9, POOL, 80), -1);
        ck_assert_int_eq(net.drop, cases[i].in);
        ck_assert_int_eq(net_out(&net, "2001:db8:1::5", 80, SERVER6, 9),
                         ends ? -1 : 80);
        if (ends) {
            ck_assert_int_eq(net.drop, cases[i].out);
        }
        ck_assert_uint_eq(net_gauges(&net).sessions, !ends);
        net_end(&net);
    }
}
END_TEST

START_TEST(deny_changes_nat44)
{
    static const char *const denied[] = { "10.0.0.0/24", "198.51.100.0/24" };
    char text[256];
    struct net net;

    for (int i = 0; i < 2; i++) {
        net_begin(&net, NAT44 "deny=10.9.0.0/16 "
                        "bib=udp,10.0.0.1:80,192.0.2.1:80");
        ck_assert_int_eq(net_out(&net, "10.9.0.1", 80, SERVER, 9), -1);
        for (int j = 0; j < 2; j++) {
            ck_assert_int_eq(net_out(&net, "10.0.0.1", 80, SERVER, 9), 80);
            ck_assert_int_eq(net_in(&net, SERVER, 9, POOL, 80), 80);
        }
        snprintf(text, sizeof text, NAT44 "deny=%s "
                 "bib=udp,10.0.0.1:80,192.0.2.1:80", denied[i]);
        net_change(&net, text);
        ck_assert_uint_eq(net_gauges(&net).sessions, 0);
        ck_assert_int_eq(net_in(&net, SERVER, 9, POOL, 80), -1);
        ck_assert_int_eq(net.drop, XLAT_DROP_DENIED);
        ck_assert_int_eq(net_out(&net, "10.0.0.1", 80, SERVER, 9), -1);
        ck_assert_int_eq(net.drop, XLAT_DROP_DENIED);
        net_end(&net);
    }
}
END_TEST

#define WELL_KNOWN "kind=nat64 pool6=64:ff9b::/96 pool4=203.0.113.1 " \
                   "bib=udp,[2001:db8:1::5]:80,203.0.113.1:80 "

/* The well-known prefix stands for global addresses alone, both ways. */
START_TEST(well_known_prefix)
{
    struct net net;

    net_begin(&net, WELL_KNOWN);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(net_out(&net, "2001:db8:1::5", 80,
                                 "64:ff9b::808:808", 53), 80);
        ck_assert_int_eq(net_in(&net, "8.8.8.8", 53, "203.0.113.1", 80), 80);
        ck_assert_int_eq(net_out(&net, "2001:db8:1::5", 80, "64:ff9b::a00:1",
                                 53), -1);
        ck_assert_int_eq(net.drop, XLAT_DROP_BAD_EMBEDDED);
        ck_assert_int_eq(net_in(&net, "10.0.0.1", 53, "203.0.113.1", 80), -1);
        ck_assert_int_eq(net.drop, XLAT_DROP_BAD_EMBEDDED);
    }
    net_change(&net, WELL_KNOWN "wkp-non-global=translate");
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(net_in(&net, "10.0.0.1", 53, "203.0.113.1", 80), 80);
        ck_assert_int_eq(net_out(&net, "2001:db8:1::5", 80, "64:ff9b::a00:1",
                                 53), 80);
    }
    ck_assert_uint_eq(net_gauges(&net).sessions, 2);
    net_change(&net, WELL_KNOWN);
    ck_assert_uint_eq(net_gauges(&net).sessions, 1);
    net_end(&net);
}
END_TEST

static void
count_info(const struct nat64_session_info *info, void *n)
{
    (void) info;
    ++*(unsigned int *) n;
}

static void
count_record(const struct nat64_record *r, void *n)
{
    (void) r;
    ++*(unsigned int *) n;
}

/* Who looks at sessions may go on where he was when the table is another one
 * by then. */
START_TEST(resized_while_looking)
{
    uint32_t cursor = 0, cursor_of_export;
    unsigned int n = 0;
    struct net net;

    net_begin(&net, NAT64 "max-sessions=50");
    for (int i = 0; i < 50; i++) {
        ck_assert_int_ge(net_out(&net, "2001:db8:1::5", 100 + i, SERVER6, 53),
                         0);
    }
    ck_assert(nat64_dump(net.zone, net.ctx.now_us, &cursor, 45, count_info,
                         &n));
    ck_assert_uint_eq(n, 45);
    cursor_of_export = cursor;
    net_change(&net, NAT64 "max-sessions=10");
    ck_assert(!nat64_dump(net.zone, net.ctx.now_us, &cursor, 10, count_info,
                          &n));
    ck_assert(!nat64_export(net.zone, net.ctx.now_us, &cursor_of_export, 10,
                            count_record, &n));
    ck_assert_uint_eq(n, 45);
    net_end(&net);
}
END_TEST

/* A configuration that is refused leaves the old one as it was. */
START_TEST(refused_change)
{
    struct net net;

    net_begin(&net, NAT44);
    net_out(&net, "10.0.0.1", 1, SERVER, 53);
    for (int i = 0; i < 2; i++) {
        struct xlat_zone *zone = zone_make(NAT44 "max-sessions=77", net.zone);

        ck_assert_int_eq(net_out(&net, "10.0.0.1", 2 + i, SERVER, 53), -1);
        xlat_zone_destroy(zone);
        ck_assert_int_ge(net_out(&net, "10.0.0.1", 2 + i, SERVER, 53), 0);
    }
    net_end(&net);
}
END_TEST

/* Writes a configuration that begins with 'first' and has 'n' prefixes of
 * number 'number'. */
static void
list_prefixes(char *text, size_t size, const char *first, int number, int n)
{
    int used = snprintf(text, size, "%s", first);

    for (int i = 0; i < n; i++) {
        used += snprintf(text + used, size - used,
                         " pool6=2001:db8:%x:%x::/96",
                         number, i);
    }
}

/* A refused one takes nothing away from later ones. */
START_TEST(many_refused_changes)
{
    char text[4096];
    struct net net;

    net_begin(&net, NAT64);
    for (int i = 0; i < 8; i++) {
        snprintf(text, sizeof text, "kind=nat64 pool6=2001:db8:%x::/96 "
                 "pool4=9.%d.0.0/21 bib=udp,10.0.0.1:1,9.9.9.9:1", i, i);
        refuse(&net, text);
        snprintf(text, sizeof text, "kind=nat64 pool6=2001:db8:64::/96 "
                 "pool4=9.%d.0.0/21 pool4=9.%d.0.0/21", i, i);
        refuse(&net, text);
    }
    net_change(&net, "kind=nat64 pool6=2001:db8:64::/96 pool4=9.99.0.0/21");

    /* With the prefix that is there, one more than there are places. */
    list_prefixes(text, sizeof text, "kind=nat64 pool4=192.0.2.1", 1, 32);
    refuse(&net, text);
    list_prefixes(text, sizeof text, NAT64, 2, 31);
    net_change(&net, text);
    net_end(&net);
}
END_TEST

START_TEST(shares)
{
    struct net net;
    int n[2] = { 0 };

    net_begin(&net, NAT44);
    for (int i = 0; i < 400; i++) {
        n[net_out(&net, "10.0.0.1", 1000 + i, SERVER, 53) / 64 % 2]++;
    }
    net_change(&net, NAT44 "share=1/2");
    ck_assert_uint_eq(net_gauges(&net).sessions, n[1]);
    for (int i = 0; i < 400; i++) {
        int port = net_out(&net, "10.0.0.1", 1000 + i, SERVER, 53);

        ck_assert_int_eq(port / 64 % 2, 1);
    }
    net_end(&net);
}
END_TEST

static void
keep_record(const struct nat64_record *r, void *record)
{
    *(struct nat64_record *) record = *r;
}

static struct nat64_record
only_record(const struct net *net)
{
    struct nat64_record r = { .version = 0 };
    uint32_t cursor = 0;

    while (nat64_export(net->zone, net->ctx.now_us, &cursor, 1, keep_record,
                        &r)) {
        /* There is more. */
    }
    ck_assert_uint_eq(r.version, NAT64_RECORD_VERSION);
    return r;
}

/* A session goes from one holder to another one, and on. */
START_TEST(records)
{
    struct net a, b;
    struct nat64_record r;
    int port;

    net_begin(&a, NAT64 "share=0/2");
    net_begin(&b, NAT64 "share=1/2");
    port = net_out(&a, "2001:db8:1::5", 100, SERVER6, 53);
    net_in(&a, SERVER, 53, POOL, port);
    net_wait(&a, 100);
    r = only_record(&a);
    ck_assert_uint_eq(r.outside_port, port);
    ck_assert_uint_eq(r.packets[0], 1);
    ck_assert_uint_eq(r.packets[1], 1);
    ck_assert_int_eq(r.idle_ms / 1000, 100);

    ck_assert_int_eq(net_in(&b, SERVER, 53, POOL, port), -1);
    ck_assert_int_eq(nat64_refresh(b.zone, &r, b.ctx.now_us), ENOENT);
    ck_assert_int_eq(nat64_import(b.zone, &r, b.ctx.now_us), 0);
    ck_assert_int_eq(net_in(&b, SERVER, 53, POOL, port), 100);
    ck_assert_int_eq(net_out(&b, "2001:db8:1::5", 100, SERVER6, 53), port);
    r = only_record(&b);
    ck_assert_uint_eq(r.packets[0], 2);
    ck_assert_uint_eq(r.packets[1], 2);

    /* Back: counters do not fall, time does not, either. */
    ck_assert_int_eq(nat64_refresh(a.zone, &r, a.ctx.now_us), 0);
    ck_assert_uint_eq(only_record(&a).packets[0], 2);
    r.packets[0] = 1;
    r.idle_ms = 200000;
    ck_assert_int_eq(nat64_import(a.zone, &r, a.ctx.now_us), 0);
    ck_assert_uint_eq(only_record(&a).packets[0], 2);
    ck_assert_uint_lt(only_record(&a).idle_ms, 1000);

    ck_assert_int_eq(nat64_forget(b.zone, &r, b.ctx.now_us, at_once), 0);
    ck_assert_int_eq(nat64_forget(b.zone, &r, b.ctx.now_us, at_once), ENOENT);
    ck_assert_uint_eq(net_gauges(&b).bindings, 0);
    net_wait(&b, 122);
    ck_assert_uint_eq(net_gauges(&b).ports_in_use, 0);
    net_end(&a);
    net_end(&b);
}
END_TEST

START_TEST(wrong_records)
{
    struct nat64_record r, wrong;
    struct net net;

    net_begin(&net, NAT64);
    net_out(&net, "2001:db8:1::5", 100, SERVER6, 53);
    r = only_record(&net);
#define TRY(ERROR, MEMBER, VALUE)                                        \
    do {                                                                 \
        wrong = r;                                                       \
        wrong.MEMBER = VALUE;                                            \
        ck_assert_int_eq(nat64_import(net.zone, &wrong,                  \
                                      net.ctx.now_us), ERROR);           \
    } while (0)
    TRY(EINVAL, version, 2);
    TRY(EINVAL, proto, 47);
    TRY(EINVAL, inside_family, 4);
    TRY(EINVAL, state, 200);
    TRY(EINVAL, state, 4);               /* Not of UDP. */
    TRY(EINVAL, mapping, 2);
    TRY(EINVAL, pool6_len, 64);
    TRY(EINVAL, outside, htonl(0xc0000202));
    TRY(EINVAL, remote, htonl(0x7f000001));
    TRY(EINVAL, inside.bytes[0], 0xff);
    TRY(EINVAL, inside, r.pool6);
    TRY(EINVAL, outside_port, 0);
    TRY(EEXIST, tenant, 7);              /* The port is another one's. */
    TRY(EEXIST, outside_port, r.outside_port ^ 1);
#undef TRY
    ck_assert_uint_eq(net_gauges(&net).sessions, 1);
    net_end(&net);
}
END_TEST

static void
keep_info(const struct nat64_session_info *info, void *aux)
{
    *(struct nat64_session_info *) aux = *info;
}

static struct nat64_session_info
only_info(const struct net *net)
{
    struct nat64_session_info info = { .id = 0 };
    uint32_t cursor = 0;

    nat64_dump(net->zone, net->ctx.now_us, &cursor, UINT32_MAX, keep_info,
               &info);
    ck_assert_uint_eq(info.id, 1);
    return info;
}

/* Counters as large as they can be change nothing besides. */
START_TEST(records_with_large_counters)
{
    const uint64_t most = (UINT64_C(1) << 48) - 1;
    struct nat64_record r;
    uint32_t generation;
    struct net net;

    net_begin(&net, NAT64);
    net_out(&net, "2001:db8:1::5", 100, SERVER6, 53);
    generation = only_info(&net).generation;
    r = only_record(&net);
    for (int i = 0; i < 2; i++) {
        r.packets[0] = r.packets[1] = i ? UINT64_MAX : most;
        ck_assert_int_eq(nat64_refresh(net.zone, &r, net.ctx.now_us), 0);
        net_out(&net, "2001:db8:1::5", 100, SERVER6, 53);
        ck_assert_uint_eq(only_info(&net).packets[0], most);
        ck_assert_uint_eq(only_info(&net).packets[1], most);
        ck_assert_uint_eq(only_info(&net).generation, generation);
    }
    net_end(&net);
}
END_TEST

/* Of IPv4, nothing stands behind the address; of ICMP, there is one
 * identifier. */
START_TEST(wrong_records_of_nat44)
{
    struct nat64_record r;
    struct net net;

    net_begin(&net, NAT44);
    net_out(&net, "10.0.0.1", 100, SERVER, 53);
    r = only_record(&net);
    nat64_flush(net.zone, net.ctx.now_us, at_once);
    r.outside_port ^= 2;
    r.inside.bytes[4] = 1;
    ck_assert_int_eq(nat64_import(net.zone, &r, net.ctx.now_us), EINVAL);
    r.inside.bytes[4] = 0;
    r.proto = IPPROTO_ICMP;
    ck_assert_int_eq(nat64_import(net.zone, &r, net.ctx.now_us), EINVAL);
    r.remote_port = 0;
    ck_assert_int_eq(nat64_import(net.zone, &r, net.ctx.now_us), 0);
    net_end(&net);
}
END_TEST

/* Sessions that come from another holder of the pool stay when the table is
 * replaced, and never are of two hosts. */
START_TEST(records_of_another_share)
{
    struct nat64_record r;
    struct net a, b;

    net_begin(&a, NAT44 "share=0/2 mapping=per-flow");
    net_begin(&b, NAT44 "share=1/2 mapping=per-flow");
    net_out(&a, "10.0.0.1", 100, SERVER, 53);
    r = only_record(&a);
    ck_assert_int_eq(nat64_import(b.zone, &r, b.ctx.now_us), 0);
    r.inside_port++;
    ck_assert_int_eq(nat64_import(b.zone, &r, b.ctx.now_us), EEXIST);
    net_change(&b, NAT44 "share=1/2 mapping=per-flow max-sessions=50");
    ck_assert_int_eq(net_in(&b, SERVER, 53, POOL, r.outside_port), 100);
    nat64_flush(b.zone, b.ctx.now_us, at_once);
    net_wait(&b, 122);
    net_change(&b, "kind=nat44 pool4=192.0.2.2 share=1/2");
    net_wait(&b, 1);
    ck_assert_uint_eq(net_gauges(&b).ports_in_use, 0);
    net_end(&a);
    net_end(&b);
}
END_TEST

/* A record that comes by an old snapshot does not bring back what is gone. */
START_TEST(late_records)
{
    struct xlat_zone *old;
    struct nat64_record r;
    struct net net;

    net_begin(&net, NAT64 "pool4=192.0.2.2");
    net_out(&net, "2001:db8:1::5", 100, SERVER6, 53);
    r = only_record(&net);
    old = net.zone;
    net.zone = zone_make("kind=nat64 pool6=2001:db8:65::/96 pool4=192.0.2.1 "
                         "pool4=192.0.2.2", old);
    nat64_fit(net.zone, net.ctx.now_us, at_once);
    ck_assert_uint_eq(net_gauges(&net).sessions, 0);
    net_wait(&net, 122);
    ck_assert_int_eq(nat64_import(old, &r, net.ctx.now_us), EINVAL);
    xlat_zone_destroy(old);
    net_end(&net);
}
END_TEST

/* Two sessions never have one inside and remote: not even when those of an old
 * binding meet those with bindings of their own. */
START_TEST(mapping_changes)
{
    struct net net;
    int old, new;

    net_begin(&net, NAT44);
    old = net_out(&net, "10.0.0.1", 1, "198.51.100.8", 53);
    net_change(&net, NAT44 "mapping=per-flow");
    new = net_out(&net, "10.0.0.1", 1, SERVER, 53);
    ck_assert_int_ne(old, new);
    ck_assert_int_eq(net_in(&net, SERVER, 53, POOL, old), -1);
    ck_assert_int_eq(net_in(&net, SERVER, 53, POOL, new), 1);
    ck_assert_int_eq(net_in(&net, "198.51.100.8", 53, POOL, old), 1);
    ck_assert_uint_eq(net_gauges(&net).sessions, 2);
    net_end(&net);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("nat64-change");
    TCase *tc = tcase_create("all");
    SRunner *sr = srunner_create(s);
    int n;

    tcase_add_test(tc, static_binding);
    tcase_add_test(tc, static_binding_wins);
    tcase_add_test(tc, static_binding_waits);
    tcase_add_test(tc, static_binding_of_a_tenant);
    tcase_add_test(tc, static_binding_per_flow);
    tcase_add_test(tc, wrong_bindings);
    tcase_add_test(tc, resized);
    tcase_add_test(tc, two_refused_changes);
    tcase_add_test(tc, inside_changes);
    tcase_add_test(tc, deny_changes);
    tcase_add_test(tc, deny_changes_nat44);
    tcase_add_test(tc, well_known_prefix);
    tcase_add_test(tc, resized_while_looking);
    tcase_add_test(tc, refused_change);
    tcase_add_test(tc, many_refused_changes);
    tcase_add_test(tc, shares);
    tcase_add_test(tc, records);
    tcase_add_test(tc, wrong_records);
    tcase_add_test(tc, wrong_records_of_nat44);
    tcase_add_test(tc, records_of_another_share);
    tcase_add_test(tc, late_records);
    tcase_add_test(tc, records_with_large_counters);
    tcase_add_test(tc, mapping_changes);
    suite_add_tcase(s, tc);
    srunner_run_all(sr, CK_ENV);
    n = srunner_ntests_failed(sr);
    srunner_free(sr);
    return n ? EXIT_FAILURE : EXIT_SUCCESS;
}
