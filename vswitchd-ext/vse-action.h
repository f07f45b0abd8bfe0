/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_ACTION_H
#define VSE_ACTION_H 1

/* The datapath action: packets of OVS's through a zone.
 *
 * vse_action_register() is called once, by the main thread, before there are
 * packets; the rest is for any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xlat.h"

struct vse_hooks;
struct vse_xlat;
struct xlat_zone;

/* Fills in the members of '*hooks' that begin with 'xlat_'. */
void vse_action_register(struct vse_hooks *);

/* Returns the zone that '*action' wants, or NULL with '*reason' set: there is
 * none of that number, or it is of the other action's kind.  The zone is valid
 * until the caller's next OVS-RCU quiescent state. */
const struct xlat_zone *vse_action_find_zone(const struct vse_xlat *action,
                                             enum xlat_drop *reason);

/* Copies the numbers of packets that were dropped, by reason, before any zone
 * saw them: these stand in no zone's counters. */
void vse_action_get_drops(uint64_t drops[XLAT_N_DROPS]);

#endif /* vse-action.h */
