/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef GEN_PACKET_H
#define GEN_PACKET_H 1

/* Random packets: valid, nearly valid, and broken ones, of every kind that a
 * translator treats apart. */

#include "oracle-conf.h"
#include "pk.h"
#include "rnd.h"

/* Bytes that a packet may have, padding included. */
#define GEN_MAX_PACKET 66000

/* Writes a packet to 'buf', of GEN_MAX_PACKET bytes, and sets the length and
 * the offload members of '*pk'; 'pk->data' is 'buf'. */
void gen_packet(struct rnd *, const struct orc_conf *, uint8_t *buf,
                struct pk *pk);

#endif /* gen-packet.h */
