/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_ODP_H
#define VSE_ODP_H 1

/* The datapath action as text, as dpctl/dump-flows prints it and
 * dpctl/add-flow reads it: "nat64(zone=1,tenant=7,reply=0x2)",
 * "ila(zone=1,dir=to_locator,reply=0x2)".
 *
 * Compiled into libopenvswitch. */

#include "vse-hooks.h"

struct ofpbuf;

void vse_odp_format(const struct vse_xlat *, struct ds *);

/* Parses the action that 's' begins with, and appends it to 'actions'.
 * Returns its length in 's' in bytes, or 0 if 's' begins with something
 * else. */
int vse_odp_parse(const char *s, struct ofpbuf *actions);

/* Returns the name of 'dir', an enum xlat_dir, NULL if it has none. */
const char *vse_dir_name(uint32_t dir);

/* The opposite; 0 if there is no such direction. */
uint32_t vse_dir_from_name(const char *name);

#endif /* vse-odp.h */
