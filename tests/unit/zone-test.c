/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Zones: counters, their life across replacements, the rate limit, lists. */

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ila-map.h"
#include "ila-stats.h"
#include "xlat-zone-private.h"
#include "zone-util.h"

#define ILA "kind=ila pool6=3333:0:0:1::/64 "

/* As in struct xlat_ctx. */
static __thread unsigned int thread_number;

static void
run_batch(const struct xlat_zone *zone, const struct xlat_job *before,
          const struct xlat_job *after, size_t n)
{
    struct xlat_tally tally;

    xlat_tally_begin(&tally);
    for (size_t i = 0; i < n; i++) {
        tally.packets++;
        tally.bytes += before[i].pk.len;
        xlat_tally_job(&tally, &after[i], before[i].pk.data[0] >> 4);
    }
    xlat_stats_add(zone->stats, thread_number, &tally);
}

START_TEST(tally)
{
    struct xlat_zone *zone = zone_make("", NULL);
    uint8_t ip4[20] = { 0x45 }, ip6[40] = { 0x60 };
    struct xlat_job in[6], out[6];
    struct xlat_counters c;

    memset(in, 0, sizeof in);
    for (int i = 0; i < 6; i++) {
        in[i].pk.data = i % 2 ? ip6 : ip4;
        in[i].pk.len = i % 2 ? 40 : 20;
    }
    memcpy(out, in, sizeof in);
    out[0].pk = in[1].pk;                  /* 46, in fragments. */
    out[0].pk.frag_mtu = 1280;
    out[1].pk = in[0].pk;                  /* 64. */
    out[2].verdict = XLAT_DROPPED;
    out[2].drop = XLAT_DROP_DENIED;
    out[3].verdict = XLAT_TRANSLATED;      /* 66. */
    out[4].verdict = XLAT_REPLY;
    out[4].drop = XLAT_DROP_TTL;
    out[5].verdict = XLAT_PASSED;
    run_batch(zone, in, out, 6);
    run_batch(zone, in, out, 2);           /* Nothing untranslated. */

    xlat_zone_get_counters(zone, &c);
    ck_assert_uint_eq(c.packets, 8);
    ck_assert_uint_eq(c.bytes, 240);
    ck_assert_uint_eq(c.translated, 5);
    ck_assert_uint_eq(c.translated_46, 2);
    ck_assert_uint_eq(c.translated_64, 2);
    ck_assert_uint_eq(c.translated_66, 1);
    ck_assert_uint_eq(c.fragmented, 2);
    ck_assert_uint_eq(c.drops[XLAT_DROP_DENIED], 1);
    ck_assert_uint_eq(c.replies, 1);
    ck_assert_uint_eq(c.reply_reasons[XLAT_DROP_TTL], 1);
    ck_assert_uint_eq(c.passed, 1);
    xlat_zone_destroy(zone);
}
END_TEST

struct names {
    uint64_t sum;
    int n;
    bool denied;
};

static void
see_name(const char *name, uint64_t value, void *names_)
{
    struct names *names = names_;

    names->n++;
    names->sum += value;
    names->denied |= !strcmp(name, "drop-denied") && value == 7;
}

START_TEST(counter_names)
{
    struct names names = { 0, 0, false };
    struct xlat_counters c;

    memset(&c, 0, sizeof c);
    c.drops[XLAT_DROP_DENIED] = 7;
    c.packets = 100;
    xlat_counters_for_each(&c, see_name, &names);
    ck_assert_int_eq(names.n, sizeof c / sizeof(uint64_t));
    ck_assert_uint_eq(names.sum, 107);
    ck_assert(names.denied);
}
END_TEST

START_TEST(counters_go_on)
{
    struct xlat_zone *old = zone_make("mtu6=1500", NULL);
    struct xlat_zone *new = zone_make("mtu6=1400", old);
    uint8_t ip4[20] = { 0x45 };
    struct xlat_job job = {
        .pk = { .data = ip4, .len = sizeof ip4 }, .verdict = XLAT_PASSED
    };
    struct xlat_counters c;

    /* Both count, as long as both are in use. */
    run_batch(old, &job, &job, 1);
    run_batch(new, &job, &job, 1);
    xlat_zone_destroy(old);
    run_batch(new, &job, &job, 1);
    xlat_zone_get_counters(new, &c);
    ck_assert_uint_eq(c.packets, 3);
    ck_assert_uint_eq(c.passed, 3);
    xlat_zone_destroy(new);
}
END_TEST

#define N_THREADS 4
#define N_ROUNDS 20000

