#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
#
# Datagrams larger than the link through a stateful zone, both ways, in and
# out of order: only the first fragment has the ports.

. "$(dirname "$0")/lib.sh"
. "$here/nat64-net.sh"

start_echo () {
    in_host "$1" python3 "$here/udp.py" echo 7 >"echo-$1.log" 2>&1 &
    must until_ok 10 listening "$1" u 7
}

ask () {
    local host=$1
    shift
    in_host "$host" python3 "$here/udp.py" ask "$@"
}

no_fragment_dropped () {
    [ "$(stat_of 1 drop-fragment)" -eq 0 ]
}

large_1 () {
    ask "$1" $s_from_6 7 20000
}

nat64_net 4
must ovs-vsctl --timeout=20 set Xlat_Zone 1 \
    bib="\"udp,[2001:db8:1::11]:7,$pool:7\""
start_echo s
start_echo c1

check "UDP of 3000 bytes, from inside and back" ask c1 $s_from_6 7 3000
check "UDP of 60000 bytes, from inside and back" ask c1 $s_from_6 7 60000
check "UDP of 3000 bytes, from outside to a static binding and back" \
    ask s $pool 7 3000
check "UDP of 60000 bytes, from outside" ask s $pool 7 60000
check "from four hosts at once" in_all large_1 c1 c2 c3 c4
check "the last fragment first" in_host s \
    python3 "$here/udp.py" reversed $s4 $pool 7 3000
check "none was dropped" no_fragment_dropped

zone_set 1 fragments-held=0
check "the last fragment first, where none is held: dropped" all_of \
    "not in_host s python3 '$here/udp.py' reversed $s4 $pool 7 3000" \
    "not no_fragment_dropped"
check "fragmented ping: dropped" all_of \
    "not in_host c1 ping -n -c 1 -W 1 -s 3000 $s_from_6" \
    "[ \$(stat_of 1 drop-icmp-fragment) -ge 2 ]"

# DF=0 and too large for the IPv6 side: fragmented by the translator.
must in_host s sysctl -qw net.ipv4.ip_no_pmtu_disc=1
zone_set 1 mtu6=1400
check "DF=0, 1450 bytes, past mtu6=1400: fragmented" all_of \
    "ask s $pool 7 1450" "[ \$(stat_of 1 fragmented) -gt 0 ]"
finish
