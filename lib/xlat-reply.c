/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* ICMP errors that the translator makes itself (RFC 7915, 4.4 and 5.4).
 *
 * Made in place: the packet becomes the quote, its end cut off, headers in
 * front. */

#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>

#include "xlat-addr.h"
#include "xlat-hdr.h"
#include "xlat-icmp.h"
#include "xlat-private.h"

/* As much of the packet as fits is quoted (RFC 1812, 4.3.2.3; RFC 4443,
 * 2.4). */
#define ICMP4_ERROR_MAX 576
#define ICMP6_ERROR_MAX 1280

#define REPLY_TTL 64

/* Precedence "internetwork control" (RFC 1812, 4.3.2.5). */
#define REPLY_TOS4 0xc0

/* No port or slot is left: host or address unreachable. */
#define NO_ROOM                                                  \
    { ICMP_DEST_UNREACH, ICMP_HOST_UNREACH,                      \
      ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_ADDR }

#define PROHIBITED                                               \
    { ICMP_DEST_UNREACH, ICMP_PKT_FILTERED,                      \
      ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_ADMIN }

/* Type and code for the reasons about which an error is sent; a type of 0
 * stands for none in either family.  Where RFC 7915 has nothing more specific,
 * "administratively prohibited".  Everything else ends in silence. */
static const struct {
    uint8_t type4, code4;
    uint8_t type6, code6;
} errors[XLAT_N_DROPS] = {
    [XLAT_DROP_AH] = { 0, 0, ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_ADMIN },
    [XLAT_DROP_BAD_EXT_HDR] = { 0, 0,
                                ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_ADMIN },
    [XLAT_DROP_DENIED] = PROHIBITED,
    [XLAT_DROP_FILTERED] = { ICMP_DEST_UNREACH, ICMP_PKT_FILTERED, 0, 0 },
    [XLAT_DROP_MAX_PORTS] = NO_ROOM,
    [XLAT_DROP_NO_BINDING] = { ICMP_DEST_UNREACH, ICMP_HOST_UNREACH, 0, 0 },
    [XLAT_DROP_NO_PORT] = NO_ROOM,
    [XLAT_DROP_PROTO] = { ICMP_DEST_UNREACH, ICMP_PROT_UNREACH,
                          ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_NOPORT },
    [XLAT_DROP_ROUTING_HDR] = { 0, 0,
                                ICMP6_PARAM_PROB, ICMP6_PARAMPROB_HEADER },
    [XLAT_DROP_SESSION_RATE] = NO_ROOM,
    [XLAT_DROP_SOURCE_ROUTE] = { ICMP_DEST_UNREACH, ICMP_SR_FAILED, 0, 0 },
    [XLAT_DROP_STORED_SYN] = { ICMP_DEST_UNREACH, ICMP_PORT_UNREACH, 0, 0 },
    [XLAT_DROP_SUBSCRIBER_PORTS] = PROHIBITED,
    [XLAT_DROP_SUBSCRIBER_RATE] = PROHIBITED,
    [XLAT_DROP_SUBSCRIBER_SESSIONS] = PROHIBITED,
    [XLAT_DROP_SUBSCRIBERS] = NO_ROOM,
    [XLAT_DROP_TABLE_FULL] = NO_ROOM,
    [XLAT_DROP_TOO_BIG] = { ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED,
                            ICMP6_PACKET_TOO_BIG, 0 },
    [XLAT_DROP_TTL] = { ICMP_TIME_EXCEEDED, ICMP_EXC_TTL,
                        ICMP6_TIME_EXCEEDED, ICMP6_TIME_EXCEED_TRANSIT },
};

static bool may_reply(const struct xlat_way *);
static void reply_4(struct xlat_way *, const struct xlat_icmp *);
static void reply_6(struct xlat_way *, const struct xlat_icmp *);

