/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Identifier-locator addressing. */

#include <arpa/inet.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ila-csum.h"
#include "ila.h"
#include "packet.h"
#include "pk-csum.h"
#include "xlat-conf-private.h"
#include "xlat-private.h"
#include "xlat-zone-private.h"
#include "zone-util.h"

#define ZONE "kind=ila pool6=3333:0:0:1::/64 "
#define PEER "2001:db8::1"
#define DST 24

static struct packet packet, original;
static uint8_t l4[2000];

static struct xlat_job
run_dir(const struct xlat_zone *zone, struct packet *p, enum xlat_dir dir)
{
    struct xlat_ctx ctx = { .now_us = 1, .rng = 1, .dir = dir };
    struct xlat_job job = { .pk = p->pk };

    xlat_run(zone, &ctx, &job, 1);
    if (job.verdict == XLAT_TRANSLATED) {
        p->pk = job.pk;
    }
    return job;
}

static void
translate(const struct xlat_zone *zone, struct packet *p)
{
    struct xlat_job job = run_dir(zone, p, XLAT_DIR_AUTO);

    ck_assert_msg(job.verdict == XLAT_TRANSLATED, "%s",
                  xlat_drop_name(job.drop));
}

static void
check_dropped(const struct xlat_zone *zone, struct packet *p,
              enum xlat_dir dir, enum xlat_drop drop)
{
    struct xlat_job job = run_dir(zone, p, dir);

    ck_assert_int_eq(job.verdict, XLAT_DROPPED);
    ck_assert_str_eq(xlat_drop_name(job.drop), xlat_drop_name(drop));
}

/* Checks the destination of the IPv6 packet at 'ip'. */
static void
check_dst(const uint8_t *ip, const char *text)
{
    uint8_t dst[16];

    ck_assert_int_eq(inet_pton(AF_INET6, text, dst), 1);
    ck_assert_mem_eq(ip + DST, dst, 16);
}

/* Keeps a copy of 'p' in 'original'. */
static void
keep(const struct packet *p)
{
    original = *p;
    original.pk.data = original.buf + (p->pk.data - p->buf);
}

static void
build(struct packet *p, const char *dst, uint8_t proto, uint32_t l4_bytes)
{
    packet_build(p, &(struct packet_spec) {
        .src = PEER, .dst = dst, .proto = proto, .l4 = l4,
        .l4_bytes = l4_bytes,
    });
}

static uint32_t
transport(uint8_t proto, uint32_t payload)
{
    switch (proto) {
    case IPPROTO_TCP:
        return packet_tcp(l4, 1234, 80, payload);
    case IPPROTO_UDP:
        return packet_udp(l4, 1234, 53, payload);
    case IPPROTO_ICMPV6:
        return packet_icmp(l4, 128, 0, 0x12340001, NULL, payload);
    default:
        return payload;
    }
}

static const uint8_t protos[] = { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMPV6 };

/* The addresses of the original patch set for Linux. */
START_TEST(golden)
{
    struct xlat_zone *zone = zone_make(ZONE "ila=5555:0:2:0,2001:0:0:2 "
                                       "ila=5555:0:1:0,2001:0:0:1", NULL);
    uint8_t proto = protos[_i];

    build(&packet, "3333:0:0:1:5555:0:2:0", proto, transport(proto, 33));
    translate(zone, &packet);
    check_dst(packet.pk.data, "2001:0:0:2:5555:0:2:0");
    packet_check(&packet.pk);

    build(&packet, "2001:0:0:1:5555:0:1:0", proto, transport(proto, 33));
    translate(zone, &packet);
    check_dst(packet.pk.data, "3333:0:0:1:5555:0:1:0");
    packet_check(&packet.pk);
    ck_assert_int_eq(packet.pk.data[7], 64);
    xlat_zone_destroy(zone);
}
END_TEST

