/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "random-nat64.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#include "oracle-packet.h"

/* ------------------------------------------------------------------------
 * Sessions.
 * ------------------------------------------------------------------------ */

/* What there is to say about a session, in words. */
#define LINE_BYTES 256
#define MAX_LINES 6000

struct lines {
    char text[MAX_LINES][LINE_BYTES];
    unsigned int n;
};

static struct lines lib_lines, slow_lines;

static void
add_line(struct lines *lines, const struct slow_tuple *t, const uint8_t *far,
         const char *state, uint64_t expires_s, const uint64_t packets[2],
         const uint64_t bytes[2])
{
    char inside[INET6_ADDRSTRLEN], far_text[INET6_ADDRSTRLEN];

    inet_ntop(AF_INET6, t->inside, inside, sizeof inside);
    inet_ntop(AF_INET6, far, far_text, sizeof far_text);
    snprintf(lines->text[lines->n++], LINE_BYTES, "proto %u tenant %#x %s %u, "
             "%#x %u, %#x %s %u, %s, %ju s, packets %ju %ju bytes %ju %ju",
             t->proto, t->tenant, inside, t->inside_port, t->outside,
             t->outside_port, t->remote, far_text, t->remote_port, state,
             (uintmax_t) expires_s, (uintmax_t) packets[0],
             (uintmax_t) packets[1], (uintmax_t) bytes[0],
             (uintmax_t) bytes[1]);
}

static struct slow_tuple
tuple_of(const struct nat64_session_info *info)
{
    struct slow_tuple t = {
        .proto = (info->proto == IPPROTO_ICMPV6 ? IPPROTO_ICMP
                  : info->proto),
        .tenant = info->tenant,
        .inside_port = info->inside_port,
        .outside = ntohl(info->outside),
        .outside_port = info->outside_port,
        .remote = ntohl(info->remote),
        .remote_port = info->remote_port,
    };

    memcpy(t.inside, &info->inside, 16);
    return t;
}

static void
add_info(const struct nat64_session_info *info, void *lines)
{
    struct slow_tuple t = tuple_of(info);

    add_line(lines, &t, info->remote_inside.bytes, info->state,
             info->expires_s, info->packets, info->bytes);
}

static int
compare_lines(const void *a, const void *b)
{
    return strcmp(a, b);
}

const char *
compare_sessions(struct world *w)
{
    const struct slow_nat64 *slow = w->slow;
    uint32_t cursor = 0;

    lib_lines.n = slow_lines.n = 0;
    while (nat64_dump(w->zone, w->ctx.now_us, &cursor, 7, add_info,
                      &lib_lines)) {
        /* There is more. */
    }
    for (const struct slow_session *s = slow->sessions; s; s = s->next) {
        uint8_t far[16];

        if (slow_is_alive(slow, s)) {
            slow_remote_inside(&s->t, far);
            add_line(&slow_lines, &s->t, far, slow_state_name(s->state),
                     (slow_ticks_left(slow, s) << 16) / 1000000, s->packets,
                     s->bytes);
        }
    }
    qsort(lib_lines.text, lib_lines.n, LINE_BYTES, compare_lines);
    qsort(slow_lines.text, slow_lines.n, LINE_BYTES, compare_lines);
    for (unsigned int i = 0; i < lib_lines.n || i < slow_lines.n; i++) {
        const char *a = i < lib_lines.n ? lib_lines.text[i] : "nothing";
        const char *b = i < slow_lines.n ? slow_lines.text[i] : "nothing";

        if (strcmp(a, b)) {
            printf("#   lib : %s\n#   twin: %s\n", a, b);
            return "a session";
        }
    }
    return NULL;
}

const char *
compare_gauges(struct world *w)
{
    unsigned int min, max, n_ports = slow_count_ports(w->slow, &min, &max);
    struct nat64_gauges g;

    nat64_get_gauges(w->zone, &g);
    if (g.sessions == w->slow->n_sessions && g.bindings == w->slow->n_bindings
        && g.ports_in_use >= min && g.ports_in_use <= max
        && g.ports == n_ports && g.max_sessions == w->gen.conf.max_sessions
        && g.fragments_held == w->slow->n_held) {
        return NULL;
    }
    printf("#   lib : %u sessions, %u bindings, %ju of %ju ports, %u "
           "fragments held\n", g.sessions, g.bindings,
           (uintmax_t) g.ports_in_use, (uintmax_t) g.ports, g.fragments_held);
    printf("#   twin: %u sessions, %u bindings, %u to %u of %u ports, %u "
           "fragments held\n", w->slow->n_sessions, w->slow->n_bindings, min,
           max, n_ports, w->slow->n_held);
    return "gauges";
}

struct learning {
    const struct slow_tuple *t;
    uint8_t far[16];
    bool found;
    struct slow_tuple result;
};

