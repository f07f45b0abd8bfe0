/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_THREAD_H
#define VSE_THREAD_H 1

/* What each thread that translates packets has of its own.
 *
 * Numbers are for threads that do little else: a thread gets one once it has
 * come here often enough, so that handlers, which see a packet now and then,
 * leave them to the PMD threads. */

#include <stdint.h>

struct vse_thread {
    uint64_t rng;                /* As in struct xlat_ctx. */
    unsigned int number;         /* Likewise, 'thread'; free again when the
                                  * thread ends.  0 while it has none. */
    uint32_t n_calls;
};

/* Returns that of the calling thread, for a batch of packets. */
struct vse_thread *vse_thread_self(void);

#endif /* vse-thread.h */
