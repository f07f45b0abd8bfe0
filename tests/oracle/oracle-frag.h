/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef ORACLE_FRAG_H
#define ORACLE_FRAG_H 1

/* Fragments of an IPv4 or IPv6 packet, the obvious way: each is written anew,
 * as many payload bytes in it as fit in multiples of eight. */

#include "oracle-packet.h"

struct orc_frag {
    const uint8_t *packet;
    size_t len;
    uint32_t mtu, id;
    size_t done;                 /* Payload bytes sent. */
    bool end;
};

/* Prepares to cut the packet, which has no IPv4 options, and of extension
 * headers none but a fragment header. */
void orc_frag_init(struct orc_frag *, const uint8_t *packet, size_t len,
                   uint32_t mtu, uint32_t id);

/* Writes the next fragment and returns its length; 0 if there is none. */
int orc_frag_next(struct orc_frag *, uint8_t *buf);

#endif /* oracle-frag.h */
