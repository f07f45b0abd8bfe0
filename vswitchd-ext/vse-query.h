/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_QUERY_H
#define VSE_QUERY_H 1

/* "What would this zone make of ...?", for an operator.
 *
 * Nothing is counted, sent or remembered.  Main thread only. */

struct vse_record;
struct xlat_zone;

/* Says in 'answer' what 'zone' makes of 'what': an address, or a packet
 * written "PROTO,SRC,SPORT,DST,DPORT" (PROTO is tcp, udp or sctp) or
 * "icmp,SRC,ID,DST" (an echo request).  The answer names the entry or prefix
 * that decided.  Returns NULL, or a sentence about 'what' that the caller
 * frees. */
char *vse_query(const struct xlat_zone *zone, const char *what,
                struct vse_record *answer);

#endif /* vse-query.h */
