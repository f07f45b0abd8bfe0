/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* random-nat64: random steps of a stateful zone, lib against its slow twin
 * (tests/oracle/slow-nat64.h).
 *
 *     random-nat64 [--steps N] [--seed S] [--zones N] [--keep-going N]
 *                  [--trace]
 *
 * A step is a packet, a leap of time, a call of nat64.h, or a new
 * configuration.  Every zone has its own seed, printed with a difference: with
 * --seed of that value and --zones 1 it comes again, and with --trace all
 * steps up to there.  Speaks TAP. */

#include <arpa/inet.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "nat64.h"
#include "oracle-addr.h"
#include "oracle-packet.h"
#include "rnd.h"
#include "slow-nat64.h"
#include "xlat-conf.h"
#include "xlat-zone.h"

#define STEPS_PER_ZONE 20000
#define MAX_BATCH 12
#define MAX_BYTES 2048
#define HEADROOM 128
#define N_RECENT 32
#define N_FIRSTS 8

/* Runs after a change of pool4 until nothing waits that need not: ports that
 * are no longer in the pool may take the turn of others. */
#define RUNS_AFTER_CHANGE 4

/* One packet of a batch. */
struct slot {
    struct slow_packet in;
    uint8_t copy[MAX_BYTES];     /* Its bytes. */
    size_t len;
    uint8_t buf[HEADROOM + MAX_BYTES];
};

struct world {
    struct rnd rnd;
    uint64_t seed;
    struct slow_conf conf;
    struct slow_nat64 *slow;
    struct xlat_zone *zone;
    struct xlat_ctx ctx;
    struct xlat_counters want;

    bool big;                    /* Many ports. */
    unsigned int haste;          /* Of 1000 leaps of time, long ones. */
    bool pool4_changed;          /* Since the last nat64_run(). */
    struct slow_packet recent[N_RECENT];   /* Translated lately. */
    unsigned int n_recent;
    struct slow_packet firsts[N_FIRSTS];   /* First fragments. */
    unsigned int n_firsts;
};

struct run {
    uint64_t steps, max_steps;
    uint64_t zones, max_zones;
    uint64_t verdicts[4];
    uint64_t drops[XLAT_N_DROPS];
    uint64_t states[8];          /* Sessions seen in them. */
    uint32_t max_sessions;
    unsigned int differences, max_differences;
    bool trace;
    struct slot slots[MAX_BATCH];
};

static struct run run = {
    .max_steps = 100000, .max_zones = UINT64_MAX, .max_differences = 1,
};

/* ------------------------------------------------------------------------
 * What is postponed.
 * ------------------------------------------------------------------------ */

#define MAX_POSTPONED 1024

static struct {
    struct {
        void (*cb)(void *aux);
        void *aux;
    } calls[MAX_POSTPONED];
    unsigned int n;
    bool holding;
} postponed;

static void
postpone(void (*cb)(void *aux), void *aux)
{
    if (!postponed.holding) {
        cb(aux);
        return;
    }
    if (postponed.n == MAX_POSTPONED) {
        abort();
    }
    postponed.calls[postponed.n].cb = cb;
    postponed.calls[postponed.n++].aux = aux;
}

static void
hold(struct world *w, bool holding)
{
    postponed.holding = holding;
    if (!holding) {
        for (unsigned int i = 0; i < postponed.n; i++) {
            postponed.calls[i].cb(postponed.calls[i].aux);
        }
        postponed.n = 0;
    }
    slow_hold(w->slow, holding);
}

/* ------------------------------------------------------------------------
 * Packets as bytes.
 * ------------------------------------------------------------------------ */

static bool
is_icmp(const struct slow_ip *ip)
{
    return ip->proto == (ip->family == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6);
}

static uint16_t
pseudo(const struct slow_ip *ip, uint32_t len)
{
    if (ip->family == 4) {
        return is_icmp(ip) ? 0 : orc_pseudo4(orc_get32(ip->src),
                                             orc_get32(ip->dst), ip->proto,
                                             len);
    }
    return orc_pseudo6(ip->src, ip->dst, ip->proto, len);
}

/* Sets the checksum at 'ofs' of the 'len' bytes of transport at 'p'. */
static void
put_csum(const struct slow_ip *ip, uint8_t *p, size_t ofs, uint32_t len)
{
    uint16_t csum;

    orc_put16(p + ofs, 0);
    csum = 0xffff - orc_add(orc_sum(p, len), pseudo(ip, len));
    orc_put16(p + ofs, csum == 0xffff && ip->proto != IPPROTO_UDP ? 0 : csum);
}

/* Writes the whole transport part of the datagram that 'ip' is part of. */
static void
put_l4(const struct slow_ip *ip, uint8_t *p)
{
    for (uint32_t i = 0; i < ip->l4_full; i++) {
        p[i] = i * 7 + 3;
    }
    if (ip->proto == IPPROTO_TCP) {
        orc_put16(p, ip->sport);
        orc_put16(p + 2, ip->dport);
        p[12] = 0x50;
        p[13] = ip->flags;
        put_csum(ip, p, 16, ip->l4_full);
    } else if (ip->proto == IPPROTO_UDP) {
        orc_put16(p, ip->sport);
        orc_put16(p + 2, ip->dport);
        orc_put16(p + 4, ip->l4_full);
        put_csum(ip, p, 6, ip->l4_full);
        if (ip->no_csum) {
            orc_put16(p + 6, 0);
        }
    } else if (is_icmp(ip)) {
        p[0] = ip->type;
        p[1] = ip->code;
        orc_put16(p + 4, ip->sport);
        put_csum(ip, p, 2, ip->l4_full);
    }
}

/* Writes the IP headers of 'ip' in front of 'l4_len' bytes.  Returns how many
 * bytes they take. */
static size_t
put_hdr(const struct slow_ip *ip, uint32_t l4_len, uint8_t *p)
{
    if (ip->family == 4) {
        struct orc_ip4 hdr = {
            .tos = ip->tos, .total_len = 20 + l4_len, .id = ip->id,
            .df = ip->df, .mf = ip->mf, .frag_ofs = ip->ofs, .ttl = ip->ttl,
            .proto = ip->proto, .src = orc_get32(ip->src),
            .dst = orc_get32(ip->dst),
        };

        return orc_ip4_encode(p, &hdr);
    } else {
        struct orc_ip6 hdr = {
            .tc = ip->tos, .payload_len = (ip->frag ? 8 : 0) + l4_len,
            .hop_limit = ip->ttl, .has_frag = ip->frag, .frag_ofs = ip->ofs,
            .mf = ip->mf, .frag_id = ip->id, .proto = ip->proto,
        };

        memcpy(hdr.src, ip->src, 16);
        memcpy(hdr.dst, ip->dst, 16);
        return orc_ip6_encode(p, &hdr);
    }
}

