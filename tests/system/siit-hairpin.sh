#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
#
# Two IPv6 hosts with mappings, one of which has only the other's IPv4
# address (RFC 7757, 4.2).  k6 is 2001:db8:1::22, 192.0.2.34.

. "$(dirname "$0")/lib.sh"
. "$here/siit-net.sh"

k6_by_ipv4=2001:db8:64::c000:222
h6_by_ipv4=2001:db8:64::c000:221

hairpin () {
    siit_set hairpin="$1"
    must until_ok 5 prints "hairpin.*$1" ovs-appctl xlat/show 1
}

# seen_as ADDRESS: k6 sees h6 as ADDRESS.
seen_as () {
    in_host k6 timeout 5 tcpdump -nli eth0 -c 1 "src $1" >seen 2>&1 &
    local watcher=$!
    until_ok 5 grep -q listening seen || return
    ping_ok h6 $k6_by_ipv4 || return
    wait $watcher
    grep -q "$1" seen
}

siit_net
add_host k6
host_on_bridge k6 eth0 br0 k6
address k6 eth0 2001:db8:1::22/64
route k6 default via $gw6
gw_options=(--port6 k6 --hairpin)
siit_gateway

hairpin simple
check "simple: h6 reaches k6 by its IPv4 address" seen_as $h6_by_ipv4
hairpin intrinsic
check "intrinsic: h6 reaches k6 by its IPv4 address" seen_as $h6_by_ipv4
start_http k6 /proc/self
check "... by TCP" in_host h6 curl -sS -m 10 "http://[$k6_by_ipv4]/status"
gw_options=(--port6 k6)
siit_gateway
hairpin none
check "none: it does not" not ping_ok h6 $k6_by_ipv4
finish
