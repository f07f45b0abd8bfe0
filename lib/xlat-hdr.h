/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_HDR_H
#define XLAT_HDR_H 1

/* Writing IP headers, inline for the packet path's sake.  Private to xlat-*.c.
 *
 * Each function takes values, so that the header written may overlap the one
 * that they were read from. */

#include <endian.h>

#include "pk-csum.h"
#include "pk-parse.h"

#define XLAT_IP4_DF 0x4000
#define XLAT_IP4_MF 0x2000
#define XLAT_IP6_MF 0x0001

/* IPv4 results up to this size may be fragmented on their way; larger ones
 * are not (RFC 7915, 5.1). */
#define XLAT_IP4_DF0_MAX 1260

/* Writes an IPv6 header with flow label 0 at 'ip'. */
static inline void
xlat_hdr_put6(uint8_t *ip, uint8_t tos, uint16_t payload_bytes,
              uint8_t next_header, uint8_t hop_limit,
              const union pk_addr *src, const union pk_addr *dst)
{
    union pk_addr s = *src;
    union pk_addr d = *dst;

    pk_put64(ip, htobe64(UINT64_C(6) << 60 | (uint64_t) tos << 52
                         | (uint32_t) payload_bytes << 16
                         | (uint32_t) next_header << 8 | hop_limit));
    memcpy(ip + 8, &s, 16);
    memcpy(ip + 24, &d, 16);
}

/* Writes an IPv6 fragment header at 'fh'. */
static inline void
xlat_hdr_put_frag(uint8_t *fh, uint8_t next_header, uint16_t ofs_bytes,
                  bool more, uint32_t id)
{
    fh[0] = next_header;
    fh[1] = 0;
    pk_put16(fh + 2, htons(ofs_bytes | (more ? XLAT_IP6_MF : 0)));
    pk_put32(fh + 4, htonl(id));
}

/* Writes an IPv4 header without options at 'ip', checksum included.  'frag'
 * is the field of flags and fragment offset. */
static inline void
xlat_hdr_put4(uint8_t *ip, uint8_t tos, uint16_t total_bytes, uint16_t id,
              uint16_t frag, uint8_t ttl, uint8_t proto, pk_be32 src,
              pk_be32 dst)
{
    uint64_t w0 = htobe64(UINT64_C(0x45) << 56 | (uint64_t) tos << 48
                          | (uint64_t) total_bytes << 32
                          | (uint32_t) id << 16 | frag);
    uint16_t w1 = htons((uint32_t) ttl << 8 | proto);
    uint64_t rest = (uint64_t) w1 + src + dst;

    pk_put64(ip, w0);
    pk_put16(ip + 8, w1);
    pk_put16(ip + 10, pk_csum_finish(pk_csum_carry(w0, rest)));
    pk_put32(ip + 12, src);
    pk_put32(ip + 16, dst);
}

/* Adds 'delta' to the transport checksum at 'csum'.  Of UDP ('zero_is_none'),
 * a result of zero is sent as 0xffff (RFC 768). */
static inline void
xlat_hdr_update_csum(uint8_t *csum, uint16_t delta, bool zero_is_none)
{
    pk_be16 x = pk_csum_update(pk_get16(csum), delta);

    pk_put16(csum, !x && zero_is_none ? 0xffff : x);
}

#endif /* xlat-hdr.h */
