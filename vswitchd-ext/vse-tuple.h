/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_TUPLE_H
#define VSE_TUPLE_H 1

/* A packet as an operator describes it, one with the transport header of the
 * first of its connection. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "vse-endpoint.h"

struct ds;

struct vse_tuple {
    const char *proto;             /* As written. */
    uint8_t nw_proto;              /* IPPROTO_ICMP of either IP version. */
    bool commas;                   /* Between addresses and ports. */
    struct vse_endpoint src, dst;  /* ICMP: the identifier is the port of
                                    * 'src'. */
    uint16_t tcp_flags;            /* TCP_*. */
    uint32_t tenant;
};

/* Reads 's' as "PROTO,SRC:PORT,DST:PORT" (PROTO is tcp, udp or sctp) or
 * "icmp,SRC:ID,DST" (an echo request), perhaps with ",tenant=N" and, of TCP,
 * ",syn" (also if there are no flags), ",ack", ",fin" or ",rst".  Commas may
 * stand for the colons in front of ports.  Returns NULL, or a sentence that
 * the caller frees. */
char *vse_tuple_parse(const char *s, struct vse_tuple *);

/* Appends the addresses and ports, in the way in which they were written. */
void vse_tuple_format(const struct vse_tuple *, struct ds *);

static inline bool
vse_tuple_is_icmp(const struct vse_tuple *t)
{
    return t->nw_proto == IPPROTO_ICMP;
}

#endif /* vse-tuple.h */
