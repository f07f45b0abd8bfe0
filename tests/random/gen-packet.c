/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include "gen-packet.h"

#include <netinet/in.h>

#include "gen-conf.h"
#include "oracle-packet.h"

#define PROTO_DCCP 33
#define PROTO_UDPLITE 136

/* What is being written. */
struct gen {
    struct rnd *rnd;
    const struct orc_conf *conf;
    struct pk *pk;
    int depth;                   /* 1 inside an ICMP error. */
};

/* Payload: anywhere from a buffer of noise, which is made once. */
static void
noise(struct rnd *rnd, uint8_t *p, size_t n)
{
    static uint8_t pool[4096];
    static bool filled;
    uint32_t ofs = rnd_below(rnd, sizeof pool);

    if (!filled) {
        struct rnd fixed = rnd_from_seed(1);

        rnd_bytes(&fixed, pool, sizeof pool);
        filled = true;
    }
    while (n) {
        size_t chunk = n < sizeof pool - ofs ? n : sizeof pool - ofs;

        memcpy(p, pool + ofs, chunk);
        p += chunk;
        n -= chunk;
        ofs = 0;
    }
}

static size_t
gen_payload_len(const struct gen *g)
{
    struct rnd *rnd = g->rnd;
    uint32_t kind = rnd_below(rnd, 1000);
    uint32_t mtu = rnd_chance(rnd, 500) ? g->conf->set.mtu4
                   : g->conf->set.mtu6;

    if (g->depth) {
        return rnd_below(rnd, kind < 800 ? 64 : kind < 990 ? 600 : 1500);
    }
    return (kind < 450 ? rnd_below(rnd, 32)
            : kind < 850 ? rnd_below(rnd, 160)
            : kind < 930 ? rnd_range(rnd, 1180, 1520)
            : kind < 990 ? (mtu < 2000 || kind < 932
                            ? rnd_range(rnd, mtu < 110 ? 0 : mtu - 110, mtu)
                            : rnd_below(rnd, 100))
            : kind < 998 ? rnd_below(rnd, 3000)
            : rnd_below(rnd, 65536));
}

/* Transport. */

struct l4 {
    uint8_t proto;
    uint16_t pseudo;             /* Without the length. */
    bool whole;
};

static size_t gen_packet4(struct gen *, uint8_t *p);
static size_t gen_packet6(struct gen *, uint8_t *p);

/* Puts the checksum of 'n' bytes at 'p', perhaps a wrong one. */
static void
put_csum(const struct gen *g, const struct l4 *l4, uint8_t *p, size_t n,
         unsigned int at, bool pseudo)
{
    uint16_t sum, ps = orc_add(l4->pseudo, n);

    if (n < at + 2) {
        return;
    }
    orc_put16(p + at, 0);
    sum = ~orc_add(orc_sum(p, n), pseudo ? ps : 0);
    if (l4->proto == IPPROTO_UDP && !sum) {
        sum = 0xffff;
    }
    if (rnd_chance(g->rnd, 30)) {
        sum = rnd_chance(g->rnd, 500) ? 0xffff : rnd32(g->rnd);
    }
    orc_put16(p + at, sum);
    if (!g->depth && l4->whole && (l4->proto == IPPROTO_TCP
                                   || l4->proto == IPPROTO_UDP)
        && (g->pk->gso_size || rnd_chance(g->rnd, 80))) {
        orc_put16(p + at, ps ? ps : 0xffff);
        g->pk->flags |= PK_L4_PARTIAL;
    }
}

static size_t
gen_tcp(struct gen *g, const struct l4 *l4, uint8_t *p)
{
    struct rnd *rnd = g->rnd;
    unsigned int hdr = rnd_chance(rnd, 700) ? 20
                       : 4 * rnd_range(rnd, 5, 15);
    size_t n = hdr + gen_payload_len(g);

    if (!g->depth && l4->whole && rnd_chance(rnd, 20)) {
        g->pk->gso_size = rnd_range(rnd, 100, rnd_chance(rnd, 800) ? 1460
                                                : 9000);
        n = hdr + g->pk->gso_size + rnd_below(rnd, rnd_chance(rnd, 900)
                                              ? 4000 : 56000);
    }
    noise(rnd, p, n);
    p[12] = hdr << 2 | (p[12] & 15);
    put_csum(g, l4, p, n, 16, true);
    return n;
}

