/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "xlat-text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *
xlat_error(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);

    char *s = n >= 0 ? malloc((size_t) n + 1) : NULL;
    if (!s) {
        abort();
    }

    va_start(args, format);
    vsnprintf(s, (size_t) n + 1, format, args);
    va_end(args);
    return s;
}

bool
xlat_uint_parse(const char *s, uint64_t low, uint64_t high, uint64_t *valuep)
{
    uint64_t value = 0;

    if (!*s || (s[0] == '0' && s[1])) {
        return false;
    }
    for (; *s; s++) {
        unsigned int digit = (unsigned char) *s - '0';

        if (digit > 9 || value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *valuep = value;
    return value >= low && value <= high;
}

bool
xlat_word_find(const char *words, const char *word, unsigned int *indexp)
{
    size_t len = strlen(word);

    for (unsigned int i = 0; ; i++) {
        size_t n = strcspn(words, "|");

        if (n == len && n && !memcmp(words, word, n)) {
            *indexp = i;
            return true;
        }
        if (!words[n]) {
            return false;
        }
        words += n + 1;
    }
}

bool
xlat_list_next(const char **sp, char *item, unsigned int size)
{
    static const char separators[] = ", \t\r\n";
    const char *s = *sp + strspn(*sp, separators);
    size_t n = strcspn(s, separators);
    size_t copied = n < size ? n : size - 1;

    memcpy(item, s, copied);
    item[copied] = '\0';
    *sp = s + n;
    return n > 0;
}
