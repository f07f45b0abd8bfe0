/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef RANDOM_NAT64_H
#define RANDOM_NAT64_H 1

/* What the files of random-nat64 share: a random stateful zone beside its slow
 * twin, random packets for what is in them, and comparisons. */

#include "nat64.h"
#include "rnd.h"
#include "slow-nat64.h"
#include "xlat-zone.h"

#define GEN_RECENT 32
#define GEN_FIRSTS 8

/* What is chosen at random, and what that depends on. */
struct gen {
    struct rnd rnd;
    struct slow_conf conf;
    unsigned int n_tenants;
    bool big;                    /* Many ports. */
    struct slow_packet recent[GEN_RECENT];   /* Translated lately. */
    unsigned int n_recent;
    struct slow_packet firsts[GEN_FIRSTS];   /* First fragments. */
    unsigned int n_firsts;
};

struct world {
    struct gen gen;
    uint64_t seed;
    struct slow_nat64 *slow;
    struct xlat_zone *zone;
    struct xlat_ctx ctx;
    struct xlat_counters want;
    unsigned int haste;          /* Of 1000 leaps of time, long ones. */
};

#define HEADROOM 128

/* One packet of a batch. */
struct slot {
    struct slow_packet in;
    uint8_t copy[SLOW_MAX_BYTES];    /* Its bytes. */
    size_t len;
    bool released;               /* Has waited for its first fragment. */
    uint8_t buf[HEADROOM + SLOW_MAX_BYTES];
    struct xlat_job job;
    struct slow_result want;
};

/* random-nat64-gen.c. */

/* Choose a configuration, or change something of it. */
void gen_conf(struct gen *);
void gen_change_conf(struct gen *, struct slow_conf *);

/* Makes a zone of 'conf' in the place of 'prev'.  Returns NULL, or what is
 * wrong. */
char *gen_zone(const struct slow_conf *conf, uint64_t seed,
               const struct xlat_zone *prev, struct xlat_zone **);

/* Makes a packet, if it is from inside one of 'tenant', often of a session
 * that 'slow' has. */
void gen_packet(struct gen *, const struct slow_nat64 *slow, uint32_t tenant,
                struct slow_packet *);

/* Returns a tenant; a session, or NULL. */
uint32_t gen_tenant(struct gen *);
const struct slow_session *gen_session(struct gen *,
                                       const struct slow_nat64 *slow);

/* random-nat64-compare.c. */

/* What slow_create() asks: which address and port a session has got. */
bool learn(void *world, const struct slow_tuple *, uint32_t *ip,
           uint16_t *port);

/* Compare, and return NULL, or what is wrong. */
const char *compare_gauges(struct world *);
const char *compare_sessions(struct world *);
const char *compare_packet(struct world *, struct slot *);

/* Prints what became of a packet. */
void print_job(const char *who, enum xlat_verdict, enum xlat_drop);

#endif /* random-nat64.h */
