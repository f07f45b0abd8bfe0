/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include "oracle-siit.h"

#include <netinet/in.h>
#include <string.h>

#include "oracle-private.h"

#define MIN(A, B) ((A) < (B) ? (A) : (B))
#define MAX(A, B) ((A) > (B) ? (A) : (B))

#define PROTO_DCCP 33
#define PROTO_UDPLITE 136

static void to6(const struct orc_conf *, const struct pk *,
                const struct orc_choice *, struct orc_want *);
static void to4(const struct orc_conf *, const struct pk *,
                const struct orc_choice *, struct orc_want *);

void
orc_siit(const struct orc_conf *conf, const struct pk *pk,
         const struct orc_choice *choice, struct orc_want *want)
{
    memset(&want->why, 0, sizeof want->why);
    want->may_pass = false;
    want->len = 0;
    want->gso_min = want->gso_max = pk->gso_size;
    want->frag_mtu = 0;
    want->frag_id_set = false;
    want->partial = false;
    want->n_loose = 0;

    if (!pk->len) {
        want->why.must |= ORC_WHY(NOT_IP) | ORC_WHY(TRUNCATED);
    } else if (pk->data[0] >> 4 == 4) {
        to6(conf, pk, choice, want);
    } else if (pk->data[0] >> 4 == 6) {
        to4(conf, pk, choice, want);
    } else {
        want->why.must |= ORC_WHY(NOT_IP);
    }
    want->may_pass = (conf->set.miss == XLAT_MISS_PASS
                      && want->why.must & (ORC_WHY(NOT_IP)
                                           | ORC_WHY(NO_MAPPING)));
}

void
orc_loose(struct orc_want *want, size_t ofs)
{
    want->loose[want->n_loose++] = ofs;
}

static void
fault(enum orc_fault f, struct orc_want *want)
{
    want->why.must |= (f == ORC_TRUNCATED ? ORC_WHY(TRUNCATED)
                       : f == ORC_BAD_HDR ? ORC_WHY(BAD_HDR) : 0);
}

/* Transport. */

static bool
zero_means_none(uint8_t proto)
{
    return proto == IPPROTO_UDP || proto == PROTO_UDPLITE;
}

static int
pseudo_csum_ofs(uint8_t proto)
{
    return (proto == PROTO_DCCP || proto == PROTO_UDPLITE ? 6
            : proto == IPPROTO_ICMP || proto == IPPROTO_ICMPV6 ? -1
            : orc_csum_ofs(proto));
}

void
orc_l4_translate(const struct orc_l4 *l4, uint8_t *p, size_t n, size_t ofs,
                 struct orc_want *want)
{
    int at = pseudo_csum_ofs(l4->proto);
    bool whole = !l4->frag && !l4->quoted && n == l4->full_len;
    uint16_t field, sum;

    if (at < 0 || !l4->first || n < (size_t) at + 2) {
        return;
    }
    field = orc_get16(p + at);
    if (l4->partial) {
        orc_put16(p + at, orc_add(orc_sub(field, l4->old_pseudo),
                                  l4->new_pseudo));
        orc_loose(want, ofs + at);
        return;
    }
    if (l4->proto == IPPROTO_UDP && !field) {
        return;
    }
    if (whole && field != 0xffff
        && orc_add(orc_sum(p, n), l4->old_pseudo) == 0) {
        /* The checksum is right: make it anew. */
        orc_put16(p + at, 0);
        sum = ~orc_sum((uint8_t[]) { l4->new_pseudo >> 8, l4->new_pseudo,
                                     orc_sum(p, n) >> 8, orc_sum(p, n) }, 4);
        orc_put16(p + at, sum || !zero_means_none(l4->proto) ? sum : 0xffff);
        return;
    }
    /* It is wrong, or cannot be verified here: as wrong as before. */
    sum = orc_add(orc_sub(~field, l4->old_pseudo), l4->new_pseudo);
    orc_put16(p + at, sum ? ~sum : zero_means_none(l4->proto) ? 0xffff : 0);
    if (l4->proto != IPPROTO_UDP) {
        orc_loose(want, ofs + at);
    }
}

/* Checks that a transport header is there, where one must be. */
static void
check_l4(const struct orc_l4 *l4, const uint8_t *p, size_t n,
         struct orc_want *want)
{
    size_t need = (l4->proto == IPPROTO_TCP ? 18
                   : l4->proto == IPPROTO_UDP || l4->proto == PROTO_DCCP
                     || l4->proto == PROTO_UDPLITE ? 8 : 0);

