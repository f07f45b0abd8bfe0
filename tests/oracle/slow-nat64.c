/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include "slow-nat64.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle-addr.h"
#include "oracle-packet.h"

/* Ports that have had a binding wait as long as this many, and one in
 * ENOUGH, are free. */
#define MANY 64
#define ENOUGH 8

/* A translator that remembers fragments in buckets may forget one for this
 * many others. */
#define FRAG_BUCKET 4

/* The end of a binding, as long as somebody may read it. */
struct slow_limbo {
    struct slow_limbo *next;
    struct slow_port *port;
    uint64_t ended;
};

/* A fragmented packet whose first fragment has come by. */
struct slow_frag {
    struct slow_frag *next;
    struct slow_ip ip;
    uint64_t tick;
};

uint32_t
slow_ip_len(const struct slow_ip *ip)
{
    return (ip->family == 4 ? 20 : ip->frag ? 48 : 40) + ip->l4_len;
}

static void *
xzalloc(size_t size)
{
    void *p = calloc(1, size);

    if (!p) {
        abort();
    }
    return p;
}

/* ------------------------------------------------------------------------
 * Places and ports.
 * ------------------------------------------------------------------------ */

static int
proto_index(uint8_t proto)
{
    return proto == IPPROTO_TCP ? 0 : proto == IPPROTO_UDP ? 1 : 2;
}

static unsigned int
n_in_range(const struct slow_range *range)
{
    return range->high - range->low + 1;
}

static bool
overlap(const struct slow_range *a, const struct slow_range *b)
{
    return a->ip == b->ip && a->low <= b->high && b->low <= a->high;
}

static bool
same_range(const struct slow_range *a, const struct slow_range *b)
{
    return a->ip == b->ip && a->low == b->low && a->high == b->high;
}

/* Lets 'p' have its ports, unless another place has some of them. */
static void
fill_place(struct slow_nat64 *n, struct slow_place *p)
{
    p->empty = false;
    for (int i = 0; i < SLOW_MAX_PLACES; i++) {
        const struct slow_place *other = n->places[i];

        if (other && other != p && overlap(&other->range, &p->range)) {
            p->empty = true;
        }
    }
}

static void
free_place(struct slow_place *p)
{
    for (int i = 0; i < SLOW_N_PROTOS; i++) {
        free(p->ports[i]);
    }
    free(p);
}

/* Opens the place with 'range', a new one if there is none. */
static void
open_place(struct slow_nat64 *n, const struct slow_range *range)
{
    struct slow_place *p;
    int unused = -1;

    for (int i = 0; i < SLOW_MAX_PLACES; i++) {
        p = n->places[i];
        if (p && same_range(&p->range, range)) {
            p->open = true;
            return;
        }
        unused = p ? unused : i;
    }
    if (unused < 0) {
        abort();
    }
    p = xzalloc(sizeof *p);
    p->range = *range;
    p->open = true;
    for (int i = 0; i < SLOW_N_PROTOS; i++) {
        p->ports[i] = xzalloc(n_in_range(range) * sizeof *p->ports[i]);
    }
    fill_place(n, p);
    n->places[unused] = p;
}

/* Returns how many ports of protocol 'i' of 'p' are in 'state'. */
static unsigned int
n_in_state(const struct slow_place *p, int i, enum slow_port_state state)
{
    unsigned int n_ports = 0;

    for (unsigned int k = 0; k < n_in_range(&p->range); k++) {
        n_ports += p->ports[i][k].state == state;
    }
    return n_ports;
}

/* Returns how many ports of protocol 'i' are in use or wait, of all places or
 * of those in the configuration. */
static unsigned int
n_in_use(const struct slow_nat64 *n, int i, bool all)
{
    unsigned int used = n->left[i];

    for (int k = 0; k < SLOW_MAX_PLACES; k++) {
        const struct slow_place *p = n->places[k];

        if (p && (all || p->open)) {
            used += (n_in_state(p, i, SLOW_HELD)
                     + n_in_state(p, i, SLOW_WAITS));
        }
    }
    return used;
}

static unsigned int
n_of_proto(const struct slow_nat64 *n)
{
    unsigned int n_ports = 0;

    for (int k = 0; k < SLOW_MAX_PLACES; k++) {
        const struct slow_place *p = n->places[k];

        n_ports += p && p->open && !p->empty ? n_in_range(&p->range) : 0;
    }
    return n_ports;
}

unsigned int
slow_n_ports_in_use(const struct slow_nat64 *n)
{
    unsigned int used = 0;

    for (int i = 0; i < SLOW_N_PROTOS; i++) {
        used += n_in_use(n, i, false);
    }
    return used;
}

unsigned int
slow_n_ports(const struct slow_nat64 *n)
{
    return SLOW_N_PROTOS * n_of_proto(n);
}

bool
slow_pool4_has(const struct slow_nat64 *n, uint32_t ip)
{
    for (unsigned int i = 0; i < n->conf.n_pool4; i++) {
        if (n->conf.pool4[i].ip == ip) {
            return true;
        }
    }
    return false;
}

/* Returns whether 'p' certainly has a free port of protocol 'i' that is as
 * much like 'like' as 'rank' says, or more: 0: same side of 1024 and parity,
 * 1: same side, 2: any. */
static bool
has_free(const struct slow_place *p, int i, uint16_t like, int rank)
{
    for (unsigned int k = 0; !p->empty && k < n_in_range(&p->range); k++) {
        uint16_t port = p->range.low + k;

        if (p->ports[i][k].state == SLOW_FREE
            && (rank > 1 || (port < 1024) == (like < 1024))
            && (rank > 0 || port % 2 == like % 2)) {
            return true;
        }
    }
    return false;
}

/* Returns whether a port of protocol 'i' is free somewhere. */
static bool
any_free(const struct slow_nat64 *n, int i)
{
    for (int k = 0; k < SLOW_MAX_PLACES; k++) {
        const struct slow_place *p = n->places[k];

        /* Of those that are so or so, one at least is free. */
        if (p && p->open && !p->empty
            && (has_free(p, i, 0, 2) || n_in_state(p, i, SLOW_MAYBE))) {
            return true;
        }
    }
    return false;
}

