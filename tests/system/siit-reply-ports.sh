#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
#
# An error that the gateway makes leaves by the port that the packet came
# from, whatever that is: a patch port, a VXLAN tunnel, the bridge itself.
#
#   p6 ---- br1 ==== patch ==== br0              2001:db8:1::31
#   t6 ---- vxlan ============= br0              2001:db8:1::32
#      10.0.0.2         10.0.0.1 (on brt, where the tunnel's outside is)
#   the switch, br0's own port                   2001:db8:1::33

. "$(dirname "$0")/lib.sh"
. "$here/siit-net.sh"

add_behind_patch () {
    add_bridge br1
    must ovs-ofctl add-flow br1 actions=normal
    must ovs-vsctl \
        add-port br0 to-br1 -- set interface to-br1 type=patch \
        options:peer=to-br0 -- \
        add-port br1 to-br0 -- set interface to-br0 type=patch \
        options:peer=to-br1
    add_host p6
    host_on_bridge p6 eth0 br1 p6
    address p6 eth0 2001:db8:1::31/64
    route p6 default via $gw6
}

add_behind_vxlan () {
    add_bridge brt
    must ovs-ofctl add-flow brt actions=normal
    add_host t6
    host_on_bridge t6 eth0 brt t6
    address t6 eth0 10.0.0.2/24
    must ip address add 10.0.0.1/24 dev brt
    must ip link set brt up
    must ovs-vsctl add-port br0 tun -- set interface tun type=vxlan \
        options:remote_ip=10.0.0.2 options:key=7
    must ip -n t6 link add vx type vxlan id 7 local 10.0.0.2 \
        remote 10.0.0.1 dstport 4789
    must in_host t6 ethtool -K vx tx off
    must ip -n t6 link set vx up mtu 1400
    address t6 vx 2001:db8:1::32/64
    route t6 default via $gw6
}

add_bridge_port () {
    must sysctl -qw net.ipv6.conf.br0.accept_dad=0
    must ethtool -K br0 tx off
    must ip link set br0 up
    must ip address add 2001:db8:1::33/64 dev br0 nodad
    must ip route add 2001:db8:64::/96 via $gw6
}

# expires COMMAND...: a ping with TTL 1, by COMMAND, is told so by the gateway.
expires () {
    prints "From $gw6 .*[Tt]ime exceeded" \
        not "$@" ping -n -c 1 -W 2 -t 1 $h4_from_6
}

siit_net
add_behind_patch
add_behind_vxlan
add_bridge_port
gw_options=(--port6 to-br1 --port6 tun --port6 br0)
siit_gateway

check "ping from behind a patch port" ping_ok p6 $h4_from_6
check "an error to behind a patch port" expires in_host p6
check "ping from behind a VXLAN tunnel" ping_ok t6 $h4_from_6
check "an error to behind a VXLAN tunnel" expires in_host t6
check "ping from the bridge's own port" \
    ping -n -c 3 -i 0.2 -W 3 $h4_from_6
check "an error to the bridge's own port" expires env
check "all replies are counted" [ "$(stat_of 1 replies)" -ge 3 ]
finish
