#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
#
# Path MTU discovery through the gateway: errors of routers on either side,
# and the gateway's own.
#
#   g6 -- r6 -- br0 ... : siit-net.sh's h6 has a neighbour, a router with a
#   host behind it on a small link.  g6 is 2001:db8:1::80:1, 192.0.2.129.

. "$(dirname "$0")/lib.sh"
. "$here/siit-net.sh"

g6=2001:db8:1::81
g6_from_4=192.0.2.129

add_host_behind_small_ipv6_link () {
    add_router r6
    host_on_bridge r6 right br0 r6
    address r6 right 2001:db8:1::2/64
    add_host g6
    host_to_host r6 left g6 eth0
    must ip -n r6 link set left mtu 1300
    must ip -n g6 link set eth0 mtu 1300
    address r6 left 2001:db8:2::1/64
    address g6 eth0 $g6/128
    route g6 2001:db8:2::1 dev eth0
    route g6 default via 2001:db8:2::1
    route r6 $g6 dev left
    route r6 default via $gw6
}

mtu_is () {
    prints " mtu $3( |\$)" ip -n "$1" route get "$2"
}

small_router_link () {
    must ip -n r1 link set right mtu "$1"
    must ip -n r2 link set left mtu "$1"
}

forget () {
    must ip -n "$1" route flush cache
    must ip -n "$1" -6 route flush cache
}

siit_net_routed
start_iperf3 h4
start_iperf3 h6

small_router_link 1400
check "TCP from IPv6 past an IPv4 router's small link" \
    iperf3_to $h4_from_6 h6 -t 1
check "... of which IPv6 learned 1420" mtu_is h6 $h4_from_6 1420
check "TCP from IPv4 past the same" iperf3_to $h6_from_4 h4 -t 1
small_router_link 1500
forget h6
forget h4

check "a ping of 1500 bytes with DF from IPv4, mtu6=1500: 1480" \
    prints 'mtu ?= ?1480' not in_host h4 ping -n -c 2 -i 0.3 -W 2 -M do \
    -s 1472 $h6_from_4
check "... of which IPv4 learned 1480" mtu_is h4 $h6_from_4 1480
forget h4

siit_set mtu6=1280
must until_ok 5 prints 'mtu6.*1280' ovs-appctl xlat/show 1
check "TCP from IPv4 with mtu6=1280" iperf3_to $h6_from_4 h4 -t 1
check "... of which IPv4 learned 1260" mtu_is h4 $h6_from_4 1260
siit_set mtu6=1500 mtu4=1300
forget h4                       # or its MSS would be small already
must until_ok 5 prints 'mtu4.*1300' ovs-appctl xlat/show 1
check "TCP from IPv6 with mtu4=1300" iperf3_to $h4_from_6 h6 -t 1
check "... of which IPv6 learned 1320" mtu_is h6 $h4_from_6 1320
siit_set mtu4=1500
forget h4
forget h6

add_host_behind_small_ipv6_link
start_iperf3 g6
gw_options+=(--port6 r6 --neighbour
             "$g6=$(in_host r6 cat /sys/class/net/right/address)@r6")
siit_gateway
check "a ping of 1428 bytes from IPv4 past an IPv6 router's small link" \
    prints 'mtu ?= ?1280' not in_host h4 ping -n -c 2 -i 0.3 -W 2 -M do \
    -s 1400 $g6_from_4
check "... of which IPv4 learned 1280" mtu_is h4 $g6_from_4 1280
check "TCP past the same" iperf3_to $g6_from_4 h4 -t 1
finish
