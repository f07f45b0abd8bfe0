/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* The index (xlat-hash.h) and the explicit address mapping table. */

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "xlat-eamt.h"
#include "xlat-hash.h"
#include "zone-util.h"

/* Keys are their numbers times 3. */
static bool
is_key(uint32_t number, const void *key, const void *aux)
{
    (void) aux;
    return number * 3 == *(const uint64_t *) key;
}

static uint32_t
find(const struct xlat_hash *h, uint64_t key)
{
    return xlat_hash_find(h, xlat_hash_1(h, key), is_key, &key, NULL);
}

START_TEST(hash_finds)
{
    static const uint32_t sizes[] = { 1, 2, 3, 8, 9, 64, 1000, 100000 };
    uint32_t n = sizes[_i];
    struct xlat_hash h;

    ck_assert_int_eq(xlat_hash_init(&h, n, 77), 0);
    for (uint32_t i = 0; i < n; i++) {
        ck_assert_uint_eq(find(&h, i * 3), XLAT_HASH_NONE);
        xlat_hash_insert(&h, xlat_hash_1(&h, i * 3), i);
    }
    for (uint64_t key = 0; key < n * 3; key++) {
        ck_assert_uint_eq(find(&h, key),
                          key % 3 ? XLAT_HASH_NONE : key / 3);
    }
    xlat_hash_destroy(&h);
}
END_TEST

/* All keys in one bucket, with one tag: the worst that there is. */
START_TEST(hash_collides)
{
    const uint64_t hash = UINT64_C(0xffffffff12345679);
    struct xlat_hash h;

    ck_assert_int_eq(xlat_hash_init(&h, 40, 0), 0);
    for (uint32_t i = 0; i < 40; i++) {
        xlat_hash_insert(&h, hash, i);
    }
    for (uint64_t i = 0; i < 40; i++) {
        uint64_t key = i * 3;

        ck_assert_uint_eq(xlat_hash_find(&h, hash, is_key, &key, NULL), i);
    }
    ck_assert_uint_eq(xlat_hash_guess(&h, hash), 0);
    ck_assert_uint_eq(xlat_hash_guess(&h, hash ^ 2), XLAT_HASH_NONE);
    xlat_hash_destroy(&h);
}
END_TEST

START_TEST(hash_matches_exactly)
{
    struct rng rng;

    rng_init(&rng, 4711);
    for (int n = 0; n < 100000; n++) {
        uint64_t tags = 0, expected = 0;
        uint64_t tag = rng_below(&rng, 4);

        for (int i = 0; i < 4; i++) {
            uint64_t t = rng_below(&rng, 4);

            tags |= t << 16 * i;
            expected |= (uint64_t) (t == tag) << (16 * i + 15);
        }
        ck_assert_uint_eq(xlat_hash_match(tags, tag), expected);
    }
}
END_TEST

static struct xlat_eam
eam(const char *text6, const char *text4)
{
    struct xlat_prefix prefix6, prefix4;
    struct xlat_eam e;

    ck_assert_ptr_null(xlat_prefix_parse(text6, 6, &prefix6));
    ck_assert_ptr_null(xlat_prefix_parse(text4, 4, &prefix4));
    char *error = xlat_eam_init(&e, &prefix6, &prefix4);
    ck_assert_msg(!error, "%s", error);
    return e;
}

static void
check_pair(const struct xlat_eamt *eamt, const char *text6,
           const char *text4)
{
    struct xlat_prefix a6, a4;
    const struct xlat_eam *e;

    ck_assert(xlat_address_parse(text6, 6, &a6));
    ck_assert(xlat_address_parse(text4, 4, &a4));
    uint32_t ip4 = a4.ip.hi >> 32;
    e = xlat_eamt_find6(eamt, a6.ip);
    ck_assert_ptr_nonnull(e);
    ck_assert_uint_eq(xlat_eam_6to4(e, a6.ip), ip4);
    e = xlat_eamt_find4(eamt, ip4);
    ck_assert_ptr_nonnull(e);
    struct xlat_ip6 ip6 = xlat_eam_4to6(e, ip4);
    ck_assert_uint_eq(ip6.hi, a6.ip.hi);
    ck_assert_uint_eq(ip6.lo, a6.ip.lo);
}

