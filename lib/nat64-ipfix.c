/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "nat64-ipfix.h"

#include <endian.h>
#include <netinet/in.h>
#include <string.h>

#include "nat64-event.h"
#include "xlat.h"

#define IPFIX_VERSION 10
#define MSG_HDR_BYTES 16
#define SET_HDR_BYTES 4
#define TEMPLATE_SET 2           /* RFC 7011, 3.3.2. */
#define FIRST_TEMPLATE 256

/* Information elements, by the numbers that IANA has given them. */
enum element {
    PROTOCOL_IDENTIFIER = 4,
    SOURCE_IPV4_ADDRESS = 8,
    SOURCE_IPV6_ADDRESS = 27,
    SOURCE_IPV6_PREFIX_LENGTH = 29,
    SOURCE_TRANSPORT_PORT = 7,
    POST_NAT_SOURCE_IPV4_ADDRESS = 225,
    POST_NAPT_SOURCE_TRANSPORT_PORT = 227,
    NAT_EVENT = 230,
    INGRESS_VRFID = 234,
    NAT_POOL_ID = 283,
    OBSERVATION_TIME_MILLISECONDS = 323,
    PORT_RANGE_START = 361,
    PORT_RANGE_END = 362,
    NAT_QUOTA_EXCEEDED_EVENT = 466,
    MAX_SESSION_ENTRIES = 471,
    MAX_BIB_ENTRIES = 472,
    MAX_ENTRIES_PER_USER = 473,
    MAX_SUBSCRIBERS = 474,
};

/* Values of natEvent, ... */
enum {
    NAT44_SESSION_CREATE = 4,    /* Deletion is one more, as of those that */
    NAT64_SESSION_CREATE = 6,    /* follow. */
    NAT44_BIB_CREATE = 8,
    NAT64_BIB_CREATE = 10,
    PORTS_EXHAUSTED = 12,
    QUOTA_EXCEEDED = 13,
    PORT_BLOCK_ALLOCATION = 16,
};

/* ... and of natQuotaExceededEvent. */
enum {
    QUOTA_SESSIONS = 1,
    QUOTA_BIBS = 2,
    QUOTA_PER_USER = 3,
    QUOTA_SUBSCRIBERS = 4,
};

struct field {
    uint16_t element;
    uint16_t bytes;
};

#define MAX_FIELDS 8

/* Kinds of records: of hosts with IPv6 addresses, and right behind each the
 * same of hosts with IPv4 addresses, if it has an address. */
enum record {
    SESSION6,
    SESSION4,
    BLOCK6,
    BLOCK4,
    EXHAUSTED,
    LIMIT_SESSIONS,
    LIMIT_BIBS,
    LIMIT_SUBSCRIBERS,
    LIMIT_USER6,
    LIMIT_USER4,
    N_RECORDS
};

#define EVENT { OBSERVATION_TIME_MILLISECONDS, 8 }, { NAT_EVENT, 1 }
#define SOURCE6 { SOURCE_IPV6_ADDRESS, 16 }
#define SOURCE4 { SOURCE_IPV4_ADDRESS, 4 }
#define SESSION { PROTOCOL_IDENTIFIER, 1 }, { SOURCE_TRANSPORT_PORT, 2 }, \
                { POST_NAT_SOURCE_IPV4_ADDRESS, 4 },                      \
                { POST_NAPT_SOURCE_TRANSPORT_PORT, 2 },                   \
                { INGRESS_VRFID, 4 }
#define BLOCK { POST_NAT_SOURCE_IPV4_ADDRESS, 4 }, { PORT_RANGE_START, 2 }, \
              { PORT_RANGE_END, 2 }, { INGRESS_VRFID, 4 }
#define QUOTA EVENT, { NAT_QUOTA_EXCEEDED_EVENT, 4 }

/* What they have, in this order.  Template FIRST_TEMPLATE + i is that of
 * 'templates[i]'. */
static const struct field templates[N_RECORDS][MAX_FIELDS + 1] = {
    [SESSION6] = { EVENT, SOURCE6, SESSION },
    [SESSION4] = { EVENT, SOURCE4, SESSION },
    [BLOCK6] = { EVENT, SOURCE6, { SOURCE_IPV6_PREFIX_LENGTH, 1 }, BLOCK },
    [BLOCK4] = { EVENT, SOURCE4, BLOCK },
    [EXHAUSTED] = { EVENT, { NAT_POOL_ID, 4 }, { PROTOCOL_IDENTIFIER, 1 } },
    [LIMIT_SESSIONS] = { QUOTA, { MAX_SESSION_ENTRIES, 4 } },
    [LIMIT_BIBS] = { QUOTA, { MAX_BIB_ENTRIES, 4 } },
    [LIMIT_SUBSCRIBERS] = { QUOTA, { MAX_SUBSCRIBERS, 4 } },
    [LIMIT_USER6] = { QUOTA, { MAX_ENTRIES_PER_USER, 4 }, SOURCE6,
                      { INGRESS_VRFID, 4 } },
    [LIMIT_USER4] = { QUOTA, { MAX_ENTRIES_PER_USER, 4 }, SOURCE4,
                      { INGRESS_VRFID, 4 } },
};

