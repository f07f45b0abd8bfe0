/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* ICMP errors that the translator makes itself: whether, which, and right in
 * every byte (RFC 1812, 4.3.2; RFC 4443, 2.4 and 3; RFC 7915, 4 and 5). */

#include <netinet/in.h>
#include <string.h>

#include "oracle-private.h"

#define MIN(A, B) ((A) < (B) ? (A) : (B))
#define MAX(A, B) ((A) > (B) ? (A) : (B))

#define ICMP4_ERROR_MAX 576
#define ICMP6_ERROR_MAX 1280

/* Which error belongs to a reason. */
struct answer {
    bool must, may;
    uint8_t type, code;
    uint32_t rest;
    bool rest_any;
};

static struct answer
answer4(const struct orc_conf *conf, const struct orc_ip4 *in,
        enum xlat_drop drop)
{
    bool frag = in->mf || in->frag_ofs;

    switch ((int) drop) {
    case XLAT_DROP_TTL:
        return (struct answer) { true, true, 11, 0, 0, false };
    case XLAT_DROP_TOO_BIG:
        return (struct answer) { in->df, true, 3, 4,
                                 conf->set.mtu6 - 20 - (frag ? 8 : 0),
                                 false };
    case XLAT_DROP_SOURCE_ROUTE:
        return (struct answer) { true, true, 3, 5, 0, false };
    case XLAT_DROP_DENIED:
    case XLAT_DROP_NO_MAPPING:
    case XLAT_DROP_UDP_CSUM_ZERO:
        return (struct answer) { false, true, 3, 13, 0, false };
    default:
        return (struct answer) { false, false, 0, 0, 0, false };
    }
}

static struct answer
answer6(const struct orc_conf *conf, const struct pk *pk,
        const struct orc_ip6 *in, enum xlat_drop drop)
{
    switch ((int) drop) {
    case XLAT_DROP_TTL:
        return (struct answer) { true, true, 3, 0, 0, false };
    case XLAT_DROP_TOO_BIG:
        /* An IPv6 link carries 1280 bytes (RFC 8200, 5). */
        return (struct answer) { true, true, 2, 0,
                                 orc_is_hairpinned(conf, pk) ? conf->set.mtu6
                                 : MAX(conf->set.mtu4 + 20, 1280u), false };
    case XLAT_DROP_ROUTING_HDR:
        return (struct answer) { true, true, 4, 0, in->segments_left_ofs,
                                 false };
    case XLAT_DROP_AH:
    case XLAT_DROP_BAD_EXT_HDR:
        return (struct answer) { !(in->ext_faults & ORC_EXT_CUT), true,
                                 1, 1, 0, false };
    case XLAT_DROP_DENIED:
    case XLAT_DROP_NO_MAPPING:
        return (struct answer) { false, true, 1, 1, 0, false };
    default:
        return (struct answer) { false, false, 0, 0, 0, false };
    }
}

/* One host, which may be answered (RFC 1812, 4.3.2.7). */
static bool
host4(uint32_t v4)
{
    return v4 >> 24 && v4 >> 24 != 127 && v4 >> 28 < 14;
}

static bool
host6(const uint8_t v6[16])
{
    static const uint8_t none[16], loopback[16] = { [15] = 1 };

    return v6[0] != 0xff && memcmp(v6, none, 16) && memcmp(v6, loopback, 16);
}

static bool
link_local6(const uint8_t v6[16])
{
    return v6[0] == 0xfe && (v6[1] & 0xc0) == 0x80;
}

/* Returns true if 'in' may be answered by an error at all; '*due' is false if
 * that is a matter of opinion. */
static bool
answerable4(const struct orc_ip4 *in, bool *due)
{
    *due = in->src >> 28 < 14 && in->dst >> 28 < 14 && host4(in->dst);
    if (in->src >> 28 == 14 || !host4(in->src) || in->dst >> 28 == 14
        || in->dst == UINT32_MAX || in->frag_ofs) {
        return false;
    }
    if (in->proto == IPPROTO_ICMP) {
        if (!in->payload_len || orc_icmp4_is_error(in->payload[0])) {
            return false;
        }
        if (in->mf) {
            *due = false;
        }
    }
    return true;
}

/* The upper layer, behind extension headers that decoding left alone. */
struct upper {
    int proto;                   /* -1: it does not show. */
    const uint8_t *p;
    size_t n;
};

/* Headers as IANA lists them, ESP apart: all begin with "next header", and
 * those of authentication count words of four bytes. */
static struct upper
find_upper(const struct orc_ip6 *in)
{
    struct upper u = { in->proto, in->payload, in->payload_len_here };

    while (u.proto == IPPROTO_HOPOPTS || u.proto == IPPROTO_ROUTING
           || u.proto == IPPROTO_FRAGMENT || u.proto == IPPROTO_DSTOPTS
           || u.proto == IPPROTO_AH || u.proto == 135 || u.proto == 139
           || u.proto == 140) {
        size_t bytes;

        if (in->frag_ofs || u.n < 8) {
            u.proto = -1;
            return u;
        }
        bytes = (u.proto == IPPROTO_FRAGMENT ? 8
                 : u.proto == IPPROTO_AH ? 4 * (u.p[1] + 2)
                 : 8 * (u.p[1] + 1));
        bytes = MIN(bytes, u.n);
        u.proto = u.p[0];
        u.p += bytes;
        u.n -= bytes;
    }
    return u;
}

/* RFC 4443, 2.4 (e).  Other than in IPv4, fragments in the middle of a packet
 * are answered, unless they may be an error's. */
