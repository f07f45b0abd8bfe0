/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "xlat-stats.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "xlat-tokens.h"

struct thread_counters {
    struct xlat_counters c;
} __attribute__((aligned(64)));

/* 'tat_ns' is a cache line away from the counters, which every batch
 * writes. */
struct xlat_stats {
    uint32_t n_refs;
    uint64_t tat_ns;       /* When the rate limit will have forgotten all
                            * errors made so far. */
    struct thread_counters threads[XLAT_MAX_THREADS];
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
    uint64_t *to = (uint64_t *) copy;

    memset(copy, 0, sizeof *copy);
    for (unsigned int k = 0; k < XLAT_MAX_THREADS; k++) {
        const uint64_t *from = (const uint64_t *) &stats->threads[k].c;

        for (size_t i = 0; i < sizeof *copy / sizeof *to; i++) {
            to[i] += __atomic_load_n(&from[i], __ATOMIC_RELAXED);
        }
    }
}

static uint8_t
ip_version(const struct pk *pk)
{
    return pk->len ? pk->data[0] >> 4 : 0;
}

static void
tally_translated(struct xlat_tally *t, const struct pk *pk, uint8_t from)
{
    if (ip_version(pk) == 4) {
        t->translated_44 += from == 4;
        t->translated_64 += from == 6;
    } else {
        t->translated_46 += from == 4;
        t->translated_66 += from == 6;
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
    case XLAT_HELD:
    case XLAT_TRANSLATED:
        assert(!"xlat_tally_job() has counted these");
    }
}

void
xlat_tally_job(struct xlat_tally *t, const struct xlat_job *job, uint8_t from)
{
    if (job->verdict == XLAT_TRANSLATED) {
        tally_translated(t, &job->pk, from);
    } else if (job->verdict == XLAT_HELD) {
        t->packets--;
        t->bytes -= job->pk.len;
    } else {
        tally_untranslated(t, job);
    }
}

/* Most counters do not change. */
static inline void
add(uint64_t *counter, uint64_t n, unsigned int thread)
{
    if (n) {
        xlat_count(counter, n, thread);
    }
}

void
xlat_stats_add(struct xlat_stats *stats, unsigned int thread,
               const struct xlat_tally *t)
{
    struct xlat_counters *c = &stats->threads[thread].c;

    add(&c->packets, t->packets, thread);
    add(&c->bytes, t->bytes, thread);
    add(&c->translated, t->translated_44 + t->translated_46
                        + t->translated_64 + t->translated_66, thread);
    add(&c->translated_44, t->translated_44, thread);
    add(&c->translated_46, t->translated_46, thread);
    add(&c->translated_64, t->translated_64, thread);
    add(&c->translated_66, t->translated_66, thread);
    add(&c->fragmented, t->fragmented, thread);
    add(&c->replies_limited, t->replies_limited, thread);
    if (t->n_untranslated) {
        add(&c->passed, t->passed, thread);
        add(&c->replies, t->replies, thread);
        for (int i = 0; i < XLAT_N_DROPS; i++) {
            add(&c->drops[i], t->drops[i], thread);
            add(&c->reply_reasons[i], t->reply_reasons[i], thread);
        }
    }
}

void
xlat_stats_add_drops(struct xlat_stats *stats, unsigned int thread,
                     enum xlat_drop drop, uint32_t n, uint64_t bytes)
{
    struct xlat_counters *c = &stats->threads[thread].c;

    xlat_count(&c->packets, n, thread);
    xlat_count(&c->bytes, bytes, thread);
    xlat_count(&c->drops[drop], n, thread);
}

void
xlat_stats_sent(struct xlat_stats *stats, bool is_probe)
{
    struct xlat_counters *c = &stats->threads[0].c;

    xlat_count(is_probe ? &c->probes_sent : &c->syns_answered, 1, 0);
}

bool
xlat_stats_take_token(struct xlat_stats *stats,
                      const struct xlat_settings *settings, uint64_t now_us,
                      bool dry_run)
{
    return xlat_tokens_take(&stats->tat_ns, settings->icmp_error_rate,
                            settings->icmp_error_burst, now_us, dry_run);
}
