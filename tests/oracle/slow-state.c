/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Bindings and sessions of the slow stateful translator: their beginning, what
 * packets do to them, their end. */

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "oracle-packet.h"
#include "slow-nat64.h"

void *
slow_alloc(size_t size)
{
    void *p = calloc(1, size);

    if (!p) {
        abort();
    }
    return p;
}

/* ------------------------------------------------------------------------
 * Time.
 * ------------------------------------------------------------------------ */

const char *
slow_state_name(enum slow_state state)
{
    static const char *const names[] = {
        [SLOW_STATELESS] = "",
        [SLOW_V4_INIT] = "V4 INIT",
        [SLOW_V6_INIT] = "V6 INIT",
        [SLOW_ESTABLISHED] = "ESTABLISHED",
        [SLOW_V4_FIN] = "V4 FIN RCV",
        [SLOW_V6_FIN] = "V6 FIN RCV",
        [SLOW_BOTH_FIN] = "V4 FIN + V6 FIN RCV",
        [SLOW_TRANS] = "TRANS",
    };

    return names[state];
}

/* RFC 6146, 4: how long a session lives, in ticks. */
static uint64_t
lifetime(const struct slow_nat64 *n, const struct slow_session *s)
{
    const struct slow_conf *conf = &n->conf;
    uint64_t seconds[SLOW_N_STATES] = {
        [SLOW_STATELESS] = (s->t.proto == IPPROTO_UDP ? conf->udp_s
                            : conf->icmp_s),
        [SLOW_V4_INIT] = conf->syn_s,
        [SLOW_V6_INIT] = conf->transitory_s,
        [SLOW_ESTABLISHED] = conf->established_s,
        [SLOW_V4_FIN] = conf->established_s,
        [SLOW_V6_FIN] = conf->established_s,
        [SLOW_BOTH_FIN] = conf->transitory_s,
        [SLOW_TRANS] = conf->transitory_s,
    };

    return (seconds[s->state] * 1000000 >> 16) + 1;
}

bool
slow_is_alive(const struct slow_nat64 *n, const struct slow_session *s)
{
    return n->tick - s->last <= lifetime(n, s);
}

uint64_t
slow_ticks_left(const struct slow_nat64 *n, const struct slow_session *s)
{
    return s->last + lifetime(n, s) - n->tick;
}

void
slow_set_time(struct slow_nat64 *n, uint64_t now_us)
{
    n->tick = now_us >> 16;
}

/* ------------------------------------------------------------------------
 * What packets do.
 * ------------------------------------------------------------------------ */

/* RFC 6146, 3.5.2.2: returns the state to which a TCP packet with 'flags'
 * brings a session, from inside if 'v6', and whether its time begins anew. */
static enum slow_state
next_state(enum slow_state state, bool v6, uint8_t flags, bool *refresh)
{
    bool rst = flags & 4;
    bool syn = !rst && flags & 2;
    bool fin = !rst && !syn && flags & 1;

    *refresh = true;
    switch (state) {
    case SLOW_V4_INIT:
        *refresh = syn && v6;
        return syn && v6 ? SLOW_ESTABLISHED : state;
    case SLOW_V6_INIT:
        *refresh = syn;
        return syn && !v6 ? SLOW_ESTABLISHED : state;
    case SLOW_ESTABLISHED:
        return (fin && v6 ? SLOW_V6_FIN : fin ? SLOW_V4_FIN
                : rst ? SLOW_TRANS : state);
    case SLOW_V4_FIN:
        return fin && v6 ? SLOW_BOTH_FIN : state;
    case SLOW_V6_FIN:
        return fin && !v6 ? SLOW_BOTH_FIN : state;
    case SLOW_BOTH_FIN:
        *refresh = syn;
        return syn && v6 ? SLOW_V6_INIT : syn ? SLOW_V4_INIT : state;
    case SLOW_TRANS:
        *refresh = !rst;
        return rst ? state : SLOW_ESTABLISHED;
    default:
        return state;
    }
}

void
slow_touch(const struct slow_nat64 *n, struct slow_session *s, bool out,
           const struct slow_ip *ip)
{
    bool refresh = s->state == SLOW_STATELESS;

    if (!refresh && !ip->ofs) {
        s->state = next_state(s->state, out, ip->flags, &refresh);
    }
    s->last = refresh ? n->tick : s->last;
    s->packets[!out]++;
    s->bytes[!out] += slow_ip_len(ip);
}

/* ------------------------------------------------------------------------
 * Finding.
 * ------------------------------------------------------------------------ */

static bool
same_prefix(const struct orc_prefix6 *a, const struct orc_prefix6 *b)
{
    return a->len == b->len && !memcmp(a->addr, b->addr, 16);
}

/* Returns whether 'a' and 'b' have the same inside, or outside, address and
 * port. */
