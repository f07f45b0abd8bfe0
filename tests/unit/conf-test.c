/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Configurations: what is taken, and what is refused with which words. */

#include <arpa/inet.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xlat-conf-private.h"
#include "xlat-zone-private.h"
#include "zone-util.h"

static const struct {
    const char *text;
    const char *words;
} refused[] = {
    /* Numbers and kinds. */
    { "zone=-1", "-1" },
    { "zone=65536", "65536" },
    { "kind=nat64", "nat64" },
    { "kind=", "none of" },

    /* pool6. */
    { "pool6=2001:db8::/95", "32, 40, 48, 56, 64 or 96" },
    { "pool6=192.0.2.0/24", "IPv6" },
    { "pool6=2001:db8::1/96", "bits set" },
    { "pool6=2001:db8:0:0:100::/96", "64 to 71" },
    { "pool6=2001:db8::/32 pool6=2001:db8:1::/48", "overlaps" },
    { "pool6=2001:db8::/96 pool6=2001:db8::/96", "overlaps" },

    /* pool4. */
    { "pool4=2001:db8::/96", "IPv4" },
    { "pool4=203.0.113.0/33", "0 to 32" },
    { "pool4=203.0.113.1/24", "bits set" },
    { "pool4=203.0.113.0/24:1000-2000", "no ports" },
    { "pool4=203.0.113.0/24:2000-1000", "ends before" },
    { "pool4=203.0.113.0/24:1000", "range of ports" },
    { "pool4=203.0.113.0/24:1000-65536", "range of ports" },
    { "pool4=203.0.113.0/24:", "range of ports" },
    { "pool4=203.0.113.0/24 pool4=203.0.113.7", "overlaps" },
    { "pool4=10.0.0.0/24", "private" },
    { "pool4=100.64.0.0/24", "private" },
    { "pool4=192.0.0.0/8", "private" },
    { "pool4=172.0.0.0/8", "private" },
    { "pool4=100.0.0.0/8", "shared" },
    { "pool4=192.168.4.1", "private" },
    { "pool4=127.0.0.1", "unicast" },
    { "pool4=255.255.255.0/24", "unicast" },

    /* Explicit address mappings. */
    { "eam=2001:db8::/121,192.0.2.0/24", "fewer addresses" },
    { "eam=192.0.2.0/24,2001:db8::/120", "IPv6" },
    { "eam=2001:db8::1/120,192.0.2.0/24", "bits set" },
    { "eam=2001:db8::/120,192.0.2.1/24", "bits set" },
    { "eam=2001:db8::1,192.0.2.1 eam=2001:db8::1,192.0.2.2", "same IPv6" },
    { "eam=2001:db8::1,192.0.2.1 eam=2001:db8::2,192.0.2.1", "same IPv4" },
    { "eam=2001:db8::/120,192.0.2.0/24 eam=2001:db8::1,192.0.3.1 "
      "eamt-overlap=refuse", "overlap" },
    { "pool6=2001:db8::/96 eam=2001:db8::/64,192.0.2.1", "nothing of" },
    { "pool6=2001:db8::/96 eam=2001:db8::/96,192.0.2.1", "nothing of" },
    { "eam=::1,192.0.2.1", "unicast" },

    /* Options. */
    { "nonsense=1", "no key" },
    { "mtu4=67", "68..65535" },
    { "mtu4=65536", "68..65535" },
    { "mtu6=1279", "1280..65535" },
    { "mtu6=", "1280..65535" },
    { "mtu6=0x600", "1280..65535" },
    { "lowest-ipv6-mtu=1000", "1280..65535" },
    { "hairpin=yes", "none|simple|intrinsic" },
    { "miss=forward", "drop|pass" },
    { "udp-zero-checksum=zero", "drop|compute|forward" },
    { "tos-override=256", "none|0..255" },
    { "tos-override=0x", "none|0..255" },
    { "tos-override=0x100", "none|0..255" },
    { "reset-traffic-class=1", "false|true" },
    { "wkp-non-global=true", "drop|translate" },
    { "icmp-error-rate=-1", "0..1000000" },
    { "icmp-error-burst=0", "1..1000000" },
    { "icmp-source4=2001:db8::1", "ADDRESS" },
    { "icmp-source4=224.0.0.1", "ADDRESS" },
    { "icmp-source6=192.0.2.1", "ADDRESS" },
    { "icmp-source6=fe80::1", "ADDRESS" },
    { "deny=192.0.2.0/24,192.0.2.1/24", "bits set" },
    { "deny=192.0.2.0/24,everything", "everything" },
    { "eamt-file=", "no file" },

    /* Kinds that do not go together. */
    { "ila=5555:0:2:0,2001:0:0:2", "no ILA mappings" },
    { "mapping-file=/x", "no ILA mappings" },
    { "kind=ila pool6=3333:0:0:1::/64 eam=2001:db8::1,192.0.2.1",
      "no explicit" },
    { "kind=ila pool6=3333:0:0:1::/64 eamt-file=/x", "no explicit" },
    { "kind=ila pool6=3333:0:0:1::/64 pool4=203.0.113.1", "no pool4" },
    { "kind=ila", "needs a SIR prefix" },
    { "kind=ila pool6=3333:0:0:1::/96", "64 bits" },
    { "kind=ila pool6=3333:0:0:1::/64 pool6=3333:0:0:1::/64", "overlaps" },

    /* Stateful zones. */
#define NAT64 "kind=nat64 pool6=2001:db8::/96 pool4=203.0.113.1 "
#define NAT44 "kind=nat44 pool4=203.0.113.1 "
    { "kind=nat64 pool6=2001:db8::/96", "needs an address in pool4" },
    { "kind=nat44", "needs an address in pool4" },
    { "kind=nat64 pool4=203.0.113.1", "needs a prefix in pool6" },
    { NAT44 "pool6=2001:db8::/96", "has no pool6" },
    { NAT64 "eam=2001:db8:1::1,192.0.2.1", "no explicit address mappings" },
    { NAT44 "eamt-file=/x", "no explicit address mappings" },
    { NAT44 "mapping-file=/x", "no ILA mappings" },
    { NAT64 "pool4=203.0.113.1:5-6", "twice" },
    { "kind=nat44 pool4=127.0.0.1", "special addresses" },
    { "kind=nat44 pool4=203.0.0.0/19", "more than 4096 addresses" },
    { NAT44 "inside4=10.0.0.0/8,2001:db8::/32", "inside of IPv4" },
    { NAT44 "inside4=10.0.0.1/8", "bits set" },
    { NAT44 "max-sessions=0", "1..100000000" },
    { NAT44 "filtering=none", "endpoint-independent|address-dependent" },
    { NAT44 "mapping=none", "endpoint-independent|per-flow" },
    { NAT44 "udp-timeout=119", "120..4000000" },

    /* ILA mappings. */
    { "ila=5555:0:2,2001:0:0:2", "5555:0:2\"" },
    { "ila=5555:0:2:0,2001::2", "locator" },
    { "ila=5555:0:2:0,2001:0:0:2,adj", "adj-transport" },
    { "ila=5555:0:2:0,2001:0:0:2,no-action,loc", "luid" },
    { "ila=5555:0:2:0,2001:0:0:2,no-action,luid", "top 3 bits" },
    { "ila=3555:0:2:0,2001:0:0:2,no-action,luid", "C bit" },
    { "kind=ila pool6=3333:0:0:1::/64 ila=1:0:0:1,2001:0:0:1 "
      "ila=1:0:0:1,2001:0:0:2", "are the same" },
    { "kind=ila pool6=3333:0:0:1::/64 "
      "ila=0:0:0:5,2001:0:0:2,neutral-map-auto "
      "ila=0:0:0:1336,2001:0:0:2,adj-transport", "look the same" },
    { "kind=ila pool6=3333:0:0:1::/64 "
      "ila=1000:0:0:336,2001:0:0:2,adj-transport "
      "ila=0:0:0:5,2001:0:0:2,neutral-map", "look the same" },
    { "kind=ila pool6=ff02::/64", "special addresses" },
    { "kind=ila pool6=::/64", "special addresses" },
    { "kind=ila pool6=3333:0:0:1::/64 ila=1:0:0:1,fe80:0:0:0",
      "special addresses" },
    { "kind=ila pool6=3333:0:0:1::/64 ila=1:0:0:1,0:0:0:0",
      "special addresses" },
    { "kind=ila pool6=3333:0:0:1::/64 ila=1:0:0:1,3333:0:0:1",
      "SIR prefix" },
    { "kind=ila pool6=3333:0:0:1::/64 ila=1:0:0:0,2001:0:0:1,neutral-map "
      "ila=1:0:0:ffff,2001:0:0:1,neutral-map", "look the same" },
};

