/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* What becomes of session logs: syslog, which is played here, and files that
 * fail.  The rest of it is shown by ../xlat-log.at. */

#include <config.h>

#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <syslog.h>
#include <unistd.h>

#include "nat64-net.h"
#include "util.h"
#include "vse-log-file.h"
#include "vse-log.h"

/* ------------------------------------------------------------------------
 * Syslog.
 * ------------------------------------------------------------------------ */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char lines[16][256];
static int n_lines;

void
syslog(int priority, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    pthread_mutex_lock(&mutex);
    if (priority == (LOG_DAEMON | LOG_INFO)) {
        vsnprintf(lines[n_lines++ % 16], sizeof lines[0], format, args);
    }
    pthread_mutex_unlock(&mutex);
    va_end(args);
}

/* Waits until there have been 'n' lines. */
static void
wait_for(int n)
{
    for (int i = 0; i < 3000; i++) {
        bool enough;

        pthread_mutex_lock(&mutex);
        enough = n_lines >= n;
        pthread_mutex_unlock(&mutex);
        if (enough) {
            break;
        }
        usleep(10000);
    }
    ck_assert_int_eq(n_lines, n);
}

#define NAT44 "zone=3 kind=nat44 pool4=192.0.2.1:5000-5001 "
#define SERVER "198.51.100.7"

START_TEST(to_syslog)
{
    struct net net;

    net_begin(&net, NAT44);
    vse_log_put(net.zone);
    ck_assert(!vse_log_changed());
    net_out(&net, "10.0.0.1", 5000, SERVER, 53);
    net_change(&net, NAT44 "log=bindings");
    vse_log_put(net.zone);
    net_out(&net, "10.0.0.1", 5001, SERVER, 53);
    wait_for(1);
    ck_assert_str_eq(lines[0], "nat64 zone=3 event=binding-add proto=udp "
                     "inside=10.0.0.1:5001 outside=192.0.2.1:5001 tenant=0");

    /* What is in the queue when the log ends is still written, as it would be
     * if the zone were gone. */
    net_change(&net, NAT44 "log=bindings port-reuse-delay=0");
    vse_log_put(net.zone);
    net_wait(&net, 302);
    vse_log_remove(3);
    net_change(&net, NAT44);
    net_out(&net, "10.0.0.1", 5000, SERVER, 53);
    wait_for(3);
    ck_assert_ptr_null(vse_log_get_error(3));
    vse_log_exit();
    ck_assert_int_eq(n_lines, 3);
    net_end(&net);
}
END_TEST

START_TEST(at_exit)
{
    struct net net;

    net_begin(&net, NAT44 "log=sessions");
    net_out(&net, "10.0.0.1", 5000, SERVER, 53);
    vse_log_put(net.zone);
    vse_log_exit();
    ck_assert_int_eq(n_lines, 2);
    net_end(&net);
}
END_TEST

/* ------------------------------------------------------------------------
 * Files.
 * ------------------------------------------------------------------------ */

static char path[] = "vse-log-test.XXXXXX";

/* Checks that the file has 'wanted' in it. */
static void
check_file(const char *wanted)
{
    char text[1024];
    FILE *file = fopen(path, "r");

    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    ck_assert_str_eq(text, wanted);
}

static void
limit_file_size(rlim_t bytes)
{
    struct rlimit limit = { bytes, RLIM_INFINITY };

    setrlimit(RLIMIT_FSIZE, &limit);
}

START_TEST(full_file)
{
    struct vse_log_file f;

    signal(SIGXFSZ, SIG_IGN);
    close(mkstemp(path));
    vse_log_file_init(&f, path);
    vse_log_file_write(&f, "one\n", 4);
    ck_assert_ptr_null(f.error);

    /* A line that is cut is lost, as are those that follow. */
    limit_file_size(10);
    vse_log_file_write(&f, "two\nthree\nfour\n", 15);
    ck_assert_ptr_nonnull(f.error);
    vse_log_file_write(&f, "five\n", 5);
    ck_assert_uint_eq(f.n_lost, 3);
    ck_assert_uint_eq(vse_log_file_take_lost(&f), 0);
    check_file("one\ntwo\nth");

    limit_file_size(RLIM_INFINITY);
    vse_log_file_write(&f, "six\n", 4);
    ck_assert_ptr_null(f.error);
    check_file("one\ntwo\nth\nsix\n");
    ck_assert_uint_eq(vse_log_file_take_lost(&f), 3);
    ck_assert_uint_eq(vse_log_file_take_lost(&f), 0);
    vse_log_file_destroy(&f);
    unlink(path);
}
END_TEST

START_TEST(renamed_file)
{
    struct vse_log_file f;

    close(mkstemp(path));
    vse_log_file_init(&f, path);
    vse_log_file_write(&f, "one\n", 4);
    unlink(path);
    vse_log_file_write(&f, NULL, 0);
    check_file("");
    vse_log_file_write(&f, "two\n", 4);
    check_file("two\n");

    /* What is no file is not waited for. */
    unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    vse_log_file_write(&f, "three\n", 6);
    ck_assert_ptr_nonnull(f.error);
    ck_assert_uint_eq(f.n_lost, 1);
    unlink(path);
    ck_assert_int_eq(symlink("/dev/null", path), 0);
    vse_log_file_write(&f, "four\n", 5);
    ck_assert_str_eq(f.error, "not a regular file");
    ck_assert_uint_eq(f.n_lost, 2);
    vse_log_file_destroy(&f);
    unlink(path);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("vse-log");
    TCase *tc = tcase_create("all");
    SRunner *sr = srunner_create(s);
    int n;

    tcase_add_test(tc, to_syslog);
    tcase_add_test(tc, at_exit);
    tcase_add_test(tc, full_file);
    tcase_add_test(tc, renamed_file);
    suite_add_tcase(s, tc);
    srunner_run_all(sr, CK_ENV);
    n = srunner_ntests_failed(sr);
    srunner_free(sr);
    return n ? EXIT_FAILURE : EXIT_SUCCESS;
}
