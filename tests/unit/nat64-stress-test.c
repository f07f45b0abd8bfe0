/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Everything about a stateful zone at once, as a switch does it: two threads
 * run packets, a third lets time pass and looks, and a fourth gives the zone
 * new configurations (limits, pools, static bindings, tables of other sizes),
 * empties it, and takes records back.
 *
 * What single packets become is the matter of other tests.  Here, nothing may
 * race (this file is to be run with the thread sanitizer, too), and in the end
 * everything must have come back: sessions, bindings, their slots, ports,
 * blocks, subscribers. */

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nat64-private.h"
#include "nat64.h"
#include "xlat-zone-private.h"
#include "zone-util.h"

#define N_RUNNERS 2              /* Threads that run packets. */
#define N_THREADS (N_RUNNERS + 2)
#define BATCH 16
#define BUF_BYTES 512
#define HEADROOM 128

#define N_CHANGES 60             /* Configurations in one test. */
#define BATCHES_BETWEEN 40       /* That each runner runs meanwhile. */
#define TICK_US 20000            /* By which time goes on. */

/* Inside hosts, their ports, and servers outside. */
#define N_HOSTS 12
#define N_PORTS 6
#define N_SERVERS 3
#define N_TENANTS 2

/* ------------------------------------------------------------------------
 * Scenarios.
 * ------------------------------------------------------------------------ */

/* Words of a configuration; one of each group is chosen. */
struct scenario {
    const char *first;           /* Of all configurations. */
    const char *groups[5][4];
    const char *last;            /* Of the one in which everything ends. */
};

#define TIMES "udp-timeout=120 icmp-timeout=2 tcp-transitory-timeout=2 " \
              "tcp-established-timeout=3 port-reuse-delay=1 "

static const struct scenario scenarios[] = {
    { "kind=nat44 inside4=10.0.0.0/8 " TIMES,
      { { "subscriber-sessions=4", "subscriber-ports=3", "subscriber-rate=9",
          "max-ports=40" },
        { "max-sessions=120", "max-sessions=90", "max-sessions=120",
          "max-sessions=120" },
        { "pool4=192.0.2.1:1024-1151", "pool4=192.0.2.1:1024-1151",
          "pool4=192.0.2.1:1024-1151 pool4=192.0.2.2:1024-1087",
          "pool4=192.0.2.1:1024-1100" },
        { "", "bib=udp,10.0.0.1:1000,192.0.2.1:1030 "
              "bib=tcp,10.0.0.2:1001,192.0.2.1:1031,tenant=1",
          "bib=udp,10.0.0.2:1000,192.0.2.1:1030",
          "bib=udp,10.0.0.1:1000,192.0.2.1:1032" },
        { "", "mapping=per-flow", "filtering=address-dependent", "" } },
      "pool4=192.0.2.1:1024-1151 max-sessions=120" },
    { "kind=nat64 stored-syns=8 port-block-size=64 " TIMES,
      { { "subscriber-sessions=9", "subscriber-ports=8", "port-blocks=1",
          "port-blocks=2" },
        { "pool6=2001:db8:64::/96", "pool6=2001:db8:64::/96",
          "pool6=2001:db8:64::/96 pool6=2001:db8:65::/96",
          "pool6=2001:db8:65::/96" },
        { "pool4=192.0.2.1:1024-1535", "pool4=192.0.2.1:1024-1535",
          "pool4=192.0.2.1:1024-1535 pool4=192.0.2.2:1024-1087",
          "pool4=192.0.2.1:1090-1200" },
        { "", "bib=udp,[2001:db8:1::1]:1000,192.0.2.1:1100 "
              "bib=tcp,[2001:db8:1::2]:1001,192.0.2.1:1101,tenant=1",
          "bib=udp,[2001:db8:1::2]:1000,192.0.2.1:1100",
          "bib=udp,[2001:db8:1::1]:1000,192.0.2.1:1102" },
        { "max-sessions=150", "max-sessions=150", "max-sessions=150",
          "max-sessions=110" } },
      "pool6=2001:db8:64::/96 pool4=192.0.2.1:1024-1535 max-sessions=150" },
    { "kind=nat44 inside4=10.0.0.0/8 pool4=192.0.2.1:1024-1279 log=sessions "
      TIMES,
      { { "share=0/2", "share=0/2", "share=0/2", "share=1/2" },
        { "max-sessions=120", "max-sessions=90", "max-sessions=120",
          "max-sessions=120" },
        { "subscriber-sessions=4", "", "", "" },
        { "", "mapping=per-flow", "", "" },
        { "", "", "", "" } },
      "share=0/2 max-sessions=120" },
};