START_TEST(c_bit)
{
    struct xlat_zone *zone = zone_make(
        ZONE "ila=5555:0:2:0,2001:0:0:2,neutral-map "
        "ila=4555:0:2:1,2001:0:0:2,neutral-map", NULL);

    /* Set before: dropped. */
    build(&packet, "3333:0:0:1:5555:0:2:0", IPPROTO_TCP,
          transport(IPPROTO_TCP, 10));
    check_dropped(zone, &packet, XLAT_DIR_AUTO, XLAT_DROP_ILA_C_BIT);

    /* Clear on the way back: nothing to be restored. */
    build(&packet, "2001:0:0:2:4555:0:2:1", IPPROTO_TCP,
          transport(IPPROTO_TCP, 10));
    keep(&packet);
    translate(zone, &packet);
    check_dst(packet.pk.data, "3333:0:0:1:4555:0:2:1");
    ck_assert_mem_eq(packet.pk.data + 40, original.pk.data + 40, 30);

    /* Set, but by nobody who knows this mapping. */
    build(&packet, "2001:0:0:2:5555:0:2:77", IPPROTO_TCP,
          transport(IPPROTO_TCP, 10));
    check_dropped(zone, &packet, XLAT_DIR_AUTO, XLAT_DROP_NO_MAPPING);
    xlat_zone_destroy(zone);
}
END_TEST

/* neutral-map by hand: 3333:0:0:1 sums up to 0x3334, 2001:0:0:2 to 0x2003, so
 * that 0x1331 less 0x1000 for the C bit go into the lower 16 bits. */
START_TEST(neutral_by_hand)
{
    struct xlat_zone *zone = zone_make(
        ZONE "ila=4555:0:2:0,2001:0:0:2,neutral-map "
        "ila=4555:0:3:0,2001:0:0:2,neutral-map-auto", NULL);

    build(&packet, "3333:0:0:1:4555:0:2:0", IPPROTO_TCP,
          transport(IPPROTO_TCP, 10));
    translate(zone, &packet);
    check_dst(packet.pk.data, "2001:0:0:2:5555:0:2:331");
    translate(zone, &packet);
    check_dst(packet.pk.data, "3333:0:0:1:4555:0:2:0");

    build(&packet, "3333:0:0:1:4555:0:3:0", IPPROTO_TCP,
          transport(IPPROTO_TCP, 10));
    translate(zone, &packet);
    check_dst(packet.pk.data, "2001:0:0:2:4555:0:3:1331");
    translate(zone, &packet);
    check_dst(packet.pk.data, "3333:0:0:1:4555:0:3:0");
    xlat_zone_destroy(zone);
}
END_TEST

static const char *const modes[] = {
    "adj-transport", "neutral-map", "neutral-map-auto", "no-action"
};

#define N_RANDOM 300

/* A zone of random mappings, 4 SIR prefixes, all modes, and lower halves that
 * are hard. */
static struct xlat_zone *
random_zone(struct rng *rng, struct xlat_conf **confp)
{
    char *error;
    struct xlat_conf *conf = zone_conf(
        "kind=ila pool6=3333:0:0:1::/64 pool6=3333:0:0:2::/64 "
        "pool6=fd00:ffff:ffff:ffff::/64 pool6=2001:db8::/64", &error);
    struct xlat_zone *zone;

    for (int i = 0; i < N_RANDOM; i++) {
        static const uint16_t low[] = { 0, 1, 0xfffe, 0xffff };
        char identifier[XLAT_ID64_TEXT_SIZE], locator[XLAT_ID64_TEXT_SIZE];
        uint64_t id = rng_next(rng);

        id = (id & ~UINT64_C(0xffff)) | low[rng_below(rng, 4)];
        xlat_id64_format(id, identifier);
        /* Of 2000::/3. */
        xlat_id64_format(rng_next(rng) >> 3 | UINT64_C(1) << 61, locator);
        error = xlat_conf_add_ila(conf, identifier, locator,
                                  modes[rng_below(rng, 4)], NULL);
        ck_assert_msg(!error, "%s", error);
    }
    ck_assert_int_eq(xlat_zone_create(conf, NULL, &zone, &error), 0);
    *confp = conf;
    return zone;
}

/* There and back again: checksums by full computation, then every bit but for
 * the two forms of a zero checksum. */
