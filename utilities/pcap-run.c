/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "pcap-run.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nat64-event.h"
#include "nat64.h"
#include "pcap-file.h"
#include "pcap-link.h"
#include "pk-frag.h"
#include "util-text.h"
#include "xlat-zone.h"
#include "xlat.h"

enum {
    /* In front of each packet, so that headers may grow: for the translator,
     * and for the link header, which is put back at the end. */
    ROOM_BYTES = 192,
    HEADROOM = ROOM_BYTES - UTIL_LINK_MAX,
    TAILROOM = 64,

    PROGRESS_PACKETS = 4096,

    MAX_ORIGINS = 1024,
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

/* A link header by which packets come. */
struct origin {
    struct util_frame frame;
    uint8_t header[UTIL_LINK_MAX];  /* As of a packet of IPv4. */
};

struct runner {
    struct xlat_ctx ctx;            /* First: see get_origin(). */
    const struct util_run *run;
    const struct util_link *link;
    uint64_t n_packets;             /* Read so far, the batch included. */

    struct slot slots[XLAT_BATCH];
    struct xlat_job jobs[XLAT_BATCH];
    size_t n;                       /* In the batch. */

    struct origin origins[MAX_ORIGINS];     /* By their number less 1. */
    size_t n_origins;

    uint8_t fragment[UTIL_LINK_MAX + IP_MAX];
    uint8_t held[ROOM_BYTES + XLAT_HELD_MAX + TAILROOM];
};

static uint32_t tenant_of(const struct runner *, const struct pcap_pkthdr *,
                          const u_char *data);
static void runner_load(struct runner *, const struct pcap_pkthdr *,
                        const u_char *data);
static char *runner_flush(struct runner *);
static void runner_log(const struct runner *);
static void log_lost(const struct runner *);
static uint16_t get_origin(struct xlat_ctx *, const struct xlat_job *);
static void write_own(uint16_t origin, const uint8_t *ip, uint32_t len,
                      void *runner);

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

/* There are no other threads. */
static void
at_once(void (*cb)(void *aux), void *aux)
{
    cb(aux);
}

/* Has it be 'now_us', with all that ends until then. */
static void
runner_set_clock(struct runner *runner, uint64_t now_us)
{
    runner->ctx.now_us = now_us;
    if (xlat_zone_is_stateful(runner->run->zone)) {
        nat64_run(runner->run->zone, now_us, at_once, write_own, runner);
    }
    runner_log(runner);
}

/* Reads until the end, a batch at a time.  Packets of a batch share a clock
 * and a tenant, so they have equal time stamps. */
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
        uint32_t tenant = tenant_of(runner, pcap, data);

