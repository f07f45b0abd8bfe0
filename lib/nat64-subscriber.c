/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "nat64-subscriber.h"

#include <errno.h>
#include <stdlib.h>

#include "nat64-private.h"
#include "xlat-private.h"
#include "xlat-tokens.h"

int
nat64_subscribers_init(struct nat64_subscribers *subs, uint32_t max,
                       uint64_t seed)
{
    subs->max = max;
    subs->free = NAT64_NONE;
    subs->all = xlat_big_alloc(max * sizeof *subs->all);
    return subs->all ? nat64_index_init(&subs->index, max, seed) : ENOMEM;
}

void
nat64_subscribers_destroy(struct nat64_subscribers *subs)
{
    nat64_index_destroy(&subs->index);
    free(subs->all);
}

uint64_t
nat64_subscribers_bytes(const struct nat64_subscribers *subs)
{
    return (subs->max * (uint64_t) sizeof *subs->all
            + nat64_index_bytes(subs->max));
}

/* ------------------------------------------------------------------------
 * Finding and forgetting them.
 * ------------------------------------------------------------------------ */

/* What a subscriber is known by. */
struct key {
    union pk_addr prefix;
    uint32_t tenant;
};

static struct key
key_of(const struct nat64 *nat64, const struct nat64_tuple *t)
{
    struct key key = { .prefix = t->inside, .tenant = t->tenant };

    if (nat64->shape.inside_family == 6) {
        struct xlat_ip6 mask = xlat_mask6(nat64->shape.subscriber_prefix6);

        key.prefix.u64[0] &= htobe64(mask.hi);
        key.prefix.u64[1] &= htobe64(mask.lo);
    }
    return key;
}

static uint64_t
hash_of(const struct nat64_subscribers *subs, const struct key *key)
{
    return nat64_index_hash_4(&subs->index, key->prefix.u64[0],
                              key->prefix.u64[1], key->tenant, 0);
}

static bool
is_equal(uint32_t number, const void *key_, const void *all_)
{
    const struct nat64_subscriber *all = all_;
    const struct nat64_subscriber *s = &all[number];
    const struct key *key = key_;

    return (s->prefix.u64[0] == key->prefix.u64[0]
            && s->prefix.u64[1] == key->prefix.u64[1]
            && s->tenant == key->tenant);
}

uint64_t
nat64_subscriber_hash(const struct nat64 *nat64, const struct nat64_tuple *t)
{
    struct key key = key_of(nat64, t);

    return hash_of(&nat64->subscribers, &key);
}

static void
lock_list(struct nat64_subscribers *subs)
{
    while (__atomic_exchange_n(&subs->lock, 1, __ATOMIC_ACQUIRE)) {
        /* A few instructions long. */
    }
}

static void
unlock_list(struct nat64_subscribers *subs)
{
    __atomic_store_n(&subs->lock, 0, __ATOMIC_RELEASE);
}

static uint32_t
alloc(struct nat64_subscribers *subs)
{
    uint32_t i;

    lock_list(subs);
    i = subs->free;
    if (i != NAT64_NONE) {
        subs->free = subs->all[i].next_free;
    } else if (subs->n_touched < subs->max) {
        i = subs->n_touched++;
    }
    unlock_list(subs);
    return i;
}

static void
give_back(struct nat64_subscribers *subs, uint32_t i)
{
    lock_list(subs);
    subs->all[i].next_free = subs->free;
    subs->free = i;
    unlock_list(subs);
}

static struct nat64_subscriber *
find(struct nat64_subscribers *subs, const struct key *key)
{
    uint32_t i = nat64_index_find(&subs->index, hash_of(subs, key), is_equal,
                                  key, subs->all);

    return i == NAT64_NONE ? NULL : &subs->all[i];
}

/* Finds the subscriber of 'key', or makes it.  Returns NULL if there is no
 * room. */
