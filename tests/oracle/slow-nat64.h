/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef SLOW_NAT64_H
#define SLOW_NAT64_H 1

/* A second stateful translator (RFC 6146, and its like from IPv4 to IPv4),
 * slow and obvious: bindings and sessions are linked lists, searched from the
 * beginning to the end, and so are ports.
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
 *   begins none.  In front of its first one it waits, if need be for one that
 *   has a session.  There is room for all.
 * - TCP packets that neither have a session nor begin one go by the binding
 *   alone, from outside only if it lives and its filtering lets them in.
 * - What has no time left but has not been removed yet is found from inside,
 *   and lives again, with the same outside port.  From outside it is nothing,
 *   unless the binding has another session with time left.
 * - A session that lives again keeps its counters.
 * - A hairpinned packet leaves the state that its way out has made, whatever
 *   becomes of it then.
 * - ICMP errors about hairpinned packets are dropped.
 *
 * slow-nat64.c has packets, slow-frag.c fragments, slow-state.c sessions and
 * their ends, slow-ports.c ports.  One thread.  Numbers are in host byte
 * order. */

#include "oracle-conf.h"
#include "xlat.h"

/* ------------------------------------------------------------------------
 * slow-packet.c: packets as fields, not bytes, and the bytes that they stand
 * for.  A payload follows from its place in the packet: nothing of it is here
 * but its length.
 * ------------------------------------------------------------------------ */

#define SLOW_MAX_BYTES 2048

/* An IP packet, or a fragment of one. */
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
    uint32_t tenant;             /* Of the host inside. */
};

bool slow_is_icmp(const struct slow_ip *);
bool slow_is_echo(const struct slow_ip *);

/* Returns the bytes of a packet that is no ICMP error, headers included. */
uint32_t slow_ip_len(const struct slow_ip *);

/* Writes a packet into SLOW_MAX_BYTES at 'p', and returns its bytes. */
size_t slow_put_packet(const struct slow_packet *, uint8_t *p);

/* Prints a packet, as a comment of TAP that begins with 'what'. */
void slow_print_packet(const char *what, const struct slow_packet *);

/* ------------------------------------------------------------------------
 * The translator.
 * ------------------------------------------------------------------------ */

#define SLOW_MAX_POOL4 8
#define SLOW_MAX_POOL6 2
#define SLOW_MAX_INSIDE4 2
#define SLOW_MAX_ADDRESSES 16

/* What functions that return enum xlat_drop return for "no drop". */
#define SLOW_OK XLAT_N_DROPS

struct slow_range {
    uint32_t ip;
    uint16_t low, high;
};

struct slow_conf {
    uint8_t inside_family;       /* 6, or of nat44 4. */
    struct orc_prefix6 pool6[SLOW_MAX_POOL6];
    unsigned int n_pool6;
    struct orc_prefix4 inside4[SLOW_MAX_INSIDE4];
    unsigned int n_inside4;
    struct slow_range pool4[SLOW_MAX_POOL4];
    unsigned int n_pool4;
    uint32_t max_sessions;
    uint32_t established_s, transitory_s, syn_s, udp_s, icmp_s;
    uint32_t fragment_s, reuse_s;
    bool address_dependent;      /* Filtering. */
    bool per_flow;               /* Mapping. */
    bool pass;                   /* Packets without a mapping go on. */
};

enum slow_state {
    SLOW_STATELESS,              /* UDP, ICMP. */
    SLOW_V4_INIT,                /* V4 is outside, V6 inside. */
    SLOW_V6_INIT,
    SLOW_ESTABLISHED,
    SLOW_V4_FIN,
    SLOW_V6_FIN,
    SLOW_BOTH_FIN,
    SLOW_TRANS,
    SLOW_N_STATES
};

/* What a packet belongs to. */
struct slow_tuple {
    uint8_t proto;               /* IPPROTO_TCP, _UDP or _ICMP. */
    uint32_t tenant;
    uint8_t inside[16];          /* Of IPv4, the first four bytes. */
    uint16_t inside_port;
    struct orc_prefix6 prefix;   /* By which the host reaches its servers; of
                                  * nat44 nothing. */
    uint32_t outside;
    uint16_t outside_port;
    uint32_t remote;
    uint16_t remote_port;        /* ICMP: 0. */
};

struct slow_binding {
    struct slow_binding *next;
    struct slow_tuple t;         /* But for the remote end. */
    bool is_private;             /* Of one session (mapping per flow). */
    struct slow_range range;     /* That its port is of. */
};

struct slow_session {
    struct slow_session *next;
    struct slow_tuple t;
    struct slow_binding *b;
    enum slow_state state;
    uint64_t last;               /* Tick since which its time runs. */
    uint64_t packets[2];         /* From inside, from outside. */
    uint64_t bytes[2];
};

/* Says which address and port the binding of a new session has got.  Returns
 * false if there is no such session. */
typedef bool slow_learn(void *aux, const struct slow_tuple *, uint32_t *ip,
                        uint16_t *port);

struct slow_nat64 {
    struct slow_conf conf;
    slow_learn *learn;
    void *aux;
    uint64_t tick;
    char wrong[160];             /* "", or what a port should not have been. */

    struct slow_session *sessions;
    struct slow_binding *bindings;
    unsigned int n_sessions, n_bindings;
    unsigned int n_limbo;        /* Sessions that have ended and that somebody
                                  * may still read. */
    bool holding;                /* Somebody may. */

    struct slow_address *addresses[SLOW_MAX_ADDRESSES];
    struct slow_frag *frags;
    struct slow_held *held;      /* In the order in which they came. */
    uint32_t n_held;
    uint32_t last_ticket;
    uint32_t ticket;             /* Of the packet that is looked at. */
    uint64_t n_lost, lost_bytes; /* That have waited in vain. */
};