START_TEST(random_round_trips)
{
    uint64_t seed = 800 + _i;
    struct xlat_conf *conf;
    struct rng rng;

    rng_init(&rng, seed);
    struct xlat_zone *zone = random_zone(&rng, &conf);
    for (int i = 0; i < N_RANDOM; i++) {
        const struct ila_mapping *m = &conf->mappings[i];
        bool as_it_is = m->csum_mode == ILA_CSUM_ADJ_TRANSPORT
                        || m->csum_mode == ILA_CSUM_NO_ACTION;
        uint64_t sir = conf->pool6[as_it_is ? 0 : rng_below(&rng, 4)].ip.hi;
        uint8_t proto = protos[rng_below(&rng, 3)];
        char text[INET6_ADDRSTRLEN];
        struct xlat_ip6 dst = { sir, m->identifier };
        uint8_t bytes[16];

        xlat_ip6_store(dst, bytes);
        inet_ntop(AF_INET6, bytes, text, sizeof text);
        build(&packet, text, proto, transport(proto, rng_below(&rng, 100)));
        keep(&packet);

        struct xlat_job job = run_dir(zone, &packet, XLAT_DIR_AUTO);
        if (m->csum_mode == ILA_CSUM_NEUTRAL_MAP
            && m->identifier & ILA_C_BIT) {
            ck_assert_int_eq(job.drop, XLAT_DROP_ILA_C_BIT);
            continue;
        }
        ck_assert_int_eq(job.verdict, XLAT_TRANSLATED);
        struct xlat_ip6 wire = xlat_ip6_load(packet.pk.data + DST);
        ck_assert_uint_eq(wire.hi, m->locator);
        ck_assert_uint_eq(wire.lo >> 61, m->identifier >> 61);
        if (m->csum_mode != ILA_CSUM_NO_ACTION) {
            packet_check(&packet.pk);
        }
        if (m->csum_mode == ILA_CSUM_NEUTRAL_MAP) {
            ck_assert(wire.lo & ILA_C_BIT);
        } else {
            ck_assert_uint_eq(wire.lo >> 16, m->identifier >> 16);
        }

        translate(zone, &packet);
        struct xlat_ip6 back = xlat_ip6_load(packet.pk.data + DST);
        ck_assert_msg(back.hi == dst.hi && back.lo == dst.lo,
                      "seed %llu, mapping %d", (unsigned long long) seed, i);
        packet_check(&packet.pk);
    }
    xlat_zone_destroy(zone);
    xlat_conf_destroy(conf);
}
END_TEST

/* Short way and long way, which a second SIR prefix enforces. */
START_TEST(short_way)
{
    const char *conf = ZONE "ila=5555:0:2:0,2001:0:0:2 "
                       "ila=5555:0:1:0,2001:0:0:1,no-action ";
    static const char *const dsts[] = {
        "3333:0:0:1:5555:0:2:0", "3333:0:0:1:5555:0:1:0",
        "2001:0:0:2:5555:0:2:0", "2001:0:0:1:5555:0:1:0",
        "2001:0:0:1:5555:0:2:0", "3333:0:0:1:5555:0:3:0",
    };
    static const uint8_t all_protos[] = {
        IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMPV6, IPPROTO_SCTP
    };
    char both[256];
    struct rng rng;

    snprintf(both, sizeof both, "%s pool6=4444:0:0:1::/64", conf);
    struct xlat_zone *plain = zone_make(conf, NULL);
    struct xlat_zone *other = zone_make(both, NULL);
    ck_assert(plain->ila->plain && !other->ila->plain);
    rng_init(&rng, _i);
    for (int n = 0; n < 3000; n++) {
        uint8_t proto = all_protos[rng_below(&rng, 4)];
        uint32_t bytes = transport(proto, rng_below(&rng, 30));

        if (proto == IPPROTO_ICMPV6) {
            l4[0] = rng_next(&rng);
        }
        build(&packet, dsts[rng_below(&rng, 6)], proto, bytes);
        switch (rng_below(&rng, 8)) {
        case 0:
            pk_put16(packet.pk.data + 46, 0);
            break;
        case 1:
            packet.pk.len += rng_below(&rng, 20);
            break;
        case 2:
            packet.pk.data[5] -= rng_below(&rng, 9);
            break;
        case 3:
            packet.pk.len -= rng_below(&rng, 20);
            break;
        case 4:
            packet.pk.flags = PK_L4_PARTIAL;
            break;
        }
        keep(&packet);
        struct xlat_job a = run_dir(plain, &packet, XLAT_DIR_AUTO);
        struct xlat_job b = run_dir(other, &original, XLAT_DIR_AUTO);
        ck_assert_int_eq(a.verdict, b.verdict);
        if (a.verdict == XLAT_DROPPED) {
            ck_assert_int_eq(a.drop, b.drop);
        } else {
            ck_assert_mem_eq(packet.pk.data, original.pk.data,
                             packet.pk.len);
        }
    }

    for (uint64_t id = 1; id <= 2; id++) {
        struct xlat_mapping_info a, b;

        xlat_zone_find_mapping(plain, (UINT64_C(0x5555) << 48) + (id << 16),
                               &a);
        xlat_zone_find_mapping(other, (UINT64_C(0x5555) << 48) + (id << 16),
                               &b);
        ck_assert_uint_gt(a.packets[0], 100);
        ck_assert_mem_eq(a.packets, b.packets, sizeof a.packets);
        ck_assert_mem_eq(a.bytes, b.bytes, sizeof a.bytes);
    }
    xlat_zone_destroy(plain);
    xlat_zone_destroy(other);
}
END_TEST

