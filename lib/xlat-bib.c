/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "xlat-bib.h"

#include <stdlib.h>
#include <string.h>

#include "xlat-prefix.h"
#include "xlat-special.h"
#include "xlat-text.h"

#define ITEM_BYTES (INET6_ADDRSTRLEN + 10)

static bool
parse_proto(const char *text, uint8_t *proto)
{
    static const uint8_t protos[] = { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP };
    unsigned int i;

    if (!xlat_word_find("tcp|udp|icmp", text, &i)) {
        return false;
    }
    *proto = protos[i];
    return true;
}

/* Reads "ADDRESS:PORT" or "[ADDRESS]:PORT".  'text' changes meanwhile. */
static bool
parse_transport(char *text, struct xlat_prefix *address, uint16_t *port)
{
    char *colon = strrchr(text, ':');
    bool brackets = *text == '[';
    uint64_t value;
    char *end;
    bool ok;

    if (!colon || !xlat_uint_parse(colon + 1, 0, UINT16_MAX, &value)
        || (brackets && colon[-1] != ']')) {
        return false;
    }
    *port = value;
    end = colon - brackets;
    *end = '\0';
    ok = xlat_address_parse(text + brackets, brackets ? 6 : 4, address);
    *end = brackets ? ']' : ':';
    return ok;
}

static char *
set_inside(struct xlat_bib *bib, char *text)
{
    struct xlat_prefix address;
    struct xlat_ip6 ip;

    if (!parse_transport(text, &address, &bib->inside_port)) {
        return xlat_error("\"%s\" is not an inside address and port", text);
    }
    bib->family = address.family;
    bib->inside = (union pk_addr) { .u64 = { 0, 0 } };
    ip = address.ip;
    if (address.family == 6 ? xlat_ip6_is_unroutable(ip)
                            : xlat_ip4_is_unroutable(ip.hi >> 32)) {
        return xlat_error("\"%s\" is no host's address", text);
    }
    if (address.family == 6) {
        xlat_ip6_store(ip, &bib->inside);
    } else {
        bib->inside.in4 = htobe32(ip.hi >> 32);
    }
    return NULL;
}

static char *
set_outside(struct xlat_bib *bib, char *text)
{
    struct xlat_prefix address;

    if (!parse_transport(text, &address, &bib->outside_port)
        || address.family != 4 || !bib->outside_port) {
        return xlat_error("\"%s\" is not an IPv4 address and port", text);
    }
    bib->outside = address.ip.hi >> 32;
    return NULL;
}

static char *
set_tenant(struct xlat_bib *bib, const char *text)
{
    uint64_t tenant;

    if (strncmp(text, "tenant=", 7)
        || !xlat_uint_parse(text + 7, 0, UINT32_MAX, &tenant)) {
        return xlat_error("\"%s\" is not tenant=N", text);
    }
    bib->tenant = tenant;
    return NULL;
}

char *
xlat_bib_parse(const char *text, struct xlat_bib *bib)
{
    char item[ITEM_BYTES];
    char *error = NULL;
    int n = 0;

    *bib = (struct xlat_bib) { .proto = 0 };
    while (!error && xlat_list_next(&text, item, sizeof item)) {
        switch (n++) {
        case 0:
            error = parse_proto(item, &bib->proto) ? NULL
                    : xlat_error("\"%s\" is none of tcp, udp and icmp", item);
            break;
        case 1:
            error = set_inside(bib, item);
            break;
        case 2:
            error = set_outside(bib, item);
            break;
        case 3:
            error = set_tenant(bib, item);
            break;
        default:
            error = xlat_error("\"%s\" is too much", item);
        }
    }
    if (!error && n < 3) {
        error = xlat_error("expected PROTO,INSIDE:PORT,OUTSIDE:PORT");
    }
    return error;
}

int
xlat_bib_compare_inside(const void *a_, const void *b_)
{
    const struct xlat_bib *a = a_;
    const struct xlat_bib *b = b_;
    int order = memcmp(&a->inside, &b->inside, sizeof a->inside);

    return order ? order
           : a->tenant != b->tenant ? (a->tenant < b->tenant ? -1 : 1)
           : a->proto != b->proto ? a->proto - b->proto
           : a->inside_port - b->inside_port;
}

int
xlat_bib_compare_outside(const void *a_, const void *b_)
{
    const struct xlat_bib *a = a_;
    const struct xlat_bib *b = b_;

    return a->outside != b->outside ? (a->outside < b->outside ? -1 : 1)
           : a->proto != b->proto ? a->proto - b->proto
           : a->outside_port - b->outside_port;
}