/* ------------------------------------------------------------------------
 * What an event is.
 * ------------------------------------------------------------------------ */

static enum record
record_of_limit(enum xlat_drop drop)
{
    switch ((int) drop) {
    case XLAT_DROP_MAX_PORTS:
        return LIMIT_BIBS;
    case XLAT_DROP_SUBSCRIBERS:
        return LIMIT_SUBSCRIBERS;
    case XLAT_DROP_SUBSCRIBER_PORTS:
    case XLAT_DROP_SUBSCRIBER_SESSIONS:
        return LIMIT_USER6;
    default:
        return N_RECORDS;
    }
}

/* Returns the kind of record that 'e' makes, or N_RECORDS. */
static enum record
record_of(const struct nat64_event *e)
{
    enum record record;

    switch (e->kind) {
    case NAT64_EVENT_SESSION_ADD:
    case NAT64_EVENT_SESSION_DEL:
    case NAT64_EVENT_BINDING_ADD:
    case NAT64_EVENT_BINDING_DEL:
        record = SESSION6;
        break;
    case NAT64_EVENT_BLOCK_ADD:
    case NAT64_EVENT_BLOCK_DEL:
        record = BLOCK6;
        break;
    case NAT64_EVENT_NO_PORT:
        return EXHAUSTED;
    case NAT64_EVENT_TABLE_FULL:
        return LIMIT_SESSIONS;
    default:
        record = record_of_limit(e->drop);
        if (record != LIMIT_USER6) {
            return record;
        }
        break;
    }
    return e->inside_family == 6 ? record : record + 1;
}

static uint8_t
nat_event(const struct nat64_event *e)
{
    bool is_44 = e->inside_family == 4;

    switch (e->kind) {
    case NAT64_EVENT_SESSION_ADD:
        return is_44 ? NAT44_SESSION_CREATE : NAT64_SESSION_CREATE;
    case NAT64_EVENT_SESSION_DEL:
        return (is_44 ? NAT44_SESSION_CREATE : NAT64_SESSION_CREATE) + 1;
    case NAT64_EVENT_BINDING_ADD:
        return is_44 ? NAT44_BIB_CREATE : NAT64_BIB_CREATE;
    case NAT64_EVENT_BINDING_DEL:
        return (is_44 ? NAT44_BIB_CREATE : NAT64_BIB_CREATE) + 1;
    case NAT64_EVENT_BLOCK_ADD:
        return PORT_BLOCK_ALLOCATION;
    case NAT64_EVENT_BLOCK_DEL:
        return PORT_BLOCK_ALLOCATION + 1;
    case NAT64_EVENT_NO_PORT:
        return PORTS_EXHAUSTED;
    default:
        return QUOTA_EXCEEDED;
    }
}

static uint32_t
quota_of(const struct nat64_event *e)
{
    switch (record_of(e)) {
    case LIMIT_SESSIONS:
        return QUOTA_SESSIONS;
    case LIMIT_BIBS:
        return QUOTA_BIBS;
    case LIMIT_SUBSCRIBERS:
        return QUOTA_SUBSCRIBERS;
    default:
        return QUOTA_PER_USER;
    }
}

/* Returns the value of 'element', which is none of the inside address. */
static uint64_t
value_of(const struct nat64_ipfix *ipfix, enum element element,
         const struct nat64_event *e, uint64_t time_ms)
{
    switch ((int) element) {
    case PROTOCOL_IDENTIFIER:
        return e->inside_family == 6 && e->proto == IPPROTO_ICMP
               ? IPPROTO_ICMPV6 : e->proto;
    case SOURCE_IPV6_PREFIX_LENGTH:
        return e->inside_bits;
    case SOURCE_TRANSPORT_PORT:
        return e->inside_port;
    case POST_NAT_SOURCE_IPV4_ADDRESS:
        return be32toh(e->outside);
    case POST_NAPT_SOURCE_TRANSPORT_PORT:
    case PORT_RANGE_START:
        return e->outside_port;
    case PORT_RANGE_END:
        return e->last_port;
    case NAT_EVENT:
        return nat_event(e);
    case INGRESS_VRFID:
        return e->tenant;
    case NAT_POOL_ID:
        return ipfix->domain;
    case OBSERVATION_TIME_MILLISECONDS:
        return time_ms;
    case NAT_QUOTA_EXCEEDED_EVENT:
        return quota_of(e);
    default:
        return e->limit;
    }
}

