/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "xlat-conf.h"

#include <stdlib.h>
#include <string.h>

#include "xlat-conf-private.h"
#include "xlat-log.h"
#include "xlat-text.h"

#define MAX_ZONE 65535

struct xlat_conf *
xlat_conf_create(void)
{
    struct xlat_conf *conf = calloc(1, sizeof *conf);

    if (conf) {
        conf->kind = XLAT_KIND_SIIT;
        xlat_settings_init(&conf->set);
        xlat_deny_init(&conf->deny);
        xlat_deny_init(&conf->inside4);
    }
    return conf;
}

void
xlat_conf_destroy(struct xlat_conf *conf)
{
    if (conf) {
        xlat_deny_destroy(&conf->deny);
        xlat_deny_destroy(&conf->inside4);
        free(conf->eamt_file);
        free(conf->mapping_file);
        free(conf->log_to);
        free(conf->pool6);
        free(conf->pool4);
        free(conf->eams);
        free(conf->mappings);
        free(conf->bibs);
        free(conf);
    }
}

/* Makes room for one element more in an array of 'n' elements of 'size' bytes,
 * whose capacity is the next power of 2.  Returns NULL, or a sentence. */
static char *
grow(void *arrayp, size_t n, size_t size)
{
    void **array = arrayp;

    if (n & (n - 1)) {
        return NULL;
    }
    void *p = realloc(*array, (n ? n * 2 : 1) * size);
    if (!p) {
        return xlat_error("out of memory");
    }
    *array = p;
    return NULL;
}

char *
xlat_conf_set_zone(struct xlat_conf *conf, int64_t number)
{
    if (number < 0 || number > MAX_ZONE) {
        return xlat_error("zone %lld is not a number from 0 to %d",
                          (long long) number, MAX_ZONE);
    }
    conf->number = number;
    return NULL;
}

void
xlat_conf_set_seed(struct xlat_conf *conf, uint64_t seed)
{
    conf->seed = seed;
}

char *
xlat_conf_set_kind(struct xlat_conf *conf, const char *kind)
{
    unsigned int position;

    if (!xlat_word_find("siit|ila|nat64|nat44", kind, &position)) {
        return xlat_error("kind \"%s\" is none of siit, nat64, nat44 and "
                          "ila", kind);
    }
    conf->kind = position;
    return NULL;
}

/* Puts "WHERE: " in front of 'error', if there is one, which is freed. */
static char *
in_place(const char *where, char *error)
{
    char *longer = error ? xlat_error("%s: %s", where, error) : NULL;

    free(error);
    return longer;
}

char *
xlat_conf_add_pool6(struct xlat_conf *conf, const char *text)
{
    struct xlat_prefix prefix;
    char *error = xlat_prefix_parse(text, 6, &prefix);

    if (!error) {
        error = grow(&conf->pool6, conf->n_pool6, sizeof *conf->pool6);
    }
    if (!error) {
        conf->pool6[conf->n_pool6++] = prefix;
    }
    return in_place("pool6", error);
}

/* Reads "LOW-HIGH". */
static char *
parse_ports(const char *text, struct xlat_conf_pool4 *pool)
{
    char low_text[6];
    size_t n = strcspn(text, "-");
    uint64_t low, high;

    if (n >= sizeof low_text || !text[n]) {
        return xlat_error("\"%s\" is not a range of ports", text);
    }
    memcpy(low_text, text, n);
    low_text[n] = '\0';
    if (!xlat_uint_parse(low_text, 0, UINT16_MAX, &low)
        || !xlat_uint_parse(text + n + 1, 0, UINT16_MAX, &high)) {
        return xlat_error("\"%s\" is not a range of ports", text);
    }
    if (low > high) {
        return xlat_error("\"%s\" is a range of ports that ends before it "
                          "begins", text);
    }
    pool->has_ports = true;
    pool->low_port = low;
    pool->high_port = high;
    return NULL;
}

static char *
parse_pool4(const char *text, struct xlat_conf_pool4 *pool)
{
    char prefix[XLAT_PREFIX_TEXT_SIZE];
    size_t n = strcspn(text, ":");

    /* Behind a first colon, what is no range of ports may be IPv6. */
    if (n >= sizeof prefix || strchr(text + n + (text[n] == ':'), ':')) {
        return xlat_error("\"%s\" is not an IPv4 prefix", text);
    }
    memcpy(prefix, text, n);
    prefix[n] = '\0';
    *pool = (struct xlat_conf_pool4) { .has_ports = false };
    char *error = xlat_prefix_parse(prefix, 4, &pool->prefix);
    if (!error && text[n]) {
        error = parse_ports(text + n + 1, pool);
    }
    return error;
}

