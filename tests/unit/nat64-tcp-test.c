/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* The states of TCP sessions: RFC 6146, 3.5.2.2, sentence by sentence. */

#include <check.h>
#include <string.h>

#include "nat64-tcp.h"

/* A sentence of the RFC: in 'state', the packet 'event' from 'dir' leads to
 * 'next', and the session's lifetime is set ('refresh') or not. */
struct line {
    enum nat64_state state;
    enum nat64_dir dir;
    enum nat64_tcp_event event;
    enum nat64_state next;
    bool refresh;
};

/* V6 is inside, V4 outside. */
#define V6 NAT64_OUT
#define V4 NAT64_IN
#define SYN NAT64_TCP_SYN
#define FIN NAT64_TCP_FIN
#define RST NAT64_TCP_RST
#define OTHER NAT64_TCP_OTHER
#define V4_INIT NAT64_IN_INIT
#define V6_INIT NAT64_OUT_INIT
#define EST NAT64_ESTABLISHED
#define V4_FIN_RCV NAT64_IN_FIN
#define V6_FIN_RCV NAT64_OUT_FIN
#define BOTH_FIN_RCV NAT64_BOTH_FIN
#define TRANS NAT64_TRANS

static const struct line lines[] = {
    /* "*** V4 INIT ***": a V6 SYN leads to ESTABLISHED, with the lifetime of
     * that.  Nothing else is said to do anything. */
    { V4_INIT, V6, SYN, EST, true },

    /* "*** V6 INIT ***": a V4 SYN, "with or without the ACK flag set", leads
     * to ESTABLISHED; a V6 SYN sets the lifetime anew and leaves the state. */
    { V6_INIT, V4, SYN, EST, true },
    { V6_INIT, V6, SYN, V6_INIT, true },

    /* "*** ESTABLISHED ***": a FIN leads to the state named after its side, a
     * RST from either to TRANS.  "Any other packet" sets the lifetime anew.
     *
     * Of the FIN's own effect on the lifetime the RFC says nothing; any packet
     * sets that of the state that the FIN leads to, and so does the FIN. */
    { EST, V4, FIN, V4_FIN_RCV, true },
    { EST, V6, FIN, V6_FIN_RCV, true },
    { EST, V4, RST, TRANS, true },
    { EST, V6, RST, TRANS, true },
    { EST, V4, SYN, EST, true },
    { EST, V6, SYN, EST, true },
    { EST, V4, OTHER, EST, true },
    { EST, V6, OTHER, EST, true },

    /* "*** V4 FIN RCV ***": "any packet other than the V6 FIN" sets the
     * lifetime anew, the V6 FIN the shorter one of the last state. */
    { V4_FIN_RCV, V6, FIN, BOTH_FIN_RCV, true },
    { V4_FIN_RCV, V4, FIN, V4_FIN_RCV, true },
    { V4_FIN_RCV, V4, RST, V4_FIN_RCV, true },
    { V4_FIN_RCV, V6, RST, V4_FIN_RCV, true },
    { V4_FIN_RCV, V4, SYN, V4_FIN_RCV, true },
    { V4_FIN_RCV, V6, SYN, V4_FIN_RCV, true },
    { V4_FIN_RCV, V4, OTHER, V4_FIN_RCV, true },
    { V4_FIN_RCV, V6, OTHER, V4_FIN_RCV, true },

    /* "*** V6 FIN RCV ***": likewise. */
    { V6_FIN_RCV, V4, FIN, BOTH_FIN_RCV, true },
    { V6_FIN_RCV, V6, FIN, V6_FIN_RCV, true },
    { V6_FIN_RCV, V4, RST, V6_FIN_RCV, true },
    { V6_FIN_RCV, V6, RST, V6_FIN_RCV, true },
    { V6_FIN_RCV, V4, SYN, V6_FIN_RCV, true },
    { V6_FIN_RCV, V6, SYN, V6_FIN_RCV, true },
    { V6_FIN_RCV, V4, OTHER, V6_FIN_RCV, true },
    { V6_FIN_RCV, V6, OTHER, V6_FIN_RCV, true },

    /* "*** V4 FIN + V6 FIN RCV ***": "all packets" are forwarded, and only
     * time ends it.  We depart from that for a new connection with the ports
     * of the old one: a SYN begins it, as if there were no session. */
    { BOTH_FIN_RCV, V6, SYN, V6_INIT, true },
    { BOTH_FIN_RCV, V4, SYN, V4_INIT, true },

    /* "*** TRANS ***": "a packet other than a RST" leads to ESTABLISHED. */
    { TRANS, V4, SYN, EST, true },
    { TRANS, V6, SYN, EST, true },
    { TRANS, V4, FIN, EST, true },
    { TRANS, V6, FIN, EST, true },
    { TRANS, V4, OTHER, EST, true },
    { TRANS, V6, OTHER, EST, true },
};

static const enum nat64_state states[] = {
    V4_INIT, V6_INIT, EST, V4_FIN_RCV, V6_FIN_RCV, BOTH_FIN_RCV, TRANS,
};