/* Two threads have numbers of their own, two have none. */
static void *
count(void *zone)
{
    static const unsigned int numbers[N_THREADS] = {
        0, 0, 1, XLAT_MAX_THREADS - 1
    };
    static unsigned int n_threads;

    thread_number = numbers[__atomic_fetch_add(&n_threads, 1,
                                               __ATOMIC_RELAXED)];
    uint8_t ip4[20] = { 0x45 };
    struct xlat_job job = {
        .pk = { .data = ip4, .len = sizeof ip4 }, .verdict = XLAT_DROPPED,
        .drop = XLAT_DROP_TTL,
    };

    for (int i = 0; i < N_ROUNDS; i++) {
        run_batch(zone, &job, &job, 1);
    }
    return NULL;
}

START_TEST(many_threads)
{
    struct xlat_zone *zone = zone_make("", NULL);
    pthread_t threads[N_THREADS];
    struct xlat_counters c;

    for (int i = 0; i < N_THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, count, zone), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    xlat_zone_get_counters(zone, &c);
    ck_assert_uint_eq(c.packets, N_THREADS * N_ROUNDS);
    ck_assert_uint_eq(c.drops[XLAT_DROP_TTL], N_THREADS * N_ROUNDS);
    xlat_zone_destroy(zone);
}
END_TEST

static int
take(struct xlat_zone *zone, uint64_t now_us, int n)
{
    int taken = 0;

    while (n--) {
        taken += xlat_stats_take_token(zone->stats, &zone->set, now_us, false);
    }
    return taken;
}

START_TEST(rate_limit)
{
    struct xlat_zone *zone = zone_make("icmp-error-rate=10 "
                                       "icmp-error-burst=5", NULL);
    const uint64_t start = UINT64_C(1700000000) * 1000000;

    ck_assert(xlat_stats_take_token(zone->stats, &zone->set, start, true));
    ck_assert_int_eq(take(zone, start, 100), 5);
    ck_assert(!xlat_stats_take_token(zone->stats, &zone->set, start, true));
    ck_assert_int_eq(take(zone, start + 99999, 100), 0);
    ck_assert_int_eq(take(zone, start + 100000, 100), 1);
    ck_assert_int_eq(take(zone, start + 400000, 100), 3);
    ck_assert_int_eq(take(zone, start + 60000000, 100), 5);

    /* A clock that went back is forgiven after one burst's time. */
    ck_assert_int_eq(take(zone, 0, 100), 0);
    ck_assert_int_eq(take(zone, 500000, 100), 5);

    /* Evenly, over a long time: the rate. */
    int n = 0;
    for (uint64_t t = 0; t < 100; t++) {
        n += take(zone, 1000000 + t * 100000, 3);
    }
    ck_assert_int_ge(n, 100);
    ck_assert_int_le(n, 105);
    xlat_zone_destroy(zone);

    zone = zone_make("icmp-error-rate=0", NULL);
    ck_assert_int_eq(take(zone, start, 10), 0);
    xlat_zone_destroy(zone);
}
END_TEST

static void
check_packets(const struct xlat_zone *zone, uint64_t identifier,
              uint64_t packets)
{
    struct xlat_mapping_info info;

    ck_assert(xlat_zone_find_mapping(zone, identifier, &info));
    ck_assert_uint_eq(info.packets[0], packets);
    ck_assert_uint_eq(info.bytes[0], packets * 100);
    ck_assert_uint_eq(info.packets[1], 0);
}

static void
hit(const struct xlat_zone *zone, uint64_t identifier)
{
    static unsigned int thread;

    ila_stats_add(zone->ila->stats, thread++ % XLAT_MAX_THREADS,
                  ila_map_find(zone->ila, identifier)->slot, 0, 1, 100);
}

START_TEST(mapping_counters_go_on)
{
    struct xlat_zone *old = zone_make(ILA "ila=0:0:0:1,2001:0:0:1 "
                                      "ila=0:0:0:2,2001:0:0:1", NULL);
    struct xlat_zone *new;

    hit(old, 1);
    hit(old, 2);

    /* Another locator, another order, one more. */
    new = zone_make(ILA "ila=0:0:0:3,2001:0:0:1 ila=0:0:0:2,2001:0:0:1 "
                    "ila=0:0:0:1,2001:0:0:7,no-action", old);
    hit(old, 1);
    hit(new, 1);
    hit(new, 3);
    check_packets(new, 1, 3);
    check_packets(new, 2, 1);
    check_packets(new, 3, 1);
    xlat_zone_destroy(old);
    check_packets(new, 1, 3);

    /* A mapping that was gone begins anew. */
    old = new;
    new = zone_make(ILA "ila=0:0:0:2,2001:0:0:1", old);
    xlat_zone_destroy(old);
    old = new;
    new = zone_make(ILA "ila=0:0:0:1,2001:0:0:1 ila=0:0:0:2,2001:0:0:1", old);
    xlat_zone_destroy(old);
    check_packets(new, 1, 0);
    check_packets(new, 2, 1);
    xlat_zone_destroy(new);
}
END_TEST

