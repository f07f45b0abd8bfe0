/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include <config.h>
#include "vse-thread.h"

#include <stdbool.h>

#include "ovs-thread.h"
#include "random.h"
#include "util.h"
#include "xlat.h"

/* Calls after which a thread gets a number. */
#define N_CALLS 1000

static __thread struct vse_thread self;

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static bool taken[XLAT_MAX_THREADS] OVS_GUARDED_BY(mutex);

/* Its destructor gives the number back. */
static pthread_key_t key;

static unsigned int
take_number(void)
{
    unsigned int number = 0;

    ovs_mutex_lock(&mutex);
    for (unsigned int i = 1; !number && i < XLAT_MAX_THREADS; i++) {
        if (!taken[i]) {
            taken[i] = true;
            number = i;
        }
    }
    ovs_mutex_unlock(&mutex);
    return number;
}

static void
give_number_back(void *thread_)
{
    struct vse_thread *thread = thread_;

    ovs_mutex_lock(&mutex);
    taken[thread->number] = false;
    ovs_mutex_unlock(&mutex);
}

static void
init_key(void)
{
    static struct ovsthread_once once = OVSTHREAD_ONCE_INITIALIZER;

    if (ovsthread_once_start(&once)) {
        xpthread_key_create(&key, give_number_back);
        ovsthread_once_done(&once);
    }
}

/* Whatever is to be done at the first calls. */
static void
begin(void)
{
    if (!self.rng) {
        self.rng = random_uint64() | 1;
    }
    if (++self.n_calls == N_CALLS) {
        self.number = take_number();
        if (self.number) {
            init_key();
            xpthread_setspecific(key, &self);
        }
    }
}

struct vse_thread *
vse_thread_self(void)
{
    if (OVS_UNLIKELY(self.n_calls < N_CALLS)) {
        begin();
    }
    return &self;
}
