/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include "pk-parse.h"

#include "pk-csum.h"

/* Extension headers in front of the transport header.  RFC 8200 has use for
 * seven; a longer chain serves no honest purpose. */
#define MAX_EXT_HDRS 16

/* IPv4 options (RFC 791, 3.1). */
#define OPT_END 0
#define OPT_NOP 1
#define OPT_LSRR 131
#define OPT_SSRR 137

#define IP4_DF 0x4000
#define IP4_MF 0x2000
#define IP4_OFS_MASK 0x1fff
#define IP6_OFS_MASK 0xfff8
#define IP6_MF 0x0001

static enum pk_parse_result parse_4(const uint8_t *, uint32_t len,
                                    unsigned int flags, struct pk_info *);
static enum pk_parse_result parse_6(const uint8_t *, uint32_t len,
                                    unsigned int flags, struct pk_info *);

enum pk_parse_result
pk_parse(const uint8_t *data, uint32_t len, unsigned int flags,
         struct pk_info *info)
{
    memset(info, 0, sizeof *info);
    if (!len) {
        return PK_TRUNCATED;
    }
    switch (data[0] >> 4) {
    case 4:
        return parse_4(data, len, flags, info);
    case 6:
        return parse_6(data, len, flags, info);
    default:
        return PK_NOT_IP;
    }
}

/* Sets the lengths of a packet whose header claims 'total' bytes and of which
 * 'len' are there. */
static enum pk_parse_result
set_len(uint32_t len, uint32_t total, unsigned int flags,
        struct pk_info *info)
{
    if (total > len && !(flags & PK_PARSE_QUOTE)) {
        return PK_TRUNCATED;
    }
    info->total = total;
    info->len = total < len ? total : len;
    return PK_OK;
}

/* Returns true if the 'n' bytes of IPv4 options at 'opt' have a source route
 * whose pointer is not yet behind its end (RFC 791, 3.1).  An option of
 * impossible length ends the list: options are ignored, not judged. */
static bool
has_source_route(const uint8_t *opt, uint32_t n)
{
    while (n && *opt != OPT_END) {
        uint32_t bytes = 1;

        if (*opt != OPT_NOP) {
            if (n < 2 || opt[1] < 2 || opt[1] > n) {
                return false;
            }
            bytes = opt[1];
            if ((*opt == OPT_LSRR || *opt == OPT_SSRR)
                && bytes >= 3 && opt[2] <= bytes) {
                return true;
            }
        }
        opt += bytes;
        n -= bytes;
    }
    return false;
}

static enum pk_parse_result
parse_4(const uint8_t *ip, uint32_t len, unsigned int flags,
        struct pk_info *info)
{
    if (len < PK_IP4_HDR_BYTES) {
        return PK_TRUNCATED;
    }

    uint32_t hdr_bytes = (ip[0] & 0xf) * 4;
    uint16_t frag = ntohs(pk_get16(ip + 6));

    info->family = 4;
    info->proto = ip[9];
    info->tos = ip[1];
    info->ttl = ip[8];
    info->l4_ofs = hdr_bytes;
    info->frag_id = ntohs(pk_get16(ip + 4));
    info->frag_ofs = (frag & IP4_OFS_MASK) * 8;
    info->more_frags = frag & IP4_MF;
    info->is_frag = info->more_frags || info->frag_ofs;
    info->dont_frag = frag & IP4_DF;
    if (hdr_bytes < PK_IP4_HDR_BYTES) {
        return PK_BAD_HDR;
    } else if (hdr_bytes > len) {
        return PK_TRUNCATED;
    }
    if (!(flags & (PK_PARSE_QUOTE | PK_PARSE_CSUM_OK))
        && pk_csum_finish(pk_csum_bytes(ip, hdr_bytes))) {
        return PK_BAD_HDR;
    }