char *
xlat_conf_add_pool4(struct xlat_conf *conf, const char *text)
{
    struct xlat_conf_pool4 pool;
    char *error = parse_pool4(text, &pool);

    if (!error) {
        error = grow(&conf->pool4, conf->n_pool4, sizeof *conf->pool4);
    }
    if (!error) {
        conf->pool4[conf->n_pool4++] = pool;
    }
    return in_place("pool4", error);
}

static char *
add_eam(struct xlat_conf *conf, const char *text6, const char *text4,
        uint32_t line)
{
    struct xlat_prefix prefix6, prefix4;
    struct xlat_eam eam;
    char *error = xlat_prefix_parse(text6, 6, &prefix6);

    if (!error) {
        error = xlat_prefix_parse(text4, 4, &prefix4);
    }
    if (!error) {
        error = xlat_eam_init(&eam, &prefix6, &prefix4);
    }
    if (!error) {
        error = grow(&conf->eams, conf->n_eams, sizeof *conf->eams);
    }
    if (!error) {
        eam.line = line;
        conf->eams[conf->n_eams++] = eam;
    }
    return error;
}

char *
xlat_conf_add_eam(struct xlat_conf *conf, const char *prefix6,
                  const char *prefix4)
{
    return in_place("eamt", add_eam(conf, prefix6, prefix4, 0));
}

static char *
add_ila(struct xlat_conf *conf, const char *identifier, const char *locator,
        const char *csum_mode, const char *ident_type, uint32_t line)
{
    struct ila_mapping mapping;
    char *error = ila_mapping_init(&mapping, identifier, locator, csum_mode,
                                   ident_type);

    if (!error) {
        error = grow(&conf->mappings, conf->n_mappings,
                     sizeof *conf->mappings);
    }
    if (!error) {
        mapping.line = line;
        conf->mappings[conf->n_mappings++] = mapping;
    }
    return error;
}

char *
xlat_conf_add_ila(struct xlat_conf *conf, const char *identifier,
                  const char *locator, const char *csum_mode,
                  const char *ident_type)
{
    return in_place("mapping", add_ila(conf, identifier, locator, csum_mode,
                                       ident_type, 0));
}

char *
xlat_conf_add_bib(struct xlat_conf *conf, const char *text)
{
    struct xlat_bib bib;
    char *error = xlat_bib_parse(text, &bib);

    if (!error) {
        error = grow(&conf->bibs, conf->n_bibs, sizeof *conf->bibs);
    }
    if (!error) {
        conf->bibs[conf->n_bibs++] = bib;
    }
    return in_place("bib", error);
}

static char *
set_file(char **filep, const char *key, const char *value)
{
    char *file = strdup(value);

    if (!file || !*value) {
        free(file);
        return xlat_error("%s names no file", key);
    }
    free(*filep);
    *filep = file;
    return NULL;
}

static char *
set_inside4(struct xlat_conf *conf, const char *value)
{
    struct xlat_deny inside4;
    char *error;

    xlat_deny_init(&inside4);
    error = xlat_deny_parse(&inside4, value);
    for (size_t i = 0; i < inside4.n && !error; i++) {
        if (inside4.prefixes[i].family != 4) {
            error = xlat_error("an inside of IPv4 has no IPv6 addresses");
        }
    }
    if (error) {
        xlat_deny_destroy(&inside4);
        return in_place("inside4", error);
    }
    xlat_deny_destroy(&conf->inside4);
    conf->inside4 = inside4;
    return NULL;
}

static char *
set_log_to(struct xlat_conf *conf, const char *value)
{
    const char *text = value;
    struct xlat_log_target target;
    bool empty = true;
    char *error;

    while (xlat_log_next(&text, &target, &error)) {
        empty = false;
    }
    if (error) {
        return in_place("log-to", error);
    } else if (empty) {
        return xlat_error("log-to names no target");
    }
    free(conf->log_to);
    conf->log_to = strdup(value);
    return conf->log_to ? NULL : xlat_error("out of memory");
}

