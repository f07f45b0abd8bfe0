/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "nat64-own.h"

#include <check.h>
#include <netinet/in.h>
#include <string.h>

#include "zone-util.h"

struct own own;

void
own_at_once(void (*cb)(void *aux), void *aux)
{
    cb(aux);
}

static void
note_sent(uint16_t origin, const uint8_t *ip, uint32_t len, void *aux)
{
    struct own_sent *s = &own.sent[own.n_sent++];

    ck_assert_ptr_eq(aux, &own.n_sent);
    ck_assert_uint_le(own.n_sent, OWN_MAX_SENT);
    ck_assert_uint_le(len, sizeof s->ip);
    s->origin = origin;
    s->len = len;
    memcpy(s->ip, ip, len);
}

static uint16_t
get_origin(struct xlat_ctx *c, const struct xlat_job *j)
{
    const uint8_t *ip = j->pk.data;

    ck_assert_ptr_eq(c, &own.ctx);
    if (!own.has_origins) {
        return 0;
    }
    return ip[0] >> 4 == 6 || ip[12] == 10 ? ORIGIN_IN : ORIGIN_OUT;
}

void
own_put_zone(const char *text)
{
    struct xlat_zone *old = own.zone;

    own.zone = zone_make(text, old);
    nat64_fit(own.zone, own.now_us, own_at_once);
    xlat_zone_destroy(old);
}

void
own_begin(const char *text)
{
    own.zone = NULL;
    own.now_us = 1000000000;
    own.has_origins = true;
    own.n_sent = 0;
    own_put_zone(text);
    own.ctx = (struct xlat_ctx) { .rng = 1, .thread = 1,
                              .get_origin = get_origin };
}

void
own_run_clock(void)
{
    nat64_run(own.zone, own.now_us, own_at_once, note_sent, &own.n_sent);
}

void
own_pass(double seconds)
{
    uint64_t end = own.now_us + seconds * 1e6;
    uint64_t step = seconds > 100 ? seconds * 1e3 : 100000;

    while (own.now_us < end) {
        own.now_us = own.now_us + step < end ? own.now_us + step : end;
        own_run_clock();
    }
}

void
own_finish(void)
{
    nat64_flush(own.zone, own.now_us, own_at_once);
    xlat_zone_destroy(own.zone);
    own.zone = NULL;
}

struct nat64_gauges
own_gauges(void)
{
    struct nat64_gauges g;

    nat64_get_gauges(own.zone, &g);
    return g;
}

struct xlat_counters
own_counters(void)
{
    struct xlat_counters c;

    xlat_zone_get_counters(own.zone, &c);
    return c;
}

void
own_run_packet(void)
{
    own.job = (struct xlat_job) { .pk = own.packet.pk };
    own.ctx.now_us = own.now_us;
    xlat_run(own.zone, &own.ctx, &own.job, 1);
}

void
own_send_tcp(const char *src, uint16_t sport, const char *dst, uint16_t dport,
         uint8_t flags)
{
    uint8_t l4[64];
    uint32_t n = packet_tcp(l4, sport, dport, 0);

    l4[13] = flags;
    packet_build(&own.packet, &(struct packet_spec) {
        .src = src, .dst = dst, .proto = IPPROTO_TCP, .l4 = l4, .l4_bytes = n,
    });
    own_run_packet();
}

void
own_check_translated(void)
{
    ck_assert_msg(own.job.verdict == XLAT_TRANSLATED, "verdict %d, %s",
                  own.job.verdict, xlat_drop_name(own.job.drop));
}

void
own_check_dropped(enum xlat_drop drop)
{
    ck_assert_int_eq(own.job.verdict, XLAT_DROPPED);
    ck_assert_str_eq(xlat_drop_name(own.job.drop), xlat_drop_name(drop));
}
