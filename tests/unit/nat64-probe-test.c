/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Established sessions of TCP without packets: their inside is probed before
 * they end (RFC 6146, 3.5.2.2). */

#include <arpa/inet.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "nat64-own.h"
#include "nat64-private.h"
#include "pk-csum.h"
#include "xlat-zone-private.h"
#include "zone-util.h"

#define TIMES "tcp-established-timeout=100 tcp-transitory-timeout=20 "

static bool is_44;

static void
from_inside(uint8_t flags)
{
    own_send_tcp(is_44 ? H4 : H6, 4000, is_44 ? S4 : S6, 80, flags);
    own_check_translated();
}

static void
from_outside(uint8_t flags)
{
    own_send_tcp(S4, 80, P4, 5000, flags);
    own_check_translated();
}

/* Begins with an established session. */
static void
begin_established(const char *text)
{
    is_44 = strstr(text, "nat44");
    own_begin(text);
    from_inside(SYN);
    from_outside(SYN | ACK);
    from_inside(ACK);
}

static void
note_state(const struct nat64_session_info *info, void *state)
{
    *(const char **) state = info->state;
}

/* Returns the state of the one session, "" if there is none. */
static const char *
state(void)
{
    const char *name = "";
    uint32_t cursor = 0;

    nat64_dump(own.zone, own.now_us, &cursor, UINT32_MAX, note_state, &name);
    return name;
}

static void
check_probe(const struct own_sent *s)
{
    struct pk pk = { .data = (uint8_t *) s->ip, .len = s->len };
    const uint8_t *tcp = s->ip + (is_44 ? 20 : 40);

    ck_assert_uint_eq(s->origin, ORIGIN_IN);
    ck_assert_uint_eq(s->len, is_44 ? 40 : 60);
    packet_check(&pk);
    if (is_44) {
        ck_assert_uint_eq(s->ip[0], 0x45);
        ck_assert_uint_eq(s->ip[8], 64);
        ck_assert_uint_eq(s->ip[9], IPPROTO_TCP);
        packet_check_addr(AF_INET, s->ip + 12, S4);
        packet_check_addr(AF_INET, s->ip + 16, H4);
    } else {
        ck_assert_uint_eq(ntohl(pk_get32(s->ip)), 0x60000000);
        ck_assert_uint_eq(s->ip[6], IPPROTO_TCP);
        ck_assert_uint_eq(s->ip[7], 64);
        packet_check_addr(AF_INET6, s->ip + 8, S6);
        packet_check_addr(AF_INET6, s->ip + 24, H6);
    }
    ck_assert_uint_eq(ntohs(pk_get16(tcp)), 80);
    ck_assert_uint_eq(ntohs(pk_get16(tcp + 2)), 4000);
    ck_assert_uint_eq(pk_get32(tcp + 4), 0);
    ck_assert_uint_eq(pk_get32(tcp + 8), 0);
    ck_assert_uint_eq(tcp[12], 5 << 4);
    ck_assert_uint_eq(tcp[13], ACK);
    ck_assert_uint_eq(pk_get16(tcp + 18), 0);
}

/* An established session without packets is probed, once, and ends if nobody
 * answers. */
START_TEST(probed)
{
    begin_established(_i ? NAT44 TIMES : NAT64 TIMES);
    own_pass(100);
    ck_assert_uint_eq(own.n_sent, 0);
    ck_assert_str_eq(state(), "ESTABLISHED");
    own_pass(0.5);
    ck_assert_uint_eq(own.n_sent, 1);
    check_probe(&own.sent[0]);
    ck_assert_str_eq(state(), "TRANS");
    ck_assert_uint_eq(own_counters().probes_sent, 1);
    own_pass(19.4);
    ck_assert_str_eq(state(), "TRANS");
    ck_assert_uint_eq(own_gauges().sessions, 1);
    own_pass(0.6);
    ck_assert_uint_eq(own_gauges().sessions, 0);
    ck_assert_uint_eq(own.n_sent, 1);
    own_finish();
}
END_TEST

