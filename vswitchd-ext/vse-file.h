/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_FILE_H
#define VSE_FILE_H 1

/* A file that configuration is read from, watched for change.
 *
 * A change is what stat() can see: another inode, size or time.  A file that
 * is written in place is seen half written at times, so a change counts as
 * one for vse_file_settled() only once two looks in a row saw the same.
 *
 * Main thread only. */

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

struct vse_file {
    char *name;            /* NULL: no file. */
    struct stat loaded;    /* What was read; all zero if there was none. */
    struct stat seen;      /* What the last look saw. */
};

void vse_file_init(struct vse_file *);
void vse_file_destroy(struct vse_file *);

/* Watches 'name' from now on, or nothing if it is NULL, and sets '*streamp' to
 * the file, opened for reading, or to NULL.  Only a regular file by an
 * absolute name is taken.
 *
 * Returns NULL, or what is wrong, without the name, which the caller frees.
 * A file that cannot be opened is watched all the same, so that it is found
 * when it turns up. */
char *vse_file_open(struct vse_file *, const char *name, FILE **streamp);

/* Looks at the file and returns true if it is not what vse_file_open()
 * opened. */
bool vse_file_changed(struct vse_file *);

/* Likewise, if moreover the last look saw the same as this one. */
bool vse_file_settled(struct vse_file *);

#endif /* vse-file.h */
