/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Messages of IPFIX, read back by a slow collector that knows nothing but
 * RFC 7011: templates first, lengths, counts, and what fields say. */

#include <arpa/inet.h>
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "nat64-event.h"
#include "nat64-ipfix.h"
#include "xlat.h"
#include "zone-util.h"

/* ------------------------------------------------------------------------
 * The collector.
 * ------------------------------------------------------------------------ */

#define MAX_FIELDS 20
#define MAX_TEMPLATES 30

struct template {
    uint16_t id;
    uint16_t n;
    uint16_t elements[MAX_FIELDS];
    uint16_t lengths[MAX_FIELDS];
};

/* A record, and its fields by their elements; one that it has not is all
 * ones. */
struct record {
    uint16_t template;
    uint64_t values[600];
    uint8_t address6[16];
};

struct collector {
    struct template templates[MAX_TEMPLATES];
    size_t n_templates;
    uint32_t sequence;           /* That the next message must have. */
    uint32_t domain, time;       /* Of the last message. */
    struct record records[200];  /* Likewise. */
    size_t n_records;
};

static uint64_t
get(const uint8_t *p, size_t n)
{
    uint64_t value = 0;

    while (n--) {
        value = value << 8 | *p++;
    }
    return value;
}

static struct template *
find_template(struct collector *c, uint16_t id)
{
    for (size_t i = 0; i < c->n_templates; i++) {
        if (c->templates[i].id == id) {
            return &c->templates[i];
        }
    }
    return NULL;
}

static void
read_templates(struct collector *c, const uint8_t *p, const uint8_t *end)
{
    while (p < end) {
        struct template new = { .id = get(p, 2), .n = get(p + 2, 2) };
        struct template *old = find_template(c, new.id);

        ck_assert_uint_ge(new.id, 256);
        ck_assert(new.n > 0 && new.n <= MAX_FIELDS);
        p += 4;
        for (int i = 0; i < new.n; i++, p += 4) {
            ck_assert(end - p >= 4);
            new.elements[i] = get(p, 2);
            new.lengths[i] = get(p + 2, 2);
            ck_assert_uint_lt(new.elements[i], 600);
        }
        if (old) {
            ck_assert_mem_eq(old, &new, sizeof new);
        } else {
            ck_assert_uint_lt(c->n_templates, MAX_TEMPLATES);
            c->templates[c->n_templates++] = new;
        }
    }
    ck_assert(p == end);
}

static void
read_records(struct collector *c, uint16_t id, const uint8_t *p,
             const uint8_t *end)
{
    const struct template *t = find_template(c, id);

    ck_assert_msg(t, "no template %u before its records", id);
    while (p < end) {
        struct record *r = &c->records[c->n_records++];

        memset(r, 0xff, sizeof *r);
        r->template = id;
        for (int i = 0; i < t->n; i++) {
            ck_assert(end - p >= t->lengths[i]);
            if (t->lengths[i] == 16) {
                memcpy(r->address6, p, 16);
            }
            r->values[t->elements[i]] = get(p, t->lengths[i]);
            p += t->lengths[i];
        }
    }
    ck_assert(p == end);
}

/* Reads the message of 'n' bytes at 'p'. */
static void
collect(struct collector *c, const uint8_t *p, size_t n)
{
    const uint8_t *end = p + n;

    c->n_records = 0;
    ck_assert(n >= 16 && n <= NAT64_IPFIX_MAX);
    ck_assert_uint_eq(get(p, 2), 10);
    ck_assert_uint_eq(get(p + 2, 2), n);
    c->time = get(p + 4, 4);
    ck_assert_uint_eq(get(p + 8, 4), c->sequence);
    c->domain = get(p + 12, 4);
    for (p += 16; p < end; ) {
        uint16_t id = get(p, 2), length = get(p + 2, 2);

        ck_assert(length > 4 && length <= end - p);
        if (id == 2) {
            read_templates(c, p + 4, p + length);
        } else {
            ck_assert_uint_ge(id, 256);
            read_records(c, id, p + 4, p + length);
        }
        p += length;
    }
    c->sequence += c->n_records;
}

static void
finish(struct nat64_ipfix *ipfix, struct collector *c, uint32_t now_s)
{
    size_t n = nat64_ipfix_finish(ipfix, now_s);

    collect(c, ipfix->message, n);
    ck_assert_uint_eq(c->time, now_s);
    ck_assert_uint_eq(c->domain, ipfix->domain);
}

/* ------------------------------------------------------------------------
 * Events.
 * ------------------------------------------------------------------------ */