/* In batches, of a zone that is large enough for prefetching. */
START_TEST(large_batches)
{
    enum { N = 8192 };
    char *error;
    struct xlat_conf *conf = zone_conf(ZONE, &error);
    struct xlat_zone *zone;
    static uint8_t data[XLAT_BATCH][60];
    struct rng rng;

    rng_init(&rng, 1);
    for (uint64_t i = 0; i < N; i++) {
        char identifier[XLAT_ID64_TEXT_SIZE];

        xlat_id64_format(i << 24, identifier);
        ck_assert_ptr_null(xlat_conf_add_ila(conf, identifier, "2001:0:0:5",
                                             modes[i % 4], NULL));
    }
    ck_assert_int_eq(xlat_zone_create(conf, NULL, &zone, &error), 0);
    ck_assert(ila_map_is_large(zone->ila));
    for (int round = 0; round < 200; round++) {
        struct xlat_job jobs[XLAT_BATCH] = { 0 };
        struct xlat_ctx ctx = { .rng = 1 };
        uint64_t ids[XLAT_BATCH];

        build(&packet, "3333:0:0:1::", IPPROTO_TCP,
              transport(IPPROTO_TCP, 0));
        for (int i = 0; i < XLAT_BATCH; i++) {
            ids[i] = (uint64_t) rng_below(&rng, N * 2) << 24;
            memcpy(data[i], packet.pk.data, 60);
            xlat_ip6_store((struct xlat_ip6) { UINT64_C(0x3333000000000001),
                                               ids[i] }, data[i] + DST);
            packet_fill_csum(data[i], 60, 40, IPPROTO_TCP);
            jobs[i].pk = (struct pk) { .data = data[i], .len = 60 };
        }
        for (int way = 0; way < 2; way++) {
            xlat_run(zone, &ctx, jobs, XLAT_BATCH);
            for (int i = 0; i < XLAT_BATCH; i++) {
                bool known = ids[i] >> 24 < N;

                ck_assert_int_eq(jobs[i].verdict == XLAT_TRANSLATED, known);
            }
        }
        for (int i = 0; i < XLAT_BATCH; i++) {
            ck_assert_uint_eq(xlat_ip6_load(data[i] + DST).lo, ids[i]);
            packet_check(&jobs[i].pk);
        }
    }
    xlat_zone_destroy(zone);
    xlat_conf_destroy(conf);
}
END_TEST

