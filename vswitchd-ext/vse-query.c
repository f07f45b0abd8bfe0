/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include <config.h>

#include "vse-query.h"

#include <netinet/icmp6.h>
#include <stdlib.h>
#include <string.h>

#include "csum.h"
#include "dp-packet.h"
#include "flow.h"
#include "nat64.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "timeval.h"
#include "util.h"
#include "vse-record.h"
#include "vse-tuple.h"
#include "xlat-addr.h"
#include "xlat-prefix.h"
#include "xlat-zone.h"

/* Room in front of a packet for the header it may grow. */
#define HEADROOM 128

static void tuple_run(const struct xlat_zone *, const struct vse_tuple *,
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
        } else if (xlat_zone_is_stateful(zone)) {
            return xstrdup("a stateful zone translates no address, but "
                           "packets: PROTO,SRC:PORT,DST:PORT");
        }
        address_run(zone, &address, answer);
        return NULL;
    }

    struct vse_tuple tuple;
    char *error = vse_tuple_parse(what, &tuple);

    if (!error) {
        tuple_run(zone, &tuple, answer);
    }
    return error;
}

static void
put_address(struct vse_record *r, const char *key,
            const struct xlat_prefix *address)
{
    const struct vse_endpoint e = { .address = *address };
    struct ds ds = DS_EMPTY_INITIALIZER;

    vse_endpoint_format(&e, &ds);
    vse_record_put_string(r, key, ds_cstr(&ds));
    ds_destroy(&ds);
}

static void
put_tuple(struct vse_record *r, const char *key, const struct vse_tuple *t)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    vse_tuple_format(t, &ds);
    vse_record_put_string(r, key, ds_cstr(&ds));
    ds_destroy(&ds);
}

/* ------------------------------------------------------------------------
 * Packets.
 * ------------------------------------------------------------------------ */

/* Makes the echo request 'p' one of 'id'. */
static void
set_icmp_id(struct dp_packet *p, uint16_t id)
{
    struct icmp_header *icmp = dp_packet_l4(p);

    icmp->icmp_csum = recalc_csum16(icmp->icmp_csum,
                                    icmp->icmp_fields.echo.id, htons(id));
    icmp->icmp_fields.echo.id = htons(id);
}

/* Composes the packet that 't' describes. */
static struct dp_packet *
tuple_to_packet(const struct vse_tuple *t)
{
    static const uint8_t payload[32];
    struct dp_packet *p = dp_packet_new(256);
    bool v4 = t->src.address.family == 4;
    struct flow flow = {
        .nw_proto = t->nw_proto,
        .nw_ttl = 64,
        .tp_src = htons(t->src.port),
        .tp_dst = htons(t->dst.port),
        .tcp_flags = htons(t->tcp_flags),
    };

    if (v4) {
        flow.dl_type = htons(ETH_TYPE_IP);
        flow.nw_src = htonl(vse_endpoint_ip4(&t->src));
        flow.nw_dst = htonl(vse_endpoint_ip4(&t->dst));
    } else {
        flow.dl_type = htons(ETH_TYPE_IPV6);
        xlat_ip6_store(t->src.address.ip, &flow.ipv6_src);
        xlat_ip6_store(t->dst.address.ip, &flow.ipv6_dst);
    }
    if (vse_tuple_is_icmp(t)) {
        flow.nw_proto = v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6;
        flow.tp_src = htons(v4 ? ICMP4_ECHO_REQUEST : ICMP6_ECHO_REQUEST);
        flow.tp_dst = 0;
    }
    flow_compose(p, &flow, payload, sizeof payload, false);
    if (vse_tuple_is_icmp(t)) {
        set_icmp_id(p, t->src.port);
    }
    dp_packet_prealloc_headroom(p, HEADROOM);
    return p;
}

/* Reads the addresses, ports and identifier of the IP packet at 'ip', which
 * has no extension headers, into 't'. */
static void
tuple_load(struct vse_tuple *t, const uint8_t *ip)
{
    int family = ip[0] >> 4;
    const uint8_t *src = ip + (family == 4 ? 12 : 8);
    const uint8_t *l4 = ip + (family == 4 ? IP_HEADER_LEN : IPV6_HEADER_LEN);
    uint16_t first = l4[0] << 8 | l4[1];
    uint16_t second = l4[2] << 8 | l4[3];
    uint16_t id = l4[4] << 8 | l4[5];

    t->src = vse_endpoint_load(family, src, vse_tuple_is_icmp(t) ? id : first);
    t->dst = vse_endpoint_load(family, src + (family == 4 ? 4 : 16), second);
    t->dst.has_port = !vse_tuple_is_icmp(t);
}

/* Sends 't' through 'zone', without counting it, and sets '*out' to what is in
 * the packet afterwards. */
static struct xlat_job
tuple_translate(const struct xlat_zone *zone, const struct vse_tuple *t,
                struct vse_tuple *out)
{
    struct dp_packet *p = tuple_to_packet(t);
    struct xlat_ctx ctx = {
        .now_us = time_usec(),
        .rng = 1,
        .tenant = t->tenant,
        .dry_run = true,
    };
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
        tuple_load(out, job.pk.data);
    }
    dp_packet_delete(p);
    return job;
}

