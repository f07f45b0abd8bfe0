/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef NAT64_THREADS_H
#define NAT64_THREADS_H 1

/* What the files of nat64-threads-test share.
 *
 * nat64-threads-conn.c: connections, their packets, and whether what becomes
 * of a packet is right.  A connection's number is in its addresses and ports,
 * so that no packet can be taken for one of another; every byte of a result is
 * compared with what the slow twin's translation (tests/oracle) makes of the
 * same session.  Whoever sees an outside address and port in a packet claims
 * it for its owner until the end of the batch: until then, nobody else may own
 * it. */

#include <pthread.h>

#include "nat64.h"
#include "slow-nat64.h"
#include "xlat.h"
#include "zone-util.h"

#define N_THREADS 4
#define MAX_BATCH 16

#define N_PREFIXES 3

/* A configuration. */
struct variant {
    struct slow_range pool4[2];  /* 'ip' 0: none. */
    bool prefixes[N_PREFIXES];
};

/* What one test does. */
struct scenario {
    const char *options;
    bool is_44;
    bool exact;                  /* Packets from outside reach the connection
                                  * that they are of, or none. */
    bool per_flow;               /* Each connection has its own port. */
    unsigned int first, n;       /* Its variants. */
    unsigned int ms;             /* Time for each phase. */
};

extern const struct scenario *scenario;

/* Failures: libcheck's assertions are for its own thread.  The first is
 * kept. */
void note_failure(int line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool has_failed(void);
#define MUST(CONDITION, ...) \
    ((CONDITION) ? (void) 0 : note_failure(__LINE__, __VA_ARGS__))

struct outside {
    uint32_t ip;
    uint16_t port;
};

enum kind {
    OUT,
    IN,
    HAIRPIN,                     /* From inside to an outside address. */
    ERROR,                       /* From outside, about one from inside. */
    FIRST,                       /* Fragments, of UDP. */
    SECOND,
};

/* A packet on its way. */
struct sent {
    enum kind kind;
    unsigned int conn, x;        /* Connection, and number of the prefix. */
    bool is_in;                  /* FIRST, SECOND: from outside. */
    struct outside o;            /* Where those from outside, and hairpins,
                                  * go. */
    uint16_t id;                 /* Of fragments. */
    struct slow_packet in;
    uint8_t buf[1024];
};

struct thread {
    unsigned int number;         /* From 0. */
    pthread_t thread;
    struct rng rng;
    struct xlat_ctx ctx;
    struct xlat_job jobs[MAX_BATCH];
    struct sent sent[MAX_BATCH];
    uint32_t *claims[2 * MAX_BATCH];
    unsigned int n_claims;

    uint16_t n_first;            /* First fragments sent. */
    bool has_first;              /* One was sent ... */
    struct sent first;           /* ... which is this. */
    bool first_went;             /* The last one was translated ... */
    struct slow_tuple first_t;   /* ... as one of this. */

    struct xlat_counters n;      /* What became of packets. */
};

/* Chooses packet 'i' of the batch, and makes it. */
void conn_send(struct thread *, unsigned int i);

/* Checks what has become of it.  If 'only' is not null, nothing may have come
 * of other configurations. */
void conn_check(struct thread *, unsigned int i, const struct variant *only);

/* The batch is over. */
void conn_end_batch(struct thread *);

/* Check a session that a dump shows, and a packet that the zone sends. */
void conn_check_info(const struct nat64_session_info *, void *aux);
void conn_check_own(uint16_t origin, const uint8_t *ip, uint32_t len,
                    void *n_sent);

#endif /* nat64-threads.h */
