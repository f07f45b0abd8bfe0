/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Sends the frames of a capture on the first of its DPDK ports, over and over,
 * as fast as the port takes them, and throws away what comes in on the others.
 *
 *     memif-gen EAL-ARGUMENTS -- CAPTURE CONTROL [keep-ports]
 *
 * The first byte of the file CONTROL becomes the last byte of each frame's
 * destination address; whoever changes it changes what the switch does with
 * the frames, at once.  It is added to the UDP source port as well, so that
 * the frames do not meet their likes in hash tables, unless they have to keep
 * their ports.  With 255, nothing is sent.  Prints "ready" once peers may
 * connect.
 *
 * The whole capture is kept in memory, so that its size is the size of the
 * working set that the receiver is made to have. */

#include <fcntl.h>
#include <pcap/pcap.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#define BURST 32
#define N_RX_QUEUES 8          /* A peer with more transmit queues than we have
                                * receive queues is turned away. */
#define MAX_FRAME_BYTES 128
#define SILENCE 255

struct load {
    uint8_t *bytes;            /* All frames, one behind the other. */
    uint32_t *starts;          /* 'n' + 1 offsets into 'bytes'. */
    size_t n;
    size_t next;
    const volatile uint8_t *control;
    bool keep_ports;
};

static volatile sig_atomic_t stop;

static void
on_signal(int sig)
{
    (void) sig;
    stop = 1;
}

/* Makes room for one more frame of 'len' bytes. */
static void
load_grow(struct load *load, size_t len)
{
    size_t used = load->starts ? load->starts[load->n] : 0;

    if (!(load->n & (load->n - 1))) {
        size_t room = 2 * load->n + 2;

        load->starts = realloc(load->starts, room * sizeof *load->starts);
        load->bytes = realloc(load->bytes, room * MAX_FRAME_BYTES);
        if (!load->starts || !load->bytes) {
            abort();
        }
    }
    load->starts[load->n] = used;
    load->starts[load->n + 1] = used + len;
}

static int
load_read(struct load *load, const char *name)
{
    char error[PCAP_ERRBUF_SIZE];
    pcap_t *pcap = pcap_open_offline(name, error);
    struct pcap_pkthdr *head;
    const u_char *data;

    if (!pcap) {
        fprintf(stderr, "memif-gen: %s: %s\n", name, error);
        return -1;
    }
    while (pcap_next_ex(pcap, &head, &data) == 1) {
        if (head->caplen <= MAX_FRAME_BYTES) {
            load_grow(load, head->caplen);
            memcpy(load->bytes + load->starts[load->n], data, head->caplen);
            load->n++;
        }
    }
    pcap_close(pcap);
    return load->n ? 0 : -1;
}

static int
load_control(struct load *load, const char *name)
{
    int fd = open(name, O_RDONLY);
    void *map = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);

    if (fd >= 0) {
        close(fd);
    }
    if (fd < 0 || map == MAP_FAILED) {
        fprintf(stderr, "memif-gen: cannot map %s\n", name);
        return -1;
    }
    load->control = map;
    return 0;
}

/* Gives the UDP frame at 'data' the source port of variant 'control'. */
static void
vary_port(uint8_t *data, uint8_t control)
{
    uint8_t *udp = data + (data[12] == 0x86 ? 14 + 40 : 14 + 20);
    uint32_t sum = (uint16_t) ~(udp[6] << 8 | udp[7]) + (control << 8);

    udp[0] += control;
    sum = (sum & 0xffff) + (sum >> 16);
    sum = sum == 0xffff ? 0 : sum;       /* No checksum is no variant. */
    udp[6] = ~sum >> 8;
    udp[7] = ~sum;
}

