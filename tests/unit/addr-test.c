/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* What the addresses of a packet become in a stateless zone. */

#include <arpa/inet.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xlat-addr.h"
#include "xlat-private.h"
#include "xlat-zone-private.h"
#include "zone-util.h"

#define POOL6 "pool6=2001:db8:64::/96 "
#define EAM "eam=2001:db8:1::/120,192.0.2.0/24 "

/* An IP header with nothing but addresses in it. */
struct header {
    uint8_t bytes[40];
    struct xlat_addr addr;
};

static void
make_header(struct header *h, const char *src, const char *dst)
{
    bool v6 = strchr(src, ':') != NULL;
    int family = v6 ? AF_INET6 : AF_INET;

    memset(h, 0, sizeof *h);
    ck_assert_int_eq(inet_pton(family, src, h->bytes + (v6 ? 8 : 12)), 1);
    ck_assert_int_eq(inet_pton(family, dst, h->bytes + (v6 ? 24 : 16)), 1);
    h->addr.ip = h->bytes;
    h->addr.from = v6 ? 6 : 4;
}

static void
check_result(const struct header *h, const char *src, const char *dst)
{
    int family = h->addr.to == 6 ? AF_INET6 : AF_INET;
    char text[INET6_ADDRSTRLEN];

    ck_assert_msg(h->addr.drop == XLAT_OK, "%s",
                  xlat_drop_name(h->addr.drop));
    inet_ntop(family, &h->addr.src, text, sizeof text);
    ck_assert_str_eq(text, src);
    inet_ntop(family, &h->addr.dst, text, sizeof text);
    ck_assert_str_eq(text, dst);
}

/* A packet through a zone: addresses before and after, or the reason. */
static void
check_packet(const char *conf, const char *src, const char *dst,
             const char *new_src, const char *new_dst)
{
    struct xlat_zone *zone = zone_make(conf, NULL);
    struct header h;

    make_header(&h, src, dst);
    xlat_addr_batch(zone, &h.addr, 1);
    if (new_dst) {
        check_result(&h, new_src, new_dst);
    } else {
        ck_assert_msg(h.addr.drop != XLAT_OK, "%s > %s: expected %s", src,
                      dst, new_src);
        ck_assert_str_eq(xlat_drop_name(h.addr.drop), new_src);
    }
    xlat_zone_destroy(zone);
}

START_TEST(both_ways)
{
    check_packet(POOL6 EAM, "2001:db8:1::21", "2001:db8:64::198.51.100.7",
                 "192.0.2.33", "198.51.100.7");
    check_packet(POOL6 EAM, "198.51.100.7", "192.0.2.33",
                 "2001:db8:64::c633:6407", "2001:db8:1::21");
    /* RFC 6052 where no entry matches (RFC 7757, 3.3). */
    check_packet(POOL6 EAM, "198.51.100.7", "203.0.113.1",
                 "2001:db8:64::c633:6407", "2001:db8:64::cb00:7101");
    check_packet(POOL6 EAM, "2001:db8:2::1", "2001:db8:64::c633:6407",
                 "no-mapping", NULL);
    check_packet(POOL6 EAM, "2001:db8:1::1", "2001:db8:2::1", "no-mapping",
                 NULL);
    check_packet(EAM, "198.51.100.7", "192.0.2.33", "no-mapping", NULL);
    check_packet("", "198.51.100.7", "192.0.2.33", "no-mapping", NULL);
}
END_TEST

START_TEST(several_prefixes)
{
    const char *conf = "pool6=2001:db8:64::/96 pool6=2001:db8:100::/40";

    check_packet(conf, "2001:db8:1c0:2:21::",
                 "2001:db8:1c6:3364:7:dead:0:1", "192.0.2.33",
                 "198.51.100.7");
    check_packet(conf, "2001:db8:64::1.2.3.4",
                 "2001:db8:1c6:3364:7:dead:0:1", "1.2.3.4", "198.51.100.7");
    check_packet(conf, "198.51.100.7", "192.0.2.33", "2001:db8:64::c633:6407",
                 "2001:db8:64::c000:221");
}
END_TEST

