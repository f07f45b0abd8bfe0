/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include "oracle-ila.h"

#include <netinet/in.h>
#include <string.h>

#include "oracle-private.h"

#define C_BIT 0x10                     /* In an identifier's first byte. */

const char *const orc_ila_csum_names[] = {
    "adj-transport", "neutral-map", "neutral-map-auto", "no-action", NULL
};
const char *const orc_ila_type_names[] = {
    "none", "iid", "luid", "v4", "v6", "v6-multicast", "nonlocal", NULL
};

int
orc_ila_type_of(const uint8_t identifier[8])
{
    return identifier[0] >> 5 <= 5 ? (identifier[0] >> 5) + 1 : 0;
}

/* What identifier 'in' becomes when its prefix goes from 'old' to 'new' and
 * the sum of the address shall stay.  The low 16 bits are 0 to 0xfffe. */
static void
neutral(const uint8_t old[8], const uint8_t new[8], bool c_bit,
        const uint8_t in[8], uint8_t out[8])
{
    uint16_t low = orc_get16(in + 6);

    memcpy(out, in, 8);
    if (c_bit) {
        out[0] |= C_BIT;
    }
    low = orc_add(low, orc_sub(orc_sum(old, 8), orc_sum(new, 8)));
    low = orc_add(low, orc_sub(orc_sum(in, 6), orc_sum(out, 6)));
    orc_put16(out + 6, low);
}

void
orc_ila_neutral(const struct orc_conf *conf, const struct orc_ila_map *map,
                bool c_bit, uint8_t identifier[8])
{
    neutral(conf->pool6[0].addr, map->locator, c_bit, map->identifier,
            identifier);
}

static bool
is_neutral(const struct orc_ila_map *map)
{
    return (map->csum == ORC_ILA_NEUTRAL_MAP
            || map->csum == ORC_ILA_NEUTRAL_MAP_AUTO);
}

/* Equal but for 0 and 0xffff in the low 16 bits. */
static bool
same_identifier(const uint8_t a[8], const uint8_t b[8])
{
    return (!memcmp(a, b, 6)
            && orc_get16(a + 6) % 0xffff == orc_get16(b + 6) % 0xffff);
}

/* Translation of one destination.  False: not, for the reasons in 'why'. */
static bool
to_locator(const struct orc_conf *conf, const uint8_t dst[16],
           uint8_t out[16], const struct orc_ila_map **mapp,
           struct orc_why *why)
{
    uint8_t cleared[8];
    bool sir = false;

    memcpy(cleared, dst + 8, 8);
    cleared[0] &= ~C_BIT;
    for (unsigned int i = 0; i < conf->n_pool6; i++) {
        sir = sir || !memcmp(conf->pool6[i].addr, dst, 8);
    }
    for (unsigned int i = 0; sir && i < conf->n_ila; i++) {
        const struct orc_ila_map *map = &conf->ila[i];

        if (map->csum == ORC_ILA_NEUTRAL_MAP && dst[8] & C_BIT
            && (!memcmp(map->identifier, dst + 8, 8)
                || !memcmp(map->identifier, cleared, 8))) {
            why->must |= ORC_WHY(ILA_C_BIT);
            if (!memcmp(map->identifier, dst + 8, 8)) {
                return false;
            }
        }
        if (!memcmp(map->identifier, dst + 8, 8)) {
            why->must = 0;
            *mapp = map;
            memcpy(out, map->locator, 8);
            memcpy(out + 8, dst + 8, 8);
            if (is_neutral(map)) {
                neutral(dst, map->locator, map->csum == ORC_ILA_NEUTRAL_MAP,
                        dst + 8, out + 8);
            }
            return true;
        }
    }
    why->must |= ORC_WHY(NO_MAPPING);
    return false;
}

static bool
to_identifier(const struct orc_conf *conf, const uint8_t dst[16],
              uint8_t out[16], const struct orc_ila_map **mapp,
              struct orc_why *why)
{
    for (unsigned int i = 0; i < conf->n_ila; i++) {
        const struct orc_ila_map *map = &conf->ila[i];

        if (memcmp(map->locator, dst, 8)) {
            continue;
        }
        if (map->csum == ORC_ILA_NEUTRAL_MAP
            && !memcmp(map->identifier, dst + 8, 8)) {
            /* Not changed on its way: nothing to restore. */
            why->may |= ORC_WHY(ILA_C_BIT);
            if (map->identifier[0] & C_BIT) {
                why->must |= ORC_WHY(ILA_C_BIT);
                continue;
            }
            why->must = 0;
            *mapp = map;
            memcpy(out, conf->pool6[0].addr, 8);
            memcpy(out + 8, map->identifier, 8);
            return true;
        }
        if (map->csum == ORC_ILA_NEUTRAL_MAP && map->identifier[0] & C_BIT) {
            continue;                  /* Never sent. */
        }
        for (unsigned int j = 0; j < conf->n_pool6; j++) {
            const uint8_t *sir = conf->pool6[j].addr;
            uint8_t wire[8];

            memcpy(wire, map->identifier, 8);
            if (is_neutral(map)) {
                neutral(sir, map->locator, map->csum == ORC_ILA_NEUTRAL_MAP,
                        map->identifier, wire);
            }
            if (is_neutral(map) ? same_identifier(wire, dst + 8)
                : !memcmp(wire, dst + 8, 8)) {
                why->must = 0;
                *mapp = map;
                memcpy(out, sir, 8);
                memcpy(out + 8, map->identifier, 8);
                return true;
            }
        }
    }
    why->must |= ORC_WHY(NO_MAPPING);
    return false;
}