/* Every checksum of UDP, by every way to compute it. */
START_TEST(udp_checksums)
{
    uint16_t delta = ila_csum_delta(UINT64_C(0x3333000000000001),
                                    UINT64_C(0x2001000000000002));

    for (uint32_t field = 0; field < 0x10000; field++) {
        uint8_t udp[8] = { 0 };
        uint32_t sum = (uint16_t) ~field + 0x2003u + (uint16_t) ~0x3334;

        pk_put16(udp + 6, htons(field));
        ila_csum_adjust(udp, 8, IPPROTO_UDP, delta, false);
        sum = (sum & 0xffff) + (sum >> 16);
        sum = (sum & 0xffff) + (sum >> 16);
        uint16_t expected = ~sum;
        expected = !field ? 0 : expected ? expected : 0xffff;
        uint16_t got = ntohs(pk_get16(udp + 6));
        ck_assert_msg(got == expected
                      || (got % 0xffff == 0 && expected % 0xffff == 0
                          && got && field),
                      "%04x: %04x for %04x", field, got, expected);
    }

    uint8_t udp[8] = { 0 };
    pk_put16(udp + 6, htons(0x1234));
    ila_csum_adjust(udp, 7, IPPROTO_UDP, delta, false);
    ck_assert_uint_eq(ntohs(pk_get16(udp + 6)), 0x1234);
    ila_csum_adjust(udp, 8, IPPROTO_ESP, delta, false);
    ck_assert_uint_eq(ntohs(pk_get16(udp + 6)), 0x1234);
}
END_TEST

static struct xlat_zone *
plain_zone(void)
{
    return zone_make(ZONE "ila=5555:0:2:0,2001:0:0:2 "
                     "ila=5555:0:1:0,2001:0:0:1", NULL);
}

START_TEST(udp_zero)
{
    struct xlat_zone *zone = plain_zone();

    build(&packet, "3333:0:0:1:5555:0:2:0", IPPROTO_UDP,
          transport(IPPROTO_UDP, 4));
    pk_put16(packet.pk.data + 46, 0);
    translate(zone, &packet);
    ck_assert_uint_eq(pk_get16(packet.pk.data + 46), 0);
    xlat_zone_destroy(zone);
}
END_TEST

/* The checksum field has the pseudo-header's sum, before and after. */
START_TEST(partial)
{
    struct xlat_zone *zone = plain_zone();
    uint8_t proto = protos[_i];
    int ofs = 40 + (proto == IPPROTO_TCP ? 16 : proto == IPPROTO_UDP ? 6 : 2);
    uint32_t n = transport(proto, 50);

    build(&packet, "3333:0:0:1:5555:0:2:0", proto, n);
    pk_put16(packet.pk.data + ofs,
             htons(packet_sum(packet.pk.data + 8, 32, n + proto)));
    packet.pk.flags = PK_L4_PARTIAL;
    translate(zone, &packet);
    ck_assert_uint_eq(ntohs(pk_get16(packet.pk.data + ofs)),
                      packet_sum(packet.pk.data + 8, 32, n + proto));
    xlat_zone_destroy(zone);
}
END_TEST

/* Only the first fragment has the checksum. */
START_TEST(fragments)
{
    struct xlat_zone *zone = plain_zone();
    uint32_t n = transport(IPPROTO_UDP, 200);
    uint8_t whole[300];

    build(&packet, "3333:0:0:1:5555:0:2:0", IPPROTO_UDP, n);
    memcpy(l4, packet.pk.data + 40, n);
    translate(zone, &packet);
    memcpy(whole, packet.pk.data + 40, n);
    for (int i = 0; i < 2; i++) {
        packet_build(&packet, &(struct packet_spec) {
            .src = PEER, .dst = "3333:0:0:1:5555:0:2:0",
            .proto = IPPROTO_UDP, .frag_ofs = i * 104, .more = !i, .id = 9,
            .l4 = l4 + i * 104, .l4_bytes = 104,
        });
        translate(zone, &packet);
        check_dst(packet.pk.data, "2001:0:0:2:5555:0:2:0");
        ck_assert_mem_eq(packet.pk.data + 48, whole + i * 104, 104);
    }
    xlat_zone_destroy(zone);
}
END_TEST

/* Nothing but the address changes. */
static void
check_address_only(const struct packet_spec *spec)
{
    struct xlat_zone *zone = plain_zone();

    packet_build(&packet, spec);
    packet_build(&original, spec);
    translate(zone, &packet);
    check_dst(packet.pk.data, "2001:0:0:2:5555:0:2:0");
    ck_assert_mem_eq(packet.pk.data, original.pk.data, DST);
    ck_assert_mem_eq(packet.pk.data + 40, original.pk.data + 40,
                     packet.pk.len - 40);
    xlat_zone_destroy(zone);
}