/* ------------------------------------------------------------------------
 * Answers.
 * ------------------------------------------------------------------------ */

static void
put_verdict(struct vse_record *r, const struct xlat_job *job)
{
    static const char *const names[] = {
        [XLAT_TRANSLATED] = "translated",
        [XLAT_REPLY] = "reply",
        [XLAT_PASSED] = "passed",
        [XLAT_DROPPED] = "dropped",
        [XLAT_HELD] = "held",
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
        *out = vse_endpoint_load(6, &ip6, 0).address;
    } else {
        struct in6_addr ip6;
        ovs_be32 ip4 = 0;

        xlat_ip6_store(in->ip, &ip6);
        drop = xlat_addr_64(zone, &ip6, &ip4, via);
        *out = vse_endpoint_load(4, &ip4, 0).address;
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

/* Sets '*ip' to the IPv4 address that 'address' is outside of 'zone'. */
static bool
outside_ip(const struct xlat_zone *zone, const struct xlat_prefix *address,
           ovs_be32 *ip)
{
    struct xlat_via via;
    struct in6_addr ip6;

    if (address->family == 4) {
        *ip = htonl(address->ip.hi >> 32);
        return true;
    }
    xlat_ip6_store(address->ip, &ip6);
    return xlat_addr_64(zone, &ip6, ip, &via) == XLAT_N_DROPS;
}

/* Returns whether 't', which becomes 'out', is from inside: IPv6 is, and IPv4
 * if its source remains IPv4 but changes. */
static bool
is_from_inside(const struct vse_tuple *t, const struct vse_tuple *out)
{
    return (t->src.address.family == 6
            || (out->src.address.family == 4
                && !vse_endpoint_matches(&t->src, &out->src)));
}

/* Says which session of 'zone' translates 't' to 'out'. */
static void
put_session(const struct xlat_zone *zone, const struct vse_tuple *t,
            const struct vse_tuple *out, struct vse_record *r)
{
    bool from_inside = is_from_inside(t, out);
    const struct vse_endpoint *outside = from_inside ? &out->src : &t->dst;
    const struct vse_endpoint *remote = from_inside ? &t->dst : &t->src;
    bool begins = (t->nw_proto != IPPROTO_TCP
                   || (t->tcp_flags & (TCP_SYN | TCP_RST)) == TCP_SYN);
    struct nat64_session_info key = {
        .proto = t->nw_proto,
        .outside_port = vse_tuple_is_icmp(t) && !from_inside ? t->src.port
                        : outside->port,
        .remote_port = vse_tuple_is_icmp(t) ? 0 : remote->port,
    };
    struct nat64_session_info info;
    bool found;

    if (!outside_ip(zone, &outside->address, &key.outside)
        || !outside_ip(zone, &remote->address, &key.remote)) {
        return;
    }
    found = nat64_find_session(zone, time_usec(), &key, &info);
    vse_record_put_string(r, "session", (found ? "exists"
                                         : begins ? "would begin" : "none"));
    if (found) {
        if (info.state[0]) {
            vse_record_put_string(r, "state", info.state);
        }
        vse_record_put_int(r, "expires", info.expires_s);
    }
    vse_record_put_string(r, "binding",
                          (found || nat64_has_binding(zone, &key)
                           ? "exists" : "would begin"));
}

static void
tuple_run(const struct xlat_zone *zone, const struct vse_tuple *t,
          struct vse_record *r)
{
    struct vse_tuple out;
    struct xlat_job job = tuple_translate(zone, t, &out);

    put_verdict(r, &job);
    put_tuple(r, "in", t);
    if (job.verdict == XLAT_TRANSLATED) {
        put_tuple(r, "out", &out);
    } else if (job.verdict != XLAT_PASSED) {
        put_reason(r, job.drop);
    }
    if (xlat_zone_kind(zone) == XLAT_KIND_SIIT) {
        put_siit_via(zone, "source-by", &t->src.address, r);
        put_siit_via(zone, "destination-by", &t->dst.address, r);
    } else if (job.verdict != XLAT_TRANSLATED) {
        return;
    } else if (xlat_zone_kind(zone) == XLAT_KIND_ILA) {
        put_ila_via(zone, "destination-by", &t->dst.address,
                    &out.dst.address, r);
    } else {
        vse_record_put_int(r, "tenant", job.tenant);
        put_session(zone, t, &out, r);
    }
}

/* ILA looks at destinations: asks with a packet to 'in'. */
static void
ila_address_run(const struct xlat_zone *zone, const struct xlat_prefix *in,
                struct vse_record *r)
{
    struct vse_tuple t = {
        .proto = "udp",
        .nw_proto = IPPROTO_UDP,
        .src.address = { .ip = { .hi = UINT64_C(0x20010db800000000), .lo = 1 },
                         .family = 6, .len = 128 },
        .src.port = 1,
        .dst = { .address = *in, .port = 1 },
    };
    struct vse_tuple out;
    struct xlat_job job = tuple_translate(zone, &t, &out);

    put_verdict(r, &job);
    put_address(r, "in", in);
    if (job.verdict == XLAT_TRANSLATED) {
        put_address(r, "out", &out.dst.address);
        put_ila_via(zone, "by", in, &out.dst.address, r);
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
