/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include <config.h>
#include "vse-origin.h"

#include <string.h>

#include "dp-packet.h"
#include "dpif.h"
#include "hash.h"
#include "odp-util.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "packets.h"
#include "random.h"
#include "util.h"

#define SLOTS 8
#define N_BUCKETS (VSE_ORIGINS / SLOTS)

/* A number is that of a slot and, above, of the origin among those that have
 * had it, 1 to 15 in turn. */
#define GENERATION_SHIFT 12
#define N_GENERATIONS 15

BUILD_ASSERT_DECL(VSE_ORIGINS == 1 << GENERATION_SHIFT);
BUILD_ASSERT_DECL(sizeof(struct vse_origin) % 4 == 0);

struct slot {
    struct vse_origin origin;
    uint32_t used_s;             /* When it was asked for, in seconds. */
    uint32_t name;               /* Hash of its port's name, 0: to be noted. */
    uint8_t generation;          /* 0: an empty slot. */
};

struct bucket {
    struct ovs_mutex mutex;
    struct slot slots[SLOTS];
};

static struct bucket buckets[N_BUCKETS];
static uint32_t seed;

/* Origins without a name. */
static atomic_count n_new = ATOMIC_COUNT_INIT(0);

/* What a thread has asked for last: most often, it is the same again. */
static __thread struct {
    struct vse_origin origin;
    uint32_t used_s;
    uint16_t number;             /* 0: none. */
} last;

static void
init(void)
{
    static struct ovsthread_once once = OVSTHREAD_ONCE_INITIALIZER;

    if (ovsthread_once_start(&once)) {
        for (size_t i = 0; i < N_BUCKETS; i++) {
            ovs_mutex_init(&buckets[i].mutex);
        }
        seed = random_uint32();
        ovsthread_once_done(&once);
    }
}

/* Removes from 'l2' what differs between packets from one host: the type and
 * the priorities.  Returns false if it is not Ethernet II with any number of
 * VLAN tags. */
static bool
normalize(uint8_t *l2, uint8_t bytes)
{
    uint8_t ofs = 2 * ETH_ADDR_LEN;

    for (; ofs + 2 < bytes; ofs += VLAN_HEADER_LEN) {
        ovs_be16 type;

        memcpy(&type, &l2[ofs], sizeof type);
        if (!eth_type_vlan(type)) {
            return false;
        }
        l2[ofs + 2] &= VLAN_VID_MASK >> 8;
    }
    memset(&l2[ofs], 0, 2);
    return ofs + 2 == bytes;
}

/* Sets '*o' to the origin of the packet of 'vp'.  Returns false if nothing can
 * be sent there later. */
static bool
read_origin(const struct vse_packet *vp, struct vse_origin *o)
{
    const struct pkt_metadata *md = &vp->packet->md;

    if (!dp_packet_is_eth(vp->packet) || vp->l2_bytes < ETH_HEADER_LEN
        || md->in_port.odp_port == ODPP_NONE
        || flow_tnl_dst_is_set(&md->tunnel)
        || (vp->l2[0] | vp->l2[ETH_ADDR_LEN]) & 1) {
        return false;
    }
    memset(o, 0, sizeof *o);
    o->port = md->in_port.odp_port;
    o->l2_bytes = vp->l2_bytes;
    memcpy(o->l2, vp->l2, vp->l2_bytes);
    return normalize(o->l2, o->l2_bytes);
}

static bool
is_same(const struct vse_origin *a, const struct vse_origin *b)
{
    return !memcmp(a, b, sizeof *a);
}

/* Empties 'slot', with its bucket locked. */
static void
forget(struct slot *slot)
{
    if (slot->origin.l2_bytes && !slot->name) {
        atomic_count_dec(&n_new);
    }
    memset(&slot->origin, 0, sizeof slot->origin);
    slot->used_s = 0;
    slot->name = 0;
}

/* Returns the slot of 'o' in 'b', which is locked; one that others have been
 * pushed out of, if it is new. */
static struct slot *
find_or_add(struct bucket *b, const struct vse_origin *o, uint32_t now_s)
    OVS_REQUIRES(b->mutex)
{
    struct slot *oldest = &b->slots[0];

    for (size_t i = 0; i < SLOTS; i++) {
        struct slot *slot = &b->slots[i];

        if (is_same(&slot->origin, o)) {
            return slot;
        }
        if (now_s - slot->used_s > now_s - oldest->used_s) {
            oldest = slot;
        }
    }
    forget(oldest);
    oldest->origin = *o;
    oldest->generation = oldest->generation % N_GENERATIONS + 1;
    atomic_count_inc(&n_new);
    return oldest;
}

