/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* random-nat64: random steps of a stateful zone, lib against its slow twin
 * (tests/oracle/slow-nat64.h).
 *
 *     random-nat64 [--steps N] [--seed S] [--zones N] [--trace]
 *
 * A step is a packet, a leap of time, a call of nat64.h, or a new
 * configuration.  Every zone has its own seed, printed with a difference: with
 * --seed of that value and --zones 1 it comes again, and with --trace all
 * steps up to there.  Speaks TAP. */

#include "random-nat64.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "nat64-walk.h"

#define STEPS_PER_ZONE 20000
#define MAX_BATCH 12

static struct {
    uint64_t steps, max_steps;
    uint64_t zones, max_zones;
    struct xlat_counters sum;
    uint32_t max_sessions;
    uint64_t n_released;
    bool failed, trace;
    struct slot slots[MAX_BATCH];
} run = { .max_steps = 100000, .max_zones = UINT64_MAX };

/* Ends the run if 'wrong' is something. */
static void
report(struct world *w, const char *wrong)
{
    if (wrong && !run.failed) {
        run.failed = true;
        printf("# difference: %s, zone of seed %"PRIu64", step %"PRIu64" of "
               "all\n", wrong, w->seed, run.steps);
    }
}

/* ------------------------------------------------------------------------
 * What is postponed.
 * ------------------------------------------------------------------------ */

#define MAX_POSTPONED 1024

static struct {
    void (*cb[MAX_POSTPONED])(void *aux);
    void *aux[MAX_POSTPONED];
    unsigned int n;
    bool holding;
} postponed;

static void
postpone(void (*cb)(void *aux), void *aux)
{
    if (!postponed.holding) {
        cb(aux);
        return;
    } else if (postponed.n == MAX_POSTPONED) {
        abort();
    }
    postponed.cb[postponed.n] = cb;
    postponed.aux[postponed.n++] = aux;
}

static void
hold(struct world *w, bool holding)
{
    postponed.holding = holding;
    for (unsigned int i = 0; !holding && i < postponed.n; i++) {
        postponed.cb[i](postponed.aux[i]);
    }
    postponed.n = holding ? postponed.n : 0;
    slow_hold(w->slow, holding);
}

/* ------------------------------------------------------------------------
 * Packets.
 * ------------------------------------------------------------------------ */

static struct xlat_job
make_job(struct slot *slot)
{
    memcpy(slot->buf + HEADROOM, slot->copy, slot->len);
    return (struct xlat_job) {
        .pk = {
            .data = slot->buf + HEADROOM,
            .len = slot->len,
            .headroom = HEADROOM,
            .tailroom = SLOW_MAX_BYTES - slot->len,
        },
    };
}

static void
check_packet(struct world *w, struct slot *slot)
{
    const char *wrong = compare_packet(w, slot);

    if (wrong || run.trace) {
        slow_print_packet("in  ", &slot->in);
        print_job("lib ", slot->job.verdict, slot->job.drop);
        print_job("twin", slot->want.verdict, slot->want.drop);
        if (slot->want.verdict == XLAT_TRANSLATED) {
            slow_print_packet("out ", &slot->want.out);
        }
    }
    report(w, wrong);
}

/* Asks what would become of the packet in 'slot', which changes nothing. */
static struct xlat_job
run_dry(struct world *w, struct slot *slot)
{
    struct xlat_job job = make_job(slot);

    w->ctx.dry_run = true;
    xlat_run(w->zone, &w->ctx, &job, 1);
    w->ctx.dry_run = false;
    report(w, compare_gauges(w));
    return job;
}

/* Compares the answer with what has become of it.  "What if" does not always
 * see that there is no room, nor what becomes of a packet that goes back
 * inside. */
static void
check_dry_run(struct world *w, const struct slot *slot,
              const struct xlat_job *dry)
{
    const struct xlat_job *job = &slot->job;

    if (dry->verdict != job->verdict && !slot->want.hairpin
        && !(job->verdict != XLAT_TRANSLATED
             && job->drop == XLAT_DROP_TABLE_FULL)) {
        slow_print_packet("in  ", &slot->in);
        print_job("dry ", dry->verdict, dry->drop);
        print_job("real", job->verdict, job->drop);
        report(w, "the verdict of a dry run");
    }
}

/* Takes the fragments that have waited for the packet in 'first', which must
 * be those that have waited for it in the twin, and runs them. */
