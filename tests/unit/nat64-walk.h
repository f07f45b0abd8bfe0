/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef NAT64_WALK_H
#define NAT64_WALK_H 1

/* Whether all that a stateful zone holds fits together: sessions, bindings and
 * how to find them, ports, unused slots, subscribers. */

struct xlat_zone;

/* Looks through the state of 'zone', in which no thread may be at work, and
 * nothing of which may wait for a callback.  Returns NULL, or a sentence in
 * static storage that says what is wrong. */
const char *nat64_walk(const struct xlat_zone *zone);

/* Likewise, that nothing is left in it but ports that are free. */
const char *nat64_walk_empty(const struct xlat_zone *zone);

#endif /* nat64-walk.h */
