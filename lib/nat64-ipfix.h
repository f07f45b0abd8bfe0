/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef NAT64_IPFIX_H
#define NAT64_IPFIX_H 1

/* A session log's events as messages of IPFIX (RFC 7011), with the information
 * elements of RFC 8158.
 *
 * Templates and records are put into a message until it is full; then it is
 * finished, and sent by whoever has a socket.  The next put begins the next
 * message.  For one thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nat64_event;

/* Bytes of a message, which fit into a datagram on any link but the
 * smallest. */
#define NAT64_IPFIX_MAX 1400

struct nat64_ipfix {
    uint32_t domain;             /* Observation domain. */
    uint32_t sequence;           /* Records of all messages before. */
    uint32_t n_records;          /* Of this message. */
    uint16_t set_id;             /* Of the set that is being filled, or 0; */
    uint16_t set_ofs;            /* where it begins. */
    uint16_t bytes;              /* Of the message; 0: there is nothing. */
    uint8_t message[NAT64_IPFIX_MAX];
};

/* Makes 'ipfix' empty.  'domain' is the number of the zone, in which the
 * records were observed. */
void nat64_ipfix_init(struct nat64_ipfix *ipfix, uint32_t domain);

/* Puts all templates.  To be done before the first record, and now and then
 * (RFC 7011, 8.4).  Returns false, with nothing done, if the message has no
 * room for them. */
bool nat64_ipfix_put_templates(struct nat64_ipfix *);

/* Puts a record of 'event', which happened 'time_ms' milliseconds after the
 * begin of 1970; nothing of an event that RFC 8158 has no word for, which is
 * one about a rate.  Returns false, with nothing done, if the message has no
 * room for it. */
bool nat64_ipfix_put(struct nat64_ipfix *, const struct nat64_event *event,
                     uint64_t time_ms);

/* Completes the message, sent 'now_s' seconds after the begin of 1970.
 * Returns its bytes, 0 if there is nothing in it. */
size_t nat64_ipfix_finish(struct nat64_ipfix *, uint32_t now_s);

#endif /* nat64-ipfix.h */
