/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_QUERY_H
#define VSE_QUERY_H 1

/* "What would this zone make of ...?", for an operator.
 *
 * Nothing is counted, sent or remembered.  Main thread only. */

struct vse_record;
struct xlat_zone;

/* Says in 'answer' what 'zone' makes of 'what': an address, unless the zone is
 * stateful, or a packet written "PROTO,SRC:PORT,DST:PORT" (PROTO is tcp, udp
 * or sctp) or "icmp,SRC:ID,DST" (an echo request), perhaps with ",tenant=N"
 * and, of TCP, ",syn", ",ack", ",fin" or ",rst".  Commas may stand for the
 * colons.  The answer names what decided: the entry or prefix, or the
 * session.  Returns NULL, or a sentence about 'what' that the caller frees. */
char *vse_query(const struct xlat_zone *zone, const char *what,
                struct vse_record *answer);

#endif /* vse-query.h */
