/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* flex-pcap: the packets of a capture through a translation zone, into
 * another capture.  "What would my gateway do with these packets?" */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "conf-json.h"
#include "pcap-file.h"
#include "pcap-run.h"
#include "util-counters.h"
#include "util-text.h"
#include "xlat-conf.h"
#include "xlat-zone.h"

enum {
    EXIT_USAGE = 2,            /* Command line or configuration. */
    PROGRESS_MS = 500,
};

struct options {
    const char *conf;
    const char *in;
    const char *out;
    const char *counters;      /* NULL: not wanted. */
    const char *verdicts;      /* NULL: not wanted. */
    const char *log;           /* NULL: not wanted. */
    uint64_t seed;
    uint32_t tenant;
    bool tenant_is_vlan;
};

static const char *program = "flex-pcap";

static struct options parse_options(int argc, char *argv[]);
static char *run(const struct options *, const struct xlat_zone *);

/* Prints 'error', frees it and exits with 'status'. */
static _Noreturn void
fail(int status, char *error)
{
    fprintf(stderr, "%s: %s\n", program, error);
    free(error);
    exit(status);
}

int
main(int argc, char *argv[])
{
    struct options options = parse_options(argc, argv);
    struct xlat_zone *zone;
    char *error = util_conf_read(options.conf, &zone);

    if (error) {
        fail(EXIT_USAGE, error);
    }

    error = run(&options, zone);
    xlat_zone_destroy(zone);
    if (error) {
        fail(EXIT_FAILURE, error);
    }
    return EXIT_SUCCESS;
}

/* Options. */

static _Noreturn void
usage(void)
{
    printf("\
%s: takes the packets of a capture through a translation zone\n\
usage: %s --conf CONF --in IN --out OUT [OPTION]...\n\
\n\
  --conf CONF        zone's configuration, JSON\n\
  --in IN            capture to read, pcap or pcapng\n\
  --out OUT          capture to write: translated packets and errors\n\
  --counters FILE    write the zone's counters (JSON if FILE ends in .json)\n\
  --verdicts FILE    write a line for each packet: its number, and\n\
                     \"translated\", \"reply\", \"passed\" or \
\"dropped REASON\"\n\
  --log FILE         write the session log of a stateful zone, as far as the\n\
                     zone's option \"log\" is on\n\
  --list-options     print the keys of other_config and exit\n\
  --seed N           seed of what is random (default: 0); equal seeds give\n\
                     equal results\n\
  --tenant N|vlan    whose hosts packets from inside a stateful zone are of\n\
                     (default: 0), or that their VLAN id says so\n\
  -h, --help         print this help\n\
  -V, --version      print the version\n\
\n\
\"-\" as a file is standard input or output.\n\
Exit status: 0 all packets were run, 1 a file could not be read or written,\n\
2 wrong command line or configuration.\n", program, program);
    exit(EXIT_SUCCESS);
}

static void
list_option(const char *key, const char *dflt, const char *values,
            const char *words, void *aux)
{
    (void) aux;
    printf("%s=%s", key, values);
    if (*dflt) {
        printf(" (default: %s)", dflt);
    }
    printf("\n    %s\n", words);
}

static uint64_t
parse_number(const char *option, const char *text, uint64_t max)
{
    char *end;

    errno = 0;
    uint64_t number = strtoumax(text, &end, 0);

    if (errno || end == text || *end || strchr(text, '-')) {
        fail(EXIT_USAGE, util_text("%s: \"%s\" is no number", option, text));
    } else if (number > max) {
        fail(EXIT_USAGE, util_text("%s: %s is too large", option, text));
    }
    return number;
}

static void
parse_tenant(const char *text, struct options *o)
{
    o->tenant_is_vlan = !strcmp(text, "vlan");
    if (!o->tenant_is_vlan) {
        o->tenant = parse_number("--tenant", text, UINT32_MAX);
    }
}

static bool
is_stdio(const char *path)
{
    return path && !strcmp(path, "-");
}

static void
check_options(const struct options *o)
{
    const char *missing = (!o->conf ? "--conf"
                           : !o->in ? "--in"
                           : !o->out ? "--out"
                           : NULL);

    if (missing) {
        fail(EXIT_USAGE, util_text("%s is missing (see --help)", missing));
    }
    if (is_stdio(o->conf) && is_stdio(o->in)) {
        fail(EXIT_USAGE, util_text("--conf and --in cannot both be "
                                   "standard input"));
    }
    if (is_stdio(o->out) + is_stdio(o->counters) + is_stdio(o->verdicts)
        + is_stdio(o->log) > 1) {
        fail(EXIT_USAGE, util_text("only one of --out, --counters, --verdicts "
                                   "and --log can be standard output"));
    }
}

