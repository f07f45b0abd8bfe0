/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* New sessions where 99 % of the pool's ports are in use, and where 10 % are,
 * since the pool has ten times the addresses: both zones have a million
 * sessions.  Each time, two thousand begin, which counts, and end again, which
 * does not. */

#include <stdio.h>

#include "nat64-bench.h"
#include "nat64.h"
#include "pairs.h"

#define PORTS ":1024-65535"
#define N_PORTS (16 * 64512)
#define AT_ONCE (2000 / XLAT_BATCH * XLAT_BATCH)
#define N_SESSIONS (N_PORTS / 100 * 99 - AT_ONCE / 2)
#define N_NUMBERS (32 * AT_ONCE)     /* Of sessions that begin and end. */
#define N_PAIRS 1000

struct side {
    struct nat64_bench bench;
    struct nat64_bench_thread thread;
    uint32_t next;               /* Session to begin next. */
    double ns;
    double n;
};

/* Returns the share of the pool's ports of UDP that is in use. */
static double
used(const struct side *side)
{
    struct nat64_gauges gauges;

    nat64_get_gauges(side->bench.zone, &gauges);
    if (gauges.sessions != N_SESSIONS) {
        nat64_bench_fail("zone", "wrong number of sessions");
    }
    return 3. * gauges.ports_in_use / gauges.ports;
}

static void
check(struct side *side)
{
    side->thread.first = 0;
    side->thread.n = N_SESSIONS;
    nat64_bench_check(&side->thread);
}

static void
make_side(struct side *side, const char *pool4)
{
    static const char *const options[] = {
        "port-reuse-delay", "0",
        "udp-timeout", "100000",
        NULL
    };
    struct nat64_bench_conf conf = {
        .kind = "nat64",
        .pool6 = "64:ff9b::/96",
        .pool4 = pool4,
        .max = N_SESSIONS + N_NUMBERS,
        .options = options,
    };

    nat64_bench_init(&side->bench, &conf);
    nat64_bench_thread_init(&side->thread, &side->bench, 1);
    nat64_bench_make(&side->thread, 0, N_SESSIONS);
    side->next = N_SESSIONS;
    check(side);
}

static double
run(void *side_, size_t n)
{
    struct side *side = side_;
    double ns = nat64_bench_make(&side->thread, side->next, n);

    nat64_bench_end(&side->thread, side->next, n);
    side->next += n;
    if (side->next == N_SESSIONS + N_NUMBERS) {
        side->next = N_SESSIONS;
    }
    side->ns += ns;
    side->n += n;
    return ns;
}

int
main(void)
{
    static struct side few, many;
    struct pairs_kernel a = {
        .name = "99 %", .run_timed = run, .aux = &many, .n = AT_ONCE,
    };
    struct pairs_kernel b = {
        .name = "10 %", .run_timed = run, .aux = &few, .n = AT_ONCE,
    };
    struct pairs_result result;
    char more[256];

    make_side(&many, "192.0.2.0/28" PORTS);
    make_side(&few, "192.0.2.0/25" PORTS ",203.0.113.0/27" PORTS);
    pairs_measure(&a, &b, N_PAIRS, &result);
    snprintf(more, sizeof more, "\"used\": %.4f, \"sessions_per_s\": %.0f, "
             "\"used_of_other\": %.4f, \"sessions_per_s_of_other\": %.0f",
             used(&many), many.n / many.ns * 1e9, used(&few),
             few.n / few.ns * 1e9);
    check(&many);
    check(&few);
    pairs_print(&result, more, "new sessions, 10 % of the ports in use "
                "against 99 %");
    nat64_bench_destroy(&many.bench);
    nat64_bench_destroy(&few.bench);
    return 0;
}
