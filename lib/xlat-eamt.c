/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "xlat-eamt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "xlat-special.h"
#include "xlat-text.h"

/* Above this, tables leave the first cache levels, and waiting for memory
 * costs more than computing each hash twice. */
#define LARGE 4096

/* Any value will do: the keys are the operator's. */
#define SEED UINT64_C(0x6a09e667f3bcc908)

/* A key, and where the lookup is. */
struct key {
    struct xlat_ip6 ip6;
    uint32_t ip4;
    uint8_t len;
};

static bool
equal6(uint32_t number, const void *key_, const void *eams_)
{
    const struct xlat_eam *eam = (const struct xlat_eam *) eams_ + number;
    const struct key *key = key_;

    return eam->ip6.hi == key->ip6.hi && eam->ip6.lo == key->ip6.lo
           && eam->len6 == key->len;
}

static bool
equal4(uint32_t number, const void *key_, const void *eams_)
{
    const struct xlat_eam *eam = (const struct xlat_eam *) eams_ + number;
    const struct key *key = key_;

    return eam->ip4 == key->ip4 && eam->len4 == key->len;
}

static uint64_t
hash6(const struct xlat_eamt_table *t, struct xlat_ip6 ip)
{
    return xlat_hash_2(&t->hash, ip.hi & t->mask6.hi, ip.lo & t->mask6.lo);
}

static uint64_t
hash4(const struct xlat_eamt_table *t, uint32_t ip)
{
    return xlat_hash_1(&t->hash, ip & t->mask4);
}

static inline __attribute__((always_inline)) uint32_t
table_find6(const struct xlat_eamt *eamt, const struct xlat_eamt_table *t,
            struct xlat_ip6 ip)
{
    struct key key = {
        .ip6 = { ip.hi & t->mask6.hi, ip.lo & t->mask6.lo },
        .len = t->len,
    };

    return xlat_hash_find(&t->hash, hash6(t, ip), equal6, &key, eamt->eams);
}

static inline __attribute__((always_inline)) uint32_t
table_find4(const struct xlat_eamt *eamt, const struct xlat_eamt_table *t,
            uint32_t ip)
{
    struct key key = { .ip4 = ip & t->mask4, .len = t->len };

    return xlat_hash_find(&t->hash, hash4(t, ip), equal4, &key, eamt->eams);
}

const struct xlat_eam *
xlat_eamt_find6_many(const struct xlat_eamt *eamt, struct xlat_ip6 ip)
{
    const struct xlat_eamt_side *side = &eamt->side6;

    for (unsigned int i = 0; i < side->n_tables; i++) {
        uint32_t number = table_find6(eamt, &side->tables[i], ip);

        if (number != XLAT_HASH_NONE) {
            return &eamt->eams[number];
        }
    }
    return NULL;
}

const struct xlat_eam *
xlat_eamt_find4_many(const struct xlat_eamt *eamt, uint32_t ip)
{
    const struct xlat_eamt_side *side = &eamt->side4;

    for (unsigned int i = 0; i < side->n_tables; i++) {
        uint32_t number = table_find4(eamt, &side->tables[i], ip);

        if (number != XLAT_HASH_NONE) {
            return &eamt->eams[number];
        }
    }
    return NULL;
}

void
xlat_eamt_prefetch_bucket6(const struct xlat_eamt *eamt, struct xlat_ip6 ip)
{
    for (unsigned int i = 0; i < eamt->side6.n_tables; i++) {
        const struct xlat_eamt_table *t = &eamt->side6.tables[i];

        xlat_hash_prefetch(&t->hash, hash6(t, ip));
    }
}

void
xlat_eamt_prefetch_bucket4(const struct xlat_eamt *eamt, uint32_t ip)
{
    for (unsigned int i = 0; i < eamt->side4.n_tables; i++) {
        const struct xlat_eamt_table *t = &eamt->side4.tables[i];

        xlat_hash_prefetch(&t->hash, hash4(t, ip));
    }
}

void
xlat_eamt_prefetch_entry6(const struct xlat_eamt *eamt, struct xlat_ip6 ip)
{
    for (unsigned int i = 0; i < eamt->side6.n_tables; i++) {
        const struct xlat_eamt_table *t = &eamt->side6.tables[i];
        uint32_t number = xlat_hash_guess(&t->hash, hash6(t, ip));

        if (number != XLAT_HASH_NONE) {
            __builtin_prefetch(&eamt->eams[number]);
            break;
        }
    }
}

void
xlat_eamt_prefetch_entry4(const struct xlat_eamt *eamt, uint32_t ip)
{
    for (unsigned int i = 0; i < eamt->side4.n_tables; i++) {
        const struct xlat_eamt_table *t = &eamt->side4.tables[i];
        uint32_t number = xlat_hash_guess(&t->hash, hash4(t, ip));

        if (number != XLAT_HASH_NONE) {
            __builtin_prefetch(&eamt->eams[number]);
            break;
        }
    }
}

bool
xlat_eamt_is_large(const struct xlat_eamt *eamt)
{
    return eamt->n > LARGE;
}

size_t
xlat_eamt_count(const struct xlat_eamt *eamt)
{
    return eamt->n;
}

