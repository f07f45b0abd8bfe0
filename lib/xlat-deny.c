/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "xlat-deny.h"

#include <errno.h>
#include <stdlib.h>

#include "xlat-text.h"

void
xlat_deny_init(struct xlat_deny *deny)
{
    *deny = (struct xlat_deny) { .prefixes = NULL };
}

void
xlat_deny_destroy(struct xlat_deny *deny)
{
    free(deny->prefixes);
}

static char *
add(struct xlat_deny *deny, const char *text)
{
    struct xlat_prefix prefix;
    char *error = xlat_prefix_parse(text, 0, &prefix);

    if (!error) {
        struct xlat_prefix *prefixes = realloc(deny->prefixes, (deny->n + 1)
                                               * sizeof *prefixes);
        if (!prefixes) {
            return xlat_error("out of memory");
        }
        prefixes[deny->n++] = prefix;
        deny->prefixes = prefixes;
    }
    return error;
}

char *
xlat_deny_parse(struct xlat_deny *deny, const char *text)
{
    char item[XLAT_PREFIX_TEXT_SIZE];
    struct xlat_deny new;
    char *error = NULL;

    xlat_deny_init(&new);
    while (!error && xlat_list_next(&text, item, sizeof item)) {
        error = add(&new, item);
    }
    if (error) {
        xlat_deny_destroy(&new);
    } else {
        xlat_deny_destroy(deny);
        *deny = new;
    }
    return error;
}

int
xlat_deny_copy(struct xlat_deny *copy, const struct xlat_deny *deny)
{
    *copy = *deny;
    copy->prefixes = malloc((deny->n + 1) * sizeof *copy->prefixes);
    if (!copy->prefixes) {
        xlat_deny_init(copy);
        return ENOMEM;
    }
    for (size_t i = 0; i < deny->n; i++) {
        copy->prefixes[i] = deny->prefixes[i];
    }
    return 0;
}

static bool
has(const struct xlat_deny *deny, uint8_t family, struct xlat_ip6 ip)
{
    for (size_t i = 0; i < deny->n; i++) {
        if (deny->prefixes[i].family == family
            && xlat_prefix_contains(&deny->prefixes[i], ip)) {
            return true;
        }
    }
    return false;
}

bool
xlat_deny_has6(const struct xlat_deny *deny, struct xlat_ip6 ip)
{
    return has(deny, 6, ip);
}

bool
xlat_deny_has4(const struct xlat_deny *deny, uint32_t ip)
{
    return has(deny, 4, (struct xlat_ip6) { (uint64_t) ip << 32, 0 });
}
