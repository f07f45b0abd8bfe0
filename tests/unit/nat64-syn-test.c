/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* What a stateful zone sends of its own accord: ICMP errors about SYNs that
 * have waited in vain, and probes of TCP sessions (RFC 6146, 3.5.2.2; RFC
 * 5382, REQ-4). */

#include <arpa/inet.h>
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nat64-private.h"
#include "packet.h"
#include "pk-csum.h"
#include "xlat-zone-private.h"
#include "zone-util.h"

#define FIN 0x01
#define SYN 0x02
#define RST 0x04
#define ACK 0x10

/* Both hosts, as either side knows them; the pool has one port. */
#define H6 "2001:db8:1::5"
#define H4 "10.0.0.5"
#define S4 "198.51.100.7"
#define S6 "2001:db8:64::c633:6407"
#define T4 "198.51.100.8"
#define T6 "2001:db8:64::c633:6408"
#define P4 "192.0.2.1"

#define NAT64 "kind=nat64 pool6=2001:db8:64::/96 pool4=" P4 ":5000-5000 "
#define NAT44 "kind=nat44 pool4=" P4 ":5000-5000 "

/* ------------------------------------------------------------------------
 * A zone, its clock, and what it sends.
 * ------------------------------------------------------------------------ */

#define MAX_SENT 4096
#define ORIGIN_IN 7              /* Of hosts inside, ... */
#define ORIGIN_OUT 9             /* ... and outside. */

struct sent {
    uint16_t origin;
    uint16_t len;
    uint8_t ip[600];
};

static struct xlat_zone *zone;
static uint64_t now_us;
static bool has_origins;
static struct xlat_ctx ctx;
static struct xlat_job job;      /* The last packet. */
static struct packet packet;

static struct sent sent[MAX_SENT];
static unsigned int n_sent;

static void
at_once(void (*cb)(void *aux), void *aux)
{
    cb(aux);
}

static void
note_sent(uint16_t origin, const uint8_t *ip, uint32_t len, void *aux)
{
    struct sent *s = &sent[n_sent++];

    ck_assert_ptr_eq(aux, &n_sent);
    ck_assert_uint_le(n_sent, MAX_SENT);
    ck_assert_uint_le(len, sizeof s->ip);
    s->origin = origin;
    s->len = len;
    memcpy(s->ip, ip, len);
}

static uint16_t
get_origin(struct xlat_ctx *c, const struct xlat_job *j)
{
    const uint8_t *ip = j->pk.data;

    ck_assert_ptr_eq(c, &ctx);
    if (!has_origins) {
        return 0;
    }
    return ip[0] >> 4 == 6 || ip[12] == 10 ? ORIGIN_IN : ORIGIN_OUT;
}

static void
put_zone(const char *text)
{
    struct xlat_zone *old = zone;

    zone = zone_make(text, old);
    nat64_fit(zone, now_us, at_once);
    xlat_zone_destroy(old);
}

static void
begin(const char *text)
{
    zone = NULL;
    now_us = 1000000000;
    has_origins = true;
    n_sent = 0;
    put_zone(text);
    ctx = (struct xlat_ctx) { .rng = 1, .thread = 1,
                              .get_origin = get_origin };
}

static void
run_clock(void)
{
    nat64_run(zone, now_us, at_once, note_sent, &n_sent);
}

/* Lets 'seconds' pass, ten times a second, or in a thousand steps. */
static void
pass(double seconds)
{
    uint64_t end = now_us + seconds * 1e6;
    uint64_t step = seconds > 100 ? seconds * 1e3 : 100000;

    while (now_us < end) {
        now_us = now_us + step < end ? now_us + step : end;
        run_clock();
    }
}

static void
finish(void)
{
    nat64_flush(zone, now_us, at_once);
    xlat_zone_destroy(zone);
    zone = NULL;
}

static struct nat64_gauges
gauges(void)
{
    struct nat64_gauges g;

    nat64_get_gauges(zone, &g);
    return g;
}

static struct xlat_counters
counters(void)
{
    struct xlat_counters c;

    xlat_zone_get_counters(zone, &c);
    return c;
}

static void
run_packet(void)
{
    job = (struct xlat_job) { .pk = packet.pk };
    ctx.now_us = now_us;
    xlat_run(zone, &ctx, &job, 1);
}

/* Takes a segment through the zone. */
static void
send_tcp(const char *src, uint16_t sport, const char *dst, uint16_t dport,
         uint8_t flags)
{
    uint8_t l4[64];
    uint32_t n = packet_tcp(l4, sport, dport, 0);

    l4[13] = flags;
    packet_build(&packet, &(struct packet_spec) {
        .src = src, .dst = dst, .proto = IPPROTO_TCP, .l4 = l4, .l4_bytes = n,
    });
    run_packet();
}

