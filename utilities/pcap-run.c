/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "pcap-run.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "pcap-file.h"
#include "pcap-link.h"
#include "pk-frag.h"
#include "util-text.h"
#include "xlat.h"

enum {
    /* In front of each packet, so that headers may grow: for the translator,
     * and for the link header, which is put back at the end. */
    ROOM_BYTES = 192,
    HEADROOM = ROOM_BYTES - UTIL_LINK_MAX,
    TAILROOM = 64,

    PROGRESS_PACKETS = 4096,
    IP_MAX = 65535 + 40,
};

/* A packet of the batch beside its job. */
struct slot {
    struct pcap_pkthdr pcap;
    struct util_frame frame;
    uint8_t header[UTIL_LINK_MAX];  /* The link header as it came. */
    uint8_t *buf;                   /* ROOM_BYTES, then the IP packet. */
    uint32_t buf_bytes;
    uint32_t packet_bytes;          /* Of the IP packet as it came. */
    uint8_t first_byte;             /* Likewise. */
};

struct runner {
    const struct util_run *run;
    const struct util_link *link;
    struct xlat_ctx ctx;
    uint64_t n_packets;             /* Read so far, the batch included. */

    struct slot slots[XLAT_BATCH];
    struct xlat_job jobs[XLAT_BATCH];
    size_t n;                       /* In the batch. */

    uint8_t fragment[UTIL_LINK_MAX + IP_MAX];
};

static void runner_load(struct runner *, const struct pcap_pkthdr *,
                        const u_char *data);
static char *runner_flush(struct runner *);

/* Returns the clock at a packet. */
static uint64_t
stamp_us(const struct runner *runner, const struct pcap_pkthdr *pcap)
{
    uint64_t us = (pcap->ts.tv_sec * UINT64_C(1000000)
                   + pcap->ts.tv_usec / runner->run->in->ticks_per_us);

    return pcap->ts.tv_sec >= 0 && us > runner->ctx.now_us
           ? us : runner->ctx.now_us;
}

/* A generator's state must not be 0, and near seeds should not give near
 * states: a step of splitmix64. */
static uint64_t
spread_seed(uint64_t seed)
{
    uint64_t z = seed + UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return z ? z : 1;
}

char *
util_run_dlt(const struct util_capture *in, int *dltp)
{
    int dlt = pcap_datalink(in->pcap);
    const struct util_link *link = util_link_find(dlt);

    if (!link) {
        const char *name = pcap_datalink_val_to_description_or_dlt(dlt);

        return util_text("packets of link type \"%s\" are not understood "
                         "(Ethernet, raw IP and Linux cooked ones are)",
                         name);
    }
    *dltp = util_link_result_dlt(link);
    return NULL;
}

/* Reads until the end, a batch at a time.  Packets of a batch share a clock,
 * so they have equal time stamps. */
static char *
runner_loop(struct runner *runner)
{
    pcap_t *in = runner->run->in->pcap;
    struct pcap_pkthdr *pcap;
    const u_char *data;
    char *error = NULL;
    int result;

    while (!error && (result = pcap_next_ex(in, &pcap, &data)) == 1) {
        uint64_t now_us = stamp_us(runner, pcap);

        if (runner->n == XLAT_BATCH || now_us != runner->ctx.now_us) {
            error = runner_flush(runner);
            runner->ctx.now_us = now_us;
        }
        runner_load(runner, pcap, data);
    }
    if (!error) {
        error = runner_flush(runner);
    }
    if (!error && result == PCAP_ERROR) {
        error = util_text("behind packet %llu: %s",
                          (unsigned long long) runner->n_packets,
                          pcap_geterr(in));
    }
    return error;
}

char *
util_run(const struct util_run *run)
{
    struct runner *runner = calloc(1, sizeof *runner);

    if (!runner) {
        return util_text("out of memory");
    }
    runner->run = run;
    runner->link = util_link_find(pcap_datalink(run->in->pcap));
    runner->ctx.rng = spread_seed(run->seed);
    runner->ctx.thread = 1;

    char *error = runner_loop(runner);

    for (size_t i = 0; i < XLAT_BATCH; i++) {
        free(runner->slots[i].buf);
    }
    free(runner);
    return error;
}

/* In. */

static void
slot_reserve(struct slot *slot, uint32_t bytes)
{
    if (bytes > slot->buf_bytes) {
        /* Twice, so that a capture of growing packets costs nothing. */
        slot->buf_bytes = 2 * bytes;
        free(slot->buf);
        slot->buf = malloc(slot->buf_bytes);
        if (!slot->buf) {
            abort();
        }
    }
}

