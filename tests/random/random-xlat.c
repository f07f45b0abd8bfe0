/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* random-xlat: random packets through random zones, lib against the oracle.
 *
 *     random-xlat [--packets N] [--seed S] [--zones N] [--keep-going N]
 *
 * Every zone has its own seed, printed with a difference: with --seed of that
 * value and --zones 1 it comes again.  The packet and the zone are written to
 * files then, for flex-pcap and for eyes.  Speaks TAP. */

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "compare.h"
#include "gen-conf.h"
#include "oracle-packet.h"

#define PACKETS_PER_ZONE 4096

struct run {
    uint64_t packets, max_packets;
    uint64_t zones, max_zones;
    uint64_t refused;            /* Zones that could not be. */
    uint64_t verdicts[4];
    uint64_t drops[XLAT_N_DROPS];
    unsigned int differences, max_differences;
    struct compare_slot slots[COMPARE_MAX_BATCH];
};

static void
write_u32(FILE *file, uint32_t x)
{
    fwrite(&x, sizeof x, 1, file);
}

/* Writes a capture of raw IP packets with the one packet. */
static void
write_pcap(const char *name, const struct compare_slot *slot)
{
    FILE *file = fopen(name, "wb");

    if (!file) {
        return;
    }
    write_u32(file, 0xa1b2c3d4);
    write_u32(file, 2 | 4 << 16);
    write_u32(file, 0);
    write_u32(file, 0);
    write_u32(file, 262144);
    write_u32(file, 101);              /* LINKTYPE_RAW. */
    write_u32(file, 1);
    write_u32(file, 0);
    write_u32(file, slot->in.len);
    write_u32(file, slot->in.len);
    fwrite(slot->copy, 1, slot->in.len, file);
    fclose(file);
}

static void
report(struct run *run, const struct orc_conf *conf, uint64_t zone_seed,
       uint64_t number, enum xlat_dir dir, const struct compare_slot *slot,
       const char *what)
{
    char name[64];
    FILE *file;

    run->differences++;
    printf("# difference: %s, zone of seed %llu, packet %llu of it\n", what,
           (unsigned long long) zone_seed, (unsigned long long) number);
    snprintf(name, sizeof name, "random-xlat.%llu.%llu.txt",
             (unsigned long long) zone_seed, (unsigned long long) number);
    file = fopen(name, "w");
    if (file) {
        fprintf(file, "%s\n", what);
        compare_slot_print(conf, dir, slot, file);
        gen_conf_print(conf, file);
        fclose(file);
    }
    snprintf(name, sizeof name, "random-xlat.%llu.%llu.pcap",
             (unsigned long long) zone_seed, (unsigned long long) number);
    write_pcap(name, slot);
    snprintf(name, sizeof name, "random-xlat.%llu.%llu.json",
             (unsigned long long) zone_seed, (unsigned long long) number);
    file = fopen(name, "w");
    if (file) {
        gen_conf_print(conf, file);
        fclose(file);
    }
}

static void
fill_slot(struct rnd *rnd, const struct orc_conf *conf,
          struct compare_slot *slot)
{
    uint32_t headroom = rnd_chance(rnd, 950) ? 256 : rnd_below(rnd, 100);

    gen_packet(rnd, conf, slot->copy, &slot->in);
    compare_slot_put(slot, headroom, rnd_below(rnd, 64));
}

/* Takes one batch through 'zone'. */
static void
run_batch(struct run *run, struct rnd *rnd, const struct orc_conf *conf,
          const struct xlat_zone *zone, struct xlat_ctx *ctx,
          uint64_t zone_seed, uint64_t number, size_t n,
          struct compare_tally *tally)
{
    struct xlat_job jobs[COMPARE_MAX_BATCH];

    ctx->dir = (conf->kind == XLAT_KIND_ILA && rnd_chance(rnd, 300)
                ? rnd_below(rnd, 3) : XLAT_DIR_AUTO);
    ctx->dry_run = rnd_chance(rnd, 20);
    ctx->now_us += 1000000;
    for (size_t i = 0; i < n; i++) {
        fill_slot(rnd, conf, &run->slots[i]);
        jobs[i] = run->slots[i].job;
    }
    xlat_run(zone, ctx, jobs, n);
    for (size_t i = 0; i < n; i++) {
        struct compare_slot *slot = &run->slots[i];
        const char *wrong;

        slot->job = jobs[i];
        wrong = compare_slot_check(conf, ctx->dir,
                                   conf->set.icmp_error_rate > 0, slot);
        if (wrong) {
            report(run, conf, zone_seed, number + i, ctx->dir, slot, wrong);
            if (run->differences >= run->max_differences) {
                return;
            }
        }
        if (!ctx->dry_run && slot->job.verdict <= XLAT_DROPPED
            && slot->job.drop < XLAT_N_DROPS) {
            compare_tally_add(tally, slot);
        }
        run->verdicts[slot->job.verdict & 3]++;
        if (slot->job.verdict == XLAT_DROPPED) {
            run->drops[slot->job.drop]++;
        }
    }
    run->packets += n;
}

