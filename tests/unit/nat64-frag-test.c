/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Fragments in any order: RFC 6146, 3.4 and 5.3. */

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nat64-net.h"
#include "packet.h"
#include "pk-csum.h"
#include "pk-parse.h"
#include "zone-util.h"

#define NAT64 "kind=nat64 pool6=2001:db8:64::/96 max-sessions=1000 "
#define ONE NAT64 "pool4=192.0.2.1 "
#define NAT44 "kind=nat44 pool4=192.0.2.1 max-sessions=1000 "
#define HOST "2001:db8:1::5"
#define HOST2 "2001:db8:1::6"
#define HOST4 "10.0.0.5"
#define SERVER "198.51.100.7"
#define SERVER6 "2001:db8:64::c633:6407"
#define POOL "192.0.2.1"
#define POOL6 "2001:db8:64::c000:201"

#define MAX_DATAGRAM 65000
#define MAX_RESULTS 100

/* ------------------------------------------------------------------------
 * Datagrams, whole and in pieces.
 * ------------------------------------------------------------------------ */

/* A datagram that is sent in fragments. */
struct datagram {
    const char *src, *dst;
    uint32_t id;
    uint32_t n;                  /* Of 'l4'. */
    uint8_t l4[MAX_DATAGRAM];
};

/* What has come out of a zone. */
struct results {
    size_t n;
    struct {
        uint8_t ip[2200];
        uint32_t len;
        uint32_t tenant;
    } packets[MAX_RESULTS];
};

/* What was sent to a net, since all of it must be counted. */
static uint64_t n_sent;

static void
make_datagram(struct datagram *d, const char *src, uint16_t sport,
              const char *dst, uint16_t dport, uint32_t id, uint32_t n)
{
    static struct packet packet;
    struct packet_spec spec = {
        .src = src, .dst = dst, .proto = IPPROTO_UDP, .l4 = d->l4,
        .l4_bytes = packet_udp(d->l4, sport, dport, n - PK_UDP_HDR_BYTES),
    };

    packet_build(&packet, &spec);
    memcpy(d->l4, packet.pk.data + packet.pk.len - n, n);
    d->src = src;
    d->dst = dst;
    d->id = id;
    d->n = n;
}

/* Makes 'packet' the fragment of 'd' of 'n' bytes from 'ofs' on. */
static void
make_fragment(struct packet *packet, const struct datagram *d, uint32_t ofs,
              uint32_t n)
{
    struct packet_spec spec = {
        .src = d->src, .dst = d->dst, .proto = IPPROTO_UDP, .id = d->id,
        .frag_ofs = ofs, .more = ofs + n < d->n, .frag_hdr = true,
        .l4 = d->l4 + ofs, .l4_bytes = n,
    };

    packet_build(packet, &spec);
}

static void
keep(struct results *results, const struct xlat_job *job)
{
    size_t i = results->n++;

    ck_assert_uint_lt(i, MAX_RESULTS);
    ck_assert_uint_le(job->pk.len, sizeof results->packets[i].ip);
    packet_check(&job->pk);
    memcpy(results->packets[i].ip, job->pk.data, job->pk.len);
    results->packets[i].len = job->pk.len;
    results->packets[i].tenant = job->tenant;
}

/* Runs what has waited for 'job'.  Returns how many that were. */
static int
run_released(struct net *net, const struct xlat_job *job,
             struct results *results)
{
    static struct packet packets[MAX_RESULTS];
    int n = 0;

    for (;;) {
        uint8_t *buf = packets[n].buf + PACKET_HEADROOM;
        size_t bytes = xlat_take_held(net->zone, job, buf, XLAT_HELD_MAX);

        if (!bytes) {
            break;
        }
        packet_init(&packets[n++], bytes);
    }
    net->ctx.released = true;
    for (int i = 0; i < n; i++) {
        struct xlat_job released = { .pk = packets[i].pk };

        xlat_run(net->zone, &net->ctx, &released, 1);
        ck_assert_int_eq(released.verdict, XLAT_TRANSLATED);
        ck_assert_uint_eq(released.held, 0);
        keep(results, &released);
    }
    net->ctx.released = false;
    return n;
}

/* Sends the fragment of 'd' of 'n' bytes from 'ofs' on, and what has waited
 * for it.  Returns the verdict on it. */
