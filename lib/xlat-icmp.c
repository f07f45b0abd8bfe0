/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include "xlat-icmp.h"

#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>

#include "pk-csum.h"
#include "xlat-private.h"

#define ICMP6_REDIRECT 137

#define IP6_MIN_MTU 1280
#define IP4_MIN_MTU 68
#define HDR_GROWTH 20            /* IPv6 header less IPv4 header. */

/* No counterpart. */
#define NONE 0xff

/* ICMPv4 "destination unreachable", by code.  Code 4 is a matter of its own,
 * code 2 becomes a parameter problem. */
static const struct {
    uint8_t type, code;
} unreach_46[] = {
    [0] = { ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_NOROUTE },
    [1] = { ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_NOROUTE },
    [2] = { ICMP6_PARAM_PROB, ICMP6_PARAMPROB_NEXTHEADER },
    [3] = { ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_NOPORT },
    [4] = { ICMP6_PACKET_TOO_BIG, 0 },
    [5] = { ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_NOROUTE },
    [6] = { ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_NOROUTE },
    [7] = { ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_NOROUTE },
    [8] = { ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_NOROUTE },
    [9] = { ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_ADMIN },
    [10] = { ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_ADMIN },
    [11] = { ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_NOROUTE },
    [12] = { ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_NOROUTE },
    [13] = { ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_ADMIN },
    [14] = { NONE, NONE },
    [15] = { ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_ADMIN },
};

/* ICMPv6 "destination unreachable", by code: the code of its ICMPv4
 * counterpart. */
static const uint8_t unreach_64[] = {
    [ICMP6_DST_UNREACH_NOROUTE] = ICMP_HOST_UNREACH,
    [ICMP6_DST_UNREACH_ADMIN] = ICMP_HOST_ANO,
    [ICMP6_DST_UNREACH_BEYONDSCOPE] = ICMP_HOST_UNREACH,
    [ICMP6_DST_UNREACH_ADDR] = ICMP_HOST_UNREACH,
    [ICMP6_DST_UNREACH_NOPORT] = ICMP_PORT_UNREACH,
};

/* Offsets into the IPv4 header, as offsets into the IPv6 header, and the
 * reverse (RFC 7915, figures 3 and 6). */
static const uint8_t pointer_46[PK_IP4_HDR_BYTES] = {
    0, 1, 4, 4, NONE, NONE, NONE, NONE, 7, 6, NONE, NONE,
    8, 8, 8, 8, 24, 24, 24, 24,
};
static const uint8_t pointer_64[PK_IP6_HDR_BYTES] = {
    0, 1, NONE, NONE, 2, 2, 9, 8,
    12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12,
    16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
};

static enum xlat_drop unreach_to_6(const uint8_t *icmp,
                                   const struct xlat_settings *,
                                   uint32_t quote_total, struct xlat_icmp *);
static enum xlat_drop param_to_6(const uint8_t *icmp, struct xlat_icmp *);
static enum xlat_drop unreach_to_4(const uint8_t *icmp, struct xlat_icmp *);
static enum xlat_drop param_to_4(const uint8_t *icmp, struct xlat_icmp *);
static uint32_t mtu_46(uint32_t mtu, const struct xlat_settings *,
                       uint32_t quote_total);
static uint32_t mtu_64(uint32_t mtu, const struct xlat_settings *);

bool
xlat_icmp_is_error(uint8_t family, uint8_t type)
{
    if (family == 6) {
        return !(type & ICMP6_INFOMSG_MASK) || type == ICMP6_REDIRECT;
    }
    return (type == ICMP_DEST_UNREACH || type == ICMP_SOURCE_QUENCH
            || type == ICMP_REDIRECT || type == ICMP_TIME_EXCEEDED
            || type == ICMP_PARAMETERPROB);
}

bool
xlat_icmp_is_known_error(uint8_t family, uint8_t type)
{
    if (family == 6) {
        return type >= ICMP6_DST_UNREACH && type <= ICMP6_PARAM_PROB;
    }
    return (type == ICMP_DEST_UNREACH || type == ICMP_TIME_EXCEEDED
            || type == ICMP_PARAMETERPROB);
}

enum xlat_drop
xlat_icmp_46(const uint8_t *icmp, const struct xlat_settings *set,
             uint32_t quote_total, struct xlat_icmp *out)
{
    *out = (struct xlat_icmp) { .type = NONE };
    switch (icmp[0]) {
    case ICMP_DEST_UNREACH:
        return unreach_to_6(icmp, set, quote_total, out);
    case ICMP_TIME_EXCEEDED:
        out->type = ICMP6_TIME_EXCEEDED;
        out->code = icmp[1];
        out->has_length = true;
        return XLAT_OK;
    case ICMP_PARAMETERPROB:
        return param_to_6(icmp, out);
    default:
        return XLAT_DROP_ICMP_TYPE;
    }
}

enum xlat_drop
xlat_icmp_64(const uint8_t *icmp, const struct xlat_settings *set,
             struct xlat_icmp *out)
{
    *out = (struct xlat_icmp) { .type = NONE };
    switch (icmp[0]) {
    case ICMP6_DST_UNREACH:
        return unreach_to_4(icmp, out);
    case ICMP6_PACKET_TOO_BIG:
        out->type = ICMP_DEST_UNREACH;
        out->code = ICMP_FRAG_NEEDED;
        out->has_length = true;
        out->rest = mtu_64(ntohl(pk_get32(icmp + 4)), set);
        return XLAT_OK;
    case ICMP6_TIME_EXCEEDED:
        out->type = ICMP_TIME_EXCEEDED;
        out->code = icmp[1];
        out->has_length = true;
        return XLAT_OK;
    case ICMP6_PARAM_PROB:
        return param_to_4(icmp, out);
    default:
        return XLAT_DROP_ICMP_TYPE;
    }
}

