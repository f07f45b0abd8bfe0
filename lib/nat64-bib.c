/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Bindings: which outside transport address an inside one has (RFC 6146, 3.1
 * and 3.5.1.1). */

#include <endian.h>

#include "nat64-private.h"
#include "xlat-private.h"

static uint64_t
hash_bib_inside(const struct nat64 *nat64, const union pk_addr *inside,
                uint32_t tenant, pk_be16 port, uint8_t sort)
{
    return nat64_index_hash_4(&nat64->bib_by_inside, inside->u64[0],
                              inside->u64[1], tenant,
                              (uint32_t) port << 16 | sort);
}

static uint64_t
hash_bib_outside(const struct nat64 *nat64, pk_be32 ip, pk_be16 port,
                 uint8_t sort)
{
    return nat64_index_hash_2(&nat64->bib_by_outside, ip,
                              (uint32_t) port << 16 | nat64_sort_proto(sort));
}

static uint64_t
hash_of(const struct nat64 *nat64, const struct nat64_tuple *t)
{
    return hash_bib_inside(nat64, &t->inside, t->tenant, t->inside_port,
                           t->sort);
}

bool
nat64_binding_is_open(const struct nat64 *nat64, const struct nat64_binding *b)
{
    return __atomic_load_n(&nat64->places.addresses[b->place]->open,
                           __ATOMIC_ACQUIRE);
}

pk_be32
nat64_binding_ip(const struct nat64 *nat64, const struct nat64_binding *b)
{
    return htobe32(nat64->places.addresses[b->place]->ip);
}

struct nat64_tuple
nat64_binding_tuple(const struct nat64 *nat64, const struct nat64_binding *b)
{
    return (struct nat64_tuple) {
        .inside = b->inside,
        .tenant = b->tenant,
        .outside = nat64_binding_ip(nat64, b),
        .inside_port = b->inside_port,
        .outside_port = b->outside_port,
        .sort = b->sort,
    };
}

bool
nat64_binding_is_of(const struct nat64 *nat64, const struct nat64_binding *b,
                    const struct nat64_tuple *t)
{
    return (!memcmp(&b->inside, &t->inside, sizeof b->inside)
            && b->tenant == t->tenant && b->inside_port == t->inside_port
            && b->outside_port == t->outside_port && b->sort == t->sort
            && nat64_binding_ip(nat64, b) == t->outside);
}

void
nat64_lock(struct nat64 *nat64, const struct nat64_tuple *tuple)
{
    nat64_index_lock(&nat64->bib_by_inside, hash_of(nat64, tuple));
}

void
nat64_unlock(struct nat64 *nat64, const struct nat64_tuple *tuple)
{
    nat64_index_unlock(&nat64->bib_by_inside, hash_of(nat64, tuple));
}

static bool
binding_equal_inside(uint32_t number, const void *key_, const void *nat64_)
{
    const struct nat64 *nat64 = nat64_;
    const struct nat64_binding *a = &nat64->bindings[number];
    const struct nat64_tuple *b = key_;

    return (a->inside.u64[0] == b->inside.u64[0]
            && a->inside.u64[1] == b->inside.u64[1]
            && a->tenant == b->tenant && a->inside_port == b->inside_port
            && a->sort == b->sort);
}

static bool
binding_equal_outside(uint32_t number, const void *key_, const void *nat64_)
{
    const struct nat64 *nat64 = nat64_;
    const struct nat64_binding *a = &nat64->bindings[number];
    const struct nat64_tuple *b = key_;

    return (a->outside_port == b->outside_port
            && nat64_sort_proto(a->sort) == nat64_sort_proto(b->sort)
            && nat64_binding_ip(nat64, a) == b->outside);
}

struct nat64_binding *
nat64_binding_find_inside(const struct nat64 *nat64,
                          const struct nat64_tuple *t)
{
    uint32_t i = nat64_index_find(&nat64->bib_by_inside, hash_of(nat64, t),
                                  binding_equal_inside, t, nat64);

    return i == NAT64_NONE ? NULL : &nat64->bindings[i];
}

struct nat64_binding *
nat64_binding_find_outside(const struct nat64 *nat64,
                           const struct nat64_tuple *t)
{
    uint32_t i = nat64_index_find(&nat64->bib_by_outside,
                                  hash_bib_outside(nat64, t->outside,
                                                   t->outside_port, t->sort),
                                  binding_equal_outside, t, nat64);

    return i == NAT64_NONE ? NULL : &nat64->bindings[i];
}

/* Takes a port that need not be in a block.  Returns its address, or NULL. */
static struct nat64_address *
take_any_port(const struct nat64_make *make, const struct nat64_tuple *t,
              uint16_t *portp)
{
    struct nat64 *nat64 = make->view->nat64;
    enum nat64_proto proto = nat64_sort_proto(t->sort);
    uint64_t random = nat64_index_hash_2(&nat64->by_inside, make->random,
                                         make->tick);
    struct nat64_address *address;

    /* A subscriber is paired with an address (RFC 4787, REQ-2). */
    address = nat64_pool_take(&make->view->pool, proto,
                              nat64_subscriber_hash(nat64, t),
                              be16toh(t->inside_port), random, portp);
    if (address && !__atomic_load_n(&address->open, __ATOMIC_ACQUIRE)) {
        nat64_give_port(nat64, address, proto, *portp);
        address = NULL;
    }
    return address;
}

