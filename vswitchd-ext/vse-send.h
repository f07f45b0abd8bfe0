/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_SEND_H
#define VSE_SEND_H 1

/* The way out for packets that zones send of their own accord: back to where
 * packets of their origin come from (vse-origin.h), by the datapath's port,
 * past all flows.
 *
 *     vse_send_begin(&sender);
 *     nat64_run(zone, now_us, vse_postpone, vse_send, &sender);
 *     vse_send_end(&sender);
 *
 * For one thread, which is none of the datapath's. */

#include <stdbool.h>
#include <stdint.h>

struct dpif;

struct vse_sender {
    struct dpif *dpif;           /* NULL while there has been nothing to do. */
    bool failed;                 /* There is no datapath. */
};

void vse_send_begin(struct vse_sender *);

/* A nat64_send of nat64.h; 'sender' is a struct vse_sender. */
void vse_send(uint16_t origin, const uint8_t *ip, uint32_t len, void *sender);

void vse_send_end(struct vse_sender *);

#endif /* vse-send.h */
