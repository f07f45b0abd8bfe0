/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef PCAP_FILE_H
#define PCAP_FILE_H 1

/* Capture files, by libpcap: one to read, one to write that is like it.
 *
 * Reads pcap and pcapng; writes pcap.  Time stamps keep their resolution: a
 * pcap file of microseconds gives one of microseconds, everything else one of
 * nanoseconds. */

#include <pcap/pcap.h>
#include <stdio.h>

struct util_capture {
    pcap_t *pcap;              /* To read packets from. */
    FILE *file;                /* 'pcap''s own; for its position only. */
    long long bytes;           /* Size of the file, 0 if it has none. */
    unsigned int ticks_per_us; /* Of 'ts.tv_usec' in packets: 1 or 1000. */
};

/* Opens the capture at 'path' ("-": standard input).  Returns NULL, or a
 * sentence that the caller frees. */
char *util_capture_open(struct util_capture *, const char *path);

/* Closes a capture that util_capture_open() has opened. */
void util_capture_close(struct util_capture *);

/* Creates a capture of type 'dlt' (DLT_*) at 'path' ("-": standard output)
 * with the time stamp resolution of 'like', which must not be the same file.
 * Stores it in '*dumperp', the caller's to hand to util_capture_finish().
 * Returns NULL, or a sentence that the caller frees. */
char *util_capture_create(const char *path, int dlt,
                          const struct util_capture *like,
                          pcap_dumper_t **dumperp);

/* Writes what is still in memory, and closes 'dumper'.  Returns NULL, or a
 * sentence that the caller frees. */
char *util_capture_finish(pcap_dumper_t *dumper);

#endif /* pcap-file.h */
