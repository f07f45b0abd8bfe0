/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include "pk-csum.h"

uint64_t
pk_csum_bytes(const void *data, size_t n)
{
    const uint8_t *p = data;
    uint64_t sum = 0;

    for (; n >= 8; n -= 8, p += 8) {
        sum = pk_csum_add64(sum, pk_get64(p));
    }
    if (n) {
        uint64_t rest = 0;

        memcpy(&rest, p, n);
        sum = pk_csum_add64(sum, rest);
    }
    return sum;
}
