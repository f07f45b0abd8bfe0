/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* The index that changes under its readers: against a slow twin, full to the
 * number of keys that it was made for, with keys that all want one bucket, and
 * with threads that look up, insert, remove and lock at once. */

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nat64-index.h"
#include "zone-util.h"

#define MAX_KEYS 100000

static struct nat64_index idx;

/* Keys by their numbers.  Those of one test are all different, and remain when
 * they are no longer in the index. */
static uint64_t keys[MAX_KEYS];

/* The slow twin: which of them are in the index. */
static bool in[MAX_KEYS];

static bool
is_key(uint32_t number, const void *key, const void *aux)
{
    (void) aux;
    return keys[number] == *(const uint64_t *) key;
}

static uint64_t
hash_of(uint32_t number)
{
    return nat64_index_hash_2(&idx, keys[number], 0);
}

static uint32_t
find_hash(uint64_t hash, uint32_t number)
{
    return nat64_index_find(&idx, hash, is_key, &keys[number], NULL);
}

static uint32_t
find(uint32_t number)
{
    return find_hash(hash_of(number), number);
}

/* Begins an index for 'n' keys, with 'seed'. */
static void
init(uint32_t n, uint64_t seed)
{
    struct rng rng;

    rng_init(&rng, seed);
    ck_assert_int_eq(nat64_index_init(&idx, n, rng_next(&rng)), 0);
    for (uint32_t i = 0; i < n; i++) {
        keys[i] = rng_next(&rng);
        in[i] = false;
    }
}

/* Fails the test unless the index is empty, and ends it. */
static void
finish(void)
{
    uint32_t n_keys = 0, n_past = 0, n_locked = 0;

    for (uint32_t i = 0; i < idx.n_buckets; i++) {
        const struct nat64_bucket *b = &idx.buckets[i];

        for (int slot = 0; slot < NAT64_INDEX_SLOTS; slot++) {
            n_keys += b->numbers[slot] != 0;
        }
        n_past += b->n_past;
        n_locked += b->lock;
    }
    ck_assert_uint_eq(n_keys, 0);
    ck_assert_uint_eq(n_past, 0);
    ck_assert_uint_eq(n_locked, 0);
    nat64_index_destroy(&idx);
}

static const uint32_t sizes[] = { 1, 2, 9, 12, 13, 20, 28, 100, 1000, 30000 };

#define N_SIZES (sizeof sizes / sizeof sizes[0])
#define N_SEEDS 3

/* Inserts and removes at random, all keys being in at times, and none at
 * others. */
START_TEST(random_steps)
{
    uint32_t n = sizes[_i % N_SIZES];
    uint64_t seed = 6146 + _i;
    uint32_t n_wrong = 0, n_refused = 0;
    struct rng rng;

    init(n, seed);
    rng_init(&rng, seed * 3);
    for (uint32_t step = 0; step < 200000; step++) {
        uint32_t i = rng_below(&rng, n), j = rng_below(&rng, n);
        bool filling = step / (3 * n + 100) % 2 == 0;

        if (!in[i] && rng_below(&rng, filling ? 2 : 16)) {
            in[i] = nat64_index_insert(&idx, hash_of(i), i);
            n_refused += !in[i];
        } else if (in[i] && !rng_below(&rng, filling ? 16 : 2)) {
            nat64_index_remove(&idx, hash_of(i), i);
            in[i] = false;
        }
        n_wrong += find(i) != (in[i] ? i : NAT64_NONE);
        n_wrong += find(j) != (in[j] ? j : NAT64_NONE);
    }
    ck_assert_msg(!n_wrong && !n_refused,
                  "seed %llu, %u keys: %u looks wrong, %u keys refused",
                  (unsigned long long) seed, n, n_wrong, n_refused);
    for (uint32_t i = 0; i < n; i++) {
        if (in[i]) {
            nat64_index_remove(&idx, hash_of(i), i);
        }
    }
    finish();
}
END_TEST

/* As many keys as the index is for have room, at once and after others have
 * gone. */
