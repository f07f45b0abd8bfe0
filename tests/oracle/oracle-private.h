/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef ORACLE_PRIVATE_H
#define ORACLE_PRIVATE_H 1

/* What the files of the stateless oracle share. */

#include "oracle-siit.h"

/* The transport part of a packet, or what a quote has of it. */
struct orc_l4 {
    uint8_t proto;
    bool frag;               /* Part of a fragmented packet, ... */
    bool first;              /* ... which begins here. */
    bool quoted;
    bool partial;
    uint32_t full_len;       /* Bytes by the IP header. */
    uint16_t old_pseudo;     /* Sums of the pseudo-headers for 'full_len'. */
    uint16_t new_pseudo;
};

/* Corrects the checksum of the 'n' transport bytes at 'p', if they hold one
 * that covers a pseudo-header (not ICMP's).  'ofs' is where 'p' stands in
 * 'want->out'. */
void orc_l4_translate(const struct orc_l4 *, uint8_t *p, size_t n, size_t ofs,
                      struct orc_want *);

/* Types of messages that are errors, which no error is ever sent about. */
bool orc_icmp4_is_error(uint8_t type);
bool orc_icmp6_is_error(uint8_t type);

/* Translates the ICMP message of 'in' to the place behind the 'hdr' bytes
 * that the IP header takes in 'want->out'.  Sets 'want->len'.  '*growth' is
 * how many more header bytes stand in the quote.  The addresses in 'out' have
 * been set. */
void orc_icmp46(const struct orc_conf *, const struct orc_ip4 *in,
                const struct orc_ip6 *out, const struct orc_choice *,
                size_t hdr, int *growth, struct orc_want *);
void orc_icmp64(const struct orc_conf *, const struct orc_ip6 *in,
                const struct orc_choice *, size_t hdr, struct orc_want *);

/* Decodes what an error quotes, so far as it is there.  False: not at all. */
bool orc_icmp4_inner(const struct orc_ip4 *in, struct orc_ip4 *inner);
bool orc_icmp6_inner(const struct orc_ip6 *in, struct orc_ip6 *inner);

/* Returns true if the error has an extension structure. */
bool orc_icmp6_has_ext(const struct orc_ip6 *in);

/* Returns true if a siit zone turns the IPv6 packet back to IPv6. */
bool orc_is_hairpinned(const struct orc_conf *, const struct pk *);

/* Adds to 'want' a checksum field with two zeros. */
void orc_loose(struct orc_want *, size_t ofs);

#endif /* oracle-private.h */
