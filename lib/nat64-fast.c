/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* A batch through a stateful zone, and the short path for ordinary packets of
 * established sessions.
 *
 * In stages, so that memory is fetched for all packets side by side: which are
 * ordinary (xlat-fast.h), and their keys' hashes; the sessions that the index
 * has under those; comparison and translation.  Everything else takes the long
 * way (nat64-run.c), which gives ordinary packets the same result. */

#include "nat64-private.h"
#include "xlat-fast.h"
#include "xlat-private.h"
#include "xlat-special.h"

#define TCP_FLAGS_OFS 13
#define TCP_FIN_SYN_RST 0x07

/* What is looked up for a packet. */
struct look {
    struct nat64_tuple key;
    uint64_t hash;
    uint8_t from;                /* 4 or 6; 0: it takes the long way. */
    uint8_t dir;                 /* enum nat64_dir. */
};

/* What is the same for a whole batch. */
struct batch {
    const struct xlat_zone *zone;
    struct xlat_ctx *ctx;
    struct nat64 *nat64;
    struct xlat_fast fast;
    const struct xlat_deny *deny;        /* NULL: nothing is denied. */
    struct xlat_ip6 prefix;      /* Of pool6, 96 bits. */
    bool global_only;            /* Hosts outside have global addresses. */
    uint8_t place;               /* Its place. */
    uint8_t inside_family;
    uint32_t tick;
    uint32_t timeouts[NAT64_N_PROTOS];   /* Of established sessions. */
};

static void
batch_init(struct batch *b, const struct xlat_zone *zone,
           struct xlat_ctx *ctx)
{
    b->zone = zone;
    b->ctx = ctx;
    b->nat64 = zone->stateful->nat64;
    xlat_fast_init(&b->fast, &zone->set);
    b->inside_family = b->nat64->shape.inside_family;
    b->deny = zone->addrs.deny.n ? &zone->addrs.deny : NULL;
    b->global_only = false;
    if (b->inside_family == 6) {
        b->prefix = zone->addrs.pool6[0].prefix.ip;
        b->global_only = (zone->addrs.pool6[0].global_only
                          && !zone->set.wkp_non_global);
    }
    b->place = zone->stateful->prefix_places[0];
    b->tick = nat64_tick(ctx->now_us);
    for (uint8_t proto = 0; proto < NAT64_N_PROTOS; proto++) {
        b->timeouts[proto] = nat64_timeout(&zone->set, proto,
                                           proto == NAT64_TCP
                                           ? NAT64_ESTABLISHED
                                           : NAT64_STATELESS);
    }
}

/* Returns enum nat64_proto of an ordinary packet, or -1 if it may change the
 * state of its session. */
static inline int
ordinary_proto(const uint8_t *l4, uint8_t proto)
{
    if (proto == IPPROTO_UDP) {
        return NAT64_UDP;
    }
    return l4[TCP_FLAGS_OFS] & TCP_FIN_SYN_RST ? -1 : NAT64_TCP;
}

static inline bool
is_pool6(const struct batch *b, struct xlat_ip6 ip)
{
    return ip.hi == b->prefix.hi && ip.lo >> 32 == b->prefix.lo >> 32;
}

/* Returns whether 'ip' may be one of the zone's own addresses. */
static inline bool
may_be_pool4(const struct batch *b, uint32_t ip)
{
    const struct nat64_pool *pool = &b->zone->stateful->pool;

    return ip >= pool->first_ip && ip <= pool->last_ip;
}

static inline bool
is_denied4(const struct batch *b, uint32_t ip)
{
    return b->deny && xlat_deny_has4(b->deny, ip);
}

static inline bool
is_denied6(const struct batch *b, struct xlat_ip6 ip)
{
    return b->deny && xlat_deny_has6(b->deny, ip);
}

static inline void
look_out(const struct batch *b, struct look *look)
{
    look->key.tenant = b->ctx->tenant;
    look->dir = NAT64_OUT;
    look->hash = nat64_hash_inside(b->nat64, &look->key);
    nat64_index_prefetch(&b->nat64->by_inside, look->hash);
}

/* Fills 'look' in for the ordinary packet 'ip' from inside.  Returns false if
 * it must take the long way. */
static inline bool
pick_out_64(const struct batch *b, const uint8_t *ip, struct look *look)
{
    const uint8_t *l4 = ip + PK_IP6_HDR_BYTES;
    struct xlat_ip6 src = xlat_ip6_load(ip + 8);
    struct xlat_ip6 dst = xlat_ip6_load(ip + 24);
    uint32_t remote = dst.lo;
    int proto = ordinary_proto(l4, ip[6]);

    if (proto < 0 || !is_pool6(b, dst) || is_pool6(b, src)
        || xlat_ip4_is_unroutable(remote) || xlat_ip6_is_unroutable(src)
        || may_be_pool4(b, remote)
        || (b->global_only && xlat_ip4_is_non_global(remote))
        || is_denied6(b, src) || is_denied6(b, dst)
        || is_denied4(b, remote)) {
        return false;
    }
    memcpy(&look->key.inside, ip + 8, 16);
    look->key.remote = htobe32(remote);
    look->key.inside_port = pk_get16(l4);
    look->key.remote_port = pk_get16(l4 + 2);
    look->key.sort = b->place * NAT64_N_SORTS + proto;
    look_out(b, look);
    return true;
}

