/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include <config.h>

#include "ct-bench.h"

#include "conntrack.h"
#include "dp-packet.h"
#include "nat64-bench.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "packets.h"
#include "pairs.h"
#include "timeval.h"
#include "unaligned.h"
#include "util.h"

#define PAYLOAD 26               /* UDP header and data, bytes. */
#define SERVER_IP "9.1.2.3"
#define SERVER_IP6 "64:ff9b::9.1.2.3"
#define SERVER_PORT 53
#define FIRST_OUTSIDE 0xc0000200 /* 192.0.2.0, and 31 more. */
#define N_OUTSIDE 32
#define FRAME 192
#define CHECKED_BATCHES 8192

struct outside {
    ovs_be32 ip;
    ovs_be16 port;
};

struct ct_bench {
    struct conntrack *ct;
    bool nat;
    uint32_t n;                  /* Connections. */
    struct outside *outsides;    /* By connection, with 'nat'. */
    long long now;
    uint64_t random;
    uint32_t numbers[XLAT_BATCH];
    struct dp_packet *packets[XLAT_BATCH];
    uint8_t templates[2][FRAME]; /* From inside, from outside. */
    size_t frame_bytes;
};

static void make_templates(struct ct_bench *);
static void make_packet(struct ct_bench *, size_t i, bool in);
static double run(struct ct_bench *, size_t n, bool commit);
static void check_batch(struct ct_bench *, size_t n, bool in);

struct ct_bench *
ct_bench_create(bool nat, uint32_t max)
{
    struct ct_bench *b = xzalloc(sizeof *b);

    /* It would tell that this thread never sleeps. */
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    b->ct = conntrack_init();
    conntrack_set_maxconns(b->ct, max);
    conntrack_set_sweep_interval(b->ct, INT32_MAX);
    b->nat = nat;
    b->outsides = nat ? xcalloc(max, sizeof *b->outsides) : NULL;
    /* Beyond what the sweeper, who looks at the clock, will see. */
    b->now = time_msec() + 1000000000;
    b->random = 1;
    make_templates(b);
    for (size_t i = 0; i < XLAT_BATCH; i++) {
        b->packets[i] = dp_packet_new(FRAME);
        dp_packet_put_zeros(b->packets[i], b->frame_bytes);
    }
    return b;
}

void
ct_bench_destroy(struct ct_bench *b)
{
    conntrack_destroy(b->ct);
    ovsrcu_barrier();
    for (size_t i = 0; i < XLAT_BATCH; i++) {
        dp_packet_delete(b->packets[i]);
    }
    free(b->outsides);
    free(b);
}

/* ------------------------------------------------------------------------
 * Packets.
 * ------------------------------------------------------------------------ */

static void
make_template6(uint8_t *frame, bool in)
{
    struct ovs_16aligned_ip6_hdr *ip;
    struct in6_addr server;
    struct eth_header *eth;

    eth = ALIGNED_CAST(struct eth_header *, frame);
    eth->eth_type = htons(ETH_TYPE_IPV6);
    ip = ALIGNED_CAST(struct ovs_16aligned_ip6_hdr *, frame + ETH_HEADER_LEN);
    put_16aligned_be32(&ip->ip6_flow, htonl(6u << 28));
    ip->ip6_plen = htons(PAYLOAD);
    ip->ip6_nxt = IPPROTO_UDP;
    ip->ip6_hlim = 64;
    ipv6_parse(SERVER_IP6, &server);
    memcpy(in ? &ip->ip6_src : &ip->ip6_dst, &server, sizeof server);
}

static void
make_template4(uint8_t *frame, bool in)
{
    struct ip_header *ip;
    struct eth_header *eth;
    ovs_be32 server;

    eth = ALIGNED_CAST(struct eth_header *, frame);
    eth->eth_type = htons(ETH_TYPE_IP);
    ip = ALIGNED_CAST(struct ip_header *, frame + ETH_HEADER_LEN);
    ip->ip_ihl_ver = IP_IHL_VER(5, 4);
    ip->ip_tot_len = htons(IP_HEADER_LEN + PAYLOAD);
    ip->ip_ttl = 64;
    ip->ip_proto = IPPROTO_UDP;
    ip_parse(SERVER_IP, &server);
    put_16aligned_be32(in ? &ip->ip_src : &ip->ip_dst, server);
}

