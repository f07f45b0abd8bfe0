/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_SETTINGS_H
#define XLAT_SETTINGS_H 1

/* The knobs of a zone, in the form the packet path reads them.
 *
 * Each is one key of a zone's other_config; xlat-settings.def has the keys,
 * their ranges and defaults, and is what the parser and the commands' help
 * are made from. */

#include "pk.h"

enum xlat_udp_zero {
    XLAT_UDP_ZERO_DROP,
    XLAT_UDP_ZERO_COMPUTE,
    XLAT_UDP_ZERO_FORWARD,
};

enum xlat_hairpin {
    XLAT_HAIRPIN_NONE,
    XLAT_HAIRPIN_SIMPLE,         /* RFC 7757, 4.2.1. */
    XLAT_HAIRPIN_INTRINSIC,      /* RFC 7757, 4.2.2. */
};

enum xlat_miss {
    XLAT_MISS_DROP,
    XLAT_MISS_PASS,
};

enum xlat_mapping {
    XLAT_MAPPING_ENDPOINT_INDEPENDENT,
    XLAT_MAPPING_PER_FLOW,
};

enum xlat_filtering {
    XLAT_FILTERING_ENDPOINT_INDEPENDENT,
    XLAT_FILTERING_ADDRESS_DEPENDENT,
};

/* What a session log has, each with all before it. */
enum xlat_log {
    XLAT_LOG_NONE,
    XLAT_LOG_BLOCKS,
    XLAT_LOG_BINDINGS,
    XLAT_LOG_SESSIONS,
};

struct xlat_settings {
    uint32_t mtu4;               /* IPv4 side's MTU, bytes. */
    uint32_t mtu6;               /* IPv6 side's MTU, bytes. */
    uint32_t lowest_ipv6_mtu;    /* Fragments 4->6 are no larger.  In a zone,
                                  * at most 'mtu6'. */
    enum xlat_udp_zero udp_zero_checksum;
    enum xlat_hairpin hairpin;
    enum xlat_miss miss;
    int tos_override;            /* 6->4: -1 copies the traffic class, 0..255
                                  * replaces it. */
    bool reset_traffic_class;    /* 4->6: traffic class 0 (RFC 7915, 4.1). */
    bool wkp_non_global;         /* Translate non-global IPv4 addresses under
                                  * 64:ff9b::/96 all the same. */
    bool refuse_nested_eams;     /* An EAMT with nested prefixes is an
                                  * error. */
    uint32_t icmp_error_rate;    /* Errors made here, a second; 0: none. */
    uint32_t icmp_error_burst;   /* ... at once. */
    pk_be32 icmp_source4;        /* Source of ICMPv4 errors made here; 0: a
                                  * pool4 address, or else the destination of
                                  * the packet that it is about. */
    struct in6_addr icmp_source6; /* Likewise, ICMPv6. */

    /* Stateful zones. */
    enum xlat_mapping mapping;
    enum xlat_filtering filtering;
    uint32_t max_sessions;
    uint32_t fragments_held;
    uint32_t max_ports;          /* 0: no limit, as those that follow. */
    uint32_t session_rate;
    uint32_t subscriber_sessions;
    uint32_t subscriber_ports;
    uint32_t subscriber_rate;
    uint32_t subscriber_prefix6;
    uint32_t max_subscribers;
    uint32_t port_block_size;
    uint32_t port_blocks;
    enum xlat_log log;
    uint32_t log_rate;           /* Lines a second. */
    uint32_t share;              /* Of pool4's ports, and of how many: see */
    uint32_t n_shares;           /* nat64-ports.h. */
    uint32_t port_reuse_delay;   /* Seconds, as are those that follow. */
    uint32_t fragment_timeout;
    uint32_t udp_timeout;
    uint32_t icmp_timeout;
    uint32_t tcp_established_timeout;
    uint32_t tcp_transitory_timeout;
    uint32_t tcp_incoming_syn_timeout;
    uint32_t stored_syns;        /* How many, 0 for none. */
    bool tcp_probe;              /* Hosts inside are asked whether connections
                                  * without packets still exist. */
};

/* Sets all to their defaults. */
void xlat_settings_init(struct xlat_settings *);

/* Sets the one that belongs to 'key'.  Returns NULL, or a sentence that says
 * what is wrong, which the caller frees; the settings stay then as they were.
 * '*known' becomes false, and nothing happens, if no setting has that key. */
char *xlat_settings_set(struct xlat_settings *, const char *key,
                        const char *value, bool *known);

/* Calls 'cb' for every key of other_config, in the order of
 * xlat-settings.def: see xlat_conf_for_each_option(). */
void xlat_settings_for_each(void (*cb)(const char *key, const char *dflt,
                                       const char *values, const char *words,
                                       void *aux), void *aux);

#endif /* xlat-settings.h */
