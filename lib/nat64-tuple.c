/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Which tuple a packet belongs to (RFC 6146, 3.4), and whether the zone
 * translates between such hosts at all. */

#include "nat64-way.h"
#include "pk-csum.h"
#include "xlat-special.h"

#define ICMP_ID_OFS 4

/* ------------------------------------------------------------------------
 * Addresses.
 * ------------------------------------------------------------------------ */

bool
nat64_is_from_inside(const struct xlat_way *way)
{
    const uint8_t *ip = way->job->pk.data;

    return (way->info.family == 6
            ? !nat64_is_44(way)
            : nat64_is_44(way)
              && xlat_deny_has4(&way->zone->stateful->inside4,
                                xlat_ip4_load(ip + 12)));
}

static bool
is_denied4(const struct xlat_zone *zone, uint32_t ip)
{
    return zone->addrs.deny.n && xlat_deny_has4(&zone->addrs.deny, ip);
}

static bool
is_denied6(const struct xlat_zone *zone, struct xlat_ip6 ip)
{
    return zone->addrs.deny.n && xlat_deny_has6(&zone->addrs.deny, ip);
}

/* Returns whether 'ip4' may not be represented by 'prefix' (RFC 6052, 3.1). */
static bool
is_banned(const struct xlat_zone *zone, const struct xlat_6052 *prefix,
          uint32_t ip4)
{
    return (prefix->global_only && !zone->set.wkp_non_global
            && xlat_ip4_is_non_global(ip4));
}

/* Returns the number of the pool6 prefix that 'ip' is in, or -1. */
static int
find_pool6(const struct xlat_zone *zone, struct xlat_ip6 ip)
{
    for (size_t i = 0; i < zone->addrs.n_pool6; i++) {
        if (xlat_prefix_contains(&zone->addrs.pool6[i].prefix, ip)) {
            return i;
        }
    }
    return -1;
}

/* Takes the IPv4 address out of 'ip', an IPv6 address of a host outside, with
 * the place of its prefix. */
static enum xlat_drop
extract(const struct xlat_zone *zone, struct xlat_ip6 ip, uint32_t *ip4,
        uint8_t *place)
{
    int i = find_pool6(zone, ip);

    if (i < 0) {
        return XLAT_DROP_NO_MAPPING;
    }
    *ip4 = xlat_6052_extract(&zone->addrs.pool6[i], ip);
    *place = zone->stateful->prefix_places[i];
    if (xlat_ip4_is_unroutable(*ip4)
        || is_banned(zone, &zone->addrs.pool6[i], *ip4)) {
        return XLAT_DROP_BAD_EMBEDDED;
    }
    return (is_denied6(zone, ip) || is_denied4(zone, *ip4)
            ? XLAT_DROP_DENIED : XLAT_OK);
}

/* Reads the addresses of the packet of 'way', from inside a nat44 zone, into
 * 't'. */
static enum xlat_drop
read_out_44(const struct xlat_way *way, struct nat64_tuple *t)
{
    const uint8_t *ip = way->job->pk.data;
    uint32_t src = xlat_ip4_load(ip + 12);
    uint32_t dst = xlat_ip4_load(ip + 16);

    if (xlat_ip4_is_unroutable(dst)) {
        return XLAT_DROP_NO_MAPPING;
    } else if (xlat_ip4_is_unroutable(src)) {
        return XLAT_DROP_BAD_SOURCE;
    } else if (is_denied4(way->zone, src) || is_denied4(way->zone, dst)) {
        return XLAT_DROP_DENIED;
    }
    t->inside = nat64_inside4(pk_get32(ip + 12));
    t->remote = pk_get32(ip + 16);
    t->sort = 0;
    return XLAT_OK;
}

/* Likewise, of a packet from inside a nat64 zone. */
static enum xlat_drop
read_out_64(const struct xlat_way *way, struct nat64_tuple *t)
{
    const uint8_t *ip = way->job->pk.data;
    struct xlat_ip6 src = xlat_ip6_load(ip + 8);
    uint8_t place;
    uint32_t dst4;
    enum xlat_drop drop = extract(way->zone, xlat_ip6_load(ip + 24), &dst4,
                                  &place);

    if (drop != XLAT_OK) {
        return drop;
    } else if (xlat_ip6_is_unroutable(src)) {
        return XLAT_DROP_BAD_SOURCE;
    } else if (find_pool6(way->zone, src) >= 0) {
        return XLAT_DROP_POOL6_SOURCE;
    } else if (is_denied6(way->zone, src)) {
        return XLAT_DROP_DENIED;
    }
    memcpy(&t->inside, ip + 8, sizeof t->inside);
    t->remote = htobe32(dst4);
    t->sort = place * NAT64_N_SORTS;
    return XLAT_OK;
}

