/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* TCP request/response: a server that echoes one byte, and a client that keeps
 * N connections busy, one byte each way at a time, and prints how many
 * transactions a second there were and how long they took.
 *
 *     rr server ADDRESS PORT
 *     rr client ADDRESS PORT CONNECTIONS SECONDS
 *     rr connect ADDRESS PORT CONNECTIONS SECONDS
 *
 * The last one says nothing, but opens connections, CONNECTIONS at a time,
 * resets each at once, and prints how many these were a second. */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_EVENTS 256
#define N_BUCKETS 100000            /* One microsecond each. */

struct connection {
    int fd;
    uint64_t sent_us;
};

static uint64_t
now_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * UINT64_C(1000000) + ts.tv_nsec / 1000;
}

static void
die(const char *what)
{
    fprintf(stderr, "rr: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static struct sockaddr_in6
parse_address(const char *host, const char *port)
{
    struct sockaddr_in6 sin6 = {
        .sin6_family = AF_INET6,
        .sin6_port = htons(atoi(port)),
    };

    if (inet_pton(AF_INET6, host, &sin6.sin6_addr) != 1) {
        errno = EINVAL;
        die(host);
    }
    return sin6;
}

static void
watch(int epfd, int fd, void *ptr)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = ptr };
    int on = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &event)) {
        die("epoll_ctl");
    }
}

static void
echo(int fd)
{
    char byte;

    if (read(fd, &byte, 1) != 1 || write(fd, &byte, 1) != 1) {
        close(fd);
    }
}

static void
serve(struct sockaddr_in6 sin6)
{
    int on = 1;
    int epfd = epoll_create1(0);
    int listener = socket(AF_INET6, SOCK_STREAM, 0);
    struct epoll_event events[MAX_EVENTS];

    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *) &sin6, sizeof sin6)
        || listen(listener, 1024)) {
        die("listen");
    }
    watch(epfd, listener, (void *) (intptr_t) listener);
    for (;;) {
        int n = epoll_wait(epfd, events, MAX_EVENTS, -1);

        for (int i = 0; i < n; i++) {
            int fd = (intptr_t) events[i].data.ptr;

            if (fd != listener) {
                echo(fd);
            } else if ((fd = accept(listener, NULL, NULL)) >= 0) {
                watch(epfd, fd, (void *) (intptr_t) fd);
            }
        }
    }
}

static void
request(struct connection *c)
{
    c->sent_us = now_us();
    if (write(c->fd, "?", 1) != 1) {
        die("write");
    }
}

static void
connect_all(int epfd, struct connection *cs, int n, struct sockaddr_in6 sin6)
{
    for (int i = 0; i < n; i++) {
        cs[i].fd = socket(AF_INET6, SOCK_STREAM, 0);
        if (connect(cs[i].fd, (struct sockaddr *) &sin6, sizeof sin6)) {
            die("connect");
        }
        watch(epfd, cs[i].fd, &cs[i]);
    }
}

/* Returns the latency, in microseconds, below which 'share' of all were. */
static unsigned int
quantile(const uint64_t *buckets, uint64_t total, double share)
{
    uint64_t seen = 0;

    for (unsigned int us = 0; us < N_BUCKETS; us++) {
        seen += buckets[us];
        if (seen >= total * share) {
            return us;
        }
    }
    return N_BUCKETS;
}

static void
drive(struct sockaddr_in6 sin6, int n, double seconds)
{
    static uint64_t buckets[N_BUCKETS];
    struct connection *cs = calloc(n, sizeof *cs);
    struct epoll_event events[MAX_EVENTS];
    int epfd = epoll_create1(0);
    uint64_t total = 0;

    connect_all(epfd, cs, n, sin6);
    uint64_t start = now_us(), end = start + seconds * 1e6;
    for (int i = 0; i < n; i++) {
        request(&cs[i]);
    }
    for (uint64_t now = start; now < end; now = now_us()) {
        int n_events = epoll_wait(epfd, events, MAX_EVENTS, 100);

        for (int i = 0; i < n_events; i++) {
            struct connection *c = events[i].data.ptr;
            uint64_t us = now_us() - c->sent_us;
            char byte;

            if (read(c->fd, &byte, 1) != 1) {
                die("read");
            }
            buckets[us < N_BUCKETS ? us : N_BUCKETS - 1]++;
            total++;
            request(c);
        }
    }
    printf("{\"rate\": %.1f, \"p50\": %u, \"p90\": %u, \"p99\": %u}\n",
           total / ((now_us() - start) / 1e6), quantile(buckets, total, .5),
           quantile(buckets, total, .9), quantile(buckets, total, .99));
    free(cs);
}

/* Begins a connection. */
static void
begin(int epfd, struct sockaddr_in6 sin6)
{
    const struct linger reset = { .l_onoff = 1 };
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct epoll_event event = { .events = EPOLLOUT, .data.fd = fd };

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    if (connect(fd, (struct sockaddr *) &sin6, sizeof sin6)
        && errno != EINPROGRESS) {
        die("connect");
    }
    if (epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &event)) {
        die("epoll_ctl");
    }
}

static void
open_and_close(struct sockaddr_in6 sin6, int n, double seconds)
{
    struct epoll_event events[MAX_EVENTS];
    int epfd = epoll_create1(0);
    uint64_t start = now_us(), end = start + seconds * 1e6;
    uint64_t total = 0, failed = 0;

    for (int i = 0; i < n; i++) {
        begin(epfd, sin6);
    }
    for (uint64_t now = start; now < end; now = now_us()) {
        int n_events = epoll_wait(epfd, events, MAX_EVENTS, 100);

        for (int i = 0; i < n_events; i++) {
            bool bad = events[i].events & (EPOLLERR | EPOLLHUP);

            total += !bad;
            failed += bad;
            close(events[i].data.fd);
            begin(epfd, sin6);
        }
    }
    printf("{\"rate\": %.1f, \"opened\": %llu, \"failed\": %llu}\n",
           total / ((now_us() - start) / 1e6), (unsigned long long) total,
           (unsigned long long) failed);
}

int
main(int argc, char *argv[])
{
    if (argc == 4 && !strcmp(argv[1], "server")) {
        serve(parse_address(argv[2], argv[3]));
    } else if (argc == 6 && !strcmp(argv[1], "client")) {
        drive(parse_address(argv[2], argv[3]), atoi(argv[4]), atof(argv[5]));
    } else if (argc == 6 && !strcmp(argv[1], "connect")) {
        open_and_close(parse_address(argv[2], argv[3]), atoi(argv[4]),
                       atof(argv[5]));
    } else {
        fprintf(stderr, "usage: rr server ADDRESS PORT\n"
                "       rr client ADDRESS PORT CONNECTIONS SECONDS\n"
                "       rr connect ADDRESS PORT CONNECTIONS SECONDS\n");
        return 2;
    }
    return 0;
}
