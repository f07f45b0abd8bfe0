/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include "gen-conf.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "oracle-addr.h"
#include "oracle-ila.h"
#include "oracle-packet.h"

static void
mask6(struct orc_prefix6 *p)
{
    for (unsigned int i = p->len; i < 128; i++) {
        orc_set_bit(p->addr, i, false);
    }
}

static void
mask4(struct orc_prefix4 *p)
{
    p->addr &= p->len ? ~UINT32_C(0) << (32 - p->len) : 0;
}

/* Settings. */

static uint32_t
gen_mtu(struct rnd *rnd, uint32_t low)
{
    static const uint32_t usual[] = { 1280, 1400, 1480, 1500, 1520, 9000 };

    switch (rnd_below(rnd, 8)) {
    case 0: return low;
    case 1: return 65535;
    case 2: return rnd_range(rnd, low, 1600);
    case 3: return rnd_range(rnd, low, 65535);
    default: return RND_OF(rnd, usual);
    }
}

static void
gen_settings(struct rnd *rnd, struct xlat_settings *set)
{
    memset(set, 0, sizeof *set);
    set->mtu4 = gen_mtu(rnd, rnd_chance(rnd, 200) ? 68 : 1200);
    set->mtu6 = gen_mtu(rnd, 1280);
    set->lowest_ipv6_mtu = (rnd_chance(rnd, 600) ? 1280
                            : gen_mtu(rnd, 1280));
    set->udp_zero_checksum = rnd_below(rnd, 3);
    set->hairpin = rnd_chance(rnd, 500) ? 0 : rnd_below(rnd, 3);
    set->miss = rnd_chance(rnd, 200);
    set->tos_override = rnd_chance(rnd, 700) ? -1 : (int) rnd_below(rnd, 256);
    set->reset_traffic_class = rnd_chance(rnd, 200);
    set->wkp_non_global = rnd_chance(rnd, 500);
    set->icmp_error_rate = rnd_chance(rnd, 100) ? 0 : 1000000;
    set->icmp_error_burst = 1000000;
    if (rnd_chance(rnd, 250)) {
        set->icmp_source4 = htonl(0xc6336400 + rnd_range(rnd, 1, 254));
    }
    if (rnd_chance(rnd, 250)) {
        rnd_bytes(rnd, set->icmp_source6.s6_addr, 16);
        set->icmp_source6.s6_addr[0] = 0x20;
    }
}

/* Prefixes. */

static void
gen_pool6(struct rnd *rnd, struct orc_prefix6 *p, unsigned int i)
{
    static const uint8_t lens[] = { 32, 40, 48, 56, 64, 96, 96, 96 };

    memset(p->addr, 0, 16);
    p->len = RND_OF(rnd, lens);
    if (rnd_chance(rnd, 120) && !i) {
        p->len = rnd_chance(rnd, 500) ? 96 : 48;
        p->addr[1] = 0x64;
        p->addr[2] = 0xff;
        p->addr[3] = 0x9b;
        p->addr[5] = p->len == 48;
        return;
    }
    rnd_bytes(rnd, p->addr, 16);
    orc_put32(p->addr, 0x20010db8 + i);
    p->addr[8] = 0;
    mask6(p);
}

static uint32_t
gen_host4(struct rnd *rnd)
{
    static const uint32_t nets[] = {
        0xc0000200, 0xc6336400, 0xcb007100, 0x08080800, 0x01010100,
        0x5db8d800, 0x2e000000,
    };

    return RND_OF(rnd, nets) + rnd_below(rnd, rnd_chance(rnd, 800) ? 256
                                              : 65536);
}

/* An address that some rule is about. */
static uint32_t
gen_special4(struct rnd *rnd)
{
    static const uint32_t list[] = {
        0, 0x7f000001, 0xe0000001, 0xffffffff, 0xf0000001, 0x0a010203,
        0xac100001, 0xc0a80101, 0x64400001, 0xa9fe0101, 0xc0000001,
        0xc0000009, 0xc6120001, 0xc0586301, 0x00ffffff, 0x7fffffff,
        0xdfffffff, 0xefffffff, 0xfffffffe, 0x80000000, 0xac200001,
        0x647fffff, 0x64800000, 0xc6140000,
    };

    return RND_OF(rnd, list);
}

