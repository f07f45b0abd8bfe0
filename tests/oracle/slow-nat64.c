/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* The way of a packet through the slow stateful translator. */

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "oracle-addr.h"
#include "oracle-packet.h"
#include "slow-nat64.h"

/* What a fragment in front of its first one is dropped for, or waits. */
#define HOLD (XLAT_N_DROPS + 1)

/* ------------------------------------------------------------------------
 * Addresses and ports.
 * ------------------------------------------------------------------------ */

static bool
is_from_inside(const struct slow_nat64 *n, const struct slow_ip *ip)
{
    bool is_in = false;

    if (n->conf.inside_family == 6) {
        return ip->family == 6;
    }
    for (unsigned int i = 0; ip->family == 4 && i < n->conf.n_inside4; i++) {
        is_in |= orc_in4(&n->conf.inside4[i], orc_get32(ip->src));
    }
    return is_in;
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

/* Sets in 't' the remote end whose address, as the inside sees it, is
 * 'ip'. */
static enum xlat_drop
read_remote(const struct slow_nat64 *n, const uint8_t ip[16],
            struct slow_tuple *t)
{
    const struct orc_prefix6 *prefix;

    if (n->conf.inside_family == 4) {
        t->remote = orc_get32(ip);
        return orc_illegal4(t->remote) ? XLAT_DROP_NO_MAPPING : SLOW_OK;
    }
    prefix = find_prefix(n, ip);
    if (!prefix) {
        return XLAT_DROP_NO_MAPPING;
    }
    t->prefix = *prefix;
    t->remote = orc_6052_read(prefix, ip);
    return orc_illegal4(t->remote) ? XLAT_DROP_BAD_EMBEDDED : SLOW_OK;
}

void
slow_remote_inside(const struct slow_tuple *t, uint8_t addr[16])
{
    memset(addr, 0, 16);
    if (t->prefix.len) {
        orc_6052_write(&t->prefix, t->remote, addr);
    } else {
        orc_put32(addr, t->remote);
    }
}

/* Has sessions. */
static bool
is_known_proto(const struct slow_ip *ip)
{
    return (ip->proto == IPPROTO_TCP || ip->proto == IPPROTO_UDP
            || slow_is_icmp(ip));
}

/* Sets protocol and ports in 't'.  'out': 'ip' goes from inside to outside. */
static void
read_ports(const struct slow_ip *ip, bool out, struct slow_tuple *t)
{
    t->proto = slow_is_icmp(ip) ? IPPROTO_ICMP : ip->proto;
    t->inside_port = ip->sport;
    t->outside_port = t->proto == IPPROTO_ICMP ? ip->sport : ip->dport;
    t->remote_port = (t->proto == IPPROTO_ICMP ? 0
                      : out ? ip->dport : ip->sport);
}

/* ------------------------------------------------------------------------
 * Translation.
 * ------------------------------------------------------------------------ */

/* Makes '*to' of 'ip', which becomes 'family', but for addresses and ports. */
static void
convert(const struct slow_ip *ip, uint8_t family, struct slow_ip *to)
{
    *to = *ip;
    if (ip->family == family) {
        return;
    }
    to->family = family;
    to->df = false;
    to->frag = family == 6 && (ip->mf || ip->ofs);
    to->any_id = family == 4 && !ip->frag;
    to->id = family == 6 ? ip->id : ip->frag ? ip->id & 0xffff : 0;
    if (slow_is_icmp(ip)) {
        to->proto = family == 6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
        to->type = (family == 6 ? (ip->type == 8 ? 128 : 129)
                    : (ip->type == 128 ? 8 : 0));
    }
}

void
slow_set_ends(const struct slow_tuple *t, bool inside, bool out,
              struct slow_ip *ip)
{
    uint16_t own = inside ? t->inside_port : t->outside_port;
    bool is_icmp = t->proto == IPPROTO_ICMP;
    uint8_t near[16] = { 0 }, far[16] = { 0 };

    if (inside) {
        memcpy(near, t->inside, 16);
        slow_remote_inside(t, far);
    } else {
        orc_put32(near, t->outside);
        orc_put32(far, t->remote);
    }
    memcpy(ip->src, out ? near : far, 16);
    memcpy(ip->dst, out ? far : near, 16);
    ip->sport = ip->ofs ? 0 : out || is_icmp ? own : t->remote_port;
    ip->dport = ip->ofs || is_icmp ? 0 : out ? t->remote_port : own;
}

void
slow_translate(const struct slow_tuple *t, bool out, const struct slow_ip *ip,
               struct slow_ip *to)
{
    convert(ip, out || !t->prefix.len ? 4 : 6, to);
    slow_set_ends(t, !out, out, to);
}

/* Finds the session of a fragment of which 'first' has the ports. */
static enum xlat_drop
find_for_fragment(struct slow_nat64 *n, bool out, const struct slow_ip *first,
                  struct slow_tuple *t, struct slow_session **sp)
{
    read_ports(first, out, t);
    *sp = slow_find_session(n, out, t);
    if (!*sp || !slow_is_alive(n, *sp)) {
        return XLAT_DROP_FRAGMENT;
    }
    *t = (*sp)->t;
    return SLOW_OK;
}

/* Finds or makes the session of 'ip', which 't' tells as far as addresses
 * do. */
static unsigned int
find_or_make(struct slow_nat64 *n, bool out, const struct slow_ip *ip,
             struct slow_tuple *t, struct slow_session **sp)
{
    uint32_t tenant = out ? t->tenant : 0;
    const struct slow_ip *first;
    enum xlat_drop drop;

    if (ip->ofs) {
        first = slow_find_first(n, ip, tenant);
        return first ? find_for_fragment(n, out, first, t, sp) : HOLD;
    }
    read_ports(ip, out, t);
    drop = slow_find_or_make(n, out, ip, t, sp);
    if (drop == SLOW_OK && *sp && ip->mf) {
        n->ticket = slow_put_first(n, ip, tenant);
    }
    return drop;
}

/* The same for 'ip' that goes back inside; 'whole' has its ports in any
 * case. */
static unsigned int
find_or_make_turned(struct slow_nat64 *n, const struct slow_ip *whole,
                    struct slow_tuple *t, struct slow_session **sp)
{
    if (whole->ofs) {
        return find_for_fragment(n, false, whole, t, sp);
    }
    read_ports(whole, false, t);
    return slow_find_or_make(n, false, whole, t, sp);
}

/* Takes 'ip', of the inside ('out') or the outside, through its session, which
 * 't' tells as far as addresses do; 'whole' is it with ports if it has been
 * outside, or NULL. */
static unsigned int
pass(struct slow_nat64 *n, bool out, const struct slow_ip *ip,
     const struct slow_ip *whole, struct slow_tuple *t, struct slow_ip *to)
{
    struct slow_session *s;
    unsigned int drop = (whole ? find_or_make_turned(n, whole, t, &s)
                         : find_or_make(n, out, ip, t, &s));

    if (drop != SLOW_OK) {
        return drop;
    }
    if (s) {
        slow_touch(n, s, out, ip);
    }
    slow_translate(t, out, ip, to);
    return SLOW_OK;
}

/* What is wrong with a packet that is no ICMP error, whatever its session. */
static enum xlat_drop
check(const struct slow_nat64 *n, const struct slow_ip *ip)
{
    bool is_44 = n->conf.inside_family == 4;

    if (!is_known_proto(ip)) {
        return XLAT_DROP_PROTO;
    } else if (ip->ttl <= 1) {
        return XLAT_DROP_TTL;
    } else if (!is_44 && slow_is_icmp(ip) && (ip->mf || ip->ofs)) {
        return XLAT_DROP_ICMP_FRAGMENT;
    } else if (ip->ofs) {
        return SLOW_OK;
    } else if (slow_is_icmp(ip) && !slow_is_echo(ip)) {
        return XLAT_DROP_ICMP_TYPE;
    }
    return (ip->proto == IPPROTO_UDP && ip->no_csum && !is_44
            ? XLAT_DROP_UDP_CSUM_ZERO : SLOW_OK);
}

/* ------------------------------------------------------------------------
 * ICMP errors.
 * ------------------------------------------------------------------------ */

/* RFC 7915, 4.2 and 5.2, as far as tests send it; both MTUs are 1500. */
static void
translate_type(const struct slow_ip *ip, struct slow_ip *to)
{
    static const uint8_t types[][4] = {
        { 3, 3, 1, 4 }, { 3, 4, 2, 0 }, { 11, 0, 3, 0 },
    };
    bool to_4 = to->family == 4;

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        const uint8_t *from = &types[i][to_4 ? 2 : 0];
        const uint8_t *into = &types[i][to_4 ? 0 : 2];

        if (ip->type == from[0] && ip->code == from[1]) {
            to->type = into[0];
            to->code = into[1];
        }
    }
    if (ip->rest) {
        to->rest = to_4 ? ip->rest - 20 : ip->rest + 20;
        to->rest = (to_4 && to->rest > 1480 ? 1480
                    : !to_4 && to->rest > 1500 ? 1500 : to->rest);
    }
}

