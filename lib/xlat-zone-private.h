/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_ZONE_PRIVATE_H
#define XLAT_ZONE_PRIVATE_H 1

/* A zone's inside, for the packet path and the tests. */

#include "xlat-addr-map.h"
#include "xlat-settings.h"
#include "xlat-stats.h"
#include "xlat-zone.h"

struct ila_map;
struct nat64_view;

/* Immutable, but for what 'stats', 'stateful' and the counters in 'ila' point
 * to. */
struct xlat_zone {
    struct xlat_settings set;
    enum xlat_kind kind;
    uint32_t number;
    struct xlat_addr_map addrs;      /* siit; of stateful zones, without
                                      * pool4. */
    struct ila_map *ila;             /* ila. */
    struct nat64_view *stateful;     /* nat64, nat44. */
    char *log_to;
    struct xlat_stats *stats;        /* Shared with other snapshots. */
};

#endif /* xlat-zone-private.h */