static void
check_translated(void)
{
    ck_assert_msg(job.verdict == XLAT_TRANSLATED, "verdict %d, %s",
                  job.verdict, xlat_drop_name(job.drop));
}

static void
check_dropped(enum xlat_drop drop)
{
    ck_assert_int_eq(job.verdict, XLAT_DROPPED);
    ck_assert_str_eq(xlat_drop_name(job.drop), xlat_drop_name(drop));
}

/* A SYN from outside to the one port of the pool. */
static void
send_syn(void)
{
    send_tcp(S4, 80, P4, 5000, SYN);
}

/* ------------------------------------------------------------------------
 * SYNs in a zone.
 * ------------------------------------------------------------------------ */

/* Checks that the 'i'-th packet sent is the ICMP error about a packet that
 * begins with the 'n' bytes at 'quote'. */
static void
check_refusal(unsigned int i, const uint8_t *quote, uint32_t n)
{
    const struct sent *s = &sent[i];
    struct pk pk = { .data = (uint8_t *) s->ip, .len = s->len };

    ck_assert_uint_eq(s->origin, ORIGIN_OUT);
    ck_assert_uint_eq(s->len, 28 + n);
    packet_check(&pk);
    ck_assert_uint_eq(s->ip[0], 0x45);
    ck_assert_uint_eq(s->ip[9], IPPROTO_ICMP);
    ck_assert_mem_eq(s->ip + 12, quote + 16, 4);
    ck_assert_mem_eq(s->ip + 16, quote + 12, 4);
    ck_assert_uint_eq(s->ip[20], 3);
    ck_assert_uint_eq(s->ip[21], 3);
    ck_assert_uint_eq(pk_get32(s->ip + 24), 0);
    ck_assert_mem_eq(s->ip + 28, quote, n);
}

/* It waits six seconds, then is refused; once. */
START_TEST(refused_after_six_seconds)
{
    uint8_t syn[40];

    begin(_i ? NAT44 : NAT64);
    send_syn();
    memcpy(syn, packet.buf + PACKET_HEADROOM, sizeof syn);
    check_dropped(XLAT_DROP_STORED_SYN);
    ck_assert_uint_eq(gauges().stored_syns, 1);
    ck_assert_uint_eq(counters().drops[XLAT_DROP_STORED_SYN], 1);
    ck_assert_uint_eq(gauges().sessions, 0);

    pass(6);
    ck_assert_uint_eq(n_sent, 0);
    pass(0.3);
    ck_assert_uint_eq(n_sent, 1);
    check_refusal(0, syn, sizeof syn);
    ck_assert_uint_eq(gauges().stored_syns, 0);
    ck_assert_uint_eq(counters().syns_answered, 1);
    pass(60);
    ck_assert_uint_eq(n_sent, 1);
    finish();
}
END_TEST

/* Repeating it changes nothing, neither the time nor the verdict. */
START_TEST(retries)
{
    begin(NAT64);
    send_syn();
    pass(1);
    send_syn();
    check_dropped(XLAT_DROP_STORED_SYN);
    pass(2);
    send_syn();
    check_dropped(XLAT_DROP_STORED_SYN);
    ck_assert_uint_eq(gauges().stored_syns, 1);
    ck_assert_uint_eq(n_sent, 0);
    pass(3.3);
    ck_assert_uint_eq(n_sent, 1);

    /* The next one begins anew. */
    pass(0.7);
    send_syn();
    check_dropped(XLAT_DROP_STORED_SYN);
    pass(6.3);
    ck_assert_uint_eq(n_sent, 2);
    finish();
}
END_TEST

/* A SYN from inside for the same connection: nothing is refused, and the next
 * packet from outside arrives. */
START_TEST(simultaneous_open)
{
    begin(_i ? NAT44 : NAT64);
    send_syn();
    pass(1);
    send_tcp(_i ? H4 : H6, 4000, _i ? S4 : S6, 80, SYN);
    check_translated();
    ck_assert_uint_eq(gauges().stored_syns, 0);
    send_syn();
    check_translated();
    ck_assert_uint_eq(gauges().stored_syns, 0);
    pass(300);
    ck_assert_uint_eq(n_sent, 0);
    ck_assert_uint_eq(gauges().sessions, 1);
    finish();
}
END_TEST

