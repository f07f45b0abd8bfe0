/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_LOG_H
#define XLAT_LOG_H 1

/* Where a session log goes, as it is configured: a list, separated by commas
 * or white space, of "syslog", "file:PATH" (absolute) and
 * "ipfix:ADDRESS[:PORT]" ("[ADDRESS]:PORT" of IPv6). */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define XLAT_LOG_PATH_SIZE 1024
#define XLAT_IPFIX_PORT 4739

enum xlat_log_kind {
    XLAT_LOG_SYSLOG,
    XLAT_LOG_FILE,
    XLAT_LOG_IPFIX,
};

struct xlat_log_target {
    enum xlat_log_kind kind;
    char path[XLAT_LOG_PATH_SIZE];     /* XLAT_LOG_FILE. */
    struct sockaddr_storage address;   /* XLAT_LOG_IPFIX. */
};

/* Reads the next target of '*textp' and moves it behind.  Returns false at the
 * end of the list; or, with '*errorp' set to a sentence that the caller frees,
 * if it is none.  '*errorp' is NULL otherwise. */
bool xlat_log_next(const char **textp, struct xlat_log_target *,
                   char **errorp);

#endif /* xlat-log.h */