static void
gen_eam(struct rnd *rnd, const struct orc_conf *conf, struct orc_eam *eam)
{
    const struct orc_eam *outer
        = conf->n_eam && rnd_chance(rnd, 300)
          ? &conf->eam[rnd_below(rnd, conf->n_eam)] : NULL;

    eam->p4.len = (rnd_chance(rnd, 400) ? 32 : rnd_chance(rnd, 900)
                   ? rnd_range(rnd, 20, 31) : rnd_range(rnd, 0, 20));
    eam->p4.addr = rnd_chance(rnd, 950) ? gen_host4(rnd) : rnd32(rnd);
    rnd_bytes(rnd, eam->p6.addr, 16);
    orc_put32(eam->p6.addr, rnd_chance(rnd, 900) ? 0x20010dba : 0x20010db8);
    eam->p6.len = (rnd_chance(rnd, 500) ? 96 + eam->p4.len
                   : rnd_range(rnd, 33, 96 + eam->p4.len));
    if (outer && rnd_chance(rnd, 700)) {
        eam->p4.addr = (outer->p4.addr
                        | (rnd32(rnd) & ~((uint64_t) 0xffffffff00000000
                                          >> outer->p4.len)));
    }
    if (outer && rnd_chance(rnd, 700)) {
        for (unsigned int i = 0; i < outer->p6.len; i++) {
            orc_set_bit(eam->p6.addr, i, orc_bit(outer->p6.addr, i));
        }
    }
    mask4(&eam->p4);
    mask6(&eam->p6);
}

static bool
eam_is_twice(const struct orc_conf *conf, const struct orc_eam *eam)
{
    for (unsigned int i = 0; i < conf->n_eam; i++) {
        const struct orc_eam *e = &conf->eam[i];

        if ((e->p4.len == eam->p4.len && e->p4.addr == eam->p4.addr)
            || (e->p6.len == eam->p6.len
                && !memcmp(e->p6.addr, eam->p6.addr, 16))) {
            return true;
        }
    }
    return false;
}

static void
gen_pool4(struct rnd *rnd, struct orc_conf *conf)
{
    for (unsigned int i = rnd_below(rnd, 3); i; i--) {
        struct orc_prefix4 *p = &conf->pool4[conf->n_pool4++];

        p->len = rnd_chance(rnd, 500) ? 32 : rnd_range(rnd, 20, 31);
        p->addr = 0xcb000000 + (i << 16) + rnd_below(rnd, 65536);
        mask4(p);
    }
}

static void
gen_deny(struct rnd *rnd, struct orc_conf *conf)
{
    for (unsigned int i = rnd_below(rnd, 3); i; i--) {
        struct orc_prefix4 *p = &conf->deny4[conf->n_deny4++];

        p->addr = gen_addr4(rnd, conf);
        p->len = rnd_range(rnd, 16, 32);
        mask4(p);
    }
    for (unsigned int i = rnd_below(rnd, 3); i; i--) {
        struct orc_prefix6 *p = &conf->deny6[conf->n_deny6++];

        gen_addr6(rnd, conf, p->addr);
        p->len = rnd_range(rnd, 32, 128);
        mask6(p);
    }
}

static void
gen_siit(struct rnd *rnd, struct orc_conf *conf)
{
    unsigned int n_pool6 = rnd_chance(rnd, 80) ? 0
                           : rnd_chance(rnd, 700) ? 1 : rnd_range(rnd, 2, 3);
    unsigned int n_eam = rnd_chance(rnd, 200) ? 0
                         : rnd_chance(rnd, 800) ? rnd_range(rnd, 1, 6)
                         : rnd_range(rnd, 1, ORC_MAX_EAM);

    for (unsigned int i = 0; i < n_pool6; i++) {
        gen_pool6(rnd, &conf->pool6[conf->n_pool6++], i);
    }
    for (unsigned int i = 0; i < n_eam; i++) {
        struct orc_eam eam;

        gen_eam(rnd, conf, &eam);
        if (!eam_is_twice(conf, &eam)) {
            conf->eam[conf->n_eam++] = eam;
        }
    }
    gen_pool4(rnd, conf);
    if (rnd_chance(rnd, 150)) {
        gen_deny(rnd, conf);
    }
}

