/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef NAT64_FRAG_H
#define NAT64_FRAG_H 1

/* Which session fragments belong to: those behind the first have no ports.
 *
 * The first fragment of a packet says so, the others ask.  A fixed number of
 * packets is remembered; who fills the store forgets others early, and costs
 * nobody anything else.  A fragment that comes in front of its first one is
 * not kept.
 *
 * Any number of threads; each bucket of four packets has a lock, held for the
 * comparison of four keys. */

#include <stdbool.h>
#include <stdint.h>

#include "pk-parse.h"

/* Packets that are remembered. */
#define NAT64_FRAGS 4096

struct nat64_frags;

/* Makes an empty store, or returns NULL.  'seed' keys its hash. */
struct nat64_frags *nat64_frags_create(uint64_t seed);
void nat64_frags_destroy(struct nat64_frags *);

/* Remembers at 'tick' that the fragments of the packet 'ip', which 'info'
 * describes, have 'ports': the first 4 bytes of its transport header. */
void nat64_frags_put(struct nat64_frags *, const uint8_t *ip,
                     const struct pk_info *info, uint32_t tick,
                     uint32_t ports);

/* Finds what the fragment 'ip' belongs to, if that was said 'max_age' ticks
 * ago or less.  Returns false if it was not. */
bool nat64_frags_find(struct nat64_frags *, const uint8_t *ip,
                      const struct pk_info *info, uint32_t tick,
                      uint32_t max_age, uint32_t *ports);

#endif /* nat64-frag.h */