/* An entry inside pool6 goes before it. */
START_TEST(entry_in_pool6)
{
    const char *conf = POOL6 "eam=2001:db8:64::c000:201,203.0.113.9 ";

    check_packet(conf, "2001:db8:64::c000:201", "2001:db8:64::c000:202",
                 "203.0.113.9", "192.0.2.2");
    check_packet(conf, "203.0.113.9", "192.0.2.2", "2001:db8:64::c000:201",
                 "2001:db8:64::c000:202");
}
END_TEST

START_TEST(never_translated)
{
    static const char *const bad4[] = {
        "127.0.0.1", "0.0.0.0", "0.1.2.3", "255.255.255.255", "224.0.0.1",
        "239.255.255.255",
    };
    static const char *const bad6[] = {
        "::", "::1", "fe80::1", "ff02::1", "ff0e::1",
    };
    const char *all = "eam=::/96,0.0.0.0/0 ";

    for (size_t i = 0; i < sizeof bad4 / sizeof bad4[0]; i++) {
        char text[64];

        snprintf(text, sizeof text, "2001:db8:64::%s", bad4[i]);
        check_packet(POOL6 EAM, "2001:db8:1::1", text, "bad-embedded", NULL);
        check_packet(POOL6 EAM, text, "2001:db8:1::1", "bad-embedded", NULL);
        check_packet(POOL6 EAM, "192.0.2.1", bad4[i], "no-mapping", NULL);
        check_packet(POOL6 EAM, bad4[i], "192.0.2.1", "bad-source", NULL);
        /* Not even by an entry. */
        snprintf(text, sizeof text, "::%s", bad4[i]);
        check_packet(all, "192.0.2.1", bad4[i], "no-mapping", NULL);
        if (i > 1) {
            check_packet(all, "::192.0.2.1", text, "bad-embedded", NULL);
        }
    }
    for (size_t i = 0; i < sizeof bad6 / sizeof bad6[0]; i++) {
        check_packet(POOL6 EAM, "2001:db8:1::1", bad6[i], "no-mapping", NULL);
        check_packet(POOL6 EAM, bad6[i], "2001:db8:64::1.2.3.4",
                     "bad-source", NULL);
    }
}
END_TEST

START_TEST(well_known_prefix)
{
    const char *conf = "pool6=64:ff9b::/96 " EAM;
    const char *local = "pool6=64:ff9b:1::/48 " EAM;

    check_packet(conf, "2001:db8:1::1", "64:ff9b::8.8.8.8", "192.0.2.1",
                 "8.8.8.8");
    check_packet(conf, "2001:db8:1::1", "64:ff9b::10.0.0.1", "bad-embedded",
                 NULL);
    check_packet(conf, "2001:db8:1::1", "64:ff9b::198.51.100.1",
                 "bad-embedded", NULL);
    check_packet(conf, "10.0.0.1", "192.0.2.1", "bad-embedded", NULL);
    check_packet(conf, "8.8.8.8", "192.0.2.1", "64:ff9b::808:808",
                 "2001:db8:1::1");
    check_packet("wkp-non-global=translate pool6=64:ff9b::/96 " EAM,
                 "10.0.0.1", "192.0.2.1", "64:ff9b::a00:1", "2001:db8:1::1");
    /* RFC 8215 has no such ban. */
    check_packet(local, "10.0.0.1", "192.0.2.1", "64:ff9b:1:a00:0:100::",
                 "2001:db8:1::1");
    check_packet(local, "2001:db8:1::1", "64:ff9b:1:a00:0:100::",
                 "192.0.2.1", "10.0.0.1");
}
END_TEST

START_TEST(deny)
{
    const char *deny4 = POOL6 EAM "deny=198.51.100.0/28,192.0.2.128/25";
    const char *deny6 = POOL6 EAM "deny=2001:db8:64::c633:6400/124";

    check_packet(deny4, "2001:db8:1::1", "2001:db8:64::198.51.100.7",
                 "denied", NULL);
    check_packet(deny4, "198.51.100.7", "192.0.2.1", "denied", NULL);
    check_packet(deny4, "198.51.100.17", "192.0.2.129", "denied", NULL);
    check_packet(deny4, "2001:db8:1::81", "2001:db8:64::198.51.100.17",
                 "denied", NULL);
    check_packet(deny4, "198.51.100.17", "192.0.2.1",
                 "2001:db8:64::c633:6411", "2001:db8:1::1");
    check_packet(deny6, "2001:db8:1::1", "2001:db8:64::198.51.100.7",
                 "denied", NULL);
    check_packet(deny6, "198.51.100.7", "192.0.2.1", "denied", NULL);
}
END_TEST

