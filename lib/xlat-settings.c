/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "xlat-settings.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "xlat-special.h"
#include "xlat-text.h"

enum type {
    UINT,
    ENUM,
    FLAG,
    OTHER,
    TEXT,
};

typedef bool setter(struct xlat_settings *, const char *value);

static setter set_icmp_source4;
static setter set_icmp_source6;
static setter set_share;
static setter set_tos_override;

struct option {
    const char *key;
    enum type type;
    size_t offset;               /* UINT, ENUM, FLAG: of the member. */
    const char *dflt;
    uint32_t low;                /* UINT. */
    uint32_t high;
    setter *set;                 /* OTHER. */
    const char *values;
    const char *words;
};

#define MEMBER(NAME) offsetof(struct xlat_settings, NAME)

static const struct option options[] = {
#define XLAT_UINT(KEY, NAME, DEFAULT, LOW, HIGH, WORDS)                   \
    { KEY, UINT, MEMBER(NAME), DEFAULT, LOW, HIGH, NULL, #LOW ".." #HIGH, \
      WORDS },
#define XLAT_ENUM(KEY, NAME, DEFAULT, VALUES, WORDS)                      \
    { KEY, ENUM, MEMBER(NAME), DEFAULT, 0, 0, NULL, VALUES, WORDS },
#define XLAT_FLAG(KEY, NAME, DEFAULT, VALUES, WORDS)                      \
    { KEY, FLAG, MEMBER(NAME), DEFAULT, 0, 0, NULL, VALUES, WORDS },
#define XLAT_OTHER(KEY, SETTER, DEFAULT, VALUES, WORDS)                   \
    { KEY, OTHER, 0, DEFAULT, 0, 0, SETTER, VALUES, WORDS },
#define XLAT_TEXT(KEY, DEFAULT, VALUES, WORDS)                            \
    { KEY, TEXT, 0, DEFAULT, 0, 0, NULL, VALUES, WORDS },
#include "xlat-settings.def"
#undef XLAT_UINT
#undef XLAT_ENUM
#undef XLAT_FLAG
#undef XLAT_OTHER
#undef XLAT_TEXT
};

#define N_OPTIONS (sizeof options / sizeof options[0])

static bool set(const struct option *, struct xlat_settings *,
                const char *value);

void
xlat_settings_init(struct xlat_settings *settings)
{
    memset(settings, 0, sizeof *settings);
    settings->tos_override = -1;
    for (size_t i = 0; i < N_OPTIONS; i++) {
        const struct option *o = &options[i];

        if (o->type != TEXT && *o->dflt) {
            bool ok = set(o, settings, o->dflt);

            assert(ok);
            (void) ok;
        }
    }
}

char *
xlat_settings_set(struct xlat_settings *settings, const char *key,
                  const char *value, bool *known)
{
    *known = false;
    for (size_t i = 0; i < N_OPTIONS; i++) {
        const struct option *o = &options[i];

        if (o->type != TEXT && !strcmp(o->key, key)) {
            *known = true;
            return set(o, settings, value) ? NULL
                   : xlat_error("%s=%s is not valid: it takes %s", key, value,
                                o->values);
        }
    }
    return NULL;
}

void
xlat_settings_for_each(void (*cb)(const char *key, const char *dflt,
                                  const char *values, const char *words,
                                  void *aux), void *aux)
{
    for (size_t i = 0; i < N_OPTIONS; i++) {
        const struct option *o = &options[i];

        cb(o->key, o->dflt, o->values, o->words, aux);
    }
}

/* Sets option 'o'.  Returns false, and changes nothing, if 'value' is not
 * valid. */
static bool
set(const struct option *o, struct xlat_settings *settings, const char *value)
{
    char *member = (char *) settings + o->offset;
    unsigned int position;
    uint64_t number;

    switch (o->type) {
    case UINT:
        if (!xlat_uint_parse(value, o->low, o->high, &number)) {
            return false;
        }
        memcpy(member, &(uint32_t) { number }, sizeof(uint32_t));
        return true;
    case ENUM:
        if (!xlat_word_find(o->values, value, &position)) {
            return false;
        }
        memcpy(member, &position, sizeof position);
        return true;
    case FLAG:
        if (!xlat_word_find(o->values, value, &position)) {
            return false;
        }
        memcpy(member, &(bool) { position }, sizeof(bool));
        return true;
    case OTHER:
        return o->set(settings, value);
    case TEXT:
        break;
    }
    return false;
}

_Static_assert(sizeof(enum xlat_filtering) == sizeof(unsigned int)
               && sizeof(enum xlat_hairpin) == sizeof(unsigned int)
               && sizeof(enum xlat_log) == sizeof(unsigned int)
               && sizeof(enum xlat_mapping) == sizeof(unsigned int)
               && sizeof(enum xlat_miss) == sizeof(unsigned int)
               && sizeof(enum xlat_udp_zero) == sizeof(unsigned int),
               "set() copies enumerations as unsigned int");

static bool
set_icmp_source4(struct xlat_settings *settings, const char *value)
{
    struct xlat_prefix address;

    if (!xlat_address_parse(value, 4, &address)
        || xlat_ip4_is_unroutable(address.ip.hi >> 32)) {
        return false;
    }
    settings->icmp_source4 = htobe32(address.ip.hi >> 32);
    return true;
}

static bool
set_icmp_source6(struct xlat_settings *settings, const char *value)
{
    struct xlat_prefix address;

    if (!xlat_address_parse(value, 6, &address)
        || xlat_ip6_is_unroutable(address.ip)) {
        return false;
    }
    xlat_ip6_store(address.ip, &settings->icmp_source6);
    return true;
}

/* "K/N", K below N. */
static bool
set_share(struct xlat_settings *settings, const char *value)
{
    size_t n = strcspn(value, "/");
    char first[5];
    uint64_t share, n_shares;

    if (n >= sizeof first || !value[n]) {
        return false;
    }
    memcpy(first, value, n);
    first[n] = '\0';
    if (!xlat_uint_parse(value + n + 1, 1, 1024, &n_shares)
        || !xlat_uint_parse(first, 0, n_shares - 1, &share)) {
        return false;
    }
    settings->share = share;
    settings->n_shares = n_shares;
    return true;
}

/* "none", or a byte, also as "0x2e". */
static bool
set_tos_override(struct xlat_settings *settings, const char *value)
{
    uint64_t tos;

    if (!strcmp(value, "none")) {
        settings->tos_override = -1;
        return true;
    }
    if (!strncasecmp(value, "0x", 2)) {
        size_t n = strspn(value + 2, "0123456789abcdefABCDEF");

        if (!n || n > 2 || value[2 + n]) {
            return false;
        }
        tos = strtoul(value + 2, NULL, 16);
    } else if (!xlat_uint_parse(value, 0, 255, &tos)) {
        return false;
    }
    settings->tos_override = tos;
    return true;
}
