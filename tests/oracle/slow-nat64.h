/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef SLOW_NAT64_H
#define SLOW_NAT64_H 1

/* A second stateful translator (RFC 6146), slow and obvious: bindings and
 * sessions are linked lists, searched from the beginning to the end, and so
 * are ports.  Packets are fields, not bytes.
 *
 * It does not choose ports.  Which one a binding has got, the caller says
 * (slow_learn), and it is judged here.
 *
 * Where texts leave a choice, it was read like this:
 *
 * - Of the flags of a TCP packet, RST counts before SYN, SYN before FIN.  A
 *   SYN with ACK is a SYN.
 * - Each transition begins a session's time anew.  A FIN does so as any other
 *   packet of an established connection.
 * - A SYN in V4 FIN + V6 FIN RCV begins a new connection (not in RFC 6146).
 *   A RST in V4 INIT or V6 INIT changes nothing.
 * - A later fragment has the ports of its first one, if that had a session.
 *   Of TCP, it changes neither its session's state nor its time, and alone it
 *   begins none.
 * - TCP packets that neither have a session nor begin one go by the binding
 *   alone, from outside only if it lives and its filtering lets them in.
 * - What has no time left but has not been removed yet is found from inside,
 *   and lives again, with the same outside port.  From outside it is nothing,
 *   unless the binding has another session with time left.
 * - A session that lives again keeps its counters.
 * - A hairpinned packet leaves the state that its way out has made, whatever
 *   becomes of it then.  Nobody is told if that is nothing.
 * - ICMP errors about hairpinned packets are dropped.
 *
 * One thread. */

#include <stdbool.h>
#include <stdint.h>

#include "oracle-conf.h"
#include "xlat.h"

#define SLOW_MAX_POOL4 8
#define SLOW_MAX_POOL6 2
#define SLOW_MAX_PLACES 32
#define SLOW_MAX_HOSTS 64

/* What functions that return enum xlat_drop return for "no drop". */
#define SLOW_OK XLAT_N_DROPS

/* All numbers are in host byte order. */

struct slow_range {
    uint32_t ip;
    uint16_t low, high;
};

struct slow_conf {
    struct orc_prefix6 pool6[SLOW_MAX_POOL6];
    unsigned int n_pool6;
    struct slow_range pool4[SLOW_MAX_POOL4];
    unsigned int n_pool4;
    uint32_t max_sessions;
    uint32_t established_s, transitory_s, syn_s, udp_s, icmp_s;
    uint32_t fragment_s, reuse_s;
    bool address_dependent;      /* Filtering. */
    bool per_flow;               /* Mapping. */
    bool pass;                   /* Packets without a mapping go on. */
    bool no_errors;              /* No ICMP errors are made. */
};

/* An IP packet.  Its payload follows from its place in it: nothing of it is
 * here but its length. */
struct slow_ip {
    uint8_t family;              /* 4 or 6. */
    uint8_t src[16], dst[16];    /* IPv4: the first four bytes. */
    uint8_t proto, tos, ttl;
    bool df;
    bool frag;                   /* IPv6: has a fragment header. */
    bool mf;
    bool any_id;                 /* IPv4: 'id' may be any. */
    uint16_t ofs;                /* Bytes. */
    uint32_t id;
    uint32_t l4_full;            /* Bytes of the whole datagram's transport, */
    uint32_t l4_len;             /* ... and of those, bytes here. */
    uint16_t sport, dport;       /* 'sport' is the identifier of an echo. */
    uint8_t flags;               /* TCP. */
    uint8_t type, code;          /* ICMP. */
    uint32_t rest;               /* ICMP error: MTU. */
    bool no_csum;                /* UDP. */
};

/* A packet; if it is an ICMP error, with the packet inside it, of whose
 * transport there are 'quote_len' bytes. */
struct slow_packet {
    struct slow_ip ip;
    bool is_error;
    struct slow_ip quote;
    uint32_t quote_len;
};

/* Its bytes, IP headers included; not of an ICMP error. */
uint32_t slow_ip_len(const struct slow_ip *);

enum slow_state {
    SLOW_STATELESS,              /* UDP, ICMP. */
    SLOW_V4_INIT,
    SLOW_V6_INIT,
    SLOW_ESTABLISHED,
    SLOW_V4_FIN,
    SLOW_V6_FIN,
    SLOW_BOTH_FIN,
    SLOW_TRANS,
};

/* What ports are of: by protocol, TCP, UDP, ICMP. */
#define SLOW_N_PROTOS 3

enum slow_port_state {
    SLOW_FREE,
    SLOW_HELD,                   /* By a binding, or by one that has ended and
                                  * that somebody may still read. */
    SLOW_WAITS,                  /* It has had a binding lately. */
    SLOW_MAYBE,                  /* Like SLOW_WAITS, or free: of those that
                                  * ended in one tick, some are. */
};

