/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "random-nat64.h"

#include <netinet/in.h>
#include <stdio.h>

#include "oracle-addr.h"
#include "oracle-packet.h"
#include "xlat-conf.h"

/* ------------------------------------------------------------------------
 * Configurations.
 * ------------------------------------------------------------------------ */

/* Pools of few ports, where they begin and end, and which overlap with each
 * other. */
static const struct pool {
    struct slow_range ranges[4];
} pools[] = {
    { { { 0xc0000201, 1020, 1027 } } },
    { { { 0xc0000201, 3001, 3004 }, { 0xc0000203, 7, 7 } } },
    { { { 0xc0000201, 3003, 3010 }, { 0xc0000202, 1000, 1023 } } },
    { { { 0xc0000201, 1, 6 }, { 0xc0000201, 1020, 1027 },
        { 0xc0000202, 1000, 1003 }, { 0xc0000202, 1024, 1031 } } },
    { { { 0xc0000202, 40000, 40015 }, { 0xc0000204, 65528, 65535 } } },
    { { { 0xcb007109, 1, 16 }, { 0xc0000203, 60000, 60003 } } },
    { { { 0xcb007109, 10, 12 }, { 0xc0000201, 3001, 3004 },
        { 0xc0000203, 60000, 60003 } } },
    { { { 0xcb007109, 1023, 1024 } } },
};

static void
choose_pool4(struct gen *g, struct slow_conf *conf)
{
    struct pool pool = RND_OF(&g->rnd, pools);
    unsigned int n = rnd_chance(&g->rnd, 200) ? 4 : rnd_range(&g->rnd, 1, 2);

    conf->n_pool4 = 0;
    for (unsigned int i = 0; i < 4; i++) {
        if (g->big) {
            pool.ranges[i] = (struct slow_range) { i < n ? 0xcb007109 + i : 0,
                                                   950, 1109 };
        }
        if (pool.ranges[i].ip) {
            conf->pool4[conf->n_pool4++] = pool.ranges[i];
        }
    }
}

/* Chooses who is inside. */
static void
choose_inside(struct rnd *rnd, struct slow_conf *conf)
{
    static const struct orc_prefix6 prefixes[] = {
        { { 0x20, 1, 0xd, 0xb8, 0, 0x64 }, 96 },
        { { 0x20, 1, 0xd, 0xb8, 0, 0x65 }, 96 },
        { { 0x20, 1, 0xd, 0xb8, 0, 0x66 }, 64 },
    };
    unsigned int first = rnd_below(rnd, 3), n = rnd_range(rnd, 1, 2);

    if (conf->inside_family == 4) {
        conf->n_inside4 = n;
        conf->inside4[0] = (struct orc_prefix4) { 0x0a000000,
                                                  first ? 24 : 30 };
        conf->inside4[1] = (struct orc_prefix4) { 0x0a000004, 31 };
        return;
    }
    conf->n_pool6 = n;
    for (unsigned int i = 0; i < n; i++) {
        conf->pool6[i] = prefixes[(first + i) % 3];
    }
}

static uint32_t
choose_time(struct rnd *rnd, uint32_t dflt, uint32_t low, uint32_t high)
{
    return rnd_chance(rnd, 400) ? dflt : rnd_range(rnd, low, high);
}

static void
choose_times(struct rnd *rnd, struct slow_conf *conf)
{
    conf->established_s = choose_time(rnd, 7440, 1, 300);
    conf->transitory_s = choose_time(rnd, 240, 1, 60);
    conf->syn_s = choose_time(rnd, 6, 1, 30);
    conf->udp_s = choose_time(rnd, 300, 120, 200);
    conf->icmp_s = choose_time(rnd, 60, 1, 30);
    conf->fragment_s = choose_time(rnd, 2, 2, 60);
    conf->reuse_s = choose_time(rnd, 120, 0, 60);
}

