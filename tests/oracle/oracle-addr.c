/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include "oracle-addr.h"

#include <string.h>

#include "oracle-packet.h"

bool
orc_bit(const uint8_t *p, unsigned int i)
{
    return p[i / 8] >> (7 - i % 8) & 1;
}

void
orc_set_bit(uint8_t *p, unsigned int i, bool bit)
{
    uint8_t mask = 1 << (7 - i % 8);

    p[i / 8] = (p[i / 8] & ~mask) | (bit ? mask : 0);
}

bool
orc_in4(const struct orc_prefix4 *prefix, uint32_t addr)
{
    return !prefix->len || !((prefix->addr ^ addr) >> (32 - prefix->len));
}

bool
orc_in6(const struct orc_prefix6 *prefix, const uint8_t addr[16])
{
    for (unsigned int i = 0; i < prefix->len; i++) {
        if (orc_bit(prefix->addr, i) != orc_bit(addr, i)) {
            return false;
        }
    }
    return true;
}

/* The first octet of the IPv4 address in an address of RFC 6052, 2.2; the
 * octet with bits 64 to 71 is stepped over. */
static unsigned int
next_octet(unsigned int i)
{
    return i + 1 == 8 ? 9 : i + 1;
}

void
orc_6052_write(const struct orc_prefix6 *prefix, uint32_t v4, uint8_t v6[16])
{
    unsigned int i = prefix->len / 8;

    memset(v6, 0, 16);
    memcpy(v6, prefix->addr, i);
    if (i == 8) {
        i = 9;
    }
    for (int shift = 24; shift >= 0; shift -= 8) {
        v6[i] = v4 >> shift;
        i = next_octet(i);
    }
}

uint32_t
orc_6052_read(const struct orc_prefix6 *prefix, const uint8_t v6[16])
{
    unsigned int i = prefix->len / 8;
    uint32_t v4 = 0;

    if (i == 8) {
        i = 9;
    }
    for (int n = 0; n < 4; n++) {
        v4 = v4 << 8 | v6[i];
        i = next_octet(i);
    }
    return v4;
}

void
orc_eam_write6(const struct orc_eam *eam, uint32_t v4, uint8_t v6[16])
{
    uint8_t b4[4];

    orc_put32(b4, v4);
    memset(v6, 0, 16);
    for (unsigned int i = 0; i < eam->p6.len; i++) {
        orc_set_bit(v6, i, orc_bit(eam->p6.addr, i));
    }
    for (unsigned int i = eam->p4.len; i < 32; i++) {
        orc_set_bit(v6, eam->p6.len + i - eam->p4.len, orc_bit(b4, i));
    }
}

static uint32_t
eam_read6(const struct orc_eam *eam, const uint8_t v6[16])
{
    uint8_t b4[4];

    orc_put32(b4, eam->p4.addr);
    for (unsigned int i = eam->p4.len; i < 32; i++) {
        orc_set_bit(b4, i, orc_bit(v6, eam->p6.len + i - eam->p4.len));
    }
    return orc_get32(b4);
}

static const struct orc_eam *
eam_find4(const struct orc_conf *conf, uint32_t v4)
{
    const struct orc_eam *best = NULL;

    for (unsigned int i = 0; i < conf->n_eam; i++) {
        const struct orc_eam *eam = &conf->eam[i];

        if (orc_in4(&eam->p4, v4)
            && (!best || eam->p4.len > best->p4.len)) {
            best = eam;
        }
    }
    return best;
}

static const struct orc_eam *
eam_find6(const struct orc_conf *conf, const uint8_t v6[16])
{
    const struct orc_eam *best = NULL;

    for (unsigned int i = 0; i < conf->n_eam; i++) {
        const struct orc_eam *eam = &conf->eam[i];

        if (orc_in6(&eam->p6, v6)
            && (!best || eam->p6.len > best->p6.len)) {
            best = eam;
        }
    }
    return best;
}

bool
orc_eam_has4(const struct orc_conf *conf, uint32_t v4)
{
    return eam_find4(conf, v4) != NULL;
}

bool
orc_pool4_has(const struct orc_conf *conf, uint32_t v4)
{
    for (unsigned int i = 0; i < conf->n_pool4; i++) {
        if (orc_in4(&conf->pool4[i], v4)) {
            return true;
        }
    }
    return false;
}

static bool
in_list4(const struct orc_prefix4 *list, unsigned int n, uint32_t addr)
{
    for (unsigned int i = 0; i < n; i++) {
        if (orc_in4(&list[i], addr)) {
            return true;
        }
    }
    return false;
}

