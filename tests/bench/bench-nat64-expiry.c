/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* What a thread that sends packets loses while a million sessions of others
 * expire within one second, on another thread, which looks ten times a second,
 * as that of Open vSwitch does.
 *
 * In turn, for a second each: the other CPU runs the calibration kernel, which
 * shares nothing with anybody; and the sessions expire.  So the ratio says
 * what the work costs that is done there, not what it costs that somebody
 * works there: on CPUs that are two threads of one core, that is a lot.  What
 * was lost beside a CPU that sleeps is reported, too.
 *
 * Packets are of 100,000 sessions that live, half of them from inside. */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nat64-bench.h"
#include "nat64.h"
#include "pairs.h"

#define LIVING 100000
#define DYING 1000000
#define UDP_TIMEOUT_S 120
#define INTERVAL_NS 100e6
#define ROUND_NS 1e9
#define CALIBRATION_ROUNDS 1024
#define N_ROUNDS 12
#define MAX_BATCH_NS 1000000

enum phase {
    ASLEEP,
    CALIBRATION,
    EXPIRY,
    N_PHASES
};

static struct nat64_bench bench;
static struct nat64_bench_thread sender;

/* How long batches took, in each phase. */
static uint32_t histograms[N_PHASES][MAX_BATCH_NS];

static enum phase phase;         /* Of the round that goes on. */
static uint64_t start_us;        /* The zone's clock at its beginning, ... */
static double start_ns;          /* ... and the real one. */
static bool is_over;
static uint64_t n_batches;       /* That the sender has finished. */
static double busy_ns;           /* What expiry took in all. */

static uint64_t
zone_now_us(void)
{
    return start_us + (pairs_now_ns() - start_ns) / 1e3;
}

/* Calls 'cb' when the sender is done with the batch at which it is. */
static void
after_batch(void (*cb)(void *aux), void *aux)
{
    uint64_t n = __atomic_load_n(&n_batches, __ATOMIC_SEQ_CST);

    while (__atomic_load_n(&n_batches, __ATOMIC_SEQ_CST) == n
           && !__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        continue;
    }
    cb(aux);
}

static void
expire(void)
{
    struct timespec interval = { .tv_nsec = INTERVAL_NS };

    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        double start = pairs_now_ns();

        nat64_run(bench.zone, zone_now_us(), after_batch, NULL, NULL);
        busy_ns += pairs_now_ns() - start;
        nanosleep(&interval, NULL);
    }
}

static void
calibrate(void)
{
    unsigned char frame[64] = { 0 }, to[64];

    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        for (int i = 0; i < CALIBRATION_ROUNDS; i++) {
            pairs_mac_swap_copy(to, frame);
        }
    }
}

static void *
other_thread(void *unused)
{
    if (!pairs_pin_to(1)) {
        nat64_bench_fail("threads", "there is only one CPU");
    }
    if (phase == EXPIRY) {
        expire();
    } else if (phase == CALIBRATION) {
        calibrate();
    }
    return unused;
}

/* Sends packets for a second, and returns the nanoseconds of one. */
static double
run_phase(enum phase which)
{
    uint64_t n = 0;
    double ns = 0;
    pthread_t other;

    phase = which;
    start_us = sender.ctx.now_us;
    start_ns = pairs_now_ns();
    is_over = false;
    if (pthread_create(&other, NULL, other_thread, NULL)) {
        nat64_bench_fail("threads", "cannot be started");
    }
    do {
        double batch_ns;

        sender.ctx.now_us = zone_now_us();
        batch_ns = nat64_bench_batch(&sender, n % 2);
        __atomic_store_n(&n_batches, n_batches + 1, __ATOMIC_SEQ_CST);
        histograms[which][batch_ns < MAX_BATCH_NS - 1
                          ? (int) batch_ns : MAX_BATCH_NS - 1]++;
        ns += batch_ns;
        n++;
    } while (pairs_now_ns() - start_ns < ROUND_NS);
    __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
    pthread_join(other, NULL);
    return ns / (n * XLAT_BATCH);
}