    if (!l4->first) {
        return;
    }
    if (n < need) {
        want->why.must |= ORC_WHY(TRUNCATED) | ORC_WHY(BAD_HDR);
        return;
    }
    if (l4->proto == IPPROTO_TCP && n < 20) {
        want->why.may |= ORC_WHY(TRUNCATED) | ORC_WHY(BAD_HDR);
    }
    if (l4->proto == IPPROTO_UDP && !l4->frag
        && (orc_get16(p + 4) < 8 || orc_get16(p + 4) > n)) {
        want->why.may |= ORC_WHY(TRUNCATED) | ORC_WHY(BAD_HDR);
    }
}

/* A UDP checksum of zero, IPv4 to IPv6 (RFC 7915, 4.5). */
static void
udp_zero(const struct orc_conf *conf, const struct orc_l4 *l4, uint8_t *p,
         size_t n, struct orc_want *want)
{
    uint16_t len, sum;

    if (l4->proto != IPPROTO_UDP || !l4->first || n < 8 || l4->partial
        || orc_get16(p + 6)
        || conf->set.udp_zero_checksum == XLAT_UDP_ZERO_FORWARD) {
        return;
    }
    if (conf->set.udp_zero_checksum == XLAT_UDP_ZERO_DROP || l4->frag) {
        want->why.must |= ORC_WHY(UDP_CSUM_ZERO);
        return;
    }
    len = orc_get16(p + 4);
    if (len < 8 || len > n) {
        want->why.must |= ORC_WHY(TRUNCATED) | ORC_WHY(BAD_HDR);
        return;
    }
    sum = orc_add(orc_sum(p, len),
                  orc_add(orc_sub(l4->new_pseudo, l4->full_len), len));
    orc_put16(p + 6, sum ? ~sum : 0xffff);
}

/* Segments of at most 'limit' bytes with 'hdr' bytes of IP header in front. */
static void
segment(const struct pk *pk, uint8_t proto, const uint8_t *l4, size_t n,
        size_t hdr, uint32_t limit, bool shrink, struct orc_want *want)
{
    uint32_t l4_hdr = (proto != IPPROTO_TCP ? 8
                       : n >= 20 ? (l4[12] >> 4) * 4 : 20);
    int fit = (int) limit - (int) hdr - (int) l4_hdr;
    int gso = pk->gso_size;

    if (proto != IPPROTO_TCP) {
        /* Datagrams have the size they have. */
        if (gso > fit) {
            want->why.must |= ORC_WHY(TOO_BIG);
        }
        return;
    }
    if (fit < 1) {
        want->why.must |= ORC_WHY(TOO_BIG);
        return;
    }
    want->gso_max = MIN(gso, fit);
    want->gso_min = MAX(1, MIN(gso - (shrink ? 20 : 0), fit));
}

/* IPv4 to IPv6. */

static void
size6(const struct orc_conf *conf, const struct pk *pk,
      const struct orc_ip4 *in, size_t hdr, struct orc_want *want)
{
    uint32_t lowest = MIN(conf->set.lowest_ipv6_mtu, conf->set.mtu6);
    bool frag = in->mf || in->frag_ofs;

    if (pk->gso_size && !frag) {
        segment(pk, in->proto, in->payload, in->payload_len, hdr,
                in->df ? conf->set.mtu6 : lowest, true, want);
    } else if (in->df) {
        if (want->len > conf->set.mtu6) {
            want->why.must |= ORC_WHY(TOO_BIG);
        } else if (in->total_len + 20u > conf->set.mtu6) {
            /* Fits only as its options are gone. */
            want->why.may |= ORC_WHY(TOO_BIG);
        }
    } else if (want->len > lowest) {
        want->frag_mtu = lowest;
        want->frag_id = in->id;
        want->frag_id_set = true;
    }
}

static void
addrs6(const struct orc_conf *conf, const struct orc_ip4 *in, bool error,
       struct orc_ip6 *out, struct orc_want *want)
{
    bool simple = conf->set.hairpin == XLAT_HAIRPIN_SIMPLE;
    struct orc_ip4 inner;
    bool src_eam = !simple;

    /* RFC 7757, 4.2.1. */
    if (error) {
        src_eam = !(simple && orc_icmp4_inner(in, &inner)
                    && inner.dst == in->src);
    }
    orc_addr46(conf, in->src, src_eam, error ? ORC_ERROR_SRC : ORC_SRC,
               out->src, &want->why);
    orc_addr46(conf, in->dst, true, ORC_DST, out->dst, &want->why);
}

static bool
is_icmp4_error(const struct orc_ip4 *in)
{
    return (in->proto == IPPROTO_ICMP && !in->mf && !in->frag_ofs
            && in->payload_len && orc_icmp4_is_error(in->payload[0]));
}

