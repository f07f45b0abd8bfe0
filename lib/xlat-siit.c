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
        drop = xlat_way_parse_drop(result);
    } else if (!result && xlat_way_is_known_error(way)) {
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

/* Reads the packet anew between the two halves of a hairpin (RFC 7757,
 * 4.2.2).  It is one of ours. */
static enum xlat_drop
reread(struct xlat_way *way)
{
    return xlat_way_parse_drop(pk_parse(way->job->pk.data, way->job->pk.len,
                                  PK_PARSE_CSUM_OK, &way->info));
}

/* Makes '*rw' the rewrite from 'from' to 'to' of a packet of the zone. */
static void
make_rewrite(const struct xlat_way *way, uint8_t from, uint8_t to,
             const struct xlat_addr *addr, struct xlat_rewrite *rw)
{
    xlat_way_init_rewrite(way, from, to, rw);
    if (addr) {
        rw->src = addr->src;
        rw->dst = addr->dst;
    }
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
    drop = xlat_way_apply(way, &rw);
    if (drop == XLAT_OK) {
        drop = reread(way);
    }
    if (drop == XLAT_OK) {
        make_rewrite(way, 4, 6, addr, &rw);
        drop = xlat_way_apply(way, &rw);
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
        return xlat_way_parse_drop(result);
    } else if (addr.from == addr.to) {
        return hairpin(way, &addr);
    }
    make_rewrite(way, addr.from, addr.to, &addr, &rw);
    rw.flags |= XLAT_RW_TTL_DEC;
    drop = (rw.to == 6 ? xlat_46_prepare(way, &rw)
                       : xlat_64_prepare(way, &rw));
    return drop == XLAT_OK ? xlat_way_apply(way, &rw) : drop;
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
    drop = xlat_icmp_error_read(&way->job->pk, &way->info, 4, &set, &err);
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
        drop = xlat_icmp_error_read(&way->job->pk, &way->info, 6, &set, &err);
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
    uint8_t to = way->info.family == 4 ? 6 : 4;
    enum xlat_drop drop = xlat_icmp_error_read(pk, &way->info, to,
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
