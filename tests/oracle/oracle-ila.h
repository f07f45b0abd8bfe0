/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef ORACLE_ILA_H
#define ORACLE_ILA_H 1

/* The slow and obvious version of ILA: mappings by linear search, each
 * checksum-neutral identifier computed anew for each comparison. */

#include "oracle-siit.h"

/* Takes 'pk' through an ila zone. */
void orc_ila(const struct orc_conf *, const struct pk *pk, enum xlat_dir,
             const struct orc_choice *, struct orc_want *);

/* Names of orc_ila_csum and of ident types, as configurations have them. */
extern const char *const orc_ila_csum_names[];
extern const char *const orc_ila_type_names[];

/* The ident type that the top three bits of an identifier name, or 0. */
int orc_ila_type_of(const uint8_t identifier[8]);

/* Turns 'identifier' of 'map' into what stands behind its locator, coming from
 * the zone's first SIR prefix; with the C bit if 'c_bit'. */
void orc_ila_neutral(const struct orc_conf *, const struct orc_ila_map *map,
                     bool c_bit, uint8_t identifier[8]);

#endif /* oracle-ila.h */