/* Sets the ports of protocol 'i' that are in state 'from' and, unless 'ended'
 * is UINT64_MAX, ended in that tick. */
static void
set_ports(struct slow_nat64 *n, int i, enum slow_port_state from,
          uint64_t ended, enum slow_port_state to)
{
    for (int k = 0; k < SLOW_MAX_PLACES; k++) {
        struct slow_place *p = n->places[k];

        for (unsigned int j = 0; p && j < n_in_range(&p->range); j++) {
            struct slow_port *port = &p->ports[i][j];

            if (port->state == from
                && (ended == UINT64_MAX || port->ended == ended)) {
                port->state = to;
            }
        }
    }
}

/* Notes that 'port' of protocol 'i', which was free or may have been, is in
 * use. */
static void
hold_port(struct slow_nat64 *n, int i, struct slow_port *port)
{
    unsigned int maybe = 0;

    port->state = SLOW_HELD;
    for (int k = 0; k < SLOW_MAX_PLACES; k++) {
        maybe += n->places[k] ? n_in_state(n->places[k], i, SLOW_MAYBE) : 0;
    }
    if (maybe == n->left[i]) {
        set_ports(n, i, SLOW_MAYBE, UINT64_MAX, SLOW_WAITS);
        n->left[i] = 0;
    }
}

/* Returns the tick of the end of what has waited longest, with '*waiting' how
 * many of that tick wait, or UINT64_MAX. */
static uint64_t
longest_waiting(const struct slow_nat64 *n, int i, unsigned int *waiting)
{
    uint64_t oldest = UINT64_MAX;

    *waiting = 0;
    for (int k = 0; k < SLOW_MAX_PLACES; k++) {
        const struct slow_place *p = n->places[k];

        for (unsigned int j = 0; p && j < n_in_range(&p->range); j++) {
            const struct slow_port *port = &p->ports[i][j];

            if (port->state != SLOW_WAITS && port->state != SLOW_MAYBE) {
                continue;
            }
            if (port->ended < oldest) {
                oldest = port->ended;
                *waiting = 0;
            }
            *waiting += (port->state == SLOW_WAITS && port->ended == oldest);
        }
    }
    /* Nothing has waited longer than those that are so or so. */
    *waiting += n->left[i];
    return oldest;
}

/* Ports of places that are no longer in the configuration need not wait. */
static void
free_closed_ports(struct slow_nat64 *n, int i)
{
    for (int k = 0; k < SLOW_MAX_PLACES; k++) {
        struct slow_place *p = n->places[k];

        for (unsigned int j = 0; p && !p->open && j < n_in_range(&p->range);
             j++) {
            if (p->ports[i][j].state == SLOW_WAITS) {
                p->ports[i][j].state = SLOW_FREE;
            }
        }
    }
}

/* Has ports of protocol 'i' used again: those that have waited long enough or
 * do not need to, and, of the others, the oldest ones if too few are free. */
static void
free_ports(struct slow_nat64 *n, int i)
{
    uint64_t delay = (uint64_t) n->conf.reuse_s * 1000000 >> 16;
    unsigned int all = n_of_proto(n);
    unsigned int want = all / ENOUGH > MANY ? all / ENOUGH : MANY;
    unsigned int used = n_in_use(n, i, false);
    unsigned int early = used + want > all ? used + want - all : 0;
    unsigned int waiting;
    uint64_t ended;

    free_closed_ports(n, i);
    while ((ended = longest_waiting(n, i, &waiting)) != UINT64_MAX) {
        if (n->tick - ended > delay || i == proto_index(IPPROTO_ICMP)
            || early >= waiting) {
            set_ports(n, i, SLOW_WAITS, ended, SLOW_FREE);
            set_ports(n, i, SLOW_MAYBE, ended, SLOW_FREE);
            n->left[i] = 0;
            early -= early < waiting ? early : waiting;
        } else {
            if (early) {
                set_ports(n, i, SLOW_WAITS, ended, SLOW_MAYBE);
                n->left[i] = waiting - early;
            }
            break;
        }
    }
}

/* Gives up places that are no longer in the configuration nor in use, and
 * gives others their ports. */
static void
clean_places(struct slow_nat64 *n)
{
    for (int k = 0; k < SLOW_MAX_PLACES; k++) {
        struct slow_place *p = n->places[k];
        unsigned int held = 0;

        for (int i = 0; p && i < SLOW_N_PROTOS; i++) {
            held += n_in_state(p, i, SLOW_HELD);
        }
        if (p && !p->open && !held) {
            free_place(p);
            n->places[k] = NULL;
        }
    }
    for (int k = 0; k < SLOW_MAX_PLACES; k++) {
        if (n->places[k] && n->places[k]->empty) {
            fill_place(n, n->places[k]);
        }
    }
}

/* ------------------------------------------------------------------------
 * Judging a port.
 * ------------------------------------------------------------------------ */

/* Notes that the host 'addr' has got a port of protocol 'i' of place 'k'.
 * Returns false if it has had another place, which has ports left. */
static bool
judge_host(struct slow_nat64 *n, const uint8_t addr[16], int i, int k)
{
    uint32_t may = 1u << k;
    unsigned int h = 0;

    for (int j = 0; j < SLOW_MAX_PLACES; j++) {
        const struct slow_place *p = n->places[j];

        if (p && p->open && !has_free(p, i, 0, 2)) {
            may |= 1u << j;
        }
    }
    while (h < n->n_hosts && memcmp(n->hosts[h].addr, addr, 16)) {
        h++;
    }
    if (h == SLOW_MAX_HOSTS) {
        abort();
    } else if (h == n->n_hosts) {
        memcpy(n->hosts[h].addr, addr, 16);
        n->hosts[h].places = UINT32_MAX;
        n->n_hosts++;
    }
    n->hosts[h].places &= may;
    return n->hosts[h].places;
}

/* Gives 'b', of the host and port in 't', the port 'port' of 'ip', if it may
 * have it. */
