/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Many threads in one stateful zone: four run packets of the same connections
 * through it, in both directions, while a fifth lets time pass, empties the
 * zone, and gives it new configurations.
 *
 * A connection's number is in its addresses, its ports and its payload, so
 * that no packet can be taken for one of another.  Whoever sees an outside
 * address and port in a packet claims it for its owner until the end of the
 * batch: until then, nobody else may own it.  When all threads are at rest,
 * the tables are looked through.
 *
 * This file is to be run with thread and address sanitizers, too. */

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nat64-private.h"
#include "nat64.h"
#include "packet.h"
#include "xlat-zone-private.h"
#include "zone-util.h"

#define N_THREADS 4
#define MAX_BATCH 16

/* Inside transport addresses, of all protocols in turn, and the remote
 * transport addresses that each has connections with. */
#define N_GROUPS 60
#define N_REMOTES 4
#define N_CONNS (N_GROUPS * N_REMOTES)
#define N_PREFIXES 3

#define INSIDE_PORT 20000        /* Of the first group. */
#define REMOTE_PORT 30000        /* Of the first connection. */

/* Outside transport addresses that there may be. */
#define OUTSIDE_IP 0xc0000201u   /* 192.0.2.1. */
#define N_OUTSIDE_IPS 2
#define OUTSIDE_PORT 2000
#define N_OUTSIDE_PORTS 512

#define ROUTER 0x09ff0001u       /* Sends ICMP errors. */

/* ------------------------------------------------------------------------
 * Failures.  libcheck's assertions are for its own thread.
 * ------------------------------------------------------------------------ */

static char failure[256];
static bool failed;

static void __attribute__((format(printf, 2, 3)))
note_failure(int line, const char *format, ...)
{
    if (!__atomic_exchange_n(&failed, true, __ATOMIC_RELAXED)) {
        int n = snprintf(failure, sizeof failure, "line %d: ", line);
        va_list args;

        va_start(args, format);
        vsnprintf(failure + n, sizeof failure - n, format, args);
        va_end(args);
    }
}

static bool
has_failed(void)
{
    return __atomic_load_n(&failed, __ATOMIC_RELAXED);
}

#define MUST(CONDITION, ...) \
    ((CONDITION) ? (void) 0 : note_failure(__LINE__, __VA_ARGS__))

/* ------------------------------------------------------------------------
 * Who has passed: quiescent-state-based reclamation.
 *
 * Used by one thread, that of control(), and by the main one when that is at
 * rest.
 * ------------------------------------------------------------------------ */

#define AT_REST UINT64_MAX

static struct {
    uint64_t n __attribute__((aligned(64)));   /* Batches, or AT_REST. */
} passed[N_THREADS];

struct postponed {
    struct postponed *next;
    void (*cb)(void *aux);
    void *aux;
    uint64_t passed[N_THREADS];
};

static struct postponed *first_postponed;
static struct postponed **last_postponed = &first_postponed;

static void
postpone(void (*cb)(void *aux), void *aux)
{
    struct postponed *p = malloc(sizeof *p);

    *p = (struct postponed) { .cb = cb, .aux = aux };
    for (int i = 0; i < N_THREADS; i++) {
        p->passed[i] = __atomic_load_n(&passed[i].n, __ATOMIC_SEQ_CST);
    }
    *last_postponed = p;
    last_postponed = &p->next;
}

static bool
has_passed(const struct postponed *p)
{
    for (int i = 0; i < N_THREADS; i++) {
        if (p->passed[i] != AT_REST
            && __atomic_load_n(&passed[i].n, __ATOMIC_SEQ_CST)
               <= p->passed[i]) {
            return false;
        }
    }
    return true;
}

/* Calls what all threads have passed. */
static void
call_postponed(void)
{
    while (first_postponed && has_passed(first_postponed)) {
        struct postponed *p = first_postponed;

        first_postponed = p->next;
        if (!first_postponed) {
            last_postponed = &first_postponed;
        }
        p->cb(p->aux);
        free(p);
    }
}

/* ------------------------------------------------------------------------
 * Zones.
 * ------------------------------------------------------------------------ */

struct range {
    uint32_t ip;                 /* 0: none. */
    uint16_t low, high;
};

/* A configuration. */
struct variant {
    struct range pool4[2];
    bool prefixes[N_PREFIXES];
};

static const struct variant variants[] = {
    { { { OUTSIDE_IP, 2000, 2023 } }, { true, true } },
    { { { OUTSIDE_IP, 2000, 2023 }, { OUTSIDE_IP + 1, 2100, 2115 } },
      { true, true } },
    { { { OUTSIDE_IP + 1, 2100, 2115 } }, { true, false, true } },
    { { { OUTSIDE_IP, 2012, 2035 } }, { false, true, true } },
    { { { OUTSIDE_IP, 2000, 2011 }, { OUTSIDE_IP, 2024, 2035 } },
      { true, true } },
    /* Not among those that come and go. */
    { { { OUTSIDE_IP, 2000, 2255 } }, { true, true } },
};

/* What one test does. */
struct scenario {
    const char *options;
    unsigned int first, n;       /* Its variants. */
    bool exact;                  /* Packets from outside reach the connection
                                  * that they are of, or none. */
    bool per_flow;               /* Each connection has its own port. */
    bool others;                 /* Hairpins and ICMP errors too. */
    unsigned int ms;             /* Time for each of N_PHASES. */
};

#define N_PHASES 3

static const struct scenario scenarios[] = {
    { "max-sessions=100 mapping=endpoint-independent "
      "filtering=endpoint-independent", 0, 5, false, false, true, 200 },
    { "max-sessions=100 mapping=endpoint-independent "
      "filtering=address-dependent", 0, 5, true, false, true, 120 },
    { "max-sessions=200 mapping=per-flow port-reuse-delay=3",
      5, 1, true, true, false, 120 },
};

static const struct scenario *scenario;

/* A snapshot of the zone. */
struct snapshot {
    struct xlat_zone *zone;
    const struct variant *variant;
    bool fitted;                 /* nat64_fit() has returned, and there is no
                                  * newer one yet. */
};

static struct snapshot *current;
static uint64_t now_us;
static bool at_end;              /* Threads are to come to rest. */

static struct snapshot *
snapshot_create(const struct variant *variant, const struct snapshot *prev)
{
    struct snapshot *snapshot = malloc(sizeof *snapshot);
    char text[512];
    int n;

    n = snprintf(text, sizeof text, "zone=1 kind=nat64 icmp-timeout=7 "
                 "tcp-transitory-timeout=4 tcp-established-timeout=30 "
                 "udp-timeout=120 %s", scenario->options);
    for (int i = 0; i < 2; i++) {
        const struct range *r = &variant->pool4[i];

        if (r->ip) {
            n += snprintf(text + n, sizeof text - n,
                          " pool4=192.0.2.%u:%u-%u", r->ip & 0xff, r->low,
                          r->high);
        }
    }
    for (int x = 0; x < N_PREFIXES; x++) {
        if (variant->prefixes[x]) {
            n += snprintf(text + n, sizeof text - n,
                          " pool6=2001:db8:6%d::/96", 4 + x);
        }
    }
    *snapshot = (struct snapshot) {
        .zone = zone_make(text, prev ? prev->zone : NULL),
        .variant = variant,
    };
    return snapshot;
}