static const struct scenario *scenario;

/* ------------------------------------------------------------------------
 * Who has passed: see postpone() in nat64.h.
 * ------------------------------------------------------------------------ */

#define AT_REST UINT64_MAX

static struct {
    uint64_t n __attribute__((aligned(64)));   /* Rounds, or AT_REST. */
} passed[N_THREADS];

struct postponed {
    struct postponed *next;
    void (*cb)(void *aux);
    void *aux;
    uint64_t passed[N_THREADS];
};

static pthread_mutex_t postponed_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct postponed *first_postponed;
static struct postponed **last_postponed = &first_postponed;

static void
postpone(void (*cb)(void *aux), void *aux)
{
    struct postponed *p = malloc(sizeof *p);

    *p = (struct postponed) { .cb = cb, .aux = aux };
    pthread_mutex_lock(&postponed_mutex);
    for (int i = 0; i < N_THREADS; i++) {
        p->passed[i] = __atomic_load_n(&passed[i].n, __ATOMIC_SEQ_CST);
    }
    *last_postponed = p;
    last_postponed = &p->next;
    pthread_mutex_unlock(&postponed_mutex);
}

static bool
has_passed(const struct postponed *p)
{
    for (int i = 0; i < N_THREADS; i++) {
        uint64_t n = __atomic_load_n(&passed[i].n, __ATOMIC_SEQ_CST);

        if (p->passed[i] != AT_REST && n <= p->passed[i]) {
            return false;
        }
    }
    return true;
}

/* Calls what all threads have passed. */
static void
call_postponed(void)
{
    for (;;) {
        struct postponed *p;

        pthread_mutex_lock(&postponed_mutex);
        p = first_postponed && has_passed(first_postponed) ? first_postponed
                                                           : NULL;
        if (p) {
            first_postponed = p->next;
            if (!first_postponed) {
                last_postponed = &first_postponed;
            }
        }
        pthread_mutex_unlock(&postponed_mutex);
        if (!p) {
            return;
        }
        p->cb(p->aux);
        free(p);
    }
}

/* Says that 'thread' has nothing in hand. */
static void
pass(unsigned int thread)
{
    __atomic_fetch_add(&passed[thread].n, 1, __ATOMIC_SEQ_CST);
}

/* ------------------------------------------------------------------------
 * The zone.
 * ------------------------------------------------------------------------ */

static struct xlat_zone *current;
static uint64_t now_us;
static bool at_end;

static struct xlat_zone *
get_zone(void)
{
    return __atomic_load_n(&current, __ATOMIC_ACQUIRE);
}

static uint64_t
get_time(void)
{
    return __atomic_load_n(&now_us, __ATOMIC_RELAXED);
}

static void
destroy_zone(void *zone)
{
    xlat_zone_destroy(zone);
}

/* Puts the zone of 'text' in the place of the old one. */
static void
change_to(const char *text)
{
    struct xlat_zone *old = current;
    struct xlat_zone *new = zone_make(text, old);

    __atomic_store_n(&current, new, __ATOMIC_RELEASE);
    if (old) {
        postpone(destroy_zone, old);
    }
    nat64_fit(new, get_time(), postpone);
}

static void
change(struct rng *rng)
{
    char text[1024];
    int n = snprintf(text, sizeof text, "%s", scenario->first);

    for (int i = 0; i < 5; i++) {
        n += snprintf(text + n, sizeof text - n, " %s",
                      scenario->groups[i][rng_below(rng, 4)]);
    }
    change_to(text);
}

static void
change_to_last(void)
{
    char text[1024];

    snprintf(text, sizeof text, "%s %s", scenario->first, scenario->last);
    change_to(text);
}

/* ------------------------------------------------------------------------
 * Packets.
 * ------------------------------------------------------------------------ */

