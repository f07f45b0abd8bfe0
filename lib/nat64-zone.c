/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "nat64-zone.h"

#include <errno.h>
#include <stdlib.h>

#include "nat64-private.h"
#include "nat64.h"
#include "xlat-conf-private.h"
#include "xlat-text.h"
#include "xlat-zone-private.h"

static int place_prefixes(struct xlat_zone *, char **errorp);

/* Returns a sentence if 'conf' has what a stateful zone cannot have. */
static char *
check(const struct xlat_conf *conf, const struct nat64 *nat64)
{
    if (conf->n_eams || conf->eamt_file) {
        return xlat_error("a nat64 zone has no explicit address mappings");
    }
    if (conf->n_mappings || conf->mapping_file) {
        return xlat_error("a nat64 zone has no ILA mappings");
    }
    if (!conf->n_pool6) {
        return xlat_error("a nat64 zone needs a prefix in pool6");
    }
    if (conf->n_pool6 > NAT64_MAX_POOL6) {
        return xlat_error("pool6 of a nat64 zone has at most %d prefixes",
                          NAT64_MAX_POOL6);
    }
    if (nat64 && nat64->max != conf->set.max_sessions) {
        return xlat_error("max-sessions cannot change from %u while the zone "
                          "exists", nat64->max);
    }
    return NULL;
}

int
nat64_compile(struct xlat_zone *zone, const struct xlat_conf *conf,
              const struct xlat_zone *prev, char **errorp)
{
    struct nat64 *nat64 = prev && prev->stateful ? prev->stateful->nat64
                                                 : NULL;
    struct nat64_view *view;
    int error;

    *errorp = check(conf, nat64);
    if (*errorp) {
        return EINVAL;
    }
    view = calloc(1, sizeof *view);
    if (!view) {
        return ENOMEM;
    }
    zone->stateful = view;
    view->nat64 = nat64 ? nat64_ref(nat64)
                        : nat64_create(conf->set.max_sessions, conf->seed);
    if (!view->nat64) {
        return ENOMEM;
    }
    pthread_mutex_lock(&view->nat64->control);
    error = nat64_pool_create(&view->pool, &view->nat64->places, conf, errorp);
    if (!error) {
        error = place_prefixes(zone, errorp);
    }
    pthread_mutex_unlock(&view->nat64->control);
    return error;
}

void
nat64_view_destroy(struct nat64_view *view)
{
    if (view) {
        nat64_pool_destroy(&view->pool);
        nat64_unref(view->nat64);
        free(view);
    }
}

static bool
is_same(const struct xlat_6052 *a, const struct xlat_6052 *b)
{
    return (a->prefix.ip.hi == b->prefix.ip.hi
            && a->prefix.ip.lo == b->prefix.ip.lo
            && a->prefix.len == b->prefix.len);
}

/* Returns the place of 'prefix', a new one if it has none, or -1. */
static int
place_prefix(struct nat64 *nat64, const struct xlat_6052 *prefix)
{
    int place = -1;

    for (int i = 0; i < NAT64_MAX_POOL6; i++) {
        bool busy = nat64->prefix_used[i] || nat64->prefix_closing[i];

        if (busy && is_same(&nat64->prefixes[i], prefix)) {
            place = i;
            break;
        } else if (!busy && place < 0) {
            place = i;
        }
    }
    if (place >= 0) {
        if (!is_same(&nat64->prefixes[place], prefix)) {
            nat64->prefixes[place] = *prefix;
        }
        __atomic_store_n(&nat64->prefix_used[place], true, __ATOMIC_RELEASE);
    }
    return place;
}

static int
place_prefixes(struct xlat_zone *zone, char **errorp)
{
    struct nat64_view *view = zone->stateful;

    for (size_t i = 0; i < zone->addrs.n_pool6; i++) {
        int place = place_prefix(view->nat64, &zone->addrs.pool6[i]);

        if (place < 0) {
            *errorp = xlat_error("pool6 of a nat64 zone has at most %d "
                                 "prefixes, those included that it has right "
                                 "now", NAT64_MAX_POOL6);
            return EINVAL;
        }
        view->prefix_places[i] = place;
    }
    return 0;
}
