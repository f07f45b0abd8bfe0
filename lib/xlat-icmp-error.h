/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_ICMP_ERROR_H
#define XLAT_ICMP_ERROR_H 1

/* ICMP errors: the message, the packet inside it, and its extensions (RFC
 * 7915, 4.2, 4.3, 5.2 and 5.3; RFC 4884).  Private to xlat-*.c.
 *
 * In two steps, between which the caller looks addresses up: read what is
 * there, then apply two rewrites.
 *
 * The packet inside may be cut short anywhere behind its IP headers.  Where
 * the message has extensions, the quote in front of them is padded to a
 * multiple of the family's unit and to at least 128 bytes, and its new length
 * noted; extensions go where the new type cannot have any.  Where the message
 * would pass the least MTU of IPv6, or the zone's of IPv4, the quote is cut,
 * to no less than 128 bytes, then the extensions are, between two of their
 * objects.  Anything else behind the packet inside is cut off. */

#include "pk-parse.h"
#include "xlat-icmp.h"
#include "xlat-rewrite.h"

struct xlat_icmp_error {
    struct xlat_icmp hdr;        /* Translated header. */
    struct pk_info inner;        /* Of the packet inside. */
    uint8_t *quote;              /* That packet. */
    uint8_t *ext;                /* Extensions, at the end of the packet. */
    uint32_t ext_bytes;
};

/* Reads the ICMP error 'pk', which 'info' describes: of a known type, no
 * fragment, 8 bytes or more.  It is to become one of family 'to'.
 *
 * Returns XLAT_N_DROPS; or XLAT_DROP_ICMP_INNER with 'err->quote' NULL if
 * there is no packet of the same family inside whose headers can be read; or
 * XLAT_DROP_ICMP_TYPE or XLAT_DROP_PARAM_POINTER, where the rest of '*err' is
 * valid nevertheless. */
enum xlat_drop xlat_icmp_error_read(const struct pk *pk,
                                    const struct pk_info *info,
                                    uint8_t to,
                                    const struct xlat_settings *set,
                                    struct xlat_icmp_error *err);

/* Translates 'pk', of which '*err' was read: the packet inside as 'inner'
 * says, the rest as 'outer' says.  'ip_id' is as for
 * xlat_rewrite_apply().
 *
 * Returns XLAT_N_DROPS; or XLAT_DROP_NO_HEADROOM, or XLAT_DROP_ICMP_INNER (one
 * ICMP error in another), with 'pk' undefined. */
enum xlat_drop xlat_icmp_error_apply(const struct xlat_rewrite *outer,
                                     const struct xlat_rewrite *inner,
                                     const struct xlat_settings *set,
                                     struct pk *pk,
                                     const struct pk_info *info,
                                     struct xlat_icmp_error *err,
                                     uint16_t ip_id);

#endif /* xlat-icmp-error.h */
