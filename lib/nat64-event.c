/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "nat64-event.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "xlat-hash.h"
#include "xlat.h"

/* A slot may be filled for the time 'turn / 2' around the ring while 'turn' is
 * even, and read while it is odd. */
struct slot {
    uint64_t turn;
    struct nat64_event event;
};

struct nat64_events {
    unsigned int refs;
    uint64_t n_put __attribute__((aligned(64)));
    uint64_t n_lost;
    uint64_t n_taken __attribute__((aligned(64)));
    struct slot slots[NAT64_EVENTS] __attribute__((aligned(64)));
};

struct nat64_events *
nat64_events_create(void)
{
    struct nat64_events *events = xlat_big_alloc(sizeof *events);

    if (events) {
        events->refs = 1;
    }
    return events;
}

struct nat64_events *
nat64_events_ref(struct nat64_events *events)
{
    __atomic_fetch_add(&events->refs, 1, __ATOMIC_RELAXED);
    return events;
}

void
nat64_events_unref(struct nat64_events *events)
{
    if (events
        && __atomic_fetch_sub(&events->refs, 1, __ATOMIC_ACQ_REL) == 1) {
        free(events);
    }
}

size_t
nat64_events_bytes(void)
{
    return sizeof(struct nat64_events);
}

void
nat64_events_put(struct nat64_events *events, const struct nat64_event *event)
{
    uint64_t n = __atomic_load_n(&events->n_put, __ATOMIC_RELAXED);

    for (;;) {
        struct slot *slot = &events->slots[n % NAT64_EVENTS];
        uint64_t turn = n / NAT64_EVENTS * 2;
        uint64_t now = __atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE);

        if (now < turn) {
            __atomic_fetch_add(&events->n_lost, 1, __ATOMIC_RELAXED);
            return;
        } else if (now > turn) {
            n = __atomic_load_n(&events->n_put, __ATOMIC_RELAXED);
        } else if (__atomic_compare_exchange_n(&events->n_put, &n, n + 1, true,
                                               __ATOMIC_RELAXED,
                                               __ATOMIC_RELAXED)) {
            slot->event = *event;
            __atomic_store_n(&slot->turn, turn + 1, __ATOMIC_RELEASE);
            return;
        }
    }
}

bool
nat64_events_take(struct nat64_events *events, struct nat64_event *event)
{
    uint64_t n = events->n_taken;
    struct slot *slot = &events->slots[n % NAT64_EVENTS];
    uint64_t turn = n / NAT64_EVENTS * 2 + 1;

    if (__atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE) != turn) {
        return false;
    }
    *event = slot->event;
    __atomic_store_n(&slot->turn, turn + 1, __ATOMIC_RELEASE);
    events->n_taken = n + 1;
    return true;
}

uint64_t
nat64_events_lost(const struct nat64_events *events)
{
    return __atomic_load_n(&events->n_lost, __ATOMIC_RELAXED);
}

static const char *const names[NAT64_N_EVENTS] = {
    [NAT64_EVENT_SESSION_ADD] = "session-add",
    [NAT64_EVENT_SESSION_DEL] = "session-delete",
    [NAT64_EVENT_BINDING_ADD] = "binding-add",
    [NAT64_EVENT_BINDING_DEL] = "binding-delete",
    [NAT64_EVENT_BLOCK_ADD] = "block-add",
    [NAT64_EVENT_BLOCK_DEL] = "block-delete",
    [NAT64_EVENT_NO_PORT] = "no-port",
    [NAT64_EVENT_TABLE_FULL] = "table-full",
    [NAT64_EVENT_LIMIT] = "limit",
};

static const char *
proto_name(uint8_t proto)
{
    return proto == IPPROTO_TCP ? "tcp" : proto == IPPROTO_UDP ? "udp"
           : "icmp";
}

/* Writes the inside of 'e': "[2001:db8::1]:80", of a block "2001:db8::/64". */
static void
format_inside(const struct nat64_event *e, bool block, char *text, size_t size)
{
    char ip[INET6_ADDRSTRLEN];
    bool six = e->inside_family == 6;

    inet_ntop(six ? AF_INET6 : AF_INET, &e->inside, ip, sizeof ip);
    if (!block) {
        snprintf(text, size, six ? "[%s]:%u" : "%s:%u", ip, e->inside_port);
    } else if (e->inside_bits < (six ? 128 : 32)) {
        snprintf(text, size, "%s/%u", ip, e->inside_bits);
    } else {
        snprintf(text, size, "%s", ip);
    }
}

void
nat64_event_format(const struct nat64_event *e, uint32_t zone,
                   char text[NAT64_EVENT_TEXT_SIZE])
{
    bool block = (e->kind == NAT64_EVENT_BLOCK_ADD
                  || e->kind == NAT64_EVENT_BLOCK_DEL);
    char inside[INET6_ADDRSTRLEN + 8];
    char outside[INET_ADDRSTRLEN];
    size_t size = NAT64_EVENT_TEXT_SIZE;
    int n = snprintf(text, size, "nat64 zone=%u event=%s", zone,
                     names[e->kind]);

    format_inside(e, block, inside, sizeof inside);
    if (!block) {
        n += snprintf(text + n, size - n, " proto=%s", proto_name(e->proto));
    }
    n += snprintf(text + n, size - n, " inside=%s", inside);
    if (e->outside) {
        inet_ntop(AF_INET, &e->outside, outside, sizeof outside);
        n += snprintf(text + n, size - n, " outside=%s:%u", outside,
                      e->outside_port);
    }
    if (block) {
        n += snprintf(text + n, size - n, "-%u", e->last_port);
    } else if (e->kind == NAT64_EVENT_LIMIT) {
        n += snprintf(text + n, size - n, " limit=%s",
                      xlat_drop_name(e->drop));
    }
    snprintf(text + n, size - n, " tenant=%u", e->tenant);
}

void
nat64_event_format_missing(const char *what, uint64_t n, uint32_t zone,
                           char text[NAT64_EVENT_TEXT_SIZE])
{
    snprintf(text, NAT64_EVENT_TEXT_SIZE,
             "nat64 zone=%u event=%s count=%" PRIu64, zone, what, n);
}