/* Two IPv6 nodes with entries, A and B, by their IPv4 addresses. */
#define A6 "2001:db8:aaaa::"
#define A4 "192.0.2.1"
#define A_IN_POOL "2001:db8:64::c000:201"
#define B6 "2001:db8:bbbb::b"
#define B4 "192.0.2.2"
#define B_IN_POOL "2001:db8:64::c000:202"
#define NODES POOL6 "eam=" A6 "," A4 " eam=" B6 "," B4 " "

START_TEST(hairpin)
{
    check_packet(NODES "hairpin=none", A6, B_IN_POOL, A4, B4);
    check_packet(NODES "hairpin=none", A4, B4, A6, B6);

    /* RFC 7757, 4.2.1: the answer then comes back to the translator. */
    check_packet(NODES "hairpin=simple", A6, B_IN_POOL, A4, B4);
    check_packet(NODES "hairpin=simple", A4, B4, A_IN_POOL, B6);

    /* RFC 7757, 4.2.2: at once, and only where it is needed. */
    check_packet(NODES "hairpin=intrinsic", A6, B_IN_POOL, A_IN_POOL, B6);
    check_packet(NODES "hairpin=intrinsic", A6, B6, A4, B4);
    check_packet(NODES "hairpin=intrinsic", A6, "2001:db8:64::198.51.100.7",
                 A4, "198.51.100.7");
    check_packet(NODES "hairpin=intrinsic", A4, B4, A6, B6);
}
END_TEST

/* An ICMP error: outer and inner addresses, before and after. */
struct error {
    const char *src, *dst, *inner_src, *inner_dst;
};

static void
check_error(const char *conf, struct error in, struct error out)
{
    struct xlat_zone *zone = zone_make(conf, NULL);
    struct header outer, inner;
    uint64_t rng = 1;

    make_header(&outer, in.src, in.dst);
    make_header(&inner, in.inner_src ? in.inner_src : "0.0.0.0",
                in.inner_dst ? in.inner_dst : "0.0.0.0");
    xlat_addr_error(zone, &rng, &outer.addr,
                    in.inner_src ? &inner.addr : NULL);
    if (out.dst) {
        check_result(&outer, out.src, out.dst);
    } else {
        ck_assert_msg(outer.addr.drop != XLAT_OK, "expected %s", out.src);
        ck_assert_str_eq(xlat_drop_name(outer.addr.drop), out.src);
    }
    if (out.inner_dst) {
        check_result(&inner, out.inner_src, out.inner_dst);
        ck_assert(!out.dst || outer.addr.to == inner.addr.to);
    } else if (out.inner_src) {
        ck_assert_msg(inner.addr.drop != XLAT_OK, "expected %s",
                      out.inner_src);
        ck_assert_str_eq(xlat_drop_name(inner.addr.drop), out.inner_src);
    }
    xlat_zone_destroy(zone);
}

#define ROUTER4 "203.0.113.1"
#define ROUTER4_IN_POOL "2001:db8:64::cb00:7101"
#define ROUTER6 "2001:db8:ffff::1"
#define SERVER4 "198.51.100.7"
#define SERVER_IN_POOL "2001:db8:64::c633:6407"

