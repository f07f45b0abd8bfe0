/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Packets that a zone sends of its own accord (RFC 6146, 3.5.2.2): probes of
 * TCP sessions, and ICMP errors about SYNs that have waited in vain. */

#include "nat64-private.h"
#include "xlat-hdr.h"
#include "xlat-private.h"

#define PROBE_TTL 64

#define TCP_HDR_WORDS 5
#define TCP_ACK 0x10

/* In front of a SYN, for what an ICMP error puts there. */
#define SYN_HEADROOM 64

/* Writes a TCP header without data at 'tcp', from 'src' to 'dst', of which
 * what 4 bytes do not fill is zero.  A host that has the connection finds
 * neither number within its window, and says so (RFC 9293, 3.10.7.4). */
static void
put_probe_tcp(uint8_t *tcp, const union pk_addr *src, pk_be16 src_port,
              const union pk_addr *dst, pk_be16 dst_port)
{
    uint64_t sum = pk_csum_addr6(src) + pk_csum_addr6(dst)
                   + pk_csum_pseudo(PK_TCP_HDR_BYTES, IPPROTO_TCP);

    memset(tcp, 0, PK_TCP_HDR_BYTES);
    pk_put16(tcp, src_port);
    pk_put16(tcp + 2, dst_port);
    tcp[12] = TCP_HDR_WORDS << 4;
    tcp[13] = TCP_ACK;
    pk_put16(tcp + 16,
             pk_csum_finish(sum + pk_csum_bytes(tcp, PK_TCP_HDR_BYTES)));
}

void
nat64_send_probe(const struct xlat_zone *zone, const struct nat64_tuple *t,
                 uint16_t origin, nat64_send *send, void *aux)
{
    const struct nat64 *nat64 = zone->stateful->nat64;
    bool is_44 = nat64->shape.inside_family == 4;
    uint32_t hdr_bytes = is_44 ? PK_IP4_HDR_BYTES : PK_IP6_HDR_BYTES;
    uint8_t ip[PK_IP6_HDR_BYTES + PK_TCP_HDR_BYTES];
    union pk_addr remote;

    nat64_remote(nat64, t->sort, t->remote, &remote);
    if (is_44) {
        xlat_hdr_put4(ip, 0, PK_IP4_HDR_BYTES + PK_TCP_HDR_BYTES, 0,
                      XLAT_IP4_DF, PROBE_TTL, IPPROTO_TCP, remote.in4,
                      t->inside.in4);
    } else {
        xlat_hdr_put6(ip, 0, PK_TCP_HDR_BYTES, IPPROTO_TCP, PROBE_TTL,
                      &remote, &t->inside);
    }
    put_probe_tcp(ip + hdr_bytes, &remote, t->remote_port, &t->inside,
                  t->inside_port);
    send(origin, ip, hdr_bytes + PK_TCP_HDR_BYTES, aux);
    xlat_stats_sent(zone->stats, true);
}

/* Returns whether 'syn' is to be refused: its address is still the zone's, and
 * nobody has opened its connection beside its being stored. */
static bool
is_refused(const struct xlat_zone *zone, const struct nat64_syn *syn,
           uint32_t tick)
{
    struct nat64_tuple t = {
        .outside = syn->key.outside,
        .remote = syn->key.remote,
        .outside_port = syn->key.outside_port,
        .remote_port = syn->key.remote_port,
        .sort = NAT64_TCP,
    };
    const struct nat64_session *s = nat64_find(zone->stateful->nat64, NAT64_IN,
                                               &t);

    return (nat64_pool_has(&zone->stateful->pool, be32toh(t.outside))
            && (!s || !nat64_is_alive(&zone->set, s, tick)));
}

/* Refuses 'syn' by an ICMP error, if the rate of those allows it. */
static void
refuse(const struct xlat_zone *zone, uint64_t now_us, struct nat64_syn *syn,
       nat64_send *send, void *aux)
{
    const struct nat64 *nat64 = zone->stateful->nat64;
    uint8_t buf[SYN_HEADROOM + NAT64_SYN_BYTES];
    struct xlat_ctx ctx = {
        .now_us = now_us,
        .rng = nat64_index_hash_2(&nat64->by_outside, now_us,
                                  syn->key.remote) | 1,
    };
    struct xlat_tally tally;
    struct xlat_job job = {
        .pk = {
            .data = buf + SYN_HEADROOM,
            .len = syn->len,
            .headroom = SYN_HEADROOM,
        },
    };
    struct xlat_way way = {
        .zone = zone,
        .ctx = &ctx,
        .tally = &tally,
        .job = &job,
    };

    memcpy(job.pk.data, syn->packet, syn->len);
    pk_parse(job.pk.data, job.pk.len, PK_PARSE_QUOTE | PK_PARSE_CSUM_OK,
             &way.info);
    xlat_tally_begin(&tally);
    xlat_reply_or_drop(&way, XLAT_DROP_STORED_SYN);
    xlat_stats_add(zone->stats, 0, &tally);
    if (job.verdict == XLAT_REPLY) {
        send(syn->origin, job.pk.data, job.pk.len, aux);
        xlat_stats_sent(zone->stats, false);
    }
}

void
nat64_refuse_syns(const struct xlat_zone *zone, uint64_t now_us,
                  nat64_send *send, void *aux)
{
    uint32_t max_age = nat64_timeout(&zone->set, NAT64_TCP, NAT64_IN_INIT);
    uint32_t tick = nat64_tick(now_us);
    uint32_t cursor = 0;
    struct nat64_syn syn;

    while (zone->stateful->syns
           && nat64_syns_take(zone->stateful->syns, &cursor, tick, max_age,
                              &syn)) {
        if (send && is_refused(zone, &syn, tick)) {
            refuse(zone, now_us, &syn, send, aux);
        }
    }
}