void
gen_conf(struct gen *g)
{
    struct rnd *rnd = &g->rnd;
    struct slow_conf *conf = &g->conf;

    g->big = rnd_chance(rnd, 150);
    g->n_tenants = rnd_chance(rnd, 500) ? 1 : 3;
    conf->inside_family = rnd_chance(rnd, 500) ? 6 : 4;
    choose_pool4(g, conf);
    choose_inside(rnd, conf);
    choose_times(rnd, conf);
    conf->max_sessions = (g->big ? 6000
                          : rnd_chance(rnd, 250) ? rnd_range(rnd, 1, 20)
                          : rnd_chance(rnd, 250) ? rnd_range(rnd, 20, 300)
                          : 6000);
    conf->address_dependent = rnd_chance(rnd, 300);
    conf->per_flow = rnd_chance(rnd, 200);
    conf->pass = rnd_chance(rnd, 200);
}

void
gen_change_conf(struct gen *g, struct slow_conf *conf)
{
    switch (rnd_below(&g->rnd, g->big ? 5 : 8)) {
    case 0: conf->address_dependent = !conf->address_dependent; break;
    case 1: conf->per_flow = !conf->per_flow; break;
    case 2: conf->pass = !conf->pass; break;
    case 3: choose_inside(&g->rnd, conf); break;
    case 4: choose_times(&g->rnd, conf); break;
    default: choose_pool4(g, conf); break;
    }
}

static char *
tell(struct xlat_conf *xc, const char *key, char *value)
{
    return (!strcmp(key, "kind") ? xlat_conf_set_kind(xc, value)
            : !strcmp(key, "pool6") ? xlat_conf_add_pool6(xc, value)
            : !strcmp(key, "pool4") ? xlat_conf_add_pool4(xc, value)
            : xlat_conf_set_option(xc, key, value));
}

/* Writes 'conf' as words KEY=VALUE.  The slow twin stores no SYNs, and has
 * room for all fragments. */
static void
write_conf(const struct slow_conf *conf, FILE *file)
{
    fprintf(file, "kind=nat%d4 max-sessions=%u tcp-established-timeout=%u "
            "tcp-transitory-timeout=%u tcp-incoming-syn-timeout=%u "
            "udp-timeout=%u icmp-timeout=%u fragment-timeout=%u "
            "port-reuse-delay=%u filtering=%s mapping=%s miss=%s "
            "stored-syns=0 fragments-held=2048",
            conf->inside_family, conf->max_sessions,
            conf->established_s, conf->transitory_s, conf->syn_s, conf->udp_s,
            conf->icmp_s, conf->fragment_s, conf->reuse_s,
            conf->address_dependent ? "address-dependent"
            : "endpoint-independent",
            conf->per_flow ? "per-flow" : "endpoint-independent",
            conf->pass ? "pass" : "drop");
    for (unsigned int i = 0; i < conf->n_pool4; i++) {
        const struct slow_range *r = &conf->pool4[i];

        fprintf(file, " pool4=%u.%u.%u.%u:%u-%u", r->ip >> 24,
                r->ip >> 16 & 255, r->ip >> 8 & 255, r->ip & 255, r->low,
                r->high);
    }
    for (unsigned int i = 0; i < conf->n_pool6; i++) {
        fprintf(file, " pool6=2001:db8:%x::/%u", conf->pool6[i].addr[5],
                conf->pool6[i].len);
    }
    for (unsigned int i = 0; i < conf->n_inside4; i++) {
        fprintf(file, "%s10.0.0.%u/%u", i ? "," : " inside4=",
                conf->inside4[i].addr & 255, conf->inside4[i].len);
    }
}

char *
gen_zone(const struct slow_conf *conf, uint64_t seed,
         const struct xlat_zone *prev, struct xlat_zone **zonep)
{
    char *error = NULL, *save = NULL, text[1024];
    FILE *file = fmemopen(text, sizeof text, "w");
    struct xlat_conf *xc = xlat_conf_create();

    write_conf(conf, file);
    fclose(file);
    xlat_conf_set_seed(xc, seed);
    for (char *word = strtok_r(text, " ", &save); word && !error;
         word = strtok_r(NULL, " ", &save)) {
        char *value = strchr(word, '=');

        *value++ = '\0';
        error = tell(xc, word, value);
    }
    if (!error) {
        xlat_zone_create(xc, prev, zonep, &error);
    }
    xlat_conf_destroy(xc);
    return error;
}

