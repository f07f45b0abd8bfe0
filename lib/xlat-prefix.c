/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "xlat-prefix.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>

#include "xlat-text.h"

bool
xlat_prefix_overlaps(const struct xlat_prefix *a, const struct xlat_prefix *b)
{
    return a->family == b->family
           && (a->len <= b->len
               ? xlat_prefix_contains(a, b->ip)
               : xlat_prefix_contains(b, a->ip));
}

bool
xlat_address_parse(const char *s, int family, struct xlat_prefix *p)
{
    uint8_t bytes[16];

    if (family != 6 && inet_pton(AF_INET, s, bytes) == 1) {
        p->ip = (struct xlat_ip6) { (uint64_t) xlat_ip4_load(bytes) << 32, 0 };
        p->family = 4;
        p->len = 32;
        return true;
    }
    if (family != 4 && inet_pton(AF_INET6, s, bytes) == 1) {
        p->ip = xlat_ip6_load(bytes);
        p->family = 6;
        p->len = 128;
        return true;
    }
    return false;
}

char *
xlat_prefix_parse(const char *s, int family, struct xlat_prefix *p)
{
    char address[INET6_ADDRSTRLEN];
    size_t n = strcspn(s, "/");

    memcpy(address, s, n < sizeof address ? n : sizeof address);
    address[n < sizeof address ? n : 0] = '\0';
    if (!xlat_address_parse(address, family, p)) {
        return xlat_error("\"%s\" is not an %s prefix", s,
                          family == 4 ? "IPv4"
                          : family == 6 ? "IPv6" : "IPv4 or IPv6");
    }

    if (s[n]) {
        uint64_t len;

        if (!xlat_uint_parse(s + n + 1, 0, p->len, &len)) {
            return xlat_error("\"%s\" has a prefix length that is not a "
                              "number from 0 to %d", s, p->len);
        }
        p->len = len;
    }

    struct xlat_ip6 mask = xlat_mask6(p->len);
    if ((p->ip.hi & ~mask.hi) | (p->ip.lo & ~mask.lo)) {
        return xlat_error("\"%s\" has bits set behind its first %d", s,
                          p->len);
    }
    return NULL;
}

void
xlat_prefix_format(const struct xlat_prefix *p,
                   char text[XLAT_PREFIX_TEXT_SIZE])
{
    uint8_t bytes[16];

    xlat_ip6_store(p->ip, bytes);
    inet_ntop(p->family == 4 ? AF_INET : AF_INET6, bytes, text,
              INET6_ADDRSTRLEN);
    sprintf(text + strlen(text), "/%d", p->len);
}

/* Reads a group of 1 to 4 hexadecimal digits; returns the byte behind it, or
 * NULL. */
static const char *
parse_group(const char *s, uint64_t *idp)
{
    unsigned int group = 0;
    int n;

    for (n = 0; n < 4; n++, s++) {
        unsigned int c = (unsigned char) *s;
        unsigned int lower = c | 0x20;

        if (c - '0' <= 9) {
            group = group * 16 + (c - '0');
        } else if (lower - 'a' <= 5) {
            group = group * 16 + (lower - 'a' + 10);
        } else {
            break;
        }
    }
    *idp = *idp << 16 | group;
    return n ? s : NULL;
}

bool
xlat_id64_parse(const char *s, uint64_t *idp)
{
    uint64_t id = 0;

    for (int i = 0; i < 4; i++) {
        s = parse_group(s, &id);
        if (!s || *s != (i < 3 ? ':' : '\0')) {
            return false;
        }
        s++;
    }
    *idp = id;
    return true;
}

void
xlat_id64_format(uint64_t id, char text[XLAT_ID64_TEXT_SIZE])
{
    snprintf(text, XLAT_ID64_TEXT_SIZE, "%"PRIx64":%"PRIx64":%"PRIx64
             ":%"PRIx64, id >> 48, id >> 32 & 0xffff, id >> 16 & 0xffff,
             id & 0xffff);
}
