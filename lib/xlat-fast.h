/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_FAST_H
#define XLAT_FAST_H 1

/* The short path: xlat_rewrite_apply() for ordinary packets, with what it
 * needs read once and nothing to decide.
 *
 * An ordinary packet is TCP or UDP, whole, not GSO, with a complete checksum
 * and no options or extension headers, has hops and headroom left and fits the
 * other side unfragmented.  Private to xlat-run.c,
 * nat64-fast.c and benches. */

#include "xlat-hdr.h"
#include "xlat-private.h"

/* Settings, brought into the form in which they are asked for. */
struct xlat_fast {
    uint32_t max_46[2];          /* Largest IPv4 packet, by its DF bit. */
    uint32_t max_44;
    uint32_t max_64;             /* Largest IPv6 packet. */
    uint32_t tos_and_46, tos_and_64, tos_or_64;
};

static inline void
xlat_fast_init(struct xlat_fast *fast, const struct xlat_settings *set)
{
    uint32_t growth = PK_IP6_HDR_BYTES - PK_IP4_HDR_BYTES;
    uint32_t frag_max = (set->lowest_ipv6_mtu < set->mtu6
                         ? set->lowest_ipv6_mtu : set->mtu6);

    fast->max_46[0] = frag_max - growth;
    fast->max_46[1] = set->mtu6 - growth;
    fast->max_44 = set->mtu4;
    fast->max_64 = set->mtu4 + growth;
    fast->tos_and_46 = set->reset_traffic_class ? 0 : 0xff;
    fast->tos_and_64 = set->tos_override >= 0 ? 0 : 0xff;
    fast->tos_or_64 = set->tos_override >= 0 ? set->tos_override : 0;
}

/* Returns the offset of the checksum in the header of 'proto', TCP or UDP. */
static inline uint32_t
xlat_fast_csum_ofs(uint8_t proto)
{
    return proto == IPPROTO_TCP ? 16 : 6;
}

/* Returns true if 'l4', which has 'l4_bytes', is a transport header for the
 * short path. */
static inline bool
xlat_fast_l4(const uint8_t *l4, uint8_t proto, uint32_t l4_bytes)
{
    return proto == IPPROTO_TCP
           ? l4_bytes >= PK_TCP_HDR_BYTES
           : (proto == IPPROTO_UDP && l4_bytes >= PK_UDP_HDR_BYTES
              && pk_get16(l4 + 6));
}

/* Returns whether 'pk', with an IPv4 header without options, is ordinary if it
 * may have 'max' bytes, by its DF bit. */
static inline bool
xlat_fast_is_4(const struct pk *pk, const uint32_t max[2])
{
    const uint8_t *ip = pk->data;
    uint32_t total = ntohs(pk_get16(ip + 2));
    uint16_t frag = ntohs(pk_get16(ip + 6));
    uint64_t sum = pk_csum_carry(pk_csum_carry(pk_get64(ip),
                                               pk_get64(ip + 8)),
                                 pk_get32(ip + 16));

    return (total <= pk->len
            && total >= PK_IP4_HDR_BYTES
            && !(frag & ~XLAT_IP4_DF)
            && total <= max[frag != 0]
            && ip[8] > 1
            && (pk->flags & PK_IP_CSUM_OK || pk_csum_fold(sum) == UINT16_MAX)
            && xlat_fast_l4(ip + PK_IP4_HDR_BYTES, ip[9],
                            total - PK_IP4_HDR_BYTES));
}

static inline bool
xlat_fast_is_64(const struct xlat_fast *fast, const struct pk *pk)
{
    const uint8_t *ip = pk->data;
    uint32_t l4_bytes = ntohs(pk_get16(ip + 4));

    return (PK_IP6_HDR_BYTES + l4_bytes <= pk->len
            && PK_IP6_HDR_BYTES + l4_bytes <= fast->max_64
            && ip[7] > 1
            && xlat_fast_l4(ip + PK_IP6_HDR_BYTES, ip[6], l4_bytes));
}

/* Returns 4 or 6 if 'pk' is an ordinary packet of that family, otherwise 0. */
static inline uint8_t
xlat_fast_family(const struct xlat_fast *fast, const struct pk *pk)
{
    /* With 40 bytes, everything that is read before lengths are known is
     * there. */
    if (pk->len < 40 || pk->gso_size || pk->flags & PK_L4_PARTIAL) {
        return 0;
    } else if (pk->data[0] == 0x45) {
        return (pk->headroom >= PK_IP6_HDR_BYTES - PK_IP4_HDR_BYTES
                && xlat_fast_is_4(pk, fast->max_46)) ? 4 : 0;
    } else if (pk->data[0] >> 4 == 6) {
        return xlat_fast_is_64(fast, pk) ? 6 : 0;
    } else {
        return 0;
    }
}

/* Returns true if 'pk' is an ordinary packet of IPv4 that remains one. */
static inline bool
xlat_fast_is_44(const struct xlat_fast *fast, const struct pk *pk)
{
    const uint32_t max[2] = { fast->max_44, fast->max_44 };

    return (pk->len >= 40 && !pk->gso_size && !(pk->flags & PK_L4_PARTIAL)
            && pk->data[0] == 0x45 && xlat_fast_is_4(pk, max));
}

