#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
#
# Identifier-locator addressing between two hypervisors, in each checksum
# mode: the hosts see SIR addresses, the wire sees locators.

. "$(dirname "$0")/lib.sh"

# Identifiers whose C bit is clear, as checksum-neutral mapping needs.
id_a=4444:0:1:0 id_b=4444:0:2:0
. "$here/ila-net.sh"

# The bridges are joined by a pair of veths, where tcpdump can listen.
ila_wire () {
    must ip link add net-a type veth peer name net-b
    must ip link set net-a up
    must ip link set net-b up
    must ovs-vsctl --timeout=20 add-port bra net-a -- add-port brb net-b
}

# on_wire REGEX: a packet between the bridges looks so while a pings b.
on_wire () {
    timeout 5 tcpdump -nnli net-a -c 4 'icmp6 and ip6[40] >= 128
        and ip6[40] <= 129' >wire 2>&1 &
    local watcher=$!
    until_ok 5 grep -q listening wire || return
    ping_ok a $b || return
    wait $watcher
    cat wire
    grep -qE "$1" wire
}

# all_modes MODE: sets the mode of every mapping.
set_mode () {
    local row
    for row in $(ovs-vsctl --bare --columns=_uuid list Ila_Mapping); do
        must ovs-vsctl set Ila_Mapping "$row" csum_mode="$1"
    done
    must until_ok 5 prints "$1" ovs-appctl xlat/mappings 1
    must until_ok 5 prints "$1" ovs-appctl xlat/mappings 2
}

ila_net
start_iperf3 b
mkdir www
head -c 20M /dev/urandom >www/data
start_http b "$PWD/www"

check "ping" ping_ok a $b
check "ping, the other way" ping_ok b $a
check "the wire sees the locator" \
    on_wire "> 2001:0?:?0?:2:4444:0:2:0"
check "TCP" iperf3_to $b a -t 1
check "TCP, backwards" iperf3_to $b a -t 1 -R
check "UDP" iperf3_to $b a -t 1 -u -b 20M -l 1400
check "HTTP, 20 MB" all_of "[ \"\$(in_host a curl -sS -m 60 \
    'http://[$b]/data' | sha256sum)\" = \"\$(sha256sum <www/data)\" ]"
check "fragments: UDP of 3000 bytes" all_of \
    "in_host b python3 $here/udp.py echo 7 >/dev/null 2>&1 &" \
    "until_ok 10 listening b u 7" \
    "in_host a python3 $here/udp.py ask $b 7 3000"
check "an ICMP error, its quote with it: UDP port unreachable" \
    prints refused not in_host a python3 "$here/udp.py" ask $b 9 10
for mode in neutral-map neutral-map-auto; do
    set_mode $mode
    check "$mode: ping" ping_ok a $b
    check "$mode: TCP" iperf3_to $b a -t 1
    check "$mode: an ICMP error" \
        prints refused not in_host a python3 "$here/udp.py" ask $b 9 10
done
check "each mapping counts" prints '[1-9][0-9]*' ovs-appctl xlat/mappings 1
finish
