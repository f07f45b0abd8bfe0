/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include "siit.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void
set_options(struct xlat_conf *conf, const char *options)
{
    char *copy = strdup(options ? options : "");
    char *save = NULL;

    for (char *key = strtok_r(copy, " ", &save); key;
         key = strtok_r(NULL, " ", &save)) {
        char *value = strchr(key, '=');

        *value++ = '\0';
        ck_assert_ptr_null(xlat_conf_set_option(conf, key, value));
    }
    free(copy);
}

void
siit_init(struct siit *s, const char *options)
{
    struct xlat_conf *conf = xlat_conf_create();
    char *error = NULL;

    ck_assert_ptr_null(xlat_conf_set_zone(conf, 1));
    ck_assert_ptr_null(xlat_conf_set_kind(conf, "siit"));
    ck_assert_ptr_null(xlat_conf_add_pool6(conf, "2001:db8:64::/96"));
    ck_assert_ptr_null(xlat_conf_add_pool4(conf, "203.0.113.1"));
    ck_assert_ptr_null(xlat_conf_add_eam(conf, "2001:db8:1::/120",
                                         "192.0.2.0/24"));
    set_options(conf, options);
    ck_assert_int_eq(xlat_zone_create(conf, NULL, &s->zone, &error), 0);
    xlat_conf_destroy(conf);
    s->ctx = (struct xlat_ctx) { .now_us = 1000000, .rng = 1 };
}

void
siit_destroy(struct siit *s)
{
    xlat_zone_destroy(s->zone);
    s->zone = NULL;
}

void
siit_run(struct siit *s)
{
    s->out = s->packet;
    s->job = (struct xlat_job) { .pk = s->packet.pk };
    s->job.pk.data = s->out.buf + (s->packet.pk.data - s->packet.buf);
    xlat_run(s->zone, &s->ctx, &s->job, 1);
}

void
siit_translated(struct siit *s)
{
    siit_run(s);
    if (s->job.verdict == XLAT_DROPPED) {
        ck_assert_msg(0, "dropped: %s", xlat_drop_name(s->job.drop));
    }
    ck_assert_int_eq(s->job.verdict, XLAT_TRANSLATED);
    packet_check(&s->job.pk);
}

void
siit_reply(struct siit *s, enum xlat_drop drop)
{
    siit_run(s);
    ck_assert_int_eq(s->job.verdict, XLAT_REPLY);
    ck_assert_str_eq(xlat_drop_name(s->job.drop), xlat_drop_name(drop));
    ck_assert_uint_eq(s->job.pk.frag_mtu, 0);
    packet_check(&s->job.pk);
}

void
siit_dropped(struct siit *s, enum xlat_drop drop)
{
    siit_run(s);
    ck_assert_int_eq(s->job.verdict, XLAT_DROPPED);
    if (drop != XLAT_N_DROPS) {
        ck_assert_str_eq(xlat_drop_name(s->job.drop), xlat_drop_name(drop));
    }
}