/* Returns the bytes that a reply of 'family' has in front of its quote. */
static uint32_t
hdrs_bytes(uint8_t family)
{
    return PK_ICMP_HDR_BYTES + (family == 4 ? PK_IP4_HDR_BYTES
                                            : PK_IP6_HDR_BYTES);
}

void
xlat_reply_or_drop(struct xlat_way *way, enum xlat_drop drop)
{
    struct xlat_job *job = way->job;
    bool is_4 = way->info.family == 4;
    struct xlat_icmp hdr = {
        .type = is_4 ? errors[drop].type4 : errors[drop].type6,
        .code = is_4 ? errors[drop].code4 : errors[drop].code6,
        .rest = way->param,
    };

    xlat_drop(job, drop);
    if (way->silent || !hdr.type || !may_reply(way)
        || job->pk.headroom < hdrs_bytes(way->info.family)) {
        return;
    }
    if (!xlat_stats_take_token(way->zone->stats, &way->zone->set,
                               way->ctx->now_us, way->ctx->dry_run)) {
        way->tally->replies_limited++;
        return;
    }
    if (is_4) {
        reply_4(way, &hdr);
    } else {
        reply_6(way, &hdr);
    }
    job->verdict = XLAT_REPLY;
}

/* Returns true if IPv4 address 'addr' is that of one host, as far as anyone
 * can tell from outside its subnet. */
static bool
is_host_4(pk_be32 addr)
{
    uint32_t a = ntohl(addr);

    return a >> 24 != 0 && a >> 24 != 127 && a >> 28 != 0xe && a >> 28 != 0xf;
}

static bool
is_host_6(const uint8_t *addr)
{
    struct in6_addr a;

    memcpy(&a, addr, sizeof a);
    return (!IN6_IS_ADDR_MULTICAST(&a) && !IN6_IS_ADDR_UNSPECIFIED(&a)
            && !IN6_IS_ADDR_LOOPBACK(&a));
}

/* Returns true if 'proto' is an IPv6 extension header that names what follows
 * it in its first byte, as all do but ESP. */
static bool
is_ext_hdr(uint8_t proto)
{
    switch (proto) {
    case IPPROTO_HOPOPTS:
    case IPPROTO_ROUTING:
    case IPPROTO_FRAGMENT:
    case IPPROTO_AH:
    case IPPROTO_DSTOPTS:
    case IPPROTO_MH:
    case 139:                    /* HIP, RFC 7401. */
    case 140:                    /* Shim6, RFC 5533. */
        return true;
    default:
        return false;
    }
}

/* Returns the bytes of the extension header of 'proto' at 'ext'. */
static uint32_t
ext_hdr_bytes(uint8_t proto, const uint8_t *ext)
{
    switch (proto) {
    case IPPROTO_FRAGMENT:
        return 8;
    case IPPROTO_AH:
        return (ext[1] + 2) * 4;
    default:
        return (ext[1] + 1) * 8;
    }
}

/* Returns true if the packet at 'ip', which 'info' describes, is an ICMP error
 * or may be part of one.  Extension headers that pk_parse() did not skip are
 * looked behind. */
static bool
may_be_error(const uint8_t *ip, const struct pk_info *info)
{
    uint8_t icmp = info->family == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6;
    uint32_t ofs = info->l4_ofs;
    uint8_t proto = info->proto;

    while (info->family == 6 && is_ext_hdr(proto) && pk_has_l4(info)) {
        const uint8_t *ext = ip + ofs;

        if (ofs + 8 > info->len) {
            return false;
        }
        ofs += ext_hdr_bytes(proto, ext);
        proto = ext[0];
    }
    if (!pk_has_l4(info)) {
        return proto == icmp || is_ext_hdr(proto);
    }
    return proto == icmp && (ofs >= info->len
                             || xlat_icmp_is_error(info->family, ip[ofs]));
}

/* Returns true if an ICMP error may be sent about the packet of 'way' (RFC
 * 1122, 3.2.2; RFC 4443, 2.4 (e)): it is no ICMP error, goes from one host to
 * one host, and is of IPv4 no fragment but the first.  Of IPv6 it may be any:
 * path MTU discovery depends on it. */
