/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef PK_H
#define PK_H 1

/* A packet, as the lower floors see it.
 *
 * 'struct pk' is a view of one IPv4 or IPv6 packet in memory that the caller
 * owns.  It begins at the IP header: whatever is in front (Ethernet, VLAN
 * tags) belongs to the caller, who moves it when 'data' has moved.  Headers
 * grow and shrink at the front, so that payload never moves.
 *
 * It is not a buffer: nothing here allocates or frees.  It is linear: a
 * caller whose packet is in several segments linearizes it or drops it.
 *
 * A 'struct pk' may be used by one thread at a time. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Integers in network byte order. */
typedef uint16_t pk_be16;
typedef uint32_t pk_be32;

/* An IPv6 address, or an IPv4 address in 'in4' with the rest zero. */
union pk_addr {
    struct in6_addr in6;
    pk_be32 in4;
    uint8_t bytes[16];
    uint64_t u64[2];
};

enum pk_flags {
    /* The transport checksum field holds the sum of the pseudo-header alone;
     * someone behind us (a NIC, the kernel) completes it.  Translation then
     * replaces that sum and touches nothing else. */
    PK_L4_PARTIAL = 1 << 0,

    /* The IPv4 header checksum was verified already, or a NIC fills it in
     * later: it is not verified here. */
    PK_IP_CSUM_OK = 1 << 1,
};

struct pk {
    uint8_t *data;         /* First byte of the IP header. */
    uint32_t len;          /* Bytes at 'data', trailing padding included. */
    uint32_t headroom;     /* Bytes in front of 'data' that may be written. */
    uint32_t tailroom;     /* Bytes behind 'data' + 'len' likewise. */
    uint16_t gso_size;     /* Transport payload bytes a segment, 0: no GSO. */
    uint16_t frag_mtu;     /* Result: 0, or the caller must send the packet
                            * as fragments of at most this size, see
                            * pk-frag.h. */
    uint32_t frag_id;      /* Result: identification for those fragments. */
    uint8_t flags;         /* PK_*. */
};

#endif /* pk.h */
