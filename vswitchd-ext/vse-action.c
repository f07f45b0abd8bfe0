/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include <config.h>
#include "vse-action.h"

#include "conntrack.h"
#include "dp-packet.h"
#include "dp-packet-gso.h"
#include "ovs-atomic.h"
#include "userspace-tso.h"
#include "util.h"
#include "vse-hooks.h"
#include "vse-origin.h"
#include "vse-packet.h"
#include "vse-thread.h"
#include "vse-trace.h"
#include "vse-zones.h"
#include "xlat-zone.h"

/* Packets on their way through a zone, 'packets' and 'jobs' side by side. */
struct vse_chunk {
    struct xlat_ctx ctx;
    struct vse_packet packets[XLAT_BATCH];
    struct xlat_job jobs[XLAT_BATCH];
    size_t n;
};

static atomic_ullong drops[XLAT_N_DROPS];

static void execute(const struct vse_xlat *, struct dp_packet_batch *,
                    struct dp_packet_batch *replies, long long now_us);
static bool execute_one(const struct vse_xlat *, struct dp_packet *,
                        long long now_us);
static void segment_tunnels(struct dp_packet_batch *);
static void run(const struct xlat_zone *, const struct vse_xlat *,
                long long now_us, struct dp_packet *const *packets, size_t n,
                struct dp_packet_batch *out, struct dp_packet_batch *replies);
static void run_many(const struct xlat_zone *, const struct vse_xlat *,
                     long long now_us, struct dp_packet_batch *,
                     struct dp_packet_batch *replies);
static void lend(struct vse_chunk *, struct dp_packet *const *, size_t n);
static void lend_in_place(struct xlat_job *, struct dp_packet *const *,
                          size_t n);
static void take_in_place(const struct xlat_job *, struct dp_packet *const *,
                          size_t n, struct dp_packet_batch *out);
static void translate(struct vse_chunk *, const struct xlat_zone *,
                      const struct vse_xlat *,
                      struct dp_packet *const *packets, size_t n,
                      struct dp_packet_batch *out,
                      struct dp_packet_batch *replies);
static void take(struct vse_chunk *, const struct xlat_zone *,
                 const struct vse_xlat *, struct dp_packet_batch *out,
                 struct dp_packet_batch *replies);
static void take_held(const struct xlat_zone *, const struct vse_packet *,
                      const struct xlat_job *, struct dp_packet_batch *held);
static void run_released(const struct xlat_zone *, const struct vse_xlat *,
                         struct xlat_ctx *,
                         const struct dp_packet_batch *held,
                         struct dp_packet_batch *out,
                         struct dp_packet_batch *replies);
static bool marks_tenants(const struct xlat_zone *, const struct vse_xlat *);
static void mark_tenants(const struct vse_chunk *);
static void take_translated(struct vse_packet *, const struct pk *,
                            struct dp_packet_batch *out);
static void take_reply(struct vse_packet *, const struct pk *,
                       uint32_t recirc_id, struct dp_packet_batch *replies);
static void drop(struct dp_packet_batch *, enum xlat_drop);
static void count_drops(enum xlat_drop, size_t n);

void
vse_action_register(struct vse_hooks *hooks)
{
    hooks->xlat_execute = execute;
    hooks->xlat_execute_one = execute_one;
    hooks->xlat_trace = vse_trace;
}

const struct xlat_zone *
vse_action_find_zone(const struct vse_xlat *action, enum xlat_drop *reason)
{
    const struct xlat_zone *zone = vse_zone_find(action->zone);
    bool wants_ila = action->flags & VSE_XLAT_ILA;

    if (!zone) {
        *reason = XLAT_DROP_NO_ZONE;
    } else if (wants_ila != (xlat_zone_kind(zone) == XLAT_KIND_ILA)) {
        *reason = XLAT_DROP_KIND;
        zone = NULL;
    }
    return zone;
}

void
vse_action_get_drops(uint64_t copy[XLAT_N_DROPS])
{
    for (size_t i = 0; i < XLAT_N_DROPS; i++) {
        unsigned long long n;

        atomic_read_relaxed(&drops[i], &n);
        copy[i] = n;
    }
}

static void
execute(const struct vse_xlat *action, struct dp_packet_batch *batch,
        struct dp_packet_batch *replies, long long now_us)
{
    enum xlat_drop reason = XLAT_DROP_NO_ZONE;
    const struct xlat_zone *zone = vse_action_find_zone(action, &reason);
    size_t n;

    if (OVS_UNLIKELY(userspace_tso_enabled())) {
        segment_tunnels(batch);
    }
    n = dp_packet_batch_size(batch);
    if (OVS_UNLIKELY(!zone)) {
        drop(batch, reason);
    } else if (OVS_LIKELY(n <= XLAT_BATCH)) {
        /* All packets are lent before the first result is put back. */
        dp_packet_batch_refill_init(batch);
        run(zone, action, now_us, batch->packets, n, batch, replies);
    } else {
        run_many(zone, action, now_us, batch, replies);
    }
}

