/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include <config.h>

#include "vse-log.h"

#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "hash.h"
#include "nat64-event.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/hmap.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "seq.h"
#include "timeval.h"
#include "util.h"
#include "vse-ipfix.h"
#include "vse-log-file.h"
#include "xlat-log.h"
#include "xlat-tokens.h"
#include "xlat-zone.h"

VLOG_DEFINE_THIS_MODULE(vse_log);

/* Between two looks at the queues, and when many events come. */
#define INTERVAL_MS 100
#define BUSY_INTERVAL_MS 10
#define BUSY (NAT64_EVENTS / 16)

/* Events of a zone that are written at once, and its turns in a row. */
#define CHUNK 2048
#define MAX_CHUNKS 64

/* Between two lines about events that are missing, and two looks at files
 * without anything to write. */
#define NOTE_MS 1000

struct target {
    enum xlat_log_kind kind;
    struct vse_log_file file;    /* XLAT_LOG_FILE. */
    struct vse_ipfix ipfix;      /* XLAT_LOG_IPFIX. */
};

/* What a log is to be. */
struct wanted {
    struct nat64_events *events; /* NULL: it ends. */
    char *to;
    uint32_t rate;
};

/* The log of a zone. */
struct log {
    struct hmap_node node;       /* In 'logs', by zone. */
    uint32_t zone;

    /* With 'mutex'. */
    struct wanted wanted;
    bool changed;                /* 'wanted' is new. */
    char *error;                 /* See vse_log_get_error(). */

    /* The thread's own. */
    struct wanted now;
    struct target *targets;
    size_t n_targets;
    bool has_text;               /* Some of them take text. */
    struct ds text;              /* For files. */
    uint64_t tat_ns;             /* xlat_tokens_take(). */
    uint64_t n_suppressed;       /* Since the last line about it. */
    uint64_t n_lost;             /* By the queue, until the last line. */
    long long int next_note;     /* In msec. */
};

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static struct hmap logs OVS_GUARDED_BY(mutex) = HMAP_INITIALIZER(&logs);
static bool ending OVS_GUARDED_BY(mutex);

static pthread_t thread;
static struct seq *wishes;       /* Changes with what is wanted; NULL before
                                  * there is a thread. */
static struct seq *errors;       /* Changes with errors. */
static uint64_t errors_seen;

static void *log_main(void *aux);

/* ------------------------------------------------------------------------
 * The main thread.
 * ------------------------------------------------------------------------ */

static void
start_thread(void)
{
    if (!wishes) {
        wishes = seq_create();
        errors = seq_create();
        errors_seen = seq_read(errors);
        thread = ovs_thread_create("xlat-log", log_main, NULL);
    }
}

static void
wanted_destroy(struct wanted *w)
{
    nat64_events_unref(w->events);
    free(w->to);
    memset(w, 0, sizeof *w);
}

static struct log *
log_find(uint32_t zone)
    OVS_REQUIRES(mutex)
{
    struct log *log;

    HMAP_FOR_EACH_WITH_HASH (log, node, hash_int(zone, 0), &logs) {
        if (log->zone == zone) {
            return log;
        }
    }
    return NULL;
}

static struct log *
log_create(uint32_t zone)
    OVS_REQUIRES(mutex)
{
    struct log *log = xzalloc(sizeof *log);

    log->zone = zone;
    ds_init(&log->text);
    hmap_insert(&logs, &log->node, hash_int(zone, 0));
    return log;
}

/* Has the log of 'zone' become 'w', which is taken over. */
static void
want(uint32_t zone, struct wanted *w)
{
    struct log *log;

    ovs_mutex_lock(&mutex);
    log = log_find(zone);
    if (!log && w->events) {
        log = log_create(zone);
    }
    if (log) {
        wanted_destroy(&log->wanted);
        log->wanted = *w;
        log->changed = true;
    }
    ovs_mutex_unlock(&mutex);
    if (log) {
        start_thread();
        seq_change(wishes);
    }
}

