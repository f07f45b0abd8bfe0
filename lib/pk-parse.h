/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef PK_PARSE_H
#define PK_PARSE_H 1

/* Reading the headers of an IPv4 or IPv6 packet.
 *
 * pk_parse() checks every field that later code relies upon, reads nothing
 * behind the packet's end, and walks extension headers up to the transport
 * header or the fragment header.  It changes nothing.
 *
 * Pure functions, for any thread. */

#include "pk.h"

#define PK_IP4_HDR_BYTES 20
#define PK_IP6_HDR_BYTES 40
#define PK_FRAG_HDR_BYTES 8
#define PK_ICMP_HDR_BYTES 8
#define PK_UDP_HDR_BYTES 8
#define PK_TCP_HDR_BYTES 20

/* Protocols that <netinet/in.h> does not name everywhere. */
#define PK_PROTO_UDPLITE 136

enum pk_parse_result {
    PK_OK,
    PK_NOT_IP,         /* Version is neither 4 nor 6. */
    PK_TRUNCATED,      /* Ends before its headers do, or before it says. */
    PK_BAD_HDR,        /* Impossible field, or wrong IPv4 header checksum. */
    PK_BAD_EXT,        /* IPv6 extension header behind the fragment header
                        * (RFC 7915, 5.1.1), or too many of them. */
    PK_BAD_AH,         /* Likewise, an authentication header. */
    PK_BAD_ROUTING,    /* IPv6 routing header with segments left. */
};

enum pk_parse_flags {
    /* The packet inside an ICMP error: it may be cut short anywhere behind
     * its IP header, and a wrong IPv4 header checksum is normal. */
    PK_PARSE_QUOTE = 1 << 0,
    PK_PARSE_CSUM_OK = 1 << 1,   /* IPv4 header checksum not verified. */
};

/* What a packet's headers say, in host byte order. */
struct pk_info {
    uint32_t len;          /* Bytes of the packet that are there, link layer
                            * padding excluded. */
    uint32_t total;        /* Bytes it has according to its header: 'len',
                            * unless it is a quote cut short. */
    uint32_t frag_id;      /* IPv4 (always) or IPv6 (fragments only)
                            * identification. */
    uint16_t l4_ofs;       /* Bytes in front of the transport header: IP
                            * header, options, extension headers. */
    uint16_t frag_ofs;     /* Fragment offset in bytes. */
    uint16_t bad_ofs;      /* Offset of the "segments left" that is not zero
                            * (PK_BAD_ROUTING), otherwise 0. */
    uint8_t family;        /* 4 or 6. */
    uint8_t proto;         /* IPPROTO_*, behind extension headers. */
    uint8_t tos;           /* TOS or traffic class. */
    uint8_t ttl;           /* TTL or hop limit. */
    bool is_frag;          /* Offset != 0, more fragments, or (IPv6) just a
                            * fragment header. */
    bool more_frags;
    bool dont_frag;        /* IPv4 only. */
    bool source_route;     /* IPv4: a source route that has not ended. */
};

/* Reads the packet of 'len' bytes at 'data' into '*info'; 'flags' are of enum
 * pk_parse_flags.  The members of '*info' are set as far as the packet could
 * be read; 'family' is 0 unless the fixed IP header is there. */
enum pk_parse_result pk_parse(const uint8_t *data, uint32_t len,
                              unsigned int flags, struct pk_info *info);

/* Returns the offset of the checksum in the transport header of 'proto' if
 * that checksum covers a pseudo-header with the IP addresses in IPv4 and IPv6
 * alike (TCP, UDP, UDP-Lite, DCCP), otherwise 0. */
static inline uint16_t
pk_csum_ofs(uint8_t proto)
{
    switch (proto) {
    case IPPROTO_TCP:
        return 16;
    case IPPROTO_UDP:
    case IPPROTO_DCCP:
    case PK_PROTO_UDPLITE:
        return 6;
    default:
        return 0;
    }
}

/* Returns the least number of bytes that the transport header of 'proto' has:
 * what must be there for ports, type and checksum to be read. */
static inline uint32_t
pk_min_l4_bytes(uint8_t proto)
{
    switch (proto) {
    case IPPROTO_TCP:
        return PK_TCP_HDR_BYTES;
    case IPPROTO_UDP:
    case IPPROTO_DCCP:
    case PK_PROTO_UDPLITE:
    case IPPROTO_ICMP:
    case IPPROTO_ICMPV6:
        return PK_UDP_HDR_BYTES;
    default:
        return 0;
    }
}

/* Returns the bytes of transport header and payload that are there. */
static inline uint32_t
pk_l4_bytes(const struct pk_info *info)
{
    return info->len - info->l4_ofs;
}

/* Returns the bytes of the transport header of the GSO packet 'pk', of TCP or
 * UDP, or 0 if it is another or too short. */
static inline uint32_t
pk_gso_l4_hdr_bytes(const struct pk *pk, const struct pk_info *info)
{
    uint32_t bytes = 0;

    if (info->proto == IPPROTO_UDP) {
        bytes = PK_UDP_HDR_BYTES;
    } else if (info->proto == IPPROTO_TCP
               && pk_l4_bytes(info) >= PK_TCP_HDR_BYTES) {
        bytes = (pk->data[info->l4_ofs + 12] >> 4) * 4;
        bytes = bytes < PK_TCP_HDR_BYTES ? 0 : bytes;
    }
    return bytes <= pk_l4_bytes(info) ? bytes : 0;
}

/* Returns the bytes that the largest packet on the wire has behind its IP
 * headers: of a GSO packet, those of one segment. */
static inline uint32_t
pk_wire_l4_bytes(const struct pk *pk, const struct pk_info *info)
{
    uint32_t l4_bytes = pk_l4_bytes(info);
    uint32_t segment = pk_gso_l4_hdr_bytes(pk, info) + pk->gso_size;

    return pk->gso_size && segment < l4_bytes ? segment : l4_bytes;
}

/* Returns true if the transport header, as much as there is of it, belongs to
 * this packet: it is no fragment, or the first one. */
static inline bool
pk_has_l4(const struct pk_info *info)
{
    return info->frag_ofs == 0;
}

#endif /* pk-parse.h */
