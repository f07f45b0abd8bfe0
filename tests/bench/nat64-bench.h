/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef NAT64_BENCH_H
#define NAT64_BENCH_H 1

/* What the benches of stateful zones have in common: a zone full of UDP
 * sessions, and threads that send packets of them, in batches.
 *
 * Session I is that of host I / 64 from port 1024 + I % 64 with port 53 of
 * 9.1.2.3.  Hosts are 2001:db8:1::N, or of kind nat44 10.0.0.0 + N.
 *
 * Only the time that xlat_run() takes counts, not that of making packets.
 * Their checksums are right only where they are compared (..._check()): an
 * update costs the same whatever the sum is. */

#include <stdbool.h>
#include <stdint.h>

#include "pk.h"
#include "xlat.h"

#define NAT64_BENCH_HEADROOM 64
#define NAT64_BENCH_FRAME 192

struct nat64_bench_conf {
    const char *kind;            /* "nat64" or "nat44". */
    const char *pool6;           /* Of nat64. */
    const char *pool4;           /* One or more, with commas between. */
    uint32_t max;                /* Sessions. */
    const char *const *options;  /* Keys and values in turn, then NULL. */
};

/* What a session has outside. */
struct nat64_bench_outside {
    pk_be32 ip;
    pk_be16 port;
};

struct nat64_bench {
    struct xlat_zone *zone;
    struct nat64_bench_outside *outsides;    /* By session. */
    bool inside4;
    uint32_t max;
    uint8_t template4[64];
    uint8_t template6[128];
};

/* Makes a zone, which takes memory for all its sessions.  Exits if it
 * cannot. */
void nat64_bench_init(struct nat64_bench *, const struct nat64_bench_conf *);
void nat64_bench_destroy(struct nat64_bench *);

/* One that runs packets through the zone of 'bench'. */
struct nat64_bench_thread {
    const struct nat64_bench *bench;
    struct xlat_ctx ctx;
    uint64_t random;
    uint32_t first, n;           /* Sessions whose packets it sends. */
    uint32_t numbers[XLAT_BATCH];    /* Those of the latest batch. */
    struct xlat_job jobs[XLAT_BATCH];
    uint8_t frames[XLAT_BATCH][NAT64_BENCH_FRAME];
};

/* 'number', from 1, is its own. */
void nat64_bench_thread_init(struct nat64_bench_thread *,
                             const struct nat64_bench *, unsigned int number);

/* Has the first packets of the 'n' sessions from 'first' on make them, and
 * notes what they have outside; 't' sends packets of those from now on.
 * Returns the nanoseconds.  Exits if one is not made. */
double nat64_bench_make(struct nat64_bench_thread *t, uint32_t first,
                        uint32_t n);

/* Runs a batch of packets of random sessions, from outside if 'in'.  Returns
 * the nanoseconds. */
double nat64_bench_batch(struct nat64_bench_thread *, bool in);

/* For struct pairs_kernel: runs 'n' packets, a batch from inside, the next one
 * from outside, in turn. */
double nat64_bench_run(void *thread, size_t n);

/* Runs many packets both ways and compares: addresses and ports with those of
 * their sessions, checksums with new ones.  Exits if one is wrong. */
void nat64_bench_check(struct nat64_bench_thread *);

/* Ends the 'n' sessions from 'first' on, and has 0.2 s pass, so that their
 * ports are free again if "port-reuse-delay" is 0. */
void nat64_bench_end(struct nat64_bench_thread *, uint32_t first, uint32_t n);

/* For nat64.h, where nobody runs packets at the same time. */
void nat64_bench_call_now(void (*cb)(void *aux), void *aux);

/* Puts the inside address of session 'i' at 'ip', and returns its inside
 * port. */
void nat64_bench_put_inside6(uint8_t *ip, uint32_t i);
void nat64_bench_put_inside4(uint8_t *ip, uint32_t i);
pk_be16 nat64_bench_inside_port(uint32_t i);

/* Returns the next of the numbers below 'n' that '*random' yields. */
static inline uint32_t
nat64_bench_random(uint64_t *random, uint32_t n)
{
    *random = *random * UINT64_C(6364136223846793005)
              + UINT64_C(1442695040888963407);
    return (*random >> 32) * n >> 32;
}

/* Prints both and exits. */
_Noreturn void nat64_bench_fail(const char *what, const char *error);

#endif /* nat64-bench.h */
