/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Fragments of the slow stateful translator: what their first ones have said,
 * and those that wait for them. */

#include <stdlib.h>
#include <string.h>

#include "slow-nat64.h"

/* A fragmented packet whose first fragment has come by. */
struct slow_frag {
    struct slow_frag *next;
    struct slow_ip ip;
    uint32_t tenant;             /* 0: from outside. */
    uint64_t tick;
};

/* A fragment whose first one has not. */
struct slow_held {
    struct slow_held *next;      /* That has come later. */
    struct slow_packet packet;
    uint32_t tenant;             /* As above. */
    uint64_t tick;
    uint32_t ticket;             /* 0: not called. */
};

static bool
same_packet(const struct slow_ip *a, uint32_t tenant_a,
            const struct slow_ip *b, uint32_t tenant_b)
{
    return (a->family == b->family && a->proto == b->proto && a->id == b->id
            && tenant_a == tenant_b && !memcmp(a->src, b->src, 16)
            && !memcmp(a->dst, b->dst, 16));
}

static bool
is_old(const struct slow_nat64 *n, uint64_t tick)
{
    return n->tick - tick > ((uint64_t) n->conf.fragment_s * 1000000 >> 16)
                            + 1;
}

static struct slow_frag *
find(const struct slow_nat64 *n, const struct slow_ip *ip, uint32_t tenant)
{
    struct slow_frag *f = n->frags;

    while (f && !same_packet(&f->ip, f->tenant, ip, tenant)) {
        f = f->next;
    }
    return f;
}

const struct slow_ip *
slow_find_first(const struct slow_nat64 *n, const struct slow_ip *ip,
                uint32_t tenant)
{
    const struct slow_frag *f = find(n, ip, tenant);

    return f && !is_old(n, f->tick) ? &f->ip : NULL;
}

uint32_t
slow_put_first(struct slow_nat64 *n, const struct slow_ip *ip, uint32_t tenant)
{
    struct slow_frag *f = find(n, ip, tenant);
    uint32_t ticket = 0;

    if (!f) {
        f = slow_alloc(sizeof *f);
        f->next = n->frags;
        n->frags = f;
    }
    f->ip = *ip;
    f->tenant = tenant;
    f->tick = n->tick;
    for (struct slow_held *h = n->held; h; h = h->next) {
        if (same_packet(&h->packet.ip, h->tenant, ip, tenant)
            && !is_old(n, h->tick)) {
            ticket = ticket ? ticket : ++n->last_ticket;
            h->ticket = ticket;
        }
    }
    return ticket;
}

void
slow_hold_fragment(struct slow_nat64 *n, const struct slow_packet *packet,
                   uint32_t tenant)
{
    struct slow_held *held = slow_alloc(sizeof *held), **hp = &n->held;

    held->packet = *packet;
    held->tenant = tenant;
    held->tick = n->tick;
    while (*hp) {
        hp = &(*hp)->next;
    }
    *hp = held;
    n->n_held++;
}

static void
forget(struct slow_nat64 *n, struct slow_held **hp)
{
    struct slow_held *held = *hp;

    *hp = held->next;
    free(held);
    n->n_held--;
}

bool
slow_take_held(struct slow_nat64 *n, uint32_t ticket,
               struct slow_packet *packet)
{
    for (struct slow_held **hp = &n->held; *hp; hp = &(*hp)->next) {
        if (ticket && (*hp)->ticket == ticket) {
            *packet = (*hp)->packet;
            forget(n, hp);
            return true;
        }
    }
    return false;
}

void
slow_drop_held(struct slow_nat64 *n, bool all)
{
    struct slow_held **hp = &n->held;

    while (*hp) {
        if (all || is_old(n, (*hp)->tick)) {
            n->n_lost++;
            n->lost_bytes += slow_ip_len(&(*hp)->packet.ip);
            forget(n, hp);
        } else {
            hp = &(*hp)->next;
        }
    }
}

void
slow_destroy_frags(struct slow_nat64 *n)
{
    slow_drop_held(n, true);
    while (n->frags) {
        struct slow_frag *f = n->frags;

        n->frags = f->next;
        free(f);
    }
}
