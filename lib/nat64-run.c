/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* One packet through a stateful zone: the steps of RFC 6146, 3.4 to 3.8.
 *
 * Which tuple it belongs to; which session that is, or whether there may be a
 * new one; what the packet does to the session; the translation; and once more
 * from outside if it goes to a host inside.  Whatever can be known to forbid
 * the translation is asked before a session is made. */

#include "nat64-way.h"
#include "pk-csum.h"

static enum xlat_drop run_out(struct xlat_way *, enum pk_parse_result);
static enum xlat_drop run_in(struct xlat_way *, enum pk_parse_result);

void
nat64_run_one(struct xlat_way *way)
{
    struct pk *pk = &way->job->pk;
    unsigned int flags = pk->flags & PK_IP_CSUM_OK ? PK_PARSE_CSUM_OK : 0;
    enum pk_parse_result result;
    enum xlat_drop drop;

    result = pk_parse(pk->data, pk->len, flags, &way->info);
    if (result && result < PK_BAD_EXT) {
        drop = xlat_way_parse_drop(result);
    } else if (nat64_is_from_inside(way)) {
        drop = run_out(way, result);
    } else {
        drop = run_in(way, result);
    }

    if (drop == XLAT_OK) {
        way->job->verdict = XLAT_TRANSLATED;
    } else if (way->held) {
        way->job->verdict = XLAT_HELD;
    } else if (way->zone->set.miss == XLAT_MISS_PASS
               && (drop == XLAT_DROP_NOT_IP || drop == XLAT_DROP_NO_MAPPING)) {
        way->job->verdict = XLAT_PASSED;
    } else {
        xlat_reply_or_drop(way, drop);
    }
}

void
nat64_choose_source(struct xlat_way *way, union pk_addr *src)
{
    const struct nat64_pool *pool = &way->zone->stateful->pool;

    if (!nat64_pool_has(pool, be32toh(src->in4))) {
        size_t i = xlat_rng_next(&way->ctx->rng) % pool->n;

        src->in4 = htobe32(pool->addresses[i]->ip);
    }
}

/* ------------------------------------------------------------------------
 * Sessions.
 * ------------------------------------------------------------------------ */

/* Returns where the packet of 'way' came from, 0 if that is not known. */
static uint16_t
origin_of(const struct xlat_way *way)
{
    return (way->ctx->get_origin
            ? way->ctx->get_origin(way->ctx, way->job) : 0);
}

/* Does to 's' what a packet from 'dir' does, whose transport header is at 'l4'
 * (NULL of a fragment that has none, and where there are no states). */
static void
advance(const struct xlat_way *way, struct nat64_session *s,
        enum nat64_dir dir, const uint8_t *l4)
{
    struct nat64 *nat64 = way->zone->stateful->nat64;
    uint32_t tick = nat64_tick(way->ctx->now_us);
    uint8_t state = nat64_state(&s->dir[NAT64_OUT]);
    struct nat64_step step;

    do {
        if (state == NAT64_STATELESS || state == NAT64_DEAD || !l4) {
            step = (struct nat64_step) { state, state == NAT64_STATELESS };
        } else {
            step = nat64_tcp_step(state, dir, nat64_tcp_event(l4));
        }
    } while (step.next != state && !nat64_move(s, &state, step.next));

    if (step.refresh) {
        nat64_stamp(&s->dir[dir], tick);
    }
    if (step.next != state) {
        nat64_hasten(nat64, s, tick);
        if (dir == NAT64_OUT) {
            nat64_set_origin(s, origin_of(way));
        }
    }
}

/* Counts the packet of 'way' in 'flow'. */
static void
count(const struct xlat_way *way, struct nat64_flow *flow)
{
    nat64_count(flow, way->info.len);
}

/* Returns the state in which the packet at 'l4' begins a session, or
 * NAT64_DEAD. */