static bool
may_reply(const struct xlat_way *way)
{
    const struct pk_info *info = &way->info;
    const uint8_t *ip = way->job->pk.data;

    if ((info->family == 4 && !pk_has_l4(info)) || may_be_error(ip, info)) {
        return false;
    }
    return (info->family == 4
            ? is_host_4(pk_get32(ip + 12)) && is_host_4(pk_get32(ip + 16))
            : is_host_6(ip + 8) && is_host_6(ip + 24));
}

/* Replaces '*src', the destination of the packet of 'way', by the zone's own
 * address if it has one. */
static void
choose_source(struct xlat_way *way, union pk_addr *src)
{
    union pk_addr own;

    if (xlat_addr_own_source(way->zone, &way->ctx->rng, way->info.family,
                             &own)) {
        *src = own;
    } else if (way->zone->stateful && way->info.family == 4) {
        nat64_choose_source(way, src);
    }
}

/* Makes 'pk' what it is quoted as in a message of at most 'max' bytes, and
 * returns the place of the ICMP header in front of it. */
static uint8_t *
make_quote(struct xlat_way *way, uint32_t max)
{
    struct pk *pk = &way->job->pk;
    uint32_t room = max - hdrs_bytes(way->info.family);

    xlat_pk_set(pk, pk->data, way->info.len < room ? way->info.len : room);
    pk->flags = 0;
    pk->gso_size = 0;
    pk->frag_mtu = 0;
    return pk->data - PK_ICMP_HDR_BYTES;
}

static void
reply_4(struct xlat_way *way, const struct xlat_icmp *hdr)
{
    struct pk *pk = &way->job->pk;
    union pk_addr src = { .in4 = pk_get32(pk->data + 16) };
    pk_be32 dst = pk_get32(pk->data + 12);
    uint32_t mtu4 = way->zone->set.mtu4;
    uint8_t *icmp = make_quote(way, mtu4 < ICMP4_ERROR_MAX
                                   ? mtu4 : ICMP4_ERROR_MAX);
    uint32_t bytes = PK_ICMP_HDR_BYTES + pk->len;
    uint8_t *ip = icmp - PK_IP4_HDR_BYTES;

    choose_source(way, &src);
    xlat_icmp_put(4, icmp, hdr, 0);
    pk_put16(icmp + 2, pk_csum_finish(pk_csum_bytes(icmp, bytes)));
    xlat_hdr_put4(ip, REPLY_TOS4, PK_IP4_HDR_BYTES + bytes,
                  xlat_rng_next(&way->ctx->rng), 0, REPLY_TTL, IPPROTO_ICMP,
                  src.in4, dst);
    xlat_pk_set(pk, ip, PK_IP4_HDR_BYTES + bytes);
}

static void
reply_6(struct xlat_way *way, const struct xlat_icmp *hdr)
{
    struct pk *pk = &way->job->pk;
    union pk_addr src, dst;

    memcpy(&src, pk->data + 24, 16);
    memcpy(&dst, pk->data + 8, 16);

    uint8_t *icmp = make_quote(way, ICMP6_ERROR_MAX);
    uint32_t bytes = PK_ICMP_HDR_BYTES + pk->len;
    uint8_t *ip = icmp - PK_IP6_HDR_BYTES;

    choose_source(way, &src);
    xlat_icmp_put(6, icmp, hdr, 0);
    xlat_hdr_put6(ip, 0, bytes, IPPROTO_ICMPV6, REPLY_TTL, &src, &dst);

    uint64_t sum = (pk_csum_addr6(&src) + pk_csum_addr6(&dst)
                    + pk_csum_pseudo(bytes, IPPROTO_ICMPV6)
                    + pk_csum_bytes(icmp, bytes));
    pk_put16(icmp + 2, pk_csum_finish(sum));
    xlat_pk_set(pk, ip, PK_IP6_HDR_BYTES + bytes);
}
