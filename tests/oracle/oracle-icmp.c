/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* ICMP, stateless: RFC 7915, 4.2 to 4.4 and 5.2 to 5.4. */

#include <netinet/in.h>
#include <string.h>

#include "oracle-private.h"

#define MIN(A, B) ((A) < (B) ? (A) : (B))
#define MAX(A, B) ((A) > (B) ? (A) : (B))

/* An ICMPv6 error is no larger than the smallest IPv6 MTU (RFC 4443, 2.4). */
#define ICMP6_ERROR_MAX 1280

/* An extension structure has a header of four bytes (RFC 4884, 7). */
#define EXT_HDR 4

/* The first eight bytes of an error, translated. */
struct error {
    uint8_t type, code;
    uint32_t rest;               /* Pointer or MTU, as it stands there. */
    bool ext;                    /* Type has a length (RFC 4884). */
};

/* The two parts behind them. */
struct quote {
    const uint8_t *odf;          /* "Original datagram field". */
    size_t odf_len;
    const uint8_t *ext;          /* Extension structure. */
    size_t ext_len;
    bool has_len;                /* The message has a length. */
};

bool
orc_icmp4_is_error(uint8_t type)
{
    return (type == 3 || type == 4 || type == 5 || type == 11 || type == 12);
}

bool
orc_icmp6_is_error(uint8_t type)
{
    return type < 128;
}

static struct quote
quote_split(const uint8_t *m, size_t n, bool has_ext, size_t len)
{
    struct quote q = { m + 8, n - 8, m + n, 0, false };

    if (has_ext && len && len + EXT_HDR <= q.odf_len) {
        q.has_len = true;
        q.odf_len = len;
        q.ext = q.odf + len;
        q.ext_len = n - 8 - len;
    }
    return q;
}

static struct quote
quote4(const uint8_t *m, size_t n)
{
    return quote_split(m, n, m[0] == 3 || m[0] == 11 || m[0] == 12,
                       m[5] * 4);
}

static struct quote
quote6(const uint8_t *m, size_t n)
{
    return quote_split(m, n, m[0] == 1 || m[0] == 3, m[4] * 8);
}

bool
orc_icmp4_inner(const struct orc_ip4 *in, struct orc_ip4 *inner)
{
    struct quote q;

    if (in->payload_len < 8) {
        return false;
    }
    q = quote4(in->payload, in->payload_len);
    return !orc_ip4_decode(q.odf, q.odf_len, true, inner);
}

bool
orc_icmp6_inner(const struct orc_ip6 *in, struct orc_ip6 *inner)
{
    struct quote q;

    if (in->payload_len_here < 8) {
        return false;
    }
    q = quote6(in->payload, in->payload_len_here);
    return !orc_ip6_decode(q.odf, q.odf_len, true, inner);
}

bool
orc_icmp6_has_ext(const struct orc_ip6 *in)
{
    return quote6(in->payload, in->payload_len_here).has_len;
}

/* Checksums. */

/* Puts the checksum of the 'n' bytes of 'm' at 'm + 2'.  'wrong' is by how
 * much it was wrong before, and shall be after: 0 if it was right. */
static void
put_csum(uint8_t *m, size_t n, uint16_t pseudo, uint16_t wrong, size_t ofs,
         struct orc_want *want)
{
    uint16_t sum;

    orc_put16(m + 2, 0);
    sum = orc_add(orc_sum(m, n), pseudo);
    if (wrong) {
        sum = orc_sub(sum, wrong);
        orc_loose(want, ofs + 2);
        want->why.may |= ORC_WHY(BAD_HDR);
    }
    orc_put16(m + 2, sum ? ~sum : 0);
}

/* A checksum that covers more than what is here: adds the difference. */
static void
shift_csum(uint8_t *p, uint16_t old, uint16_t new, size_t ofs,
           struct orc_want *want)
{
    uint16_t sum = orc_add(orc_sub(~orc_get16(p + 2), old), new);

    orc_put16(p + 2, sum ? ~sum : 0);
    orc_loose(want, ofs + 2);
}

/* The message quoted by an error is an echo: changes its type, and its
 * checksum if it is there. */
static void
inner_echo(uint8_t *p, size_t n, uint8_t type, uint16_t old_pseudo,
           uint16_t new_pseudo, size_t ofs, struct orc_want *want)
{
    if (n >= 4) {
        shift_csum(p, orc_add(p[0] << 8, old_pseudo),
                   orc_add(type << 8, new_pseudo), ofs, want);
    }
    if (n) {
        p[0] = type;
    }
}