static size_t
gen_udp(struct gen *g, const struct l4 *l4, uint8_t *p)
{
    struct rnd *rnd = g->rnd;
    size_t n = 8 + gen_payload_len(g);
    struct l4 odd = *l4;

    if (!g->depth && l4->whole && rnd_chance(rnd, 5)) {
        g->pk->gso_size = rnd_range(rnd, 100, 1472);
        n = 8 + g->pk->gso_size + rnd_below(rnd, 4000);
    }
    noise(rnd, p, n);
    orc_put16(p + 4, n);
    if (rnd_chance(rnd, 20) && !g->pk->gso_size) {
        odd.whole = false;
        orc_put16(p + 4, rnd_chance(rnd, 500) ? n - rnd_below(rnd, 9)
                         : rnd32(rnd));
    }
    if (rnd_chance(rnd, 150) && !g->pk->gso_size) {
        orc_put16(p + 6, 0);
    } else {
        put_csum(g, &odd, p, n, 6, true);
    }
    return n;
}

static size_t
gen_other(struct gen *g, const struct l4 *l4, uint8_t *p)
{
    size_t n = gen_payload_len(g);

    noise(g->rnd, p, n);
    if (l4->proto == PROTO_DCCP || l4->proto == PROTO_UDPLITE) {
        put_csum(g, l4, p, n, 6, true);
    }
    return n;
}

/* The quote of an error at 'p', with what follows it. */
static size_t
gen_quote(struct gen *g, bool four, uint8_t *p, uint8_t *len_at)
{
    struct rnd *rnd = g->rnd;
    unsigned int unit = four ? 4 : 8;
    size_t n;

    g->depth++;
    n = (rnd_chance(rnd, 985) ? four : !four) ? gen_packet4(g, p)
                                              : gen_packet6(g, p);
    g->depth--;
    if (rnd_chance(rnd, 400)) {
        size_t hdr = four ? 20 : 40;

        n = rnd_chance(rnd, 700) && n > hdr + 8 ? hdr + 8
            : rnd_below(rnd, n + 1);
    } else if (rnd_chance(rnd, 100)) {
        n += rnd_below(rnd, 24);
    }
    if (n > 1400 && rnd_chance(rnd, 950)) {
        n = rnd_chance(rnd, 500) ? 548 : 1232;
    }
    if (rnd_chance(rnd, 250)) {
        size_t padded = (n + unit - 1) / unit * unit;
        size_t ext;

        if (padded < 128 && rnd_chance(rnd, 900)) {
            padded = 128;
        }
        if (padded / unit < 256) {
            memset(p + n, 0, padded - n);
            n = padded;
            *len_at = padded / unit;
            ext = rnd_chance(rnd, 900) ? 4 * rnd_below(rnd, 12)
                  : rnd_below(rnd, 300);
            noise(rnd, p + n, ext);
            n += ext;
        }
    }
    if (rnd_chance(rnd, 15)) {
        *len_at = rnd32(rnd);
    }
    return n;
}

static size_t
gen_icmp4_error(struct gen *g, uint8_t *p)
{
    static const uint8_t types[] = { 3, 3, 3, 3, 11, 11, 12, 4, 5 };
    struct rnd *rnd = g->rnd;

    p[0] = RND_OF(rnd, types);
    p[1] = rnd_chance(rnd, 970) ? rnd_below(rnd, p[0] == 3 ? 16 : 3)
           : rnd32(rnd);
    orc_put32(p + 4, 0);
    if (p[0] == 3 && (p[1] == 4 || rnd_chance(rnd, 100))) {
        orc_put16(p + 6, rnd_chance(rnd, 300) ? 0
                  : rnd_chance(rnd, 800) ? rnd_range(rnd, 0, 2000)
                  : rnd32(rnd));
    } else if (p[0] == 12) {
        p[4] = rnd_chance(rnd, 900) ? rnd_below(rnd, 22) : rnd32(rnd);
    } else if (rnd_chance(rnd, 100)) {
        orc_put32(p + 4, rnd32(rnd) & 0xff00ffff);
    }
    return 8 + gen_quote(g, true, p + 8, p + 5);
}

