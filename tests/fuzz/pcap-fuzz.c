/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Fuzz target: a capture file, as flex-pcap reads it, through zones of either
 * kind: the file's form, link headers, and the packets. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pcap-file.h"
#include "pcap-run.h"
#include "xlat-conf.h"
#include "xlat-zone.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts if a setting was refused. */
static void
must(char *error)
{
    if (error) {
        fprintf(stderr, "%s\n", error);
        abort();
    }
}

static struct xlat_zone *
make_zone(struct xlat_conf *conf)
{
    struct xlat_zone *zone;
    char *error = NULL;

    if (xlat_zone_create(conf, NULL, &zone, &error)) {
        must(error);
    }
    xlat_conf_destroy(conf);
    return zone;
}

/* A zone in which much can happen: fragments both ways, hairpinning, errors
 * without a limit. */
static struct xlat_zone *
make_siit(void)
{
    struct xlat_conf *conf = xlat_conf_create();

    must(xlat_conf_set_zone(conf, 1));
    must(xlat_conf_set_kind(conf, "siit"));
    must(xlat_conf_add_pool6(conf, "2001:db8:64::/96"));
    must(xlat_conf_add_pool4(conf, "203.0.113.0/24"));
    must(xlat_conf_add_eam(conf, "2001:db8:1::/120", "192.0.2.0/24"));
    must(xlat_conf_set_option(conf, "mtu4", "576"));
    must(xlat_conf_set_option(conf, "mtu6", "1280"));
    must(xlat_conf_set_option(conf, "hairpin", "intrinsic"));
    must(xlat_conf_set_option(conf, "udp-zero-checksum", "compute"));
    must(xlat_conf_set_option(conf, "icmp-error-rate", "1000000"));
    return make_zone(conf);
}

static struct xlat_zone *
make_ila(void)
{
    static const char *const modes[] = {
        "adj-transport", "neutral-map", "neutral-map-auto", "no-action",
    };
    struct xlat_conf *conf = xlat_conf_create();

    must(xlat_conf_set_zone(conf, 2));
    must(xlat_conf_set_kind(conf, "ila"));
    must(xlat_conf_add_pool6(conf, "3333:0:0:1::/64"));
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        char identifier[20];

        snprintf(identifier, sizeof identifier, "4555:0:2:%zu", i);
        must(xlat_conf_add_ila(conf, identifier, "2001:0:0:2", modes[i],
                               NULL));
    }
    must(xlat_conf_set_option(conf, "miss", "pass"));
    return make_zone(conf);
}

static void
run_zone(const char *path, const struct xlat_zone *zone)
{
    struct util_capture in;
    char *error = util_capture_open(&in, path);
    int dlt;

    if (!error) {
        error = util_run_dlt(&in, &dlt);
        if (!error) {
            struct util_run run = { .zone = zone, .in = &in };

            must(util_capture_create("/dev/null", dlt, &in, &run.out));
            error = util_run(&run);
            must(util_capture_finish(run.out));
        }
        util_capture_close(&in);
    }
    free(error);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct xlat_zone *siit, *ila;
    static int fd = -1;
    char path[32];

    if (!siit) {
        siit = make_siit();
        ila = make_ila();
        fd = memfd_create("capture", 0);
    }
    if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t) size) {
        abort();
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    run_zone(path, siit);
    run_zone(path, ila);
    return 0;
}
