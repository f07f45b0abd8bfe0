/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Many threads in one stateful zone: four run packets of the same connections
 * through it, in both directions, while a fifth lets time pass, empties the
 * zone, and gives it new configurations.  Whether packets are right is
 * nat64-threads-conn.c's business; when all threads are at rest, the tables
 * are looked through (nat64-walk.h).
 *
 * To be run with thread and address sanitizers, too. */

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "nat64-threads.h"
#include "nat64-walk.h"
#include "xlat-zone.h"

#define N_PHASES 3

#define IP 0xc0000201u           /* 192.0.2.1. */

static const struct variant variants[] = {
    { { { IP, 2000, 2023 } }, { true, true } },
    { { { IP, 2000, 2023 }, { IP + 1, 2100, 2115 } }, { true, true } },
    { { { IP + 1, 2100, 2115 } }, { true, false, true } },
    { { { IP, 2012, 2035 } }, { false, true, true } },
    { { { IP, 2000, 2011 }, { IP, 2024, 2035 } }, { true, true } },
    /* Not among those that come and go. */
    { { { IP, 2000, 2255 } }, { true, true } },
    { { { IP, 1984, 2495 }, { IP + 1, 1984, 2495 } }, { true, true } },
};

static const struct scenario scenarios[] = {
    { "max-sessions=100", false, false, false, 0, 5, 200 },
    { "max-sessions=100 filtering=address-dependent", false, true, false,
      0, 5, 120 },
    { "max-sessions=200 mapping=per-flow port-reuse-delay=3", false, true,
      true, 5, 1, 120 },
    { "max-sessions=100 subscriber-sessions=20 subscriber-ports=8", true,
      false, false, 0, 5, 200 },
    { "max-sessions=100 filtering=address-dependent port-block-size=64 "
      "port-blocks=2 subscriber-ports=8 max-subscribers=40", true, true,
      false, 6, 1, 120 },
};

const struct scenario *scenario;

static char failure[256];
static bool failed;

void
note_failure(int line, const char *format, ...)
{
    if (!__atomic_exchange_n(&failed, true, __ATOMIC_RELAXED)) {
        int n = snprintf(failure, sizeof failure, "line %d: ", line);
        va_list args;

        va_start(args, format);
        vsnprintf(failure + n, sizeof failure - n, format, args);
        va_end(args);
    }
}

bool
has_failed(void)
{
    return __atomic_load_n(&failed, __ATOMIC_RELAXED);
}

/* ------------------------------------------------------------------------
 * Who has passed: quiescent-state-based reclamation.
 *
 * Used by one thread, that of control(), and by the main one when that is at
 * rest.
 * ------------------------------------------------------------------------ */

#define AT_REST UINT64_MAX

static struct {
    uint64_t n __attribute__((aligned(64)));   /* Batches, or AT_REST. */
} passed[N_THREADS];

struct postponed {
    struct postponed *next;
    void (*cb)(void *aux);
    void *aux;
    uint64_t passed[N_THREADS];
};

static struct postponed *first_postponed;
static struct postponed **last_postponed = &first_postponed;

static void
postpone(void (*cb)(void *aux), void *aux)
{
    struct postponed *p = malloc(sizeof *p);

    *p = (struct postponed) { .cb = cb, .aux = aux };
    for (int i = 0; i < N_THREADS; i++) {
        p->passed[i] = __atomic_load_n(&passed[i].n, __ATOMIC_SEQ_CST);
    }
    *last_postponed = p;
    last_postponed = &p->next;
}

static bool
has_passed(const struct postponed *p)
{
    for (int i = 0; i < N_THREADS; i++) {
        if (p->passed[i] != AT_REST
            && __atomic_load_n(&passed[i].n, __ATOMIC_SEQ_CST)
               <= p->passed[i]) {
            return false;
        }
    }
    return true;
}

/* Calls what all threads have passed. */
static void
call_postponed(void)
{
    while (first_postponed && has_passed(first_postponed)) {
        struct postponed *p = first_postponed;

        first_postponed = p->next;
        if (!first_postponed) {
            last_postponed = &first_postponed;
        }
        p->cb(p->aux);
        free(p);
    }
}

/* ------------------------------------------------------------------------
 * Zones.
 * ------------------------------------------------------------------------ */

/* A snapshot of the zone. */
struct snapshot {
    struct xlat_zone *zone;
    const struct variant *variant;
    bool fitted;                 /* nat64_fit() has returned, and there is no
                                  * newer one yet. */
};

static struct snapshot *current;
static uint64_t now_us;
static bool at_end;              /* Threads are to come to rest. */
static unsigned int n_own[2];    /* SYNs refused, probes sent. */

