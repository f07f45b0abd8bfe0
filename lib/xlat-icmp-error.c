/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include "xlat-icmp-error.h"

#include "pk-csum.h"
#include "xlat-hdr.h"
#include "xlat-private.h"

/* An ICMPv6 error is no larger than this (RFC 4443, 2.4). */
#define ICMP6_ERROR_MAX 1280

/* A quote with extensions behind it has at least this length (RFC 4884,
 * 3). */
#define PADDED_MIN 128

/* Bytes behind IP headers that a quote keeps in any case. */
#define LEAST_L4_BYTES 8

/* The header of extensions, and that of each object that follows (RFC 4884,
 * 7). */
#define EXT_HDR_BYTES 4
#define EXT_OBJECT_HDR_BYTES 4

/* The new message's parts, in bytes, in their order. */
struct layout {
    uint32_t outer_hdr;          /* IP headers. */
    uint32_t quote;              /* Packet inside. */
    uint32_t pad;
    uint32_t ext;
};

static void plan(const struct xlat_rewrite *outer,
                 const struct xlat_rewrite *inner,
                 const struct xlat_settings *, const struct pk_info *,
                 struct xlat_icmp_error *, struct layout *);
static void cut_ext(const struct xlat_icmp_error *, uint32_t bytes);
static bool move_quote(struct pk *, const struct pk_info *,
                       const struct layout *, struct xlat_icmp_error *);
static uint64_t message_sum(const struct pk *, const struct pk_info *,
                            uint32_t message_bytes);

enum xlat_drop
xlat_icmp_error_read(const struct pk *pk, const struct pk_info *info,
                     uint8_t to, const struct xlat_settings *set,
                     struct xlat_icmp_error *err)
{
    uint8_t *icmp = pk->data + info->l4_ofs;
    uint32_t room = pk_l4_bytes(info) - PK_ICMP_HDR_BYTES;
    uint32_t length = xlat_icmp_get_length(info->family, icmp);
    bool has_ext = length && length + EXT_HDR_BYTES <= room;

    err->ext_bytes = has_ext ? room - length : 0;
    err->quote = icmp + PK_ICMP_HDR_BYTES;
    err->ext = err->quote + room - err->ext_bytes;
    if (pk_parse(err->quote, room - err->ext_bytes, PK_PARSE_QUOTE,
                 &err->inner)
        || err->inner.family != info->family) {
        err->quote = NULL;
        return XLAT_DROP_ICMP_INNER;
    }
    if (info->family == to) {
        xlat_icmp_44(icmp, &err->hdr);
        return XLAT_OK;
    }
    return (info->family == 4
            ? xlat_icmp_46(icmp, set, err->inner.total, &err->hdr)
            : xlat_icmp_64(icmp, set, &err->hdr));
}

enum xlat_drop
xlat_icmp_error_apply(const struct xlat_rewrite *outer,
                      const struct xlat_rewrite *inner,
                      const struct xlat_settings *set, struct pk *pk,
                      const struct pk_info *info,
                      struct xlat_icmp_error *err, uint16_t ip_id)
{
    pk_be16 csum = pk_get16(pk->data + info->l4_ofs + 2);
    uint64_t old_sum = message_sum(pk, info, pk_l4_bytes(info)) - csum;
    struct layout l;

    plan(outer, inner, set, info, err, &l);
    if (!move_quote(pk, info, &l, err)) {
        return XLAT_DROP_NO_HEADROOM;
    }
    if (l.ext) {
        cut_ext(err, l.ext);
    }

    struct pk quote = {
        .data = err->quote,
        .len = err->inner.len,
        .headroom = err->quote - (pk->data - pk->headroom),
    };
    enum xlat_drop drop = xlat_rewrite_apply(inner, &quote, &err->inner, 0);
    if (drop != XLAT_OK) {
        return (drop == XLAT_DROP_NO_HEADROOM ? drop : XLAT_DROP_ICMP_INNER);
    }

    uint8_t *icmp = quote.data - PK_ICMP_HDR_BYTES;
    uint32_t bytes = PK_ICMP_HDR_BYTES + l.quote + l.pad + l.ext;
    xlat_icmp_put(outer->to, icmp, &err->hdr, l.ext ? l.quote + l.pad : 0);

    bool dont_frag = l.outer_hdr + bytes > XLAT_IP4_DF0_MAX;
    uint8_t *ip = xlat_rewrite_write_ip(outer, info, icmp, bytes, ip_id,
                                        dont_frag);
    xlat_pk_set(pk, ip, l.outer_hdr + bytes);

    /* The difference, not a new sum: what was damaged on its way here must
     * not become valid. */
    struct pk_info new_info = { .family = outer->to, .l4_ofs = l.outer_hdr };
    uint64_t new_sum = message_sum(pk, &new_info, bytes);
    if (pk->flags & PK_L4_PARTIAL) {
        csum = ~0;
        old_sum = 0;
    }
    pk_put16(icmp + 2, pk_csum_update(csum, pk_csum_delta(old_sum, new_sum)));
    pk->flags &= ~PK_L4_PARTIAL;
    return XLAT_OK;
}

/* Returns the sum of the ICMP message of 'bytes' bytes in 'pk', its checksum
 * field included, and of ICMPv6's pseudo-header. */
static uint64_t
message_sum(const struct pk *pk, const struct pk_info *info, uint32_t bytes)
{
    uint64_t sum = pk_csum_bytes(pk->data + info->l4_ofs, bytes);

    if (info->family == 6) {
        sum += pk_csum_addr6(pk->data + 8) + pk_csum_addr6(pk->data + 24);
        sum += pk_csum_pseudo(bytes, IPPROTO_ICMPV6);
    }
    return sum;
}

