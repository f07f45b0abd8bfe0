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
    XLAT_HELD,         /* 'pk' is a fragment that the zone keeps a copy of
                        * until the first one of its packet comes: see
                        * xlat_take_held(). */
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
    uint32_t tenant;               /* Out, with XLAT_TRANSLATED by a stateful
                                    * zone: that of the host inside. */
    uint32_t held;                 /* Out, likewise: not 0 if fragments have
                                    * waited for this one: see
                                    * xlat_take_held(). */
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
    uint32_t tenant;    /* Of stateful zones: whose hosts the packets from
                         * inside come from.  Equal addresses of different
                         * tenants are different hosts. */
    uint16_t (*get_origin)(struct xlat_ctx *, const struct xlat_job *);
                        /* Of stateful zones: returns the caller's number for
                         * where the packet of a job that was given to
                         * xlat_run() came from, and packets that the zone
                         * sends later can be sent to (nat64.h, nat64_send);
                         * 0: nowhere.  Called seldom, for packets that begin
                         * something or change the state of a session, before
                         * the packet changes.  NULL: always 0. */
    bool released;      /* The packets are fragments of xlat_take_held(), which
                         * are not held once more. */
    bool dry_run;       /* Count nothing and spend no tokens: "what if". */
};

/* Largest batch that is worth the stack; larger ones are split. */
#define XLAT_BATCH 32

/* Takes the 'n' packets of 'jobs' through 'zone'.  Every packet is counted in
 * the zone's counters (see xlat-zone.h) exactly once, unless 'ctx->dry_run';
 * one that is held, when it is known what becomes of it. */
void xlat_run(const struct xlat_zone *zone, struct xlat_ctx *ctx,
              struct xlat_job *jobs, size_t n);

/* Largest fragment that is held, in bytes. */
#define XLAT_HELD_MAX 2048

/* Fragments in any order (RFC 6146, 3.4).
 *
 * Only the first fragment of a packet has ports.  A stateful zone keeps those
 * that come before it, as many as its settings say.  When 'zone' has
 * translated the packet of 'job' and 'job->held' is not 0, some have waited
 * for it: the caller takes them, one after another, and runs them through
 * 'zone' as packets behind that one, with the same context but for 'released'.
 * Those that nobody takes end as if their first one had not come.
 *
 * Copies one to the 'size' bytes at 'buf', XLAT_HELD_MAX at least: an IP
 * packet as it came, without padding, whose IPv4 header checksum need not be
 * verified (PK_IP_CSUM_OK).  Returns its bytes, or 0 if there are no more.
 * Each is taken once, whatever the number of threads. */
size_t xlat_take_held(const struct xlat_zone *zone, const struct xlat_job *job,
                      void *buf, size_t size);

/* Returns the name of 'drop' ("no-mapping"), as counters and commands use it,
 * the sentence about it, or the clause it follows ("" if none). */
const char *xlat_drop_name(enum xlat_drop drop);
const char *xlat_drop_words(enum xlat_drop drop);
const char *xlat_drop_clause(enum xlat_drop drop);

#endif /* xlat.h */
