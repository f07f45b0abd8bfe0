/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "nat64-tcp.h"

#define TCP_FLAGS_OFS 13
#define FIN 0x01
#define SYN 0x02
#define RST 0x04
#define ACK 0x10

/* What happens to a session where the table says nothing else: the state
 * remains, and time begins anew in those states in which it may. */
static const bool refreshes[NAT64_N_STATES] = {
    [NAT64_ESTABLISHED] = true,
    [NAT64_IN_FIN] = true,
    [NAT64_OUT_FIN] = true,
};

/* The transitions.  0 (NAT64_DEAD) stands for none. */
static const uint8_t next[NAT64_N_STATES][2][NAT64_N_TCP_EVENTS] = {
    [NAT64_OUT_INIT] = {
        [NAT64_OUT] = { [NAT64_TCP_SYN] = NAT64_OUT_INIT },
        [NAT64_IN] = { [NAT64_TCP_SYN] = NAT64_ESTABLISHED },
    },
    [NAT64_IN_INIT] = {
        [NAT64_OUT] = { [NAT64_TCP_SYN] = NAT64_ESTABLISHED },
    },
    [NAT64_ESTABLISHED] = {
        [NAT64_OUT] = {
            [NAT64_TCP_FIN] = NAT64_OUT_FIN,
            [NAT64_TCP_RST] = NAT64_TRANS,
        },
        [NAT64_IN] = {
            [NAT64_TCP_FIN] = NAT64_IN_FIN,
            [NAT64_TCP_RST] = NAT64_TRANS,
        },
    },
    [NAT64_IN_FIN] = {
        [NAT64_OUT] = { [NAT64_TCP_FIN] = NAT64_BOTH_FIN },
    },
    [NAT64_OUT_FIN] = {
        [NAT64_IN] = { [NAT64_TCP_FIN] = NAT64_BOTH_FIN },
    },
    /* A connection with the ports of the one that has ended: not in RFC 6146,
     * which would let it die with the old one. */
    [NAT64_BOTH_FIN] = {
        [NAT64_OUT] = { [NAT64_TCP_SYN] = NAT64_OUT_INIT },
        [NAT64_IN] = { [NAT64_TCP_SYN] = NAT64_IN_INIT },
    },
    [NAT64_TRANS] = {
        [NAT64_OUT] = {
            [NAT64_TCP_OTHER] = NAT64_ESTABLISHED,
            [NAT64_TCP_SYN] = NAT64_ESTABLISHED,
            [NAT64_TCP_FIN] = NAT64_ESTABLISHED,
        },
        [NAT64_IN] = {
            [NAT64_TCP_OTHER] = NAT64_ESTABLISHED,
            [NAT64_TCP_SYN] = NAT64_ESTABLISHED,
            [NAT64_TCP_FIN] = NAT64_ESTABLISHED,
        },
    },
};

static const char *const names[NAT64_N_STATES] = {
    [NAT64_DEAD] = "CLOSED",
    [NAT64_STATELESS] = "",
    [NAT64_IN_INIT] = "V4 INIT",
    [NAT64_OUT_INIT] = "V6 INIT",
    [NAT64_ESTABLISHED] = "ESTABLISHED",
    [NAT64_IN_FIN] = "V4 FIN RCV",
    [NAT64_OUT_FIN] = "V6 FIN RCV",
    [NAT64_BOTH_FIN] = "V4 FIN + V6 FIN RCV",
    [NAT64_TRANS] = "TRANS",
};

enum nat64_tcp_event
nat64_tcp_event(const uint8_t *tcp)
{
    uint8_t flags = tcp[TCP_FLAGS_OFS];

    return flags & RST ? NAT64_TCP_RST
           : flags & SYN ? NAT64_TCP_SYN
           : flags & FIN ? NAT64_TCP_FIN
           : NAT64_TCP_OTHER;
}

bool
nat64_tcp_opens(const uint8_t *tcp)
{
    return (tcp[TCP_FLAGS_OFS] & (FIN | SYN | RST | ACK)) == SYN;
}

struct nat64_step
nat64_tcp_step(enum nat64_state state, enum nat64_dir dir,
               enum nat64_tcp_event event)
{
    uint8_t to = next[state][dir][event];

    return to ? (struct nat64_step) { to, true }
              : (struct nat64_step) { state, refreshes[state] };
}

const char *
nat64_state_name(enum nat64_state state)
{
    return names[state];
}