static void
check_slot(const struct ila_stats *stats, uint32_t slot, uint64_t packets,
           uint64_t bytes)
{
    struct ila_counters sum;

    ila_stats_get(stats, slot, &sum);
    ck_assert_uint_eq(sum.packets[0], packets);
    ck_assert_uint_eq(sum.bytes[0], bytes);
}

START_TEST(stats_slots)
{
    struct ila_stats *stats = ila_stats_create();
    uint32_t slots[1000];

    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 1000; i++) {
            ck_assert_int_eq(ila_stats_take(stats, &slots[i]), 0);
            ck_assert_uint_lt(slots[i], 64 * 31);
            check_slot(stats, slots[i], 0, 0);
            ila_stats_add(stats, i % XLAT_MAX_THREADS, slots[i], 0, 1, i);
        }
        for (uint32_t i = 0; i < 1000; i++) {
            check_slot(stats, slots[i], 1, i);
            ila_stats_share(stats, slots[i]);
            ila_stats_release(stats, slots[i]);
            check_slot(stats, slots[i], 1, i);
        }
        for (uint32_t i = 0; i < 1000; i++) {
            ila_stats_release(stats, slots[i]);
        }
    }
    ila_stats_unref(stats);
}
END_TEST

static void
see_eam(const char *prefix6, const char *prefix4, void *n)
{
    *(int *) n += !strcmp(prefix6, "2001:db8:1::/120")
                  && !strcmp(prefix4, "192.0.2.0/24");
    *(int *) n += 10;
}

static void
see_mapping(const struct xlat_mapping_info *info, void *n)
{
    *(int *) n += info->identifier == UINT64_C(0x2555000000020000)
                  && info->locator == UINT64_C(0x2001000000000002)
                  && !strcmp(info->csum_mode, "neutral-map-auto")
                  && !strcmp(info->ident_type, "luid");
    *(int *) n += 10;
}

START_TEST(lists)
{
    struct xlat_zone *zone = zone_make("zone=9 eam=2001:db8:1::/120,"
                                       "192.0.2.0/24 eam=2001:db8:2::1,"
                                       "198.51.100.1", NULL);
    struct xlat_mapping_info info;
    int n = 0;

    ck_assert_uint_eq(xlat_zone_number(zone), 9);
    ck_assert_int_eq(xlat_zone_kind(zone), XLAT_KIND_SIIT);
    ck_assert_uint_eq(xlat_zone_n_eams(zone), 2);
    ck_assert_uint_eq(xlat_zone_n_mappings(zone), 0);
    xlat_zone_for_each_eam(zone, see_eam, &n);
    xlat_zone_for_each_mapping(zone, see_mapping, &n);
    ck_assert_int_eq(n, 21);
    ck_assert(!xlat_zone_find_mapping(zone, 1, &info));
    xlat_zone_destroy(zone);

    n = 0;
    zone = zone_make(ILA "ila=0:0:0:1,2001:0:0:1 ila=2555:0:2:0,2001:0:0:2,"
                     "neutral-map-auto,luid", NULL);
    ck_assert_int_eq(xlat_zone_kind(zone), XLAT_KIND_ILA);
    ck_assert_uint_eq(xlat_zone_n_eams(zone), 0);
    ck_assert_uint_eq(xlat_zone_n_mappings(zone), 2);
    xlat_zone_for_each_eam(zone, see_eam, &n);
    xlat_zone_for_each_mapping(zone, see_mapping, &n);
    ck_assert_int_eq(n, 21);
    xlat_zone_destroy(zone);
}
END_TEST

/* A zone may change its kind: its own counters go on. */
START_TEST(kind_changes)
{
    struct xlat_zone *siit = zone_make("pool6=2001:db8::/96", NULL);
    struct xlat_zone *ila = zone_make(ILA "ila=0:0:0:1,2001:0:0:1", siit);

    ck_assert_ptr_eq(siit->stats, ila->stats);
    xlat_zone_destroy(siit);
    siit = zone_make("pool6=2001:db8::/96", ila);
    xlat_zone_destroy(ila);
    xlat_zone_destroy(siit);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("zone");
    TCase *tcase = tcase_create("zone");
    SRunner *runner = srunner_create(suite);

    tcase_add_test(tcase, tally);
    tcase_add_test(tcase, counter_names);
    tcase_add_test(tcase, counters_go_on);
    tcase_add_test(tcase, many_threads);
    tcase_add_test(tcase, rate_limit);
    tcase_add_test(tcase, mapping_counters_go_on);
    tcase_add_test(tcase, stats_slots);
    tcase_add_test(tcase, lists);
    tcase_add_test(tcase, kind_changes);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
