/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "util-counters.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "xlat-zone.h"

/* More than a zone can have: each reason twice, and the totals. */
#define MAX_COUNTERS (2 * XLAT_N_DROPS + 32)

struct counter {
    const char *name;
    uint64_t value;
};

struct list {
    char *names;               /* All names, each with its null byte. */
    size_t names_bytes;
    FILE *stream;              /* Behind 'names'. */
    size_t offsets[MAX_COUNTERS];
    struct counter counters[MAX_COUNTERS];
    size_t n;
};

/* Names need not outlive the call: they are copied. */
static void
add_counter(const char *name, uint64_t value, void *list_)
{
    struct list *list = list_;

    if (list->n < MAX_COUNTERS) {
        list->offsets[list->n] = ftell(list->stream);
        list->counters[list->n++].value = value;
        fwrite(name, 1, strlen(name) + 1, list->stream);
    }
}

static int
compare_counters(const void *a_, const void *b_)
{
    const struct counter *a = a_;
    const struct counter *b = b_;

    return strcmp(a->name, b->name);
}

static void
collect_counters(const struct xlat_zone *zone, struct list *list)
{
    struct xlat_counters counters;

    list->n = 0;
    list->stream = open_memstream(&list->names, &list->names_bytes);
    if (!list->stream) {
        abort();
    }
    xlat_zone_get_counters(zone, &counters);
    xlat_counters_for_each(&counters, add_counter, list);
    fclose(list->stream);
    for (size_t i = 0; i < list->n; i++) {
        list->counters[i].name = list->names + list->offsets[i];
    }
    qsort(list->counters, list->n, sizeof *list->counters, compare_counters);
}

void
util_counters_write(const struct xlat_zone *zone, FILE *file, bool json)
{
    struct list list;

    collect_counters(zone, &list);
    if (json) {
        fputs("{", file);
    }
    for (size_t i = 0; i < list.n; i++) {
        unsigned long long value = list.counters[i].value;

        if (json) {
            fprintf(file, "%s\n  \"%s\": %llu", i ? "," : "",
                    list.counters[i].name, value);
        } else {
            fprintf(file, "%s %llu\n", list.counters[i].name, value);
        }
    }
    if (json) {
        fputs("\n}\n", file);
    }
    free(list.names);
}