static void
judge_port(struct slow_nat64 *n, const struct slow_tuple *t, uint32_t ip,
           uint16_t port, struct slow_binding *b)
{
    int i = proto_index(t->proto);
    const char *wrong = "is not in pool4";

    for (int k = 0; k < SLOW_MAX_PLACES; k++) {
        struct slow_place *p = n->places[k];
        bool same_side = (port < 1024) == (t->inside_port < 1024);
        bool same_parity = port % 2 == t->inside_port % 2;
        struct slow_port *slot;

        if (!p || !p->open || p->empty || p->range.ip != ip
            || port < p->range.low || port > p->range.high) {
            continue;
        }
        slot = &p->ports[i][port - p->range.low];
        wrong = NULL;
        if (slot->state == SLOW_HELD) {
            wrong = "belongs to another binding";
        } else if (slot->state == SLOW_WAITS) {
            wrong = "has not waited long enough for its reuse";
        } else if (!(same_side && same_parity)
                   && has_free(p, i, t->inside_port, 0)) {
            wrong = "has not the inside port's range and parity";
        } else if (!same_side && has_free(p, i, t->inside_port, 1)) {
            wrong = "has not the inside port's range";
        } else if (!judge_host(n, t->inside, i, k)) {
            wrong = "is of another address than the host has, which has "
                    "ports left";
        }
        b->place = p;
        b->outside_port = port;
        hold_port(n, i, slot);
        break;
    }
    if (wrong) {
        snprintf(n->wrong, sizeof n->wrong,
                 "protocol %d, inside port %u: port %u of %u.%u.%u.%u %s",
                 t->proto, t->inside_port, port, ip >> 24, ip >> 16 & 255,
                 ip >> 8 & 255, ip & 255, wrong);
    }
}

/* ------------------------------------------------------------------------
 * Sessions.
 * ------------------------------------------------------------------------ */

const char *
slow_state_name(enum slow_state state)
{
    switch (state) {
    case SLOW_V4_INIT: return "V4 INIT";
    case SLOW_V6_INIT: return "V6 INIT";
    case SLOW_ESTABLISHED: return "ESTABLISHED";
    case SLOW_V4_FIN: return "V4 FIN RCV";
    case SLOW_V6_FIN: return "V6 FIN RCV";
    case SLOW_BOTH_FIN: return "V4 FIN + V6 FIN RCV";
    case SLOW_TRANS: return "TRANS";
    case SLOW_STATELESS:
    default: return "";
    }
}

/* RFC 6146, 4: how long a session lives, in ticks. */
static uint64_t
lifetime(const struct slow_nat64 *n, const struct slow_session *s)
{
    const struct slow_conf *conf = &n->conf;
    uint64_t seconds;

    switch (s->state) {
    case SLOW_V4_INIT:
        seconds = conf->syn_s;
        break;
    case SLOW_V6_INIT:
    case SLOW_BOTH_FIN:
    case SLOW_TRANS:
        seconds = conf->transitory_s;
        break;
    case SLOW_ESTABLISHED:
    case SLOW_V4_FIN:
    case SLOW_V6_FIN:
        seconds = conf->established_s;
        break;
    case SLOW_STATELESS:
    default:
        seconds = (s->b->proto == IPPROTO_UDP ? conf->udp_s : conf->icmp_s);
        break;
    }
    return (seconds * 1000000 >> 16) + 1;
}

bool
slow_is_alive(const struct slow_nat64 *n, const struct slow_session *s)
{
    return n->tick - s->last <= lifetime(n, s);
}

uint64_t
slow_ticks_left(const struct slow_nat64 *n, const struct slow_session *s)
{
    return s->last + lifetime(n, s) - n->tick;
}

/* RFC 6146, 3.5.2.2: what a TCP packet with 'flags' does to 's'. */
static void
tcp_packet(const struct slow_nat64 *n, struct slow_session *s, bool v6,
           uint8_t flags)
{
    bool rst = flags & 4;
    bool syn = !rst && flags & 2;
    bool fin = !rst && !syn && flags & 1;
    bool refresh = false;

    switch (s->state) {
    case SLOW_V4_INIT:
        if (syn && v6) {
            s->state = SLOW_ESTABLISHED;
            refresh = true;
        }
        break;
    case SLOW_V6_INIT:
        if (syn) {
            s->state = v6 ? SLOW_V6_INIT : SLOW_ESTABLISHED;
            refresh = true;
        }
        break;
    case SLOW_ESTABLISHED:
        if (fin) {
            s->state = v6 ? SLOW_V6_FIN : SLOW_V4_FIN;
        } else if (rst) {
            s->state = SLOW_TRANS;
        }
        refresh = true;
        break;
    case SLOW_V4_FIN:
        if (fin && v6) {
            s->state = SLOW_BOTH_FIN;
        }
        refresh = true;
        break;
    case SLOW_V6_FIN:
        if (fin && !v6) {
            s->state = SLOW_BOTH_FIN;
        }
        refresh = true;
        break;
    case SLOW_BOTH_FIN:
        if (syn) {
            s->state = v6 ? SLOW_V6_INIT : SLOW_V4_INIT;
            refresh = true;
        }
        break;
    case SLOW_TRANS:
        if (!rst) {
            s->state = SLOW_ESTABLISHED;
            refresh = true;
        }
        break;
    case SLOW_STATELESS:
        break;
    }
    if (refresh) {
        s->last = n->tick;
    }
}

/* Does to 's' what 'ip', a packet from inside if 'v6', does. */
static void
touch(const struct slow_nat64 *n, struct slow_session *s, bool v6,
      const struct slow_ip *ip)
{
    if (s->state == SLOW_STATELESS) {
        s->last = n->tick;
    } else if (!ip->ofs) {
        tcp_packet(n, s, v6, ip->flags);
    }
    s->packets[!v6]++;
    s->bytes[!v6] += slow_ip_len(ip);
}

static bool
same_prefix(const struct orc_prefix6 *a, const struct orc_prefix6 *b)
{
    return a->len == b->len && !memcmp(a->addr, b->addr, 16);
}