/* Returns 'ip' with its two ends exchanged. */
static struct slow_ip
turn(const struct slow_ip *ip)
{
    struct slow_ip turned = *ip;

    memcpy(turned.src, ip->dst, 16);
    memcpy(turned.dst, ip->src, 16);
    if (!slow_is_icmp(ip)) {
        turned.sport = ip->dport;
        turned.dport = ip->sport;
    }
    return turned;
}

/* An error from inside ('out') or outside, from or to 'remote'.  The packet in
 * it has gone the other way: turned round, it is like one of this way.  'hops'
 * is 0 of one that turns. */
static enum xlat_drop
pass_error(struct slow_nat64 *n, bool out, const struct slow_packet *in,
           uint32_t remote, uint8_t hops, struct slow_packet *to)
{
    struct slow_ip turned = turn(&in->quote), back;
    struct slow_tuple t = { .tenant = in->tenant };
    const struct slow_session *s;

    if (!out) {
        t.outside = orc_get32(turned.dst);
        t.remote = orc_get32(turned.src);
    } else if (read_remote(n, turned.dst, &t) != SLOW_OK) {
        return XLAT_DROP_ICMP_INNER;
    }
    memcpy(t.inside, turned.src, 16);
    if (!is_known_proto(&turned) || turned.ofs
        || (slow_is_icmp(&turned) && !slow_is_echo(&turned))) {
        return XLAT_DROP_ICMP_INNER;
    }
    read_ports(&turned, out, &t);
    s = slow_find_session(n, out, &t);
    if (!s || !slow_is_alive(n, s)) {
        return XLAT_DROP_ICMP_INNER;
    } else if (in->ip.ttl <= hops) {
        return XLAT_DROP_TTL;
    }
    *to = *in;
    to->tenant = s->t.tenant;
    convert(&in->ip, out ? 4 : n->conf.inside_family, &to->ip);
    to->ip.ttl -= hops;
    to->ip.df = false;
    to->ip.any_id = to->ip.family == 4;
    if (in->ip.family != to->ip.family) {
        translate_type(&in->ip, &to->ip);
    }
    t = s->t;
    t.remote = remote;           /* A router, perhaps. */
    slow_set_ends(&t, !out, out, &to->ip);
    slow_translate(&s->t, out, &turned, &back);
    to->quote = turn(&back);
    to->quote.any_id = false;
    return SLOW_OK;
}