START_TEST(nominal_fits)
{
    static const struct {
        uint32_t n, rounds;
    } cases[] = {
        { 1, 200 }, { 2, 200 }, { 9, 200 }, { 12, 200 }, { 13, 200 },
        { 20, 200 }, { 28, 200 }, { 29, 200 }, { 100, 100 }, { 1000, 20 },
        { 10000, 5 }, { 100000, 3 },
    };

    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        uint32_t n = cases[k].n;

        for (uint32_t round = 0; round < cases[k].rounds; round++) {
            uint64_t seed = 100 * round + k;
            uint32_t n_refused = 0, n_lost = 0;
            struct rng rng;

            init(n, seed);
            rng_init(&rng, seed + 1);
            for (uint32_t i = 0; i < n; i++) {
                n_refused += !nat64_index_insert(&idx, hash_of(i), i);
            }
            for (uint32_t step = 0; step < n; step++) {
                uint32_t i = rng_below(&rng, n);

                nat64_index_remove(&idx, hash_of(i), i);
                keys[i] = rng_next(&rng);
                n_refused += !nat64_index_insert(&idx, hash_of(i), i);
            }
            for (uint32_t i = 0; i < n; i++) {
                n_lost += find(i) != i;
                nat64_index_remove(&idx, hash_of(i), i);
            }
            ck_assert_msg(!n_refused && !n_lost,
                          "seed %llu: %u keys, %u refused, %u lost",
                          (unsigned long long) seed, n, n_refused, n_lost);
            finish();
        }
    }
}
END_TEST

/* Returns a hash whose first and second buckets have these numbers, and which
 * has more that is arbitrary. */
static uint64_t
make_hash(uint32_t first, uint32_t second, uint32_t more)
{
    uint64_t width = (UINT64_C(1) << 32) / idx.n_buckets;
    uint64_t high = (first * (UINT64_C(1) << 32) + idx.n_buckets - 1)
                    / idx.n_buckets;
    uint64_t low = (second * (UINT64_C(1) << 32) + idx.n_buckets - 1)
                   / idx.n_buckets;
    uint64_t hash = (high + more * 977 % (width - 1)) << 32
                    | (low + more % (width - 1));

    if (nat64_index_first(&idx, hash) != &idx.buckets[first]
        || nat64_index_probe(&idx, hash, 1) != &idx.buckets[second]) {
        ck_abort_msg("the test does not know how buckets are chosen");
    }
    return hash;
}

#define N_CROWD 500

/* Keys with one first bucket and one second, more than there is room for.  _i
 * is how far the second is from the first; with 0 it is the same. */
START_TEST(crowd)
{
    static uint64_t hashes[N_CROWD];
    uint32_t n = 0, n_wrong = 0;

    init(1000, 4);
    for (uint32_t i = 0; i < N_CROWD; i++) {
        hashes[i] = make_hash(50, 50 + _i, i);
        in[i] = nat64_index_insert(&idx, hashes[i], i);
        n += in[i];
    }
    ck_assert_uint_ge(n, _i ? 2 * NAT64_INDEX_SLOTS : NAT64_INDEX_SLOTS);
    ck_assert_uint_lt(n, N_CROWD);
    for (uint32_t i = 0; i < N_CROWD; i++) {
        n_wrong += find_hash(hashes[i], i) != (in[i] ? i : NAT64_NONE);
    }
    ck_assert_uint_eq(n_wrong, 0);

    /* Each that goes is not found, the others still are, and there is room
     * for one of those that had none. */
    for (uint32_t i = 0; i < N_CROWD; i += 7) {
        uint32_t other = N_CROWD - 1;

        if (!in[i]) {
            continue;
        }
        nat64_index_remove(&idx, hashes[i], i);
        for (uint32_t j = 0; j < N_CROWD; j++) {
            n_wrong += find_hash(hashes[j], j)
                       != (in[j] && j != i ? j : NAT64_NONE);
        }
        ck_assert(nat64_index_insert(&idx, hashes[other], other));
        ck_assert_uint_eq(find_hash(hashes[other], other), other);
        nat64_index_remove(&idx, hashes[other], other);
        ck_assert(nat64_index_insert(&idx, hashes[i], i));
    }
    ck_assert_uint_eq(n_wrong, 0);
    for (uint32_t i = 0; i < N_CROWD; i++) {
        if (in[i]) {
            nat64_index_remove(&idx, hashes[i], i);
        }
    }
    finish();
}
END_TEST

/* Keys with one first bucket and many second ones, more than that can be
 * counted: those that are accepted are found. */