        if (runner->n == XLAT_BATCH || now_us != runner->ctx.now_us
            || tenant != runner->ctx.tenant) {
            error = runner_flush(runner);
            runner_set_clock(runner, now_us);
            runner->ctx.tenant = tenant;
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
    runner->ctx.get_origin = get_origin;

    if (xlat_zone_is_stateful(run->zone)) {
        nat64_fit(run->zone, 0, at_once);
    }

    char *error = runner_loop(runner);

    if (xlat_zone_is_stateful(run->zone)) {
        /* Their first ones do not come any more. */
        nat64_drop_held(run->zone);
        log_lost(runner);
    }
    for (size_t i = 0; i < XLAT_BATCH; i++) {
        free(runner->slots[i].buf);
    }
    free(runner);
    return error;
}

/* In. */

static uint32_t
tenant_of(const struct runner *runner, const struct pcap_pkthdr *pcap,
          const u_char *data)
{
    const struct util_run *run = runner->run;
    struct util_frame frame;

    if (!run->tenant_is_vlan) {
        return run->tenant;
    }
    frame = util_link_read(runner->link, data, pcap->caplen);
    return util_link_vlan(&frame, data);
}

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

/* Returns a job with the packet of 'slot', which has TAILROOM behind it. */
static struct xlat_job
slot_job(const struct slot *slot)
{
    return (struct xlat_job) {
        .pk = {
            .data = slot->buf + ROOM_BYTES,
            .len = slot->packet_bytes,
            .headroom = HEADROOM,
            .tailroom = TAILROOM,
        },
    };
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

    *job = slot_job(slot);
    slot->first_byte = *job->pk.data;
    if (!slot->frame.ip && slot->packet_bytes) {
        /* Whatever it is, it must not be taken for IP: not even for a
         * truncated one. */
        *job->pk.data = 0;
    }
    runner->n++;
    runner->n_packets++;
}

/* Returns the number of the link header with which the packet of 'job' came,
 * 0 if there are too many. */
static uint16_t
get_origin(struct xlat_ctx *ctx, const struct xlat_job *job)
{
    struct runner *runner = (struct runner *) ctx;
    const struct slot *slot = &runner->slots[job - runner->jobs];
    struct origin *new = &runner->origins[runner->n_origins];
    uint32_t bytes = slot->frame.link_bytes;
    uint8_t header[UTIL_LINK_MAX];

    memcpy(header, slot->header, bytes);
    util_link_set_version(&slot->frame, header, 4);
    for (size_t i = 0; i < runner->n_origins; i++) {
        if (runner->origins[i].frame.link_bytes == bytes
            && !memcmp(runner->origins[i].header, header, bytes)) {
            return i + 1;
        }
    }
    if (runner->n_origins == MAX_ORIGINS) {
        return 0;
    }
    new->frame = slot->frame;
    memcpy(new->header, header, bytes);
    return ++runner->n_origins;
}

/* Out. */

/* Writes the 'n' bytes at 'packet', an IP packet with UTIL_LINK_MAX bytes in
 * front that may be written, behind the 'link_bytes' of 'header', as of 'ts'.
 * */
static void
write_at(const struct runner *runner, struct timeval ts, uint32_t link_bytes,
         const uint8_t *header, uint8_t *packet, uint32_t n)
{
    struct pcap_pkthdr pcap = {
        .ts = ts,
        .caplen = link_bytes + n,
        .len = link_bytes + n,
    };

    memcpy(packet - link_bytes, header, link_bytes);
    pcap_dump((u_char *) runner->run->out, &pcap, packet - link_bytes);
}

/* Likewise, as what became of the packet of 'slot'. */
static void
write_packet(const struct runner *runner, const struct slot *slot,
             const uint8_t *header, uint8_t *packet, uint32_t n)
{
    write_at(runner, slot->pcap.ts, slot->frame.link_bytes, header, packet, n);
}

/* Writes a packet that the zone sends of its own accord (nat64_send). */
static void
write_own(uint16_t number, const uint8_t *ip, uint32_t len, void *runner_)
{
    struct runner *runner = runner_;
    const struct origin *origin = &runner->origins[number - 1];
    unsigned int ticks_per_us = runner->run->in->ticks_per_us;
    uint64_t now_us = runner->ctx.now_us;
    struct timeval ts = {
        .tv_sec = now_us / 1000000,
        .tv_usec = now_us % 1000000 * ticks_per_us,
    };
    uint8_t header[UTIL_LINK_MAX];

    memcpy(header, origin->header, sizeof header);
    util_link_turn_round(runner->link, header);
    util_link_set_version(&origin->frame, header, ip[0] >> 4);
    memcpy(runner->fragment + UTIL_LINK_MAX, ip, len);
    write_at(runner, ts, origin->frame.link_bytes, header,
             runner->fragment + UTIL_LINK_MAX, len);
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
        if (runner->run->tenant_is_vlan && job->verdict == XLAT_TRANSLATED) {
            util_link_set_vlan(&slot->frame, header, job->tenant);
        }
        write_result(runner, slot, header, &job->pk);
        break;

    case XLAT_PASSED:
        slot->buf[ROOM_BYTES] = slot->first_byte;
        write_packet(runner, slot, slot->header, slot->buf + ROOM_BYTES,
                     slot->packet_bytes);
        break;

    case XLAT_HELD:
    case XLAT_DROPPED:
        break;
    }
}

/* Writes the verdict about the packet 'number', or about one that was released
 * by it. */