struct runner {
    pthread_t thread;
    unsigned int number;
    struct rng rng;
    struct xlat_ctx ctx;
    uint64_t n_translated;
    uint64_t n_drops[XLAT_N_DROPS];
    uint8_t bufs[BATCH][BUF_BYTES];
};

static void
put16(uint8_t *p, uint16_t x)
{
    p[0] = x >> 8;
    p[1] = x;
}

static void
put32(uint8_t *p, uint32_t x)
{
    put16(p, x >> 16);
    put16(p + 2, x);
}

/* Writes the transport header of a packet of 'proto' at 'l4', with a checksum
 * that may be right, and returns its bytes. */
static uint32_t
put_l4(struct rng *rng, uint8_t *l4, uint8_t proto, bool six, uint16_t sport,
       uint16_t dport)
{
    static const uint8_t flags[] = { 0x02, 0x02, 0x12, 0x10, 0x11, 0x04 };

    memset(l4, 0, 20);
    put16(l4, sport);
    put16(l4 + 2, dport);
    switch (proto) {
    case IPPROTO_TCP:
        l4[12] = 5 << 4;
        l4[13] = flags[rng_below(rng, sizeof flags)];
        return 20;
    case IPPROTO_UDP:
        put16(l4 + 4, 20);
        put16(l4 + 6, 1);
        return 20;
    default:
        l4[0] = six ? 128 : 8;
        l4[1] = 0;
        put16(l4 + 4, sport);
        return 20;
    }
}

static uint8_t
random_proto(struct rng *rng)
{
    static const uint8_t protos[] = { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDP,
                                      IPPROTO_ICMP };

    return protos[rng_below(rng, sizeof protos)];
}

/* Writes an IPv4 packet at 'ip'; returns its bytes. */
static uint32_t
put4(struct rng *rng, uint8_t *ip, uint32_t src, uint16_t sport, uint32_t dst,
     uint16_t dport)
{
    uint8_t proto = random_proto(rng);
    uint32_t bytes = 20 + put_l4(rng, ip + 20, proto, false, sport, dport);

    memset(ip, 0, 20);
    ip[0] = 0x45;
    put16(ip + 2, bytes);
    ip[8] = 64;
    ip[9] = proto;
    put32(ip + 12, src);
    put32(ip + 16, dst);
    return bytes;
}

static uint32_t
put6(struct rng *rng, uint8_t *ip, unsigned int host, uint16_t sport,
     uint32_t dst, uint16_t dport)
{
    uint8_t proto = random_proto(rng);
    uint32_t bytes;

    proto = proto == IPPROTO_ICMP ? IPPROTO_ICMPV6 : proto;
    bytes = put_l4(rng, ip + 40, proto, true, sport, dport);
    memset(ip, 0, 40);
    ip[0] = 0x60;
    put16(ip + 4, bytes);
    ip[6] = proto;
    ip[7] = 64;
    put32(ip + 8, 0x20010db8);
    put32(ip + 12, 0x00010000);
    ip[23] = 1 + host;
    put32(ip + 24, 0x20010db8);
    put32(ip + 28, 0x00640000 + (rng_below(rng, 2) << 16));
    put32(ip + 36, dst);
    return 40 + bytes;
}

static uint32_t
random_server(struct rng *rng)
{
    return 0xc6336401 + rng_below(rng, N_SERVERS);
}

static uint32_t
random_pool_ip(struct rng *rng)
{
    return 0xc0000201 + rng_below(rng, 2);
}

/* Writes any packet at 'ip'; returns its bytes. */
static uint32_t
put_packet(struct rng *rng, uint8_t *ip, bool six)
{
    unsigned int host = rng_below(rng, N_HOSTS);
    uint16_t sport = 1000 + rng_below(rng, N_PORTS);
    uint16_t pool_port = 1024 + rng_below(rng, 128);
    uint32_t server = random_server(rng);
    uint32_t dst = server;
    uint16_t dport = 53;

    if (!rng_below(rng, 3)) {
        return put4(rng, ip, server, dport, random_pool_ip(rng), pool_port);
    }
    if (!rng_below(rng, 8)) {
        dst = random_pool_ip(rng);
        dport = pool_port;
    }
    return (six ? put6(rng, ip, host, sport, dst, dport)
                : put4(rng, ip, 0x0a000001 + host, sport, dst, dport));
}

