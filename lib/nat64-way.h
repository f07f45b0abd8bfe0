/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef NAT64_WAY_H
#define NAT64_WAY_H 1

/* The steps of a packet's way through a stateful zone, from its headers to its
 * translation.  Private to nat64-*.c. */

#include "nat64-private.h"
#include "xlat-private.h"

/* Returns the family of the inside. */
static inline uint8_t
nat64_inside_family(const struct xlat_zone *zone)
{
    return zone->stateful->nat64->shape.inside_family;
}

static inline bool
nat64_is_44(const struct xlat_way *way)
{
    return nat64_inside_family(way->zone) == 4;
}

/* nat64-tuple.c: which tuple a packet belongs to. */

/* Returns whether the packet of 'way' comes from a host inside. */
bool nat64_is_from_inside(const struct xlat_way *);

/* Read the addresses of the packet of 'way', from inside or from outside, into
 * 't', and the place of the prefix into its sort.  Return XLAT_OK, or why the
 * zone does not translate it. */
enum xlat_drop nat64_read_out(const struct xlat_way *, struct nat64_tuple *t);
enum xlat_drop nat64_read_in(const struct xlat_way *, struct nat64_tuple *t);

/* The same for 'quote', the header of a packet that has come from outside, as
 * a host inside quotes it. */
enum xlat_drop nat64_read_quoted_in(const struct xlat_way *,
                                    const uint8_t *quote,
                                    struct nat64_tuple *t);

/* Adds the protocol of 'info' to 't'.  Returns false if it has none that there
 * are sessions of. */
bool nat64_add_proto(const struct pk_info *info, struct nat64_tuple *t);

/* Returns where, in a transport header, there are 4 bytes with what
 * nat64_read_ports() reads. */
uint32_t nat64_ports_ofs(const struct nat64_tuple *t);

/* Reads the ports, or the identifier, of the transport header 'l4' of a packet
 * that is sent by the inside ('dir' NAT64_OUT) or the outside. */
void nat64_read_ports(const uint8_t *l4, enum nat64_dir dir,
                      struct nat64_tuple *t);

/* Returns true if 'info' has as much of a transport header as
 * nat64_read_ports() reads: of a quote, that may be all. */
bool nat64_has_ports(const struct pk_info *info, const struct nat64_tuple *t);

/* nat64-run.c: makes '*rw' the rewrite of packets of 't' from 'dir'. */
void nat64_rewrite_of(const struct xlat_way *, const struct nat64_tuple *t,
                      enum nat64_dir dir, struct xlat_rewrite *rw);

/* nat64-icmp.c: translates the ICMP error of 'way', in which a packet of the
 * other direction is quoted: 'outer' has the addresses of the message, 'flags'
 * may be XLAT_RW_TTL_DEC.  Errors leave sessions as they are (RFC 6146, 3.5.3,
 * 3.5.4). */
enum xlat_drop nat64_translate_error(struct xlat_way *, enum nat64_dir dir,
                                     const struct nat64_tuple *outer,
                                     uint8_t flags);

#endif /* nat64-way.h */