static void
learn_info(const struct nat64_session_info *info, void *learning_)
{
    struct learning *l = learning_;
    struct slow_tuple t = tuple_of(info);

    if (t.proto == l->t->proto && t.tenant == l->t->tenant
        && t.inside_port == l->t->inside_port
        && t.remote_port == l->t->remote_port
        && !memcmp(t.inside, l->t->inside, 16)
        && !memcmp(&info->remote_inside, l->far, 16)) {
        l->found = true;
        l->result = t;
    }
}

bool
learn(void *world, const struct slow_tuple *t, uint32_t *ip, uint16_t *port)
{
    const struct world *w = world;
    struct learning l = { .t = t };
    uint32_t cursor = 0;

    slow_remote_inside(t, l.far);
    nat64_dump(w->zone, w->ctx.now_us, &cursor, UINT32_MAX, learn_info, &l);
    *ip = l.result.outside;
    *port = l.result.outside_port;
    return l.found;
}

/* ------------------------------------------------------------------------
 * Packets.
 * ------------------------------------------------------------------------ */

/* Compares 'pk' with the 'n' bytes at 'want'. */
static const char *
compare_bytes(const struct pk *pk, const uint8_t *want, size_t n)
{
    if (pk->len == n && !memcmp(pk->data, want, n)) {
        return NULL;
    }
    for (int i = 0; i < 2; i++) {
        printf("#   %s: ", i ? "twin" : "lib ");
        for (size_t k = 0; k < (i ? n : pk->len); k++) {
            printf("%02x", i ? want[k] : pk->data[k]);
        }
        printf("\n");
    }
    return "the packet";
}

static const char *
compare_result(struct slot *slot)
{
    const struct xlat_job *job = &slot->job;
    struct slow_result *want = &slot->want;
    bool is_drop = job->verdict == XLAT_DROPPED || job->verdict == XLAT_REPLY;
    const struct pk *pk = &job->pk;
    uint8_t bytes[SLOW_MAX_BYTES];

    if (is_drop ? want->verdict != XLAT_DROPPED
        : job->verdict != want->verdict) {
        return "the verdict";
    } else if (job->verdict == XLAT_HELD) {
        return NULL;
    } else if (is_drop) {
        return job->drop != want->drop ? "the reason" : NULL;
    } else if (pk->data - pk->headroom != slot->buf || pk->frag_mtu
               || pk->gso_size || pk->flags
               || (pk->data + pk->len + pk->tailroom
                   != slot->buf + sizeof slot->buf)) {
        return "the view of the packet";
    } else if (job->verdict == XLAT_PASSED) {
        return compare_bytes(pk, slot->copy, slot->len);
    } else if (job->tenant != want->out.tenant) {
        return "the tenant";
    } else if (!job->held != !want->ticket) {
        return "whether fragments wait";
    }
    if (want->out.ip.any_id) {
        want->out.ip.id = orc_get16(pk->data + 4);
    }
    return compare_bytes(pk, bytes, slow_put_packet(&want->out, bytes));
}

static void
count(struct xlat_counters *c, const struct slot *slot)
{
    const struct xlat_job *job = &slot->job;
    uint8_t from = slot->in.ip.family, to = job->pk.data[0] >> 4;

    if (job->verdict == XLAT_HELD) {
        return;
    }
    c->packets++;
    c->bytes += slot->len;
    switch (job->verdict) {
    case XLAT_TRANSLATED:
        c->translated++;
        c->translated_44 += from == 4 && to == 4;
        c->translated_46 += from == 4 && to == 6;
        c->translated_64 += from == 6 && to == 4;
        c->translated_66 += from == 6 && to == 6;
        break;
    case XLAT_PASSED:
        c->passed++;
        break;
    case XLAT_REPLY:
        c->replies++;
        c->reply_reasons[job->drop]++;
        break;
    default:
        c->drops[job->drop]++;
        break;
    }
}

const char *
compare_packet(struct world *w, struct slot *slot)
{
    const char *wrong;

    slow_run_packet(w->slow, &slot->in, slot->released, &slot->want);
    wrong = w->slow->wrong[0] ? w->slow->wrong : compare_result(slot);
    count(&w->want, slot);
    if (slot->want.verdict == XLAT_TRANSLATED && !slot->want.out.is_error) {
        w->gen.recent[w->gen.n_recent++ % GEN_RECENT] = slot->want.out;
    }
    return wrong;
}

void
print_job(const char *who, enum xlat_verdict verdict, enum xlat_drop drop)
{
    static const char *const names[] = {
        [XLAT_TRANSLATED] = "translated", [XLAT_REPLY] = "reply",
        [XLAT_PASSED] = "passed", [XLAT_DROPPED] = "dropped",
        [XLAT_HELD] = "held",
    };
    bool has_drop = verdict == XLAT_REPLY || verdict == XLAT_DROPPED;

    printf("#   %s: %s %s\n", who, names[verdict],
           has_drop ? xlat_drop_name(drop) : "");
}
