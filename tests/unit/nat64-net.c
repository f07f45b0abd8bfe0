/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "nat64-net.h"

#include <check.h>
#include <netinet/in.h>
#include <string.h>

#include "packet.h"
#include "pk-csum.h"
#include "pk-parse.h"
#include "zone-util.h"

static void
at_once(void (*cb)(void *aux), void *aux)
{
    cb(aux);
}

void
net_begin(struct net *net, const char *text)
{
    *net = (struct net) {
        .ctx = { .now_us = 1000000, .rng = 1, .thread = 1 },
    };
    net_change(net, text);
}

void
net_end(struct net *net)
{
    xlat_zone_destroy(net->zone);
}

void
net_change(struct net *net, const char *text)
{
    struct xlat_zone *old = net->zone;

    net->zone = zone_make(text, old);
    nat64_fit(net->zone, net->ctx.now_us, at_once);
    xlat_zone_destroy(old);
}

void
net_wait(struct net *net, unsigned int seconds)
{
    while (seconds--) {
        net->ctx.now_us += 1000000;
        nat64_run(net->zone, net->ctx.now_us, at_once, NULL, NULL);
    }
}

/* Returns the port at 'ofs' of the transport header of what has become of the
 * datagram, or -1. */
static int
send_datagram(struct net *net, const char *src, uint16_t sport,
              const char *dst, uint16_t dport, uint32_t ofs)
{
    static struct packet packet;
    uint8_t l4[64];
    struct packet_spec spec = {
        .src = src, .dst = dst, .proto = IPPROTO_UDP, .l4 = l4,
        .l4_bytes = packet_udp(l4, sport, dport, 20),
    };
    struct xlat_job job;

    packet_build(&packet, &spec);
    memset(&job, 0, sizeof job);
    job.pk = packet.pk;
    xlat_run(net->zone, &net->ctx, &job, 1);
    net->verdict = job.verdict;
    net->drop = job.drop;
    net->tenant = job.tenant;
    if (job.verdict != XLAT_TRANSLATED) {
        return -1;
    }
    packet_check(&job.pk);
    net->src4 = job.pk.data[0] >> 4 == 4 ? pk_get32(job.pk.data + 12) : 0;
    ofs += job.pk.data[0] >> 4 == 4 ? PK_IP4_HDR_BYTES : PK_IP6_HDR_BYTES;
    return ntohs(pk_get16(job.pk.data + ofs));
}

int
net_out(struct net *net, const char *src, uint16_t sport, const char *dst,
        uint16_t dport)
{
    return send_datagram(net, src, sport, dst, dport, 0);
}

int
net_in(struct net *net, const char *src, uint16_t sport, const char *dst,
       uint16_t dport)
{
    return send_datagram(net, src, sport, dst, dport, 2);
}

struct nat64_gauges
net_gauges(const struct net *net)
{
    struct nat64_gauges gauges;

    nat64_get_gauges(net->zone, &gauges);
    return gauges;
}
