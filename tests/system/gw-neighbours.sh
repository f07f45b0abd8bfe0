#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
#
# How the flows of flex-gw find their neighbours, and are found.

. "$(dirname "$0")/lib.sh"
. "$here/siit-net.sh"

mac=02:00:00:00:00:01

learned () {
    ovs-ofctl --no-stats dump-flows br0 table=5,cookie=0x666c000000000011/-1
}

forget_learned () {
    must ovs-ofctl del-flows br0 cookie=0x666c000000000011/-1
}

# knows HOST ADDRESS: HOST has the gateway's MAC address for it.
knows () {
    prints "lladdr $mac" ip -n "$1" neigh show "$2"
}

get () {
    in_host h6 curl -sS -m 10 -o /dev/null "http://[2001:db8:64::$1]/status"
}

# A host that nobody has heard of: it says nothing when it comes up.
add_silent_h4 () {
    add_host s4
    host_on_bridge s4 eth0 br0 s4
    address s4 eth0 198.51.100.8/24
    route s4 default via 198.51.100.1
    start_http s4 /proc/self
    gw_options=(--mac $mac --port4 s4 --no-solicit)
}

siit_net
start_http h4 /proc/self
gw_options=(--mac $mac)
siit_gateway

check "the first TCP connection to a host that never spoke" get $h4
check "the gateway's IPv6 address is found" all_of \
    "ping_ok h6 $gw6" "knows h6 $gw6"
check "the gateway's IPv4 address is found" all_of \
    "ping_ok h4 198.51.100.1" "knows h4 198.51.100.1"
must ip -n h4 route add 192.0.2.0/24 dev eth0
check "pool4 taken for on-link: ARP is answered" all_of \
    "ping_ok h4 $h6_from_4" "knows h4 $h6_from_4"
must ip -n h4 route del 192.0.2.0/24 dev eth0
must ip -n h6 route add 2001:db8:64::/96 dev eth0
check "pool6 taken for on-link: ND is answered" all_of \
    "ping_ok h6 $h4_from_6" "knows h6 $h4_from_6"
must ip -n h6 route del 2001:db8:64::/96 dev eth0

add_silent_h4
check "IPv4 host not yet known: a ping finds it" \
    all_of siit_gateway \
    "until_ok 5 in_host h6 ping -n -c 1 -W 1 2001:db8:64::c633:6408" \
    "get 198.51.100.8"

must ip -n h4 link set eth0 address 02:00:00:00:00:99
check "a host whose MAC address changes is found again" all_of \
    "ping_ok h4 198.51.100.1" "ping_ok h6 $h4_from_6"

forget_learned
must ip -n h6 neigh flush all
check "an IPv6 host not yet known: a ping finds it" \
    until_ok 5 in_host h4 ping -n -c 1 -W 1 $h6_from_4

# Neighbours that nobody has heard of, asked for in the middle of traffic.
add_host q4
host_on_bridge q4 eth0 br0 q4
address q4 eth0 198.51.100.9/24
route q4 default via 198.51.100.1
start_http q4 /proc/self
add_host q6
host_on_bridge q6 eth0 br0 q6
address q6 eth0 2001:db8:1::29/64
route q6 default via $gw6
start_http q6 /proc/self
gw_options=(--mac $mac --port4 q4 --port6 q6 --resolve --no-solicit)
siit_gateway
forget_learned
check "--resolve: TCP finds an IPv4 host" get 198.51.100.9
forget_learned
check "--resolve: TCP finds an IPv6 host" \
    in_host h4 curl -sS -m 10 -o /dev/null http://192.0.2.41/status
check "--resolve: a long packet finds it too" all_of forget_learned \
    "until_ok 5 in_host h4 ping -n -c 1 -W 1 -s 1400 192.0.2.41"

# Duplicate addresses.
must in_host h6 sysctl -qw net.ipv6.conf.eth0.accept_dad=1 \
    net.ipv6.conf.all.accept_dad=1
must ip -n h6 address add $gw6/64 dev eth0
check "the gateway defends its IPv6 address" \
    until_ok 5 prints dadfailed ip -n h6 address show dev eth0
must ip -n h6 address del $gw6/64 dev eth0
must ip -n h6 address add 2001:db8:1::77/64 dev eth0
check "an address that is free is not defended" all_of \
    "until_ok 5 not prints tentative ip -n h6 address show dev eth0" \
    "not prints dadfailed ip -n h6 address show dev eth0"
check "DAD taught the new address" prints 'reg3=0x77,' learned
must ip -n h6 address del 2001:db8:1::77/64 dev eth0

# Given next hops.
h6_mac=$(in_host h6 cat /sys/class/net/eth0/address)
h4_mac=$(in_host h4 cat /sys/class/net/eth0/address)
gw_options=(--mac $mac --next6 "$h6_mac" --next4 "$h4_mac")
siit_gateway
forget_learned
check "next hops given by MAC address" all_of \
    "ping_ok h6 $h4_from_6" "ping_ok h4 $h6_from_4"
gw_options=(--mac $mac --neighbour "$h6=$h6_mac" --neighbour "$h4=$h4_mac"
            --no-solicit)
siit_gateway
forget_learned
check "neighbours given by address and MAC address" all_of "get $h4"
finish