static struct snapshot *
snapshot_create(const struct variant *variant, const struct snapshot *prev)
{
    struct snapshot *snapshot = malloc(sizeof *snapshot);
    char text[512];
    int n;

    n = snprintf(text, sizeof text, "zone=1 kind=%s icmp-timeout=7 "
                 "tcp-transitory-timeout=4 tcp-established-timeout=30 "
                 "udp-timeout=120 %s", scenario->is_44 ? "nat44" : "nat64",
                 scenario->options);
    for (int i = 0; i < 2; i++) {
        const struct slow_range *r = &variant->pool4[i];

        if (r->ip) {
            n += snprintf(text + n, sizeof text - n,
                          " pool4=192.0.2.%u:%u-%u", r->ip & 0xff, r->low,
                          r->high);
        }
    }
    for (int x = 0; x < N_PREFIXES && !scenario->is_44; x++) {
        if (variant->prefixes[x]) {
            n += snprintf(text + n, sizeof text - n,
                          " pool6=2001:db8:6%d::/96", 4 + x);
        }
    }
    *snapshot = (struct snapshot) {
        .zone = zone_make(text, prev ? prev->zone : NULL),
        .variant = variant,
    };
    return snapshot;
}

static void
snapshot_destroy(void *snapshot_)
{
    struct snapshot *snapshot = snapshot_;

    xlat_zone_destroy(snapshot->zone);
    free(snapshot);
}

/* ------------------------------------------------------------------------
 * Threads.
 * ------------------------------------------------------------------------ */

static bool
is_fitted(const struct snapshot *snapshot)
{
    return __atomic_load_n(&snapshot->fitted, __ATOMIC_ACQUIRE);
}

static void
run_batch(struct thread *t)
{
    struct snapshot *snapshot = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
    bool fitted = is_fitted(snapshot);
    unsigned int n = 1 + rng_below(&t->rng, MAX_BATCH);

    t->ctx.now_us = __atomic_load_n(&now_us, __ATOMIC_RELAXED);
    t->ctx.tenant = rng_below(&t->rng, 2);
    for (unsigned int i = 0; i < n; i++) {
        conn_send(t, i);
    }
    xlat_run(snapshot->zone, &t->ctx, t->jobs, n);

    fitted = fitted && is_fitted(snapshot);
    for (unsigned int i = 0; i < n; i++) {
        conn_check(t, i, fitted ? snapshot->variant : NULL);
    }
    conn_end_batch(t);
}

static void *
run_packets(void *thread)
{
    struct thread *t = thread;

    while (!__atomic_load_n(&at_end, __ATOMIC_RELAXED) && !has_failed()) {
        run_batch(t);
        __atomic_fetch_add(&passed[t->number].n, 1, __ATOMIC_SEQ_CST);
    }
    __atomic_store_n(&passed[t->number].n, AT_REST, __ATOMIC_SEQ_CST);
    return NULL;
}

static void
expire(const struct snapshot *snapshot)
{
    nat64_run(snapshot->zone, now_us, postpone, conn_check_own, n_own);
}

/* Replaces the configuration. */
static void
reconfigure(struct rng *rng)
{
    struct snapshot *old = current;
    const struct variant *variant
        = &variants[scenario->first + rng_below(rng, scenario->n)];
    struct snapshot *new;

    __atomic_store_n(&old->fitted, false, __ATOMIC_SEQ_CST);
    new = snapshot_create(variant, old);

    /* Time goes on between the steps, too. */
    if (rng_below(rng, 2)) {
        expire(old);
        call_postponed();
    }
    __atomic_store_n(&current, new, __ATOMIC_RELEASE);
    nat64_fit(new->zone, now_us, postpone);
    __atomic_store_n(&new->fitted, true, __ATOMIC_RELEASE);
    postpone(snapshot_destroy, old);
}

static void
look(void)
{
    struct nat64_gauges gauges;
    uint32_t cursor = 0;

    nat64_get_gauges(current->zone, &gauges);
    MUST(gauges.sessions <= gauges.max_sessions
         && gauges.bindings <= gauges.max_sessions,
         "%u sessions, %u bindings", gauges.sessions, gauges.bindings);
    while (nat64_dump(current->zone, now_us, &cursor, 64, conn_check_info,
                      NULL)) {
        continue;
    }
}

static uint64_t
clock_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * UINT64_C(1000) + ts.tv_nsec / 1000000;
}

/* Makes time pass, and everything else that packets do not do, for 'ms'. */
static void *
control(void *rng_)
{
    struct rng *rng = rng_;
    uint64_t end = clock_ms() + scenario->ms;

    while (clock_ms() < end && !has_failed()) {
        uint32_t dice = rng_below(rng, 64);

        __atomic_store_n(&now_us, now_us + rng_below(rng, 2000000),
                         __ATOMIC_RELAXED);
        if (dice == 0) {
            nat64_flush(current->zone, now_us, postpone);
        } else if (dice < 5 && scenario->n > 1) {
            reconfigure(rng);
        } else if (dice < 12) {
            look();
        } else {
            expire(current);
        }
        call_postponed();
        usleep(50);
    }
    __atomic_store_n(&at_end, true, __ATOMIC_RELAXED);
    return NULL;
}

