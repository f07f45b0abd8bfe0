#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
#
# A gateway on a stick: both sides are the same port.
#
#    h6 ---+
#          hub ==== patch ==== br0 (flex-gw)
#    h4 ---+

. "$(dirname "$0")/lib.sh"
. "$here/siit-net.sh"

start_ovs
add_bridge br0
add_bridge hub
must ovs-ofctl add-flow hub actions=normal
must ovs-vsctl --timeout=20 \
    add-port br0 stick -- set interface stick type=patch options:peer=wall -- \
    add-port hub wall -- set interface wall type=patch options:peer=stick
add_host h6
host_on_bridge h6 eth0 hub v6
address h6 eth0 $h6/64
route h6 default via $gw6
add_host h4
host_on_bridge h4 eth0 hub v4
address h4 eth0 $h4/24
route h4 default via 198.51.100.1
siit_zone
must flex-gw --install --zone 1 --icmp-source --port6 stick --addr6 $gw6/64 \
    --port4 stick --addr4 198.51.100.1/24 br0
start_http h4 /proc/self

check "TCP, in and out by the same port" \
    in_host h6 curl -sS -m 10 -o /dev/null "http://[$h4_from_6]/status"
check "ping from IPv4" ping_ok h4 $h6_from_4
check "an error goes back" prints "From $gw6 .*[Tt]ime exceeded" \
    not in_host h6 ping -n -c 1 -W 2 -t 1 $h4_from_6

must flex-gw --install --zone 1 --port6 stick --addr6 $gw6/64 \
    --next6 "$(in_host h6 cat /sys/class/net/eth0/address)" \
    --port4 stick --addr4 198.51.100.1/24 \
    --next4 "$(in_host h4 cat /sys/class/net/eth0/address)" br0
check "next hops given by MAC address, the same port" all_of \
    "ping_ok h6 $h4_from_6" "ping_ok h4 $h6_from_4"
finish
