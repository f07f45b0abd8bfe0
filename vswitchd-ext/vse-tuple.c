/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include <config.h>

#include "vse-tuple.h"

#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "util.h"

/* Words that a tuple may have. */
#define MAX_WORDS 16

static char *parse_words(char *words[], size_t n, struct vse_tuple *);
static void put_endpoint(const struct vse_tuple *, const struct vse_endpoint *,
                         struct ds *);

char *
vse_tuple_parse(const char *s, struct vse_tuple *t)
{
    char *copy = xstrdup(s);
    char *words[MAX_WORDS];
    char *save = NULL;
    char *error;
    size_t n = 0;

    for (char *word = strtok_r(copy, ",", &save); word && n < MAX_WORDS;
         word = strtok_r(NULL, ",", &save)) {
        words[n++] = word;
    }
    error = parse_words(words, n, t);
    free(copy);
    return error;
}

void
vse_tuple_format(const struct vse_tuple *t, struct ds *ds)
{
    ds_put_cstr(ds, t->proto);
    put_endpoint(t, &t->src, ds);
    put_endpoint(t, &t->dst, ds);
}

static const struct proto {
    const char *name;
    uint8_t nw_proto;
} protos[] = {
    { "tcp", IPPROTO_TCP },
    { "udp", IPPROTO_UDP },
    { "sctp", IPPROTO_SCTP },
    { "icmp", IPPROTO_ICMP },
};

static const struct flag {
    const char *name;
    uint16_t bit;
} flags[] = {
    { "syn", TCP_SYN },
    { "ack", TCP_ACK },
    { "fin", TCP_FIN },
    { "rst", TCP_RST },
};

static bool
proto_parse(const char *name, struct vse_tuple *t)
{
    for (size_t i = 0; i < ARRAY_SIZE(protos); i++) {
        if (!strcmp(name, protos[i].name)) {
            t->proto = protos[i].name;
            t->nw_proto = protos[i].nw_proto;
            return true;
        }
    }
    return false;
}

/* Parses an address without a port, and the word behind it as that. */
static bool
pair_parse(const char *address, const char *port, struct vse_endpoint *e)
{
    if (!vse_endpoint_parse(address, e) || e->has_port
        || !vse_port_parse(port, &e->port)) {
        return false;
    }
    e->has_port = true;
    return true;
}

/* Parses addresses and ports, each a word.  Returns how many words these were,
 * 0 if they are none. */
static size_t
commas_parse(char *words[], size_t n, struct vse_tuple *t)
{
    t->commas = true;
    if (vse_tuple_is_icmp(t)) {
        return (n >= 3 && pair_parse(words[0], words[1], &t->src)
                && vse_endpoint_parse(words[2], &t->dst) && !t->dst.has_port
                ? 3 : 0);
    }
    return (n >= 4 && pair_parse(words[0], words[1], &t->src)
            && pair_parse(words[2], words[3], &t->dst) ? 4 : 0);
}

/* Likewise, for ports behind their addresses. */
static size_t
colons_parse(char *words[], size_t n, struct vse_tuple *t)
{
    t->commas = false;
    if (n < 2 || !vse_endpoint_parse(words[0], &t->src)
        || !vse_endpoint_parse(words[1], &t->dst)) {
        return 0;
    } else if (!vse_tuple_is_icmp(t)) {
        return t->src.has_port && t->dst.has_port ? 2 : 0;
    } else if (t->src.has_port == t->dst.has_port) {
        return 0;
    }
    /* The identifier may stand behind either. */
    if (t->dst.has_port) {
        t->src.port = t->dst.port;
    }
    t->src.has_port = true;
    t->dst.has_port = false;
    return 2;
}

/* Parses what may stand behind the addresses. */
static bool
option_parse(const char *word, struct vse_tuple *t)
{
    if (!strncmp(word, "tenant=", 7)) {
        return str_to_uint(word + 7, 10, &t->tenant);
    }
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
        if (!strcmp(word, flags[i].name)) {
            t->tcp_flags |= flags[i].bit;
            return t->nw_proto == IPPROTO_TCP;
        }
    }
    return false;
}

static char *
parse_words(char *words[], size_t n, struct vse_tuple *t)
{
    size_t used;

    memset(t, 0, sizeof *t);
    if (!n || !proto_parse(words[0], t)
        || !((used = commas_parse(words + 1, n - 1, t))
             || (used = colons_parse(words + 1, n - 1, t)))) {
        return xstrdup("neither an address, nor \"PROTO,SRC:PORT,DST:PORT\" "
                       "with PROTO tcp, udp or sctp, nor \"icmp,SRC:ID,DST\"");
    } else if (t->src.address.family != t->dst.address.family) {
        return xstrdup("an IPv4 address and an IPv6 address");
    }
    for (size_t i = 1 + used; i < n; i++) {
        if (!option_parse(words[i], t)) {
            return xasprintf("\"%s\" is neither tenant=N nor, of TCP, syn, "
                             "ack, fin or rst", words[i]);
        }
    }
    if (!t->tcp_flags) {
        t->tcp_flags = TCP_SYN;
    }
    return NULL;
}

static void
put_endpoint(const struct vse_tuple *t, const struct vse_endpoint *e,
             struct ds *ds)
{
    struct vse_endpoint address = *e;

    ds_put_char(ds, ',');
    if (t->commas && e->has_port) {
        address.has_port = false;
        vse_endpoint_format(&address, ds);
        ds_put_format(ds, ",%"PRIu16, e->port);
    } else {
        vse_endpoint_format(e, ds);
    }
}