static size_t
ip_bytes(const struct ct_bench *b)
{
    return b->nat ? IP_HEADER_LEN : IPV6_HEADER_LEN;
}

static void
make_templates(struct ct_bench *b)
{
    b->frame_bytes = ETH_HEADER_LEN + ip_bytes(b) + PAYLOAD;
    for (int in = 0; in < 2; in++) {
        uint8_t *frame = b->templates[in];
        struct udp_header *udp;

        (b->nat ? make_template4 : make_template6)(frame, in);
        udp = ALIGNED_CAST(struct udp_header *,
                           frame + ETH_HEADER_LEN + ip_bytes(b));
        udp->udp_src = udp->udp_dst = htons(SERVER_PORT);
        udp->udp_len = htons(PAYLOAD);
        udp->udp_csum = htons(0x1234);
    }
}

static void
put_inside(const struct ct_bench *b, uint8_t *ip, bool in, uint32_t number)
{
    if (b->nat) {
        nat64_bench_put_inside4(ip + (in ? 16 : 12), number);
    } else {
        nat64_bench_put_inside6(ip + (in ? 24 : 8), number);
    }
}

/* Makes packet 'i', of the connection that 'numbers' says, as one that has
 * just been received and parsed. */
static void
make_packet(struct ct_bench *b, size_t i, bool in)
{
    uint32_t number = b->numbers[i];
    struct dp_packet *p = b->packets[i];
    uint8_t *frame = dp_packet_data(p);
    uint8_t *ip = frame + ETH_HEADER_LEN;
    uint8_t *l4 = ip + ip_bytes(b);
    ovs_be16 port = nat64_bench_inside_port(number);

    memcpy(frame, b->templates[in], FRAME);
    if (in && b->nat) {
        memcpy(ip + 16, &b->outsides[number].ip, 4);
        port = b->outsides[number].port;
    } else {
        put_inside(b, ip, in, number);
    }
    memcpy(l4 + (in ? 2 : 0), &port, 2);

    pkt_metadata_init(&p->md, u32_to_odp(1));
    dp_packet_reset_offsets(p);
    p->l3_ofs = ETH_HEADER_LEN;
    p->l4_ofs = ETH_HEADER_LEN + ip_bytes(b);
    dp_packet_ip_checksum_set_good(p);
    dp_packet_l4_checksum_set_good(p);
}

/* ------------------------------------------------------------------------
 * Running them.
 * ------------------------------------------------------------------------ */

/* Has conntrack_execute() handle the first 'n' packets, and returns the
 * nanoseconds. */
static double
run(struct ct_bench *b, size_t n, bool commit)
{
    /* What dpif-netdev makes of ct(nat), and of ct(nat(src=...)). */
    struct nat_action_info_t nat = { .nat_action = 0 };
    struct dp_packet_batch batch;
    double start, ns;

    if (commit) {
        nat.nat_action = NAT_ACTION_SRC | NAT_ACTION_SRC_PORT;
        nat.min_addr.ipv4 = htonl(FIRST_OUTSIDE);
        nat.max_addr.ipv4 = htonl(FIRST_OUTSIDE + N_OUTSIDE - 1);
        nat.min_port = 1024;
        nat.max_port = 65535;
    }
    dp_packet_batch_init(&batch);
    for (size_t i = 0; i < n; i++) {
        dp_packet_batch_add(&batch, b->packets[i]);
    }
    start = pairs_now_ns();
    conntrack_execute(b->ct, &batch,
                      b->nat ? htons(ETH_TYPE_IP) : htons(ETH_TYPE_IPV6),
                      false, commit, 0, NULL, NULL, NULL,
                      b->nat ? &nat : NULL, b->now, 0);
    ns = pairs_now_ns() - start;
    ovs_assert(dp_packet_batch_size(&batch) == n);
    dp_packet_batch_destroy(&batch);
    return ns;
}

