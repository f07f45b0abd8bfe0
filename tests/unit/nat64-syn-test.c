/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* SYNs from outside that nobody has asked for: they wait for one from inside,
 * and are refused in the end (RFC 6146, 3.5.2.2; RFC 5382, REQ-4). */

#include <arpa/inet.h>
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nat64-own.h"
#include "nat64-private.h"
#include "pk-csum.h"
#include "xlat-zone-private.h"
#include "zone-util.h"

/* A SYN from outside to the one port of the pool. */
static void
send_syn(void)
{
    own_send_tcp(S4, 80, P4, 5000, SYN);
}

/* ------------------------------------------------------------------------
 * SYNs in a zone.
 * ------------------------------------------------------------------------ */

/* Checks that the 'i'-th packet sent is the ICMP error about a packet that
 * begins with the 'n' bytes at 'quote'. */
static void
check_refusal(unsigned int i, const uint8_t *quote, uint32_t n)
{
    const struct own_sent *s = &own.sent[i];
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

    own_begin(_i ? NAT44 : NAT64);
    send_syn();
    memcpy(syn, own.packet.buf + PACKET_HEADROOM, sizeof syn);
    own_check_dropped(XLAT_DROP_STORED_SYN);
    ck_assert_uint_eq(own_gauges().stored_syns, 1);
    ck_assert_uint_eq(own_counters().drops[XLAT_DROP_STORED_SYN], 1);
    ck_assert_uint_eq(own_gauges().sessions, 0);

    own_pass(6);
    ck_assert_uint_eq(own.n_sent, 0);
    own_pass(0.3);
    ck_assert_uint_eq(own.n_sent, 1);
    check_refusal(0, syn, sizeof syn);
    ck_assert_uint_eq(own_gauges().stored_syns, 0);
    ck_assert_uint_eq(own_counters().syns_answered, 1);
    own_pass(60);
    ck_assert_uint_eq(own.n_sent, 1);
    own_finish();
}
END_TEST

/* Repeating it changes nothing, neither the time nor the verdict. */
START_TEST(retries)
{
    own_begin(NAT64);
    send_syn();
    own_pass(1);
    send_syn();
    own_check_dropped(XLAT_DROP_STORED_SYN);
    own_pass(2);
    send_syn();
    own_check_dropped(XLAT_DROP_STORED_SYN);
    ck_assert_uint_eq(own_gauges().stored_syns, 1);
    ck_assert_uint_eq(own.n_sent, 0);
    own_pass(3.3);
    ck_assert_uint_eq(own.n_sent, 1);

    /* The next one begins anew. */
    own_pass(0.7);
    send_syn();
    own_check_dropped(XLAT_DROP_STORED_SYN);
    own_pass(6.3);
    ck_assert_uint_eq(own.n_sent, 2);
    own_finish();
}
END_TEST

/* A SYN from inside for the same connection: nothing is refused, and the next
 * packet from outside arrives. */
START_TEST(simultaneous_open)
{
    own_begin(_i ? NAT44 : NAT64);
    send_syn();
    own_pass(1);
    own_send_tcp(_i ? H4 : H6, 4000, _i ? S4 : S6, 80, SYN);
    own_check_translated();
    ck_assert_uint_eq(own_gauges().stored_syns, 0);
    send_syn();
    own_check_translated();
    ck_assert_uint_eq(own_gauges().stored_syns, 0);
    own_pass(300);
    ck_assert_uint_eq(own.n_sent, 0);
    ck_assert_uint_eq(own_gauges().sessions, 1);
    own_finish();
}
END_TEST

/* A connection of the same host inside with somebody else does not count, ...
 * but then there is a binding, and the next SYN goes to it. */
START_TEST(binding_comes)
{
    own_begin(NAT64);
    send_syn();
    own_send_tcp(H6, 4000, T6, 80, SYN);
    own_check_translated();
    ck_assert_uint_eq(own_gauges().stored_syns, 1);
    own_pass(1);
    send_syn();
    own_check_translated();
    ck_assert_uint_eq(own_gauges().stored_syns, 0);
    own_pass(7);
    ck_assert_uint_eq(own.n_sent, 0);
    own_finish();
}
END_TEST

/* A session that is made while its SYN is being stored has no chance to have
 * it forgotten; it is not refused either. */