static bool
execute_one(const struct vse_xlat *action, struct dp_packet *packet,
            long long now_us)
{
    struct dp_packet_batch batch;
    bool found;

    dp_packet_batch_init_packet(&batch, dp_packet_clone(packet));
    execute(action, &batch, NULL, now_us);
    found = !dp_packet_batch_is_empty(&batch);
    if (found) {
        dp_packet_swap(packet, batch.packets[0]);
        dp_packet_delete_batch(&batch, true);
    }
    dp_packet_batch_destroy(&batch);
    return found;
}

/* A tunnel's packets are translated as they will be on the wire: what is known
 * about segments is about the packet inside. */
static void
segment_tunnels(struct dp_packet_batch *batch)
{
    struct dp_packet *packet;

    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        if (dp_packet_tunnel(packet) && dp_packet_get_tso_segsz(packet)) {
            dp_packet_gso_batch(batch);
            return;
        }
    }
}

/* What connection tracking knew was about another packet. */
static inline void
forget_connection(struct dp_packet *packet)
{
    if (OVS_UNLIKELY(packet->md.ct_state)) {
        conntrack_clear(packet);
    }
}

/* Returns where the packet of 'job', one of a chunk's, came from. */
static uint16_t
get_origin(struct xlat_ctx *ctx, const struct xlat_job *job)
{
    const struct vse_chunk *chunk = CONTAINER_OF(ctx, struct vse_chunk, ctx);

    return vse_origin_number(&chunk->packets[job - chunk->jobs], ctx->now_us);
}

/* Takes the 'n' packets of 'packets', XLAT_BATCH at most, through 'zone'. */
static void
run(const struct xlat_zone *zone, const struct vse_xlat *action,
    long long now_us, struct dp_packet *const *packets, size_t n,
    struct dp_packet_batch *out, struct dp_packet_batch *replies)
{
    struct vse_thread *self = vse_thread_self();
    struct vse_chunk chunk;

    chunk.ctx = (struct xlat_ctx) {
        .now_us = now_us,
        .rng = self->rng,
        .thread = self->number,
        .dir = (action->flags & VSE_XLAT_DIR_MASK) >> VSE_XLAT_DIR_SHIFT,
        .get_origin = get_origin,
        .tenant = action->tenant,
    };

    if (xlat_zone_kind(zone) == XLAT_KIND_ILA) {
        lend_in_place(chunk.jobs, packets, n);
        xlat_run(zone, &chunk.ctx, chunk.jobs, n);
        take_in_place(chunk.jobs, packets, n, out);
    } else {
        translate(&chunk, zone, action, packets, n, out, replies);
    }
    self->rng = chunk.ctx.rng;
}

/* Likewise for a batch that has grown past XLAT_BATCH before. */
static void
run_many(const struct xlat_zone *zone, const struct vse_xlat *action,
         long long now_us, struct dp_packet_batch *batch,
         struct dp_packet_batch *replies)
{
    size_t n = dp_packet_batch_size(batch);
    struct dp_packet_batch in;

    dp_packet_batch_init(&in);
    dp_packet_batch_add_array(&in, batch->packets, n);
    dp_packet_batch_refill_init(batch);
    for (size_t i = 0; i < n; i += XLAT_BATCH) {
        run(zone, action, now_us, &in.packets[i], MIN(XLAT_BATCH, n - i),
            batch, replies);
    }
    dp_packet_batch_destroy(&in);
}

/* Likewise by 'chunk', whose context is there. */
static void
translate(struct vse_chunk *chunk, const struct xlat_zone *zone,
          const struct vse_xlat *action, struct dp_packet *const *packets,
          size_t n, struct dp_packet_batch *out,
          struct dp_packet_batch *replies)
{
    lend(chunk, packets, n);
    xlat_run(zone, &chunk->ctx, chunk->jobs, chunk->n);
    if (marks_tenants(zone, action)) {
        mark_tenants(chunk);
    }
    take(chunk, zone, action, out, replies);
}

static void
lend(struct vse_chunk *chunk, struct dp_packet *const *packets, size_t n)
{
    chunk->n = 0;
    for (size_t i = 0; i < n; i++) {
        if (OVS_LIKELY(vse_packet_lend(&chunk->packets[chunk->n], packets[i],
                                       &chunk->jobs[chunk->n].pk))) {
            chunk->n++;
        } else {
            count_drops(XLAT_DROP_GROWN_PAST_MAX, 1);
            dp_packet_delete(packets[i]);
        }
    }
}

/* Returns whether the action tells who is inside 'zone', which knows it. */
static bool
marks_tenants(const struct xlat_zone *zone, const struct vse_xlat *action)
{
    return action->flags & VSE_XLAT_TENANT && xlat_zone_is_stateful(zone);
}

static void
mark_tenants(const struct vse_chunk *chunk)
{
    for (size_t i = 0; i < chunk->n; i++) {
        if (chunk->jobs[i].verdict == XLAT_TRANSLATED) {
            chunk->packets[i].packet->md.pkt_mark = chunk->jobs[i].tenant;
        }
    }
}

