/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include <config.h>

#include "vse-config.h"

#include <stdlib.h>
#include <string.h>

#include "entropy.h"
#include "hash.h"
#include "lib/vswitch-idl.h"
#include "openvswitch/json.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "ovsdb-idl.h"
#include "simap.h"
#include "smap.h"
#include "timeval.h"
#include "util.h"
#include "vse-hooks.h"
#include "vse-log.h"
#include "vse-zones.h"
#include "xlat-conf.h"
#include "xlat-zone.h"

VLOG_DEFINE_THIS_MODULE(vse_config);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(60, 60);

/* Files are looked at this often. */
#define LOOK_INTERVAL_MS 1000

static struct hmap zones = HMAP_INITIALIZER(&zones);
static size_t n_files;             /* Named by 'zones'. */
static long long int next_look;    /* In msec. */
static unsigned int round_no;

static struct vse_config_zone *zone_find(int64_t number);
static struct vse_config_zone *zone_create(uint32_t number);
static void zone_destroy(struct vse_config_zone *);
static void zone_apply(struct vse_config_zone *,
                       const struct ovsrec_xlat_zone *,
                       const struct vse_mapping_group *, uint32_t name_owner);
static void zone_set_status(const struct vse_config_zone *,
                            const struct ovsrec_xlat_zone *);
static void collect_names(const struct ovsdb_idl *, struct simap *);

static void
vse_config_init(struct ovsdb_idl *idl)
{
    ovsdb_idl_omit_alert(idl, &ovsrec_xlat_zone_col_status);
    ovsdb_idl_omit_alert(idl, &ovsrec_xlat_zone_col_statistics);
}

static void
vse_config_exit(void)
{
    struct vse_config_zone *z;

    HMAP_FOR_EACH_SAFE (z, node, &zones) {
        zone_destroy(z);
    }
    hmap_destroy(&zones);
    hmap_init(&zones);
    vse_log_exit();
}

static bool
vse_config_changed(void)
{
    struct vse_config_zone *z;
    bool changed = vse_log_changed();

    if (!n_files || time_msec() < next_look) {
        return changed;
    }
    next_look = time_msec() + LOOK_INTERVAL_MS;

    HMAP_FOR_EACH (z, node, &zones) {
        changed |= vse_file_settled(&z->eamt_file);
        changed |= vse_file_settled(&z->mapping_file);
    }
    return changed;
}

static void
vse_config_wait(void)
{
    if (n_files) {
        poll_timer_wait_until(next_look);
    }
    vse_log_wait();
}

/* A mapping has no zone to show an error in its 'status'. */
static void
warn_of_orphans(const struct vse_mappings *mappings)
{
    const struct vse_mapping_group *group;

    HMAP_FOR_EACH (group, node, &mappings->groups) {
        if (!zone_find(group->zone)) {
            VLOG_WARN_RL(&rl, "zone %"PRId64": not configured, but rows of "
                         "Ila_Mapping belong to it (%u)", group->zone,
                         group->sig.n);
        }
    }
}

static void
vse_config_apply(struct ovsdb_idl *idl)
{
    const struct ovsrec_xlat_zone *row;
    struct simap names = SIMAP_INITIALIZER(&names);
    struct vse_mappings mappings;
    struct vse_config_zone *z;

    round_no++;
    n_files = 0;
    collect_names(idl, &names);
    vse_mappings_init(&mappings, idl);

    OVSREC_XLAT_ZONE_FOR_EACH (row, idl) {
        z = zone_find(row->zone);
        if (!z) {
            z = zone_create(row->zone);
        }
        zone_apply(z, row, vse_mappings_find(&mappings, row->zone),
                   row->name ? simap_get(&names, row->name) : row->zone);
        zone_set_status(z, row);
        z->round = round_no;
        n_files += !!z->eamt_file.name + !!z->mapping_file.name;
    }

    HMAP_FOR_EACH_SAFE (z, node, &zones) {
        if (z->round != round_no) {
            zone_destroy(z);
        }
    }
    warn_of_orphans(&mappings);
    vse_mappings_destroy(&mappings);
    simap_destroy(&names);
}

struct statistics {
    const char *keys[256];
    int64_t values[256];
    size_t n;
};

