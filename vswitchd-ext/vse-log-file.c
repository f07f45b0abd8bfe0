/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include <config.h>

#include "vse-log-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util.h"

void
vse_log_file_init(struct vse_log_file *f, const char *path)
{
    *f = (struct vse_log_file) { .path = xstrdup(path), .fd = -1 };
}

static void
close_file(struct vse_log_file *f)
{
    if (f->fd >= 0) {
        close(f->fd);
        f->fd = -1;
        f->torn = false;
    }
}

void
vse_log_file_destroy(struct vse_log_file *f)
{
    close_file(f);
    free(f->path);
    free(f->error);
}

static void
set_error(struct vse_log_file *f, const char *error)
{
    free(f->error);
    f->error = nullable_xstrdup(error);
}

/* Opens the file.  What blocks, or is no file, is none. */
static void
open_file(struct vse_log_file *f)
{
    f->fd = open(f->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC
                          | O_NONBLOCK | O_NOCTTY, 0640);
    if (f->fd < 0 || fstat(f->fd, &f->stat)) {
        set_error(f, ovs_strerror(errno));
        close_file(f);
    } else if (!S_ISREG(f->stat.st_mode)) {
        set_error(f, "not a regular file");
        close_file(f);
    } else {
        set_error(f, NULL);
    }
}

/* Returns whether the file is open under its name. */
static bool
look(struct vse_log_file *f)
{
    struct stat now;

    if (f->fd >= 0 && (stat(f->path, &now) || now.st_dev != f->stat.st_dev
                       || now.st_ino != f->stat.st_ino)) {
        close_file(f);
    }
    if (f->fd < 0) {
        open_file(f);
    }
    return f->fd >= 0;
}

static uint64_t
count_lines(const char *text, size_t n)
{
    const char *end = text + n;
    uint64_t lines = 0;

    while ((text = memchr(text, '\n', end - text))) {
        text++;
        lines++;
    }
    return lines;
}

/* Writes as much of 'text' as there is room for.  Returns its bytes. */
static size_t
write_some(struct vse_log_file *f, const char *text, size_t n)
{
    size_t done = 0;

    while (done < n) {
        ssize_t retval = write(f->fd, text + done, n - done);

        if (retval > 0) {
            done += retval;
        } else if (!retval || errno != EINTR) {
            set_error(f, ovs_strerror(retval ? errno : ENOSPC));
            break;
        }
    }
    return done;
}

void
vse_log_file_write(struct vse_log_file *f, const char *text, size_t n)
{
    size_t done = 0;

    if (look(f) && n && (!f->torn || write_some(f, "\n", 1))) {
        f->torn = false;
        done = write_some(f, text, n);
        if (done == n) {
            set_error(f, NULL);
        } else {
            f->torn = done && text[done - 1] != '\n';
        }
    }
    if (done < n) {
        f->n_lost += count_lines(text + done, n - done);
    }
}

uint64_t
vse_log_file_take_lost(struct vse_log_file *f)
{
    uint64_t n = f->error ? 0 : f->n_lost;

    f->n_lost -= n;
    return n;
}
