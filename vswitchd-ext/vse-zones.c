/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include <config.h>

#include "vse-zones.h"

#include <stdlib.h>

#include "nat64.h"
#include "ovs-rcu.h"
#include "timeval.h"
#include "util.h"
#include "vse-expire.h"
#include "vse-log.h"
#include "xlat-conf.h"
#include "xlat-zone.h"

/* By number.  Pages of it are memory only where a zone is.  A zone is swapped
 * as a whole, so that whoever reads it has one configuration in hand. */
static OVSRCU_TYPE(struct xlat_zone *) zones[UINT16_MAX + 1];

const struct xlat_zone *
vse_zone_find(uint32_t number)
{
    return number < ARRAY_SIZE(zones)
           ? ovsrcu_get(struct xlat_zone *, &zones[number]) : NULL;
}

static void
destroy_zone(void *zone)
{
    xlat_zone_destroy(zone);
}

/* Puts 'zone', which may be null, and destroys the one before once no thread
 * can be using it.  (ovsrcu_postpone() itself wants a complete type.) */
static void
replace(uint32_t number, struct xlat_zone *zone)
{
    struct xlat_zone *old = ovsrcu_get_protected(struct xlat_zone *,
                                                 &zones[number]);

    ovsrcu_set(&zones[number], zone);
    if (old) {
        ovsrcu_postpone__(destroy_zone, old);
    }
}

char *
vse_zone_put(uint32_t number, const struct xlat_conf *conf)
{
    struct xlat_zone *old = ovsrcu_get_protected(struct xlat_zone *,
                                                 &zones[number]);
    struct xlat_zone *new;
    char *error = NULL;

    int retval = xlat_zone_create(conf, old, &new, &error);
    if (retval) {
        return error ? error : xstrdup(ovs_strerror(retval));
    }
    replace(number, new);
    if (xlat_zone_is_stateful(new)) {
        nat64_fit(new, time_usec(), vse_postpone);
        vse_expire_start();
    }
    vse_log_put(new);
    return NULL;
}

void
vse_zone_for_each(void (*cb)(const struct xlat_zone *, void *aux), void *aux)
{
    for (uint32_t number = 0; number < ARRAY_SIZE(zones); number++) {
        const struct xlat_zone *zone = vse_zone_find(number);

        if (zone) {
            cb(zone, aux);
        }
    }
}

void
vse_zone_remove(uint32_t number)
{
    struct xlat_zone *old = ovsrcu_get_protected(struct xlat_zone *,
                                                 &zones[number]);

    replace(number, NULL);
    if (old && xlat_zone_log_to(old)) {
        /* The log says that they end. */
        nat64_flush(old, time_usec(), vse_postpone);
    }
    vse_log_remove(number);
}
