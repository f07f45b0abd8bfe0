/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include <config.h>
#include "vse-send.h"

#include <stdlib.h>

#include "dp-packet.h"
#include "dpif.h"
#include "flow.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "openvswitch/ofpbuf.h"
#include "packets.h"
#include "sset.h"
#include "unaligned.h"
#include "util.h"
#include "vse-origin.h"

/* Opens the datapath that ofproto has for bridges of 'type', which there may
 * be among 'types'. */
static struct dpif *
open_dpif(const struct sset *types, const char *type)
{
    struct dpif *dpif = NULL;
    char *name;

    if (sset_contains(types, type)) {
        name = xasprintf("ovs-%s", type);
        dpif_open(name, type, &dpif);
        free(name);
    }
    return dpif;
}

/* Opens the userspace datapath: one for all bridges, of tests another one.
 * Returns false if there is none. */
static bool
open_sender(struct vse_sender *sender)
{
    if (!sender->dpif && !sender->failed) {
        struct sset types = SSET_INITIALIZER(&types);

        dp_enumerate_types(&types);
        sender->dpif = open_dpif(&types, "netdev");
        if (!sender->dpif) {
            sender->dpif = open_dpif(&types, "dummy");
        }
        sset_destroy(&types);
        sender->failed = !sender->dpif;
    }
    return sender->dpif;
}

void
vse_send_begin(struct vse_sender *sender)
{
    *sender = (struct vse_sender) { .dpif = NULL };
    if (vse_origin_wants_run() && open_sender(sender)) {
        vse_origin_run(sender->dpif);
    }
}

/* Not kept open in between: a datapath that is open cannot go away. */
void
vse_send_end(struct vse_sender *sender)
{
    dpif_close(sender->dpif);
}

/* Returns the frame that brings the IP packet at 'ip' to where those of
 * 'origin' come from. */
static struct dp_packet *
make_frame(const struct vse_origin *origin, const uint8_t *ip, uint32_t len)
{
    struct dp_packet *packet = dp_packet_new(origin->l2_bytes + len);
    uint8_t *l2 = dp_packet_put(packet, origin->l2, origin->l2_bytes);

    memcpy(l2, &origin->l2[ETH_ADDR_LEN], ETH_ADDR_LEN);
    memcpy(l2 + ETH_ADDR_LEN, origin->l2, ETH_ADDR_LEN);
    put_unaligned_be16((ovs_be16 *) (l2 + origin->l2_bytes) - 1,
                       htons(ip[0] >> 4 == 4 ? ETH_TYPE_IP : ETH_TYPE_IPV6));
    dp_packet_put(packet, ip, len);
    return packet;
}

static void
output(struct dpif *dpif, struct dp_packet *packet, odp_port_t port)
{
    uint64_t stub[16 / sizeof(uint64_t)];
    struct ofpbuf actions = OFPBUF_STUB_INITIALIZER(stub);
    struct flow flow;
    struct dpif_execute execute = {
        .packet = packet,
        .flow = &flow,
    };

    flow_extract(packet, &flow);
    nl_msg_put_odp_port(&actions, OVS_ACTION_ATTR_OUTPUT, port);
    execute.actions = actions.data;
    execute.actions_len = actions.size;
    dpif_execute(dpif, &execute);
    ofpbuf_uninit(&actions);
}

void
vse_send(uint16_t number, const uint8_t *ip, uint32_t len, void *sender_)
{
    struct vse_sender *sender = sender_;
    struct vse_origin origin;

    if (open_sender(sender)
        && vse_origin_find(number, sender->dpif, &origin)) {
        struct dp_packet *packet = make_frame(&origin, ip, len);

        output(sender->dpif, packet, origin.port);
        dp_packet_delete(packet);
    }
}
