#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
#
# Pings between an IPv6-only and an IPv4-only host, and what the zone counts.

. "$(dirname "$0")/lib.sh"
. "$here/siit-net.sh"

# Every packet ends as one of these.
counters_add_up () {
    ovs-appctl -T 5 --format json xlat/stats 1 >"$RUN/stats" || return
    cat "$RUN/stats"
    local sum=0 name
    for name in translated replies passed $(grep -o 'drop-[a-z0-9-]*' \
                                             "$RUN/stats"); do
        sum=$((sum + $(stat_of 1 "$name")))
    done
    [ "$(stat_of 1 packets)" = $sum ]
}

siit_net

check "IPv6 pings IPv4" ping_ok h6 $h4_from_6
check "IPv4 pings IPv6" ping_ok h4 $h6_from_4
check "the smallest ping" ping_ok h6 -s 0 $h4_from_6
check "a ping that fills the link" ping_ok h6 -s 1452 $h4_from_6
check "a ping that fills the link, from IPv4" ping_ok h4 -s 1452 $h6_from_4
check "flood, IPv6 to IPv4, nothing lost" \
    prints ' 0% packet loss' in_host h6 ping -f -c 1000 $h4_from_6
check "TTL 1 from IPv6: the gateway says so" \
    prints "From $gw6 .*[Tt]ime exceeded" \
    not in_host h6 ping -n -c 1 -W 2 -t 1 $h4_from_6
check "TTL 1 from IPv4: the gateway says so" \
    prints 'From 198.51.100.1 .*Time to live exceeded' \
    not in_host h4 ping -n -c 1 -W 2 -t 1 $h6_from_4
check "the gateway's own addresses answer" all_of \
    "ping_ok h6 $gw6" "ping_ok h4 198.51.100.1"
check "packets are translated, replied to, passed or dropped" \
    until_ok 5 counters_add_up
finish
