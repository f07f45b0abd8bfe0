/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* What a second thread adds: how fast two threads are that send packets
 * through one zone at the same time, each relative to itself alone, as a share
 * of what the calibration kernel, which shares nothing, makes of two CPUs.
 *
 *     bench-nat64-threads          each thread has sessions of its own, half
 *                                  of the packets from inside
 *     bench-nat64-threads split    both have all sessions, one thread the
 *                                  packets from inside, the other one those
 *                                  from outside
 *
 * 100,000 sessions, all in use alike.  Needs two CPUs that nobody else
 * uses. */

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nat64-bench.h"
#include "pairs.h"

#define N_THREADS 2
#define N_SESSIONS 100000
#define N_PAIRS 200
#define WINDOW_NS 5e6
#define CALIBRATION_ROUNDS 1024

enum way {
    BOTH_WAYS,
    FROM_INSIDE,
    FROM_OUTSIDE
};

struct worker {
    pthread_t thread;
    unsigned int number;         /* From 0. */
    enum way way;
    sem_t go;                    /* Sleeps until then. */
    void (*job)(struct worker *);    /* NULL: end. */
    double rate;                 /* Of its latest job: packets a second. */
    struct nat64_bench_thread t;
} __attribute__((aligned(128)));

static struct worker workers[N_THREADS];
static sem_t done;               /* Once for each that has done its job. */
static uint32_t n_expected __attribute__((aligned(128)));   /* To begin. */

/* Jobs of WINDOW_NS. */
static void
translate(struct worker *w)
{
    double start = pairs_now_ns(), ns = 0;
    size_t n = 0;

    do {
        ns += nat64_bench_batch(&w->t, w->way == BOTH_WAYS ? n % 2
                                       : w->way == FROM_OUTSIDE);
        n++;
    } while (pairs_now_ns() - start < WINDOW_NS);
    w->rate = n * XLAT_BATCH / ns * 1e9;
}

static void
calibrate(struct worker *w)
{
    unsigned char frame[64] = { 0 }, to[64];
    double start = pairs_now_ns(), ns;
    size_t n = 0;

    do {
        for (int i = 0; i < CALIBRATION_ROUNDS; i++) {
            pairs_mac_swap_copy(to, frame);
        }
        n += CALIBRATION_ROUNDS;
        ns = pairs_now_ns() - start;
    } while (ns < WINDOW_NS);
    w->rate = n / ns * 1e9;
}

static void *
work(void *w_)
{
    struct worker *w = w_;

    if (!pairs_pin_to(w->number)) {
        nat64_bench_fail("threads", "there is only one CPU");
    }
    for (;;) {
        sem_wait(&w->go);
        if (!w->job) {
            return NULL;
        }
        /* Who is awake waits for who is not yet. */
        __atomic_fetch_sub(&n_expected, 1, __ATOMIC_ACQ_REL);
        while (__atomic_load_n(&n_expected, __ATOMIC_ACQUIRE)) {
            continue;
        }
        w->job(w);
        sem_post(&done);
    }
}

/* Has the 'n' workers from 'first' on do 'job' at the same time. */
static void
run(unsigned int first, unsigned int n, void (*job)(struct worker *))
{
    __atomic_store_n(&n_expected, n, __ATOMIC_RELEASE);
    for (unsigned int i = 0; i < n; i++) {
        workers[first + i].job = job;
        sem_post(&workers[first + i].go);
    }
    for (unsigned int i = 0; i < n && job; i++) {
        sem_wait(&done);
    }
}

/* What 'job' yields: its rate alone, of each worker, and with the other
 * one. */
struct rates {
    double alone[N_THREADS];
    double together[N_THREADS];
};

static void
measure(void (*job)(struct worker *), struct rates *r)
{
    for (unsigned int i = 0; i < N_THREADS; i++) {
        run(i, 1, job);
        r->alone[i] = workers[i].rate;
    }
    run(0, N_THREADS, job);
    for (unsigned int i = 0; i < N_THREADS; i++) {
        r->together[i] = workers[i].rate;
    }
}

/* Returns how many times one thread's work two threads do. */
static double
scale(const struct rates *r)
{
    return (r->together[0] / r->alone[0] + r->together[1] / r->alone[1]);
}

static double
mean_ns(const double *rates)
{
    return (1e9 / rates[0] + 1e9 / rates[1]) / 2;
}

/* Returns whether the machine has been as fast as it is. */
static bool
is_steady(const struct rates *before, const struct rates *now)
{
    double x = before->alone[0] / now->alone[0];

    return x < 1.1 && x > 1 / 1.1;
}

static void
measure_pairs(struct pairs_result *result, double *calibration_scale)
{
    static double ratios[N_PAIRS], as[N_PAIRS], bs[N_PAIRS];
    static double scales[N_PAIRS], unused[2][N_PAIRS];
    struct rates before, calibration, translation;
    struct pairs_result calibration_result;
    int n = 0, n_thrown = 0;

    measure(calibrate, &before);
    while (n < N_PAIRS && n_thrown < 4 * N_PAIRS) {
        measure(translate, &translation);
        measure(calibrate, &calibration);
        if (is_steady(&before, &calibration)) {
            scales[n] = (scale(&before) + scale(&calibration)) / 2;
            ratios[n] = scale(&translation) / scales[n];
            as[n] = mean_ns(translation.alone);
            bs[n] = mean_ns(translation.together);
            n++;
        } else {
            n_thrown++;
        }
        before = calibration;
    }
    if (!n) {
        nat64_bench_fail("threads", "the machine is too unsteady");
    }
    pairs_summarize(ratios, as, bs, n, result);
    result->n_thrown = n_thrown;
    pairs_summarize(scales, unused[0], unused[1], n, &calibration_result);
    *calibration_scale = calibration_result.ratio;
}

static void
start_workers(struct nat64_bench *bench, bool split)
{
    for (unsigned int i = 0; i < N_THREADS; i++) {
        struct worker *w = &workers[i];

        w->number = i;
        w->way = !split ? BOTH_WAYS : i ? FROM_OUTSIDE : FROM_INSIDE;
        nat64_bench_thread_init(&w->t, bench, i + 1);
        if (!i) {
            nat64_bench_make(&w->t, 0, N_SESSIONS);
        }
        w->t.first = split ? 0 : i * N_SESSIONS / N_THREADS;
        w->t.n = split ? N_SESSIONS : N_SESSIONS / N_THREADS;
        nat64_bench_check(&w->t);
        sem_init(&w->go, 0, 0);
        if (pthread_create(&w->thread, NULL, work, w)) {
            nat64_bench_fail("threads", "cannot be started");
        }
    }
}

int
main(int argc, char *argv[])
{
    struct nat64_bench_conf conf = {
        .kind = "nat64",
        .pool6 = "64:ff9b::/96",
        .pool4 = "192.0.2.0/27",
        .max = N_SESSIONS,
    };
    bool split = argc > 1 && !strcmp(argv[1], "split");
    struct pairs_result result;
    struct nat64_bench bench;
    double calibration;
    char more[64];

    nat64_bench_init(&bench, &conf);
    sem_init(&done, 0, 0);
    start_workers(&bench, split);
    measure_pairs(&result, &calibration);
    run(0, N_THREADS, NULL);
    for (unsigned int i = 0; i < N_THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        nat64_bench_check(&workers[i].t);
    }
    snprintf(more, sizeof more, "\"calibration_scales\": %.3f", calibration);
    pairs_print(&result, more, split ? "two threads against one, a direction "
                "each" : "two threads against one, sessions of their own");
    nat64_bench_destroy(&bench);
    return 0;
}
