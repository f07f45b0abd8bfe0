/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "xlat-stats.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* 'tat_ns' is a cache line away from the counters, which every batch
 * writes. */
struct xlat_stats {
    uint32_t n_refs;
    uint64_t tat_ns;       /* When the rate limit will have forgotten all
                            * errors made so far. */
    struct xlat_counters counters __attribute__((aligned(64)));
};

struct xlat_stats *
xlat_stats_create(void)
{
    struct xlat_stats *stats = aligned_alloc(64, sizeof *stats);

    if (stats) {
        memset(stats, 0, sizeof *stats);
        stats->n_refs = 1;
    }
    return stats;
}

struct xlat_stats *
xlat_stats_ref(struct xlat_stats *stats)
{
    __atomic_fetch_add(&stats->n_refs, 1, __ATOMIC_RELAXED);
    return stats;
}

void
xlat_stats_unref(struct xlat_stats *stats)
{
    if (stats
        && __atomic_fetch_sub(&stats->n_refs, 1, __ATOMIC_ACQ_REL) == 1) {
        free(stats);
    }
}

void
xlat_stats_get(const struct xlat_stats *stats, struct xlat_counters *copy)
{
    const uint64_t *from = (const uint64_t *) &stats->counters;
    uint64_t *to = (uint64_t *) copy;

    for (size_t i = 0; i < sizeof *copy / sizeof *to; i++) {
        to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
    }
}

static uint8_t
ip_version(const struct pk *pk)
{
    return pk->len ? pk->data[0] >> 4 : 0;
}

void
xlat_tally_in(struct xlat_tally *t, const struct xlat_job *jobs, size_t n)
{
    memset(t, 0, offsetof(struct xlat_tally, from));
    t->packets = n;
    for (size_t i = 0; i < n; i++) {
        t->bytes += jobs[i].pk.len;
        t->from[i] = ip_version(&jobs[i].pk);
    }
}

static void
tally_translated(struct xlat_tally *t, const struct pk *pk, uint8_t from)
{
    if (from == 4) {
        t->translated_46++;
    } else if (ip_version(pk) == 4) {
        t->translated_64++;
    } else {
        t->translated_66++;
    }
    t->fragmented += pk->frag_mtu != 0;
}

static void
tally_untranslated(struct xlat_tally *t, const struct xlat_job *job)
{
    if (!t->n_untranslated++) {
        memset(t->drops, 0, sizeof t->drops);
        memset(t->reply_reasons, 0, sizeof t->reply_reasons);
    }
    switch (job->verdict) {
    case XLAT_PASSED:
        t->passed++;
        break;
    case XLAT_REPLY:
        t->replies++;
        t->reply_reasons[job->drop]++;
        break;
    case XLAT_DROPPED:
        t->drops[job->drop]++;
        break;
    case XLAT_TRANSLATED:
        assert(!"xlat_tally_job() has counted these");
    }
}

void
xlat_tally_job(struct xlat_tally *t, const struct xlat_job *job, uint8_t from)
{
    if (job->verdict == XLAT_TRANSLATED) {
        tally_translated(t, &job->pk, from);
    } else {
        tally_untranslated(t, job);
    }
}

void
xlat_tally_out(struct xlat_tally *t, const struct xlat_job *jobs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        xlat_tally_job(t, &jobs[i], t->from[i]);
    }
}

static void
add(uint64_t *counter, uint64_t n)
{
    /* An addition is a locked operation: most counters do not change. */
    if (n) {
        __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
    }
}

void
xlat_stats_add(struct xlat_stats *stats, const struct xlat_tally *t)
{
    struct xlat_counters *c = &stats->counters;

    add(&c->packets, t->packets);
    add(&c->bytes, t->bytes);
    add(&c->translated,
        t->translated_46 + t->translated_64 + t->translated_66);
    add(&c->translated_46, t->translated_46);
    add(&c->translated_64, t->translated_64);
    add(&c->translated_66, t->translated_66);
    add(&c->fragmented, t->fragmented);
    add(&c->replies_limited, t->replies_limited);
    if (t->n_untranslated) {
        add(&c->passed, t->passed);
        add(&c->replies, t->replies);
        for (int i = 0; i < XLAT_N_DROPS; i++) {
            add(&c->drops[i], t->drops[i]);
            add(&c->reply_reasons[i], t->reply_reasons[i]);
        }
    }
}

/* The generic cell rate algorithm: one word of state holds the time at which
 * a bucket of tokens would be full again. */
bool
xlat_stats_take_token(struct xlat_stats *stats,
                      const struct xlat_settings *settings, uint64_t now_us,
                      bool dry_run)
{
    if (!settings->icmp_error_rate || !settings->icmp_error_burst) {
        return false;
    }

    uint64_t now = now_us * 1000;
    uint64_t cost = UINT64_C(1000000000) / settings->icmp_error_rate;
    uint64_t full = now + cost * settings->icmp_error_burst;
    uint64_t old = __atomic_load_n(&stats->tat_ns, __ATOMIC_RELAXED);

    for (;;) {
        uint64_t tat = old > now ? old : now;

        /* Only a clock that went back leads beyond 'full'; take no more than
         * one burst's time to forget it. */
        if (tat > full) {
            tat = full;
        }
        bool leave = tat + cost <= full;
        if (dry_run) {
            return leave;
        }
        if (__atomic_compare_exchange_n(&stats->tat_ns, &old,
                                        tat + (leave ? cost : 0), true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            return leave;
        }
    }
}
