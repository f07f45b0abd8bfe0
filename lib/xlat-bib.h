/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_BIB_H
#define XLAT_BIB_H 1

/* Static bindings of a stateful zone, as they are configured. */

#include "pk.h"

struct xlat_bib {
    uint8_t proto;               /* IPPROTO_TCP, _UDP or _ICMP. */
    uint8_t family;              /* Of the inside, 4 or 6. */
    uint16_t inside_port;        /* Host byte order.  Of ICMP, identifiers. */
    uint16_t outside_port;
    uint32_t tenant;
    uint32_t outside;            /* Host byte order. */
    union pk_addr inside;        /* An IPv4 address is followed by zeros. */
};

/* Reads all of 'text' as "PROTO,INSIDE:PORT,OUTSIDE:PORT[,tenant=N]":
 * "tcp,[2001:db8:1::1]:80,192.0.2.1:80" or "udp,10.0.0.1:53,192.0.2.1:53".
 * Returns NULL, or a sentence that says what is wrong, which the caller
 * frees. */
char *xlat_bib_parse(const char *text, struct xlat_bib *);

/* Compares two of them by their inside, for qsort(); or by their outside. */
int xlat_bib_compare_inside(const void *, const void *);
int xlat_bib_compare_outside(const void *, const void *);

#endif /* xlat-bib.h */
