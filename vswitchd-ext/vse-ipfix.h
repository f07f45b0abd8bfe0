/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_IPFIX_H
#define VSE_IPFIX_H 1

/* The way of a zone's session log to an IPFIX collector, by UDP (RFC 7011,
 * 10.3), with the templates of lib's nat64-ipfix.h.
 *
 * Messages leave when they are full, and once a second.  Templates are sent
 * first, and every minute; every second while the collector cannot be reached,
 * so that it is noticed when it can.  What cannot be sent is lost, which the
 * collector sees by the sequence numbers.
 *
 * One thread. */

#include <stdint.h>
#include <sys/socket.h>

#include "nat64-ipfix.h"

struct vse_ipfix {
    struct sockaddr_storage to;
    char *name;                  /* "192.0.2.1:4739". */
    int fd;                      /* -1: not open. */
    struct nat64_ipfix ipfix;
    long long int next_templates;    /* In msec, as those that follow. */
    long long int next_send;
    long long int error_at;      /* When 'error' was seen last. */
    int error;                   /* Why it cannot be reached, or 0. */
};

/* 'zone' becomes the observation domain. */
void vse_ipfix_init(struct vse_ipfix *, uint32_t zone,
                    const struct sockaddr_storage *to);

/* Sends what is left. */
void vse_ipfix_destroy(struct vse_ipfix *);

/* Sends 'event', which happened 'time_ms' milliseconds after the begin of
 * 1970, sooner or later. */
void vse_ipfix_put(struct vse_ipfix *, const struct nat64_event *event,
                   uint64_t time_ms);

/* To be called several times a second. */
void vse_ipfix_run(struct vse_ipfix *);

#endif /* vse-ipfix.h */
