/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* The port allocator: its preferences against a slow twin that looks at all
 * ports, shares, and threads that must never own one port together. */

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "nat64-ports.h"
#include "xlat-private.h"

#define N_PORTS 65536

/* The slow twin: who is in use, and how many are not, by their side of 1024
 * and parity. */
struct twin {
    bool used[N_PORTS];
    uint32_t n_used;
    uint32_t n_free[2][2];
};

static struct nat64_ports ports;
static struct twin twin;

static void
init(uint16_t first, uint16_t last, unsigned int share, unsigned int n_shares)
{
    nat64_ports_init(&ports, first, last, share, n_shares);
    memset(&twin, 0, sizeof twin);
    for (uint32_t port = 0; port < N_PORTS; port++) {
        twin.used[port] = port < first || port > last
                          || port / 64 % n_shares != share;
        twin.n_free[port >= 1024][port & 1] += !twin.used[port];
    }
}

/* Returns how far 'port' is from being like 'like': 0 to 3. */
static int
rank(uint32_t port, uint16_t like)
{
    return ((port >= 1024) != (like >= 1024)) * 2 + ((port ^ like) & 1);
}

/* Returns the best rank of a free port, or 4. */
static int
best_rank(uint16_t like)
{
    for (int i = 0; i < 4; i++) {
        if (twin.n_free[(like >= 1024) ^ i / 2][(like ^ i) & 1]) {
            return i;
        }
    }
    return 4;
}

/* Takes a port and compares it with what the twin says.  Returns it, or
 * -1. */
static int
take(uint16_t like, uint64_t random)
{
    int expected = best_rank(like);
    int port = nat64_ports_take(&ports, like, random);

    /* One assertion: each costs a system call. */
    if (expected == 4 ? port != -1
        : port < 0 || twin.used[port] || rank(port, like) != expected
          || nat64_ports_n_used(&ports) != twin.n_used + 1) {
        ck_abort_msg("like %u: port %d, should have rank %d", like, port,
                     expected);
    }
    if (port < 0) {
        return -1;
    }
    twin.used[port] = true;
    twin.n_used++;
    twin.n_free[port >= 1024][port & 1]--;
    return port;
}

static void
give(uint16_t port)
{
    nat64_ports_give(&ports, port);
    twin.used[port] = false;
    twin.n_used--;
    twin.n_free[port >= 1024][port & 1]++;
}

START_TEST(all_of_them)
{
    uint64_t rng = 1;

    init(1, 65535, 0, 1);
    for (uint32_t i = 0; i < 65535; i++) {
        take(4000 + i % 2, xlat_rng_next(&rng));
    }
    ck_assert_int_eq(take(4000, xlat_rng_next(&rng)), -1);
    give(777);
    ck_assert_int_eq(take(4000, xlat_rng_next(&rng)), 777);
}
END_TEST

START_TEST(this_one)
{
    init(1024, 2000, 0, 1);
    ck_assert(nat64_ports_take_this(&ports, 1500));
    ck_assert(!nat64_ports_take_this(&ports, 1500));
    ck_assert(!nat64_ports_take_this(&ports, 1023));
    ck_assert(!nat64_ports_take_this(&ports, 2001));
    nat64_ports_give(&ports, 1500);
    ck_assert(nat64_ports_take_this(&ports, 1500));
    ck_assert_uint_eq(nat64_ports_n_used(&ports), 1);
}
END_TEST

START_TEST(is_random)
{
    uint64_t rng = 7;
    bool seen[64] = { false };
    int n = 0;

    /* In 2,000 draws, all 63 ranges of 1,024 ports above 1023 turn up. */
    init(0, 65535, 0, 1);
    for (int i = 0; i < 2000; i++) {
        int port = nat64_ports_take(&ports, 50000, xlat_rng_next(&rng));

        n += !seen[port / 1024];
        seen[port / 1024] = true;
        nat64_ports_give(&ports, port);
    }
    ck_assert_int_eq(n, 63);
}
END_TEST

START_TEST(shares_are_disjoint)
{
    for (unsigned int n_shares = 1; n_shares <= 7; n_shares++) {
        static uint8_t owners[N_PORTS];
        uint32_t n_strange = 0;

        memset(owners, 0, sizeof owners);
        for (unsigned int share = 0; share < n_shares; share++) {
            uint64_t rng = share + 1;
            int port;

            nat64_ports_init(&ports, 0, 65535, share, n_shares);
            while ((port = nat64_ports_take(&ports, 2000,
                                          xlat_rng_next(&rng))) >= 0) {
                n_strange += nat64_ports_share_of(port, n_shares) != share;
                owners[port]++;
            }
        }
        for (uint32_t port = 0; port < N_PORTS; port++) {
            n_strange += owners[port] != 1;
        }
        ck_assert_uint_eq(n_strange, 0);
    }
}
END_TEST