START_TEST(session_beside)
{
    struct pk_info info;

    own_begin(NAT64);
    own_send_tcp(H6, 4000, S6, 80, SYN);
    own_send_tcp(H6, 4000, T6, 80, SYN);
    send_syn();
    own_check_translated();
    own_send_tcp(S4, 80, P4, 5000, SYN);
    packet_build(&own.packet, &(struct packet_spec) {
        .src = S4, .dst = P4, .proto = IPPROTO_TCP,
        .l4 = (const uint8_t []) { 0, 80, 5000 >> 8, 5000 & 0xff, [19] = 0 },
        .l4_bytes = 20,
    });
    ck_assert_int_eq(pk_parse(own.packet.pk.data, own.packet.pk.len, 0, &info),
                     PK_OK);
    nat64_syns_put(own.zone->stateful->syns, own.packet.pk.data, &info,
                   nat64_tick(own.now_us), ORIGIN_OUT);
    ck_assert_uint_eq(own_gauges().stored_syns, 1);
    own_pass(7);
    ck_assert_uint_eq(own_gauges().stored_syns, 0);
    ck_assert_uint_eq(own.n_sent, 0);
    own_finish();
}
END_TEST

/* With address-dependent filtering, a SYN to a binding waits, too. */
START_TEST(filtered)
{
    own_begin(NAT64 "filtering=address-dependent");
    own_send_tcp(H6, 4000, T6, 80, SYN);
    send_syn();
    own_check_dropped(XLAT_DROP_STORED_SYN);
    ck_assert_uint_eq(own_gauges().stored_syns, 1);
    own_send_tcp(H6, 4000, S6, 80, SYN);
    own_check_translated();
    ck_assert_uint_eq(own_gauges().stored_syns, 0);

    own_send_tcp("198.51.100.9", 80, P4, 5000, SYN);
    own_check_dropped(XLAT_DROP_STORED_SYN);
    own_pass(7);
    ck_assert_uint_eq(own.n_sent, 1);
    own_finish();
}
END_TEST

/* What is not stored: answers, other packets, SYNs of hosts inside, SYNs
 * nobody could answer, and none if nothing may happen. */
START_TEST(not_stored)
{
    own_begin(NAT64);
    own_send_tcp(S4, 80, P4, 5000, SYN | ACK);
    ck_assert_int_eq(own.job.verdict, XLAT_REPLY);
    own_send_tcp(S4, 80, P4, 5000, ACK);
    ck_assert_int_eq(own.job.verdict, XLAT_REPLY);
    own_send_tcp(S4, 80, P4, 5000, SYN | RST);
    ck_assert_int_eq(own.job.verdict, XLAT_REPLY);
    own_send_tcp(H6, 4000, "2001:db8:64::c000:201", 6000, SYN);
    own_check_dropped(XLAT_DROP_NO_BINDING);
    ck_assert_uint_eq(own_gauges().stored_syns, 0);
    own_pass(300);
    ck_assert_uint_eq(own_gauges().sessions, 0);

    own.ctx.dry_run = true;
    send_syn();
    own_check_dropped(XLAT_DROP_STORED_SYN);
    own.ctx.dry_run = false;
    own.has_origins = false;
    send_syn();
    own_check_dropped(XLAT_DROP_STORED_SYN);
    own.ctx.get_origin = NULL;
    send_syn();
    own_check_dropped(XLAT_DROP_STORED_SYN);
    ck_assert_uint_eq(own_gauges().stored_syns, 0);

    own_put_zone(NAT64 "stored-syns=0");
    send_syn();
    ck_assert_int_eq(own.job.verdict, XLAT_REPLY);
    ck_assert_int_eq(own.job.drop, XLAT_DROP_NO_BINDING);
    ck_assert_uint_eq(own_gauges().stored_syns, 0);
    ck_assert_uint_eq(own.n_sent, 0);
    own_finish();
}
END_TEST

/* As many wait as may. */
START_TEST(bound)
{
    static const unsigned int sizes[] = { 1, 3, 4, 5, 64, 1000 };
    unsigned int max = sizes[_i];
    char text[200];

    snprintf(text, sizeof text, NAT64 "stored-syns=%u", max);
    own_begin(text);
    for (int i = 0; i < 3000; i++) {
        own_send_tcp(S4, 1000 + i, P4, 5000 + i % 7, SYN);
        own_check_dropped(XLAT_DROP_STORED_SYN);
        ck_assert_uint_le(own_gauges().stored_syns, max);
    }
    ck_assert_uint_gt(own_gauges().stored_syns, max * 9 / 10);
    max = own_gauges().stored_syns;
    own_pass(7);
    ck_assert_uint_eq(own_gauges().stored_syns, 0);
    ck_assert_uint_eq(own.n_sent, max);
    for (unsigned int i = 0; i < own.n_sent; i++) {
        check_refusal(i, own.sent[i].ip + 28, 40);
    }
    own_finish();
}
END_TEST

