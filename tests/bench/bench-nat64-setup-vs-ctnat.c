/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* New sessions, from none to a million, in a stateful zone, and new
 * connections of as many IPv4 hosts and ports by ct(commit,nat(src=...)).
 *
 * Each pair makes 20,000 of both, so that both have the same number at any
 * time; when there are a million, both begin anew with none.
 *
 * What differs: a new session of the zone has a binding besides, a port taken
 * out of a bitmap, and memory that was taken when the zone was configured; a
 * connection of ct() has a port for which it has looked whether somebody has
 * the reverse of it, and memory of its own.  See bench-nat64-vs-ct.c for the
 * rest. */

#include <config.h>

#include <stdio.h>

#include "ct-bench.h"
#include "nat64-bench.h"
#include "nat64.h"
#include "pairs.h"
#include "util.h"

#define AT_ONCE (20000 / XLAT_BATCH * XLAT_BATCH)
#define MILLION (50 * AT_ONCE)
#define N_PAIRS 100

static struct nat64_bench_conf conf = {
    .kind = "nat64",
    .pool6 = "64:ff9b::/96",
    .pool4 = "192.0.2.0/27",
    .max = MILLION,
};

/* What was made on one side, in all. */
struct side {
    uint32_t n;                  /* Right now. */
    double all;
    double ns;
    struct nat64_bench bench;
    struct nat64_bench_thread thread;
    struct ct_bench *ct;
};

static void
count(struct side *side, size_t n, double ns)
{
    side->n += n;
    side->all += n;
    side->ns += ns;
}

static void
check(struct side *side)
{
    struct nat64_gauges gauges;

    nat64_get_gauges(side->bench.zone, &gauges);
    if (gauges.sessions != side->n || gauges.bindings != side->n) {
        nat64_bench_fail("zone", "sessions are missing");
    }
    side->thread.first = 0;
    side->thread.n = side->n;
    nat64_bench_check(&side->thread);
}

static double
run_zone(void *side_, size_t n)
{
    struct side *side = side_;
    double ns;

    if (side->n + n > MILLION) {
        check(side);
        nat64_bench_destroy(&side->bench);
        side->n = 0;
    }
    if (!side->n) {
        nat64_bench_init(&side->bench, &conf);
        nat64_bench_thread_init(&side->thread, &side->bench, 1);
    }
    ns = nat64_bench_make(&side->thread, side->n, n);
    count(side, n, ns);
    return ns;
}

static double
run_ct(void *side_, size_t n)
{
    struct side *side = side_;
    double ns;

    if (side->n + n > MILLION) {
        ct_bench_check(side->ct);
        ct_bench_destroy(side->ct);
        side->n = 0;
    }
    if (!side->n) {
        side->ct = ct_bench_create(true, MILLION);
    }
    ns = ct_bench_make(side->ct, side->n, n, false);
    count(side, n, ns);
    return ns;
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static struct side zone, ct;
    struct pairs_kernel a = {
        .name = "nat64", .run_timed = run_zone, .aux = &zone, .n = AT_ONCE,
    };
    struct pairs_kernel b = {
        .name = "ct", .run_timed = run_ct, .aux = &ct, .n = AT_ONCE,
    };
    struct pairs_result result;
    char more[128];

    set_program_name(argv[0]);
    pairs_measure(&a, &b, N_PAIRS, &result);
    check(&zone);
    snprintf(more, sizeof more, "\"sessions_per_s\": %.0f, "
             "\"ct_sessions_per_s\": %.0f", zone.all / zone.ns * 1e9,
             ct.all / ct.ns * 1e9);
    pairs_print(&result, more, "ct(commit,nat) against nat64, new sessions, "
                "from 0 to 1000000");
    return 0;
}
