#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
#
# The configuration changes while traffic flows: no connection breaks, and
# each change is in force at once.

. "$(dirname "$0")/lib.sh"
. "$here/siit-net.sh"

# Changes one knob back and forth until the transfer ends.
turn_knobs () {
    local n=0
    while kill -0 "$1" 2>/dev/null; do
        n=$((n + 1))
        siit_set tos-override=$((n % 64 * 4)) icmp-error-rate=$((n % 100 + 1))
    done
    echo "$n changes"
    [ $n -ge 10 ]
}

transfer_under_changes () {
    iperf3_to $h4_from_6 h6 -t 3 >transfer.out 2>&1 &
    local transfer=$!
    turn_knobs $transfer || return
    wait $transfer || { cat transfer.out; return 1; }
}

# tos_of HEX: the next packets from IPv6 have this TOS on the IPv4 side.
tos_is () {
    in_host h4 timeout 5 tcpdump -nnvli eth0 -c 1 \
        "src $h6_from_4 and icmp[0] == 8" >seen 2>&1 &
    local watcher=$!
    until_ok 5 grep -q listening seen || return
    ping_ok h6 $h4_from_6 || return
    wait $watcher
    cat seen
    grep -q "tos $1," seen
}

siit_net
start_iperf3 h4
check "TCP goes on while knobs turn" transfer_under_changes

siit_set tos-override=64
must until_ok 5 prints 'tos-override.*64' ovs-appctl xlat/show 1
check "a changed knob is in force" tos_is 0x40

must ovs-vsctl remove Xlat_Zone 1 other_config tos-override
must until_ok 5 not prints 'tos-override.*64' ovs-appctl xlat/show 1
check "a knob taken back is not" tos_is 0x0

must ovs-vsctl set Xlat_Zone 1 pool6='"2001:db8:64::/95"'
check "a bad change is refused with a reason" \
    until_ok 5 prints '95' ovs-vsctl get Xlat_Zone 1 status
check "... and the old configuration works on" ping_ok h6 $h4_from_6
must ovs-vsctl set Xlat_Zone 1 pool6='"2001:db8:64::/96"'

must ovs-vsctl destroy Xlat_Zone 1
check "without its zone, nothing passes" \
    until_ok 5 not in_host h6 ping -n -c 1 -W 1 $h4_from_6
siit_zone
check "with the zone again, all is well" \
    until_ok 5 in_host h6 ping -n -c 1 -W 1 $h4_from_6
finish