static uint16_t
number_of(const struct bucket *b, const struct slot *slot)
{
    size_t i = (b - buckets) * SLOTS + (slot - b->slots);

    return slot->generation << GENERATION_SHIFT | i;
}

uint16_t
vse_origin_number(const struct vse_packet *vp, uint64_t now_us)
{
    uint32_t now_s = now_us / 1000000;
    struct vse_origin o;

    if (!read_origin(vp, &o)) {
        return 0;
    }
    if (!last.number || last.used_s != now_s || !is_same(&last.origin, &o)) {
        struct bucket *b;
        struct slot *slot;

        init();
        b = &buckets[hash_bytes(&o, sizeof o, seed) % N_BUCKETS];
        ovs_mutex_lock(&b->mutex);
        slot = find_or_add(b, &o, now_s);
        slot->used_s = now_s;
        last.number = number_of(b, slot);
        ovs_mutex_unlock(&b->mutex);
        last.origin = o;
        last.used_s = now_s;
    }
    return last.number;
}

/* Returns the hash of the name of 'port' in 'dpif', not 0, or 0 if there is no
 * such port. */
static uint32_t
name_of(const struct dpif *dpif, odp_port_t port)
{
    struct dpif_port dpif_port;
    uint32_t name;

    if (dpif_port_query_by_number(dpif, port, &dpif_port, false)) {
        return 0;
    }
    name = hash_string(dpif_port.name, seed);
    dpif_port_destroy(&dpif_port);
    return name ? name : 1;
}

/* Returns the slot of origin 'number', or NULL if it is another's by now.
 * With its bucket locked. */
static struct slot *
find(struct bucket *b, uint16_t number)
    OVS_REQUIRES(b->mutex)
{
    struct slot *slot = &b->slots[number % SLOTS];

    return (slot->generation == number >> GENERATION_SHIFT
            && slot->origin.l2_bytes ? slot : NULL);
}

static struct bucket *
bucket_of(uint16_t number)
{
    return &buckets[number % VSE_ORIGINS / SLOTS];
}

/* Forgets origin 'number', unless it is another's by now. */
static void
forget_number(uint16_t number)
{
    struct bucket *b = bucket_of(number);
    struct slot *slot;

    ovs_mutex_lock(&b->mutex);
    slot = find(b, number);
    if (slot) {
        forget(slot);
    }
    ovs_mutex_unlock(&b->mutex);
}

bool
vse_origin_find(uint16_t number, const struct dpif *dpif,
                struct vse_origin *origin)
{
    struct bucket *b = bucket_of(number);
    struct slot *slot;
    uint32_t name = 0;

    init();
    ovs_mutex_lock(&b->mutex);
    slot = find(b, number);
    if (slot) {
        *origin = slot->origin;
        name = slot->name;
    }
    ovs_mutex_unlock(&b->mutex);
    if (name && name != name_of(dpif, origin->port)) {
        forget_number(number);
        name = 0;
    }
    return name;
}

bool
vse_origin_wants_run(void)
{
    return atomic_count_get(&n_new) != 0;
}

/* Notes the name of the port of the origin in slot 'i' of 'b', if that is new.
 * Not with the bucket locked: threads that add a port wait for packet threads,
 * which wait for the bucket. */
static void
note_name(struct bucket *b, size_t i, const struct dpif *dpif)
{
    struct slot *slot = &b->slots[i];
    struct vse_origin origin;
    uint16_t number;
    uint32_t name;
    bool is_new;

    ovs_mutex_lock(&b->mutex);
    is_new = slot->origin.l2_bytes && !slot->name;
    number = number_of(b, slot);
    origin = slot->origin;
    ovs_mutex_unlock(&b->mutex);
    if (!is_new) {
        return;
    }
    name = name_of(dpif, origin.port);
    if (!name) {
        forget_number(number);
        return;
    }
    ovs_mutex_lock(&b->mutex);
    if (find(b, number) && !slot->name) {
        slot->name = name;
        atomic_count_dec(&n_new);
    }
    ovs_mutex_unlock(&b->mutex);
}

void
vse_origin_run(const struct dpif *dpif)
{
    init();
    for (size_t i = 0; i < VSE_ORIGINS; i++) {
        note_name(&buckets[i / SLOTS], i % SLOTS, dpif);
    }
}