#define N_LINES (sizeof lines / sizeof lines[0])
#define N_STATES (sizeof states / sizeof states[0])

static void
check_step(const struct line *line)
{
    struct nat64_step step = nat64_tcp_step(line->state, line->dir,
                                            line->event);

    ck_assert_msg(step.next == line->next && step.refresh == line->refresh,
                  "\"%s\", event %d from %s: \"%s\"%s, not \"%s\"%s",
                  nat64_state_name(line->state), line->event,
                  line->dir == V6 ? "V6" : "V4", nat64_state_name(step.next),
                  step.refresh ? " anew" : "", nat64_state_name(line->next),
                  line->refresh ? " anew" : "");
}

START_TEST(sentences)
{
    check_step(&lines[_i]);
}
END_TEST

static bool
has_line(enum nat64_state state, enum nat64_dir dir,
         enum nat64_tcp_event event)
{
    for (size_t i = 0; i < N_LINES; i++) {
        if (lines[i].state == state && lines[i].dir == dir
            && lines[i].event == event) {
            return true;
        }
    }
    return false;
}

/* What the RFC says nothing about leaves state and lifetime as they are. */
START_TEST(nothing_else)
{
    enum nat64_state state = states[_i];

    for (int dir = 0; dir < 2; dir++) {
        for (int event = 0; event < NAT64_N_TCP_EVENTS; event++) {
            if (!has_line(state, dir, event)) {
                check_step(&(struct line) { state, dir, event, state, false });
            }
        }
    }
}
END_TEST

/* All that matters of a header is three flags, of which RST goes first, and
 * SYN before FIN. */
START_TEST(events)
{
    uint8_t tcp[20];

    for (unsigned int flags = 0; flags < 256; flags++) {
        enum nat64_tcp_event expected
            = flags & 0x04 ? RST : flags & 0x02 ? SYN : flags & 0x01 ? FIN
              : OTHER;

        memset(tcp, flags ^ 0xff, sizeof tcp);
        tcp[13] = flags;
        ck_assert_int_eq(nat64_tcp_event(tcp), expected);
    }
}
END_TEST

START_TEST(names)
{
    static const char *const expected[] = {
        "V4 INIT", "V6 INIT", "ESTABLISHED", "V4 FIN RCV", "V6 FIN RCV",
        "V4 FIN + V6 FIN RCV", "TRANS",
    };

    for (size_t i = 0; i < N_STATES; i++) {
        ck_assert_str_eq(nat64_state_name(states[i]), expected[i]);
    }
    ck_assert_str_eq(nat64_state_name(NAT64_DEAD), "CLOSED");
    ck_assert_str_eq(nat64_state_name(NAT64_STATELESS), "");
}
END_TEST

/* Whole lives: packets as they come by, and the state behind each. */
struct packet_of_life {
    enum nat64_dir dir;
    uint8_t flags;
    enum nat64_state next;
};

static void
live(enum nat64_state state, const struct packet_of_life *packets, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t tcp[20] = { [13] = packets[i].flags };

        state = nat64_tcp_step(state, packets[i].dir,
                               nat64_tcp_event(tcp)).next;
        ck_assert_msg(state == packets[i].next, "packet %zu leads to \"%s\"",
                      i, nat64_state_name(state));
    }
}

START_TEST(ordinary_life)
{
    static const struct packet_of_life packets[] = {
        { V6, 0x02, V6_INIT },
        { V6, 0x02, V6_INIT },
        { V4, 0x12, EST },
        { V6, 0x10, EST },
        { V4, 0x18, EST },
        { V6, 0x11, V6_FIN_RCV },
        { V4, 0x10, V6_FIN_RCV },
        { V4, 0x18, V6_FIN_RCV },
        { V4, 0x11, BOTH_FIN_RCV },
        { V6, 0x10, BOTH_FIN_RCV },
    };

    live(V6_INIT, packets, sizeof packets / sizeof packets[0]);
}
END_TEST

/* From outside, with a RST that the other end does not accept. */
START_TEST(life_with_reset)
{
    static const struct packet_of_life packets[] = {
        { V4, 0x02, V4_INIT },
        { V6, 0x12, EST },
        { V4, 0x10, EST },
        { V4, 0x14, TRANS },
        { V4, 0x04, TRANS },
        { V6, 0x10, EST },
        { V6, 0x14, TRANS },
    };

    live(V4_INIT, packets, sizeof packets / sizeof packets[0]);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("nat64-tcp");
    TCase *tcase = tcase_create("nat64-tcp");
    SRunner *runner = srunner_create(suite);

    tcase_add_loop_test(tcase, sentences, 0, N_LINES);
    tcase_add_loop_test(tcase, nothing_else, 0, N_STATES);
    tcase_add_test(tcase, events);
    tcase_add_test(tcase, names);
    tcase_add_test(tcase, ordinary_life);
    tcase_add_test(tcase, life_with_reset);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