static void
add_statistic(const char *name, uint64_t value, void *stats_)
{
    struct statistics *stats = stats_;

    ovs_assert(stats->n < ARRAY_SIZE(stats->keys));
    stats->keys[stats->n] = name;
    stats->values[stats->n++] = value;
}

static void
vse_config_statistics(struct ovsdb_idl *idl)
{
    const struct ovsrec_xlat_zone *row;

    OVSREC_XLAT_ZONE_FOR_EACH (row, idl) {
        const struct xlat_zone *zone = vse_zone_find(row->zone);
        struct statistics stats = { .n = 0 };
        struct xlat_counters counters;

        if (zone) {
            xlat_zone_get_counters(zone, &counters);
            xlat_counters_for_each(&counters, add_statistic, &stats);
        }
        ovsrec_xlat_zone_set_statistics(row, stats.keys, stats.values,
                                        stats.n);
    }
}

void
vse_config_register(struct vse_hooks *hooks)
{
    hooks->config_init = vse_config_init;
    hooks->config_exit = vse_config_exit;
    hooks->config_changed = vse_config_changed;
    hooks->config_wait = vse_config_wait;
    hooks->config_apply = vse_config_apply;
    hooks->config_statistics = vse_config_statistics;
}

static bool
is_number(const char *s)
{
    return s[0] && !s[strspn(s, "0123456789")];
}

const struct vse_config_zone *
vse_config_find(const char *id)
{
    const struct vse_config_zone *z;
    long long int number;

    if (is_number(id)) {
        return str_to_llong(id, 10, &number) ? zone_find(number) : NULL;
    }
    HMAP_FOR_EACH (z, node, &zones) {
        if (nullable_string_is_equal(z->name, id)
            && z->name_owner == z->number) {
            return z;
        }
    }
    return NULL;
}

static int
compare_zones(const void *a_, const void *b_)
{
    const struct vse_config_zone *const *a = a_;
    const struct vse_config_zone *const *b = b_;

    return (*a)->number < (*b)->number ? -1 : (*a)->number > (*b)->number;
}

const struct vse_config_zone **
vse_config_get_all(size_t *n)
{
    const struct vse_config_zone **all = xmalloc(hmap_count(&zones)
                                                 * sizeof *all);
    const struct vse_config_zone *z;

    *n = 0;
    HMAP_FOR_EACH (z, node, &zones) {
        all[(*n)++] = z;
    }
    qsort(all, *n, sizeof *all, compare_zones);
    return all;
}

static struct vse_config_zone *
zone_find(int64_t number)
{
    struct vse_config_zone *z;

    HMAP_FOR_EACH_WITH_HASH (z, node, hash_int(number, 0), &zones) {
        if (z->number == number) {
            return z;
        }
    }
    return NULL;
}

static struct vse_config_zone *
zone_create(uint32_t number)
{
    struct vse_config_zone *z = xzalloc(sizeof *z);

    z->number = number;
    vse_file_init(&z->eamt_file);
    vse_file_init(&z->mapping_file);
    hmap_insert(&zones, &z->node, hash_int(number, 0));
    return z;
}

static void
zone_destroy(struct vse_config_zone *z)
{
    vse_zone_remove(z->number);
    hmap_remove(&zones, &z->node);
    free(z->name);
    free(z->error);
    json_destroy(z->in_force);
    vse_file_destroy(&z->eamt_file);
    vse_file_destroy(&z->mapping_file);
    free(z);
}

/* Sets 'names' to each name's zone: of several zones that claim one name, the
 * one with the lowest number has it, whatever the order in which they came, so
 * that a restart changes nothing. */
static void
collect_names(const struct ovsdb_idl *idl, struct simap *names)
{
    const struct ovsrec_xlat_zone *row;

    OVSREC_XLAT_ZONE_FOR_EACH (row, idl) {
        if (row->name) {
            struct simap_node *node = simap_find(names, row->name);

            if (!node) {
                simap_put(names, row->name, row->zone);
            } else if (row->zone < node->data) {
                node->data = row->zone;
            }
        }
    }
}

static char *
check_name(const struct vse_config_zone *z)
{
    if (!z->name) {
        return NULL;
    } else if (is_number(z->name)) {
        return xasprintf("name: \"%s\" would be taken for a zone's number",
                         z->name);
    } else if (z->name_owner != z->number) {
        return xasprintf("name: \"%s\" is the name of zone %"PRIu32, z->name,
                         z->name_owner);
    }
    return NULL;
}

