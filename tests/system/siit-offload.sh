#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
#
# Frames as a guest or a veth with offloads sends them: up to 64 KiB of TCP in
# one, checksums to be completed by whoever puts them on a wire.  Routers
# without offloads on both sides are the wire, so that each segment and each
# checksum is made from what the translation left:
#
#   h6 ---- r6 ==== br0 ==== r1 ---- r2 ---- h4        == with offloads

. "$(dirname "$0")/lib.sh"
. "$here/siit-net.sh"

# Offloads on, against what host_on_bridge() usually does.
host_on_bridge () {
    link_to_bridge "$@"
}

without_offloads () {
    must in_host "$1" ethtool -K "$2" tx off tso off gso off gro off
}

# h6 moves behind a router; it keeps its address.
put_router_before_h6 () {
    add_router r6
    host_on_bridge r6 right br0 r6
    address r6 right 2001:db8:1::2/64
    host_to_host r6 left h6 eth1
    address r6 left 2001:db8:2::1/64
    must ip -n h6 address flush dev eth0 scope global
    must ip -n h6 link set eth0 down
    address h6 eth1 $h6/128
    route h6 2001:db8:2::1 dev eth1
    route h6 default via 2001:db8:2::1
    route r6 $h6 dev left
    route r6 default via $gw6
    without_offloads r6 left
    gw_options+=(--port6 r6 --neighbour
                 "$h6=$(in_host r6 cat /sys/class/net/right/address)@r6")
}

# Lengths of TCP packets on an interface: "watch FILE tcpdump ..." in the
# background, largest() afterwards.
watch () {
    local file=$1
    shift
    "$@" -nnl -c 400 'tcp port 5201' >"$file" 2>"$file.err" &
    until_ok 10 grep -q listening "$file.err"
}

# largest FILE: the longest TCP payload.
largest () {
    sed -n 's/.* length \([0-9]*\).*/\1/p' "$1" | sort -n | tail -n 1
}

transfer () {
    watch port tcpdump -i "$1" || return
    watch wire in_host "$2" timeout 20 tcpdump -i "$3" || return
    shift 3
    iperf3_to "$@" || return
    kill %?port %?wire 2>/dev/null
    wait 2>/dev/null
    return 0
}

segments () {
    echo "largest: at the switch $(largest port), on the wire $(largest wire)"
    [ "$(largest port)" -gt 4000 ] && [ "$(largest wire)" -le "$1" ]
}

must ovsdb-tool create conf.db "$OVS_TREE/vswitchd/vswitch.ovsschema"
must ovsdb-tool transact conf.db '["Open_vSwitch", {"op": "insert",
    "table": "Open_vSwitch", "row": {"other_config":
    ["map", [["userspace-tso-enable", "true"]]]}}]'
siit_net_routed
without_offloads r1 right
prints 'Userspace TCP Segmentation Offloading support enabled' \
    cat ovs-vswitchd.log >/dev/null || skip_all "no userspace TSO here"
put_router_before_h6
siit_gateway
start_iperf3 h4
start_iperf3 h6

check "ping" ping_ok h6 $h4_from_6
check "TCP, IPv6 to IPv4" transfer r6 h4 eth0 $h4_from_6 h6 -t 2
check "... in frames of many segments, each fit for its link" segments 1460
check "TCP, IPv4 to IPv6" transfer v4 h6 eth1 $h6_from_4 h4 -t 2
check "... in frames of many segments, each fit for its link" segments 1440
check "UDP, IPv6 to IPv4, checksums by the translator's neighbour" \
    iperf3_to $h4_from_6 h6 -t 1 -u -b 20M -l 1400
check "UDP, IPv4 to IPv6" iperf3_to $h6_from_4 h4 -t 1 -u -b 20M -l 1400

siit_set mtu6=1280
must until_ok 5 prints 'mtu6.*1280' ovs-appctl xlat/show 1
check "TCP, IPv4 to IPv6 with mtu6=1280" \
    transfer v4 h6 eth1 $h6_from_4 h4 -t 2
check "... each segment fit for 1280" segments 1220
finish
