/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Fuzz target: a file of explicit address mappings, one a line. */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "xlat-conf.h"
#include "xlat-zone.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
use(const struct xlat_conf *conf)
{
    struct xlat_zone *zone;
    char *error = NULL;

    if (xlat_zone_create(conf, NULL, &zone, &error)) {
        assert(error && *error);
        free(error);
    } else {
        xlat_zone_destroy(zone);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct xlat_conf *conf = xlat_conf_create();
    FILE *file = fmemopen((void *) data, size ? size : 1, "r");
    char *error;

    free(xlat_conf_set_zone(conf, 1));
    free(xlat_conf_set_kind(conf, "siit"));
    free(xlat_conf_add_pool6(conf, "2001:db8:64::/96"));
    error = xlat_conf_read_eamt(conf, file);
    assert(!error || *error);
    free(error);
    use(conf);
    fclose(file);
    xlat_conf_destroy(conf);
    return 0;
}
