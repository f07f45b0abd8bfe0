/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_REWRITE_H
#define XLAT_REWRITE_H 1

/* A rewrite: what a translation does to the packets of one connection in one
 * direction.
 *
 * The one form of a translation: stateless and stateful NAT64, NAT44 and ILA
 * produce it, xlat_rewrite_apply() carries it out on a packet, and a neutral
 * rule carries it to a NIC.  It is a value: copied, compared, never
 * pointing anywhere.
 *
 * It knows nothing of MTUs, TTL expiry and ICMP errors: who applies it has
 * decided before that the packet goes on (xlat-46.c, xlat-64.c).
 *
 * Any thread, for packets of its own. */

#include "pk-parse.h"
#include "xlat.h"

enum xlat_rewrite_flags {
    XLAT_RW_SRC = 1 << 0,        /* 'src' replaces the source address. */
    XLAT_RW_DST = 1 << 1,        /* 'dst' replaces the destination. */
    XLAT_RW_PORTS = 1 << 2,      /* 'src_port' and 'dst_port' (or, for ICMP
                                  * queries, 'src_port' as identifier). */
    XLAT_RW_TTL_DEC = 1 << 3,    /* TTL or hop limit goes down by one. */
    XLAT_RW_TOS_SET = 1 << 4,    /* 'tos' replaces TOS or traffic class;
                                  * otherwise it is copied. */
    XLAT_RW_NO_CSUM = 1 << 5,    /* The transport checksum stays as it is. */
};

/* Where family changes, both addresses do: XLAT_RW_SRC and XLAT_RW_DST are
 * then implied. */
struct xlat_rewrite {
    uint8_t from;                /* 4 or 6: family before. */
    uint8_t to;                  /* 4 or 6: family after. */
    uint8_t flags;               /* XLAT_RW_*. */
    uint8_t tos;
    uint16_t csum_delta;         /* One's complement sum to add to the
                                  * transport checksum of TCP and UDP, for the
                                  * change of pseudo-header and ports; in
                                  * network byte order, as the checksum is. */
    pk_be16 src_port;
    pk_be16 dst_port;
    union pk_addr src;
    union pk_addr dst;
    uint64_t session_id;         /* 0: none (stateless). */
    uint32_t generation;
};

/* Sets 'rw->csum_delta' for packets like the one 'info' describes, whose IP
 * header is at 'ip': all packets of a connection have the same.  The other
 * members of 'rw' must be set.  Reads ports only if 'rw' replaces them, from a
 * packet that has them. */
void xlat_rewrite_set_delta(struct xlat_rewrite *rw, const uint8_t *ip,
                            const struct pk_info *info);

/* Returns the bytes of IP headers that 'rw' leaves in front of the transport
 * header of a packet like the one in 'info'.  IPv4 -> IPv6: 40, and 8 more for
 * a fragment; IPv6 -> IPv4: 20; otherwise as many as before. */
static inline uint32_t
xlat_rewrite_hdr_bytes(const struct xlat_rewrite *rw,
                       const struct pk_info *info)
{
    if (rw->from == rw->to) {
        return info->l4_ofs;
    } else if (rw->to == 4) {
        return PK_IP4_HDR_BYTES;
    } else {
        return PK_IP6_HDR_BYTES + (info->is_frag ? PK_FRAG_HDR_BYTES : 0);
    }
}

/* Likewise, of what xlat_rewrite_write_ip() writes: without options. */
static inline uint32_t
xlat_rewrite_new_hdr_bytes(const struct xlat_rewrite *rw,
                           const struct pk_info *info)
{
    return rw->to == 4 ? PK_IP4_HDR_BYTES : xlat_rewrite_hdr_bytes(rw, info);
}

/* Carries out 'rw' on 'pk', a packet of family 'rw->from' that 'info'
 * describes.  It may also be the packet inside an ICMP error, cut short
 * anywhere behind its IP headers (pk_parse() with PK_PARSE_QUOTE): what is
 * there is translated.
 *
 * A fragment remains one.  Of ICMP, echo request and reply are translated
 * (RFC 7915, 4.2 and 5.2); ICMP errors and fragmented ICMP are the caller's
 * business.  'ip_id' is the identification, in host byte order, of an IPv4
 * header made from an IPv6 packet without a fragment header, unless that has
 * more than 1260 bytes (a GSO packet's segments): then it gets DF, and 0 (RFC
 * 7915, 5.1).
 *
 * UDP without a checksum keeps none.
 *
 * Returns XLAT_N_DROPS, or why not, 'pk' unchanged: XLAT_DROP_NO_HEADROOM,
 * XLAT_DROP_GROWN_PAST_MAX, XLAT_DROP_ICMP_TYPE (neither echo request nor
 * reply, and families differ). */
enum xlat_drop xlat_rewrite_apply(const struct xlat_rewrite *rw,
                                  struct pk *pk, const struct pk_info *info,
                                  uint16_t ip_id);

/* Writes the IP headers that 'rw' makes of those in 'info' directly in front
 * of 'l4', where 'l4_bytes' (more, if 'l4' is a quote cut short, than are
 * there) follow, and returns their beginning.  One of the families is IPv4.
 * An IPv4 header made from a packet that is no fragment gets DF if
 * 'dont_frag', otherwise 'ip_id'.  The building block of xlat_rewrite_apply()
 * for ICMP errors. */
uint8_t *xlat_rewrite_write_ip(const struct xlat_rewrite *rw,
                               const struct pk_info *info, uint8_t *l4,
                               uint32_t l4_bytes, uint16_t ip_id,
                               bool dont_frag);

#endif /* xlat-rewrite.h */