static enum xlat_verdict
send_fragment(struct net *net, const struct datagram *d, uint32_t ofs,
              uint32_t n, struct results *results)
{
    static struct packet packet;
    struct xlat_job job;

    make_fragment(&packet, d, ofs, n);
    job = (struct xlat_job) { .pk = packet.pk };
    n_sent++;
    xlat_run(net->zone, &net->ctx, &job, 1);
    net->drop = job.drop;
    if (job.verdict == XLAT_TRANSLATED) {
        keep(results, &job);
        if (job.held) {
            ck_assert_int_gt(run_released(net, &job, results), 0);
        }
    }
    return job.verdict;
}

/* Checks that the 'n' results from number 'first' on, in any order, are the
 * datagram 'd' from 'src' to 'dst', with ports 'sport' and 'dport'; 0: any. */
static void
check_results(const struct results *results, size_t first, size_t n,
              const struct datagram *d, const char *src, uint16_t sport,
              const char *dst, uint16_t dport)
{
    static struct packet whole;
    bool is_4 = !strchr(src, ':');
    uint32_t hdr = is_4 ? PK_IP4_HDR_BYTES : PK_IP6_HDR_BYTES;
    int family = is_4 ? AF_INET : AF_INET6;
    uint8_t *ip;

    packet_init(&whole, hdr + d->n);
    ip = whole.pk.data;
    ck_assert_uint_le(first + n, results->n);
    for (size_t i = first; i < first + n; i++) {
        const uint8_t *part = results->packets[i].ip;
        struct pk_info info;

        ck_assert_int_eq(pk_parse(part, results->packets[i].len, 0, &info),
                         PK_OK);
        ck_assert_int_eq(info.is_frag, true);
        ck_assert_uint_eq(info.frag_id, d->id & (is_4 ? 0xffff : UINT32_MAX));
        ck_assert_uint_eq(info.ttl, 63);
        packet_check_addr(family, part + (is_4 ? 12 : 8), src);
        packet_check_addr(family, part + (is_4 ? 16 : 24), dst);
        ck_assert_uint_le(info.frag_ofs + pk_l4_bytes(&info), d->n);
        memcpy(ip, part, hdr);
        memcpy(ip + hdr + info.frag_ofs, part + info.l4_ofs,
               pk_l4_bytes(&info));
    }
    if (is_4) {
        pk_put16(ip + 2, htons(hdr + d->n));
        pk_put16(ip + 6, 0);
        pk_put16(ip + 10, 0);
        pk_put16(ip + 10, htons((uint16_t) ~packet_sum(ip, hdr, 0)));
    } else {
        pk_put16(ip + 4, htons(d->n));
        ip[6] = IPPROTO_UDP;
    }
    packet_check(&whole.pk);
    ck_assert_int_eq(memcmp(ip + hdr + 8, d->l4 + 8, d->n - 8), 0);
    ck_assert(!sport || ntohs(pk_get16(ip + hdr)) == sport);
    ck_assert(!dport || ntohs(pk_get16(ip + hdr + 2)) == dport);
}

/* Checks that each packet was counted once; 'n_lost' fragments in vain, and
 * those that are still held not yet. */
static void
check_counters(const struct net *net, uint64_t n_lost)
{
    struct xlat_counters c;
    uint64_t n;

    xlat_zone_get_counters(net->zone, &c);
    n = c.translated + c.replies + c.passed;
    for (int i = 0; i < XLAT_N_DROPS; i++) {
        n += c.drops[i];
    }
    ck_assert_uint_eq(c.packets, n);
    ck_assert_uint_eq(c.packets + net_gauges(net).fragments_held, n_sent);
    ck_assert_uint_eq(c.drops[XLAT_DROP_FRAGMENT], n_lost);
}

static void
begin(struct net *net, const char *text)
{
    n_sent = 0;
    net_begin(net, text);
}

/* Begins a session from 'host' to 'server', and returns its outside port. */
static int
begin_session(struct net *net, const char *host, const char *server)
{
    int port = net_out(net, host, 4000, server, 53);

    ck_assert_int_gt(port, 0);
    n_sent++;
    return port;
}

/* Sends 'd' in three fragments in the 'order' of their numbers.  Checks that
 * each is held or not, as it must, and that all of them come. */
