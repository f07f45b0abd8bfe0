/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef UTIL_COUNTERS_H
#define UTIL_COUNTERS_H 1

/* A zone's counters as a file, for people ("NAME VALUE" lines) or programs (a
 * JSON object). */

#include <stdbool.h>
#include <stdio.h>

struct xlat_zone;

/* Writes the counters of 'zone' to 'file', sorted by name. */
void util_counters_write(const struct xlat_zone *zone, FILE *file,
                         bool json);

#endif /* util-counters.h */