static struct xlat_zone *
make_zone(const struct orc_conf *conf, const struct xlat_zone *prev,
          char **errorp)
{
    struct xlat_conf *xc = gen_conf_tell(conf, errorp);
    struct xlat_zone *zone = NULL;

    if (xc) {
        if (xlat_zone_create(xc, prev, &zone, errorp)) {
            zone = NULL;
        }
        xlat_conf_destroy(xc);
    }
    return zone;
}

static void
run_zone(struct run *run, uint64_t seed)
{
    struct rnd rnd = rnd_from_seed(seed);
    struct compare_tally tally;
    struct xlat_ctx ctx = { .now_us = 1, .rng = seed | 1 };
    static struct orc_conf conf;
    struct xlat_zone *zone;
    char *error = NULL;
    uint64_t number = 0;
    const char *wrong;

    gen_conf(&rnd, &conf);
    zone = make_zone(&conf, NULL, &error);
    if (!zone) {
        if (getenv("RANDOM_XLAT_VERBOSE")) {
            printf("# zone of seed %llu refused: %s\n",
                   (unsigned long long) seed, error);
        }
        free(error);
        run->refused++;
        return;
    }
    memset(&tally, 0, sizeof tally);
    while (number < PACKETS_PER_ZONE && run->packets < run->max_packets
           && run->differences < run->max_differences) {
        size_t n = (rnd_chance(&rnd, 700) ? 32
                    : rnd_range(&rnd, 1, COMPARE_MAX_BATCH));

        if (rnd_chance(&rnd, 2)) {
            /* A new zone in its place: counters go on. */
            struct xlat_zone *old = zone;

            zone = make_zone(&conf, old, &error);
            xlat_zone_destroy(old);
        }
        run_batch(run, &rnd, &conf, zone, &ctx, seed, number, n, &tally);
        number += n;
    }
    wrong = compare_tally_check(&tally, zone);
    if (wrong && run->differences < run->max_differences) {
        run->differences++;
        printf("# difference: %s, zone of seed %llu\n", wrong,
               (unsigned long long) seed);
    }
    xlat_zone_destroy(zone);
    run->zones++;
}

static void
print_summary(const struct run *run, double seconds)
{
    printf("# %llu packets, %llu zones (%llu refused), %.1f s, %.0f kpps\n",
           (unsigned long long) run->packets,
           (unsigned long long) run->zones,
           (unsigned long long) run->refused, seconds,
           run->packets / seconds / 1000);
    printf("# translated %llu, reply %llu, passed %llu, dropped %llu:",
           (unsigned long long) run->verdicts[XLAT_TRANSLATED],
           (unsigned long long) run->verdicts[XLAT_REPLY],
           (unsigned long long) run->verdicts[XLAT_PASSED],
           (unsigned long long) run->verdicts[XLAT_DROPPED]);
    for (int i = 0; i < XLAT_N_DROPS; i++) {
        if (run->drops[i]) {
            printf(" %s %llu", xlat_drop_name(i),
                   (unsigned long long) run->drops[i]);
        }
    }
    printf("\n");
}

static uint64_t
number(const char *s)
{
    return strtoull(s, NULL, 0);
}

int
main(int argc, char *argv[])
{
    static const struct option options[] = {
        { "packets", required_argument, NULL, 'p' },
        { "seed", required_argument, NULL, 's' },
        { "zones", required_argument, NULL, 'z' },
        { "keep-going", required_argument, NULL, 'k' },
        { NULL, 0, NULL, 0 },
    };
    static struct run run = {
        .max_packets = 200000, .max_zones = UINT64_MAX, .max_differences = 1,
    };
    uint64_t seed = 1;
    clock_t start;
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
        switch (c) {
        case 'p': run.max_packets = number(optarg); break;
        case 's': seed = number(optarg); break;
        case 'z': run.max_zones = number(optarg); break;
        case 'k': run.max_differences = number(optarg); break;
        default: return 2;
        }
    }
    printf("1..1\n# seed %llu\n", (unsigned long long) seed);
    for (int i = 0; i < COMPARE_MAX_BATCH; i++) {
        compare_slot_init(&run.slots[i]);
    }
    start = clock();
    while (run.packets < run.max_packets && run.zones < run.max_zones
           && run.differences < run.max_differences
           && (run.zones || run.refused < 1000)) {
        run_zone(&run, seed++);
        fflush(stdout);
    }
    print_summary(&run, (double) (clock() - start) / CLOCKS_PER_SEC);
    for (int i = 0; i < COMPARE_MAX_BATCH; i++) {
        compare_slot_destroy(&run.slots[i]);
    }
    printf("%s 1 - random packets, lib and oracle agree\n",
           run.differences ? "not ok" : "ok");
    return run.differences != 0;
}
