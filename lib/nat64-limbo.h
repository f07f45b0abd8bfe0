/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef NAT64_LIMBO_H
#define NAT64_LIMBO_H 1

/* How sessions and bindings end.
 *
 * What ends is first removed from the indexes, then, when no packet can read
 * it any more, given back: 'struct nat64_limbo' is what is on its way.  From
 * there, a binding goes to its protocol's 'cooling' (nat64-private.h), until
 * its port may be used again.
 *
 * All of it with 'control' locked, which nat64_work_begin() does.  Private to
 * nat64-*.c. */

#include "nat64-private.h"
#include "nat64.h"
#include "xlat-zone-private.h"

struct nat64_limbo;

/* One call of a function of nat64.h. */
struct nat64_work {
    const struct xlat_zone *zone;
    struct nat64 *nat64;
    uint32_t tick;
    nat64_postpone *postpone;
    struct nat64_limbo *limbo;

    /* Of nat64_run(). */
    nat64_send *send;
    void *aux;
    uint32_t n_probes;
};

/* Begin and end of the work, 'control' locked in between. */
void nat64_work_begin(struct nat64_work *, const struct xlat_zone *,
                      uint32_t tick, nat64_postpone *);
void nat64_work_end(struct nat64_work *);

/* Sends what is in limbo on its way.  Unlocks 'control' for a while, as it may
 * be back at once. */
void nat64_limbo_send(struct nat64_work *);

/* Makes sure that there is room in limbo for one more session and binding.
 * Returns false if there is no memory.  May unlock 'control' for a while:
 * sessions that were there need not be there any more. */
bool nat64_limbo_open(struct nat64_work *);

/* Removes session 'i', with nat64_lock() held, into limbo, which has room. */
void nat64_limbo_remove(struct nat64_work *, uint32_t i);

/* Ends binding 'i' with all of its sessions. */
void nat64_end_binding(struct nat64_work *, uint32_t i);

/* Gives ports of 'proto' back that have cooled long enough; or, where few
 * ports or slots are free, not so long. */
void nat64_free_cool(struct nat64_work *, enum nat64_proto);

/* Takes the binding out of 'cooling' whose port is 'port' of 'a'; that port is
 * the caller's then.  Returns false if there is none. */
bool nat64_take_cooling(struct nat64 *, enum nat64_proto,
                        const struct nat64_address *a, uint16_t port);

/* nat64-static.c: ends static bindings that the zone does not have any more,
 * and makes those that it has and that are not there yet, as far as it goes
 * now: whoever has their ports ends first.  The latter does nothing for a
 * snapshot that is not the latest. */
void nat64_fit_statics(struct nat64_work *);
void nat64_make_statics(struct nat64_work *);

#endif /* nat64-limbo.h */
