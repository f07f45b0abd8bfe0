/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "util-text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static char *
format_text(const char *format, va_list args)
{
    char *text;

    if (vasprintf(&text, format, args) < 0) {
        abort();
    }
    return text;
}

char *
util_text(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    char *text = format_text(format, args);
    va_end(args);
    return text;
}

char *
util_text_prefix(char *text, const char *format, ...)
{
    if (!text) {
        return NULL;
    }

    va_list args;

    va_start(args, format);
    char *prefix = format_text(format, args);
    va_end(args);

    char *whole = util_text("%s%s", prefix, text);

    free(prefix);
    free(text);
    return whole;
}