static void
count(struct runner *r, const struct xlat_job *job)
{
    if (job->verdict == XLAT_TRANSLATED) {
        r->n_translated++;
    } else if (job->verdict == XLAT_DROPPED || job->verdict == XLAT_REPLY) {
        r->n_drops[job->drop]++;
    }
}

static void
run_batch(struct runner *r)
{
    const struct xlat_zone *zone = get_zone();
    struct xlat_job jobs[BATCH];

    memset(jobs, 0, sizeof jobs);
    for (int i = 0; i < BATCH; i++) {
        uint8_t *ip = r->bufs[i] + HEADROOM;

        jobs[i].pk = (struct pk) {
            .data = ip,
            .len = put_packet(&r->rng, ip, zone->kind == XLAT_KIND_NAT64),
            .headroom = HEADROOM,
            .tailroom = 128,
            .flags = PK_IP_CSUM_OK,
        };
    }
    r->ctx.now_us = get_time();
    r->ctx.tenant = rng_below(&r->rng, N_TENANTS);
    r->ctx.dry_run = !rng_below(&r->rng, 6);
    xlat_run(zone, &r->ctx, jobs, BATCH);
    for (int i = 0; i < BATCH && !r->ctx.dry_run; i++) {
        count(r, &jobs[i]);
    }
}

static uint16_t
get_origin(struct xlat_ctx *ctx, const struct xlat_job *job)
{
    (void) job;
    return ctx->thread;
}

static void *
run_packets(void *runner)
{
    struct runner *r = runner;

    while (!__atomic_load_n(&at_end, __ATOMIC_RELAXED)) {
        run_batch(r);
        pass(r->number);
    }
    __atomic_store_n(&passed[r->number].n, AT_REST, __ATOMIC_SEQ_CST);
    return NULL;
}

/* ------------------------------------------------------------------------
 * Time, and who looks.
 * ------------------------------------------------------------------------ */

static void
drop_packet(uint16_t origin, const uint8_t *ip, uint32_t len, void *aux)
{
    (void) origin;
    (void) ip;
    (void) len;
    (void) aux;
}

static void
drop_info(const struct nat64_session_info *info, void *aux)
{
    (void) info;
    (void) aux;
}

static void *
run_time(void *aux)
{
    struct nat64_event event;
    uint32_t cursor = 0;

    (void) aux;
    while (!__atomic_load_n(&at_end, __ATOMIC_RELAXED)) {
        const struct xlat_zone *zone = get_zone();
        struct nat64_gauges gauges;

        __atomic_fetch_add(&now_us, TICK_US, __ATOMIC_RELAXED);
        nat64_run(zone, get_time(), postpone, drop_packet, NULL);
        nat64_get_gauges(zone, &gauges);
        if (!nat64_dump(zone, get_time(), &cursor, 50, drop_info, NULL)) {
            cursor = 0;
        }
        while (nat64_next_event(zone, &event)) {
            /* There is more. */
        }
        pass(N_RUNNERS);
        sched_yield();
    }
    __atomic_store_n(&passed[N_RUNNERS].n, AT_REST, __ATOMIC_SEQ_CST);
    return NULL;
}

/* ------------------------------------------------------------------------
 * Changes.
 * ------------------------------------------------------------------------ */

/* Records of a while ago. */
struct records {
    struct nat64_record r[64];
    unsigned int n;
};

static void
keep_record(const struct nat64_record *r, void *records_)
{
    struct records *records = records_;

    records->r[records->n++] = *r;
}

/* Takes old records back: as they are, or as those of another holder. */
static void
use_records(struct rng *rng, struct records *records)
{
    uint32_t cursor = 0;

    for (unsigned int i = 0; i < records->n; i++) {
        struct nat64_record *r = &records->r[i];

        switch (rng_below(rng, 4)) {
        case 0:
            nat64_refresh(current, r, get_time());
            break;
        case 1:
            nat64_forget(current, r, get_time(), postpone);
            break;
        case 2:
            r->outside_port ^= NAT64_PORTS_BLOCK;
            r->tenant = N_TENANTS;
            /* Falls through. */
        default:
            nat64_import(current, r, get_time());
        }
    }
    records->n = 0;
    nat64_export(current, get_time(), &cursor, 64, keep_record, records);
}