START_TEST(opaque)
{
    struct packet_spec spec = {
        .src = PEER, .dst = "3333:0:0:1:5555:0:2:0", .proto = IPPROTO_TCP,
        .l4 = l4, .l4_bytes = transport(IPPROTO_TCP, 20),
    };
    static const uint8_t routing[24] = { [1] = 2, [2] = 4, [3] = 1 };
    static const uint8_t ah[24] = { [1] = 4 };

    spec.ext = routing;
    spec.ext_bytes = sizeof routing;
    spec.ext_type = IPPROTO_ROUTING;
    check_address_only(&spec);
    spec.ext = ah;
    spec.ext_type = IPPROTO_AH;
    check_address_only(&spec);
    spec.ext_bytes = 0;
    spec.proto = IPPROTO_ESP;
    check_address_only(&spec);
    spec.proto = IPPROTO_SCTP;
    check_address_only(&spec);
    spec.proto = IPPROTO_NONE;
    spec.l4_bytes = 0;
    check_address_only(&spec);
    spec.proto = IPPROTO_TCP;        /* Cut short in front of its checksum. */
    spec.frag_hdr = spec.more = true;
    spec.l4_bytes = 16;
    check_address_only(&spec);
}
END_TEST

/* Behind extension headers. */
START_TEST(extension_headers)
{
    struct xlat_zone *zone = plain_zone();
    static const uint8_t ext[16] = { IPPROTO_DSTOPTS, [2] = 1, 4,
                                     [10] = 1, 4 };
    uint32_t n = transport(IPPROTO_TCP, 20);

    build(&original, "3333:0:0:1:5555:0:2:0", IPPROTO_TCP, n);
    translate(zone, &original);
    packet_build(&packet, &(struct packet_spec) {
        .src = PEER, .dst = "3333:0:0:1:5555:0:2:0", .proto = IPPROTO_TCP,
        .l4 = l4, .l4_bytes = n, .ext = ext, .ext_bytes = sizeof ext,
        .ext_type = IPPROTO_HOPOPTS, .ext_last = 8,
    });
    translate(zone, &packet);
    ck_assert_mem_eq(packet.pk.data + 56, original.pk.data + 40, n);
    xlat_zone_destroy(zone);
}
END_TEST

/* Makes 'packet' an error of 'type' to 'dst' about the first 'n' bytes of
 * 'original'. */
static void
build_error(const char *dst, uint8_t type, uint32_t n)
{
    uint32_t bytes = packet_icmp(l4, type, 0, 0, original.pk.data, n);

    build(&packet, dst, IPPROTO_ICMPV6, bytes);
}

/* A router on the way of a translated packet quotes it: the sender must see
 * the packet that it sent, whether it has an identifier itself or not. */
static void
check_error(const struct xlat_zone *zone, const char *sent_to, uint8_t proto,
            uint32_t payload, uint32_t quoted)
{
    static struct packet sent;
    const char *const sources[] = {
        PEER, "2001:0:0:1:5555:0:1:0", "3333:0:0:1:5555:0:1:0"
    };
    const char *const after[] = {
        PEER, "3333:0:0:1:5555:0:1:0", "2001:0:0:1:5555:0:1:0"
    };

    for (int i = 0; i < 3; i++) {
        build(&sent, sent_to, proto, transport(proto, payload));
        keep(&sent);
        translate(zone, &original);

        uint32_t n = quoted < original.pk.len ? quoted : original.pk.len;
        build_error(sources[i], 1 + i, n);
        translate(zone, &packet);
        packet_check(&packet.pk);
        check_dst(packet.pk.data, after[i]);
        /* Of half a checksum nobody knows the other half. */
        ck_assert_mem_eq(packet.pk.data + 48, sent.pk.data, n & ~1u);
    }
}

START_TEST(errors)
{
    struct xlat_zone *zone = zone_make(
        ZONE "ila=5555:0:2:0,2001:0:0:2 ila=5555:0:1:0,2001:0:0:1 "
        "ila=4555:0:3:0,2001:0:0:3,neutral-map "
        "ila=4555:0:4:0,2001:0:0:4,neutral-map-auto "
        "ila=4555:0:5:0,2001:0:0:5,no-action", NULL);
    static const char *const sent_to[] = {
        "3333:0:0:1:5555:0:2:0", "3333:0:0:1:4555:0:3:0",
        "3333:0:0:1:4555:0:4:0", "3333:0:0:1:4555:0:5:0",
    };
    static const uint32_t quoted[] = { 2000, 101, 60, 58, 57, 56, 48, 47, 43,
                                       40 };

    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 10; j++) {
            check_error(zone, sent_to[i], protos[_i], 100, quoted[j]);
        }
    }
    xlat_zone_destroy(zone);
}
END_TEST