START_TEST(errors_46)
{
    check_error(NODES, (struct error) { ROUTER4, A4, A4, SERVER4 },
                (struct error) { ROUTER4_IN_POOL, A6, A6, SERVER_IN_POOL });
    check_error(NODES, (struct error) { ROUTER4, A4, NULL, NULL },
                (struct error) { ROUTER4_IN_POOL, A6, NULL, NULL });
    /* "Illegal" routers help to find faults (RFC 7915, 4.1). */
    check_error(NODES, (struct error) { "127.0.0.1", A4, A4, SERVER4 },
                (struct error) { "2001:db8:64::7f00:1", A6, A6,
                                 SERVER_IN_POOL });
    /* But 64:ff9b::/96 never represents one (RFC 6052, 3.1). */
    check_error("pool6=64:ff9b::/96 eam=" A6 "," A4,
                (struct error) { "10.0.0.1", A4, A4, "8.8.8.8" },
                (struct error) { "bad-embedded", NULL, A6,
                                 "64:ff9b::808:808" });
    check_error("pool6=64:ff9b::/96 icmp-source6=2001:db8::1 eam=" A6 "," A4,
                (struct error) { "10.0.0.1", A4, A4, "8.8.8.8" },
                (struct error) { "2001:db8::1", A6, A6,
                                 "64:ff9b::808:808" });
    /* Without pool6. */
    check_error("eam=" A6 "," A4 " eam=" B6 "," B4
                " icmp-source6=2001:db8::1",
                (struct error) { ROUTER4, A4, A4, B4 },
                (struct error) { "2001:db8::1", A6, A6, B6 });
    check_error("eam=" A6 "," A4, (struct error) { ROUTER4, A4, A4, SERVER4 },
                (struct error) { "no-mapping", NULL, "no-mapping", NULL });
    check_error(NODES "deny=203.0.113.0/24",
                (struct error) { ROUTER4, A4, A4, SERVER4 },
                (struct error) { "denied", NULL, A6, SERVER_IN_POOL });
}
END_TEST

START_TEST(errors_64)
{
    struct error in = { ROUTER6, SERVER_IN_POOL, SERVER_IN_POOL, A6 };

    check_error(NODES "pool4=203.0.113.77", in,
                (struct error) { "203.0.113.77", SERVER4, SERVER4, A4 });
    check_error(NODES "pool4=203.0.113.77 icmp-source4=203.0.113.78", in,
                (struct error) { "203.0.113.77", SERVER4, SERVER4, A4 });
    check_error(NODES "icmp-source4=203.0.113.78", in,
                (struct error) { "203.0.113.78", SERVER4, SERVER4, A4 });
    check_error(NODES, in,
                (struct error) { "no-mapping", NULL, SERVER4, A4 });
    /* A router, or the node itself, with a mapping keeps its address. */
    in.src = A6;
    check_error(NODES "pool4=203.0.113.77", in,
                (struct error) { A4, SERVER4, SERVER4, A4 });
}
END_TEST

/* A sent to B by its address in pool6; an error about it comes back, from B
 * or from a router in front of it.  A must see what it sent. */
START_TEST(hairpinned_errors)
{
    struct error from_b4 = { B4, A4, A4, B4 };
    struct error from_router4 = { ROUTER4, A4, A4, B4 };
    struct error from_b6 = { B6, A_IN_POOL, A_IN_POOL, B6 };
    struct error from_router6 = { ROUTER6, A_IN_POOL, A_IN_POOL, B6 };

    check_error(NODES "hairpin=none", from_b4,
                (struct error) { B6, A6, A6, B6 });
    check_error(NODES "hairpin=simple", from_b4,
                (struct error) { B_IN_POOL, A6, A6, B_IN_POOL });
    check_error(NODES "hairpin=simple", from_router4,
                (struct error) { ROUTER4_IN_POOL, A6, A6, B_IN_POOL });
    check_error(NODES "hairpin=simple", from_b6,
                (struct error) { B4, A4, A4, B4 });

    check_error(NODES "hairpin=intrinsic", from_b6,
                (struct error) { B_IN_POOL, A6, A6, B_IN_POOL });
    check_error(NODES "hairpin=intrinsic pool4=203.0.113.1", from_router6,
                (struct error) { ROUTER4_IN_POOL, A6, A6, B_IN_POOL });
    check_error(NODES "hairpin=intrinsic", from_b4,
                (struct error) { B6, A6, A6, B6 });
    /* Not about a hairpinned packet. */
    check_error(NODES "hairpin=intrinsic",
                (struct error) { B6, SERVER_IN_POOL, SERVER_IN_POOL, B6 },
                (struct error) { B4, SERVER4, SERVER4, B4 });
}
END_TEST

