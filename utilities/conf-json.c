/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "conf-json.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util-text.h"
#include "xlat-conf.h"
#include "xlat-zone.h"

/* A column of a table: its name in JSON, and what reads its value into the
 * configuration.  Results are as in xlat-conf.h. */
struct column {
    const char *name;
    char *(*read)(struct xlat_conf *, const json_t *value);
};

static char *read_number(struct xlat_conf *, const json_t *);
static char *read_kind(struct xlat_conf *, const json_t *);
static char *read_name(struct xlat_conf *, const json_t *);
static char *read_pool6(struct xlat_conf *, const json_t *);
static char *read_pool4(struct xlat_conf *, const json_t *);
static char *read_eamt(struct xlat_conf *, const json_t *);
static char *read_bib(struct xlat_conf *, const json_t *);
static char *read_other_config(struct xlat_conf *, const json_t *);
static char *read_nothing(struct xlat_conf *, const json_t *);

/* In the order in which they are read. */
static const struct column zone_columns[] = {
    { "zone", read_number },
    { "kind", read_kind },
    { "name", read_name },
    { "pool6", read_pool6 },
    { "pool4", read_pool4 },
    { "eamt", read_eamt },
    { "bib", read_bib },
    { "other_config", read_other_config },
    { "status", read_nothing },
    { "statistics", read_nothing },
    { NULL, NULL },
};

/* These are needed together: read_mapping() reads them. */
static const struct column mapping_columns[] = {
    { "zone", read_nothing },
    { "identifier", read_nothing },
    { "locator", read_nothing },
    { "csum_mode", read_nothing },
    { "ident_type", read_nothing },
    { NULL, NULL },
};

static char *parse_file(const char *path, json_t **);
static char *read_document(const char *path, const json_t *,
                           struct xlat_zone **);
static char *find_zone(const json_t *document, const json_t **zonep,
                       long long *numberp);
static char *check_keys(const json_t *object, const struct column *);
static char *read_zone(const json_t *, struct xlat_conf *);
static char *read_mappings(const json_t *document, long long zone,
                           struct xlat_conf *);
static char *read_files(const char *path, struct xlat_conf *);

char *
util_conf_read(const char *path, struct xlat_zone **zonep)
{
    json_t *document;
    char *error = parse_file(path, &document);

    if (!error) {
        error = read_document(path, document, zonep);
        json_decref(document);
    }
    return util_text_prefix(error, "%s: ", path);
}

static char *
parse_file(const char *path, json_t **documentp)
{
    size_t flags = JSON_REJECT_DUPLICATES;
    json_error_t where;

    if (!strcmp(path, "-")) {
        *documentp = json_loadf(stdin, flags, &where);
    } else {
        FILE *file = fopen(path, "r");

        if (!file) {
            return util_text("%s", strerror(errno));
        }
        *documentp = json_loadf(file, flags, &where);
        fclose(file);
    }
    return (*documentp
            ? NULL
            : util_text("line %d, column %d: %s",
                        where.line, where.column, where.text));
}

/* Compiles 'zone', number 'number' of 'document'. */
static char *
make_zone(const char *path, const json_t *document, const json_t *zone,
          long long number, struct xlat_zone **zonep)
{
    struct xlat_conf *conf = xlat_conf_create();
    char *error = conf ? NULL : util_text("out of memory");

    if (!error) {
        error = read_zone(zone, conf);
    }
    if (!error) {
        error = read_mappings(document, number, conf);
    }
    if (!error) {
        error = read_files(path, conf);
    }
    if (!error) {
        xlat_zone_create(conf, NULL, zonep, &error);
    }
    xlat_conf_destroy(conf);
    return error;
}

static char *
read_document(const char *path, const json_t *document,
              struct xlat_zone **zonep)
{
    const json_t *zone;
    long long number;
    char *error = find_zone(document, &zone, &number);

