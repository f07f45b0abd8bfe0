/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Static bindings: those of the configuration, which live without sessions, so
 * that the outside may begin (RFC 6146, 3.1).
 *
 * The configuration says what there should be, and wins: a binding that is in
 * the way ends, with its sessions.  Its port is free only when packets that
 * know it are through; what has to wait for that is made by a later
 * nat64_run(). */

#include <stdlib.h>

#include "nat64-limbo.h"
#include "xlat-private.h"

static struct nat64_tuple
tuple_of(const struct nat64_work *work, const struct xlat_bib *bib)
{
    const struct nat64_view *view = work->zone->stateful;
    uint8_t place = work->nat64->shape.inside_family == 6
                    ? view->prefix_places[0] : 0;

    return (struct nat64_tuple) {
        .inside = bib->inside,
        .tenant = bib->tenant,
        .inside_port = htobe16(bib->inside_port),
        .outside = htobe32(bib->outside),
        .outside_port = htobe16(bib->outside_port),
        .sort = place * NAT64_N_SORTS + nat64_proto_of(bib->proto),
    };
}

/* Returns whether the configuration of 'work' has the static binding 'b'. */
static bool
is_configured(const struct nat64_work *work, const struct nat64_binding *b)
{
    const struct nat64_view *view = work->zone->stateful;
    struct xlat_bib key = {
        .proto = nat64_ipproto(nat64_sort_proto(b->sort)),
        .inside = b->inside,
        .inside_port = be16toh(b->inside_port),
        .tenant = b->tenant,
    };
    const struct xlat_bib *found = bsearch(&key, view->bibs, view->n_bibs,
                                           sizeof key,
                                           xlat_bib_compare_inside);
    struct nat64_tuple t;

    if (!found) {
        return false;
    }
    t = tuple_of(work, found);
    return nat64_binding_is_of(work->nat64, b, &t);
}

void
nat64_fit_statics(struct nat64_work *work)
{
    struct nat64 *nat64 = work->nat64;
    uint32_t n = nat64_n_touched(&nat64->free_bindings);

    for (uint32_t i = 0; i < n && nat64->has_statics; i++) {
        const struct nat64_binding *b = &nat64->bindings[i];

        if (nat64_flags(b) & NAT64_BINDING_STATIC
            && (!nat64_binding_is_open(nat64, b) || !is_configured(work, b))) {
            nat64_end_binding(work, i);
        }
    }
    nat64->has_statics = work->zone->stateful->n_bibs > 0;
    nat64->wants_statics = nat64->has_statics;
    nat64_make_statics(work);
    if (nat64->wants_statics) {
        nat64_limbo_send(work);
        nat64_make_statics(work);
    }
}

/* Makes the binding of 't' a static one if it is there.  Returns false if
 * there is none; or if there is another one of the same inside, which ends. */
static bool
adopt(struct nat64_work *work, const struct nat64_tuple *t)
{
    struct nat64 *nat64 = work->nat64;
    struct nat64_binding *b;
    bool same;

    nat64_lock(nat64, t);
    b = nat64_binding_find_inside(nat64, t);
    same = (b && b->outside_port == t->outside_port
            && nat64_binding_ip(nat64, b) == t->outside);
    if (same) {
        nat64_binding_set_static(nat64, b, true);
    }
    nat64_unlock(nat64, t);
    if (b && !same) {
        nat64_end_binding(work, b - nat64->bindings);
    }
    return same;
}

/* Ends the bindings that have the outside transport address of 't'. */
static void
end_others(struct nat64_work *work, const struct nat64_tuple *t)
{
    struct nat64 *nat64 = work->nat64;
    uint32_t n = nat64_n_touched(&nat64->free_bindings);

    for (uint32_t i = 0; i < n; i++) {
        const struct nat64_binding *b = &nat64->bindings[i];

        if (nat64_flags(b) & NAT64_BINDING_LIVE
            && b->outside_port == t->outside_port
            && nat64_sort_proto(b->sort) == nat64_sort_proto(t->sort)
            && nat64_binding_ip(nat64, b) == t->outside) {
            nat64_end_binding(work, i);
        }
    }
}

/* Takes the port of 't' for the configuration.  Returns its address, or NULL
 * if somebody has it, who ends. */
static struct nat64_address *
take_port(struct nat64_work *work, const struct nat64_tuple *t)
{
    const struct nat64_pool *pool = &work->zone->stateful->pool;
    enum nat64_proto proto = nat64_sort_proto(t->sort);
    uint32_t ip = be32toh(t->outside);
    uint16_t port = be16toh(t->outside_port);
    struct nat64_address *a = nat64_pool_take_this(pool, proto, ip, port);

    if (!a) {
        a = nat64_pool_find(pool, ip, port);
        if (a && !nat64_take_cooling(work->nat64, proto, a, port)) {
            end_others(work, t);
            a = NULL;
        }
    }
    return a;
}

/* Returns whether the static binding of 'bib' is there now. */
static bool
make(struct nat64_work *work, const struct xlat_bib *bib)
{
    struct nat64 *nat64 = work->nat64;
    struct nat64_tuple t = tuple_of(work, bib);
    uint16_t port = be16toh(t.outside_port);
    struct nat64_binding *b = NULL;
    struct nat64_address *a;

    if (adopt(work, &t)) {
        return true;
    }
    a = take_port(work, &t);
    if (!a) {
        return false;
    }
    nat64_lock(nat64, &t);
    if (!nat64_binding_find_inside(nat64, &t)) {
        b = nat64_binding_add_with(nat64, &t, a, port, 0);
    }
    if (b) {
        nat64_binding_set_static(nat64, b, true);
    }
    nat64_unlock(nat64, &t);
    if (!b) {
        nat64_give_port(nat64, a, nat64_sort_proto(t.sort), port);
    }
    return b != NULL;
}

void
nat64_make_statics(struct nat64_work *work)
{
    const struct nat64_view *view = work->zone->stateful;
    struct nat64 *nat64 = work->nat64;
    bool all = true;

    if (!nat64->wants_statics) {
        return;
    }
    /* 'control' may be unlocked in between. */
    for (size_t i = 0; i < view->n_bibs && view->number == nat64->fitted;
         i++) {
        all = make(work, &view->bibs[i]) && all;
    }
    if (view->number == nat64->fitted) {
        nat64->wants_statics = !all;
    }
}
