/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_DENY_H
#define XLAT_DENY_H 1

/* Lists of prefixes: deny rules, whose addresses are not translated, whatever
 * mappings there are; and the inside of a nat44 zone.
 *
 * A lookup compares one prefix after the other: meant for tens of rules.
 * Immutable once filled. */

#include <stddef.h>

#include "xlat-prefix.h"

struct xlat_deny {
    struct xlat_prefix *prefixes;    /* Both families. */
    size_t n;
};

/* Makes '*deny' a list without rules. */
void xlat_deny_init(struct xlat_deny *deny);

/* Frees the rules.  To be used again, the list must be made again. */
void xlat_deny_destroy(struct xlat_deny *);

/* Replaces the rules of 'deny' by the list 'text' of prefixes, separated by
 * commas or white space.  Returns NULL, or a sentence that says what is wrong,
 * which the caller frees; the rules stay then as they were. */
char *xlat_deny_parse(struct xlat_deny *deny, const char *text);

/* Makes '*copy', not initialized, equal to 'deny'.  Returns 0 or ENOMEM. */
int xlat_deny_copy(struct xlat_deny *copy, const struct xlat_deny *deny);

/* Returns whether a rule has the address. */
bool xlat_deny_has6(const struct xlat_deny *, struct xlat_ip6);
bool xlat_deny_has4(const struct xlat_deny *, uint32_t);

#endif /* xlat-deny.h */
