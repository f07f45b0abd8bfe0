/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* ICMP errors about packets of a session (RFC 6146, 3.4 and 3.5; RFC 5508). */

#include "nat64-way.h"
#include "pk-csum.h"
#include "xlat-icmp-error.h"

/* Reads the tuple of the packet in 'err' into 't'.  That packet has gone the
 * other way, with its source and destination in the reverse order. */
static enum xlat_drop
read_quoted(const struct xlat_way *way, enum nat64_dir dir,
            const struct xlat_icmp_error *err, struct nat64_tuple *t)
{
    const uint8_t *l4 = err->quote + err->inner.l4_ofs;

    if (dir == NAT64_IN) {
        t->outside = pk_get32(err->quote + 12);
        t->remote = pk_get32(err->quote + 16);
    } else if (nat64_read_quoted_in(way, err->quote, t) != XLAT_OK) {
        return XLAT_DROP_ICMP_INNER;
    }
    if (!nat64_add_proto(&err->inner, t) || !nat64_has_ports(&err->inner, t)) {
        return XLAT_DROP_ICMP_INNER;
    }
    if (nat64_sort_proto(t->sort) == NAT64_ICMP) {
        nat64_read_ports(l4, dir, t);
    } else {
        t->remote_port = pk_get16(dir == NAT64_IN ? l4 + 2 : l4);
        t->outside_port = t->inside_port
            = pk_get16(dir == NAT64_IN ? l4 : l4 + 2);
    }
    return XLAT_OK;
}

/* Completes 't' by its session, which has to be there. */
static enum xlat_drop
find_session(const struct xlat_way *way, enum nat64_dir dir,
             struct nat64_tuple *t)
{
    const struct nat64_session *s = nat64_find(way->zone->stateful->nat64,
                                               dir, t);

    if (!s || !nat64_is_alive(&way->zone->set, s,
                              nat64_tick(way->ctx->now_us))) {
        return XLAT_DROP_ICMP_INNER;
    }
    nat64_tuple_get(&s->dir[dir], t);
    return XLAT_OK;
}

/* Makes '*rw' the rewrite of the message: like that of packets of 't', but its
 * other end may be a router on their way. */
static void
rewrite_message(const struct xlat_way *way, enum nat64_dir dir,
                const struct nat64_tuple *t, const struct nat64_tuple *outer,
                struct xlat_rewrite *rw)
{
    nat64_rewrite_of(way, t, dir, rw);
    rw->flags &= ~XLAT_RW_PORTS;
    if (dir == NAT64_IN) {
        nat64_remote(way->zone->stateful->nat64, t->sort, outer->remote,
                     &rw->src);
    } else {
        rw->dst.in4 = outer->remote;
    }
}

/* Makes '*rw' the rewrite, of the families of 'message', of the packet in
 * it. */
static void
rewrite_quote(const struct xlat_way *way, enum nat64_dir dir,
              const struct nat64_tuple *t, const struct xlat_rewrite *message,
              struct xlat_rewrite *rw)
{
    xlat_way_init_rewrite(way, message->from, message->to, rw);
    rw->flags |= XLAT_RW_PORTS;
    if (dir == NAT64_IN) {
        rw->src = t->inside;
        nat64_remote(way->zone->stateful->nat64, t->sort, t->remote, &rw->dst);
        rw->src_port = t->inside_port;
        rw->dst_port = t->remote_port;
    } else {
        rw->src = (union pk_addr) { .in4 = t->remote };
        rw->dst = (union pk_addr) { .in4 = t->outside };
        rw->src_port = nat64_sort_proto(t->sort) == NAT64_ICMP
                       ? t->outside_port : t->remote_port;
        rw->dst_port = t->outside_port;
    }
}

enum xlat_drop
nat64_translate_error(struct xlat_way *way, enum nat64_dir dir,
                      const struct nat64_tuple *outer, uint8_t flags)
{
    const struct xlat_settings *set = &way->zone->set;
    uint8_t to = dir == NAT64_OUT ? 4 : nat64_inside_family(way->zone);
    struct nat64_tuple t = { .tenant = outer->tenant };
    struct xlat_rewrite message, quote;
    struct xlat_icmp_error err;
    enum xlat_drop drop = xlat_icmp_error_read(&way->job->pk, &way->info, to,
                                               set, &err);

    if (drop == XLAT_OK) {
        drop = read_quoted(way, dir, &err, &t);
    }
    if (drop == XLAT_OK) {
        drop = find_session(way, dir, &t);
    }
    if (drop == XLAT_OK && flags & XLAT_RW_TTL_DEC) {
        drop = way->info.family == 6 ? xlat_64_prepare_ttl(way)
                                     : xlat_46_prepare_ttl(way);
    }
    if (drop != XLAT_OK) {
        return drop;
    }
    way->job->tenant = t.tenant;
    rewrite_message(way, dir, &t, outer, &message);
    message.flags |= flags;
    rewrite_quote(way, dir, &t, &message, &quote);
    xlat_rewrite_set_delta(&quote, err.quote, &err.inner);
    return xlat_icmp_error_apply(&message, &quote, set, &way->job->pk,
                                 &way->info, &err,
                                 xlat_rng_next(&way->ctx->rng));
}
