/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Many connections at once: each has an outside of its own, each answer
 * reaches who asked, and when their time is over nothing is left. */

#include <check.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "nat64-walk.h"
#include "nat64.h"
#include "oracle-packet.h"
#include "slow-nat64.h"
#include "xlat-zone.h"
#include "zone-util.h"

#define N_CONNS 200000
#define N_HOSTS 500
#define POOL 0xc0000200u         /* 192.0.2.0/29. */
#define N_ADDRESSES 8

static const char *const zones[] = {
    "kind=nat64 pool6=2001:db8:64::/96 pool4=192.0.2.0/29",
    "kind=nat44 pool4=192.0.2.0/29",
};

static bool is_44;
static struct xlat_zone *zone;
static struct xlat_ctx ctx;
static struct slow_tuple conns[N_CONNS];

static void
at_once(void (*cb)(void *aux), void *aux)
{
    cb(aux);
}

/* Makes 't' connection 'i', without its outside. */
static void
make_conn(unsigned int i, struct slow_tuple *t)
{
    static const uint8_t protos[] = { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP };
    unsigned int host = i % N_HOSTS;

    *t = (struct slow_tuple) {
        .proto = protos[i % 3],
        .tenant = host % 2,
        .inside_port = 1024 + i / N_HOSTS,
        .remote = 0xc6336407,
        .remote_port = protos[i % 3] == IPPROTO_ICMP ? 0 : 443,
    };
    if (is_44) {
        orc_put32(t->inside, 0x0a000000 + host / 2);
    } else {
        memcpy(t->inside, (uint8_t[]) { 0x20, 1, 0xd, 0xb8, 0, 1 }, 6);
        orc_put16(t->inside + 14, host / 2);
        t->prefix = (struct orc_prefix6) {
            { 0x20, 1, 0xd, 0xb8, 0, 0x64 }, 96,
        };
    }
}

/* Writes a packet of 't', which goes out or comes in, to 'buf'. */
static void
make_job(const struct slow_tuple *t, bool out, uint8_t flags,
         struct xlat_job *job, uint8_t buf[256])
{
    bool is_6 = out && !is_44;
    struct slow_packet p = {
        .ip = {
            .family = is_6 ? 6 : 4,
            .proto = (t->proto == IPPROTO_ICMP && is_6 ? IPPROTO_ICMPV6
                      : t->proto),
            .ttl = 64,
            .l4_full = 32,
            .l4_len = 32,
            .flags = flags,
            .type = !out ? 0 : is_6 ? 128 : 8,
        },
    };

    slow_set_ends(t, out, out, &p.ip);
    memset(job, 0, sizeof *job);
    job->pk = (struct pk) {
        .data = buf + 64,
        .len = slow_put_packet(&p, buf + 64),
        .headroom = 64,
        .tailroom = 64,
    };
}

/* Takes all connections' packets out, or in, in batches of those of one
 * tenant, and has 'check' look at each. */
static void
run_all(bool out, uint8_t flags,
        void (*check)(struct slow_tuple *, const struct xlat_job *))
{
    static uint8_t bufs[XLAT_BATCH][256];
    struct xlat_job jobs[XLAT_BATCH];
    unsigned int batch[XLAT_BATCH];

    for (uint32_t tenant = 0; tenant < 2; tenant++) {
        unsigned int n = 0;

        ctx.tenant = tenant;
        for (unsigned int k = 0; k < N_CONNS; k++) {
            unsigned int i = k * 7919u % N_CONNS;    /* In some order. */

            if (conns[i].tenant == tenant) {
                make_job(&conns[i], out, flags, &jobs[n], bufs[n]);
                batch[n++] = i;
            }
            if (n == XLAT_BATCH || k == N_CONNS - 1) {
                xlat_run(zone, &ctx, jobs, n);
                while (n) {
                    n--;
                    check(&conns[batch[n]], &jobs[n]);
                }
            }
        }
    }
}

static uint16_t
port_at(const struct slow_tuple *t, const struct xlat_job *job, uint32_t ofs)
{
    uint32_t hdr = job->pk.data[0] >> 4 == 6 ? 40 : 20;

    return orc_get16(job->pk.data + hdr
                     + (t->proto == IPPROTO_ICMP ? 4 : ofs));
}

