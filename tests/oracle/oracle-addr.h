/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef ORACLE_ADDR_H
#define ORACLE_ADDR_H 1

/* Addresses: RFC 6052, RFC 7757 and RFC 6791, by linear search. */

#include "oracle-conf.h"

/* Why an address is not translated. */
struct orc_why {
    uint64_t must;         /* A bit for each reason that holds. */
    uint64_t may;          /* Reasons that a translator may, but need not,
                            * see; README.md has the list. */
};

#define ORC_WHY(DROP) (UINT64_C(1) << XLAT_DROP_##DROP)

/* What an address is to the packet. */
enum orc_role {
    ORC_SRC,
    ORC_DST,
    ORC_ERROR_SRC,         /* Source of an ICMP error. */
    ORC_INNER,             /* Either address of the packet quoted. */
};

/* How an address was translated. */
enum orc_method {
    ORC_BY_NOTHING,
    ORC_BY_EAM,
    ORC_BY_6052,
    ORC_BY_OWN,            /* RFC 6791: an address of the translator. */
};

/* Translates 'v4' to IPv6, not by the EAMT unless 'use_eam'.  Adds the
 * reasons against it to '*why'. */
enum orc_method orc_addr46(const struct orc_conf *, uint32_t v4, bool use_eam,
                           enum orc_role, uint8_t v6[16], struct orc_why *);

/* Translates 'v6' to IPv4.  'own' is the pool4 address that the translator
 * under test has drawn, used if one is needed and it belongs to the pool. */
enum orc_method orc_addr64(const struct orc_conf *, const uint8_t v6[16],
                           enum orc_role, uint32_t own, uint32_t *v4,
                           struct orc_why *);

/* Returns true if an entry of the EAMT has 'v4' in its IPv4 prefix. */
bool orc_eam_has4(const struct orc_conf *, uint32_t v4);

/* Addresses that no packet is translated from or to. */
bool orc_illegal4(uint32_t v4);
bool orc_illegal6(const uint8_t v6[16]);

/* Returns true if 'v4' is in pool4. */
bool orc_pool4_has(const struct orc_conf *, uint32_t v4);

/* Writes 'v4' in 'prefix' as RFC 6052, 2.2 says, and reads it. */
void orc_6052_write(const struct orc_prefix6 *, uint32_t v4, uint8_t v6[16]);
uint32_t orc_6052_read(const struct orc_prefix6 *, const uint8_t v6[16]);

/* Writes 'v4', which is in the entry's IPv4 prefix, as RFC 7757, 3.3 says. */
void orc_eam_write6(const struct orc_eam *, uint32_t v4, uint8_t v6[16]);

#endif /* oracle-addr.h */
