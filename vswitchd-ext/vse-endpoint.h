/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_ENDPOINT_H
#define VSE_ENDPOINT_H 1

/* A transport address as an operator writes it and commands print it:
 * "192.0.2.1", "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]:80".  Of ICMP,
 * the identifier takes the place of the port. */

#include <stdbool.h>
#include <stdint.h>

#include "xlat-prefix.h"

struct ds;

struct vse_endpoint {
    struct xlat_prefix address;    /* All of its bits. */
    bool has_port;
    uint16_t port;
};

/* Reads all of 's', with or without a port.  Returns false if it is none. */
bool vse_endpoint_parse(const char *s, struct vse_endpoint *);

/* Reads all of 's' as a decimal number. */
bool vse_port_parse(const char *s, uint16_t *port);

void vse_endpoint_format(const struct vse_endpoint *, struct ds *);

/* Returns the address of 'family', 4 or 6, whose bytes are at 'ip', of any
 * alignment, with 'port'. */
struct vse_endpoint vse_endpoint_load(int family, const void *ip,
                                      uint16_t port);

/* Returns whether 'e' is 'pattern', whose port, if it has none, may be any. */
bool vse_endpoint_matches(const struct vse_endpoint *pattern,
                          const struct vse_endpoint *e);

/* Returns the IPv4 address of 'e'. */
static inline uint32_t
vse_endpoint_ip4(const struct vse_endpoint *e)
{
    return e->address.ip.hi >> 32;
}

#endif /* vse-endpoint.h */
