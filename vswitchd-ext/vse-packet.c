/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include <config.h>
#include "vse-packet.h"

#include <string.h>

#include "dp-packet.h"
#include "packets.h"
#include "pk-frag.h"
#include "unaligned.h"
#include "util.h"

/* Room that a packet without any gets. */
#define NEW_HEADROOM 128

static void make_headroom(struct dp_packet *);
static void save_l2(struct vse_packet *);
static void restore_l2(struct vse_packet *, const struct pk *);
static void set_ethertype(struct dp_packet *, uint8_t family);
static void set_snap_length(uint8_t *ip, uint8_t l2_bytes, uint32_t len);
static void set_offsets(const struct vse_packet *, const struct pk *);
static void set_ip_checksum_state(struct dp_packet *, uint8_t family);
static struct dp_packet *new_packet(const struct vse_packet *, const void *l2,
                                    size_t ip_bytes);
static struct dp_packet *new_fragment(const struct vse_packet *,
                                      size_t ip_bytes);

bool
vse_packet_lend__(struct vse_packet *vp, struct dp_packet *packet,
                  struct pk *pk)
{
    vp->packet = packet;
    if (OVS_UNLIKELY(!vse_packet_carries_ip(packet))) {
        vse_packet_lend_not_ip(pk);
        return true;
    }
    if (OVS_UNLIKELY(dp_packet_size(packet) > UINT16_MAX - VSE_MAX_GROWTH)) {
        return false;
    }
    if (OVS_UNLIKELY(dp_packet_headroom(packet) < VSE_MAX_GROWTH)) {
        make_headroom(packet);
    }
    if (OVS_UNLIKELY(dp_packet_ip_checksum_partial(packet))) {
        dp_packet_ip_set_header_csum(packet, false);
    }
    save_l2(vp);
    vse_packet_describe(vp, pk);
    return true;
}

bool
vse_packet_is_multicast(const struct vse_packet *vp)
{
    return dp_packet_is_eth(vp->packet) && vp->l2[0] & 1;
}

void
vse_packet_take__(struct vse_packet *vp, const struct pk *pk)
{
    restore_l2(vp, pk);
    set_offsets(vp, pk);
    set_ip_checksum_state(vp->packet, vse_ip_family(pk->data));
    dp_packet_set_tso_segsz(vp->packet, pk->gso_size);
}

void
vse_packet_take_reply(struct vse_packet *vp, const struct pk *pk)
{
    struct dp_packet *packet = vp->packet;

    if (dp_packet_is_eth(packet)) {
        struct eth_addr dst;

        memcpy(&dst, &vp->l2[0], ETH_ADDR_LEN);
        memcpy(&vp->l2[0], &vp->l2[ETH_ADDR_LEN], ETH_ADDR_LEN);
        memcpy(&vp->l2[ETH_ADDR_LEN], &dst, ETH_ADDR_LEN);
    }
    restore_l2(vp, pk);
    vp->family = 0;
    packet->offloads = 0;
    dp_packet_set_tso_segsz(packet, 0);
    set_offsets(vp, pk);
    set_ip_checksum_state(packet, vse_ip_family(pk->data));
}

void
vse_packet_take_fragments(struct vse_packet *vp, const struct pk *pk,
                          struct dp_packet_batch *batch)
{
    struct pk whole = *pk;
    struct pk_frag frag;
    int n;

    /* No NIC completes a checksum that spans several packets. */
    vse_packet_take(vp, pk);
    dp_packet_ol_send_prepare(vp->packet, 0);

    whole.data = dp_packet_l3(vp->packet);
    pk_frag_init(&frag, &whole);
    for (;;) {
        struct dp_packet *packet = new_fragment(vp, pk->frag_mtu);

        n = pk_frag_next(&frag, dp_packet_l3(packet), pk->frag_mtu);
        if (n <= 0) {
            dp_packet_delete(packet);
            break;
        }
        dp_packet_set_size(packet, vp->l2_bytes + n);
        dp_packet_batch_add(batch, packet);
    }
    dp_packet_delete(vp->packet);
}

struct dp_packet *
vse_packet_new_like(const struct vse_packet *vp, const void *ip, size_t n)
{
    struct dp_packet *packet = new_packet(vp, vp->l2, n);
    uint8_t *l3 = dp_packet_l3(packet);

    memcpy(l3, ip, n);
    set_snap_length(l3, vp->l2_bytes, n);
    packet->l4_ofs = packet->l3_ofs
                     + (vp->family == 4 ? (l3[0] & 0xf) * 4
                        : IPV6_HEADER_LEN);
    return packet;
}

void
vse_packet_lend_not_ip(struct pk *pk)
{
    static uint8_t not_ip[1];

    *pk = (struct pk) { .data = not_ip, .len = sizeof not_ip };
}

/* Packets from a NIC come with room.  Those that a controller sends, or that
 * have been through the slow path, come without, in buffers that may be
 * replaced. */
static void
make_headroom(struct dp_packet *packet)
{
    if ((packet->source == DPBUF_MALLOC || packet->source == DPBUF_STUB)
        && dp_packet_get_allocated(packet) < UINT16_MAX - NEW_HEADROOM) {
        dp_packet_prealloc_headroom(packet, NEW_HEADROOM);
    }
}