static void
gen_ila(struct rnd *rnd, struct orc_conf *conf)
{
    unsigned int n = rnd_range(rnd, 1, rnd_chance(rnd, 800) ? 8
                                       : ORC_MAX_ILA);

    for (unsigned int i = rnd_range(rnd, 1, 3); i; i--) {
        struct orc_prefix6 *p = &conf->pool6[conf->n_pool6++];

        memset(p->addr, 0, 16);
        rnd_bytes(rnd, p->addr, 8);
        orc_put32(p->addr, 0x33330000 + i);
        p->len = 64;
    }
    while (conf->n_ila < n) {
        struct orc_ila_map *m = &conf->ila[conf->n_ila++];

        memset(m, 0, sizeof *m);
        rnd_bytes(rnd, m->identifier, 8);
        rnd_bytes(rnd, m->locator, 8);
        m->locator[0] = 0x20;
        if (rnd_chance(rnd, 400) && conf->n_ila > 1) {
            memcpy(m->locator, (m - 1)->locator, 8);
        }
        m->csum = rnd_below(rnd, 4);
        if (rnd_chance(rnd, 900)) {
            m->identifier[0] &= ~0x10;
        }
        if (rnd_chance(rnd, 200)) {
            m->ident_type = orc_ila_type_of(m->identifier);
        }
    }
}

void
gen_conf(struct rnd *rnd, struct orc_conf *conf)
{
    memset(conf, 0, sizeof *conf);
    gen_settings(rnd, &conf->set);
    if (rnd_chance(rnd, 800)) {
        conf->kind = XLAT_KIND_SIIT;
        gen_siit(rnd, conf);
    } else {
        conf->kind = XLAT_KIND_ILA;
        gen_ila(rnd, conf);
    }
}

/* Addresses. */

uint32_t
gen_addr4(struct rnd *rnd, const struct orc_conf *conf)
{
    uint32_t kind = rnd_below(rnd, 100);

    if (kind < 50 && conf->n_eam) {
        const struct orc_prefix4 *p = &conf->eam[rnd_below(rnd, conf->n_eam)]
                                           .p4;

        return p->addr | (p->len < 32 ? rnd32(rnd) >> p->len : 0);
    } else if (kind < 56) {
        return gen_special4(rnd);
    } else if (kind < 60 && conf->n_pool4) {
        return conf->pool4[0].addr;
    } else if (kind < 63) {
        return rnd32(rnd);
    }
    return gen_host4(rnd);
}

static void
gen_ila_addr6(struct rnd *rnd, const struct orc_conf *conf, uint8_t *addr)
{
    const struct orc_ila_map *m = &conf->ila[rnd_below(rnd, conf->n_ila)];

    memcpy(addr, rnd_chance(rnd, 500) ? m->locator
                 : conf->pool6[rnd_below(rnd, conf->n_pool6)].addr, 8);
    memcpy(addr + 8, m->identifier, 8);
    if (rnd_chance(rnd, 400)) {
        orc_ila_neutral(conf, m, rnd_chance(rnd, 700), addr + 8);
    }
    if (rnd_chance(rnd, 50)) {
        addr[8] ^= 0x10;
    }
    if (rnd_chance(rnd, 50)) {
        addr[rnd_below(rnd, 16)] ^= 1 << rnd_below(rnd, 8);
    }
}