static void
send_three(struct net *net, const struct datagram *d, const int order[3],
           struct results *results)
{
    bool first_was = false;

    results->n = 0;
    for (int i = 0; i < 3; i++) {
        uint32_t ofs = order[i] * 1400;
        uint32_t left = d->n - ofs;

        first_was |= !order[i];
        ck_assert_int_eq(send_fragment(net, d, ofs, left < 1400 ? left : 1400,
                                       results),
                         first_was ? XLAT_TRANSLATED : XLAT_HELD);
        ck_assert_uint_eq(results->n, first_was ? i + 1 : 0);
    }
    ck_assert_uint_eq(net_gauges(net).fragments_held, 0);
}

static const int orders[6][3] = {
    { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 },
    { 2, 1, 0 },
};

/* ------------------------------------------------------------------------
 * Tests.
 * ------------------------------------------------------------------------ */

START_TEST(any_order)
{
    const int *order = orders[_i];
    static struct datagram d;
    static struct results results;
    struct net net;
    int port;

    begin(&net, ONE);
    port = begin_session(&net, HOST, SERVER6);
    make_datagram(&d, HOST, 4000, SERVER6, 53, 0x12345678, 3008);
    send_three(&net, &d, order, &results);
    check_results(&results, 0, 3, &d, POOL, port, SERVER, 53);
    make_datagram(&d, SERVER, 53, POOL, port, 7, 3008);
    send_three(&net, &d, order, &results);
    check_results(&results, 0, 3, &d, SERVER6, 53, HOST, 4000);
    check_counters(&net, 0);
    net_end(&net);
}
END_TEST

START_TEST(any_order_44)
{
    const int *order = orders[_i];
    static struct datagram d;
    static struct results results;
    struct net net;
    int port;

    begin(&net, NAT44);
    port = begin_session(&net, HOST4, SERVER);
    make_datagram(&d, HOST4, 4000, SERVER, 53, 0x5678, 3008);
    send_three(&net, &d, order, &results);
    check_results(&results, 0, 3, &d, POOL, port, SERVER, 53);
    make_datagram(&d, SERVER, 53, POOL, port, 7, 3008);
    send_three(&net, &d, order, &results);
    check_results(&results, 0, 3, &d, SERVER, 53, HOST4, 4000);
    check_counters(&net, 0);
    net_end(&net);
}
END_TEST

/* The first fragment comes out first, those that have waited in the order in
 * which they came. */
START_TEST(order_of_release)
{
    static const uint16_t offsets[] = { 0, 16, 8, 24 };
    static struct datagram d;
    static struct results results;
    struct net net;

    begin(&net, ONE);
    make_datagram(&d, HOST, 4000, SERVER6, 53, 1, 32);
    results.n = 0;
    send_fragment(&net, &d, 16, 8, &results);
    send_fragment(&net, &d, 8, 8, &results);
    send_fragment(&net, &d, 24, 8, &results);
    send_fragment(&net, &d, 0, 8, &results);
    ck_assert_uint_eq(results.n, 4);
    for (int i = 0; i < 4; i++) {
        struct pk_info info;

        pk_parse(results.packets[i].ip, results.packets[i].len, 0, &info);
        ck_assert_uint_eq(info.frag_ofs, offsets[i]);
    }
    check_counters(&net, 0);
    net_end(&net);
}
END_TEST

/* The largest packet there is, last fragment first. */
START_TEST(many_fragments)
{
    static struct datagram d;
    static struct results results;
    struct net net;
    uint32_t n = 64992 / 1448 + 1;

    begin(&net, ONE);
    make_datagram(&d, HOST, 4000, SERVER6, 53, 1, 64992);
    results.n = 0;
    for (uint32_t i = n; i--;) {
        uint32_t left = d.n - i * 1448;

        send_fragment(&net, &d, i * 1448, left < 1448 ? left : 1448,
                      &results);
    }
    ck_assert_uint_eq(results.n, n);
    check_results(&results, 0, n, &d, POOL, 0, SERVER, 53);
    check_counters(&net, 0);
    net_end(&net);
}
END_TEST