    if (!error) {
        error = util_text_prefix(make_zone(path, document, zone, number,
                                           zonep),
                                 "zone %lld: ", number);
    }
    return error;
}

/* Checks the list of zones and finds the one that is meant. */

/* Stores the number of 'zone' in '*numberp' after a look at its keys. */
static char *
zone_number(const json_t *zone, long long *numberp)
{
    const json_t *number = json_object_get(zone, "zone");

    if (!json_is_object(zone)) {
        return util_text("zones: each zone must be an object");
    } else if (!number) {
        return util_text("zones: a zone without the key \"zone\", "
                         "its number");
    } else if (!json_is_integer(number)) {
        return util_text("zones: zone must be an integer");
    }
    *numberp = json_integer_value(number);
    return util_text_prefix(check_keys(zone, zone_columns), "zone %lld: ",
                            *numberp);
}

/* Stores the number of the zone that is meant in '*numberp'. */
static char *
wanted_number(const json_t *document, const json_t *zones,
              long long *numberp)
{
    const json_t *wanted = json_object_get(document, "zone");

    if (json_is_integer(wanted)) {
        *numberp = json_integer_value(wanted);
        return NULL;
    } else if (wanted) {
        return util_text("zone: must be an integer");
    } else if (json_array_size(zones) == 1) {
        return zone_number(json_array_get(zones, 0), numberp);
    }
    return util_text("the key \"zone\", the number of the zone that is "
                     "meant, is missing");
}

/* Returns whether one of the first 'n' of 'zones' has 'number'. */
static bool
has_zone(const json_t *zones, size_t n, long long number)
{
    for (size_t i = 0; i < n; i++) {
        if (json_integer_value(json_object_get(json_array_get(zones, i),
                                               "zone")) == number) {
            return true;
        }
    }
    return false;
}

static char *
find_zone(const json_t *document, const json_t **zonep, long long *numberp)
{
    const json_t *zones = json_object_get(document, "zones");

    *zonep = NULL;
    if (!json_is_object(document)) {
        return util_text("must be a JSON object");
    } else if (!json_is_array(zones)) {
        return util_text("the key \"zones\" must be a list of zones");
    }

    char *error = wanted_number(document, zones, numberp);
    const json_t *zone;
    size_t i;

    json_array_foreach (zones, i, zone) {
        long long number;

        if (!error) {
            error = zone_number(zone, &number);
        }
        if (error) {
            return error;
        } else if (has_zone(zones, i, number)) {
            return util_text("zones: zone %lld is there twice", number);
        } else if (number == *numberp) {
            *zonep = zone;
        }
    }
    if (!error && !*zonep) {
        error = util_text("zones: no zone has the number %lld", *numberp);
    }
    return error;
}

static char *
check_keys(const json_t *object, const struct column *columns)
{
    const json_t *value;
    const char *key;

    json_object_foreach ((json_t *) object, key, value) {
        const struct column *c = columns;

        while (c->name && strcmp(c->name, key)) {
            c++;
        }
        if (!c->name) {
            return util_text("unknown key \"%s\"", key);
        }
    }
    return NULL;
}

/* Columns. */

/* Puts 'name', of what 'error' is about, in front of it, but not twice. */
static char *
name_error(char *error, const char *name)
{
    size_t n = strlen(name);

    if (!error || strncmp(error, name, n)) {
        return util_text_prefix(error, "%s: ", name);
    } else if (error[n] == ' ') {
        char *named = util_text("%s: %s", name, error + n + 1);

        free(error);
        return named;
    }
    return error;
}

/* Reads the columns of 'object', in the order of 'columns'.  One that is null
 * is not there. */
static char *
read_columns(const json_t *object, const struct column *columns,
             struct xlat_conf *conf)
{
    for (const struct column *c = columns; c->name; c++) {
        const json_t *value = json_object_get(object, c->name);
        char *error = (value && !json_is_null(value)
                       ? name_error(c->read(conf, value), c->name) : NULL);

        if (error) {
            return error;
        }
    }
    return NULL;
}