static void
run_released(struct world *w, const struct slot *first)
{
    static struct slot slot = { .released = true };
    size_t n;

    w->ctx.released = true;
    for (;;) {
        uint8_t bytes[SLOW_MAX_BYTES];

        n = xlat_take_held(w->zone, &first->job, slot.copy,
                           sizeof slot.copy);
        if (!slow_take_held(w->slow, first->want.ticket, &slot.in)) {
            break;
        }
        slot.len = slow_put_packet(&slot.in, bytes);
        if (n != slot.len || memcmp(bytes, slot.copy, n)) {
            report(w, "a fragment that has waited");
            break;
        }
        slot.job = make_job(&slot);
        xlat_run(w->zone, &w->ctx, &slot.job, 1);
        check_packet(w, &slot);
        run.n_released++;
    }
    if (n && !run.failed) {
        report(w, "too many fragments that have waited");
    }
    w->ctx.released = false;
}

static void
run_packets(struct world *w)
{
    struct rnd *rnd = &w->gen.rnd;
    unsigned int n = rnd_chance(rnd, 700) ? 1 : rnd_range(rnd, 2, MAX_BATCH);
    bool dry = n == 1 && rnd_chance(rnd, 50);
    struct xlat_job jobs[MAX_BATCH], dry_job;

    w->ctx.tenant = gen_tenant(&w->gen);
    for (unsigned int i = 0; i < n; i++) {
        struct slot *slot = &run.slots[i];

        gen_packet(&w->gen, w->slow, w->ctx.tenant, &slot->in);
        slot->len = slow_put_packet(&slot->in, slot->copy);
        if (dry) {
            dry_job = run_dry(w, slot);
        }
        jobs[i] = make_job(slot);
    }
    xlat_run(w->zone, &w->ctx, jobs, n);
    for (unsigned int i = 0; i < n && !run.failed; i++) {
        run.slots[i].job = jobs[i];
        check_packet(w, &run.slots[i]);
    }
    for (unsigned int i = 0; i < n && !run.failed; i++) {
        if (jobs[i].verdict == XLAT_TRANSLATED) {
            run_released(w, &run.slots[i]);
        }
    }
    if (dry) {
        check_dry_run(w, &run.slots[0], &dry_job);
    }
    run.steps += n - 1;
}

/* ------------------------------------------------------------------------
 * Other steps.
 * ------------------------------------------------------------------------ */

static void
run_expiry(struct world *w)
{
    nat64_run(w->zone, w->ctx.now_us, postpone, NULL, NULL);
    slow_run(w->slow);
}

/* Lets time pass, now and then just to the end of a session. */
static void
leap(struct world *w)
{
    struct rnd *rnd = &w->gen.rnd;
    uint32_t r = rnd_below(rnd, 1000);
    uint64_t max_ms = (r >= w->haste ? (r % 2 ? 200 : 2000)
                       : r % 8 == 0 ? 14400000 : r % 4 == 1 ? 600000
                       : r % 4 == 2 ? 100000 : 20000);
    const struct slow_session *s = gen_session(&w->gen, w->slow);
    uint64_t left = s && slow_is_alive(w->slow, s)
                    ? slow_ticks_left(w->slow, s) : UINT32_MAX;

    if (left << 16 < max_ms * 20000 && rnd_chance(rnd, 500)) {
        w->ctx.now_us += (left + rnd_below(rnd, 2)) << 16;
    } else {
        w->ctx.now_us += (uint64_t) rnd_below(rnd, max_ms) * 1000;
        w->ctx.now_us += rnd_below(rnd, 1000);
    }
    slow_set_time(w->slow, w->ctx.now_us);
    if (rnd_chance(rnd, 600)) {
        run_expiry(w);
    }
}

static void
flush(struct world *w)
{
    if (nat64_flush(w->zone, w->ctx.now_us, postpone)
        != w->slow->n_sessions) {
        report(w, "the number of sessions flushed");
    }
    slow_flush(w->slow);
}

static void
reconfigure(struct world *w)
{
    bool per_flow = w->gen.conf.per_flow;
    struct xlat_zone *old = w->zone;

    hold(w, false);
    gen_change_conf(&w->gen, &w->gen.conf);
    if (per_flow != w->gen.conf.per_flow) {
        /* Bindings of both mappings beside each other could have sessions of
         * the same host, port and remote, between which nothing chooses. */
        flush(w);
    }
    report(w, gen_zone(&w->gen.conf, w->seed, old, &w->zone));
    if (!run.failed) {
        nat64_fit(w->zone, w->ctx.now_us, postpone);
        slow_fit(w->slow, &w->gen.conf);
        xlat_zone_destroy(old);
        run_expiry(w);
    }
}

