/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef UTIL_TEXT_H
#define UTIL_TEXT_H 1

/* Sentences in memory of their own, for errors that travel up to main().
 *
 * The caller frees each result.  A command that is out of memory has no
 * sentence left to say: it aborts. */

/* Returns what printf() would print. */
char *util_text(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Returns 'text' with what printf() would print put in front, and frees
 * 'text'; NULL for NULL. */
char *util_text_prefix(char *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif /* util-text.h */
