/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Fuzz target: cutting a packet into fragments, compared with the oracle.
 *
 * Input: 1 byte of flags, 2 of the MTU, 2 of the offset that the packet has as
 * a fragment, 4 of an identification, and the payload. */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "oracle-frag.h"
#include "pk-frag.h"

#define HDR_BYTES 9

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes the packet to 'p' and returns its length. */
static size_t
make_packet(uint8_t *p, const uint8_t *data, size_t size)
{
    bool frag = data[0] & 2;
    uint16_t ofs = frag ? orc_get16(data + 3) & 0xfff8 : 0;
    size_t n = size - HDR_BYTES, hdr;

    /* No fragment ends behind the largest packet. */
    if (ofs + n > 65000) {
        n = ofs < 65000 ? 65000 - ofs : 1;
    }
    if (data[0] & 1) {
        struct orc_ip4 ip = {
            .total_len = 20 + n, .id = orc_get16(data + 5), .ttl = 64,
            .proto = 17, .frag_ofs = ofs, .mf = frag && data[0] & 4,
            .src = 0xc0000201, .dst = 0xc6336401,
        };

        hdr = orc_ip4_encode(p, &ip);
    } else {
        struct orc_ip6 ip = {
            .payload_len = n + (frag ? 8 : 0), .hop_limit = 64, .proto = 17,
            .has_frag = frag, .frag_ofs = ofs, .mf = data[0] & 4,
            .frag_id = orc_get32(data + 5), .src = { 0x20 },
            .dst = { 0x20, 1 },
        };

        hdr = orc_ip6_encode(p, &ip);
    }
    memcpy(p + hdr, data + HDR_BYTES, n);
    return hdr + n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t packet[66000], slow_buf[66000];
    struct orc_frag slow;
    struct pk_frag frag;
    struct pk pk = { .data = packet };
    uint8_t *buf;
    int n, m;

    if (size <= HDR_BYTES || size > 65000) {
        return 0;
    }
    pk.len = make_packet(packet, data, size);
    pk.frag_mtu = orc_get16(data + 1);
    if (pk.frag_mtu < (data[0] & 1 ? 68 : 1280)) {
        pk.frag_mtu = data[0] & 1 ? 68 : 1280;
    }
    pk.frag_id = orc_get32(data + 5);
    buf = malloc(pk.frag_mtu);
    pk_frag_init(&frag, &pk);
    orc_frag_init(&slow, packet, pk.len, pk.frag_mtu, pk.frag_id);
    do {
        n = pk_frag_next(&frag, buf, pk.frag_mtu);
        m = orc_frag_next(&slow, slow_buf);
        if (n != m || (n > 0 && memcmp(buf, slow_buf, n))) {
            abort();
        }
    } while (n > 0);
    free(buf);
    return 0;
}