/* The examples of RFC 7757, 3.2, as remembered. */
START_TEST(rfc_examples)
{
    struct xlat_eam eams[] = {
        eam("2001:db8:aaaa::", "192.0.2.1"),
        eam("2001:db8:bbbb::b", "192.0.2.2/32"),
        eam("2001:db8:cccc::/124", "192.0.2.16/28"),
        eam("2001:db8:dddd::/64", "192.0.2.128/26"),
        eam("2001:db8:eeee:8::/62", "192.0.2.192/29"),
        eam("64:ff9b::/127", "192.0.2.224/31"),
    };
    struct xlat_eamt *eamt;
    char *error;

    ck_assert_int_eq(xlat_eamt_create(eams, 6, true, &eamt, &error), 0);
    check_pair(eamt, "2001:db8:aaaa::", "192.0.2.1");
    check_pair(eamt, "2001:db8:bbbb::b", "192.0.2.2");
    check_pair(eamt, "2001:db8:cccc::f", "192.0.2.31");
    check_pair(eamt, "2001:db8:dddd::", "192.0.2.128");
    check_pair(eamt, "2001:db8:dddd:0:fc00::", "192.0.2.191");
    check_pair(eamt, "2001:db8:eeee:a:8000::", "192.0.2.197");
    check_pair(eamt, "64:ff9b::1", "192.0.2.225");

    /* What follows the suffix is ignored. */
    struct xlat_prefix a;
    ck_assert(xlat_address_parse("2001:db8:dddd:0:fc00::1234", 6, &a));
    ck_assert_uint_eq(xlat_eam_6to4(xlat_eamt_find6(eamt, a.ip), a.ip),
                      0xc00002bf);
    xlat_eamt_destroy(eamt);
}
END_TEST

/* A prefix of no bits shifts by as much as there is. */
START_TEST(extremes)
{
    struct xlat_eam eams[] = {
        eam("::/0", "0.0.0.0/0"), eam("8000::/1", "10.0.0.1"),
    };
    struct xlat_eamt *eamt;
    char *error;

    ck_assert_int_eq(xlat_eamt_create(eams, 2, false, &eamt, &error), 0);
    check_pair(eamt, "102:304::", "1.2.3.4");
    check_pair(eamt, "8000::", "10.0.0.1");
    xlat_eamt_destroy(eamt);
}
END_TEST

START_TEST(fewer_addresses)
{
    struct xlat_prefix prefix6, prefix4;
    struct xlat_eam e;
    char *error;

    ck_assert_ptr_null(xlat_prefix_parse("2001:db8::/121", 6, &prefix6));
    ck_assert_ptr_null(xlat_prefix_parse("192.0.2.0/24", 4, &prefix4));
    error = xlat_eam_init(&e, &prefix6, &prefix4);
    ck_assert_ptr_nonnull(error);
    free(error);
    ck_assert_ptr_null(xlat_prefix_parse("ff02::/16", 6, &prefix6));
    error = xlat_eam_init(&e, &prefix6, &prefix4);
    ck_assert_ptr_nonnull(error);
    free(error);
    ck_assert_ptr_null(xlat_prefix_parse("2001:db8::/64", 6, &prefix6));
    ck_assert_ptr_null(xlat_prefix_parse("127.0.0.0/24", 4, &prefix4));
    error = xlat_eam_init(&e, &prefix6, &prefix4);
    ck_assert_ptr_nonnull(error);
    free(error);
}
END_TEST

static void
check_refused(struct xlat_eam a, struct xlat_eam b, bool refuse_nested,
              const char *words)
{
    struct xlat_eam eams[] = { a, b };
    struct xlat_eamt *eamt;
    char *error;

    eams[1].line = 17;
    ck_assert_int_eq(xlat_eamt_create(eams, 2, refuse_nested, &eamt, &error),
                     EINVAL);
    ck_assert_ptr_null(eamt);
    ck_assert_msg(strstr(error, words) && strstr(error, "line 17"), "%s",
                  error);
    free(error);
}

START_TEST(duplicates)
{
    check_refused(eam("2001:db8::1", "192.0.2.1"),
                  eam("2001:db8::1", "192.0.2.2"), false, "same IPv6");
    check_refused(eam("2001:db8::1", "192.0.2.1"),
                  eam("2001:db8::2", "192.0.2.1"), false, "same IPv4");
    check_refused(eam("2001:db8::/64", "192.0.2.1"),
                  eam("2001:db8::1", "192.0.2.2"), true, "IPv6 prefixes");
    check_refused(eam("2001:db8:1::/64", "192.0.2.0/24"),
                  eam("2001:db8:2::1", "192.0.2.2"), true, "IPv4 prefixes");
}
END_TEST

#define MAX_EAMS 200

/* The slow and obvious version: all entries, bit by bit. */
static bool
bit(const uint8_t *p, int i)
{
    return p[i / 8] >> (7 - i % 8) & 1;
}

static bool
starts_with(const uint8_t *ip, const uint8_t *prefix, int len)
{
    for (int i = 0; i < len; i++) {
        if (bit(ip, i) != bit(prefix, i)) {
            return false;
        }
    }
    return true;
}

static void
move_suffix(const uint8_t *from, int from_len, uint8_t *to, int to_len,
            int n)
{
    for (int i = 0; i < n; i++) {
        int at = to_len + i;

        to[at / 8] &= ~(1 << (7 - at % 8));
        to[at / 8] |= bit(from, from_len + i) << (7 - at % 8);
    }
}