static bool
in_list6(const struct orc_prefix6 *list, unsigned int n,
         const uint8_t addr[16])
{
    for (unsigned int i = 0; i < n; i++) {
        if (orc_in6(&list[i], addr)) {
            return true;
        }
    }
    return false;
}

#define P4(A, B, C, D, LEN) { (uint32_t) (A) << 24 | (B) << 16 | (C) << 8 \
                              | (D), LEN }

/* Addresses that are nobody's: "this" network, loopback, multicast, limited
 * broadcast (RFC 1812, 5.3.7). */
bool
orc_illegal4(uint32_t v4)
{
    static const struct orc_prefix4 list[] = {
        P4(0, 0, 0, 0, 8), P4(127, 0, 0, 0, 8), P4(224, 0, 0, 0, 4),
        P4(255, 255, 255, 255, 32),
    };

    return in_list4(list, sizeof list / sizeof list[0], v4);
}

/* Unspecified, loopback, multicast, link-local. */
bool
orc_illegal6(const uint8_t v6[16])
{
    static const struct orc_prefix6 list[] = {
        { { 0 }, 128 }, { { [15] = 1 }, 128 }, { { 0xff }, 8 },
        { { 0xfe, 0x80 }, 10 },
    };

    return in_list6(list, sizeof list / sizeof list[0], v6);
}

/* RFC 6052, 3.1: RFC 1918 and RFC 5735, 3, with what RFC 6598 added. */
static bool
non_global4(uint32_t v4)
{
    static const struct orc_prefix4 list[] = {
        P4(0, 0, 0, 0, 8), P4(10, 0, 0, 0, 8), P4(100, 64, 0, 0, 10),
        P4(127, 0, 0, 0, 8), P4(169, 254, 0, 0, 16), P4(172, 16, 0, 0, 12),
        P4(192, 0, 0, 0, 24), P4(192, 0, 2, 0, 24), P4(192, 168, 0, 0, 16),
        P4(198, 18, 0, 0, 15), P4(198, 51, 100, 0, 24),
        P4(203, 0, 113, 0, 24), P4(224, 0, 0, 0, 4), P4(240, 0, 0, 0, 4),
    };

    return in_list4(list, sizeof list / sizeof list[0], v4);
}

/* Inside RFC 5735's list, but globally reachable by RFC 6890's registry. */
static bool
perhaps_global4(uint32_t v4)
{
    static const struct orc_prefix4 list[] = {
        P4(192, 0, 0, 9, 32), P4(192, 0, 0, 10, 32), P4(192, 88, 99, 0, 24),
    };

    return in_list4(list, sizeof list / sizeof list[0], v4);
}

/* 64:ff9b::/96. */
static bool
well_known(const struct orc_prefix6 *prefix)
{
    static const uint8_t wkp[16] = { 0, 0x64, 0xff, 0x9b };

    return prefix->len == 96 && !memcmp(prefix->addr, wkp, 16);
}

/* An address as it stands in, or goes into, a prefix of RFC 6052. */
static void
check_embedded(const struct orc_conf *conf, const struct orc_prefix6 *prefix,
               uint32_t v4, enum orc_role role, struct orc_why *why)
{
    if (orc_illegal4(v4) && role != ORC_ERROR_SRC) {
        why->must |= ORC_WHY(BAD_EMBEDDED);
    }
    if (well_known(prefix) && !conf->set.wkp_non_global) {
        if (perhaps_global4(v4)) {
            why->may |= ORC_WHY(BAD_EMBEDDED);
        } else if (non_global4(v4)) {
            why->must |= ORC_WHY(BAD_EMBEDDED);
        }
    }
}

static void
check4(const struct orc_conf *conf, uint32_t v4, enum orc_role role,
       struct orc_why *why)
{
    if (orc_illegal4(v4) && role != ORC_ERROR_SRC) {
        why->must |= (role == ORC_SRC ? ORC_WHY(BAD_SOURCE)
                      : ORC_WHY(BAD_EMBEDDED) | ORC_WHY(NO_MAPPING));
    }
    if (in_list4(conf->deny4, conf->n_deny4, v4)) {
        why->must |= ORC_WHY(DENIED);
    }
}

static void
check_deny6(const struct orc_conf *conf, const uint8_t v6[16],
            struct orc_why *why)
{
    if (in_list6(conf->deny6, conf->n_deny6, v6)) {
        why->must |= ORC_WHY(DENIED);
    }
}

