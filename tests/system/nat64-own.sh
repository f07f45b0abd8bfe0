#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
#
# What a stateful zone sends of its own accord: probes of silent TCP sessions,
# which a live host answers, and refusals of SYNs that have waited in vain.

. "$(dirname "$0")/lib.sh"
. "$here/siit-net.sh"

nat64_zone () {
    must ovs-vsctl --timeout=20 create Xlat_Zone zone=1 kind=nat64 \
        pool6='"2001:db8:64::/96"' pool4='"192.0.2.254"' \
        other_config='{max-sessions=1000}'
    siit_set tcp-established-timeout=2 tcp-transitory-timeout=4 \
        tcp-incoming-syn-timeout=2
}

nat64_net () {
    gw4=198.51.100.1/24
    gw_options=()
    siit_switch_and_h6
    add_host h4
    host_on_bridge h4 eth0 br0 v4
    address h4 eth0 $h4/24
    route h4 default via 198.51.100.1
    nat64_zone
    siit_gateway
}

tcp () {
    local host=$1
    shift
    in_host "$host" python3 "$here/tcp.py" "$@"
}

# has NAME NUMBER: a counter has reached that.
has () {
    [ "$(stat_of 1 "$1")" -ge "$2" ]
}

# is NAME NUMBER
is () {
    [ "$(stat_of 1 "$1")" = "$2" ]
}

nat64_net
tcp h4 echo 7 &
must until_ok 10 listening h4 t 7

tcp h6 idle $h4_from_6 7 9 >idle.out 2>&1 &
idle=$!
must until_ok 10 grep connected idle.out
check "a silent host is probed" until_ok 10 has probes-sent 1
check "... again and again" until_ok 10 has probes-sent 3
wait $idle
check "... and its connection goes on" grep answered idle.out

check "a session without a host ..." all_of \
    "tcp h6 idle $h4_from_6 7 60 >idle.out 2>&1 & idle=\$!" \
    "until_ok 10 grep connected idle.out" \
    "ip -n h6 link set eth0 down" "until_ok 10 has sessions 1"
check "... ends" until_ok 20 is sessions 0
kill $idle

translated=$(stat_of 1 translated)
check "a connection that nobody inside wants is refused, later" \
    prints '^ECONNREFUSED [2345]$' tcp h4 connect 192.0.2.254 1234
check "... by the zone, not by anybody inside" all_of \
    "is syns-answered 1" "is translated $translated"
siit_set stored-syns=0
check "... or at once" \
    prints '^EHOSTUNREACH 0$' tcp h4 connect 192.0.2.254 1234
finish