static void
step(struct world *w)
{
    uint32_t r = rnd_below(&w->gen.rnd, 10000);
    const char *what = (r < 9200 ? "packets" : r < 9830 ? "time"
                        : r < 9900 ? "run" : r < 9970 ? "hold"
                        : r < 9980 ? "flush" : "conf");

    if (run.trace) {
        printf("# step %"PRIu64", tick %"PRIu64": %s\n", run.steps,
               w->ctx.now_us >> 16, what);
    }
    switch (*what) {
    case 'p': run_packets(w); break;
    case 't': leap(w); break;
    case 'r': run_expiry(w); break;
    case 'h': hold(w, !postponed.holding); break;
    case 'f': flush(w); break;
    default: reconfigure(w); break;
    }
    report(w, compare_gauges(w));
    if (rnd_chance(&w->gen.rnd, *what == 'p' ? 20 : 200)) {
        report(w, compare_sessions(w));
        report(w, postponed.holding ? NULL : nat64_walk(w->zone));
    }
    if (w->slow->n_sessions > run.max_sessions) {
        run.max_sessions = w->slow->n_sessions;
    }
}

/* Compares what has been counted in the whole zone. */
static void
check_counters(struct world *w)
{
    uint64_t *sum = (uint64_t *) &run.sum;
    struct xlat_counters got;

    xlat_zone_get_counters(w->zone, &got);
    w->want.replies_limited = got.replies_limited;
    w->want.packets += w->slow->n_lost;
    w->want.bytes += w->slow->lost_bytes;
    w->want.drops[XLAT_DROP_FRAGMENT] += w->slow->n_lost;
    if (memcmp(&got, &w->want, sizeof got)) {
        report(w, "the counters");
    }
    for (size_t i = 0; i < sizeof got / sizeof *sum; i++) {
        sum[i] += ((const uint64_t *) &got)[i];
    }
}

static void
run_zone(uint64_t seed)
{
    struct world *w = calloc(1, sizeof *w);
    struct rnd *rnd = &w->gen.rnd;
    uint64_t end = run.steps + STEPS_PER_ZONE;

    *rnd = rnd_from_seed(seed);
    w->seed = seed;
    w->ctx.rng = seed | 1;
    w->ctx.thread = 1;
    /* In some zones, ticks of 32 bits begin anew. */
    w->ctx.now_us = (rnd_chance(rnd, 500) ? (uint64_t) rnd32(rnd)
                     : (UINT64_C(1) << 48) - rnd32(rnd) % 3600000000);
    w->haste = rnd_chance(rnd, 300) ? 20 : rnd_chance(rnd, 500) ? 100 : 500;
    gen_conf(&w->gen);
    w->slow = slow_create(&w->gen.conf, learn, w);
    slow_set_time(w->slow, w->ctx.now_us);
    report(w, gen_zone(&w->gen.conf, seed, NULL, &w->zone));
    for (; run.steps < run.max_steps && run.steps < end && !run.failed;
         run.steps++) {
        step(w);
    }
    if (w->zone) {
        check_counters(w);
        hold(w, false);
        xlat_zone_destroy(w->zone);
    }
    slow_destroy(w->slow);
    free(w);
    run.zones++;
}

static void
print_counter(const char *name, uint64_t value, void *aux)
{
    (void) aux;
    if (value) {
        printf("# %s %"PRIu64"\n", name, value);
    }
}

int
main(int argc, char *argv[])
{
    static const struct option options[] = {
        { "steps", required_argument, NULL, 'n' },
        { "seed", required_argument, NULL, 's' },
        { "zones", required_argument, NULL, 'z' },
        { "trace", no_argument, NULL, 't' },
        { NULL, 0, NULL, 0 },
    };
    clock_t start = clock();
    uint64_t seed = 1;
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
        switch (c) {
        case 'n': run.max_steps = strtoull(optarg, NULL, 0); break;
        case 's': seed = strtoull(optarg, NULL, 0); break;
        case 'z': run.max_zones = strtoull(optarg, NULL, 0); break;
        case 't': run.trace = true; break;
        default: return 2;
        }
    }
    printf("1..1\n# seed %"PRIu64"\n", seed);
    while (run.steps < run.max_steps && run.zones < run.max_zones
           && !run.failed) {
        run_zone(seed++);
    }
    xlat_counters_for_each(&run.sum, print_counter, NULL);
    printf("# %"PRIu64" fragments waited for their first ones\n",
           run.n_released);
    printf("# %"PRIu64" steps, %"PRIu64" zones, %u sessions at most, %.1f s\n",
           run.steps, run.zones, run.max_sessions,
           (double) (clock() - start) / CLOCKS_PER_SEC);
    printf("%s 1 - random steps, lib and slow twin agree\n",
           run.failed ? "not ok" : "ok");
    return run.failed;
}
