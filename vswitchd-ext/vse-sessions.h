/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_SESSIONS_H
#define VSE_SESSIONS_H 1

/* The command "xlat/sessions".
 *
 * There may be millions of sessions, and an answer is one message that the
 * main thread makes and sends: so an answer is a piece with a bounded number
 * of sessions, and looking for them is spread over turns of the main loop.
 * Not good at a consistent picture: sessions come and go meanwhile.
 *
 * Main thread only. */

struct unixctl_conn;

/* Takes the command over: 'n' arguments behind the zone, number 'zone', which
 * may be any.  'conn' is answered, sooner or later. */
void vse_sessions_start(struct unixctl_conn *conn, unsigned int zone,
                        const char *const args[], int n);

/* Go on with commands that were taken over, for some milliseconds, and arrange
 * to wake up if there are any left. */
void vse_sessions_run(void);
void vse_sessions_wait(void);

#endif /* vse-sessions.h */