char *
xlat_conf_set_option(struct xlat_conf *conf, const char *key,
                     const char *value)
{
    bool known;
    char *error = xlat_settings_set(&conf->set, key, value, &known);

    if (known) {
        return error;
    } else if (!strcmp(key, "deny")) {
        return in_place(key, xlat_deny_parse(&conf->deny, value));
    } else if (!strcmp(key, "inside4")) {
        return set_inside4(conf, value);
    } else if (!strcmp(key, "eamt-file")) {
        return set_file(&conf->eamt_file, key, value);
    } else if (!strcmp(key, "log-to")) {
        return set_log_to(conf, value);
    } else if (!strcmp(key, "mapping-file")) {
        return set_file(&conf->mapping_file, key, value);
    }
    return xlat_error("other_config has no key \"%s\"", key);
}

const char *
xlat_conf_eamt_file(const struct xlat_conf *conf)
{
    return conf->eamt_file;
}

const char *
xlat_conf_mapping_file(const struct xlat_conf *conf)
{
    return conf->mapping_file;
}

#define MAX_WORDS 4

/* Cuts 'line' into words, which are put into 'words'; the rest of 'words'
 * becomes NULL.  Returns their number, or MAX_WORDS + 1 if there are more. */
static int
split(char *line, char *words[MAX_WORDS])
{
    static const char space[] = " \t\r\n";
    int n = 0;

    line[strcspn(line, "#")] = '\0';
    memset(words, 0, MAX_WORDS * sizeof *words);
    for (;;) {
        line += strspn(line, space);
        if (!*line) {
            return n;
        }
        if (n == MAX_WORDS) {
            return n + 1;
        }
        words[n++] = line;
        line += strcspn(line, space);
        if (*line) {
            *line++ = '\0';
        }
    }
}

typedef char *line_reader(struct xlat_conf *, char *words[MAX_WORDS], int n,
                          uint32_t line);

static char *
read_eam_line(struct xlat_conf *conf, char *words[MAX_WORDS], int n,
              uint32_t line)
{
    return n == 2 ? add_eam(conf, words[0], words[1], line)
           : xlat_error("expected an IPv6 prefix and an IPv4 prefix");
}

static char *
read_ila_line(struct xlat_conf *conf, char *words[MAX_WORDS], int n,
              uint32_t line)
{
    return n >= 2 && n <= MAX_WORDS
           ? add_ila(conf, words[0], words[1], words[2], words[3], line)
           : xlat_error("expected an identifier, a locator, and perhaps a "
                        "checksum mode and an identifier type");
}

/* Gives each line of 'stream' that is not blank to 'reader'. */
static char *
read_lines(struct xlat_conf *conf, FILE *stream, line_reader *reader)
{
    char *words[MAX_WORDS];
    char *text = NULL;
    size_t size = 0;
    char *error = NULL;
    uint32_t line = 0;

    while (!error) {
        ssize_t len = getline(&text, &size, stream);

        if (len < 0) {
            break;
        }
        line++;
        if ((size_t) len != strlen(text)) {
            error = xlat_error("not text");
        } else {
            int n = split(text, words);

            error = n ? reader(conf, words, n, line) : NULL;
        }
        if (error) {
            char where[32];

            snprintf(where, sizeof where, "line %u", (unsigned) line);
            error = in_place(where, error);
        }
    }
    if (!error && ferror(stream)) {
        error = xlat_error("reading failed behind line %u", (unsigned) line);
    }
    free(text);
    return error;
}

char *
xlat_conf_read_eamt(struct xlat_conf *conf, FILE *stream)
{
    size_t n_eams = conf->n_eams;
    char *error = read_lines(conf, stream, read_eam_line);

    if (error) {
        conf->n_eams = n_eams;
    }
    return error;
}

char *
xlat_conf_read_ila(struct xlat_conf *conf, FILE *stream)
{
    size_t n_mappings = conf->n_mappings;
    char *error = read_lines(conf, stream, read_ila_line);

    if (error) {
        conf->n_mappings = n_mappings;
    }
    return error;
}

void
xlat_conf_for_each_option(void (*cb)(const char *key, const char *dflt,
                                     const char *values, const char *words,
                                     void *aux), void *aux)
{
    xlat_settings_for_each(cb, aux);
}