/* Writes 'ip' as if its transport had 'l4_len' bytes.  Returns its bytes. */
static size_t
put_ip(const struct slow_ip *ip, uint8_t *p)
{
    uint8_t l4[MAX_BYTES];
    size_t hdr = put_hdr(ip, ip->l4_len, p);

    put_l4(ip, l4);
    memcpy(p + hdr, l4 + ip->ofs, ip->l4_len);
    return hdr + ip->l4_len;
}

static size_t
put_packet(const struct slow_packet *packet, uint8_t *p)
{
    size_t quote_bytes, hdr;
    uint8_t *icmp;

    if (!packet->is_error) {
        return put_ip(&packet->ip, p);
    }
    hdr = packet->ip.family == 4 ? 20 : 40;
    icmp = p + hdr;
    quote_bytes = (put_ip(&packet->quote, icmp + 8) - packet->quote.l4_len
                   + packet->quote_len);
    put_hdr(&packet->ip, 8 + quote_bytes, p);
    icmp[0] = packet->ip.type;
    icmp[1] = packet->ip.code;
    orc_put32(icmp + 4, packet->ip.rest);
    put_csum(&packet->ip, icmp, 2, 8 + quote_bytes);
    return hdr + 8 + quote_bytes;
}

/* ------------------------------------------------------------------------
 * Words.
 * ------------------------------------------------------------------------ */

static void
print_ip(const struct slow_ip *ip)
{
    char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];
    int family = ip->family == 4 ? AF_INET : AF_INET6;

    inet_ntop(family, ip->src, src, sizeof src);
    inet_ntop(family, ip->dst, dst, sizeof dst);
    printf("%s %u > %s %u proto %u ttl %u len %u", src, ip->sport, dst,
           ip->dport, ip->proto, ip->ttl, slow_ip_len(ip));
    if (ip->proto == IPPROTO_TCP) {
        printf(" flags %02x", ip->flags);
    } else if (is_icmp(ip)) {
        printf(" type %u/%u", ip->type, ip->code);
    }
    if (ip->frag || ip->mf || ip->ofs) {
        printf(" fragment %u+%u of %u mf %d id %#x", ip->ofs, ip->l4_len,
               ip->l4_full, ip->mf, ip->id);
    }
}

static void
print_packet(const char *what, const struct slow_packet *p)
{
    printf("#   %s: ", what);
    print_ip(&p->ip);
    if (p->is_error) {
        printf(" about (%u bytes of) ", p->quote_len);
        print_ip(&p->quote);
    }
    printf("\n");
}

static void
print_bytes(const char *what, const uint8_t *p, size_t n)
{
    printf("#   %s:", what);
    for (size_t i = 0; i < n; i++) {
        printf("%s%02x", i % 4 ? "" : " ", p[i]);
    }
    printf("\n");
}

static const char *
verdict_name(enum xlat_verdict verdict)
{
    static const char *const names[] = {
        [XLAT_TRANSLATED] = "translated",
        [XLAT_REPLY] = "reply",
        [XLAT_PASSED] = "passed",
        [XLAT_DROPPED] = "dropped",
    };

    return names[verdict];
}

static const char *
drop_name(enum xlat_verdict verdict, enum xlat_drop drop)
{
    return verdict == XLAT_TRANSLATED || verdict == XLAT_PASSED
           ? "" : xlat_drop_name(drop);
}

static void
report(struct world *w, const char *what)
{
    run.differences++;
    printf("# difference: %s, zone of seed %llu, step %llu of all\n", what,
           (unsigned long long) w->seed, (unsigned long long) run.steps);
}

/* ------------------------------------------------------------------------
 * Configurations.
 * ------------------------------------------------------------------------ */

static void
choose_small_pool4(struct rnd *rnd, struct slow_conf *conf)
{
    static const struct slow_range ranges[] = {
        { 0xc0000201, 1020, 1027 },
        { 0xc0000201, 3001, 3004 },
        { 0xc0000201, 3003, 3010 },
        { 0xc0000201, 1, 6 },
        { 0xc0000202, 1000, 1023 },
        { 0xc0000202, 1000, 1003 },
        { 0xc0000202, 1024, 1031 },
        { 0xc0000202, 40000, 40015 },
        { 0xc0000203, 7, 7 },
        { 0xc0000203, 60000, 60003 },
        { 0xc0000204, 65528, 65535 },
        { 0xcb007109, 1, 16 },
        { 0xcb007109, 10, 12 },
    };
    unsigned int want = rnd_range(rnd, 1, 4);
    unsigned int n_ports = 0;

    conf->n_pool4 = 0;
    while (conf->n_pool4 < want) {
        struct slow_range range = RND_OF(rnd, ranges);
        bool fits = true;

        for (unsigned int i = 0; i < conf->n_pool4; i++) {
            const struct slow_range *other = &conf->pool4[i];

            fits = (fits && (range.ip != other->ip || range.low > other->high
                             || range.high < other->low));
        }
        n_ports += range.high - range.low + 1;
        if (n_ports > 64) {
            return;
        } else if (fits) {
            conf->pool4[conf->n_pool4++] = range;
        }
    }
}

static void
choose_pool4(struct world *w, struct slow_conf *conf)
{
    if (!w->big) {
        choose_small_pool4(&w->rnd, conf);
        return;
    }
    conf->n_pool4 = rnd_chance(&w->rnd, 200) ? 4 : rnd_range(&w->rnd, 1, 2);
    for (unsigned int i = 0; i < conf->n_pool4; i++) {
        conf->pool4[i] = (struct slow_range) { 0xcb007109 + i, 950, 1109 };
    }
}

