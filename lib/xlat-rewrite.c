/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include "xlat-rewrite.h"

#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>

#include "xlat-hdr.h"
#include "xlat-private.h"

/* What a rewrite changes of what a transport checksum covers, as sums. */
struct change {
    uint64_t old_pseudo;
    uint64_t new_pseudo;
    uint64_t old_body;
    uint64_t new_body;
};

static void addr_change(const struct xlat_rewrite *, const uint8_t *ip,
                        struct change *);
static void port_change(const struct xlat_rewrite *, const uint8_t *l4,
                        const struct pk_info *, struct change *);
static enum xlat_drop rewrite_l4(const struct xlat_rewrite *, struct pk *,
                                 const struct pk_info *);
static void rewrite_same_family(const struct xlat_rewrite *, uint8_t *ip,
                                const struct pk_info *);

static uint16_t
change_delta(const struct change *c)
{
    return pk_csum_delta(c->old_pseudo + c->old_body,
                         c->new_pseudo + c->new_body);
}

void
xlat_rewrite_set_delta(struct xlat_rewrite *rw, const uint8_t *ip,
                       const struct pk_info *info)
{
    struct change change = { .old_pseudo = 0 };

    addr_change(rw, ip, &change);
    port_change(rw, ip + info->l4_ofs, info, &change);
    rw->csum_delta = change_delta(&change);
}

enum xlat_drop
xlat_rewrite_apply(const struct xlat_rewrite *rw, struct pk *pk,
                   const struct pk_info *info, uint16_t ip_id)
{
    uint32_t hdr_bytes = xlat_rewrite_hdr_bytes(rw, info);
    uint32_t l4_total = info->total - info->l4_ofs;
    uint8_t *l4 = pk->data + info->l4_ofs;
    uint8_t *front = pk->data;

    if (hdr_bytes > info->l4_ofs + pk->headroom) {
        return XLAT_DROP_NO_HEADROOM;
    } else if (rw->to == 4
               && hdr_bytes + info->frag_ofs + l4_total > UINT16_MAX) {
        /* A fragment counts as what it will be part of. */
        return XLAT_DROP_GROWN_PAST_MAX;
    }

    /* A quote cut short is as large as the packet that it stems from. */
    uint32_t wire_bytes = hdr_bytes + (pk->gso_size
                                       ? pk_wire_l4_bytes(pk, info)
                                       : l4_total);
    enum xlat_drop drop = rewrite_l4(rw, pk, info);
    if (drop != XLAT_OK) {
        return drop;
    }
    if (rw->from == rw->to) {
        rewrite_same_family(rw, front, info);
    } else {
        front = xlat_rewrite_write_ip(rw, info, l4, l4_total, ip_id,
                                      wire_bytes > XLAT_IP4_DF0_MAX);
    }
    xlat_pk_set(pk, front, l4 - front + pk_l4_bytes(info));
    return XLAT_OK;
}

uint8_t *
xlat_rewrite_write_ip(const struct xlat_rewrite *rw,
                      const struct pk_info *info, uint8_t *l4,
                      uint32_t l4_bytes, uint16_t ip_id, bool dont_frag)
{
    uint32_t hdr_bytes = xlat_rewrite_new_hdr_bytes(rw, info);
    uint8_t *ip = l4 - hdr_bytes;
    uint8_t tos = rw->flags & XLAT_RW_TOS_SET ? rw->tos : info->tos;
    uint8_t ttl = info->ttl - !!(rw->flags & XLAT_RW_TTL_DEC);

    if (rw->to == 6) {
        uint8_t proto = xlat_proto_46(info->proto);
        uint8_t next = info->is_frag ? IPPROTO_FRAGMENT : proto;

        if (info->is_frag) {
            xlat_hdr_put_frag(ip + PK_IP6_HDR_BYTES, proto, info->frag_ofs,
                              info->more_frags, info->frag_id);
        }
        xlat_hdr_put6(ip, tos, hdr_bytes - PK_IP6_HDR_BYTES + l4_bytes, next,
                      ttl, &rw->src, &rw->dst);
    } else {
        uint16_t frag = dont_frag ? XLAT_IP4_DF : 0;
        uint16_t id = dont_frag ? 0 : ip_id;

        if (info->is_frag) {
            frag = info->frag_ofs / 8 | (info->more_frags ? XLAT_IP4_MF : 0);
            id = info->frag_id;
        }
        xlat_hdr_put4(ip, tos, hdr_bytes + l4_bytes, id, frag, ttl,
                      xlat_proto_64(info->proto), rw->src.in4, rw->dst.in4);
    }
    return ip;
}

