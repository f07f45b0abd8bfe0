/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Names of drop reasons, and what they stand for. */

#include <assert.h>

#include "xlat.h"

static const struct {
    const char *name;
    const char *words;
    const char *clause;
} drops[XLAT_N_DROPS] = {
#define XLAT_DROP(SYMBOL, NAME, WORDS, CLAUSE) \
    [XLAT_DROP_##SYMBOL] = { NAME, WORDS, CLAUSE },
#include "xlat-drop.def"
#undef XLAT_DROP
};

const char *
xlat_drop_name(enum xlat_drop drop)
{
    assert(drop < XLAT_N_DROPS);
    return drops[drop].name;
}

const char *
xlat_drop_words(enum xlat_drop drop)
{
    assert(drop < XLAT_N_DROPS);
    return drops[drop].words;
}

const char *
xlat_drop_clause(enum xlat_drop drop)
{
    assert(drop < XLAT_N_DROPS);
    return drops[drop].clause;
}
