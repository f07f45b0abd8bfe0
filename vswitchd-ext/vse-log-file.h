/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_LOG_FILE_H
#define VSE_LOG_FILE_H 1

/* A file that lines are appended to, for years.
 *
 * A file that has been renamed or removed (logrotate) is made anew with the
 * next line.  While it cannot be written to, lines are lost, and counted.
 *
 * One thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct vse_log_file {
    char *path;
    int fd;                      /* -1: not open. */
    struct stat stat;            /* Of it, when it was opened. */
    bool torn;                   /* Its last line has no end. */
    uint64_t n_lost;             /* Lines. */
    char *error;                 /* Why it cannot be written to, or NULL. */
};

/* 'path' is absolute. */
void vse_log_file_init(struct vse_log_file *, const char *path);
void vse_log_file_destroy(struct vse_log_file *);

/* Appends the 'n' bytes of 'text', whole lines.  With 'n' 0, only looks
 * whether it could. */
void vse_log_file_write(struct vse_log_file *, const char *text, size_t n);

/* Returns how many lines have been lost since this was asked last, if that can
 * be written down now. */
uint64_t vse_log_file_take_lost(struct vse_log_file *);

#endif /* vse-log-file.h */
