/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "ila-mapping.h"

#include <stddef.h>
#include <string.h>

#include "xlat-prefix.h"
#include "xlat-text.h"

#define N(ARRAY) (sizeof (ARRAY) / sizeof (ARRAY)[0])

static const char *const csum_modes[] = {
    [ILA_CSUM_ADJ_TRANSPORT] = "adj-transport",
    [ILA_CSUM_NEUTRAL_MAP] = "neutral-map",
    [ILA_CSUM_NEUTRAL_MAP_AUTO] = "neutral-map-auto",
    [ILA_CSUM_NO_ACTION] = "no-action",
};

/* The names, and the words that Linux's ip(8) has for some. */
static const struct {
    const char *name;
    const char *linux_name;
} ident_types[] = {
    [ILA_IDENT_NONE] = { "none", "use-format" },
    [ILA_IDENT_IID] = { "iid", NULL },
    [ILA_IDENT_LUID] = { "luid", NULL },
    [ILA_IDENT_V4] = { "v4", "virt-v4" },
    [ILA_IDENT_V6] = { "v6", "virt-uni-v6" },
    [ILA_IDENT_V6_MULTICAST] = { "v6-multicast", "virt-multi-v6" },
    [ILA_IDENT_NONLOCAL] = { "nonlocal", "nonlocal-addr" },
};

const char *
ila_csum_mode_name(enum ila_csum_mode mode)
{
    return csum_modes[mode];
}

const char *
ila_ident_type_name(enum ila_ident_type type)
{
    return ident_types[type].name;
}

static char *
parse_half(const char *what, const char *text, uint64_t *halfp)
{
    return xlat_id64_parse(text, halfp) ? NULL
           : xlat_error("%s \"%s\" is not four groups of hexadecimal digits "
                        "such as 5555:0:2:0", what, text);
}

static char *
parse_csum_mode(const char *text, uint8_t *modep)
{
    for (size_t i = 0; i < N(csum_modes); i++) {
        if (!strcmp(text, csum_modes[i])) {
            *modep = i;
            return NULL;
        }
    }
    return xlat_error("checksum mode \"%s\" is none of adj-transport, "
                      "neutral-map, neutral-map-auto and no-action", text);
}

static char *
parse_ident_type(const char *text, uint8_t *typep)
{
    for (size_t i = 0; i < N(ident_types); i++) {
        if (!strcmp(text, ident_types[i].name)
            || (ident_types[i].linux_name
                && !strcmp(text, ident_types[i].linux_name))) {
            *typep = i;
            return NULL;
        }
    }
    return xlat_error("identifier type \"%s\" is none of none, iid, luid, v4, "
                      "v6, v6-multicast and nonlocal", text);
}

/* Checks that the identifier says of itself what its type says. */
static char *
check_format(const struct ila_mapping *m, const char *text)
{
    unsigned int number = m->ident_type - ILA_IDENT_IID;

    if (m->ident_type == ILA_IDENT_NONE) {
        return NULL;
    }
    if (m->identifier >> 61 != number) {
        return xlat_error("identifier %s has %d in its top 3 bits, but one of "
                          "type %s has %u", text, (int) (m->identifier >> 61),
                          ident_types[m->ident_type].name, number);
    }
    return m->identifier & ILA_C_BIT
           ? xlat_error("identifier %s of type %s has its C bit set, which "
                        "only checksum-neutral mapping sets", text,
                        ident_types[m->ident_type].name)
           : NULL;
}

char *
ila_mapping_init(struct ila_mapping *m, const char *identifier,
                 const char *locator, const char *csum_mode,
                 const char *ident_type)
{
    *m = (struct ila_mapping) { .line = 0 };

    char *error = parse_half("identifier", identifier, &m->identifier);
    if (!error) {
        error = parse_half("locator", locator, &m->locator);
    }
    if (!error && csum_mode) {
        error = parse_csum_mode(csum_mode, &m->csum_mode);
    }
    if (!error && ident_type) {
        error = parse_ident_type(ident_type, &m->ident_type);
    }
    return error ? error : check_format(m, identifier);
}
