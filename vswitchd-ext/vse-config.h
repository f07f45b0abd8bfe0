/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_CONFIG_H
#define VSE_CONFIG_H 1

/* The database's tables of translation, put into force.
 *
 * Each reconfiguration compares every row of Xlat_Zone with what was read
 * before, compiles the zones whose rows, mappings or files have changed, and
 * writes into 'status' what became of them.  A zone is taken whole or not at
 * all: one that is refused goes on with the configuration it had.
 *
 * Compiling happens in the main thread.  Threads that carry packets do not
 * wait for it; commands and other configuration do.
 *
 * Main thread only. */

#include <stdint.h>

#include "openvswitch/hmap.h"
#include "vse-file.h"
#include "vse-row.h"

struct json;
struct vse_hooks;

/* What is known of a row of Xlat_Zone. */
struct vse_config_zone {
    struct hmap_node node;         /* By 'number'. */
    uint32_t number;
    char *name;                    /* NULL if the row has none. */
    char *error;                   /* Why the row is refused, or NULL. */
    struct json *in_force;         /* The configuration that packets see, by
                                    * column; NULL if there is none. */
    struct vse_file eamt_file;
    struct vse_file mapping_file;

    /* What was read last. */
    struct vse_rows_sig sig;
    uint32_t name_owner;           /* The zone that has our name. */
    unsigned int round;            /* The reconfiguration that saw the row. */
};

/* Fills in the config_*() hooks. */
void vse_config_register(struct vse_hooks *);

/* Returns the zone whose number or name is 'id', or NULL. */
const struct vse_config_zone *vse_config_find(const char *id);

/* Returns all zones, by number, ascending; the caller frees the array. */
const struct vse_config_zone **vse_config_get_all(size_t *n);

#endif /* vse-config.h */
