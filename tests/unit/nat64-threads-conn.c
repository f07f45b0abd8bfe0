/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "nat64-threads.h"

#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>

#include "nat64-private.h"
#include "oracle-packet.h"

/* Inside transport addresses, of all protocols in turn, the same for each
 * tenant; and the remote transport addresses that each of them has connections
 * with. */
#define N_TENANTS 2
#define N_HOSTS 30
#define N_GROUPS (N_HOSTS * N_TENANTS)
#define N_REMOTES 4
#define N_CONNS (N_GROUPS * N_REMOTES)

#define INSIDE_PORT 20000        /* Of the first group. */
#define REMOTE_PORT 30000        /* Of the first connection. */

/* Outside transport addresses that there may be. */
#define OUTSIDE_IP 0xc0000201u   /* 192.0.2.1. */
#define N_OUTSIDE_IPS 2
#define OUTSIDE_PORT 1984
#define N_OUTSIDE_PORTS 512

#define ROUTER 0x09ff0001u       /* Sends ICMP errors. */

#define HEADROOM 256
#define FIRST_BYTES 32           /* Of the transport of a first fragment. */
#define FRAG_BYTES 48            /* Of both. */

/* ------------------------------------------------------------------------
 * Connections.
 * ------------------------------------------------------------------------ */

static unsigned int
group_of(unsigned int conn)
{
    return conn / N_REMOTES;
}

/* TCP, UDP, ICMP. */
static uint8_t
proto_of(unsigned int group)
{
    static const uint8_t protos[] = { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP };

    return protos[group % 3];
}

/* Sets in 't' all of connection 'conn', by prefix 'x', but its outside. */
static void
get_tuple(unsigned int conn, unsigned int x, struct slow_tuple *t)
{
    static const uint8_t host6[12] = { 0x20, 0x01, 0x0d, 0xb8, 0, 1 };
    unsigned int group = group_of(conn), host = group % N_HOSTS;

    *t = (struct slow_tuple) {
        .proto = proto_of(host),
        .tenant = group / N_HOSTS,
        .inside_port = INSIDE_PORT + host,
        .remote = 0x09000007 | conn << 8,
        .remote_port = (proto_of(host) == IPPROTO_ICMP ? 0
                        : REMOTE_PORT + conn),
    };
    if (scenario->is_44) {
        orc_put32(t->inside, 0x0a000000 + host);
    } else {
        memcpy(t->inside, host6, sizeof host6);
        t->inside[15] = host;
        t->prefix = (struct orc_prefix6) {
            { 0x20, 0x01, 0x0d, 0xb8, 0, 0x64 + x }, 96,
        };
    }
}

/* Returns the first connection of the inside 'addr', 'port' and 'tenant', or
 * -1. */
static int
find_inside(const uint8_t *addr, uint16_t port, uint32_t tenant)
{
    unsigned int host = port - INSIDE_PORT;
    unsigned int conn = (tenant * N_HOSTS + host) * N_REMOTES;
    struct slow_tuple t;

    if (host >= N_HOSTS || tenant >= N_TENANTS) {
        return -1;
    }
    get_tuple(conn, 0, &t);
    return memcmp(t.inside, addr, scenario->is_44 ? 4 : 16) ? -1 : (int) conn;
}

/* Those that connections were seen with last, by connection and prefix: the
 * address and, below, the port. */
static uint64_t last_seen[N_CONNS][N_PREFIXES];

static bool
get_last(const struct sent *sent, struct outside *o)
{
    uint64_t last = __atomic_load_n(&last_seen[sent->conn][sent->x],
                                    __ATOMIC_RELAXED);

    *o = (struct outside) { last >> 16, last };
    return last != 0;
}

/* ------------------------------------------------------------------------
 * Claims.
 * ------------------------------------------------------------------------ */

/* Who owns what, as threads have seen in their present batch: the owner, and
 * below, in 8 bits, how many times that was seen. */
static uint32_t claims[3][N_OUTSIDE_IPS][N_OUTSIDE_PORTS];

