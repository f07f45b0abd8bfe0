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

#include "dp-packet.h"
#include "pk.h"
#include "unaligned.h"

/* An Ethernet header and four VLAN tags. */
#define VSE_L2_MAX 30

/* Most that a translation adds in front of a packet: IPv6 and fragment header
 * for IPv4's; of an ICMPv6 error, IPv6 and ICMPv6 header. */
#define VSE_MAX_GROWTH 48

/* The packet before its translation. */
struct vse_packet {
    struct dp_packet *packet;
    uint8_t *l3;                 /* Where the IP header was. */
    uint8_t family;              /* 4 or 6. */
    bool plain;                  /* Ethernet without tags, nothing pending. */
    uint8_t l2_bytes;
    uint8_t l2[VSE_L2_MAX];      /* Copy of the link-layer header. */
};

/* Describes 'packet' by '*pk'.  Ethernet frames that carry something else
 * than IP are described as a packet that is not IP.  A packet without room in
 * front gets some, if its buffer can be had larger.
 *
 * Returns false if no result is sure to fit into a 'struct dp_packet'; then
 * nothing has happened. */
static inline bool vse_packet_lend(struct vse_packet *, struct dp_packet *,
                                   struct pk *pk);

/* Likewise, for a translation that changes bytes, but neither length nor
 * family: nothing is to be done afterwards. */
static inline void vse_packet_lend_in_place(struct dp_packet *, struct pk *);

/* Returns true if the packet came to an Ethernet group address. */
bool vse_packet_is_multicast(const struct vse_packet *);

/* Makes the translated '*pk' what the packet is. */
static inline void vse_packet_take(struct vse_packet *, const struct pk *pk);

/* Likewise, for an ICMP error about the packet, to be sent back to where it
 * came from: Ethernet addresses change places, VLAN tags remain, and all that
 * was known about the packet's checksums and segments is forgotten. */
void vse_packet_take_reply(struct vse_packet *, const struct pk *pk);

/* Likewise, for a translated '*pk' with 'pk->frag_mtu' set: appends the
 * fragments to 'batch', and frees the packet. */
void vse_packet_take_fragments(struct vse_packet *, const struct pk *pk,
                               struct dp_packet_batch *batch);

/* Returns a new packet that has come like the one that was lent, with its
 * link-layer header and metadata, and has the 'n' bytes of IP at 'ip'.  To be
 * called before that one is taken. */
struct dp_packet *vse_packet_new_like(const struct vse_packet *,
                                      const void *ip, size_t n);

/* Inline for the packet path's sake: what is said above, for plain packets.
 * The functions below are for any. */

bool vse_packet_lend__(struct vse_packet *, struct dp_packet *, struct pk *);
void vse_packet_take__(struct vse_packet *, const struct pk *);

/* Describes something that lib sees is not IP, so that the zone decides and
 * counts. */
void vse_packet_lend_not_ip(struct pk *);

/* Returns whether the frame carries IP.  The flow that brought it here may
 * match frames of any type. */
static inline bool
vse_packet_carries_ip(const struct dp_packet *packet)
{
    ovs_be16 type;

    if (packet->l3_ofs > VSE_L2_MAX || packet->l2_5_ofs != UINT16_MAX) {
        return false;
    }
    if (OVS_UNLIKELY(!dp_packet_is_eth(packet))) {
        return (packet->packet_type == htonl(PT_IPV4)
                || packet->packet_type == htonl(PT_IPV6));
    }
    type = get_unaligned_be16((const ovs_be16 *) dp_packet_l3(packet) - 1);
    return type == htons(ETH_TYPE_IP) || type == htons(ETH_TYPE_IPV6);
}

static inline uint8_t
vse_ip_family(const uint8_t *ip)
{
    return ip[0] >> 4;
}

/* Returns the IP version that the frame, Ethernet without tags, carries, or 0
 * if it is no plain packet. */
