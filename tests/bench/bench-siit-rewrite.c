/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* A SIIT rewrite, hot, against the swap of two MACs and a copy of 64 bytes.
 *
 * Whole calls of xlat_run(): headers read, both addresses looked up (one EAM,
 * one /96), rewritten, counted.  Each batch is translated to IPv4 and back, so
 * that nothing needs to be restored in between but, now and then, the hop
 * limits. */

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle-siit.h"
#include "pairs.h"
#include "pk-csum.h"
#include "xlat-conf.h"
#include "xlat-zone.h"
#include "xlat.h"

#define HEADROOM 64
#define FRAME 256
#define UDP_BYTES 26
#define RUNS_PER_REFILL 40       /* Even, and fewer than hops. */

struct bench {
    struct xlat_zone *zone;
    struct xlat_ctx ctx;
    unsigned int runs;
    uint8_t frames[XLAT_BATCH][FRAME];
    uint8_t copies[XLAT_BATCH][FRAME];
    struct xlat_job jobs[XLAT_BATCH];
};

static void
run_copy(void *bench_, size_t n)
{
    struct bench *bench = bench_;

    for (size_t i = 0; i < n; i++) {
        pairs_mac_swap_copy(bench->copies[i % XLAT_BATCH],
                            bench->frames[i % XLAT_BATCH]);
    }
}

/* Writes packet 'i', from 2001:db8:1::I to an IPv4-only host. */
static void
fill(struct bench *bench, size_t i)
{
    uint8_t *ip = bench->frames[i] + HEADROOM;
    uint8_t *udp = ip + 40;
    uint64_t sum;

    memset(ip, 0, 40 + UDP_BYTES);
    ip[0] = 0x60;
    pk_put16(ip + 4, htons(UDP_BYTES));
    ip[6] = IPPROTO_UDP;
    ip[7] = 64;
    inet_pton(AF_INET6, "2001:db8:1::", ip + 8);
    ip[23] = i;
    inet_pton(AF_INET6, "2001:db8:64::198.51.100.7", ip + 24);
    pk_put16(udp, htons(1024 + i));
    pk_put16(udp + 2, htons(53));
    pk_put16(udp + 4, htons(UDP_BYTES));
    sum = (pk_csum_addr6(ip + 8) + pk_csum_addr6(ip + 24)
           + pk_csum_pseudo(UDP_BYTES, IPPROTO_UDP)
           + pk_csum_bytes(udp, UDP_BYTES));
    pk_put16(udp + 6, pk_csum_finish(sum));
    bench->jobs[i].pk = (struct pk) {
        .data = ip, .len = 40 + UDP_BYTES, .headroom = HEADROOM,
        .tailroom = FRAME - HEADROOM - 40 - UDP_BYTES,
    };
}

static void
run_batch(struct bench *bench)
{
    if (bench->runs++ % RUNS_PER_REFILL == 0) {
        for (size_t i = 0; i < XLAT_BATCH; i++) {
            fill(bench, i);
        }
    }
    xlat_run(bench->zone, &bench->ctx, bench->jobs, XLAT_BATCH);
}

static void
run_xlat(void *bench, size_t n)
{
    for (size_t i = 0; i < n / XLAT_BATCH; i++) {
        run_batch(bench);
    }
}

static struct xlat_zone *
make_zone(struct orc_conf *orc)
{
    struct xlat_conf *conf = xlat_conf_create();
    struct xlat_zone *zone;
    char *error = xlat_conf_add_pool6(conf, "2001:db8:64::/96");

    if (!error) {
        error = xlat_conf_add_eam(conf, "2001:db8:1::/120", "192.0.2.0/24");
    }
    if (error || xlat_zone_create(conf, NULL, &zone, &error)) {
        fprintf(stderr, "%s\n", error);
        exit(EXIT_FAILURE);
    }
    xlat_conf_destroy(conf);

    orc->kind = XLAT_KIND_SIIT;
    orc->set = (struct xlat_settings) {
        .mtu4 = 1500, .mtu6 = 1500, .lowest_ipv6_mtu = 1280,
        .tos_override = -1,
    };
    inet_pton(AF_INET6, "2001:db8:64::", orc->pool6[orc->n_pool6].addr);
    orc->pool6[orc->n_pool6++].len = 96;
    inet_pton(AF_INET6, "2001:db8:1::", orc->eam[orc->n_eam].p6.addr);
    orc->eam[orc->n_eam].p6.len = 120;
    orc->eam[orc->n_eam++].p4 = (struct orc_prefix4) { 0xc0000200, 24 };
    return zone;
}

/* Compares one more run with the slow and obvious translator. */
static void
check(struct bench *bench, const struct orc_conf *orc)
{
    static struct orc_want want;
    static uint8_t before[XLAT_BATCH][FRAME];
    struct pk pks[XLAT_BATCH];

    for (size_t i = 0; i < XLAT_BATCH; i++) {
        pks[i] = bench->jobs[i].pk;
        memcpy(before[i], pks[i].data, pks[i].len);
        pks[i].data = before[i];
    }
    xlat_run(bench->zone, &bench->ctx, bench->jobs, XLAT_BATCH);
    bench->runs++;
    for (size_t i = 0; i < XLAT_BATCH; i++) {
        const struct pk *out = &bench->jobs[i].pk;
        struct orc_choice choice = { out->data, out->len };

        orc_siit(orc, &pks[i], &choice, &want);
        if (bench->jobs[i].verdict != XLAT_TRANSLATED
            || out->len != want.len || memcmp(out->data, want.out, want.len)) {
            fprintf(stderr, "packet %zu differs from the slow version\n", i);
            exit(EXIT_FAILURE);
        }
    }
}

int
main(void)
{
    struct bench *bench = calloc(1, sizeof *bench);
    struct orc_conf orc = { .n_pool6 = 0 };
    struct pairs_kernel a = {
        .name = "mac-swap and copy", .run = run_copy, .aux = bench,
    };
    struct pairs_kernel b = {
        .name = "xlat_run", .run = run_xlat, .aux = bench,
    };
    struct pairs_result result;

    if (!bench) {
        return EXIT_FAILURE;
    }
    bench->zone = make_zone(&orc);
    bench->ctx.rng = 1;
    run_batch(bench);
    pairs_measure(&a, &b, 200, &result);
    bench->runs = 0;
    run_batch(bench);
    check(bench, &orc);          /* IPv4 to IPv6, ... */
    check(bench, &orc);          /* ... and back. */
    pairs_print(&result, "", "both directions in turn");
    xlat_zone_destroy(bench->zone);
    free(bench);
    return EXIT_SUCCESS;
}
