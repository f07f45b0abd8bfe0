/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_ZONE_H
#define XLAT_ZONE_H 1

/* A zone: configuration, compiled for the packet path, and its counters.
 *
 * A 'struct xlat_zone' is immutable.  To change one, a caller compiles the
 * new configuration with the old zone as 'prev' and swaps a pointer, so a
 * packet sees the old configuration or the new one, whole.  Counters are
 * shared by both and never fall.  The caller destroys the old zone once no
 * thread can be inside xlat_run() with it (its own RCU or QSBR says when). */

#include <stdbool.h>

#include "xlat.h"

struct xlat_conf;                  /* xlat-conf.h */

enum xlat_kind {
    XLAT_KIND_SIIT,
    XLAT_KIND_ILA,
    XLAT_KIND_NAT64,
    XLAT_KIND_NAT44,
};

/* Compiles 'conf' into '*zonep'.  'prev', which may be null, is the zone that
 * the new one replaces: counters go on.  'conf' remains the caller's.
 *
 * Returns 0, or a positive errno with '*errorp' set to a sentence that the
 * caller frees: EINVAL (the configuration contradicts itself; nothing of it
 * is used), ENOMEM. */
int xlat_zone_create(const struct xlat_conf *conf,
                     const struct xlat_zone *prev,
                     struct xlat_zone **zonep, char **errorp);

void xlat_zone_destroy(struct xlat_zone *);

enum xlat_kind xlat_zone_kind(const struct xlat_zone *);
uint32_t xlat_zone_number(const struct xlat_zone *);

/* Returns whether the zone keeps sessions, so that nat64.h is about it. */
bool xlat_zone_is_stateful(const struct xlat_zone *);

/* Returns where the zone's session log goes (xlat-log.h), or NULL if it has
 * none; and how many lines that may have in a second. */
const char *xlat_zone_log_to(const struct xlat_zone *);
uint32_t xlat_zone_log_rate(const struct xlat_zone *);

/* A copy of a zone's counters.
 * packets == translated + replies + passed + sum of drops[], once no thread
 * is inside xlat_run(); fragments that are held are in none of them yet.  A
 * reply's reason is counted in 'reply_reasons', not in 'drops'. */
struct xlat_counters {
    uint64_t packets;
    uint64_t bytes;                /* IP bytes, before translation. */
    uint64_t translated;
    uint64_t translated_44;        /* Of these, IPv4 to IPv4, ... */
    uint64_t translated_46;        /* ... IPv4 to IPv6, ... */
    uint64_t translated_64;        /* ... IPv6 to IPv4, ... */
    uint64_t translated_66;        /* ... IPv6 to IPv6 (hairpin, ILA). */
    uint64_t fragmented;           /* Of these, to be sent as fragments. */
    uint64_t passed;
    uint64_t replies;
    uint64_t replies_limited;      /* Errors not made, for the rate limit;
                                    * their packets are in drops[]. */
    uint64_t probes_sent;          /* By a stateful zone (nat64.h), ... */
    uint64_t syns_answered;        /* ... as are these ICMP errors, to SYNs in
                                    * drops[XLAT_DROP_STORED_SYN]. */
    uint64_t drops[XLAT_N_DROPS];
    uint64_t reply_reasons[XLAT_N_DROPS];
};

void xlat_zone_get_counters(const struct xlat_zone *, struct xlat_counters *);

/* Calls 'cb' for each of the zone's counters by its name, as OVSDB's
 * 'statistics' and the commands show them ("packets", "translated",
 * "drop-no-mapping", "reply-ttl", ...). */
void xlat_counters_for_each(const struct xlat_counters *,
                            void (*cb)(const char *name, uint64_t value,
                                       void *aux), void *aux);

/* The numbers of a zone's explicit address mappings and ILA mappings. */
size_t xlat_zone_n_eams(const struct xlat_zone *);
size_t xlat_zone_n_mappings(const struct xlat_zone *);

/* Calls 'cb' for each explicit address mapping, in no order. */
void xlat_zone_for_each_eam(const struct xlat_zone *,
                            void (*cb)(const char *prefix6,
                                       const char *prefix4, void *aux),
                            void *aux);

/* One ILA mapping and its counters: [0] of packets to the locator, [1] of
 * packets to the identifier.  A mapping keeps its counters as long as
 * successive zones have its identifier. */
struct xlat_mapping_info {
    uint64_t identifier;           /* Halves of addresses in host byte */
    uint64_t locator;              /* order. */
    const char *csum_mode;
    const char *ident_type;
    uint64_t packets[2];
    uint64_t bytes[2];             /* IP bytes. */
};

/* Calls 'cb' for each ILA mapping, in no order. */
void xlat_zone_for_each_mapping(const struct xlat_zone *,
                                void (*cb)(const struct xlat_mapping_info *,
                                           void *aux), void *aux);

/* Finds the ILA mapping of 'identifier'.  Returns false if there is none. */
bool xlat_zone_find_mapping(const struct xlat_zone *, uint64_t identifier,
                            struct xlat_mapping_info *);

#endif /* xlat-zone.h */
