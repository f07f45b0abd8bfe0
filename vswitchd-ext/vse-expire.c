/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include <config.h>

#include "vse-expire.h"

#include "nat64.h"
#include "openvswitch/poll-loop.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "timeval.h"
#include "vse-send.h"
#include "vse-zones.h"
#include "xlat-zone.h"

#define INTERVAL_MS 100

static void
expire_zone(const struct xlat_zone *zone, void *sender)
{
    if (xlat_zone_is_stateful(zone)) {
        nat64_run(zone, time_usec(), vse_postpone, vse_send, sender);
    }
}

static void *
expire_main(void *aux OVS_UNUSED)
{
    for (;;) {
        struct vse_sender sender;

        vse_send_begin(&sender);
        vse_zone_for_each(expire_zone, &sender);
        vse_send_end(&sender);
        poll_timer_wait(INTERVAL_MS);
        poll_block();
    }
    return NULL;
}

void
vse_expire_start(void)
{
    static bool started;

    if (!started) {
        started = true;
        ovs_thread_create("xlat-expire", expire_main, NULL);
    }
}

void
vse_postpone(void (*cb)(void *aux), void *aux)
{
    ovsrcu_postpone__(cb, aux);
}