static bool
under_sir(const struct orc_conf *conf, const uint8_t dst[16])
{
    for (unsigned int i = 0; i < conf->n_pool6; i++) {
        if (!memcmp(conf->pool6[i].addr, dst, 8)) {
            return true;
        }
    }
    return false;
}

/* Where the transport header is. */
struct l4 {
    uint8_t proto;
    size_t ofs;
    bool known;        /* Its checksum, if it has one, is at its place and
                        * covers this destination. */
    bool frag;
    bool cut;
    bool odd;          /* Extension headers that nobody sends. */
};

static struct l4
find_l4(const uint8_t *p, size_t n)
{
    struct l4 l4 = { p[6], 40, true, false, false, false };
    bool behind_frag = false;

    for (;;) {
        bool frag = l4.proto == IPPROTO_FRAGMENT;

        if (l4.proto == IPPROTO_AH) {
            l4.known = false;
            return l4;
        }
        if (l4.proto != IPPROTO_HOPOPTS && l4.proto != IPPROTO_ROUTING
            && l4.proto != IPPROTO_DSTOPTS && !frag) {
            return l4;
        }
        if (behind_frag || (l4.proto == IPPROTO_HOPOPTS && l4.ofs > 40)) {
            l4.odd = true;
        }
        if (l4.ofs + 8 > n
            || (!frag && l4.ofs + (p[l4.ofs + 1] + 1) * 8u > n)) {
            l4.cut = true;
            l4.known = false;
            return l4;
        }
        if (l4.proto == IPPROTO_ROUTING && p[l4.ofs + 3]) {
            l4.known = false;
        }
        l4.proto = p[l4.ofs];
        if (frag) {
            behind_frag = true;
            l4.frag = l4.frag || orc_get16(p + l4.ofs + 2) & 0xfff9;
            if (orc_get16(p + l4.ofs + 2) & 0xfff8) {
                l4.known = false;
                return l4;
            }
        }
        l4.ofs += frag ? 8 : (p[l4.ofs + 1] + 1) * 8;
    }
}

static int
csum_ofs(uint8_t proto)
{
    return (proto == 33 || proto == 136 ? 6
            : proto == IPPROTO_ICMP ? -1 : orc_csum_ofs(proto));
}

/* Adds what the sum of the covered bytes has grown by to a checksum. */
static void
add_to_csum(uint8_t *p, uint8_t proto, bool partial, uint16_t grown)
{
    bool zero_is_none = proto == IPPROTO_UDP || proto == 136;
    uint16_t sum;

    if (partial) {
        sum = orc_add(orc_get16(p), grown);
        orc_put16(p, sum ? sum : 0xffff);
    } else if (!zero_is_none || orc_get16(p)) {
        sum = orc_add(~orc_get16(p), grown);
        orc_put16(p, sum ? ~sum : zero_is_none ? 0xffff : 0);
    }
}

/* A checksum behind odd headers may stay as it is: so it is right again when
 * the packet has come back to its identifier.  'p' is at 'ofs' of the whole
 * packet. */
static bool
not_looked_for(const struct l4 *l4, const uint8_t *p, size_t ofs, int at,
               const struct orc_choice *choice)
{
    size_t csum = l4->ofs + at;

    return (l4->odd && at >= 0 && choice->len >= ofs + csum + 2
            && !memcmp(choice->out + ofs + csum, p + csum, 2));
}

/* Takes the packet quoted by the error at 'p', of 'n' bytes, back to its
 * identifier.  Returns true if it did. */
static bool
fix_inner(const struct orc_conf *conf, uint8_t *p, size_t n, size_t ofs,
          const struct orc_choice *choice, struct orc_want *want)
{
    const struct orc_ila_map *map;
    struct orc_why why = { 0, 0 };
    struct orc_ip6 ip;
    uint8_t dst[16];
    struct l4 l4;
    int at;

    if (orc_ip6_decode(p, n, true, &ip)
        || !to_identifier(conf, ip.dst, dst, &map, &why)) {
        return false;
    }
    if (n > 40u + ip.payload_len) {
        n = 40 + ip.payload_len;
    }
    memcpy(p + 24, dst, 16);
    l4 = find_l4(p, n);
    at = csum_ofs(l4.proto);
    if (map->csum == ORC_ILA_ADJ_TRANSPORT && l4.known && at >= 0
        && l4.ofs + at + 2 <= n
        && !not_looked_for(&l4, p, ofs, at, choice)) {
        add_to_csum(p + l4.ofs + at, l4.proto, false,
                    orc_sub(orc_sum(dst, 16), orc_sum(ip.dst, 16)));
        if (l4.proto != IPPROTO_UDP) {
            orc_loose(want, ofs + l4.ofs + at);
        }
    }
    return true;
}

