/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_H
#define XLAT_H 1

/* Translation of packets through a zone.
 *
 * A zone (xlat-zone.h) is an immutable configuration.  xlat_run() takes a
 * batch of packets through one zone, in order, in place, and says for each
 * what became of it.  It does no I/O, allocates nothing, takes no lock and
 * reads no clock.
 *
 * Any number of threads may run packets through one zone, each with a
 * 'struct xlat_ctx' of its own. */

#include <stddef.h>
#include <stdint.h>

#include "pk.h"

struct xlat_zone;

enum xlat_drop {
#define XLAT_DROP(SYMBOL, NAME, WORDS, CLAUSE) XLAT_DROP_##SYMBOL,
#include "xlat-drop.def"
#undef XLAT_DROP
    XLAT_N_DROPS
};

enum xlat_verdict {
    XLAT_TRANSLATED,   /* 'pk' is the result. */
    XLAT_REPLY,        /* 'pk' is an ICMP error, to be sent back to where the
                        * packet came from.  'drop' says what it is about. */
    XLAT_PASSED,       /* 'pk' is unchanged, and goes on (miss=pass). */
    XLAT_DROPPED,      /* 'pk' is undefined; 'drop' says why. */
};

/* Direction, for zones in which addresses alone leave it open (ILA). */
enum xlat_dir {
    XLAT_DIR_AUTO,
    XLAT_DIR_TO_LOCATOR,
    XLAT_DIR_TO_IDENTIFIER,
};

/* One packet's way through a zone. */
struct xlat_job {
    struct pk pk;                  /* In and out. */
    enum xlat_verdict verdict;     /* Out. */
    enum xlat_drop drop;           /* Out, with XLAT_DROPPED, XLAT_REPLY. */
};

/* Threads that have counters of their own. */
#define XLAT_MAX_THREADS 32

/* What a thread brings along. */
struct xlat_ctx {
    uint64_t now_us;    /* Time, monotonic, in microseconds. */
    uint64_t rng;       /* State of the pseudorandom generator, not 0. */
    unsigned int thread; /* A number below XLAT_MAX_THREADS that no other
                         * thread has, so that counting needs no locked
                         * operation; or 0, which any number may have. */
    enum xlat_dir dir;
    bool dry_run;       /* Count nothing and spend no tokens: "what if". */
};

/* Largest batch that is worth the stack; larger ones are split. */
#define XLAT_BATCH 32

/* Takes the 'n' packets of 'jobs' through 'zone'.  Every packet is counted in
 * the zone's counters (see xlat-zone.h) exactly once, unless
 * 'ctx->dry_run'. */
void xlat_run(const struct xlat_zone *zone, struct xlat_ctx *ctx,
              struct xlat_job *jobs, size_t n);

/* Returns the name of 'drop' ("no-mapping"), as counters and commands use it,
 * the sentence about it, or the clause it follows ("" if none). */
const char *xlat_drop_name(enum xlat_drop drop);
const char *xlat_drop_words(enum xlat_drop drop);
const char *xlat_drop_clause(enum xlat_drop drop);

#endif /* xlat.h */
