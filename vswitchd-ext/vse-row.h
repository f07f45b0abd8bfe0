/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_ROW_H
#define VSE_ROW_H 1

/* A zone's rows in the database, as a zone's configuration.
 *
 * A row of Xlat_Zone, the rows of Ila_Mapping that carry its number, and the
 * files it names make one 'struct xlat_conf'.  Main thread only; rows are
 * valid until the IDL runs next. */

#include <stdint.h>

#include "openvswitch/hmap.h"
#include "openvswitch/uuid.h"

struct ovsdb_idl;
struct ovsrec_ila_mapping;
struct ovsrec_xlat_zone;
struct vse_file;
struct xlat_conf;

/* Says whether rows have changed: equal if they have not. */
struct vse_rows_sig {
    struct uuid uuids;             /* Sum of the rows' UUIDs. */
    unsigned int seqno;            /* Of the latest change to any of them. */
    unsigned int n;
};

bool vse_rows_sig_equal(const struct vse_rows_sig *,
                        const struct vse_rows_sig *);

/* The rows of Ila_Mapping, by zone. */
struct vse_mappings {
    struct hmap groups;            /* Contains "struct vse_mapping_group"s. */
};

struct vse_mapping_group {
    struct hmap_node node;
    int64_t zone;
    const struct ovsrec_ila_mapping **rows;
    size_t allocated;
    struct vse_rows_sig sig;       /* 'sig.n' rows. */
};

void vse_mappings_init(struct vse_mappings *, const struct ovsdb_idl *);
void vse_mappings_destroy(struct vse_mappings *);
const struct vse_mapping_group *vse_mappings_find(const struct vse_mappings *,
                                                  int64_t zone);

/* Sets '*sig' from 'row' and 'group', which may be null. */
void vse_row_get_sig(const struct ovsrec_xlat_zone *row,
                     const struct vse_mapping_group *group,
                     struct vse_rows_sig *sig);

/* Reads 'row', 'group', which may be null, and the files that 'row' names,
 * into the empty configuration 'conf', and watches the files.  Returns NULL,
 * or a sentence that the caller frees. */
char *vse_row_read(const struct ovsrec_xlat_zone *row,
                   const struct vse_mapping_group *group,
                   struct vse_file *eamt_file, struct vse_file *mapping_file,
                   struct xlat_conf *conf);

#endif /* vse-row.h */
