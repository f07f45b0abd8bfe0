/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef ILA_CSUM_H
#define ILA_CSUM_H 1

/* What keeps a transport checksum right when ILA changes the upper half of the
 * destination, which its pseudo-header has.
 *
 * - adj-transport: the checksum is changed.
 * - neutral-map: the checksum stays, as the lower 16 bits of the identifier
 *   take up the difference; the C bit says so, and is part of it.
 * - neutral-map-auto: likewise, without a C bit: both ends know it.
 * - no-action: the checksum is wrong while the packet is under way.
 *
 * Neutral forms lose one distinction: in one's complement arithmetic, lower 16
 * bits of 0x0000 and 0xffff look the same on the wire.
 *
 * Halves of addresses are in host byte order.  Pure functions. */

#include <endian.h>
#include <stdbool.h>

#include "ila-map.h"
#include "pk-csum.h"

/* Returns the one's complement sum of the 16-bit groups of 'x', in host byte
 * order, not folded. */
static inline uint32_t
ila_csum_half(uint64_t x)
{
    return (x >> 48) + (x >> 32 & 0xffff) + (x >> 16 & 0xffff) + (x & 0xffff);
}

/* Returns 'identifier' with lower 16 bits changed by 'from' - 'to', in one's
 * complement. */
static inline uint64_t
ila_csum_absorb(uint64_t identifier, uint32_t from, uint32_t to)
{
    uint64_t sum = (identifier & 0xffff) + from
                   + (uint16_t) ~pk_csum_fold(to);

    return (identifier & ~UINT64_C(0xffff)) | pk_csum_fold(sum);
}

/* Returns the identifier to write when 'sir' is replaced by 'locator'.  With
 * 'c_bit', the C bit, which was clear, is set. */
static inline uint64_t
ila_csum_neutral_to_locator(uint64_t identifier, uint64_t sir,
                            uint64_t locator, bool c_bit)
{
    uint64_t flag = c_bit ? ILA_C_BIT : 0;

    return ila_csum_absorb(identifier, ila_csum_half(sir),
                           ila_csum_half(locator) + ila_csum_half(flag))
           | flag;
}

/* Returns the identifier to write when 'locator' is replaced by 'sir'.  With
 * 'c_bit', the C bit, which was set, is cleared.  Lower 16 bits of 0xffff may
 * have been 0x0000. */
static inline uint64_t
ila_csum_neutral_to_identifier(uint64_t identifier, uint64_t sir,
                               uint64_t locator, bool c_bit)
{
    uint64_t flag = c_bit ? ILA_C_BIT : 0;

    return ila_csum_absorb(identifier,
                           ila_csum_half(locator) + ila_csum_half(flag),
                           ila_csum_half(sir)) & ~flag;
}

/* Returns what changing 'from' into 'to' is worth to a checksum, for
 * pk_csum_update(). */
static inline uint16_t
ila_csum_delta(uint64_t from, uint64_t to)
{
    return pk_csum_delta(pk_csum_add64(0, htobe64(from)),
                         pk_csum_add64(0, htobe64(to)));
}

/* Changes the checksum in the transport header at 'l4', of which 'bytes' are
 * there, by 'delta'; 'proto' is its protocol.  'partial': the field has just
 * the sum of the pseudo-header.
 *
 * A UDP checksum of 0 stays: there is none.  One that becomes 0 is written as
 * 0xffff.  Nothing happens to a header that is cut short in front of its
 * checksum, or of a protocol without one. */
void ila_csum_adjust(uint8_t *l4, uint32_t bytes, uint8_t proto,
                     uint16_t delta, bool partial);

#endif /* ila-csum.h */
