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
 * pointing anywhere. */

#include "pk.h"

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

struct xlat_rewrite {
    uint8_t from;                /* 4 or 6: family before. */
    uint8_t to;                  /* 4 or 6: family after. */
    uint8_t flags;               /* XLAT_RW_*. */
    uint8_t tos;
    uint16_t csum_delta;         /* One's complement sum to add to the
                                  * transport checksum of TCP and UDP, for the
                                  * change of pseudo-header and ports. */
    pk_be16 src_port;
    pk_be16 dst_port;
    union pk_addr src;
    union pk_addr dst;
    uint64_t session_id;         /* 0: none (stateless). */
    uint32_t generation;
};

#endif /* xlat-rewrite.h */
