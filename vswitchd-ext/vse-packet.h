/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_PACKET_H
#define VSE_PACKET_H 1

/* A packet of OVS's, lent to lib, and taken back.
 *
 * 'struct dp_packet' is a buffer that begins at the link layer and keeps
 * offsets, checksum states and offload requests beside it; 'struct pk' is a
 * view of the IP packet in it, that grows into the room in front.  A 'struct
 * vse_packet' holds what is needed in between, above all the link-layer
 * header, which lib's growth overwrites.
 *
 *     vse_packet_lend(&vp, packet, &pk);
 *     ...lib translates 'pk'...
 *     vse_packet_take(&vp, &pk);
 *
 * For any thread, each with its own packets. */

#include <stdbool.h>
#include <stdint.h>

#include "pk.h"

struct dp_packet;
struct dp_packet_batch;

/* An Ethernet header and four VLAN tags. */
#define VSE_L2_MAX 30

struct vse_packet {
    struct dp_packet *packet;
    uint8_t *l3;                 /* Where the IP header was. */
    uint8_t family;              /* 4 or 6, before the translation. */
    uint8_t l2_bytes;
    uint8_t l2[VSE_L2_MAX];      /* Copy of the link-layer header. */
};

/* Describes 'packet' by '*pk'.  Ethernet frames that carry something else
 * than IP are described as a packet that is not IP.  A packet without room in
 * front gets some, if its buffer can be had larger.
 *
 * Returns false if no result is sure to fit into a 'struct dp_packet'; then
 * nothing has happened. */
bool vse_packet_lend(struct vse_packet *, struct dp_packet *packet,
                     struct pk *pk);

/* Returns true if the packet came to an Ethernet group address. */
bool vse_packet_is_multicast(const struct vse_packet *);

/* Makes the translated '*pk' what the packet is. */
void vse_packet_take(struct vse_packet *, const struct pk *pk);

/* Likewise, for an ICMP error about the packet, to be sent back to where it
 * came from: Ethernet addresses change places, VLAN tags remain, and all that
 * was known about the packet's checksums and segments is forgotten. */
void vse_packet_take_reply(struct vse_packet *, const struct pk *pk);

/* Likewise, for a translated '*pk' with 'pk->frag_mtu' set: appends the
 * fragments to 'batch', and frees the packet. */
void vse_packet_take_fragments(struct vse_packet *, const struct pk *pk,
                               struct dp_packet_batch *batch);

#endif /* vse-packet.h */
