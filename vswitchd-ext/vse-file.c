/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include <config.h>

#include "vse-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util.h"

static char *vse_file_open__(struct vse_file *, FILE **streamp);
static void look(const char *name, struct stat *);
static bool same(const struct stat *, const struct stat *);

void
vse_file_init(struct vse_file *f)
{
    memset(f, 0, sizeof *f);
}

void
vse_file_destroy(struct vse_file *f)
{
    free(f->name);
}

char *
vse_file_open(struct vse_file *f, const char *name, FILE **streamp)
{
    free(f->name);
    vse_file_init(f);
    *streamp = NULL;

    if (!name) {
        return NULL;
    } else if (name[0] != '/') {
        /* What the name means depends on how the daemon was started. */
        return xstrdup("the name of a file must begin with \"/\"");
    }
    f->name = xstrdup(name);
    return vse_file_open__(f, streamp);
}

bool
vse_file_changed(struct vse_file *f)
{
    if (!f->name) {
        return false;
    }
    look(f->name, &f->seen);
    return !same(&f->seen, &f->loaded);
}

bool
vse_file_settled(struct vse_file *f)
{
    struct stat before = f->seen;

    return vse_file_changed(f) && same(&f->seen, &before);
}

static char *
vse_file_open__(struct vse_file *f, FILE **streamp)
{
    /* A FIFO must not block the main thread. */
    int fd = open(f->name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &f->loaded)) {
        int error = errno;

        if (fd >= 0) {
            close(fd);
        }
        look(f->name, &f->loaded);
        return xstrdup(ovs_strerror(error));
    }
    f->seen = f->loaded;
    if (!S_ISREG(f->loaded.st_mode)) {
        close(fd);
        return xstrdup("not a regular file");
    }
    *streamp = fdopen(fd, "r");
    ovs_assert(*streamp);
    return NULL;
}

/* Fills '*s' with what 'name' is now: zeros if it is not there. */
static void
look(const char *name, struct stat *s)
{
    if (stat(name, s)) {
        memset(s, 0, sizeof *s);
    }
}

static bool
same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev
           && a->st_ino == b->st_ino
           && a->st_size == b->st_size
           && a->st_mode == b->st_mode
           && a->st_mtim.tv_sec == b->st_mtim.tv_sec
           && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec
           && a->st_ctim.tv_sec == b->st_ctim.tv_sec
           && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}