START_TEST(interleaved)
{
    static struct datagram a, b;
    static struct results results;
    struct net net;

    begin(&net, ONE);
    make_datagram(&a, HOST, 4000, SERVER6, 53, 1, 1000);
    make_datagram(&b, HOST, 4001, SERVER6, 99, 2, 1000);
    results.n = 0;
    send_fragment(&net, &a, 800, 200, &results);
    send_fragment(&net, &b, 400, 600, &results);
    send_fragment(&net, &a, 400, 400, &results);
    ck_assert_uint_eq(net_gauges(&net).fragments_held, 3);
    ck_assert_uint_eq(results.n, 0);
    send_fragment(&net, &b, 0, 400, &results);
    ck_assert_uint_eq(results.n, 2);
    send_fragment(&net, &a, 0, 400, &results);
    ck_assert_uint_eq(results.n, 5);
    check_results(&results, 0, 2, &b, POOL, 0, SERVER, 99);
    check_results(&results, 2, 3, &a, POOL, 0, SERVER, 53);
    check_counters(&net, 0);
    net_end(&net);
}
END_TEST

/* The oldest makes room. */
START_TEST(full)
{
    static struct datagram d[3];
    static struct results results;
    struct net net;

    begin(&net, ONE "fragments-held=2");
    results.n = 0;
    for (int i = 0; i < 3; i++) {
        make_datagram(&d[i], HOST, 4000, SERVER6, 53, i, 400);
        ck_assert_int_eq(send_fragment(&net, &d[i], 200, 200, &results),
                         XLAT_HELD);
    }
    ck_assert_uint_eq(net_gauges(&net).fragments_held, 2);
    check_counters(&net, 1);
    for (int i = 0; i < 3; i++) {
        send_fragment(&net, &d[i], 0, 200, &results);
    }
    ck_assert_uint_eq(results.n, 5);
    check_results(&results, 1, 2, &d[1], POOL, 0, SERVER, 53);
    check_results(&results, 3, 2, &d[2], POOL, 0, SERVER, 53);
    check_counters(&net, 1);
    net_end(&net);
}
END_TEST

START_TEST(none_held)
{
    static struct datagram d;
    static struct results results;
    struct nat64_gauges gauges;
    struct net net;

    begin(&net, ONE "fragments-held=0");
    make_datagram(&d, HOST, 4000, SERVER6, 53, 1, 400);
    results.n = 0;
    ck_assert_int_eq(send_fragment(&net, &d, 200, 200, &results),
                     XLAT_DROPPED);
    ck_assert_int_eq(net.drop, XLAT_DROP_FRAGMENT);
    send_fragment(&net, &d, 0, 200, &results);
    ck_assert_uint_eq(results.n, 1);
    check_counters(&net, 1);
    gauges = net_gauges(&net);

    /* What it takes, when it is switched on. */
    net_change(&net, ONE);
    ck_assert_uint_ge(net_gauges(&net).bytes,
                      gauges.bytes + 256 * XLAT_HELD_MAX);
    ck_assert_uint_le(net_gauges(&net).bytes,
                      gauges.bytes + 256 * (XLAT_HELD_MAX + 128));
    make_datagram(&d, HOST, 4000, SERVER6, 53, 2, 400);
    ck_assert_int_eq(send_fragment(&net, &d, 200, 200, &results), XLAT_HELD);
    check_counters(&net, 1);
    net_end(&net);
}
END_TEST

/* Those that are too old are dropped, and belong to no first one that comes
 * later. */
START_TEST(timeout)
{
    static struct datagram d;
    static struct results results;
    struct net net;

    begin(&net, ONE);
    make_datagram(&d, HOST, 4000, SERVER6, 53, 1, 400);
    results.n = 0;
    send_fragment(&net, &d, 200, 200, &results);
    net_wait(&net, 1);
    ck_assert_uint_eq(net_gauges(&net).fragments_held, 1);
    check_counters(&net, 0);
    net_wait(&net, 2);
    ck_assert_uint_eq(net_gauges(&net).fragments_held, 0);
    check_counters(&net, 1);

    /* Also if nobody has looked. */
    send_fragment(&net, &d, 200, 200, &results);
    net.ctx.now_us += 3000000;
    send_fragment(&net, &d, 0, 200, &results);
    ck_assert_uint_eq(results.n, 1);
    ck_assert_uint_eq(net_gauges(&net).fragments_held, 1);
    net_wait(&net, 1);
    check_counters(&net, 2);

    /* By the first one of then. */
    net.ctx.now_us += 3000000;
    ck_assert_int_eq(send_fragment(&net, &d, 200, 200, &results), XLAT_HELD);
    net_end(&net);

    begin(&net, ONE "fragment-timeout=10");
    results.n = 0;
    send_fragment(&net, &d, 200, 200, &results);
    net_wait(&net, 10);
    send_fragment(&net, &d, 0, 200, &results);
    check_results(&results, 0, 2, &d, POOL, 0, SERVER, 53);
    check_counters(&net, 0);
    net_end(&net);
}
END_TEST