/* ------------------------------------------------------------------------
 * Directions.
 * ------------------------------------------------------------------------ */

static unsigned int
run_in(struct slow_nat64 *n, const struct slow_packet *in,
       struct slow_packet *to)
{
    struct slow_tuple t = { .remote = orc_get32(in->ip.src),
                            .outside = orc_get32(in->ip.dst) };
    unsigned int drop;

    if (in->ip.family == 6 || !slow_pool4_has(n, t.outside)) {
        return XLAT_DROP_NO_MAPPING;
    } else if (orc_illegal4(t.remote)) {
        return XLAT_DROP_BAD_SOURCE;
    } else if (in->is_error) {
        return pass_error(n, false, in, t.remote, 1, to);
    }
    drop = check(n, &in->ip);
    if (drop == SLOW_OK) {
        drop = pass(n, false, &in->ip, NULL, &t, &to->ip);
        to->ip.ttl--;
        to->tenant = t.tenant;
    }
    return drop;
}

static unsigned int
run_out(struct slow_nat64 *n, const struct slow_packet *in,
        struct slow_result *result)
{
    struct slow_packet *to = &result->out;
    struct slow_tuple t = { .tenant = in->tenant };
    struct slow_ip between, whole;
    unsigned int drop;
    bool turns;

    drop = read_remote(n, in->ip.dst, &t);
    if (drop != SLOW_OK) {
        return drop;
    } else if (in->ip.family == 6 ? orc_illegal6(in->ip.src)
               : orc_illegal4(orc_get32(in->ip.src))) {
        return XLAT_DROP_BAD_SOURCE;
    } else if (in->ip.family == 6 && find_prefix(n, in->ip.src)) {
        return XLAT_DROP_POOL6_SOURCE;
    }
    turns = slow_pool4_has(n, t.remote);
    if (in->is_error) {
        struct slow_packet error;

        drop = pass_error(n, true, in, t.remote, 1, to);
        if (drop == SLOW_OK && turns) {
            result->hairpin = true;
            error = *to;
            drop = pass_error(n, false, &error, orc_get32(error.ip.src), 0,
                              to);
        }
        return drop;
    }
    memcpy(t.inside, in->ip.src, 16);
    drop = check(n, &in->ip);
    if (drop != SLOW_OK) {
        return drop;
    }
    drop = pass(n, true, &in->ip, NULL, &t, &to->ip);
    to->ip.ttl--;
    to->tenant = t.tenant;
    if (drop != SLOW_OK || !turns) {
        return drop;
    }