static void
snapshot_destroy(void *snapshot_)
{
    struct snapshot *snapshot = snapshot_;

    xlat_zone_destroy(snapshot->zone);
    free(snapshot);
}

/* ------------------------------------------------------------------------
 * Connections.
 * ------------------------------------------------------------------------ */

static unsigned int
group_of(unsigned int conn)
{
    return conn / N_REMOTES;
}

static enum nat64_proto
proto_of(unsigned int group)
{
    return group % NAT64_N_PROTOS;
}

static void
inside_addr(unsigned int group, uint8_t *addr)
{
    static const uint8_t prefix[12] = { 0x20, 0x01, 0x0d, 0xb8, 0, 1 };

    memcpy(addr, prefix, sizeof prefix);
    addr[12] = addr[14] = group >> 8;
    addr[13] = addr[15] = group;
}

static uint16_t
inside_port(unsigned int group)
{
    return INSIDE_PORT + group;
}

/* Returns the group with address 'addr' and 'port', or -1. */
static int
find_group(const uint8_t *addr, uint16_t port)
{
    unsigned int group = port - INSIDE_PORT;
    uint8_t expected[16];

    inside_addr(group, expected);
    return port >= INSIDE_PORT && group < N_GROUPS
           && !memcmp(addr, expected, 16) ? (int) group : -1;
}

static uint32_t
remote_ip(unsigned int conn)
{
    return 0x09000007 | conn << 8;
}

/* Returns what the remote end has as port: of ICMP, nothing. */
static uint16_t
remote_port(unsigned int conn)
{
    return REMOTE_PORT + conn;
}

static void
embed(unsigned int x, uint32_t ip, uint8_t *addr)
{
    static const uint8_t prefix[12] = { 0x20, 0x01, 0x0d, 0xb8 };

    memcpy(addr, prefix, sizeof prefix);
    addr[5] = 0x64 + x;
    for (int i = 0; i < 4; i++) {
        addr[12 + i] = ip >> (24 - 8 * i);
    }
}

/* Returns under which prefix 'addr' is 'ip', or -1. */
static int
find_prefix(const uint8_t *addr, uint32_t ip)
{
    uint8_t expected[16];

    for (int x = 0; x < N_PREFIXES; x++) {
        embed(x, ip, expected);
        if (!memcmp(addr, expected, 16)) {
            return x;
        }
    }
    return -1;
}

/* An outside transport address. */
struct outside {
    uint32_t ip;
    uint16_t port;
};

/* Those that connections were seen with last, by connection and prefix: the
 * address and, below, the port. */
static uint64_t last_seen[N_CONNS][N_PREFIXES];

static bool
get_last(unsigned int conn, unsigned int x, struct outside *o)
{
    uint64_t last = __atomic_load_n(&last_seen[conn][x], __ATOMIC_RELAXED);

    *o = (struct outside) { last >> 16, last };
    return last != 0;
}

