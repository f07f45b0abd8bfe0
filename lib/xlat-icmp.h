/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_ICMP_H
#define XLAT_ICMP_H 1

/* ICMP types, codes, pointers and MTUs of one family in the other (RFC 7915,
 * 4.2 and 5.2).  Private to xlat-*.c.
 *
 * Pure functions over 8-byte ICMP headers, for any thread. */

#include "xlat-settings.h"
#include "xlat.h"

/* The first 8 bytes of an ICMP error but for its checksum. */
struct xlat_icmp {
    uint8_t type;
    uint8_t code;
    bool has_length;   /* RFC 4884 gives this type a length attribute. */
    uint32_t rest;     /* Bytes 4 to 7 without that attribute, in host byte
                        * order. */
};

/* Returns true if 'type' of ICMP for 'family' 4 or 6 is that of an error (or a
 * redirect, about which nobody may send an error either). */
bool xlat_icmp_is_error(uint8_t family, uint8_t type);

/* Returns true if 'type' is that of an error that translation knows. */
bool xlat_icmp_is_known_error(uint8_t family, uint8_t type);

/* Translates the header of the known error at 'icmp' (8 bytes), about a packet
 * of 'quote_total' bytes, into '*out'.  Returns XLAT_N_DROPS,
 * XLAT_DROP_ICMP_TYPE, or XLAT_DROP_PARAM_POINTER. */
enum xlat_drop xlat_icmp_46(const uint8_t *icmp,
                            const struct xlat_settings *set,
                            uint32_t quote_total, struct xlat_icmp *out);
enum xlat_drop xlat_icmp_64(const uint8_t *icmp,
                            const struct xlat_settings *set,
                            struct xlat_icmp *out);

/* Reads the header of the known error at 'icmp', of IPv4, which it is to
 * remain. */
void xlat_icmp_44(const uint8_t *icmp, struct xlat_icmp *out);

/* Returns the length in bytes of the padded quote according to the length
 * attribute (RFC 4884, 4) of the ICMP error at 'icmp', 0 if it has none. */
uint32_t xlat_icmp_get_length(uint8_t family, const uint8_t *icmp);

/* Writes '*hdr' at 'icmp' for 'family', checksum 0, with the length attribute
 * for a padded quote of 'length' bytes, a multiple of the family's unit (4 or
 * 8 bytes), or 0. */
void xlat_icmp_put(uint8_t family, uint8_t *icmp,
                   const struct xlat_icmp *hdr, uint32_t length);

#endif /* xlat-icmp.h */
