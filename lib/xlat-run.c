/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* The batch entry, and the short path for ordinary packets.
 *
 * Ordinary is what needs no decision: whole TCP and UDP packets without
 * options and extension headers that fit as they are.  With large tables, a
 * batch goes in stages: those are picked and their addresses looked up
 * together, so that table lines are fetched side by side; then each is
 * rewritten.  All other packets take the long way (xlat-siit.c), which gives
 * ordinary packets the same result. */

#include <endian.h>

#include "ila.h"
#include "xlat-addr-fast.h"
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

size_t
xlat_take_held(const struct xlat_zone *zone, const struct xlat_job *job,
               void *buf, size_t size)
{
    return (zone->stateful && job->verdict == XLAT_TRANSLATED
            ? nat64_take_held(zone, job->held, buf, size) : 0);
}

static void
run_batch(const struct xlat_zone *zone, struct xlat_ctx *ctx,
          struct xlat_job *jobs, size_t n)
{
    struct xlat_tally tally;

    xlat_tally_begin(&tally);
    switch (zone->kind) {
    case XLAT_KIND_SIIT:
        siit_batch(zone, ctx, &tally, jobs, n);
        break;
    case XLAT_KIND_NAT64:
    case XLAT_KIND_NAT44:
        nat64_batch(zone, ctx, &tally, jobs, n);
        break;
    case XLAT_KIND_ILA:
    default:
        ila_run(zone, ctx, &tally, jobs, n);
        break;
    }
    if (!ctx->dry_run) {
        xlat_stats_add(zone->stats, ctx->thread, &tally);
    }
}

void
xlat_run_one(const struct xlat_zone *zone, struct xlat_ctx *ctx,
        struct xlat_tally *tally, struct xlat_job *job)
{
    uint8_t from = job->pk.len ? job->pk.data[0] >> 4 : 0;
    struct xlat_way way = {
        .zone = zone,
        .ctx = ctx,
        .tally = tally,
        .job = job,
    };

    if (zone->kind == XLAT_KIND_SIIT) {
        xlat_siit_run(&way);
    } else {
        nat64_run_one(&way);
    }
    xlat_tally_job(tally, job, from);
}

/* Picks the ordinary packets and has their addresses looked up. */
static void
siit_pick(const struct xlat_zone *zone, const struct xlat_fast *fast,
          struct xlat_tally *tally, struct xlat_addr *addrs,
          struct xlat_job *jobs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct pk *pk = &jobs[i].pk;

        pk->frag_mtu = 0;
        tally->bytes += pk->len;
        addrs[i].from = xlat_fast_family(fast, pk);
        addrs[i].ip = addrs[i].from ? pk->data : NULL;
    }
    xlat_addr_batch(zone, addrs, n);
}

/* Takes the 'n' packets of 'jobs' along the short path, looking up first, if
 * the zone's tables are large, and else along the long way. */
static void
siit_staged(const struct xlat_zone *zone, struct xlat_ctx *ctx,
            const struct xlat_fast *fast, struct xlat_tally *tally,
            struct xlat_job *jobs, size_t n)
{
    struct xlat_addr addrs[XLAT_BATCH];

    siit_pick(zone, fast, tally, addrs, jobs, n);
    for (size_t i = 0; i < n; i++) {
        const struct xlat_addr *addr = &addrs[i];

        if (!addr->ip || addr->drop != XLAT_OK || addr->from == addr->to) {
            xlat_run_one(zone, ctx, tally, &jobs[i]);
            continue;
        }
        if (addr->from == 4) {
            xlat_fast_46(fast, &jobs[i].pk, &addr->src, &addr->dst);
            tally->translated_46++;
        } else {
            xlat_fast_64(fast, &jobs[i].pk, addr->src.in4, addr->dst.in4,
                         xlat_rng_next(&ctx->rng));
            tally->translated_64++;
        }
        jobs[i].verdict = XLAT_TRANSLATED;
    }
}

/* Takes 'pk' along the short path in a fast zone.  Returns the IP version that
 * it had, or 0, with nothing done, if it must go the long way. */
static inline uint8_t
at_once(const struct xlat_zone *zone, struct xlat_ctx *ctx,
        const struct xlat_fast *fast, struct pk *pk)
{
    uint8_t from = xlat_fast_family(fast, pk);

    if (from == 4) {
        struct xlat_ip6 src, dst;
        union pk_addr src6, dst6;

        if (!xlat_addr_fast_46(zone, pk->data, &src, &dst)) {
            return 0;
        }
        xlat_ip6_store(src, &src6);
        xlat_ip6_store(dst, &dst6);
        xlat_fast_46(fast, pk, &src6, &dst6);
    } else if (from == 6) {
        uint32_t src, dst;

        if (!xlat_addr_fast_64(zone, pk->data, &src, &dst)) {
            return 0;
        }
        xlat_fast_64(fast, pk, htobe32(src), htobe32(dst),
                     xlat_rng_next(&ctx->rng));
    }
    return from;
}

/* The same as siit_staged() for a fast zone with small tables. */
static void
siit_at_once(const struct xlat_zone *zone, struct xlat_ctx *ctx,
             const struct xlat_fast *fast, struct xlat_tally *tally,
             struct xlat_job *jobs, size_t n)
{
    uint32_t n_from[8] = { 0 };

    for (size_t i = 0; i < n; i++) {
        struct pk *pk = &jobs[i].pk;
        uint8_t from;

        pk->frag_mtu = 0;
        tally->bytes += pk->len;
        from = at_once(zone, ctx, fast, pk);
        n_from[from]++;
        jobs[i].verdict = XLAT_TRANSLATED;
        if (!from) {
            xlat_run_one(zone, ctx, tally, &jobs[i]);
        }
    }
    tally->translated_46 += n_from[4];
    tally->translated_64 += n_from[6];
}

static void
siit_batch(const struct xlat_zone *zone, struct xlat_ctx *ctx,
           struct xlat_tally *tally, struct xlat_job *jobs, size_t n)
{
    struct xlat_fast fast;

    xlat_fast_init(&fast, &zone->set);
    tally->packets = n;
    if (zone->addrs.fast && !zone->addrs.prefetch) {
        siit_at_once(zone, ctx, &fast, tally, jobs, n);
    } else {
        siit_staged(zone, ctx, &fast, tally, jobs, n);
    }
}