/* ------------------------------------------------------------------------
 * Packets.
 * ------------------------------------------------------------------------ */

static const uint8_t tcp_flags[] = {
    0x02, 0x02, 0x02, 0x02, 0x02,                /* SYN. */
    0x12, 0x12, 0x12, 0x10, 0x10, 0x10, 0x18,    /* With ACK, ACK alone. */
    0x11, 0x11, 0x11, 0x01,                      /* FIN. */
    0x04, 0x14,                                  /* RST. */
    0x00, 0x03, 0x07, 0xff,
};
static const uint8_t protos[] = {
    IPPROTO_TCP, IPPROTO_TCP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDP,
    IPPROTO_ICMP,
};
static const uint16_t inside_ports[] = {
    1, 80, 1022, 1023, 1024, 3001, 3002, 40000, 65535,
};
static const uint16_t remote_ports[] = { 53, 80, 5060 };

uint32_t
gen_tenant(struct gen *g)
{
    static const uint32_t tenants[] = { 0, 1, 0xffffffff };

    return tenants[rnd_below(&g->rnd, g->n_tenants)];
}

const struct slow_session *
gen_session(struct gen *g, const struct slow_nat64 *slow)
{
    const struct slow_session *s = slow->sessions;
    uint32_t i = s ? rnd_below(&g->rnd, slow->n_sessions) : 0;

    while (i--) {
        s = s->next;
    }
    return s;
}

/* Chooses an address and port of the pool. */
static uint32_t
some_outside(struct gen *g, uint16_t *port)
{
    const struct slow_range *range
        = &g->conf.pool4[rnd_below(&g->rnd, g->conf.n_pool4)];

    *port = rnd_range(&g->rnd, range->low, range->high);
    return range->ip;
}

static uint32_t
some_remote(struct gen *g)
{
    uint16_t port;

    return (rnd_chance(&g->rnd, 10) ? some_outside(g, &port)
            : 0xc6336401 + rnd_below(&g->rnd, 3));
}

/* Chooses what a packet belongs to: a session, or one much like it, or
 * anything. */
static void
some_tuple(struct gen *g, const struct slow_nat64 *slow, uint32_t tenant,
           struct slow_tuple *t)
{
    static const uint8_t host6[16] = { 0x20, 1, 0xd, 0xb8, 0, 1 };
    const struct slow_session *s = NULL;
    struct rnd *rnd = &g->rnd;

    for (int i = 0; i < 4 && (!s || s->t.tenant != tenant); i++) {
        s = gen_session(g, slow);
    }
    if (s && rnd_chance(rnd, 700)) {
        *t = s->t;
        t->remote = rnd_chance(rnd, 850) ? t->remote : some_remote(g);
        t->remote_port = rnd_chance(rnd, 850) ? t->remote_port
                         : RND_OF(rnd, remote_ports);
        return;
    }
    *t = (struct slow_tuple) { .proto = RND_OF(rnd, protos) };
    if (g->conf.inside_family == 6) {
        memcpy(t->inside, host6, 16);
        t->inside[15] = rnd_range(rnd, 1, 6);
        t->prefix = g->conf.pool6[rnd_below(rnd, g->conf.n_pool6)];
    } else {
        orc_put32(t->inside, 0x0a000000 + rnd_below(rnd, 6));
    }
    t->inside_port = g->big ? 1 + 31 * rnd_below(rnd, 90)
                     : RND_OF(rnd, inside_ports);
    t->outside = some_outside(g, &t->outside_port);
    t->remote = some_remote(g);
    t->remote_port = RND_OF(rnd, remote_ports);
}

