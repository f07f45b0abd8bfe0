/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#define _GNU_SOURCE
#include "pairs.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WINDOW_NS 6e6
#define CALIBRATION_ROUNDS 100000

static double
now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static void
pin(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    sched_setaffinity(0, sizeof set, &set);
}

void
pairs_mac_swap_copy(unsigned char *to, unsigned char *frame)
{
    unsigned char mac[6];

    memcpy(mac, frame, 6);
    memcpy(frame, frame + 6, 6);
    memcpy(frame + 6, mac, 6);
    memcpy(to, frame, 64);
    __asm__ volatile("" : : "r" (to), "r" (frame) : "memory");
}

/* Returns the nanoseconds of a fixed piece of work. */
static double
calibrate(void)
{
    static unsigned char frame[64], to[64];
    double start = now_ns();

    for (int i = 0; i < CALIBRATION_ROUNDS; i++) {
        pairs_mac_swap_copy(to, frame);
    }
    return now_ns() - start;
}

/* Returns a number of packets that takes about WINDOW_NS. */
static size_t
window_size(const struct pairs_kernel *k)
{
    for (size_t n = 1024; ; n *= 2) {
        double start = now_ns();

        k->run(k->aux, n);
        double ns = now_ns() - start;
        if (ns > WINDOW_NS / 4) {
            size_t want = n * (WINDOW_NS / ns);

            return want < 32 ? 32 : want / 32 * 32;
        }
    }
}

static double
ns_per_packet(const struct pairs_kernel *k, size_t n)
{
    double start = now_ns();

    k->run(k->aux, n);
    return (now_ns() - start) / n;
}

static int
compare_doubles(const void *a_, const void *b_)
{
    const double *a = a_, *b = b_;

    return *a < *b ? -1 : *a > *b;
}

static double
percentile(const double *sorted, int n, double p)
{
    return sorted[(int) (p * (n - 1) + .5)];
}

void
pairs_measure(const struct pairs_kernel *a, const struct pairs_kernel *b,
              int n_pairs, struct pairs_result *r)
{
    double *ratios = calloc(n_pairs, sizeof *ratios);
    double *as = calloc(n_pairs, sizeof *as);
    double *bs = calloc(n_pairs, sizeof *bs);
    int n = 0, thrown = 0;

    if (!ratios || !as || !bs) {
        abort();
    }
    pin();
    size_t na = window_size(a), nb = window_size(b);
    for (double before = calibrate(); n < n_pairs && thrown < 4 * n_pairs;) {
        as[n] = ns_per_packet(a, na);
        bs[n] = ns_per_packet(b, nb);

        double after = calibrate();
        if (after > before * 1.1 || before > after * 1.1) {
            thrown++;
        } else {
            ratios[n] = bs[n] / as[n];
            n++;
        }
        before = after;
    }
    if (!n) {
        fprintf(stderr, "the machine is too unsteady to measure on\n");
        exit(EXIT_FAILURE);
    }

    qsort(ratios, n, sizeof *ratios, compare_doubles);
    qsort(as, n, sizeof *as, compare_doubles);
    qsort(bs, n, sizeof *bs, compare_doubles);
    *r = (struct pairs_result) {
        .ratio = percentile(ratios, n, .5),
        .p5 = percentile(ratios, n, .05),
        .p95 = percentile(ratios, n, .95),
        .a_ns = percentile(as, n, .5),
        .b_ns = percentile(bs, n, .5),
        .n_pairs = n,
        .n_thrown = thrown,
    };
    free(ratios);
    free(as);
    free(bs);
}

void
pairs_print(const struct pairs_result *r, const char *note)
{
    printf("{\"ratio\": %.4f, \"p5\": %.4f, \"p95\": %.4f, "
           "\"note\": \"%.1f ns against %.1f ns a packet; %d pairs, "
           "%d thrown away; %s\"}\n",
           r->ratio, r->p5, r->p95, r->b_ns, r->a_ns, r->n_pairs,
           r->n_thrown, note);
}
