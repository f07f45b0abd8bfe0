/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_ADDR_MAP_H
#define XLAT_ADDR_MAP_H 1

/* What xlat-addr.c looks addresses up in, compiled by xlat-zone.c. */

#include "xlat-6052.h"
#include "xlat-deny.h"
#include "xlat-eamt.h"
#include "xlat-pool.h"

struct xlat_addr_map {
    struct xlat_6052 *pool6;
    size_t n_pool6;
    struct xlat_eamt *eamt;        /* NULL if it has no entries. */
    bool fast;                     /* One prefix of 96 bits in pool6, which
                                    * has no ban; no entry overlaps it or has
                                    * special addresses; no deny rules; no
                                    * intrinsic hairpinning. */
    bool pool6_first;              /* No entry's IPv6 prefix overlaps pool6,
                                    * so pool6, cheaper, is tried first. */
    bool prefetch;                 /* Lookups of a batch are worth it. */
    struct xlat_pool pool4;
    struct xlat_deny deny;
};

#endif /* xlat-addr-map.h */
