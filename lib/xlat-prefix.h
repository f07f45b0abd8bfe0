/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_PREFIX_H
#define XLAT_PREFIX_H 1

/* Addresses, prefixes and 64-bit identifiers: their text, read strictly, and
 * their arithmetic.
 *
 * Arithmetic is done in host byte order, an IPv6 address being a pair of
 * 64-bit halves.  The text functions are for the control path. */

#include <endian.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* An IPv6 address in host byte order: bits 0 to 63 in 'hi'. */
struct xlat_ip6 {
    uint64_t hi;
    uint64_t lo;
};

/* An address prefix.  Bits behind the first 'len' are zero.  An IPv4 prefix
 * stands in the upper 32 bits of 'hi'. */
struct xlat_prefix {
    struct xlat_ip6 ip;
    uint8_t family;              /* 4 or 6. */
    uint8_t len;                 /* Bits, 0 to 32 or 128. */
};

#define XLAT_PREFIX_TEXT_SIZE (INET6_ADDRSTRLEN + 4)
#define XLAT_ID64_TEXT_SIZE 20

/* Loads the 16 bytes at 'p', of any alignment, in network byte order. */
static inline struct xlat_ip6
xlat_ip6_load(const void *p)
{
    uint64_t half[2];

    memcpy(half, p, sizeof half);
    return (struct xlat_ip6) { be64toh(half[0]), be64toh(half[1]) };
}

static inline void
xlat_ip6_store(struct xlat_ip6 ip, void *p)
{
    uint64_t half[2] = { htobe64(ip.hi), htobe64(ip.lo) };

    memcpy(p, half, sizeof half);
}

/* Loads the 4 bytes at 'p', of any alignment, in network byte order. */
static inline uint32_t
xlat_ip4_load(const void *p)
{
    uint32_t ip;

    memcpy(&ip, p, sizeof ip);
    return be32toh(ip);
}

/* Returns the mask of the first 'len' bits (0 to 128). */
static inline struct xlat_ip6
xlat_mask6(unsigned int len)
{
    return (struct xlat_ip6) {
        len >= 64 ? UINT64_MAX : len ? UINT64_MAX << (64 - len) : 0,
        len >= 128 ? UINT64_MAX : len > 64 ? UINT64_MAX << (128 - len) : 0,
    };
}

/* Returns the mask of the first 'len' bits (0 to 32). */
static inline uint32_t
xlat_mask4(unsigned int len)
{
    return len ? UINT32_MAX << (32 - len) : 0;
}

/* Returns whether 'ip' (IPv4: in the upper 32 bits of 'hi') lies in 'p', which
 * is of the same family. */
static inline bool
xlat_prefix_contains(const struct xlat_prefix *p, struct xlat_ip6 ip)
{
    struct xlat_ip6 mask = xlat_mask6(p->len);

    return !(((ip.hi ^ p->ip.hi) & mask.hi) | ((ip.lo ^ p->ip.lo) & mask.lo));
}

/* Returns whether the two prefixes have an address in common. */
bool xlat_prefix_overlaps(const struct xlat_prefix *,
                          const struct xlat_prefix *);

/* Reads all of 's' as "ADDRESS/LENGTH" or "ADDRESS" (all bits).  'family' is 4
 * or 6, or 0 for either.  Returns NULL, or a sentence that says what is wrong
 * (wrong family, impossible length, bits set behind the prefix), which the
 * caller frees. */
char *xlat_prefix_parse(const char *s, int family, struct xlat_prefix *);

/* Reads all of 's' as an address of 'family' (4, 6, or 0 for either); the
 * result has all bits as prefix.  Returns false if it is none. */
bool xlat_address_parse(const char *s, int family, struct xlat_prefix *);

/* Writes 'prefix' as "ADDRESS/LENGTH". */
void xlat_prefix_format(const struct xlat_prefix *prefix,
                        char text[XLAT_PREFIX_TEXT_SIZE]);

/* Reads all of 's' as a 64-bit half of an address, four groups of 1 to 4
 * hexadecimal digits ("5555:0:2:0").  Returns false if it is none. */
bool xlat_id64_parse(const char *s, uint64_t *idp);

void xlat_id64_format(uint64_t id, char text[XLAT_ID64_TEXT_SIZE]);

#endif /* xlat-prefix.h */