static struct nat64_event
event_of(enum nat64_event_kind kind, uint8_t family)
{
    struct nat64_event e = {
        .kind = kind,
        .proto = IPPROTO_UDP,
        .inside_family = family,
        .tenant = 0x01020304,
        .outside = inet_addr("192.0.2.1"),
        .inside_port = 4000,
        .outside_port = 5000,
        .last_port = 5063,
        .inside_bits = family == 6 ? 64 : 32,
        .limit = 77,
    };

    if (family == 6) {
        inet_pton(AF_INET6, "2001:db8::1", &e.inside);
    } else {
        e.inside.in4 = inet_addr("10.1.2.3");
    }
    return e;
}

/* Puts an event of 'kind', checks what all records have, with 'nat_event',
 * and returns it as it has arrived. */
static const struct record *
deliver(struct nat64_ipfix *ipfix, struct collector *c,
        const struct nat64_event *e, uint8_t nat_event)
{
    const struct record *r = &c->records[0];

    ck_assert(nat64_ipfix_put(ipfix, e, UINT64_C(1700000000123)));
    finish(ipfix, c, 1700000001);
    ck_assert_uint_eq(c->n_records, 1);
    ck_assert_uint_eq(r->values[323], UINT64_C(1700000000123));
    ck_assert_uint_eq(r->values[230], nat_event);
    return r;
}

static void
check_inside(const struct record *r, uint8_t family)
{
    if (family == 6) {
        struct in6_addr ip;

        inet_pton(AF_INET6, "2001:db8::1", &ip);
        ck_assert_mem_eq(r->address6, &ip, 16);
        ck_assert_uint_eq(r->values[8], UINT64_MAX);
    } else {
        ck_assert_uint_eq(r->values[8], 0x0a010203);
        ck_assert_uint_eq(r->values[27], UINT64_MAX);
    }
    ck_assert_uint_eq(r->values[234], 0x01020304);
}

static void
begin(struct nat64_ipfix *ipfix, struct collector *c)
{
    memset(c, 0, sizeof *c);
    nat64_ipfix_init(ipfix, 4711);
    ck_assert_uint_eq(nat64_ipfix_finish(ipfix, 1), 0);
    ck_assert(nat64_ipfix_put_templates(ipfix));
    finish(ipfix, c, 1700000000);
    ck_assert_uint_eq(c->n_records, 0);
}

/* RFC 8158, 5.5 and 5.6: the events of sessions and bindings. */
START_TEST(sessions)
{
    static const struct {
        enum nat64_event_kind kind;
        uint8_t family, nat_event;
    } cases[] = {
        { NAT64_EVENT_SESSION_ADD, 4, 4 }, { NAT64_EVENT_SESSION_DEL, 4, 5 },
        { NAT64_EVENT_SESSION_ADD, 6, 6 }, { NAT64_EVENT_SESSION_DEL, 6, 7 },
        { NAT64_EVENT_BINDING_ADD, 4, 8 }, { NAT64_EVENT_BINDING_DEL, 4, 9 },
        { NAT64_EVENT_BINDING_ADD, 6, 10 },
        { NAT64_EVENT_BINDING_DEL, 6, 11 },
    };
    static struct nat64_ipfix ipfix;
    static struct collector c;

    begin(&ipfix, &c);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct nat64_event e = event_of(cases[i].kind, cases[i].family);
        const struct record *r = deliver(&ipfix, &c, &e, cases[i].nat_event);

        check_inside(r, cases[i].family);
        ck_assert_uint_eq(r->values[4], IPPROTO_UDP);
        ck_assert_uint_eq(r->values[7], 4000);
        ck_assert_uint_eq(r->values[225], 0xc0000201);
        ck_assert_uint_eq(r->values[227], 5000);

        /* No destination (RFC 6888, REQ-12). */
        ck_assert_uint_eq(r->values[11], UINT64_MAX);
        ck_assert_uint_eq(r->values[12], UINT64_MAX);
        ck_assert_uint_eq(r->values[28], UINT64_MAX);

        e.proto = IPPROTO_ICMP;
        r = deliver(&ipfix, &c, &e, cases[i].nat_event);
        ck_assert_uint_eq(r->values[4], cases[i].family == 6
                                        ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
    }
}
END_TEST

