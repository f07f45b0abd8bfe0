/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include "pairs.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WINDOW_NS 6e6
#define CALIBRATION_ROUNDS 100000

static int compare_doubles(const void *, const void *);
static double percentile(const double *sorted, int n, double p);

double
pairs_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static void
pin_to_cpu(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static cpu_set_t all_cpus;

/* Before any thread is pinned, since what it starts would be, too. */
static void __attribute__((constructor))
find_cpus(void)
{
    CPU_ZERO(&all_cpus);
    sched_getaffinity(0, sizeof all_cpus, &all_cpus);
}

bool
pairs_pin_to(unsigned int n)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &all_cpus) && !n--) {
            pin_to_cpu(cpu);
            return true;
        }
    }
    return false;
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

double
pairs_calibrate(void)
{
    static unsigned char frame[64], to[64];
    double start = pairs_now_ns();

    for (int i = 0; i < CALIBRATION_ROUNDS; i++) {
        pairs_mac_swap_copy(to, frame);
    }
    return pairs_now_ns() - start;
}

/* Has 'k' handle 'n' packets, and returns the nanoseconds. */
static double
run(const struct pairs_kernel *k, size_t n)
{
    double start = pairs_now_ns();

    if (k->run_timed) {
        return k->run_timed(k->aux, n);
    }
    k->run(k->aux, n);
    return pairs_now_ns() - start;
}

/* Returns a number of packets that takes about WINDOW_NS. */
static size_t
window_size(const struct pairs_kernel *k)
{
    for (size_t n = 1024; !k->n; n *= 2) {
        double ns = run(k, n);

        if (ns > WINDOW_NS / 4) {
            size_t want = n * (WINDOW_NS / ns);

            return want < 32 ? 32 : want / 32 * 32;
        }
    }
    return k->n;
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
    pin_to_cpu(sched_getcpu());
    size_t na = window_size(a), nb = window_size(b);
    double before = pairs_calibrate();
    while (n < n_pairs && thrown < 4 * n_pairs) {
        as[n] = run(a, na) / na;
        bs[n] = run(b, nb) / nb;

        double after = pairs_calibrate();
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

    pairs_summarize(ratios, as, bs, n, r);
    r->n_thrown = thrown;
    free(ratios);
    free(as);
    free(bs);
}

void
pairs_summarize(double *ratios, double *as, double *bs, int n,
                struct pairs_result *r)
{
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
    };
}

void
pairs_print(const struct pairs_result *r, const char *more, const char *note)
{
    printf("{\"ratio\": %.4f, \"p5\": %.4f, \"p95\": %.4f, %s%s"
           "\"note\": \"%.1f ns against %.1f ns a packet; %d pairs, "
           "%d thrown away; %s\"}\n",
           r->ratio, r->p5, r->p95, more, *more ? ", " : "", r->b_ns,
           r->a_ns, r->n_pairs, r->n_thrown, note);
}
