/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "ila.h"

#include "ila-csum.h"
#include "ila-map.h"
#include "ila-stats.h"
#include "pk-parse.h"
#include "xlat-prefix.h"
#include "xlat-private.h"
#include "xlat-rewrite.h"
#include "xlat-zone-private.h"

#define DST_OFS 24

/* What becomes of one destination address. */
struct change {
    const struct ila_mapping *mapping;
    struct xlat_rewrite rw;
    int dir;                     /* As in struct ila_counters. */
};

static void
change_init(struct change *c, const struct ila_mapping *m,
            struct xlat_ip6 from, struct xlat_ip6 to, int dir)
{
    bool adjust = m->csum_mode == ILA_CSUM_ADJ_TRANSPORT;

    *c = (struct change) {
        .mapping = m,
        .rw = {
            .from = 6,
            .to = 6,
            .flags = XLAT_RW_DST | (adjust ? 0 : XLAT_RW_NO_CSUM),
            .csum_delta = ila_csum_delta(from.hi, to.hi),
        },
        .dir = dir,
    };
    xlat_ip6_store(to, c->rw.dst.bytes);
}

static enum xlat_drop
to_locator(const struct ila_map *map, struct xlat_ip6 ip, struct change *c)
{
    const struct ila_mapping *m = ila_map_find(map, ip.lo);
    struct xlat_ip6 to = { .lo = ip.lo };

    if (!m) {
        return XLAT_DROP_NO_MAPPING;
    }
    to.hi = m->locator;
    switch ((enum ila_csum_mode) m->csum_mode) {
    case ILA_CSUM_NEUTRAL_MAP:
        if (ip.lo & ILA_C_BIT) {
            return XLAT_DROP_ILA_C_BIT;
        }
        to.lo = ila_csum_neutral_to_locator(ip.lo, ip.hi, m->locator, true);
        break;
    case ILA_CSUM_NEUTRAL_MAP_AUTO:
        to.lo = ila_csum_neutral_to_locator(ip.lo, ip.hi, m->locator, false);
        break;
    case ILA_CSUM_ADJ_TRANSPORT:
    case ILA_CSUM_NO_ACTION:
        break;
    }
    change_init(c, m, ip, to, 0);
    return XLAT_OK;
}

static enum xlat_drop
to_identifier(const struct ila_map *map, struct xlat_ip6 ip, struct change *c)
{
    struct ila_back back;

    if (!ila_map_find_back(map, ip.hi, ip.lo, &back)) {
        return XLAT_DROP_NO_MAPPING;
    }

    struct xlat_ip6 to = { back.sir, back.mapping->identifier };
    change_init(c, back.mapping, ip, to, 1);
    return XLAT_OK;
}

static enum xlat_drop
find_change(const struct ila_map *map, enum xlat_dir dir, struct xlat_ip6 ip,
            struct change *c)
{
    bool is_sir = dir != XLAT_DIR_TO_IDENTIFIER && ila_map_is_sir(map, ip.hi);

    return is_sir ? to_locator(map, ip, c)
           : dir != XLAT_DIR_TO_LOCATOR ? to_identifier(map, ip, c)
           : XLAT_DROP_NO_MAPPING;
}

/* Carries out 'c' on the packet 'pk' that 'info' describes, as far as 'has_l4'
 * says.  Padding behind it stays. */
static void
apply(const struct change *c, const struct pk *pk, const struct pk_info *info,
      bool has_l4)
{
    struct xlat_rewrite rw = c->rw;
    struct pk view = *pk;

    if (!has_l4) {
        rw.flags |= XLAT_RW_NO_CSUM;
    }
    xlat_rewrite_apply(&rw, &view, info, 0);
}

/* Returns whether the transport header of a packet is there, and has a
 * checksum over the destination in the IP header. */
static bool
has_transport(enum pk_parse_result result, const struct pk_info *info)
{
    return result == PK_OK && pk_has_l4(info) && info->l4_ofs < info->len;
}

/* Returns whether the packet is an ICMPv6 error. */
static bool
is_error(const uint8_t *ip, const struct pk_info *info)
{
    return info->proto == IPPROTO_ICMPV6
           && info->len >= (uint32_t) info->l4_ofs + PK_ICMP_HDR_BYTES
           && ip[info->l4_ofs] < 128;
}

/* Takes the destination of the packet inside an ICMPv6 error from locator to
 * identifier.  Returns whether it was one. */
