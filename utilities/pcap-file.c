/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "pcap-file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "util-text.h"

enum {
    SNAPLEN = 262144,             /* The most that libpcap accepts. */
    BUFFER_BYTES = 256 * 1024,
};

/* Opens 'path', or returns 'std' for "-". */
static FILE *
open_file(const char *path, const char *mode, FILE *std)
{
    FILE *file = strcmp(path, "-") ? fopen(path, mode) : std;

    if (file) {
        setvbuf(file, NULL, _IOFBF, BUFFER_BYTES);
    }
    return file;
}

/* Returns true if 'file' begins as a pcap file of microseconds does, in either
 * byte order.  libpcap scales time stamps, and tells nobody from what. */
static bool
counts_microseconds(FILE *file)
{
    static const uint8_t magics[2][4] = {
        { 0xd4, 0xc3, 0xb2, 0xa1 },
        { 0xa1, 0xb2, 0xc3, 0xd4 },
    };
    uint8_t magic[4] = { 0 };
    size_t n = fread(magic, 1, sizeof magic, file);

    /* glibc and musl take back what was just read from their buffer. */
    for (size_t i = n; i-- > 0; ) {
        ungetc(magic[i], file);
    }
    return (!memcmp(magic, magics[0], sizeof magic)
            || !memcmp(magic, magics[1], sizeof magic));
}

char *
util_capture_open(struct util_capture *capture, const char *path)
{
    FILE *file = open_file(path, "rb", stdin);
    char error[PCAP_ERRBUF_SIZE];
    struct stat st;

    if (!file) {
        return util_text("%s: %s", path, strerror(errno));
    }

    capture->file = file;
    capture->bytes = (!fstat(fileno(file), &st) && S_ISREG(st.st_mode)
                      ? st.st_size
                      : 0);
    capture->ticks_per_us = counts_microseconds(file) ? 1 : 1000;
    capture->pcap = pcap_fopen_offline_with_tstamp_precision(
        file,
        capture->ticks_per_us == 1 ? PCAP_TSTAMP_PRECISION_MICRO
                                   : PCAP_TSTAMP_PRECISION_NANO,
        error);
    if (!capture->pcap) {
        fclose(file);
        return util_text("%s: %s", path, error);
    }
    return NULL;
}

void
util_capture_close(struct util_capture *capture)
{
    pcap_close(capture->pcap);
}

/* Returns true if 'path' is the file that 'capture' is read from. */
static bool
same_file(const char *path, const struct util_capture *capture)
{
    struct stat a, b;

    return (strcmp(path, "-")
            && !stat(path, &a)
            && !fstat(fileno(capture->file), &b)
            && S_ISREG(a.st_mode)
            && a.st_dev == b.st_dev
            && a.st_ino == b.st_ino);
}

char *
util_capture_create(const char *path, int dlt,
                    const struct util_capture *like, pcap_dumper_t **dumperp)
{
    if (same_file(path, like)) {
        return util_text("%s: is the input, too", path);
    }

    FILE *file = open_file(path, "wb", stdout);

    if (!file) {
        return util_text("%s: %s", path, strerror(errno));
    }

    pcap_t *form = pcap_open_dead_with_tstamp_precision(
        dlt, SNAPLEN, pcap_get_tstamp_precision(like->pcap));

    *dumperp = pcap_dump_fopen(form, file);

    char *error = *dumperp ? NULL : util_text("%s: %s", path,
                                              pcap_geterr(form));

    pcap_close(form);
    return error;
}

char *
util_capture_finish(pcap_dumper_t *dumper)
{
    bool failed = pcap_dump_flush(dumper) || ferror(pcap_dump_file(dumper));
    char *error = failed ? util_text("%s", strerror(errno)) : NULL;

    pcap_dump_close(dumper);
    return error;
}
