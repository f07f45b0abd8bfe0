/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* The lock of an inside transport address (nat64-private.h): whoever makes or
 * ends something of it waits until it is given up, and so does whoever must
 * not miss what its holder makes. */

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "nat64-net.h"
#include "nat64-private.h"
#include "xlat-zone-private.h"

#define ZONE "kind=nat44 pool4=192.0.2.1 filtering=endpoint-independent"
#define HOST "10.0.0.1"
#define SERVER "198.51.100.7"
#define OTHER "198.51.100.8"

/* Long enough for a thread that does not wait to be through. */
#define WAIT_US 50000

static struct net net;
static int outside_port;
static bool done;

static void
at_once(void (*cb)(void *aux), void *aux)
{
    cb(aux);
}

static void
make_session(void)
{
    ck_assert_int_eq(net_out(&net, HOST, 1000, OTHER, 53), outside_port);
}

static void
make_session_from_outside(void)
{
    ck_assert_int_eq(net_in(&net, OTHER, 9, "192.0.2.1", outside_port), 1000);
}

static void
expire(void)
{
    nat64_run(net.zone, net.ctx.now_us + 302000000, at_once, NULL, NULL);
    ck_assert_uint_eq(net_gauges(&net).sessions, 0);
}

static void
flush(void)
{
    ck_assert_uint_eq(nat64_flush(net.zone, net.ctx.now_us, at_once), 1);
}

static void
fit(void)
{
    nat64_fit(net.zone, net.ctx.now_us, at_once);
}

/* Packets of a session that is there do not wait, nor do those of others. */
static void
use_session(void)
{
    ck_assert_int_eq(net_out(&net, HOST, 1000, SERVER, 53), outside_port);
    ck_assert_int_eq(net_in(&net, SERVER, 53, "192.0.2.1", outside_port),
                     1000);
    ck_assert_int_ge(net_out(&net, "10.0.0.2", 1000, SERVER, 53), 0);
}

static const struct {
    void (*act)(void);
    bool waits;
} cases[] = {
    { make_session, true },
    { make_session_from_outside, true },
    { expire, true },
    { flush, true },
    { fit, true },
    { use_session, false },
};

static void *
run(void *act)
{
    (*(void (*const *)(void)) act)();
    __atomic_store_n(&done, true, __ATOMIC_RELEASE);
    return NULL;
}

START_TEST(lock_is_waited_for)
{
    struct nat64_tuple t;
    struct nat64 *nat64;
    pthread_t thread;

    net_begin(&net, ZONE);
    outside_port = net_out(&net, HOST, 1000, SERVER, 53);
    ck_assert_int_ge(outside_port, 0);
    nat64 = net.zone->stateful->nat64;
    t = nat64->sessions[0].dir[NAT64_OUT].tuple;
    done = false;

    nat64_lock(nat64, &t);
    ck_assert_int_eq(pthread_create(&thread, NULL, run,
                                    (void *) &cases[_i].act), 0);
    usleep(WAIT_US);
    if (cases[_i].waits) {
        ck_assert(!__atomic_load_n(&done, __ATOMIC_ACQUIRE));
        nat64_unlock(nat64, &t);
        pthread_join(thread, NULL);
    } else {
        pthread_join(thread, NULL);
        nat64_unlock(nat64, &t);
    }
    net_end(&net);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("nat64-lock");
    TCase *tc = tcase_create("all");
    SRunner *sr = srunner_create(s);
    int n;

    tcase_add_loop_test(tc, lock_is_waited_for, 0,
                        sizeof cases / sizeof cases[0]);
    suite_add_tcase(s, tc);
    srunner_run_all(sr, CK_ENV);
    n = srunner_ntests_failed(sr);
    srunner_free(sr);
    return n ? EXIT_FAILURE : EXIT_SUCCESS;
}
