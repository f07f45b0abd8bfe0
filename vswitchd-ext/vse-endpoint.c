/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include <config.h>

#include "vse-endpoint.h"

#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "util.h"

/* Reads the 'n' bytes at 's' as an address of 'family', or of any if that is
 * 0. */
static bool
address_parse(const char *s, size_t n, int family, struct xlat_prefix *address)
{
    char text[INET6_ADDRSTRLEN];

    if (n >= sizeof text) {
        return false;
    }
    memcpy(text, s, n);
    text[n] = '\0';
    return xlat_address_parse(text, family, address);
}

bool
vse_port_parse(const char *s, uint16_t *port)
{
    unsigned int value;

    if (!s[0] || s[strspn(s, "0123456789")] || !str_to_uint(s, 10, &value)
        || value > UINT16_MAX) {
        return false;
    }
    *port = value;
    return true;
}

/* Reads "", or ':' and a port. */
static bool
suffix_parse(const char *s, struct vse_endpoint *e)
{
    e->has_port = s[0];
    e->port = 0;
    return !s[0] || (s[0] == ':' && vse_port_parse(s + 1, &e->port));
}

bool
vse_endpoint_parse(const char *s, struct vse_endpoint *e)
{
    if (s[0] == '[') {
        size_t n = strcspn(s, "]");

        return (s[n] && address_parse(s + 1, n - 1, 6, &e->address)
                && suffix_parse(s + n + 1, e));
    }

    size_t n = strcspn(s, ":");
    if (s[n] && strchr(s + n + 1, ':')) {
        return (address_parse(s, strlen(s), 6, &e->address)
                && suffix_parse("", e));
    }
    return address_parse(s, n, 4, &e->address) && suffix_parse(s + n, e);
}

void
vse_endpoint_format(const struct vse_endpoint *e, struct ds *ds)
{
    char text[XLAT_PREFIX_TEXT_SIZE];
    bool brackets = e->has_port && e->address.family == 6;

    xlat_prefix_format(&e->address, text);
    ds_put_cstr(ds, brackets ? "[" : "");
    ds_put_buffer(ds, text, strcspn(text, "/"));
    ds_put_cstr(ds, brackets ? "]" : "");
    if (e->has_port) {
        ds_put_format(ds, ":%"PRIu16, e->port);
    }
}

struct vse_endpoint
vse_endpoint_load(int family, const void *ip, uint16_t port)
{
    struct vse_endpoint e = {
        .address = { .family = family, .len = family == 4 ? 32 : 128 },
        .has_port = true,
        .port = port,
    };

    if (family == 4) {
        e.address.ip.hi = (uint64_t) xlat_ip4_load(ip) << 32;
    } else {
        e.address.ip = xlat_ip6_load(ip);
    }
    return e;
}

bool
vse_endpoint_matches(const struct vse_endpoint *pattern,
                     const struct vse_endpoint *e)
{
    return (pattern->address.family == e->address.family
            && pattern->address.ip.hi == e->address.ip.hi
            && pattern->address.ip.lo == e->address.ip.lo
            && (!pattern->has_port || pattern->port == e->port));
}