static void
fill(struct load *load, struct rte_mbuf *m, uint8_t control)
{
    uint32_t start = load->starts[load->next];
    uint32_t len = load->starts[load->next + 1] - start;

    uint8_t *data = rte_pktmbuf_mtod(m, uint8_t *);

    memcpy(data, load->bytes + start, len);
    data[5] = control;
    if (!load->keep_ports) {
        vary_port(data, control);
    }
    m->data_len = m->pkt_len = len;
    load->next = load->next + 1 < load->n ? load->next + 1 : 0;
    __builtin_prefetch(load->bytes + start + 1024);
}

static int
port_start(uint16_t port, struct rte_mempool *pool)
{
    struct rte_eth_conf conf = { .rxmode.mq_mode = RTE_ETH_MQ_RX_NONE };
    int error = rte_eth_dev_configure(port, N_RX_QUEUES, 1, &conf);

    for (uint16_t q = 0; !error && q < N_RX_QUEUES; q++) {
        error = rte_eth_rx_queue_setup(port, q, 1024, SOCKET_ID_ANY, NULL,
                                       pool);
    }
    if (!error) {
        error = rte_eth_tx_queue_setup(port, 0, 1024, SOCKET_ID_ANY, NULL);
    }
    return error ? error : rte_eth_dev_start(port);
}

static void
drain(uint16_t n_ports)
{
    struct rte_mbuf *burst[2 * BURST];

    for (uint16_t port = 1; port < n_ports; port++) {
        for (uint16_t q = 0; q < N_RX_QUEUES; q++) {
            rte_pktmbuf_free_bulk(burst, rte_eth_rx_burst(port, q, burst,
                                                          2 * BURST));
        }
    }
}

static void
send_burst(struct load *load, uint16_t n_ports, struct rte_mempool *pool)
{
    struct rte_mbuf *burst[BURST];
    uint8_t control = *load->control;

    if (rte_pktmbuf_alloc_bulk(pool, burst, BURST)) {
        return;
    }
    for (unsigned int i = 0; i < BURST; i++) {
        fill(load, burst[i], control);
    }
    for (unsigned int sent = 0; sent < BURST && !stop; ) {
        unsigned int n = rte_eth_tx_burst(0, 0, burst + sent, BURST - sent);

        sent += n;
        if (!n) {
            drain(n_ports);
            rte_pause();
        }
    }
}

static void
send_until_stopped(struct load *load, uint16_t n_ports,
                   struct rte_mempool *pool)
{
    while (!stop) {
        drain(n_ports);
        if (*load->control != SILENCE) {
            send_burst(load, n_ports, pool);
        }
    }
}

int
main(int argc, char *argv[])
{
    struct load load = { 0 };
    struct rte_mempool *pool;
    int n_eal = rte_eal_init(argc, argv);
    uint16_t n_ports = n_eal < 0 ? 0 : rte_eth_dev_count_avail();

    load.keep_ports = argc - n_eal == 4
                      && !strcmp(argv[n_eal + 3], "keep-ports");
    if (!n_ports || argc - n_eal != 3 + load.keep_ports) {
        fprintf(stderr, "usage: memif-gen EAL-ARGUMENTS -- CAPTURE CONTROL "
                "[keep-ports], with a port at least\n");
        return 2;
    }
    if (load_read(&load, argv[n_eal + 1])
        || load_control(&load, argv[n_eal + 2])) {
        return 1;
    }
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);

    pool = rte_pktmbuf_pool_create("load", 16383, 256, 0,
                                   RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    for (uint16_t port = 0; port < n_ports; port++) {
        if (!pool || port_start(port, pool)) {
            fprintf(stderr, "memif-gen: cannot start port %u\n", port);
            return 1;
        }
    }
    printf("ready\n");
    fflush(stdout);
    send_until_stopped(&load, n_ports, pool);
    for (uint16_t port = 0; port < n_ports; port++) {
        rte_eth_dev_stop(port);
        rte_eth_dev_close(port);
    }
    rte_eal_cleanup();
    free(load.bytes);
    free(load.starts);
    return 0;
}