    uint32_t total = ntohs(pk_get16(ip + 2));
    if (total < hdr_bytes || info->frag_ofs + total > UINT16_MAX) {
        return PK_BAD_HDR;
    }
    info->source_route = has_source_route(ip + PK_IP4_HDR_BYTES,
                                          hdr_bytes - PK_IP4_HDR_BYTES);
    return set_len(len, total, flags, info);
}

/* Reads the fragment header at 'p'. */
static void
parse_frag_hdr(const uint8_t *p, struct pk_info *info)
{
    uint16_t frag = ntohs(pk_get16(p + 2));

    info->is_frag = true;
    info->frag_ofs = frag & IP6_OFS_MASK;
    info->more_frags = frag & IP6_MF;
    info->frag_id = ntohl(pk_get32(p + 4));
}

/* Judges what follows a fragment header (RFC 7915, 5.1.1).  In a fragment
 * that is not the first one the next header field says the same. */
static enum pk_parse_result
check_behind_frag(const struct pk_info *info)
{
    switch (info->proto) {
    case IPPROTO_HOPOPTS:
    case IPPROTO_ROUTING:
    case IPPROTO_DSTOPTS:
    case IPPROTO_FRAGMENT:
    case IPPROTO_MH:
    case 139:                    /* HIP, RFC 7401. */
    case 140:                    /* Shim6, RFC 5533. */
        return PK_BAD_EXT;
    case IPPROTO_AH:
        return PK_BAD_AH;
    }
    return info->frag_ofs + info->total - info->l4_ofs > UINT16_MAX
           ? PK_BAD_HDR : PK_OK;
}

/* Walks the extension headers.  'info->proto' is the next header and
 * 'info->l4_ofs' the offset of what it names.  A routing header with segments
 * left is noted and does not end the walk: what to say about it depends on
 * what the packet carries. */
static enum pk_parse_result
walk_ext_hdrs(const uint8_t *ip, struct pk_info *info)
{
    for (int i = 0;; i++) {
        const uint8_t *ext = ip + info->l4_ofs;
        uint32_t left = info->len - info->l4_ofs;
        uint32_t bytes;

        switch (info->proto) {
        case IPPROTO_HOPOPTS:
        case IPPROTO_ROUTING:
        case IPPROTO_DSTOPTS:
        case IPPROTO_FRAGMENT:
            break;
        default:
            return PK_OK;
        }
        if (i == MAX_EXT_HDRS) {
            return PK_BAD_EXT;
        } else if (left < 8) {
            return PK_TRUNCATED;
        }
        bytes = info->proto == IPPROTO_FRAGMENT ? 8 : (ext[1] + 1) * 8;
        if (bytes > left) {
            return PK_TRUNCATED;
        }
        if (info->proto == IPPROTO_ROUTING && ext[3] && !info->bad_ofs) {
            info->bad_ofs = info->l4_ofs + 3;
        }
        info->l4_ofs += bytes;
        if (info->proto == IPPROTO_FRAGMENT) {
            parse_frag_hdr(ext, info);
            info->proto = ext[0];
            return check_behind_frag(info);
        }
        info->proto = ext[0];
    }
}

static enum pk_parse_result
parse_6(const uint8_t *ip, uint32_t len, unsigned int flags,
        struct pk_info *info)
{
    if (len < PK_IP6_HDR_BYTES) {
        return PK_TRUNCATED;
    }

    info->family = 6;
    info->proto = ip[6];
    info->tos = ntohl(pk_get32(ip)) >> 20 & 0xff;
    info->ttl = ip[7];
    info->l4_ofs = PK_IP6_HDR_BYTES;

    uint32_t total = PK_IP6_HDR_BYTES + ntohs(pk_get16(ip + 4));
    enum pk_parse_result result = set_len(len, total, flags, info);
    if (!result) {
        result = walk_ext_hdrs(ip, info);
    }
    return !result && info->bad_ofs ? PK_BAD_ROUTING : result;
}
