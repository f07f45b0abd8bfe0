/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include <config.h>

#include "vse-query.h"

#include <netinet/icmp6.h>
#include <stdlib.h>
#include <string.h>

#include "dp-packet.h"
#include "flow.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "util.h"
#include "vse-record.h"
#include "xlat-addr.h"
#include "xlat-prefix.h"
#include "xlat-zone.h"

/* Room in front of a packet for the header it may grow. */
#define HEADROOM 128

/* A packet, in the operator's words. */
struct tuple {
    const char *proto;             /* As written, or NULL: an address. */
    uint8_t nw_proto;
    struct xlat_prefix src, dst;
    uint64_t sport, dport;         /* ICMP: the identifier is 'sport'. */
};

static char *tuple_parse(char *text, struct tuple *);
static void tuple_run(const struct xlat_zone *, const struct tuple *,
                      struct vse_record *);
static void address_run(const struct xlat_zone *, const struct xlat_prefix *,
                        struct vse_record *);

char *
vse_query(const struct xlat_zone *zone, const char *what,
          struct vse_record *answer)
{
    struct xlat_prefix address;

    if (xlat_address_parse(what, 0, &address)) {
        if (xlat_zone_kind(zone) == XLAT_KIND_ILA && address.family != 6) {
            return xstrdup("a zone of kind ila has IPv6 addresses only");
        }
        address_run(zone, &address, answer);
        return NULL;
    }

    struct tuple tuple;
    char *text = xstrdup(what);
    char *error = tuple_parse(text, &tuple);

    if (!error) {
        tuple_run(zone, &tuple, answer);
    }
    free(text);
    return error;
}

static const struct proto {
    const char *name;
    uint8_t nw_proto;
} protos[] = {
    { "tcp", IPPROTO_TCP },
    { "udp", IPPROTO_UDP },
    { "sctp", IPPROTO_SCTP },
    { "icmp", IPPROTO_ICMP },
};

static bool
port_parse(const char *s, uint64_t *port)
{
    unsigned int value;

    if (!s || !str_to_uint(s, 10, &value) || value > UINT16_MAX) {
        return false;
    }
    *port = value;
    return true;
}

/* Parses 'text', which it cuts into pieces that '*t' points into. */
static char *
tuple_parse(char *text, struct tuple *t)
{
    char *save = NULL;
    const char *name = strtok_r(text, ",", &save);
    const char *src = strtok_r(NULL, ",", &save);
    const char *sport = strtok_r(NULL, ",", &save);
    const char *dst = strtok_r(NULL, ",", &save);
    const char *dport = strtok_r(NULL, ",", &save);

    memset(t, 0, sizeof *t);
    for (size_t i = 0; name && i < ARRAY_SIZE(protos); i++) {
        if (!strcmp(name, protos[i].name)) {
            t->proto = protos[i].name;
            t->nw_proto = protos[i].nw_proto;
        }
    }

    bool icmp = t->nw_proto == IPPROTO_ICMP;
    if (!t->proto || strtok_r(NULL, ",", &save) || (icmp && dport)) {
        return xstrdup("neither an address, nor \"PROTO,SRC,SPORT,DST,DPORT\" "
                       "with PROTO tcp, udp or sctp, nor \"icmp,SRC,ID,DST\"");
    } else if (!src || !xlat_address_parse(src, 0, &t->src)) {
        return xasprintf("\"%s\" is not an address", src ? src : "");
    } else if (!dst || !xlat_address_parse(dst, t->src.family, &t->dst)) {
        return xasprintf("\"%s\" is not an IPv%d address", dst ? dst : "",
                         t->src.family);
    } else if (!port_parse(sport, &t->sport)
               || (!icmp && !port_parse(dport, &t->dport))) {
        return xstrdup("ports and identifiers are numbers from 0 to 65535");
    }
    return NULL;
}

/* Appends 'address' without its length. */
static void
address_format(const struct xlat_prefix *address, struct ds *ds)
{
    char text[XLAT_PREFIX_TEXT_SIZE];

    xlat_prefix_format(address, text);
    ds_put_buffer(ds, text, strcspn(text, "/"));
}

static void
put_address(struct vse_record *r, const char *key,
            const struct xlat_prefix *address)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    address_format(address, &ds);
    vse_record_put_string(r, key, ds_cstr(&ds));
    ds_destroy(&ds);
}

