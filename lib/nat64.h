/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef NAT64_H
#define NAT64_H 1

/* What happens to a stateful zone (kind nat64) besides packets: time passes,
 * somebody looks, or empties it.
 *
 * For any thread, beside those that run packets; calls about one zone wait for
 * each other, packets for none of them. */

#include <stdbool.h>
#include <stdint.h>

#include "pk.h"

struct xlat_zone;

/* Calls 'cb(aux)' when no thread is inside xlat_run() that was there when this
 * is called: at once, if packets and this run in one thread. */
typedef void nat64_postpone(void (*cb)(void *aux), void *aux);

/* Ends what has no time left at 'now_us', and has freed slots and ports used
 * again.  To be called as often as expiry is to be exact, for instance ten
 * times a second; costs what it finds to do, and a look at four bytes for each
 * session. */
void nat64_run(const struct xlat_zone *, uint64_t now_us, nat64_postpone *);

/* Ends all sessions, and returns how many there were.  When it returns,
 * packets find none of them. */
uint32_t nat64_flush(const struct xlat_zone *, uint64_t now_us,
                     nat64_postpone *);

/* Makes what a zone may hold fit its latest configuration: to be called with
 * each new snapshot as soon as packets may have seen it.  Sessions with an
 * address or prefix that is gone end.  When it returns, packets that see the
 * new snapshot find none of them. */
void nat64_fit(const struct xlat_zone *, uint64_t now_us, nat64_postpone *);

struct nat64_gauges {
    uint32_t sessions;
    uint32_t bindings;
    uint32_t max_sessions;
    uint64_t ports_in_use;       /* Those that wait for reuse included. */
    uint64_t ports;
    uint64_t bytes;              /* Of memory. */
};

void nat64_get_gauges(const struct xlat_zone *, struct nat64_gauges *);

/* A session, as somebody sees it who looks. */
struct nat64_session_info {
    uint64_t id;
    uint32_t generation;
    uint8_t proto;               /* IPPROTO_TCP, _UDP or _ICMPV6. */
    const char *state;           /* "" of protocols without states. */
    uint32_t tenant;
    union pk_addr inside;
    union pk_addr remote6;       /* The server, as the inside sees it. */
    pk_be32 outside;
    pk_be32 remote;
    uint16_t inside_port;        /* Host byte order.  Of ICMP, identifiers. */
    uint16_t outside_port;
    uint16_t remote_port;
    uint32_t expires_s;          /* Seconds until it ends. */
    uint64_t packets[2];         /* [0] from inside, [1] from outside. */
    uint64_t bytes[2];
};

/* Calls 'cb' for sessions from number '*cursor' on, and leaves there where to
 * go on, until 'n' slots have been looked at.  Returns false when there are no
 * more.  Begin with '*cursor' 0. */
bool nat64_dump(const struct xlat_zone *, uint64_t now_us, uint32_t *cursor,
                uint32_t n, void (*cb)(const struct nat64_session_info *,
                                       void *aux), void *aux);

#endif /* nat64.h */
