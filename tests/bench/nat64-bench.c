/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include "nat64-bench.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nat64-tcp.h"
#include "nat64.h"
#include "pairs.h"
#include "pk-csum.h"
#include "xlat-conf.h"
#include "xlat-zone.h"

#define PAYLOAD 26               /* UDP header and data, bytes. */
#define SERVER_IP "9.1.2.3"
#define SERVER_PORT 53
#define CHECKED_BATCHES 8192

static void make_templates(struct nat64_bench *, const char *pool6);
static void make_packet(struct nat64_bench_thread *, size_t i, bool in);
static double run_jobs(struct nat64_bench_thread *, size_t n);

void
nat64_bench_fail(const char *what, const char *error)
{
    fprintf(stderr, "%s: %s\n", what, error);
    exit(EXIT_FAILURE);
}

/* ------------------------------------------------------------------------
 * Zones.
 * ------------------------------------------------------------------------ */

static char *
add_pool4(struct xlat_conf *conf, const char *pool4)
{
    char *copy = strdup(pool4), *next = copy, *entry, *error = NULL;

    while (!error && (entry = strsep(&next, ","))) {
        error = xlat_conf_add_pool4(conf, entry);
    }
    free(copy);
    return error;
}

static struct xlat_zone *
make_zone(const struct nat64_bench_conf *bc)
{
    struct xlat_conf *conf = xlat_conf_create();
    struct xlat_zone *zone;
    char max[16];
    char *error = xlat_conf_set_kind(conf, bc->kind);

    snprintf(max, sizeof max, "%u", bc->max);
    xlat_conf_set_seed(conf, 42);
    if (!error && bc->pool6) {
        error = xlat_conf_add_pool6(conf, bc->pool6);
    }
    error = error ? error : add_pool4(conf, bc->pool4);
    error = error ? error : xlat_conf_set_option(conf, "max-sessions", max);
    for (const char *const *o = bc->options; o && *o && !error; o += 2) {
        error = xlat_conf_set_option(conf, o[0], o[1]);
    }
    if (error || xlat_zone_create(conf, NULL, &zone, &error)) {
        nat64_bench_fail("zone", error);
    }
    xlat_conf_destroy(conf);
    return zone;
}

void
nat64_bench_init(struct nat64_bench *bench, const struct nat64_bench_conf *bc)
{
    memset(bench, 0, sizeof *bench);
    bench->zone = make_zone(bc);
    bench->inside4 = !strcmp(bc->kind, "nat44");
    bench->max = bc->max;
    bench->outsides = calloc(bc->max, sizeof *bench->outsides);
    if (!bench->outsides) {
        nat64_bench_fail("memory", "there is none");
    }
    make_templates(bench, bc->pool6);
}

void
nat64_bench_destroy(struct nat64_bench *bench)
{
    xlat_zone_destroy(bench->zone);
    free(bench->outsides);
}

/* ------------------------------------------------------------------------
 * Packets.
 * ------------------------------------------------------------------------ */

void
nat64_bench_put_inside6(uint8_t *ip, uint32_t i)
{
    memset(ip, 0, 16);
    pk_put32(ip, htonl(0x20010db8));
    pk_put32(ip + 4, htonl(0x00010000));
    pk_put32(ip + 12, htonl(i / 64));
}

void
nat64_bench_put_inside4(uint8_t *ip, uint32_t i)
{
    pk_put32(ip, htonl(0x0a000000 + i / 64));
}

pk_be16
nat64_bench_inside_port(uint32_t i)
{
    return htons(1024 + i % 64);
}

/* Puts a header for UDP from or to the server at 'ip', and 'l4' behind it. */
static void
put_ip4(uint8_t *ip)
{
    memset(ip, 0, 20 + PAYLOAD);
    ip[0] = 0x45;
    pk_put16(ip + 2, htons(20 + PAYLOAD));
    ip[8] = 64;
    ip[9] = IPPROTO_UDP;
    pk_put16(ip + 20, htons(SERVER_PORT));
    pk_put16(ip + 22, htons(SERVER_PORT));
    pk_put16(ip + 24, htons(PAYLOAD));
    pk_put16(ip + 26, 0x1234);
    inet_pton(AF_INET, SERVER_IP, ip + 12);
    inet_pton(AF_INET, SERVER_IP, ip + 16);
}

static void
make_templates(struct nat64_bench *bench, const char *pool6)
{
    uint8_t *ip = bench->template6;

    put_ip4(bench->template4);
    ip[0] = 0x60;
    pk_put16(ip + 4, htons(PAYLOAD));
    ip[6] = IPPROTO_UDP;
    ip[7] = 64;
    if (pool6) {
        char prefix[64];

        snprintf(prefix, sizeof prefix, "%.*s",
                 (int) strcspn(pool6, "/"), pool6);
        inet_pton(AF_INET6, prefix, ip + 24);
        inet_pton(AF_INET, SERVER_IP, ip + 36);
    }
    memcpy(ip + 40, bench->template4 + 20, PAYLOAD);
}

