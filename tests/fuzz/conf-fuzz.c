/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Fuzz target: a zone's configuration, in the strings that OVSDB or a JSON
 * file has.
 *
 * Input: lines; the first character of each says which column it is for, and
 * '|' separates the strings of a row.  Whatever is accepted becomes a zone,
 * and a packet goes through it. */

#define _GNU_SOURCE 1

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "xlat-conf.h"
#include "xlat-zone.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The next string of a row, or NULL. */
static char *
word(char **rest)
{
    return strsep(rest, "|");
}

static char *
tell(struct xlat_conf *conf, char *line)
{
    char *rest = line + 1;
    char *a = word(&rest), *b = word(&rest), *c = word(&rest);

    switch (line[0]) {
    case 'z':
        return xlat_conf_set_zone(conf, atoll(a));
    case 'k':
        return xlat_conf_set_kind(conf, a);
    case '6':
        return xlat_conf_add_pool6(conf, a);
    case '4':
        return xlat_conf_add_pool4(conf, a);
    case 'e':
        return b ? xlat_conf_add_eam(conf, a, b) : NULL;
    case 'i':
        return b ? xlat_conf_add_ila(conf, a, b, c, word(&rest)) : NULL;
    case 'o':
        return b ? xlat_conf_set_option(conf, a, b) : NULL;
    default:
        return NULL;
    }
}

static void
run_packet(const struct xlat_zone *zone)
{
    uint8_t buf[1024] = { 0 };
    struct xlat_ctx ctx = { .now_us = 1, .rng = 1 };
    struct xlat_job job = { .pk = { .data = buf + 256, .len = 60,
                                    .headroom = 256, .tailroom = 512 } };
    struct xlat_counters counters;

    buf[256] = 0x60;
    buf[256 + 5] = 20;
    buf[256 + 6] = 17;
    buf[256 + 7] = 64;
    xlat_run(zone, &ctx, &job, 1);
    xlat_zone_get_counters(zone, &counters);
    assert(counters.packets == 1);
}

static void
use(const struct xlat_conf *conf)
{
    struct xlat_zone *zone, *next;
    char *error = NULL;

    if (xlat_zone_create(conf, NULL, &zone, &error)) {
        assert(error && *error);
        free(error);
        return;
    }
    run_packet(zone);
    /* The same again in its place must be possible. */
    assert(!xlat_zone_create(conf, zone, &next, &error));
    xlat_zone_destroy(zone);
    xlat_zone_destroy(next);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct xlat_conf *conf = xlat_conf_create();
    char *text = strndup((const char *) data, size);
    char *rest = text, *line;

    while ((line = strsep(&rest, "\n")) != NULL) {
        if (*line) {
            char *error = tell(conf, line);

            assert(!error || *error);
            free(error);
        }
    }
    use(conf);
    xlat_conf_destroy(conf);
    free(text);
    return 0;
}
