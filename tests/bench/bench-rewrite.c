/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* A SIIT rewrite, hot, against a MAC swap and a copy of 64 bytes. */

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pairs.h"
#include "pk-csum.h"
#include "pk-parse.h"
#include "xlat-conf.h"
#include "xlat-zone.h"
#include "xlat.h"

#define HEADROOM 64
#define FRAME 256

struct bench {
    const struct xlat_zone *zone;
    struct xlat_ctx ctx;
    uint8_t template[FRAME];
    uint32_t bytes;
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

/* Headers are overwritten by translation: each run restores them, which is
 * part of the cost. */
static void
run_xlat(void *bench_, size_t n)
{
    struct bench *bench = bench_;

    for (; n >= XLAT_BATCH; n -= XLAT_BATCH) {
        for (size_t i = 0; i < XLAT_BATCH; i++) {
            uint8_t *data = bench->frames[i] + HEADROOM;

            memcpy(data, bench->template, 64);
            bench->jobs[i].pk = (struct pk) {
                .data = data,
                .len = bench->bytes,
                .headroom = HEADROOM,
            };
        }
        xlat_run(bench->zone, &bench->ctx, bench->jobs, XLAT_BATCH);
    }
}

static void
run_restore(void *bench_, size_t n)
{
    struct bench *bench = bench_;

    for (; n >= XLAT_BATCH; n -= XLAT_BATCH) {
        for (size_t i = 0; i < XLAT_BATCH; i++) {
            uint8_t *data = bench->frames[i] + HEADROOM;

            memcpy(data, bench->template, 64);
            bench->jobs[i].pk = (struct pk) {
                .data = data,
                .len = bench->bytes,
                .headroom = HEADROOM,
            };
            asm volatile("" ::: "memory");
        }
    }
}

static struct xlat_zone *
make_zone(void)
{
    struct xlat_conf *conf = xlat_conf_create();
    struct xlat_zone *zone;
    char *error = NULL;

    free(xlat_conf_set_zone(conf, 1));
    free(xlat_conf_set_kind(conf, "siit"));
    free(xlat_conf_add_pool6(conf, "2001:db8:64::/96"));
    free(xlat_conf_add_eam(conf, "2001:db8:1::/120", "192.0.2.0/24"));
    if (xlat_zone_create(conf, NULL, &zone, &error)) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
    xlat_conf_destroy(conf);
    return zone;
}

static void
make_template(struct bench *bench, bool v4, uint8_t proto)
{
    uint8_t *ip = bench->template;
    uint32_t hdr = v4 ? 20 : 40;

    memset(ip, 0, FRAME);
    bench->bytes = hdr + 26;
    if (v4) {
        ip[0] = 0x45;
        pk_put16(ip + 2, htons(bench->bytes));
        pk_put16(ip + 6, htons(0x4000));
        ip[8] = 64;
        ip[9] = proto;
        inet_pton(AF_INET, "198.51.100.7", ip + 12);
        inet_pton(AF_INET, "192.0.2.33", ip + 16);
        pk_put16(ip + 10, pk_csum_finish(pk_csum_bytes(ip, 20)));
    } else {
        ip[0] = 0x60;
        pk_put16(ip + 4, htons(26));
        ip[6] = proto;
        ip[7] = 64;
        inet_pton(AF_INET6, "2001:db8:1::21", ip + 8);
        inet_pton(AF_INET6, "2001:db8:64::c633:6407", ip + 24);
    }
    ip[hdr + 5] = 26;
    pk_put16(ip + hdr + 6, 0x1234);
}

int
main(void)
{
    struct bench *bench = calloc(1, sizeof *bench);

    bench->zone = make_zone();
    bench->ctx.rng = 1;
    for (int v4 = 0; v4 < 2; v4++) {
        struct pairs_kernel a = { "mac-swap+copy", run_copy, bench };
        struct pairs_kernel r = { "restore", run_restore, bench };
        struct pairs_kernel b = { "xlat", run_xlat, bench };
        struct pairs_result restore, xlat;

        make_template(bench, v4, IPPROTO_UDP);
        run_xlat(bench, XLAT_BATCH);
        if (bench->jobs[0].verdict != XLAT_TRANSLATED) {
            fprintf(stderr, "not translated\n");
            return 1;
        }
        pairs_measure(&a, &r, 200, &restore);
        pairs_measure(&a, &b, 200, &xlat);
        printf("%s: copy %.2f ns, restore %.2f, xlat_run %.2f (net %.2f), "
               "ratio %.2f (net %.2f)\n", v4 ? "4->6" : "6->4", xlat.a_ns,
               restore.b_ns, xlat.b_ns, xlat.b_ns - restore.b_ns, xlat.ratio,
               xlat.ratio - restore.ratio);
    }
    return 0;
}
