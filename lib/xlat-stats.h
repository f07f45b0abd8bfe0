/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_STATS_H
#define XLAT_STATS_H 1

/* A zone's counters and its rate limit, shared by all of its snapshots and all
 * threads.
 *
 * A thread counts a batch in a 'struct xlat_tally' of its own and adds it
 * once, with relaxed atomics.  Counters never fall. */

#include "xlat-settings.h"
#include "xlat-zone.h"

struct xlat_stats;

/* Makes counters of zero, with one reference.  NULL if there is no memory. */
struct xlat_stats *xlat_stats_create(void);

/* Takes one more reference, and returns 'stats'. */
struct xlat_stats *xlat_stats_ref(struct xlat_stats *stats);

/* Gives a reference up; the last one frees the counters.  NULL is allowed. */
void xlat_stats_unref(struct xlat_stats *);

/* Copies the counters, each as of some moment during the call. */
void xlat_stats_get(const struct xlat_stats *, struct xlat_counters *);

/* What one batch adds.  The arrays are valid only if 'n_untranslated' is not
 * 0. */
struct xlat_tally {
    uint64_t bytes;
    uint32_t packets;
    uint32_t n_untranslated;
    uint32_t translated_46;
    uint32_t translated_64;
    uint32_t translated_66;
    uint32_t fragmented;
    uint32_t passed;
    uint32_t replies;
    uint32_t replies_limited;
    uint8_t from[XLAT_BATCH];            /* IP version before. */
    uint16_t drops[XLAT_N_DROPS];
    uint16_t reply_reasons[XLAT_N_DROPS];
};

/* Begins a tally with 'n' <= XLAT_BATCH packets as they came in. */
void xlat_tally_in(struct xlat_tally *, const struct xlat_job *, size_t n);

/* Counts what became of the same packets. */
void xlat_tally_out(struct xlat_tally *, const struct xlat_job *, size_t n);

/* Counts what became of one packet, whose IP version was 'from', in a tally
 * that the caller has begun. */
void xlat_tally_job(struct xlat_tally *, const struct xlat_job *,
                    uint8_t from);

/* Adds a finished tally to 'stats'. */
void xlat_stats_add(struct xlat_stats *stats, const struct xlat_tally *);

/* Takes leave to make one ICMP error at 'now_us': icmp-error-rate a second,
 * icmp-error-burst at once.  Lock-free.  With 'dry_run', only says whether
 * there is leave. */
bool xlat_stats_take_token(struct xlat_stats *, const struct xlat_settings *,
                           uint64_t now_us, bool dry_run);

#endif /* xlat-stats.h */