START_TEST(oversize)
{
    static struct datagram d;
    static struct results results;
    struct net net;

    begin(&net, ONE "mtu4=9000 mtu6=9000");
    make_datagram(&d, HOST, 4000, SERVER6, 53, 1, 4000);
    results.n = 0;
    ck_assert_int_eq(send_fragment(&net, &d, 2000, 2000, &results),
                     XLAT_HELD);
    ck_assert_int_eq(send_fragment(&net, &d, 1992, 2008, &results),
                     XLAT_DROPPED);
    ck_assert_int_eq(net.drop, XLAT_DROP_FRAGMENT);
    send_fragment(&net, &d, 0, 2000, &results);
    check_results(&results, 0, 2, &d, POOL, 0, SERVER, 53);
    check_counters(&net, 1);
    net_end(&net);
}
END_TEST

/* Tenants with equal addresses and identifications. */
START_TEST(tenants)
{
    static struct datagram d;
    static struct results results;
    struct net net;

    begin(&net, ONE);
    make_datagram(&d, HOST, 4000, SERVER6, 53, 1, 600);
    results.n = 0;
    for (uint32_t tenant = 1; tenant <= 3; tenant++) {
        net.ctx.tenant = tenant;
        ck_assert_int_eq(send_fragment(&net, &d, 200, 200, &results),
                         XLAT_HELD);
    }
    for (uint32_t tenant = 1; tenant <= 3; tenant++) {
        net.ctx.tenant = tenant;
        send_fragment(&net, &d, 0, 200, &results);
        ck_assert_uint_eq(results.n, 2 * tenant);
        ck_assert_uint_eq(net_gauges(&net).fragments_held, 3 - tenant);
        for (int i = 1; i <= 2; i++) {
            ck_assert_uint_eq(results.packets[results.n - i].tenant, tenant);
        }
    }
    /* Nor does a fragment behind belong to another's first one. */
    net.ctx.tenant = 4;
    ck_assert_int_eq(send_fragment(&net, &d, 400, 200, &results), XLAT_HELD);
    net.ctx.tenant = 2;
    ck_assert_int_eq(send_fragment(&net, &d, 400, 200, &results),
                     XLAT_TRANSLATED);
    ck_assert_uint_eq(results.packets[results.n - 1].tenant, 2);
    check_counters(&net, 0);
    net_end(&net);
}
END_TEST

/* From one host inside to another, by the pool's address. */
START_TEST(hairpin)
{
    static struct datagram d;
    static struct results results;
    struct net net;
    int port;

    begin(&net, ONE);
    port = begin_session(&net, HOST, SERVER6);
    make_datagram(&d, HOST2, 4002, POOL6, port, 1, 3008);
    send_three(&net, &d, orders[_i], &results);
    check_results(&results, 0, 3, &d, POOL6, 0, HOST, 4000);
    check_counters(&net, 0);

    /* To nobody: what has waited does so in vain. */
    make_datagram(&d, HOST2, 4002, POOL6, port ^ 1, 2, 400);
    results.n = 0;
    ck_assert_int_eq(send_fragment(&net, &d, 200, 200, &results), XLAT_HELD);
    ck_assert_int_eq(send_fragment(&net, &d, 0, 200, &results),
                     XLAT_DROPPED);
    ck_assert_int_eq(net.drop, XLAT_DROP_NO_BINDING);
    ck_assert_int_eq(send_fragment(&net, &d, 200, 200, &results),
                     XLAT_DROPPED);
    ck_assert_int_eq(net.drop, XLAT_DROP_FRAGMENT);
    net_wait(&net, 3);
    check_counters(&net, 2);
    net_end(&net);
}
END_TEST

/* Two hosts that send to two, with equal identifications (of IPv4) between the
 * one address that all have outside. */