static struct json *
strings_to_json(char **strings, size_t n)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < n; i++) {
        json_array_add(array, json_string_create(strings[i]));
    }
    return array;
}

struct options {
    const struct smap *set;
    struct json *all;
};

static void
add_option(const char *key, const char *dflt, const char *values OVS_UNUSED,
           const char *words OVS_UNUSED, void *options_)
{
    struct options *options = options_;
    const char *value = smap_get_def(options->set, key, dflt);

    json_object_put_string(options->all, key, value ? value : "");
}

/* Returns what 'row' says, by column, with the defaults of its options.
 * Tables that may be long are left out. */
static struct json *
row_to_json(const struct ovsrec_xlat_zone *row)
{
    struct json *object = json_object_create();
    struct options options = { &row->other_config, json_object_create() };

    xlat_conf_for_each_option(add_option, &options);
    json_object_put_string(object, "kind", row->kind);
    json_object_put(object, "pool6",
                    strings_to_json(row->pool6, row->n_pool6));
    json_object_put(object, "pool4",
                    strings_to_json(row->pool4, row->n_pool4));
    json_object_put(object, "bib", strings_to_json(row->bib, row->n_bib));
    json_object_put(object, "other_config", options.all);
    return object;
}

/* Keys the hashes of 'conf', so that nobody can fill one chain of them. */
static void
set_seed(struct xlat_conf *conf)
{
    uint64_t seed;

    get_entropy_or_die(&seed, sizeof seed);
    xlat_conf_set_seed(conf, seed);
}

/* Compiles 'row' and puts it into force.  Returns NULL, or a sentence that the
 * caller frees, in which case nothing has changed. */
static char *
zone_compile(struct vse_config_zone *z, const struct ovsrec_xlat_zone *row,
             const struct vse_mapping_group *group)
{
    struct xlat_conf *conf = xlat_conf_create();
    char *error = vse_row_read(row, group, &z->eamt_file, &z->mapping_file,
                               conf);

    set_seed(conf);
    if (!error) {
        error = check_name(z);
    }
    if (!error) {
        error = vse_zone_put(z->number, conf);
    }
    if (!error) {
        json_destroy(z->in_force);
        z->in_force = row_to_json(row);
    }
    xlat_conf_destroy(conf);
    return error;
}

static void
zone_log(const struct vse_config_zone *z, long long int msec)
{
    if (z->error) {
        VLOG_WARN_RL(&rl, "zone %"PRIu32": refused: %s (in force: %s)",
                     z->number, z->error,
                     z->in_force ? "previous configuration" : "none");
    } else {
        VLOG_INFO_RL(&rl, "zone %"PRIu32": in force, compiled in %lld ms",
                     z->number, msec);
    }
}

/* Brings 'z' up to date with 'row', if anything about it has changed. */
static void
zone_apply(struct vse_config_zone *z, const struct ovsrec_xlat_zone *row,
           const struct vse_mapping_group *group, uint32_t name_owner)
{
    struct vse_rows_sig sig;

    vse_row_get_sig(row, group, &sig);
    if (vse_rows_sig_equal(&z->sig, &sig)
        && z->name_owner == name_owner
        && !vse_file_changed(&z->eamt_file)
        && !vse_file_changed(&z->mapping_file)) {
        return;
    }
    z->sig = sig;
    z->name_owner = name_owner;
    free(z->name);
    z->name = nullable_xstrdup(row->name);

    free(z->error);
    long long int start = time_msec();
    z->error = zone_compile(z, row, group);
    zone_log(z, time_msec() - start);
}

static void
zone_set_status(const struct vse_config_zone *z,
                const struct ovsrec_xlat_zone *row)
{
    struct smap status = SMAP_INITIALIZER(&status);
    char *log_error = vse_log_get_error(z->number);

    if (z->error) {
        smap_add(&status, "state", "refused");
        smap_add(&status, "error", z->error);
        smap_add(&status, "in-force", z->in_force ? "previous" : "none");
    } else {
        smap_add(&status, "state", "active");
    }
    if (log_error) {
        smap_add_nocopy(&status, xstrdup("log-error"), log_error);
    }
    ovsrec_xlat_zone_set_status(row, &status);
    smap_destroy(&status);
}