START_TEST(refuses)
{
    zone_refuse(refused[_i].text, refused[_i].words);
}
END_TEST

static const char *const accepted[] = {
    "",
    "zone=0",
    "zone=65535 kind=siit pool6=64:ff9b::/96",
    "pool6=2001:db8::/32 pool6=2001:db9::/40",
    "pool4=203.0.113.0/24 pool4=198.51.100.1",
    "pool6=2001:db8::/96 eam=2001:db8::c000:201,198.51.100.1",
    "eam=2001:db8::/120,192.0.2.0/24 eam=2001:db8::1,192.0.3.1",
    "eam=::/96,0.0.0.0/0",
    "mtu6=1280 lowest-ipv6-mtu=1500",
    "deny=192.0.2.0/24,2001:db8::/32",
    "icmp-error-rate=0",
    "kind=ila pool6=3333:0:0:1::/64",
    "kind=ila pool6=3333:0:0:1::/64 ila=5555:0:2:0,2001:0:0:2,neutral-map",
    "kind=ila pool6=3333:0:0:1::/64 ila=2555:0:2:0,2001:0:0:2,no-action,luid",
    "kind=ila pool6=3333:0:0:1::/64 "
    "ila=6555:0:2:0,1:0:0:2,no-action,virt-uni-v6",
    "kind=ila pool6=3333:0:0:1::/64 ila=1:0:0:0,2001:0:0:1,no-action "
    "ila=1:0:0:ffff,2001:0:0:1,neutral-map",
};