START_TEST(blocks)
{
    static struct nat64_ipfix ipfix;
    static struct collector c;

    begin(&ipfix, &c);
    for (uint8_t family = 4; family <= 6; family += 2) {
        for (int i = 0; i < 2; i++) {
            struct nat64_event e = event_of(NAT64_EVENT_BLOCK_ADD + i, family);
            const struct record *r = deliver(&ipfix, &c, &e, 16 + i);

            check_inside(r, family);
            ck_assert_uint_eq(r->values[225], 0xc0000201);
            ck_assert_uint_eq(r->values[361], 5000);
            ck_assert_uint_eq(r->values[362], 5063);
            ck_assert_uint_eq(r->values[29], family == 6 ? 64 : UINT64_MAX);
        }
    }
}
END_TEST

/* Exceeded quotas, with the element that has the limit. */
START_TEST(limits)
{
    static const struct {
        enum xlat_drop drop;
        uint8_t quota;
        uint16_t element;
    } cases[] = {
        { XLAT_DROP_MAX_PORTS, 2, 472 },
        { XLAT_DROP_SUBSCRIBER_PORTS, 3, 473 },
        { XLAT_DROP_SUBSCRIBER_SESSIONS, 3, 473 },
        { XLAT_DROP_SUBSCRIBERS, 4, 474 },
    };
    static struct nat64_ipfix ipfix;
    static struct collector c;
    const struct record *r;
    struct nat64_event e;

    begin(&ipfix, &c);
    for (uint8_t family = 4; family <= 6; family += 2) {
        e = event_of(NAT64_EVENT_NO_PORT, family);
        r = deliver(&ipfix, &c, &e, 12);
        ck_assert_uint_eq(r->values[4], IPPROTO_UDP);
        ck_assert_uint_eq(r->values[283], 4711);

        e = event_of(NAT64_EVENT_TABLE_FULL, family);
        r = deliver(&ipfix, &c, &e, 13);
        ck_assert_uint_eq(r->values[466], 1);
        ck_assert_uint_eq(r->values[471], 77);

        e = event_of(NAT64_EVENT_LIMIT, family);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            e.drop = cases[i].drop;
            r = deliver(&ipfix, &c, &e, 13);
            ck_assert_uint_eq(r->values[466], cases[i].quota);
            ck_assert_uint_eq(r->values[cases[i].element], 77);
            if (cases[i].quota == 3) {
                check_inside(r, family);
            }
        }

        /* There is no quota of new sessions a second. */
        e.drop = XLAT_DROP_SESSION_RATE;
        ck_assert(nat64_ipfix_put(&ipfix, &e, 1));
        ck_assert_uint_eq(nat64_ipfix_finish(&ipfix, 1), 0);
    }
}
END_TEST

/* Any mixture fills messages, and all of it arrives. */
START_TEST(full_messages)
{
    static struct nat64_ipfix ipfix;
    static struct collector c;
    uint64_t n_put = 0, n_collected = 0, n_messages = 0, n_bytes = 0;
    struct rng rng;

    rng_init(&rng, 1);
    begin(&ipfix, &c);
    while (n_put < 20000) {
        struct nat64_event e = event_of(rng_below(&rng, NAT64_EVENT_LIMIT),
                                        4 + 2 * rng_below(&rng, 2));

        if (rng_below(&rng, 3)) {
            e.kind = NAT64_EVENT_SESSION_ADD;
        }
        if ((n_put % 1000 || nat64_ipfix_put_templates(&ipfix))
            && nat64_ipfix_put(&ipfix, &e, n_put)) {
            n_put++;
        } else {
            finish(&ipfix, &c, 5);
            n_collected += c.n_records;
            n_messages++;
            n_bytes += ipfix.message[2] << 8 | ipfix.message[3];
        }
    }
    finish(&ipfix, &c, 5);
    n_collected += c.n_records;
    ck_assert_uint_eq(n_collected, n_put);
    ck_assert_uint_eq(c.sequence, n_put);
    ck_assert_uint_eq(nat64_ipfix_finish(&ipfix, 5), 0);
    /* Only what makes room for templates is not full. */
    ck_assert_uint_ge(n_bytes / n_messages, NAT64_IPFIX_MAX - 100);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("nat64-ipfix");
    TCase *tc = tcase_create("all");
    SRunner *sr = srunner_create(s);
    int n;

    tcase_add_test(tc, sessions);
    tcase_add_test(tc, blocks);
    tcase_add_test(tc, limits);
    tcase_add_test(tc, full_messages);
    suite_add_tcase(s, tc);
    srunner_run_all(sr, CK_ENV);
    n = srunner_ntests_failed(sr);
    srunner_free(sr);
    return n ? EXIT_FAILURE : EXIT_SUCCESS;
}