static bool
is_in(const struct variant *variant, const struct outside *o)
{
    for (int i = 0; i < 2; i++) {
        const struct range *r = &variant->pool4[i];

        if (r->ip == o->ip && o->port >= r->low && o->port <= r->high) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------------
 * Claims.
 * ------------------------------------------------------------------------ */

/* Who owns what, as threads have seen in their present batch: the owner, and
 * below, in 8 bits, how many times that was seen. */
static uint32_t claims[NAT64_N_PROTOS][N_OUTSIDE_IPS][N_OUTSIDE_PORTS];

static uint32_t *
claim_of(enum nat64_proto proto, const struct outside *o)
{
    uint32_t i = o->ip - OUTSIDE_IP, port = o->port - OUTSIDE_PORT;

    if (i >= N_OUTSIDE_IPS || port >= N_OUTSIDE_PORTS) {
        note_failure(__LINE__, "outside address %x, port %u", o->ip, o->port);
        return NULL;
    }
    return &claims[proto][i][port];
}

/* Returns the number of who owns a port that 'conn' uses under prefix 'x'. */
static uint32_t
owner_of(unsigned int conn, unsigned int x)
{
    return (scenario->per_flow ? conn : group_of(conn)) * N_PREFIXES + x + 1;
}

static bool
add_claim(uint32_t *claim, uint32_t owner)
{
    uint32_t old = __atomic_load_n(claim, __ATOMIC_RELAXED);
    uint32_t new;

    do {
        if (old && old >> 8 != owner) {
            return false;
        }
        new = (owner << 8 | (old & 0xff)) + 1;
    } while (!__atomic_compare_exchange_n(claim, &old, new, true,
                                          __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
    return true;
}

static void
remove_claim(uint32_t *claim)
{
    uint32_t old = __atomic_load_n(claim, __ATOMIC_RELAXED);
    uint32_t new;

    do {
        new = (old & 0xff) > 1 ? old - 1 : 0;
    } while (!__atomic_compare_exchange_n(claim, &old, new, true,
                                          __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
}

/* ------------------------------------------------------------------------
 * Packets as they are sent.
 * ------------------------------------------------------------------------ */

enum kind {
    OUT,
    IN,
    HAIRPIN,                     /* From inside to an outside address. */
    ERROR,                       /* From outside, about one from inside. */
    FIRST,                       /* Fragments, of UDP. */
    SECOND,
};

struct sent {
    enum kind kind;
    unsigned int conn, x;
    bool is_in;                  /* FIRST, SECOND: from outside. */
    struct outside o;            /* Where those from outside, and hairpins,
                                  * go. */
    uint32_t id;                 /* In the payload; of fragments also their
                                  * identification. */
};

struct thread {
    unsigned int number;         /* From 0. */
    pthread_t thread;
    struct rng rng;
    struct xlat_ctx ctx;
    uint32_t n_sent;
    uint32_t n_first;            /* First fragments of these. */

    struct xlat_job jobs[MAX_BATCH];
    struct sent sent[MAX_BATCH];
    uint8_t bufs[MAX_BATCH][1024];
    uint32_t *claims[2 * MAX_BATCH];
    unsigned int n_claims;

    bool has_first;              /* A first fragment was sent ... */
    struct sent first;           /* ... which is this. */
    bool first_went;             /* The last one was translated ... */
    uint32_t first_ip;           /* ... to this source, ... */
    uint8_t first_dst[16];       /* ... or to this destination. */

    struct xlat_counters n;      /* What became of packets. */
};

#define HEADROOM 256
#define MARK_BYTES 16
#define FIRST_BYTES 32           /* Of the transport of the first fragment. */

static uint16_t
get16(const uint8_t *p)
{
    return p[0] << 8 | p[1];
}

static void
put16(uint8_t *p, uint16_t x)
{
    p[0] = x >> 8;
    p[1] = x;
}

static uint32_t
get32(const uint8_t *p)
{
    return (uint32_t) get16(p) << 16 | get16(p + 2);
}

static void
put32(uint8_t *p, uint32_t x)
{
    put16(p, x >> 16);
    put16(p + 2, x);
}

/* What a payload says. */
static void
put_mark(uint8_t *p, const struct sent *sent)
{
    put32(p, sent->conn);
    put32(p + 4, sent->id);
    put32(p + 8, sent->conn * 2654435761u);
    put32(p + 12, ~sent->id);
}

static bool
is_marked(const uint8_t *p, const struct sent *sent)
{
    uint8_t expected[MARK_BYTES];

    put_mark(expected, sent);
    return !memcmp(p, expected, MARK_BYTES);
}

static uint8_t
ip_proto(enum nat64_proto proto, bool is_6)
{
    return proto == NAT64_TCP ? IPPROTO_TCP
           : proto == NAT64_UDP ? IPPROTO_UDP
           : is_6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
}

static uint8_t
random_tcp_flags(struct rng *rng)
{
    static const uint8_t flags[] = { 0x02, 0x02, 0x12, 0x10, 0x10, 0x18,
                                     0x11, 0x14 };

    return flags[rng_below(rng, sizeof flags)];
}

/* Writes transport header and payload and returns the bytes of both.  Of ICMP,
 * 'src' is the identifier. */
static uint32_t
put_l4(struct thread *t, uint8_t *l4, const struct sent *sent, uint16_t src,
       uint16_t dst)
{
    enum nat64_proto proto = proto_of(group_of(sent->conn));
    uint32_t n;

    if (proto == NAT64_TCP) {
        n = packet_tcp(l4, src, dst, MARK_BYTES);
        l4[13] = random_tcp_flags(&t->rng);
    } else if (proto == NAT64_UDP) {
        n = packet_udp(l4, src, dst, MARK_BYTES);
    } else {
        uint8_t type = sent->kind == IN ? 0 : 128;

        n = packet_icmp(l4, type, 0, (uint32_t) src << 16 | 1, NULL,
                        MARK_BYTES);
    }
    put_mark(l4 + n - MARK_BYTES, sent);
    return n;
}

/* Writes the IPv6 header of 'n' bytes of transport, with a fragment header if
 * 'kind' is one of a fragment.  Returns the bytes of headers. */
static uint32_t
put_ip6(uint8_t *ip, const struct sent *sent, uint32_t dst4, uint32_t n)
{
    uint8_t proto = ip_proto(proto_of(group_of(sent->conn)), true);

    memset(ip, 0, 48);
    ip[0] = 0x60;
    ip[6] = proto;
    ip[7] = 64;
    inside_addr(group_of(sent->conn), ip + 8);
    embed(sent->x, dst4, ip + 24);
    if (sent->kind != FIRST && sent->kind != SECOND) {
        put16(ip + 4, n);
        return 40;
    }
    put16(ip + 4, n + 8);
    ip[6] = IPPROTO_FRAGMENT;
    ip[40] = proto;
    put16(ip + 42, sent->kind == FIRST ? 1 : FIRST_BYTES);
    put32(ip + 44, sent->id);
    return 48;
}

static uint32_t
put_ip4(uint8_t *ip, const struct sent *sent, uint8_t proto, uint32_t src,
        uint32_t dst, uint32_t n)
{
    memset(ip, 0, 20);
    ip[0] = 0x45;
    put16(ip + 2, 20 + n);
    ip[8] = 64;
    ip[9] = proto;
    put32(ip + 12, src);
    put32(ip + 16, dst);
    if (sent->kind == FIRST || sent->kind == SECOND) {
        put16(ip + 4, sent->id);
        put16(ip + 6, sent->kind == FIRST ? 0x2000 : FIRST_BYTES / 8);
    }
    put16(ip + 10, ~packet_sum(ip, 20, 0));
    return 20;
}

/* Writes an ICMP error about the packet that 'sent' has had come out of
 * 'sent->o'.  Returns its bytes. */
static uint32_t
put_error(uint8_t *ip, const struct sent *sent)
{
    enum nat64_proto proto = proto_of(group_of(sent->conn));
    uint8_t quote[28];

    memset(quote, 0, sizeof quote);
    put_ip4(quote, sent, ip_proto(proto, false), sent->o.ip,
            remote_ip(sent->conn), 8 + MARK_BYTES);
    if (proto == NAT64_ICMP) {
        packet_icmp(quote + 20, 8, 0, (uint32_t) sent->o.port << 16 | 1, NULL,
                    0);
    } else {
        put16(quote + 20, sent->o.port);
        put16(quote + 22, remote_port(sent->conn));
        put16(quote + 24, 8 + MARK_BYTES);
    }
    put_ip4(ip, sent, IPPROTO_ICMP, ROUTER, sent->o.ip, 8 + sizeof quote);
    packet_icmp(ip + 20, 3, 1, 0, quote, sizeof quote);
    packet_fill_csum(ip, 28 + sizeof quote, 20, IPPROTO_ICMP);
    return 28 + sizeof quote;
}

/* Writes the fragment of 'sent' at 'l4', without its IP header.  Returns its
 * bytes. */
static uint32_t
put_fragment(uint8_t *l4, const struct sent *sent)
{
    uint16_t port = inside_port(group_of(sent->conn));

    if (sent->kind == SECOND) {
        put_mark(l4, sent);
        return MARK_BYTES;
    }
    packet_udp(l4, sent->is_in ? remote_port(sent->conn) : port,
               sent->is_in ? sent->o.port : remote_port(sent->conn),
               FIRST_BYTES - 8);
    put16(l4 + 4, FIRST_BYTES + MARK_BYTES);
    put16(l4 + 6, 0x1234);
    put_mark(l4 + 8, sent);
    return FIRST_BYTES;
}

/* Writes the packet of 'sent'.  Returns its bytes. */
static uint32_t
put_packet(struct thread *t, const struct sent *sent, uint8_t *ip)
{
    unsigned int group = group_of(sent->conn);
    enum nat64_proto proto = proto_of(group);
    bool is_6 = sent->kind == OUT || sent->kind == HAIRPIN
                || (sent->kind != IN && !sent->is_in);
    uint32_t remote = remote_ip(sent->conn), hdr, n;
    uint8_t l4[128];

    switch (sent->kind) {
    case OUT:
        n = put_l4(t, l4, sent, inside_port(group), remote_port(sent->conn));
        break;
    case IN:
        n = put_l4(t, l4, sent,
                   proto == NAT64_ICMP ? sent->o.port
                                       : remote_port(sent->conn),
                   sent->o.port);
        break;
    case HAIRPIN:
        n = put_l4(t, l4, sent, inside_port(group), sent->o.port);
        remote = sent->o.ip;
        break;
    case ERROR:
        return put_error(ip, sent);
    case FIRST:
    case SECOND:
    default:
        n = put_fragment(l4, sent);
        break;
    }
    hdr = is_6 ? put_ip6(ip, sent, remote, n)
               : put_ip4(ip, sent, ip_proto(proto, false), remote,
                         sent->o.ip, n);
    memcpy(ip + hdr, l4, n);
    if (sent->kind != FIRST && sent->kind != SECOND) {
        packet_fill_csum(ip, hdr + n, hdr, ip_proto(proto, is_6));
    }
    return hdr + n;
}

/* Chooses a connection: often one that all threads choose at this time. */
static unsigned int
choose_conn(struct thread *t)
{
    struct rng hot;

    rng_init(&hot, t->ctx.now_us >> 22);
    return rng_below(rng_below(&t->rng, 2) ? &hot : &t->rng, N_CONNS);
}

/* Chooses what to send. */
static void
choose(struct thread *t, struct sent *sent)
{
    uint32_t dice = rng_below(&t->rng, 16);
    enum nat64_proto proto;

    if (t->has_first && dice < 4) {
        *sent = t->first;
        sent->kind = SECOND;
        t->has_first = false;
        return;
    }
    *sent = (struct sent) {
        .kind = OUT,
        .conn = choose_conn(t),
        .x = rng_below(&t->rng, N_PREFIXES),
        .id = t->n_sent++,
    };
    proto = proto_of(group_of(sent->conn));
    if (dice < 7 && get_last(sent->conn, sent->x, &sent->o)) {
        sent->kind = IN;
    } else if (dice == 7 && proto == NAT64_UDP && !t->has_first) {
        sent->is_in = (rng_below(&t->rng, 2)
                       && get_last(sent->conn, sent->x, &sent->o));
        sent->kind = FIRST;
        sent->id = t->number << 14 | (t->n_first++ & 0x3fff);
        t->first = *sent;
        t->has_first = true;
    } else if (dice == 8 && scenario->others && proto != NAT64_ICMP) {
        unsigned int other = rng_below(&t->rng, N_CONNS);

        if (proto_of(group_of(other)) == proto
            && get_last(other, sent->x, &sent->o)) {
            sent->kind = HAIRPIN;
        }
    } else if (dice == 9 && scenario->others
               && get_last(sent->conn, sent->x, &sent->o)) {
        sent->kind = ERROR;
        sent->is_in = true;
    }
}

/* ------------------------------------------------------------------------
 * Packets as they come back.
 * ------------------------------------------------------------------------ */

/* A packet, read. */
struct seen {
    bool is_6;
    bool is_frag;
    uint8_t proto;
    const uint8_t *src, *dst;
    uint32_t src4, dst4;         /* Of IPv4, or the last 32 bits. */
    uint16_t sport, dport;       /* Of ICMP queries, both the identifier. */
    const uint8_t *l4;
    uint32_t l4_bytes;
};

/* Returns true if the transport checksum of 'seen' is right. */
static bool
has_right_csum(const struct seen *seen)
{
    uint32_t sum = 0;

    if (seen->is_6 || seen->proto != IPPROTO_ICMP) {
        sum = packet_sum(seen->src, seen->is_6 ? 32 : 8,
                         seen->l4_bytes + seen->proto);
    }
    return packet_sum(seen->l4, seen->l4_bytes, sum) == 0xffff;
}

/* Reads the packet at 'ip', of which 'len' bytes are there.  Returns false
 * unless its headers are in order. */
static bool
read_packet(const uint8_t *ip, uint32_t len, struct seen *seen)
{
    uint32_t hdr;

    *seen = (struct seen) { .is_6 = ip[0] >> 4 == 6 };
    if (seen->is_6) {
        hdr = 40;
        seen->proto = ip[6];
        seen->src = ip + 8;
        seen->dst = ip + 24;
        if (seen->proto == IPPROTO_FRAGMENT) {
            hdr = 48;
            seen->proto = ip[40];
            seen->is_frag = true;
        }
        seen->l4_bytes = get16(ip + 4) + 40 - hdr;
    } else {
        hdr = 20;
        seen->proto = ip[9];
        seen->src = ip + 12;
        seen->dst = ip + 16;
        seen->is_frag = (get16(ip + 6) & 0x3fff) != 0;
        seen->l4_bytes = get16(ip + 2) - hdr;
        if (ip[0] != 0x45 || packet_sum(ip, 20, 0) != 0xffff) {
            return false;
        }
    }
    seen->src4 = get32(seen->src + (seen->is_6 ? 12 : 0));
    seen->dst4 = get32(seen->dst + (seen->is_6 ? 12 : 0));
    seen->l4 = ip + hdr;
    if (len < hdr + 8) {
        return false;
    } else if (seen->proto == IPPROTO_ICMP || seen->proto == IPPROTO_ICMPV6) {
        seen->sport = seen->dport = get16(seen->l4 + 4);
    } else {
        seen->sport = get16(seen->l4);
        seen->dport = get16(seen->l4 + 2);
    }
    return true;
}

/* Claims 'o', of 'proto', for 'owner' until the end of the batch. */
static void
claim(struct thread *t, enum nat64_proto proto, const struct outside *o,
      uint32_t owner)
{
    uint32_t *c = claim_of(proto, o);

    if (c && add_claim(c, owner)) {
        t->claims[t->n_claims++] = c;
    } else if (c) {
        note_failure(__LINE__, "protocol %d, address %x, port %u: %u owns "
                     "what %u owns", proto, o->ip, o->port, owner,
                     __atomic_load_n(c, __ATOMIC_RELAXED) >> 8);
    }
}

static void
drop_claims(struct thread *t)
{
    while (t->n_claims) {
        remove_claim(t->claims[--t->n_claims]);
    }
}

/* Checks the source of 'seen', an IPv4 packet that 'sent' has become. */
static void
check_source(struct thread *t, const struct sent *sent,
             const struct seen *seen, const struct variant *only)
{
    struct outside o = { seen->src4, seen->sport };

    MUST(!only || is_in(only, &o), "from %x, port %u, which is gone", o.ip,
         o.port);
    MUST(!only || only->prefixes[sent->x], "by prefix %u, which is gone",
         sent->x);
    claim(t, proto_of(group_of(sent->conn)), &o,
          owner_of(sent->conn, sent->x));
}

/* Checks one that was sent from inside to a host outside. */
static void
check_out(struct thread *t, const struct sent *sent, const struct seen *seen,
          const struct variant *only)
{
    unsigned int conn = sent->conn;
    enum nat64_proto proto = proto_of(group_of(conn));

    check_source(t, sent, seen, only);
    MUST(seen->dst4 == remote_ip(conn)
         && (proto == NAT64_ICMP || seen->dport == remote_port(conn)),
         "connection %u goes to %x, port %u", conn, seen->dst4, seen->dport);
    __atomic_store_n(&last_seen[conn][sent->x],
                     (uint64_t) seen->src4 << 16 | seen->sport,
                     __ATOMIC_RELAXED);
}

/* Checks the destination of 'seen', an IPv6 packet that 'sent' has become,
 * which came from 'remote' to 'sent->o'. */
static void
check_destination(struct thread *t, const struct sent *sent,
                  const struct seen *seen, uint32_t remote,
                  const struct variant *only)
{
    unsigned int conn = sent->conn, group = group_of(conn);
    int to = find_group(seen->dst, seen->dport);
    int x = find_prefix(seen->src, remote);

    MUST(to >= 0 && x >= 0 && proto_of(to) == proto_of(group),
         "connection %u: from prefix %d to group %d", conn, x, to);
    if (to >= 0 && x >= 0) {
        MUST(!only || (is_in(only, &sent->o) && only->prefixes[x]),
             "to %x, port %u, by prefix %d, which is gone", sent->o.ip,
             sent->o.port, x);
        MUST(!scenario->exact || sent->kind == HAIRPIN
             || (unsigned int) to == group,
             "connection %u reaches group %d", conn, to);
        if (scenario->per_flow) {
            claim(t, proto_of(to), &sent->o, owner_of(conn, x));
        } else {
            claim(t, proto_of(to), &sent->o, owner_of(to * N_REMOTES, x));
        }
    }
}

static void
check_in(struct thread *t, const struct sent *sent, const struct seen *seen,
         const struct variant *only)
{
    unsigned int conn = sent->conn;

    check_destination(t, sent, seen, remote_ip(conn), only);
    MUST(proto_of(group_of(conn)) == NAT64_ICMP
         || seen->sport == remote_port(conn),
         "connection %u comes from port %u", conn, seen->sport);
}

/* Checks a hairpin: in both ways at once, or, if the address is not one of
 * ours, or no longer, like any other. */
static void
check_hairpin(struct thread *t, const struct sent *sent,
              const struct seen *seen, const struct variant *only)
{
    if (!seen->is_6) {
        check_source(t, sent, seen, only);
        MUST(seen->dst4 == sent->o.ip && seen->dport == sent->o.port,
             "hairpin of connection %u goes to %x, port %u", sent->conn,
             seen->dst4, seen->dport);
    } else {
        struct seen source = { .src4 = seen->src4, .sport = seen->sport };

        check_source(t, sent, &source, only);
        check_destination(t, sent, seen, seen->src4, only);
    }
}

static void
check_error(struct thread *t, const struct sent *sent,
            const struct seen *seen, const struct variant *only)
{
    struct seen quote, turned;

    MUST(seen->proto == IPPROTO_ICMPV6 && seen->l4[0] == 1
         && seen->l4_bytes >= 8 + 40 + 8
         && read_packet(seen->l4 + 8, seen->l4_bytes - 8, &quote)
         && quote.is_6, "connection %u: a strange ICMP error", sent->conn);
    if (!has_failed()) {
        MUST(find_prefix(seen->src, ROUTER)
             == find_prefix(quote.dst, remote_ip(sent->conn))
             && !memcmp(seen->dst, quote.src, 16),
             "connection %u: ICMP error about another", sent->conn);
        turned = quote;
        turned.src = quote.dst;
        turned.dst = quote.src;
        turned.sport = quote.dport;
        turned.dport = quote.sport;
        check_in(t, sent, &turned, only);
    }
}

static void
check_first(struct thread *t, const struct sent *sent,
            const struct seen *seen, const struct variant *only)
{
    if (sent->is_in) {
        check_in(t, sent, seen, only);
        memcpy(t->first_dst, seen->dst, 16);
    } else {
        check_out(t, sent, seen, only);
        t->first_ip = seen->src4;
    }
    MUST(is_marked(seen->l4 + 8, sent), "connection %u: payload",
         sent->conn);
    t->first_went = true;
}

/* Checks one without ports: it is translated like its first one, or not at
 * all. */
static void
check_second(const struct thread *t, const struct sent *sent,
             const struct seen *seen)
{
    unsigned int conn = sent->conn;

    MUST(t->first_went, "connection %u: fragment without its first one",
         conn);
    if (sent->is_in) {
        MUST(find_prefix(seen->src, remote_ip(conn)) >= 0
             && !memcmp(seen->dst, t->first_dst, 16),
             "connection %u: fragment from %x to %x", conn, seen->src4,
             seen->dst4);
    } else {
        MUST(seen->src4 == t->first_ip && seen->dst4 == remote_ip(conn),
             "connection %u: fragment from %x, not %x, to %x", conn,
             seen->src4, t->first_ip, seen->dst4);
    }
    MUST(is_marked(seen->l4, sent), "connection %u: payload", conn);
}

/* Checks what has become of 'sent'.  If 'only' is not null, nothing may have
 * come of other configurations. */
static void
check_translated(struct thread *t, const struct sent *sent,
                 const struct pk *pk, const struct variant *only)
{
    bool is_frag = sent->kind == FIRST || sent->kind == SECOND;
    bool to_6 = sent->kind == IN || sent->is_in;
    struct seen seen;

    MUST(read_packet(pk->data, pk->len, &seen)
         && seen.is_frag == is_frag
         && (sent->kind == HAIRPIN || seen.is_6 == to_6)
         && pk->len == seen.l4 - pk->data + seen.l4_bytes,
         "connection %u: headers", sent->conn);
    if (has_failed()) {
        return;
    }
    if (!is_frag) {
        MUST(has_right_csum(&seen), "connection %u: checksum", sent->conn);
        MUST(sent->kind == ERROR
             || is_marked(pk->data + pk->len - MARK_BYTES, sent),
             "connection %u: payload", sent->conn);
    }
    switch (sent->kind) {
    case OUT:
        check_out(t, sent, &seen, only);
        break;
    case IN:
        check_in(t, sent, &seen, only);
        break;
    case HAIRPIN:
        check_hairpin(t, sent, &seen, only);
        break;
    case ERROR:
        check_error(t, sent, &seen, only);
        break;
    case FIRST:
        check_first(t, sent, &seen, only);
        break;
    case SECOND:
    default:
        check_second(t, sent, &seen);
        break;
    }
}

/* Checks that 'pk' is an ICMP error to whom 'sent' is from. */
static void
check_reply(const struct sent *sent, const struct pk *pk)
{
    struct seen seen;
    uint8_t src[16];

    MUST(read_packet(pk->data, pk->len, &seen) && has_right_csum(&seen),
         "connection %u: reply", sent->conn);
    if (seen.is_6) {
        inside_addr(group_of(sent->conn), src);
        MUST(!memcmp(seen.dst, src, 16), "connection %u: reply to another",
             sent->conn);
    } else {
        MUST(seen.dst4 == remote_ip(sent->conn),
             "connection %u: reply to another", sent->conn);
    }
}

static void
check_job(struct thread *t, const struct sent *sent,
          const struct xlat_job *job, uint8_t from,
          const struct variant *only)
{
    t->n.packets++;
    if (sent->kind == FIRST) {
        t->first_went = false;
    }
    switch (job->verdict) {
    case XLAT_TRANSLATED:
        t->n.translated++;
        t->n.translated_46 += from == 4;
        t->n.translated_64 += from == 6 && job->pk.data[0] >> 4 == 4;
        t->n.translated_66 += from == 6 && job->pk.data[0] >> 4 == 6;
        check_translated(t, sent, &job->pk, only);
        break;
    case XLAT_REPLY:
        t->n.replies++;
        t->n.reply_reasons[job->drop]++;
        check_reply(sent, &job->pk);
        break;
    case XLAT_PASSED:
        t->n.passed++;
        break;
    case XLAT_DROPPED:
        t->n.drops[job->drop]++;
        break;
    }
}

/* ------------------------------------------------------------------------
 * Threads.
 * ------------------------------------------------------------------------ */

static bool
is_fitted(const struct snapshot *snapshot)
{
    return __atomic_load_n(&snapshot->fitted, __ATOMIC_ACQUIRE);
}

static void
run_batch(struct thread *t)
{
    struct snapshot *snapshot = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
    bool fitted = is_fitted(snapshot);
    unsigned int n = 1 + rng_below(&t->rng, MAX_BATCH);
    uint8_t from[MAX_BATCH];

    t->ctx.now_us = __atomic_load_n(&now_us, __ATOMIC_RELAXED);
    for (unsigned int i = 0; i < n; i++) {
        uint8_t *ip = t->bufs[i] + HEADROOM;
        uint32_t len;

        choose(t, &t->sent[i]);
        len = put_packet(t, &t->sent[i], ip);
        from[i] = ip[0] >> 4;
        t->jobs[i].pk = (struct pk) {
            .data = ip,
            .len = len,
            .headroom = HEADROOM,
            .tailroom = sizeof t->bufs[i] - HEADROOM - len,
        };
    }
    xlat_run(snapshot->zone, &t->ctx, t->jobs, n);

    fitted = fitted && is_fitted(snapshot);
    for (unsigned int i = 0; i < n; i++) {
        check_job(t, &t->sent[i], &t->jobs[i], from[i],
                  fitted ? snapshot->variant : NULL);
    }
    drop_claims(t);
}

static void *
run_packets(void *thread)
{
    struct thread *t = thread;

    while (!__atomic_load_n(&at_end, __ATOMIC_RELAXED) && !has_failed()) {
        run_batch(t);
        __atomic_fetch_add(&passed[t->number].n, 1, __ATOMIC_SEQ_CST);
    }
    __atomic_store_n(&passed[t->number].n, AT_REST, __ATOMIC_SEQ_CST);
    return NULL;
}

/* Replaces the configuration. */
static void
reconfigure(struct rng *rng)
{
    struct snapshot *old = current;
    const struct variant *variant
        = &variants[scenario->first + rng_below(rng, scenario->n)];
    struct snapshot *new;

    __atomic_store_n(&old->fitted, false, __ATOMIC_SEQ_CST);
    new = snapshot_create(variant, old);

    /* Time goes on between the steps, too. */
    if (rng_below(rng, 2)) {
        nat64_run(old->zone, now_us, postpone);
        call_postponed();
    }
    __atomic_store_n(&current, new, __ATOMIC_RELEASE);
    nat64_fit(new->zone, now_us, postpone);
    __atomic_store_n(&new->fitted, true, __ATOMIC_RELEASE);
    postpone(snapshot_destroy, old);
}

static void
check_info(const struct nat64_session_info *info, void *aux)
{
    int group = find_group(info->inside.bytes, info->inside_port);

    (void) aux;
    MUST(group >= 0
         && info->proto == ip_proto(proto_of(group), true)
         && find_prefix(info->remote6.bytes, be32toh(info->remote)) >= 0,
         "session of group %d", group);
}

static void
look(void)
{
    struct nat64_gauges gauges;
    uint32_t cursor = 0;

    nat64_get_gauges(current->zone, &gauges);
    MUST(gauges.sessions <= gauges.max_sessions
         && gauges.bindings <= gauges.max_sessions,
         "%u sessions, %u bindings", gauges.sessions, gauges.bindings);
    while (nat64_dump(current->zone, now_us, &cursor, 64, check_info, NULL)) {
        continue;
    }
}

static uint64_t
clock_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * UINT64_C(1000) + ts.tv_nsec / 1000000;
}

/* Makes time pass, and everything else that packets do not do, for 'ms'. */
static void *
control(void *rng_)
{
    struct rng *rng = rng_;
    uint64_t end = clock_ms() + scenario->ms;

    while (clock_ms() < end && !has_failed()) {
        uint32_t dice = rng_below(rng, 64);

        __atomic_store_n(&now_us, now_us + rng_below(rng, 2000000),
                         __ATOMIC_RELAXED);
        if (dice == 0) {
            nat64_flush(current->zone, now_us, postpone);
        } else if (dice < 5 && scenario->n > 1) {
            reconfigure(rng);
        } else if (dice < 12) {
            look();
        } else {
            nat64_run(current->zone, now_us, postpone);
        }
        call_postponed();
        usleep(50);
    }
    __atomic_store_n(&at_end, true, __ATOMIC_RELAXED);
    return NULL;
}

/* ------------------------------------------------------------------------
 * At rest.
 * ------------------------------------------------------------------------ */

/* Looks through the sessions of 'nat64'.  Returns how many there are. */
static uint32_t
walk_sessions(const struct nat64 *nat64)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < nat64_n_touched(&nat64->free_sessions); i++) {
        const struct nat64_session *s = &nat64->sessions[i];
        const struct nat64_tuple *out = &s->dir[NAT64_OUT].tuple;
        const struct nat64_tuple *back = &s->dir[NAT64_IN].tuple;
        const struct nat64_binding *b;

        if (!nat64->due[i]) {
            continue;
        }
        n++;
        b = &nat64->bindings[s->dir[NAT64_OUT].link];
        MUST(b->flags & NAT64_BINDING_LIVE, "session %u: dead binding", i);
        MUST(!memcmp(&out->inside, &back->inside, 16)
             && out->outside == back->outside && out->remote == back->remote
             && out->inside_port == back->inside_port
             && out->outside_port == back->outside_port
             && out->remote_port == back->remote_port
             && out->sort == back->sort, "session %u: two keys", i);
        MUST(!memcmp(&out->inside, &b->inside, 16)
             && out->inside_port == b->inside_port
             && out->outside_port == b->outside_port && out->sort == b->sort
             && be32toh(out->outside)
                == nat64->places.addresses[b->place]->ip,
             "session %u: key of another binding", i);
        if (out->state != NAT64_DEAD) {
            MUST(nat64_find(nat64, NAT64_OUT, out) == s
                 && nat64_find(nat64, NAT64_IN, back) == s,
                 "session %u: not to be found", i);
            MUST(out->state == back->state, "session %u: two states", i);
        }
    }
    MUST(n == nat64->n_sessions, "%u sessions, not %u", n,
         nat64->n_sessions);
    return n;
}

/* Returns how many sessions 'b' has. */
static uint32_t
walk_list(const struct nat64 *nat64, const struct nat64_binding *b)
{
    uint32_t previous = NAT64_NONE, n = 0;

    for (uint32_t i = b->sessions; i != NAT64_NONE && n <= nat64->max; n++) {
        const struct nat64_session *s = &nat64->sessions[i];

        MUST(nat64->due[i] && s->dir[NAT64_OUT].link == b - nat64->bindings
             && s->dir[NAT64_IN].tuple.previous == previous,
             "session %u: in a wrong list", i);
        previous = i;
        i = s->dir[NAT64_IN].link;
    }
    return n;
}

static bool
is_used(const struct nat64_address *a, enum nat64_proto proto, uint16_t port)
{
    return a->ports[proto].used[port / 64] >> port % 64 & 1;
}

/* Looks through the bindings, which have 'n_sessions' sessions. */
static void
walk_bindings(const struct nat64 *nat64, uint32_t n_sessions)
{
    static bool owned[NAT64_N_PROTOS][N_OUTSIDE_IPS][N_OUTSIDE_PORTS];
    uint32_t n = 0, sum = 0;

    memset(owned, 0, sizeof owned);
    for (uint32_t i = 0; i < nat64_n_touched(&nat64->free_bindings); i++) {
        const struct nat64_binding *b = &nat64->bindings[i];
        enum nat64_proto proto = nat64_sort_proto(b->sort);
        const struct nat64_address *a;
        struct nat64_tuple key;
        uint16_t port;
        bool *mine;

        if (!(b->flags & NAT64_BINDING_LIVE)) {
            continue;
        }
        n++;
        sum += walk_list(nat64, b);
        a = nat64->places.addresses[b->place];
        port = be16toh(b->outside_port);
        MUST(b->sessions != NAT64_NONE && a && is_used(a, proto, port),
             "binding %u", i);
        mine = &owned[proto][a->ip - OUTSIDE_IP][port - OUTSIDE_PORT];
        MUST(!*mine, "binding %u: two own %x, port %u", i, a->ip, port);
        *mine = true;
        key = (struct nat64_tuple) {
            .inside = b->inside,
            .inside_port = b->inside_port,
            .outside = htobe32(a->ip),
            .outside_port = b->outside_port,
            .sort = b->sort,
        };
        MUST(b->flags & NAT64_BINDING_PRIVATE
             || (nat64_binding_find_inside(nat64, &key) == b
                 && nat64_binding_find_outside(nat64, &key) == b),
             "binding %u: not to be found", i);
    }
    MUST(n == nat64->n_bindings, "%u bindings, not %u", n,
         nat64->n_bindings);
    MUST(sum == n_sessions, "bindings have %u sessions of %u", sum,
         n_sessions);
}

/* Checks that ports in use are those of bindings that live or cool. */
static void
walk_ports(const struct nat64 *nat64)
{
    uint32_t used = 0, owned = nat64->n_bindings;

    for (int proto = 0; proto < NAT64_N_PROTOS; proto++) {
        uint32_t i = nat64->cooling[proto].first;

        for (; i != NAT64_NONE; i = nat64->bindings[i].sessions) {
            owned++;
        }
    }
    for (int i = 0; i < NAT64_MAX_ADDRESSES; i++) {
        const struct nat64_address *a = nat64->places.addresses[i];

        for (int proto = 0; a && proto < NAT64_N_PROTOS; proto++) {
            const struct nat64_ports *p = &a->ports[proto];
            uint32_t n = 0;

            for (uint32_t port = a->low_port; port <= a->high_port; port++) {
                n += is_used(a, proto, port);
            }
            MUST(a->waiting || n == nat64_ports_n_used(p),
                 "%x has %u ports in use, not %u", a->ip, n,
                 nat64_ports_n_used(p));
            used += nat64_ports_n_used(p);
        }
    }
    MUST(used == owned, "%u ports are in use, not %u", used, owned);
}

/* Returns the free slots of a stack, whose slots have 'bytes' each. */
static uint32_t
n_free(const struct nat64_stack *stack, const void *slots, size_t bytes)
{
    uint32_t i = stack->head, n = 0;

    while (i != NAT64_NONE && n <= stack->max) {
        memcpy(&i, (const char *) slots + i * bytes, sizeof i);
        n++;
    }
    return n + stack->max - stack->n_touched;
}

static void
walk_stacks(const struct nat64 *nat64)
{
    uint32_t n_cooling = 0, n;

    for (int proto = 0; proto < NAT64_N_PROTOS; proto++) {
        uint32_t i = nat64->cooling[proto].first;

        for (; i != NAT64_NONE; i = nat64->bindings[i].sessions) {
            n_cooling++;
        }
    }
    n = n_free(&nat64->free_sessions, nat64->sessions,
               sizeof *nat64->sessions);
    MUST(n + nat64->n_sessions == nat64->max, "%u free slots, %u sessions", n,
         nat64->n_sessions);
    n = n_free(&nat64->free_bindings, nat64->bindings,
               sizeof *nat64->bindings);
    MUST(n + nat64->n_bindings + n_cooling == nat64->max,
         "%u free slots, %u bindings, %u cooling", n, nat64->n_bindings,
         n_cooling);
}

static void
check_counters(const struct thread *threads)
{
    struct xlat_counters sum = { 0 }, c;
    uint64_t n;

    for (int i = 0; i < N_THREADS; i++) {
        const uint64_t *from = (const uint64_t *) &threads[i].n;

        for (size_t k = 0; k < sizeof sum / sizeof *from; k++) {
            ((uint64_t *) &sum)[k] += from[k];
        }
    }
    xlat_zone_get_counters(current->zone, &c);
    n = c.translated + c.replies + c.passed;
    for (int i = 0; i < XLAT_N_DROPS; i++) {
        n += c.drops[i];
        MUST(c.drops[i] == sum.drops[i]
             && c.reply_reasons[i] == sum.reply_reasons[i],
             "counters of \"%s\"", xlat_drop_name(i));
    }
    MUST(c.packets == n && c.packets == sum.packets
         && c.translated == sum.translated
         && c.translated_46 == sum.translated_46
         && c.translated_64 == sum.translated_64
         && c.translated_66 == sum.translated_66
         && c.replies == sum.replies && c.passed == sum.passed, "counters");
}

/* Looks through everything, as all threads are at rest. */
static void
walk(const struct thread *threads)
{
    const struct nat64 *nat64 = current->zone->stateful->nat64;

    call_postponed();
    MUST(!first_postponed, "callbacks are left");
    walk_bindings(nat64, walk_sessions(nat64));
    walk_ports(nat64);
    walk_stacks(nat64);
    check_counters(threads);
}

/* Lets everything expire, and looks whether anything is left. */
static void
check_end(void)
{
    const struct nat64 *nat64 = current->zone->stateful->nat64;
    const struct nat64_pool *pool = &current->zone->stateful->pool;
    struct nat64_gauges gauges;
    uint32_t n = 0;

    for (int i = 0; i < 3; i++) {
        now_us += UINT64_C(1000000000);
        nat64_run(current->zone, now_us, postpone);
        call_postponed();
    }
    nat64_get_gauges(current->zone, &gauges);
    MUST(!gauges.sessions && !gauges.bindings && !gauges.ports_in_use,
         "%u sessions, %u bindings and %u ports are left", gauges.sessions,
         gauges.bindings, (unsigned int) gauges.ports_in_use);
    for (int i = 0; i < NAT64_MAX_ADDRESSES; i++) {
        n += nat64->places.addresses[i] != NULL;
    }
    MUST(n == pool->n, "%u addresses in place, of %zu", n, pool->n);
    for (size_t i = 0; i < pool->n; i++) {
        const struct nat64_address *a = pool->addresses[i];
        static struct nat64_ports fresh;

        nat64_ports_init(&fresh, a->low_port, a->high_port, 0, 1);
        for (int proto = 0; proto < NAT64_N_PROTOS; proto++) {
            MUST(!memcmp(a->ports[proto].used, fresh.used, sizeof fresh.used)
                 && a->ports[proto].n_ports == fresh.n_ports,
                 "%x: ports are not free", a->ip);
        }
    }
}

static void
init_threads(struct thread *threads, uint64_t seed)
{
    memset(threads, 0, N_THREADS * sizeof *threads);
    for (unsigned int i = 0; i < N_THREADS; i++) {
        threads[i].number = i;
        rng_init(&threads[i].rng, seed + i);
        threads[i].ctx = (struct xlat_ctx) {
            .rng = seed + i,
            .thread = i + 1,
        };
    }
}

/* Runs packets until control() ends it. */
static void
run_phase(struct thread *threads, struct rng *rng)
{
    pthread_t controller;

    at_end = false;
    for (int i = 0; i < N_THREADS; i++) {
        passed[i].n = 0;
    }
    for (int i = 0; i < N_THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i].thread, NULL, run_packets,
                                        &threads[i]), 0);
    }
    ck_assert_int_eq(pthread_create(&controller, NULL, control, rng), 0);
    pthread_join(controller, NULL);
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i].thread, NULL);
    }
}