static void
put_tuple(struct vse_record *r, const char *key, const struct tuple *t)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    ds_put_format(&ds, "%s,", t->proto);
    address_format(&t->src, &ds);
    ds_put_format(&ds, ",%"PRIu64",", t->sport);
    address_format(&t->dst, &ds);
    if (t->nw_proto != IPPROTO_ICMP) {
        ds_put_format(&ds, ",%"PRIu64, t->dport);
    }
    vse_record_put_string(r, key, ds_cstr(&ds));
    ds_destroy(&ds);
}

static struct xlat_prefix
address_load(const void *p, int family)
{
    struct xlat_prefix address = { .family = family };

    if (family == 4) {
        address.ip.hi = (uint64_t) xlat_ip4_load(p) << 32;
        address.len = 32;
    } else {
        address.ip = xlat_ip6_load(p);
        address.len = 128;
    }
    return address;
}

/* Composes the packet that 't' describes. */
static struct dp_packet *
tuple_to_packet(const struct tuple *t)
{
    static const uint8_t payload[32];
    struct dp_packet *p = dp_packet_new(256);
    struct flow flow = {
        .nw_proto = t->nw_proto,
        .nw_ttl = 64,
        .tp_src = htons(t->sport),
        .tp_dst = htons(t->dport),
    };

    if (t->src.family == 4) {
        flow.dl_type = htons(ETH_TYPE_IP);
        flow.nw_src = htonl(t->src.ip.hi >> 32);
        flow.nw_dst = htonl(t->dst.ip.hi >> 32);
    } else {
        flow.dl_type = htons(ETH_TYPE_IPV6);
        xlat_ip6_store(t->src.ip, &flow.ipv6_src);
        xlat_ip6_store(t->dst.ip, &flow.ipv6_dst);
    }
    if (t->nw_proto == IPPROTO_ICMP) {
        bool v4 = t->src.family == 4;

        flow.nw_proto = v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6;
        flow.tp_src = htons(v4 ? ICMP4_ECHO_REQUEST : ICMP6_ECHO_REQUEST);
        flow.tp_dst = 0;
    }
    flow_compose(p, &flow, payload, sizeof payload, false);
    dp_packet_prealloc_headroom(p, HEADROOM);
    return p;
}

/* Sends 't' through 'zone', without counting it, and sets the addresses in
 * '*out' to what is in the packet afterwards. */
static struct xlat_job
tuple_translate(const struct xlat_zone *zone, const struct tuple *t,
                struct tuple *out)
{
    struct dp_packet *p = tuple_to_packet(t);
    struct xlat_ctx ctx = { .rng = 1, .dry_run = true };
    struct xlat_job job = {
        .pk = {
            .data = dp_packet_l3(p),
            .len = dp_packet_l3_size(p),
            .headroom = HEADROOM,
        },
    };

    xlat_run(zone, &ctx, &job, 1);

    *out = *t;
    if (job.verdict == XLAT_TRANSLATED) {
        int family = job.pk.data[0] >> 4;
        size_t size = family == 4 ? 4 : 16;
        const uint8_t *src = job.pk.data + (family == 4 ? 12 : 8);

        out->src = address_load(src, family);
        out->dst = address_load(src + size, family);
    }
    dp_packet_delete(p);
    return job;
}

static void
put_verdict(struct vse_record *r, const struct xlat_job *job)
{
    static const char *const names[] = {
        [XLAT_TRANSLATED] = "translated",
        [XLAT_REPLY] = "reply",
        [XLAT_PASSED] = "passed",
        [XLAT_DROPPED] = "dropped",
    };

    vse_record_put_string(r, "verdict", names[job->verdict]);
}

static void
put_reason(struct vse_record *r, enum xlat_drop drop)
{
    const char *clause = xlat_drop_clause(drop);

    vse_record_put_string(r, "reason", xlat_drop_name(drop));
    vse_record_put_string(r, "words", xlat_drop_words(drop));
    if (clause[0]) {
        vse_record_put_string(r, "clause", clause);
    }
}

static void
put_via(struct vse_record *r, const char *key, const struct xlat_via *via)
{
    char p6[XLAT_PREFIX_TEXT_SIZE], p4[XLAT_PREFIX_TEXT_SIZE];
    char *text;

    xlat_prefix_format(&via->prefix6, p6);
    if (via->kind == XLAT_VIA_EAMT) {
        xlat_prefix_format(&via->prefix4, p4);
        text = xasprintf("eamt %s %s", p6, p4);
    } else {
        text = xasprintf("pool6 %s", p6);
    }
    vse_record_put_string(r, key, text);
    free(text);
}