START_TEST(own_source)
{
    struct xlat_zone *zone = zone_make("", NULL);
    union pk_addr source;
    uint64_t rng = 5;

    ck_assert(!xlat_addr_own_source(zone, &rng, 4, &source));
    ck_assert(!xlat_addr_own_source(zone, &rng, 6, &source));
    xlat_zone_destroy(zone);

    zone = zone_make("pool4=203.0.113.0/30 icmp-source6=2001:db8::9", NULL);
    uint32_t seen = 0;
    for (int i = 0; i < 100; i++) {
        ck_assert(xlat_addr_own_source(zone, &rng, 4, &source));
        uint32_t ip = ntohl(source.in4);
        ck_assert_uint_eq(ip & ~3u, 0xcb007100);
        seen |= 1 << (ip & 3);
    }
    ck_assert_uint_eq(seen, 15);
    ck_assert(xlat_addr_own_source(zone, &rng, 6, &source));
    ck_assert_int_eq(source.bytes[15], 9);
    xlat_zone_destroy(zone);

    zone = zone_make("pool4=203.0.113.0/30 icmp-source4=203.0.113.99", NULL);
    ck_assert(xlat_addr_own_source(zone, &rng, 4, &source));
    ck_assert_uint_eq(ntohl(source.in4), 0xcb007163);
    xlat_zone_destroy(zone);
}
END_TEST

START_TEST(via)
{
    struct xlat_zone *zone = zone_make(POOL6 EAM, NULL);
    struct in6_addr ip6;
    struct xlat_via v;
    pk_be32 ip4;

    inet_pton(AF_INET6, "2001:db8:1::21", &ip6);
    ck_assert_int_eq(xlat_addr_64(zone, &ip6, &ip4, &v), XLAT_OK);
    ck_assert_uint_eq(ntohl(ip4), 0xc0000221);
    ck_assert_int_eq(v.kind, XLAT_VIA_EAMT);
    ck_assert_int_eq(v.prefix6.len, 120);
    ck_assert_int_eq(v.prefix4.len, 24);
    ck_assert_int_eq(xlat_addr_46(zone, htonl(0xc6336407), &ip6, &v),
                     XLAT_OK);
    ck_assert_int_eq(v.kind, XLAT_VIA_6052);
    ck_assert_int_eq(v.prefix6.len, 96);
    inet_pton(AF_INET6, "2001:db8:2::21", &ip6);
    ck_assert_int_eq(xlat_addr_64(zone, &ip6, &ip4, &v),
                     XLAT_DROP_NO_MAPPING);
    ck_assert_int_eq(v.kind, XLAT_VIA_NONE);
    xlat_zone_destroy(zone);
}
END_TEST

/* Short way and long way, which a deny rule for nobody enforces. */
START_TEST(short_way)
{
    static const char *const confs[] = {
        POOL6, POOL6 EAM, POOL6 EAM "hairpin=simple",
        POOL6 EAM "eam=2001:db8:1::/121,203.0.113.0/25 "
        "eam=2001:db8:2::/48,198.18.0.0/15 eam=2001:db8:3::1,192.0.2.1",
        POOL6 EAM "eam=2001:db8:1::/121,203.0.113.0/25 "
        "eam=2001:db8:2::/48,198.18.0.0/15 eam=2001:db8:3::1,192.0.2.1 "
        "eam=2001:db8:4::/64,198.51.100.8/29",
    };
    static const char *const sixes[] = {
        "2001:db8:64::", "2001:db8:1::", "2001:db8:2::", "2001:db8:3::",
        "2001:db8:4::", "fe80::", "::", "2001:db8:5::",
    };
    static const uint32_t fours[] = {
        0xc0000200, 0xcb007100, 0xc6120000, 0xc6336400, 0, 0x7f000000,
        0xffffff00, 0xe0000000,
    };
    char denying[512];
    struct rng rng;

    snprintf(denying, sizeof denying, "%s deny=2001:db8:dead::/48",
             confs[_i]);
    struct xlat_zone *zone = zone_make(confs[_i], NULL);
    struct xlat_zone *slow = zone_make(denying, NULL);
    ck_assert(zone->addrs.fast);
    ck_assert(!slow->addrs.fast);
    rng_init(&rng, 64);
    for (int n = 0; n < 20000; n++) {
        uint8_t ip[40] = { 0 };
        struct xlat_addr a = { .ip = ip, .from = n % 2 ? 6 : 4 };
        struct xlat_addr b = a;

        for (int i = 0; i < 2; i++) {
            if (a.from == 6) {
                inet_pton(AF_INET6, sixes[rng_below(&rng, 8)],
                          ip + 8 + 16 * i);
                pk_be32 last = htonl(fours[rng_below(&rng, 8)]
                                     + rng_below(&rng, 256));
                memcpy(ip + 20 + 16 * i, &last, 4);
            } else {
                pk_be32 ip4 = htonl(fours[rng_below(&rng, 8)]
                                    + rng_below(&rng, 256));
                memcpy(ip + 12 + 4 * i, &ip4, 4);
            }
        }
        xlat_addr_one(zone, &a);
        xlat_addr_one(slow, &b);
        ck_assert_int_eq(a.drop, b.drop);
        if (a.drop == XLAT_OK) {
            ck_assert_int_eq(a.to, b.to);
            ck_assert_mem_eq(&a.src, &b.src, 16);
            ck_assert_mem_eq(&a.dst, &b.dst, 16);
        }
    }
    xlat_zone_destroy(zone);
    xlat_zone_destroy(slow);
}
END_TEST

