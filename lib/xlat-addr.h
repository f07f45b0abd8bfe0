/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_ADDR_H
#define XLAT_ADDR_H 1

/* What the addresses of a packet become in a stateless zone.
 *
 * In this order: addresses that are never translated (xlat-special.h), the
 * zone's deny rules, the explicit address mapping table (RFC 7757), the zone's
 * pool6 prefixes (RFC 6052).  All pool6 prefixes are recognized; the first is
 * the one written.  For the packet path: any thread, nothing is changed.
 *
 * Drop reasons:
 * - XLAT_DROP_BAD_SOURCE: the source is never translated (RFC 7915, 4.1).
 * - XLAT_DROP_NO_MAPPING: neither table nor prefix has the address, or the
 *   destination is a multicast, loopback, link-local or null address.
 * - XLAT_DROP_BAD_EMBEDDED: an address under pool6 embeds, or would have to
 *   embed, an IPv4 address that must not be there (RFC 6052, 3.1).
 * - XLAT_DROP_DENIED: a deny rule has the address, before or after.
 *
 * Hairpinning (RFC 7757, 4), by the setting 'hairpin':
 * - none: nothing special.
 * - simple (4.2.1): IPv4 to IPv6, the table is not used for the source of a
 *   packet, nor for the destination of the packet inside an ICMP error, nor
 *   for the source of an ICMP error if it is that destination.
 * - intrinsic (4.2.2): IPv6 to IPv4, where the destination was under pool6 and
 *   the table has the IPv4 address that it embeds, the packet is translated to
 *   IPv6 again at once, by the rules of "simple".  Of an ICMP error, it is the
 *   source of the packet inside that decides. */

#include "xlat.h"
#include "xlat-prefix.h"

struct xlat_addr_map;
struct xlat_zone;

/* One packet's addresses. */
struct xlat_addr {
    const uint8_t *ip;      /* In: IP header, its 20 or 40 bytes all there;
                             * NULL: nothing to do. */
    uint8_t from;           /* In: 4 or 6. */
    uint8_t to;             /* Out: 4 or 6; 6 to 6 if hairpinned. */
    uint8_t drop;           /* Out: enum xlat_drop; XLAT_N_DROPS if none. */
    union pk_addr src;      /* Out: translated addresses. */
    union pk_addr dst;
};

/* Translates the addresses of packets other than ICMP errors.  'n' is at most
 * XLAT_BATCH. */
void xlat_addr_batch(const struct xlat_zone *, struct xlat_addr *, size_t n);
void xlat_addr_one(const struct xlat_zone *, struct xlat_addr *);

/* Translates the addresses of an ICMP error, and those of the packet inside
 * it, whose 'from' is the same; 'inner' is NULL if no header of it is there.
 *
 * The outer source is a router's, so that being illegal does not drop the
 * packet (RFC 7915, 4.1).  Where it has no mapping, a random address of pool4
 * (RFC 6791) or else the setting icmp-source4 or icmp-source6 takes its
 * place.  '*rng' is a pseudorandom state, not 0. */
void xlat_addr_error(const struct xlat_zone *, uint64_t *rng,
                     struct xlat_addr *outer, struct xlat_addr *inner);

/* Chooses the source of an ICMP error that the zone itself makes, of 'family'
 * 4 or 6.  Returns false, and writes nothing, if it has none: the destination
 * of the packet that the error is about serves then. */
bool xlat_addr_own_source(const struct xlat_zone *, uint64_t *rng,
                          uint8_t family, union pk_addr *);

/* How an address was translated. */
struct xlat_via {
    enum { XLAT_VIA_NONE, XLAT_VIA_EAMT, XLAT_VIA_6052 } kind;
    struct xlat_prefix prefix6;    /* Of the entry, or of pool6. */
    struct xlat_prefix prefix4;    /* Of the entry. */
};

/* Translates one address, of a destination, and says how.  Deny rules are
 * applied, hairpinning is not.  Returns the reason to drop, or
 * XLAT_N_DROPS. */
enum xlat_drop xlat_addr_64(const struct xlat_zone *, const struct in6_addr *,
                            pk_be32 *, struct xlat_via *);
enum xlat_drop xlat_addr_46(const struct xlat_zone *, pk_be32,
                            struct in6_addr *, struct xlat_via *);

#endif /* xlat-addr.h */
