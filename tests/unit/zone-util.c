/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "zone-util.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "xlat-conf.h"
#include "xlat-zone.h"

static char *
add_ila(struct xlat_conf *conf, char *value)
{
    char *save = NULL;
    char *identifier = strtok_r(value, ",", &save);
    char *locator = strtok_r(NULL, ",", &save);
    char *csum_mode = strtok_r(NULL, ",", &save);
    char *ident_type = strtok_r(NULL, ",", &save);

    return xlat_conf_add_ila(conf, identifier, locator, csum_mode,
                             ident_type);
}

static char *
add_item(struct xlat_conf *conf, char *item)
{
    char *value = strchr(item, '=');

    ck_assert_ptr_nonnull(value);
    *value++ = '\0';
    if (!strcmp(item, "zone")) {
        return xlat_conf_set_zone(conf, atoll(value));
    } else if (!strcmp(item, "kind")) {
        return xlat_conf_set_kind(conf, value);
    } else if (!strcmp(item, "pool6")) {
        return xlat_conf_add_pool6(conf, value);
    } else if (!strcmp(item, "pool4")) {
        return xlat_conf_add_pool4(conf, value);
    } else if (!strcmp(item, "eam")) {
        char *comma = strchr(value, ',');

        *comma = '\0';
        return xlat_conf_add_eam(conf, value, comma + 1);
    } else if (!strcmp(item, "bib")) {
        return xlat_conf_add_bib(conf, value);
    } else if (!strcmp(item, "ila")) {
        return add_ila(conf, value);
    }
    return xlat_conf_set_option(conf, item, value);
}

struct xlat_conf *
zone_conf(const char *text, char **errorp)
{
    struct xlat_conf *conf = xlat_conf_create();
    char *copy = strdup(text);
    char *save = NULL;

    *errorp = NULL;
    for (char *item = strtok_r(copy, " \n", &save); item && !*errorp;
         item = strtok_r(NULL, " \n", &save)) {
        *errorp = add_item(conf, item);
    }
    free(copy);
    if (*errorp) {
        xlat_conf_destroy(conf);
        return NULL;
    }
    return conf;
}

struct xlat_zone *
zone_make(const char *text, const struct xlat_zone *prev)
{
    char *error;
    struct xlat_zone *zone = NULL;
    struct xlat_conf *conf = zone_conf(text, &error);

    ck_assert_msg(conf, "%s: %s", text, error);
    xlat_zone_create(conf, prev, &zone, &error);
    ck_assert_msg(zone, "%s: %s", text, error);
    xlat_conf_destroy(conf);
    return zone;
}

void
zone_refuse(const char *text, const char *words)
{
    char *error;
    struct xlat_zone *zone = NULL;
    struct xlat_conf *conf = zone_conf(text, &error);

    if (conf) {
        xlat_zone_create(conf, NULL, &zone, &error);
        xlat_conf_destroy(conf);
    }
    ck_assert_msg(!zone && error, "%s was accepted", text);
    ck_assert_msg(strstr(error, words) != NULL, "%s: \"%s\" lacks \"%s\"",
                  text, error, words);
    free(error);
}

void
rng_init(struct rng *rng, uint64_t seed)
{
    rng->state = seed;
}

uint64_t
rng_next(struct rng *rng)
{
    uint64_t x = rng->state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}