/* Gives 'pk' its new beginning, with 'bytes' in all. */
static inline void
xlat_fast_set(struct pk *pk, uint8_t *data, uint32_t bytes)
{
    int32_t shift = data - pk->data;

    pk->tailroom += (int32_t) pk->len - shift - (int32_t) bytes;
    pk->headroom += shift;
    pk->data = data;
    pk->len = bytes;
}

/* Returns the sum of the IPv6 addresses at 'src' and 'dst'. */
static inline uint64_t
xlat_fast_sum_6(const void *src_, const void *dst_)
{
    const uint8_t *src = src_;
    const uint8_t *dst = dst_;

    return pk_csum_carry(pk_csum_carry(pk_get64(src), pk_get64(src + 8)),
                         pk_csum_carry(pk_get64(dst), pk_get64(dst + 8)));
}

/* Updates the checksum of the header of 'proto' at 'l4' for addresses that
 * summed up to 'old' and now sum up to 'new'. */
static inline void
xlat_fast_csum(uint8_t *l4, uint8_t proto, uint64_t old, uint64_t new)
{
    uint8_t *csum = l4 + xlat_fast_csum_ofs(proto);
    uint64_t sum = pk_csum_carry(pk_csum_carry(new, ~old),
                                 (uint16_t) ~pk_get16(csum));
    pk_be16 x = pk_csum_finish(sum);

    pk_put16(csum, !x && proto == IPPROTO_UDP ? 0xffff : x);
}

/* Replaces the IP header of 'pk', for which xlat_fast_family() said 4. */
static inline void
xlat_fast_hdr_46(const struct xlat_fast *fast, struct pk *pk,
                 const union pk_addr *src, const union pk_addr *dst)
{
    uint8_t *old = pk->data;
    uint8_t *ip = old + PK_IP4_HDR_BYTES - PK_IP6_HDR_BYTES;
    uint8_t proto = old[9];
    uint32_t l4_bytes = ntohs(pk_get16(old + 2)) - PK_IP4_HDR_BYTES;

    xlat_hdr_put6(ip, old[1] & fast->tos_and_46, l4_bytes, proto, old[8] - 1,
                  src, dst);
    xlat_fast_set(pk, ip, PK_IP6_HDR_BYTES + l4_bytes);
}

/* Translates 'pk', for which xlat_fast_family() said 4. */
static inline void
xlat_fast_46(const struct xlat_fast *fast, struct pk *pk,
             const union pk_addr *src, const union pk_addr *dst)
{
    uint8_t *ip = pk->data;

    xlat_fast_csum(ip + PK_IP4_HDR_BYTES, ip[9], pk_get64(ip + 12),
                   xlat_fast_sum_6(src, dst));
    xlat_fast_hdr_46(fast, pk, src, dst);
}

/* Changes the IP header of 'pk', for which xlat_fast_is_44() said true. */
static inline void
xlat_fast_hdr_44(struct pk *pk, pk_be32 src, pk_be32 dst)
{
    uint8_t *ip = pk->data;
    uint64_t old = pk_csum_addr4(ip + 12) + pk_csum_addr4(ip + 16)
                   + pk_get16(ip + 8);

    ip[8]--;
    xlat_hdr_update_csum(ip + 10,
                         pk_csum_delta(old, (uint64_t) src + dst
                                            + pk_get16(ip + 8)), false);
    pk_put32(ip + 12, src);
    pk_put32(ip + 16, dst);
    xlat_fast_set(pk, ip, ntohs(pk_get16(ip + 2)));
}

/* Replaces the IP header of 'pk', for which xlat_fast_family() said 6.  'id'
 * may be the identification. */
static inline void
xlat_fast_hdr_64(const struct xlat_fast *fast, struct pk *pk, pk_be32 src,
                 pk_be32 dst, uint16_t id)
{
    uint8_t *old = pk->data;
    uint8_t *ip = old + PK_IP6_HDR_BYTES - PK_IP4_HDR_BYTES;
    uint8_t proto = old[6];
    uint32_t total = PK_IP4_HDR_BYTES + ntohs(pk_get16(old + 4));
    uint8_t tos = ntohs(pk_get16(old)) >> 4;
    bool dont_frag = total > XLAT_IP4_DF0_MAX;

    xlat_hdr_put4(ip, (tos & fast->tos_and_64) | fast->tos_or_64, total,
                  dont_frag ? 0 : id, dont_frag ? XLAT_IP4_DF : 0,
                  old[7] - 1, proto, src, dst);
    xlat_fast_set(pk, ip, total);
}

/* Translates 'pk' likewise. */
static inline void
xlat_fast_64(const struct xlat_fast *fast, struct pk *pk, pk_be32 src,
             pk_be32 dst, uint16_t id)
{
    uint8_t *ip = pk->data;

    xlat_fast_csum(ip + PK_IP6_HDR_BYTES, ip[6],
                   xlat_fast_sum_6(ip + 8, ip + 24), (uint64_t) src + dst);
    xlat_fast_hdr_64(fast, pk, src, dst, id);
}

#endif /* xlat-fast.h */