static enum nat64_state
first_state(uint8_t sort, enum nat64_dir dir, const uint8_t *l4)
{
    if (nat64_sort_proto(sort) != NAT64_TCP) {
        return NAT64_STATELESS;
    } else if (nat64_tcp_event(l4) != NAT64_TCP_SYN) {
        return NAT64_DEAD;
    }
    return dir == NAT64_OUT ? NAT64_OUT_INIT : NAT64_IN_INIT;
}

/* Completes 't', of a TCP packet that neither has a session nor begins one, by
 * its binding: it is translated without state (RFC 6146, 3.5.2.2). */
static enum xlat_drop
complete_by_binding(const struct nat64_make *make, enum nat64_dir dir,
                    struct nat64_tuple *t)
{
    const struct nat64 *nat64 = make->view->nat64;
    const struct nat64_binding *b;

    if (dir == NAT64_IN) {
        return nat64_peek(make, dir, t);
    }
    b = nat64_binding_find_inside(nat64, t);
    if (!b) {
        return XLAT_DROP_NO_SESSION;
    }
    t->outside = nat64_binding_ip(nat64, b);
    t->outside_port = b->outside_port;
    return XLAT_OK;
}

/* Finds the session of 't', or makes it, and completes 't'.  '*sp' is NULL if
 * there is none and the packet is translated all the same. */
static enum xlat_drop
find_or_make(const struct xlat_way *way, enum nat64_dir dir,
             struct nat64_tuple *t, struct nat64_session **sp)
{
    const struct xlat_zone *zone = way->zone;
    struct nat64 *nat64 = zone->stateful->nat64;
    const uint8_t *l4 = way->job->pk.data + way->info.l4_ofs;
    struct nat64_make make = {
        .zone = zone,
        .view = zone->stateful,
        .set = &zone->set,
        .dry_run = way->ctx->dry_run,
        .now_us = way->ctx->now_us,
        .tick = nat64_tick(way->ctx->now_us),
        .random = xlat_rng_next(&way->ctx->rng),
    };
    enum xlat_drop drop = XLAT_OK;
    struct nat64_session *s = nat64_find(nat64, dir, t);

    if (s && nat64_is_alive(&zone->set, s, make.tick)) {
        nat64_tuple_get(&s->dir[dir], t);
    } else {
        make.state = first_state(t->sort, dir, l4);
        if (make.state == NAT64_DEAD) {
            s = NULL;
            drop = complete_by_binding(&make, dir, t);
        } else if (way->ctx->dry_run) {
            s = NULL;
            drop = nat64_peek(&make, dir, t);
        } else {
            make.origin = dir == NAT64_OUT ? origin_of(way) : 0;
            s = (dir == NAT64_OUT ? nat64_make_out(&make, t, &drop)
                                  : nat64_make_in(&make, t, &drop));
            drop = s ? XLAT_OK : drop;
            if (!s && nat64_logs(nat64, XLAT_LOG_BLOCKS)) {
                nat64_log_drop(&make, drop, t);
            }
        }
    }
    *sp = s;
    return drop;
}

/* ------------------------------------------------------------------------
 * Packets.
 * ------------------------------------------------------------------------ */

void
nat64_rewrite_of(const struct xlat_way *way, const struct nat64_tuple *t,
           enum nat64_dir dir, struct xlat_rewrite *rw)
{
    uint8_t inside_family = way->zone->stateful->nat64->shape.inside_family;
    bool is_icmp = nat64_sort_proto(t->sort) == NAT64_ICMP;

    if (dir == NAT64_OUT) {
        xlat_way_init_rewrite(way, inside_family, 4, rw);
        rw->src.in4 = t->outside;
        rw->dst.in4 = t->remote;
        rw->src_port = t->outside_port;
        rw->dst_port = t->remote_port;
    } else {
        xlat_way_init_rewrite(way, 4, inside_family, rw);
        nat64_remote(way->zone->stateful->nat64, t->sort, t->remote,
                     &rw->src);
        rw->dst = t->inside;
        rw->src_port = is_icmp ? t->inside_port : t->remote_port;
        rw->dst_port = t->inside_port;
    }
    rw->flags |= XLAT_RW_PORTS;
}