static void
choose_pool6(struct rnd *rnd, struct slow_conf *conf)
{
    static const struct orc_prefix6 prefixes[] = {
        { { 0x20, 1, 0xd, 0xb8, 0, 0x64 }, 96 },
        { { 0x20, 1, 0xd, 0xb8, 0, 0x65 }, 96 },
        { { 0x20, 1, 0xd, 0xb8, 0, 0x66 }, 64 },
    };
    unsigned int first = rnd_below(rnd, 3);

    conf->n_pool6 = rnd_range(rnd, 1, 2);
    for (unsigned int i = 0; i < conf->n_pool6; i++) {
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

static void
choose_conf(struct world *w)
{
    struct rnd *rnd = &w->rnd;
    struct slow_conf *conf = &w->conf;

    w->big = rnd_chance(rnd, 150);
    w->haste = rnd_chance(rnd, 300) ? 20 : rnd_chance(rnd, 500) ? 100 : 500;
    choose_pool4(w, conf);
    choose_pool6(rnd, conf);
    choose_times(rnd, conf);
    conf->max_sessions = (w->big ? 6000
                          : rnd_chance(rnd, 250) ? rnd_range(rnd, 1, 20)
                          : rnd_chance(rnd, 250) ? rnd_range(rnd, 20, 300)
                          : 6000);
    conf->address_dependent = rnd_chance(rnd, 300);
    conf->per_flow = rnd_chance(rnd, 200);
    conf->pass = rnd_chance(rnd, 200);
    conf->no_errors = rnd_chance(rnd, 100);
}

/* Changes something of the configuration. */
static void
change_conf(struct world *w, struct slow_conf *conf)
{
    struct rnd *rnd = &w->rnd;

    switch (rnd_below(rnd, w->big ? 5 : 8)) {
    case 0: conf->address_dependent = !conf->address_dependent; break;
    case 1: conf->per_flow = !conf->per_flow; break;
    case 2: conf->pass = !conf->pass; break;
    case 3: choose_pool6(rnd, conf); break;
    case 4: choose_times(rnd, conf); break;
    default: choose_pool4(w, conf); break;
    }
}

static char *
set_number(struct xlat_conf *xc, const char *key, uint32_t value)
{
    char text[16];

    snprintf(text, sizeof text, "%u", value);
    return xlat_conf_set_option(xc, key, text);
}

static char *
tell_pools(const struct slow_conf *conf, struct xlat_conf *xc)
{
    char text[80], addr[INET6_ADDRSTRLEN];
    char *error = NULL;

    for (unsigned int i = 0; i < conf->n_pool6 && !error; i++) {
        inet_ntop(AF_INET6, conf->pool6[i].addr, addr, sizeof addr);
        snprintf(text, sizeof text, "%s/%u", addr, conf->pool6[i].len);
        error = xlat_conf_add_pool6(xc, text);
    }
    for (unsigned int i = 0; i < conf->n_pool4 && !error; i++) {
        uint32_t ip = htonl(conf->pool4[i].ip);

        inet_ntop(AF_INET, &ip, addr, sizeof addr);
        snprintf(text, sizeof text, "%s:%u-%u", addr, conf->pool4[i].low,
                 conf->pool4[i].high);
        error = xlat_conf_add_pool4(xc, text);
    }
    return error;
}

/* Tells 'xc' the whole of 'conf'.  Returns NULL, or what is wrong. */
static char *
tell_conf(const struct slow_conf *conf, uint64_t seed, struct xlat_conf *xc)
{
    const struct {
        const char *key;
        uint32_t value;
    } numbers[] = {
        { "max-sessions", conf->max_sessions },
        { "tcp-established-timeout", conf->established_s },
        { "tcp-transitory-timeout", conf->transitory_s },
        { "tcp-incoming-syn-timeout", conf->syn_s },
        { "udp-timeout", conf->udp_s },
        { "icmp-timeout", conf->icmp_s },
        { "fragment-timeout", conf->fragment_s },
        { "port-reuse-delay", conf->reuse_s },
        { "icmp-error-rate", conf->no_errors ? 0 : 1000000 },
        { "icmp-error-burst", 1000000 },
    };
    const struct {
        const char *key;
        const char *value;
    } words[] = {
        { "filtering", conf->address_dependent ? "address-dependent"
                       : "endpoint-independent" },
        { "mapping", conf->per_flow ? "per-flow" : "endpoint-independent" },
        { "miss", conf->pass ? "pass" : "drop" },
    };
    char *error = xlat_conf_set_kind(xc, "nat64");

    xlat_conf_set_seed(xc, seed);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && !error; i++) {
        error = set_number(xc, numbers[i].key, numbers[i].value);
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0] && !error; i++) {
        error = xlat_conf_set_option(xc, words[i].key, words[i].value);
    }
    return error ? error : tell_pools(conf, xc);
}

/* Gives the zone of 'w' its configuration.  Returns false if it cannot be. */
static bool
make_zone(struct world *w)
{
    struct xlat_conf *xc = xlat_conf_create();
    struct xlat_zone *old = w->zone;
    char *error = tell_conf(&w->conf, w->seed, xc);

    if (!error && xlat_zone_create(xc, old, &w->zone, &error)) {
        w->zone = old;
    }
    xlat_conf_destroy(xc);
    if (error) {
        report(w, error);
        free(error);
        return false;
    }
    if (old) {
        nat64_fit(w->zone, w->ctx.now_us, postpone);
        slow_fit(w->slow, &w->conf);
        xlat_zone_destroy(old);
    }
    return true;
}

/* ------------------------------------------------------------------------
 * Random packets.
 * ------------------------------------------------------------------------ */

static const uint8_t tcp_flags[] = {
    0x02, 0x02, 0x02, 0x02, 0x02,                /* SYN. */
    0x12, 0x12, 0x12, 0x10, 0x10, 0x10, 0x18,    /* With ACK, ACK alone. */
    0x11, 0x11, 0x11, 0x01,                      /* FIN. */
    0x04, 0x14,                                  /* RST. */
    0x00, 0x03, 0x07, 0xff,
};

static const struct slow_session *
some_session(struct world *w)
{
    const struct slow_session *s = w->slow->sessions;
    uint32_t i = s ? rnd_below(&w->rnd, w->slow->n_sessions) : 0;

    while (i--) {
        s = s->next;
    }
    return s;
}

static const struct slow_binding *
some_binding(struct world *w)
{
    const struct slow_binding *b = w->slow->bindings;
    uint32_t i = b ? rnd_below(&w->rnd, w->slow->n_bindings) : 0;

    while (i--) {
        b = b->next;
    }
    return b;
}

static uint16_t
some_inside_port(struct world *w)
{
    static const uint16_t ports[] = {
        1, 80, 1022, 1023, 1024, 3001, 3002, 40000, 65535,
    };

    return w->big ? 1 + 31 * rnd_below(&w->rnd, 90) : RND_OF(&w->rnd, ports);
}

static uint16_t
some_remote_port(struct rnd *rnd)
{
    static const uint16_t ports[] = { 53, 80, 5060 };

    return RND_OF(rnd, ports);
}

static uint32_t
some_pool4(struct world *w)
{
    return w->conf.pool4[rnd_below(&w->rnd, w->conf.n_pool4)].ip;
}

/* An address and port of the pool. */
static uint32_t
some_outside(struct world *w, uint16_t *port)
{
    const struct slow_range *range
        = &w->conf.pool4[rnd_below(&w->rnd, w->conf.n_pool4)];

    *port = rnd_range(&w->rnd, range->low, range->high);
    return range->ip;
}

static uint32_t
some_remote(struct world *w)
{
    return (rnd_chance(&w->rnd, 10) ? some_pool4(w)
            : 0xc6336401 + rnd_below(&w->rnd, 3));
}

static void
some_host(struct rnd *rnd, uint8_t addr[16])
{
    static const uint8_t host[16] = { 0x20, 1, 0xd, 0xb8, 0, 1 };

    memcpy(addr, host, 16);
    addr[15] = rnd_range(rnd, 1, 6);
}

