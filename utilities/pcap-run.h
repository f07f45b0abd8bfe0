/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef PCAP_RUN_H
#define PCAP_RUN_H 1

/* A capture's packets through a zone, into another capture.
 *
 * In the input's order.  The clock is the packets' time stamps; it never goes
 * backward.  What a packet becomes (itself translated, its fragments, an
 * error that goes back) has that packet's time stamp. */

#include <pcap/pcap.h>
#include <stdint.h>
#include <stdio.h>

struct util_capture;
struct xlat_zone;

struct util_run {
    const struct xlat_zone *zone;
    const struct util_capture *in;
    pcap_dumper_t *out;        /* Of the type that util_run_dlt() returns. */
    FILE *verdicts;            /* One line a packet; NULL: none. */
    uint64_t seed;             /* Of all that is random; any value. */

    /* Called now and then with the number of packets so far, if set. */
    void (*progress)(uint64_t packets, void *aux);
    void *aux;
};

/* Stores in '*dltp' the type (DLT_*) of the capture that takes what becomes
 * of the packets of 'in'.  Returns NULL, or a sentence that the caller frees
 * if packets of that type are not understood. */
char *util_run_dlt(const struct util_capture *in, int *dltp);

/* Runs.  Returns NULL, or a sentence that the caller frees: the input is
 * damaged (what comes before the damage was run), or the output cannot be
 * written. */
char *util_run(const struct util_run *);

#endif /* pcap-run.h */