static void
translate(const struct orc_conf *conf, const struct pk *pk,
          enum xlat_dir dir, const struct orc_choice *choice,
          struct orc_want *want)
{
    uint8_t *p = want->out;
    size_t n = 40 + orc_get16(pk->data + 4);
    bool locator = (dir == XLAT_DIR_TO_LOCATOR
                    || (dir == XLAT_DIR_AUTO
                        && under_sir(conf, pk->data + 24)));
    const struct orc_ila_map *map = NULL;
    uint16_t grown = 0, before;
    bool inner = false, changed;
    uint8_t dst[16];
    struct l4 l4;
    int at;

    memcpy(p, pk->data, pk->len);
    want->len = pk->len;
    l4 = find_l4(p, n);
    at = csum_ofs(l4.proto);
    if (l4.cut || l4.odd || l4.frag) {
        want->why.may |= ORC_WHY(TRUNCATED) | ORC_WHY(BAD_HDR)
                         | ORC_WHY(BAD_EXT_HDR);
    }
    changed = (locator ? to_locator : to_identifier)(conf, p + 24, dst, &map,
                                                     &want->why);
    before = orc_sum(p + l4.ofs, n - l4.ofs);
    if (l4.proto == IPPROTO_ICMPV6 && l4.known && n >= l4.ofs + 48
        && p[l4.ofs] < 128) {
        size_t ofs = l4.ofs + 8;
        uint8_t old[16];

        /* Of messages that are no known errors, fragmented, or behind odd
         * headers, either. */
        memcpy(old, p + ofs + 24, 16);
        if ((p[l4.ofs] < 1 || p[l4.ofs] > 4 || l4.frag || l4.odd)
            && (choice->len < ofs + 40
                || !memcmp(choice->out + ofs + 24, old, 16))) {
            inner = false;
        } else {
            inner = fix_inner(conf, p + ofs, n - ofs, ofs, choice,
                              want);
        }
    }
    if (!changed && !inner) {
        return;
    }
    if (!inner && not_looked_for(&l4, p, 0, at, choice)) {
        l4.known = false;
    }
    grown = orc_sub(orc_sum(p + l4.ofs, n - l4.ofs), before);
    if (changed) {
        if (map->csum == ORC_ILA_ADJ_TRANSPORT) {
            grown = orc_add(grown, orc_sub(orc_sum(dst, 16),
                                           orc_sum(p + 24, 16)));
        }
        memcpy(p + 24, dst, 16);
        if (is_neutral(map)) {
            orc_loose(want, 38);
        }
    } else {
        /* For the packet inside alone. */
        want->why.may |= want->why.must & ORC_WHY(ILA_C_BIT);
        want->why.must = 0;
    }
    if (l4.known && at >= 0 && l4.ofs + at + 2 <= n) {
        if (grown || changed) {
            add_to_csum(p + l4.ofs + at, l4.proto,
                        pk->flags & PK_L4_PARTIAL, grown);
        }
        if (l4.proto != IPPROTO_UDP || pk->flags & PK_L4_PARTIAL) {
            orc_loose(want, l4.ofs + at);
        }
    }
}

void
orc_ila(const struct orc_conf *conf, const struct pk *pk, enum xlat_dir dir,
        const struct orc_choice *choice, struct orc_want *want)
{
    memset(&want->why, 0, sizeof want->why);
    want->len = 0;
    want->from = want->to = 6;
    want->gso_min = want->gso_max = pk->gso_size;
    want->frag_mtu = 0;
    want->frag_id_set = false;
    want->partial = pk->flags & PK_L4_PARTIAL;
    want->n_loose = 0;
    want->anything = false;

    if (!pk->len) {
        want->why.must = ORC_WHY(NOT_IP) | ORC_WHY(TRUNCATED);
    } else if (pk->data[0] >> 4 == 4) {
        want->why.must = ORC_WHY(NO_MAPPING) | ORC_WHY(TRUNCATED)
                         | ORC_WHY(BAD_HDR);
    } else if (pk->data[0] >> 4 != 6) {
        want->why.must = ORC_WHY(NOT_IP);
    } else if (pk->len < 40
               || pk->len < 40u + orc_get16(pk->data + 4)) {
        want->why.must = ORC_WHY(TRUNCATED);
    } else {
        translate(conf, pk, dir, choice, want);
    }
    want->may_pass = (conf->set.miss == XLAT_MISS_PASS
                      && want->why.must & (ORC_WHY(NOT_IP)
                                           | ORC_WHY(NO_MAPPING)));
}
