/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_EAMT_H
#define XLAT_EAMT_H 1

/* The explicit address mapping table (RFC 7757, 3).
 *
 * Immutable once created; any number of threads may look up.  Both ways the
 * longest prefix wins, and each prefix length that occurs costs a hash lookup,
 * the longest first: a table with many lengths is slow, one with many entries
 * is not.  Addresses are in host byte order. */

#include <stddef.h>

#include "xlat-prefix.h"

struct xlat_eamt;

/* One entry.  IPv6: bits of 'ip6' behind 'len6' are zero; and of 'ip4'
 * likewise.  128 - len6 >= 32 - len4. */
struct xlat_eam {
    struct xlat_ip6 ip6;
    uint32_t ip4;
    uint8_t len6;
    uint8_t len4;
    uint32_t line;               /* Line of a file it comes from, or 0. */
};

/* Makes an entry of a pair of prefixes.  Returns NULL, or a sentence that says
 * what is wrong, which the caller frees. */
char *xlat_eam_init(struct xlat_eam *, const struct xlat_prefix *prefix6,
                    const struct xlat_prefix *prefix4);

/* Returns the prefixes of an entry. */
struct xlat_prefix xlat_eam_prefix6(const struct xlat_eam *);
struct xlat_prefix xlat_eam_prefix4(const struct xlat_eam *);

/* Compiles the 'n' entries of 'eams', which remain the caller's.  If
 * 'refuse_nested', no prefix may lie within another one.
 *
 * Returns 0, or a positive errno: EINVAL, with '*errorp' set to a sentence
 * that the caller frees (two entries with the same prefix, or nested ones), or
 * ENOMEM. */
int xlat_eamt_create(const struct xlat_eam *eams, size_t n,
                     bool refuse_nested, struct xlat_eamt **,
                     char **errorp);
void xlat_eamt_destroy(struct xlat_eamt *);

/* The entries, in no order. */
size_t xlat_eamt_count(const struct xlat_eamt *);
const struct xlat_eam *xlat_eamt_get(const struct xlat_eamt *, size_t i);

/* Returns the entry with the longest prefix around 'ip', or NULL. */
const struct xlat_eam *xlat_eamt_find6(const struct xlat_eamt *,
                                       struct xlat_ip6 ip);
const struct xlat_eam *xlat_eamt_find4(const struct xlat_eamt *, uint32_t ip);

/* Returns what 'ip', which the entry's prefix contains, becomes.  4 to 6: the
 * suffix follows the IPv6 prefix, zeros follow the suffix.  6 to 4: what
 * follows the suffix is ignored (RFC 7757, 3.3). */
uint32_t xlat_eam_6to4(const struct xlat_eam *, struct xlat_ip6 ip);
struct xlat_ip6 xlat_eam_4to6(const struct xlat_eam *, uint32_t ip);

/* Lookups of a batch: for every address 'bucket' first, then for every
 * address 'entry', then the lookups themselves find their memory near. */
void xlat_eamt_prefetch_bucket6(const struct xlat_eamt *, struct xlat_ip6);
void xlat_eamt_prefetch_bucket4(const struct xlat_eamt *, uint32_t);
void xlat_eamt_prefetch_entry6(const struct xlat_eamt *, struct xlat_ip6);
void xlat_eamt_prefetch_entry4(const struct xlat_eamt *, uint32_t);

/* Returns whether the table is so large that prefetching pays. */
bool xlat_eamt_is_large(const struct xlat_eamt *);

#endif /* xlat-eamt.h */