static bool
is_inside(const struct slow_binding *b, const struct slow_tuple *t)
{
    return (b->proto == t->proto && b->inside_port == t->inside_port
            && !memcmp(b->inside, t->inside, 16)
            && same_prefix(&b->prefix, &t->prefix));
}

static bool
is_outside(const struct slow_binding *b, const struct slow_tuple *t)
{
    return (b->proto == t->proto && b->outside_port == t->outside_port
            && b->place->range.ip == t->outside);
}

static struct slow_session *
find_session(struct slow_nat64 *n, bool v6, const struct slow_tuple *t)
{
    for (struct slow_session *s = n->sessions; s; s = s->next) {
        if (s->remote == t->remote && s->remote_port == t->remote_port
            && (v6 ? is_inside(s->b, t) : is_outside(s->b, t))) {
            return s;
        }
    }
    return NULL;
}

static struct slow_binding *
find_binding(struct slow_nat64 *n, bool v6, const struct slow_tuple *t)
{
    for (struct slow_binding *b = n->bindings; b; b = b->next) {
        if (!b->is_private && (v6 ? is_inside(b, t) : is_outside(b, t))) {
            return b;
        }
    }
    return NULL;
}

/* Returns whether a session of 'b' has time left; with 'remote', only one with
 * that host counts. */
static bool
has_live_session(const struct slow_nat64 *n, const struct slow_binding *b,
                 const uint32_t *remote)
{
    for (struct slow_session *s = n->sessions; s; s = s->next) {
        if (s->b == b && slow_is_alive(n, s)
            && (!remote || s->remote == *remote)) {
            return true;
        }
    }
    return false;
}

static enum xlat_drop
make_binding(struct slow_nat64 *n, const struct slow_tuple *t,
             struct slow_binding **bp)
{
    unsigned int taken = 0;
    uint16_t port;
    uint32_t ip;

    *bp = NULL;
    if (!any_free(n, proto_index(t->proto))) {
        return XLAT_DROP_NO_PORT;
    }
    for (int i = 0; i < SLOW_N_PROTOS; i++) {
        taken += n_in_use(n, i, true);
    }
    if (!n->learn(n->aux, t, &ip, &port)) {
        if (taken < n->conf.max_sessions) {
            snprintf(n->wrong, sizeof n->wrong, "there are ports left, but no "
                     "session was made");
        }
        return XLAT_DROP_TABLE_FULL;
    }
    *bp = xzalloc(sizeof **bp);
    (*bp)->proto = t->proto;
    (*bp)->is_private = n->conf.per_flow;
    memcpy((*bp)->inside, t->inside, 16);
    (*bp)->inside_port = t->inside_port;
    (*bp)->prefix = t->prefix;
    judge_port(n, t, ip, port, *bp);
    if (!(*bp)->place) {
        free(*bp);
        *bp = NULL;
        return XLAT_DROP_NO_PORT;
    }
    (*bp)->next = n->bindings;
    n->bindings = *bp;
    n->n_bindings++;
    return SLOW_OK;
}

/* Begins the session 's' (RFC 6146, 3.5.2.2: CLOSED), or lets it live again,
 * by a packet from inside if 'v6'. */
static void
begin(const struct slow_nat64 *n, struct slow_session *s, bool v6)
{
    s->state = (s->b->proto != IPPROTO_TCP ? SLOW_STATELESS
                : v6 ? SLOW_V6_INIT : SLOW_V4_INIT);
    s->last = n->tick;
}

static struct slow_session *
make_session(struct slow_nat64 *n, bool v6, const struct slow_tuple *t,
             struct slow_binding *b)
{
    struct slow_session *s = xzalloc(sizeof *s);

    s->b = b;
    s->remote = t->remote;
    s->remote_port = t->remote_port;
    s->next = n->sessions;
    n->sessions = s;
    n->n_sessions++;
    begin(n, s, v6);
    return s;
}

/* Makes the session of a packet from inside. */
static enum xlat_drop
make_out(struct slow_nat64 *n, const struct slow_tuple *t,
         struct slow_session **sp)
{
    struct slow_binding *b = NULL;
    enum xlat_drop drop;

    if (n->n_sessions + n->n_limbo_sessions >= n->conf.max_sessions) {
        return XLAT_DROP_TABLE_FULL;
    }
    if (!n->conf.per_flow) {
        b = find_binding(n, true, t);
    }
    if (!b) {
        drop = make_binding(n, t, &b);
        if (drop != SLOW_OK) {
            return drop;
        }
    }
    *sp = make_session(n, true, t, b);
    return SLOW_OK;
}

/* Makes the session of a packet from outside, or lets '*sp' live again. */
static enum xlat_drop
make_in(struct slow_nat64 *n, const struct slow_tuple *t,
        struct slow_session **sp)
{
    struct slow_binding *b = find_binding(n, false, t);

    if (!b || !has_live_session(n, b, NULL)) {
        return XLAT_DROP_NO_BINDING;
    } else if (n->conf.address_dependent
               && !has_live_session(n, b, &t->remote)) {
        return XLAT_DROP_FILTERED;
    } else if (*sp) {
        begin(n, *sp, false);
    } else if (n->n_sessions + n->n_limbo_sessions >= n->conf.max_sessions) {
        return XLAT_DROP_TABLE_FULL;
    } else {
        *sp = make_session(n, false, t, b);
    }
    return SLOW_OK;
}

/* Sets what the binding 'b' says in 't'. */
static void
set_tuple(struct slow_tuple *t, const struct slow_binding *b)
{
    memcpy(t->inside, b->inside, 16);
    t->inside_port = b->inside_port;
    t->prefix = b->prefix;
    t->outside = b->place->range.ip;
    t->outside_port = b->outside_port;
}