static struct options
parse_options(int argc, char *argv[])
{
    enum { CONF = 256, IN, OUT, COUNTERS, VERDICTS, SEED, TENANT,
           LOG, LIST };
    static const struct option long_options[] = {
        { "conf", required_argument, NULL, CONF },
        { "in", required_argument, NULL, IN },
        { "out", required_argument, NULL, OUT },
        { "counters", required_argument, NULL, COUNTERS },
        { "verdicts", required_argument, NULL, VERDICTS },
        { "log", required_argument, NULL, LOG },
        { "seed", required_argument, NULL, SEED },
        { "tenant", required_argument, NULL, TENANT },
        { "list-options", no_argument, NULL, LIST },
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, 'V' },
        { NULL, 0, NULL, 0 },
    };
    struct options o = { .seed = 0 };
    int c;

    while ((c = getopt_long(argc, argv, "hV", long_options, NULL)) != -1) {
        switch (c) {
        case CONF: o.conf = optarg; break;
        case IN: o.in = optarg; break;
        case OUT: o.out = optarg; break;
        case COUNTERS: o.counters = optarg; break;
        case VERDICTS: o.verdicts = optarg; break;
        case LOG: o.log = optarg; break;
        case SEED:
            o.seed = parse_number("--seed", optarg, UINT64_MAX);
            break;
        case TENANT: parse_tenant(optarg, &o); break;
        case LIST:
            xlat_conf_for_each_option(list_option, NULL);
            exit(EXIT_SUCCESS);
        case 'h':
            usage();
        case 'V':
            printf("%s (Flexiv) %s\n", program, PACKAGE_VERSION);
            exit(EXIT_SUCCESS);
        default:
            exit(EXIT_USAGE);
        }
    }
    if (optind < argc) {
        fail(EXIT_USAGE, util_text("\"%s\" is not an option (see --help)",
                                   argv[optind]));
    }
    check_options(&o);
    return o;
}

/* Progress, on a terminal. */

struct progress {
    const struct util_capture *in;
    uint64_t next_ms;
    bool shown;
};

static uint64_t
now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * UINT64_C(1000) + now.tv_nsec / 1000000;
}

static void
show_progress(uint64_t packets, void *progress_)
{
    struct progress *progress = progress_;
    uint64_t now = now_ms();

    if (now < progress->next_ms) {
        return;
    }
    progress->next_ms = now + PROGRESS_MS;
    progress->shown = true;
    fprintf(stderr, "\r%s: %"PRIu64" packets", program, packets);
    if (progress->in->bytes) {
        fprintf(stderr, ", %.0f %%",
                100.0 * ftello(progress->in->file) / progress->in->bytes);
    }
    fflush(stderr);
}

static void
clear_progress(const struct progress *progress)
{
    if (progress->shown) {
        fputs("\r\033[K", stderr);
    }
}

/* The run. */

/* Opens 'path' to write text into.  Stores NULL if 'path' is null. */
static char *
open_text(const char *path, FILE **filep)
{
    *filep = (!path ? NULL
              : is_stdio(path) ? stdout
              : fopen(path, "w"));
    return path && !*filep ? util_text("%s: %s", path, strerror(errno)) : NULL;
}

/* Closes 'file', if any.  Returns 'error', or else what went wrong. */
static char *
close_text(FILE *file, const char *path, char *error)
{
    if (file && (ferror(file) | fclose(file)) && !error) {
        error = util_text("%s: %s", path, strerror(errno));
    }
    return error;
}

static char *
write_counters(const struct options *o, const struct xlat_zone *zone)
{
    FILE *file;
    char *error = open_text(o->counters, &file);

    if (file) {
        size_t chars = strlen(o->counters);
        bool json = chars >= 5 && !strcmp(o->counters + chars - 5, ".json");

        util_counters_write(zone, file, json);
    }
    return close_text(file, o->counters, error);
}

/* Runs 'in' through 'zone' into 'out', which it closes. */
static char *
run_capture(const struct options *o, const struct xlat_zone *zone,
            const struct util_capture *in, pcap_dumper_t *out)
{
    struct progress progress = {
        .in = in,
        .next_ms = now_ms() + PROGRESS_MS,
    };
    struct util_run run = {
        .zone = zone,
        .in = in,
        .out = out,
        .seed = o->seed,
        .tenant = o->tenant,
        .tenant_is_vlan = o->tenant_is_vlan,
        .progress = isatty(STDERR_FILENO) ? show_progress : NULL,
        .aux = &progress,
    };
    char *error = open_text(o->verdicts, &run.verdicts);

    if (!error) {
        error = open_text(o->log, &run.log);
    }
    if (!error) {
        error = util_text_prefix(util_run(&run), "%s: ", o->in);
    }
    clear_progress(&progress);
    error = close_text(run.verdicts, o->verdicts, error);
    error = close_text(run.log, o->log, error);

    char *finish_error = util_text_prefix(util_capture_finish(out), "%s: ",
                                          o->out);

    if (error) {
        free(finish_error);
        return error;
    }
    return finish_error;
}

static char *
run(const struct options *o, const struct xlat_zone *zone)
{
    struct util_capture in;
    pcap_dumper_t *out;
    int dlt;
    char *error = util_capture_open(&in, o->in);

    if (error) {
        return error;
    }

    error = util_text_prefix(util_run_dlt(&in, &dlt), "%s: ", o->in);
    if (!error) {
        error = util_capture_create(o->out, dlt, &in, &out);
    }
    if (!error) {
        error = run_capture(o, zone, &in, out);

        /* What was run before an error was counted, too. */
        char *counters_error = write_counters(o, zone);

        if (error) {
            free(counters_error);
        } else {
            error = counters_error;
        }
    }
    util_capture_close(&in);
    return error;
}
