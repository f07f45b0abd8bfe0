/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef CT_BENCH_H
#define CT_BENCH_H 1

/* Open vSwitch's connection tracker, full of the UDP connections of
 * nat64-bench.h, and packets of them in batches.
 *
 * Without NAT, connections are those of nat64 as the inside sees them: IPv6
 * on both sides, with 64:ff9b:: in front of the server.  With NAT they are
 * those of nat44, their source translated to 32 addresses, ports 1024 to
 * 65535.  One batch is ct(commit[,nat(src=...)]) or, once there is a
 * connection, ct[(nat)]: one call of conntrack_execute().
 *
 * What favours ct(): its memory is on huge pages (tests/bench/run); checksums
 * are known to be good, so that it verifies none; time stands still, so that
 * nothing expires, and its sweeper sleeps; UDP has no states and no sequence
 * numbers. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ct_bench;

/* Makes a tracker for 'max' connections. */
struct ct_bench *ct_bench_create(bool nat, uint32_t max);

/* Waits until all memory is free again. */
void ct_bench_destroy(struct ct_bench *);

/* Has the first packets of the 'n' connections from 'first' on make them, with
 * 'answered' also the first packets back.  ct_bench_batch() sends packets of
 * connections 0 to the last one of those.  Returns the nanoseconds of
 * conntrack_execute() for the former.  Exits if one is not made. */
double ct_bench_make(struct ct_bench *, uint32_t first, uint32_t n,
                     bool answered);

/* Runs a batch of packets of random connections, from outside if 'in'.
 * Returns the nanoseconds. */
double ct_bench_batch(struct ct_bench *, bool in);

/* For struct pairs_kernel, like nat64_bench_run(). */
double ct_bench_run(void *ct_bench, size_t n);

/* Runs many packets both ways and looks whether all belonged to their
 * connections.  Exits if one did not, or if there are not as many connections
 * as were made. */
void ct_bench_check(struct ct_bench *);

#endif /* ct-bench.h */
