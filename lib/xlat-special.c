/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "xlat-special.h"

#include <stddef.h>

#define IP4(A, B, C, D) ((uint32_t) (A) << 24 | (B) << 16 | (C) << 8 | (D))

struct range {
    uint32_t net;
    uint8_t len;
};

static const struct range private[] = {
    { IP4(10, 0, 0, 0), 8 },
    { IP4(100, 64, 0, 0), 10 },
    { IP4(172, 16, 0, 0), 12 },
    { IP4(192, 168, 0, 0), 16 },
};

static const struct range non_global[] = {
    { IP4(0, 0, 0, 0), 8 },
    { IP4(127, 0, 0, 0), 8 },
    { IP4(169, 254, 0, 0), 16 },
    { IP4(192, 0, 0, 0), 24 },
    { IP4(192, 0, 2, 0), 24 },
    { IP4(198, 18, 0, 0), 15 },
    { IP4(198, 51, 100, 0), 24 },
    { IP4(203, 0, 113, 0), 24 },
    { IP4(224, 0, 0, 0), 3 },    /* Multicast, reserved, broadcast. */
};

static bool
is_in(const struct range *ranges, size_t n, uint32_t ip)
{
    for (size_t i = 0; i < n; i++) {
        if (!((ip ^ ranges[i].net) & xlat_mask4(ranges[i].len))) {
            return true;
        }
    }
    return false;
}

static bool
is_private(uint32_t ip)
{
    return is_in(private, sizeof private / sizeof private[0], ip);
}

bool
xlat_ip4_is_non_global(uint32_t ip)
{
    /* The anycast addresses of RFC 7723 and RFC 8155 are global in the midst
     * of a block that is not. */
    if (ip == IP4(192, 0, 0, 9) || ip == IP4(192, 0, 0, 10)) {
        return false;
    }
    return is_private(ip)
           || is_in(non_global, sizeof non_global / sizeof non_global[0], ip);
}

bool
xlat_prefix_has_unroutable(const struct xlat_prefix *prefix)
{
    static const struct xlat_prefix unroutable[] = {
        { { 0, 0 }, 4, 8 },
        { { UINT64_C(127) << 56, 0 }, 4, 8 },
        { { UINT64_C(224) << 56, 0 }, 4, 4 },
        { { UINT64_MAX << 32, 0 }, 4, 32 },
        { { 0, 0 }, 6, 127 },
        { { UINT64_C(0xfe80) << 48, 0 }, 6, 10 },
        { { UINT64_C(0xff) << 56, 0 }, 6, 8 },
    };

    for (size_t i = 0; i < sizeof unroutable / sizeof unroutable[0]; i++) {
        if (xlat_prefix_overlaps(prefix, &unroutable[i])) {
            return true;
        }
    }
    return false;
}

bool
xlat_prefix_has_private(const struct xlat_prefix *prefix)
{
    for (size_t i = 0; i < sizeof private / sizeof private[0]; i++) {
        const struct xlat_prefix range = {
            .ip.hi = (uint64_t) private[i].net << 32,
            .family = 4,
            .len = private[i].len,
        };

        if (xlat_prefix_overlaps(prefix, &range)) {
            return true;
        }
    }
    return false;
}
