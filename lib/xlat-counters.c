/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "xlat-zone.h"

/* The counters that are not by reason. */
static const struct {
    const char *name;
    size_t offset;
} totals[] = {
#define TOTAL(MEMBER, NAME) { NAME, offsetof(struct xlat_counters, MEMBER) }
    TOTAL(packets, "packets"),
    TOTAL(bytes, "bytes"),
    TOTAL(translated, "translated"),
    TOTAL(translated_44, "translated-44"),
    TOTAL(translated_46, "translated-46"),
    TOTAL(translated_64, "translated-64"),
    TOTAL(translated_66, "translated-66"),
    TOTAL(fragmented, "fragmented"),
    TOTAL(passed, "passed"),
    TOTAL(replies, "replies"),
    TOTAL(replies_limited, "replies-limited"),
    TOTAL(probes_sent, "probes-sent"),
    TOTAL(syns_answered, "syns-answered"),
#undef TOTAL
};

static const char *const drop_names[XLAT_N_DROPS] = {
#define XLAT_DROP(SYMBOL, NAME, WORDS, CLAUSE) "drop-" NAME,
#include "xlat-drop.def"
#undef XLAT_DROP
};

static const char *const reply_names[XLAT_N_DROPS] = {
#define XLAT_DROP(SYMBOL, NAME, WORDS, CLAUSE) "reply-" NAME,
#include "xlat-drop.def"
#undef XLAT_DROP
};

void
xlat_counters_for_each(const struct xlat_counters *c,
                       void (*cb)(const char *name, uint64_t value,
                                  void *aux), void *aux)
{
    for (size_t i = 0; i < sizeof totals / sizeof totals[0]; i++) {
        cb(totals[i].name, *(const uint64_t *) ((const char *) c
                                                + totals[i].offset), aux);
    }
    for (int i = 0; i < XLAT_N_DROPS; i++) {
        cb(drop_names[i], c->drops[i], aux);
    }
    for (int i = 0; i < XLAT_N_DROPS; i++) {
        cb(reply_names[i], c->reply_reasons[i], aux);
    }
}