struct slow_nat64 *slow_create(const struct slow_conf *, slow_learn *,
                               void *aux);
void slow_destroy(struct slow_nat64 *);

void slow_set_time(struct slow_nat64 *, uint64_t now_us);

/* What becomes of a packet.  The ICMP errors that the translator makes are not
 * its business: those are golden packets'. */
struct slow_result {
    enum xlat_verdict verdict;   /* XLAT_REPLY counts as XLAT_DROPPED. */
    enum xlat_drop drop;
    bool hairpin;                /* It has gone out, and has come back. */
    struct slow_packet out;      /* If translated. */
    uint32_t ticket;             /* If translated: of fragments that have
                                  * waited for it, or 0. */
};

/* Takes a packet through, one that has waited if 'released'. */
void slow_run_packet(struct slow_nat64 *, const struct slow_packet *,
                     bool released, struct slow_result *);

/* Takes a fragment that has waited for the packet with 'ticket', the one that
 * came first.  Returns false if there is none. */
bool slow_take_held(struct slow_nat64 *, uint32_t ticket,
                    struct slow_packet *);

/* Ends what has no time left, and has ports used again. */
void slow_run(struct slow_nat64 *);

/* Ends everything. */
void slow_flush(struct slow_nat64 *);

/* Changes the configuration, and ends what does not fit in it.  What has ended
 * is not held then, and slow_run() must follow. */
void slow_fit(struct slow_nat64 *, const struct slow_conf *);

/* From now on, or no longer, what has ended may still be read by somebody. */
void slow_hold(struct slow_nat64 *, bool);

/* Returns whether 's' has time left, how many ticks, and its state's name. */
bool slow_is_alive(const struct slow_nat64 *, const struct slow_session *);
uint64_t slow_ticks_left(const struct slow_nat64 *,
                         const struct slow_session *);
const char *slow_state_name(enum slow_state);

/* Sets 'addr' to the remote end of 't' as the inside sees it. */
void slow_remote_inside(const struct slow_tuple *t, uint8_t addr[16]);

/* Gives 'ip' the addresses and ports of a packet of 't', as the inside or the
 * outside sees it, that goes out or comes in. */
void slow_set_ends(const struct slow_tuple *t, bool inside, bool out,
                   struct slow_ip *ip);

/* Makes '*to' of 'ip', a packet of 't' that goes out or comes in; its hops are
 * the caller's business. */
void slow_translate(const struct slow_tuple *t, bool out,
                    const struct slow_ip *ip, struct slow_ip *to);

/* Returns how many ports pool4 has, and in '*min' and '*max' how many of them
 * are in use or wait, at least and at most. */
unsigned int slow_count_ports(struct slow_nat64 *, unsigned int *min,
                              unsigned int *max);

/* Returns whether 'ip' is in pool4. */
bool slow_pool4_has(const struct slow_nat64 *, uint32_t ip);

/* ------------------------------------------------------------------------
 * What its files share.
 * ------------------------------------------------------------------------ */

/* What ports are of: TCP, UDP, ICMP. */
#define SLOW_N_PROTOS 3

void *slow_alloc(size_t);

/* slow-frag.c; 'tenant' is 0 of packets from outside. */

/* Returns the first fragment of the packet of 'ip', or NULL. */
const struct slow_ip *slow_find_first(const struct slow_nat64 *,
                                      const struct slow_ip *ip,
                                      uint32_t tenant);

/* Remembers the first fragment 'ip'.  Returns the ticket. */
uint32_t slow_put_first(struct slow_nat64 *, const struct slow_ip *ip,
                        uint32_t tenant);

/* Has a fragment wait; ends that of those that have waited too long, or of
 * all. */
void slow_hold_fragment(struct slow_nat64 *, const struct slow_packet *,
                        uint32_t tenant);
void slow_drop_held(struct slow_nat64 *, bool all);

void slow_destroy_frags(struct slow_nat64 *);

/* slow-ports.c. */

/* Returns the number of the range that has the outside of 't', or -1. */
int slow_find_range(const struct slow_conf *, const struct slow_tuple *t);

/* Gives 't' the port that the translator under test has chosen.  Returns the
 * reason if there is none. */
enum xlat_drop slow_take_port(struct slow_nat64 *, struct slow_tuple *t);

/* The binding of 't' has ended; nobody reads any more of those that have. */
void slow_end_port(struct slow_nat64 *, const struct slow_tuple *t);
void slow_release_ports(struct slow_nat64 *);

/* Has ports used again that have waited long enough, or that too few others
 * are free beside. */
void slow_free_ports(struct slow_nat64 *);

/* Prepares for another pool4. */
void slow_change_pool(struct slow_nat64 *, const struct slow_conf *);
void slow_destroy_ports(struct slow_nat64 *);

/* slow-state.c. */

/* Finds the session of 't' by its inside, if 'out', or its outside. */
struct slow_session *slow_find_session(const struct slow_nat64 *, bool out,
                                       const struct slow_tuple *t);

/* Finds the session of 'ip', which is from inside if 'out', or makes one if it
 * may, and completes 't'.  Sets '*sp' to NULL if there is none and the packet
 * goes by its binding. */
enum xlat_drop slow_find_or_make(struct slow_nat64 *, bool out,
                                 const struct slow_ip *ip,
                                 struct slow_tuple *t,
                                 struct slow_session **sp);

/* Does to 's' what 'ip' does. */
void slow_touch(const struct slow_nat64 *, struct slow_session *s, bool out,
                const struct slow_ip *ip);

#endif /* slow-nat64.h */