void
gen_addr6(struct rnd *rnd, const struct orc_conf *conf, uint8_t addr[16])
{
    static const uint8_t special[][16] = {
        { 0 }, { [15] = 1 }, { 0xff, 2, [15] = 1 }, { 0xfe, 0x80, [15] = 1 },
        { 0xff, 0x0e, [15] = 1 }, { 0xfe, 0xbf, [15] = 9 },
        { 0xfc, [15] = 1 }, { [10] = 0xff, 0xff, 192, 0, 2, 1 },
    };
    uint32_t kind = rnd_below(rnd, 100);

    if (conf->kind == XLAT_KIND_ILA && kind < 85) {
        gen_ila_addr6(rnd, conf, addr);
    } else if (kind < 45 && conf->n_pool6) {
        const struct orc_prefix6 *p
            = &conf->pool6[rnd_below(rnd, conf->n_pool6)];

        orc_6052_write(p, gen_addr4(rnd, conf), addr);
        if (rnd_chance(rnd, 100) && p->len < 96) {
            addr[15] = rnd32(rnd);
            addr[8] = rnd_chance(rnd, 300) ? rnd32(rnd) : 0;
        }
    } else if (kind < 90 && conf->n_eam) {
        const struct orc_eam *eam = &conf->eam[rnd_below(rnd, conf->n_eam)];

        rnd_bytes(rnd, addr, 16);
        for (unsigned int i = 0; i < eam->p6.len; i++) {
            orc_set_bit(addr, i, orc_bit(eam->p6.addr, i));
        }
        if (rnd_chance(rnd, 100)) {
            addr[rnd_below(rnd, 16)] ^= 1 << rnd_below(rnd, 8);
        }
    } else if (kind < 93) {
        memcpy(addr, special[rnd_below(rnd, 8)], 16);
    } else {
        rnd_bytes(rnd, addr, 16);
        addr[0] = 0x20;
    }
}

/* Text. */

#define TEXT_SIZE 64

static char *
text4(uint32_t addr, char *s)
{
    uint32_t be = htonl(addr);

    inet_ntop(AF_INET, &be, s, TEXT_SIZE);
    return s;
}

static char *
text6(const uint8_t addr[16], char *s)
{
    inet_ntop(AF_INET6, addr, s, TEXT_SIZE);
    return s;
}

static char *
prefix4(const struct orc_prefix4 *p, char *s)
{
    text4(p->addr, s);
    sprintf(s + strlen(s), "/%u", p->len);
    return s;
}

static char *
prefix6(const struct orc_prefix6 *p, char *s)
{
    text6(p->addr, s);
    sprintf(s + strlen(s), "/%u", p->len);
    return s;
}

static char *
text64(const uint8_t id[8], char *s)
{
    sprintf(s, "%x:%x:%x:%x", orc_get16(id), orc_get16(id + 2),
            orc_get16(id + 4), orc_get16(id + 6));
    return s;
}

/* Calls 'cb' for each option of 'conf' that is not left at its default. */
static void
each_option(const struct orc_conf *conf,
            void (*cb)(const char *key, const char *value, void *aux),
            void *aux)
{
    static const char *const zero[] = { "drop", "compute", "forward" };
    static const char *const hairpin[] = { "none", "simple", "intrinsic" };
    static const uint8_t none[16];
    const struct xlat_settings *set = &conf->set;
    char s[TEXT_SIZE], deny[2 * ORC_MAX_DENY * TEXT_SIZE] = "";

#define NUMBER(KEY, VALUE) \
    (sprintf(s, "%u", (unsigned int) (VALUE)), cb(KEY, s, aux))
    NUMBER("mtu4", set->mtu4);
    NUMBER("mtu6", set->mtu6);
    NUMBER("lowest-ipv6-mtu", set->lowest_ipv6_mtu);
    NUMBER("icmp-error-rate", set->icmp_error_rate);
    NUMBER("icmp-error-burst", set->icmp_error_burst);
    if (set->tos_override >= 0) {
        NUMBER("tos-override", set->tos_override);
    }
#undef NUMBER
    cb("udp-zero-checksum", zero[set->udp_zero_checksum], aux);
    cb("hairpin", hairpin[set->hairpin], aux);
    cb("miss", set->miss ? "pass" : "drop", aux);
    cb("reset-traffic-class", set->reset_traffic_class ? "true" : "false",
       aux);
    cb("wkp-non-global", set->wkp_non_global ? "translate" : "drop", aux);
    if (set->icmp_source4) {
        cb("icmp-source4", text4(ntohl(set->icmp_source4), s), aux);
    }
    if (memcmp(&set->icmp_source6, none, 16)) {
        cb("icmp-source6", text6(set->icmp_source6.s6_addr, s), aux);
    }
    for (unsigned int i = 0; i < conf->n_deny4; i++) {
        strcat(strcat(deny, *deny ? "," : ""), prefix4(&conf->deny4[i], s));
    }
    for (unsigned int i = 0; i < conf->n_deny6; i++) {
        strcat(strcat(deny, *deny ? "," : ""), prefix6(&conf->deny6[i], s));
    }
    if (*deny) {
        cb("deny", deny, aux);
    }
}