/* ------------------------------------------------------------------------
 * Bytes.
 * ------------------------------------------------------------------------ */

/* Puts the lowest 'n' bytes of 'value' at the end, the highest first. */
static void
put(struct nat64_ipfix *ipfix, uint64_t value, uint16_t n)
{
    uint64_t be = htobe64(value);

    memcpy(&ipfix->message[ipfix->bytes], (uint8_t *) &be + 8 - n, n);
    ipfix->bytes += n;
}

/* Likewise, at 'ofs', where there is something. */
static void
put_at(struct nat64_ipfix *ipfix, uint16_t ofs, uint64_t value, uint16_t n)
{
    uint16_t bytes = ipfix->bytes;

    ipfix->bytes = ofs;
    put(ipfix, value, n);
    ipfix->bytes = bytes;
}

static void
close_set(struct nat64_ipfix *ipfix)
{
    if (ipfix->set_id) {
        put_at(ipfix, ipfix->set_ofs + 2, ipfix->bytes - ipfix->set_ofs, 2);
        ipfix->set_id = 0;
    }
}

/* Makes room for 'n' bytes of set 'id'.  Returns false if there is none. */
static bool
open_set(struct nat64_ipfix *ipfix, uint16_t id, size_t n)
{
    size_t bytes = ipfix->bytes ? ipfix->bytes : MSG_HDR_BYTES;

    if (ipfix->set_id != id) {
        n += SET_HDR_BYTES;
    }
    if (bytes + n > NAT64_IPFIX_MAX) {
        return false;
    }
    ipfix->bytes = bytes;
    if (ipfix->set_id != id) {
        close_set(ipfix);
        ipfix->set_id = id;
        ipfix->set_ofs = ipfix->bytes;
        put(ipfix, id, 2);
        put(ipfix, 0, 2);
    }
    return true;
}

static size_t
n_fields(enum record record)
{
    size_t n = 0;

    while (templates[record][n].element) {
        n++;
    }
    return n;
}

static size_t
n_bytes(enum record record)
{
    size_t n = 0;

    for (const struct field *f = templates[record]; f->element; f++) {
        n += f->bytes;
    }
    return n;
}

void
nat64_ipfix_init(struct nat64_ipfix *ipfix, uint32_t domain)
{
    memset(ipfix, 0, sizeof *ipfix);
    ipfix->domain = domain;
}

bool
nat64_ipfix_put_templates(struct nat64_ipfix *ipfix)
{
    size_t n = 0;

    for (int i = 0; i < N_RECORDS; i++) {
        n += 4 + 4 * n_fields(i);
    }
    if (!open_set(ipfix, TEMPLATE_SET, n)) {
        return false;
    }
    for (int i = 0; i < N_RECORDS; i++) {
        put(ipfix, FIRST_TEMPLATE + i, 2);
        put(ipfix, n_fields(i), 2);
        for (const struct field *f = templates[i]; f->element; f++) {
            put(ipfix, f->element, 2);
            put(ipfix, f->bytes, 2);
        }
    }
    return true;
}

bool
nat64_ipfix_put(struct nat64_ipfix *ipfix, const struct nat64_event *e,
                uint64_t time_ms)
{
    enum record record = record_of(e);

    if (record == N_RECORDS) {
        return true;
    } else if (!open_set(ipfix, FIRST_TEMPLATE + record, n_bytes(record))) {
        return false;
    }
    for (const struct field *f = templates[record]; f->element; f++) {
        if (f->element == SOURCE_IPV6_ADDRESS
            || f->element == SOURCE_IPV4_ADDRESS) {
            memcpy(&ipfix->message[ipfix->bytes], &e->inside, f->bytes);
            ipfix->bytes += f->bytes;
        } else {
            put(ipfix, value_of(ipfix, f->element, e, time_ms), f->bytes);
        }
    }
    ipfix->n_records++;
    return true;
}

size_t
nat64_ipfix_finish(struct nat64_ipfix *ipfix, uint32_t now_s)
{
    size_t bytes = ipfix->bytes;

    if (bytes) {
        close_set(ipfix);
        put_at(ipfix, 0, IPFIX_VERSION, 2);
        put_at(ipfix, 2, bytes, 2);
        put_at(ipfix, 4, now_s, 4);
        put_at(ipfix, 8, ipfix->sequence, 4);
        put_at(ipfix, 12, ipfix->domain, 4);
        ipfix->sequence += ipfix->n_records;
        ipfix->n_records = 0;
        ipfix->bytes = 0;
    }
    return bytes;
}