/* Makes '*frag' the fragment of 'way', from 'dir'. */
static void
describe_fragment(const struct xlat_way *way, enum nat64_dir dir,
                  struct nat64_frag *frag)
{
    nat64_frag_init(frag, way->zone->stateful->nat64->frags,
                    way->job->pk.data, &way->info,
                    dir == NAT64_OUT ? way->ctx->tenant : 0,
                    nat64_tick(way->ctx->now_us),
                    nat64_fragment_ticks(&way->zone->set));
}

/* Remembers that 'ports' are those of the packet whose first fragment is that
 * of 'way'. */
static void
remember_fragment(struct xlat_way *way, enum nat64_dir dir, uint32_t ports)
{
    struct nat64_frag frag;

    describe_fragment(way, dir, &frag);
    way->job->held = nat64_frags_put(way->zone->stateful->nat64->frags, &frag,
                                     ports, way->zone->stateful->held);
}

/* Returns where a copy of the fragment of 'way' may wait for the first one, or
 * NULL. */
static struct nat64_held *
held_for(const struct xlat_way *way)
{
    return (way->ctx->released || way->job->pk.gso_size
            || way->info.len > XLAT_HELD_MAX
            ? NULL : way->zone->stateful->held);
}

/* Finds the live session of 't' that packets from 'dir' have, and completes
 * 't'.  Sets '*sp' to it, or returns the reason to drop a fragment without. */
static enum xlat_drop
find_for_fragment(const struct xlat_way *way, enum nat64_dir dir,
                  struct nat64_tuple *t, struct nat64_session **sp)
{
    struct nat64_session *s = nat64_find(way->zone->stateful->nat64, dir, t);

    if (!s || !nat64_is_alive(&way->zone->set, s,
                              nat64_tick(way->ctx->now_us))) {
        return XLAT_DROP_FRAGMENT;
    }
    nat64_tuple_get(&s->dir[dir], t);
    *sp = s;
    return XLAT_OK;
}

/* The same for the fragment of 'way', which has no ports: its first one has
 * told them.  If that has not come by, 'way->held' says whether a copy waits
 * for it. */
static enum xlat_drop
find_by_fragment(struct xlat_way *way, enum nat64_dir dir,
                 struct nat64_tuple *t, struct nat64_session **sp)
{
    struct nat64_held *held = held_for(way);
    struct nat64_lost lost = { .packets = 0 };
    struct nat64_frag frag;
    bool found;
    uint32_t ports[2] = { 0 };   /* As much of a header as nat64_read_ports()
                                  * reads. */

    describe_fragment(way, dir, &frag);
    found = nat64_frags_find(way->zone->stateful->nat64->frags, &frag,
                             &ports[nat64_ports_ofs(t) / 4],
                             way->ctx->dry_run ? NULL : held, &lost);
    nat64_lost_count(&lost, way->zone, way->ctx->thread);
    if (!found) {
        way->held = held != NULL;
        return XLAT_DROP_FRAGMENT;
    }
    nat64_read_ports((const uint8_t *) ports, dir, t);
    return find_for_fragment(way, dir, t, sp);
}

/* Finds or makes the session of the packet of 'way', and completes 't'; sets
 * '*sp' as find_or_make() does. */
static enum xlat_drop
find_session(struct xlat_way *way, enum nat64_dir dir,
             struct nat64_tuple *t, struct nat64_session **sp)
{
    enum xlat_drop drop;
    const uint8_t *l4;
    uint32_t ports;

    if (!pk_has_l4(&way->info)) {
        return find_by_fragment(way, dir, t, sp);
    }
    l4 = way->job->pk.data + way->info.l4_ofs;
    ports = pk_get32(l4 + nat64_ports_ofs(t));
    nat64_read_ports(l4, dir, t);
    drop = find_or_make(way, dir, t, sp);
    if (drop == XLAT_OK && *sp && way->info.more_frags
        && !way->ctx->dry_run) {
        remember_fragment(way, dir, ports);
    }
    return drop;
}