/* Who answers keeps the session, and is asked again after the next silence. */
START_TEST(answered)
{
    begin_established(NAT64 TIMES);
    for (unsigned int i = 1; i <= 3; i++) {
        own_pass(101);
        ck_assert_uint_eq(own.n_sent, i);
        check_probe(&own.sent[i - 1]);
        ck_assert_str_eq(state(), "TRANS");
        own_pass(15);
        if (i == 2) {
            from_outside(ACK);
        } else {
            from_inside(ACK);
        }
        ck_assert_str_eq(state(), "ESTABLISHED");
        own_pass(99);
        ck_assert_uint_eq(own.n_sent, i);
        ck_assert_str_eq(state(), "ESTABLISHED");
        from_inside(ACK);
    }
    own_finish();
}
END_TEST

/* Who has no such connection says so, and changes nothing. */
START_TEST(answered_by_reset)
{
    begin_established(NAT64 TIMES);
    own_pass(101);
    ck_assert_uint_eq(own.n_sent, 1);
    from_inside(RST);
    ck_assert_str_eq(state(), "TRANS");
    own_pass(18);
    ck_assert_uint_eq(own_gauges().sessions, 1);
    own_pass(2);
    ck_assert_uint_eq(own_gauges().sessions, 0);
    own_finish();
}
END_TEST

/* No probe if none is wanted or nobody knows where to send it: then the
 * session ends at once. */
START_TEST(not_probed)
{
    begin_established(_i ? NAT64 TIMES "tcp-probe=false" : NAT64 TIMES);
    if (!_i) {
        own_finish();
        own_begin(NAT64 TIMES);
        own.has_origins = false;
        from_inside(SYN);
        from_outside(SYN | ACK);
        from_inside(ACK);
    }
    own_pass(99);
    ck_assert_uint_eq(own_gauges().sessions, 1);
    own_pass(1.5);
    ck_assert_uint_eq(own_gauges().sessions, 0);
    ck_assert_uint_eq(own.n_sent, 0);
    ck_assert_uint_eq(own_counters().probes_sent, 0);
    own_finish();
}
END_TEST

/* Only ESTABLISHED ends by a probe. */
START_TEST(other_states)
{
    begin_established(NAT64 TIMES);
    from_outside(FIN | ACK);
    own_pass(99);
    ck_assert_str_eq(state(), "V4 FIN RCV");
    own_pass(2);
    ck_assert_uint_eq(own_gauges().sessions, 0);

    from_inside(SYN);
    own_pass(21);
    ck_assert_uint_eq(own_gauges().sessions, 0);
    ck_assert_uint_eq(own.n_sent, 0);
    own_finish();
}
END_TEST

/* Where the inside is shows when it answers, of a session that was begun from
 * outside. */
START_TEST(begun_outside)
{
    own_begin(NAT64 TIMES);
    is_44 = false;
    own_send_tcp(H6, 4000, T6, 80, SYN);
    own_check_translated();
    from_outside(SYN);
    from_inside(SYN | ACK);
    for (int i = 0; i < 5; i++) {
        from_outside(ACK);
    }
    own_pass(101);
    ck_assert_uint_eq(own.n_sent, 1);
    check_probe(&own.sent[0]);
    own_finish();
}
END_TEST

/* A session that has ended and begins anew has a new origin. */
START_TEST(revived)
{
    own_begin(NAT64 TIMES);
    own.has_origins = false;
    is_44 = false;
    from_inside(SYN);
    own.has_origins = true;
    own.now_us += 30000000;
    from_inside(SYN);
    own.has_origins = false;
    from_outside(SYN | ACK);
    own_pass(101);
    ck_assert_uint_eq(own.n_sent, 1);
    check_probe(&own.sent[0]);
    own_finish();
}
END_TEST