static size_t
gen_icmp6_error(struct gen *g, uint8_t *p)
{
    static const uint8_t types[] = { 1, 1, 1, 2, 2, 3, 3, 4, 4, 5 };
    uint8_t no_len[4];
    struct rnd *rnd = g->rnd;

    p[0] = rnd_chance(rnd, 980) ? RND_OF(rnd, types) : rnd_below(rnd, 128);
    p[1] = rnd_chance(rnd, 970) ? rnd_below(rnd, p[0] == 1 ? 8 : 3)
           : rnd32(rnd);
    orc_put32(p + 4, 0);
    if (p[0] == 2) {
        orc_put32(p + 4, rnd_chance(rnd, 900) ? rnd_range(rnd, 0, 2000)
                         : rnd32(rnd));
        if (rnd_chance(rnd, 900)) {
            p[1] = 0;
        }
    } else if (p[0] == 4) {
        orc_put32(p + 4, rnd_chance(rnd, 950) ? rnd_below(rnd, 44)
                         : rnd32(rnd));
    }
    return 8 + gen_quote(g, false, p + 8,
                         p[0] == 1 || p[0] == 3 ? p + 4 : no_len);
}

static size_t
gen_icmp(struct gen *g, const struct l4 *l4, bool four, uint8_t *p)
{
    struct rnd *rnd = g->rnd;
    uint32_t kind = rnd_below(rnd, 100);
    size_t n;

    if (kind < (g->depth ? 3 : 60)) {
        n = (four ? gen_icmp4_error : gen_icmp6_error)(g, p);
    } else {
        n = 8 + gen_payload_len(g);
        noise(rnd, p, n);
        p[0] = (kind > 96 ? rnd32(rnd)
                : four ? (kind & 1 ? 0 : 8) : (kind & 1 ? 128 : 129));
        if (kind > 92 && !four) {
            p[0] = 130 + rnd_below(rnd, 10);
        }
        if (rnd_chance(rnd, 950)) {
            p[1] = 0;
        }
    }
    put_csum(g, l4, p, n, 2, !four);
    return n;
}

static size_t
gen_l4(struct gen *g, const struct l4 *l4, uint8_t *p)
{
    switch (l4->proto) {
    case IPPROTO_TCP: return gen_tcp(g, l4, p);
    case IPPROTO_UDP: return gen_udp(g, l4, p);
    case IPPROTO_ICMP: return gen_icmp(g, l4, true, p);
    case IPPROTO_ICMPV6: return gen_icmp(g, l4, false, p);
    default: return gen_other(g, l4, p);
    }
}

static uint8_t
gen_proto(struct gen *g, bool four)
{
    static const uint8_t others[] = {
        0, 1, 2, 4, 33, 41, 43, 44, 47, 50, 51, 58, 59, 60, 89, 103, 132,
        135, 136, 139, 140, 253,
    };
    uint32_t kind = rnd_below(g->rnd, 100);

    return (kind < 33 ? IPPROTO_TCP : kind < 63 ? IPPROTO_UDP
            : kind < 93 ? (four ? IPPROTO_ICMP : IPPROTO_ICMPV6)
            : kind < 99 ? RND_OF(g->rnd, others) : rnd32(g->rnd));
}

static uint8_t
gen_ttl(struct rnd *rnd)
{
    return rnd_chance(rnd, 960) ? 64 : rnd_chance(rnd, 500)
           ? rnd_below(rnd, 4) : rnd32(rnd);
}

/* Cuts a packet that is larger than can be; its checksum is wrong then. */
static size_t
clamp(struct gen *g, size_t n, size_t max)
{
    if (n <= max) {
        return n;
    }
    if (!g->depth) {
        g->pk->flags &= ~PK_L4_PARTIAL;
        g->pk->gso_size = 0;
    }
    return max;
}

/* IPv4. */