static bool
answerable6(const struct orc_ip6 *in, enum xlat_drop drop, bool *due)
{
    struct upper upper = find_upper(in);

    *due = host6(in->dst) && !link_local6(in->src);
    if (!host6(in->src)
        || (in->dst[0] == 0xff && drop != XLAT_DROP_TOO_BIG)) {
        return false;
    }
    if (upper.proto == IPPROTO_ICMPV6) {
        if (in->frag_ofs || !upper.n || orc_icmp6_is_error(upper.p[0])
            || upper.p[0] == 137) {
            return false;
        }
        if (in->mf) {
            *due = false;
        }
    }
    if (upper.proto < 0) {
        *due = false;
    }
    /* What follows could not be looked at. */
    if (in->ext_faults & (ORC_EXT_CUT | ORC_EXT_SEGMENTS_LEFT)) {
        *due = *due && !(in->ext_faults & ORC_EXT_CUT);
    }
    return true;
}

static const char *
check4(const struct orc_conf *conf, const struct pk *pk,
       enum xlat_drop drop, const struct pk *reply)
{
    struct orc_ip4 in, out;
    struct answer answer;
    uint32_t source;
    size_t quoted;
    bool due;

    if (orc_ip4_decode(pk->data, pk->len, false, &in)
        || !answerable4(&in, &due)) {
        return "no error may be sent about this packet";
    }
    answer = answer4(conf, &in, drop);
    if (!answer.may) {
        return "no error is sent for this reason";
    }
    if (orc_ip4_decode(reply->data, reply->len, false, &out)) {
        return "the error is no IPv4 packet";
    }
    if (out.total_len != reply->len || out.hdr_len != 20
        || orc_sum(reply->data, 20) != 0xffff || out.mf || out.frag_ofs
        || out.ttl < 64 || out.proto != IPPROTO_ICMP) {
        return "the error's IPv4 header";
    }
    source = orc_get32((const uint8_t *) &conf->set.icmp_source4);
    if (out.dst != in.src
        || (source ? out.src != source
            : conf->n_pool4 ? !orc_pool4_has(conf, out.src)
            : out.src != in.dst)) {
        return "the error's addresses";
    }
    if (out.payload_len < 8 || out.payload[0] != answer.type
        || out.payload[1] != answer.code
        || orc_sum(out.payload, out.payload_len) != 0xffff) {
        return "the error's type, code or checksum";
    }
    if (!answer.rest_any && orc_get32(out.payload + 4) != answer.rest) {
        return "the error's MTU or pointer";
    }
    quoted = out.payload_len - 8;
    if (quoted != MIN(in.total_len,
                      MIN(conf->set.mtu4, ICMP4_ERROR_MAX) - 28u)
        || memcmp(out.payload + 8, pk->data, quoted)) {
        return "the packet that the error quotes";
    }
    return NULL;
}

static const char *
check6(const struct orc_conf *conf, const struct pk *pk, enum xlat_drop drop,
       const struct pk *reply)
{
    static const uint8_t none[16];
    struct orc_ip6 in, out;
    struct answer answer;
    size_t quoted;
    bool due;

    if (orc_ip6_decode(pk->data, pk->len, false, &in)
        || !answerable6(&in, drop, &due)) {
        return "no error may be sent about this packet";
    }
    answer = answer6(conf, pk, &in, drop);
    if (!answer.may) {
        return "no error is sent for this reason";
    }
    if (orc_ip6_decode(reply->data, reply->len, false, &out)) {
        return "the error is no IPv6 packet";
    }
    if (40u + out.payload_len != reply->len || out.hdr_len != 40
        || out.hop_limit < 64 || out.flow || out.proto != IPPROTO_ICMPV6) {
        return "the error's IPv6 header";
    }
    if (memcmp(out.dst, in.src, 16)
        || memcmp(out.src,
                  memcmp(&conf->set.icmp_source6, none, 16)
                  ? (const uint8_t *) &conf->set.icmp_source6 : in.dst, 16)) {
        return "the error's addresses";
    }
    if (out.payload_len_here < 8 || out.payload[0] != answer.type
        || out.payload[1] != answer.code
        || orc_add(orc_sum(out.payload, out.payload_len_here),
                   orc_pseudo6(out.src, out.dst, IPPROTO_ICMPV6,
                               out.payload_len_here))) {
        return "the error's type, code or checksum";
    }
    if (!answer.rest_any && orc_get32(out.payload + 4) != answer.rest) {
        return "the error's MTU or pointer";
    }
    quoted = out.payload_len_here - 8;
    if (quoted != MIN(40u + in.payload_len, ICMP6_ERROR_MAX - 48u)
        || memcmp(out.payload + 8, pk->data, quoted)) {
        return "the packet that the error quotes";
    }
    return NULL;
}

const char *
orc_reply_check(const struct orc_conf *conf, const struct pk *in,
                enum xlat_drop drop, const struct pk *out)
{
    if (out->flags & PK_L4_PARTIAL || out->gso_size || out->frag_mtu) {
        return "offload flags or fragments asked for on an error";
    }
    return (in->data[0] >> 4 == 4 ? check4 : check6)(conf, in, drop, out);
}

bool
orc_reply_due(const struct orc_conf *conf, const struct pk *pk,
              enum xlat_drop drop)
{
    bool due = false;

    if (pk->len && pk->data[0] >> 4 == 4) {
        struct orc_ip4 in;

        return (!orc_ip4_decode(pk->data, pk->len, false, &in)
                && answerable4(&in, &due) && due
                && pk->headroom >= 28
                && answer4(conf, &in, drop).must);
    } else if (pk->len && pk->data[0] >> 4 == 6) {
        struct orc_ip6 in;

        return (!orc_ip6_decode(pk->data, pk->len, false, &in)
                && answerable6(&in, drop, &due) && due
                && pk->headroom >= 48
                && answer6(conf, pk, &in, drop).must);
    }
    return false;
}