static bool
add_claim(uint32_t *claim, uint32_t owner)
{
    uint32_t old = __atomic_load_n(claim, __ATOMIC_RELAXED);

    do {
        if (old && old >> 8 != owner) {
            return false;
        }
    } while (!__atomic_compare_exchange_n(claim, &old,
                                          (owner << 8 | (old & 0xff)) + 1,
                                          true, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
    return true;
}

static void
remove_claim(uint32_t *claim)
{
    uint32_t old = __atomic_load_n(claim, __ATOMIC_RELAXED);

    while (!__atomic_compare_exchange_n(claim, &old,
                                        (old & 0xff) > 1 ? old - 1 : 0, true,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        /* 'old' is new. */
    }
}

/* Claims the outside of 't' until the end of the batch for 'conn' with prefix
 * 'x'. */
static void
claim(struct thread *thread, const struct slow_tuple *t, unsigned int conn,
      unsigned int x)
{
    uint32_t i = t->outside - OUTSIDE_IP;
    uint32_t port = t->outside_port - OUTSIDE_PORT;
    uint32_t owner = (scenario->per_flow ? conn : group_of(conn)) * N_PREFIXES
                     + x + 1;
    uint32_t *c;

    if (i >= N_OUTSIDE_IPS || port >= N_OUTSIDE_PORTS) {
        note_failure(__LINE__, "outside address %x, port %u", t->outside,
                     t->outside_port);
        return;
    }
    c = &claims[group_of(conn) % 3][i][port];
    if (add_claim(c, owner)) {
        thread->claims[thread->n_claims++] = c;
    } else {
        note_failure(__LINE__, "protocol %u, address %x, port %u: %u owns "
                     "what %u owns", t->proto, t->outside, t->outside_port,
                     owner, __atomic_load_n(c, __ATOMIC_RELAXED) >> 8);
    }
}

void
conn_end_batch(struct thread *thread)
{
    while (thread->n_claims) {
        remove_claim(thread->claims[--thread->n_claims]);
    }
}

/* ------------------------------------------------------------------------
 * Packets as they are sent.
 * ------------------------------------------------------------------------ */

static bool
is_frag(const struct sent *sent)
{
    return sent->kind == FIRST || sent->kind == SECOND;
}

/* Chooses a connection of the thread's tenant: often one that all threads
 * choose at this time. */
static unsigned int
choose_conn(struct thread *t, uint32_t tenant)
{
    struct rng hot;

    rng_init(&hot, t->ctx.now_us >> 22);
    return tenant * N_HOSTS * N_REMOTES
           + rng_below(rng_below(&t->rng, 2) ? &hot : &t->rng,
                       N_HOSTS * N_REMOTES);
}

/* Chooses what to send. */
static void
choose(struct thread *t, struct sent *sent)
{
    uint32_t dice = rng_below(&t->rng, 16);
    struct sent other;
    uint8_t proto;

    if (t->has_first && dice < 4
        && t->first.in.tenant == t->ctx.tenant) {
        *sent = t->first;
        sent->kind = SECOND;
        t->has_first = false;
        return;
    }
    sent->kind = OUT;
    sent->conn = choose_conn(t, t->ctx.tenant);
    sent->x = scenario->is_44 ? 0 : rng_below(&t->rng, N_PREFIXES);
    sent->is_in = false;
    proto = proto_of(group_of(sent->conn));
    if (dice < 7) {
        sent->is_in = get_last(sent, &sent->o);
        sent->kind = sent->is_in ? IN : OUT;
    } else if (dice == 7 && proto == IPPROTO_UDP && !t->has_first) {
        sent->kind = FIRST;
        sent->is_in = rng_below(&t->rng, 2) && get_last(sent, &sent->o);
        sent->id = t->number << 14 | (t->n_first++ & 0x3fff);
        t->has_first = true;
    } else if (dice == 8 && !scenario->per_flow && proto != IPPROTO_ICMP) {
        other = *sent;
        other.conn = choose_conn(t, rng_below(&t->rng, N_TENANTS));
        if (proto_of(group_of(other.conn)) == proto
            && get_last(&other, &sent->o)) {
            sent->kind = HAIRPIN;
        }
    } else if (dice == 9 && !scenario->per_flow) {
        sent->is_in = get_last(sent, &sent->o);
        sent->kind = sent->is_in ? ERROR : OUT;
    }
}

/* Makes 'ip' the packet of 't', as the inside or the outside has it. */
static void
make_ip(struct thread *thread, const struct slow_tuple *t, bool out,
        const struct sent *sent, struct slow_ip *ip)
{
    static const uint8_t flags[] = { 0x02, 0x02, 0x12, 0x10, 0x10, 0x18,
                                     0x11, 0x14 };
    bool is_6 = out && !scenario->is_44;

    *ip = (struct slow_ip) {
        .family = is_6 ? 6 : 4,
        .proto = (t->proto == IPPROTO_ICMP && is_6 ? IPPROTO_ICMPV6
                  : t->proto),
        .ttl = 64,
        .l4_full = 40,
        .l4_len = 40,
        .flags = flags[rng_below(&thread->rng, sizeof flags)],
        .type = !out ? 0 : is_6 ? 128 : 8,
    };
    if (is_frag(sent)) {
        ip->frag = is_6;
        ip->id = sent->id;
        ip->mf = sent->kind == FIRST;
        ip->ofs = sent->kind == FIRST ? 0 : FIRST_BYTES;
        ip->l4_full = FRAG_BYTES;
        ip->l4_len = sent->kind == FIRST ? FIRST_BYTES
                     : FRAG_BYTES - FIRST_BYTES;
    }
    slow_set_ends(t, out, out, ip);
}

/* Sets in 't' what the packet 'sent' is of, as far as its sender knows. */
static void
tuple_of(const struct sent *sent, struct slow_tuple *t)
{
    get_tuple(sent->conn, sent->x, t);
    t->outside = sent->o.ip;
    t->outside_port = sent->o.port;
    if (sent->kind == HAIRPIN) {
        t->remote = sent->o.ip;
        t->remote_port = sent->o.port;
    }
}

static void
make_packet(struct thread *thread, unsigned int i)
{
    struct sent *sent = &thread->sent[i];
    struct slow_packet *p = &sent->in;
    struct slow_tuple t;
    size_t len;

    tuple_of(sent, &t);
    memset(p, 0, sizeof *p);
    p->tenant = t.tenant;
    make_ip(thread, &t, !sent->is_in, sent, &p->ip);
    if (sent->kind == ERROR) {
        /* About what 'sent' was when it had gone out. */
        p->is_error = true;
        make_ip(thread, &t, false, sent, &p->quote);
        slow_set_ends(&t, false, true, &p->quote);
        p->quote.type = 8;
        p->quote_len = 8;
        p->ip.proto = IPPROTO_ICMP;
        p->ip.type = 3;
        p->ip.code = 3;
        orc_put32(p->ip.src, ROUTER);
    }
    len = slow_put_packet(p, sent->buf + HEADROOM);
    if (sent->kind == FIRST) {
        thread->first = *sent;
    }
    thread->jobs[i].pk = (struct pk) {
        .data = sent->buf + HEADROOM,
        .len = len,
        .headroom = HEADROOM,
        .tailroom = sizeof sent->buf - HEADROOM - len,
    };
}

void
conn_send(struct thread *thread, unsigned int i)
{
    choose(thread, &thread->sent[i]);
    make_packet(thread, i);
}

/* ------------------------------------------------------------------------
 * Packets as they come back.
 * ------------------------------------------------------------------------ */

/* What a result has of a session that its sender did not know. */
static void
read_near(const struct pk *pk, const struct slow_ip *ip, bool src,
          uint8_t addr[16], uint16_t *port)
{
    bool is_6 = pk->data[0] >> 4 == 6;
    const uint8_t *l4 = pk->data + (is_6 ? ip->mf || ip->ofs ? 48 : 40 : 20);

    memset(addr, 0, 16);
    memcpy(addr, pk->data + (is_6 ? 8 : 12) + (src ? 0 : is_6 ? 16 : 4),
           is_6 ? 16 : 4);
    *port = orc_get16(l4 + (slow_is_icmp(ip) ? 4 : src ? 0 : 2));
}

static bool
is_in(const struct variant *variant, const struct slow_tuple *t)
{
    for (int i = 0; i < 2; i++) {
        const struct slow_range *r = &variant->pool4[i];

        if (r->ip == t->outside && t->outside_port >= r->low
            && t->outside_port <= r->high) {
            return true;
        }
    }
    return false;
}

/* Checks that nothing of 't' is gone, if 'only' that is there. */
static void
check_conf(const struct slow_tuple *t, const struct variant *only)
{
    MUST(!only || (is_in(only, t)
                   && (scenario->is_44
                       || only->prefixes[t->prefix.addr[5] - 0x64])),
         "%x, port %u or prefix %x, which is gone", t->outside,
         t->outside_port, t->prefix.addr[5]);
}

/* Finds out what session 'sent', which has come in, belongs to, and sets the
 * inside in 't'. */
static void
find_session_in(struct thread *thread, const struct sent *sent,
                const struct pk *pk, uint32_t tenant, struct slow_tuple *t)
{
    const uint8_t *p = pk->data;
    struct slow_tuple to;
    uint8_t addr[16];
    int conn, x = 0;

    read_near(pk, &sent->in.ip, false, addr, &t->inside_port);
    if (sent->kind == ERROR) {
        /* The quote's source. */
        uint32_t hdr = scenario->is_44 ? 20 : 40;

        t->inside_port = orc_get16(p + 2 * hdr + 8
                                   + (t->proto == IPPROTO_ICMP ? 4 : 0));
    }
    conn = find_inside(addr, t->inside_port, tenant);
    if (!scenario->is_44) {
        x = p[13] - 0x64;
    }
    if (conn < 0 || x < 0 || x >= N_PREFIXES) {
        note_failure(__LINE__, "connection %u: inside port %u, prefix %d",
                     sent->conn, t->inside_port, x);
        return;
    }
    get_tuple(conn, x, &to);
    MUST(to.proto == t->proto, "connection %u: another protocol", sent->conn);
    MUST(!scenario->exact || sent->kind == HAIRPIN
         || group_of(conn) == group_of(sent->conn),
         "connection %u reaches group %u", sent->conn, group_of(conn));
    to.outside = t->outside;
    to.outside_port = t->outside_port;
    to.remote = t->remote;
    to.remote_port = t->remote_port;
    *t = to;
    claim(thread, t, scenario->per_flow ? sent->conn : (unsigned int) conn, x);
}

/* Likewise of one that has gone out: its source is the outside, or, of a
 * hairpin that has come back, what its destination knows as such. */
static void
find_session_out(struct thread *thread, const struct sent *sent,
                 const struct pk *pk, struct slow_tuple *t)
{
    uint8_t addr[16];

    read_near(pk, &sent->in.ip, true, addr, &t->outside_port);
    t->outside = orc_get32(addr + (pk->data[0] >> 4 == 6 ? 12 : 0));
    claim(thread, t, sent->conn, sent->x);
    if (sent->kind == OUT) {
        __atomic_store_n(&last_seen[sent->conn][sent->x],
                         (uint64_t) t->outside << 16 | t->outside_port,
                         __ATOMIC_RELAXED);
    }
}

/* Makes 'want' what 'in' has become as a packet of 't'. */
static void
translate(const struct slow_packet *in, const struct slow_tuple *t, bool out,
          struct slow_packet *want)
{
    struct slow_tuple router = *t;
    struct slow_ip quote = in->quote;

    *want = *in;
    if (!in->is_error) {
        slow_translate(t, out, &in->ip, &want->ip);
        return;
    }
    router.remote = ROUTER;
    slow_translate(&router, false, &in->ip, &want->ip);
    want->ip.any_id = true;
    if (!scenario->is_44) {
        want->ip.type = 1;
        want->ip.code = 4;
    }
    slow_translate(t, false, &quote, &want->quote);
    slow_set_ends(t, true, true, &want->quote);
}

/* Checks that 'pk' is 'want'. */
static void
compare(const struct sent *sent, const struct pk *pk, struct slow_packet *want)
{
    uint8_t bytes[SLOW_MAX_BYTES];

    want->ip.ttl--;
    if (want->ip.any_id && want->ip.family == 4) {
        want->ip.id = orc_get16(pk->data + 4);
    }
    MUST(slow_put_packet(want, bytes) == pk->len
         && !memcmp(bytes, pk->data, pk->len),
         "connection %u, kind %d: packet", sent->conn, sent->kind);
}

/* Checks what has become of 'sent'. */
static void
check_translated(struct thread *thread, const struct sent *sent,
                 const struct xlat_job *job, const struct variant *only)
{
    struct slow_packet want, between;
    struct slow_tuple t, back;

    tuple_of(sent, &t);
    if (sent->kind == SECOND) {
        MUST(thread->first_went, "connection %u: fragment without its first "
             "one", sent->conn);
        t = thread->first_t;
    } else if (sent->is_in) {
        find_session_in(thread, sent, &job->pk, job->tenant, &t);
    } else {
        find_session_out(thread, sent, &job->pk, &t);
    }
    if (sent->kind != SECOND) {
        check_conf(&t, only);
    }
    if (has_failed()) {
        return;
    }
    translate(&sent->in, &t, !sent->is_in, &want);
    if (sent->kind == HAIRPIN && (job->pk.data[0] >> 4 == 6
                                  || orc_get32(job->pk.data + 16)
                                     != sent->o.ip)) {
        /* It was one of ours, and has come back. */
        back = t;
        back.remote = t.outside;
        back.remote_port = t.outside_port;
        back.outside = sent->o.ip;
        back.outside_port = sent->o.port;
        find_session_in(thread, sent, &job->pk, job->tenant, &back);
        check_conf(&back, only);
        between = want;
        translate(&between, &back, false, &want);
    }
    compare(sent, &job->pk, &want);
    if (sent->kind == FIRST) {
        thread->first_went = true;
        thread->first_t = t;
    }
}

/* Checks that 'pk' is an ICMP error to whom 'sent' is from. */
static void
check_reply(const struct sent *sent, const struct pk *pk)
{
    bool is_6 = sent->in.ip.family == 6;

    MUST(pk->data[0] >> 4 == sent->in.ip.family
         && !memcmp(pk->data + (is_6 ? 24 : 16), sent->in.ip.src,
                    is_6 ? 16 : 4), "connection %u: reply to another",
         sent->conn);
}

void
conn_check(struct thread *thread, unsigned int i, const struct variant *only)
{
    const struct xlat_job *job = &thread->jobs[i];
    const struct sent *sent = &thread->sent[i];
    uint8_t from = sent->in.ip.family, to = job->pk.data[0] >> 4;

    thread->n.packets++;
    if (sent->kind == FIRST) {
        thread->first_went = false;
    }
    switch (job->verdict) {
    case XLAT_TRANSLATED:
        thread->n.translated++;
        thread->n.translated_44 += from == 4 && to == 4;
        thread->n.translated_46 += from == 4 && to == 6;
        thread->n.translated_64 += from == 6 && to == 4;
        thread->n.translated_66 += from == 6 && to == 6;
        check_translated(thread, sent, job, only);
        break;
    case XLAT_REPLY:
        thread->n.replies++;
        thread->n.reply_reasons[job->drop]++;
        check_reply(sent, &job->pk);
        break;
    case XLAT_PASSED:
        thread->n.passed++;
        break;
    case XLAT_HELD:
        /* Its first one was not translated, so that it waits in vain. */
        thread->n.drops[XLAT_DROP_FRAGMENT]++;
        break;
    default:
        thread->n.drops[job->drop]++;
        break;
    }
}

void
conn_check_info(const struct nat64_session_info *info, void *aux)
{
    (void) aux;
    MUST(find_inside(info->inside.bytes, info->inside_port, info->tenant)
         >= 0, "a session of inside port %u", info->inside_port);
}

void
conn_check_own(uint16_t origin, const uint8_t *ip, uint32_t len, void *n_sent)
{
    unsigned int *n = n_sent;
    bool is_6 = ip[0] >> 4 == 6;
    bool is_probe = (is_6 ? ip[6] : ip[9]) == IPPROTO_TCP;
    uint32_t hdr = is_6 ? 40 : 20;

    MUST(origin && len >= hdr + 20, "what a zone sends");
    if (is_probe) {
        uint8_t addr[16] = { 0 };

        memcpy(addr, ip + (is_6 ? 24 : 16), is_6 ? 16 : 4);
        MUST(find_inside(addr, orc_get16(ip + hdr + 2), origin - 1) >= 0,
             "a probe to port %u", orc_get16(ip + hdr + 2));
    } else {
        MUST(ip[20] == 3 && ip[37] == IPPROTO_TCP && ip[61] == 2,
             "an error about a SYN");
    }
    n[is_probe]++;
}
