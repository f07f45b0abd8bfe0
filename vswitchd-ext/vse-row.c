/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include <config.h>

#include "vse-row.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "lib/vswitch-idl.h"
#include "ovsdb-idl.h"
#include "smap.h"
#include "util.h"
#include "vse-file.h"
#include "xlat-conf.h"

static char *read_columns(const struct ovsrec_xlat_zone *, struct xlat_conf *);
static char *read_mappings(const struct vse_mapping_group *,
                           struct xlat_conf *);
static char *read_file(struct vse_file *, const char *name,
                       char *(*read)(struct xlat_conf *, FILE *),
                       struct xlat_conf *, char *error);

static void
sig_add(struct vse_rows_sig *sig, const struct ovsdb_idl_row *row)
{
    unsigned int insert
        = ovsdb_idl_row_get_seqno(row, OVSDB_IDL_CHANGE_INSERT);
    unsigned int modify
        = ovsdb_idl_row_get_seqno(row, OVSDB_IDL_CHANGE_MODIFY);

    for (size_t i = 0; i < ARRAY_SIZE(sig->uuids.parts); i++) {
        sig->uuids.parts[i] += row->uuid.parts[i];
    }
    sig->seqno = MAX(sig->seqno, MAX(insert, modify));
    sig->n++;
}

bool
vse_rows_sig_equal(const struct vse_rows_sig *a, const struct vse_rows_sig *b)
{
    return uuid_equals(&a->uuids, &b->uuids)
           && a->seqno == b->seqno
           && a->n == b->n;
}

void
vse_row_get_sig(const struct ovsrec_xlat_zone *row,
                const struct vse_mapping_group *group,
                struct vse_rows_sig *sig)
{
    if (group) {
        *sig = group->sig;
    } else {
        memset(sig, 0, sizeof *sig);
    }
    sig_add(sig, &row->header_);
}

static struct vse_mapping_group *
mappings_find(const struct vse_mappings *m, int64_t zone)
{
    struct vse_mapping_group *group;

    HMAP_FOR_EACH_WITH_HASH (group, node, hash_uint64(zone), &m->groups) {
        if (group->zone == zone) {
            return group;
        }
    }
    return NULL;
}

static struct vse_mapping_group *
mappings_create(struct vse_mappings *m, int64_t zone)
{
    struct vse_mapping_group *group = xzalloc(sizeof *group);

    group->zone = zone;
    hmap_insert(&m->groups, &group->node, hash_uint64(zone));
    return group;
}

void
vse_mappings_init(struct vse_mappings *m, const struct ovsdb_idl *idl)
{
    const struct ovsrec_ila_mapping *row;

    hmap_init(&m->groups);
    OVSREC_ILA_MAPPING_FOR_EACH (row, idl) {
        struct vse_mapping_group *group = mappings_find(m, row->zone);

        if (!group) {
            group = mappings_create(m, row->zone);
        }
        if (group->sig.n >= group->allocated) {
            group->rows = x2nrealloc(group->rows, &group->allocated,
                                     sizeof *group->rows);
        }
        group->rows[group->sig.n] = row;
        sig_add(&group->sig, &row->header_);
    }
}

void
vse_mappings_destroy(struct vse_mappings *m)
{
    struct vse_mapping_group *group;

    HMAP_FOR_EACH_POP (group, node, &m->groups) {
        free(group->rows);
        free(group);
    }
    hmap_destroy(&m->groups);
}

const struct vse_mapping_group *
vse_mappings_find(const struct vse_mappings *m, int64_t zone)
{
    return mappings_find(m, zone);
}

char *
vse_row_read(const struct ovsrec_xlat_zone *row,
             const struct vse_mapping_group *group,
             struct vse_file *eamt_file, struct vse_file *mapping_file,
             struct xlat_conf *conf)
{
    char *error = read_columns(row, conf);

    if (!error && group) {
        error = read_mappings(group, conf);
    }

    /* Both files are opened even after an error, so that both are watched. */
    error = read_file(eamt_file, xlat_conf_eamt_file(conf),
                      xlat_conf_read_eamt, conf, error);
    return read_file(mapping_file, xlat_conf_mapping_file(conf),
                     xlat_conf_read_ila, conf, error);
}

/* Calls 'set' on each pair of 'map', sorted, so that of several errors the
 * same one is reported every time. */
static char *
read_map(const struct smap *map, struct xlat_conf *conf,
         char *(*set)(struct xlat_conf *, const char *, const char *))
{
    const struct smap_node **nodes = smap_sort(map);
    size_t n = smap_count(map);
    char *error = NULL;

    for (size_t i = 0; i < n && !error; i++) {
        error = set(conf, nodes[i]->key, nodes[i]->value);
    }
    free(nodes);
    return error;
}

static char *
read_set(char **strings, size_t n, struct xlat_conf *conf,
         char *(*add)(struct xlat_conf *, const char *))
{
    char *error = NULL;

    for (size_t i = 0; i < n && !error; i++) {
        error = add(conf, strings[i]);
    }
    return error;
}

static char *
read_columns(const struct ovsrec_xlat_zone *row, struct xlat_conf *conf)
{
    char *error = xlat_conf_set_zone(conf, row->zone);

    if (!error) {
        error = xlat_conf_set_kind(conf, row->kind);
    }
    if (!error) {
        error = read_map(&row->other_config, conf, xlat_conf_set_option);
    }
    if (!error) {
        error = read_set(row->pool6, row->n_pool6, conf, xlat_conf_add_pool6);
    }
    if (!error) {
        error = read_set(row->pool4, row->n_pool4, conf, xlat_conf_add_pool4);
    }
    if (!error) {
        error = read_map(&row->eamt, conf, xlat_conf_add_eam);
    }
    if (!error) {
        error = read_set(row->bib, row->n_bib, conf, xlat_conf_add_bib);
    }
    return error;
}

static char *
read_mappings(const struct vse_mapping_group *group, struct xlat_conf *conf)
{
    char *error = NULL;

    for (size_t i = 0; i < group->sig.n && !error; i++) {
        const struct ovsrec_ila_mapping *row = group->rows[i];

        error = xlat_conf_add_ila(conf, row->identifier, row->locator,
                                  row->csum_mode, row->ident_type);
    }
    return error;
}

/* Opens 'name', which may be null, and hands it to 'read', unless there was an
 * 'error' before.  Returns the first error. */
static char *
read_file(struct vse_file *file, const char *name,
          char *(*read)(struct xlat_conf *, FILE *), struct xlat_conf *conf,
          char *error)
{
    FILE *stream;
    char *why = vse_file_open(file, name, &stream);

    if (stream && !error) {
        why = read(conf, stream);
    }
    if (stream) {
        fclose(stream);
    }
    if (why && !error) {
        error = xasprintf("%s: %s", name, why);
    }
    free(why);
    return error;
}