/* What packets have besides addresses and ports.  'proto' is that of IPv4. */
static void
gen_rest(struct rnd *rnd, uint8_t family, uint8_t proto, struct slow_ip *ip)
{
    static const uint8_t types[2][2] = { { 8, 0 }, { 128, 129 } };

    ip->family = family;
    ip->proto = (family == 6 && proto == IPPROTO_ICMP ? IPPROTO_ICMPV6
                 : proto);
    ip->tos = rnd_chance(rnd, 500) ? rnd32(rnd) : 0;
    ip->ttl = rnd_chance(rnd, 980) ? 64 : rnd_below(rnd, 4);
    ip->df = family == 4 && rnd_chance(rnd, 500);
    ip->frag = family == 6 && rnd_chance(rnd, 30);
    ip->id = ip->frag || family == 4 ? rnd32(rnd) & 0xffff : 0;
    ip->l4_full = ip->l4_len = ((proto == IPPROTO_TCP ? 20 : 8)
                                + rnd_below(rnd, 40));
    ip->flags = proto == IPPROTO_TCP ? RND_OF(rnd, tcp_flags) : 0;
    ip->no_csum = (proto == IPPROTO_UDP
                   && rnd_chance(rnd, family == 4 ? 30 : 5));
    if (proto == IPPROTO_ICMP) {
        ip->type = types[family == 6][rnd_below(rnd, 2)];
    }
}

/* A packet of 't' from inside, or from outside. */
static void
gen_of(struct gen *g, bool out, const struct slow_tuple *t,
       struct slow_ip *ip)
{
    slow_set_ends(t, out, out, ip);
    gen_rest(&g->rnd, out ? g->conf.inside_family : 4, t->proto, ip);
}

/* A packet from inside, from outside, or from inside to an outside address. */
static void
gen_plain(struct gen *g, const struct slow_nat64 *slow, uint32_t tenant,
          struct slow_ip *ip)
{
    uint32_t r = rnd_below(&g->rnd, 1000);
    const struct slow_session *s;
    struct slow_tuple t;

    some_tuple(g, slow, tenant, &t);
    if (r < 100) {
        s = gen_session(g, slow);
        t.remote = some_outside(g, &t.remote_port);
        if (s && rnd_chance(&g->rnd, 800)) {
            t.remote = s->t.outside;
            t.remote_port = s->t.outside_port;
            t.proto = s->t.proto;
        }
    }
    gen_of(g, r < 560, &t, ip);
}

/* Makes of 'ip' a packet that cannot pass, for a reason of its own. */
static void
spoil(struct gen *g, struct slow_ip *ip)
{
    static const uint32_t bad4[] = { 0, 0x7f000001, 0xe0000001, UINT32_MAX };
    static const uint8_t bad6[] = { 0, 0xff, 0xfe };
    static const uint8_t other_protos[] = { 47, 50, 132 };
    uint32_t bad = RND_OF(&g->rnd, bad4);
    bool is_6 = ip->family == 6;

    switch (rnd_below(&g->rnd, 7)) {
    case 0:
        ip->dst[is_6 ? 5 : 0] ^= 0x80;
        break;
    case 1:
        memset(ip->src, 0, 16);
        ip->src[0] = RND_OF(&g->rnd, bad6);
        ip->src[1] = ip->src[0] ? 0x80 : 0;
        if (!is_6) {
            orc_put32(ip->src, bad);
        }
        break;
    case 2:
        if (is_6) {
            orc_6052_write(&g->conf.pool6[0], bad, ip->dst);
        } else {
            orc_put32(ip->dst, bad);
        }
        break;
    case 3:
        memcpy(ip->src, ip->dst, 16);
        break;
    case 4:
        ip->proto = RND_OF(&g->rnd, other_protos);
        break;
    case 5:
        if (slow_is_icmp(ip)) {
            ip->type = is_6 ? 135 : 13;
        }
        break;
    default:
        ip->family = is_6 ? 4 : 6;
        ip->proto = IPPROTO_TCP;
        ip->l4_full = ip->l4_len = 20;
        ip->frag = ip->df = false;
        break;
    }
}

/* Makes the first fragment in 'ip' a later one. */
static void
make_later(struct rnd *rnd, struct slow_ip *ip)
{
    uint32_t left = ip->l4_full - ip->l4_len;

    ip->ofs = ip->l4_len;
    ip->mf = left > 8 && rnd_chance(rnd, 300);
    ip->l4_len = ip->mf ? 8 : left;
    ip->id += rnd_chance(rnd, 50);
    ip->sport = ip->dport = 0;
}

