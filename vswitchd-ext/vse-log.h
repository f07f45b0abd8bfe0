/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_LOG_H
#define VSE_LOG_H 1

/* The session logs of zones, written down: to syslog, files, and IPFIX
 * collectors.
 *
 * A thread of its own takes events from the zones' queues, ten times a second
 * or more often, and is quiescent all the time (ovs-rcu.h): a disk that hangs
 * holds up nothing but the logs.  What does not fit into a queue meanwhile is
 * lost; how much is logged.  A target that cannot be written to is tried again
 * until it can.
 *
 * Main thread only. */

#include <stdbool.h>
#include <stdint.h>

struct xlat_zone;

/* Has the session log of 'zone', which packets see from now on, go where its
 * configuration says. */
void vse_log_put(const struct xlat_zone *zone);

/* Ends the session log of 'zone', which is gone, with what is left of it. */
void vse_log_remove(uint32_t zone);

/* Returns which targets of the log of 'zone' cannot be written to, and why, as
 * a text that the caller frees; NULL if there are none. */
char *vse_log_get_error(uint32_t zone);

/* Returns whether vse_log_get_error() may say something else than before this
 * was called last; vse_log_wait() wakes the poll loop when it does. */
bool vse_log_changed(void);
void vse_log_wait(void);

/* Ends all logs, with what is left of them. */
void vse_log_exit(void);

#endif /* vse-log.h */
