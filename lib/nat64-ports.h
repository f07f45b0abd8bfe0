/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef NAT64_PORTS_H
#define NAT64_PORTS_H 1

/* The ports of one external address in one protocol (or ICMP identifiers):
 * which are in use, and which is next.
 *
 * 65,536 bits in words of 64, and above them, a bit for each word that has
 * nothing left to give, one for its even and one for its odd ports.  So a
 * search looks at a few words, however many ports are in use.  The choice is
 * random (RFC 6056), and keeps range and parity of the inside port while that
 * is possible (RFC 4787, 4.2.2 and 4.2.3; RFC 6146, 3.5.1.1).
 *
 * Holders may share an address: each has every N-th block of 64 ports, so
 * that the holder of a port follows from its number alone.
 *
 * Any number of threads may take and give.  A port that was given may be taken
 * again at once: a delay before reuse is the caller's business.
 *
 * Why no port has two owners: it is whoever sets its bit that has it.  Why
 * none is lost: a thread that marks a word as full looks at the word again,
 * and the one that clears a bit in it clears the mark afterwards, so that the
 * later of the two sees the other's work.  A mark that is missing costs one
 * look in vain, which sets it. */

#include <stdbool.h>
#include <stdint.h>

#define NAT64_PORTS_WORDS 1024
#define NAT64_PORTS_BLOCK 64             /* Ports that have one holder. */

/* Words that a search looks at before it says that nothing is left.  Only
 * other threads at work can make it need more than 2. */
#define NAT64_PORTS_MAX_LOOKS 64

struct nat64_ports {
    uint64_t used[NAT64_PORTS_WORDS];
    uint64_t full[2][NAT64_PORTS_WORDS / 64];    /* By parity. */
    uint32_t n_used;                   /* By take and give. */
    uint32_t n_ports;                  /* That there are. */
};

/* Makes 'ports' have those from 'first' to 'last' that are in share 'share' of
 * 'n_shares' (from 0; 'n_shares' at least 1), none of them in use. */
void nat64_ports_init(struct nat64_ports *ports, uint16_t first, uint16_t last,
                    unsigned int share, unsigned int n_shares);

/* Returns which ports of word 'word' (ports from 64 * 'word' on, a bit for
 * each) such 'ports' have. */
uint64_t nat64_ports_mask(uint16_t first, uint16_t last, unsigned int share,
                          unsigned int n_shares, unsigned int word);

/* Returns the share, of 'n_shares', that has 'port'. */
static inline unsigned int
nat64_ports_share_of(uint16_t port, unsigned int n_shares)
{
    return port / NAT64_PORTS_BLOCK % n_shares;
}

/* Takes a port: if there is one, from the same side of 1024 as 'like' and with
 * its parity; otherwise from the same side; otherwise any.  'random' is a
 * random number.  Returns the port, or -1 if all are in use. */
int nat64_ports_take(struct nat64_ports *ports, uint16_t like,
                     uint64_t random);

/* Likewise, but only in the 'n_words' words from 'first_word' on: with the
 * parity of 'like' if possible. */
int nat64_ports_take_in(struct nat64_ports *ports, unsigned int first_word,
                        unsigned int n_words, uint16_t like, uint64_t random);

/* Takes 'port' itself.  Returns false if it is in use, or not here. */
bool nat64_ports_take_this(struct nat64_ports *ports, uint16_t port);

/* Gives a port back that was taken. */
void nat64_ports_give(struct nat64_ports *ports, uint16_t port);

/* Returns how many ports are taken. */
static inline uint32_t
nat64_ports_n_used(const struct nat64_ports *ports)
{
    return __atomic_load_n(&ports->n_used, __ATOMIC_RELAXED);
}

/* Returns how many there are. */
static inline uint32_t
nat64_ports_n(const struct nat64_ports *ports)
{
    return __atomic_load_n(&ports->n_ports, __ATOMIC_ACQUIRE);
}

/* Returns whether no port is left, as far as one can tell beside others. */
static inline bool
nat64_ports_are_used_up(const struct nat64_ports *ports)
{
    return nat64_ports_n_used(ports) >= nat64_ports_n(ports);
}

#endif /* nat64-ports.h */
