/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef NAT64_TCP_H
#define NAT64_TCP_H 1

/* The states of a session, and what packets of TCP make of them (RFC 6146,
 * 3.5.2.2).  "In" is from the outside, IPv4; "out" is from the inside.
 *
 * Pure functions: for any thread. */

#include <stdbool.h>
#include <stdint.h>

enum nat64_dir {
    NAT64_OUT,                   /* From the inside. */
    NAT64_IN,
};

enum nat64_state {
    NAT64_DEAD,                  /* No session: the RFC's CLOSED. */
    NAT64_STATELESS,             /* Of a protocol without states. */
    NAT64_IN_INIT,               /* V4 INIT: SYN from outside. */
    NAT64_OUT_INIT,              /* V6 INIT: SYN from inside. */
    NAT64_ESTABLISHED,
    NAT64_IN_FIN,                /* V4 FIN RCV. */
    NAT64_OUT_FIN,               /* V6 FIN RCV. */
    NAT64_BOTH_FIN,              /* V4 FIN + V6 FIN RCV. */
    NAT64_TRANS,
    NAT64_N_STATES
};

enum nat64_tcp_event {
    NAT64_TCP_OTHER,
    NAT64_TCP_SYN,               /* With or without ACK. */
    NAT64_TCP_FIN,
    NAT64_TCP_RST,
    NAT64_N_TCP_EVENTS
};

/* What a packet does to a session. */
struct nat64_step {
    uint8_t next;                /* enum nat64_state. */
    bool refresh;                /* Its time begins anew. */
};

/* Returns what the packet with TCP header 'tcp' is to the state machine. */
enum nat64_tcp_event nat64_tcp_event(const uint8_t *tcp);

/* Returns whether it is a SYN that asks for a connection, answering none. */
bool nat64_tcp_opens(const uint8_t *tcp);

/* Returns what a packet 'event' from 'dir' does to a session in 'state', which
 * is one of TCP's and not NAT64_DEAD. */
struct nat64_step nat64_tcp_step(enum nat64_state state, enum nat64_dir dir,
                                 enum nat64_tcp_event event);

/* Returns the name of 'state' as RFC 6146 has it ("V6 INIT"), or "" of
 * NAT64_STATELESS. */
const char *nat64_state_name(enum nat64_state state);

#endif /* nat64-tcp.h */