/* Quotes that are none of our business. */
START_TEST(other_errors)
{
    struct xlat_zone *zone = plain_zone();

    /* Of a packet that was never translated. */
    build(&original, "2001:db8::99", IPPROTO_TCP, transport(IPPROTO_TCP, 9));
    build_error("2001:0:0:1:5555:0:1:0", 1, original.pk.len);
    translate(zone, &packet);
    packet_check(&packet.pk);
    ck_assert_mem_eq(packet.pk.data + 48, original.pk.data, original.pk.len);
    build_error(PEER, 1, original.pk.len);
    check_dropped(zone, &packet, XLAT_DIR_AUTO, XLAT_DROP_NO_MAPPING);

    /* Of none, or of less than a header, or of something else. */
    build_error("2001:0:0:1:5555:0:1:0", 1, 0);
    translate(zone, &packet);
    packet_check(&packet.pk);
    build_error("2001:0:0:1:5555:0:1:0", 1, 39);
    translate(zone, &packet);
    packet_check(&packet.pk);
    original.pk.data[0] = 0x45;
    build_error("2001:0:0:1:5555:0:1:0", 1, 60);
    translate(zone, &packet);
    packet_check(&packet.pk);

    /* An echo request is no error, whatever it carries. */
    build(&original, "2001:0:0:2:5555:0:2:0", IPPROTO_TCP,
          transport(IPPROTO_TCP, 9));
    build_error("2001:0:0:1:5555:0:1:0", 128, original.pk.len);
    translate(zone, &packet);
    packet_check(&packet.pk);
    ck_assert_mem_eq(packet.pk.data + 48, original.pk.data, original.pk.len);
    xlat_zone_destroy(zone);
}
END_TEST

/* An error with a partial checksum: the sum of the pseudo-header alone. */
START_TEST(partial_error)
{
    struct xlat_zone *zone = plain_zone();

    build(&original, "2001:0:0:2:5555:0:2:0", IPPROTO_TCP,
          transport(IPPROTO_TCP, 9));
    build_error("2001:0:0:1:5555:0:1:0", 1, original.pk.len);
    uint32_t n = packet.pk.len - 40;
    pk_put16(packet.pk.data + 42,
             htons(packet_sum(packet.pk.data + 8, 32, n + IPPROTO_ICMPV6)));
    packet.pk.flags = PK_L4_PARTIAL;
    translate(zone, &packet);
    ck_assert_uint_eq(ntohs(pk_get16(packet.pk.data + 42)),
                      packet_sum(packet.pk.data + 8, 32, n + IPPROTO_ICMPV6));
    check_dst(packet.pk.data + 48, "3333:0:0:1:5555:0:2:0");
    xlat_zone_destroy(zone);
}
END_TEST

START_TEST(directions)
{
    struct xlat_zone *zone = plain_zone();
    uint32_t n = transport(IPPROTO_TCP, 9);

    build(&packet, "3333:0:0:1:5555:0:2:0", IPPROTO_TCP, n);
    check_dropped(zone, &packet, XLAT_DIR_TO_IDENTIFIER,
                  XLAT_DROP_NO_MAPPING);
    ck_assert_int_eq(run_dir(zone, &packet, XLAT_DIR_TO_LOCATOR).verdict,
                     XLAT_TRANSLATED);
    check_dropped(zone, &packet, XLAT_DIR_TO_LOCATOR, XLAT_DROP_NO_MAPPING);
    ck_assert_int_eq(run_dir(zone, &packet, XLAT_DIR_TO_IDENTIFIER).verdict,
                     XLAT_TRANSLATED);

    /* An identifier that is known, at another locator; and an unknown one. */
    build(&packet, "2001:0:0:1:5555:0:2:0", IPPROTO_TCP, n);
    check_dropped(zone, &packet, XLAT_DIR_AUTO, XLAT_DROP_NO_MAPPING);
    build(&packet, "3333:0:0:1:5555:0:9:0", IPPROTO_TCP, n);
    check_dropped(zone, &packet, XLAT_DIR_AUTO, XLAT_DROP_NO_MAPPING);
    xlat_zone_destroy(zone);
}
END_TEST