static unsigned int
gen_options(struct rnd *rnd, uint8_t *p)
{
    unsigned int n = 4 * rnd_range(rnd, 1, 10), i = 0;

    noise(rnd, p, n);
    if (rnd_chance(rnd, 150)) {
        return n;                      /* Noise. */
    }
    while (i < n) {
        static const uint8_t kinds[] = {
            0, 1, 1, 1, 7, 68, 130, 131, 137, 148
        };
        unsigned int len;

        p[i] = RND_OF(rnd, kinds);
        if (p[i] <= 1 || i + 3 > n) {
            p[i] = p[i] > 1 ? 1 : p[i];
            i++;
            continue;
        }
        len = rnd_range(rnd, 3, n - i < 12 ? n - i : 12);
        p[i + 1] = rnd_chance(rnd, 970) ? len : rnd32(rnd);
        p[i + 2] = rnd_chance(rnd, 600) ? len + 1 : 4 * rnd_below(rnd, 4);
        i += len;
    }
    return n;
}

static size_t
gen_packet4(struct gen *g, uint8_t *p)
{
    struct rnd *rnd = g->rnd;
    bool frag = rnd_chance(rnd, g->depth ? 40 : 100);
    struct orc_ip4 ip = {
        .tos = rnd_chance(rnd, 500) ? 0 : rnd32(rnd), .id = rnd32(rnd),
        .df = rnd_chance(rnd, frag ? 50 : 500), .ttl = gen_ttl(rnd),
        .proto = gen_proto(g, true),
        .src = gen_addr4(rnd, g->conf), .dst = gen_addr4(rnd, g->conf),
    };
    struct l4 l4 = {
        ip.proto, orc_pseudo4(ip.src, ip.dst, ip.proto, 0), !frag
    };
    unsigned int hdr = 20;
    size_t n;

    if (rnd_chance(rnd, 120)) {
        hdr += gen_options(rnd, p + 20);
    }
    n = gen_l4(g, &l4, p + hdr);
    if (frag) {
        ip.mf = rnd_chance(rnd, 600);
        ip.frag_ofs = 8 * (rnd_chance(rnd, 500) ? 0
                           : rnd_chance(rnd, 900) ? rnd_below(rnd, 500)
                           : rnd_below(rnd, 8192));
        if (ip.mf && n > 8 && rnd_chance(rnd, 900)) {
            n -= n % 8;
        }
    }
    n += hdr;
    n = clamp(g, n, 65535);
    ip.total_len = n;
    orc_ip4_encode(p, &ip);
    p[0] = 0x40 | hdr / 4;
    orc_put16(p + 10, 0);
    orc_put16(p + 10, ~orc_sum(p, hdr));
    if (rnd_chance(rnd, 10)) {
        orc_put16(p + 10, rnd32(rnd));
        if (!g->depth && rnd_chance(rnd, 300)) {
            g->pk->flags |= PK_IP_CSUM_OK;
        }
    }
    return n;
}

/* IPv6. */

/* Writes extension headers at 'p' and sets '*first' to the first's type and
 * '*last' to where the type of what follows goes. */
static size_t
gen_ext_hdrs(struct gen *g, uint8_t *p, uint8_t *first, uint8_t **last,
             bool frag)
{
    static const uint8_t kinds[] = { 0, 43, 60, 60, 51, 44 };
    struct rnd *rnd = g->rnd;
    unsigned int n_hdrs = rnd_chance(rnd, 850) ? 0 : rnd_range(rnd, 1, 4);
    size_t n = 0;

    *last = first;
    for (unsigned int i = 0; i < n_hdrs + frag; i++) {
        uint8_t kind = i == n_hdrs || rnd_chance(rnd, 10) ? 44
                       : !i ? RND_OF(rnd, kinds)
                       : rnd_chance(rnd, 950) ? kinds[rnd_range(rnd, 1, 3)]
                       : RND_OF(rnd, kinds);
        size_t len = kind == 44 ? 8 : 8 * rnd_range(rnd, 1, 3);

        noise(rnd, p + n, len);
        **last = kind;
        *last = p + n;
        p[n + 1] = kind == 44 ? 0 : len / 8 - 1;
        if (kind == 43 && rnd_chance(rnd, 800)) {
            p[n + 3] = 0;
        } else if (kind == 44) {
            uint16_t ofs = 8 * (rnd_chance(rnd, 500) ? 0
                                : rnd_below(rnd, 500));

            orc_put16(p + n + 2, ofs | rnd_chance(rnd, 600));
            if (rnd_chance(rnd, 50)) {
                orc_put16(p + n + 2, rnd32(rnd));
            }
        }
        if (rnd_chance(rnd, 5)) {
            p[n + 1] = rnd32(rnd);
        }
        n += len;
        if (kind == 51) {
            p[n - len + 1] = len / 4 - 2;
        }
    }
    return n;
}