static bool
restore_quote(const struct ila_map *map, uint8_t *ip,
              const struct pk_info *info, bool partial)
{
    uint32_t ofs = info->l4_ofs + PK_ICMP_HDR_BYTES;
    uint8_t *quote = ip + ofs;
    struct pk_info quoted;
    struct change c;

    enum pk_parse_result result = pk_parse(quote, info->len - ofs,
                                           PK_PARSE_QUOTE, &quoted);
    if (quoted.family != 6
        || to_identifier(map, xlat_ip6_load(quote + DST_OFS), &c) != XLAT_OK) {
        return false;
    }

    /* The error's own checksum has the quote in it.  Of that, only the
     * address and a checksum can change, and both are in its headers. */
    bool has_l4 = has_transport(result, &quoted);
    uint32_t changed = has_l4 ? quoted.l4_ofs + PK_TCP_HDR_BYTES
                              : PK_IP6_HDR_BYTES;
    changed = changed < quoted.len ? changed : quoted.len;

    uint64_t before = pk_csum_bytes(quote, changed);
    apply(&c, &(struct pk) { .data = quote, .len = quoted.len }, &quoted,
          has_l4);
    uint64_t after = pk_csum_bytes(quote, changed);
    if (!partial) {
        ila_csum_adjust(ip + info->l4_ofs, PK_ICMP_HDR_BYTES, IPPROTO_ICMPV6,
                        pk_csum_delta(before, after), false);
    }
    return true;
}

/* Reads the headers of a packet.  'info' is right as far as 'has_l4' says. */
static enum xlat_drop
parse(const struct pk *pk, struct pk_info *info, bool *has_l4)
{
    enum pk_parse_result result = pk_parse(pk->data, pk->len,
                                           PK_PARSE_CSUM_OK, info);

    switch (result) {
    case PK_NOT_IP:
        return XLAT_DROP_NOT_IP;
    case PK_TRUNCATED:
        return XLAT_DROP_TRUNCATED;
    case PK_BAD_HDR:
        return XLAT_DROP_BAD_HDR;
    case PK_OK:
    case PK_BAD_EXT:
    case PK_BAD_AH:
    case PK_BAD_ROUTING:
        break;
    }
    *has_l4 = has_transport(result, info);
    return info->family == 6 ? XLAT_OK : XLAT_DROP_NO_MAPPING;
}

static inline void
count(const struct ila_map *map, const struct xlat_ctx *ctx,
      const struct ila_mapping *m, int dir, uint32_t bytes)
{
    if (!ctx->dry_run) {
        ila_stats_add(map->stats, ctx->thread, m->slot, dir, 1, bytes);
    }
}

/* Returns the offset of the transport checksum if 'pk' is an IPv6 packet of
 * the usual kind, TCP, UDP or an ICMPv6 message that is no error, and nothing
 * in between; otherwise 0. */
static inline uint32_t
usual_csum_ofs(const struct pk *pk)
{
    const uint8_t *ip = pk->data;
    uint32_t total, ofs, end;

    if (pk->len < PK_IP6_HDR_BYTES + PK_ICMP_HDR_BYTES || ip[0] >> 4 != 6
        || pk->flags & PK_L4_PARTIAL) {
        return 0;
    }
    total = PK_IP6_HDR_BYTES + ntohs(pk_get16(ip + 4));
    switch (ip[6]) {
    case IPPROTO_TCP:
        ofs = PK_IP6_HDR_BYTES + 16;
        end = PK_IP6_HDR_BYTES + PK_TCP_HDR_BYTES;
        break;
    case IPPROTO_UDP:
        ofs = PK_IP6_HDR_BYTES + 6;
        end = PK_IP6_HDR_BYTES + PK_UDP_HDR_BYTES;
        break;
    case IPPROTO_ICMPV6:
        ofs = ip[PK_IP6_HDR_BYTES] < 128 ? 0 : PK_IP6_HDR_BYTES + 2;
        end = PK_IP6_HDR_BYTES + PK_ICMP_HDR_BYTES;
        break;
    default:
        return 0;
    }
    return total >= end && total <= pk->len ? ofs : 0;
}

/* Does the same as translate() below, to a usual packet in a plain map, where
 * 'm' is the mapping of its identifier or NULL.  Returns false, and does
 * nothing, if it is not that simple. */
