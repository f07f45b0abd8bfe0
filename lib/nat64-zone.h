/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef NAT64_ZONE_H
#define NAT64_ZONE_H 1

/* A stateful zone's part of a snapshot, compiled.  Private to xlat-zone.c. */

struct nat64_view;
struct xlat_conf;
struct xlat_zone;

/* Compiles 'conf' into 'zone->stateful'; 'zone->addrs' is there.  State goes
 * on from 'prev', which may be null.  Returns 0, or a positive errno with
 * '*errorp' set as by xlat_zone_create(). */
int nat64_compile(struct xlat_zone *zone, const struct xlat_conf *conf,
                  const struct xlat_zone *prev, char **errorp);

/* Destroys that part of 'zone', if it has one. */
void nat64_view_destroy(struct xlat_zone *zone);

#endif /* nat64-zone.h */