/* The bytes of the header and the whole objects (RFC 4884, 7) that fit in
 * 'max'; 0 if that is no object at all. */
static size_t
whole_objects(const uint8_t *ext, size_t n, size_t max)
{
    size_t at = EXT_HDR;

    if (n <= max) {
        return n;
    }
    for (;;) {
        size_t object = at + 4 <= max ? orc_get16(ext + at) : 0;

        if (object < 4 || object % 4 || at + object > max) {
            return at > EXT_HDR ? at : 0;
        }
        at += object;
    }
}

/* Copies an extension's first bytes.  Its checksum, if there is one, is then
 * right if it was. */
static void
copy_ext(uint8_t *to, const uint8_t *ext, size_t n, size_t old_n)
{
    memcpy(to, ext, n);
    if (n < old_n && orc_get16(ext + 2)) {
        uint16_t wrong = orc_sum(ext, old_n) % 0xffff;

        orc_put16(to + 2, 0);
        orc_put16(to + 2, ~orc_sub(orc_sum(to, n), wrong));
    }
}

/* Puts the extension behind the translated quote, which ends at 'want->len'.
 * 'unit' is that of the length field at byte 'at' of the new message; the
 * whole packet shall have no more than 'max' bytes: the quote, of which 128
 * bytes must stay, is cut first.
 *
 * Whether half an extension is better than none is a matter of opinion:
 * 'choice' decides. */
static void
put_ext(const struct quote *q, const struct error *e, size_t hdr,
        unsigned int at, unsigned int unit, size_t max,
        const struct orc_choice *choice, struct orc_want *want)
{
    uint8_t *m = want->out + hdr;
    size_t room = max - hdr - 8;
    size_t odf = want->len - hdr - 8;
    size_t odf_max = q->ext_len < room ? (room - q->ext_len) / unit * unit : 0;
    size_t padded = MIN((odf + unit - 1) / unit * unit,
                        MIN(odf_max, 255 * unit));
    bool chosen = choice->len > hdr + 8 && choice->out[hdr + at];
    size_t ext_len = 0;

    padded = MAX(padded, 128);
    if (e->ext && q->has_len && padded <= room) {
        ext_len = whole_objects(q->ext, q->ext_len, room - padded);
    }
    if (!ext_len || (!chosen && ext_len < q->ext_len)) {
        want->len = hdr + 8 + MIN(odf, room);
        return;
    }
    /* RFC 4884, 3, 4.1 and 4.2. */
    if (padded > odf) {
        memset(m + 8 + odf, 0, padded - odf);
    }
    copy_ext(m + 8 + padded, q->ext, ext_len, q->ext_len);
    m[at] = padded / unit;
    want->len = hdr + 8 + padded + ext_len;
}

/* IPv4 to IPv6. */

static bool
error46_unreachable(const struct orc_conf *conf, const uint8_t *m,
                    const struct orc_ip4 *inner, struct error *e)
{
    switch (m[1]) {
    case 0: case 1: case 5: case 6: case 7: case 8: case 11: case 12:
        *e = (struct error) { 1, 0, 0, true };
        return true;
    case 2:
        *e = (struct error) { 4, 1, 6, false };
        return true;
    case 3:
        *e = (struct error) { 1, 4, 0, true };
        return true;
    case 4: {
        static const uint16_t plateaus[] = {
            65535, 32000, 17914, 8166, 4352, 2002, 1492, 1006, 508, 296, 68
        };
        uint32_t mtu = orc_get16(m + 6);

        if (!mtu) {
            unsigned int i = 0;

            while (plateaus[i] >= inner->total_len && plateaus[i] != 68) {
                i++;
            }
            mtu = plateaus[i];
        }
        mtu = MIN(mtu + 20, MIN(conf->set.mtu6, conf->set.mtu4 + 20));
        *e = (struct error) { 2, 0, MAX(mtu, 1280), false };
        return true;
    }
    case 9: case 10: case 13: case 15:
        *e = (struct error) { 1, 1, 0, true };
        return true;
    default:
        return false;
    }
}

static bool
error46(const struct orc_conf *conf, const uint8_t *m,
        const struct orc_ip4 *inner, struct error *e, struct orc_want *want)
{
    static const int pointers[20] = {
        0, 1, 4, 4, -1, -1, -1, -1, 7, 6, -1, -1, 8, 8, 8, 8, 24, 24, 24, 24
    };

    if (m[0] == 3) {
        return error46_unreachable(conf, m, inner, e);
    } else if (m[0] == 11) {
        *e = (struct error) { 3, m[1], 0, true };
        if (m[1] > 1) {
            want->why.may |= ORC_WHY(ICMP_TYPE);
        }
        return true;
    } else if (m[0] == 12 && (m[1] == 0 || m[1] == 2)) {
        if (m[4] >= 20 || pointers[m[4]] < 0) {
            want->why.must |= ORC_WHY(PARAM_POINTER);
        } else {
            *e = (struct error) { 4, 0, pointers[m[4]], false };
        }
        return true;
    }
    return false;
}

