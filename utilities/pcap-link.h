/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef PCAP_LINK_H
#define PCAP_LINK_H 1

/* Link layers of captures: where in a frame the IP packet begins, and what
 * the link header becomes when that packet has changed.
 *
 * Ethernet with any VLAN tags, Linux "cooked" captures, and raw IP.  Frames
 * are read only within their captured bytes.  Nothing here keeps state. */

#include <stdbool.h>
#include <stdint.h>

/* Bytes of the longest link header that is understood: Ethernet and eight
 * tags. */
#define UTIL_LINK_MAX 46

struct util_link;

/* What the link header of one frame says. */
struct util_frame {
    uint16_t link_bytes;      /* Bytes in front of the network packet. */
    int16_t type_ofs;         /* Offset of the Ethertype, -1 if none. */
    int16_t tag_ofs;          /* Of the first VLAN tag's 16 bits, or -1. */
    bool ip;                  /* An IPv4 or IPv6 packet follows, of the
                               * version that the Ethertype says. */
};

/* Returns the link layer of captures of type 'dlt' (DLT_*), NULL if it is not
 * understood. */
const struct util_link *util_link_find(int dlt);

/* Returns the type of a capture (DLT_*) that can hold what becomes of frames
 * of this link layer: the same, but for those that hold one IP version. */
int util_link_result_dlt(const struct util_link *);

/* Reads the link header of the 'n' bytes at 'data'. */
struct util_frame util_link_read(const struct util_link *,
                                 const uint8_t *data, uint32_t n);

/* Makes 'header', the link header of a frame that 'frame' describes, fit IP
 * version 'version'. */
void util_link_set_version(const struct util_frame *frame, uint8_t *header,
                           int version);

/* Returns the VLAN id of the outermost tag of 'header', which 'frame'
 * describes, or 0; and makes it 'vid' if there is a tag. */
uint16_t util_link_vlan(const struct util_frame *frame,
                        const uint8_t *header);
void util_link_set_vlan(const struct util_frame *frame, uint8_t *header,
                        uint16_t vid);

/* Makes 'header' that of a frame sent back to where it came from. */
void util_link_turn_round(const struct util_link *, uint8_t *header);

#endif /* pcap-link.h */
