/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef NAT64_NET_H
#define NAT64_NET_H 1

/* A stateful zone with the clock in the test's hand, and datagrams through
 * it. */

#include "nat64.h"
#include "xlat-zone.h"

struct net {
    struct xlat_zone *zone;
    struct xlat_ctx ctx;         /* 'now_us' and 'tenant' are the test's. */
    enum xlat_verdict verdict;   /* Of the last datagram. */
    enum xlat_drop drop;         /* Why it was dropped, if it was. */
    uint32_t tenant;             /* Of the last datagram, otherwise; ... */
    pk_be32 src4;                /* ... and its source, if that is of IPv4. */
};

/* Makes a net with the zone of 'text' (zone-util.h). */
void net_begin(struct net *, const char *text);
void net_end(struct net *);

/* Gives the zone another configuration. */
void net_change(struct net *, const char *text);

/* Lets time pass, a second at a time. */
void net_wait(struct net *, unsigned int seconds);

/* Sends a datagram from a host inside.  Checks the result, if there is one,
 * and returns its source port, or -1. */
int net_out(struct net *, const char *src, uint16_t sport, const char *dst,
            uint16_t dport);

/* Sends a datagram from outside, of IPv4.  Returns its destination port inside
 * or -1. */
int net_in(struct net *, const char *src, uint16_t sport, const char *dst,
           uint16_t dport);

/* Returns the gauges. */
struct nat64_gauges net_gauges(const struct net *);

#endif /* nat64-net.h */
