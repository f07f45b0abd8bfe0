/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_ZONES_H
#define VSE_ZONES_H 1

/* The zones of this vswitchd, by number.
 *
 * The main thread puts and removes zones; any thread, PMD threads above all,
 * finds them.  A zone found stays valid until the finder's next OVS-RCU
 * quiescent state. */

#include <stdint.h>

struct xlat_conf;
struct xlat_zone;

/* Returns zone 'number', or NULL.  Any thread; lock-free. */
const struct xlat_zone *vse_zone_find(uint32_t number);

/* Calls 'cb' for each zone.  Any thread. */
void vse_zone_for_each(void (*cb)(const struct xlat_zone *, void *aux),
                       void *aux);

/* Compiles 'conf' and puts it in the place of zone 'number', 0 to 65535, whose
 * counters go on, or makes that zone.  Returns NULL, or a sentence that says
 * what is wrong with 'conf', which the caller frees; the old zone then stays
 * as it was.  Main thread only. */
char *vse_zone_put(uint32_t number, const struct xlat_conf *conf);

/* Removes zone 'number', 0 to 65535, if there is one.  Main thread only. */
void vse_zone_remove(uint32_t number);

#endif /* vse-zones.h */