/* Errors about SYNs have their part of the rate. */
START_TEST(rate)
{
    struct xlat_counters c;

    own_begin(NAT64 "icmp-error-rate=1 icmp-error-burst=2");
    for (int i = 0; i < 5; i++) {
        own_send_tcp(S4, 1000 + i, P4, 5000, SYN);
    }
    own_pass(7);
    ck_assert_uint_eq(own.n_sent, 2);
    ck_assert_uint_eq(own_counters().syns_answered, 2);
    ck_assert_uint_eq(own_gauges().stored_syns, 0);
    c = own_counters();
    ck_assert_uint_eq(c.replies_limited, 3);
    ck_assert_uint_eq(c.replies, 0);
    ck_assert_uint_eq(c.packets, c.drops[XLAT_DROP_STORED_SYN]);
    own_finish();
}
END_TEST

/* Of a long one, the begin is quoted; options are part of it. */
START_TEST(quote)
{
    uint8_t l4[400] = { 0 }, options[40], quoted[NAT64_SYN_BYTES];
    uint32_t n = packet_tcp(l4, 80, 5000, 300);

    own_begin(NAT64 "icmp-source4=203.0.113.9");
    memset(options, 1, sizeof options);
    l4[13] = SYN;
    packet_build(&own.packet, &(struct packet_spec) {
        .src = S4, .dst = P4, .proto = IPPROTO_TCP, .l4 = l4, .l4_bytes = n,
        .ext = options, .ext_bytes = sizeof options,
    });
    memcpy(quoted, own.packet.pk.data, sizeof quoted);
    own_run_packet();
    own_check_dropped(XLAT_DROP_STORED_SYN);
    own_pass(7);
    ck_assert_uint_eq(own.n_sent, 1);
    packet_check_addr(AF_INET, own.sent[0].ip + 12, "203.0.113.9");
    memcpy(own.sent[0].ip + 12, quoted + 16, 4);
    pk_put16(own.sent[0].ip + 10, 0);
    pk_put16(own.sent[0].ip + 10, htons(~packet_sum(own.sent[0].ip, 20, 0)));
    check_refusal(0, quoted, sizeof quoted);
    own_finish();
}
END_TEST

/* Configurations come and go. */
START_TEST(reconfigured)
{
    own_begin(NAT64);
    send_syn();
    own_put_zone(NAT64 "tcp-incoming-syn-timeout=3");
    ck_assert_uint_eq(own_gauges().stored_syns, 1);
    own_pass(3.3);
    ck_assert_uint_eq(own.n_sent, 1);

    /* Another number: another store. */
    send_syn();
    own_put_zone(NAT64 "stored-syns=7");
    ck_assert_uint_eq(own_gauges().stored_syns, 0);
    send_syn();
    ck_assert_uint_eq(own_gauges().stored_syns, 1);

    /* An address that is not the zone's any more sends nothing. */
    own_put_zone("kind=nat64 pool6=2001:db8:64::/96 pool4=192.0.2.2 "
             "stored-syns=7");
    own_pass(7);
    ck_assert_uint_eq(own_gauges().stored_syns, 0);
    ck_assert_uint_eq(own.n_sent, 1);
    own_finish();
}
END_TEST

START_TEST(nobody_sends)
{
    own_begin(NAT64 "tcp-established-timeout=10 tcp-transitory-timeout=5");
    own_send_tcp(H6, 4000, S6, 80, SYN);
    send_syn();
    own_send_tcp(T4, 80, P4, 5001, SYN);
    own.now_us += 12000000;
    nat64_run(own.zone, own.now_us, own_at_once, NULL, NULL);
    ck_assert_uint_eq(own_gauges().stored_syns, 0);
    ck_assert_uint_eq(own_counters().syns_answered, 0);
    ck_assert_uint_eq(own_counters().probes_sent, 0);
    ck_assert_uint_eq(own_gauges().sessions, 1);
    own_finish();
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

int
main(void)
{
    Suite *suite = suite_create("nat64-syn");
    TCase *syns = tcase_create("syns");
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

    srunner_run_all(runner, CK_ENV);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed != 0;
}
