/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Text of addresses, prefixes, identifiers and numbers. */

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "xlat-pool.h"
#include "xlat-prefix.h"
#include "xlat-special.h"
#include "xlat-text.h"

static void
check_round_trip(const char *s, int family, const char *expected)
{
    char text[XLAT_PREFIX_TEXT_SIZE];
    struct xlat_prefix prefix;
    char *error = xlat_prefix_parse(s, family, &prefix);

    ck_assert_msg(!error, "%s", error);
    xlat_prefix_format(&prefix, text);
    ck_assert_str_eq(text, expected);
}

START_TEST(prefix_good)
{
    check_round_trip("192.0.2.0/24", 4, "192.0.2.0/24");
    check_round_trip("192.0.2.1", 0, "192.0.2.1/32");
    check_round_trip("0.0.0.0/0", 4, "0.0.0.0/0");
    check_round_trip("2001:DB8::/32", 6, "2001:db8::/32");
    check_round_trip("2001:db8::1", 0, "2001:db8::1/128");
    check_round_trip("::/0", 6, "::/0");
    check_round_trip("64:ff9b::192.0.2.0/120", 6, "64:ff9b::c000:200/120");
}
END_TEST

static const struct {
    const char *text;
    int family;
} bad_prefixes[] = {
    { "", 0 }, { "/", 0 }, { "/24", 4 }, { "192.0.2.0/", 4 },
    { "192.0.2.0/33", 4 }, { "192.0.2.0/024", 4 }, { "192.0.2.0/+24", 4 },
    { "192.0.2.0/ 24", 4 }, { "192.0.2.0/24 ", 4 }, { " 192.0.2.0/24", 4 },
    { "192.0.2.0/24/24", 4 }, { "192.0.2/24", 4 }, { "192.0.2.01", 4 },
    { "192.0.2.256", 4 }, { "0xc0000200", 4 }, { "192.0.2.1/24", 4 },
    { "192.0.2.0/24", 6 }, { "2001:db8::/32", 4 }, { "2001:db8::/129", 6 },
    { "2001:db8::1/64", 6 }, { "2001:db8:::/64", 6 }, { "fe80::1%eth0", 6 },
    { "2001:db8::/18446744073709551680", 6 },
    { "2001:db8:0000:0000:0000:0000:0000:0000:0000:0000:0000/64", 6 },
    { "host.example", 0 },
};

START_TEST(prefix_bad)
{
    struct xlat_prefix prefix;
    char *error = xlat_prefix_parse(bad_prefixes[_i].text,
                                    bad_prefixes[_i].family, &prefix);

    ck_assert_msg(error, "accepted \"%s\"", bad_prefixes[_i].text);
    free(error);
}
END_TEST

static struct xlat_prefix
prefix_of(const char *s)
{
    struct xlat_prefix prefix;

    ck_assert_ptr_null(xlat_prefix_parse(s, 0, &prefix));
    return prefix;
}

static bool
overlap(const char *a, const char *b)
{
    struct xlat_prefix prefix_a = prefix_of(a), prefix_b = prefix_of(b);
    bool result = xlat_prefix_overlaps(&prefix_a, &prefix_b);

    ck_assert_int_eq(result, xlat_prefix_overlaps(&prefix_b, &prefix_a));
    return result;
}

START_TEST(prefix_overlap)
{
    ck_assert(overlap("192.0.2.0/24", "192.0.2.128/25"));
    ck_assert(overlap("0.0.0.0/0", "192.0.2.1"));
    ck_assert(!overlap("192.0.2.0/25", "192.0.2.128/25"));
    ck_assert(!overlap("0.0.0.0/0", "::/0"));
    ck_assert(overlap("2001:db8::/32", "2001:db8:0:0:1::/80"));
    ck_assert(!overlap("2001:db8:0:0:2::/80", "2001:db8:0:0:1::/80"));
}
END_TEST

START_TEST(id64)
{
    static const char *const bad[] = {
        "", ":", "1:2:3", "1:2:3:4:5", "1:2:3:", ":1:2:3", "1::2:3",
        "12345:0:0:0", "g:0:0:0", "1:2:3:4 ", " 1:2:3:4", "1:2:3:-4",
    };
    char text[XLAT_ID64_TEXT_SIZE];
    uint64_t id;

    ck_assert(xlat_id64_parse("5555:0:2:0", &id));
    ck_assert_uint_eq(id, UINT64_C(0x5555000000020000));
    xlat_id64_format(id, text);
    ck_assert_str_eq(text, "5555:0:2:0");
    ck_assert(xlat_id64_parse("ABCD:ef01:0023:ffff", &id));
    xlat_id64_format(id, text);
    ck_assert_str_eq(text, "abcd:ef01:23:ffff");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(!xlat_id64_parse(bad[i], &id), "\"%s\"", bad[i]);
    }
}
END_TEST

