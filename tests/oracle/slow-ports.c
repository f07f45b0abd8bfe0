/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* The ports of the slow stateful translator. */

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slow-nat64.h"

/* Ports that have had a binding wait as long as this many, and one in
 * ENOUGH, are free. */
#define MANY 64
#define ENOUGH 8

enum state {
    FREE,
    HELD,                        /* By a binding. */
    LIMBO,                       /* By one that has ended and that somebody may
                                  * still read. */
    WAITS,                       /* It has had a binding lately. */
    MAYBE,                       /* Like WAITS, or free. */
    N_STATES
};

struct slow_port {
    enum state state;
    uint64_t ended;              /* Tick. */
};

/* An address that has been in pool4, with its ports by protocol. */
struct slow_address {
    uint32_t ip;
    struct slow_port ports[SLOW_N_PROTOS][65536];
};

static int
proto_index(uint8_t proto)
{
    return proto == IPPROTO_TCP ? 0 : proto == IPPROTO_UDP ? 1 : 2;
}

/* Returns the ports of protocol 'i' of 'ip'. */
static struct slow_port *
ports_of(struct slow_nat64 *n, int i, uint32_t ip)
{
    for (int k = 0; k < SLOW_MAX_ADDRESSES; k++) {
        struct slow_address *a = n->addresses[k];

        if (!a) {
            a = n->addresses[k] = slow_alloc(sizeof *a);
            a->ip = ip;
        }
        if (a->ip == ip) {
            return a->ports[i];
        }
    }
    abort();
}

static struct slow_port *
port_of(struct slow_nat64 *n, const struct slow_tuple *t)
{
    return &ports_of(n, proto_index(t->proto), t->outside)[t->outside_port];
}

/* For each port P of protocol I in pool4. */
#define FOR_EACH_PORT(P, I, N)                                              \
    for (const struct slow_range *r_ = (N)->conf.pool4;                     \
         r_ < (N)->conf.pool4 + (N)->conf.n_pool4; r_++)                    \
        for (struct slow_port *a_ = ports_of(N, I, r_->ip),                 \
             *P = a_ + r_->low; P <= a_ + r_->high; P++)

/* Counts the ports of protocol 'i' in pool4 by their states.  Returns how many
 * there are. */
static unsigned int
count_states(struct slow_nat64 *n, int i, unsigned int c[N_STATES])
{
    unsigned int all = 0;

    memset(c, 0, N_STATES * sizeof *c);
    FOR_EACH_PORT (p, i, n) {
        c[p->state]++;
        all++;
    }
    return all;
}

unsigned int
slow_count_ports(struct slow_nat64 *n, unsigned int *min, unsigned int *max)
{
    unsigned int c[N_STATES], all = 0;

    *min = *max = 0;
    for (int i = 0; i < SLOW_N_PROTOS; i++) {
        all += count_states(n, i, c);
        *min += c[HELD] + c[LIMBO] + c[WAITS];
        *max += c[HELD] + c[LIMBO] + c[WAITS] + c[MAYBE];
    }
    return all;
}

bool
slow_pool4_has(const struct slow_nat64 *n, uint32_t ip)
{
    for (unsigned int k = 0; k < n->conf.n_pool4; k++) {
        if (n->conf.pool4[k].ip == ip) {
            return true;
        }
    }
    return false;
}

int
slow_find_range(const struct slow_conf *conf, const struct slow_tuple *t)
{
    for (unsigned int k = 0; k < conf->n_pool4; k++) {
        const struct slow_range *r = &conf->pool4[k];

        if (r->ip == t->outside && t->outside_port >= r->low
            && t->outside_port <= r->high) {
            return k;
        }
    }
    return -1;
}

/* ------------------------------------------------------------------------
 * Judging a port.
 * ------------------------------------------------------------------------ */

/* Returns whether 'r' certainly has a free port of protocol 'i' that is as
 * much like 'like' as 'rank' says, or more: 0: same side of 1024 and parity,
 * 1: same side, 2: any. */
static bool
has_free(struct slow_nat64 *n, const struct slow_range *r, int i,
         uint16_t like, int rank)
{
    const struct slow_port *ports = ports_of(n, i, r->ip);

    for (unsigned int port = r->low; port <= r->high; port++) {
        if (ports[port].state == FREE
            && (rank > 1 || (port < 1024) == (like < 1024))
            && (rank > 0 || port % 2 == like % 2)) {
            return true;
        }
    }
    return false;
}