static const struct orc_prefix6 *
some_prefix(struct world *w)
{
    return &w->conf.pool6[rnd_below(&w->rnd, w->conf.n_pool6)];
}

static uint8_t
some_proto(struct rnd *rnd)
{
    static const uint8_t protos[] = {
        IPPROTO_TCP, IPPROTO_TCP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDP,
        IPPROTO_ICMP,
    };

    return RND_OF(rnd, protos);
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
    if (proto == IPPROTO_ICMP) {
        ip->type = types[family == 6][rnd_below(rnd, 2)];
        ip->dport = 0;
    }
}

/* A packet from inside to a host outside. */
static void
gen_out(struct world *w, struct slow_ip *ip)
{
    const struct slow_session *s = some_session(w);
    uint8_t proto = some_proto(&w->rnd);

    if (s && rnd_chance(&w->rnd, 600)) {
        proto = s->b->proto;
        memcpy(ip->src, s->b->inside, 16);
        ip->sport = s->b->inside_port;
        orc_6052_write(&s->b->prefix, rnd_chance(&w->rnd, 850)
                       ? s->remote : some_remote(w), ip->dst);
        ip->dport = (rnd_chance(&w->rnd, 850) ? s->remote_port
                     : some_remote_port(&w->rnd));
    } else {
        some_host(&w->rnd, ip->src);
        ip->sport = some_inside_port(w);
        orc_6052_write(some_prefix(w), some_remote(w), ip->dst);
        ip->dport = some_remote_port(&w->rnd);
    }
    gen_rest(&w->rnd, 6, proto, ip);
}

/* A packet from outside. */
static void
gen_in(struct world *w, struct slow_ip *ip)
{
    const struct slow_session *s = some_session(w);
    uint8_t proto = some_proto(&w->rnd);
    uint32_t remote = some_remote(w), outside;
    uint16_t sport = some_remote_port(&w->rnd), dport;

    if (s && rnd_chance(&w->rnd, 850)) {
        proto = s->b->proto;
        outside = s->b->place->range.ip;
        dport = s->b->outside_port;
        remote = rnd_chance(&w->rnd, 850) ? s->remote : remote;
        sport = rnd_chance(&w->rnd, 850) ? s->remote_port : sport;
    } else {
        outside = some_outside(w, &dport);
    }
    orc_put32(ip->src, remote);
    orc_put32(ip->dst, outside);
    ip->sport = proto == IPPROTO_ICMP ? dport : sport;
    ip->dport = dport;
    gen_rest(&w->rnd, 4, proto, ip);
}

/* A packet from inside to an outside address. */
static void
gen_hairpin(struct world *w, struct slow_ip *ip)
{
    const struct slow_binding *b = some_binding(w);
    uint8_t proto = some_proto(&w->rnd);

    gen_out(w, ip);
    if (b && rnd_chance(&w->rnd, 800)) {
        orc_6052_write(some_prefix(w), b->place->range.ip, ip->dst);
        ip->dport = b->outside_port;
        proto = b->proto;
    } else {
        orc_6052_write(some_prefix(w), some_outside(w, &ip->dport), ip->dst);
    }
    gen_rest(&w->rnd, 6, proto, ip);
}

/* A packet that cannot pass, for a reason of its own. */
static void
gen_odd(struct world *w, struct slow_ip *ip)
{
    static const uint32_t bad4[] = { 0, 0x7f000001, 0xe0000001, UINT32_MAX };
    static const uint8_t bad6[] = { 0, 0xff, 0xfe };
    static const uint8_t protos[] = { 2, 47, 50, 132 };
    uint32_t bad = RND_OF(&w->rnd, bad4);
    bool v6 = rnd_chance(&w->rnd, 500);

    if (v6) {
        gen_out(w, ip);
    } else {
        gen_in(w, ip);
    }
    switch (rnd_below(&w->rnd, 7)) {
    case 0:
        ip->dst[v6 ? 5 : 0] ^= 0x80;
        break;
    case 1:
        if (v6) {
            memset(ip->src, 0, 16);
            ip->src[0] = RND_OF(&w->rnd, bad6);
            ip->src[1] = ip->src[0] ? 0x80 : 0;
        } else {
            orc_put32(ip->src, bad);
        }
        break;
    case 2:
        if (v6) {
            orc_6052_write(some_prefix(w), bad, ip->dst);
        }
        break;
    case 3:
        if (v6) {
            memcpy(ip->src, ip->dst, 16);
        } else {
            orc_put32(ip->src, some_pool4(w));
        }
        break;
    case 4:
        ip->proto = RND_OF(&w->rnd, protos);
        if (ip->proto == 2) {
            ip->proto = v6 ? 47 : 2;
        }
        break;
    case 5:
        if (is_icmp(ip)) {
            ip->type = v6 ? 135 : 13;
        }
        break;
    default:
        ip->no_csum = ip->proto == IPPROTO_UDP;
        break;
    }
}

/* A fragment: a later one of a packet whose first has come by, or a first. */
static void
gen_frag(struct world *w, struct slow_packet *p)
{
    struct slow_ip *ip = &p->ip;

    if (w->n_firsts && rnd_chance(&w->rnd, 650)) {
        uint32_t left;

        *p = w->firsts[rnd_below(&w->rnd, w->n_firsts < N_FIRSTS
                                          ? w->n_firsts : N_FIRSTS)];
        left = ip->l4_full - ip->l4_len;
        ip->ofs = ip->l4_len;
        ip->mf = left > 8 && rnd_chance(&w->rnd, 300);
        ip->l4_len = ip->mf ? 8 : left;
        ip->id += rnd_chance(&w->rnd, 50);
        ip->sport = ip->dport = 0;
        return;
    }
    switch (rnd_below(&w->rnd, 5)) {
    case 0: gen_hairpin(w, ip); break;
    case 1: case 2: gen_in(w, ip); break;
    default: gen_out(w, ip); break;
    }
    ip->frag = ip->family == 6;
    ip->df = false;
    ip->mf = true;
    ip->id = 1 + rnd_below(&w->rnd, 2);
    ip->id += ip->family == 6 && rnd_chance(&w->rnd, 300) ? 0x10000 : 0;
    ip->l4_full = rnd_range(&w->rnd, 60, 200);
    ip->l4_len = 24 + 8 * rnd_below(&w->rnd, 4);
    w->firsts[w->n_firsts++ % N_FIRSTS] = *p;
}

/* An ICMP error about a packet that was translated.  Returns false if there
 * was none. */