/* A connection of the same host inside with somebody else does not count, ...
 * but then there is a binding, and the next SYN goes to it. */
START_TEST(binding_comes)
{
    begin(NAT64);
    send_syn();
    send_tcp(H6, 4000, T6, 80, SYN);
    check_translated();
    ck_assert_uint_eq(gauges().stored_syns, 1);
    pass(1);
    send_syn();
    check_translated();
    ck_assert_uint_eq(gauges().stored_syns, 0);
    pass(7);
    ck_assert_uint_eq(n_sent, 0);
    finish();
}
END_TEST

/* A session that is made while its SYN is being stored has no chance to have
 * it forgotten; it is not refused either. */
START_TEST(session_beside)
{
    struct pk_info info;

    begin(NAT64);
    send_tcp(H6, 4000, S6, 80, SYN);
    send_tcp(H6, 4000, T6, 80, SYN);
    send_syn();
    check_translated();
    send_tcp(S4, 80, P4, 5000, SYN);
    packet_build(&packet, &(struct packet_spec) {
        .src = S4, .dst = P4, .proto = IPPROTO_TCP,
        .l4 = (const uint8_t []) { 0, 80, 5000 >> 8, 5000 & 0xff, [19] = 0 },
        .l4_bytes = 20,
    });
    ck_assert_int_eq(pk_parse(packet.pk.data, packet.pk.len, 0, &info),
                     PK_OK);
    nat64_syns_put(zone->stateful->syns, packet.pk.data, &info,
                   nat64_tick(now_us), ORIGIN_OUT);
    ck_assert_uint_eq(gauges().stored_syns, 1);
    pass(7);
    ck_assert_uint_eq(gauges().stored_syns, 0);
    ck_assert_uint_eq(n_sent, 0);
    finish();
}
END_TEST

/* With address-dependent filtering, a SYN to a binding waits, too. */
START_TEST(filtered)
{
    begin(NAT64 "filtering=address-dependent");
    send_tcp(H6, 4000, T6, 80, SYN);
    send_syn();
    check_dropped(XLAT_DROP_STORED_SYN);
    ck_assert_uint_eq(gauges().stored_syns, 1);
    send_tcp(H6, 4000, S6, 80, SYN);
    check_translated();
    ck_assert_uint_eq(gauges().stored_syns, 0);

    send_tcp("198.51.100.9", 80, P4, 5000, SYN);
    check_dropped(XLAT_DROP_STORED_SYN);
    pass(7);
    ck_assert_uint_eq(n_sent, 1);
    finish();
}
END_TEST

/* What is not stored: answers, other packets, SYNs of hosts inside, SYNs
 * nobody could answer, and none if nothing may happen. */
START_TEST(not_stored)
{
    begin(NAT64);
    send_tcp(S4, 80, P4, 5000, SYN | ACK);
    ck_assert_int_eq(job.verdict, XLAT_REPLY);
    send_tcp(S4, 80, P4, 5000, ACK);
    ck_assert_int_eq(job.verdict, XLAT_REPLY);
    send_tcp(S4, 80, P4, 5000, SYN | RST);
    ck_assert_int_eq(job.verdict, XLAT_REPLY);
    send_tcp(H6, 4000, "2001:db8:64::c000:201", 6000, SYN);
    check_dropped(XLAT_DROP_NO_BINDING);
    ck_assert_uint_eq(gauges().stored_syns, 0);
    pass(300);
    ck_assert_uint_eq(gauges().sessions, 0);

    ctx.dry_run = true;
    send_syn();
    check_dropped(XLAT_DROP_STORED_SYN);
    ctx.dry_run = false;
    has_origins = false;
    send_syn();
    check_dropped(XLAT_DROP_STORED_SYN);
    ctx.get_origin = NULL;
    send_syn();
    check_dropped(XLAT_DROP_STORED_SYN);
    ck_assert_uint_eq(gauges().stored_syns, 0);

    put_zone(NAT64 "stored-syns=0");
    send_syn();
    ck_assert_int_eq(job.verdict, XLAT_REPLY);
    ck_assert_int_eq(job.drop, XLAT_DROP_NO_BINDING);
    ck_assert_uint_eq(gauges().stored_syns, 0);
    ck_assert_uint_eq(n_sent, 0);
    finish();
}
END_TEST