void
xlat_icmp_44(const uint8_t *icmp, struct xlat_icmp *out)
{
    *out = (struct xlat_icmp) {
        .type = icmp[0],
        .code = icmp[1],
        .has_length = true,
        .rest = ntohl(pk_get32(icmp + 4)) & ~(UINT32_C(0xff) << 16),
    };
}

uint32_t
xlat_icmp_get_length(uint8_t family, const uint8_t *icmp)
{
    uint8_t type = icmp[0];

    if (family == 4) {
        return xlat_icmp_is_known_error(4, type) ? icmp[5] * 4 : 0;
    }
    return type == ICMP6_DST_UNREACH || type == ICMP6_TIME_EXCEEDED
           ? icmp[4] * 8 : 0;
}

void
xlat_icmp_put(uint8_t family, uint8_t *icmp, const struct xlat_icmp *hdr,
              uint32_t length)
{
    icmp[0] = hdr->type;
    icmp[1] = hdr->code;
    pk_put16(icmp + 2, 0);
    pk_put32(icmp + 4, htonl(hdr->rest));
    if (length && family == 4) {
        icmp[5] = length / 4;
    } else if (length) {
        icmp[4] = length / 8;
    }
}

static enum xlat_drop
unreach_to_6(const uint8_t *icmp, const struct xlat_settings *set,
             uint32_t quote_total, struct xlat_icmp *out)
{
    uint8_t code = icmp[1];

    if (code >= sizeof unreach_46 / sizeof unreach_46[0]
        || unreach_46[code].type == NONE) {
        return XLAT_DROP_ICMP_TYPE;
    }
    out->type = unreach_46[code].type;
    out->code = unreach_46[code].code;
    out->has_length = out->type == ICMP6_DST_UNREACH;
    if (code == ICMP_FRAG_NEEDED) {
        out->rest = mtu_46(ntohs(pk_get16(icmp + 6)), set, quote_total);
    } else if (code == ICMP_PROT_UNREACH) {
        out->rest = 6;           /* The next header field. */
    }
    return XLAT_OK;
}

/* Codes 0 and 2 ("bad length") have a pointer, 1 ("missing option") has none
 * and no counterpart. */
static enum xlat_drop
param_to_6(const uint8_t *icmp, struct xlat_icmp *out)
{
    uint8_t pointer = icmp[4];

    if (icmp[1] != 0 && icmp[1] != 2) {
        return XLAT_DROP_ICMP_TYPE;
    }
    if (pointer >= sizeof pointer_46 || pointer_46[pointer] == NONE) {
        return XLAT_DROP_PARAM_POINTER;
    }
    out->type = ICMP6_PARAM_PROB;
    out->code = ICMP6_PARAMPROB_HEADER;
    out->rest = pointer_46[pointer];
    return XLAT_OK;
}

static enum xlat_drop
unreach_to_4(const uint8_t *icmp, struct xlat_icmp *out)
{
    uint8_t code = icmp[1];

    if (code >= sizeof unreach_64) {
        return XLAT_DROP_ICMP_TYPE;
    }
    out->type = ICMP_DEST_UNREACH;
    out->code = unreach_64[code];
    out->has_length = true;
    return XLAT_OK;
}

static enum xlat_drop
param_to_4(const uint8_t *icmp, struct xlat_icmp *out)
{
    uint32_t pointer = ntohl(pk_get32(icmp + 4));

    out->has_length = true;
    if (icmp[1] == ICMP6_PARAMPROB_NEXTHEADER) {
        out->type = ICMP_DEST_UNREACH;
        out->code = ICMP_PROT_UNREACH;
        return XLAT_OK;
    } else if (icmp[1] != ICMP6_PARAMPROB_HEADER) {
        return XLAT_DROP_ICMP_TYPE;
    }
    if (pointer >= sizeof pointer_64 || pointer_64[pointer] == NONE) {
        return XLAT_DROP_PARAM_POINTER;
    }
    out->type = ICMP_PARAMETERPROB;
    out->code = 0;
    out->rest = (uint32_t) pointer_64[pointer] << 24;
    return XLAT_OK;
}

static uint32_t
min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Returns the MTU that a router which does not say may have had when it
 * refused a packet of 'total' bytes (RFC 1191, 7). */
static uint32_t
plateau(uint32_t total)
{
    static const uint16_t plateaus[] = {
        65535, 32000, 17914, 8166, 4352, 2002, 1492, 1006, 508, 296, 68,
    };

    for (size_t i = 0; i < sizeof plateaus / sizeof plateaus[0]; i++) {
        if (plateaus[i] < total) {
            return plateaus[i];
        }
    }
    return IP4_MIN_MTU;
}

static uint32_t
mtu_46(uint32_t mtu, const struct xlat_settings *set, uint32_t quote_total)
{
    if (!mtu) {
        mtu = plateau(quote_total);
    }
    mtu = min_u32(mtu + HDR_GROWTH, min_u32(set->mtu6,
                                            set->mtu4 + HDR_GROWTH));
    return mtu > IP6_MIN_MTU ? mtu : IP6_MIN_MTU;
}

static uint32_t
mtu_64(uint32_t mtu, const struct xlat_settings *set)
{
    mtu = mtu > HDR_GROWTH ? mtu - HDR_GROWTH : 0;
    mtu = min_u32(mtu, min_u32(set->mtu4, set->mtu6 - HDR_GROWTH));
    return mtu > IP4_MIN_MTU ? min_u32(mtu, UINT16_MAX) : IP4_MIN_MTU;
}
