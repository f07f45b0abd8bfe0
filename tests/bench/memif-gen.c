/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Sends the frames of a capture on a DPDK port, over and over, as fast as the
 * port takes them.
 *
 *     memif-gen EAL-ARGUMENTS -- CAPTURE
 *
 * Prints "ready" once peers may connect.
 *
 * The whole capture is kept in memory, so that its size is the size of the
 * working set that the receiver is made to have. */

#include <pcap/pcap.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#define BURST 32
#define N_RX_QUEUES 8          /* A peer with more transmit queues than we have
                                * receive queues is turned away. */
#define MAX_FRAME_BYTES 128

struct load {
    uint8_t *bytes;            /* All frames, one behind the other. */
    uint32_t *starts;          /* 'n' + 1 offsets into 'bytes'. */
    size_t n;
    size_t next;
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

static void
fill(struct load *load, struct rte_mbuf *m)
{
    uint32_t start = load->starts[load->next];
    uint32_t len = load->starts[load->next + 1] - start;

    memcpy(rte_pktmbuf_mtod(m, void *), load->bytes + start, len);
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
send_until_stopped(struct load *load, uint16_t port, struct rte_mempool *pool)
{
    struct rte_mbuf *burst[BURST];
    unsigned int n = 0;

    while (!stop) {
        if (!n) {
            if (rte_pktmbuf_alloc_bulk(pool, burst, BURST)) {
                continue;
            }
            for (n = 0; n < BURST; n++) {
                fill(load, burst[n]);
            }
        }
        unsigned int sent = rte_eth_tx_burst(port, 0, burst, n);
        memmove(burst, burst + sent, (n - sent) * sizeof *burst);
        n -= sent;
    }
    rte_pktmbuf_free_bulk(burst, n);
}

int
main(int argc, char *argv[])
{
    struct load load = { 0 };
    struct rte_mempool *pool;
    int n_eal = rte_eal_init(argc, argv);

    if (n_eal < 0 || argc - n_eal != 2 || rte_eth_dev_count_avail() != 1) {
        fprintf(stderr, "usage: memif-gen EAL-ARGUMENTS -- CAPTURE, "
                "with one port\n");
        return 2;
    }
    if (load_read(&load, argv[n_eal + 1])) {
        return 1;
    }
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);

    pool = rte_pktmbuf_pool_create("load", 16383, 256, 0,
                                   RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    if (!pool || port_start(0, pool)) {
        fprintf(stderr, "memif-gen: cannot start the port\n");
        return 1;
    }
    printf("ready\n");
    fflush(stdout);
    send_until_stopped(&load, 0, pool);
    rte_eth_dev_stop(0);
    rte_eth_dev_close(0);
    rte_eal_cleanup();
    free(load.bytes);
    free(load.starts);
    return 0;
}