void
vse_log_put(const struct xlat_zone *zone)
{
    const char *to = xlat_zone_log_to(zone);
    struct wanted w = { .events = NULL };

    if (to) {
        w.events = nat64_events_of(zone);
        w.to = xstrdup(to);
        w.rate = xlat_zone_log_rate(zone);
    }
    want(xlat_zone_number(zone), &w);
}

void
vse_log_remove(uint32_t zone)
{
    struct wanted w = { .events = NULL };

    want(zone, &w);
}

char *
vse_log_get_error(uint32_t zone)
{
    const struct log *log;
    char *error;

    ovs_mutex_lock(&mutex);
    log = log_find(zone);
    error = log ? nullable_xstrdup(log->error) : NULL;
    ovs_mutex_unlock(&mutex);
    return error;
}

bool
vse_log_changed(void)
{
    uint64_t before = errors_seen;

    if (errors) {
        errors_seen = seq_read(errors);
    }
    return errors_seen != before;
}

void
vse_log_wait(void)
{
    if (errors) {
        seq_wait(errors, errors_seen);
    }
}

void
vse_log_exit(void)
{
    if (wishes) {
        ovs_mutex_lock(&mutex);
        ending = true;
        ovs_mutex_unlock(&mutex);
        seq_change(wishes);
        xpthread_join(thread, NULL);
    }
}

/* ------------------------------------------------------------------------
 * Targets.
 * ------------------------------------------------------------------------ */

static void
close_targets(struct log *log)
{
    for (size_t i = 0; i < log->n_targets; i++) {
        struct target *t = &log->targets[i];

        if (t->kind == XLAT_LOG_FILE) {
            vse_log_file_destroy(&t->file);
        } else if (t->kind == XLAT_LOG_IPFIX) {
            vse_ipfix_destroy(&t->ipfix);
        }
    }
    free(log->targets);
    log->targets = NULL;
    log->n_targets = 0;
}

/* Makes the targets of 'log' those of 'to', which is valid. */
static void
open_targets(struct log *log, const char *to)
{
    struct xlat_log_target conf;
    size_t allocated = 0;
    char *error;

    log->has_text = false;
    while (xlat_log_next(&to, &conf, &error)) {
        struct target *t;

        if (log->n_targets >= allocated) {
            log->targets = x2nrealloc(log->targets, &allocated,
                                      sizeof *log->targets);
        }
        t = &log->targets[log->n_targets++];
        t->kind = conf.kind;
        if (t->kind == XLAT_LOG_FILE) {
            vse_log_file_init(&t->file, conf.path);
        } else if (t->kind == XLAT_LOG_IPFIX) {
            vse_ipfix_init(&t->ipfix, log->zone, &conf.address);
        }
        log->has_text |= t->kind != XLAT_LOG_IPFIX;
    }
    free(error);
}

/* Returns what is wrong with targets, to be freed, or NULL. */
static char *
describe_errors(const struct log *log)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < log->n_targets; i++) {
        const struct target *t = &log->targets[i];
        const char *separator = ds.length ? "; " : "";

        if (t->kind == XLAT_LOG_FILE && t->file.error) {
            ds_put_format(&ds, "%sfile:%s: %s", separator, t->file.path,
                          t->file.error);
        } else if (t->kind == XLAT_LOG_IPFIX && t->ipfix.error) {
            ds_put_format(&ds, "%sipfix:%s: %s", separator, t->ipfix.name,
                          ovs_strerror(t->ipfix.error));
        }
    }
    if (!ds.length) {
        ds_destroy(&ds);
        return NULL;
    }
    return ds_steal_cstr(&ds);
}

/* ------------------------------------------------------------------------
 * Events.
 * ------------------------------------------------------------------------ */

/* Puts the time, as in "2026-01-31T12:00:00.123Z ", in front of 'line'. */
static void
put_stamped(struct ds *ds, const char *stamp, const char *line)
{
    ds_put_cstr(ds, stamp);
    ds_put_cstr(ds, line);
    ds_put_char(ds, '\n');
}

static char *
stamp_of(long long int wall_ms)
{
    return xastrftime_msec("%Y-%m-%dT%H:%M:%S.###Z ", wall_ms, true);
}

