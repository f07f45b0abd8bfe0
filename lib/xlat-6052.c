/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "xlat-6052.h"

#include "xlat-special.h"
#include "xlat-text.h"

char *
xlat_6052_init(struct xlat_6052 *p, const struct xlat_prefix *prefix)
{
    char text[XLAT_PREFIX_TEXT_SIZE];
    unsigned int len = prefix->len;

    xlat_prefix_format(prefix, text);
    if (len != 96 && (len < 32 || len > 64 || len % 8)) {
        return xlat_error("%s cannot embed IPv4 addresses: its length must be "
                          "32, 40, 48, 56, 64 or 96 (RFC 6052, 2.2)", text);
    }
    if (prefix->ip.lo >> 56) {
        return xlat_error("%s cannot embed IPv4 addresses: its bits 64 to 71 "
                          "must be zero (RFC 6052, 2.2)", text);
    }
    if (xlat_ip6_is_unroutable(prefix->ip)) {
        return xlat_error("%s is not a prefix of unicast addresses", text);
    }

    p->prefix = *prefix;
    p->global_only = len == 96 && prefix->ip.hi == UINT64_C(0x64ff9b) << 32
                     && !prefix->ip.lo;
    return NULL;
}