START_TEST(hairpins)
{
    static const char *const from[] = { HOST, HOST2 };
    static const char *const to[] = { "2001:db8:1::a", "2001:db8:1::b" };
    static struct datagram d[2];
    static struct results results[2];
    struct net net;

    begin(&net, ONE);
    for (int i = 0; i < 2; i++) {
        int port = begin_session(&net, to[i], SERVER6);

        make_datagram(&d[i], from[i], 4000, POOL6, port, i << 16 | 1, 600);
        results[i].n = 0;
        send_fragment(&net, &d[i], 400, 200, &results[i]);
    }
    for (uint32_t ofs = 0; ofs < 400; ofs += 200) {
        for (int i = 0; i < 2; i++) {
            send_fragment(&net, &d[i], ofs, 200, &results[i]);
        }
    }
    for (int i = 0; i < 2; i++) {
        d[i].id = 1;
        check_results(&results[i], 0, 3, &d[i], POOL6, 0, to[i], 4000);
    }
    check_counters(&net, 0);
    net_end(&net);
}
END_TEST

/* Each is taken once. */
START_TEST(once)
{
    static struct datagram d;
    static struct results results;
    static struct packet packet;
    uint8_t buf[XLAT_HELD_MAX];
    struct xlat_job job, again;
    struct net net;

    begin(&net, ONE);
    make_datagram(&d, HOST, 4000, SERVER6, 53, 1, 600);
    send_fragment(&net, &d, 200, 200, &results);
    send_fragment(&net, &d, 400, 200, &results);
    make_fragment(&packet, &d, 0, 200);
    job = (struct xlat_job) { .pk = packet.pk };
    xlat_run(net.zone, &net.ctx, &job, 1);
    ck_assert_uint_ne(job.held, 0);
    ck_assert_uint_eq(xlat_take_held(net.zone, &job, buf, sizeof buf), 248);
    ck_assert_uint_eq(net_gauges(&net).fragments_held, 1);

    /* The first fragment comes twice: the rest is for the second. */
    make_fragment(&packet, &d, 0, 200);
    again = (struct xlat_job) { .pk = packet.pk };
    xlat_run(net.zone, &net.ctx, &again, 1);
    ck_assert_uint_ne(again.held, 0);
    ck_assert_uint_ne(again.held, job.held);
    ck_assert_uint_eq(xlat_take_held(net.zone, &job, buf, sizeof buf), 0);
    ck_assert_uint_eq(xlat_take_held(net.zone, &again, buf, sizeof buf), 248);
    ck_assert_uint_eq(xlat_take_held(net.zone, &again, buf, sizeof buf), 0);

    make_fragment(&packet, &d, 0, 200);
    job = (struct xlat_job) { .pk = packet.pk };
    xlat_run(net.zone, &net.ctx, &job, 1);
    ck_assert_uint_eq(job.held, 0);
    ck_assert_uint_eq(xlat_take_held(net.zone, &job, buf, sizeof buf), 0);
    net_end(&net);
}
END_TEST

/* Whom nobody takes leaves by its age; a released one is not held again. */
START_TEST(not_taken)
{
    static struct datagram d;
    static struct results results;
    static struct packet packet;
    struct xlat_job job;
    struct net net;

    begin(&net, ONE);
    make_datagram(&d, HOST, 4000, SERVER6, 53, 1, 400);
    send_fragment(&net, &d, 200, 200, &results);
    make_fragment(&packet, &d, 0, 200);
    job = (struct xlat_job) { .pk = packet.pk };
    n_sent++;
    xlat_run(net.zone, &net.ctx, &job, 1);
    ck_assert_uint_ne(job.held, 0);
    check_counters(&net, 0);
    net_wait(&net, 3);
    check_counters(&net, 1);

    net.ctx.released = true;
    ck_assert_int_eq(send_fragment(&net, &d, 200, 200, &results),
                     XLAT_DROPPED);
    check_counters(&net, 2);
    net_end(&net);
}
END_TEST