/* Protocols that mean something else, or nothing, in the other family. */
static void
odd_proto(uint8_t proto, bool in4, struct orc_want *want)
{
    if (proto == IPPROTO_IGMP) {
        *(in4 ? &want->why.must : &want->why.may) |= ORC_WHY(ICMP_TYPE);
    } else if (proto == (in4 ? IPPROTO_ICMPV6 : IPPROTO_ICMP)) {
        want->why.may |= ORC_WHY(ICMP_TYPE) | ORC_WHY(BAD_HDR);
    } else if (in4 && (proto == IPPROTO_HOPOPTS || proto == IPPROTO_ROUTING
                       || proto == IPPROTO_FRAGMENT
                       || proto == IPPROTO_DSTOPTS)) {
        want->why.may |= ORC_WHY(BAD_EXT_HDR) | ORC_WHY(BAD_HDR);
    } else if (proto == IPPROTO_AH) {
        want->why.may |= ORC_WHY(AH);
    }
}

static void
to6(const struct orc_conf *conf, const struct pk *pk,
    const struct orc_choice *choice, struct orc_want *want)
{
    struct orc_ip4 in;
    struct orc_ip6 out = { 0 };
    enum orc_fault f = orc_ip4_decode(pk->data, pk->len, false, &in);
    bool frag, error, bad_options;
    size_t hdr;
    int growth = 0;

    want->from = 4;
    want->to = 6;
    fault(f, want);
    if (pk->len < 20) {
        return;
    }
    frag = in.mf || in.frag_ofs;
    error = !f && is_icmp4_error(&in);
    addrs6(conf, &in, error, &out, want);
    if (in.ttl <= 1) {
        want->why.must |= ORC_WHY(TTL);
    }
    if (f) {
        return;
    }
    if (!(pk->flags & PK_IP_CSUM_OK)
        && orc_sum(pk->data, in.hdr_len) != 0xffff) {
        want->why.must |= ORC_WHY(BAD_HDR);
    }
    if (orc_ip4_source_route(pk->data, in.hdr_len, &bad_options)) {
        want->why.must |= ORC_WHY(SOURCE_ROUTE);
    }

    out.tc = conf->set.reset_traffic_class ? 0 : in.tos;
    out.hop_limit = in.ttl - 1;
    out.proto = in.proto == IPPROTO_ICMP ? IPPROTO_ICMPV6 : in.proto;
    out.has_frag = frag;
    out.mf = in.mf;
    out.frag_ofs = in.frag_ofs;
    out.frag_id = in.id;
    hdr = frag ? 48 : 40;

    odd_proto(in.proto, true, want);
    if (in.proto == IPPROTO_ICMP) {
        if (frag) {
            want->why.must |= ORC_WHY(ICMP_FRAGMENT);
            return;
        }
        orc_icmp46(conf, &in, &out, choice, hdr, &growth, want);
    } else {
        struct orc_l4 l4 = {
            .proto = in.proto, .frag = frag, .first = !in.frag_ofs,
            .partial = pk->flags & PK_L4_PARTIAL,
            .full_len = in.payload_len,
            .old_pseudo = orc_pseudo4(in.src, in.dst, in.proto,
                                      in.payload_len),
            .new_pseudo = orc_pseudo6(out.src, out.dst, in.proto,
                                      in.payload_len),
        };
        uint8_t *p = want->out + hdr;

        memcpy(p, in.payload, in.payload_len);
        want->len = hdr + in.payload_len;
        want->partial = l4.partial;
        check_l4(&l4, p, in.payload_len, want);
        udp_zero(conf, &l4, p, in.payload_len, want);
        orc_l4_translate(&l4, p, in.payload_len, hdr, want);
    }
    size6(conf, pk, &in, hdr, want);
    growth += (int) hdr - (int) in.hdr_len;
    if (!error && growth > (int) pk->headroom) {
        want->why.must |= ORC_WHY(NO_HEADROOM);
    } else if (error && growth + 144 > (int) pk->headroom) {
        /* Headers in front of a quote grow, quotes are padded and cut: how
         * much room that takes depends on what is moved. */
        want->why.may |= ORC_WHY(NO_HEADROOM);
    }
    out.payload_len = want->len - 40;
    orc_ip6_encode(want->out, &out);
}

/* IPv6 to IPv4. */