/* Addresses inside that nobody should have sent from or to are no reason to
 * keep the news of a failure back, but may be one. */
static void
inner_why(const struct orc_why *why, struct orc_want *want)
{
    if (why->must & (ORC_WHY(DENIED) | ORC_WHY(NO_MAPPING))) {
        want->why.must |= ORC_WHY(ICMP_INNER);
    } else if (why->must | why->may) {
        want->why.may |= ORC_WHY(ICMP_INNER);
    }
}

/* Fragments inside that cannot be, likewise. */
static void
inner_frag(bool mf, uint16_t frag_ofs, uint32_t len, struct orc_want *want)
{
    if ((mf && len % 8) || (frag_ofs && frag_ofs + len > 65535 - 60)) {
        want->why.may |= ORC_WHY(ICMP_INNER);
    }
}

/* Translates the packet inside to 'p' and returns its new length.  What stands
 * behind its end in the quote is left out. */
static size_t
inner46(const struct orc_conf *conf, const struct orc_ip4 *in, uint8_t *p,
        size_t ofs, int *growth, struct orc_want *want)
{
    bool frag = in->mf || in->frag_ofs;
    bool simple = conf->set.hairpin == XLAT_HAIRPIN_SIMPLE;
    uint32_t full_len = in->total_len - in->hdr_len;
    struct orc_ip6 out = {
        .tc = conf->set.reset_traffic_class ? 0 : in->tos,
        .hop_limit = in->ttl,
        .proto = in->proto == IPPROTO_ICMP ? IPPROTO_ICMPV6 : in->proto,
        .has_frag = frag, .mf = in->mf, .frag_ofs = in->frag_ofs,
        .frag_id = in->id,
    };
    struct orc_why why = { 0, 0 };
    size_t hdr;

    orc_addr46(conf, in->src, true, ORC_INNER, out.src, &why);
    orc_addr46(conf, in->dst, !simple, ORC_INNER, out.dst, &why);
    inner_why(&why, want);
    if (full_len + (frag ? 8 : 0) > 65535) {
        want->why.must |= ORC_WHY(ICMP_INNER);
    }
    inner_frag(in->mf, in->frag_ofs, full_len, want);
    out.payload_len = full_len + (frag ? 8 : 0);
    hdr = orc_ip6_encode(p, &out);
    memcpy(p + hdr, in->payload, in->payload_len);
    *growth = (int) hdr - (int) in->hdr_len;

    if (in->proto == IPPROTO_ICMP) {
        uint16_t pseudo = orc_pseudo6(out.src, out.dst, IPPROTO_ICMPV6,
                                      full_len);

        if (frag) {
            want->why.may |= ORC_WHY(ICMP_INNER) | ORC_WHY(ICMP_FRAGMENT);
        }
        if (!in->frag_ofs && in->payload_len) {
            if (p[hdr] != 8 && p[hdr] != 0) {
                want->why.must |= ORC_WHY(ICMP_INNER) | ORC_WHY(ICMP_TYPE);
            }
            inner_echo(p + hdr, in->payload_len, p[hdr] == 8 ? 128 : 129, 0,
                       pseudo, ofs + hdr, want);
        }
    } else {
        struct orc_l4 l4 = {
            .proto = in->proto, .frag = frag, .first = !in->frag_ofs,
            .quoted = true, .full_len = full_len,
            .old_pseudo = orc_pseudo4(in->src, in->dst, in->proto, full_len),
            .new_pseudo = orc_pseudo6(out.src, out.dst, in->proto, full_len),
        };

        orc_l4_translate(&l4, p + hdr, in->payload_len, ofs + hdr, want);
    }
    return hdr + in->payload_len;
}

static void
put_error(uint8_t *m, const struct error *e)
{
    m[0] = e->type;
    m[1] = e->code;
    orc_put32(m + 4, e->rest);
}