/* A table so large that batches prefetch: every result as one at a time. */
#define N_LARGE 10000

START_TEST(large_batches)
{
    size_t size = N_LARGE * 64 + 100;
    char *conf = malloc(size);
    char *end = conf + sprintf(conf, POOL6);
    struct header h[XLAT_BATCH];
    struct xlat_addr batch[XLAT_BATCH];
    struct rng rng;

    for (int i = 0; i < N_LARGE; i++) {
        end += sprintf(end, "eam=2001:db8:1:%x::/%d,10.%d.%d.%d/32 ", i,
                       i % 3 ? 64 : 72, i >> 16, i >> 8 & 255, i & 255);
    }
    struct xlat_zone *zone = zone_make(conf, NULL);
    ck_assert(zone->addrs.prefetch);
    rng_init(&rng, 1);
    for (int round = 0; round < 300; round++) {
        for (int i = 0; i < XLAT_BATCH; i++) {
            int j = rng_below(&rng, N_LARGE * 2);
            char mapped[64], server[64];

            if (i % 2) {
                snprintf(mapped, sizeof mapped, "2001:db8:1:%x::", j);
                snprintf(server, sizeof server, "2001:db8:64::%x:1", i + 256);
                make_header(&h[i], mapped, server);
            } else {
                snprintf(mapped, sizeof mapped, "10.%d.%d.%d", j >> 16,
                         j >> 8 & 255, j & 255);
                make_header(&h[i], "198.51.100.7", mapped);
            }
            batch[i] = h[i].addr;
            xlat_addr_one(zone, &h[i].addr);
        }
        batch[7].ip = NULL;
        xlat_addr_batch(zone, batch, XLAT_BATCH);
        for (int i = 0; i < XLAT_BATCH; i++) {
            if (i != 7) {
                ck_assert_int_eq(batch[i].drop, h[i].addr.drop);
                ck_assert(batch[i].drop != XLAT_OK
                          || !memcmp(&batch[i].src, &h[i].addr.src, 32));
            }
        }
    }
    xlat_zone_destroy(zone);
    free(conf);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("addr");
    TCase *tcase = tcase_create("addr");
    SRunner *runner = srunner_create(suite);

    tcase_add_test(tcase, both_ways);
    tcase_add_test(tcase, several_prefixes);
    tcase_add_test(tcase, entry_in_pool6);
    tcase_add_test(tcase, never_translated);
    tcase_add_test(tcase, well_known_prefix);
    tcase_add_test(tcase, deny);
    tcase_add_test(tcase, hairpin);
    tcase_add_test(tcase, errors_46);
    tcase_add_test(tcase, errors_64);
    tcase_add_test(tcase, hairpinned_errors);
    tcase_add_test(tcase, own_source);
    tcase_add_test(tcase, via);
    tcase_add_loop_test(tcase, short_way, 0, 5);
    tcase_add_test(tcase, large_batches);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