/* As many wait as may. */
START_TEST(bound)
{
    static const unsigned int sizes[] = { 1, 3, 4, 5, 64, 1000 };
    unsigned int max = sizes[_i];
    char text[200];

    snprintf(text, sizeof text, NAT64 "stored-syns=%u", max);
    begin(text);
    for (int i = 0; i < 3000; i++) {
        send_tcp(S4, 1000 + i, P4, 5000 + i % 7, SYN);
        check_dropped(XLAT_DROP_STORED_SYN);
        ck_assert_uint_le(gauges().stored_syns, max);
    }
    ck_assert_uint_gt(gauges().stored_syns, max * 9 / 10);
    max = gauges().stored_syns;
    pass(7);
    ck_assert_uint_eq(gauges().stored_syns, 0);
    ck_assert_uint_eq(n_sent, max);
    for (unsigned int i = 0; i < n_sent; i++) {
        check_refusal(i, sent[i].ip + 28, 40);
    }
    finish();
}
END_TEST

/* Errors about SYNs have their part of the rate. */
START_TEST(rate)
{
    struct xlat_counters c;

    begin(NAT64 "icmp-error-rate=1 icmp-error-burst=2");
    for (int i = 0; i < 5; i++) {
        send_tcp(S4, 1000 + i, P4, 5000, SYN);
    }
    pass(7);
    ck_assert_uint_eq(n_sent, 2);
    ck_assert_uint_eq(counters().syns_answered, 2);
    ck_assert_uint_eq(gauges().stored_syns, 0);
    c = counters();
    ck_assert_uint_eq(c.replies_limited, 3);
    ck_assert_uint_eq(c.replies, 0);
    ck_assert_uint_eq(c.packets, c.drops[XLAT_DROP_STORED_SYN]);
    finish();
}
END_TEST

/* Of a long one, the begin is quoted; options are part of it. */
START_TEST(quote)
{
    uint8_t l4[400] = { 0 }, options[40], quoted[NAT64_SYN_BYTES];
    uint32_t n = packet_tcp(l4, 80, 5000, 300);

    begin(NAT64 "icmp-source4=203.0.113.9");
    memset(options, 1, sizeof options);
    l4[13] = SYN;
    packet_build(&packet, &(struct packet_spec) {
        .src = S4, .dst = P4, .proto = IPPROTO_TCP, .l4 = l4, .l4_bytes = n,
        .ext = options, .ext_bytes = sizeof options,
    });
    memcpy(quoted, packet.pk.data, sizeof quoted);
    run_packet();
    check_dropped(XLAT_DROP_STORED_SYN);
    pass(7);
    ck_assert_uint_eq(n_sent, 1);
    packet_check_addr(AF_INET, sent[0].ip + 12, "203.0.113.9");
    memcpy(sent[0].ip + 12, quoted + 16, 4);
    pk_put16(sent[0].ip + 10, 0);
    pk_put16(sent[0].ip + 10, htons(~packet_sum(sent[0].ip, 20, 0)));
    check_refusal(0, quoted, sizeof quoted);
    finish();
}
END_TEST

/* Configurations come and go. */
START_TEST(reconfigured)
{
    begin(NAT64);
    send_syn();
    put_zone(NAT64 "tcp-incoming-syn-timeout=3");
    ck_assert_uint_eq(gauges().stored_syns, 1);
    pass(3.3);
    ck_assert_uint_eq(n_sent, 1);

    /* Another number: another store. */
    send_syn();
    put_zone(NAT64 "stored-syns=7");
    ck_assert_uint_eq(gauges().stored_syns, 0);
    send_syn();
    ck_assert_uint_eq(gauges().stored_syns, 1);

    /* An address that is not the zone's any more sends nothing. */
    put_zone("kind=nat64 pool6=2001:db8:64::/96 pool4=192.0.2.2 "
             "stored-syns=7");
    pass(7);
    ck_assert_uint_eq(gauges().stored_syns, 0);
    ck_assert_uint_eq(n_sent, 1);
    finish();
}
END_TEST

START_TEST(nobody_sends)
{
    begin(NAT64 "tcp-established-timeout=10 tcp-transitory-timeout=5");
    send_tcp(H6, 4000, S6, 80, SYN);
    send_syn();
    send_tcp(T4, 80, P4, 5001, SYN);
    now_us += 12000000;
    nat64_run(zone, now_us, at_once, NULL, NULL);
    ck_assert_uint_eq(gauges().stored_syns, 0);
    ck_assert_uint_eq(counters().syns_answered, 0);
    ck_assert_uint_eq(counters().probes_sent, 0);
    ck_assert_uint_eq(gauges().sessions, 1);
    finish();
}
END_TEST

/* ------------------------------------------------------------------------
 * The store, compared with a slow one.
 * ------------------------------------------------------------------------ */