/* The same for a packet that goes back inside: 'out' is what it has left with,
 * also if it is a fragment without ports.  (Others may have left with the same
 * addresses and identification.) */
static enum xlat_drop
find_session_turned(const struct xlat_way *way, const struct nat64_tuple *out,
                    struct nat64_tuple *t, struct nat64_session **sp)
{
    pk_be16 header[4] = { 0 };   /* As nat64_read_ports() reads it. */
    size_t i = nat64_ports_ofs(t) / sizeof header[0];

    header[i] = out->outside_port;
    header[i + 1] = out->remote_port;
    nat64_read_ports((const uint8_t *) header, NAT64_IN, t);
    return pk_has_l4(&way->info) ? find_or_make(way, NAT64_IN, t, sp)
                                 : find_for_fragment(way, NAT64_IN, t, sp);
}

/* Translates the packet of 'way', which may go on, as one of the session 's'
 * with the tuple 't', or by 't' alone if 's' is null. */
static enum xlat_drop
translate_by(struct xlat_way *way, enum nat64_dir dir,
             const struct nat64_tuple *t, struct nat64_session *s,
             uint8_t flags)
{
    const uint8_t *l4 = way->job->pk.data + way->info.l4_ofs;
    struct xlat_rewrite rw;

    if (s && !way->ctx->dry_run) {
        advance(way, s, dir, nat64_sort_proto(t->sort) == NAT64_TCP
                             && pk_has_l4(&way->info) ? l4 : NULL);
        count(way, &s->dir[dir]);
    }
    way->job->tenant = t->tenant;
    nat64_rewrite_of(way, t, dir, &rw);
    rw.flags |= flags;
    return xlat_way_apply(way, &rw);
}

/* Translates the packet of 'way', which may go on, as one of the session of
 * 't', which it completes. */
static enum xlat_drop
translate(struct xlat_way *way, enum nat64_dir dir, struct nat64_tuple *t)
{
    struct nat64_session *s;
    enum xlat_drop drop = find_session(way, dir, t, &s);

    return (drop == XLAT_OK
            ? translate_by(way, dir, t, s, XLAT_RW_TTL_DEC) : drop);
}

/* Decides whether the packet of 'way' may go on, and in which size. */
static enum xlat_drop
prepare(struct xlat_way *way, enum nat64_dir dir)
{
    struct xlat_rewrite rw = {
        .from = dir == NAT64_OUT ? 6 : 4,
        .to = dir == NAT64_OUT ? 4 : 6,
    };

    return nat64_is_44(way) ? xlat_44_prepare(way)
           : dir == NAT64_OUT ? xlat_64_prepare(way, &rw)
           : xlat_46_prepare(way, &rw);
}

/* ------------------------------------------------------------------------
 * Directions.
 * ------------------------------------------------------------------------ */

/* Decides whether the packet of 'way', which goes to the outside address of a
 * host inside, may go on: no MTU of the IPv4 side matters. */
static enum xlat_drop
prepare_hairpin(struct xlat_way *way)
{
    enum xlat_drop drop;

    if (nat64_is_44(way)) {
        return xlat_44_prepare(way);
    }
    drop = xlat_64_prepare_ttl(way);
    if (drop == XLAT_OK) {
        drop = xlat_l4_prepare(way);
    }
    if (drop == XLAT_OK && !way->job->pk.gso_size
        && way->info.len > way->zone->set.mtu6) {
        way->param = way->zone->set.mtu6;
        return XLAT_DROP_TOO_BIG;
    }
    return drop;
}

/* Takes the packet of 'way', which has become one of IPv4 by the tuple 'out',
 * to the host inside (RFC 6146, 3.8).  No error is sent about that packet,
 * which nobody sent. */
