/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* IPv4 addresses embedded in IPv6 addresses (RFC 6052). */

#include <arpa/inet.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "xlat-6052.h"
#include "zone-util.h"

static struct xlat_6052
make(const char *s)
{
    struct xlat_prefix prefix;
    struct xlat_6052 p;
    char *error = xlat_prefix_parse(s, 6, &prefix);

    ck_assert_msg(!error, "%s", error);
    error = xlat_6052_init(&p, &prefix);
    ck_assert_msg(!error, "%s", error);
    return p;
}

/* The table of RFC 6052, 2.4: 192.0.2.33. */
static const struct {
    const char *prefix;
    const char *address;
} examples[] = {
    { "2001:db8::/32", "2001:db8:c000:221::" },
    { "2001:db8:100::/40", "2001:db8:1c0:2:21::" },
    { "2001:db8:122::/48", "2001:db8:122:c000:2:2100::" },
    { "2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::" },
    { "2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100:0" },
    { "2001:db8:122:344::/96", "2001:db8:122:344::c000:221" },
    { "64:ff9b::/96", "64:ff9b::c000:221" },
};

START_TEST(rfc_examples)
{
    struct xlat_6052 p = make(examples[_i].prefix);
    struct xlat_prefix expected;
    struct xlat_ip6 ip = xlat_6052_embed(&p, 0xc0000221);

    ck_assert(xlat_address_parse(examples[_i].address, 6, &expected));
    ck_assert_uint_eq(ip.hi, expected.ip.hi);
    ck_assert_uint_eq(ip.lo, expected.ip.lo);
    ck_assert_uint_eq(xlat_6052_extract(&p, ip), 0xc0000221);
    ck_assert_int_eq(p.global_only, _i == 6);
}
END_TEST

/* The suffix and bits 64 to 71 are ignored when read (RFC 6052, 2.2: both are
 * reserved for extensions). */
START_TEST(suffix_ignored)
{
    struct xlat_6052 p = make("2001:db8:100::/40");
    struct xlat_prefix a;

    ck_assert(xlat_address_parse("2001:db8:1c6:3364:7:dead:0:1", 6, &a));
    ck_assert_uint_eq(xlat_6052_extract(&p, a.ip), 0xc6336407);
    ck_assert(xlat_address_parse("2001:db8:1c6:3364:ab07:dead:0:1", 6, &a));
    ck_assert_uint_eq(xlat_6052_extract(&p, a.ip), 0xc6336407);
}
END_TEST

START_TEST(refused)
{
    static const char *const bad[] = {
        "2001:db8::/95", "2001:db8::/33", "2001:db8::/72", "2000::/24",
        "2001:db8::/128", "::/0", "2001:db8:0:0:100::/96", "::/96",
        "ff00::/32", "fe80::/64",
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct xlat_prefix prefix;
        struct xlat_6052 p;
        char *error;

        ck_assert_ptr_null(xlat_prefix_parse(bad[i], 6, &prefix));
        error = xlat_6052_init(&p, &prefix);
        ck_assert_msg(error, "accepted %s", bad[i]);
        free(error);
    }
}
END_TEST

/* The slow and obvious version: octet by octet, stepping over octet 8. */
static void
embed_slowly(const uint8_t prefix[16], unsigned int len, uint32_t ip4,
             uint8_t out[16])
{
    unsigned int i = len / 8;

    memset(out, 0, 16);
    memcpy(out, prefix, i);
    for (int shift = 24; shift >= 0; shift -= 8) {
        i += i == 8;
        out[i++] = ip4 >> shift;
    }
}

START_TEST(random_embedding)
{
    static const unsigned int lens[] = { 32, 40, 48, 56, 64, 96 };
    uint64_t seed = 6052 + _i;
    struct rng rng;

    rng_init(&rng, seed);
    for (int n = 0; n < 20000; n++) {
        unsigned int len = lens[rng_below(&rng, 6)];
        struct xlat_ip6 mask = xlat_mask6(len);
        struct xlat_6052 p = {
            .prefix = {
                { rng_next(&rng) & mask.hi,
                  rng_next(&rng) & mask.lo & UINT64_MAX >> 8 },
                6, len
            },
        };
        uint32_t ip4 = rng_next(&rng);
        struct xlat_ip6 ip = xlat_6052_embed(&p, ip4);
        uint8_t prefix[16], fast[16], slow[16];

        xlat_ip6_store(p.prefix.ip, prefix);
        xlat_ip6_store(ip, fast);
        embed_slowly(prefix, len, ip4, slow);
        ck_assert_msg(!memcmp(fast, slow, 16), "seed %llu, length %u",
                      (unsigned long long) seed, len);

        /* Whatever the suffix holds. */
        ip.lo |= len == 96 ? 0 : rng_next(&rng) >> (len - 24);
        ck_assert_msg(xlat_6052_extract(&p, ip) == ip4,
                      "seed %llu, length %u", (unsigned long long) seed, len);
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("6052");
    TCase *tcase = tcase_create("6052");
    SRunner *runner = srunner_create(suite);

    tcase_add_loop_test(tcase, rfc_examples, 0, 7);
    tcase_add_test(tcase, suffix_ignored);
    tcase_add_test(tcase, refused);
    tcase_add_loop_test(tcase, random_embedding, 0, 4);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