START_TEST(accepts)
{
    xlat_zone_destroy(zone_make(accepted[_i], NULL));
}
END_TEST

START_TEST(settings)
{
    struct xlat_zone *zone = zone_make(
        "mtu4=576 mtu6=9000 lowest-ipv6-mtu=1400 udp-zero-checksum=compute "
        "hairpin=intrinsic miss=pass tos-override=0x2E "
        "reset-traffic-class=true wkp-non-global=translate "
        "icmp-error-rate=7 icmp-error-burst=3 icmp-source4=203.0.113.1 "
        "icmp-source6=2001:db8::1", NULL);
    const struct xlat_settings *set = &zone->set;

    ck_assert_uint_eq(set->mtu4, 576);
    ck_assert_uint_eq(set->mtu6, 9000);
    ck_assert_uint_eq(set->lowest_ipv6_mtu, 1400);
    ck_assert_int_eq(set->udp_zero_checksum, XLAT_UDP_ZERO_COMPUTE);
    ck_assert_int_eq(set->hairpin, XLAT_HAIRPIN_INTRINSIC);
    ck_assert_int_eq(set->miss, XLAT_MISS_PASS);
    ck_assert_int_eq(set->tos_override, 0x2e);
    ck_assert(set->reset_traffic_class);
    ck_assert(set->wkp_non_global);
    ck_assert_uint_eq(set->icmp_error_rate, 7);
    ck_assert_uint_eq(set->icmp_error_burst, 3);
    ck_assert_uint_eq(set->icmp_source4, htonl(0xcb007101));
    ck_assert_int_eq(set->icmp_source6.s6_addr[15], 1);
    xlat_zone_destroy(zone);
}
END_TEST