/* Time may leap: what would have ended in the meantime ends. */
START_TEST(leap)
{
    begin_established(NAT64 TIMES);
    own.now_us += 110000000;
    own_run_clock();
    ck_assert_uint_eq(own.n_sent, 1);
    ck_assert_str_eq(state(), "TRANS");
    own.now_us += 9000000;
    own_run_clock();
    ck_assert_uint_eq(own_gauges().sessions, 1);
    own.now_us += 2000000;
    own_run_clock();
    ck_assert_uint_eq(own_gauges().sessions, 0);
    own_finish();

    begin_established(NAT64 TIMES);
    own.now_us += 121000000;
    own_run_clock();
    ck_assert_uint_eq(own_gauges().sessions, 0);
    ck_assert_uint_eq(own.n_sent, 0);
    own_finish();
}
END_TEST

/* A packet that comes when its time is over, but before anybody has looked,
 * keeps the session. */
START_TEST(packet_in_between)
{
    begin_established(NAT64 TIMES);
    own.now_us += 101000000;
    if (_i) {
        from_inside(ACK);
    } else {
        from_outside(ACK);
    }
    ck_assert_uint_eq(own_gauges().sessions, 1);
    ck_assert_str_eq(state(), "ESTABLISHED");
    own_pass(99);
    ck_assert_uint_eq(own.n_sent, 0);
    own_pass(2);
    ck_assert_uint_eq(own.n_sent, 1);
    own_finish();
}
END_TEST

/* Timeouts that become shorter are those of sessions that are there. */
START_TEST(shorter)
{
    begin_established(NAT64);
    own_pass(200);
    ck_assert_uint_eq(own.n_sent, 0);
    own_put_zone(NAT64 "tcp-established-timeout=150 "
                 "tcp-transitory-timeout=100");
    own_pass(0.1);
    ck_assert_uint_eq(own.n_sent, 1);
    ck_assert_str_eq(state(), "TRANS");
    own_pass(51);
    ck_assert_uint_eq(own_gauges().sessions, 0);
    own_finish();
}
END_TEST

/* A zone that becomes larger takes what it knows of its sessions along. */
START_TEST(resized)
{
    begin_established(NAT64 TIMES);
    own_put_zone(NAT64 TIMES "max-sessions=1000");
    ck_assert_uint_eq(own_gauges().max_sessions, 1000);
    own_pass(101);
    ck_assert_uint_eq(own.n_sent, 1);
    check_probe(&own.sent[0]);
    own_finish();
}
END_TEST

/* Many sessions fall silent at once: their probes are spread. */
START_TEST(many)
{
    own_begin("kind=nat64 pool6=2001:db8:64::/96 pool4=192.0.2.1 "
          "max-sessions=4000 " TIMES);
    for (int i = 0; i < 2500; i++) {
        own_send_tcp(H6, 2000 + i, S6, 80, SYN);
        own_check_translated();
        own_send_tcp(S4, 80, P4, ntohs(pk_get16(own.job.pk.data + 20)),
                     SYN | ACK);
        own_check_translated();
    }
    own_pass(100);
    ck_assert_uint_eq(own.n_sent, 0);
    own.now_us += 1000000;
    for (unsigned int n = 1000; n <= 3000; n += 1000) {
        own_run_clock();
        ck_assert_uint_eq(own.n_sent, n < 2500 ? n : 2500);
    }
    own_pass(18);
    ck_assert_uint_eq(own_gauges().sessions, 2500);
    own_pass(2);
    ck_assert_uint_eq(own_gauges().sessions, 0);
    ck_assert_uint_eq(own.n_sent, 2500);
    own_finish();
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("nat64-probe");
    TCase *probes = tcase_create("probes");
    SRunner *runner = srunner_create(suite);

    tcase_add_loop_test(probes, probed, 0, 2);
    tcase_add_test(probes, answered);
    tcase_add_test(probes, answered_by_reset);
    tcase_add_loop_test(probes, not_probed, 0, 2);
    tcase_add_test(probes, other_states);
    tcase_add_test(probes, begun_outside);
    tcase_add_test(probes, revived);
    tcase_add_test(probes, leap);
    tcase_add_loop_test(probes, packet_in_between, 0, 2);
    tcase_add_test(probes, shorter);
    tcase_add_test(probes, resized);
    tcase_add_test(probes, many);
    suite_add_tcase(suite, probes);

    srunner_run_all(runner, CK_ENV);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed != 0;
}
