/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef PK_CSUM_H
#define PK_CSUM_H 1

/* The Internet checksum (RFC 1071), whole and incremental (RFC 1624).
 *
 * A sum is a 64-bit one's complement accumulator over words as they stand in
 * memory: never byte-swapped, since the sum of swapped words is the swapped
 * sum.  pk_csum_fold() brings it to 16 bits, in network byte order like
 * everything else here.  Sums of blocks add up as long as each block begins at
 * an even offset of the whole.
 *
 * An accumulator takes 2^32 additions of 32 bits before it can wrap, so a
 * packet never does.  pk_csum_carry() adds all 64 bits at once, in two
 * instructions: for where every one counts.  Its results fold like others,
 * but must not be added to by plain '+'.
 *
 * Pure functions, for any thread. */

#include <string.h>

#include "pk.h"

/* Unaligned loads and stores. */
static inline uint16_t
pk_get16(const void *p)
{
    uint16_t x;

    memcpy(&x, p, sizeof x);
    return x;
}

static inline uint32_t
pk_get32(const void *p)
{
    uint32_t x;

    memcpy(&x, p, sizeof x);
    return x;
}

static inline uint64_t
pk_get64(const void *p)
{
    uint64_t x;

    memcpy(&x, p, sizeof x);
    return x;
}

static inline void
pk_put16(void *p, uint16_t x)
{
    memcpy(p, &x, sizeof x);
}

static inline void
pk_put32(void *p, uint32_t x)
{
    memcpy(p, &x, sizeof x);
}

static inline void
pk_put64(void *p, uint64_t x)
{
    memcpy(p, &x, sizeof x);
}

/* Returns 'sum' plus the four 16-bit words of 'x'. */
static inline uint64_t
pk_csum_add64(uint64_t sum, uint64_t x)
{
    return sum + (x >> 32) + (x & UINT32_MAX);
}

/* Returns 'sum' plus 'x', the carry added in again. */
static inline uint64_t
pk_csum_carry(uint64_t sum, uint64_t x)
{
    sum += x;
    return sum + (sum < x);
}

/* Returns 'sum' folded to 16 bits, not inverted.  A number plus itself with
 * its halves swapped has the one's complement sum of the halves on top. */
static inline uint16_t
pk_csum_fold(uint64_t sum)
{
    uint32_t half = (sum + (sum << 32 | sum >> 32)) >> 32;

    return (half + (half << 16 | half >> 16)) >> 16;
}

/* Returns what a checksum field must hold if 'sum' covers the rest. */
static inline pk_be16
pk_csum_finish(uint64_t sum)
{
    return ~pk_csum_fold(sum);
}

/* Returns the sum of the IPv4 or the IPv6 address at 'addr'. */
static inline uint64_t
pk_csum_addr4(const void *addr)
{
    return pk_get32(addr);
}

static inline uint64_t
pk_csum_addr6(const void *addr)
{
    const uint8_t *p = addr;

    return pk_csum_add64(pk_csum_add64(0, pk_get64(p)), pk_get64(p + 8));
}

/* Returns the difference that turns a checksum over data that sum up to 'old'
 * into one over data that sum up to 'new', for pk_csum_update(). */
static inline uint16_t
pk_csum_delta(uint64_t old, uint64_t new)
{
    return pk_csum_fold(old + (uint16_t) ~pk_csum_fold(new));
}

/* Returns checksum 'field' after a change that is worth 'delta'.
 *
 * A result of zero appears as 0x0000, as a full computation has it (RFC 1624,
 * 3, the third equation); UDP makes it 0xffff. */
static inline pk_be16
pk_csum_update(pk_be16 field, uint16_t delta)
{
    uint32_t sum = (uint16_t) ~field + (uint32_t) (uint16_t) ~delta;

    return ~((sum & UINT16_MAX) + (sum >> 16));
}

/* Returns the sum of a pseudo-header without its addresses: 'bytes' of
 * transport header and payload, and the protocol.  It is the same for IPv4
 * (RFC 793) and IPv6 (RFC 8200, 8.1). */
static inline uint64_t
pk_csum_pseudo(uint32_t bytes, uint8_t proto)
{
    return (uint64_t) htonl(bytes) + htons(proto);
}

/* Returns the sum of the 'n' bytes at 'data'; an odd last byte is padded with
 * a zero. */
uint64_t pk_csum_bytes(const void *data, size_t n);

#endif /* pk-csum.h */