/* A TCP packet without a session that begins none. */
static enum xlat_drop
by_binding(struct slow_nat64 *n, bool v6, struct slow_tuple *t)
{
    struct slow_binding *b = find_binding(n, v6, t);

    if (!b) {
        return v6 ? XLAT_DROP_NO_SESSION : XLAT_DROP_NO_BINDING;
    } else if (!v6 && !has_live_session(n, b, NULL)) {
        return XLAT_DROP_NO_BINDING;
    } else if (!v6 && n->conf.address_dependent
               && !has_live_session(n, b, &t->remote)) {
        return XLAT_DROP_FILTERED;
    }
    set_tuple(t, b);
    return SLOW_OK;
}

static enum xlat_drop
find_or_make(struct slow_nat64 *n, bool v6, const struct slow_ip *ip,
             struct slow_tuple *t, struct slow_session **sp)
{
    struct slow_session *s = find_session(n, v6, t);
    enum xlat_drop drop = SLOW_OK;

    *sp = NULL;
    if (!s || !slow_is_alive(n, s)) {
        if (ip->proto == IPPROTO_TCP && (ip->flags & 6) != 2) {
            return by_binding(n, v6, t);
        } else if (s && v6) {
            begin(n, s, true);
        } else {
            drop = v6 ? make_out(n, t, &s) : make_in(n, t, &s);
        }
    }
    if (drop == SLOW_OK) {
        *sp = s;
        set_tuple(t, s->b);
    }
    return drop;
}

/* ------------------------------------------------------------------------
 * Fragments.
 * ------------------------------------------------------------------------ */

static struct slow_frag *
find_frag(const struct slow_nat64 *n, const struct slow_ip *ip)
{
    for (struct slow_frag *f = n->frags; f; f = f->next) {
        if (f->ip.family == ip->family && f->ip.proto == ip->proto
            && f->ip.id == ip->id && !memcmp(f->ip.src, ip->src, 16)
            && !memcmp(f->ip.dst, ip->dst, 16)) {
            return f;
        }
    }
    return NULL;
}

/* Remembers the first fragment 'ip'; forgets others that are too old in any
 * case. */
static void
put_frag(struct slow_nat64 *n, const struct slow_ip *ip)
{
    struct slow_frag *f = find_frag(n, ip);
    struct slow_frag **fp = &n->frags;

    if (!f) {
        f = xzalloc(sizeof *f);
        f->next = n->frags;
        n->frags = f;
    }
    f->ip = *ip;
    f->tick = n->tick;
    while (*fp) {
        f = *fp;
        if (n->tick - f->tick > UINT64_C(61000000) >> 16) {
            *fp = f->next;
            free(f);
        } else {
            fp = &f->next;
        }
    }
}

/* Returns whether the translator under test, which has dropped 'ip' for
 * 'said', may and seems to have forgotten it. */
static bool
is_forgotten(struct slow_nat64 *n, const struct slow_ip *ip,
             enum xlat_drop said)
{
    const struct slow_frag *f = find_frag(n, ip);
    int since = 0;

    for (struct slow_frag *g = n->frags; g; g = g->next) {
        since += g != f && g->tick >= f->tick;
    }
    n->n_remembered++;
    if (said != XLAT_DROP_FRAGMENT || since < FRAG_BUCKET) {
        return false;
    }
    n->n_forgotten++;
    return true;
}

/* ------------------------------------------------------------------------
 * Packets.
 * ------------------------------------------------------------------------ */

static bool
is_unroutable4(uint32_t ip)
{
    return (ip >> 24 == 0 || ip >> 24 == 127 || ip >> 28 == 14
            || ip == UINT32_MAX);
}

static bool
is_unroutable6(const uint8_t ip[16])
{
    static const uint8_t loopback[16] = { [15] = 1 };
    static const uint8_t none[16];

    return (ip[0] == 0xff || (ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80)
            || !memcmp(ip, loopback, 16) || !memcmp(ip, none, 16));
}

/* Returns the pool6 prefix that has 'ip', or NULL. */
static const struct orc_prefix6 *
find_prefix(const struct slow_nat64 *n, const uint8_t ip[16])
{
    for (unsigned int i = 0; i < n->conf.n_pool6; i++) {
        if (orc_in6(&n->conf.pool6[i], ip)) {
            return &n->conf.pool6[i];
        }
    }
    return NULL;
}

static bool
is_icmp(const struct slow_ip *ip)
{
    return ip->proto == (ip->family == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6);
}

static bool
is_echo(const struct slow_ip *ip)
{
    return (ip->family == 4 ? ip->type == 8 || ip->type == 0
            : ip->type == 128 || ip->type == 129);
}

/* Has sessions. */
static bool
is_known_proto(const struct slow_ip *ip)
{
    return (ip->proto == IPPROTO_TCP || ip->proto == IPPROTO_UDP
            || is_icmp(ip));
}

/* Sets protocol and ports in 't'.  'v6': 'ip' goes from inside to outside. */
static void
read_ports(const struct slow_ip *ip, bool v6, struct slow_tuple *t)
{
    t->proto = is_icmp(ip) ? IPPROTO_ICMP : ip->proto;
    if (is_icmp(ip)) {
        t->inside_port = t->outside_port = ip->sport;
        t->remote_port = 0;
    } else if (v6) {
        t->inside_port = ip->sport;
        t->remote_port = ip->dport;
    } else {
        t->remote_port = ip->sport;
        t->outside_port = ip->dport;
    }
}

/* Returns the session of 'ip', a fragment that is not the first one, from
 * inside if 'v6', of which 't' tells the addresses, or NULL. */
static struct slow_session *
find_by_frag(struct slow_nat64 *n, bool v6, const struct slow_ip *ip,
             struct slow_tuple *t)
{
    uint64_t max_age = ((uint64_t) n->conf.fragment_s * 1000000 >> 16) + 1;
    const struct slow_frag *f = find_frag(n, ip);
    struct slow_session *s;

    if (!f || n->tick - f->tick > max_age) {
        return NULL;
    }
    read_ports(&f->ip, v6, t);
    s = find_session(n, v6, t);
    return s && slow_is_alive(n, s) ? s : NULL;
}