static void
put_csum4(uint8_t *ip)
{
    pk_put16(ip + 10, 0);
    pk_put16(ip + 10, pk_csum_finish(pk_csum_bytes(ip, 20)));
}

static void
make_packet_in(const struct nat64_bench *bench, uint8_t *ip, uint32_t number)
{
    memcpy(ip, bench->template4, 20 + PAYLOAD);
    pk_put32(ip + 16, bench->outsides[number].ip);
    pk_put16(ip + 22, bench->outsides[number].port);
    put_csum4(ip);
}

static void
make_packet_out4(const struct nat64_bench *bench, uint8_t *ip,
                 uint32_t number)
{
    memcpy(ip, bench->template4, 20 + PAYLOAD);
    nat64_bench_put_inside4(ip + 12, number);
    pk_put16(ip + 20, nat64_bench_inside_port(number));
    put_csum4(ip);
}

static void
make_packet_out6(const struct nat64_bench *bench, uint8_t *ip,
                 uint32_t number)
{
    memcpy(ip, bench->template6, 40 + PAYLOAD);
    nat64_bench_put_inside6(ip + 8, number);
    pk_put16(ip + 40, nat64_bench_inside_port(number));
}

/* Makes the packet of job 'i', of the session that 'numbers' says. */
static void
make_packet(struct nat64_bench_thread *t, size_t i, bool in)
{
    const struct nat64_bench *bench = t->bench;
    uint8_t *data = t->frames[i] + NAT64_BENCH_HEADROOM;
    bool is4 = in || bench->inside4;

    (in ? make_packet_in
     : bench->inside4 ? make_packet_out4
     : make_packet_out6)(bench, data, t->numbers[i]);
    t->jobs[i].pk = (struct pk) {
        .data = data,
        .len = (is4 ? 20 : 40) + PAYLOAD,
        .headroom = NAT64_BENCH_HEADROOM,
        .flags = PK_IP_CSUM_OK,
    };
}

/* ------------------------------------------------------------------------
 * Threads.
 * ------------------------------------------------------------------------ */

void
nat64_bench_thread_init(struct nat64_bench_thread *t,
                        const struct nat64_bench *bench, unsigned int number)
{
    memset(t, 0, sizeof *t);
    t->bench = bench;
    t->ctx = (struct xlat_ctx) {
        .now_us = 1000000, .rng = number, .thread = number,
    };
    t->random = number;
}

/* Takes the first 'n' jobs through the zone, and returns the nanoseconds. */
static double
run_jobs(struct nat64_bench_thread *t, size_t n)
{
    double start = pairs_now_ns();

    xlat_run(t->bench->zone, &t->ctx, t->jobs, n);
    return pairs_now_ns() - start;
}

static void
note_outside(const struct nat64_bench_thread *t, size_t i)
{
    const struct xlat_job *job = &t->jobs[i];
    struct nat64_bench_outside *o = &t->bench->outsides[t->numbers[i]];

    if (job->verdict != XLAT_TRANSLATED) {
        nat64_bench_fail("new session", xlat_drop_name(job->drop));
    }
    o->ip = pk_get32(job->pk.data + 12);
    o->port = pk_get16(job->pk.data + 20);
}

double
nat64_bench_make(struct nat64_bench_thread *t, uint32_t first, uint32_t n)
{
    double ns = 0;

    for (uint32_t i = 0; i < n; ) {
        uint32_t batch = n - i < XLAT_BATCH ? n - i : XLAT_BATCH;

        for (uint32_t j = 0; j < batch; j++) {
            t->numbers[j] = first + i + j;
            make_packet(t, j, false);
        }
        ns += run_jobs(t, batch);
        for (uint32_t j = 0; j < batch; j++) {
            note_outside(t, j);
        }
        i += batch;
    }
    t->first = first;
    t->n = n;
    return ns;
}

double
nat64_bench_batch(struct nat64_bench_thread *t, bool in)
{
    for (size_t i = 0; i < XLAT_BATCH; i++) {
        t->numbers[i] = t->first + nat64_bench_random(&t->random, t->n);
        make_packet(t, i, in);
    }
    return run_jobs(t, XLAT_BATCH);
}

double
nat64_bench_run(void *thread, size_t n)
{
    double ns = 0;

    for (size_t i = 0; i < n / XLAT_BATCH; i++) {
        ns += nat64_bench_batch(thread, i % 2);
    }
    return ns;
}

/* ------------------------------------------------------------------------
 * Comparison.
 * ------------------------------------------------------------------------ */

