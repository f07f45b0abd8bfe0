/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Stateful translation with a million sessions, all in use alike, against
 * translation with a thousand.  Whole translations in batches, one batch from
 * inside, the next one from outside. */

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nat64.h"
#include "pairs.h"
#include "pk-csum.h"
#include "xlat-conf.h"
#include "xlat-zone.h"
#include "xlat.h"

#define FEW 1000
#define MILLION 1000000
#define N_NUMBERS (1 << 18)
#define HEADROOM 64
#define FRAME 192
#define PAYLOAD 26
#define SERVER_PORT 53

/* What a session has outside. */
struct outside {
    pk_be32 ip;
    pk_be16 port;
};

struct bench {
    struct xlat_zone *zone;
    struct xlat_ctx ctx;
    struct outside *outsides;        /* By session. */
    uint32_t *numbers;               /* Of sessions, random. */
    size_t next;                     /* In 'numbers'. */
    uint8_t template4[64];
    uint8_t template6[128];
    uint8_t frames[XLAT_BATCH][FRAME];
    struct xlat_job jobs[XLAT_BATCH];
};

static void
fail(const char *what, const char *error)
{
    fprintf(stderr, "%s: %s\n", what, error);
    exit(1);
}

/* Session I is that of host 2001:db8:1::I / 64 from port 1024 + I % 64. */
static void
put_inside(uint8_t *ip, uint32_t i)
{
    memset(ip, 0, 16);
    pk_put32(ip, htonl(0x20010db8));
    pk_put32(ip + 4, htonl(0x00010000));
    pk_put32(ip + 12, htonl(i / 64));
}

static pk_be16
inside_port(uint32_t i)
{
    return htons(1024 + i % 64);
}

static struct xlat_zone *
make_zone(uint32_t n)
{
    struct xlat_conf *conf = xlat_conf_create();
    struct xlat_zone *zone;
    char max[16];
    char *error = xlat_conf_set_kind(conf, "nat64");

    snprintf(max, sizeof max, "%u", n);
    xlat_conf_set_seed(conf, 42);
    error = error ? error : xlat_conf_add_pool6(conf, "2001:db8:64::/96");
    error = error ? error : xlat_conf_add_pool4(conf, "192.0.2.0/27");
    error = error ? error : xlat_conf_set_option(conf, "max-sessions", max);
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
    pk_put16(ip + 20, htons(SERVER_PORT));
    pk_put16(ip + 24, htons(PAYLOAD));
    pk_put16(ip + 26, 0x1234);

    ip = bench->template6;
    ip[0] = 0x60;
    pk_put16(ip + 4, htons(PAYLOAD));
    ip[6] = IPPROTO_UDP;
    ip[7] = 64;
    inet_pton(AF_INET6, "2001:db8:64::198.51.100.7", ip + 24);
    pk_put16(ip + 42, htons(SERVER_PORT));
    pk_put16(ip + 44, htons(PAYLOAD));
    pk_put16(ip + 46, 0x1234);
}

static void
make_packet_in(struct bench *bench, struct xlat_job *job, uint8_t *data,
               uint32_t number)
{
    memcpy(data, bench->template4, 64);
    pk_put32(data + 16, bench->outsides[number].ip);
    pk_put16(data + 22, bench->outsides[number].port);
    pk_put16(data + 10, pk_csum_finish(pk_csum_bytes(data, 20)));
    job->pk = (struct pk) {
        .data = data, .len = 20 + PAYLOAD, .headroom = HEADROOM,
    };
}

static void
make_packet_out(struct bench *bench, struct xlat_job *job, uint8_t *data,
                uint32_t number)
{
    memcpy(data, bench->template6, 128);
    put_inside(data + 8, number);
    pk_put16(data + 40, inside_port(number));
    job->pk = (struct pk) {
        .data = data, .len = 40 + PAYLOAD, .headroom = HEADROOM,
    };
}

/* Has the first packet of each of 'n' sessions make it, and notes what it has
 * outside. */
static void
make_sessions(struct bench *bench, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct xlat_job *job = &bench->jobs[0];

        make_packet_out(bench, job, bench->frames[0] + HEADROOM, i);
        xlat_run(bench->zone, &bench->ctx, job, 1);
        if (job->verdict != XLAT_TRANSLATED) {
            fail("new session", xlat_drop_name(job->drop));
        }
        bench->outsides[i].ip = pk_get32(job->pk.data + 12);
        bench->outsides[i].port = pk_get16(job->pk.data + 20);
    }
}

static struct bench *
make_bench(uint32_t n)
{
    struct bench *bench = calloc(1, sizeof *bench);
    uint64_t random = 1;

    bench->zone = make_zone(n);
    bench->ctx = (struct xlat_ctx) { .now_us = 1, .rng = 1, .thread = 1 };
    bench->outsides = malloc(n * sizeof *bench->outsides);
    bench->numbers = malloc(N_NUMBERS * sizeof *bench->numbers);
    for (size_t i = 0; i < N_NUMBERS; i++) {
        random = random * UINT64_C(6364136223846793005)
                 + UINT64_C(1442695040888963407);
        bench->numbers[i] = (random >> 32) * n >> 32;
    }
    make_templates(bench);
    make_sessions(bench, n);
    return bench;
}

static void
run_batch(struct bench *bench, bool in)
{
    for (size_t i = 0; i < XLAT_BATCH; i++) {
        uint32_t number = bench->numbers[bench->next++ % N_NUMBERS];
        uint8_t *data = bench->frames[i] + HEADROOM;

        (in ? make_packet_in : make_packet_out)(bench, &bench->jobs[i], data,
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

/* Compares a result with what its session obviously gives. */
static bool
is_right(const struct bench *bench, const struct xlat_job *job, bool in,
         uint32_t number)
{
    const uint8_t *ip = job->pk.data;
    const struct outside *o = &bench->outsides[number];
    uint8_t inside[16];

    if (!in) {
        return (!memcmp(ip + 12, &o->ip, 4)
                && !memcmp(ip + 20, &o->port, 2));
    }
    put_inside(inside, number);
    return (!memcmp(ip + 24, inside, 16)
            && pk_get16(ip + 42) == inside_port(number));
}

static void
check(struct bench *bench)
{
    for (size_t i = 0; i < N_NUMBERS / XLAT_BATCH; i++) {
        size_t first = bench->next;

        run_batch(bench, i % 2);
        for (size_t j = 0; j < XLAT_BATCH; j++) {
            const struct xlat_job *job = &bench->jobs[j];

            if (job->verdict != XLAT_TRANSLATED) {
                fail("translation", xlat_drop_name(job->drop));
            }
            if (!is_right(bench, job, i % 2,
                          bench->numbers[(first + j) % N_NUMBERS])) {
                fail("translation", "wrong address or port");
            }
        }
    }
}

int
main(void)
{
    struct bench *few = make_bench(FEW);
    struct bench *million = make_bench(MILLION);
    struct pairs_kernel a = { "1000 sessions", run, few };
    struct pairs_kernel b = { "1000000 sessions", run, million };
    struct nat64_gauges gauges;
    struct pairs_result result;
    char note[128];

    check(few);
    check(million);
    pairs_measure(&a, &b, 200, &result);
    check(million);
    nat64_get_gauges(million->zone, &gauges);
    snprintf(note, sizeof note, "1000 sessions against 1000000, uniform, both "
             "ways; %.1f bytes of memory a session",
             (double) gauges.bytes / gauges.max_sessions);
    pairs_print(&result, note);
    return 0;
}
