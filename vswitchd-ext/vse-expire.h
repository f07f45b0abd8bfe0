/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_EXPIRE_H
#define VSE_EXPIRE_H 1

/* The thread that ends sessions of stateful zones and sends what they have to
 * say, and OVS-RCU as lib wants it. */

/* Starts the thread, unless it has been started: from then on, sessions of all
 * zones end when their time is over.  Main thread only. */
void vse_expire_start(void);

/* Calls 'cb(aux)' when no thread reads any more what it could read before
 * (nat64.h, nat64_postpone). */
void vse_postpone(void (*cb)(void *aux), void *aux);

#endif /* vse-expire.h */