struct slow_port {
    enum slow_port_state state;
    uint64_t ended;              /* Tick. */
};

/* An address of the pool, present or past, with its ports. */
struct slow_place {
    struct slow_range range;
    bool open;                   /* In the configuration. */
    bool empty;                  /* Has no ports until another place, which
                                  * has some of them, is gone. */
    struct slow_port *ports[SLOW_N_PROTOS];
};

struct slow_binding {
    struct slow_binding *next;
    uint8_t proto;               /* IPPROTO_TCP, _UDP or _ICMP. */
    bool is_private;             /* Of one session (mapping per flow). */
    uint8_t inside[16];
    uint16_t inside_port;
    struct orc_prefix6 prefix;   /* By which the host reaches its servers. */
    struct slow_place *place;
    uint16_t outside_port;
};

struct slow_session {
    struct slow_session *next;
    struct slow_binding *b;
    uint32_t remote;
    uint16_t remote_port;        /* ICMP: 0. */
    enum slow_state state;
    uint64_t last;               /* Tick since which its time runs. */
    uint64_t packets[2];         /* From inside, from outside. */
    uint64_t bytes[2];
};

/* What a packet belongs to. */
struct slow_tuple {
    uint8_t proto;
    uint8_t inside[16];
    uint16_t inside_port;
    struct orc_prefix6 prefix;
    uint32_t outside;
    uint16_t outside_port;
    uint32_t remote;
    uint16_t remote_port;
};

/* Says which address and port the binding of a new session has got.  Returns
 * false if there is no such session. */
typedef bool slow_learn(void *aux, const struct slow_tuple *, uint32_t *ip,
                        uint16_t *port);

struct slow_limbo;
struct slow_frag;

struct slow_nat64 {
    struct slow_conf conf;
    slow_learn *learn;
    void *aux;
    uint64_t tick;
    char wrong[160];             /* "", or what a port should not have been. */

    struct slow_session *sessions;
    struct slow_binding *bindings;
    unsigned int n_sessions, n_bindings;
    struct slow_place *places[SLOW_MAX_PLACES];
    unsigned int left[SLOW_N_PROTOS];    /* Of SLOW_MAYBE, those that wait. */

    bool holding;
    struct slow_limbo *limbo;
    unsigned int n_limbo_sessions;

    struct slow_frag *frags;
    unsigned int n_remembered;   /* Fragments found in it, ... */
    unsigned int n_forgotten;    /* ... and of these, those that the translator
                                  * under test seems to have forgotten. */

    /* For each host, the places that may be its own. */
    struct {
        uint8_t addr[16];
        uint32_t places;
    } hosts[SLOW_MAX_HOSTS];
    unsigned int n_hosts;
};

struct slow_nat64 *slow_create(const struct slow_conf *, slow_learn *,
                               void *aux);
void slow_destroy(struct slow_nat64 *);

void slow_set_time(struct slow_nat64 *, uint64_t now_us);

/* What becomes of a packet. */
struct slow_result {
    enum xlat_verdict verdict;
    enum xlat_drop drop;
    struct slow_packet out;      /* If translated; of the error that is the
                                  * reply, type and code. */
};

/* Takes a packet through.  'said' is the reason for which the translator under
 * test has dropped it, or SLOW_OK: it may forget fragments. */
void slow_run_packet(struct slow_nat64 *, const struct slow_packet *,
                     enum xlat_drop said, struct slow_result *);

/* Ends what has no time left, and has ports used again. */
void slow_run(struct slow_nat64 *);

/* Ends everything. */
void slow_flush(struct slow_nat64 *);

/* Changes the configuration, and ends what does not fit in it. */
void slow_fit(struct slow_nat64 *, const struct slow_conf *);

/* From now on, or no longer, what has ended may still be read by somebody. */
void slow_hold(struct slow_nat64 *, bool);

/* Returns whether 's' has time left, how many ticks, and its state's name. */
bool slow_is_alive(const struct slow_nat64 *, const struct slow_session *);
uint64_t slow_ticks_left(const struct slow_nat64 *,
                         const struct slow_session *);
const char *slow_state_name(enum slow_state);

/* Returns how many ports of places in the configuration are in use, or wait,
 * and how many there are. */
unsigned int slow_n_ports_in_use(const struct slow_nat64 *);
unsigned int slow_n_ports(const struct slow_nat64 *);

/* Returns whether 'ip' is in pool4. */
bool slow_pool4_has(const struct slow_nat64 *, uint32_t ip);

#endif /* slow-nat64.h */
