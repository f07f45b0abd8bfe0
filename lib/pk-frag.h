/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef PK_FRAG_H
#define PK_FRAG_H 1

/* Cutting one IPv4 or IPv6 packet into fragments (RFC 791, 3.2; RFC 8200,
 * 4.5).
 *
 * An iterator that fills buffers of the caller's, so that the caller says
 * where fragments live.  A packet that is a fragment itself (4->6: its
 * fragment header is there already) is cut further, its offset and M flag
 * kept right.  A partial transport checksum must be completed before.
 *
 *     struct pk_frag frag;
 *     pk_frag_init(&frag, &pk);
 *     while ((n = pk_frag_next(&frag, buf, sizeof buf)) > 0) {
 *         ...'n' bytes at 'buf' are one IP packet...
 *     } */

#include "pk.h"

struct pk_frag {
    /* Private to pk-frag.c. */
    const uint8_t *ip;       /* The packet. */
    uint32_t unfrag_bytes;   /* Header bytes that each fragment repeats. */
    uint32_t payload_ofs;    /* First payload byte not yet sent. */
    uint32_t payload_end;
    uint32_t room;           /* Payload that a fragment can have: the last
                              * one all of it, others a multiple of 8. */
    uint32_t frag_ofs;       /* Fragment offset of the next one, bytes. */
    uint32_t frag_id;
    uint8_t family;
    uint8_t next_header;     /* IPv6: of the fragment headers. */
    bool more;               /* Something follows the packet's own end. */
};

/* Prepares to cut 'pk', which must stay unchanged until the last fragment was
 * taken.  It is a result of translation with pk->frag_mtu != 0: a valid packet
 * whose only IPv6 extension header, if any, is a fragment header. */
void pk_frag_init(struct pk_frag *, const struct pk *pk);

/* Writes the next fragment into the 'size' bytes at 'buf' and returns its
 * length in bytes, at most pk->frag_mtu; 0 behind the last one; -ENOSPC if
 * 'size' is too small, in which case nothing was taken. */
int pk_frag_next(struct pk_frag *, uint8_t *buf, size_t size);

#endif /* pk-frag.h */