const struct xlat_eam *
xlat_eamt_get(const struct xlat_eamt *eamt, size_t i)
{
    return &eamt->eams[i];
}

struct xlat_prefix
xlat_eam_prefix6(const struct xlat_eam *eam)
{
    return (struct xlat_prefix) { eam->ip6, 6, eam->len6 };
}

struct xlat_prefix
xlat_eam_prefix4(const struct xlat_eam *eam)
{
    return (struct xlat_prefix) {
        { (uint64_t) eam->ip4 << 32, 0 }, 4, eam->len4
    };
}

/* Returns whether no address of the prefixes would ever be translated. */
static bool
is_useless(const struct xlat_prefix *prefix6,
           const struct xlat_prefix *prefix4)
{
    struct xlat_ip6 mask6 = xlat_mask6(prefix6->len);
    struct xlat_ip6 last6 = {
        prefix6->ip.hi | ~mask6.hi, prefix6->ip.lo | ~mask6.lo
    };
    uint32_t first4 = prefix4->ip.hi >> 32;
    uint32_t last4 = first4 | ~xlat_mask4(prefix4->len);

    return (prefix6->len >= 8
            && xlat_ip6_is_unroutable(prefix6->ip)
            && xlat_ip6_is_unroutable(last6))
           || (prefix4->len >= 4
               && xlat_ip4_is_unroutable(first4)
               && xlat_ip4_is_unroutable(last4));
}

char *
xlat_eam_init(struct xlat_eam *eam, const struct xlat_prefix *prefix6,
              const struct xlat_prefix *prefix4)
{
    if (is_useless(prefix6, prefix4)) {
        char text6[XLAT_PREFIX_TEXT_SIZE], text4[XLAT_PREFIX_TEXT_SIZE];

        xlat_prefix_format(prefix6, text6);
        xlat_prefix_format(prefix4, text4);
        return xlat_error("%s and %s are not both unicast addresses", text6,
                          text4);
    }
    if (128 - prefix6->len < 32 - prefix4->len) {
        char text6[XLAT_PREFIX_TEXT_SIZE], text4[XLAT_PREFIX_TEXT_SIZE];

        xlat_prefix_format(prefix6, text6);
        xlat_prefix_format(prefix4, text4);
        return xlat_error("%s has fewer addresses than %s that it maps to "
                          "(RFC 7757, 3.1)", text6, text4);
    }
    *eam = (struct xlat_eam) {
        .ip6 = prefix6->ip,
        .ip4 = prefix4->ip.hi >> 32,
        .suffix_mask = ~xlat_mask4(prefix4->len),
        .shift = (128 - prefix6->len - (32 - prefix4->len)) & 127,
        .len6 = prefix6->len,
        .len4 = prefix4->len,
    };
    return NULL;
}

/* Names the entry 'eam' for an error. */
static void
describe(const struct xlat_eam *eam, char *s, size_t size)
{
    struct xlat_prefix prefix6 = xlat_eam_prefix6(eam);
    struct xlat_prefix prefix4 = xlat_eam_prefix4(eam);
    char text6[XLAT_PREFIX_TEXT_SIZE], text4[XLAT_PREFIX_TEXT_SIZE];
    char line[32] = "";

    xlat_prefix_format(&prefix6, text6);
    xlat_prefix_format(&prefix4, text4);
    if (eam->line) {
        snprintf(line, sizeof line, " (line %u)", (unsigned) eam->line);
    }
    snprintf(s, size, "%s %s%s", text6, text4, line);
}

static char *
conflict(const struct xlat_eam *a, const struct xlat_eam *b, const char *how)
{
    char text_a[160], text_b[160];

    describe(a, text_a, sizeof text_a);
    describe(b, text_b, sizeof text_b);
    return xlat_error("address mappings %s and %s %s", text_a, text_b, how);
}

/* Makes 'side' with a table for each length that 'counts' has. */
static int
side_init(struct xlat_eamt_side *side, const size_t *counts,
          unsigned int max_len)
{
    side->tables = calloc(max_len + 1, sizeof *side->tables);
    if (!side->tables) {
        return ENOMEM;
    }
    for (int len = max_len; len >= 0; len--) {
        if (counts[len]) {
            struct xlat_eamt_table *t = &side->tables[side->n_tables++];

            t->len = len;
            t->mask6 = xlat_mask6(len);
            t->mask4 = len <= 32 ? xlat_mask4(len) : 0;
            if (xlat_hash_init(&t->hash, counts[len], SEED + len)) {
                return ENOMEM;
            }
        }
    }
    return 0;
}

static void
side_destroy(struct xlat_eamt_side *side)
{
    for (unsigned int i = 0; i < side->n_tables; i++) {
        xlat_hash_destroy(&side->tables[i].hash);
    }
    free(side->tables);
}

static struct xlat_eamt_table *
side_table(const struct xlat_eamt_side *side, unsigned int len)
{
    struct xlat_eamt_table *t = side->tables;

    while (t->len != len) {
        t++;
    }
    return t;
}