static uint32_t
n_sessions(void)
{
    struct nat64_gauges gauges;

    nat64_get_gauges(bench.zone, &gauges);
    return gauges.sessions;
}

/* Makes a million sessions within a second, and has the time pass until the
 * first one ends. */
static void
make_dying(void)
{
    static struct nat64_bench_thread maker;
    uint32_t piece = DYING / 1000;

    nat64_bench_thread_init(&maker, &bench, 2);
    maker.ctx.now_us = sender.ctx.now_us;
    for (uint32_t i = 0; i < DYING; i += piece) {
        nat64_bench_make(&maker, LIVING + i, piece);
        maker.ctx.now_us += 1000;
    }
    sender.ctx.now_us = maker.ctx.now_us - 1000000
                        + UDP_TIMEOUT_S * UINT64_C(1000000);
    if (n_sessions() != LIVING + DYING) {
        nat64_bench_fail("zone", "sessions are missing");
    }
}

/* Has each living session have a packet, so that none ends with the others. */
static void
keep_living(void)
{
    nat64_bench_make(&sender, 0, LIVING);
}

static double
percentile_us(enum phase which, double p)
{
    uint64_t n = 0, sum = 0;
    int i = 0;

    for (int j = 0; j < MAX_BATCH_NS; j++) {
        n += histograms[which][j];
    }
    for (; i < MAX_BATCH_NS && sum < n * p; i++) {
        sum += histograms[which][i];
    }
    return i / 1e3;
}

static void
run_round(double *alone, double *calibration, double *expiry)
{
    make_dying();
    keep_living();
    *expiry = run_phase(EXPIRY);
    /* The last ones end when somebody looks for the next time, and their ports
     * are free when that happens once more. */
    for (int i = 0; i < 2; i++) {
        sender.ctx.now_us += 200000;
        nat64_run(bench.zone, sender.ctx.now_us, nat64_bench_call_now, NULL,
                  NULL);
    }
    if (n_sessions() != LIVING) {
        nat64_bench_fail("zone", "sessions that should have ended are there");
    }
    *alone = run_phase(ASLEEP);
    *calibration = run_phase(CALIBRATION);
}

int
main(void)
{
    static const char *const options[] = {
        "port-reuse-delay", "0", "udp-timeout", "120", NULL
    };
    struct nat64_bench_conf conf = {
        .kind = "nat64",
        .pool6 = "64:ff9b::/96",
        .pool4 = "192.0.2.0/26",
        .max = LIVING + DYING,
        .options = options,
    };
    double ratios[N_ROUNDS], as[N_ROUNDS], bs[N_ROUNDS];
    double alone, lost = 0;
    struct pairs_result result;
    char more[256];

    nat64_bench_init(&bench, &conf);
    nat64_bench_thread_init(&sender, &bench, 1);
    pairs_pin_to(0);
    keep_living();
    for (int i = 0; i < N_ROUNDS; i++) {
        run_round(&alone, &as[i], &bs[i]);
        ratios[i] = as[i] / bs[i];
        lost += 1 - alone / bs[i];
    }
    nat64_bench_check(&sender);
    pairs_summarize(ratios, bs, as, N_ROUNDS, &result);
    snprintf(more, sizeof more, "\"lost_beside_sleep\": %.3f, "
             "\"busy\": %.3f, \"p999_us\": %.1f, \"p999_us_before\": %.1f",
             lost / N_ROUNDS, busy_ns / (N_ROUNDS * ROUND_NS),
             percentile_us(EXPIRY, .999), percentile_us(CALIBRATION, .999));
    pairs_print(&result, more, "beside the calibration kernel against beside "
                "a million sessions that expire within a second");
    nat64_bench_destroy(&bench);
    return 0;
}
