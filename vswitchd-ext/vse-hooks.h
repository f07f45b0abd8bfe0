/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_HOOKS_H
#define VSE_HOOKS_H 1

/* How Open vSwitch calls us: one table of function pointers.
 *
 * OVS's libraries are linked into many programs, the extension into one.  So
 * the patches call through this table, which is NULL everywhere but in
 * ovs-vswitchd, which fills it once, before any bridge exists.  Afterwards it
 * does not change, so that any thread may read it.
 *
 * This header includes nothing of lib: OVS's files include it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dp_packet;
struct dp_packet_batch;
struct ds;
struct flow;
struct ovsdb_idl;

/* Argument of the datapath action OVS_ACTION_ATTR_XLAT, for which both
 * OpenFlow actions, nat64 and ila, stand.  It is compared and hashed as bytes,
 * so it has no padding. */
struct vse_xlat {
    uint32_t zone;
    uint32_t flags;              /* VSE_XLAT_*. */
    uint32_t reply_recirc_id;    /* Where errors made here go; 0: nowhere. */
    uint32_t tenant;             /* With VSE_XLAT_TENANT, that of packets from
                                  * inside. */
};

/* The direction, an 'enum xlat_dir', stands above the flags proper. */
#define VSE_XLAT_ILA       (1u << 0)
#define VSE_XLAT_TENANT    (1u << 1) /* Marks what is translated with state by
                                      * its tenant. */
#define VSE_XLAT_DIR_SHIFT 8
#define VSE_XLAT_DIR_MASK  0x300u

/* What a translation would make of a flow. */
enum vse_trace_result {
    VSE_TRACE_GONE,              /* Dropped. */
    VSE_TRACE_FORWARD,           /* Goes on, translated or passed. */
    VSE_TRACE_REPLY,             /* Answered with an ICMP error. */
};

struct vse_hooks {
    /* Runs the packets of 'batch' through a zone.  Packets that the zone drops
     * leave 'batch' and are freed; fragments join it, so that it may grow
     * past NETDEV_MAX_BURST; errors made here are moved to 'replies', their
     * recirculation id set, or are freed if 'replies' is null.  'now_us' is
     * the time, in microseconds.  Any thread. */
    void (*xlat_execute)(const struct vse_xlat *,
                         struct dp_packet_batch *batch,
                         struct dp_packet_batch *replies, long long now_us);

    /* Likewise for one packet that remains the caller's: 'packet' takes the
     * place of the result.  Returns false, with 'packet' as it was, if there
     * is none.  Replies, and all fragments but the first, are lost. */
    bool (*xlat_execute_one)(const struct vse_xlat *, struct dp_packet *packet,
                             long long now_us);

    /* Says what xlat_execute() would make of 'in', without counting it: 'out'
     * is 'in' with the headers that come out, and the sentence about it is
     * appended to 'words'.  Any thread but PMD threads. */
    enum vse_trace_result (*xlat_trace)(const struct vse_xlat *,
                                        const struct flow *in,
                                        struct flow *out, struct ds *words);

    /* Configuration.  All main thread.
     *
     * 'config_init' runs once, when the database connection is made;
     * 'config_exit' drops what the others made.  'config_changed' says that
     * a reconfiguration is wanted for something outside of the database (a
     * file), 'config_wait' arranges to wake up for it.  'config_apply' and
     * 'config_statistics' run inside a transaction of the bridge's. */
    void (*config_init)(struct ovsdb_idl *);
    void (*config_exit)(void);
    bool (*config_changed)(void);
    void (*config_wait)(void);
    void (*config_apply)(struct ovsdb_idl *);
    void (*config_statistics)(struct ovsdb_idl *);
};

/* NULL except in ovs-vswitchd. */
extern const struct vse_hooks *vse_hooks;

#endif /* vse-hooks.h */
