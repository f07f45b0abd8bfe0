/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef PCAP_RUN_H
#define PCAP_RUN_H 1

/* A capture's packets through a zone, into another capture.
 *
 * In the input's order.  The clock is the packets' time stamps; it never goes
 * backward.  What a packet becomes (itself translated, its fragments, an
 * error that goes back), and fragments that have waited for it, have that
 * packet's time stamp.  What waits at the end is dropped.  What the zone sends
 * of its own accord (nat64.h) has the time of the clock, which only packets
 * move, and goes where packets with the same link header come from, as far as
 * there are no more than 1024 of those. */

#include <pcap/pcap.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct util_capture;
struct xlat_zone;

struct util_run {
    const struct xlat_zone *zone;
    const struct util_capture *in;
    pcap_dumper_t *out;        /* Of the type that util_run_dlt() returns. */
    FILE *verdicts;            /* One line a packet; NULL: none. */
    FILE *log;                 /* The session log of a stateful zone; NULL:
                                * none. */
    uint64_t seed;             /* Of all that is random; any value. */
    uint32_t tenant;           /* Of hosts inside a stateful zone. */
    bool tenant_is_vlan;       /* It is the VLAN id instead, and becomes that
                                * of what goes to a host inside. */

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
