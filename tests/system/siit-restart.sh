#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
#
# ovs-vswitchd restarts: every column of every zone is in force again.

. "$(dirname "$0")/lib.sh"
. "$here/siit-net.sh"
. "$here/ila-net.sh"

# What is in force, without what counts.
in_force () {
    local zone
    for zone in 1 2; do
        ovs-appctl -T 5 xlat/show $zone
    done | grep -vE 'packets|bytes|translated|time'
    ovs-appctl -T 5 xlat/mappings 2 | sort
}

siit_net
siit_set mtu6=1480 mtu4=1460 lowest-ipv6-mtu=1300 hairpin=simple \
    udp-zero-checksum=compute tos-override=8 icmp-error-rate=7 \
    icmp-source4=198.51.100.1 icmp-source6=$gw6
must ovs-vsctl set Xlat_Zone 1 name=edge pool4='"203.0.113.64/28"'
ila_zone 2
must until_ok 5 prints 'mtu6.*1480' ovs-appctl xlat/show 1
in_force >before
check "it works before" ping_ok h6 $h4_from_6

stop_vswitchd
start_vswitchd
must until_ok 10 ovs-appctl xlat/show 2
in_force >after
check "the same is in force afterwards" diff before after
siit_gateway
check "it works afterwards" ping_ok h6 $h4_from_6
check "... the other way too" ping_ok h4 $h6_from_4
finish