/* Looks up one address of a siit zone, either way. */
static enum xlat_drop
address_lookup(const struct xlat_zone *zone, const struct xlat_prefix *in,
               struct xlat_prefix *out, struct xlat_via *via)
{
    enum xlat_drop drop;

    if (in->family == 4) {
        struct in6_addr ip6 = in6addr_any;

        drop = xlat_addr_46(zone, htonl(in->ip.hi >> 32), &ip6, via);
        *out = address_load(&ip6, 6);
    } else {
        struct in6_addr ip6;
        ovs_be32 ip4 = 0;

        xlat_ip6_store(in->ip, &ip6);
        drop = xlat_addr_64(zone, &ip6, &ip4, via);
        *out = address_load(&ip4, 4);
    }
    return drop;
}

/* Names what decides about 'in'. */
static void
put_siit_via(const struct xlat_zone *zone, const char *key,
             const struct xlat_prefix *in, struct vse_record *r)
{
    struct xlat_prefix out;
    struct xlat_via via;

    if (address_lookup(zone, in, &out, &via) == XLAT_N_DROPS) {
        put_via(r, key, &via);
    }
}

/* Names the mapping that made 'out' of 'in'.  Whichever way, the identifier is
 * in one of the two as it was configured. */
static void
put_ila_via(const struct xlat_zone *zone, const char *key,
            const struct xlat_prefix *in, const struct xlat_prefix *out,
            struct vse_record *r)
{
    char identifier[XLAT_ID64_TEXT_SIZE], locator[XLAT_ID64_TEXT_SIZE];
    struct xlat_mapping_info info;

    if (xlat_zone_find_mapping(zone, in->ip.lo, &info)
        || xlat_zone_find_mapping(zone, out->ip.lo, &info)) {
        xlat_id64_format(info.identifier, identifier);
        xlat_id64_format(info.locator, locator);

        char *text = xasprintf("mapping %s %s %s %s", identifier, locator,
                               info.csum_mode, info.ident_type);
        vse_record_put_string(r, key, text);
        free(text);
    }
}

static void
tuple_run(const struct xlat_zone *zone, const struct tuple *t,
          struct vse_record *r)
{
    struct tuple out;
    struct xlat_job job = tuple_translate(zone, t, &out);

    put_verdict(r, &job);
    put_tuple(r, "in", t);
    if (job.verdict == XLAT_TRANSLATED) {
        put_tuple(r, "out", &out);
    } else if (job.verdict != XLAT_PASSED) {
        put_reason(r, job.drop);
    }
    if (xlat_zone_kind(zone) == XLAT_KIND_SIIT) {
        put_siit_via(zone, "source-by", &t->src, r);
        put_siit_via(zone, "destination-by", &t->dst, r);
    } else if (job.verdict == XLAT_TRANSLATED) {
        put_ila_via(zone, "destination-by", &t->dst, &out.dst, r);
    }
}

/* ILA looks at destinations: asks with a packet to 'in'. */
static void
ila_address_run(const struct xlat_zone *zone, const struct xlat_prefix *in,
                struct vse_record *r)
{
    struct tuple t = {
        .proto = "udp", .nw_proto = IPPROTO_UDP, .sport = 1, .dport = 1,
        .src = { .ip = { .hi = UINT64_C(0x20010db800000000), .lo = 1 },
                 .family = 6, .len = 128 },
        .dst = *in,
    };
    struct tuple out;
    struct xlat_job job = tuple_translate(zone, &t, &out);

    put_verdict(r, &job);
    put_address(r, "in", in);
    if (job.verdict == XLAT_TRANSLATED) {
        put_address(r, "out", &out.dst);
        put_ila_via(zone, "by", in, &out.dst, r);
    } else if (job.verdict != XLAT_PASSED) {
        put_reason(r, job.drop);
    }
}

static void
address_run(const struct xlat_zone *zone, const struct xlat_prefix *in,
            struct vse_record *r)
{
    struct xlat_prefix out;
    struct xlat_via via;

    if (xlat_zone_kind(zone) == XLAT_KIND_ILA) {
        ila_address_run(zone, in, r);
        return;
    }

    enum xlat_drop drop = address_lookup(zone, in, &out, &via);

    /* Whether a packet is dropped, answered or let pass depends on more. */
    vse_record_put_string(r, "verdict", (drop == XLAT_N_DROPS
                                         ? "translated" : "not translated"));
    put_address(r, "in", in);
    if (drop == XLAT_N_DROPS) {
        put_address(r, "out", &out);
        put_via(r, "by", &via);
    } else {
        put_reason(r, drop);
    }
}