START_TEST(defaults)
{
    struct xlat_zone *zone = zone_make("", NULL);
    const struct xlat_settings *set = &zone->set;

    ck_assert_int_eq(zone->kind, XLAT_KIND_SIIT);
    ck_assert_uint_eq(set->mtu4, 1500);
    ck_assert_uint_eq(set->mtu6, 1500);
    ck_assert_uint_eq(set->lowest_ipv6_mtu, 1280);
    ck_assert_int_eq(set->udp_zero_checksum, XLAT_UDP_ZERO_DROP);
    ck_assert_int_eq(set->hairpin, XLAT_HAIRPIN_NONE);
    ck_assert_int_eq(set->miss, XLAT_MISS_DROP);
    ck_assert_int_eq(set->tos_override, -1);
    ck_assert(!set->reset_traffic_class);
    ck_assert(!set->wkp_non_global);
    ck_assert(!set->refuse_nested_eams);
    ck_assert_uint_eq(set->icmp_error_rate, 1000);
    ck_assert_uint_eq(set->icmp_source4, 0);
    xlat_zone_destroy(zone);

    /* Fragments larger than the MTU would be of no use. */
    zone = zone_make("mtu6=1280 lowest-ipv6-mtu=1500", NULL);
    ck_assert_uint_eq(zone->set.lowest_ipv6_mtu, 1280);
    xlat_zone_destroy(zone);
}
END_TEST

/* A setting that is refused leaves the old one. */
START_TEST(refusal_changes_nothing)
{
    char *error;
    struct xlat_conf *conf = zone_conf("mtu6=1400 deny=192.0.2.0/24", &error);

    error = xlat_conf_set_option(conf, "mtu6", "5");
    ck_assert_ptr_nonnull(error);
    free(error);
    ck_assert_uint_eq(conf->set.mtu6, 1400);
    error = xlat_conf_set_option(conf, "deny", "198.51.100.0/24, x");
    ck_assert_ptr_nonnull(error);
    free(error);
    ck_assert_uint_eq(conf->deny.n, 1);
    error = xlat_conf_add_pool6(conf, "2001:db8::/129");
    ck_assert_ptr_nonnull(error);
    free(error);
    ck_assert_uint_eq(conf->n_pool6, 0);
    xlat_conf_destroy(conf);
}
END_TEST

/* Every key has a default that it takes, and words. */
static void
check_option(const char *key, const char *dflt, const char *values,
             const char *words, void *n_)
{
    int *n = n_;

    (*n)++;
    ck_assert(*key && *values && strlen(words) > 20);
    if (*dflt) {
        struct xlat_conf *conf = xlat_conf_create();
        char *error = xlat_conf_set_option(conf, key, dflt);

        ck_assert_msg(!error, "%s", error);
        xlat_conf_destroy(conf);
    }
}

START_TEST(options)
{
    int n = 0;

    xlat_conf_for_each_option(check_option, &n);
    ck_assert_int_gt(n, 10);
}
END_TEST

static char *
read_text(struct xlat_conf *conf, const char *text,
          char *(*reader)(struct xlat_conf *, FILE *))
{
    FILE *stream = fmemopen((char *) text, strlen(text), "r");
    char *error = reader(conf, stream);

    fclose(stream);
    return error;
}

START_TEST(files)
{
    struct xlat_conf *conf = xlat_conf_create();

    ck_assert_ptr_null(read_text(conf,
        "# Two entries.\n\n"
        "2001:db8:1::/120\t192.0.2.0/24   # The first.\r\n"
        "  2001:db8:2::1 198.51.100.1", xlat_conf_read_eamt));
    ck_assert_uint_eq(conf->n_eams, 2);
    ck_assert_uint_eq(conf->eams[0].line, 3);
    ck_assert_uint_eq(conf->eams[1].line, 4);

    ck_assert_ptr_null(read_text(conf,
        "5555:0:2:0 2001:0:0:2\n"
        "5555:0:3:0 2001:0:0:3 neutral-map\n"
        "2555:0:4:0 2001:0:0:4 no-action luid\n", xlat_conf_read_ila));
    ck_assert_uint_eq(conf->n_mappings, 3);
    ck_assert_int_eq(conf->mappings[0].csum_mode, ILA_CSUM_ADJ_TRANSPORT);
    ck_assert_int_eq(conf->mappings[1].csum_mode, ILA_CSUM_NEUTRAL_MAP);
    ck_assert_int_eq(conf->mappings[2].ident_type, ILA_IDENT_LUID);
    xlat_conf_destroy(conf);
}
END_TEST

