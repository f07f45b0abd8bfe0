/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Stateful translation with a million sessions, all in use alike, against
 * translation with a thousand.  Whole translations in batches, one batch from
 * inside, the next one from outside. */

#include <stdio.h>

#include "nat64-bench.h"
#include "nat64.h"
#include "pairs.h"

#define FEW 1000
#define MILLION 1000000

struct side {
    struct nat64_bench bench;
    struct nat64_bench_thread thread;
};

static void
make_side(struct side *side, uint32_t n)
{
    struct nat64_bench_conf conf = {
        .kind = "nat64",
        .pool6 = "2001:db8:64::/96",
        .pool4 = "192.0.2.0/28",
        .max = n,
    };

    nat64_bench_init(&side->bench, &conf);
    nat64_bench_thread_init(&side->thread, &side->bench, 1);
    nat64_bench_make(&side->thread, 0, n);
    nat64_bench_check(&side->thread);
}

int
main(void)
{
    static struct side few, million;
    struct pairs_kernel a = {
        .name = "1000 sessions", .run_timed = nat64_bench_run,
        .aux = &few.thread,
    };
    struct pairs_kernel b = {
        .name = "1000000 sessions", .run_timed = nat64_bench_run,
        .aux = &million.thread,
    };
    struct nat64_gauges gauges;
    struct pairs_result result;
    char more[64];

    make_side(&few, FEW);
    make_side(&million, MILLION);
    pairs_measure(&a, &b, 200, &result);
    nat64_bench_check(&few.thread);
    nat64_bench_check(&million.thread);
    nat64_get_gauges(million.bench.zone, &gauges);
    snprintf(more, sizeof more, "\"bytes_per_session\": %.1f",
             (double) gauges.bytes / gauges.max_sessions);
    pairs_print(&result, more,
                "1000 sessions against 1000000, uniform, both ways");
    nat64_bench_destroy(&few.bench);
    nat64_bench_destroy(&million.bench);
    return 0;
}
