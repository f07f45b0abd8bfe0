/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef GEN_CONF_H
#define GEN_CONF_H 1

/* Random zones: as the oracle's arrays, as strings for xlat-conf.h, and as the
 * JSON that flex-pcap reads. */

#include <stdio.h>

#include "oracle-conf.h"
#include "rnd.h"
#include "xlat-conf.h"

/* Makes a random zone of either kind.  Nearly all are valid; some are refused
 * by xlat_zone_create() for entries that contradict each other. */
void gen_conf(struct rnd *, struct orc_conf *);

/* Tells 'conf', by strings, to a new struct xlat_conf.  Returns NULL with
 * '*errorp' set, which the caller frees, if a string is refused. */
struct xlat_conf *gen_conf_tell(const struct orc_conf *conf, char **errorp);

/* Writes 'conf' in the form that flex-pcap reads. */
void gen_conf_print(const struct orc_conf *conf, FILE *);

/* Addresses that have something to do with 'conf', mostly. */
uint32_t gen_addr4(struct rnd *, const struct orc_conf *);
void gen_addr6(struct rnd *, const struct orc_conf *, uint8_t addr[16]);

#endif /* gen-conf.h */