/* Puts entry 'number' into both sides' tables. */
static char *
insert(struct xlat_eamt *eamt, uint32_t number)
{
    const struct xlat_eam *eam = &eamt->eams[number];
    struct xlat_eamt_table *t6 = side_table(&eamt->side6, eam->len6);
    struct xlat_eamt_table *t4 = side_table(&eamt->side4, eam->len4);

    uint32_t twin = table_find6(eamt, t6, eam->ip6);
    if (twin != XLAT_HASH_NONE) {
        return conflict(&eamt->eams[twin], eam, "have the same IPv6 prefix");
    }
    twin = table_find4(eamt, t4, eam->ip4);
    if (twin != XLAT_HASH_NONE) {
        return conflict(&eamt->eams[twin], eam, "have the same IPv4 prefix");
    }
    xlat_hash_insert(&t6->hash, hash6(t6, eam->ip6), number);
    xlat_hash_insert(&t4->hash, hash4(t4, eam->ip4), number);
    return NULL;
}

/* Returns a sentence if a prefix of 'eam' lies within another entry's. */
static char *
check_nested(const struct xlat_eamt *eamt, const struct xlat_eam *eam)
{
    for (unsigned int i = eamt->side6.n_tables; i-- > 0; ) {
        const struct xlat_eamt_table *t = &eamt->side6.tables[i];
        uint32_t outer = t->len < eam->len6
                         ? table_find6(eamt, t, eam->ip6) : XLAT_HASH_NONE;

        if (outer != XLAT_HASH_NONE) {
            return conflict(&eamt->eams[outer], eam,
                            "overlap in their IPv6 prefixes");
        }
    }
    for (unsigned int i = eamt->side4.n_tables; i-- > 0; ) {
        const struct xlat_eamt_table *t = &eamt->side4.tables[i];
        uint32_t outer = t->len < eam->len4
                         ? table_find4(eamt, t, eam->ip4) : XLAT_HASH_NONE;

        if (outer != XLAT_HASH_NONE) {
            return conflict(&eamt->eams[outer], eam,
                            "overlap in their IPv4 prefixes");
        }
    }
    return NULL;
}

/* Puts 'eam' into 'few', whose first 'n' elements are sorted. */
static void
insert_few(struct xlat_eamt_few *few, size_t n, const struct xlat_eam *eam)
{
    size_t i = n, j = n;

    for (; i > 0 && few[i - 1].eam6->len6 < eam->len6; i--) {
        few[i].ip6 = few[i - 1].ip6;
        few[i].mask6 = few[i - 1].mask6;
        few[i].eam6 = few[i - 1].eam6;
    }
    few[i].ip6 = eam->ip6;
    few[i].mask6 = xlat_mask6(eam->len6);
    few[i].eam6 = eam;

    for (; j > 0 && few[j - 1].eam4->len4 < eam->len4; j--) {
        few[j].ip4 = few[j - 1].ip4;
        few[j].mask4 = few[j - 1].mask4;
        few[j].eam4 = few[j - 1].eam4;
    }
    few[j].ip4 = eam->ip4;
    few[j].mask4 = xlat_mask4(eam->len4);
    few[j].eam4 = eam;
}

static char *
fill(struct xlat_eamt *eamt, bool refuse_nested)
{
    char *error = NULL;

    for (size_t i = 0; i < eamt->n && !error; i++) {
        error = insert(eamt, i);
    }
    for (size_t i = 0; i < eamt->n && !error && refuse_nested; i++) {
        error = check_nested(eamt, &eamt->eams[i]);
    }
    for (size_t i = 0; i < eamt->n && eamt->n <= XLAT_EAMT_FEW; i++) {
        insert_few(eamt->few, i, &eamt->eams[i]);
    }
    return error;
}

static int
init(struct xlat_eamt *eamt, const struct xlat_eam *eams, size_t n)
{
    size_t counts6[129] = { 0 };
    size_t counts4[33] = { 0 };

    eamt->n = n;
    eamt->eams = xlat_big_alloc(n * sizeof *eams);
    if (!eamt->eams) {
        return ENOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        eamt->eams[i] = eams[i];
        counts6[eams[i].len6]++;
        counts4[eams[i].len4]++;
    }
    return side_init(&eamt->side6, counts6, 128)
           ? ENOMEM : side_init(&eamt->side4, counts4, 32);
}

int
xlat_eamt_create(const struct xlat_eam *eams, size_t n, bool refuse_nested,
                 struct xlat_eamt **eamtp, char **errorp)
{
    struct xlat_eamt *eamt = calloc(1, sizeof *eamt);
    int error = eamt ? init(eamt, eams, n) : ENOMEM;

    *eamtp = NULL;
    *errorp = NULL;
    if (!error) {
        *errorp = fill(eamt, refuse_nested);
        error = *errorp ? EINVAL : 0;
    }
    if (error) {
        xlat_eamt_destroy(eamt);
        return error;
    }
    *eamtp = eamt;
    return 0;
}

void
xlat_eamt_destroy(struct xlat_eamt *eamt)
{
    if (eamt) {
        side_destroy(&eamt->side6);
        side_destroy(&eamt->side4);
        free(eamt->eams);
        free(eamt);
    }
}