START_TEST(dry_run)
{
    static struct datagram d;
    static struct results results;
    static struct packet packet;
    struct xlat_job job;
    struct net net;

    begin(&net, ONE);
    make_datagram(&d, HOST, 4000, SERVER6, 53, 1, 400);
    results.n = 0;
    net.ctx.dry_run = true;
    ck_assert_int_eq(send_fragment(&net, &d, 200, 200, &results), XLAT_HELD);
    ck_assert_uint_eq(net_gauges(&net).fragments_held, 0);
    net.ctx.dry_run = false;
    n_sent = 0;
    send_fragment(&net, &d, 200, 200, &results);
    net.ctx.dry_run = true;
    make_fragment(&packet, &d, 0, 200);
    job = (struct xlat_job) { .pk = packet.pk, .held = 1 };
    xlat_run(net.zone, &net.ctx, &job, 1);
    ck_assert_int_eq(job.verdict, XLAT_TRANSLATED);
    ck_assert_uint_eq(job.held, 0);
    ck_assert_uint_eq(net_gauges(&net).fragments_held, 1);
    net.ctx.dry_run = false;
    check_counters(&net, 0);
    send_fragment(&net, &d, 0, 200, &results);
    check_results(&results, 0, 2, &d, POOL, 0, SERVER, 53);
    check_counters(&net, 0);
    net_end(&net);
}
END_TEST

static void
at_once(void (*cb)(void *aux), void *aux)
{
    cb(aux);
}

/* What ends the wait besides: a flush, and another number of slots; another
 * configuration does not. */
START_TEST(control)
{
    static struct datagram d;
    static struct results results;
    struct net net;

    begin(&net, ONE);
    make_datagram(&d, HOST, 4000, SERVER6, 53, 1, 400);
    send_fragment(&net, &d, 200, 200, &results);
    nat64_flush(net.zone, net.ctx.now_us, at_once);
    check_counters(&net, 1);
    send_fragment(&net, &d, 200, 200, &results);
    nat64_drop_held(net.zone);
    check_counters(&net, 2);

    send_fragment(&net, &d, 200, 200, &results);
    net_change(&net, ONE "udp-timeout=200 fragments-held=256");
    ck_assert_uint_eq(net_gauges(&net).fragments_held, 1);
    net_change(&net, ONE "fragments-held=255");
    check_counters(&net, 3);
    send_fragment(&net, &d, 200, 200, &results);
    net_change(&net, ONE "fragments-held=0");
    check_counters(&net, 4);
    ck_assert_uint_eq(net_gauges(&net).fragments_held, 0);
    nat64_drop_held(net.zone);
    net_end(&net);
}
END_TEST

/* A first fragment of another protocol, or of the other direction, releases
 * nothing; nor does a whole packet. */
START_TEST(others)
{
    static struct datagram d, back;
    static struct results results;
    struct net net;
    int port;

    begin(&net, NAT44);
    port = begin_session(&net, HOST4, SERVER);
    make_datagram(&d, SERVER, 53, POOL, port, 1, 400);
    results.n = 0;
    send_fragment(&net, &d, 200, 200, &results);
    make_datagram(&back, HOST4, 4000, SERVER, 53, 1, 400);
    send_fragment(&net, &back, 0, 200, &results);
    send_fragment(&net, &back, 0, 400, &results);
    d.id = 2;
    send_fragment(&net, &d, 0, 200, &results);
    ck_assert_uint_eq(results.n, 3);
    ck_assert_uint_eq(net_gauges(&net).fragments_held, 1);
    check_counters(&net, 0);
    net_end(&net);
}
END_TEST

/* Of nat44, ICMP queries, too, in fragments. */
START_TEST(icmp_44)
{
    static struct packet packet;
    static struct results results;
    static struct net net;
    uint8_t l4[400];
    struct packet_spec spec = {
        .src = HOST4, .dst = SERVER, .proto = IPPROTO_ICMP, .id = 9,
        .l4 = l4,
    };
    struct xlat_job job;

    begin(&net, NAT44);
    packet_icmp(l4, 8, 0, 7 << 16 | 1, NULL, sizeof l4 - 8);
    spec.frag_ofs = 200;
    spec.l4 = l4 + 200;
    spec.l4_bytes = 200;
    packet_build(&packet, &spec);
    job = (struct xlat_job) { .pk = packet.pk };
    xlat_run(net.zone, &net.ctx, &job, 1);
    ck_assert_int_eq(job.verdict, XLAT_HELD);
    spec.frag_ofs = 0;
    spec.more = true;
    spec.l4 = l4;
    packet_build(&packet, &spec);
    job = (struct xlat_job) { .pk = packet.pk };
    xlat_run(net.zone, &net.ctx, &job, 1);
    ck_assert_int_eq(job.verdict, XLAT_TRANSLATED);
    results.n = 0;
    ck_assert_int_eq(run_released(&net, &job, &results), 1);
    packet_check_addr(AF_INET, results.packets[0].ip + 12, POOL);
    net_end(&net);
}
END_TEST

