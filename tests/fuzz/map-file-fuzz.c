/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Fuzz target: a file of mappings, one a line, read as explicit address
 * mappings and as ILA's. */

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

/* Gives the bytes to 'read', for a zone of 'kind' that owns 'pool6'. */
static void
try(const char *kind, const char *pool6, const uint8_t *data, size_t size,
    char *(*read)(struct xlat_conf *, FILE *))
{
    struct xlat_conf *conf = xlat_conf_create();
    FILE *file = fmemopen((void *) data, size ? size : 1, "r");
    char *error;

    free(xlat_conf_set_zone(conf, 1));
    free(xlat_conf_set_kind(conf, kind));
    free(xlat_conf_add_pool6(conf, pool6));
    error = read(conf, file);
    assert(!error || *error);
    free(error);
    use(conf);
    fclose(file);
    xlat_conf_destroy(conf);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try("siit", "2001:db8:64::/96", data, size, xlat_conf_read_eamt);
    try("ila", "3333:0:0:1::/64", data, size, xlat_conf_read_ila);
    return 0;
}
