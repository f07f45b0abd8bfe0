/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef COMPARE_H
#define COMPARE_H 1

/* One batch through lib and through the oracle, and everything compared: the
 * verdict, the reason, each byte of the result, the view of it in 'struct pk',
 * the bytes around the buffer, the fragments, and the counters.
 *
 * One thread: the oracle's result is kept in static memory. */

#include "gen-packet.h"
#include "oracle-conf.h"
#include "xlat-zone.h"

#define COMPARE_MAX_BATCH 64

/* One packet of a batch. */
struct compare_slot {
    struct pk in;                /* As it was; 'in.data' is 'copy'. */
    struct xlat_job job;
    uint8_t *buf;                /* Guard, headroom, packet, tailroom,
                                  * guard. */
    size_t size;
    uint8_t *copy;
};

/* What has gone through a zone, as its counters should have it. */
struct compare_tally {
    struct xlat_counters want;
    uint64_t padding;            /* Bytes behind packets, which 'bytes' may
                                  * have or not. */
    uint64_t limited;            /* At least so many errors were not made. */
};

/* Allocates the buffers of a slot. */
void compare_slot_init(struct compare_slot *);
void compare_slot_destroy(struct compare_slot *);

/* Fills a slot with packet 'slot->in' (data at 'slot->copy'), which gets the
 * given room in front and behind. */
void compare_slot_put(struct compare_slot *, uint32_t headroom,
                      uint32_t tailroom);

/* Compares what lib made of a slot.  Returns NULL, or what is wrong. */
const char *compare_slot_check(const struct orc_conf *, enum xlat_dir,
                               bool errors_made, struct compare_slot *);

/* Counts a slot, and compares the zone's counters in the end. */
void compare_tally_add(struct compare_tally *, const struct compare_slot *);
const char *compare_tally_check(const struct compare_tally *,
                                const struct xlat_zone *);

/* Prints a slot: the packet as it was, lib's result and the oracle's. */
void compare_slot_print(const struct orc_conf *, enum xlat_dir,
                        const struct compare_slot *, FILE *);

#endif /* compare.h */
