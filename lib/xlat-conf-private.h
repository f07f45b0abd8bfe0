/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_CONF_PRIVATE_H
#define XLAT_CONF_PRIVATE_H 1

/* A configuration's inside, for xlat-conf.c, which fills it, and xlat-zone.c,
 * which compiles it. */

#include "ila-map.h"
#include "xlat-bib.h"
#include "xlat-conf.h"
#include "xlat-deny.h"
#include "xlat-eamt.h"
#include "xlat-settings.h"
#include "xlat-zone.h"

/* One element of pool4. */
struct xlat_conf_pool4 {
    struct xlat_prefix prefix;
    bool has_ports;
    uint16_t low_port;
    uint16_t high_port;
};

struct xlat_conf {
    uint32_t number;
    enum xlat_kind kind;
    uint64_t seed;
    struct xlat_settings set;
    struct xlat_deny deny;
    struct xlat_deny inside4;      /* Empty: the default. */
    char *eamt_file;               /* NULL if none. */
    char *mapping_file;
    char *log_to;                  /* NULL: the default. */

    /* Arrays grow by doubling: xlat-conf.c keeps their sizes. */
    struct xlat_prefix *pool6;
    size_t n_pool6;
    struct xlat_conf_pool4 *pool4;
    size_t n_pool4;
    struct xlat_eam *eams;
    size_t n_eams;
    struct ila_mapping *mappings;
    size_t n_mappings;
    struct xlat_bib *bibs;
    size_t n_bibs;
};

#endif /* xlat-conf-private.h */
