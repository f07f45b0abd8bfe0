/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include <config.h>
#include "vse-trace.h"

#include <string.h>

#include "dp-packet.h"
#include "flow.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "random.h"
#include "timeval.h"
#include "vse-action.h"
#include "vse-packet.h"
#include "xlat-zone.h"

/* TTL of a flow that does not say. */
#define DEFAULT_TTL 64

/* Room in front of a packet made up. */
#define HEADROOM 128

static struct dp_packet *compose(const struct flow *);
static void run(const struct xlat_zone *, const struct vse_xlat *,
                struct dp_packet *, struct xlat_job *);
static void take(struct vse_packet *, const struct xlat_job *);
static void replace_headers(struct flow *, const struct dp_packet *);
static void format(const struct xlat_job *, const struct flow *out,
                   struct ds *words);

enum vse_trace_result
vse_trace(const struct vse_xlat *action, const struct flow *in,
          struct flow *out, struct ds *words)
{
    struct xlat_job job = { .verdict = XLAT_DROPPED };
    const struct xlat_zone *zone = vse_action_find_zone(action, &job.drop);

    *out = *in;
    if (zone) {
        struct dp_packet *packet = compose(in);

        run(zone, action, packet, &job);
        if (job.verdict != XLAT_DROPPED) {
            replace_headers(out, packet);
        }
        if (job.verdict == XLAT_TRANSLATED && action->flags & VSE_XLAT_TENANT
            && xlat_zone_is_stateful(zone)) {
            out->pkt_mark = job.tenant;
        }
        dp_packet_delete(packet);
    }
    format(&job, out, words);

    switch (job.verdict) {
    case XLAT_TRANSLATED:
    case XLAT_PASSED:
        return VSE_TRACE_FORWARD;
    case XLAT_REPLY:
        return VSE_TRACE_REPLY;
    case XLAT_HELD:
    case XLAT_DROPPED:
    default:
        return VSE_TRACE_GONE;
    }
}

/* Returns a packet that belongs to flow 'in'. */
static struct dp_packet *
compose(const struct flow *in)
{
    struct dp_packet *packet = dp_packet_new_with_headroom(256, HEADROOM);
    struct flow flow = *in;

    if (!flow.nw_ttl) {
        flow.nw_ttl = DEFAULT_TTL;
    }
    flow_compose(packet, &flow, NULL, 64, false);
    if (dp_packet_headroom(packet) < HEADROOM) {
        dp_packet_prealloc_headroom(packet, HEADROOM);
    }
    /* Sets the offsets. */
    flow_extract(packet, &flow);
    return packet;
}

static void
run(const struct xlat_zone *zone, const struct vse_xlat *action,
    struct dp_packet *packet, struct xlat_job *job)
{
    struct xlat_ctx ctx = {
        .now_us = time_usec(),
        .rng = random_uint64() | 1,
        .dir = (action->flags & VSE_XLAT_DIR_MASK) >> VSE_XLAT_DIR_SHIFT,
        .tenant = action->tenant,
        .dry_run = true,
    };
    struct vse_packet vp;

    vse_packet_lend(&vp, packet, &job->pk);
    xlat_run(zone, &ctx, job, 1);
    take(&vp, job);
}

static void
take(struct vse_packet *vp, const struct xlat_job *job)
{
    switch (job->verdict) {
    case XLAT_TRANSLATED:
        vse_packet_take(vp, &job->pk);
        break;
    case XLAT_REPLY:
        vse_packet_take_reply(vp, &job->pk);
        break;
    case XLAT_PASSED:
    case XLAT_HELD:
    case XLAT_DROPPED:
        break;
    }
}

/* Puts the headers of 'packet' into 'flow', and leaves its metadata. */
static void
replace_headers(struct flow *flow, const struct dp_packet *packet)
{
    const size_t start = offsetof(struct flow, dl_dst);
    struct flow headers;

    flow_extract(CONST_CAST(struct dp_packet *, packet), &headers);
    memcpy((char *) flow + start, (char *) &headers + start,
           sizeof *flow - start);
    flow->packet_type = headers.packet_type;
    flow_clear_conntrack(flow);
}

static void
format(const struct xlat_job *job, const struct flow *out, struct ds *words)
{
    switch (job->verdict) {
    case XLAT_TRANSLATED:
        ds_put_cstr(words, "translated: ");
        flow_format(words, out, NULL);
        break;
    case XLAT_REPLY:
        ds_put_format(words, "answered with an ICMP error, %s (%s): ",
                      xlat_drop_name(job->drop), xlat_drop_words(job->drop));
        flow_format(words, out, NULL);
        break;
    case XLAT_PASSED:
        ds_put_cstr(words, "passed untranslated (miss=pass)");
        break;
    case XLAT_HELD:
        ds_put_cstr(words, "held until the first fragment comes");
        break;
    case XLAT_DROPPED:
        ds_put_format(words, "dropped, %s (%s)", xlat_drop_name(job->drop),
                      xlat_drop_words(job->drop));
        break;
    }
}