    /* RFC 6146, 3.8. */
    result->hairpin = true;
    between = whole = to->ip;
    whole.sport = t.outside_port;
    whole.dport = t.remote_port;
    t = (struct slow_tuple) { .remote = orc_get32(between.src),
                              .outside = orc_get32(between.dst) };
    drop = pass(n, false, &between, &whole, &t, &to->ip);
    to->tenant = t.tenant;
    return drop;
}

void
slow_run_packet(struct slow_nat64 *n, const struct slow_packet *in,
                bool released, struct slow_result *result)
{
    bool out = is_from_inside(n, &in->ip);
    unsigned int drop;

    memset(result, 0, sizeof *result);
    n->ticket = 0;
    drop = (out ? run_out(n, in, result) : run_in(n, in, &result->out));
    if (drop == HOLD && !released) {
        slow_hold_fragment(n, in, out ? in->tenant : 0);
        result->verdict = XLAT_HELD;
        return;
    }
    result->drop = drop == HOLD ? XLAT_DROP_FRAGMENT : drop;
    result->ticket = n->ticket;
    result->verdict = (drop == SLOW_OK ? XLAT_TRANSLATED
                       : drop == XLAT_DROP_NO_MAPPING && n->conf.pass
                       ? XLAT_PASSED : XLAT_DROPPED);
}

void
slow_destroy(struct slow_nat64 *n)
{
    slow_flush(n);
    slow_destroy_frags(n);
    slow_destroy_ports(n);
    free(n);
}