void
orc_icmp46(const struct orc_conf *conf, const struct orc_ip4 *in,
           const struct orc_ip6 *out, const struct orc_choice *choice,
           size_t hdr, int *growth, struct orc_want *want)
{
    const uint8_t *m = in->payload;
    size_t n = in->payload_len;
    uint8_t *p = want->out + hdr;
    uint16_t wrong = orc_sum(m, n) % 0xffff;
    struct orc_ip4 inner = { 0 };
    struct error e = { 0, 0, 0, false };
    struct quote q;

    if (n < 8) {
        want->why.must |= ORC_WHY(TRUNCATED) | ORC_WHY(BAD_HDR);
        if (n && m[0] != 8 && m[0] != 0) {
            want->why.must |= ORC_WHY(ICMP_TYPE) | ORC_WHY(ICMP_INNER);
        }
        return;
    }
    memcpy(p, m, n);
    want->len = hdr + n;
    if (m[0] == 8 || m[0] == 0) {
        p[0] = m[0] == 8 ? 128 : 129;
        put_csum(p, n, orc_pseudo6(out->src, out->dst, IPPROTO_ICMPV6, n),
                 wrong, hdr, want);
        return;
    }

    q = quote4(m, n);
    if (!q.has_len && m[5]) {
        want->why.may |= ORC_WHY(ICMP_INNER) | ORC_WHY(BAD_HDR)
                         | ORC_WHY(TRUNCATED);
    }
    if (!(orc_icmp4_is_error(m[0]) && m[0] != 4 && m[0] != 5)) {
        want->why.must |= ORC_WHY(ICMP_TYPE);
        return;
    }
    if (orc_ip4_decode(q.odf, q.odf_len, true, &inner)) {
        want->why.must |= ORC_WHY(ICMP_INNER);
    }
    if (!error46(conf, m, &inner, &e, want)) {
        want->why.must |= ORC_WHY(ICMP_TYPE);
    }
    if (want->why.must & ORC_WHY(ICMP_INNER)) {
        return;
    }
    put_error(p, &e);
    want->len = hdr + 8 + inner46(conf, &inner, p + 8, hdr + 8, growth,
                                  want);
    put_ext(&q, &e, hdr, 4, 8, ICMP6_ERROR_MAX, choice, want);
    n = want->len - hdr;
    put_csum(p, n, orc_pseudo6(out->src, out->dst, IPPROTO_ICMPV6, n), wrong,
             hdr, want);
}

/* IPv6 to IPv4. */

static bool
error64(const struct orc_conf *conf, const uint8_t *m, struct error *e,
        struct orc_want *want)
{
    uint32_t rest = orc_get32(m + 4);

    if (m[0] == 1 && m[1] <= 4) {
        static const uint8_t codes[] = { 1, 10, 1, 1, 3 };

        *e = (struct error) { 3, codes[m[1]], 0, true };
        return true;
    } else if (m[0] == 2) {
        /* RFC 7915, 5.2: never below the smallest of IPv4, never wrapped. */
        uint32_t mtu = MAX(rest, 20u) - 20;

        mtu = MIN(mtu, MIN(conf->set.mtu4, conf->set.mtu6 - 20));
        *e = (struct error) { 3, 4, MAX(mtu, 68u), true };
        return true;
    } else if (m[0] == 3) {
        *e = (struct error) { 11, m[1], 0, true };
        if (m[1] > 1) {
            want->why.may |= ORC_WHY(ICMP_TYPE);
        }
        return true;
    } else if (m[0] == 4 && m[1] == 0) {
        int ptr = (rest == 0 ? 0 : rest == 1 ? 1
                   : rest == 4 || rest == 5 ? 2
                   : rest == 6 ? 9 : rest == 7 ? 8
                   : rest >= 8 && rest <= 23 ? 12
                   : rest >= 24 && rest <= 39 ? 16 : -1);

        if (ptr < 0) {
            want->why.must |= ORC_WHY(PARAM_POINTER);
        }
        *e = (struct error) { 12, 0, (uint32_t) ptr << 24, true };
        return true;
    } else if (m[0] == 4 && m[1] == 1) {
        *e = (struct error) { 3, 2, 0, true };
        return true;
    }
    return false;
}

