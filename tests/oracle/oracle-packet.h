/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef ORACLE_PACKET_H
#define ORACLE_PACKET_H 1

/* IPv4 and IPv6 packets as the oracle sees them: decoded into fields, and
 * encoded from fields.
 *
 * Slow and obvious on purpose.  Every checksum is a sum over bytes, every
 * packet is written anew.  Nothing here is shared with lib: a mistake in one
 * should not be in the other.  Any thread may call this. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for the largest packet either family can have, and then some. */
#define ORC_MAX_PACKET (65535 + 256)

/* Why bytes are no packet: any of these. */
enum orc_fault {
    ORC_OK = 0,
    ORC_TRUNCATED = 1 << 0,     /* Shorter than its headers say. */
    ORC_BAD_HDR = 1 << 1,       /* Fields that cannot be. */
};

struct orc_ip4 {
    uint8_t tos;
    uint16_t total_len;
    uint16_t id;
    bool df, mf;
    uint16_t frag_ofs;           /* Bytes. */
    uint8_t ttl, proto;
    uint16_t csum;
    uint32_t src, dst;
    unsigned int hdr_len;        /* Bytes, options included. */
    const uint8_t *payload;
    size_t payload_len;          /* Bytes present and inside total_len. */
};

/* What follows a fixed IPv6 header, up to what IPv4 calls the payload. */
enum orc_ext_fault {
    ORC_EXT_CUT = 1 << 0,        /* A header does not fit. */
    ORC_EXT_BEHIND_FRAG = 1 << 1, /* One stands behind the fragment header, */
    ORC_EXT_AH = 1 << 2,         /* ... and it is for authentication. */
    ORC_EXT_SEGMENTS_LEFT = 1 << 3,
    ORC_EXT_HBH_LATE = 1 << 4,   /* Hop-by-hop options not in first place. */
};

struct orc_ip6 {
    uint8_t tc;
    uint32_t flow;
    uint16_t payload_len;
    uint8_t hop_limit;
    uint8_t src[16], dst[16];
    unsigned int ext_faults;     /* ORC_EXT_*. */
    uint32_t segments_left_ofs;  /* Of the first routing header with some. */
    bool has_frag;               /* There is a fragment header, ... */
    uint16_t frag_ofs;           /* ... with these. */
    bool mf;
    uint32_t frag_id;
    uint8_t proto;               /* Behind the extension headers. */
    unsigned int hdr_len;        /* Bytes in front of 'payload'. */
    const uint8_t *payload;
    size_t payload_len_here;     /* Bytes of payload present. */
};

uint16_t orc_get16(const uint8_t *);
uint32_t orc_get32(const uint8_t *);
void orc_put16(uint8_t *, uint16_t);
void orc_put32(uint8_t *, uint32_t);

/* The one's complement sum of 'n' bytes, folded (RFC 1071). */
uint16_t orc_sum(const uint8_t *, size_t n);

/* a + b and a - b in one's complement, the result 0 to 0xfffe: one number for
 * each class of equal sums. */
uint16_t orc_add(uint16_t a, uint16_t b);
uint16_t orc_sub(uint16_t a, uint16_t b);

/* The sum of the pseudo-header of TCP, UDP or ICMPv6 (RFC 9293, 3.1; RFC
 * 8200, 8.1), 'len' being the transport's length, header included. */
uint16_t orc_pseudo4(uint32_t src, uint32_t dst, uint8_t proto, uint32_t len);
uint16_t orc_pseudo6(const uint8_t src[16], const uint8_t dst[16],
                     uint8_t proto, uint32_t len);

/* Decodes the 'n' bytes at 'p'.  A quote inside an ICMP error may be cut
 * short behind its IP header: 'quoted' says so, and only then may fewer bytes
 * be there than the lengths claim. */
unsigned int orc_ip4_decode(const uint8_t *p, size_t n, bool quoted,
                            struct orc_ip4 *);
unsigned int orc_ip6_decode(const uint8_t *p, size_t n, bool quoted,
                            struct orc_ip6 *);

/* Write a header from fields, 20 bytes, or 40 (48 with 'has_frag'), and
 * return its length.  'total_len' and 'payload_len' are taken as they are. */
size_t orc_ip4_encode(uint8_t *, const struct orc_ip4 *);
size_t orc_ip6_encode(uint8_t *, const struct orc_ip6 *);

/* Returns true if the IPv4 options of the packet at 'p' contain a source
 * route whose pointer is not past its end; '*bad' tells whether the options
 * could not be followed to their end. */
bool orc_ip4_source_route(const uint8_t *p, unsigned int hdr_len, bool *bad);

/* Offset of the transport checksum in a header of 'proto', or -1. */
int orc_csum_ofs(uint8_t proto);

#endif /* oracle-packet.h */