static bool
gen_error(struct world *w, struct slow_packet *p)
{
    static const uint8_t types4[][2] = {
        { 3, 1 }, { 3, 3 }, { 3, 13 }, { 3, 4 }, { 11, 0 },
    };
    static const uint8_t types6[][2] = {
        { 1, 0 }, { 1, 1 }, { 1, 4 }, { 2, 0 }, { 3, 0 },
    };
    static const uint16_t mtus[] = { 1280, 1300, 1400, 1492, 1500, 9000 };
    uint32_t k = rnd_below(&w->rnd, 5);
    struct slow_ip *ip = &p->ip;
    struct slow_ip *quote = &p->quote;

    if (!w->n_recent) {
        return false;
    }
    *quote = w->recent[rnd_below(&w->rnd, w->n_recent < N_RECENT
                                          ? w->n_recent : N_RECENT)].ip;
    p->is_error = true;
    quote->id = quote->any_id ? rnd32(&w->rnd) & 0xffff : quote->id;
    quote->any_id = false;
    quote->ttl = rnd_range(&w->rnd, 0, 64);
    p->quote_len = (quote->l4_len < 8 || rnd_chance(&w->rnd, 500)
                    ? quote->l4_len
                    : rnd_range(&w->rnd, 8, quote->l4_len));
    /* No half of a checksum, of which nothing can be said. */
    p->quote_len += quote->proto == IPPROTO_TCP && p->quote_len == 17;
    gen_rest(&w->rnd, quote->family, IPPROTO_ICMP, ip);
    ip->frag = false;
    ip->l4_len = 0;
    memcpy(ip->dst, quote->src, 16);
    memcpy(ip->src, quote->dst, 16);
    ip->type = quote->family == 4 ? types4[k][0] : types6[k][0];
    ip->code = quote->family == 4 ? types4[k][1] : types6[k][1];
    ip->rest = k == 3 ? RND_OF(&w->rnd, mtus) : 0;
    if (rnd_chance(&w->rnd, 300)) {
        /* From a router on the way. */
        ip->src[quote->family == 4 ? 3 : 15] = 99;
    }
    if (rnd_chance(&w->rnd, 100)) {
        quote->sport++;
    } else if (rnd_chance(&w->rnd, 20)) {
        quote->src[0]++;
    }
    return true;
}

static void
gen_packet(struct world *w, struct slow_packet *p)
{
    uint32_t r = rnd_below(&w->rnd, 1000);

    memset(p, 0, sizeof *p);
    if (r < 80 && gen_error(w, p)) {
        return;
    } else if (r < 160) {
        gen_frag(w, p);
    } else if (r < 190) {
        gen_odd(w, &p->ip);
    } else if (r < 270) {
        gen_hairpin(w, &p->ip);
    } else if (r < 620) {
        gen_in(w, &p->ip);
    } else {
        gen_out(w, &p->ip);
    }
}

/* ------------------------------------------------------------------------
 * Comparing sessions.
 * ------------------------------------------------------------------------ */

static uint8_t
proto_of(const struct nat64_session_info *info)
{
    return info->proto == IPPROTO_ICMPV6 ? IPPROTO_ICMP : info->proto;
}

/* Returns whether 'info' is of what 't' says, its outside apart. */
static bool
is_of(const struct nat64_session_info *info, const struct slow_tuple *t)
{
    uint8_t remote6[16];

    orc_6052_write(&t->prefix, t->remote, remote6);
    return (proto_of(info) == t->proto && info->inside_port == t->inside_port
            && info->remote_port == t->remote_port
            && ntohl(info->remote) == t->remote
            && !memcmp(&info->inside, t->inside, 16)
            && !memcmp(&info->remote6, remote6, 16));
}

struct learning {
    const struct slow_tuple *t;
    bool found;
    uint32_t ip;
    uint16_t port;
};

static void
learn_cb(const struct nat64_session_info *info, void *learning_)
{
    struct learning *learning = learning_;

    if (is_of(info, learning->t)) {
        learning->found = true;
        learning->ip = ntohl(info->outside);
        learning->port = info->outside_port;
    }
}

static bool
learn(void *w_, const struct slow_tuple *t, uint32_t *ip, uint16_t *port)
{
    struct world *w = w_;
    struct learning learning = { .t = t };
    uint32_t cursor = 0;

    while (nat64_dump(w->zone, w->ctx.now_us, &cursor, 1000, learn_cb,
                      &learning)) {
        /* There is more. */
    }
    *ip = learning.ip;
    *port = learning.port;
    return learning.found;
}

struct comparing {
    struct world *w;
    unsigned int n;
    const char *wrong;
};

static void
print_info(const struct nat64_session_info *info)
{
    char inside[INET6_ADDRSTRLEN], remote6[INET6_ADDRSTRLEN];
    char outside[INET_ADDRSTRLEN];

    inet_ntop(AF_INET6, &info->inside, inside, sizeof inside);
    inet_ntop(AF_INET6, &info->remote6, remote6, sizeof remote6);
    inet_ntop(AF_INET, &info->outside, outside, sizeof outside);
    printf("#   lib: proto %u %s %u, %s %u, %s %u, %s, %u s, packets %llu "
           "%llu, bytes %llu %llu\n", info->proto, inside, info->inside_port,
           outside, info->outside_port, remote6, info->remote_port,
           info->state, info->expires_s,
           (unsigned long long) info->packets[0],
           (unsigned long long) info->packets[1],
           (unsigned long long) info->bytes[0],
           (unsigned long long) info->bytes[1]);
}

static void
print_session(const struct slow_nat64 *slow, const struct slow_session *s)
{
    char inside[INET6_ADDRSTRLEN];
    uint32_t ip = s->b->place->range.ip;

    inet_ntop(AF_INET6, s->b->inside, inside, sizeof inside);
    printf("#   twin: proto %u %s %u, %u.%u.%u.%u %u, remote %#x %u, %s, "
           "%llu s, packets %llu %llu, bytes %llu %llu\n", s->b->proto,
           inside, s->b->inside_port, ip >> 24, ip >> 16 & 255, ip >> 8 & 255,
           ip & 255, s->b->outside_port, s->remote, s->remote_port,
           slow_state_name(s->state),
           (unsigned long long) (slow_ticks_left(slow, s) << 16) / 1000000,
           (unsigned long long) s->packets[0],
           (unsigned long long) s->packets[1],
           (unsigned long long) s->bytes[0],
           (unsigned long long) s->bytes[1]);
}

static bool
is_same(const struct slow_nat64 *slow, const struct slow_session *s,
        const struct nat64_session_info *info)
{
    return (slow_is_alive(slow, s)
            && ntohl(info->outside) == s->b->place->range.ip
            && info->outside_port == s->b->outside_port
            && !strcmp(info->state, slow_state_name(s->state))
            && info->packets[0] == s->packets[0]
            && info->packets[1] == s->packets[1]
            && info->bytes[0] == s->bytes[0]
            && info->bytes[1] == s->bytes[1]
            && info->expires_s == (slow_ticks_left(slow, s) << 16) / 1000000);
}

