#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
#
# Datagrams larger than the link, in fragments, in and out of order.
# Fragmented ICMP is dropped, all of it alike (RFC 7915, 1.2).

. "$(dirname "$0")/lib.sh"
. "$here/siit-net.sh"

start_echo () {
    in_host "$1" python3 "$here/udp.py" echo 7 >"echo-$1.log" 2>&1 &
    must until_ok 10 listening "$1" u 7
}

ask () {
    local host=$1
    shift
    in_host "$host" python3 "$here/udp.py" ask "$@"
}

dropped_more () {
    local before
    before=$(stat_of 1 drop-icmp-fragment)
    not in_host "$1" ping -n -c 1 -W 1 -s 3000 "$2" || return
    [ "$(stat_of 1 drop-icmp-fragment)" -ge $((${before:-0} + 2)) ]
}

siit_net
start_echo h4
start_echo h6

check "UDP of 3000 bytes, IPv6 to IPv4 and back" ask h6 $h4_from_6 7 3000
check "UDP of 3000 bytes, IPv4 to IPv6 and back" ask h4 $h6_from_4 7 3000
check "UDP of 60000 bytes, from IPv6" ask h6 $h4_from_6 7 60000
check "UDP of 60000 bytes, from IPv4" ask h4 $h6_from_4 7 60000
check "the last fragment first" in_host h4 \
    python3 "$here/udp.py" reversed $h4 $h6_from_4 7 3000
check "fragmented ping from IPv6: dropped, both fragments counted" \
    dropped_more h6 $h4_from_6
check "fragmented ping from IPv4: dropped, both fragments counted" \
    dropped_more h4 $h6_from_4

# DF=0 and too large for the IPv6 side: fragmented by the translator.
must in_host h4 sysctl -qw net.ipv4.ip_no_pmtu_disc=1
siit_set mtu6=1400
must until_ok 5 prints 'mtu6.*1400' ovs-appctl xlat/show 1
fragmented=$(stat_of 1 fragmented)
check "DF=0, 1450 bytes, past mtu6=1400" ask h4 $h6_from_4 7 1450
check "... as fragments" [ "$(stat_of 1 fragmented)" -gt "${fragmented:-0}" ]

# UDP without a checksum, which IPv6 does not have (RFC 7915, 4.5).
check "no UDP checksum: dropped by default" \
    not ask h4 $h6_from_4 7 100 no-checksum
siit_set udp-zero-checksum=compute
must until_ok 5 prints 'udp-zero-checksum.*compute' ovs-appctl xlat/show 1
check "no UDP checksum: computed where asked" \
    ask h4 $h6_from_4 7 100 no-checksum
finish
