#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
#
# ICMP errors of routers and hosts, as traceroute, mtr and sockets see them.
# Each IPv4 router must show as pool6 with its own address behind it.

. "$(dirname "$0")/lib.sh"
. "$here/siit-net.sh"

path6="$gw6 2001:db8:64::cb00:7102 2001:db8:64::cb00:710a $h4_from_6"
path4="198.51.100.1 203.0.113.9 203.0.113.1 $h6_from_4"

# path_is HOPS HOST COMMAND...: the second column is HOPS.
path_is () {
    local hops=$1 host=$2
    shift 2
    in_host "$host" "$@" | tee path.out
    [ "$(awk '$1 ~ /^[0-9]+/ { print $2 }' path.out | xargs)" = "$hops" ]
}

siit_net_routed

check "traceroute by UDP, from IPv6" \
    path_is "$path6" h6 traceroute -n -q 1 -w 3 -m 8 $h4_from_6
check "traceroute by ICMP, from IPv6" \
    path_is "$path6" h6 traceroute -I -n -q 1 -w 3 -m 8 $h4_from_6
check "traceroute by TCP, from IPv6" \
    path_is "$path6" h6 traceroute -T -n -q 1 -w 3 -m 8 $h4_from_6
check "traceroute by UDP, from IPv4" \
    path_is "$path4" h4 traceroute -n -q 1 -w 3 -m 8 $h6_from_4
check "traceroute by ICMP, from IPv4" \
    path_is "$path4" h4 traceroute -I -n -q 1 -w 3 -m 8 $h6_from_4
check "mtr, from IPv6, past two IPv4 routers" \
    path_is "$path6" h6 mtr -n -r -c 3 -i 0.2 $h4_from_6
check "mtr, from IPv4" path_is "$path4" h4 mtr -n -r -c 3 -i 0.2 $h6_from_4
check "a closed UDP port is refused, from IPv6" \
    prints refused not in_host h6 python3 "$here/udp.py" ask $h4_from_6 9 10
check "a closed UDP port is refused, from IPv4" \
    prints refused not in_host h4 python3 "$here/udp.py" ask $h6_from_4 9 10
check "a closed TCP port is refused, from IPv6" \
    prints '\(7\)' not in_host h6 curl -sS -m 5 "http://[$h4_from_6]:9/"
route r2 unreachable 198.51.100.99
check "no route to an IPv4 host" \
    prints "From 2001:db8:64::cb00:710a .*unreachable" \
    not in_host h6 ping -n -c 1 -W 3 2001:db8:64::c633:6463
finish
