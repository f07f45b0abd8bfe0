/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef CONF_JSON_H
#define CONF_JSON_H 1

/* A zone's configuration from a JSON file.
 *
 * The file has the columns of the database's tables Xlat_Zone ("zones") and
 * Ila_Mapping ("mappings") by their names, and says which zone is meant:
 *
 *     {"zones": [{"zone": 1, "kind": "siit",
 *                 "pool6": ["2001:db8:64::/96"],
 *                 "eamt": {"2001:db8:1::/120": "192.0.2.0/24"},
 *                 "other_config": {"mtu6": "1500"}}],
 *      "mappings": [],
 *      "zone": 1}
 *
 * "zone" may be left out if there is one zone only.  Other keys at the top
 * are ignored; anywhere else, an unknown key is an error.  The values of the
 * zones that are not meant are not looked at. */

struct xlat_zone;

/* Makes the zone that the file at 'path' ("-": standard input) means, with
 * the files that its options "eamt-file" and "mapping-file" name, relative to
 * the folder of 'path'.
 *
 * Returns NULL, with '*zonep' the caller's to destroy, or a sentence that says
 * what is wrong and where, which the caller frees. */
char *util_conf_read(const char *path, struct xlat_zone **zonep);

#endif /* conf-json.h */