static bool
same_end(bool inside, const struct slow_tuple *a, const struct slow_tuple *b)
{
    if (inside) {
        return (a->proto == b->proto && a->tenant == b->tenant
                && a->inside_port == b->inside_port
                && !memcmp(a->inside, b->inside, 16)
                && same_prefix(&a->prefix, &b->prefix));
    }
    return (a->proto == b->proto && a->outside_port == b->outside_port
            && a->outside == b->outside);
}

struct slow_session *
slow_find_session(const struct slow_nat64 *n, bool out,
                  const struct slow_tuple *t)
{
    for (struct slow_session *s = n->sessions; s; s = s->next) {
        if (s->t.remote == t->remote && s->t.remote_port == t->remote_port
            && same_end(out, &s->t, t)) {
            return s;
        }
    }
    return NULL;
}

static struct slow_binding *
find_binding(const struct slow_nat64 *n, bool out, const struct slow_tuple *t)
{
    for (struct slow_binding *b = n->bindings; b; b = b->next) {
        if (!b->is_private && same_end(out, &b->t, t)) {
            return b;
        }
    }
    return NULL;
}

/* Returns whether a session of 'b' has time left; with 'remote', only one with
 * that host counts. */
static bool
has_live_session(const struct slow_nat64 *n, const struct slow_binding *b,
                 const uint32_t *remote)
{
    for (const struct slow_session *s = n->sessions; s; s = s->next) {
        if (s->b == b && slow_is_alive(n, s)
            && (!remote || s->t.remote == *remote)) {
            return true;
        }
    }
    return false;
}

/* Completes 't', which has its remote end, by the binding 'b'. */
static void
complete(struct slow_tuple *t, const struct slow_binding *b)
{
    uint32_t remote = t->remote;
    uint16_t remote_port = t->remote_port;

    *t = b->t;
    t->remote = remote;
    t->remote_port = remote_port;
}

/* ------------------------------------------------------------------------
 * Making.
 * ------------------------------------------------------------------------ */

static enum xlat_drop
make_binding(struct slow_nat64 *n, const struct slow_tuple *t,
             struct slow_binding **bp)
{
    struct slow_binding *b = slow_alloc(sizeof *b);
    enum xlat_drop drop;

    b->t = *t;
    b->is_private = n->conf.per_flow;
    drop = slow_take_port(n, &b->t);
    if (drop != SLOW_OK || n->wrong[0]) {
        free(b);
        return drop == SLOW_OK ? XLAT_DROP_NO_PORT : drop;
    }
    b->range = n->conf.pool4[slow_find_range(&n->conf, &b->t)];
    b->next = n->bindings;
    n->bindings = b;
    n->n_bindings++;
    *bp = b;
    return SLOW_OK;
}

/* Begins the session 's' (RFC 6146, 3.5.2.2: CLOSED), or lets it live again,
 * by a packet from inside if 'out'. */
static void
begin(const struct slow_nat64 *n, struct slow_session *s, bool out)
{
    s->state = (s->t.proto != IPPROTO_TCP ? SLOW_STATELESS
                : out ? SLOW_V6_INIT : SLOW_V4_INIT);
    s->last = n->tick;
}

/* Returns why 'b', which may be NULL, lets nothing of the remote end of 't'
 * in, or SLOW_OK. */
static enum xlat_drop
filter(const struct slow_nat64 *n, const struct slow_binding *b,
       const struct slow_tuple *t)
{
    return (!b || !has_live_session(n, b, NULL) ? XLAT_DROP_NO_BINDING
            : n->conf.address_dependent && !has_live_session(n, b, &t->remote)
            ? XLAT_DROP_FILTERED : SLOW_OK);
}

/* Makes the session of 't', or lets '*sp' live again. */
static enum xlat_drop
make_session(struct slow_nat64 *n, bool out, struct slow_tuple *t,
             struct slow_session **sp)
{
    bool full = n->n_sessions + n->n_limbo >= n->conf.max_sessions;
    struct slow_binding *b = out && n->conf.per_flow ? NULL
                             : find_binding(n, out, t);
    enum xlat_drop drop = out ? SLOW_OK : filter(n, b, t);

    if (drop == SLOW_OK && !*sp) {
        drop = (full ? XLAT_DROP_TABLE_FULL
                : !b ? make_binding(n, t, &b) : SLOW_OK);
        if (drop == SLOW_OK) {
            complete(t, b);
            *sp = slow_alloc(sizeof **sp);
            (*sp)->t = *t;
            (*sp)->b = b;
            (*sp)->next = n->sessions;
            n->sessions = *sp;
            n->n_sessions++;
        }
    }
    if (drop == SLOW_OK) {
        begin(n, *sp, out);
    }
    return drop;
}