static inline bool
pick_out_44(const struct batch *b, const uint8_t *ip, struct look *look)
{
    const uint8_t *l4 = ip + PK_IP4_HDR_BYTES;
    uint32_t inside = xlat_ip4_load(ip + 12);
    uint32_t remote = xlat_ip4_load(ip + 16);
    int proto = ordinary_proto(l4, ip[9]);

    if (proto < 0 || xlat_ip4_is_unroutable(remote)
        || xlat_ip4_is_unroutable(inside) || may_be_pool4(b, remote)
        || is_denied4(b, inside) || is_denied4(b, remote)) {
        return false;
    }
    look->key.inside = nat64_inside4(pk_get32(ip + 12));
    look->key.remote = pk_get32(ip + 16);
    look->key.inside_port = pk_get16(l4);
    look->key.remote_port = pk_get16(l4 + 2);
    look->key.sort = proto;
    look_out(b, look);
    return true;
}

/* Likewise, from outside. */
static inline bool
pick_in(const struct batch *b, const uint8_t *ip, struct look *look)
{
    const uint8_t *l4 = ip + PK_IP4_HDR_BYTES;
    uint32_t remote = xlat_ip4_load(ip + 12);
    int proto = ordinary_proto(l4, ip[9]);

    if (proto < 0 || xlat_ip4_is_unroutable(remote)
        || is_denied4(b, remote)
        || is_denied4(b, xlat_ip4_load(ip + 16))) {
        return false;
    }
    look->key.remote = pk_get32(ip + 12);
    look->key.outside = pk_get32(ip + 16);
    look->key.remote_port = pk_get16(l4);
    look->key.outside_port = pk_get16(l4 + 2);
    look->key.sort = proto;
    look->dir = NAT64_IN;
    look->hash = nat64_hash_outside(b->nat64, &look->key);
    nat64_index_prefetch(&b->nat64->by_outside, look->hash);
    return true;
}

static inline void
pick_64(const struct batch *b, const struct pk *pk, struct look *look)
{
    uint8_t from = xlat_fast_family(&b->fast, pk);

    if (from == 6 ? !pick_out_64(b, pk->data, look)
        : from == 4 ? !pick_in(b, pk->data, look) : false) {
        from = 0;
    }
    look->from = from;
}

static inline void
pick_44(const struct batch *b, const struct pk *pk, struct look *look)
{
    const struct xlat_deny *inside4 = &b->zone->stateful->inside4;

    look->from = 0;
    if (xlat_fast_is_44(&b->fast, pk)
        && (xlat_deny_has4(inside4, xlat_ip4_load(pk->data + 12))
            ? pick_out_44(b, pk->data, look)
            : pick_in(b, pk->data, look))) {
        look->from = 4;
    }
}

static inline void
pick(const struct batch *b, const struct pk *pk, struct look *look)
{
    if (b->inside_family == 6) {
        pick_64(b, pk, look);
    } else {
        pick_44(b, pk, look);
    }
}

/* Fetches the line of the session that 'look' will most likely find. */
static inline void
prefetch_session(const struct nat64 *nat64, const struct look *look)
{
    enum nat64_dir dir = look->dir;
    uint32_t i;

    if (look->from) {
        i = nat64_index_guess(dir == NAT64_OUT ? &nat64->by_inside
                                               : &nat64->by_outside,
                              look->hash);
        if (i != NAT64_NONE) {
            __builtin_prefetch(&nat64->sessions[i].dir[dir], 1);
        }
    }
}

static inline struct nat64_flow *
find_flow(const struct nat64 *nat64, const struct look *look)
{
    enum nat64_dir dir = look->dir;
    uint32_t i = dir == NAT64_OUT
                 ? nat64_index_find(&nat64->by_inside, look->hash,
                                    nat64_equal_inside, &look->key,
                                    nat64->sessions)
                 : nat64_index_find(&nat64->by_outside, look->hash,
                                    nat64_equal_outside, &look->key,
                                    nat64->sessions);

    return i == NAT64_NONE ? NULL : &nat64->sessions[i].dir[dir];
}

/* Returns whether 'flow' is established and has had a packet of this direction
 * lately, so that it certainly lives. */