/* A store of one bucket: a list, oldest first. */
#define N_SLOW 4

struct slow {
    struct nat64_syn syns[N_SLOW];
    unsigned int n;
};

static int
slow_find(const struct slow *slow, const struct nat64_syn_key *key)
{
    for (unsigned int i = 0; i < slow->n; i++) {
        if (!memcmp(&slow->syns[i].key, key, sizeof *key)) {
            return i;
        }
    }
    return -1;
}

static void
slow_remove(struct slow *slow, unsigned int i)
{
    slow->n--;
    memmove(&slow->syns[i], &slow->syns[i + 1],
            (slow->n - i) * sizeof slow->syns[0]);
}

static void
make_syn(struct rng *rng, uint32_t tick, struct nat64_syn *syn)
{
    memset(syn, 0, sizeof *syn);
    syn->key.remote = htonl(0xc6336400 + rng_below(rng, 2));
    syn->key.outside = htonl(0xc0000201 + rng_below(rng, 2));
    syn->key.remote_port = htons(80 + rng_below(rng, 2));
    syn->key.outside_port = htons(5000 + rng_below(rng, 2));
    syn->tick = tick;
    syn->origin = 1 + rng_below(rng, UINT16_MAX);
    syn->len = 40 + rng_below(rng, NAT64_SYN_BYTES - 39);
    syn->packet[0] = 0x45;
    memcpy(syn->packet + 12, &syn->key.remote, 4);
    memcpy(syn->packet + 16, &syn->key.outside, 4);
    memcpy(syn->packet + 20, &syn->key.remote_port, 2);
    memcpy(syn->packet + 22, &syn->key.outside_port, 2);
    for (unsigned int i = 24; i < syn->len; i++) {
        syn->packet[i] = rng_next(rng);
    }
}

static void
both_put(struct nat64_syns *syns, struct slow *slow,
         const struct nat64_syn *syn)
{
    struct pk_info info = { .len = syn->len, .l4_ofs = 20, .family = 4 };

    nat64_syns_put(syns, syn->packet, &info, syn->tick, syn->origin);
    if (slow_find(slow, &syn->key) < 0) {
        if (slow->n == N_SLOW) {
            slow_remove(slow, 0);
        }
        slow->syns[slow->n++] = *syn;
    }
}

static void
both_take(struct nat64_syns *syns, struct slow *slow, uint32_t tick,
          uint32_t max_age)
{
    struct nat64_syn syn;
    uint32_t cursor = 0;

    while (nat64_syns_take(syns, &cursor, tick, max_age, &syn)) {
        int i = slow_find(slow, &syn.key);

        ck_assert_int_ge(i, 0);
        ck_assert_uint_gt(tick - syn.tick, max_age);
        ck_assert_uint_eq(syn.tick, slow->syns[i].tick);
        ck_assert_uint_eq(syn.origin, slow->syns[i].origin);
        ck_assert_uint_eq(syn.len, slow->syns[i].len);
        ck_assert_mem_eq(syn.packet, slow->syns[i].packet, syn.len);
        slow_remove(slow, i);
    }
    for (unsigned int i = 0; i < slow->n; i++) {
        ck_assert_uint_le(tick - slow->syns[i].tick, max_age);
    }
}

START_TEST(random_store)
{
    struct nat64_syns *syns = nat64_syns_create(N_SLOW, 5);
    struct slow slow = { .n = 0 };
    uint32_t tick = UINT32_MAX - 500;
    struct rng rng;

    rng_init(&rng, 6146);
    for (int i = 0; i < 100000; i++) {
        struct nat64_syn syn;
        int at;

        tick++;
        make_syn(&rng, tick, &syn);
        switch (rng_below(&rng, 8)) {
        case 0:
            both_take(syns, &slow, tick, rng_below(&rng, 12));
            break;
        case 1:
            nat64_syns_forget(syns, &syn.key);
            at = slow_find(&slow, &syn.key);
            if (at >= 0) {
                slow_remove(&slow, at);
            }
            break;
        default:
            both_put(syns, &slow, &syn);
        }
        ck_assert_uint_eq(nat64_syns_n(syns), slow.n);
    }
    ck_assert_ptr_eq(nat64_syns_ref(syns), syns);
    nat64_syns_unref(syns);
    nat64_syns_unref(syns);
}
END_TEST

/* Threads that store, forget and take. */
#define N_THREADS 4

static struct nat64_syns *shared;

