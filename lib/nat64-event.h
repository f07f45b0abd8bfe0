/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef NAT64_EVENT_H
#define NAT64_EVENT_H 1

/* What a session log says (RFC 6888, 4; RFC 8158), from the threads where it
 * happens to the one that writes it down.
 *
 * A bounded queue: any number of threads put events, one takes them.  Who puts
 * never waits; what does not fit is lost, and counted.  Events say nothing of
 * the remote side (RFC 6888, REQ-12). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pk.h"

struct xlat_zone;

/* Events that fit: what a hundred thousand new sessions a second with their
 * bindings are within a tenth of one. */
#define NAT64_EVENTS 32768

enum nat64_event_kind {
    NAT64_EVENT_SESSION_ADD,
    NAT64_EVENT_SESSION_DEL,
    NAT64_EVENT_BINDING_ADD,
    NAT64_EVENT_BINDING_DEL,
    NAT64_EVENT_BLOCK_ADD,
    NAT64_EVENT_BLOCK_DEL,
    NAT64_EVENT_NO_PORT,         /* Pool exhausted. */
    NAT64_EVENT_TABLE_FULL,
    NAT64_EVENT_LIMIT,           /* Of a subscriber, or of the zone. */
    NAT64_N_EVENTS
};

struct nat64_event {
    uint8_t kind;                /* enum nat64_event_kind. */
    uint8_t proto;               /* IPPROTO_TCP, _UDP, _ICMP; 0 of blocks. */
    uint8_t inside_family;       /* 4 or 6. */
    uint8_t drop;                /* Of limits: enum xlat_drop. */
    uint32_t tenant;
    union pk_addr inside;        /* Of blocks, of the subscriber. */
    pk_be32 outside;             /* 0 if there is none. */
    uint16_t inside_port;        /* Host byte order, as those that follow. */
    uint16_t outside_port;       /* Of blocks, the first. */
    uint16_t last_port;          /* Of blocks. */
    uint8_t inside_bits;         /* Of 'inside' that count: of a subscriber,
                                  * perhaps not all. */
    uint32_t limit;              /* Of limits: what there may be. */
};

struct nat64_events;

/* Makes an empty queue with one reference, or returns NULL. */
struct nat64_events *nat64_events_create(void);
struct nat64_events *nat64_events_ref(struct nat64_events *);
void nat64_events_unref(struct nat64_events *);
size_t nat64_events_bytes(void);

/* Puts 'event' at the end.  Any thread. */
void nat64_events_put(struct nat64_events *, const struct nat64_event *event);

/* Takes the first one.  Returns false if there is none.  One thread at a
 * time. */
bool nat64_events_take(struct nat64_events *, struct nat64_event *event);

/* Returns how many were lost so far. */
uint64_t nat64_events_lost(const struct nat64_events *);

/* Returns the queue of 'zone', with a reference for the caller, or NULL if its
 * session log has never been on. */
struct nat64_events *nat64_events_of(const struct xlat_zone *zone);

#define NAT64_EVENT_TEXT_SIZE 256

/* Writes 'event' of zone 'zone' as one line without its end:
 * "nat64 zone=1 event=binding-add proto=tcp inside=[2001:db8::1]:4000
 * outside=192.0.2.1:5000 tenant=0". */
void nat64_event_format(const struct nat64_event *event, uint32_t zone,
                        char text[NAT64_EVENT_TEXT_SIZE]);

/* Likewise, that 'n' events are not in the log: 'what' is "lost" or
 * "suppressed". */
void nat64_event_format_missing(const char *what, uint64_t n, uint32_t zone,
                                char text[NAT64_EVENT_TEXT_SIZE]);

#endif /* nat64-event.h */
