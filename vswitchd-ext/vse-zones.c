/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include <config.h>

#include "vse-zones.h"

#include <stdlib.h>

#include "cmap.h"
#include "hash.h"
#include "ovs-rcu.h"
#include "util.h"

#include "xlat-conf.h"
#include "xlat-zone.h"

/* A number in use.  'zone' is swapped as a whole, so that whoever reads it
 * has one configuration in hand. */
struct vse_zone {
    struct cmap_node node;         /* In 'zones', by number. */
    OVSRCU_TYPE(struct xlat_zone *) zone;
    uint32_t number;
};

static struct cmap zones = CMAP_INITIALIZER;

static struct vse_zone *
vse_zone_lookup(uint32_t number)
{
    struct vse_zone *vz;

    CMAP_FOR_EACH_WITH_HASH (vz, node, hash_int(number, 0), &zones) {
        if (vz->number == number) {
            return vz;
        }
    }
    return NULL;
}

const struct xlat_zone *
vse_zone_find(uint32_t number)
{
    const struct vse_zone *vz = vse_zone_lookup(number);

    return vz ? ovsrcu_get(struct xlat_zone *, &vz->zone) : NULL;
}

static void
destroy_zone(void *zone)
{
    xlat_zone_destroy(zone);
}

/* Destroys 'zone' once no thread can be using it.  (ovsrcu_postpone() itself
 * wants a complete type.) */
static void
postpone_destroy(struct xlat_zone *zone)
{
    ovsrcu_postpone__(destroy_zone, zone);
}

static void
vse_zone_insert(uint32_t number, struct xlat_zone *zone)
{
    struct vse_zone *vz = xmalloc(sizeof *vz);

    vz->number = number;
    ovsrcu_init(&vz->zone, zone);
    cmap_insert(&zones, &vz->node, hash_int(number, 0));
}

char *
vse_zone_put(uint32_t number, const struct xlat_conf *conf)
{
    struct vse_zone *vz = vse_zone_lookup(number);
    struct xlat_zone *old
        = vz ? ovsrcu_get_protected(struct xlat_zone *, &vz->zone) : NULL;
    struct xlat_zone *new;
    char *error = NULL;

    int retval = xlat_zone_create(conf, old, &new, &error);
    if (retval) {
        return error ? error : xstrdup(ovs_strerror(retval));
    }

    if (vz) {
        ovsrcu_set(&vz->zone, new);
        postpone_destroy(old);
    } else {
        vse_zone_insert(number, new);
    }
    return NULL;
}

void
vse_zone_remove(uint32_t number)
{
    struct vse_zone *vz = vse_zone_lookup(number);

    if (vz) {
        cmap_remove(&zones, &vz->node, hash_int(number, 0));
        postpone_destroy(ovsrcu_get_protected(struct xlat_zone *, &vz->zone));
        ovsrcu_postpone(free, vz);
    }
}
