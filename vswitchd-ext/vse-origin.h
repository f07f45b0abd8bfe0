/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_ORIGIN_H
#define VSE_ORIGIN_H 1

/* Where packets of stateful zones come from, as numbers of 16 bits (xlat.h,
 * get_origin): the port, the Ethernet addresses and the VLAN tags with which
 * they came.
 *
 * A fixed number of origins is remembered.  When there is no room for one
 * more, the one that has been used longest ago, of a few, is forgotten; its
 * number then leads nowhere until it is given anew, fifteen origins later.
 *
 * Packet threads ask for numbers; one thread, that of vse-expire.c, looks them
 * up, and looks after them. */

#include <stdint.h>

#include "openvswitch/types.h"
#include "vse-packet.h"

struct dpif;

/* Origins that are remembered. */
#define VSE_ORIGINS 4096

struct vse_origin {
    odp_port_t port;
    uint8_t l2_bytes;
    uint8_t l2[VSE_L2_MAX];      /* Link-layer header as it came, without type,
                                  * and with tags of priority 0. */
    uint8_t zero;
};

/* Returns the number of the origin of the packet of 'vp'.  Returns 0 if
 * nothing can be sent there later: it came by a tunnel or from no port, or to
 * or from a group address.  'now_us' is the time. */
uint16_t vse_origin_number(const struct vse_packet *vp, uint64_t now_us);

/* Copies origin 'number' of the datapath 'dpif' to '*origin'.  Returns false
 * if it has been forgotten, or its port is gone. */
bool vse_origin_find(uint16_t number, const struct dpif *,
                     struct vse_origin *origin);

/* Returns whether vse_origin_run() has something to do. */
bool vse_origin_wants_run(void);

/* Notes by which name new origins' ports are known in 'dpif', to know them
 * again: another port may get the number of one that is gone.  To be called
 * soon after an origin is new. */
void vse_origin_run(const struct dpif *);

#endif /* vse-origin.h */