/* Takes and gives at random, filling up in one half and emptying in the
 * other. */
START_TEST(random_steps)
{
    uint64_t rng = 12345 + _i;
    static uint16_t mine[N_PORTS];
    uint32_t n = 0;

    init(_i ? 900 : 0, _i ? 3000 : 65535, _i % 2, 1 + _i % 2);
    for (int step = 0; step < 200000; step++) {
        uint64_t r = xlat_rng_next(&rng);
        bool filling = step / 20000 % 2 == 0;

        if (r % 8 < (filling ? 6 : 3) || !n) {
            int port = take(r >> 16, xlat_rng_next(&rng));

            if (port >= 0) {
                mine[n++] = port;
            }
        } else {
            uint32_t i = (r >> 32) % n;

            give(mine[i]);
            mine[i] = mine[--n];
        }
    }
}
END_TEST

#define N_THREADS 4

/* Enough for threads to be at work side by side, whatever else the machine
 * does. */
#define N_STEPS 3000000

static uint32_t owners[N_PORTS];
static uint32_t n_wrong;

/* Makes 'new' the owner of 'port', which 'old' ought to be. */
static void
set_owner(uint16_t port, uint32_t old, uint32_t new)
{
    if (__atomic_exchange_n(&owners[port], new, __ATOMIC_SEQ_CST) != old) {
        __atomic_fetch_add(&n_wrong, 1, __ATOMIC_RELAXED);
    }
}

/* Takes a port in one of the ways that there are, or returns -1. */
static int
take_somehow(uint64_t r, uint64_t random)
{
    uint16_t port = 2000 + (r >> 32) % 150;

    switch (r >> 16 & 3) {
    case 0:
        return nat64_ports_take_this(&ports, port) ? port : -1;
    case 1:
        return nat64_ports_take_in(&ports, port / 64, 1, r >> 48, random);
    default:
        return nat64_ports_take(&ports, r >> 48, random);
    }
}

/* Takes and gives in a space so narrow that all threads want the same words.
 * A port's owner is marked, and must be nobody before and us afterwards. */
static void *
run_thread(void *number_)
{
    uint32_t number = *(uint32_t *) number_;
    uint64_t rng = number;
    uint16_t mine[64];
    uint32_t n = 0;

    for (int step = 0; step < N_STEPS; step++) {
        uint64_t r = xlat_rng_next(&rng);

        if (n < 64 && (r % 2 || !n)) {
            int port = take_somehow(r, xlat_rng_next(&rng));

            if (port >= 0) {
                set_owner(port, 0, number);
                mine[n++] = port;
            }
        } else {
            uint16_t port = mine[--n];

            set_owner(port, number, 0);
            nat64_ports_give(&ports, port);
        }
    }
    while (n) {
        set_owner(mine[--n], number, 0);
        nat64_ports_give(&ports, mine[n]);
    }
    return NULL;
}

START_TEST(no_two_owners)
{
    uint32_t numbers[N_THREADS];
    pthread_t threads[N_THREADS];

    n_wrong = 0;
    init(2000, 2149, 0, 1);
    for (uint32_t i = 0; i < N_THREADS; i++) {
        numbers[i] = i + 1;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_thread,
                                        &numbers[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
    }

    ck_assert_uint_eq(n_wrong, 0);
    /* Nothing is lost: each port can be taken once more. */
    ck_assert_uint_eq(nat64_ports_n_used(&ports), 0);
    for (int i = 0; i < 150; i++) {
        ck_assert_int_ge(take(i, i), 2000);
    }
    ck_assert_int_eq(take(0, 0), -1);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("nat64-ports");
    TCase *tcase = tcase_create("nat64-ports");
    SRunner *runner = srunner_create(suite);

    tcase_add_test(tcase, all_of_them);
    tcase_add_test(tcase, this_one);
    tcase_add_test(tcase, is_random);
    tcase_add_test(tcase, shares_are_disjoint);
    tcase_add_loop_test(tcase, random_steps, 0, 3);
    tcase_add_test(tcase, no_two_owners);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
