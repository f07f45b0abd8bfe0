/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include "oracle-siit.h"

#include <netinet/in.h>
#include <stddef.h>
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
static void hairpin(const struct orc_conf *, const struct pk *,
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
    want->anything = false;

    if (!pk->len) {
        want->why.must |= ORC_WHY(NOT_IP) | ORC_WHY(TRUNCATED);
    } else if (pk->data[0] >> 4 == 4) {
        to6(conf, pk, choice, want);
    } else if (pk->data[0] >> 4 == 6) {
        if (orc_is_hairpinned(conf, pk)) {
            hairpin(conf, pk, choice, want);
        } else {
            to4(conf, pk, choice, want);
        }
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
fault(unsigned int f, struct orc_want *want)
{
    want->why.must |= ((f & ORC_TRUNCATED ? ORC_WHY(TRUNCATED) : 0)
                       | (f & ORC_BAD_HDR ? ORC_WHY(BAD_HDR) : 0));
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
    if (zero_means_none(l4->proto) && !field) {
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

/* A UDP checksum of zero (RFC 7915, 4.5; the same knob serves the other way,
 * where the RFC says nothing).  Returns true if there is one. */
static bool
udp_zero(const struct orc_conf *conf, const struct orc_l4 *l4, uint8_t *p,
         size_t n, struct orc_want *want)
{
    uint16_t len, sum;

    if (l4->proto != IPPROTO_UDP || !l4->first || n < 8 || l4->partial
        || orc_get16(p + 6)) {
        return false;
    }
    if (conf->set.udp_zero_checksum == XLAT_UDP_ZERO_FORWARD) {
        return true;
    }
    if (conf->set.udp_zero_checksum == XLAT_UDP_ZERO_DROP || l4->frag) {
        want->why.must |= ORC_WHY(UDP_CSUM_ZERO);
        return true;
    }
    len = orc_get16(p + 4);
    if (len < 8 || len > n) {
        want->why.must |= ORC_WHY(TRUNCATED) | ORC_WHY(BAD_HDR);
        return true;
    }
    sum = orc_add(orc_sum(p, len),
                  orc_add(orc_sub(l4->new_pseudo, l4->full_len), len));
    orc_put16(p + 6, sum ? ~sum : 0xffff);
    return true;
}

/* Segments of at most 'limit' bytes, and no more than 'link' has, with 'hdr'
 * bytes of IP header in front. */
static void
segment(const struct pk *pk, uint8_t proto, const uint8_t *l4, size_t n,
        size_t hdr, uint32_t limit, uint32_t link, bool shrink,
        struct orc_want *want)
{
    uint32_t l4_hdr = (proto != IPPROTO_TCP ? 8
                       : n >= 20 ? (l4[12] >> 4) * 4 : 20);
    int fit = (int) limit - (int) hdr - (int) l4_hdr;
    int gso = pk->gso_size;

    if (proto != IPPROTO_TCP) {
        /* Datagrams have the size they have: larger than 'lowest-ipv6-mtu'
         * may be if they fit the link. */
        size_t wire = MIN(want->len, hdr + l4_hdr + gso);

        if (wire > limit) {
            want->why.may |= ORC_WHY(TOO_BIG);
        }
        if (wire > link) {
            want->why.must |= ORC_WHY(TOO_BIG);
        }
        return;
    }
    if (l4_hdr < 20 || l4_hdr > n) {
        /* Segments cannot be made of it. */
        want->why.may |= ORC_WHY(TRUNCATED) | ORC_WHY(BAD_HDR);
    }
    if (fit < 1) {
        want->why.must |= ORC_WHY(TOO_BIG);
        return;
    }
    /* A packet that is one segment may keep a size that others have. */
    want->gso_max = want->len <= limit ? gso : MIN(gso, fit);
    want->gso_min = MAX(1, MIN(gso - (shrink ? 20 : 0), fit));
}

/* A packet that is to be cut into fragments needs its checksum before. */
static void
complete(struct orc_want *want, size_t hdr, uint8_t proto, uint16_t pseudo)
{
    int at = orc_csum_ofs(proto);
    uint8_t *p = want->out + hdr;
    uint16_t sum;

    if (!want->partial || !want->frag_mtu || at < 0) {
        return;
    }
    orc_put16(p + at, 0);
    sum = orc_add(orc_sum(p, want->len - hdr), pseudo);
    orc_put16(p + at, sum ? ~sum : proto == IPPROTO_UDP ? 0xffff : 0);
    want->partial = false;
}

/* Fragments but the last carry multiples of eight bytes, and none ends behind
 * the largest packet (RFC 8200, 4.5). */
static void
check_frag(bool mf, uint16_t frag_ofs, size_t n, struct orc_want *want)
{
    if ((mf && n % 8) || (frag_ofs && frag_ofs + n > 65535 - 60)) {
        want->why.may |= ORC_WHY(BAD_HDR);
    }
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
                in->df ? conf->set.mtu6 : lowest, conf->set.mtu6, true, want);
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

/* Headers in front of a quote grow, quotes are padded and cut: how much room
 * that takes depends on what is moved. */
static void
error_headroom(const struct pk *pk, struct orc_want *want)
{
    if (pk->headroom < 200) {
        want->why.may |= ORC_WHY(NO_HEADROOM);
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
            && in->payload_len >= 8
            && (in->payload[0] == 3 || in->payload[0] == 11
                || in->payload[0] == 12));
}

/* Protocols that mean something else, or nothing, in the other family. */
static void
odd_proto(uint8_t proto, bool in4, struct orc_want *want)
{
    if (proto == IPPROTO_IGMP
        || proto == (in4 ? IPPROTO_ICMPV6 : IPPROTO_ICMP)) {
        want->why.must |= ORC_WHY(ICMP_TYPE);
    } else if (in4 && (proto == IPPROTO_HOPOPTS || proto == IPPROTO_ROUTING
                       || proto == IPPROTO_FRAGMENT
                       || proto == IPPROTO_DSTOPTS)) {
        /* Not transport, and nothing that an IPv4 host should write into an
         * IPv6 packet. */
        want->why.must |= ORC_WHY(BAD_EXT_HDR);
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
    unsigned int f = orc_ip4_decode(pk->data, pk->len, false, &in);
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
    if (!(pk->flags & PK_IP_CSUM_OK) && in.hdr_len <= pk->len
        && orc_sum(pk->data, in.hdr_len) != 0xffff) {
        want->why.must |= ORC_WHY(BAD_HDR);
    }
    if (in.total_len >= in.hdr_len) {
        check_frag(in.mf, in.frag_ofs, in.total_len - in.hdr_len, want);
    }
    if (in.frag_ofs + in.total_len > 65535) {
        /* Of a datagram that cannot be (RFC 791, 3.1). */
        want->why.must |= ORC_WHY(BAD_HDR);
    }
    if (f) {
        return;
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
        if (!udp_zero(conf, &l4, p, in.payload_len, want)) {
            orc_l4_translate(&l4, p, in.payload_len, hdr, want);
        }
    }
    size6(conf, pk, &in, hdr, want);
    complete(want, hdr, in.proto, orc_pseudo6(out.src, out.dst, in.proto,
                                              in.payload_len));
    growth += (int) hdr - (int) in.hdr_len;
    if (!error && growth > (int) pk->headroom) {
        want->why.must |= ORC_WHY(NO_HEADROOM);
    } else if (error) {
        error_headroom(pk, want);
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
            && !(in->ext_faults & ~ORC_EXT_HBH_LATE)
            && in->payload_len_here >= 8
            && in->payload[0] >= 1 && in->payload[0] <= 4);
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
      const struct orc_ip6 *in, struct orc_want *want)
{
    if (in->frag_ofs + want->len > 65535) {
        /* It, or the datagram that it is a fragment of (RFC 791, 3.1). */
        want->why.must |= ORC_WHY(GROWN_PAST_MAX);
    }
    if (conf->no_link4) {
        return;
    }
    if (pk->gso_size && !in->has_frag) {
        segment(pk, in->proto, in->payload, in->payload_len_here, 20,
                conf->set.mtu4, conf->set.mtu4, false, want);
    } else if (want->len > conf->set.mtu4) {
        /* IPv6 routers do not fragment, but the least an IPv6 host must be
         * able to send is carried (RFC 7915, 5.1; RFC 8200, 5). */
        if (want->len > 1260) {
            want->why.must |= ORC_WHY(TOO_BIG);
        } else {
            want->frag_mtu = conf->set.mtu4;
        }
    }
}

/* Bytes of the largest packet on the wire. */
static size_t
wire_len(const struct pk *pk, const struct orc_ip6 *in,
         const struct orc_want *want)
{
    size_t l4_hdr = (in->proto != IPPROTO_TCP ? 8
                     : in->payload_len_here >= 20
                     ? (in->payload[12] >> 4) * 4 : 20);

    return (!pk->gso_size || in->has_frag ? want->len
            : MIN(want->len, 20 + l4_hdr + want->gso_max));
}

static void
to4(const struct orc_conf *conf, const struct pk *pk,
    const struct orc_choice *choice, struct orc_want *want)
{
    struct orc_ip6 in;
    struct orc_ip4 out = { 0 };
    unsigned int f = orc_ip6_decode(pk->data, pk->len, false, &in);
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
    if (in.ext_faults & (ORC_EXT_CUT | ORC_EXT_BEHIND_FRAG)) {
        return;
    }

    out.tos = conf->set.tos_override < 0 ? in.tc : conf->set.tos_override;
    out.ttl = in.hop_limit - 1;
    out.proto = in.proto == IPPROTO_ICMPV6 ? IPPROTO_ICMP : in.proto;
    odd_proto(in.proto, false, want);
    check_frag(in.mf, in.frag_ofs, in.payload_len_here, want);
    if (in.proto == IPPROTO_ICMPV6) {
        if (frag) {
            want->why.must |= ORC_WHY(ICMP_FRAGMENT);
            return;
        }
        orc_icmp64(conf, &in, choice, 20, want);
        if (error) {
            error_headroom(pk, want);
        }
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
        if (!udp_zero(conf, &l4, p, in.payload_len_here, want)) {
            orc_l4_translate(&l4, p, in.payload_len_here, 20, want);
        }
    }
    size4(conf, pk, &in, want);
    complete(want, 20, in.proto, orc_pseudo4(out.src, out.dst, in.proto,
                                             in.payload_len_here));
    out.total_len = want->len;
    if (in.has_frag) {
        out.mf = in.mf;
        out.frag_ofs = in.frag_ofs;
        out.id = in.frag_id;
    } else {
        out.df = wire_len(pk, &in, want) > 1260;
        out.id = choose16(choice, 4);
    }
    orc_ip4_encode(want->out, &out);
}

/* IPv6 to IPv6. */

/* RFC 7757, 4.2.2. */
bool
orc_is_hairpinned(const struct orc_conf *conf, const struct pk *pk)
{
    struct orc_why why = { 0, 0 };
    struct orc_ip6 in, inner;
    const uint8_t *addr;
    uint32_t v4;

    if (conf->set.hairpin != XLAT_HAIRPIN_INTRINSIC || pk->len < 40
        || orc_ip6_decode(pk->data, pk->len, false, &in)) {
        return false;
    }
    addr = in.dst;
    if (is_icmp6_error(&in)) {
        if (!orc_icmp6_inner(&in, &inner)) {
            return false;
        }
        addr = inner.src;
    }
    return (orc_addr64(conf, addr, ORC_INNER, 0, &v4, &why) == ORC_BY_6052
            && orc_eam_has4(conf, v4));
}

/* The address of pool4 that became 'v6', or 0. */
static uint32_t
find_own(const struct orc_conf *conf, const uint8_t v6[16])
{
    for (unsigned int i = 0; i < conf->n_pool4; i++) {
        const struct orc_prefix4 *p = &conf->pool4[i];

        for (uint32_t a = p->addr; orc_in4(p, a); a++) {
            struct orc_why why = { 0, 0 };
            uint8_t as6[16];

            orc_addr46(conf, a, true, ORC_ERROR_SRC, as6, &why);
            if (!memcmp(as6, v6, 16)) {
                return a;
            }
            /* Simple hairpinning may leave the EAMT out. */
            orc_addr46(conf, a, false, ORC_ERROR_SRC, as6, &why);
            if (!memcmp(as6, v6, 16)) {
                return a;
            }
        }
    }
    return 0;
}

/* To IPv4, and back to IPv6 at once, which counts as one hop. */
static void
hairpin(const struct orc_conf *conf, const struct pk *pk,
        const struct orc_choice *choice, struct orc_want *want)
{
    static struct orc_want first;
    static struct orc_conf there, back;
    struct orc_choice own = { NULL, 0 };
    uint8_t own4[20];
    struct pk middle = *pk;
    struct orc_why ignored = { 0, 0 };
    struct orc_ip6 in;
    uint8_t v6[16];
    uint32_t v4;

    orc_ip6_decode(pk->data, pk->len, false, &in);

    /* Nobody cuts IPv6 packets. */
    there = *conf;
    there.no_link4 = true;
    there.set.mtu4 = 65535;
    back = there;
    back.set.hairpin = XLAT_HAIRPIN_SIMPLE;
    if (!is_icmp6_error(&in)) {
        back.set.mtu6 = back.set.lowest_ipv6_mtu = 65535;
    }
    if (choice->len >= 40 && is_icmp6_error(&in)) {
        /* A source from pool4 shows in what became of it. */
        memset(own4, 0, sizeof own4);
        orc_put32(own4 + 12, find_own(conf, choice->out + 8));
        own = (struct orc_choice) { own4, sizeof own4 };
    }
    memset(&first, 0, offsetof(struct orc_want, out));
    first.n_loose = 0;
    first.gso_min = first.gso_max = pk->gso_size;
    first.frag_mtu = 0;
    to4(&there, pk, &own, &first);
    want->from = want->to = 6;
    want->why = first.why;
    if (first.why.must) {
        /* Reasons that the way back would have had, too. */
        orc_addr64(&there, in.src, ORC_INNER, 0, &v4, &ignored);
        orc_addr46(&back, v4, false, ORC_INNER, v6, &want->why);
        orc_addr64(&there, in.dst, ORC_INNER, 0, &v4, &ignored);
        orc_addr46(&back, v4, true, ORC_INNER, v6, &want->why);
        if (40u + in.payload_len > conf->set.mtu6) {
            want->why.must |= ORC_WHY(TOO_BIG);
        }
        if (is_icmp6_error(&in)) {
            /* More than are worth being followed here. */
            want->why.must |= (ORC_WHY(DENIED) | ORC_WHY(ICMP_INNER)
                               | ORC_WHY(NO_MAPPING)
                               | ORC_WHY(BAD_EMBEDDED));
        }
        return;
    }
    first.out[8]++;                    /* TTL. */
    orc_put16(first.out + 10, 0);
    orc_put16(first.out + 10, ~orc_sum(first.out, 20));
    middle.data = first.out;
    middle.len = first.len;
    middle.headroom = 65535;
    middle.gso_size = first.gso_max;
    to6(&back, &middle, choice, want);
    want->from = 6;
    if (is_icmp6_error(&in)) {
        error_headroom(pk, want);
    }
    want->why.may |= first.why.may;
    if (is_icmp6_error(&in)) {
        /* Padding of a quote on the way there is quote on the way back. */
        want->anything = orc_icmp6_has_ext(&in);
    }
    if (!pk->gso_size && want->len > conf->set.mtu6) {
        want->why.must |= ORC_WHY(TOO_BIG);
    } else if (!pk->gso_size && 40u + in.payload_len > conf->set.mtu6) {
        want->why.may |= ORC_WHY(TOO_BIG);
    }
}