/* Returns what is wrong with the port of 't', or NULL. */
static const char *
judge(struct slow_nat64 *n, const struct slow_tuple *t)
{
    int i = proto_index(t->proto), k = slow_find_range(&n->conf, t);
    const struct slow_range *r = &n->conf.pool4[k < 0 ? 0 : k];
    bool same_side = (t->outside_port < 1024) == (t->inside_port < 1024);
    bool same_parity = t->outside_port % 2 == t->inside_port % 2;
    enum state state = k < 0 ? FREE : port_of(n, t)->state;

    if (k < 0) {
        return "is not in pool4";
    } else if (state == HELD || state == LIMBO) {
        return "belongs to another binding";
    } else if (state == WAITS) {
        return "has not waited long enough for its reuse";
    } else if (!(same_side && same_parity)
               && has_free(n, r, i, t->inside_port, 0)) {
        return "has not the inside port's range and parity";
    } else if (!same_side && has_free(n, r, i, t->inside_port, 1)) {
        return "has not the inside port's range";
    }
    return NULL;
}

enum xlat_drop
slow_take_port(struct slow_nat64 *n, struct slow_tuple *t)
{
    unsigned int c[N_STATES], min, max;
    const char *wrong;

    count_states(n, proto_index(t->proto), c);
    slow_count_ports(n, &min, &max);
    if (!c[FREE] && !c[MAYBE]) {
        return XLAT_DROP_NO_PORT;
    } else if (!n->learn(n->aux, t, &t->outside, &t->outside_port)) {
        if (c[FREE] && max < n->conf.max_sessions) {
            snprintf(n->wrong, sizeof n->wrong, "there are ports left, but no "
                     "session was made");
        }
        return max < n->conf.max_sessions ? XLAT_DROP_NO_PORT
               : XLAT_DROP_TABLE_FULL;
    }
    wrong = judge(n, t);
    if (wrong) {
        snprintf(n->wrong, sizeof n->wrong, "protocol %d, inside port %u: "
                 "port %u of %#x %s", t->proto, t->inside_port,
                 t->outside_port, t->outside, wrong);
    }
    port_of(n, t)->state = HELD;
    return SLOW_OK;
}

/* ------------------------------------------------------------------------
 * The end of a port's use.
 * ------------------------------------------------------------------------ */

void
slow_end_port(struct slow_nat64 *n, const struct slow_tuple *t)
{
    *port_of(n, t) = (struct slow_port) { LIMBO, n->tick };
}

void
slow_release_ports(struct slow_nat64 *n)
{
    for (int i = 0; i < SLOW_N_PROTOS; i++) {
        FOR_EACH_PORT (p, i, n) {
            p->state = p->state == LIMBO ? WAITS : p->state;
        }
    }
}

static bool
is_waiting(const struct slow_port *p)
{
    return p->state == WAITS || p->state == MAYBE;
}

/* Returns how many ports of protocol 'i' have waited longer than since
 * 'ended'. */
static unsigned int
n_before(struct slow_nat64 *n, int i, uint64_t ended)
{
    unsigned int n_ports = 0;

    FOR_EACH_PORT (p, i, n) {
        n_ports += is_waiting(p) && p->ended < ended;
    }
    return n_ports;
}

/* Has ports of protocol 'i' used again: those that have waited long enough,
 * and of the others the oldest ones, if too few are free. */
static void
free_ports(struct slow_nat64 *n, int i)
{
    uint64_t delay = (uint64_t) n->conf.reuse_s * 1000000 >> 16;
    unsigned int c[N_STATES], all, want, used, early;
    bool free_all;

    FOR_EACH_PORT (p, i, n) {
        if (is_waiting(p) && (i == proto_index(IPPROTO_ICMP)
                              || n->tick - p->ended > delay)) {
            p->state = FREE;
        }
    }
    all = count_states(n, i, c);
    want = all / ENOUGH > MANY ? all / ENOUGH : MANY;
    used = c[HELD] + c[LIMBO] + c[WAITS];
    free_all = used + want >= all + c[WAITS] + c[MAYBE];
    used += c[MAYBE];
    early = used + want > all ? used + want - all : 0;
    FOR_EACH_PORT (p, i, n) {
        if (free_all && is_waiting(p)) {
            p->state = FREE;
        } else if (early && p->state == WAITS
                   && n_before(n, i, p->ended) < early) {
            p->state = MAYBE;
        }
    }
}

void
slow_free_ports(struct slow_nat64 *n)
{
    for (int i = 0; i < SLOW_N_PROTOS; i++) {
        free_ports(n, i);
    }
}

void
slow_change_pool(struct slow_nat64 *n, const struct slow_conf *conf)
{
    /* What is not there any more need not wait. */
    for (int i = 0; i < SLOW_N_PROTOS; i++) {
        FOR_EACH_PORT (p, i, n) {
            struct slow_tuple t = { .outside = r_->ip,
                                    .outside_port = p - a_ };
            int k = slow_find_range(conf, &t);

            if (k < 0 || memcmp(&conf->pool4[k], r_, sizeof *r_)) {
                p->state = FREE;
            }
        }
    }
}

void
slow_destroy_ports(struct slow_nat64 *n)
{
    for (int k = 0; k < SLOW_MAX_ADDRESSES; k++) {
        free(n->addresses[k]);
    }
}
