/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_PRIVATE_H
#define XLAT_PRIVATE_H 1

/* What the files of the translation's packet path share: the way of one
 * packet, verdicts, protocol numbers, random numbers.
 *
 * Private to xlat-*.c, ila*.c and their tests. */

#include <netinet/in.h>

#include "pk-parse.h"
#include "xlat-rewrite.h"
#include "xlat-zone-private.h"
#include "xlat.h"

/* What functions that return enum xlat_drop return for "no drop". */
#define XLAT_OK XLAT_N_DROPS

/* One packet's way through a siit zone, as far as it is not on the short
 * path. */
struct xlat_way {
    const struct xlat_zone *zone;
    struct xlat_ctx *ctx;
    struct xlat_tally *tally;
    struct xlat_job *job;
    struct pk_info info;         /* Of 'job->pk'. */
    uint32_t param;              /* With a reason to drop the packet: what the
                                  * ICMP error says besides (MTU, pointer). */
    bool silent;                 /* No ICMP error. */
    bool held;                   /* Dropped, but there is a copy of it. */
};

/* xlat-siit.c, nat64-run.c: take 'way->job' through its siit or stateful zone,
 * whatever it is. */
void xlat_siit_run(struct xlat_way *way);
void nat64_run_one(struct xlat_way *way);

/* nat64-held.c: what xlat_take_held() does for 'ticket' of the stateful
 * zone. */
size_t nat64_take_held(const struct xlat_zone *, uint32_t ticket, void *buf,
                       size_t size);

/* xlat-run.c: takes 'job' along the long way, and counts it. */
void xlat_run_one(const struct xlat_zone *, struct xlat_ctx *,
                  struct xlat_tally *, struct xlat_job *job);

/* nat64-run.c: replaces '*src', the destination of the IPv4 packet of 'way',
 * by an address of the stateful zone's pool4, unless it is one. */
void nat64_choose_source(struct xlat_way *way, union pk_addr *src);

/* nat64-fast.c: takes the 'n' packets of 'jobs', XLAT_BATCH at most, through
 * the stateful zone, and counts them. */
void nat64_batch(const struct xlat_zone *, struct xlat_ctx *,
                 struct xlat_tally *, struct xlat_job *jobs, size_t n);

/* xlat-way.c: the reason to drop a packet of which pk_parse() said 'result',
 * XLAT_N_DROPS if none. */
enum xlat_drop xlat_way_parse_drop(enum pk_parse_result result);

/* xlat-way.c: whether the packet of 'way' is an ICMP error of a type that can
 * be translated. */
bool xlat_way_is_known_error(const struct xlat_way *way);

/* xlat-way.c: makes '*rw' the rewrite from 'from' to 'to' of a packet of the
 * zone, without addresses. */
void xlat_way_init_rewrite(const struct xlat_way *way, uint8_t from,
                           uint8_t to, struct xlat_rewrite *rw);

/* xlat-way.c: translates the packet of 'way' by 'rw', which has no delta
 * yet. */
enum xlat_drop xlat_way_apply(struct xlat_way *way, struct xlat_rewrite *rw);

/* xlat-46.c, xlat-64.c: decide whether the packet of 'way', no ICMP error, may
 * go on as 'rw' says (RFC 7915, 4 and 5), and prepare it: segment size,
 * fragmentation, UDP checksums of zero.  Return XLAT_N_DROPS, or the reason to
 * drop it, with 'way->param' set.
 *
 * '..._ttl()' are the part of it that ICMP errors undergo as well. */
enum xlat_drop xlat_46_prepare(struct xlat_way *way,
                               const struct xlat_rewrite *rw);
enum xlat_drop xlat_64_prepare(struct xlat_way *way,
                               const struct xlat_rewrite *rw);
enum xlat_drop xlat_46_prepare_ttl(struct xlat_way *way);
enum xlat_drop xlat_64_prepare_ttl(struct xlat_way *way);

/* xlat-44.c: likewise, from IPv4 to IPv4. */
enum xlat_drop xlat_44_prepare(struct xlat_way *way);

/* xlat-l4.c: what both directions demand of the transport header: that it is
 * there, that ICMP is an unfragmented query, and that a UDP checksum of zero
 * is treated as the zone says.  IGMP ends here, and so do IPv6's extension
 * headers as protocols of IPv4. */
enum xlat_drop xlat_l4_prepare(struct xlat_way *way);

/* xlat-l4.c: writes the checksum that a sender of UDP left out, if the zone
 * wants that and xlat_l4_prepare() allowed it: that of the packet as it came
 * in, so that it can then be updated like any other. */
void xlat_l4_fill_csum(struct xlat_way *way);

/* xlat-l4.c: completes the transport checksum of 'pk' if it is partial. */
void xlat_l4_complete_csum(struct pk *pk, const struct pk_info *info);

/* xlat-reply.c: ends the way of a packet that is not translated because of
 * 'drop': by the ICMP error that this calls for, if any may be sent, or
 * dropped. */
void xlat_reply_or_drop(struct xlat_way *way, enum xlat_drop drop);

/* Every packet that ends as dropped passes here. */
static inline void
xlat_drop(struct xlat_job *job, enum xlat_drop drop)
{
    job->verdict = XLAT_DROPPED;
    job->drop = drop;
}

/* Makes 'pk' the 'len' bytes at 'data', which are in its buffer, its headroom
 * included. */
static inline void
xlat_pk_set(struct pk *pk, uint8_t *data, uint32_t len)
{
    uint8_t *end = pk->data + pk->len + pk->tailroom;

    pk->headroom += data - pk->data;
    pk->data = data;
    pk->len = len;
    pk->tailroom = end - data - len;
}

/* Returns true if 'info' is that of a packet of ICMP or ICMPv6, of its own
 * family's. */
static inline bool
xlat_is_icmp(const struct pk_info *info)
{
    return info->proto == (info->family == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6);
}

/* Returns true if 'info' is that of a packet in two or more fragments; a
 * fragment header in front of a whole packet (RFC 6946) does not count. */
static inline bool
xlat_is_cut(const struct pk_info *info)
{
    return info->frag_ofs || info->more_frags;
}

/* Returns what IPv4 protocol 'proto' is in IPv6, and the reverse. */
static inline uint8_t
xlat_proto_46(uint8_t proto)
{
    return proto == IPPROTO_ICMP ? IPPROTO_ICMPV6 : proto;
}

static inline uint8_t
xlat_proto_64(uint8_t proto)
{
    return proto == IPPROTO_ICMPV6 ? IPPROTO_ICMP : proto;
}

/* Returns the next pseudorandom number of the generator whose state is
 * '*rng'.  A Weyl sequence mixed by one multiplication: good enough for
 * identifications and for the choice of an address, of no use against
 * somebody who wants to guess. */
static inline uint64_t
xlat_rng_next(uint64_t *rng)
{
    uint64_t x = *rng += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

#endif /* xlat-private.h */
