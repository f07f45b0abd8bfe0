/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include "pk-frag.h"

#include <assert.h>
#include <errno.h>

#include "pk-csum.h"
#include "pk-parse.h"

#define IP4_MF 0x2000
#define IP4_OFS_MASK 0x1fff
#define OPT_END 0
#define OPT_NOP 1
#define OPT_COPIED 0x80
#define IP6_OFS_MASK 0xfff8
#define IP6_MF 0x0001

static void init_4(struct pk_frag *);
static void init_6(struct pk_frag *, const struct pk *);
static uint32_t frag_hdr_bytes(const struct pk_frag *);
static void write_hdr_4(const struct pk_frag *, uint8_t *, uint32_t n,
                        bool more);
static void write_hdr_6(const struct pk_frag *, uint8_t *, uint32_t n,
                        bool more);

void
pk_frag_init(struct pk_frag *frag, const struct pk *pk)
{
    const uint8_t *ip = pk->data;

    *frag = (struct pk_frag) { .ip = ip, .family = ip[0] >> 4 };
    if (frag->family == 4) {
        init_4(frag);
    } else {
        init_6(frag, pk);
    }
    assert(frag->payload_ofs <= pk->len);
    frag->payload_end = pk->len;

    uint32_t hdr_bytes = frag->unfrag_bytes + frag_hdr_bytes(frag);
    assert(pk->frag_mtu >= hdr_bytes + 8);
    frag->room = pk->frag_mtu - hdr_bytes;
}

int
pk_frag_next(struct pk_frag *frag, uint8_t *buf, size_t size)
{
    uint32_t hdr_bytes = frag->unfrag_bytes + frag_hdr_bytes(frag);
    uint32_t left = frag->payload_end - frag->payload_ofs;
    uint32_t n = left <= frag->room ? left : frag->room & ~7u;

    if (!left) {
        return 0;
    }
    if (size < hdr_bytes + n) {
        return -ENOSPC;
    }

    bool more = n < left || frag->more;
    memcpy(buf, frag->ip, frag->unfrag_bytes);
    memcpy(buf + hdr_bytes, frag->ip + frag->payload_ofs, n);
    if (frag->family == 4) {
        write_hdr_4(frag, buf, hdr_bytes + n, more);
    } else {
        write_hdr_6(frag, buf, hdr_bytes + n, more);
    }
    frag->payload_ofs += n;
    frag->frag_ofs += n;
    return hdr_bytes + n;
}

static void
init_4(struct pk_frag *frag)
{
    const uint8_t *ip = frag->ip;
    uint16_t word = ntohs(pk_get16(ip + 6));

    frag->unfrag_bytes = frag->payload_ofs = (ip[0] & 0xf) * 4;
    frag->frag_ofs = (word & IP4_OFS_MASK) * 8;
    frag->more = word & IP4_MF;
    frag->frag_id = ntohs(pk_get16(ip + 4));
}

/* Nothing but a fragment header directly behind the IPv6 header is looked
 * at. */
static void
init_6(struct pk_frag *frag, const struct pk *pk)
{
    const uint8_t *fh = frag->ip + PK_IP6_HDR_BYTES;

    frag->unfrag_bytes = frag->payload_ofs = PK_IP6_HDR_BYTES;
    frag->next_header = frag->ip[6];
    frag->frag_id = pk->frag_id;
    if (frag->next_header == IPPROTO_FRAGMENT
        && pk->len >= PK_IP6_HDR_BYTES + PK_FRAG_HDR_BYTES) {
        uint16_t word = ntohs(pk_get16(fh + 2));

        frag->payload_ofs += PK_FRAG_HDR_BYTES;
        frag->next_header = fh[0];
        frag->frag_ofs = word & IP6_OFS_MASK;
        frag->more = word & IP6_MF;
        frag->frag_id = ntohl(pk_get32(fh + 4));
    }
}

static uint32_t
frag_hdr_bytes(const struct pk_frag *frag)
{
    return frag->family == 6 ? PK_FRAG_HDR_BYTES : 0;
}

/* Puts no-operations in the place of the IPv4 options in the 'n' bytes at
 * 'opt' that are not to be copied into fragments but the first (RFC 791, 3.1).
 * Behind an option of impossible length, nothing is known. */
static void
blank_options(uint8_t *opt, uint32_t n)
{
    while (n && *opt != OPT_END) {
        uint32_t bytes = *opt == OPT_NOP ? 1 : n < 2 ? 0 : opt[1];

        if (bytes > n || (*opt != OPT_NOP && bytes < 2)) {
            return;
        }
        if (!(*opt & OPT_COPIED)) {
            memset(opt, OPT_NOP, bytes);
        }
        opt += bytes;
        n -= bytes;
    }
}

/* Makes the copied IPv4 header at 'ip' that of a fragment of 'n' bytes. */
static void
write_hdr_4(const struct pk_frag *frag, uint8_t *ip, uint32_t n, bool more)
{
    pk_put16(ip + 2, htons(n));
    pk_put16(ip + 4, htons(frag->frag_id));
    pk_put16(ip + 6, htons((more ? IP4_MF : 0) | frag->frag_ofs / 8));
    if (frag->frag_ofs) {
        blank_options(ip + PK_IP4_HDR_BYTES,
                      frag->unfrag_bytes - PK_IP4_HDR_BYTES);
    }
    pk_put16(ip + 10, 0);
    pk_put16(ip + 10, pk_csum_finish(pk_csum_bytes(ip, frag->unfrag_bytes)));
}

/* Likewise for the IPv6 header at 'ip', with a fragment header behind it. */
static void
write_hdr_6(const struct pk_frag *frag, uint8_t *ip, uint32_t n, bool more)
{
    uint8_t *fh = ip + frag->unfrag_bytes;

    pk_put16(ip + 4, htons(n - PK_IP6_HDR_BYTES));
    ip[6] = IPPROTO_FRAGMENT;
    fh[0] = frag->next_header;
    fh[1] = 0;
    pk_put16(fh + 2, htons((more ? IP6_MF : 0) | frag->frag_ofs));
    pk_put32(fh + 4, htonl(frag->frag_id));
}
