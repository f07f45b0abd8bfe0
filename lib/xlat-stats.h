/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_STATS_H
#define XLAT_STATS_H 1

/* A zone's counters and its rate limit, shared by all of its snapshots and all
 * threads.
 *
 * A thread counts a batch in a 'struct xlat_tally' of its own and adds it
 * once, to counters of its own ('thread' as in struct xlat_ctx).  Counters
 * never fall. */

#include <string.h>

#include "xlat-settings.h"
#include "xlat-zone.h"

struct xlat_stats;

/* Makes counters of zero, with one reference.  NULL if there is no memory. */
struct xlat_stats *xlat_stats_create(void);

/* Takes one more reference, and returns 'stats'. */
struct xlat_stats *xlat_stats_ref(struct xlat_stats *stats);

/* Gives a reference up; the last one frees the counters.  NULL is allowed. */
void xlat_stats_unref(struct xlat_stats *);

/* Copies the sums of all threads' counters, each as of some moment during the
 * call. */
void xlat_stats_get(const struct xlat_stats *, struct xlat_counters *);

/* What one batch adds.  The arrays are valid only if 'n_untranslated' is not
 * 0. */
struct xlat_tally {
    uint64_t bytes;
    uint32_t packets;
    uint32_t n_untranslated;
    uint32_t translated_44;
    uint32_t translated_46;
    uint32_t translated_64;
    uint32_t translated_66;
    uint32_t fragmented;
    uint32_t passed;
    uint32_t replies;
    uint32_t replies_limited;
    uint16_t drops[XLAT_N_DROPS];
    uint16_t reply_reasons[XLAT_N_DROPS];
};

/* Makes a tally of nothing. */
static inline void
xlat_tally_begin(struct xlat_tally *tally)
{
    memset(tally, 0, offsetof(struct xlat_tally, drops));
}

/* Counts what became of one packet, whose IP version was 'from': all but that
 * there was one, and its bytes.  One that is held has not been there yet. */
void xlat_tally_job(struct xlat_tally *, const struct xlat_job *,
                    uint8_t from);

/* Adds a finished tally to the counters of 'thread' in 'stats'. */
void xlat_stats_add(struct xlat_stats *stats, unsigned int thread,
                    const struct xlat_tally *);

/* Counts 'n' packets of 'bytes' together in 'stats' that 'thread' has dropped
 * because of 'drop', and that no tally has. */
void xlat_stats_add_drops(struct xlat_stats *stats, unsigned int thread,
                          enum xlat_drop drop, uint32_t n, uint64_t bytes);

/* Adds 'n' to a counter of 'thread'.  A locked addition costs more than the
 * translation of a packet. */
static inline void
xlat_count(uint64_t *counter, uint64_t n, unsigned int thread)
{
    if (thread) {
        __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED)
                                  + n, __ATOMIC_RELAXED);
    } else {
        __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
    }
}

/* Counts a packet that a stateful zone has sent of its own accord: a probe, or
 * an ICMP error about a SYN.  Any thread. */
void xlat_stats_sent(struct xlat_stats *, bool is_probe);

/* Takes leave to make one ICMP error at 'now_us': icmp-error-rate a second,
 * icmp-error-burst at once.  Lock-free.  With 'dry_run', only says whether
 * there is leave. */
bool xlat_stats_take_token(struct xlat_stats *, const struct xlat_settings *,
                           uint64_t now_us, bool dry_run);

#endif /* xlat-stats.h */
