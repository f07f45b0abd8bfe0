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

#include "xlat-hash.h"
#include "xlat-prefix.h"

/* One entry.  IPv6: bits of 'ip6' behind 'len6' are zero; and of 'ip4'
 * likewise.  128 - len6 >= 32 - len4. */
struct xlat_eam {
    struct xlat_ip6 ip6;
    uint32_t ip4;
    uint32_t suffix_mask;        /* Of the bits of an IPv4 address that are
                                  * not of the prefix. */
    uint32_t line;               /* Line of a file it comes from, or 0. */
    uint8_t len6;
    uint8_t len4;
    uint8_t shift;               /* From the suffix to the end of the IPv6
                                  * address, in bits, modulo 128: where it
                                  * is 128 there is no suffix. */
};

/* The entries whose prefixes on one side have the length 'len'. */
struct xlat_eamt_table {
    struct xlat_hash hash;
    struct xlat_ip6 mask6;
    uint32_t mask4;
    uint8_t len;
};

/* One side of the table: a hash table for each prefix length that occurs, the
 * longest first. */
struct xlat_eamt_side {
    struct xlat_eamt_table *tables;
    unsigned int n_tables;
};

/* A table of so few entries is searched one by one. */
#define XLAT_EAMT_FEW 4

/* An IPv6 prefix and an IPv4 prefix, not of one entry: each side is sorted by
 * itself, the longest prefix first. */
struct xlat_eamt_few {
    struct xlat_ip6 ip6, mask6;
    const struct xlat_eam *eam6;
    uint32_t ip4, mask4;
    const struct xlat_eam *eam4;
};

struct xlat_eamt {
    struct xlat_eam *eams;
    size_t n;
    struct xlat_eamt_side side6;
    struct xlat_eamt_side side4;
    struct xlat_eamt_few few[XLAT_EAMT_FEW];   /* If there are so few. */
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
static inline const struct xlat_eam *xlat_eamt_find6(const struct xlat_eamt *,
                                                     struct xlat_ip6 ip);
static inline const struct xlat_eam *xlat_eamt_find4(const struct xlat_eamt *,
                                                     uint32_t ip);

/* Returns what 'ip', which the entry's prefix contains, becomes.  4 to 6: the
 * suffix follows the IPv6 prefix, zeros follow the suffix.  6 to 4: what
 * follows the suffix is ignored (RFC 7757, 3.3). */
static inline uint32_t xlat_eam_6to4(const struct xlat_eam *,
                                     struct xlat_ip6 ip);
static inline struct xlat_ip6 xlat_eam_4to6(const struct xlat_eam *,
                                            uint32_t ip);

/* Lookups of a batch: for every address 'bucket' first, then for every
 * address 'entry', then the lookups themselves find their memory near. */
void xlat_eamt_prefetch_bucket6(const struct xlat_eamt *, struct xlat_ip6);
void xlat_eamt_prefetch_bucket4(const struct xlat_eamt *, uint32_t);
void xlat_eamt_prefetch_entry6(const struct xlat_eamt *, struct xlat_ip6);
void xlat_eamt_prefetch_entry4(const struct xlat_eamt *, uint32_t);

/* Returns whether the table is so large that prefetching pays. */
bool xlat_eamt_is_large(const struct xlat_eamt *);

/* Inline for the packet path's sake: what serves the functions above. */

/* For lookups among many entries, in hash tables. */
const struct xlat_eam *xlat_eamt_find6_many(const struct xlat_eamt *,
                                            struct xlat_ip6);
const struct xlat_eam *xlat_eamt_find4_many(const struct xlat_eamt *,
                                            uint32_t);

static inline const struct xlat_eam *
xlat_eamt_find6(const struct xlat_eamt *eamt, struct xlat_ip6 ip)
{
    if (eamt->n > XLAT_EAMT_FEW) {
        return xlat_eamt_find6_many(eamt, ip);
    }
    for (size_t i = 0; i < eamt->n; i++) {
        const struct xlat_eamt_few *few = &eamt->few[i];

        if (!(((ip.hi ^ few->ip6.hi) & few->mask6.hi)
              | ((ip.lo ^ few->ip6.lo) & few->mask6.lo))) {
            return few->eam6;
        }
    }
    return NULL;
}

static inline const struct xlat_eam *
xlat_eamt_find4(const struct xlat_eamt *eamt, uint32_t ip)
{
    if (eamt->n > XLAT_EAMT_FEW) {
        return xlat_eamt_find4_many(eamt, ip);
    }
    for (size_t i = 0; i < eamt->n; i++) {
        const struct xlat_eamt_few *few = &eamt->few[i];

        if (!((ip ^ few->ip4) & few->mask4)) {
            return few->eam4;
        }
    }
    return NULL;
}

__extension__ typedef unsigned __int128 xlat_u128;

static inline uint32_t
xlat_eam_6to4(const struct xlat_eam *eam, struct xlat_ip6 ip)
{
    xlat_u128 all = (xlat_u128) ip.hi << 64 | ip.lo;
    uint32_t suffix = all >> eam->shift;

    return eam->ip4 | (suffix & eam->suffix_mask);
}

static inline struct xlat_ip6
xlat_eam_4to6(const struct xlat_eam *eam, uint32_t ip4)
{
    xlat_u128 suffix = (xlat_u128) (ip4 & eam->suffix_mask) << eam->shift;

    return (struct xlat_ip6) {
        eam->ip6.hi | (uint64_t) (suffix >> 64),
        eam->ip6.lo | (uint64_t) suffix,
    };
}

#endif /* xlat-eamt.h */
