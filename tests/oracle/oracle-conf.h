/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef ORACLE_CONF_H
#define ORACLE_CONF_H 1

/* A zone's configuration as the oracle keeps it: arrays, searched from the
 * beginning to the end. */

#include <stdbool.h>
#include <stdint.h>

#include "xlat-settings.h"
#include "xlat-zone.h"

#define ORC_MAX_POOL6 4
#define ORC_MAX_POOL4 4
#define ORC_MAX_EAM 64
#define ORC_MAX_ILA 64
#define ORC_MAX_DENY 4

struct orc_prefix6 {
    uint8_t addr[16];
    unsigned int len;
};

struct orc_prefix4 {
    uint32_t addr;
    unsigned int len;
};

struct orc_eam {
    struct orc_prefix6 p6;
    struct orc_prefix4 p4;
};

enum orc_ila_csum {
    ORC_ILA_ADJ_TRANSPORT,
    ORC_ILA_NEUTRAL_MAP,
    ORC_ILA_NEUTRAL_MAP_AUTO,
    ORC_ILA_NO_ACTION,
};

struct orc_ila_map {
    uint8_t identifier[8];
    uint8_t locator[8];
    enum orc_ila_csum csum;
    int ident_type;              /* Index into orc_ila_types[]. */
};

struct orc_conf {
    enum xlat_kind kind;
    struct xlat_settings set;
    bool no_link4;               /* IPv4 is but a step on the way. */
    struct orc_prefix6 pool6[ORC_MAX_POOL6];
    unsigned int n_pool6;
    struct orc_prefix4 pool4[ORC_MAX_POOL4];
    unsigned int n_pool4;
    struct orc_eam eam[ORC_MAX_EAM];
    unsigned int n_eam;
    struct orc_ila_map ila[ORC_MAX_ILA];
    unsigned int n_ila;
    struct orc_prefix4 deny4[ORC_MAX_DENY];
    unsigned int n_deny4;
    struct orc_prefix6 deny6[ORC_MAX_DENY];
    unsigned int n_deny6;
};

bool orc_in4(const struct orc_prefix4 *, uint32_t addr);
bool orc_in6(const struct orc_prefix6 *, const uint8_t addr[16]);

/* Bit 'i' of an address, counted from the left, and its setting. */
bool orc_bit(const uint8_t *, unsigned int i);
void orc_set_bit(uint8_t *, unsigned int i, bool);

#endif /* oracle-conf.h */