static size_t
inner64(const struct orc_conf *conf, const struct orc_ip6 *in, uint16_t id,
        uint8_t *p, size_t ofs, struct orc_want *want)
{
    bool frag = in->mf || in->frag_ofs;
    int full_len = in->payload_len - (int) (in->hdr_len - 40);
    struct orc_ip4 out = {
        .tos = (conf->set.tos_override < 0 ? in->tc
                : conf->set.tos_override),
        .ttl = in->hop_limit,
        .proto = in->proto == IPPROTO_ICMPV6 ? IPPROTO_ICMP : in->proto,
        .mf = in->mf, .frag_ofs = in->frag_ofs,
    };
    struct orc_why why = { 0, 0 };

    orc_addr64(conf, in->src, ORC_INNER, 0, &out.src, &why);
    orc_addr64(conf, in->dst, ORC_INNER, 0, &out.dst, &why);
    inner_why(&why, want);
    if (full_len < 0 || full_len + 20 + in->frag_ofs > 65535) {
        want->why.must |= ORC_WHY(ICMP_INNER) | ORC_WHY(GROWN_PAST_MAX);
        return 0;
    }
    inner_frag(in->mf, in->frag_ofs, full_len, want);
    out.total_len = full_len + 20;
    if (in->has_frag) {
        out.id = in->frag_id;
    } else {
        out.id = id;
        out.df = out.total_len > 1260;
    }
    orc_ip4_encode(p, &out);
    memcpy(p + 20, in->payload, in->payload_len_here);

    if (in->proto == IPPROTO_ICMPV6) {
        uint16_t pseudo = orc_pseudo6(in->src, in->dst, IPPROTO_ICMPV6,
                                      full_len);

        if (frag) {
            want->why.may |= ORC_WHY(ICMP_INNER) | ORC_WHY(ICMP_FRAGMENT);
        }
        if (!in->frag_ofs && in->payload_len_here) {
            if (p[20] != 128 && p[20] != 129) {
                want->why.must |= ORC_WHY(ICMP_INNER) | ORC_WHY(ICMP_TYPE);
            }
            inner_echo(p + 20, in->payload_len_here, p[20] == 128 ? 8 : 0,
                       pseudo, 0, ofs + 20, want);
        }
    } else {
        struct orc_l4 l4 = {
            .proto = in->proto, .frag = frag, .first = !in->frag_ofs,
            .quoted = true, .full_len = full_len,
            .old_pseudo = orc_pseudo6(in->src, in->dst, in->proto, full_len),
            .new_pseudo = orc_pseudo4(out.src, out.dst, in->proto, full_len),
        };

        orc_l4_translate(&l4, p + 20, in->payload_len_here, ofs + 20, want);
    }
    return 20 + in->payload_len_here;
}

void
orc_icmp64(const struct orc_conf *conf, const struct orc_ip6 *in,
           const struct orc_choice *choice, size_t hdr, struct orc_want *want)
{
    const uint8_t *m = in->payload;
    size_t n = in->payload_len_here;
    uint8_t *p = want->out + hdr;
    uint16_t pseudo = orc_pseudo6(in->src, in->dst, IPPROTO_ICMPV6, n);
    uint16_t wrong = orc_add(orc_sum(m, n), pseudo);
    struct orc_ip6 inner = { 0 };
    struct error e = { 0, 0, 0, false };
    struct quote q;
    uint16_t id;

    if (n < 8) {
        want->why.must |= ORC_WHY(TRUNCATED) | ORC_WHY(BAD_HDR);
        if (n && m[0] != 128 && m[0] != 129) {
            want->why.must |= ORC_WHY(ICMP_TYPE) | ORC_WHY(ICMP_INNER);
        }
        return;
    }
    memcpy(p, m, n);
    want->len = hdr + n;
    if (m[0] == 128 || m[0] == 129) {
        p[0] = m[0] == 128 ? 8 : 0;
        put_csum(p, n, 0, wrong, hdr, want);
        return;
    }

    q = quote6(m, n);
    if (!q.has_len && (m[0] == 1 || m[0] == 3) && m[4]) {
        want->why.may |= ORC_WHY(ICMP_INNER) | ORC_WHY(BAD_HDR)
                         | ORC_WHY(TRUNCATED);
    }
    if (m[0] < 1 || m[0] > 4) {
        want->why.must |= ORC_WHY(ICMP_TYPE);
        return;
    }
    if (orc_ip6_decode(q.odf, q.odf_len, true, &inner)
        || inner.ext_faults & (ORC_EXT_CUT | ORC_EXT_BEHIND_FRAG)) {
        want->why.must |= ORC_WHY(ICMP_INNER);
    } else if (inner.ext_faults) {
        want->why.may |= ORC_WHY(ICMP_INNER);
    }
    if (!error64(conf, m, &e, want)) {
        want->why.must |= ORC_WHY(ICMP_TYPE);
    }
    if (want->why.must & ORC_WHY(ICMP_INNER)) {
        return;
    }
    put_error(p, &e);
    id = choice->len >= hdr + 14 ? orc_get16(choice->out + hdr + 12) : 0;
    want->len = hdr + 8 + inner64(conf, &inner, id, p + 8, hdr + 8, want);
    put_ext(&q, &e, hdr, 5, 4, conf->set.mtu4, choice, want);
    put_csum(p, want->len - hdr, 0, wrong, hdr, want);
}
