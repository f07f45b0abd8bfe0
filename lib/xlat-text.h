/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_TEXT_H
#define XLAT_TEXT_H 1

/* Small helpers for text on the control path: sentences that say what is
 * wrong, and numbers read strictly.  Not for the packet path. */

#include <stdbool.h>
#include <stdint.h>

/* Returns a formatted sentence that the caller frees.  Aborts if there is no
 * memory even for that. */
char *xlat_error(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Reads all of 's' as a decimal number from 'low' to 'high'.  Signs, spaces,
 * leading zeros and trailing text make it fail. */
bool xlat_uint_parse(const char *s, uint64_t low, uint64_t high,
                     uint64_t *valuep);

/* Finds 'word' among the alternatives of 'words' ("drop|compute|forward") and
 * stores its position.  Returns false if it is not there. */
bool xlat_word_find(const char *words, const char *word, unsigned int *indexp);

/* Copies the next item of a list separated by commas or white space from
 * '*sp' into the 'size' bytes at 'item', and moves '*sp' behind it.  Returns
 * false at the end of the list.  An item that is too long is cut, so that no
 * parser accepts it. */
bool xlat_list_next(const char **sp, char *item, unsigned int size);

#endif /* xlat-text.h */