enum orc_method
orc_addr46(const struct orc_conf *conf, uint32_t v4, bool use_eam,
           enum orc_role role, uint8_t v6[16], struct orc_why *why)
{
    const struct orc_eam *eam = use_eam ? eam_find4(conf, v4) : NULL;
    static const uint8_t none[16];

    memset(v6, 0, 16);
    check4(conf, v4, role, why);
    if (eam) {
        orc_eam_write6(eam, v4, v6);
        check_deny6(conf, v6, why);
        return ORC_BY_EAM;
    }
    if (conf->n_pool6) {
        struct orc_why banned = { 0, 0 };

        check_embedded(conf, &conf->pool6[0], v4, role, &banned);
        if (role != ORC_ERROR_SRC || !banned.must
            || !memcmp(&conf->set.icmp_source6, none, 16)) {
            why->must |= banned.must;
            why->may |= banned.may;
            orc_6052_write(&conf->pool6[0], v4, v6);
            check_deny6(conf, v6, why);
            return ORC_BY_6052;
        }
    }
    if (role == ORC_ERROR_SRC && memcmp(&conf->set.icmp_source6, none, 16)) {
        memcpy(v6, &conf->set.icmp_source6, 16);
        return ORC_BY_OWN;
    }
    why->must |= ORC_WHY(NO_MAPPING);
    return ORC_BY_NOTHING;
}

static void
check6(const struct orc_conf *conf, const uint8_t v6[16], enum orc_role role,
       struct orc_why *why)
{
    if (orc_illegal6(v6) && role != ORC_ERROR_SRC) {
        why->must |= (role == ORC_SRC ? ORC_WHY(BAD_SOURCE)
                      : ORC_WHY(NO_MAPPING));
    }
    if (orc_illegal6(v6) && role == ORC_ERROR_SRC) {
        /* Replaced, before or after rules are asked. */
        struct orc_why denied = { 0, 0 };

        check_deny6(conf, v6, &denied);
        why->may |= denied.must;
    } else {
        check_deny6(conf, v6, why);
    }
}

static const struct orc_prefix6 *
pool6_find(const struct orc_conf *conf, const uint8_t v6[16])
{
    for (unsigned int i = 0; i < conf->n_pool6; i++) {
        if (orc_in6(&conf->pool6[i], v6)) {
            return &conf->pool6[i];
        }
    }
    return NULL;
}

enum orc_method
orc_addr64(const struct orc_conf *conf, const uint8_t v6[16],
           enum orc_role role, uint32_t own, uint32_t *v4,
           struct orc_why *why)
{
    const struct orc_eam *eam = eam_find6(conf, v6);
    const struct orc_prefix6 *prefix = pool6_find(conf, v6);

    *v4 = 0;
    check6(conf, v6, role, why);
    if (eam) {
        *v4 = eam_read6(eam, v6);
    } else if (prefix) {
        *v4 = orc_6052_read(prefix, v6);
    }
    if (role == ORC_ERROR_SRC && (eam || prefix)) {
        struct orc_why bad = { 0, 0 };

        /* A router whose IPv4 address cannot be is one without any. */
        check4(conf, *v4, ORC_DST, &bad);
        why->must |= bad.must & ORC_WHY(DENIED);
        if (!eam) {
            check_embedded(conf, prefix, *v4, ORC_DST, &bad);
        }
        if (!bad.must) {
            return eam ? ORC_BY_EAM : ORC_BY_6052;
        }
        if (bad.must & ~ORC_WHY(DENIED)) {
            /* Rules are asked before, or not at all. */
            why->may |= why->must & ORC_WHY(DENIED);
            why->must &= ~ORC_WHY(DENIED);
        }
    } else if (eam) {
        check4(conf, *v4, role, why);
        if (why->must & ORC_WHY(BAD_SOURCE)) {
            why->must |= ORC_WHY(BAD_EMBEDDED);
        }
        return ORC_BY_EAM;
    } else if (prefix) {
        check4(conf, *v4, role, why);
        check_embedded(conf, prefix, *v4, role, why);
        return ORC_BY_6052;
    }
    if (role == ORC_ERROR_SRC && conf->n_pool4) {
        *v4 = orc_pool4_has(conf, own) ? own : conf->pool4[0].addr;
        return ORC_BY_OWN;
    }
    if (role == ORC_ERROR_SRC && conf->set.icmp_source4) {
        *v4 = orc_get32((const uint8_t *) &conf->set.icmp_source4);
        return ORC_BY_OWN;
    }
    why->must |= ORC_WHY(NO_MAPPING);
    return ORC_BY_NOTHING;
}