/* ------------------------------------------------------------------------
 * Threads.
 * ------------------------------------------------------------------------ */

#define ROUNDS 1000
#define PACKETS 8                /* In a round. */

static struct net shared;
static pthread_barrier_t barrier;

/* Takes what has waited for 'job' through the zone. */
static void
release(struct xlat_ctx *ctx, const struct xlat_job *job)
{
    static __thread struct packet packet;
    size_t n;

    ctx->released = true;
    while ((n = xlat_take_held(shared.zone, job, packet.buf + PACKET_HEADROOM,
                               XLAT_HELD_MAX))) {
        struct xlat_job released;

        packet_init(&packet, n);
        released = (struct xlat_job) { .pk = packet.pk };
        xlat_run(shared.zone, ctx, &released, 1);
    }
    ctx->released = false;
}

/* Sends the first fragments, or those behind. */
static void *
run_thread(void *is_first_)
{
    static __thread struct packet packet;
    bool is_first = is_first_;
    struct xlat_ctx ctx = {
        .now_us = 1000000, .rng = 1, .thread = is_first ? 2 : 3,
    };
    uint8_t l4[400];
    struct packet_spec spec = {
        .src = HOST, .dst = SERVER6, .proto = IPPROTO_UDP, .more = is_first,
        .frag_ofs = is_first ? 0 : 200, .l4 = l4 + (is_first ? 0 : 200),
        .l4_bytes = 200,
    };

    packet_udp(l4, 4000, 53, sizeof l4 - PK_UDP_HDR_BYTES);
    l4[6] = 1;                   /* There is a checksum. */
    for (uint32_t i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&barrier);
        for (uint32_t k = 0; k < PACKETS; k++) {
            struct xlat_job job;

            spec.id = i * PACKETS + k;
            packet_build(&packet, &spec);
            job = (struct xlat_job) { .pk = packet.pk };
            xlat_run(shared.zone, &ctx, &job, 1);
            if (job.verdict == XLAT_TRANSLATED && job.held) {
                release(&ctx, &job);
            }
        }
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

/* However two threads meet, all fragments of a packet get through. */
START_TEST(two_threads)
{
    pthread_t threads[2];
    struct xlat_counters c;

    begin(&shared, ONE);
    pthread_barrier_init(&barrier, NULL, 2);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_thread,
                                        (void *) i), 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    xlat_zone_get_counters(shared.zone, &c);
    ck_assert_uint_eq(c.translated, 2 * ROUNDS * PACKETS);
    ck_assert_uint_eq(c.packets, c.translated);
    ck_assert_uint_eq(net_gauges(&shared).fragments_held, 0);
    pthread_barrier_destroy(&barrier);
    net_end(&shared);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("nat64-frag");
    TCase *tc = tcase_create("all");
    SRunner *sr = srunner_create(s);
    int n;

    tcase_add_loop_test(tc, any_order, 0, 6);
    tcase_add_loop_test(tc, any_order_44, 0, 6);
    tcase_add_test(tc, order_of_release);
    tcase_add_test(tc, many_fragments);
    tcase_add_test(tc, interleaved);
    tcase_add_test(tc, full);
    tcase_add_test(tc, none_held);
    tcase_add_test(tc, timeout);
    tcase_add_test(tc, oversize);
    tcase_add_test(tc, tenants);
    tcase_add_loop_test(tc, hairpin, 0, 6);
    tcase_add_test(tc, hairpins);
    tcase_add_test(tc, once);
    tcase_add_test(tc, not_taken);
    tcase_add_test(tc, dry_run);
    tcase_add_test(tc, control);
    tcase_add_test(tc, others);
    tcase_add_test(tc, icmp_44);
    tcase_add_test(tc, two_threads);
    suite_add_tcase(s, tc);
    srunner_run_all(sr, CK_ENV);
    n = srunner_ntests_failed(sr);
    srunner_free(sr);
    return n ? EXIT_FAILURE : EXIT_SUCCESS;
}