static bool
translate_slowly(const struct xlat_eam *eams, size_t n, bool from6,
                 const uint8_t *from, uint8_t *to)
{
    const struct xlat_eam *best = NULL;

    for (size_t i = 0; i < n; i++) {
        const struct xlat_eam *e = &eams[i];
        uint32_t be4 = htobe32(e->ip4);
        uint8_t ip6[16];

        xlat_ip6_store(e->ip6, ip6);
        if (from6
            ? starts_with(from, ip6, e->len6) && (!best
                                                  || e->len6 > best->len6)
            : (starts_with(from, (const uint8_t *) &be4, e->len4)
               && (!best || e->len4 > best->len4))) {
            best = e;
        }
    }
    if (best && from6) {
        uint32_t be4 = htobe32(best->ip4);

        memcpy(to, &be4, 4);
        move_suffix(from, best->len6, to, best->len4, 32 - best->len4);
    } else if (best) {
        xlat_ip6_store(best->ip6, to);
        move_suffix(from, best->len4, to, best->len6, 32 - best->len4);
    }
    return best != NULL;
}

/* Makes an entry with few bits set, so that it nests with others. */
static char *
random_eam(struct rng *rng, struct xlat_eam *e)
{
    struct xlat_prefix p4 = { .family = 4, .len = rng_below(rng, 33) };
    struct xlat_prefix p6 = { .family = 6, .len = rng_below(rng,
                                                            97 + p4.len) };
    struct xlat_ip6 mask = xlat_mask6(p6.len);

    p6.ip.hi = rng_next(rng) & rng_next(rng) & rng_next(rng) & mask.hi;
    p6.ip.lo = rng_next(rng) & rng_next(rng) & rng_next(rng) & mask.lo;
    p4.ip.hi = rng_next(rng) & rng_next(rng)
               & (uint64_t) xlat_mask4(p4.len) << 32;
    return xlat_eam_init(e, &p6, &p4);
}

static bool
is_twin(const struct xlat_eam *a, const struct xlat_eam *b)
{
    return (a->ip4 == b->ip4 && a->len4 == b->len4)
           || (a->ip6.hi == b->ip6.hi && a->ip6.lo == b->ip6.lo
               && a->len6 == b->len6);
}

/* Makes 'n' entries, none of which is another's twin. */
static void
random_eams(struct rng *rng, struct xlat_eam *eams, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool good = false;

        while (!good) {
            char *error = random_eam(rng, &eams[i]);

            good = !error;
            free(error);
            for (size_t j = 0; j < i && good; j++) {
                good = !is_twin(&eams[i], &eams[j]);
            }
        }
    }
}

START_TEST(random_lookups)
{
    struct xlat_eam eams[MAX_EAMS];
    uint64_t seed = 7757 + _i;
    struct xlat_eamt *eamt;
    struct rng rng;
    char *error;

    rng_init(&rng, seed);
    size_t n = 1 + rng_below(&rng, _i % 2 ? MAX_EAMS : 8);
    random_eams(&rng, eams, n);
    ck_assert_int_eq(xlat_eamt_create(eams, n, false, &eamt, &error), 0);
    for (int i = 0; i < 2000; i++) {
        const struct xlat_eam *near = &eams[rng_below(&rng, n)];
        struct xlat_ip6 ip6 = {
            near->ip6.hi ^ (rng_next(&rng) & rng_next(&rng)
                            & ~xlat_mask6(near->len6).hi),
            near->ip6.lo ^ (rng_next(&rng) & ~xlat_mask6(near->len6).lo),
        };
        uint32_t ip4 = near->ip4 ^ (rng_next(&rng)
                                    & ~xlat_mask4(near->len4));
        uint32_t be4 = htobe32(ip4);
        uint8_t in6[16], slow6[16], fast6[16];
        uint32_t slow4 = 0;

        xlat_ip6_store(ip6, in6);
        ck_assert(translate_slowly(eams, n, true, in6, (uint8_t *) &slow4));
        ck_assert_msg(xlat_eam_6to4(xlat_eamt_find6(eamt, ip6), ip6)
                      == be32toh(slow4), "seed %llu",
                      (unsigned long long) seed);
        ck_assert(translate_slowly(eams, n, false, (uint8_t *) &be4, slow6));
        xlat_ip6_store(xlat_eam_4to6(xlat_eamt_find4(eamt, ip4), ip4), fast6);
        ck_assert_msg(!memcmp(slow6, fast6, 16), "seed %llu",
                      (unsigned long long) seed);

        /* Anything else, found or not. */
        ip6 = (struct xlat_ip6) { rng_next(&rng) & rng_next(&rng),
                                  rng_next(&rng) };
        xlat_ip6_store(ip6, in6);
        ck_assert_int_eq(translate_slowly(eams, n, true, in6,
                                          (uint8_t *) &slow4),
                         xlat_eamt_find6(eamt, ip6) != NULL);
    }
    xlat_eamt_destroy(eamt);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("eamt");
    TCase *tcase = tcase_create("eamt");
    SRunner *runner = srunner_create(suite);

    tcase_add_loop_test(tcase, hash_finds, 0, 8);
    tcase_add_test(tcase, hash_collides);
    tcase_add_test(tcase, hash_matches_exactly);
    tcase_add_test(tcase, rfc_examples);
    tcase_add_test(tcase, extremes);
    tcase_add_test(tcase, fewer_addresses);
    tcase_add_test(tcase, duplicates);
    tcase_add_loop_test(tcase, random_lookups, 0, 20);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