static char *
read_zone(const json_t *zone, struct xlat_conf *conf)
{
    return read_columns(zone, zone_columns, conf);
}

static char *
read_number(struct xlat_conf *conf, const json_t *value)
{
    return xlat_conf_set_zone(conf, json_integer_value(value));
}

static char *
read_kind(struct xlat_conf *conf, const json_t *value)
{
    return (json_is_string(value)
            ? xlat_conf_set_kind(conf, json_string_value(value))
            : util_text("must be a string"));
}

static char *
read_name(struct xlat_conf *conf, const json_t *value)
{
    (void) conf;
    return json_is_string(value) ? NULL : util_text("must be a string");
}

/* Hands each member of 'set' to 'add'.  A set of one member may stand as that
 * member, as in the database's own JSON. */
static char *
read_set(struct xlat_conf *conf, const json_t *set,
         char *(*add)(struct xlat_conf *, const char *))
{
    const json_t *member;
    size_t i;

    if (json_is_string(set)) {
        return add(conf, json_string_value(set));
    } else if (!json_is_array(set)) {
        return util_text("must be a list of strings");
    }
    json_array_foreach (set, i, member) {
        char *error = (json_is_string(member)
                       ? add(conf, json_string_value(member))
                       : util_text("must be a list of strings"));
        if (error) {
            return error;
        }
    }
    return NULL;
}

static char *
read_pool6(struct xlat_conf *conf, const json_t *value)
{
    return read_set(conf, value, xlat_conf_add_pool6);
}

static char *
read_pool4(struct xlat_conf *conf, const json_t *value)
{
    return read_set(conf, value, xlat_conf_add_pool4);
}

typedef char *add_pair(struct xlat_conf *, const char *key,
                       const char *value);

/* Hands 'value' to 'add' as text: the database has strings only, but who
 * writes JSON by hand writes numbers and truth values as such. */
static char *
read_value(struct xlat_conf *conf, const char *key, const json_t *value,
           add_pair *add)
{
    if (json_is_string(value)) {
        return add(conf, key, json_string_value(value));
    } else if (json_is_boolean(value)) {
        return add(conf, key, json_is_true(value) ? "true" : "false");
    } else if (json_is_integer(value)) {
        char *text = util_text("%lld", (long long) json_integer_value(value));
        char *error = add(conf, key, text);

        free(text);
        return error;
    }
    return (json_is_null(value)
            ? NULL
            : util_text("%s: must be a string, an integer or a truth value",
                        key));
}

/* Hands each pair of 'map' to 'add', whose errors name the key. */
static char *
read_map(struct xlat_conf *conf, const json_t *map, add_pair *add)
{
    const json_t *value;
    const char *key;

    if (!json_is_object(map)) {
        return util_text("must be an object");
    }
    json_object_foreach ((json_t *) map, key, value) {
        char *error = read_value(conf, key, value, add);

        if (error) {
            return error;
        }
    }
    return NULL;
}

static char *
read_eamt(struct xlat_conf *conf, const json_t *value)
{
    return read_map(conf, value, xlat_conf_add_eam);
}

static char *
read_other_config(struct xlat_conf *conf, const json_t *value)
{
    return read_map(conf, value, xlat_conf_set_option);
}

static char *
read_bib(struct xlat_conf *conf, const json_t *value)
{
    return (json_is_object(value) && !json_object_size(value)
            ? NULL : read_set(conf, value, xlat_conf_add_bib));
}

/* What the switch writes is no configuration; a copied row may have it. */
static char *
read_nothing(struct xlat_conf *conf, const json_t *value)
{
    (void) conf;
    (void) value;
    return NULL;
}

/* Mappings. */

/* Stores the string of 'mapping' under 'key' in '*valuep', NULL if there is
 * none. */