static void *
use_store(void *seed)
{
    struct rng rng;

    rng_init(&rng, (uintptr_t) seed);
    for (uint32_t tick = 0; tick < 50000; tick++) {
        struct nat64_syn syn, taken;
        struct pk_info info;
        uint32_t cursor = 0;

        make_syn(&rng, tick, &syn);
        info = (struct pk_info) { .len = syn.len, .l4_ofs = 20 };
        nat64_syns_put(shared, syn.packet, &info, tick, syn.origin);
        if (tick % 3 == 0) {
            nat64_syns_forget(shared, &syn.key);
        }
        while (tick % 5 == 0
               && nat64_syns_take(shared, &cursor, tick, 3, &taken)) {
            ck_assert_mem_eq(taken.packet + 12, &taken.key.remote, 4);
            ck_assert_mem_eq(taken.packet + 20, &taken.key.remote_port, 2);
        }
    }
    return NULL;
}

START_TEST(threads)
{
    pthread_t ids[N_THREADS];
    struct nat64_syn syn;
    uint32_t cursor = 0, n = 0;

    shared = nat64_syns_create(10, 6);
    for (uintptr_t i = 0; i < N_THREADS; i++) {
        ck_assert_int_eq(pthread_create(&ids[i], NULL, use_store,
                                        (void *) (i + 1)), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(ids[i], NULL);
    }
    while (nat64_syns_take(shared, &cursor, 100000, 0, &syn)) {
        n++;
    }
    ck_assert_uint_le(n, 10);
    ck_assert_uint_eq(nat64_syns_n(shared), 0);
    nat64_syns_unref(shared);
}
END_TEST

/* ------------------------------------------------------------------------
 * Probes.
 * ------------------------------------------------------------------------ */

#define TIMES "tcp-established-timeout=100 tcp-transitory-timeout=20 "

static bool is_44;

static void
from_inside(uint8_t flags)
{
    send_tcp(is_44 ? H4 : H6, 4000, is_44 ? S4 : S6, 80, flags);
    check_translated();
}

static void
from_outside(uint8_t flags)
{
    send_tcp(S4, 80, P4, 5000, flags);
    check_translated();
}

/* Begins with an established session. */
static void
begin_established(const char *text)
{
    is_44 = strstr(text, "nat44");
    begin(text);
    from_inside(SYN);
    from_outside(SYN | ACK);
    from_inside(ACK);
}

static void
note_state(const struct nat64_session_info *info, void *state)
{
    *(const char **) state = info->state;
}

/* Returns the state of the one session, "" if there is none. */
static const char *
state(void)
{
    const char *name = "";
    uint32_t cursor = 0;

    nat64_dump(zone, now_us, &cursor, UINT32_MAX, note_state, &name);
    return name;
}

static void
check_probe(const struct sent *s)
{
    struct pk pk = { .data = (uint8_t *) s->ip, .len = s->len };
    const uint8_t *tcp = s->ip + (is_44 ? 20 : 40);

    ck_assert_uint_eq(s->origin, ORIGIN_IN);
    ck_assert_uint_eq(s->len, is_44 ? 40 : 60);
    packet_check(&pk);
    if (is_44) {
        ck_assert_uint_eq(s->ip[0], 0x45);
        ck_assert_uint_eq(s->ip[8], 64);
        ck_assert_uint_eq(s->ip[9], IPPROTO_TCP);
        packet_check_addr(AF_INET, s->ip + 12, S4);
        packet_check_addr(AF_INET, s->ip + 16, H4);
    } else {
        ck_assert_uint_eq(ntohl(pk_get32(s->ip)), 0x60000000);
        ck_assert_uint_eq(s->ip[6], IPPROTO_TCP);
        ck_assert_uint_eq(s->ip[7], 64);
        packet_check_addr(AF_INET6, s->ip + 8, S6);
        packet_check_addr(AF_INET6, s->ip + 24, H6);
    }
    ck_assert_uint_eq(ntohs(pk_get16(tcp)), 80);
    ck_assert_uint_eq(ntohs(pk_get16(tcp + 2)), 4000);
    ck_assert_uint_eq(pk_get32(tcp + 4), 0);
    ck_assert_uint_eq(pk_get32(tcp + 8), 0);
    ck_assert_uint_eq(tcp[12], 5 << 4);
    ck_assert_uint_eq(tcp[13], ACK);
    ck_assert_uint_eq(pk_get16(tcp + 18), 0);
}

/* An established session without packets is probed, once, and ends if nobody
 * answers. */
START_TEST(probed)
{
    begin_established(_i ? NAT44 TIMES : NAT64 TIMES);
    pass(100);
    ck_assert_uint_eq(n_sent, 0);
    ck_assert_str_eq(state(), "ESTABLISHED");
    pass(0.5);
    ck_assert_uint_eq(n_sent, 1);
    check_probe(&sent[0]);
    ck_assert_str_eq(state(), "TRANS");
    ck_assert_uint_eq(counters().probes_sent, 1);
    pass(19.4);
    ck_assert_str_eq(state(), "TRANS");
    ck_assert_uint_eq(gauges().sessions, 1);
    pass(0.6);
    ck_assert_uint_eq(gauges().sessions, 0);
    ck_assert_uint_eq(n_sent, 1);
    finish();
}
END_TEST

/* Who answers keeps the session, and is asked again after the next silence. */
START_TEST(answered)
{
    begin_established(NAT64 TIMES);
    for (unsigned int i = 1; i <= 3; i++) {
        pass(101);
        ck_assert_uint_eq(n_sent, i);
        check_probe(&sent[i - 1]);
        ck_assert_str_eq(state(), "TRANS");
        pass(15);
        if (i == 2) {
            from_outside(ACK);
        } else {
            from_inside(ACK);
        }
        ck_assert_str_eq(state(), "ESTABLISHED");
        pass(99);
        ck_assert_uint_eq(n_sent, i);
        ck_assert_str_eq(state(), "ESTABLISHED");
        from_inside(ACK);
    }
    finish();
}
END_TEST

/* Who has no such connection says so, and changes nothing. */
START_TEST(answered_by_reset)
{
    begin_established(NAT64 TIMES);
    pass(101);
    ck_assert_uint_eq(n_sent, 1);
    from_inside(RST);
    ck_assert_str_eq(state(), "TRANS");
    pass(18);
    ck_assert_uint_eq(gauges().sessions, 1);
    pass(2);
    ck_assert_uint_eq(gauges().sessions, 0);
    finish();
}
END_TEST

/* No probe if none is wanted or nobody knows where to send it: then the
 * session ends at once. */
START_TEST(not_probed)
{
    begin_established(_i ? NAT64 TIMES "tcp-probe=false" : NAT64 TIMES);
    if (!_i) {
        finish();
        begin(NAT64 TIMES);
        has_origins = false;
        from_inside(SYN);
        from_outside(SYN | ACK);
        from_inside(ACK);
    }
    pass(99);
    ck_assert_uint_eq(gauges().sessions, 1);
    pass(1.5);
    ck_assert_uint_eq(gauges().sessions, 0);
    ck_assert_uint_eq(n_sent, 0);
    ck_assert_uint_eq(counters().probes_sent, 0);
    finish();
}
END_TEST

/* Only ESTABLISHED ends by a probe. */
START_TEST(other_states)
{
    begin_established(NAT64 TIMES);
    from_outside(FIN | ACK);
    pass(99);
    ck_assert_str_eq(state(), "V4 FIN RCV");
    pass(2);
    ck_assert_uint_eq(gauges().sessions, 0);

    from_inside(SYN);
    pass(21);
    ck_assert_uint_eq(gauges().sessions, 0);
    ck_assert_uint_eq(n_sent, 0);
    finish();
}
END_TEST

/* Where the inside is shows when it answers, of a session that was begun from
 * outside. */
START_TEST(begun_outside)
{
    begin(NAT64 TIMES);
    is_44 = false;
    send_tcp(H6, 4000, T6, 80, SYN);
    check_translated();
    from_outside(SYN);
    from_inside(SYN | ACK);
    for (int i = 0; i < 5; i++) {
        from_outside(ACK);
    }
    pass(101);
    ck_assert_uint_eq(n_sent, 1);
    check_probe(&sent[0]);
    finish();
}
END_TEST

/* A session that has ended and begins anew has a new origin. */
START_TEST(revived)
{
    begin(NAT64 TIMES);
    has_origins = false;
    is_44 = false;
    from_inside(SYN);
    has_origins = true;
    now_us += 30000000;
    from_inside(SYN);
    has_origins = false;
    from_outside(SYN | ACK);
    pass(101);
    ck_assert_uint_eq(n_sent, 1);
    check_probe(&sent[0]);
    finish();
}
END_TEST

/* Time may leap: what would have ended in the meantime ends. */
START_TEST(leap)
{
    begin_established(NAT64 TIMES);
    now_us += 110000000;
    run_clock();
    ck_assert_uint_eq(n_sent, 1);
    ck_assert_str_eq(state(), "TRANS");
    now_us += 9000000;
    run_clock();
    ck_assert_uint_eq(gauges().sessions, 1);
    now_us += 2000000;
    run_clock();
    ck_assert_uint_eq(gauges().sessions, 0);
    finish();

    begin_established(NAT64 TIMES);
    now_us += 121000000;
    run_clock();
    ck_assert_uint_eq(gauges().sessions, 0);
    ck_assert_uint_eq(n_sent, 0);
    finish();
}
END_TEST

/* A packet that comes when its time is over, but before anybody has looked,
 * keeps the session. */
START_TEST(packet_in_between)
{
    begin_established(NAT64 TIMES);
    now_us += 101000000;
    if (_i) {
        from_inside(ACK);
    } else {
        from_outside(ACK);
    }
    ck_assert_uint_eq(gauges().sessions, 1);
    ck_assert_str_eq(state(), "ESTABLISHED");
    pass(99);
    ck_assert_uint_eq(n_sent, 0);
    pass(2);
    ck_assert_uint_eq(n_sent, 1);
    finish();
}
END_TEST

/* Timeouts that become shorter are those of sessions that are there. */
START_TEST(shorter)
{
    begin_established(NAT64);
    pass(200);
    ck_assert_uint_eq(n_sent, 0);
    put_zone(NAT64 "tcp-established-timeout=150 tcp-transitory-timeout=100");
    pass(0.1);
    ck_assert_uint_eq(n_sent, 1);
    ck_assert_str_eq(state(), "TRANS");
    pass(51);
    ck_assert_uint_eq(gauges().sessions, 0);
    finish();
}
END_TEST

/* A zone that becomes larger takes what it knows of its sessions along. */
START_TEST(resized)
{
    begin_established(NAT64 TIMES);
    put_zone(NAT64 TIMES "max-sessions=1000");
    ck_assert_uint_eq(gauges().max_sessions, 1000);
    pass(101);
    ck_assert_uint_eq(n_sent, 1);
    check_probe(&sent[0]);
    finish();
}
END_TEST

/* Many sessions fall silent at once: their probes are spread. */
START_TEST(many)
{
    begin("kind=nat64 pool6=2001:db8:64::/96 pool4=192.0.2.1 "
          "max-sessions=4000 " TIMES);
    for (int i = 0; i < 2500; i++) {
        send_tcp(H6, 2000 + i, S6, 80, SYN);
        check_translated();
        send_tcp(S4, 80, P4, ntohs(pk_get16(job.pk.data + 20)), SYN | ACK);
        check_translated();
    }
    pass(100);
    ck_assert_uint_eq(n_sent, 0);
    now_us += 1000000;
    for (unsigned int n = 1000; n <= 3000; n += 1000) {
        run_clock();
        ck_assert_uint_eq(n_sent, n < 2500 ? n : 2500);
    }
    pass(18);
    ck_assert_uint_eq(gauges().sessions, 2500);
    pass(2);
    ck_assert_uint_eq(gauges().sessions, 0);
    ck_assert_uint_eq(n_sent, 2500);
    finish();
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("nat64-syn");
    TCase *syns = tcase_create("syns");
    TCase *probes = tcase_create("probes");
    SRunner *runner = srunner_create(suite);

    tcase_add_loop_test(syns, refused_after_six_seconds, 0, 2);
    tcase_add_test(syns, retries);
    tcase_add_loop_test(syns, simultaneous_open, 0, 2);
    tcase_add_test(syns, binding_comes);
    tcase_add_test(syns, session_beside);
    tcase_add_test(syns, filtered);
    tcase_add_test(syns, not_stored);
    tcase_add_loop_test(syns, bound, 0, 6);
    tcase_add_test(syns, rate);
    tcase_add_test(syns, quote);
    tcase_add_test(syns, reconfigured);
    tcase_add_test(syns, nobody_sends);
    tcase_add_test(syns, random_store);
    tcase_add_test(syns, threads);
    suite_add_tcase(suite, syns);

    tcase_add_loop_test(probes, probed, 0, 2);
    tcase_add_test(probes, answered);
    tcase_add_test(probes, answered_by_reset);
    tcase_add_loop_test(probes, not_probed, 0, 2);
    tcase_add_test(probes, other_states);
    tcase_add_test(probes, begun_outside);
    tcase_add_test(probes, revived);
    tcase_add_test(probes, leap);
    tcase_add_loop_test(probes, packet_in_between, 0, 2);
    tcase_add_test(probes, shorter);
    tcase_add_test(probes, resized);
    tcase_add_test(probes, many);
    suite_add_tcase(suite, probes);

    srunner_run_all(runner, CK_ENV);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed != 0;
}
