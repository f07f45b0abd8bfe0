/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* One packet through a siit zone: the steps, in their order.
 *
 * Read the headers, look the addresses up, decide whether it goes on, rewrite.
 * Nothing is changed before the decision, so that a packet can be passed on or
 * quoted as it came. */

#include "xlat-addr.h"
#include "xlat-icmp-error.h"
#include "xlat-private.h"

static enum xlat_drop drop_of_parse(enum pk_parse_result);
static bool is_known_error(const struct xlat_way *);
static enum xlat_drop run_packet(struct xlat_way *, enum pk_parse_result);
static enum xlat_drop run_error(struct xlat_way *);

void
xlat_siit_run(struct xlat_way *way)
{
    struct pk *pk = &way->job->pk;
    unsigned int flags = pk->flags & PK_IP_CSUM_OK ? PK_PARSE_CSUM_OK : 0;
    enum pk_parse_result result;
    enum xlat_drop drop;

    result = pk_parse(pk->data, pk->len, flags, &way->info);
    if (result && result < PK_BAD_EXT) {
        drop = drop_of_parse(result);
    } else if (!result && is_known_error(way)) {
        drop = run_error(way);
    } else {
        drop = run_packet(way, result);
    }

    if (drop == XLAT_OK) {
        way->job->verdict = XLAT_TRANSLATED;
    } else if (way->zone->set.miss == XLAT_MISS_PASS
               && (drop == XLAT_DROP_NOT_IP || drop == XLAT_DROP_NO_MAPPING)) {
        way->job->verdict = XLAT_PASSED;
    } else {
        xlat_reply_or_drop(way, drop);
    }
}

static enum xlat_drop
drop_of_parse(enum pk_parse_result result)
{
    switch (result) {
    case PK_OK:
        return XLAT_OK;
    case PK_NOT_IP:
        return XLAT_DROP_NOT_IP;
    case PK_TRUNCATED:
        return XLAT_DROP_TRUNCATED;
    case PK_BAD_EXT:
        return XLAT_DROP_BAD_EXT_HDR;
    case PK_BAD_AH:
        return XLAT_DROP_AH;
    case PK_BAD_ROUTING:
        return XLAT_DROP_ROUTING_HDR;
    case PK_BAD_HDR:
    default:
        return XLAT_DROP_BAD_HDR;
    }
}

static bool
is_known_error(const struct xlat_way *way)
{
    const struct pk_info *info = &way->info;

    return (xlat_is_icmp(info) && !xlat_is_cut(info)
            && pk_l4_bytes(info) >= PK_ICMP_HDR_BYTES
            && xlat_icmp_is_known_error(info->family,
                                        way->job->pk.data[info->l4_ofs]));
}

/* Makes '*rw' the rewrite from 'from' to 'to' of a packet of the zone. */
static void
make_rewrite(const struct xlat_way *way, uint8_t from, uint8_t to,
             const struct xlat_addr *addr, struct xlat_rewrite *rw)
{
    const struct xlat_settings *set = &way->zone->set;

    *rw = (struct xlat_rewrite) {
        .from = from,
        .to = to,
        .flags = XLAT_RW_SRC | XLAT_RW_DST,
    };
    if (addr) {
        rw->src = addr->src;
        rw->dst = addr->dst;
    }
    if (to == 4 && set->tos_override >= 0) {
        rw->flags |= XLAT_RW_TOS_SET;
        rw->tos = set->tos_override;
    } else if (to == 6 && set->reset_traffic_class) {
        rw->flags |= XLAT_RW_TOS_SET;
    }
}

/* Translates the packet of 'way' by 'rw', which has no delta yet. */
static enum xlat_drop
apply(struct xlat_way *way, struct xlat_rewrite *rw)
{
    struct pk *pk = &way->job->pk;
    uint16_t ip_id = xlat_rng_next(&way->ctx->rng);

    xlat_l4_fill_csum(way);
    xlat_rewrite_set_delta(rw, pk->data, &way->info);
    if (rw->to == 4) {
        pk->frag_id = way->info.is_frag ? way->info.frag_id & 0xffff : ip_id;
    }
    return xlat_rewrite_apply(rw, pk, &way->info, ip_id);
}

/* Reads the packet anew between the two halves of a hairpin (RFC 7757,
 * 4.2.2).  It is one of ours. */
static enum xlat_drop
reread(struct xlat_way *way)
{
    return drop_of_parse(pk_parse(way->job->pk.data, way->job->pk.len,
                                  PK_PARSE_CSUM_OK, &way->info));
}

/* IPv6 to IPv6 by way of IPv4.  No MTU of the IPv4 side matters, and the hop
 * limit goes down once.  What the IPv4 addresses between are does not matter
 * either. */
