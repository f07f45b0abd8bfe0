/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include "oracle-frag.h"

#include <string.h>

void
orc_frag_init(struct orc_frag *frag, const uint8_t *packet, size_t len,
              uint32_t mtu, uint32_t id)
{
    *frag = (struct orc_frag) { packet, len, mtu, id, 0, false };
}

/* Takes the next bytes of 'payload_len' that fit behind 'hdr' bytes. */
static size_t
take(struct orc_frag *frag, size_t payload_len, size_t hdr, bool *more)
{
    size_t n = payload_len - frag->done;

    *more = hdr + n > frag->mtu;
    if (*more) {
        n = (frag->mtu - hdr) / 8 * 8;
    }
    frag->end = !*more;
    return n;
}

static int
next4(struct orc_frag *frag, uint8_t *buf)
{
    struct orc_ip4 ip;
    size_t n;
    bool more;

    orc_ip4_decode(frag->packet, frag->len, false, &ip);
    n = take(frag, ip.payload_len, 20, &more);
    memcpy(buf + 20, ip.payload + frag->done, n);
    ip.frag_ofs += frag->done;
    ip.mf = ip.mf || more;
    ip.total_len = 20 + n;
    orc_ip4_encode(buf, &ip);
    frag->done += n;
    return 20 + n;
}

static int
next6(struct orc_frag *frag, uint8_t *buf)
{
    struct orc_ip6 ip;
    const uint8_t *payload;
    size_t n, len;
    bool more;

    /* The transport header may look like anything: not decoded further. */
    memset(&ip, 0, sizeof ip);
    ip.tc = orc_get16(frag->packet) >> 4;
    ip.flow = orc_get32(frag->packet) & 0xfffff;
    ip.proto = frag->packet[6];
    ip.hop_limit = frag->packet[7];
    memcpy(ip.src, frag->packet + 8, 16);
    memcpy(ip.dst, frag->packet + 24, 16);
    ip.has_frag = true;
    ip.frag_id = frag->id;
    payload = frag->packet + 40;
    if (ip.proto == 44) {
        ip.proto = payload[0];
        ip.frag_ofs = orc_get16(payload + 2) & 0xfff8;
        ip.mf = payload[3] & 1;
        ip.frag_id = orc_get32(payload + 4);
        payload += 8;
    }
    len = frag->packet + frag->len - payload;
    n = take(frag, len, 48, &more);
    memcpy(buf + 48, payload + frag->done, n);
    ip.frag_ofs += frag->done;
    ip.mf = ip.mf || more;
    ip.payload_len = 8 + n;
    orc_ip6_encode(buf, &ip);
    frag->done += n;
    return 48 + n;
}

int
orc_frag_next(struct orc_frag *frag, uint8_t *buf)
{
    if (frag->end) {
        return 0;
    }
    return frag->packet[0] >> 4 == 4 ? next4(frag, buf) : next6(frag, buf);
}