static void
ext_faults(const struct orc_ip6 *in, struct orc_want *want)
{
    if (in->ext_faults & ORC_EXT_CUT) {
        want->why.must |= ORC_WHY(BAD_EXT_HDR) | ORC_WHY(TRUNCATED);
    }
    if (in->ext_faults & ORC_EXT_AH) {
        want->why.must |= ORC_WHY(AH);
    }
    if (in->ext_faults & ORC_EXT_BEHIND_FRAG) {
        want->why.must |= ORC_WHY(BAD_EXT_HDR);
    }
    if (in->ext_faults & ORC_EXT_SEGMENTS_LEFT) {
        want->why.must |= ORC_WHY(ROUTING_HDR);
    }
    if (in->ext_faults & ORC_EXT_HBH_LATE) {
        want->why.may |= ORC_WHY(BAD_EXT_HDR);
    }
}

static bool
is_icmp6_error(const struct orc_ip6 *in)
{
    return (in->proto == IPPROTO_ICMPV6 && !in->mf && !in->frag_ofs
            && !in->ext_faults && in->payload_len_here
            && orc_icmp6_is_error(in->payload[0]));
}

static uint16_t
choose16(const struct orc_choice *choice, size_t ofs)
{
    return choice->len >= ofs + 2 ? orc_get16(choice->out + ofs) : 0;
}

static uint32_t
choose32(const struct orc_choice *choice, size_t ofs)
{
    return choice->len >= ofs + 4 ? orc_get32(choice->out + ofs) : 0;
}

static void
size4(const struct orc_conf *conf, const struct pk *pk,
      const struct orc_ip6 *in, const struct orc_ip4 *out,
      struct orc_want *want)
{
    if (want->len > 65535) {
        want->why.must |= ORC_WHY(GROWN_PAST_MAX);
    }
    if (pk->gso_size && !in->has_frag) {
        segment(pk, in->proto, in->payload, in->payload_len_here, 20,
                conf->set.mtu4, false, want);
    } else if (want->len > conf->set.mtu4) {
        if (out->df) {
            want->why.must |= ORC_WHY(TOO_BIG);
        } else {
            want->frag_mtu = conf->set.mtu4;
        }
    }
}

static void
to4(const struct orc_conf *conf, const struct pk *pk,
    const struct orc_choice *choice, struct orc_want *want)
{
    struct orc_ip6 in;
    struct orc_ip4 out = { 0 };
    enum orc_fault f = orc_ip6_decode(pk->data, pk->len, false, &in);
    bool frag, error;

    want->from = 6;
    want->to = 4;
    fault(f, want);
    if (pk->len < 40) {
        return;
    }
    frag = in.mf || in.frag_ofs;
    error = !f && is_icmp6_error(&in);
    orc_addr64(conf, in.src, error ? ORC_ERROR_SRC : ORC_SRC,
               choose32(choice, 12), &out.src, &want->why);
    orc_addr64(conf, in.dst, ORC_DST, 0, &out.dst, &want->why);
    if (in.hop_limit <= 1) {
        want->why.must |= ORC_WHY(TTL);
    }
    if (f) {
        return;
    }
    ext_faults(&in, want);
    if (in.ext_faults & (ORC_EXT_CUT | ORC_EXT_AH | ORC_EXT_BEHIND_FRAG)) {
        return;
    }

    out.tos = conf->set.tos_override < 0 ? in.tc : conf->set.tos_override;
    out.ttl = in.hop_limit - 1;
    out.proto = in.proto == IPPROTO_ICMPV6 ? IPPROTO_ICMP : in.proto;
    odd_proto(in.proto, false, want);
    if (in.proto == IPPROTO_ICMPV6) {
        if (frag) {
            want->why.must |= ORC_WHY(ICMP_FRAGMENT);
            return;
        }
        orc_icmp64(conf, &in, choice, 20, want);
    } else {
        struct orc_l4 l4 = {
            .proto = in.proto, .frag = frag, .first = !in.frag_ofs,
            .partial = pk->flags & PK_L4_PARTIAL,
            .full_len = in.payload_len_here,
            .old_pseudo = orc_pseudo6(in.src, in.dst, in.proto,
                                      in.payload_len_here),
            .new_pseudo = orc_pseudo4(out.src, out.dst, in.proto,
                                      in.payload_len_here),
        };
        uint8_t *p = want->out + 20;

        memcpy(p, in.payload, in.payload_len_here);
        want->len = 20 + in.payload_len_here;
        want->partial = l4.partial;
        check_l4(&l4, p, in.payload_len_here, want);
        orc_l4_translate(&l4, p, in.payload_len_here, 20, want);
    }
    out.total_len = want->len;
    if (in.has_frag) {
        out.mf = in.mf;
        out.frag_ofs = in.frag_ofs;
        out.id = in.frag_id;
    } else {
        out.df = want->len > 1260;
        out.id = choose16(choice, 4);
    }
    size4(conf, pk, &in, &out, want);
    orc_ip4_encode(want->out, &out);
}