START_TEST(many_elsewhere)
{
    enum { N = 1000 };
    static uint64_t hashes[N];
    uint32_t n = 0;

    init(10000, 6);
    for (uint32_t i = 0; i < N; i++) {
        hashes[i] = make_hash(500, i, i);
        in[i] = nat64_index_insert(&idx, hashes[i], i);
        n += in[i];
    }
    ck_assert_uint_ge(n, 100);
    for (uint32_t i = 0; i < N; i++) {
        ck_assert_uint_eq(find_hash(hashes[i], i), in[i] ? i : NAT64_NONE);
        if (in[i]) {
            nat64_index_remove(&idx, hashes[i], i);
        }
        ck_assert_uint_eq(find_hash(hashes[i], i), NAT64_NONE);
    }
    finish();
}
END_TEST

/* Of one number, the same is inserted under two hashes in turn: tags that are
 * left behind do no harm. */
START_TEST(same_number_again)
{
    init(2, 7);
    for (int i = 0; i < 1000; i++) {
        uint64_t hash;

        keys[0] = i;
        hash = hash_of(0);
        ck_assert_uint_eq(find(0), NAT64_NONE);
        ck_assert(nat64_index_insert(&idx, hash, 0));
        ck_assert_uint_eq(find(0), 0);
        ck_assert_uint_eq(nat64_index_guess(&idx, hash), 0);
        nat64_index_remove(&idx, hash, 0);
    }
    finish();
}
END_TEST

/* ------------------------------------------------------------------------
 * Threads.
 *
 * Numbers are divided among those that write; some keys stay all the time, and
 * those that read must find them at every look.
 * ------------------------------------------------------------------------ */

#define N_WRITERS 2
#define N_READERS 2
#define N_SHARED 600             /* Keys, of an index for as many. */
#define N_STAY 300
#define N_STEPS 400000

static uint32_t n_missed;        /* Looks that had the wrong result. */
static bool done;

static void
note_miss(bool missed)
{
    if (missed) {
        __atomic_fetch_add(&n_missed, 1, __ATOMIC_RELAXED);
    }
}

/* The I-th of those that write has every N_WRITERS-th number from I on, except
 * those that stay. */
static void *
write_keys(void *number)
{
    uint32_t me = *(uint32_t *) number;
    struct rng rng;
    uint32_t i;

    rng_init(&rng, me);
    for (uint32_t step = 0; step < N_STEPS; step++) {
        i = N_STAY + rng_below(&rng, (N_SHARED - N_STAY) / N_WRITERS)
                     * N_WRITERS + me;
        if (in[i]) {
            note_miss(find(i) != i);
            nat64_index_remove(&idx, hash_of(i), i);
            in[i] = false;
            note_miss(find(i) != NAT64_NONE);
        } else {
            in[i] = nat64_index_insert(&idx, hash_of(i), i);
        }
    }
    for (i = N_STAY + me; i < N_SHARED; i += N_WRITERS) {
        if (in[i]) {
            nat64_index_remove(&idx, hash_of(i), i);
        }
    }
    return NULL;
}

static void *
read_keys(void *number)
{
    struct rng rng;

    rng_init(&rng, 100 + *(uint32_t *) number);
    while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) {
        for (int k = 0; k < 100; k++) {
            uint32_t i = rng_below(&rng, N_STAY);
            uint32_t j = N_STAY + rng_below(&rng, N_SHARED - N_STAY);
            uint32_t found = find(j);

            note_miss(find(i) != i);
            note_miss(found != NAT64_NONE && found != j);
        }
    }
    return NULL;
}

static void
start(pthread_t *threads, uint32_t *numbers, uint32_t n,
      void *(*run)(void *number))
{
    for (uint32_t i = 0; i < n; i++) {
        numbers[i] = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run, &numbers[i]),
                         0);
    }
}

static void
join(const pthread_t *threads, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
    }
}

/* With '_i' 1, the index is too small for them all, so that its buckets are
 * full and keys are refused. */
