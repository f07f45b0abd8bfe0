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

/* Sends the packet of 'len' bytes at 'ip', which the zone sends of its own
 * accord, to where packets of 'origin' come from (xlat.h, get_origin), or
 * drops it if that is gone.  'ip' is valid during the call only. */
typedef void nat64_send(uint16_t origin, const uint8_t *ip, uint32_t len,
                        void *aux);

/* Ends what has no time left at 'now_us', and has freed slots and ports used
 * again.  To be called as often as expiry is to be exact, for instance ten
 * times a second; costs what it finds to do, and a look at four bytes for each
 * session.
 *
 * Calls 'send', without any lock held, for probes of TCP sessions (RFC 6146,
 * 3.5.2.2), a thousand in one call at most, and for ICMP errors about SYNs
 * that have waited in vain.  If it is NULL, nothing is sent: get_origin() had
 * better be NULL, too.  Counters (xlat-zone.h) say how many were sent. */
void nat64_run(const struct xlat_zone *, uint64_t now_us, nat64_postpone *,
               nat64_send *send, void *aux);

/* Ends all sessions, and returns how many there were.  When it returns,
 * packets find none of them. */
uint32_t nat64_flush(const struct xlat_zone *, uint64_t now_us,
                     nat64_postpone *);

/* Drops the fragments that wait for their first ones.  nat64_run() does so
 * when they have waited long enough, nat64_flush() in any case. */
void nat64_drop_held(const struct xlat_zone *);

/* Makes what a zone may hold fit its latest configuration: to be called with
 * each new snapshot as soon as packets may have seen it.  Sessions with an
 * address or prefix that is gone end, and those of hosts that are inside no
 * more.  When it returns, packets that see the new snapshot find none of
 * them. */
void nat64_fit(const struct xlat_zone *, uint64_t now_us, nat64_postpone *);

struct nat64_event;              /* nat64-event.h */

/* Takes the next event of the zone's session log.  Returns false if there is
 * none.  One thread at a time. */
bool nat64_next_event(const struct xlat_zone *, struct nat64_event *);

struct nat64_gauges {
    uint32_t sessions;
    uint32_t bindings;
    uint32_t max_sessions;
    uint32_t subscribers;        /* That are remembered. */
    uint64_t events_lost;        /* By the session log; never falls. */
    uint64_t ports_in_use;       /* Those that wait for reuse included. */
    uint64_t ports;
    uint64_t bytes;              /* Of memory. */
    uint32_t fragments_held;     /* Until their first ones come. */
    uint32_t stored_syns;
};

void nat64_get_gauges(const struct xlat_zone *, struct nat64_gauges *);

/* A session as a record that can be kept, sent, and taken over by another
 * holder of the zone: a plain value.  Numbers are in host byte order but for
 * addresses; who sends it between machines of different byte order swaps
 * them.  Reserved bytes are zero. */
#define NAT64_RECORD_VERSION 1

struct nat64_record {
    uint16_t version;            /* NAT64_RECORD_VERSION. */
    uint8_t proto;               /* IPPROTO_TCP, _UDP or _ICMP. */
    uint8_t inside_family;       /* 4 or 6. */
    uint8_t state;               /* enum nat64_state. */
    uint8_t mapping;             /* 0: its binding may have other sessions; 1:
                                  * it has one of its own (per-flow). */
    uint8_t pool6_len;           /* Of 'pool6'; 0 of nat44. */
    uint8_t reserved;
    uint32_t tenant;
    uint32_t idle_ms;            /* Since its last packet. */
    union pk_addr inside;
    union pk_addr pool6;
    pk_be32 outside;
    pk_be32 remote;
    uint16_t inside_port;        /* Of ICMP, identifiers. */
    uint16_t outside_port;
    uint16_t remote_port;
    uint16_t reserved2;
    uint64_t packets[2];         /* [0] from inside, [1] from outside. */
    uint64_t bytes[2];
};

/* Calls 'cb' with the records of sessions, as nat64_dump() does. */
bool nat64_export(const struct xlat_zone *, uint64_t now_us, uint32_t *cursor,
                  uint32_t n, void (*cb)(const struct nat64_record *,
                                         void *aux), void *aux);

/* Makes the session that the record describes; if it is there, as
 * nat64_refresh() does.  Limits do not apply.  The outside port may be in
 * another holder's share.  Returns 0, or a positive errno: EINVAL (a record of
 * another version, impossible values, an address or prefix that the zone does
 * not have, a zone with blocks of ports), EEXIST (another session or binding
 * has the inside or the outside, or the port waits for reuse), ENOSPC. */
int nat64_import(const struct xlat_zone *, const struct nat64_record *,
                 uint64_t now_us);

/* Gives the session of the record its state, its time if that is younger, and
 * its counters where those are larger.  Returns 0, EINVAL, or ENOENT if there
 * is no such session. */
int nat64_refresh(const struct xlat_zone *, const struct nat64_record *,
                  uint64_t now_us);

/* Ends the session of the record.  Returns 0, EINVAL or ENOENT. */
int nat64_forget(const struct xlat_zone *, const struct nat64_record *,
                 uint64_t now_us, nat64_postpone *);

/* A session, as somebody sees it who looks. */
struct nat64_session_info {
    uint64_t id;
    uint32_t generation;
    uint8_t proto;               /* IPPROTO_TCP, _UDP, _ICMPV6 or _ICMP. */
    const char *state;           /* "" of protocols without states. */
    uint8_t inside_family;       /* 6, or of nat44 4. */
    uint32_t tenant;
    union pk_addr inside;
    union pk_addr remote_inside; /* The server, as the inside sees it. */
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
 * go on, until 'n' slots, which have a session each or none, have been looked
 * at.  Returns false when there are no more.  Begin with '*cursor' 0; go on
 * with any later snapshot. */
bool nat64_dump(const struct xlat_zone *, uint64_t now_us, uint32_t *cursor,
                uint32_t n, void (*cb)(const struct nat64_session_info *,
                                       void *aux), void *aux);

/* Finds the session with the protocol, and the outside and remote transport
 * addresses, of 'key', whose other members do not matter.  Returns false if
 * there is none. */
bool nat64_find_session(const struct xlat_zone *, uint64_t now_us,
                        const struct nat64_session_info *key,
                        struct nat64_session_info *);

/* Returns whether the protocol and the outside transport address of 'key' have
 * a binding that may have more than one session. */
bool nat64_has_binding(const struct xlat_zone *,
                       const struct nat64_session_info *key);

#endif /* nat64.h */