static void
save_l2(struct vse_packet *vp)
{
    const uint8_t *frame = dp_packet_data(vp->packet);

    vp->l3 = dp_packet_l3(vp->packet);
    vp->l2_bytes = vp->l3 - frame;
    vp->plain = false;
    vp->family = dp_packet_l3_size(vp->packet) ? vse_ip_family(vp->l3) : 0;
    memcpy(vp->l2, frame, vp->l2_bytes);
}

/* Puts the link-layer header in front of the IP packet. */
static void
restore_l2(struct vse_packet *vp, const struct pk *pk)
{
    struct dp_packet *packet = vp->packet;
    uint8_t *frame = pk->data - vp->l2_bytes;

    memcpy(frame, vp->l2, vp->l2_bytes);
    dp_packet_set_l2_pad_size(packet, 0);
    dp_packet_set_data(packet, frame);
    dp_packet_set_size(packet, vp->l2_bytes + pk->len);
    packet->l3_ofs = vp->l2_bytes;
    set_ethertype(packet, vse_ip_family(pk->data));
    set_snap_length(pk->data, vp->l2_bytes, pk->len);
}

static void
set_ethertype(struct dp_packet *packet, uint8_t family)
{
    if (OVS_LIKELY(dp_packet_is_eth(packet))) {
        put_unaligned_be16((ovs_be16 *) dp_packet_l3(packet) - 1,
                           family == 4 ? htons(ETH_TYPE_IP)
                                       : htons(ETH_TYPE_IPV6));
    } else {
        packet->packet_type = family == 4 ? htonl(PT_IPV4) : htonl(PT_IPV6);
    }
}

/* A frame of IEEE 802.3 has its length in front of LLC and SNAP, which have
 * the type. */
static void
set_snap_length(uint8_t *ip, uint8_t l2_bytes, uint32_t len)
{
    const size_t llc_snap_bytes = 8;
    ovs_be16 *length = (ovs_be16 *) (ip - llc_snap_bytes) - 1;

    if (l2_bytes >= ETH_HEADER_LEN + llc_snap_bytes
        && ntohs(get_unaligned_be16(length)) < ETH_TYPE_MIN) {
        put_unaligned_be16(length, htons(llc_snap_bytes + len));
    }
}

/* Sets the offsets behind the IP header.
 *
 * A packet that came out of an OVS tunnel push keeps its inner headers, at
 * another distance, since someone may have to complete their checksums. */
static void
set_offsets(const struct vse_packet *vp, const struct pk *pk)
{
    struct dp_packet *packet = vp->packet;
    int growth = vp->l3 - pk->data;

    if (OVS_UNLIKELY(dp_packet_tunnel(packet))) {
        packet->inner_l3_ofs += growth;
        packet->inner_l4_ofs += growth;
    } else {
        packet->inner_l3_ofs = UINT16_MAX;
        packet->inner_l4_ofs = UINT16_MAX;
    }

    if (vse_ip_family(pk->data) == 4) {
        packet->l4_ofs = packet->l3_ofs + (pk->data[0] & 0xf) * 4;
    } else if (vp->family != 6 || growth) {
        /* No other extension header comes out of a translation. */
        packet->l4_ofs = packet->l3_ofs + IPV6_HEADER_LEN
                         + (pk->data[6] == IPPROTO_FRAGMENT
                            ? sizeof(struct ovs_16aligned_ip6_frag) : 0);
    }
}

/* OVS completes an IPv4 header checksum by what it knows about it: about the
 * checksum of an IPv6 header, nothing. */
static void
set_ip_checksum_state(struct dp_packet *packet, uint8_t family)
{
    if (family == 4) {
        dp_packet_ip_checksum_set_good(packet);
    } else {
        dp_packet_ip_checksum_set_unknown(packet);
    }
}

/* Returns a packet with the link-layer header 'l2' in front of 'ip_bytes' that
 * are to be filled, and with what is true of others from where the packet of
 * 'vp' is from. */
static struct dp_packet *
new_packet(const struct vse_packet *vp, const void *l2, size_t ip_bytes)
{
    const struct dp_packet *like = vp->packet;
    struct dp_packet *packet;

    packet = dp_packet_new_with_headroom(vp->l2_bytes + ip_bytes,
                                         NEW_HEADROOM);
    dp_packet_put(packet, l2, vp->l2_bytes);
    dp_packet_put_uninit(packet, ip_bytes);
    packet->md = like->md;
    packet->packet_type = like->packet_type;
    packet->l3_ofs = vp->l2_bytes;
    if (dp_packet_rss_valid(like)) {
        dp_packet_set_rss_hash(packet, dp_packet_get_rss_hash(like));
    }
    return packet;
}

/* Likewise for a fragment of the translated packet of 'vp'. */
static struct dp_packet *
new_fragment(const struct vse_packet *vp, size_t ip_bytes)
{
    const struct dp_packet *whole = vp->packet;
    struct dp_packet *packet = new_packet(vp, dp_packet_data(whole), ip_bytes);

    packet->l4_ofs = vse_ip_family(dp_packet_l3(whole)) == 4
                     ? whole->l4_ofs
                     : vp->l2_bytes + IPV6_HEADER_LEN
                       + sizeof(struct ovs_16aligned_ip6_frag);
    set_ip_checksum_state(packet, vse_ip_family(dp_packet_l3(whole)));
    return packet;
}