static void
print_counter(const char *name, uint64_t value, void *aux)
{
    (void) aux;
    if (value) {
        printf("# %s %llu\n", name, (unsigned long long) value);
    }
}

START_TEST(five_threads)
{
    static struct thread threads[N_THREADS];
    uint64_t seed = 64 + _i;
    struct xlat_counters c;
    struct rng rng;

    scenario = &scenarios[_i];
    rng_init(&rng, seed);
    now_us = 1000000000;
    init_threads(threads, seed);
    memset(last_seen, 0, sizeof last_seen);
    current = snapshot_create(&variants[scenario->first], NULL);
    nat64_fit(current->zone, now_us, postpone);
    for (int phase = 0; phase < N_PHASES && !has_failed(); phase++) {
        run_phase(threads, &rng);
        if (!has_failed()) {
            walk(threads);
        }
    }
    xlat_zone_get_counters(current->zone, &c);
    if (has_failed() || getenv("VERBOSE")) {
        xlat_counters_for_each(&c, print_counter, NULL);
    }
    if (!has_failed()) {
        check_end();
    }
    ck_assert_msg(!has_failed(), "seed %llu, %s",
                  (unsigned long long) seed, failure);
    ck_assert_uint_gt(c.translated_46, 0);
    ck_assert_uint_gt(c.translated_64, 0);
    ck_assert_uint_gt(c.drops[XLAT_DROP_NO_PORT]
                      + c.reply_reasons[XLAT_DROP_NO_PORT]
                      + c.drops[XLAT_DROP_TABLE_FULL]
                      + c.reply_reasons[XLAT_DROP_TABLE_FULL], 0);
    snapshot_destroy(current);
}
END_TEST