static inline uint8_t
vse_packet_plain_family(const struct dp_packet *packet)
{
    const uint8_t *frame = dp_packet_data(packet);
    ovs_be16 type;

    if (packet->l3_ofs != ETH_HEADER_LEN || packet->l2_5_ofs != UINT16_MAX
        || !dp_packet_is_eth(packet) || dp_packet_tunnel(packet)
        || dp_packet_ip_checksum_partial(packet)
        || dp_packet_headroom(packet) < VSE_MAX_GROWTH
        || dp_packet_size(packet) > UINT16_MAX - VSE_MAX_GROWTH
        || dp_packet_size(packet) <= ETH_HEADER_LEN) {
        return 0;
    }
    type = get_unaligned_be16((const ovs_be16 *) (frame + ETH_HEADER_LEN) - 1);
    return type == htons(ETH_TYPE_IP) || type == htons(ETH_TYPE_IPV6)
           ? vse_ip_family(frame + ETH_HEADER_LEN) : 0;
}

static inline void
vse_packet_describe(const struct vse_packet *vp, struct pk *pk)
{
    const struct dp_packet *packet = vp->packet;

    *pk = (struct pk) {
        .data = vp->l3,
        .len = dp_packet_l3_size(packet),
        .headroom = dp_packet_headroom(packet),
        .tailroom = dp_packet_tailroom(packet) + dp_packet_l2_pad_size(packet),
        .gso_size = dp_packet_get_tso_segsz(packet),
        .flags = dp_packet_l4_checksum_partial(packet) ? PK_L4_PARTIAL : 0,
    };
}

static inline bool
vse_packet_lend(struct vse_packet *vp, struct dp_packet *packet, struct pk *pk)
{
    uint8_t family = vse_packet_plain_family(packet);

    if (OVS_UNLIKELY(!family)) {
        return vse_packet_lend__(vp, packet, pk);
    }
    vp->packet = packet;
    vp->l3 = (uint8_t *) dp_packet_data(packet) + ETH_HEADER_LEN;
    vp->family = family;
    vp->plain = true;
    vp->l2_bytes = ETH_HEADER_LEN;
    memcpy(vp->l2, vp->l3 - ETH_HEADER_LEN, ETH_HEADER_LEN);
    if (family == 4) {
        /* Where headers will grow, nobody has been yet. */
        __builtin_prefetch(vp->l3 - ETH_HEADER_LEN - 20, 1);
    }
    vse_packet_describe(vp, pk);
    return true;
}

static inline void
vse_packet_lend_in_place(struct dp_packet *packet, struct pk *pk)
{
    if (OVS_UNLIKELY(!vse_packet_carries_ip(packet))) {
        vse_packet_lend_not_ip(pk);
        return;
    }
    pk->data = dp_packet_l3(packet);
    pk->len = dp_packet_l3_size(packet);
    pk->headroom = pk->tailroom = 0;
    pk->gso_size = pk->frag_mtu = 0;
    pk->flags = dp_packet_l4_checksum_partial(packet) ? PK_L4_PARTIAL : 0;
}

static inline void
vse_packet_take(struct vse_packet *vp, const struct pk *pk)
{
    struct dp_packet *packet = vp->packet;
    uint8_t *frame = pk->data - ETH_HEADER_LEN;
    uint8_t family = vse_ip_family(pk->data);

    /* Most often, IPv4 comes out, or IPv6 of it without a fragment header. */
    if (OVS_UNLIKELY(!vp->plain
                     || (family == 6
                         && (vp->family == 6
                             || pk->data[6] == IPPROTO_FRAGMENT)))) {
        vse_packet_take__(vp, pk);
        return;
    }
    if (OVS_LIKELY(pk->data != vp->l3)) {
        memcpy(frame, vp->l2, ETH_HEADER_LEN - sizeof(ovs_be16));
        put_unaligned_be16((ovs_be16 *) pk->data - 1,
                           family == 4 ? htons(ETH_TYPE_IP)
                                       : htons(ETH_TYPE_IPV6));
    }
    dp_packet_set_l2_pad_size(packet, 0);
    dp_packet_set_data(packet, frame);
    dp_packet_set_size(packet, ETH_HEADER_LEN + pk->len);
    packet->inner_l3_ofs = packet->inner_l4_ofs = UINT16_MAX;
    if (family == 6) {
        packet->l4_ofs = ETH_HEADER_LEN + IPV6_HEADER_LEN;
        dp_packet_ip_checksum_set_unknown(packet);
    } else {
        packet->l4_ofs = ETH_HEADER_LEN + (pk->data[0] & 0xf) * 4;
        dp_packet_ip_checksum_set_good(packet);
    }
    if (OVS_UNLIKELY(pk->gso_size)) {
        dp_packet_set_tso_segsz(packet, pk->gso_size);
    }
}

#endif /* vse-packet.h */