/* ------------------------------------------------------------------------
 * At rest.
 * ------------------------------------------------------------------------ */

/* The zone has counted what the threads have. */
static void
check_counters(const struct thread *threads)
{
    struct xlat_counters sum = { 0 }, c;

    nat64_drop_held(current->zone);
    for (int i = 0; i < N_THREADS; i++) {
        const uint64_t *from = (const uint64_t *) &threads[i].n;

        for (size_t k = 0; k < sizeof sum / sizeof *from; k++) {
            ((uint64_t *) &sum)[k] += from[k];
        }
    }
    xlat_zone_get_counters(current->zone, &c);
    sum.bytes = c.bytes;
    sum.replies_limited = c.replies_limited;
    sum.syns_answered = n_own[0];
    sum.probes_sent = n_own[1];
    MUST(!memcmp(&c, &sum, sizeof c), "counters");
}

/* Looks through everything, as all threads are at rest. */
static void
walk(const struct thread *threads)
{
    const char *wrong;

    call_postponed();
    MUST(!first_postponed, "callbacks are left");
    wrong = nat64_walk(current->zone);
    MUST(!wrong, "%s", wrong);
    check_counters(threads);
}

/* Lets everything expire, and looks whether anything is left. */
static void
check_end(void)
{
    const char *wrong;

    for (int i = 0; i < 3; i++) {
        now_us += UINT64_C(1000000000);
        expire(current);
        call_postponed();
    }
    wrong = nat64_walk_empty(current->zone);
    MUST(!wrong, "%s", wrong);
}

/* Whose host it is. */
static uint16_t
get_origin(struct xlat_ctx *ctx, const struct xlat_job *job)
{
    (void) job;
    return 1 + ctx->tenant;
}

static void
init_threads(struct thread *threads, uint64_t seed)
{
    memset(threads, 0, N_THREADS * sizeof *threads);
    for (unsigned int i = 0; i < N_THREADS; i++) {
        threads[i].number = i;
        rng_init(&threads[i].rng, seed + i);
        threads[i].ctx = (struct xlat_ctx) {
            .rng = seed + i,
            .thread = i + 1,
            .get_origin = get_origin,
        };
    }
}

/* Runs packets until control() ends it. */
static void
run_phase(struct thread *threads, struct rng *rng)
{
    pthread_t controller;

    at_end = false;
    for (int i = 0; i < N_THREADS; i++) {
        passed[i].n = 0;
    }
    for (int i = 0; i < N_THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i].thread, NULL, run_packets,
                                        &threads[i]), 0);
    }
    ck_assert_int_eq(pthread_create(&controller, NULL, control, rng), 0);
    pthread_join(controller, NULL);
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i].thread, NULL);
    }
}

static void
print_counter(const char *name, uint64_t value, void *aux)
{
    (void) aux;
    if (value) {
        printf("# %s %llu\n", name, (unsigned long long) value);
    }
}

START_TEST(five_threads)
{
    static struct thread threads[N_THREADS];
    struct xlat_counters c;
    struct rng rng;

    scenario = &scenarios[_i];
    now_us = 1000000000;
    rng_init(&rng, 64 + _i);
    init_threads(threads, 64 + _i);
    current = snapshot_create(&variants[scenario->first], NULL);
    nat64_fit(current->zone, now_us, postpone);
    for (int phase = 0; phase < N_PHASES && !has_failed(); phase++) {
        run_phase(threads, &rng);
        if (!has_failed()) {
            walk(threads);
        }
    }
    xlat_zone_get_counters(current->zone, &c);
    if (has_failed() || getenv("VERBOSE")) {
        xlat_counters_for_each(&c, print_counter, NULL);
        printf("# %u SYNs refused, %u probes\n", n_own[0], n_own[1]);
    }
    if (!has_failed()) {
        check_end();
    }
    ck_assert_msg(!has_failed(), "seed %d, %s", 64 + _i, failure);
    ck_assert_uint_gt(c.translated_46 + c.translated_44, 0);
    ck_assert_uint_gt(c.translated_64 + c.translated_44, 0);
    snapshot_destroy(current);
}
END_TEST

int
main(void)
{
    size_t n = sizeof scenarios / sizeof scenarios[0];
    Suite *suite = suite_create("nat64-threads");
    TCase *tcase = tcase_create("nat64-threads");
    SRunner *runner = srunner_create(suite);

    tcase_add_loop_test(tcase, five_threads, 0, n);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed != 0;
}