/* Makes 'out' of 'in', which becomes IPv4, without addresses and ports. */
static void
to_4(const struct slow_ip *in, struct slow_ip *out)
{
    *out = *in;
    out->family = 4;
    memset(out->src, 0, 16);
    memset(out->dst, 0, 16);
    out->df = false;
    out->frag = false;
    out->any_id = !in->frag;
    out->id = in->frag ? in->id & 0xffff : 0;
    if (is_icmp(in)) {
        out->proto = IPPROTO_ICMP;
        out->type = in->type == 128 ? 8 : 0;
    }
}

/* The same for IPv6. */
static void
to_6(const struct slow_ip *in, struct slow_ip *out)
{
    *out = *in;
    out->family = 6;
    out->df = false;
    out->frag = in->mf || in->ofs;
    out->any_id = false;
    if (is_icmp(in)) {
        out->proto = IPPROTO_ICMPV6;
        out->type = in->type == 8 ? 128 : 129;
    }
}

static void
set_ports_of(struct slow_ip *ip, uint16_t sport, uint16_t dport)
{
    if (!ip->ofs) {
        ip->sport = sport;
        ip->dport = is_icmp(ip) ? 0 : dport;
    }
}

/* Takes 'in' of the inside ('v6') or the outside through its session, which
 * 't' tells as far as addresses do. */
static enum xlat_drop
pass(struct slow_nat64 *n, bool v6, const struct slow_ip *in,
     struct slow_tuple *t, enum xlat_drop said, struct slow_ip *out)
{
    struct slow_session *s;

    if (in->ofs) {
        s = find_by_frag(n, v6, in, t);
        if (!s || is_forgotten(n, in, said)) {
            return XLAT_DROP_FRAGMENT;
        }
        set_tuple(t, s->b);
    } else {
        enum xlat_drop drop;

        read_ports(in, v6, t);
        drop = find_or_make(n, v6, in, t, &s);
        if (drop != SLOW_OK) {
            return drop;
        }
        if (s && in->mf) {
            put_frag(n, in);
        }
    }
    if (s) {
        touch(n, s, v6, in);
    }
    if (v6) {
        to_4(in, out);
        orc_put32(out->src, t->outside);
        orc_put32(out->dst, t->remote);
        set_ports_of(out, t->outside_port, t->remote_port);
    } else {
        to_6(in, out);
        orc_6052_write(&t->prefix, t->remote, out->src);
        memcpy(out->dst, t->inside, 16);
        set_ports_of(out, is_icmp(in) ? t->inside_port : t->remote_port,
                     t->inside_port);
    }
    return SLOW_OK;
}

/* What is wrong with a packet that is no ICMP error, whatever its session. */
static enum xlat_drop
check(const struct slow_ip *ip)
{
    if (!is_known_proto(ip)) {
        return XLAT_DROP_PROTO;
    } else if (ip->ttl <= 1) {
        return XLAT_DROP_TTL;
    } else if (is_icmp(ip) && (ip->mf || ip->ofs)) {
        return XLAT_DROP_ICMP_FRAGMENT;
    } else if (is_icmp(ip) && !is_echo(ip)) {
        return XLAT_DROP_ICMP_TYPE;
    } else if (ip->proto == IPPROTO_UDP && !ip->ofs && ip->no_csum) {
        return XLAT_DROP_UDP_CSUM_ZERO;
    }
    return SLOW_OK;
}

/* The IPv4 address in 'ip', a server as the inside sees it. */
static enum xlat_drop
extract(const struct slow_nat64 *n, const uint8_t ip[16],
        struct orc_prefix6 *prefix, uint32_t *ip4)
{
    const struct orc_prefix6 *found = find_prefix(n, ip);

    if (!found) {
        return XLAT_DROP_NO_MAPPING;
    }
    *prefix = *found;
    *ip4 = orc_6052_read(found, ip);
    return is_unroutable4(*ip4) ? XLAT_DROP_BAD_EMBEDDED : SLOW_OK;
}

/* ------------------------------------------------------------------------
 * ICMP errors.
 * ------------------------------------------------------------------------ */

/* RFC 7915, 4.2 and 5.2, as far as tests send it; both MTUs are 1500. */
static void
translate_type(const struct slow_ip *in, struct slow_ip *out)
{
    static const struct {
        bool to_6, to_4;
        uint8_t type4, code4, type6, code6;
    } types[] = {
        { true, true, 3, 1, 1, 0 },
        { true, true, 3, 3, 1, 4 },
        { true, false, 3, 13, 1, 1 },
        { false, true, 3, 10, 1, 1 },
        { true, true, 3, 4, 2, 0 },
        { true, true, 11, 0, 3, 0 },
    };

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (in->family == 4 && types[i].to_6 && in->type == types[i].type4
            && in->code == types[i].code4) {
            out->type = types[i].type6;
            out->code = types[i].code6;
        } else if (in->family == 6 && types[i].to_4
                   && in->type == types[i].type6
                   && in->code == types[i].code6) {
            out->type = types[i].type4;
            out->code = types[i].code4;
        }
    }
    if (in->rest) {
        uint32_t mtu = in->family == 4 ? in->rest + 20 : in->rest - 20;
        uint32_t max = in->family == 4 ? 1500 : 1480;

        mtu = mtu < max ? mtu : max;
        out->rest = in->family == 4 && mtu < 1280 ? 1280 : mtu;
    }
}

/* An error from inside ('v6') or outside, from or to 'remote'.  The packet in
 * it has gone the other way, so that its ports are those of a packet of this
 * way in the reverse order. */