START_TEST(misses)
{
    struct xlat_zone *zone = plain_zone();
    struct xlat_zone *passing = zone_make(ZONE "miss=pass", NULL);
    static const struct {
        const char *hex;
        enum xlat_drop drop;
        enum xlat_verdict passing;
    } cases[] = {
        { "450000140000000040000000c0000201c6336407", XLAT_DROP_NO_MAPPING,
          XLAT_PASSED },
        { "750000140000000040000000c0000201c6336407", XLAT_DROP_NOT_IP,
          XLAT_PASSED },
        { "6000000000003b40", XLAT_DROP_TRUNCATED, XLAT_DROPPED },
    };

    for (int i = 0; i < 3; i++) {
        packet_hex(&packet, cases[i].hex);
        if (i != 0) {
            check_dropped(zone, &packet, XLAT_DIR_AUTO, cases[i].drop);
        }
        ck_assert_int_eq(run_dir(passing, &packet, XLAT_DIR_AUTO).verdict,
                         cases[i].passing);
    }
    build(&packet, "2001:db8::2", IPPROTO_TCP, transport(IPPROTO_TCP, 9));
    keep(&packet);
    ck_assert_int_eq(run_dir(passing, &packet, XLAT_DIR_AUTO).verdict,
                     XLAT_PASSED);
    ck_assert_mem_eq(packet.buf, original.buf, sizeof packet.buf);
    packet.pk.len--;
    check_dropped(zone, &packet, XLAT_DIR_AUTO, XLAT_DROP_TRUNCATED);
    packet.pk.len = 0;
    ck_assert_int_eq(run_dir(zone, &packet, XLAT_DIR_AUTO).verdict,
                     XLAT_DROPPED);
    xlat_zone_destroy(passing);
    xlat_zone_destroy(zone);
}
END_TEST

START_TEST(counters)
{
    struct xlat_zone *zone = plain_zone();
    const uint64_t id = UINT64_C(0x5555000000020000);
    struct xlat_ctx dry = { .rng = 1, .dry_run = true };
    struct xlat_mapping_info info;

    build(&packet, "3333:0:0:1:5555:0:2:0", IPPROTO_TCP,
          transport(IPPROTO_TCP, 40));
    packet.pk.len += 7;              /* Padding is not counted. */
    translate(zone, &packet);
    translate(zone, &packet);
    translate(zone, &packet);
    struct xlat_job job = { .pk = packet.pk };
    xlat_run(zone, &dry, &job, 1);
    ck_assert_int_eq(job.verdict, XLAT_TRANSLATED);

    ck_assert(xlat_zone_find_mapping(zone, id, &info));
    ck_assert_uint_eq(info.packets[0], 2);
    ck_assert_uint_eq(info.bytes[0], 200);
    ck_assert_uint_eq(info.packets[1], 1);
    ck_assert_uint_eq(info.bytes[1], 100);
    xlat_zone_destroy(zone);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("ila");
    TCase *tcase = tcase_create("ila");
    SRunner *runner = srunner_create(suite);

    tcase_add_loop_test(tcase, golden, 0, 3);
    tcase_add_test(tcase, c_bit);
    tcase_add_test(tcase, neutral_by_hand);
    tcase_add_loop_test(tcase, random_round_trips, 0, 20);
    tcase_add_loop_test(tcase, short_way, 0, 3);
    tcase_add_test(tcase, large_batches);
    tcase_add_test(tcase, udp_checksums);
    tcase_add_test(tcase, udp_zero);
    tcase_add_loop_test(tcase, partial, 0, 3);
    tcase_add_test(tcase, fragments);
    tcase_add_test(tcase, opaque);
    tcase_add_test(tcase, extension_headers);
    tcase_add_loop_test(tcase, errors, 0, 3);
    tcase_add_test(tcase, other_errors);
    tcase_add_test(tcase, partial_error);
    tcase_add_test(tcase, directions);
    tcase_add_test(tcase, misses);
    tcase_add_test(tcase, counters);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