static enum xlat_drop
hairpin(struct xlat_way *way, const struct nat64_tuple *out)
{
    struct nat64_tuple t = { .tenant = 0 };
    struct nat64_session *s;
    enum xlat_drop drop;

    way->silent = true;
    drop = xlat_way_parse_drop(pk_parse(way->job->pk.data, way->job->pk.len,
                                        PK_PARSE_CSUM_OK, &way->info));
    if (drop == XLAT_OK) {
        drop = nat64_read_in(way, &t);
    }
    if (drop == XLAT_OK && xlat_way_is_known_error(way)) {
        return nat64_translate_error(way, NAT64_IN, &t, 0);
    }
    if (drop == XLAT_OK && !nat64_add_proto(&way->info, &t)) {
        drop = XLAT_DROP_PROTO;
    }
    if (drop == XLAT_OK) {
        drop = find_session_turned(way, out, &t, &s);
    }
    return drop == XLAT_OK ? translate_by(way, NAT64_IN, &t, s, 0) : drop;
}

static enum xlat_drop
run_out(struct xlat_way *way, enum pk_parse_result result)
{
    struct nat64_tuple t = { .tenant = way->ctx->tenant };
    enum xlat_drop drop = nat64_read_out(way, &t);
    bool turns;

    if (drop != XLAT_OK) {
        return drop;
    } else if (result) {
        way->param = result == PK_BAD_ROUTING ? way->info.bad_ofs : 0;
        return xlat_way_parse_drop(result);
    }
    turns = nat64_pool_has(&way->zone->stateful->pool, be32toh(t.remote));
    if (xlat_way_is_known_error(way)) {
        drop = nat64_translate_error(way, NAT64_OUT, &t, XLAT_RW_TTL_DEC);
    } else if (!nat64_add_proto(&way->info, &t)) {
        drop = XLAT_DROP_PROTO;
    } else {
        drop = turns ? prepare_hairpin(way) : prepare(way, NAT64_OUT);
        if (drop == XLAT_OK) {
            drop = translate(way, NAT64_OUT, &t);
        }
    }
    return drop == XLAT_OK && turns ? hairpin(way, &t) : drop;
}

/* Ends the way of the packet of 'way', from outside, that has no session
 * because of 'drop': a SYN waits for one from inside, in silence.  Returns the
 * reason. */
static enum xlat_drop
store_syn(struct xlat_way *way, enum xlat_drop drop)
{
    struct nat64_syns *syns = way->zone->stateful->syns;
    const uint8_t *ip = way->job->pk.data;
    uint16_t origin;

    if (!syns || (drop != XLAT_DROP_NO_BINDING && drop != XLAT_DROP_FILTERED)
        || way->info.proto != IPPROTO_TCP
        || !nat64_tcp_opens(ip + way->info.l4_ofs)) {
        return drop;
    }
    origin = way->ctx->dry_run ? 0 : origin_of(way);
    if (origin) {
        nat64_syns_put(syns, ip, &way->info, nat64_tick(way->ctx->now_us),
                       origin);
    }
    way->silent = true;
    return XLAT_DROP_STORED_SYN;
}

static enum xlat_drop
run_in(struct xlat_way *way, enum pk_parse_result result)
{
    struct nat64_tuple t = { .tenant = 0 };
    enum xlat_drop drop = nat64_read_in(way, &t);

    if (drop != XLAT_OK) {
        return drop;
    } else if (result) {
        return xlat_way_parse_drop(result);
    } else if (xlat_way_is_known_error(way)) {
        return nat64_translate_error(way, NAT64_IN, &t, XLAT_RW_TTL_DEC);
    } else if (!nat64_add_proto(&way->info, &t)) {
        return XLAT_DROP_PROTO;
    }
    drop = prepare(way, NAT64_IN);
    return drop == XLAT_OK
           ? store_syn(way, translate(way, NAT64_IN, &t)) : drop;
}