/* Adds a packet to the batch. */
static void
runner_load(struct runner *runner, const struct pcap_pkthdr *pcap,
            const u_char *data)
{
    struct slot *slot = &runner->slots[runner->n];
    struct xlat_job *job = &runner->jobs[runner->n];

    slot->pcap = *pcap;
    slot->frame = util_link_read(runner->link, data, pcap->caplen);
    memcpy(slot->header, data, slot->frame.link_bytes);
    slot->packet_bytes = pcap->caplen - slot->frame.link_bytes;
    slot_reserve(slot, ROOM_BYTES + slot->packet_bytes + TAILROOM);
    memcpy(slot->buf + ROOM_BYTES, data + slot->frame.link_bytes,
           slot->packet_bytes);

    *job = (struct xlat_job) {
        .pk = {
            .data = slot->buf + ROOM_BYTES,
            .len = slot->packet_bytes,
            .headroom = HEADROOM,
            .tailroom = TAILROOM,
        },
    };
    slot->first_byte = *job->pk.data;
    if (!slot->frame.ip && slot->packet_bytes) {
        /* Whatever it is, it must not be taken for IP: not even for a
         * truncated one. */
        *job->pk.data = 0;
    }
    runner->n++;
    runner->n_packets++;
}

/* Out. */

/* Writes the 'n' bytes at 'packet', an IP packet with UTIL_LINK_MAX bytes in
 * front that may be written, behind the link header 'header'. */
static void
write_packet(const struct runner *runner, const struct slot *slot,
             const uint8_t *header, uint8_t *packet, uint32_t n)
{
    uint32_t link_bytes = slot->frame.link_bytes;
    struct pcap_pkthdr pcap = {
        .ts = slot->pcap.ts,
        .caplen = link_bytes + n,
        .len = link_bytes + n,
    };

    memcpy(packet - link_bytes, header, link_bytes);
    pcap_dump((u_char *) runner->run->out, &pcap, packet - link_bytes);
}

/* Writes what became of a packet: 'pk', or the fragments it asks for. */
static void
write_result(struct runner *runner, const struct slot *slot,
             const uint8_t *header, const struct pk *pk)
{
    if (!pk->frag_mtu) {
        write_packet(runner, slot, header, pk->data, pk->len);
        return;
    }

    uint8_t *buf = runner->fragment + UTIL_LINK_MAX;
    struct pk_frag frag;
    int n;

    pk_frag_init(&frag, pk);
    while ((n = pk_frag_next(&frag, buf, IP_MAX)) > 0) {
        write_packet(runner, slot, header, buf, n);
    }
}

static void
write_job(struct runner *runner, struct slot *slot,
          const struct xlat_job *job)
{
    uint8_t header[UTIL_LINK_MAX];

    switch (job->verdict) {
    case XLAT_REPLY:
    case XLAT_TRANSLATED:
        memcpy(header, slot->header, sizeof header);
        if (job->verdict == XLAT_REPLY) {
            util_link_turn_round(runner->link, header);
        }
        util_link_set_version(&slot->frame, header, job->pk.data[0] >> 4);
        write_result(runner, slot, header, &job->pk);
        break;

    case XLAT_PASSED:
        slot->buf[ROOM_BYTES] = slot->first_byte;
        write_packet(runner, slot, slot->header, slot->buf + ROOM_BYTES,
                     slot->packet_bytes);
        break;

    case XLAT_DROPPED:
        break;
    }
}

static void
write_verdict(FILE *file, uint64_t number, const struct xlat_job *job)
{
    static const char *const words[] = {
        [XLAT_TRANSLATED] = "translated",
        [XLAT_REPLY] = "reply",
        [XLAT_PASSED] = "passed",
        [XLAT_DROPPED] = "dropped",
    };

    fprintf(file, "%llu %s", (unsigned long long) number,
            words[job->verdict]);
    if (job->verdict == XLAT_DROPPED) {
        fprintf(file, " %s", xlat_drop_name(job->drop));
    }
    putc('\n', file);
}

/* Runs the batch and empties it. */
static char *
runner_flush(struct runner *runner)
{
    const struct util_run *run = runner->run;
    uint64_t before = runner->n_packets - runner->n;

    xlat_run(run->zone, &runner->ctx, runner->jobs, runner->n);
    for (size_t i = 0; i < runner->n; i++) {
        write_job(runner, &runner->slots[i], &runner->jobs[i]);
        if (run->verdicts) {
            write_verdict(run->verdicts, before + i + 1, &runner->jobs[i]);
        }
    }
    runner->n = 0;

    if (run->progress && (before / PROGRESS_PACKETS
                          != runner->n_packets / PROGRESS_PACKETS)) {
        run->progress(runner->n_packets, run->aux);
    }
    return (ferror(pcap_dump_file(run->out))
            ? util_text("cannot write the result: %s", strerror(errno))
            : NULL);
}