/* Returns the sum of the address at 'addr' of 'family'. */
static uint64_t
addr_sum(uint8_t family, const void *addr)
{
    return family == 4 ? pk_csum_addr4(addr) : pk_csum_addr6(addr);
}

/* Adds the change of addresses from those of the header at 'ip'. */
static void
addr_change(const struct xlat_rewrite *rw, const uint8_t *ip,
            struct change *change)
{
    bool all = rw->from != rw->to;
    const uint8_t *src = ip + (rw->from == 4 ? 12 : 8);
    const uint8_t *dst = ip + (rw->from == 4 ? 16 : 24);

    if (all || rw->flags & XLAT_RW_SRC) {
        change->old_pseudo += addr_sum(rw->from, src);
        change->new_pseudo += addr_sum(rw->to, &rw->src);
    }
    if (all || rw->flags & XLAT_RW_DST) {
        change->old_pseudo += addr_sum(rw->from, dst);
        change->new_pseudo += addr_sum(rw->to, &rw->dst);
    }
}

/* Returns true if 'type' is that of an ICMP query, which has an
 * identifier. */
static bool
is_query(uint8_t family, uint8_t type)
{
    return family == 4 ? type == ICMP_ECHO || type == ICMP_ECHOREPLY
                       : (type == ICMP6_ECHO_REQUEST
                          || type == ICMP6_ECHO_REPLY);
}

/* Adds the change of ports, or of an ICMP query's identifier, as far as there
 * are any behind 'l4'. */
static void
port_change(const struct xlat_rewrite *rw, const uint8_t *l4,
            const struct pk_info *info, struct change *change)
{
    uint32_t n = pk_l4_bytes(info);

    if (!(rw->flags & XLAT_RW_PORTS) || !pk_has_l4(info)) {
        return;
    }
    if (pk_csum_ofs(info->proto) && n >= 4) {
        change->old_body += pk_get32(l4);
        change->new_body += (uint64_t) rw->src_port + rw->dst_port;
    } else if (xlat_is_icmp(info) && n >= 6 && is_query(info->family, l4[0])) {
        change->old_body += pk_get16(l4 + 4);
        change->new_body += rw->src_port;
    }
}

/* Stores the new ports or the new identifier. */
static void
write_ports(const struct xlat_rewrite *rw, uint8_t *l4,
            const struct pk_info *info)
{
    uint32_t n = pk_l4_bytes(info);

    if (!(rw->flags & XLAT_RW_PORTS)) {
        return;
    }
    if (pk_csum_ofs(info->proto) && n >= 4) {
        pk_put16(l4, rw->src_port);
        pk_put16(l4 + 2, rw->dst_port);
    } else if (xlat_is_icmp(info) && n >= 6 && is_query(info->family, l4[0])) {
        pk_put16(l4 + 4, rw->src_port);
    }
}

/* Applies 'change' to the checksum at 'csum' of a packet of 'pk'. */
static void
update_csum(const struct pk *pk, uint8_t *csum, const struct change *change,
            bool zero_is_none)
{
    if (pk->flags & PK_L4_PARTIAL) {
        pk_put16(csum, pk_csum_fold(pk_get16(csum) + change->new_pseudo
                                    + (uint16_t) ~pk_csum_fold(
                                        change->old_pseudo)));
    } else {
        xlat_hdr_update_csum(csum, change_delta(change), zero_is_none);
    }
}

/* TCP, UDP and their like, whose checksum field is at 'csum'. */
static void
rewrite_ports(const struct xlat_rewrite *rw, struct pk *pk,
              const struct pk_info *info, uint8_t *csum)
{
    uint8_t *l4 = pk->data + info->l4_ofs;
    bool zero_is_none = (info->proto == IPPROTO_UDP
                         || info->proto == PK_PROTO_UDPLITE);
    bool there = csum + 2 <= pk->data + info->len;
    bool partial = pk->flags & PK_L4_PARTIAL;

    if (there && !(rw->flags & XLAT_RW_NO_CSUM)
        && (partial || pk_get16(csum) || !zero_is_none)) {
        if (partial) {
            struct change change = { .old_pseudo = 0 };

            addr_change(rw, pk->data, &change);
            update_csum(pk, csum, &change, false);
        } else {
            xlat_hdr_update_csum(csum, rw->csum_delta, zero_is_none);
        }
    }
    write_ports(rw, l4, info);
}