static void
compare_cb(const struct nat64_session_info *info, void *comparing_)
{
    struct comparing *c = comparing_;
    const struct slow_session *s;

    c->n++;
    for (s = c->w->slow->sessions; s; s = s->next) {
        struct slow_tuple t = {
            .proto = s->b->proto, .inside_port = s->b->inside_port,
            .prefix = s->b->prefix, .remote = s->remote,
            .remote_port = s->remote_port,
        };

        memcpy(t.inside, s->b->inside, 16);
        if (is_of(info, &t)) {
            break;
        }
    }
    if (!c->wrong && !(s && is_same(c->w->slow, s, info))) {
        c->wrong = "a session";
        print_info(info);
        if (s) {
            print_session(c->w->slow, s);
        }
    }
    if (s) {
        run.states[s->state]++;
    }
}

/* Compares all sessions.  Returns NULL, or what is wrong. */
static const char *
compare_sessions(struct world *w)
{
    struct comparing c = { .w = w };
    unsigned int want = 0;
    uint32_t cursor = 0;

    while (nat64_dump(w->zone, w->ctx.now_us, &cursor, 7, compare_cb, &c)) {
        /* There is more. */
    }
    for (const struct slow_session *s = w->slow->sessions; s; s = s->next) {
        want += slow_is_alive(w->slow, s);
    }
    if (!c.wrong && c.n != want) {
        printf("#   sessions with time left: lib %u, twin %u\n", c.n, want);
        c.wrong = "the number of sessions with time left";
    }
    return c.wrong;
}

static const char *
compare_gauges(struct world *w)
{
    struct nat64_gauges g;

    nat64_get_gauges(w->zone, &g);
    if (g.sessions > run.max_sessions) {
        run.max_sessions = g.sessions;
    }
    if (g.sessions == w->slow->n_sessions && g.bindings == w->slow->n_bindings
        && g.ports_in_use == slow_n_ports_in_use(w->slow)
        && g.ports == slow_n_ports(w->slow)
        && g.max_sessions == w->conf.max_sessions) {
        return NULL;
    }
    printf("#   lib: %u sessions, %u bindings, %llu of %llu ports\n",
           g.sessions, g.bindings, (unsigned long long) g.ports_in_use,
           (unsigned long long) g.ports);
    printf("#   twin: %u sessions, %u bindings, %u of %u ports\n",
           w->slow->n_sessions, w->slow->n_bindings,
           slow_n_ports_in_use(w->slow), slow_n_ports(w->slow));
    return "gauges";
}

/* ------------------------------------------------------------------------
 * Comparing packets.
 * ------------------------------------------------------------------------ */

/* Compares the bytes of 'pk' with 'want', whose identification may be any if
 * 'any_id'. */
static const char *
compare_bytes(const struct pk *pk, struct slow_packet *want)
{
    uint8_t bytes[MAX_BYTES];
    size_t len;

    if (want->ip.any_id) {
        want->ip.id = orc_get16(pk->data + 4);
    }
    len = put_packet(want, bytes);
    if (len == pk->len && !memcmp(bytes, pk->data, len)) {
        return NULL;
    }
    print_packet("twin", want);
    print_bytes("lib ", pk->data, pk->len);
    print_bytes("twin", bytes, len);
    return "the packet";
}

/* Compares the ICMP error 'pk' with what it should be: about the packet in
 * 'slot', with type and code of 'want'. */
static const char *
compare_reply(const struct world *w, const struct pk *pk,
              const struct slot *slot, const struct slow_ip *want)
{
    const struct slow_ip *in = &slot->in.ip;
    struct slow_ip ip = { .family = in->family, .ttl = 64 };
    uint8_t bytes[MAX_BYTES];
    size_t hdr = in->family == 4 ? 20 : 40;
    size_t max = (in->family == 4 ? 576 : 1280) - hdr - 8;
    size_t quoted = slot->len < max ? slot->len : max;

    memcpy(ip.src, in->dst, 16);
    memcpy(ip.dst, in->src, 16);
    ip.proto = in->family == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6;
    if (in->family == 4) {
        ip.tos = 0xc0;
        ip.id = orc_get16(pk->data + 4);
        memcpy(ip.src, pk->data + 12, 4);
        if (!slow_pool4_has(w->slow, orc_get32(ip.src))) {
            return "the source of the reply";
        }
    }
    put_hdr(&ip, 8 + quoted, bytes);
    memset(bytes + hdr, 0, 8);
    bytes[hdr] = want->type;
    bytes[hdr + 1] = want->code;
    memcpy(bytes + hdr + 8, slot->copy, quoted);
    put_csum(&ip, bytes + hdr, 2, 8 + quoted);
    if (pk->len == hdr + 8 + quoted && !memcmp(bytes, pk->data, pk->len)) {
        return NULL;
    }
    print_bytes("lib ", pk->data, pk->len);
    print_bytes("twin", bytes, hdr + 8 + quoted);
    return "the reply";
}

static const char *
compare_packet(const struct world *w, const struct slot *slot,
               const struct xlat_job *job, struct slow_result *want)
{
    const struct pk *pk = &job->pk;

    if (job->verdict != want->verdict) {
        return "the verdict";
    } else if (job->verdict != XLAT_TRANSLATED && job->verdict != XLAT_PASSED
               && job->drop != want->drop) {
        return "the reason";
    } else if (job->verdict == XLAT_DROPPED) {
        return NULL;
    }
    if (pk->data - pk->headroom != slot->buf || pk->frag_mtu || pk->gso_size
        || pk->data + pk->len + pk->tailroom != slot->buf + sizeof slot->buf
        || pk->flags) {
        return "the view of the packet";
    }
    switch (job->verdict) {
    case XLAT_TRANSLATED:
        return compare_bytes(pk, &want->out);
    case XLAT_REPLY:
        return compare_reply(w, pk, slot, &want->out.ip);
    case XLAT_PASSED:
    default:
        return (pk->len != slot->len || memcmp(pk->data, slot->copy, pk->len)
                ? "a packet that passed has changed" : NULL);
    }
}

static void
count(struct world *w, const struct slot *slot, const struct xlat_job *job)
{
    struct xlat_counters *c = &w->want;

    c->packets++;
    c->bytes += slot->len;
    switch (job->verdict) {
    case XLAT_TRANSLATED:
        c->translated++;
        c->translated_46 += slot->in.ip.family == 4;
        c->translated_64 += (slot->in.ip.family == 6
                             && job->pk.data[0] >> 4 == 4);
        c->translated_66 += (slot->in.ip.family == 6
                             && job->pk.data[0] >> 4 == 6);
        break;
    case XLAT_REPLY:
        c->replies++;
        c->reply_reasons[job->drop]++;
        break;
    case XLAT_PASSED:
        c->passed++;
        break;
    case XLAT_DROPPED:
        c->drops[job->drop]++;
        break;
    }
    run.verdicts[job->verdict & 3]++;
    if (job->verdict == XLAT_REPLY || job->verdict == XLAT_DROPPED) {
        run.drops[job->drop]++;
    }
}

