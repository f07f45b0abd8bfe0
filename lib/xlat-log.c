/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "xlat-log.h"

#include <string.h>

#include "xlat-prefix.h"
#include "xlat-text.h"

static void
set_address(struct sockaddr_storage *storage, const struct xlat_prefix *ip,
            uint16_t port)
{
    memset(storage, 0, sizeof *storage);
    if (ip->family == 4) {
        struct sockaddr_in *sin = (struct sockaddr_in *) storage;

        sin->sin_family = AF_INET;
        sin->sin_port = htons(port);
        sin->sin_addr.s_addr = htobe32(ip->ip.hi >> 32);
    } else {
        struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *) storage;

        sin6->sin6_family = AF_INET6;
        sin6->sin6_port = htons(port);
        xlat_ip6_store(ip->ip, &sin6->sin6_addr);
    }
}

/* Reads "192.0.2.1", "192.0.2.1:4739", "2001:db8::1" or
 * "[2001:db8::1]:4739". */
static bool
parse_address(const char *text, struct sockaddr_storage *storage)
{
    char ip[INET6_ADDRSTRLEN];
    const char *end = *text == '[' ? strchr(text, ']') : NULL;
    const char *colon = strrchr(text, ':');
    struct xlat_prefix prefix;
    uint64_t port = XLAT_IPFIX_PORT;
    size_t n;

    if (*text == '[') {
        if (!end || (end[1] && end[1] != ':')) {
            return false;
        }
        text++;
        n = end - text;
        colon = end[1] ? end + 1 : NULL;
    } else if (colon && strchr(text, ':') == colon) {
        n = colon - text;
    } else {
        n = strlen(text);
        colon = NULL;
    }
    if (n >= sizeof ip
        || (colon && !xlat_uint_parse(colon + 1, 1, UINT16_MAX, &port))) {
        return false;
    }
    memcpy(ip, text, n);
    ip[n] = '\0';
    if (!xlat_address_parse(ip, 0, &prefix)) {
        return false;
    }
    set_address(storage, &prefix, port);
    return true;
}

bool
xlat_log_next(const char **textp, struct xlat_log_target *target,
              char **errorp)
{
    char item[XLAT_LOG_PATH_SIZE + 8];

    *errorp = NULL;
    memset(target, 0, sizeof *target);
    if (!xlat_list_next(textp, item, sizeof item)) {
        return false;
    }
    if (!strcmp(item, "syslog")) {
        target->kind = XLAT_LOG_SYSLOG;
        return true;
    } else if (!strncmp(item, "file:/", 6)
               && strlen(item + 5) < sizeof target->path) {
        target->kind = XLAT_LOG_FILE;
        strcpy(target->path, item + 5);
        return true;
    } else if (!strncmp(item, "ipfix:", 6)
               && parse_address(item + 6, &target->address)) {
        target->kind = XLAT_LOG_IPFIX;
        return true;
    }
    *errorp = xlat_error("\"%s\" is none of syslog, file:/PATH and "
                         "ipfix:ADDRESS[:PORT]", item);
    return false;
}