/* Waits until each runner has run some batches. */
static void
wait_for_runners(void)
{
    uint64_t n[N_RUNNERS];

    for (int i = 0; i < N_RUNNERS; i++) {
        n[i] = __atomic_load_n(&passed[i].n, __ATOMIC_RELAXED)
               + BATCHES_BETWEEN;
    }
    for (int i = 0; i < N_RUNNERS; i++) {
        while (__atomic_load_n(&passed[i].n, __ATOMIC_RELAXED) < n[i]) {
            call_postponed();
            pass(N_RUNNERS + 1);
            sched_yield();
        }
    }
}

static void
make_changes(struct rng *rng)
{
    struct records records = { .n = 0 };

    for (int i = 0; i < N_CHANGES; i++) {
        wait_for_runners();
        if (!rng_below(rng, 4)) {
            nat64_flush(current, get_time(), postpone);
        }
        use_records(rng, &records);
        change(rng);
        if (!rng_below(rng, 3)) {
            change(rng);
        }
    }
    wait_for_runners();
}

/* ------------------------------------------------------------------------
 * The end.
 * ------------------------------------------------------------------------ */

/* Returns the free slots of a stack, whose slots have 'bytes' each. */
static uint32_t
n_free(const struct nat64_stack *stack, const void *slots, size_t bytes)
{
    uint32_t i = stack->head, n = 0;

    while (i != NAT64_NONE && n <= stack->max) {
        memcpy(&i, (const char *) slots + i * bytes, sizeof i);
        n++;
    }
    return n + stack->max - stack->n_touched;
}

static void
check_index(const struct nat64_index *index)
{
    for (uint32_t i = 0; i < index->n_buckets; i++) {
        const struct nat64_bucket *b = &index->buckets[i];

        ck_assert_uint_eq(b->n_past, 0);
        ck_assert_uint_eq(b->lock, 0);
        for (int k = 0; k < NAT64_INDEX_SLOTS; k++) {
            ck_assert_uint_eq(b->numbers[k], 0);
        }
    }
}

/* Checks that the address of 'a' is as if it had never been used. */
static void
check_address(const struct nat64 *nat64, const struct nat64_address *a)
{
    static struct nat64_ports fresh;

    nat64_ports_init(&fresh, a->low_port, a->high_port, nat64->shape.share,
                     nat64->shape.n_shares);
    for (int proto = 0; proto < NAT64_N_PROTOS; proto++) {
        ck_assert(!memcmp(a->ports[proto].used, fresh.used,
                          sizeof fresh.used));
        ck_assert_uint_eq(a->ports[proto].n_used, 0);
        ck_assert_uint_eq(a->ports[proto].n_ports, fresh.n_ports);
    }
    ck_assert_uint_eq(a->n_foreign, 0);
    ck_assert_uint_eq(a->n_pools, 1);
    for (unsigned int i = 0; a->uses
         && i < NAT64_PORTS_WORDS / nat64->shape.block_words; i++) {
        bool used = a->blocks_used[i / 64] >> i % 64 & 1;
        bool has_ports = false;

        for (uint32_t word = i * nat64->shape.block_words;
             word < (i + 1) * nat64->shape.block_words; word++) {
            has_ports = has_ports || ~fresh.used[word];
        }
        ck_assert_uint_eq(a->uses[i].owner, 0);
        ck_assert_uint_eq(a->uses[i].n_static, 0);
        ck_assert(used == !has_ports);
    }
}

