/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "ila-csum.h"

#include "pk-parse.h"

#define ICMP6_CSUM_OFS 2

void
ila_csum_adjust(uint8_t *l4, uint32_t bytes, uint8_t proto, uint16_t delta,
                bool partial)
{
    uint32_t ofs = proto == IPPROTO_ICMPV6 ? ICMP6_CSUM_OFS
                                           : pk_csum_ofs(proto);

    if (!ofs || ofs + sizeof(pk_be16) > bytes) {
        return;
    }

    pk_be16 field = pk_get16(l4 + ofs);
    if (partial) {
        /* A sum, not the complement of one. */
        field = ~pk_csum_update(~field, delta);
    } else if (proto != IPPROTO_UDP || field) {
        field = pk_csum_update(field, delta);
        if (!field && (proto == IPPROTO_UDP || proto == PK_PROTO_UDPLITE)) {
            field = 0xffff;
        }
    }
    pk_put16(l4 + ofs, field);
}