static size_t
gen_packet6(struct gen *g, uint8_t *p)
{
    struct rnd *rnd = g->rnd;
    bool frag = rnd_chance(rnd, g->depth ? 40 : 100);
    struct orc_ip6 ip = {
        .tc = rnd_chance(rnd, 500) ? 0 : rnd32(rnd),
        .flow = rnd_chance(rnd, 500) ? 0 : rnd32(rnd) & 0xfffff,
        .hop_limit = gen_ttl(rnd), .proto = gen_proto(g, false),
    };
    struct l4 l4 = { ip.proto, 0, !frag };
    size_t hdr, n;
    uint8_t *last;

    gen_addr6(rnd, g->conf, ip.src);
    gen_addr6(rnd, g->conf, ip.dst);
    l4.pseudo = orc_pseudo6(ip.src, ip.dst, ip.proto, 0);
    hdr = 40 + gen_ext_hdrs(g, p + 40, &ip.proto, &last, frag);
    l4.whole = hdr == 40;
    n = gen_l4(g, &l4, p + hdr);
    if (frag && n > 8 && rnd_chance(rnd, 700)) {
        n -= n % 8;
    }
    if (last != &ip.proto) {
        *last = l4.proto;
    }
    n += hdr;
    n = clamp(g, n, 65535 + 40);
    ip.payload_len = n - 40;
    orc_ip6_encode(p, &ip);
    return n;
}

/* Breaks a packet a little. */
static size_t
mutate(struct rnd *rnd, uint8_t *p, size_t n)
{
    for (unsigned int i = rnd_range(rnd, 1, 3); i; i--) {
        switch (rnd_below(rnd, 5)) {
        case 0:
            n = rnd_below(rnd, n + 1);
            break;
        case 1:
            p[rnd_below(rnd, n < 48 ? n + 1 : 48)] = rnd32(rnd);
            break;
        case 2:
            p[rnd_below(rnd, n + 1)] ^= 1 << rnd_below(rnd, 8);
            break;
        case 3:
            orc_put16(p + 2, rnd_below(rnd, n + 4));
            break;
        default:
            orc_put16(p + 4, rnd_below(rnd, n + 4));
            break;
        }
    }
    if (n >= 20 && p[0] >> 4 == 4 && rnd_chance(rnd, 800)) {
        unsigned int hdr = (p[0] & 15) * 4;

        if (hdr >= 20 && hdr <= n) {
            orc_put16(p + 10, 0);
            orc_put16(p + 10, ~orc_sum(p, hdr));
        }
    }
    return n;
}

void
gen_packet(struct rnd *rnd, const struct orc_conf *conf, uint8_t *buf,
           struct pk *pk)
{
    struct gen g = { rnd, conf, pk, 0 };
    bool four = rnd_chance(rnd, conf->kind == XLAT_KIND_ILA ? 50 : 500);
    size_t n;

    memset(pk, 0, sizeof *pk);
    n = (four ? gen_packet4 : gen_packet6)(&g, buf);
    if (!(pk->flags & PK_L4_PARTIAL) && rnd_chance(rnd, 60)) {
        n = mutate(rnd, buf, n);
    }
    if (rnd_chance(rnd, 80)) {
        size_t pad = n < 46 ? 46 - n : rnd_below(rnd, 32);

        noise(rnd, buf + n, pad);
        n += pad;
    }
    pk->data = buf;
    pk->len = n;
}