static struct nat64_subscriber *
find_or_add(struct nat64_subscribers *subs, const struct key *key)
{
    struct nat64_subscriber *s = find(subs, key);
    uint32_t i;

    if (s) {
        return s;
    }
    i = alloc(subs);
    if (i == NAT64_NONE) {
        return NULL;
    }
    s = &subs->all[i];
    *s = (struct nat64_subscriber) {
        .prefix = key->prefix,
        .tenant = key->tenant,
    };
    if (!nat64_index_insert(&subs->index, hash_of(subs, key), i)) {
        give_back(subs, i);
        return NULL;
    }
    __atomic_fetch_add(&subs->n, 1, __ATOMIC_RELAXED);
    return s;
}

/* Forgets 's' unless it has something. */
static void
clean(struct nat64_subscribers *subs, struct nat64_subscriber *s,
      uint64_t hash)
{
    if (s->n_sessions || s->n_bindings) {
        return;
    }
    for (int i = 0; i < NAT64_MAX_BLOCKS; i++) {
        if (s->blocks[i].n_words) {
            return;
        }
    }
    nat64_index_remove(&subs->index, hash, s - subs->all);
    give_back(subs, s - subs->all);
    __atomic_fetch_sub(&subs->n, 1, __ATOMIC_RELAXED);
}

/* ------------------------------------------------------------------------
 * Limits.
 * ------------------------------------------------------------------------ */

/* Returns the reason why 's' may not have one more session, with a binding if
 * 'binding', or XLAT_N_DROPS. */
static enum xlat_drop
check(const struct nat64_make *make, struct nat64_subscriber *s, bool binding)
{
    const struct xlat_settings *set = make->set;

    if (set->subscriber_sessions
        && s->n_sessions >= set->subscriber_sessions) {
        return XLAT_DROP_SUBSCRIBER_SESSIONS;
    } else if (binding && set->subscriber_ports
               && s->n_bindings >= set->subscriber_ports) {
        return XLAT_DROP_SUBSCRIBER_PORTS;
    } else if (set->subscriber_rate
               && !xlat_tokens_take(&s->tat_ns, set->subscriber_rate,
                                    set->subscriber_rate, make->now_us,
                                    make->dry_run)) {
        return XLAT_DROP_SUBSCRIBER_RATE;
    }
    return XLAT_OK;
}

static enum xlat_drop
admit_to_subscriber(const struct nat64_make *make, const struct nat64_tuple *t,
                    bool binding)
{
    struct nat64_subscribers *subs = &make->view->nat64->subscribers;
    struct key key = key_of(make->view->nat64, t);
    uint64_t hash = hash_of(subs, &key);
    struct nat64_subscriber *s;
    enum xlat_drop drop = XLAT_DROP_SUBSCRIBERS;

    nat64_index_lock(&subs->index, hash);
    s = find_or_add(subs, &key);
    if (s) {
        drop = check(make, s, binding);
        if (drop == XLAT_OK && !make->dry_run) {
            s->n_sessions++;
            s->n_bindings += binding;
        }
        clean(subs, s, hash);
    }
    nat64_index_unlock(&subs->index, hash);
    return drop;
}

/* Likewise, of the whole zone. */
static enum xlat_drop
admit_to_zone(const struct nat64_make *make, bool binding)
{
    struct nat64 *nat64 = make->view->nat64;
    const struct xlat_settings *set = make->set;

    if (binding && set->max_ports
        && __atomic_load_n(&nat64->n_bindings, __ATOMIC_RELAXED)
           >= set->max_ports) {
        return XLAT_DROP_MAX_PORTS;
    } else if (set->session_rate
               && !xlat_tokens_take(&nat64->tat_ns, set->session_rate,
                                    set->session_rate, make->now_us,
                                    make->dry_run)) {
        return XLAT_DROP_SESSION_RATE;
    }
    return XLAT_OK;
}

enum xlat_drop
nat64_admit(const struct nat64_make *make, const struct nat64_tuple *t,
            bool binding, bool *counted)
{
    const struct xlat_settings *set = make->set;
    bool limited = (set->subscriber_sessions || set->subscriber_ports
                    || set->subscriber_rate);
    enum xlat_drop drop = XLAT_OK;

    *counted = false;
    if (limited) {
        drop = admit_to_subscriber(make, t, binding);
        *counted = drop == XLAT_OK && !make->dry_run;
    }
    if (drop == XLAT_OK) {
        drop = admit_to_zone(make, binding);
        if (drop != XLAT_OK && *counted) {
            nat64_leave(make->view->nat64, t, true, binding);
            *counted = false;
        }
    }
    return drop;
}

