/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_CONF_H
#define XLAT_CONF_H 1

/* A zone's configuration while it is being read.
 *
 * Made of strings by whoever has them (OVSDB columns, a JSON file), checked
 * one by one here and as a whole by xlat_zone_create().  The names are those
 * of the database's columns.  Used by one thread; not for the packet path.
 *
 * Every xlat_conf_set_*() and xlat_conf_add_*() returns NULL, or a sentence
 * that says what is wrong, which the caller frees; the configuration is then
 * as it was before. */

#include <stdint.h>
#include <stdio.h>

struct xlat_conf;

/* Makes an empty configuration: of a siit zone, number 0, each option at its
 * default.  NULL if there is no memory. */
struct xlat_conf *xlat_conf_create(void);

/* NULL is allowed. */
void xlat_conf_destroy(struct xlat_conf *);

/* 'number' is that of the zone, 0 to 65535. */
char *xlat_conf_set_zone(struct xlat_conf *, int64_t number);
/* 'kind' is "siit", "nat64", "nat44" or "ila". */
char *xlat_conf_set_kind(struct xlat_conf *, const char *kind);

/* 'seed', a secret random number, keys the hashes of a stateful zone. */
void xlat_conf_set_seed(struct xlat_conf *, uint64_t seed);

/* 'prefix' is "2001:db8:64::/96": of a siit or nat64 zone, a prefix of
 * RFC 6052 (32, 40, 48, 56, 64 or 96 bits); of an ila zone, a SIR prefix (64
 * bits). */
char *xlat_conf_add_pool6(struct xlat_conf *, const char *prefix);

/* 'pool' is "ADDR[/LEN][:LOW-HIGH]".  Of a siit zone: the addresses of RFC
 * 6791, without ports.  Of a stateful zone: those that bindings get. */
char *xlat_conf_add_pool4(struct xlat_conf *, const char *pool);

/* One explicit address mapping (RFC 7757), for instance "2001:db8:1::/120" and
 * "192.0.2.0/24". */
char *xlat_conf_add_eam(struct xlat_conf *, const char *prefix6,
                        const char *prefix4);

/* One ILA mapping.  'identifier' ("5555:0:2:0") and 'locator' ("2001:0:0:2")
 * are four groups of 16 bits each.  'csum_mode' is "adj-transport",
 * "neutral-map", "neutral-map-auto" or "no-action"; 'ident_type' is "none",
 * "luid", ... ; either may be NULL for the default. */
char *xlat_conf_add_ila(struct xlat_conf *, const char *identifier,
                        const char *locator, const char *csum_mode,
                        const char *ident_type);

/* One static binding of a stateful zone: "tcp,[2001:db8:1::1]:80,192.0.2.1:80"
 * or, of nat44, "udp,10.0.0.1:53,192.0.2.1:53"; perhaps with ",tenant=N". */
char *xlat_conf_add_bib(struct xlat_conf *, const char *text);

/* One key of other_config.  An unknown key is an error. */
char *xlat_conf_set_option(struct xlat_conf *, const char *key,
                           const char *value);

/* Files named by the options "eamt-file" and "mapping-file", NULL if none.
 * This floor opens no files: the caller does, and hands the stream to
 * xlat_conf_read_eamt() or xlat_conf_read_ila(), once all options are set.
 *
 * Lines: "PREFIX6 PREFIX4", or "IDENTIFIER LOCATOR [CSUM_MODE [IDENT_TYPE]]";
 * blank lines and what follows '#' are ignored.  An error names the line. */
const char *xlat_conf_eamt_file(const struct xlat_conf *);
const char *xlat_conf_mapping_file(const struct xlat_conf *);
char *xlat_conf_read_eamt(struct xlat_conf *, FILE *);
char *xlat_conf_read_ila(struct xlat_conf *, FILE *);

/* Calls 'cb' for every key of other_config: its name, its default as text,
 * the values it takes ("drop|compute|forward", "1280..65535"), and a
 * sentence. */
void xlat_conf_for_each_option(void (*cb)(const char *key,
                                          const char *dflt,
                                          const char *values,
                                          const char *words, void *aux),
                               void *aux);

#endif /* xlat-conf.h */