enum xlat_drop
slow_find_or_make(struct slow_nat64 *n, bool out, const struct slow_ip *ip,
                  struct slow_tuple *t, struct slow_session **sp)
{
    struct slow_session *s = slow_find_session(n, out, t);
    bool begins = ip->proto != IPPROTO_TCP || (ip->flags & 6) == 2;
    enum xlat_drop drop = SLOW_OK;

    if (s && slow_is_alive(n, s)) {
        *t = s->t;
    } else if (begins) {
        drop = make_session(n, out, t, &s);
        if (drop == SLOW_OK) {
            *t = s->t;
        }
    } else {
        /* RFC 6146, 3.5.2.2: it goes by its binding, if there is one. */
        const struct slow_binding *b = find_binding(n, out, t);

        s = NULL;
        drop = !out ? filter(n, b, t) : b ? SLOW_OK : XLAT_DROP_NO_SESSION;
        if (drop == SLOW_OK) {
            complete(t, b);
        }
    }
    *sp = s;
    return drop;
}

/* ------------------------------------------------------------------------
 * The end.
 * ------------------------------------------------------------------------ */

/* Nobody can read any more what has ended. */
static void
release(struct slow_nat64 *n)
{
    if (!n->holding) {
        slow_release_ports(n);
        n->n_limbo = 0;
    }
}

void
slow_hold(struct slow_nat64 *n, bool holding)
{
    n->holding = holding;
    release(n);
}

/* Removes 'b' if it has no session. */
static void
end_binding(struct slow_nat64 *n, struct slow_binding *b)
{
    struct slow_binding **bp = &n->bindings;

    for (const struct slow_session *s = n->sessions; s; s = s->next) {
        if (s->b == b) {
            return;
        }
    }
    while (*bp != b) {
        bp = &(*bp)->next;
    }
    *bp = b->next;
    n->n_bindings--;
    slow_end_port(n, &b->t);
    free(b);
}

/* Removes the sessions for which 'ends' returns true. */
static void
end_those(struct slow_nat64 *n, bool (*ends)(const struct slow_nat64 *,
                                             const struct slow_session *))
{
    struct slow_session **sp = &n->sessions;

    while (*sp) {
        struct slow_session *s = *sp;

        if (ends(n, s)) {
            *sp = s->next;
            n->n_sessions--;
            n->n_limbo++;
            end_binding(n, s->b);
            free(s);
        } else {
            sp = &s->next;
        }
    }
    release(n);
}

static bool
has_no_time(const struct slow_nat64 *n, const struct slow_session *s)
{
    return !slow_is_alive(n, s);
}

void
slow_run(struct slow_nat64 *n)
{
    end_those(n, has_no_time);
    slow_drop_held(n, false);
    slow_free_ports(n);
}

static bool
is_any(const struct slow_nat64 *n, const struct slow_session *s)
{
    (void) n;
    (void) s;
    return true;
}

void
slow_flush(struct slow_nat64 *n)
{
    end_those(n, is_any);
    slow_drop_held(n, true);
}

/* Returns whether 's' has a host that is not inside any more. */
static bool
is_outside(const struct slow_nat64 *n, const struct slow_session *s)
{
    bool is_in = false;

    if (n->conf.inside_family == 6) {
        for (unsigned int i = 0; i < n->conf.n_pool6; i++) {
            is_in |= orc_in6(&n->conf.pool6[i], s->t.inside);
        }
        return is_in;
    }
    for (unsigned int i = 0; i < n->conf.n_inside4; i++) {
        is_in |= orc_in4(&n->conf.inside4[i], orc_get32(s->t.inside));
    }
    return !is_in;
}

static bool
is_not_in_conf(const struct slow_nat64 *n, const struct slow_session *s)
{
    bool has_prefix = n->conf.inside_family == 4;
    int k = slow_find_range(&n->conf, &s->t);

    for (unsigned int i = 0; i < n->conf.n_pool6; i++) {
        has_prefix |= same_prefix(&n->conf.pool6[i], &s->t.prefix);
    }
    return (!has_prefix || k < 0 || is_outside(n, s)
            || memcmp(&n->conf.pool4[k], &s->b->range, sizeof s->b->range));
}

void
slow_fit(struct slow_nat64 *n, const struct slow_conf *conf)
{
    struct slow_conf old = n->conf;

    n->conf = *conf;
    end_those(n, is_not_in_conf);
    n->conf = old;
    slow_change_pool(n, conf);
    n->conf = *conf;
}

struct slow_nat64 *
slow_create(const struct slow_conf *conf, slow_learn *learn, void *aux)
{
    struct slow_nat64 *n = slow_alloc(sizeof *n);

    n->learn = learn;
    n->aux = aux;
    slow_fit(n, conf);
    return n;
}
