/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* The batch entry, and the short path for ordinary packets.
 *
 * Ordinary is what needs no decision: whole TCP and UDP packets without
 * options and extension headers that fit as they are.  A batch goes in stages:
 * those are picked and their addresses looked up together, so that table lines
 * are fetched side by side; then each is rewritten.  All other packets take
 * the long way (xlat-siit.c), which gives ordinary packets the same result. */

#include "ila.h"
#include "xlat-addr.h"
#include "xlat-fast.h"
#include "xlat-private.h"

static void run_batch(const struct xlat_zone *, struct xlat_ctx *,
                      struct xlat_job *, size_t n);
static void siit_batch(const struct xlat_zone *, struct xlat_ctx *,
                       struct xlat_tally *, struct xlat_job *, size_t n);

void
xlat_run(const struct xlat_zone *zone, struct xlat_ctx *ctx,
         struct xlat_job *jobs, size_t n)
{
    while (n) {
        size_t batch = n < XLAT_BATCH ? n : XLAT_BATCH;

        run_batch(zone, ctx, jobs, batch);
        jobs += batch;
        n -= batch;
    }
}

static void
run_batch(const struct xlat_zone *zone, struct xlat_ctx *ctx,
          struct xlat_job *jobs, size_t n)
{
    struct xlat_tally tally;

    if (zone->kind == XLAT_KIND_SIIT) {
        siit_batch(zone, ctx, &tally, jobs, n);
    } else {
        xlat_tally_in(&tally, jobs, n);
        ila_run(zone, ctx, jobs, n);
        xlat_tally_out(&tally, jobs, n);
    }
    if (!ctx->dry_run) {
        xlat_stats_add(zone->stats, &tally);
    }
}

/* Takes 'job' along the long way. */
static void
run_one(const struct xlat_zone *zone, struct xlat_ctx *ctx,
        struct xlat_tally *tally, struct xlat_job *job)
{
    uint8_t from = job->pk.len ? job->pk.data[0] >> 4 : 0;
    struct xlat_way way = {
        .zone = zone,
        .ctx = ctx,
        .tally = tally,
        .job = job,
    };

    xlat_siit_run(&way);
    xlat_tally_job(tally, job, from);
}

/* Picks the ordinary packets, counts the bytes of all, and has the addresses
 * looked up. */
static void
siit_pick(const struct xlat_zone *zone, const struct xlat_fast *fast,
          struct xlat_tally *tally, struct xlat_addr *addrs,
          struct xlat_job *jobs, size_t n)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < n; i++) {
        struct pk *pk = &jobs[i].pk;

        bytes += pk->len;
        pk->frag_mtu = 0;
        addrs[i].from = xlat_fast_family(fast, pk);
        addrs[i].ip = addrs[i].from ? pk->data : NULL;
    }
    tally->packets = n;
    tally->bytes = bytes;
    xlat_addr_batch(zone, addrs, n);
}

static void
siit_batch(const struct xlat_zone *zone, struct xlat_ctx *ctx,
           struct xlat_tally *tally, struct xlat_job *jobs, size_t n)
{
    struct xlat_fast fast;
    struct xlat_addr addrs[XLAT_BATCH];
    uint32_t n_46 = 0, n_64 = 0;

    xlat_fast_init(&fast, &zone->set);
    xlat_tally_in(tally, jobs, 0);
    siit_pick(zone, &fast, tally, addrs, jobs, n);
    for (size_t i = 0; i < n; i++) {
        const struct xlat_addr *addr = &addrs[i];

        if (!addr->ip || addr->drop != XLAT_OK || addr->from == addr->to) {
            run_one(zone, ctx, tally, &jobs[i]);
            continue;
        }
        if (addr->from == 4) {
            xlat_fast_46(&fast, &jobs[i].pk, &addr->src, &addr->dst);
            n_46++;
        } else {
            xlat_fast_64(&fast, &jobs[i].pk, addr->src.in4, addr->dst.in4,
                         xlat_rng_next(&ctx->rng));
            n_64++;
        }
        jobs[i].verdict = XLAT_TRANSLATED;
    }
    tally->translated_46 += n_46;
    tally->translated_64 += n_64;
}