/* Compares what has been counted in the whole zone. */
static const char *
compare_counters(struct world *w)
{
    struct xlat_counters got;
    const uint64_t *a = (const uint64_t *) &got;
    const uint64_t *b = (const uint64_t *) &w->want;

    if (w->slow->n_forgotten > 1 + w->slow->n_remembered / 100) {
        return "too many fragments were forgotten";
    }
    xlat_zone_get_counters(w->zone, &got);
    if (w->conf.no_errors) {
        w->want.replies_limited = got.replies_limited;
    }
    for (size_t i = 0; i < sizeof got / sizeof *a; i++) {
        if (a[i] != b[i]) {
            printf("#   counter %zu: lib %llu, twin %llu\n", i,
                   (unsigned long long) a[i], (unsigned long long) b[i]);
            return "the counters";
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------------
 * Steps.
 * ------------------------------------------------------------------------ */

static struct xlat_job
make_job(struct slot *slot)
{
    memcpy(slot->buf + HEADROOM, slot->copy, slot->len);
    return (struct xlat_job) {
        .pk = {
            .data = slot->buf + HEADROOM,
            .len = slot->len,
            .headroom = HEADROOM,
            .tailroom = MAX_BYTES - slot->len,
        },
    };
}

/* Compares what 'job' has become with what the twin makes of it. */
static bool
check_packet(struct world *w, const struct slot *slot,
             const struct xlat_job *job)
{
    bool is_drop = (job->verdict == XLAT_DROPPED
                    || job->verdict == XLAT_REPLY);
    struct slow_result want;
    const char *wrong;

    slow_run_packet(w->slow, &slot->in, is_drop ? job->drop : SLOW_OK, &want);
    wrong = w->slow->wrong[0] ? w->slow->wrong
            : compare_packet(w, slot, job, &want);
    if (wrong || run.trace) {
        print_packet("in  ", &slot->in);
        printf("#   lib : %s %s\n", verdict_name(job->verdict),
               drop_name(job->verdict, job->drop));
        printf("#   twin: %s %s\n", verdict_name(want.verdict),
               drop_name(want.verdict, want.drop));
        if (want.verdict == XLAT_TRANSLATED) {
            print_packet("out ", &want.out);
        }
    }
    if (wrong) {
        report(w, wrong);
        return false;
    }
    count(w, slot, job);
    if (job->verdict == XLAT_TRANSLATED && !want.out.is_error) {
        w->recent[w->n_recent++ % N_RECENT] = want.out;
    }
    return true;
}

/* Returns whether 'ip' goes from inside to an outside address. */
static bool
is_hairpin(const struct world *w, const struct slow_ip *ip)
{
    for (unsigned int i = 0; ip->family == 6 && i < w->conf.n_pool6; i++) {
        const struct orc_prefix6 *prefix = &w->conf.pool6[i];

        if (orc_in6(prefix, ip->dst)) {
            return slow_pool4_has(w->slow, orc_6052_read(prefix, ip->dst));
        }
    }
    return false;
}

/* Compares the verdict of a dry run with that of the packet itself.  "What if"
 * does not ask whether there is room, nor what becomes of a packet that goes
 * back inside, and does not see that a session may live again. */
static void
check_dry_run(struct world *w, const struct slot *slot,
              const struct xlat_job *dry, const struct xlat_job *job)
{
    if (dry->verdict == job->verdict || is_hairpin(w, &slot->in.ip)
        || (job->verdict != XLAT_TRANSLATED
            && job->drop == XLAT_DROP_TABLE_FULL)
        || (dry->verdict != XLAT_TRANSLATED && w->conf.per_flow
            && dry->drop == XLAT_DROP_NO_PORT)) {
        return;
    }
    print_packet("in  ", &slot->in);
    printf("#   dry : %s %s\n", verdict_name(dry->verdict),
           drop_name(dry->verdict, dry->drop));
    printf("#   real: %s %s\n", verdict_name(job->verdict),
           drop_name(job->verdict, job->drop));
    report(w, "the verdict of a dry run");
}

/* Asks what would become of a packet that does not come: nothing changes. */
static void
run_dry(struct world *w)
{
    struct slot *slot = &run.slots[0];
    struct xlat_job job;

    gen_packet(w, &slot->in);
    slot->len = put_packet(&slot->in, slot->copy);
    job = make_job(slot);
    w->ctx.dry_run = true;
    xlat_run(w->zone, &w->ctx, &job, 1);
    w->ctx.dry_run = false;
    if (run.trace) {
        print_packet("if  ", &slot->in);
        printf("#   lib : %s %s\n", verdict_name(job.verdict),
               drop_name(job.verdict, job.drop));
    }
}

static void
run_packets(struct world *w)
{
    unsigned int n = (rnd_chance(&w->rnd, 700) ? 1
                      : rnd_range(&w->rnd, 2, MAX_BATCH));
    bool dry = n == 1 && rnd_chance(&w->rnd, 50);
    struct xlat_job jobs[MAX_BATCH], dry_job;

    for (unsigned int i = 0; i < n; i++) {
        struct slot *slot = &run.slots[i];

        gen_packet(w, &slot->in);
        slot->len = put_packet(&slot->in, slot->copy);
        jobs[i] = make_job(slot);
    }
    if (dry) {
        dry_job = jobs[0];
        w->ctx.dry_run = true;
        xlat_run(w->zone, &w->ctx, &dry_job, 1);
        w->ctx.dry_run = false;
        jobs[0] = make_job(&run.slots[0]);
    }
    xlat_run(w->zone, &w->ctx, jobs, n);
    for (unsigned int i = 0; i < n; i++) {
        if (!check_packet(w, &run.slots[i], &jobs[i])) {
            return;
        }
    }
    run.steps += n - 1;

    if (dry) {
        check_dry_run(w, &run.slots[0], &dry_job, &jobs[0]);
    }
}

static void
run_expiry(struct world *w)
{
    int n = w->pool4_changed ? RUNS_AFTER_CHANGE : 1;

    for (int i = 0; i < n; i++) {
        nat64_run(w->zone, w->ctx.now_us, postpone);
        slow_run(w->slow);
    }
    w->pool4_changed = false;
}

/* Lets time pass, now and then just to the end of a session. */
static void
leap(struct world *w)
{
    uint32_t r = rnd_below(&w->rnd, 1000);
    uint64_t max_ms = (r >= w->haste ? (r % 2 ? 200 : 2000)
                       : r % 8 == 0 ? 14400000 : r % 4 == 1 ? 600000
                       : r % 4 == 2 ? 100000 : 20000);
    const struct slow_session *s = some_session(w);
    uint64_t left = s && slow_is_alive(w->slow, s)
                    ? slow_ticks_left(w->slow, s) : UINT32_MAX;

    if (left << 16 < max_ms * 20000 && rnd_chance(&w->rnd, 500)) {
        w->ctx.now_us += (left + rnd_below(&w->rnd, 2)) << 16;
    } else {
        w->ctx.now_us += (uint64_t) rnd_below(&w->rnd, max_ms) * 1000;
        w->ctx.now_us += rnd_below(&w->rnd, 1000);
    }
    slow_set_time(w->slow, w->ctx.now_us);
}

static void
flush(struct world *w)
{
    if (nat64_flush(w->zone, w->ctx.now_us, postpone)
        != w->slow->n_sessions) {
        report(w, "the number of sessions flushed");
    }
    slow_flush(w->slow);
}

static void
reconfigure(struct world *w)
{
    struct slow_conf conf = w->conf;

    hold(w, false);
    change_conf(w, &conf);
    if (memcmp(conf.pool4, w->conf.pool4, sizeof conf.pool4)
        || conf.n_pool4 != w->conf.n_pool4) {
        if (w->pool4_changed) {
            run_expiry(w);
        }
        w->pool4_changed = true;
    }
    if (conf.per_flow != w->conf.per_flow) {
        /* Bindings of both mappings beside each other could have sessions of
         * the same host, port and remote, between which nothing chooses. */
        flush(w);
    }
    w->conf = conf;
    make_zone(w);
}

static void
trace(const struct world *w, const char *what)
{
    if (run.trace) {
        printf("# step %llu, tick %llu: %s\n", (unsigned long long) run.steps,
               (unsigned long long) w->ctx.now_us >> 16, what);
    }
}

/* One step.  Returns what it was. */
static const char *
step(struct world *w)
{
    uint32_t r = rnd_below(&w->rnd, 10000);

    if (r < 200) {
        trace(w, "dry run");
        run_dry(w);
        return "dry run";
    } else if (r < 9000) {
        trace(w, "packets");
        run_packets(w);
        return "packets";
    } else if (r < 9800) {
        trace(w, "time");
        leap(w);
        if (rnd_chance(&w->rnd, 600)) {
            run_expiry(w);
        }
        return "time";
    } else if (r < 9900) {
        trace(w, "run");
        run_expiry(w);
        return "run";
    } else if (r < 9970) {
        trace(w, postponed.holding ? "release" : "hold");
        hold(w, !postponed.holding);
        return "hold";
    } else if (r < 9980) {
        trace(w, "flush");
        flush(w);
        return "flush";
    } else {
        trace(w, "conf");
        reconfigure(w);
        return "conf";
    }
}

/* Compares what a step leaves. */
static void
check_step(struct world *w, const char *what)
{
    const char *wrong = compare_gauges(w);

    if (!wrong && rnd_chance(&w->rnd, *what == 'p' ? 30 : 300)) {
        wrong = compare_sessions(w);
    }
    if (wrong) {
        printf("#   after: %s\n", what);
        report(w, wrong);
    }
}

static void
run_zone(uint64_t seed)
{
    struct world *w = calloc(1, sizeof *w);
    unsigned int before = run.differences;
    uint64_t end = run.steps + STEPS_PER_ZONE;
    const char *wrong;

    w->rnd = rnd_from_seed(seed);
    w->seed = seed;
    w->ctx.rng = seed | 1;
    w->ctx.thread = 1;
    /* In some zones, ticks of 32 bits begin anew. */
    w->ctx.now_us = (rnd_chance(&w->rnd, 500) ? (uint64_t) rnd32(&w->rnd)
                     : (UINT64_C(1) << 48) - rnd32(&w->rnd) % 3600000000);
    choose_conf(w);
    w->slow = slow_create(&w->conf, learn, w);
    slow_set_time(w->slow, w->ctx.now_us);
    if (make_zone(w)) {
        while (run.steps < run.max_steps && run.steps < end
               && run.differences == before) {
            const char *what = step(w);

            run.steps++;
            if (run.differences == before) {
                check_step(w, what);
            }
        }
        wrong = run.differences == before ? compare_counters(w) : NULL;
        if (wrong) {
            report(w, wrong);
        }
        hold(w, false);
        xlat_zone_destroy(w->zone);
    }
    slow_destroy(w->slow);
    free(w);
    run.zones++;
}

static void
show_progress(void)
{
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r%llu of %llu steps",
                (unsigned long long) run.steps,
                (unsigned long long) run.max_steps);
        if (run.steps >= run.max_steps) {
            fprintf(stderr, "\n");
        }
    }
}

static void
print_summary(double seconds)
{
    printf("# %llu steps, %llu zones, %.1f s\n",
           (unsigned long long) run.steps, (unsigned long long) run.zones,
           seconds);
    printf("# translated %llu, reply %llu, passed %llu, dropped %llu:",
           (unsigned long long) run.verdicts[XLAT_TRANSLATED],
           (unsigned long long) run.verdicts[XLAT_REPLY],
           (unsigned long long) run.verdicts[XLAT_PASSED],
           (unsigned long long) run.verdicts[XLAT_DROPPED]);
    for (int i = 0; i < XLAT_N_DROPS; i++) {
        if (run.drops[i]) {
            printf(" %s %llu", xlat_drop_name(i),
                   (unsigned long long) run.drops[i]);
        }
    }
    printf("\n# %u sessions at most; seen:", run.max_sessions);
    for (int i = 0; i < 8; i++) {
        printf(" %s %llu,", i ? slow_state_name(i) : "stateless",
               (unsigned long long) run.states[i]);
    }
    printf("\n");
}

static uint64_t
number(const char *s)
{
    return strtoull(s, NULL, 0);
}

int
main(int argc, char *argv[])
{
    static const struct option options[] = {
        { "steps", required_argument, NULL, 'n' },
        { "seed", required_argument, NULL, 's' },
        { "zones", required_argument, NULL, 'z' },
        { "keep-going", required_argument, NULL, 'k' },
        { "trace", no_argument, NULL, 't' },
        { NULL, 0, NULL, 0 },
    };
    uint64_t seed = 1;
    clock_t start;
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
        switch (c) {
        case 'n': run.max_steps = number(optarg); break;
        case 's': seed = number(optarg); break;
        case 'z': run.max_zones = number(optarg); break;
        case 'k': run.max_differences = number(optarg); break;
        case 't': run.trace = true; break;
        default: return 2;
        }
    }
    printf("1..1\n# seed %llu\n", (unsigned long long) seed);
    start = clock();
    while (run.steps < run.max_steps && run.zones < run.max_zones
           && run.differences < run.max_differences) {
        run_zone(seed++);
        fflush(stdout);
        show_progress();
    }
    print_summary((double) (clock() - start) / CLOCKS_PER_SEC);
    printf("%s 1 - random steps, lib and slow twin agree\n",
           run.differences ? "not ok" : "ok");
    return run.differences != 0;
}