struct tell {
    struct xlat_conf *conf;
    char *error;
};

static void
told(struct tell *tell, char *error)
{
    if (tell->error) {
        free(error);
    } else {
        tell->error = error;
    }
}

static void
tell_option(const char *key, const char *value, void *tell_)
{
    struct tell *tell = tell_;

    told(tell, xlat_conf_set_option(tell->conf, key, value));
}

struct xlat_conf *
gen_conf_tell(const struct orc_conf *conf, char **errorp)
{
    struct tell tell = { xlat_conf_create(), NULL };
    char s[TEXT_SIZE], t[TEXT_SIZE];

    told(&tell, xlat_conf_set_zone(tell.conf, 1));
    told(&tell, xlat_conf_set_kind(tell.conf, conf->kind == XLAT_KIND_SIIT
                                   ? "siit" : "ila"));
    each_option(conf, tell_option, &tell);
    for (unsigned int i = 0; i < conf->n_pool6; i++) {
        told(&tell, xlat_conf_add_pool6(tell.conf,
                                        prefix6(&conf->pool6[i], s)));
    }
    for (unsigned int i = 0; i < conf->n_pool4; i++) {
        told(&tell, xlat_conf_add_pool4(tell.conf,
                                        prefix4(&conf->pool4[i], s)));
    }
    for (unsigned int i = 0; i < conf->n_eam; i++) {
        told(&tell, xlat_conf_add_eam(tell.conf,
                                      prefix6(&conf->eam[i].p6, s),
                                      prefix4(&conf->eam[i].p4, t)));
    }
    for (unsigned int i = 0; i < conf->n_ila; i++) {
        const struct orc_ila_map *map = &conf->ila[i];

        told(&tell, xlat_conf_add_ila(tell.conf, text64(map->identifier, s),
                                      text64(map->locator, t),
                                      orc_ila_csum_names[map->csum],
                                      orc_ila_type_names[map->ident_type]));
    }
    if (tell.error) {
        xlat_conf_destroy(tell.conf);
        *errorp = tell.error;
        return NULL;
    }
    return tell.conf;
}

static void
print_option(const char *key, const char *value, void *file)
{
    fprintf(file, "\"%s\": \"%s\", ", key, value);
}

void
gen_conf_print(const struct orc_conf *conf, FILE *file)
{
    char s[TEXT_SIZE], t[TEXT_SIZE];

    fprintf(file, "{\"zone\": 1, \"zones\": [{\"zone\": 1, \"kind\": \"%s\","
            "\n \"pool6\": [", conf->kind == XLAT_KIND_SIIT ? "siit" : "ila");
    for (unsigned int i = 0; i < conf->n_pool6; i++) {
        fprintf(file, "%s\"%s\"", i ? ", " : "",
                prefix6(&conf->pool6[i], s));
    }
    fprintf(file, "],\n \"pool4\": [");
    for (unsigned int i = 0; i < conf->n_pool4; i++) {
        fprintf(file, "%s\"%s\"", i ? ", " : "",
                prefix4(&conf->pool4[i], s));
    }
    fprintf(file, "],\n \"eamt\": {");
    for (unsigned int i = 0; i < conf->n_eam; i++) {
        fprintf(file, "%s\"%s\": \"%s\"", i ? ", " : "",
                prefix6(&conf->eam[i].p6, s), prefix4(&conf->eam[i].p4, t));
    }
    fprintf(file, "},\n \"other_config\": {");
    each_option(conf, print_option, file);
    fprintf(file, "\"eamt-overlap\": \"longest-match\"}}],\n \"mappings\": [");
    for (unsigned int i = 0; i < conf->n_ila; i++) {
        const struct orc_ila_map *map = &conf->ila[i];

        fprintf(file, "%s{\"zone\": 1, \"identifier\": \"%s\", "
                "\"locator\": \"%s\", \"csum_mode\": \"%s\", "
                "\"ident_type\": \"%s\"}", i ? ",\n  " : "",
                text64(map->identifier, s), text64(map->locator, t),
                orc_ila_csum_names[map->csum],
                orc_ila_type_names[map->ident_type]);
    }
    fprintf(file, "]}\n");
}
