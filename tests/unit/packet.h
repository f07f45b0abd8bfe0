/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef PACKET_H
#define PACKET_H 1

/* Packets for unit tests: building them from a few fields, reading them from
 * hex digits, and checking that a packet is whole and its checksums right by
 * full computation, with nothing shared with the code under test. */

#include "pk.h"

#define PACKET_HEADROOM 256
#define PACKET_MAX 70000

/* A packet with its buffer. */
struct packet {
    uint8_t buf[PACKET_HEADROOM + PACKET_MAX];
    struct pk pk;
};

/* Fields of a packet to be built; 0 means a sane default. */
struct packet_spec {
    const char *src, *dst;       /* Of one family, which is the packet's. */
    uint8_t proto;
    uint8_t ttl;                 /* 0: 64. */
    uint8_t tos;
    bool df;
    uint32_t id;                 /* IPv6: only with a fragment header. */
    uint16_t frag_ofs;           /* Bytes. */
    bool more;
    bool frag_hdr;               /* IPv6: fragment header. */
    const uint8_t *ext;          /* IPv4 options, or IPv6 extension headers */
    uint32_t ext_bytes;          /* in front of the fragment header, whose */
    uint8_t ext_type;            /* first one is of this type, the last of
                                  * which has 0 as next header: set here. */
    uint32_t ext_last;           /* Offset of the last one in 'ext'. */
    const uint8_t *l4;           /* Transport header and payload; checksum */
    uint32_t l4_bytes;           /* of whole packets: see packet_build(). */
};

/* Builds 'packet' from 'spec'.  The transport checksum of TCP, UDP, ICMP and
 * ICMPv6 is filled in unless 'spec' is of a fragment. */
void packet_build(struct packet *packet, const struct packet_spec *spec);

/* Likewise of 'hex' digits, at most PACKET_MAX bytes. */
void packet_hex(struct packet *packet, const char *hex);

/* Begins a packet of 'n' bytes, to be filled by the caller. */
void packet_init(struct packet *packet, uint32_t n);

/* Writes a transport header with payload 'n' bytes 1, 2, 3, ... at 'l4' and
 * returns the bytes of both.  The checksum is 0. */
uint32_t packet_udp(uint8_t *l4, uint16_t src, uint16_t dst, uint32_t n);
uint32_t packet_tcp(uint8_t *l4, uint16_t src, uint16_t dst, uint32_t n);
uint32_t packet_icmp(uint8_t *l4, uint8_t type, uint8_t code, uint32_t rest,
                     const uint8_t *data, uint32_t n);

/* Returns the whole sum over 'n' bytes at 'data', folded, not inverted. */
uint16_t packet_sum(const uint8_t *data, uint32_t n, uint32_t sum);

/* Writes the transport checksum of the whole packet at 'ip' of 'len' bytes,
 * its transport header at 'l4_ofs'. */
void packet_fill_csum(uint8_t *ip, uint32_t len, uint32_t l4_ofs,
                      uint8_t proto);

/* Fails the test unless 'pk' is a packet with right lengths and right
 * checksums (transport: if whole). */
void packet_check(const struct pk *pk);

/* Fails the test unless the address at 'addr' is 'text'. */
void packet_check_addr(int family, const uint8_t *addr, const char *text);

#endif /* packet.h */