static void
put_line(struct log *log, const char *stamp, const char *line)
{
    put_stamped(&log->text, stamp, line);
    for (size_t i = 0; i < log->n_targets; i++) {
        if (log->targets[i].kind == XLAT_LOG_SYSLOG) {
            syslog(LOG_DAEMON | LOG_INFO, "%s", line);
        }
    }
}

static void
put_event(struct log *log, const char *stamp, uint64_t wall_ms,
          const struct nat64_event *e)
{
    for (size_t i = 0; i < log->n_targets; i++) {
        if (log->targets[i].kind == XLAT_LOG_IPFIX) {
            vse_ipfix_put(&log->targets[i].ipfix, e, wall_ms);
        }
    }
    if (!log->has_text) {
        return;
    }
    if (xlat_tokens_take(&log->tat_ns, log->now.rate, log->now.rate,
                         time_usec(), false)) {
        char line[NAT64_EVENT_TEXT_SIZE];

        nat64_event_format(e, log->zone, line);
        put_line(log, stamp, line);
    } else {
        log->n_suppressed++;
    }
}

/* Appends what has been put to files.  With nothing, looks at them. */
static void
write_text(struct log *log)
{
    for (size_t i = 0; i < log->n_targets; i++) {
        if (log->targets[i].kind == XLAT_LOG_FILE) {
            vse_log_file_write(&log->targets[i].file, log->text.string,
                               log->text.length);
        }
    }
    ds_clear(&log->text);
}

static void
put_missing(struct log *log, const char *stamp, const char *what, uint64_t n)
{
    if (n) {
        char line[NAT64_EVENT_TEXT_SIZE];

        nat64_event_format_missing(what, n, log->zone, line);
        put_line(log, stamp, line);
    }
}

/* Says in a file that it has missed 'n' lines. */
static void
write_lost(struct log *log, struct vse_log_file *file, const char *stamp,
           uint64_t n)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    char line[NAT64_EVENT_TEXT_SIZE];

    nat64_event_format_missing("lost", n, log->zone, line);
    put_stamped(&ds, stamp, line);
    vse_log_file_write(file, ds.string, ds.length);
    ds_destroy(&ds);
}

/* Says what is missing, once a second. */
static void
note_missing(struct log *log)
{
    uint64_t lost = nat64_events_lost(log->now.events);
    char *stamp;

    if (time_msec() < log->next_note) {
        return;
    }
    log->next_note = time_msec() + NOTE_MS;
    stamp = stamp_of(time_wall_msec());
    put_missing(log, stamp, "suppressed", log->n_suppressed);
    put_missing(log, stamp, "lost", lost - log->n_lost);
    log->n_suppressed = 0;
    log->n_lost = lost;
    write_text(log);
    for (size_t i = 0; i < log->n_targets; i++) {
        struct target *t = &log->targets[i];
        uint64_t n = t->kind == XLAT_LOG_FILE
                     ? vse_log_file_take_lost(&t->file) : 0;

        if (n) {
            write_lost(log, &t->file, stamp, n);
        }
    }
    free(stamp);
}

/* Writes at most CHUNK events.  Returns how many there were. */
static size_t
write_chunk(struct log *log)
{
    uint64_t wall_ms = time_wall_msec();
    char *stamp = stamp_of(wall_ms);
    struct nat64_event e;
    size_t n;

    for (n = 0; n < CHUNK && nat64_events_take(log->now.events, &e); n++) {
        put_event(log, stamp, wall_ms, &e);
    }
    if (log->text.length) {
        write_text(log);
    }
    free(stamp);
    return n;
}

/* Writes the events that are there.  Returns how many there were. */
static size_t
write_events(struct log *log)
{
    size_t n = 0, chunk;

    if (!log->now.events) {
        return 0;
    }
    for (int i = 0; i < MAX_CHUNKS; i++) {
        chunk = write_chunk(log);
        n += chunk;
        if (chunk < CHUNK) {
            break;
        }
    }
    note_missing(log);
    return n;
}