static enum xlat_drop
hairpin(struct xlat_way *way, const struct xlat_addr *addr)
{
    const struct xlat_settings *set = &way->zone->set;
    struct pk *pk = &way->job->pk;
    struct xlat_rewrite rw;
    enum xlat_drop drop;

    drop = xlat_64_prepare_ttl(way);
    if (drop == XLAT_OK) {
        drop = xlat_l4_prepare(way);
    }
    if (drop != XLAT_OK) {
        return drop;
    }
    if (!pk->gso_size && way->info.len > set->mtu6) {
        way->param = set->mtu6;
        return XLAT_DROP_TOO_BIG;
    }

    make_rewrite(way, 6, 4, NULL, &rw);
    rw.flags |= XLAT_RW_TTL_DEC;
    drop = apply(way, &rw);
    if (drop == XLAT_OK) {
        drop = reread(way);
    }
    if (drop == XLAT_OK) {
        make_rewrite(way, 4, 6, addr, &rw);
        drop = apply(way, &rw);
    }
    return drop;
}

/* Anything but an ICMP error that can be translated. */
static enum xlat_drop
run_packet(struct xlat_way *way, enum pk_parse_result result)
{
    struct xlat_addr addr = {
        .ip = way->job->pk.data,
        .from = way->info.family,
    };
    struct xlat_rewrite rw;
    enum xlat_drop drop;

    xlat_addr_one(way->zone, &addr);
    if (addr.drop != XLAT_OK) {
        return addr.drop;
    } else if (result) {
        way->param = result == PK_BAD_ROUTING ? way->info.bad_ofs : 0;
        return drop_of_parse(result);
    } else if (addr.from == addr.to) {
        return hairpin(way, &addr);
    }
    make_rewrite(way, addr.from, addr.to, &addr, &rw);
    rw.flags |= XLAT_RW_TTL_DEC;
    drop = (rw.to == 6 ? xlat_46_prepare(way, &rw)
                       : xlat_64_prepare(way, &rw));
    return drop == XLAT_OK ? apply(way, &rw) : drop;
}

/* Translates the ICMP error of 'way', of which 'err' was read, from 'from' to
 * 'to'. */
static enum xlat_drop
apply_error(struct xlat_way *way, uint8_t from, uint8_t to,
            const struct xlat_addr *outer, const struct xlat_addr *inner,
            const struct xlat_settings *set, struct xlat_icmp_error *err,
            uint8_t flags)
{
    struct xlat_rewrite outer_rw, inner_rw;

    make_rewrite(way, from, to, outer, &outer_rw);
    make_rewrite(way, from, to, inner, &inner_rw);
    outer_rw.flags |= flags;
    xlat_rewrite_set_delta(&inner_rw, err->quote, &err->inner);
    return xlat_icmp_error_apply(&outer_rw, &inner_rw, set, &way->job->pk,
                                 &way->info, err,
                                 xlat_rng_next(&way->ctx->rng));
}

/* An ICMP error by way of IPv4; see hairpin(). */
static enum xlat_drop
hairpin_error(struct xlat_way *way, const struct xlat_addr *outer,
              const struct xlat_addr *inner)
{
    struct xlat_settings set = way->zone->set;
    struct xlat_icmp_error err;
    enum xlat_drop drop;
    uint32_t l4_bytes;

    set.mtu4 = UINT16_MAX;
    drop = xlat_icmp_error_read(&way->job->pk, &way->info, &set, &err);
    if (drop == XLAT_OK) {
        drop = apply_error(way, 6, 4, NULL, NULL, &set, &err,
                           XLAT_RW_TTL_DEC);
    }
    if (drop != XLAT_OK) {
        return drop;
    }
    l4_bytes = pk_l4_bytes(&err.inner);
    drop = reread(way);
    if (drop == XLAT_OK) {
        drop = xlat_icmp_error_read(&way->job->pk, &way->info, &set, &err);
    }
    if (drop != XLAT_OK) {
        return drop;
    }
    if (pk_l4_bytes(&err.inner) > l4_bytes) {
        /* Padding in front of extensions, just put there. */
        err.inner.len = err.inner.l4_ofs + l4_bytes;
    }
    return apply_error(way, 4, 6, outer, inner, &set, &err, 0);
}

/* An ICMP error of a type that can be translated. */
static enum xlat_drop
run_error(struct xlat_way *way)
{
    struct pk *pk = &way->job->pk;
    struct xlat_icmp_error err;
    enum xlat_drop drop = xlat_icmp_error_read(pk, &way->info,
                                               &way->zone->set, &err);
    struct xlat_addr outer = { .ip = pk->data, .from = way->info.family };
    struct xlat_addr inner = { .ip = err.quote, .from = way->info.family };

    xlat_addr_error(way->zone, &way->ctx->rng, &outer,
                    err.quote ? &inner : NULL);
    if (outer.drop != XLAT_OK) {
        return outer.drop;
    } else if (drop != XLAT_OK) {
        return drop;
    } else if (inner.drop != XLAT_OK) {
        return XLAT_DROP_ICMP_INNER;
    }
    drop = (outer.from == 4 ? xlat_46_prepare_ttl(way)
                            : xlat_64_prepare_ttl(way));
    if (drop != XLAT_OK) {
        return drop;
    } else if (outer.from == outer.to) {
        return hairpin_error(way, &outer, &inner);
    }
    return apply_error(way, outer.from, outer.to, &outer, &inner,
                       &way->zone->set, &err, XLAT_RW_TTL_DEC);
}