static void
write_verdict(FILE *file, uint64_t number, bool released,
              const struct xlat_job *job)
{
    static const char *const words[] = {
        [XLAT_TRANSLATED] = "translated",
        [XLAT_REPLY] = "reply",
        [XLAT_PASSED] = "passed",
        [XLAT_DROPPED] = "dropped",
        [XLAT_HELD] = "held",
    };

    fprintf(file, "%llu %s%s", (unsigned long long) number,
            released ? "released " : "", words[job->verdict]);
    if (job->verdict == XLAT_DROPPED) {
        fprintf(file, " %s", xlat_drop_name(job->drop));
    }
    putc('\n', file);
}

/* Writes what became of the packet 'number' in 'slot'. */
static void
write_all(struct runner *runner, struct slot *slot, uint64_t number,
          bool released, const struct xlat_job *job)
{
    write_job(runner, slot, job);
    if (runner->run->verdicts) {
        write_verdict(runner->run->verdicts, number, released, job);
    }
}

/* Runs the fragments that have waited for the packet 'number' of 'job' in
 * 'first', as if they had come with it. */
static void
run_released(struct runner *runner, const struct slot *first,
             uint64_t number, const struct xlat_job *job)
{
    const struct xlat_zone *zone = runner->run->zone;
    struct xlat_ctx ctx = runner->ctx;
    struct slot slot = *first;
    size_t n;

    ctx.released = true;
    ctx.get_origin = NULL;
    slot.buf = runner->held;
    while ((n = xlat_take_held(zone, job, slot.buf + ROOM_BYTES,
                               XLAT_HELD_MAX)) > 0) {
        struct xlat_job released;

        slot.packet_bytes = n;
        slot.first_byte = slot.buf[ROOM_BYTES];
        released = slot_job(&slot);
        xlat_run(zone, &ctx, &released, 1);
        write_all(runner, &slot, number, true, &released);
    }
    runner->ctx.rng = ctx.rng;
}

/* Writes a line of the session log, as of the clock. */
static void
write_log_line(const struct runner *runner, const char *line)
{
    time_t s = runner->ctx.now_us / 1000000;
    unsigned int ms = runner->ctx.now_us / 1000 % 1000;
    struct tm tm;
    char date[32];

    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", gmtime_r(&s, &tm));
    fprintf(runner->run->log, "%s.%03uZ %s\n", date, ms, line);
}

/* Writes what the zone has for its session log. */
static void
runner_log(const struct runner *runner)
{
    const struct xlat_zone *zone = runner->run->zone;
    char line[NAT64_EVENT_TEXT_SIZE];
    struct nat64_event event;

    if (runner->run->log && xlat_zone_is_stateful(zone)) {
        while (nat64_next_event(zone, &event)) {
            nat64_event_format(&event, xlat_zone_number(zone), line);
            write_log_line(runner, line);
        }
    }
}

/* Writes how many events the zone has lost. */
static void
log_lost(const struct runner *runner)
{
    const struct xlat_zone *zone = runner->run->zone;
    char line[NAT64_EVENT_TEXT_SIZE];
    struct nat64_gauges gauges;

    nat64_get_gauges(zone, &gauges);
    if (runner->run->log && gauges.events_lost) {
        nat64_event_format_missing("lost", gauges.events_lost,
                                   xlat_zone_number(zone), line);
        write_log_line(runner, line);
    }
}

/* Runs the batch and empties it. */
static char *
runner_flush(struct runner *runner)
{
    const struct util_run *run = runner->run;
    uint64_t before = runner->n_packets - runner->n;

    xlat_run(run->zone, &runner->ctx, runner->jobs, runner->n);
    for (size_t i = 0; i < runner->n; i++) {
        struct slot *slot = &runner->slots[i];
        const struct xlat_job *job = &runner->jobs[i];

        write_all(runner, slot, before + i + 1, false, job);
        if (job->held) {
            run_released(runner, slot, before + i + 1, job);
        }
    }
    runner->n = 0;
    runner_log(runner);

    if (run->progress && (before / PROGRESS_PACKETS
                          != runner->n_packets / PROGRESS_PACKETS)) {
        run->progress(runner->n_packets, run->aux);
    }
    return (ferror(pcap_dump_file(run->out))
            ? util_text("cannot write the result: %s", strerror(errno))
            : NULL);
}