static inline bool
translate_usual(const struct ila_map *map, const struct ila_mapping *m,
                uint32_t csum_ofs, const struct xlat_ctx *ctx, struct pk *pk)
{
    uint8_t *ip = pk->data;
    struct xlat_ip6 dst = xlat_ip6_load(ip + DST_OFS);
    int dir = dst.hi != map->sirs[0];
    if (!m || (dir && m->locator != dst.hi)
        || ctx->dir == (dir ? XLAT_DIR_TO_LOCATOR : XLAT_DIR_TO_IDENTIFIER)) {
        return false;
    }

    uint64_t prefix = htobe64(dir ? map->sirs[0] : m->locator);
    memcpy(ip + DST_OFS, &prefix, sizeof prefix);
    pk_be16 field = pk_get16(ip + csum_ofs);
    if (m->csum_mode == ILA_CSUM_ADJ_TRANSPORT
        && (field || ip[6] != IPPROTO_UDP)) {
        field = pk_csum_update(field, dir ? ~m->delta : m->delta);
        pk_put16(ip + csum_ofs,
                 !field && ip[6] == IPPROTO_UDP ? 0xffff : field);
    }
    count(map, ctx, m, dir, PK_IP6_HDR_BYTES + ntohs(pk_get16(ip + 4)));
    return true;
}

/* Translates one packet.  Returns the reason to drop it, or XLAT_OK. */
static enum xlat_drop
translate(const struct ila_map *map, const struct xlat_ctx *ctx,
          struct pk *pk)
{
    bool partial = pk->flags & PK_L4_PARTIAL;
    struct pk_info info;
    struct change c;
    bool has_l4 = false;
    enum xlat_drop drop = parse(pk, &info, &has_l4);

    if (drop != XLAT_OK) {
        return drop;
    }
    drop = find_change(map, ctx->dir, xlat_ip6_load(pk->data + DST_OFS), &c);
    if (drop == XLAT_OK) {
        apply(&c, pk, &info, has_l4);
        count(map, ctx, c.mapping, c.dir, info.len);
    }
    if ((drop == XLAT_OK || drop == XLAT_DROP_NO_MAPPING)
        && has_l4 && is_error(pk->data, &info)
        && restore_quote(map, pk->data, &info, partial)) {
        return XLAT_OK;
    }
    return drop;
}

static void __attribute__((noinline))
run_one(const struct xlat_zone *zone, const struct xlat_ctx *ctx,
        struct xlat_tally *tally, struct xlat_job *job)
{
    uint8_t from = job->pk.len ? job->pk.data[0] >> 4 : 0;
    enum xlat_drop drop = translate(zone->ila, ctx, &job->pk);

    if (drop == XLAT_OK) {
        job->verdict = XLAT_TRANSLATED;
    } else if (zone->set.miss == XLAT_MISS_PASS
               && (drop == XLAT_DROP_NO_MAPPING || drop == XLAT_DROP_NOT_IP)) {
        job->verdict = XLAT_PASSED;
    } else {
        xlat_drop(job, drop);
    }
    xlat_tally_job(tally, job, from);
}

/* Looks up the destinations of all packets that have one.  'found' has a place
 * for each of the others, too. */
static void
find_all(const struct ila_map *map, unsigned int thread,
         const struct xlat_job *jobs, size_t n,
         const struct ila_mapping **found)
{
    struct xlat_ip6 dsts[XLAT_BATCH];

    for (size_t i = 0; i < n; i++) {
        const struct pk *pk = &jobs[i].pk;

        dsts[i] = pk->len >= PK_IP6_HDR_BYTES
                  ? xlat_ip6_load(pk->data + DST_OFS)
                  : (struct xlat_ip6) { 0, 0 };
    }
    ila_map_find_batch(map, thread, dsts, n, found);
}

void
ila_run(const struct xlat_zone *zone, struct xlat_ctx *ctx,
        struct xlat_tally *tally, struct xlat_job *jobs, size_t n)
{
    const struct ila_map *map = zone->ila;
    const struct ila_mapping *found[XLAT_BATCH];
    bool is_large = ila_map_is_large(map);
    uint32_t n_usual = 0;

    if (is_large) {
        find_all(map, ctx->thread, jobs, n, found);
    }
    for (size_t i = 0; i < n; i++) {
        struct pk *pk = &jobs[i].pk;
        uint32_t csum_ofs = map->plain ? usual_csum_ofs(pk) : 0;

        tally->bytes += pk->len;
        if (csum_ofs && !is_large) {
            found[i] = ila_map_find(map, xlat_ip6_load(pk->data + DST_OFS).lo);
        }
        if (csum_ofs && translate_usual(map, found[i], csum_ofs, ctx, pk)) {
            jobs[i].verdict = XLAT_TRANSLATED;
            n_usual++;
        } else {
            run_one(zone, ctx, tally, &jobs[i]);
        }
    }
    tally->packets += n;
    tally->translated_66 += n_usual;
}
