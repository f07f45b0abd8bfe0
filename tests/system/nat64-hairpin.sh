#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
#
# Two IPv6 hosts behind one IPv4 address, one of which knows the other by that
# address only (RFC 6146, 3.8).

. "$(dirname "$0")/lib.sh"
. "$here/nat64-net.sh"

# seen_as_pool COMMAND...: c2 sees who asks as the pool's address, translated.
seen_as_pool () {
    in_host c2 timeout 10 tcpdump -nli eth0 -c 1 "src $pool_from_6" \
        >seen 2>&1 &
    local watcher=$!
    until_ok 5 grep -q listening seen || return
    "$@" || return
    wait $watcher
}

get () {
    in_host "$1" curl -sS -m 10 -o /dev/null "http://[$pool_from_6]:8080/status"
}

ask () {
    local host=$1
    shift
    in_host "$host" python3 "$here/udp.py" ask "$@"
}

# The outside port of c2's binding of UDP.
outside_port () {
    sessions 1 "proto=udp,inside=2001:db8:1::12" \
        | sed -n "s/.* $pool:\([0-9]*\) .*/\1/p" | head -n 1
}

all () {
    check "$1a static binding: TCP from outside" \
        in_host s curl -sS -m 10 -o /dev/null http://$pool:8080/status
    check "$1... TCP from inside, by the outside address" seen_as_pool get c1
    check "$1... UDP of 3000 bytes" seen_as_pool \
        ask c1 $pool_from_6 7 3000
    check "$1... of a host by its own outside address" get c2
}

nat64_net 2
must ovs-vsctl --timeout=20 set Xlat_Zone 1 \
    bib="[\"tcp,[2001:db8:1::12]:80,$pool:8080\",\"udp,[2001:db8:1::12]:7,$pool:7\"]"
start_http c2 /proc/self
in_host c2 python3 "$here/udp.py" echo 7 >echo.log 2>&1 &
must until_ok 10 listening c2 u 7
in_host s python3 "$here/udp.py" echo 7 >echo-s.log 2>&1 &
must until_ok 10 listening s u 7

all ""
gw_options+=(--next4 "$(in_host s cat /sys/class/net/eth0/address)")
nat64_gateway
check "a next hop by MAC address: to the outside" \
    ask c1 $s_from_6 7 100
all "a next hop by MAC address: "
finish
