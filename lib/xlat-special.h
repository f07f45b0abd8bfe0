/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_SPECIAL_H
#define XLAT_SPECIAL_H 1

/* Addresses that a translator treats apart, whatever its configuration.
 * Arguments are in host byte order. */

#include "xlat-prefix.h"

/* Returns whether 'ip' names no single host beyond its own link, so that no
 * packet from it or to it is translated: 0.0.0.0/8, 127.0.0.0/8, 224.0.0.0/4,
 * 255.255.255.255 (RFC 1812, 5.3.7). */
static inline bool
xlat_ip4_is_unroutable(uint32_t ip)
{
    /* A bit for each first byte. */
    static const uint64_t nets[4] = {
        UINT64_C(1), UINT64_C(1) << 63, 0, UINT64_C(0xffff) << 32
    };

    return nets[ip >> 30] >> (ip >> 24 & 63) & 1 || ip == UINT32_MAX;
}

/* The same of IPv6: "::", "::1", fe80::/10, ff00::/8 (RFC 4291, 2.5 to
 * 2.7). */
static inline bool
xlat_ip6_is_unroutable(struct xlat_ip6 ip)
{
    return ip.hi >> 54 == 0xfe80 >> 6
           || ip.hi >> 56 == 0xff
           || (!ip.hi && ip.lo <= 1);
}

/* Returns whether it is so of any address under 'prefix', IPv4 or IPv6. */
bool xlat_prefix_has_unroutable(const struct xlat_prefix *prefix);

/* Returns whether 'ip' is not globally reachable (RFC 6890 and its registry),
 * so that 64:ff9b::/96 must not represent it (RFC 6052, 3.1). */
bool xlat_ip4_is_non_global(uint32_t ip);

/* Returns whether any address under 'prefix', IPv4, is private (RFC 1918) or
 * shared (RFC 6598), and so cannot stand for a router towards the Internet
 * (RFC 6791, 4). */
bool xlat_prefix_has_private(const struct xlat_prefix *prefix);

#endif /* xlat-special.h */
