/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "pcap-link.h"

#include <pcap/pcap.h>
#include <stddef.h>
#include <string.h>

enum {
    ETH_ADDR_BYTES = 6,
    TAG_BYTES = 4,
    VID_MASK = 0xfff,

    TYPE_IPV4 = 0x0800,
    TYPE_IPV6 = 0x86dd,
    TYPE_VLAN = 0x8100,
    TYPE_QINQ = 0x88a8,
    TYPE_QINQ_OLD = 0x9100,

    /* Linux's packet types in "cooked" captures. */
    SLL_TO_US = 0,
    SLL_FROM_US = 4,
};

struct util_link {
    int dlt;
    int result_dlt;
    uint16_t header_bytes;    /* Without tags. */
    int16_t type_ofs;         /* Of the Ethertype, -1 if there is none. */
    int16_t direction_ofs;    /* Of the byte that holds SLL_*, or -1. */
    bool addresses;           /* Two Ethernet addresses come first. */
};

static const struct util_link links[] = {
    { DLT_EN10MB, DLT_EN10MB, 14, 12, -1, true },
    { DLT_LINUX_SLL, DLT_LINUX_SLL, 16, 14, 1, false },
    { DLT_LINUX_SLL2, DLT_LINUX_SLL2, 20, 0, 10, false },
    { DLT_RAW, DLT_RAW, 0, -1, -1, false },
    { DLT_IPV4, DLT_RAW, 0, -1, -1, false },
    { DLT_IPV6, DLT_RAW, 0, -1, -1, false },
};

const struct util_link *
util_link_find(int dlt)
{
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        if (links[i].dlt == dlt) {
            return &links[i];
        }
    }
    return NULL;
}

int
util_link_result_dlt(const struct util_link *link)
{
    return link->result_dlt;
}

static uint16_t
get_type(const uint8_t *p)
{
    return p[0] << 8 | p[1];
}

static bool
is_tag(uint16_t type)
{
    return type == TYPE_VLAN || type == TYPE_QINQ || type == TYPE_QINQ_OLD;
}

/* Returns true if a packet of IP version 'version' may follow 'type'. */
static bool
type_fits(uint16_t type, int version)
{
    return ((type == TYPE_IPV4 && version == 4)
            || (type == TYPE_IPV6 && version == 6));
}

struct util_frame
util_link_read(const struct util_link *link, const uint8_t *data, uint32_t n)
{
    struct util_frame frame = { link->header_bytes, link->type_ofs, -1,
                                false };

    if (n < link->header_bytes) {
        frame.link_bytes = 0;
        return frame;
    }

    uint16_t type = 0;

    if (frame.type_ofs >= 0) {
        type = get_type(data + frame.type_ofs);
        while (is_tag(type)
               && n - frame.link_bytes >= TAG_BYTES
               && frame.link_bytes + TAG_BYTES <= UTIL_LINK_MAX) {
            if (frame.tag_ofs < 0) {
                frame.tag_ofs = frame.link_bytes;
            }
            frame.link_bytes += TAG_BYTES;
            frame.type_ofs = frame.link_bytes - 2;
            type = get_type(data + frame.type_ofs);
        }
    }

    if (n > frame.link_bytes) {
        int version = data[frame.link_bytes] >> 4;

        frame.ip = (frame.type_ofs < 0
                    ? version == 4 || version == 6
                    : type_fits(type, version));
    }
    return frame;
}

void
util_link_set_version(const struct util_frame *frame, uint8_t *header,
                      int version)
{
    if (frame->type_ofs >= 0) {
        uint16_t type = version == 4 ? TYPE_IPV4 : TYPE_IPV6;

        header[frame->type_ofs] = type >> 8;
        header[frame->type_ofs + 1] = type & 0xff;
    }
}

uint16_t
util_link_vlan(const struct util_frame *frame, const uint8_t *header)
{
    return frame->tag_ofs < 0 ? 0
           : get_type(header + frame->tag_ofs) & VID_MASK;
}

void
util_link_set_vlan(const struct util_frame *frame, uint8_t *header,
                   uint16_t vid)
{
    if (frame->tag_ofs >= 0) {
        uint8_t *tag = header + frame->tag_ofs;

        tag[0] = (tag[0] & ~(VID_MASK >> 8)) | (vid & VID_MASK) >> 8;
        tag[1] = vid & 0xff;
    }
}

void
util_link_turn_round(const struct util_link *link, uint8_t *header)
{
    if (link->addresses) {
        uint8_t dst[ETH_ADDR_BYTES];

        memcpy(dst, header, ETH_ADDR_BYTES);
        memcpy(header, header + ETH_ADDR_BYTES, ETH_ADDR_BYTES);
        memcpy(header + ETH_ADDR_BYTES, dst, ETH_ADDR_BYTES);
    } else if (link->direction_ofs >= 0) {
        uint8_t *direction = &header[link->direction_ofs];

        *direction = *direction == SLL_FROM_US ? SLL_TO_US : SLL_FROM_US;
    }
}