/* Returns what type 'type' of ICMP becomes, or -1. */
static int
icmp_query_type(const struct xlat_rewrite *rw, uint8_t type)
{
    if (rw->from == rw->to) {
        return type;
    } else if (!is_query(rw->from, type)) {
        return -1;
    } else if (rw->to == 6) {
        return type == ICMP_ECHO ? ICMP6_ECHO_REQUEST : ICMP6_ECHO_REPLY;
    } else {
        return type == ICMP6_ECHO_REQUEST ? ICMP_ECHO : ICMP_ECHOREPLY;
    }
}

/* ICMP: its type, its identifier, and the pseudo-header that only ICMPv6 has
 * (RFC 4443, 2.3). */
static enum xlat_drop
rewrite_icmp(const struct xlat_rewrite *rw, struct pk *pk,
             const struct pk_info *info)
{
    uint8_t *l4 = pk->data + info->l4_ofs;
    uint32_t n = pk_l4_bytes(info);
    uint64_t pseudo = pk_csum_pseudo(info->total - info->l4_ofs,
                                     IPPROTO_ICMPV6);
    struct change change = { .old_pseudo = 0 };

    if (!n) {
        return XLAT_OK;
    }
    int type = icmp_query_type(rw, l4[0]);
    if (type < 0) {
        return XLAT_DROP_ICMP_TYPE;
    }
    if (n >= 4 && !(rw->flags & XLAT_RW_NO_CSUM)) {
        addr_change(rw, pk->data, &change);
        change.old_pseudo = rw->from == 6 ? change.old_pseudo + pseudo : 0;
        change.new_pseudo = rw->to == 6 ? change.new_pseudo + pseudo : 0;
        port_change(rw, l4, info, &change);
        change.old_body += pk_get16(l4);
        change.new_body += htons(type << 8 | l4[1]);
        update_csum(pk, l4 + 2, &change, false);
    }
    write_ports(rw, l4, info);
    l4[0] = type;
    return XLAT_OK;
}

static enum xlat_drop
rewrite_l4(const struct xlat_rewrite *rw, struct pk *pk,
           const struct pk_info *info)
{
    uint16_t csum_ofs = pk_csum_ofs(info->proto);

    if (!pk_has_l4(info)) {
        return XLAT_OK;
    } else if (csum_ofs) {
        rewrite_ports(rw, pk, info, pk->data + info->l4_ofs + csum_ofs);
        return XLAT_OK;
    } else if (xlat_is_icmp(info)) {
        return rewrite_icmp(rw, pk, info);
    } else {
        return XLAT_OK;
    }
}

/* Stores the 'n' bytes at 'new' at 'field' and notes the change. */
static void
replace(uint8_t *field, const void *new, size_t n, struct change *change)
{
    change->old_body += pk_csum_bytes(field, n);
    change->new_body += pk_csum_bytes(new, n);
    memcpy(field, new, n);
}

static void
rewrite_same_4(const struct xlat_rewrite *rw, uint8_t *ip)
{
    struct change change = { .old_pseudo = 0 };
    uint8_t tos_word[2] = { ip[0],
                            rw->flags & XLAT_RW_TOS_SET ? rw->tos : ip[1] };
    uint8_t ttl_word[2] = { ip[8] - !!(rw->flags & XLAT_RW_TTL_DEC), ip[9] };

    replace(ip, tos_word, 2, &change);
    replace(ip + 8, ttl_word, 2, &change);
    if (rw->flags & XLAT_RW_SRC) {
        replace(ip + 12, &rw->src, 4, &change);
    }
    if (rw->flags & XLAT_RW_DST) {
        replace(ip + 16, &rw->dst, 4, &change);
    }
    xlat_hdr_update_csum(ip + 10, change_delta(&change), false);
}

static void
rewrite_same_6(const struct xlat_rewrite *rw, uint8_t *ip)
{
    if (rw->flags & XLAT_RW_TOS_SET) {
        uint32_t word = ntohl(pk_get32(ip)) & ~(0xffu << 20);

        pk_put32(ip, htonl(word | (uint32_t) rw->tos << 20));
    }
    ip[7] -= !!(rw->flags & XLAT_RW_TTL_DEC);
    if (rw->flags & XLAT_RW_SRC) {
        memcpy(ip + 8, &rw->src, 16);
    }
    if (rw->flags & XLAT_RW_DST) {
        memcpy(ip + 24, &rw->dst, 16);
    }
}

static void
rewrite_same_family(const struct xlat_rewrite *rw, uint8_t *ip,
                    const struct pk_info *info)
{
    if (info->family == 4) {
        rewrite_same_4(rw, ip);
    } else {
        rewrite_same_6(rw, ip);
    }
}