START_TEST(numbers_and_words)
{
    uint64_t n;
    unsigned int i;

    ck_assert(xlat_uint_parse("0", 0, 10, &n) && n == 0);
    ck_assert(xlat_uint_parse("18446744073709551615", 0, UINT64_MAX, &n)
              && n == UINT64_MAX);
    ck_assert(!xlat_uint_parse("18446744073709551616", 0, UINT64_MAX, &n));
    ck_assert(!xlat_uint_parse("", 0, 10, &n));
    ck_assert(!xlat_uint_parse("-1", 0, 10, &n));
    ck_assert(!xlat_uint_parse("01", 0, 10, &n));
    ck_assert(!xlat_uint_parse("11", 0, 10, &n));
    ck_assert(!xlat_uint_parse("1", 2, 10, &n));

    ck_assert(xlat_word_find("drop|compute", "compute", &i) && i == 1);
    ck_assert(!xlat_word_find("drop|compute", "comp", &i));
    ck_assert(!xlat_word_find("drop|compute", "", &i));
    ck_assert(!xlat_word_find("drop|compute", "drop|compute", &i));
}
END_TEST

START_TEST(special)
{
    ck_assert(xlat_ip4_is_unroutable(0));
    ck_assert(xlat_ip4_is_unroutable(0x00ffffff));
    ck_assert(!xlat_ip4_is_unroutable(0x01000000));
    ck_assert(xlat_ip4_is_unroutable(0x7f000001));
    ck_assert(!xlat_ip4_is_unroutable(0x80000000));
    ck_assert(!xlat_ip4_is_unroutable(0xdfffffff));
    ck_assert(xlat_ip4_is_unroutable(0xe0000001));
    ck_assert(xlat_ip4_is_unroutable(0xefffffff));
    ck_assert(!xlat_ip4_is_unroutable(0xf0000000));
    ck_assert(xlat_ip4_is_unroutable(0xffffffff));

    ck_assert(xlat_ip6_is_unroutable(prefix_of("::").ip));
    ck_assert(xlat_ip6_is_unroutable(prefix_of("::1").ip));
    ck_assert(!xlat_ip6_is_unroutable(prefix_of("::2").ip));
    ck_assert(xlat_ip6_is_unroutable(prefix_of("fe80::1").ip));
    ck_assert(xlat_ip6_is_unroutable(prefix_of("febf::1").ip));
    ck_assert(!xlat_ip6_is_unroutable(prefix_of("fec0::1").ip));
    ck_assert(xlat_ip6_is_unroutable(prefix_of("ff02::1").ip));

    ck_assert(xlat_ip4_is_non_global(0x0a000001));
    ck_assert(xlat_ip4_is_non_global(0x64400001));
    ck_assert(xlat_ip4_is_non_global(0xc0000001));
    ck_assert(!xlat_ip4_is_non_global(0xc0000009));
    ck_assert(xlat_ip4_is_non_global(0xc6336401));
    ck_assert(xlat_ip4_is_non_global(0xf0000001));
    ck_assert(!xlat_ip4_is_non_global(0x08080808));
}
END_TEST

static void
pool_refuse(struct xlat_pool *pool, const char *s)
{
    struct xlat_prefix prefix = prefix_of(s);
    char *error = xlat_pool_add(pool, &prefix);

    ck_assert_msg(error, "accepted %s", s);
    free(error);
}

START_TEST(pool)
{
    struct xlat_prefix one = prefix_of("203.0.113.1");
    struct xlat_prefix two = prefix_of("198.51.100.0/31");
    struct xlat_pool p;
    int hits[3] = { 0, 0, 0 };

    xlat_pool_init(&p);
    ck_assert_ptr_null(xlat_pool_add(&p, &one));
    ck_assert_ptr_null(xlat_pool_add(&p, &two));
    pool_refuse(&p, "203.0.113.0/24");
    pool_refuse(&p, "10.0.0.0/24");
    pool_refuse(&p, "100.64.1.0/24");
    pool_refuse(&p, "224.0.0.0/24");
    pool_refuse(&p, "0.0.0.0/0");

    for (uint64_t i = 0; i < 3000; i++) {
        uint32_t ip = xlat_pool_choose(&p, i * (UINT64_MAX / 3000));

        hits[ip == 0xcb007101 ? 0 : ip == 0xc6336400 ? 1
             : ip == 0xc6336401 ? 2 : -1]++;
    }
    ck_assert_int_ge(hits[0], 990);
    ck_assert_int_ge(hits[1], 990);
    ck_assert_int_ge(hits[2], 990);
    xlat_pool_destroy(&p);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("prefix");
    TCase *tcase = tcase_create("prefix");
    SRunner *runner = srunner_create(suite);

    tcase_add_test(tcase, prefix_good);
    tcase_add_loop_test(tcase, prefix_bad, 0,
                        sizeof bad_prefixes / sizeof bad_prefixes[0]);
    tcase_add_test(tcase, prefix_overlap);
    tcase_add_test(tcase, id64);
    tcase_add_test(tcase, numbers_and_words);
    tcase_add_test(tcase, special);
    tcase_add_test(tcase, pool);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