static uint64_t
sum_udp(const uint8_t *ip)
{
    bool is4 = ip[0] >> 4 == 4;

    return pk_csum_bytes(ip + (is4 ? 20 : 40), PAYLOAD)
           + (is4 ? pk_csum_addr4(ip + 12) + pk_csum_addr4(ip + 16)
              : pk_csum_addr6(ip + 8) + pk_csum_addr6(ip + 24))
           + pk_csum_pseudo(PAYLOAD, IPPROTO_UDP);
}

/* Gives the packet at 'ip' its checksum. */
static void
put_csum(uint8_t *ip)
{
    uint8_t *csum = ip + (ip[0] >> 4 == 4 ? 20 : 40) + 6;
    pk_be16 x;

    pk_put16(csum, 0);
    x = pk_csum_finish(sum_udp(ip));
    pk_put16(csum, x ? x : 0xffff);
}

/* Returns whether the checksums of the packet at 'ip' are right. */
static bool
has_csum(const uint8_t *ip)
{
    return (!pk_csum_finish(sum_udp(ip))
            && (ip[0] >> 4 == 6 || !pk_csum_finish(pk_csum_bytes(ip, 20))));
}

/* Returns whether the packet of session 'number' has come out at 'ip' as it
 * obviously should. */
static bool
is_right(const struct nat64_bench *bench, const uint8_t *ip, bool in,
         uint32_t number)
{
    const struct nat64_bench_outside *o = &bench->outsides[number];
    pk_be16 port = nat64_bench_inside_port(number);
    uint8_t inside[16];

    if (!in) {
        return (!memcmp(ip + 12, &o->ip, 4)
                && !memcmp(ip + 16, bench->template4 + 16, 4)
                && !memcmp(ip + 20, &o->port, 2));
    } else if (bench->inside4) {
        nat64_bench_put_inside4(inside, number);
        return !memcmp(ip + 16, inside, 4) && pk_get16(ip + 22) == port;
    }
    nat64_bench_put_inside6(inside, number);
    return (!memcmp(ip + 8, bench->template6 + 24, 16)
            && !memcmp(ip + 24, inside, 16) && pk_get16(ip + 42) == port);
}

static void
check_batch(struct nat64_bench_thread *t, bool in)
{
    for (size_t i = 0; i < XLAT_BATCH; i++) {
        t->numbers[i] = t->first + nat64_bench_random(&t->random, t->n);
        make_packet(t, i, in);
        put_csum(t->jobs[i].pk.data);
    }
    run_jobs(t, XLAT_BATCH);
    for (size_t i = 0; i < XLAT_BATCH; i++) {
        const struct xlat_job *job = &t->jobs[i];

        if (job->verdict != XLAT_TRANSLATED) {
            nat64_bench_fail("translation", xlat_drop_name(job->drop));
        } else if (!is_right(t->bench, job->pk.data, in, t->numbers[i])) {
            nat64_bench_fail("translation", "wrong address or port");
        } else if (!has_csum(job->pk.data)) {
            nat64_bench_fail("translation", "wrong checksum");
        }
    }
}

void
nat64_bench_check(struct nat64_bench_thread *t)
{
    for (int i = 0; i < CHECKED_BATCHES; i++) {
        check_batch(t, i % 2);
    }
}

/* ------------------------------------------------------------------------
 * The end of sessions.
 * ------------------------------------------------------------------------ */

void
nat64_bench_call_now(void (*cb)(void *aux), void *aux)
{
    cb(aux);
}

static void
end_session(const struct nat64_bench_thread *t, uint32_t i)
{
    const struct nat64_bench *bench = t->bench;
    struct nat64_record record = {
        .version = NAT64_RECORD_VERSION,
        .proto = IPPROTO_UDP,
        .inside_family = bench->inside4 ? 4 : 6,
        .state = NAT64_STATELESS,
        .pool6_len = bench->inside4 ? 0 : 96,
        .outside = bench->outsides[i].ip,
        .remote = pk_get32(bench->template4 + 12),
        .inside_port = ntohs(nat64_bench_inside_port(i)),
        .outside_port = ntohs(bench->outsides[i].port),
        .remote_port = SERVER_PORT,
    };

    if (bench->inside4) {
        nat64_bench_put_inside4((uint8_t *) &record.inside, i);
    } else {
        nat64_bench_put_inside6((uint8_t *) &record.inside, i);
        memcpy(&record.pool6, bench->template6 + 24, 12);
    }
    if (nat64_forget(bench->zone, &record, t->ctx.now_us,
                     nat64_bench_call_now)) {
        nat64_bench_fail("end of session", "there is none");
    }
}

void
nat64_bench_end(struct nat64_bench_thread *t, uint32_t first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        end_session(t, first + i);
    }
    t->ctx.now_us += 200000;
    nat64_run(t->bench->zone, t->ctx.now_us, nat64_bench_call_now, NULL, NULL);
}
