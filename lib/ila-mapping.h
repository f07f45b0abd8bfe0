/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef ILA_MAPPING_H
#define ILA_MAPPING_H 1

/* One mapping of an identifier to a locator: its members, and their text. */

#include <stdint.h>

/* What keeps the transport checksum right, see ila-csum.h. */
enum ila_csum_mode {
    ILA_CSUM_ADJ_TRANSPORT,
    ILA_CSUM_NEUTRAL_MAP,
    ILA_CSUM_NEUTRAL_MAP_AUTO,
    ILA_CSUM_NO_ACTION,
};

/* What an identifier says about itself in its top 3 bits.  With
 * ILA_IDENT_NONE it says nothing: it is 64 bits of the operator's, the C bit
 * among them, which only matters where the checksum mode is neutral-map. */
enum ila_ident_type {
    ILA_IDENT_NONE,
    ILA_IDENT_IID,               /* 0: interface identifier. */
    ILA_IDENT_LUID,              /* 1: locally unique. */
    ILA_IDENT_V4,                /* 2: virtual IPv4. */
    ILA_IDENT_V6,                /* 3: virtual unicast IPv6. */
    ILA_IDENT_V6_MULTICAST,      /* 4: virtual multicast IPv6. */
    ILA_IDENT_NONLOCAL,          /* 5: nonlocal address. */
};

/* The C bit, next to the type: a checksum-neutral mapping has changed this
 * identifier. */
#define ILA_C_BIT (UINT64_C(1) << 60)

struct ila_mapping {
    uint64_t identifier;             /* Halves of addresses in host byte */
    uint64_t locator;                /* order. */
    uint32_t slot;                   /* In a map: of its counters. */
    uint32_t line;                   /* Line of a file it comes from, or 0. */
    uint8_t csum_mode;               /* enum ila_csum_mode. */
    uint8_t ident_type;              /* enum ila_ident_type. */
    uint16_t delta;                  /* In a map: what going from its first
                                      * SIR prefix to the locator is worth to
                                      * a checksum, for pk_csum_update(). */
};

/* Makes a mapping of text.  'csum_mode' and 'ident_type' may be NULL for
 * "adj-transport" and "none".  An identifier that has a type must have its
 * number in the top 3 bits, and a clear C bit.
 *
 * Returns NULL, or a sentence that says what is wrong, which the caller
 * frees. */
char *ila_mapping_init(struct ila_mapping *, const char *identifier,
                       const char *locator, const char *csum_mode,
                       const char *ident_type);

const char *ila_csum_mode_name(enum ila_csum_mode);
const char *ila_ident_type_name(enum ila_ident_type);

#endif /* ila-mapping.h */
