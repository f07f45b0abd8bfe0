/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef SIIT_H
#define SIIT_H 1

/* A siit zone for unit tests, and one packet on its way through it.
 *
 * pool6 2001:db8:64::/96, EAM 2001:db8:1::/120 <-> 192.0.2.0/24, pool4
 * 203.0.113.1. */

#include "packet.h"
#include "xlat-conf.h"
#include "xlat-zone.h"
#include "xlat.h"

struct siit {
    struct xlat_zone *zone;
    struct xlat_ctx ctx;
    struct packet packet;        /* What goes in. */
    struct packet out;           /* Where it becomes what comes out. */
    struct xlat_job job;         /* What comes out. */
};

/* 'options' is NULL or a list of KEY=VALUE, separated by spaces. */
void siit_init(struct siit *, const char *options);
void siit_destroy(struct siit *);

/* Takes a copy of 's->packet' through the zone; result in 's->job'. */
void siit_run(struct siit *s);

/* Likewise, and fails the test unless the verdict is the wanted one (for
 * XLAT_N_DROPS: whatever the reason) and the result, if any, a valid
 * packet. */
void siit_translated(struct siit *);
void siit_reply(struct siit *, enum xlat_drop);
void siit_dropped(struct siit *, enum xlat_drop);

#endif /* siit.h */
