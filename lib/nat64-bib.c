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

/* Returns a number that depends on the host alone, for pairing. */
static uint64_t
host_hash(const struct nat64 *nat64, const struct nat64_tuple *t)
{
    return nat64_index_hash_4(&nat64->bib_by_inside, t->inside.u64[0],
                              t->inside.u64[1], t->tenant, 0);
}

struct nat64_address *
nat64_binding_take_port(const struct nat64_make *make,
                        const struct nat64_tuple *t, uint16_t *portp)
{
    const struct nat64 *nat64 = make->view->nat64;
    enum nat64_proto proto = nat64_sort_proto(t->sort);
    uint64_t random = nat64_index_hash_2(&nat64->by_inside, make->random,
                                         make->tick);
    struct nat64_address *address;

    address = nat64_pool_take(&make->view->pool, proto, host_hash(nat64, t),
                              be16toh(t->inside_port), random, portp);
    if (address && !__atomic_load_n(&address->open, __ATOMIC_ACQUIRE)) {
        nat64_ports_give(&address->ports[proto], *portp);
        address = NULL;
    }
    return address;
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

struct nat64_binding *
nat64_binding_add(const struct nat64_make *make, const struct nat64_tuple *t,
            enum xlat_drop *drop)
{
    struct nat64 *nat64 = make->view->nat64;
    bool is_private = make->set->mapping == XLAT_MAPPING_PER_FLOW;
    enum nat64_proto proto = nat64_sort_proto(t->sort);
    struct nat64_address *address;
    struct nat64_binding *b;
    uint16_t port;
    uint32_t i;

    address = nat64_binding_take_port(make, t, &port);
    if (!address) {
        *drop = XLAT_DROP_NO_PORT;
        return NULL;
    }
    i = nat64_binding_alloc(nat64);
    if (i == NAT64_NONE) {
        nat64_ports_give(&address->ports[proto], port);
        *drop = XLAT_DROP_TABLE_FULL;
        return NULL;
    }
    b = &nat64->bindings[i];
    *b = (struct nat64_binding) {
        .inside = t->inside,
        .tenant = t->tenant,
        .sessions = NAT64_NONE,
        .inside_port = t->inside_port,
        .outside_port = htobe16(port),
        .place = address->place,
        .sort = t->sort,
        .flags = NAT64_BINDING_LIVE
                 | (is_private ? NAT64_BINDING_PRIVATE : 0),
    };
    if (!is_private && !index_binding(nat64, b)) {
        nat64_ports_give(&address->ports[proto], port);
        nat64_binding_free(nat64, i);
        *drop = XLAT_DROP_TABLE_FULL;
        return NULL;
    }
    __atomic_fetch_add(&nat64->n_bindings, 1, __ATOMIC_RELAXED);
    return b;
}

void
nat64_binding_remove(struct nat64 *nat64, struct nat64_binding *b)
{
    uint32_t i = b - nat64->bindings;

    if (!(b->flags & NAT64_BINDING_PRIVATE)) {
        nat64_index_remove(&nat64->bib_by_inside,
                           hash_bib_inside(nat64, &b->inside, b->tenant,
                                           b->inside_port, b->sort), i);
        nat64_index_remove(&nat64->bib_by_outside,
                           hash_bib_outside(nat64, nat64_binding_ip(nat64, b),
                                            b->outside_port, b->sort), i);
    }
    b->flags = 0;
    __atomic_fetch_sub(&nat64->n_bindings, 1, __ATOMIC_RELAXED);
}