START_TEST(readers_and_writers)
{
    pthread_t writers[N_WRITERS], readers[N_READERS];
    uint32_t numbers[N_WRITERS + N_READERS];

    init(N_SHARED, 8);
    if (_i) {
        uint64_t seed = 9;

        nat64_index_destroy(&idx);
        ck_assert_int_eq(nat64_index_init(&idx, N_STAY, seed), 0);
    }
    n_missed = 0;
    done = false;
    for (uint32_t i = 0; i < N_STAY; i++) {
        in[i] = nat64_index_insert(&idx, hash_of(i), i);
        ck_assert(in[i]);
    }
    start(readers, numbers, N_READERS, read_keys);
    start(writers, numbers + N_READERS, N_WRITERS, write_keys);
    join(writers, N_WRITERS);
    __atomic_store_n(&done, true, __ATOMIC_RELAXED);
    join(readers, N_READERS);

    ck_assert_uint_eq(n_missed, 0);
    for (uint32_t i = 0; i < N_STAY; i++) {
        ck_assert_uint_eq(find(i), i);
        nat64_index_remove(&idx, hash_of(i), i);
    }
    finish();
}
END_TEST

/* The smallest index, in which second buckets are often the first ones, with
 * more keys than have room: nothing remains when they are gone. */
START_TEST(writers_in_two_buckets)
{
    pthread_t writers[N_WRITERS];
    uint32_t numbers[N_WRITERS];

    init(N_SHARED, 10);
    nat64_index_destroy(&idx);
    ck_assert_int_eq(nat64_index_init(&idx, 1, 11), 0);
    n_missed = 0;
    start(writers, numbers, N_WRITERS, write_keys);
    join(writers, N_WRITERS);
    ck_assert_uint_eq(n_missed, 0);
    finish();
}
END_TEST

#define N_LOCKERS 4
#define N_LOCKS 300000

/* Written with the lock of the first bucket, and of the last, held. */
static uint64_t sums[2];

static void *
lock_and_add(void *number)
{
    struct rng rng;

    rng_init(&rng, *(uint32_t *) number);
    for (uint32_t i = 0; i < N_LOCKS; i++) {
        uint32_t which = rng_below(&rng, 2);
        uint64_t hash = make_hash(which ? idx.n_buckets - 1 : 0,
                                  rng_below(&rng, idx.n_buckets), i);
        uint64_t sum;

        nat64_index_lock(&idx, hash);
        sum = sums[which];
        for (int k = 0; k < 30; k++) {
            __asm__ volatile("" : "+r"(sum));    /* Takes time. */
        }
        sums[which] = sum + 1;
        nat64_index_unlock(&idx, hash);
    }
    return NULL;
}

START_TEST(locks_exclude)
{
    pthread_t threads[N_LOCKERS];
    uint32_t numbers[N_LOCKERS];

    init(100, 12);
    sums[0] = sums[1] = 0;
    start(threads, numbers, N_LOCKERS, lock_and_add);
    join(threads, N_LOCKERS);
    ck_assert_uint_eq(sums[0] + sums[1], N_LOCKERS * N_LOCKS);
    finish();
}
END_TEST

/* Written with a lock held. */
static uint32_t written;
static bool is_locked;

static void *
hold_lock(void *number)
{
    uint64_t hash = make_hash(*(uint32_t *) number, 0, 0);

    nat64_index_lock(&idx, hash);
    __atomic_store_n(&is_locked, true, __ATOMIC_RELEASE);
    usleep(20000);
    written = 1;
    nat64_index_unlock(&idx, hash);
    return NULL;
}

START_TEST(waits_for_locks)
{
    pthread_t thread;
    uint32_t bucket;

    init(100, 13);
    bucket = idx.n_buckets - 1;
    nat64_index_wait_unlocked(&idx);
    is_locked = false;
    written = 0;
    ck_assert_int_eq(pthread_create(&thread, NULL, hold_lock, &bucket), 0);
    while (!__atomic_load_n(&is_locked, __ATOMIC_ACQUIRE)) {
        usleep(100);
    }
    nat64_index_wait_unlocked(&idx);
    ck_assert_uint_eq(written, 1);
    pthread_join(thread, NULL);
    finish();
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("nat64-index");
    TCase *tcase = tcase_create("nat64-index");
    SRunner *runner = srunner_create(suite);

    tcase_add_loop_test(tcase, random_steps, 0, N_SIZES * N_SEEDS);
    tcase_add_test(tcase, nominal_fits);
    tcase_add_loop_test(tcase, crowd, 0, 4);
    tcase_add_test(tcase, many_elsewhere);
    tcase_add_test(tcase, same_number_again);
    tcase_add_loop_test(tcase, readers_and_writers, 0, 2);
    tcase_add_test(tcase, writers_in_two_buckets);
    tcase_add_test(tcase, locks_exclude);
    tcase_add_test(tcase, waits_for_locks);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