static void
take(struct vse_chunk *chunk, const struct xlat_zone *zone,
     const struct vse_xlat *action, struct dp_packet_batch *out,
     struct dp_packet_batch *replies)
{
    bool stateful = xlat_zone_is_stateful(zone);

    for (size_t i = 0; i < chunk->n; i++) {
        const struct xlat_job *job = &chunk->jobs[i];
        struct vse_packet *vp = &chunk->packets[i];

        switch (job->verdict) {
        case XLAT_TRANSLATED:
            if (OVS_UNLIKELY(stateful && job->held)) {
                struct dp_packet_batch held;

                dp_packet_batch_init(&held);
                take_held(zone, vp, job, &held);
                take_translated(vp, &job->pk, out);
                run_released(zone, action, &chunk->ctx, &held, out, replies);
                dp_packet_batch_destroy(&held);
            } else {
                take_translated(vp, &job->pk, out);
            }
            break;
        case XLAT_REPLY:
            take_reply(vp, &job->pk, action->reply_recirc_id, replies);
            break;
        case XLAT_PASSED:
            dp_packet_batch_add(out, vp->packet);
            break;
        case XLAT_HELD:
        case XLAT_DROPPED:
            dp_packet_delete(vp->packet);
            break;
        }
    }
}

/* Appends the fragments that have waited for the packet of 'job' to 'held', as
 * packets that have come like that one, which is not taken back yet. */
static void
take_held(const struct xlat_zone *zone, const struct vse_packet *vp,
          const struct xlat_job *job, struct dp_packet_batch *held)
{
    uint8_t ip[XLAT_HELD_MAX];
    size_t n;

    while ((n = xlat_take_held(zone, job, ip, sizeof ip)) > 0) {
        dp_packet_batch_add(held, vse_packet_new_like(vp, ip, n));
    }
}

/* Takes 'held' through 'zone' by 'ctx'.  None of them is one for which others
 * have waited. */
static void
run_released(const struct xlat_zone *zone, const struct vse_xlat *action,
             struct xlat_ctx *ctx, const struct dp_packet_batch *held,
             struct dp_packet_batch *out, struct dp_packet_batch *replies)
{
    size_t n = dp_packet_batch_size(held);
    struct vse_chunk chunk;

    chunk.ctx = *ctx;
    chunk.ctx.released = true;
    for (size_t i = 0; i < n; i += XLAT_BATCH) {
        translate(&chunk, zone, action, &held->packets[i],
                  MIN(XLAT_BATCH, n - i), out, replies);
    }
    ctx->rng = chunk.ctx.rng;
}

/* ILA changes bytes of an IPv6 header and its payload, and answers nothing. */
static void
lend_in_place(struct xlat_job *jobs, struct dp_packet *const *packets,
              size_t n)
{
    for (size_t i = 0; i < n; i++) {
        vse_packet_lend_in_place(packets[i], &jobs[i].pk);
    }
}

static void
take_in_place(const struct xlat_job *jobs, struct dp_packet *const *packets,
              size_t n, struct dp_packet_batch *out)
{
    /* 'packets' may be those of 'out', which never get ahead of 'i'. */
    for (size_t i = 0; i < n; i++) {
        struct dp_packet *packet = packets[i];

        if (OVS_UNLIKELY(jobs[i].verdict == XLAT_DROPPED)) {
            dp_packet_delete(packet);
            continue;
        }
        if (jobs[i].verdict == XLAT_TRANSLATED) {
            forget_connection(packet);
        }
        dp_packet_batch_add(out, packet);
    }
}

static void
take_translated(struct vse_packet *vp, const struct pk *pk,
                struct dp_packet_batch *out)
{
    forget_connection(vp->packet);
    if (OVS_LIKELY(!pk->frag_mtu)) {
        vse_packet_take(vp, pk);
        dp_packet_batch_add(out, vp->packet);
    } else {
        vse_packet_take_fragments(vp, pk, out);
    }
}

static void
take_reply(struct vse_packet *vp, const struct pk *pk, uint32_t recirc_id,
           struct dp_packet_batch *replies)
{
    /* RFC 1812, 4.3.2.7: none about what came by link-layer broadcast. */
    if (!replies || !recirc_id || vse_packet_is_multicast(vp)) {
        dp_packet_delete(vp->packet);
        return;
    }
    vse_packet_take_reply(vp, pk);
    forget_connection(vp->packet);
    vp->packet->md.recirc_id = recirc_id;
    vp->packet->md.dp_hash = 0;
    dp_packet_batch_add(replies, vp->packet);
}

static void
drop(struct dp_packet_batch *batch, enum xlat_drop reason)
{
    count_drops(reason, dp_packet_batch_size(batch));
    dp_packet_delete_batch(batch, true);
}

static void
count_drops(enum xlat_drop reason, size_t n)
{
    unsigned long long orig;

    atomic_add_relaxed(&drops[reason], n, &orig);
}