static enum xlat_drop
pass_error(struct slow_nat64 *n, bool v6, const struct slow_packet *in,
           uint32_t remote, struct slow_packet *out)
{
    struct slow_ip turned = in->quote;
    const struct slow_session *s;
    struct slow_tuple t;

    memset(&t, 0, sizeof t);
    if (v6) {
        if (extract(n, in->quote.src, &t.prefix, &t.remote) != SLOW_OK) {
            return XLAT_DROP_ICMP_INNER;
        }
        memcpy(t.inside, in->quote.dst, 16);
    } else {
        t.outside = orc_get32(in->quote.src);
        t.remote = orc_get32(in->quote.dst);
    }
    if (!is_known_proto(&in->quote) || in->quote.ofs
        || (is_icmp(&in->quote) && !is_echo(&in->quote))) {
        return XLAT_DROP_ICMP_INNER;
    }
    if (!is_icmp(&turned)) {
        turned.sport = in->quote.dport;
        turned.dport = in->quote.sport;
    }
    read_ports(&turned, v6, &t);
    s = find_session(n, v6, &t);
    if (!s || !slow_is_alive(n, s)) {
        return XLAT_DROP_ICMP_INNER;
    } else if (in->ip.ttl <= 1) {
        return XLAT_DROP_TTL;
    }
    set_tuple(&t, s->b);
    out->is_error = true;
    out->quote_len = in->quote_len;
    if (v6) {
        to_4(&in->ip, &out->ip);
        orc_put32(out->ip.src, t.outside);
        orc_put32(out->ip.dst, remote);
        to_4(&in->quote, &out->quote);
        out->quote.any_id = false;
        orc_put32(out->quote.src, t.remote);
        orc_put32(out->quote.dst, t.outside);
        set_ports_of(&out->quote, is_icmp(&turned) ? t.outside_port
                                                   : t.remote_port,
                     t.outside_port);
    } else {
        to_6(&in->ip, &out->ip);
        orc_6052_write(&t.prefix, remote, out->ip.src);
        memcpy(out->ip.dst, t.inside, 16);
        to_6(&in->quote, &out->quote);
        memcpy(out->quote.src, t.inside, 16);
        orc_6052_write(&t.prefix, t.remote, out->quote.dst);
        set_ports_of(&out->quote, t.inside_port, t.remote_port);
    }
    out->ip.ttl--;
    translate_type(&in->ip, &out->ip);
    return SLOW_OK;
}

/* ------------------------------------------------------------------------
 * Directions.
 * ------------------------------------------------------------------------ */

static enum xlat_drop
run_in(struct slow_nat64 *n, const struct slow_packet *in,
       enum xlat_drop said, struct slow_result *result)
{
    struct slow_tuple t;
    enum xlat_drop drop;

    memset(&t, 0, sizeof t);
    t.remote = orc_get32(in->ip.src);
    t.outside = orc_get32(in->ip.dst);
    if (!slow_pool4_has(n, t.outside)) {
        return XLAT_DROP_NO_MAPPING;
    } else if (is_unroutable4(t.remote)) {
        return XLAT_DROP_BAD_SOURCE;
    } else if (in->is_error) {
        return pass_error(n, false, in, t.remote, &result->out);
    }
    drop = check(&in->ip);
    if (drop == SLOW_OK) {
        drop = pass(n, false, &in->ip, &t, said, &result->out.ip);
        result->out.ip.ttl--;
    }
    return drop;
}

/* Returns whether 'ip' is a later fragment from inside to an outside address,
 * behind which its first fragment has not come by.  't' tells its
 * addresses. */
static bool
is_unknown_inside(struct slow_nat64 *n, const struct slow_ip *ip,
                  struct slow_tuple t)
{
    const struct slow_session *s = ip->ofs ? find_by_frag(n, true, ip, &t)
                                           : NULL;
    struct slow_ip between;
    uint32_t outside;

    if (!s) {
        return false;
    }
    outside = s->b->place->range.ip;
    to_4(ip, &between);
    orc_put32(between.src, outside);
    orc_put32(between.dst, t.remote);
    t.outside = t.remote;
    t.remote = outside;
    return !find_by_frag(n, false, &between, &t);
}

static enum xlat_drop
run_out(struct slow_nat64 *n, const struct slow_packet *in,
        enum xlat_drop said, struct slow_result *result, bool *hairpin)
{
    struct slow_tuple t;
    enum xlat_drop drop;
    struct slow_ip between;
    bool turns;

    memset(&t, 0, sizeof t);
    drop = extract(n, in->ip.dst, &t.prefix, &t.remote);
    if (drop != SLOW_OK) {
        return drop;
    } else if (is_unroutable6(in->ip.src)) {
        return XLAT_DROP_BAD_SOURCE;
    } else if (find_prefix(n, in->ip.src)) {
        return XLAT_DROP_POOL6_SOURCE;
    } else if (in->is_error) {
        return (slow_pool4_has(n, t.remote) ? XLAT_DROP_ICMP_INNER
                : pass_error(n, true, in, t.remote, &result->out));
    }
    memcpy(t.inside, in->ip.src, 16);
    drop = check(&in->ip);
    if (drop != SLOW_OK) {
        return drop;
    }
    turns = slow_pool4_has(n, t.remote);
    if (turns && is_unknown_inside(n, &in->ip, t)) {
        /* That is the reason then. */
        said = SLOW_OK;
    }
    drop = pass(n, true, &in->ip, &t, said, &result->out.ip);
    result->out.ip.ttl--;
    if (drop != SLOW_OK || !turns) {
        return drop;
    }

    /* RFC 6146, 3.8. */
    *hairpin = true;
    between = result->out.ip;
    memset(&t, 0, sizeof t);
    t.remote = orc_get32(between.src);
    t.outside = orc_get32(between.dst);
    return pass(n, false, &between, &t, said, &result->out.ip);
}

/* Makes 'result' an ICMP error about 'in', if one is sent for 'drop'. */
static void
reply(const struct slow_packet *in, enum xlat_drop drop,
      struct slow_result *result)
{
    static const struct {
        enum xlat_drop drop;
        uint8_t family, type, code;
    } replies[] = {
        { XLAT_DROP_TTL, 4, 11, 0 },
        { XLAT_DROP_PROTO, 4, 3, 2 },
        { XLAT_DROP_FILTERED, 4, 3, 13 },
        { XLAT_DROP_NO_BINDING, 4, 3, 1 },
        { XLAT_DROP_TTL, 6, 3, 0 },
        { XLAT_DROP_PROTO, 6, 1, 4 },
        { XLAT_DROP_NO_PORT, 6, 1, 3 },
        { XLAT_DROP_TABLE_FULL, 6, 1, 3 },
    };