/* Cuts the packet inside so that it has at most 'max' bytes once translated,
 * when it has '*bytes'; but never what tells its session: 'hdr' bytes of IP
 * headers, and 8 behind them (RFC 792). */
static void
cut_quote(struct xlat_icmp_error *err, uint32_t hdr, uint32_t *bytes,
          uint32_t max)
{
    uint32_t l4_bytes = *bytes - hdr;
    uint32_t least = hdr + (l4_bytes < LEAST_L4_BYTES ? l4_bytes
                                                      : LEAST_L4_BYTES);

    max = max > least ? max : least;
    if (*bytes > max) {
        err->inner.len -= *bytes - max;
        *bytes = max;
    }
}

static uint32_t
padded(uint32_t bytes, uint32_t unit)
{
    bytes = (bytes + unit - 1) / unit * unit;
    return bytes > PADDED_MIN ? bytes : PADDED_MIN;
}

/* Returns how many of the extensions of 'err' fit in 'max' bytes: all, or as
 * many objects as are whole.  0 if it is not even one. */
static uint32_t
fitting_ext(const struct xlat_icmp_error *err, uint32_t max)
{
    uint32_t bytes = EXT_HDR_BYTES;

    if (err->ext_bytes <= max) {
        return err->ext_bytes;
    }
    while (bytes + EXT_OBJECT_HDR_BYTES <= max) {
        uint32_t object = ntohs(pk_get16(err->ext + bytes));

        if (object < EXT_OBJECT_HDR_BYTES || object % 4
            || object > max - bytes) {
            break;
        }
        bytes += object;
    }
    return bytes > EXT_HDR_BYTES ? bytes : 0;
}

static uint32_t
clamp(uint32_t x, uint32_t min, uint32_t max)
{
    return x < min ? min : x > max ? max : x;
}

/* Plans the quote, with 'hdr' bytes of IP headers, and the extensions behind
 * it, in 'limit' bytes and units of 'unit' bytes.  What a receiver cannot do
 * without are whole extensions: the quote gives way to them, as long as it has
 * the least length.  Returns false if there is no room for any. */
static bool
plan_ext(struct xlat_icmp_error *err, uint32_t hdr, uint32_t unit,
         uint32_t limit, struct layout *l)
{
    uint32_t room, max, ext;

    if (limit < PADDED_MIN) {
        return false;
    }
    room = err->ext_bytes < limit ? limit - err->ext_bytes : 0;
    /* The length attribute has 8 bits. */
    max = clamp(room / unit * unit, PADDED_MIN, UINT8_MAX * unit);
    room = padded(l->quote < max ? l->quote : max, unit);
    ext = fitting_ext(err, limit - room);
    if (!ext) {
        return false;
    }
    cut_quote(err, hdr, &l->quote, max);
    l->pad = room - l->quote;
    l->ext = ext;
    return true;
}

/* Decides what the new message looks like. */
static void
plan(const struct xlat_rewrite *outer, const struct xlat_rewrite *inner,
     const struct xlat_settings *set, const struct pk_info *info,
     struct xlat_icmp_error *err, struct layout *l)
{
    uint32_t unit = outer->to == 4 ? 4 : 8;
    uint32_t limit = outer->to == 4 ? set->mtu4 : ICMP6_ERROR_MAX;
    uint32_t hdr = xlat_rewrite_hdr_bytes(inner, &err->inner);

    l->outer_hdr = xlat_rewrite_new_hdr_bytes(outer, info);
    l->quote = hdr + pk_l4_bytes(&err->inner);
    l->pad = l->ext = 0;
    limit -= l->outer_hdr + PK_ICMP_HDR_BYTES;
    if (!(err->hdr.has_length && err->ext_bytes
          && plan_ext(err, hdr, unit, limit, l))) {
        cut_quote(err, hdr, &l->quote, limit);
    }
}

/* Cuts the extensions to their first 'bytes' and corrects their checksum, if
 * they have one: by the difference, as outside. */
static void
cut_ext(const struct xlat_icmp_error *err, uint32_t bytes)
{
    uint64_t gone = pk_csum_bytes(err->ext + bytes, err->ext_bytes - bytes);

    if (bytes < err->ext_bytes && pk_get16(err->ext + 2)) {
        xlat_hdr_update_csum(err->ext + 2, pk_csum_delta(gone, 0), true);
    }
}

/* Moves the packet inside in front of the padding in front of the extensions,
 * which stay where they are.  Without extensions nothing moves.  Returns false
 * if that, or all that comes in front later, does not fit. */
static bool
move_quote(struct pk *pk, const struct pk_info *info, const struct layout *l,
           struct xlat_icmp_error *err)
{
    uint32_t inner_bytes = err->inner.len;
    uint32_t area_end = err->quote - pk->data + inner_bytes;
    uint32_t hdrs = l->outer_hdr + PK_ICMP_HDR_BYTES;

    if (l->ext) {
        area_end = info->len - err->ext_bytes;
    }
    if (area_end + pk->headroom < hdrs + l->quote + l->pad
        || area_end + pk->headroom < inner_bytes + l->pad) {
        return false;
    }
    if (l->ext) {
        uint8_t *end = pk->data + area_end - l->pad;

        memmove(end - inner_bytes, err->quote, inner_bytes);
        memset(end, 0, l->pad);
        err->quote = end - inner_bytes;
    }
    return true;
}