static char *
mapping_string(const json_t *mapping, const char *key, bool required,
               const char **valuep)
{
    const json_t *value = json_object_get(mapping, key);

    if (json_is_null(value)) {
        value = NULL;
    }
    *valuep = json_string_value(value);
    if (value && !*valuep) {
        return util_text("%s: must be a string", key);
    }
    return (required && !value
            ? util_text("the key \"%s\" is missing", key)
            : NULL);
}

static char *
read_mapping(const json_t *mapping, struct xlat_conf *conf)
{
    const char *identifier, *locator, *csum_mode, *ident_type;
    char *error;

    if ((error = mapping_string(mapping, "identifier", true, &identifier))
        || (error = mapping_string(mapping, "locator", true, &locator))
        || (error = mapping_string(mapping, "csum_mode", false, &csum_mode))
        || (error = mapping_string(mapping, "ident_type", false,
                                   &ident_type))) {
        return error;
    }
    return name_error(xlat_conf_add_ila(conf, identifier, locator, csum_mode,
                                        ident_type),
                      identifier);
}

/* Reads those of the list under 'key' that belong to 'zone'. */
static char *
read_mapping_list(const json_t *document, const char *key, long long zone,
                  struct xlat_conf *conf)
{
    const json_t *zones = json_object_get(document, "zones");
    const json_t *mappings = json_object_get(document, key);
    const json_t *mapping;
    size_t i;

    if (mappings && !json_is_null(mappings) && !json_is_array(mappings)) {
        return util_text("%s: must be a list of objects", key);
    }
    json_array_foreach (mappings, i, mapping) {
        const json_t *number = json_object_get(mapping, "zone");
        char *error = (json_is_object(mapping)
                       ? check_keys(mapping, mapping_columns)
                       : util_text("must be an object"));

        if (!error && !json_is_integer(number)) {
            error = util_text("the key \"zone\" must be an integer");
        }
        if (!error && json_integer_value(number) != zone
            && !has_zone(zones, json_array_size(zones),
                         json_integer_value(number))) {
            error = util_text("no zone has the number %lld",
                              (long long) json_integer_value(number));
        }
        if (!error && json_integer_value(number) == zone) {
            error = read_mapping(mapping, conf);
        }
        if (error) {
            return util_text_prefix(error, "%s: number %zu: ", key, i + 1);
        }
    }
    return NULL;
}

/* "ila_mappings" is another name for "mappings". */
static char *
read_mappings(const json_t *document, long long zone, struct xlat_conf *conf)
{
    char *error = read_mapping_list(document, "mappings", zone, conf);

    return (error ? error
            : read_mapping_list(document, "ila_mappings", zone, conf));
}

/* Files that options name. */

/* Opens 'name', relative to the folder of 'path', and hands it to 'read'. */
static char *
read_file(const char *path, const char *name, struct xlat_conf *conf,
          char *(*read)(struct xlat_conf *, FILE *))
{
    const char *slash = strrchr(path, '/');
    int dir_chars = *name != '/' && slash ? slash + 1 - path : 0;
    char *full = util_text("%.*s%s", dir_chars, path, name);
    FILE *file = fopen(full, "r");
    char *error;

    if (file) {
        error = read(conf, file);
        fclose(file);
    } else {
        error = util_text("%s", strerror(errno));
    }
    error = util_text_prefix(error, "%s: ", full);
    free(full);
    return error;
}

static char *
read_files(const char *path, struct xlat_conf *conf)
{
    const char *eamt = xlat_conf_eamt_file(conf);
    const char *mapping = xlat_conf_mapping_file(conf);
    char *error = NULL;

    if (eamt) {
        error = util_text_prefix(read_file(path, eamt, conf,
                                           xlat_conf_read_eamt),
                                 "eamt-file: ");
    }
    if (!error && mapping) {
        error = util_text_prefix(read_file(path, mapping, conf,
                                           xlat_conf_read_ila),
                                 "mapping-file: ");
    }
    return error;
}
