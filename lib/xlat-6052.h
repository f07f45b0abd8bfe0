/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_6052_H
#define XLAT_6052_H 1

/* IPv4 addresses embedded in IPv6 addresses (RFC 6052, 2.2).
 *
 * Written: the octet of bits 64 to 71 and the suffix are zero.  Read: both are
 * ignored.  Addresses are in host byte order. */

#include "xlat-prefix.h"

/* A prefix of RFC 6052. */
struct xlat_6052 {
    struct xlat_prefix prefix;   /* 32, 40, 48, 56, 64 or 96 bits. */
    bool global_only;            /* 64:ff9b::/96: only for global IPv4
                                  * addresses (3.1). */
};

/* Makes a prefix of RFC 6052 of 'prefix'.  Returns NULL, or a sentence that
 * says why it cannot be one, which the caller frees. */
char *xlat_6052_init(struct xlat_6052 *, const struct xlat_prefix *prefix);

/* Returns the IPv6 address that represents 'ip4' under 'p'. */
static inline struct xlat_ip6
xlat_6052_embed(const struct xlat_6052 *p, uint32_t ip4)
{
    struct xlat_ip6 ip = p->prefix.ip;

    if (p->prefix.len == 96) {
        ip.lo |= ip4;
    } else {
        /* The last 'tail' bits come behind the octet that is zero. */
        unsigned int tail = p->prefix.len - 32;

        ip.hi |= (uint64_t) ip4 >> tail;
        ip.lo = (ip4 & (((uint64_t) 1 << tail) - 1)) << (56 - tail);
    }
    return ip;
}

/* Returns the IPv4 address inside 'ip', an address under 'p'. */
static inline uint32_t
xlat_6052_extract(const struct xlat_6052 *p, struct xlat_ip6 ip)
{
    if (p->prefix.len == 96) {
        return ip.lo;
    } else {
        unsigned int tail = p->prefix.len - 32;
        uint64_t low = ip.lo >> (56 - tail) & (((uint64_t) 1 << tail) - 1);

        return (uint32_t) (ip.hi << tail) | low;
    }
}

#endif /* xlat-6052.h */