/* ------------------------------------------------------------------------
 * The thread.
 * ------------------------------------------------------------------------ */

/* Makes 'log' what 'w' says, which is taken over. */
static void
log_change(struct log *log, struct wanted *w)
{
    if (w->events != log->now.events) {
        log->n_lost = w->events ? nat64_events_lost(w->events) : 0;
    }
    if (!w->to || !nullable_string_is_equal(w->to, log->now.to)) {
        log->next_note = 0;
        close_targets(log);
        if (w->to) {
            open_targets(log, w->to);
        }
    }
    wanted_destroy(&log->now);
    log->now = *w;
}

/* Does what there is to do about 'log'.  Returns the number of events. */
static size_t
log_run(struct log *log)
{
    size_t n = write_events(log);
    struct wanted w;
    bool changed;

    ovs_mutex_lock(&mutex);
    changed = log->changed;
    if (changed) {
        w = log->wanted;
        memset(&log->wanted, 0, sizeof log->wanted);
        log->changed = false;
    }
    ovs_mutex_unlock(&mutex);
    if (changed) {
        log->next_note = 0;
        if (log->now.events) {
            note_missing(log);
        }
        log_change(log, &w);
        n += write_events(log);
    }
    for (size_t i = 0; i < log->n_targets; i++) {
        if (log->targets[i].kind == XLAT_LOG_IPFIX) {
            vse_ipfix_run(&log->targets[i].ipfix);
        }
    }
    return n;
}

/* Notes what is wrong with the targets of 'log'. */
static void
log_check(struct log *log)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(60, 60);
    char *error = describe_errors(log);

    if (nullable_string_is_equal(error, log->error)) {
        free(error);
        return;
    }
    if (error) {
        VLOG_WARN_RL(&rl, "zone %"PRIu32": session log: %s", log->zone, error);
    } else if (log->now.events) {
        VLOG_INFO_RL(&rl, "zone %"PRIu32": session log: goes everywhere "
                     "again", log->zone);
    }
    ovs_mutex_lock(&mutex);
    free(log->error);
    log->error = error;
    ovs_mutex_unlock(&mutex);
    seq_change(errors);
}

static void
log_destroy(struct log *log)
{
    close_targets(log);
    wanted_destroy(&log->now);
    wanted_destroy(&log->wanted);
    ds_destroy(&log->text);
    free(log->error);
    free(log);
}

/* Forgets 'log' if nobody wants it. */
static void
log_clean(struct log *log, bool at_end)
{
    bool gone;

    ovs_mutex_lock(&mutex);
    gone = at_end || (!log->now.events && !log->changed);
    if (gone) {
        hmap_remove(&logs, &log->node);
    }
    ovs_mutex_unlock(&mutex);
    if (gone) {
        log_destroy(log);
    }
}

/* Returns all logs, with '*n' their number; only this thread forgets any. */
static struct log **
get_logs(size_t *n, bool *at_end)
{
    struct log **all, *log;

    ovs_mutex_lock(&mutex);
    *n = 0;
    *at_end = ending;
    all = xmalloc((hmap_count(&logs) + 1) * sizeof *all);
    HMAP_FOR_EACH (log, node, &logs) {
        all[(*n)++] = log;
    }
    ovs_mutex_unlock(&mutex);
    return all;
}

static void *
log_main(void *aux OVS_UNUSED)
{
    bool at_end = false;

    ovsrcu_quiesce_start();
    while (!at_end) {
        uint64_t seqno = seq_read(wishes);
        size_t n, n_events = 0;
        struct log **all = get_logs(&n, &at_end);

        for (size_t i = 0; i < n; i++) {
            n_events = MAX(n_events, log_run(all[i]));
            log_check(all[i]);
            log_clean(all[i], at_end);
        }
        free(all);
        if (!at_end) {
            seq_wait(wishes, seqno);
            if (n) {
                poll_timer_wait(n_events < BUSY ? INTERVAL_MS
                                                : BUSY_INTERVAL_MS);
            }
            poll_block();
        }
    }
    return NULL;
}
