/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef PAIRS_H
#define PAIRS_H 1

/* Measuring B against A on a machine whose speed drifts.
 *
 * A and B alternate, some milliseconds each, for some hundred pairs.  The
 * result is the median of the paired ratios with its 5th and 95th percentile,
 * which the drift hardly touches.  A calibration kernel that never changes
 * runs around each pair; a pair around which it moved by more than 10 % is
 * thrown away. */

#include <stdbool.h>
#include <stddef.h>

struct pairs_kernel {
    const char *name;
    /* Handles 'n' packets. */
    void (*run)(void *aux, size_t n);
    void *aux;
    /* In place of 'run', and returns the nanoseconds that it took, without
     * those of what had to be prepared. */
    double (*run_timed)(void *aux, size_t n);
    /* Packets at a time; 0: as many as take some milliseconds. */
    size_t n;
};

struct pairs_result {
    double ratio, p5, p95;     /* Cost of B / cost of A. */
    double a_ns, b_ns;         /* Medians, nanoseconds a packet. */
    int n_pairs;               /* Pairs kept, ... */
    int n_thrown;              /* ... and thrown away. */
};

/* Measures 'b' against 'a' in 'n_pairs' pairs.  Pins the calling thread to
 * the CPU it runs on. */
void pairs_measure(const struct pairs_kernel *a, const struct pairs_kernel *b,
                   int n_pairs, struct pairs_result *);

/* Makes the result of 'n' pairs of costs, nanoseconds a packet, in any order;
 * sorts them. */
void pairs_summarize(double *ratios, double *as, double *bs, int n,
                     struct pairs_result *);

/* Prints 'r' as the line of JSON that tests/bench/run reads, with 'more',
 * which is "" or members of an object, as "\"a\": 1, \"b\": 2". */
void pairs_print(const struct pairs_result *r, const char *more,
                 const char *note);

/* Returns a clock's nanoseconds. */
double pairs_now_ns(void);

/* Pins the calling thread to the 'n'-th, from 0, of the process's CPUs.
 * Returns false if there are fewer. */
bool pairs_pin_to(unsigned int n);

/* Returns the nanoseconds of a fixed piece of work. */
double pairs_calibrate(void);

/* The unit against which a rewrite is held: swaps the MAC addresses of a frame
 * and copies 64 bytes of it. */
void pairs_mac_swap_copy(unsigned char *to, unsigned char *frame);

#endif /* pairs.h */
