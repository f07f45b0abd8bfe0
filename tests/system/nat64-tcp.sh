#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
#
# Many IPv6 hosts behind one IPv4 address: each gets its own answers; what
# there is of sessions can be seen, emptied, and goes with its address.

. "$(dirname "$0")/lib.sh"
. "$here/nat64-net.sh"

clients=(c1 c2 c3 c4 c5 c6 c7 c8)

# download HOST: its own file, from the port that all of them use.
port=40000
download () {
    [ "$(in_host "$1" curl -sS -m 60 --local-port $port \
         "http://[$s_from_6]/$1" | sha256sum)" = "$(sha256sum <"www/$1")" ]
}

upload () {
    in_host "$1" curl -sS -m 60 -T "www/$1" "ftp://[$s_from_6]/up/$1" \
        && cmp "www/$1" "www/up/$1"
}

# The same identifier everywhere.
ping_same () {
    in_host "$1" ping -n -c 3 -i 0.2 -W 3 -e 4711 $s_from_6
}

# hold PORT HOST...: connections from PORT that wait until there is $go.
hold () {
    local host port=$1
    shift
    for host; do
        in_host "$host" python3 "$here/tcp.py" hold $s_from_6 7 "$go" "$port" \
            >"hold-$host" 2>&1 &
        holders[${host#c}]=$!
    done
    for host; do
        must until_ok 20 grep connected "hold-$host"
    done
}

# answered HOST...: their connections are alive.
answered () {
    local host
    touch "$go"
    for host; do
        until_ok 10 grep -q answered "hold-$host" \
            || { echo "$host: no answer"; return 1; }
    done
}

pool4 () {
    must ovs-vsctl --timeout=20 set Xlat_Zone 1 "pool4=$1"
}

distinct_outsides () {
    [ "$(sessions "$@" | awk '{ print $3 }' | sort -u | wc -l)" = 8 ]
}

nat64_net 8
mkdir -p www/up
for host in "${clients[@]}"; do
    head -c 2M /dev/urandom >"www/$host"
done
start_http s "$PWD/www"
start_iperf3 s
in_host s python3 "$here/tcp.py" echo 7 &
in_host s python3 -m pyftpdlib -i $s4 -p 21 -d "$PWD/www" -w >ftp.log 2>&1 &
must until_ok 20 listening s t 7
must until_ok 20 listening s t 21
holders=()

check "8 hosts download at once from one port: each gets its own" \
    in_all download "${clients[@]}"
check "... by 8 ports of one address" all_of \
    "distinct_outsides 1 proto=tcp" \
    "[ \$(sessions 1 proto=tcp,outside=$pool | wc -l) = 8 ]"
check "8 hosts ping with one identifier: each gets its own" \
    in_all ping_same "${clients[@]}"
check "FTP, EPSV: 8 uploads" in_all upload "${clients[@]}"
check "iperf3, TCP" iperf3_to $s_from_6 c1 -t 1
check "iperf3, TCP, backwards" iperf3_to $s_from_6 c2 -t 1 -R
check "iperf3, UDP" iperf3_to $s_from_6 c3 -t 1 -u -b 20M -l 1400
check "a traceroute shows the gateway" prints "^ 1  $gw6" \
    in_host c1 traceroute -n -q 1 -w 3 -m 3 $s_from_6

go=$PWD/go-1
hold 40001 "${clients[@]}"
check "connections are established sessions" \
    n_sessions 8 1 proto=tcp,state=established,remote=$s4:7
check "... of which one can be named" \
    n_sessions 1 1 "inside=[2001:db8:1::13]:40001,remote=$s4:7"
check "flush ends all sessions" all_of \
    "prints 'flushed: [1-9]' ovs-appctl xlat/flush 1" \
    "n_sessions 0 1"
check "... so that the connections are gone" all_of \
    "no_session=\$(stat_of 1 drop-no-session)" "touch $go" \
    "until_ok 10 eval '[ \$(stat_of 1 drop-no-session) -gt $((no_session)) ]'" \
    "not grep answered hold-c*"
kill "${holders[@]}"
port=40003                      # The other one may still be in TIME-WAIT.
check "new ones begin" in_all download "${clients[@]}"
must ovs-appctl xlat/flush 1

# The first address has room for four hosts, the others get the second.
pool4 "\"$pool:10000-10003\""
must until_ok 5 prints '^ports-in-use: 0' ovs-appctl xlat/stats 1
go=$PWD/go-2
hold 40002 c1 c2 c3 c4
pool4 "[\"$pool:10000-10003\",\"198.51.100.2\"]"
nat64_gateway
hold 40002 c5 c6 c7 c8
check "4 connections by either address" all_of \
    "n_sessions 4 1 state=established,outside=$pool" \
    "n_sessions 4 1 state=established,outside=198.51.100.2"
pool4 "\"$pool:10000-10003\""
check "an address leaves the pool: its sessions end, others remain" all_of \
    "n_sessions 0 1 outside=198.51.100.2" \
    "n_sessions 4 1 state=established,outside=$pool"
check "... and live" answered c1 c2 c3 c4
check "... unlike those that ended" not grep answered hold-c[5678]
kill "${holders[@]}" 2>/dev/null
check "a pool that is full: dropped, and counted" all_of \
    "in_host c8 timeout 3 curl -sS http://[$s_from_6]/c8 >/dev/null; true" \
    "[ \$(stat_of 1 drop-no-port) -gt 0 ] || [ \$(stat_of 1 reply-no-port) -gt 0 ]"
finish