/* The first packet of 't': nobody else has its outside. */
static void
check_first(struct slow_tuple *t, const struct xlat_job *job)
{
    static uint8_t taken[3][N_ADDRESSES][65536];
    unsigned int i = t->proto == IPPROTO_TCP ? 0
                     : t->proto == IPPROTO_UDP ? 1 : 2;

    if (job->verdict != XLAT_TRANSLATED) {
        ck_abort_msg("not translated: %s", xlat_drop_name(job->drop));
    }
    t->outside = orc_get32(job->pk.data + 12);
    t->outside_port = port_at(t, job, 0);
    if (t->outside - POOL >= N_ADDRESSES
        || taken[i][t->outside - POOL][t->outside_port]) {
        ck_abort_msg("address %#x, port %u", t->outside, t->outside_port);
    }
    taken[i][t->outside - POOL][t->outside_port] = 1;
}

static void
check_again(struct slow_tuple *t, const struct xlat_job *job)
{
    if (job->verdict != XLAT_TRANSLATED
        || orc_get32(job->pk.data + 12) != t->outside
        || port_at(t, job, 0) != t->outside_port) {
        ck_abort_msg("address %#x, port %u: not kept", t->outside,
                     t->outside_port);
    }
}

/* An answer: it reaches the host of 't'. */
static void
check_answer(struct slow_tuple *t, const struct xlat_job *job)
{
    const uint8_t *dst = job->pk.data + (is_44 ? 16 : 24);

    if (job->verdict != XLAT_TRANSLATED || job->tenant != t->tenant
        || memcmp(dst, t->inside, is_44 ? 4 : 16)
        || port_at(t, job, 2) != t->inside_port) {
        ck_abort_msg("inside port %u of tenant %u: no answer", t->inside_port,
                     t->tenant);
    }
}

static struct nat64_gauges
gauges(void)
{
    struct nat64_gauges g;

    nat64_get_gauges(zone, &g);
    return g;
}

START_TEST(many)
{
    const char *wrong;

    is_44 = _i;
    zone = zone_make(zones[_i], NULL);
    ctx = (struct xlat_ctx) { .now_us = 1000000, .rng = 1, .thread = 1 };
    nat64_fit(zone, ctx.now_us, at_once);
    for (unsigned int i = 0; i < N_CONNS; i++) {
        make_conn(i, &conns[i]);
    }
    run_all(true, 0x02, check_first);
    run_all(false, 0x12, check_answer);
    run_all(true, 0x10, check_again);
    ck_assert_uint_eq(gauges().sessions, N_CONNS);
    ck_assert_uint_eq(gauges().bindings, N_CONNS);
    wrong = nat64_walk(zone);
    ck_assert_msg(!wrong, "%s", wrong);

    /* ICMP ends after a minute, UDP after five, TCP after two hours. */
    for (unsigned int i = 0, left = N_CONNS; i < 3; i++) {
        static const unsigned int seconds[] = { 62, 302, 7442 };

        left -= i == 0 ? N_CONNS / 3 : (N_CONNS + 1) / 3;
        ctx.now_us = 1000000 + seconds[i] * UINT64_C(1000000);
        nat64_run(zone, ctx.now_us, at_once, NULL, NULL);
        ck_assert_uint_eq(gauges().sessions, i == 2 ? 0 : left);
        ck_assert_uint_eq(gauges().bindings, i == 2 ? 0 : left);
    }
    ctx.now_us += 122 * UINT64_C(1000000);
    nat64_run(zone, ctx.now_us, at_once, NULL, NULL);
    wrong = nat64_walk_empty(zone);
    ck_assert_msg(!wrong, "%s", wrong);
    xlat_zone_destroy(zone);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("nat64-many");
    TCase *tc = tcase_create("all");
    SRunner *sr = srunner_create(s);
    int n;

    tcase_add_loop_test(tc, many, 0, sizeof zones / sizeof zones[0]);
    suite_add_tcase(s, tc);
    srunner_run_all(sr, CK_ENV);
    n = srunner_ntests_failed(sr);
    srunner_free(sr);
    return n ? EXIT_FAILURE : EXIT_SUCCESS;
}
