/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Translation with a million explicit address mappings, all in use alike,
 * against translation with ten.  Whole translations in batches, one batch
 * from IPv4 to IPv6, the next one back. */

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pairs.h"
#include "pk-csum.h"
#include "xlat-conf.h"
#include "xlat-zone.h"
#include "xlat.h"

#define FEW 10
#define MILLION 1000000
#define N_NUMBERS (1 << 18)
#define HEADROOM 64
#define FRAME 192
#define PAYLOAD 26

struct bench {
    struct xlat_zone *zone;
    struct xlat_ctx ctx;
    uint32_t *numbers;               /* Of mappings, random. */
    size_t next;                     /* In 'numbers'. */
    uint8_t template4[64];
    uint8_t template6[128];
    uint8_t frames[XLAT_BATCH][FRAME];
    struct xlat_job jobs[XLAT_BATCH];
};

/* Mapping I: 2001:db8:IIII:IIII::/64 and 10.0.0.0 + I. */
static void
put_mapping6(uint8_t *ip, uint32_t i)
{
    memset(ip, 0, 16);
    pk_put32(ip, htonl(0x20010db8));
    pk_put32(ip + 4, htonl(i));
}

static void
put_mapping4(uint8_t *ip, uint32_t i)
{
    pk_put32(ip, htonl(0x0a000000 + i));
}

static void
fail(const char *what, const char *error)
{
    fprintf(stderr, "%s: %s\n", what, error);
    exit(1);
}

static struct xlat_zone *
make_zone(uint32_t n)
{
    struct xlat_conf *conf = xlat_conf_create();
    struct xlat_zone *zone;
    char *error = xlat_conf_add_pool6(conf, "64:ff9b:1::/96");

    for (uint32_t i = 0; i < n && !error; i++) {
        char prefix6[INET6_ADDRSTRLEN + 3], prefix4[INET_ADDRSTRLEN];
        uint8_t ip6[16], ip4[4];

        put_mapping6(ip6, i);
        put_mapping4(ip4, i);
        inet_ntop(AF_INET6, ip6, prefix6, sizeof prefix6);
        inet_ntop(AF_INET, ip4, prefix4, sizeof prefix4);
        strcat(prefix6, "/64");
        error = xlat_conf_add_eam(conf, prefix6, prefix4);
    }
    if (error || xlat_zone_create(conf, NULL, &zone, &error)) {
        fail("zone", error);
    }
    xlat_conf_destroy(conf);
    return zone;
}

static void
make_templates(struct bench *bench)
{
    uint8_t *ip = bench->template4;

    ip[0] = 0x45;
    pk_put16(ip + 2, htons(20 + PAYLOAD));
    ip[8] = 64;
    ip[9] = IPPROTO_UDP;
    inet_pton(AF_INET, "198.51.100.7", ip + 12);
    pk_put16(ip + 24, htons(PAYLOAD));
    pk_put16(ip + 26, 0x1234);

    ip = bench->template6;
    ip[0] = 0x60;
    pk_put16(ip + 4, htons(PAYLOAD));
    ip[6] = IPPROTO_UDP;
    ip[7] = 64;
    inet_pton(AF_INET6, "64:ff9b:1::198.51.100.7", ip + 24);
    pk_put16(ip + 44, htons(PAYLOAD));
    pk_put16(ip + 46, 0x1234);
}

static struct bench *
make_bench(uint32_t n)
{
    struct bench *bench = calloc(1, sizeof *bench);
    uint64_t random = 1;

    bench->zone = make_zone(n);
    bench->ctx.rng = 1;
    bench->numbers = malloc(N_NUMBERS * sizeof *bench->numbers);
    for (size_t i = 0; i < N_NUMBERS; i++) {
        random = random * UINT64_C(6364136223846793005)
                 + UINT64_C(1442695040888963407);
        bench->numbers[i] = (random >> 32) * n >> 32;
    }
    make_templates(bench);
    return bench;
}

static void
make_packet4(struct bench *bench, struct xlat_job *job, uint8_t *data,
             uint32_t number)
{
    memcpy(data, bench->template4, 64);
    put_mapping4(data + 16, number);
    pk_put16(data + 10, pk_csum_finish(pk_csum_bytes(data, 20)));
    job->pk = (struct pk) {
        .data = data, .len = 20 + PAYLOAD, .headroom = HEADROOM,
    };
}

static void
make_packet6(struct bench *bench, struct xlat_job *job, uint8_t *data,
             uint32_t number)
{
    memcpy(data, bench->template6, 128);
    put_mapping6(data + 8, number);
    job->pk = (struct pk) {
        .data = data, .len = 40 + PAYLOAD, .headroom = HEADROOM,
    };
}

static void
run_batch(struct bench *bench, bool v4)
{
    for (size_t i = 0; i < XLAT_BATCH; i++) {
        uint32_t number = bench->numbers[bench->next++ % N_NUMBERS];
        uint8_t *data = bench->frames[i] + HEADROOM;

        (v4 ? make_packet4 : make_packet6)(bench, &bench->jobs[i], data,
                                           number);
    }
    xlat_run(bench->zone, &bench->ctx, bench->jobs, XLAT_BATCH);
}

static void
run(void *bench, size_t n)
{
    for (size_t i = 0; i < n / XLAT_BATCH; i++) {
        run_batch(bench, i % 2);
    }
}

/* Compares results with what each mapping obviously gives. */
static void
check(struct bench *bench)
{
    for (size_t i = 0; i < N_NUMBERS / XLAT_BATCH; i++) {
        bool v4 = i % 2;
        size_t first = bench->next;

        run_batch(bench, v4);
        for (size_t j = 0; j < XLAT_BATCH; j++) {
            uint32_t number = bench->numbers[(first + j) % N_NUMBERS];
            const struct xlat_job *job = &bench->jobs[j];
            uint8_t expected[16];

            if (job->verdict != XLAT_TRANSLATED) {
                fail("translation", xlat_drop_name(job->drop));
            }
            if (v4) {
                put_mapping6(expected, number);
            } else {
                put_mapping4(expected, number);
            }
            if (memcmp(job->pk.data + (v4 ? 24 : 12), expected,
                       v4 ? 16 : 4)) {
                fail("translation", "wrong address");
            }
        }
    }
}

int
main(void)
{
    struct bench *few = make_bench(FEW);
    struct bench *million = make_bench(MILLION);
    struct pairs_kernel a = { .name = "10 entries", .run = run, .aux = few };
    struct pairs_kernel b = {
        .name = "1000000 entries", .run = run, .aux = million,
    };
    struct pairs_result result;

    check(few);
    check(million);
    pairs_measure(&a, &b, 200, &result);
    check(million);
    pairs_print(&result, "", "10 mappings against 1000000, uniform, both "
                "ways");
    return 0;
}
