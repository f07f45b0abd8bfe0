/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include <config.h>

#include "vse-ipfix.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "openvswitch/dynamic-string.h"
#include "socket-util.h"
#include "timeval.h"
#include "util.h"

#define TEMPLATES_MS 60000
#define SEND_MS 1000

/* An ICMP error comes back within this time, or is late. */
#define ERROR_MS 3000

static char *
name_of(const struct sockaddr_storage *to)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    ss_format_address(to, &ds);
    ds_put_format(&ds, ":%"PRIu16, ss_get_port(to));
    return ds_steal_cstr(&ds);
}

void
vse_ipfix_init(struct vse_ipfix *x, uint32_t zone,
               const struct sockaddr_storage *to)
{
    *x = (struct vse_ipfix) { .to = *to, .name = name_of(to), .fd = -1 };
    nat64_ipfix_init(&x->ipfix, zone);
}

static void
close_socket(struct vse_ipfix *x)
{
    if (x->fd >= 0) {
        close(x->fd);
        x->fd = -1;
    }
}

static void
note_error(struct vse_ipfix *x, int error)
{
    x->error = error;
    x->error_at = time_msec();
    if (error != ECONNREFUSED) {
        close_socket(x);
    }
}

/* Opens the socket unless it is open.  Returns 0 or an errno. */
static int
open_socket(struct vse_ipfix *x)
{
    if (x->fd < 0) {
        x->fd = socket(x->to.ss_family,
                       SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (x->fd < 0 || connect(x->fd, (struct sockaddr *) &x->to,
                                 ss_length(&x->to))) {
            return errno;
        }
    }
    return 0;
}

/* Returns the error that has come back since this was asked last, or 0. */
static int
take_error(struct vse_ipfix *x)
{
    socklen_t len = sizeof(int);
    int error = 0;

    if (x->fd >= 0) {
        getsockopt(x->fd, SOL_SOCKET, SO_ERROR, &error, &len);
    }
    return error;
}

static void
look(struct vse_ipfix *x)
{
    int error = take_error(x);

    if (error) {
        note_error(x, error);
    } else if (x->error && time_msec() - x->error_at > ERROR_MS) {
        x->error = 0;
    }
    if (x->error) {
        x->next_templates = MIN(x->next_templates, x->next_send);
    }
}

/* Sends the message, if there is something in it. */
static void
send_message(struct vse_ipfix *x)
{
    size_t n = nat64_ipfix_finish(&x->ipfix, time_wall());

    x->next_send = time_msec() + SEND_MS;
    if (n) {
        int error = open_socket(x);

        look(x);
        if (!error && x->fd >= 0
            && send(x->fd, x->ipfix.message, n, MSG_NOSIGNAL) < 0) {
            error = errno;
        }
        if (error) {
            note_error(x, error);
        }
    }
}

static void
put_templates(struct vse_ipfix *x)
{
    if (time_msec() >= x->next_templates) {
        if (!nat64_ipfix_put_templates(&x->ipfix)) {
            send_message(x);
            nat64_ipfix_put_templates(&x->ipfix);
        }
        x->next_templates = time_msec() + TEMPLATES_MS;
    }
}

void
vse_ipfix_destroy(struct vse_ipfix *x)
{
    send_message(x);
    close_socket(x);
    free(x->name);
}

void
vse_ipfix_put(struct vse_ipfix *x, const struct nat64_event *event,
              uint64_t time_ms)
{
    put_templates(x);
    if (!nat64_ipfix_put(&x->ipfix, event, time_ms)) {
        send_message(x);
        nat64_ipfix_put(&x->ipfix, event, time_ms);
    }
}

void
vse_ipfix_run(struct vse_ipfix *x)
{
    look(x);
    put_templates(x);
    if (time_msec() >= x->next_send) {
        send_message(x);
    }
}