/* Checks that nothing is left. */
static void
check_end(void)
{
    const struct nat64 *nat64 = current->stateful->nat64;
    struct nat64_gauges gauges;
    size_t n = 0;

    nat64_get_gauges(current, &gauges);
    ck_assert_uint_eq(gauges.sessions, 0);
    ck_assert_uint_eq(gauges.bindings, 0);
    ck_assert_uint_eq(gauges.ports_in_use, 0);
    ck_assert_uint_eq(gauges.subscribers, 0);
    ck_assert_uint_eq(nat64->n_cooling, 0);
    ck_assert_uint_eq(n_free(&nat64->free_sessions, nat64->sessions,
                             sizeof *nat64->sessions),
                      nat64->shape.max_sessions);
    ck_assert_uint_eq(n_free(&nat64->free_bindings, nat64->bindings,
                             sizeof *nat64->bindings),
                      nat64->shape.max_sessions);
    check_index(&nat64->by_inside);
    check_index(&nat64->by_outside);
    check_index(&nat64->bib_by_inside);
    check_index(&nat64->bib_by_outside);
    check_index(&nat64->subscribers.index);
    for (size_t i = 0; i < NAT64_MAX_ADDRESSES; i++) {
        if (nat64->places.addresses[i]) {
            check_address(nat64, nat64->places.addresses[i]);
            n++;
        }
    }
    ck_assert_uint_eq(n, current->stateful->pool.n);
    ck_assert_uint_eq(nat64->refs, 1);
    ck_assert_uint_eq(nat64->n_heirs, 0);
}

/* Lets everything end in the zone's last configuration. */
static void
end(void)
{
    change_to_last();
    for (int i = 0; i < 4; i++) {
        now_us += UINT64_C(1000) * 1000000;
        nat64_run(current, now_us, postpone, drop_packet, NULL);
        call_postponed();
    }
    ck_assert_ptr_null(first_postponed);
    check_end();
    xlat_zone_destroy(current);
    current = NULL;
}

static void
begin(struct runner *runners, uint64_t seed)
{
    now_us = UINT64_C(1000) * 1000000;
    at_end = false;
    for (int i = 0; i < N_THREADS; i++) {
        passed[i].n = 0;
    }
    memset(runners, 0, N_RUNNERS * sizeof *runners);
    for (int i = 0; i < N_RUNNERS; i++) {
        runners[i].number = i;
        rng_init(&runners[i].rng, seed + i);
        runners[i].ctx = (struct xlat_ctx) {
            .rng = seed + i,
            .thread = i + 1,
            .get_origin = get_origin,
        };
    }
}

/* Checks that what the scenarios are for has happened. */
static void
check_counts(const struct runner *runners)
{
    uint64_t n[XLAT_N_DROPS] = { 0 };

    for (int i = 0; i < N_RUNNERS; i++) {
        ck_assert_uint_gt(runners[i].n_translated, 1000);
        for (int k = 0; k < XLAT_N_DROPS; k++) {
            n[k] += runners[i].n_drops[k];
        }
    }
    for (int k = 0; k < XLAT_N_DROPS; k++) {
        if (n[k] && getenv("VERBOSE")) {
            printf("# %s: %llu\n", xlat_drop_name(k),
                   (unsigned long long) n[k]);
        }
    }
    ck_assert_uint_gt(n[XLAT_DROP_NO_BINDING], 0);
    ck_assert_uint_gt(n[XLAT_DROP_SUBSCRIBER_SESSIONS], 0);
}

START_TEST(everything)
{
    static struct runner runners[N_RUNNERS];
    pthread_t clock;
    struct rng rng;

    scenario = &scenarios[_i];
    rng_init(&rng, 6888 + _i);
    begin(runners, 6146 + _i);
    change(&rng);
    for (int i = 0; i < N_RUNNERS; i++) {
        ck_assert_int_eq(pthread_create(&runners[i].thread, NULL, run_packets,
                                        &runners[i]), 0);
    }
    ck_assert_int_eq(pthread_create(&clock, NULL, run_time, NULL), 0);
    make_changes(&rng);
    __atomic_store_n(&at_end, true, __ATOMIC_RELAXED);
    for (int i = 0; i < N_RUNNERS; i++) {
        pthread_join(runners[i].thread, NULL);
    }
    pthread_join(clock, NULL);
    passed[N_RUNNERS + 1].n = AT_REST;
    check_counts(runners);
    end();
}
END_TEST

int
main(void)
{
    size_t n = sizeof scenarios / sizeof scenarios[0];
    Suite *s = suite_create("nat64-stress");
    TCase *tc = tcase_create("all");
    SRunner *sr = srunner_create(s);
    int n_failed;

    tcase_add_loop_test(tc, everything, 0, n);
    suite_add_tcase(s, tc);
    srunner_run_all(sr, CK_ENV);
    n_failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