void
nat64_leave(struct nat64 *nat64, const struct nat64_tuple *t, bool session,
            bool binding)
{
    struct nat64_subscribers *subs = &nat64->subscribers;
    struct key key = key_of(nat64, t);
    uint64_t hash = hash_of(subs, &key);
    struct nat64_subscriber *s;

    if (!session && !binding) {
        return;
    }
    nat64_index_lock(&subs->index, hash);
    s = find(subs, &key);
    s->n_sessions -= session;
    s->n_bindings -= binding;
    clean(subs, s, hash);
    nat64_index_unlock(&subs->index, hash);
}

/* ------------------------------------------------------------------------
 * Blocks of ports (RFC 7422; RFC 6888, REQ-14).
 * ------------------------------------------------------------------------ */

/* Takes a block of 'a' with a port for 't', of the subscriber 'owner'.
 * Returns false if there is none. */
static bool
take_block(struct nat64 *nat64, struct nat64_address *a,
           const struct nat64_tuple *t, struct nat64_block *block,
           uint32_t owner, uint64_t random)
{
    uint16_t n_words = nat64->shape.block_words;
    int i = nat64_pool_take_block(&nat64->places, a,
                                  nat64_sort_proto(t->sort), random);

    if (i < 0) {
        return false;
    }
    *block = (struct nat64_block) { a->place, i * n_words, n_words };
    __atomic_store_n(&a->uses[i].owner, owner + 1, __ATOMIC_RELEASE);
    if (nat64_logs(nat64, XLAT_LOG_BLOCKS)) {
        nat64_log_block(nat64, NAT64_EVENT_BLOCK_ADD,
                        &nat64->subscribers.all[owner], block);
    }
    return true;
}

/* Gives 's' one more block, of an address where it has some if possible.
 * Returns it, or NULL with '*drop' set. */
static const struct nat64_block *
add_block(const struct nat64_make *make, const struct nat64_tuple *t,
          struct nat64_subscriber *s, uint64_t hash, enum xlat_drop *drop)
{
    const struct nat64_pool *pool = &make->view->pool;
    struct nat64 *nat64 = make->view->nat64;
    struct nat64_block *block = NULL;
    size_t n = 0;
    uint32_t owner = s - nat64->subscribers.all;

    for (int i = 0; i < NAT64_MAX_BLOCKS; i++) {
        n += s->blocks[i].n_words != 0;
        block = s->blocks[i].n_words ? block : &s->blocks[i];
    }
    *drop = XLAT_DROP_SUBSCRIBER_PORTS;
    if (!block || n >= make->set->port_blocks) {
        return NULL;
    }
    /* The same address follows from the hash as long as it has blocks. */
    for (struct nat64_walk w = nat64_walk_begin(pool, hash);
         w.address; nat64_walk_next(pool, &w)) {
        if (__atomic_load_n(&w.address->open, __ATOMIC_ACQUIRE)
            && take_block(nat64, w.address, t, block, owner, make->random)) {
            return block;
        }
    }
    *drop = XLAT_DROP_NO_PORT;
    return NULL;
}

/* Takes block 'i' of 'a' from 's', which has it. */
static void
give_block(struct nat64 *nat64, struct nat64_subscriber *s,
           struct nat64_address *a, uint32_t i, uint16_t n_words)
{
    for (int j = 0; j < NAT64_MAX_BLOCKS; j++) {
        struct nat64_block *block = &s->blocks[j];

        if (block->n_words && block->place == a->place
            && block->first_word == i * n_words) {
            if (nat64_logs(nat64, XLAT_LOG_BLOCKS)) {
                nat64_log_block(nat64, NAT64_EVENT_BLOCK_DEL, s, block);
            }
            block->n_words = 0;
        }
    }
    __atomic_store_n(&a->uses[i].owner, 0, __ATOMIC_RELEASE);
    nat64_pool_give_block(a, i);
}