static void
note_outside(struct ct_bench *b, size_t i)
{
    const struct dp_packet *p = b->packets[i];
    const uint8_t *ip = dp_packet_l3(p);

    if (!(p->md.ct_state & CS_NEW)
        || (b->nat && !(p->md.ct_state & CS_SRC_NAT))) {
        nat64_bench_fail("ct", "no new connection");
    }
    if (b->nat) {
        struct outside *o = &b->outsides[b->numbers[i]];

        memcpy(&o->ip, ip + 12, 4);
        memcpy(&o->port, ip + 20, 2);
    }
}

double
ct_bench_make(struct ct_bench *b, uint32_t first, uint32_t n, bool answered)
{
    double ns = 0;

    for (uint32_t i = 0; i < n; ) {
        uint32_t batch = MIN(n - i, XLAT_BATCH);

        for (uint32_t j = 0; j < batch; j++) {
            b->numbers[j] = first + i + j;
            make_packet(b, j, false);
        }
        ns += run(b, batch, true);
        for (uint32_t j = 0; j < batch; j++) {
            note_outside(b, j);
        }
        if (answered) {
            check_batch(b, batch, true);
        }
        i += batch;
        ovsrcu_quiesce();
    }
    b->n = first + n;
    return ns;
}

double
ct_bench_batch(struct ct_bench *b, bool in)
{
    for (size_t i = 0; i < XLAT_BATCH; i++) {
        b->numbers[i] = nat64_bench_random(&b->random, b->n);
        make_packet(b, i, in);
    }
    return run(b, XLAT_BATCH, false);
}

double
ct_bench_run(void *b, size_t n)
{
    double ns = 0;

    for (size_t i = 0; i < n / XLAT_BATCH; i++) {
        ns += ct_bench_batch(b, i % 2);
    }
    ovsrcu_quiesce();
    return ns;
}

/* ------------------------------------------------------------------------
 * Comparison.
 * ------------------------------------------------------------------------ */

static void
check_packet(const struct ct_bench *b, size_t i, bool in)
{
    const struct dp_packet *p = b->packets[i];
    const uint8_t *ip = dp_packet_l3(p);
    ovs_be16 port = nat64_bench_inside_port(b->numbers[i]);
    uint8_t inside[4];

    if (!(p->md.ct_state & CS_ESTABLISHED)
        || in != !!(p->md.ct_state & CS_REPLY_DIR)) {
        nat64_bench_fail("ct", "not of its connection");
    }
    nat64_bench_put_inside4(inside, b->numbers[i]);
    if (b->nat
        && (in ? memcmp(ip + 16, inside, 4) || memcmp(ip + 22, &port, 2)
            : memcmp(ip + 12, &b->outsides[b->numbers[i]].ip, 4)
              || memcmp(ip + 20, &b->outsides[b->numbers[i]].port, 2))) {
        nat64_bench_fail("ct", "wrong address or port");
    }
}

/* Runs packets of the first 'n' connections of 'numbers' and looks at what
 * comes out. */
static void
check_batch(struct ct_bench *b, size_t n, bool in)
{
    for (size_t i = 0; i < n; i++) {
        make_packet(b, i, in);
    }
    run(b, n, false);
    for (size_t i = 0; i < n; i++) {
        check_packet(b, i, in);
    }
}

void
ct_bench_check(struct ct_bench *b)
{
    uint32_t n;

    conntrack_get_nconns(b->ct, &n);
    if (n != b->n) {
        nat64_bench_fail("ct", "connections are missing");
    }
    for (size_t i = 0; i < CHECKED_BATCHES; i++) {
        for (size_t j = 0; j < XLAT_BATCH; j++) {
            b->numbers[j] = nat64_bench_random(&b->random, b->n);
        }
        check_batch(b, XLAT_BATCH, true);
        check_batch(b, XLAT_BATCH, false);
    }
}