/* ------------------------------------------------------------------------
 * The same connections, opened by all threads at once.
 * ------------------------------------------------------------------------ */

#define N_ROUNDS 60

/* Looks at 'next_round' before the others get a chance to run. */
#define SPINS 20000

static pthread_barrier_t barrier;
static unsigned int next_round;
static struct outside results[N_THREADS][MAX_BATCH];

/* Waits for 'round', spinning: who waits for a barrier is woken up one after
 * the other. */
static void
wait_for_round(unsigned int round)
{
    pthread_barrier_wait(&barrier);
    for (int i = 0; __atomic_load_n(&next_round, __ATOMIC_ACQUIRE) != round;
         i++) {
        if (i > SPINS) {
            sched_yield();
        }
    }
}

static void *
open_together(void *thread)
{
    struct thread *t = thread;

    for (unsigned int round = 1; round <= N_ROUNDS; round++) {
        for (unsigned int i = 0; i < MAX_BATCH; i++) {
            /* One of UDP, for which any packet will do. */
            unsigned int group = (round + i) * NAT64_N_PROTOS + NAT64_UDP;
            uint8_t *ip = t->bufs[i] + HEADROOM;

            t->sent[i] = (struct sent) {
                .conn = group % N_GROUPS * N_REMOTES,
                .id = round,
            };
            t->jobs[i].pk = (struct pk) {
                .data = ip,
                .len = put_packet(t, &t->sent[i], ip),
                .headroom = HEADROOM,
                .tailroom = sizeof t->bufs[i] - HEADROOM - 256,
            };
        }
        t->ctx.now_us = __atomic_load_n(&now_us, __ATOMIC_RELAXED);
        wait_for_round(round);
        xlat_run(current->zone, &t->ctx, t->jobs, MAX_BATCH);
        for (unsigned int i = 0; i < MAX_BATCH; i++) {
            check_job(t, &t->sent[i], &t->jobs[i], 6, NULL);
            MUST(t->jobs[i].verdict == XLAT_TRANSLATED, "round %u", round);
            results[t->number][i] = (struct outside) {
                .ip = get32(t->jobs[i].pk.data + 12),
                .port = get16(t->jobs[i].pk.data + 20),
            };
        }
        drop_claims(t);
        pthread_barrier_wait(&barrier);
        /* Here the main thread looks, and empties the zone. */
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

/* Looks at what 'round' has brought about. */
static void
check_round(unsigned int round)
{
    const struct nat64 *nat64 = current->zone->stateful->nat64;

    for (int i = 1; i < N_THREADS; i++) {
        for (int k = 0; k < MAX_BATCH; k++) {
            MUST(results[i][k].ip == results[0][k].ip
                 && results[i][k].port == results[0][k].port,
                 "round %u: ports %u and %u", round, results[0][k].port,
                 results[i][k].port);
        }
    }
    MUST(nat64->n_sessions == MAX_BATCH && nat64->n_bindings == MAX_BATCH,
         "round %u: %u sessions, %u bindings", round, nat64->n_sessions,
         nat64->n_bindings);
    walk_bindings(nat64, walk_sessions(nat64));
    walk_ports(nat64);
}

START_TEST(all_at_once)
{
    static struct thread threads[N_THREADS];

    scenario = &scenarios[_i];
    now_us = 1000000000;
    next_round = 0;
    init_threads(threads, 6146);
    current = snapshot_create(&variants[scenario->first], NULL);
    nat64_fit(current->zone, now_us, postpone);
    pthread_barrier_init(&barrier, NULL, N_THREADS + 1);
    for (int i = 0; i < N_THREADS; i++) {
        passed[i].n = AT_REST;
        ck_assert_int_eq(pthread_create(&threads[i].thread, NULL,
                                        open_together, &threads[i]), 0);
    }
    for (unsigned int round = 1; round <= N_ROUNDS; round++) {
        pthread_barrier_wait(&barrier);
        __atomic_store_n(&next_round, round, __ATOMIC_RELEASE);
        pthread_barrier_wait(&barrier);
        check_round(round);
        nat64_flush(current->zone, now_us, postpone);
        call_postponed();
        __atomic_store_n(&now_us, now_us + 5000000, __ATOMIC_RELAXED);
        nat64_run(current->zone, now_us, postpone);
        call_postponed();
        pthread_barrier_wait(&barrier);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i].thread, NULL);
    }
    if (!has_failed()) {
        walk(threads);
        check_end();
    }
    pthread_barrier_destroy(&barrier);
    snapshot_destroy(current);
    ck_assert_msg(!has_failed(), "%s", failure);
}
END_TEST

int
main(void)
{
    size_t n = sizeof scenarios / sizeof scenarios[0];
    Suite *suite = suite_create("nat64-threads");
    TCase *tcase = tcase_create("nat64-threads");
    SRunner *runner = srunner_create(suite);

    tcase_add_loop_test(tcase, five_threads, 0, n);
    tcase_add_loop_test(tcase, all_at_once, 0, n);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed != 0;
}