/* Takes a port of 'block'.  Returns its address, or NULL. */
static struct nat64_address *
take_in_block(const struct nat64 *nat64, const struct nat64_block *block,
              const struct nat64_tuple *t, uint64_t random, uint16_t *portp)
{
    struct nat64_address *a = nat64->places.addresses[block->place];
    int port = -1;

    if (__atomic_load_n(&a->open, __ATOMIC_ACQUIRE)) {
        port = nat64_ports_take_in(&a->ports[nat64_sort_proto(t->sort)],
                                   block->first_word, block->n_words,
                                   be16toh(t->inside_port), random);
    }
    if (port < 0) {
        return NULL;
    }
    *portp = port;
    return a;
}

static struct nat64_address *
take_port(const struct nat64_make *make, const struct nat64_tuple *t,
          struct nat64_subscriber *s, uint64_t hash, uint16_t *portp,
          enum xlat_drop *drop)
{
    struct nat64 *nat64 = make->view->nat64;
    const struct nat64_block *block;
    struct nat64_address *a;

    for (int i = 0; i < NAT64_MAX_BLOCKS; i++) {
        a = s->blocks[i].n_words
            ? take_in_block(nat64, &s->blocks[i], t, make->random, portp)
            : NULL;
        if (a) {
            return a;
        }
    }
    block = add_block(make, t, s, hash, drop);
    a = block ? take_in_block(nat64, block, t, make->random, portp) : NULL;
    if (block && !a) {
        /* The configuration has just taken the last ones. */
        give_block(nat64, s, nat64->places.addresses[block->place],
                   block->first_word / block->n_words, block->n_words);
        *drop = XLAT_DROP_NO_PORT;
    }
    return a;
}

struct nat64_address *
nat64_block_take_port(const struct nat64_make *make,
                      const struct nat64_tuple *t, uint16_t *portp,
                      enum xlat_drop *drop)
{
    struct nat64_subscribers *subs = &make->view->nat64->subscribers;
    struct key key = key_of(make->view->nat64, t);
    uint64_t hash = hash_of(subs, &key);
    struct nat64_address *a = NULL;
    struct nat64_subscriber *s;

    *drop = XLAT_DROP_SUBSCRIBERS;
    nat64_index_lock(&subs->index, hash);
    s = find_or_add(subs, &key);
    if (s) {
        a = take_port(make, t, s, hash, portp, drop);
        clean(subs, s, hash);
    }
    nat64_index_unlock(&subs->index, hash);
    return a;
}

/* Reads the key of 's', which may become another subscriber meanwhile: then it
 * is of no use. */
static struct key __attribute__((noinline, no_sanitize("thread")))
read_key(const struct nat64_subscriber *s)
{
    return (struct key) { .prefix = s->prefix, .tenant = s->tenant };
}

void
nat64_block_add_static(struct nat64 *nat64, struct nat64_address *a,
                       uint16_t port, int n)
{
    if (a->uses) {
        uint32_t i = port / NAT64_PORTS_BLOCK / nat64->shape.block_words;

        __atomic_fetch_add(&a->uses[i].n_static, n, __ATOMIC_SEQ_CST);
        nat64_block_clean(nat64, a, port);
    }
}

void
nat64_block_clean(struct nat64 *nat64, struct nat64_address *a, uint16_t port)
{
    struct nat64_subscribers *subs = &nat64->subscribers;
    uint16_t n_words = nat64->shape.block_words;
    struct nat64_subscriber *s;
    uint32_t i, owner;
    struct key key;
    uint64_t hash;

    if (!a->uses) {
        return;
    }
    i = port / NAT64_PORTS_BLOCK / n_words;
    owner = __atomic_load_n(&a->uses[i].owner, __ATOMIC_ACQUIRE);
    if (!owner || !nat64_pool_block_is_unused(&nat64->places, a, i, n_words)) {
        return;
    }
    s = &subs->all[owner - 1];
    key = read_key(s);
    hash = hash_of(subs, &key);
    nat64_index_lock(&subs->index, hash);
    /* It may have given the block back, or have become another one. */
    if (__atomic_load_n(&a->uses[i].owner, __ATOMIC_ACQUIRE) == owner
        && find(subs, &key) == s
        && nat64_pool_block_is_unused(&nat64->places, a, i, n_words)) {
        give_block(nat64, s, a, i, n_words);
        clean(subs, s, hash);
    }
    nat64_index_unlock(&subs->index, hash);
}