/* A fragment: of a packet of which there has been one, in most cases the
 * first; or of a new packet. */
static void
gen_frag(struct gen *g, const struct slow_nat64 *slow, uint32_t tenant,
         struct slow_packet *p)
{
    struct slow_ip *ip = &p->ip;
    struct rnd *rnd = &g->rnd;

    if (g->n_firsts && rnd_chance(rnd, 650)) {
        *p = g->firsts[rnd_below(rnd, g->n_firsts < GEN_FIRSTS
                                      ? g->n_firsts : GEN_FIRSTS)];
        p->tenant = tenant;
        if (rnd_chance(rnd, 800)) {
            make_later(rnd, ip);
        }
        return;
    }
    gen_plain(g, slow, tenant, ip);
    ip->frag = ip->family == 6;
    ip->df = false;
    ip->mf = true;
    ip->id = 1 + rnd_below(rnd, 2);
    ip->id += ip->family == 6 && rnd_chance(rnd, 300) ? 0x10000 : 0;
    ip->l4_full = rnd_range(rnd, 60, 200);
    ip->l4_len = 24 + 8 * rnd_below(rnd, 4);
    g->firsts[g->n_firsts++ % GEN_FIRSTS] = *p;
    if (rnd_chance(rnd, 300)) {
        make_later(rnd, ip);
    }
}

/* An ICMP error about a packet that was translated. */
static void
gen_error(struct gen *g, struct slow_packet *p)
{
    static const uint8_t types[2][3][2] = {
        { { 3, 3 }, { 3, 4 }, { 11, 0 } }, { { 1, 4 }, { 2, 0 }, { 3, 0 } },
    };
    static const uint16_t mtus[] = { 1280, 1300, 1400, 1492, 1500, 9000 };
    struct slow_ip *ip = &p->ip, *quote = &p->quote;
    struct rnd *rnd = &g->rnd;
    uint32_t k = rnd_below(rnd, 3);

    *quote = g->recent[rnd_below(rnd, g->n_recent < GEN_RECENT
                                      ? g->n_recent : GEN_RECENT)].ip;
    p->is_error = true;
    quote->id = quote->any_id ? rnd32(rnd) & 0xffff : quote->id;
    quote->any_id = false;
    quote->ttl = rnd_range(rnd, 0, 64);
    p->quote_len = (quote->l4_len < 8 || rnd_chance(rnd, 500)
                    ? quote->l4_len : rnd_range(rnd, 8, quote->l4_len));
    /* No half of a checksum, of which nothing can be said. */
    p->quote_len += quote->proto == IPPROTO_TCP && p->quote_len == 17;
    gen_rest(rnd, quote->family, IPPROTO_ICMP, ip);
    ip->frag = false;
    ip->l4_len = 0;
    memcpy(ip->dst, quote->src, 16);
    memcpy(ip->src, quote->dst, 16);
    ip->type = types[quote->family == 6][k][0];
    ip->code = types[quote->family == 6][k][1];
    ip->rest = k == 1 ? RND_OF(rnd, mtus) : 0;
    if (rnd_chance(rnd, 300)) {
        /* From a router on the way. */
        ip->src[quote->family == 4 ? 3 : 15] = 99;
    }
    if (rnd_chance(rnd, 100)) {
        quote->sport++;
    } else if (rnd_chance(rnd, 20)) {
        quote->src[0]++;
    }
}

void
gen_packet(struct gen *g, const struct slow_nat64 *slow, uint32_t tenant,
           struct slow_packet *p)
{
    uint32_t r = rnd_below(&g->rnd, 1000);

    memset(p, 0, sizeof *p);
    p->tenant = tenant;
    if (r < 80 && g->n_recent) {
        gen_error(g, p);
    } else if (r < 160) {
        gen_frag(g, slow, tenant, p);
    } else {
        gen_plain(g, slow, tenant, &p->ip);
        if (r < 190) {
            spoil(g, &p->ip);
        }
    }
}