struct nat64_address *
nat64_binding_take_port(const struct nat64_make *make,
                        const struct nat64_tuple *t, uint16_t *portp,
                        enum xlat_drop *drop)
{
    /* A dry run takes no blocks: any port stands for that of a new one. */
    if (make->view->nat64->shape.block_words && !make->dry_run) {
        return nat64_block_take_port(make, t, portp, drop);
    }
    *drop = XLAT_DROP_NO_PORT;
    return take_any_port(make, t, portp);
}

void
nat64_give_port(struct nat64 *nat64, struct nat64_address *address,
                enum nat64_proto proto, uint16_t port)
{
    nat64_ports_give(&address->ports[proto], port);
    nat64_block_clean(nat64, address, port);
}

/* Inserts 'b' into the indexes.  Returns false if they have no room. */
static bool
index_binding(struct nat64 *nat64, const struct nat64_binding *b)
{
    uint32_t i = b - nat64->bindings;
    uint64_t inside = hash_bib_inside(nat64, &b->inside, b->tenant,
                                      b->inside_port, b->sort);
    uint64_t outside = hash_bib_outside(nat64, nat64_binding_ip(nat64, b),
                                        b->outside_port, b->sort);

    if (!nat64_index_insert(&nat64->bib_by_inside, inside, i)) {
        return false;
    }
    if (!nat64_index_insert(&nat64->bib_by_outside, outside, i)) {
        nat64_index_remove(&nat64->bib_by_inside, inside, i);
        return false;
    }
    return true;
}

static void
log_binding(struct nat64 *nat64, enum nat64_event_kind kind,
            const struct nat64_binding *b)
{
    if (nat64_logs(nat64, XLAT_LOG_BINDINGS)) {
        struct nat64_tuple t = nat64_binding_tuple(nat64, b);

        nat64_log_tuple(nat64, kind, &t);
    }
}

struct nat64_binding *
nat64_binding_add(const struct nat64_make *make, const struct nat64_tuple *t,
                  uint8_t flags, enum xlat_drop *drop)
{
    struct nat64_address *address;
    struct nat64_binding *b;
    uint16_t port;

    address = nat64_binding_take_port(make, t, &port, drop);
    if (!address) {
        return NULL;
    }
    b = nat64_binding_add_with(make->view->nat64, t, address, port, flags);
    if (!b) {
        nat64_give_port(make->view->nat64, address, nat64_sort_proto(t->sort),
                        port);
        *drop = XLAT_DROP_TABLE_FULL;
    }
    return b;
}

struct nat64_binding *
nat64_binding_add_with(struct nat64 *nat64, const struct nat64_tuple *t,
                       const struct nat64_address *address, uint16_t port,
                       uint8_t flags)
{
    uint32_t i = nat64_binding_alloc(nat64);
    struct nat64_binding *b;

    if (i == NAT64_NONE) {
        return NULL;
    }
    b = &nat64->bindings[i];
    b->inside = t->inside;
    b->tenant = t->tenant;
    b->sessions = NAT64_NONE;
    b->inside_port = t->inside_port;
    b->outside_port = htobe16(port);
    b->place = address->place;
    b->sort = t->sort;
    if (!(flags & NAT64_BINDING_PRIVATE) && !index_binding(nat64, b)) {
        nat64_binding_free(nat64, i);
        return NULL;
    }
    nat64_set_flags(b, NAT64_BINDING_LIVE | flags);
    __atomic_fetch_add(&nat64->n_bindings, 1, __ATOMIC_RELAXED);
    log_binding(nat64, NAT64_EVENT_BINDING_ADD, b);
    return b;
}

/* Has the subscriber of 'b' count it no more. */
static void
uncount(struct nat64 *nat64, const struct nat64_binding *b)
{
    if (nat64_flags(b) & NAT64_BINDING_COUNTED) {
        struct nat64_tuple t = nat64_binding_tuple(nat64, b);

        nat64_leave(nat64, &t, false, true);
    }
}

void
nat64_binding_set_static(struct nat64 *nat64, struct nat64_binding *b,
                         bool is_static)
{
    struct nat64_address *a = nat64->places.addresses[b->place];
    uint8_t flags = nat64_flags(b);

    if (is_static == !!(flags & NAT64_BINDING_STATIC)) {
        return;
    } else if (!is_static) {
        nat64_block_add_static(nat64, a, be16toh(b->outside_port), -1);
        nat64_set_flags(b, flags & ~NAT64_BINDING_STATIC);
    } else {
        /* Limits do not apply to it any more. */
        uncount(nat64, b);
        nat64_set_flags(b, (flags & ~NAT64_BINDING_COUNTED)
                           | NAT64_BINDING_STATIC);
        nat64_block_add_static(nat64, a, be16toh(b->outside_port), 1);
    }
}

void
nat64_binding_remove(struct nat64 *nat64, struct nat64_binding *b)
{
    uint32_t i = b - nat64->bindings;
    uint8_t flags = nat64_flags(b);

    if (!(flags & NAT64_BINDING_PRIVATE)) {
        nat64_index_remove(&nat64->bib_by_inside,
                           hash_bib_inside(nat64, &b->inside, b->tenant,
                                           b->inside_port, b->sort), i);
        nat64_index_remove(&nat64->bib_by_outside,
                           hash_bib_outside(nat64, nat64_binding_ip(nat64, b),
                                            b->outside_port, b->sort), i);
    }
    log_binding(nat64, NAT64_EVENT_BINDING_DEL, b);
    uncount(nat64, b);
    nat64_set_flags(b, flags & NAT64_BINDING_FOREIGN);
    __atomic_fetch_sub(&nat64->n_bindings, 1, __ATOMIC_RELAXED);
}