static inline bool
is_ordinary(const struct batch *b, const struct nat64_flow *flow)
{
    enum nat64_proto proto = nat64_sort_proto(flow->tuple.sort);
    enum nat64_state state = nat64_state(flow);
    uint32_t age = b->tick - __atomic_load_n(&flow->stamp, __ATOMIC_RELAXED);

    return (state == (proto == NAT64_TCP ? NAT64_ESTABLISHED
                                         : NAT64_STATELESS)
            && age <= b->timeouts[proto]
            && nat64_sort_prefix(flow->tuple.sort) == b->place);
}

/* Notes a packet of 'bytes' in 'flow'. */
static inline void
note(const struct batch *b, struct nat64_flow *flow, uint32_t bytes)
{
    nat64_stamp(flow, b->tick);
    nat64_count(flow, bytes);
}

/* Updates the transport checksum at 'l4' and sets the port at 'port'. */
static inline void
put_port(uint8_t *l4, uint8_t proto, uint8_t *port,
         const struct nat64_flow *flow, pk_be16 value)
{
    xlat_hdr_update_csum(l4 + xlat_fast_csum_ofs(proto), flow->tuple.delta,
                         proto == IPPROTO_UDP);
    pk_put16(port, value);
}

/* act_44(), act_64(): translate 'pk', whose session is 'flow'. */
static inline void
act_44(const struct batch *b, struct pk *pk, enum nat64_dir dir,
       struct nat64_flow *flow)
{
    const struct nat64_tuple *t = &flow->tuple;
    uint8_t *ip = pk->data;
    uint8_t *l4 = ip + PK_IP4_HDR_BYTES;

    note(b, flow, ntohs(pk_get16(ip + 2)));
    if (dir == NAT64_OUT) {
        put_port(l4, ip[9], l4, flow, t->outside_port);
        xlat_fast_hdr_44(pk, t->outside, t->remote);
    } else {
        put_port(l4, ip[9], l4 + 2, flow, t->inside_port);
        xlat_fast_hdr_44(pk, t->remote, t->inside.in4);
    }
}

static inline void
act_64(const struct batch *b, struct pk *pk, uint8_t from,
       struct nat64_flow *flow)
{
    const struct nat64_tuple *t = &flow->tuple;
    uint8_t *ip = pk->data;

    if (from == 6) {
        uint8_t *l4 = ip + PK_IP6_HDR_BYTES;

        note(b, flow, PK_IP6_HDR_BYTES + ntohs(pk_get16(ip + 4)));
        put_port(l4, ip[6], l4, flow, t->outside_port);
        xlat_fast_hdr_64(&b->fast, pk, t->outside, t->remote,
                         xlat_rng_next(&b->ctx->rng));
    } else {
        uint8_t *l4 = ip + PK_IP4_HDR_BYTES;
        struct xlat_ip6 src = b->prefix;
        union pk_addr src6;

        src.lo |= be32toh(t->remote);
        xlat_ip6_store(src, &src6);
        note(b, flow, ntohs(pk_get16(ip + 2)));
        put_port(l4, ip[9], l4 + 2, flow, t->inside_port);
        xlat_fast_hdr_46(&b->fast, pk, &src6, &t->inside);
    }
}

static void
run_fast(struct batch *b, struct xlat_tally *tally, struct xlat_job *jobs,
         size_t n)
{
    struct look looks[XLAT_BATCH];

    for (size_t i = 0; i < n; i++) {
        jobs[i].pk.frag_mtu = 0;
        jobs[i].held = 0;
        tally->bytes += jobs[i].pk.len;
        pick(b, &jobs[i].pk, &looks[i]);
    }
    for (size_t i = 0; i < n; i++) {
        prefetch_session(b->nat64, &looks[i]);
    }
    for (size_t i = 0; i < n; i++) {
        struct nat64_flow *flow = looks[i].from ? find_flow(b->nat64,
                                                            &looks[i])
                                                : NULL;

        if (!flow || !is_ordinary(b, flow)) {
            xlat_run_one(b->zone, b->ctx, tally, &jobs[i]);
            continue;
        }
        if (b->inside_family == 6) {
            act_64(b, &jobs[i].pk, looks[i].from, flow);
            tally->translated_46 += looks[i].from == 4;
            tally->translated_64 += looks[i].from == 6;
        } else {
            act_44(b, &jobs[i].pk, looks[i].dir, flow);
            tally->translated_44++;
        }
        jobs[i].verdict = XLAT_TRANSLATED;
        jobs[i].tenant = flow->tuple.tenant;
    }
}

void
nat64_batch(const struct xlat_zone *zone, struct xlat_ctx *ctx,
            struct xlat_tally *tally, struct xlat_job *jobs, size_t n)
{
    struct batch batch;

    tally->packets = n;
    if (zone->addrs.fast && !ctx->dry_run) {
        batch_init(&batch, zone, ctx);
        run_fast(&batch, tally, jobs, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        jobs[i].pk.frag_mtu = 0;
        jobs[i].held = 0;
        tally->bytes += jobs[i].pk.len;
        xlat_run_one(zone, ctx, tally, &jobs[i]);
    }
}