static void
check_bad_file(const char *text, char *(*reader)(struct xlat_conf *, FILE *),
               const char *words)
{
    struct xlat_conf *conf = xlat_conf_create();
    char *error = read_text(conf, text, reader);

    ck_assert_msg(error && strstr(error, words), "%s", error);
    ck_assert_uint_eq(conf->n_eams + conf->n_mappings, 0);
    free(error);
    xlat_conf_destroy(conf);
}

START_TEST(bad_files)
{
    check_bad_file("\n2001:db8::1 192.0.2.1\n2001:db8::2\n",
                   xlat_conf_read_eamt, "line 3: ");
    check_bad_file("2001:db8::1 192.0.2.1 x\n", xlat_conf_read_eamt,
                   "line 1: ");
    check_bad_file("2001:db8::1 192.0.2.300\n", xlat_conf_read_eamt,
                   "line 1: \"192.0.2.300\"");
    check_bad_file("1:2:3:4\n", xlat_conf_read_ila, "line 1: ");
    check_bad_file("1:2:3:4 1:2:3:5 no-action none x\n", xlat_conf_read_ila,
                   "line 1: ");
    check_bad_file("1:2:3:4 1:2:3:5\n1:2:3:4 1:2:3:5 none\n",
                   xlat_conf_read_ila, "line 2: ");
}
END_TEST

/* Of two entries of a file that contradict each other, both lines are
 * named. */
START_TEST(file_conflict)
{
    struct xlat_conf *conf = xlat_conf_create();
    struct xlat_zone *zone;
    char *error;

    ck_assert_ptr_null(read_text(conf, "2001:db8::1 192.0.2.1\n\n"
                                 "2001:db8::2 192.0.2.1\n",
                                 xlat_conf_read_eamt));
    ck_assert_int_ne(xlat_zone_create(conf, NULL, &zone, &error), 0);
    ck_assert_msg(strstr(error, "line 1") && strstr(error, "line 3"), "%s",
                  error);
    free(error);
    xlat_conf_destroy(conf);
}
END_TEST

#define N_LARGE 20000

START_TEST(large_files)
{
    struct xlat_conf *conf = xlat_conf_create();
    struct xlat_zone *zone;
    FILE *stream = tmpfile();
    char *error;

    for (uint32_t i = 0; i < N_LARGE; i++) {
        fprintf(stream, "2001:db8:%x:%x::/64 10.%u.%u.%u\n", i >> 16,
                i & 0xffff, i >> 16, i >> 8 & 0xff, i & 0xff);
    }
    rewind(stream);
    ck_assert_ptr_null(xlat_conf_read_eamt(conf, stream));
    fclose(stream);
    ck_assert_int_eq(xlat_zone_create(conf, NULL, &zone, &error), 0);
    ck_assert_uint_eq(xlat_zone_n_eams(zone), N_LARGE);
    ck_assert(zone->addrs.prefetch);
    xlat_zone_destroy(zone);
    xlat_conf_destroy(conf);
}
END_TEST

#define N(ARRAY) (sizeof (ARRAY) / sizeof (ARRAY)[0])

int
main(void)
{
    Suite *suite = suite_create("conf");
    TCase *tcase = tcase_create("conf");
    SRunner *runner = srunner_create(suite);

    tcase_add_loop_test(tcase, refuses, 0, N(refused));
    tcase_add_loop_test(tcase, accepts, 0, N(accepted));
    tcase_add_test(tcase, settings);
    tcase_add_test(tcase, defaults);
    tcase_add_test(tcase, refusal_changes_nothing);
    tcase_add_test(tcase, options);
    tcase_add_test(tcase, files);
    tcase_add_test(tcase, bad_files);
    tcase_add_test(tcase, file_conflict);
    tcase_add_test(tcase, large_files);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