    if (in->is_error || (in->ip.family == 4 && in->ip.ofs)
        || (in->ip.family == 6 && is_icmp(&in->ip) && in->ip.ofs)) {
        return;
    }
    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
        if (replies[i].drop == drop && replies[i].family == in->ip.family) {
            result->verdict = XLAT_REPLY;
            result->out.ip.type = replies[i].type;
            result->out.ip.code = replies[i].code;
        }
    }
}

void
slow_run_packet(struct slow_nat64 *n, const struct slow_packet *in,
                enum xlat_drop said, struct slow_result *result)
{
    bool hairpin = false;
    enum xlat_drop drop;

    memset(result, 0, sizeof *result);
    drop = in->ip.family == 6 ? run_out(n, in, said, result, &hairpin)
                              : run_in(n, in, said, result);
    result->drop = drop;
    if (drop == SLOW_OK) {
        result->verdict = XLAT_TRANSLATED;
    } else if (drop == XLAT_DROP_NO_MAPPING && n->conf.pass) {
        result->verdict = XLAT_PASSED;
    } else {
        result->verdict = XLAT_DROPPED;
        if (!hairpin && !n->conf.no_errors) {
            reply(in, drop, result);
        }
    }
}

/* ------------------------------------------------------------------------
 * The end of sessions.
 * ------------------------------------------------------------------------ */

/* Removes 's', and its binding if that was its last one. */
static void
remove_session(struct slow_nat64 *n, struct slow_session *s)
{
    struct slow_session **sp = &n->sessions;
    struct slow_binding **bp = &n->bindings;
    struct slow_binding *b = s->b;
    struct slow_limbo *limbo;

    while (*sp != s) {
        sp = &(*sp)->next;
    }
    *sp = s->next;
    free(s);
    n->n_sessions--;
    n->n_limbo_sessions++;
    for (s = n->sessions; s; s = s->next) {
        if (s->b == b) {
            return;
        }
    }
    while (*bp != b) {
        bp = &(*bp)->next;
    }
    *bp = b->next;
    n->n_bindings--;
    limbo = xzalloc(sizeof *limbo);
    limbo->port = &b->place->ports[proto_index(b->proto)]
                                  [b->outside_port - b->place->range.low];
    limbo->ended = n->tick;
    limbo->next = n->limbo;
    n->limbo = limbo;
    free(b);
}

/* Nobody can read any more what has ended. */
static void
release(struct slow_nat64 *n)
{
    while (n->limbo) {
        struct slow_limbo *limbo = n->limbo;

        n->limbo = limbo->next;
        limbo->port->state = SLOW_WAITS;
        limbo->port->ended = limbo->ended;
        free(limbo);
    }
    n->n_limbo_sessions = 0;
}

void
slow_hold(struct slow_nat64 *n, bool holding)
{
    n->holding = holding;
    if (!holding) {
        release(n);
    }
}

/* Removes the sessions for which 'ends' returns true. */
static void
end_those(struct slow_nat64 *n, bool (*ends)(const struct slow_nat64 *,
                                             const struct slow_session *))
{
    struct slow_session *next;

    for (struct slow_session *s = n->sessions; s; s = next) {
        next = s->next;
        if (ends(n, s)) {
            remove_session(n, s);
        }
    }
    if (!n->holding) {
        release(n);
    }
}

static bool
has_no_time(const struct slow_nat64 *n, const struct slow_session *s)
{
    return !slow_is_alive(n, s);
}

void
slow_run(struct slow_nat64 *n)
{
    end_those(n, has_no_time);
    for (int i = 0; i < SLOW_N_PROTOS; i++) {
        free_ports(n, i);
    }
    clean_places(n);
}

static bool
any_session(const struct slow_nat64 *n, const struct slow_session *s)
{
    (void) n;
    (void) s;
    return true;
}

void
slow_flush(struct slow_nat64 *n)
{
    end_those(n, any_session);
}

static bool
is_not_in_conf(const struct slow_nat64 *n, const struct slow_session *s)
{
    for (unsigned int i = 0; i < n->conf.n_pool6; i++) {
        if (same_prefix(&n->conf.pool6[i], &s->b->prefix)) {
            return !s->b->place->open;
        }
    }
    return true;
}

static bool
same_pool4(const struct slow_conf *a, const struct slow_conf *b)
{
    if (a->n_pool4 != b->n_pool4) {
        return false;
    }
    for (unsigned int i = 0; i < a->n_pool4; i++) {
        if (!same_range(&a->pool4[i], &b->pool4[i])) {
            return false;
        }
    }
    return true;
}

void
slow_fit(struct slow_nat64 *n, const struct slow_conf *conf)
{
    if (!same_pool4(&n->conf, conf)) {
        /* Hosts may have other addresses now. */
        n->n_hosts = 0;
    }
    n->conf = *conf;
    for (int k = 0; k < SLOW_MAX_PLACES; k++) {
        if (n->places[k]) {
            n->places[k]->open = false;
        }
    }
    for (unsigned int i = 0; i < conf->n_pool4; i++) {
        open_place(n, &conf->pool4[i]);
    }
    end_those(n, is_not_in_conf);
}

/* ------------------------------------------------------------------------
 * The whole.
 * ------------------------------------------------------------------------ */

struct slow_nat64 *
slow_create(const struct slow_conf *conf, slow_learn *learn, void *aux)
{
    struct slow_nat64 *n = xzalloc(sizeof *n);

    n->learn = learn;
    n->aux = aux;
    slow_fit(n, conf);
    return n;
}

void
slow_destroy(struct slow_nat64 *n)
{
    slow_flush(n);
    release(n);
    while (n->frags) {
        struct slow_frag *f = n->frags;

        n->frags = f->next;
        free(f);
    }
    for (int k = 0; k < SLOW_MAX_PLACES; k++) {
        if (n->places[k]) {
            free_place(n->places[k]);
        }
    }
    free(n);
}

void
slow_set_time(struct slow_nat64 *n, uint64_t now_us)
{
    n->tick = now_us >> 16;
}