enum xlat_drop
nat64_read_out(const struct xlat_way *way, struct nat64_tuple *t)
{
    return nat64_is_44(way) ? read_out_44(way, t) : read_out_64(way, t);
}

enum xlat_drop
nat64_read_in(const struct xlat_way *way, struct nat64_tuple *t)
{
    const uint8_t *ip = way->job->pk.data;
    uint32_t src = xlat_ip4_load(ip + 12);
    uint32_t dst = xlat_ip4_load(ip + 16);

    if (way->info.family != 4
        || !nat64_pool_has(&way->zone->stateful->pool, dst)) {
        return XLAT_DROP_NO_MAPPING;
    } else if (xlat_ip4_is_unroutable(src)) {
        return XLAT_DROP_BAD_SOURCE;
    } else if (is_denied4(way->zone, src) || is_denied4(way->zone, dst)) {
        return XLAT_DROP_DENIED;
    }
    t->remote = htobe32(src);
    t->outside = htobe32(dst);
    t->sort = 0;
    return XLAT_OK;
}

enum xlat_drop
nat64_read_quoted_in(const struct xlat_way *way, const uint8_t *quote,
                     struct nat64_tuple *t)
{
    if (nat64_is_44(way)) {
        t->remote = pk_get32(quote + 12);
        t->inside = nat64_inside4(pk_get32(quote + 16));
    } else {
        uint32_t remote;
        uint8_t place;

        if (extract(way->zone, xlat_ip6_load(quote + 8), &remote, &place)
            != XLAT_OK) {
            return XLAT_DROP_ICMP_INNER;
        }
        memcpy(&t->inside, quote + 24, 16);
        t->remote = htobe32(remote);
        t->sort = place * NAT64_N_SORTS;
    }
    return XLAT_OK;
}

enum xlat_drop
nat64_check_hosts(const struct xlat_zone *zone, const struct nat64_tuple *t)
{
    const struct nat64 *nat64 = zone->stateful->nat64;
    uint32_t remote = be32toh(t->remote);
    union pk_addr remote6;

    if (is_denied4(zone, remote)) {
        return XLAT_DROP_DENIED;
    } else if (nat64->shape.inside_family == 4) {
        return (is_denied4(zone, be32toh(t->inside.in4))
                ? XLAT_DROP_DENIED : XLAT_OK);
    } else if (is_banned(zone, &nat64->prefixes[nat64_sort_prefix(t->sort)],
                         remote)) {
        return XLAT_DROP_BAD_EMBEDDED;
    }
    nat64_remote(nat64, t->sort, t->remote, &remote6);
    return (is_denied6(zone, xlat_ip6_load(&t->inside))
            || is_denied6(zone, xlat_ip6_load(&remote6))
            ? XLAT_DROP_DENIED : XLAT_OK);
}

/* ------------------------------------------------------------------------
 * Ports.
 * ------------------------------------------------------------------------ */

bool
nat64_add_proto(const struct pk_info *info, struct nat64_tuple *t)
{
    if (info->proto == IPPROTO_TCP) {
        t->sort += NAT64_TCP;
    } else if (info->proto == IPPROTO_UDP) {
        t->sort += NAT64_UDP;
    } else if (xlat_is_icmp(info)) {
        t->sort += NAT64_ICMP;
    } else {
        return false;
    }
    return true;
}

uint32_t
nat64_ports_ofs(const struct nat64_tuple *t)
{
    return nat64_sort_proto(t->sort) == NAT64_ICMP ? ICMP_ID_OFS : 0;
}

void
nat64_read_ports(const uint8_t *l4, enum nat64_dir dir, struct nat64_tuple *t)
{
    if (nat64_sort_proto(t->sort) == NAT64_ICMP) {
        t->inside_port = t->outside_port = pk_get16(l4 + ICMP_ID_OFS);
        t->remote_port = 0;
    } else if (dir == NAT64_OUT) {
        t->inside_port = pk_get16(l4);
        t->remote_port = pk_get16(l4 + 2);
    } else {
        t->remote_port = pk_get16(l4);
        t->outside_port = pk_get16(l4 + 2);
    }
}

bool
nat64_has_ports(const struct pk_info *info, const struct nat64_tuple *t)
{
    uint32_t bytes = nat64_sort_proto(t->sort) == NAT64_ICMP
                     ? ICMP_ID_OFS + 2 : 4;

    return pk_has_l4(info) && pk_l4_bytes(info) >= bytes;
}
