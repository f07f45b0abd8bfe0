/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Packets of established sessions, a million of them, all in use alike,
 * through a stateful zone and through Open vSwitch's connection tracker, half
 * of them from inside and half from outside.
 *
 *     bench-nat64-vs-ct        a plain zone / ct() of the same IPv6 packets
 *     bench-nat64-vs-ct nat    a zone with limits, blocks of ports, a log, a
 *                              deny list, filtering / ct(nat) of as many IPv4
 *                              connections
 *
 * The two do not do the same.  The zone changes the IP version of each packet,
 * which ct() cannot, counts it for its session, and gives each inside address
 * and port one outside address and port (RFC 6146), for which there is a
 * second table.  ct() notes its state, mark and labels in the packet, for
 * flows to match; with TCP, which is not used here, it also looks at sequence
 * numbers.  The zone is called as lib has it, ct() with Open vSwitch's
 * packets, as both are made: what it takes to get from one to the other is in
 * nat64-action.  nat44 against ct(nat), two of a kind, is reported beside. */

#include <config.h>

#include <stdio.h>
#include <string.h>

#include "ct-bench.h"
#include "nat64-bench.h"
#include "pairs.h"
#include "util.h"

#define MILLION 1000000
#define N_PAIRS 200

static const char *const plain[] = { NULL };
static const char *const features[] = {
    "deny", "203.0.113.0/24,2001:db8:bad::/48",
    "filtering", "address-dependent",
    "log", "sessions",
    "max-subscribers", "100000",
    "port-block-size", "64",
    "port-blocks", "8",
    "session-rate", "100000000",
    "subscriber-ports", "500",
    "subscriber-prefix6", "128",
    "subscriber-rate", "1000000",
    "subscriber-sessions", "500",
    NULL
};

static void
measure(const char *kind, const char *const *options, struct ct_bench *ct,
        struct pairs_result *result)
{
    struct nat64_bench_conf conf = {
        .kind = kind,
        .pool6 = strcmp(kind, "nat64") ? NULL : "64:ff9b::/96",
        .pool4 = "192.0.2.0/27",
        .max = MILLION,
        .options = options,
    };
    struct nat64_bench bench;
    struct nat64_bench_thread *thread = xzalloc(sizeof *thread);
    struct pairs_kernel a = {
        .name = kind, .run_timed = nat64_bench_run, .aux = thread,
    };
    struct pairs_kernel b = {
        .name = "ct", .run_timed = ct_bench_run, .aux = ct,
    };

    nat64_bench_init(&bench, &conf);
    nat64_bench_thread_init(thread, &bench, 1);
    nat64_bench_make(thread, 0, MILLION);
    nat64_bench_check(thread);
    pairs_measure(&a, &b, N_PAIRS, result);
    nat64_bench_check(thread);
    nat64_bench_destroy(&bench);
    free(thread);
}

int
main(int argc, char *argv[])
{
    bool nat = argc > 1 && !strcmp(argv[1], "nat");
    struct ct_bench *ct;
    struct pairs_result result, result44;
    char more[64] = "";

    set_program_name(argv[0]);
    ct = ct_bench_create(nat, MILLION);
    ct_bench_make(ct, 0, MILLION, true);
    ct_bench_check(ct);
    measure("nat64", nat ? features : plain, ct, &result);
    if (nat) {
        measure("nat44", plain, ct, &result44);
        snprintf(more, sizeof more, "\"plain_nat44_ratio\": %.2f",
                 result44.ratio);
    }
    ct_bench_check(ct);
    pairs_print(&result, more, nat ? "ct(nat) against nat64 with everything"
                                   : "ct() against nat64");
    return 0;
}
