/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef NAT64_OWN_H
#define NAT64_OWN_H 1

/* A stateful zone with the clock in the test's hand, TCP through it, and what
 * it sends of its own accord.  There is one at a time. */

#include <stdbool.h>

#include "nat64.h"
#include "packet.h"
#include "xlat-zone.h"

/* Flags of TCP. */
#define FIN 0x01
#define SYN 0x02
#define RST 0x04
#define ACK 0x10

/* Hosts, as either side knows them; the pool has one port. */
#define H6 "2001:db8:1::5"
#define H4 "10.0.0.5"
#define S4 "198.51.100.7"
#define S6 "2001:db8:64::c633:6407"
#define T4 "198.51.100.8"
#define T6 "2001:db8:64::c633:6408"
#define P4 "192.0.2.1"

#define NAT64 "kind=nat64 pool6=2001:db8:64::/96 pool4=" P4 ":5000-5000 "
#define NAT44 "kind=nat44 pool4=" P4 ":5000-5000 "

#define OWN_MAX_SENT 4096
#define ORIGIN_IN 7              /* Of hosts inside, ... */
#define ORIGIN_OUT 9             /* ... and outside. */

struct own_sent {
    uint16_t origin;
    uint16_t len;
    uint8_t ip[600];
};

struct own {
    struct xlat_zone *zone;
    uint64_t now_us;
    bool has_origins;            /* Packets come from somewhere. */
    struct xlat_ctx ctx;
    struct packet packet;        /* The last packet, ... */
    struct xlat_job job;         /* ... and what has become of it. */
    struct own_sent sent[OWN_MAX_SENT];
    unsigned int n_sent;
};

extern struct own own;

/* Begins with the zone of 'text' (zone-util.h). */
void own_begin(const char *text);
void own_finish(void);

/* Gives the zone another configuration. */
void own_put_zone(const char *text);

/* Calls nat64_run(), now; or ten times a second for 'seconds', or in a
 * thousand steps. */
void own_run_clock(void);
void own_pass(double seconds);

struct nat64_gauges own_gauges(void);
struct xlat_counters own_counters(void);

/* For nat64_run(): nobody reads what is to be freed. */
void own_at_once(void (*cb)(void *aux), void *aux);

/* Takes 'own.packet' through the zone; the second makes it a segment. */
void own_run_packet(void);
void own_send_tcp(const char *src, uint16_t sport, const char *dst,
                  uint16_t dport, uint8_t flags);

/* Check what has become of it. */
void own_check_translated(void);
void own_check_dropped(enum xlat_drop drop);

#endif /* nat64-own.h */
