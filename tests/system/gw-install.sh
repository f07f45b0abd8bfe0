#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
#
# flex-gw on a living switch: install, again, elsewhere, remove; what it reads
# from the zone's row and writes there; what it says when something is wrong.

. "$(dirname "$0")/lib.sh"
. "$here/siit-net.sh"

gw () {
    flex-gw --zone 1 --port6 v6 --addr6 $gw6/64 --port4 v4 \
        --addr4 198.51.100.1/24 "$@"
}

flows () {
    ovs-ofctl --no-stats dump-flows br0 "$@"
}

n_flows () {
    flows "$@" | wc -l
}

# fails STATUS REGEX COMMAND...
fails () {
    local status=$1 regex=$2
    shift 2
    "$@" >out 2>&1
    [ $? = "$status" ] || { cat out; return 1; }
    cat out
    grep -qE -- "$regex" out
}

siit_net
must ovs-ofctl add-flow br0 table=77,cookie=0x99,actions=drop
base=cookie=0x666c000000000010/-1

check "it works" ping_ok h6 $h4_from_6
before=$(n_flows $base)
learned=$(n_flows cookie=0x666c000000000011/-1)
check "installed twice, it is there once" all_of siit_gateway \
    "[ \$(n_flows $base) = $before ]"
check "... and what it learned is kept" \
    [ "$(n_flows cookie=0x666c000000000011/-1)" -ge "$learned" ]
check "pool6 comes from the zone's row" prints 'ipv6_dst=2001:db8:64::/96' \
    gw br0
check "pool4 comes from its eamt" prints 'nw_dst=192.0.2.0/24' gw br0
must ovs-vsctl set Xlat_Zone 1 pool4='"203.0.113.64/28"'
check "... and from its pool4" prints 'nw_dst=203.0.113.64/28' gw br0
check "what is printed can be added" all_of \
    "gw br0 | ovs-ofctl -O OpenFlow14 --bundle add-flows br0 -" \
    "ping_ok h6 $h4_from_6"
check "the JSON is JSON" all_of \
    "gw --json br0 | python3 -m json.tool >/dev/null"
check "--icmp-source is in the row" prints "icmp-source6=.?\"?$gw6" \
    ovs-vsctl get Xlat_Zone 1 other_config
check "--mtu6 goes into the row" all_of "gw --install --mtu6 1400 br0" \
    "prints 1400 ovs-vsctl get Xlat_Zone 1 other_config:mtu6"
check "in other tables" all_of "gw --install --table 20 br0" \
    "[ \$(n_flows table=22) -gt 2 ]" "[ \$(n_flows table=2) = 0 ]"
check "removed, only what is not its own is left" all_of \
    "flex-gw --remove --zone 1 br0" "[ \$(n_flows) = 1 ]"
check "a gateway beside a switch: the rest goes on as usual" all_of \
    "ovs-ofctl add-flow br0 priority=0,actions=normal" "gw --install --rest normal br0" \
    "address h4 eth0 2001:db8:1::99/64" "ping_ok h6 2001:db8:1::99" \
    "ping_ok h6 $h4_from_6"

check "no such bridge: status 1" fails 1 'br9' \
    flex-gw --install --zone 1 --port6 v6 --addr6 $gw6/64 --port4 v4 \
    --addr4 198.51.100.1/24 br9
must ovs-vsctl create Xlat_Zone zone=2 kind=nat44 pool4='"198.51.100.1"' \
    -- create Xlat_Zone zone=3 kind=nat64 pool6='"2001:db8:64::/96"' \
    pool4='"192.0.2.1:1024-65535","192.0.2.1:1-80"'
inside="--zone 2 --nat44 --port-in v6=1 --addr-in 10.0.0.1/24 --port4 v4
        --addr4 198.51.100.1/24"
check "nat44: pool4 comes from the row" prints 'nw_dst=198.51.100.1' \
    flex-gw $inside br0
must ovs-vsctl set Xlat_Zone 2 \
    other_config:inside4='"10.0.0.0/9,203.0.113.0/24"'
check "... and the routes inside from its inside4" \
    prints 'nw_dst=203.0.113.0/24,.*0xa000009' \
    flex-gw $inside --next-in 10.0.0.9 br0
check "... of which the inside's link is a part" fails 1 'not in inside4' \
    flex-gw $inside --addr-in 192.168.0.1/24 br0
check "nat64: hairpins come of pool6 and pool4" \
    prints 'ipv6_dst=2001:db8:64::c000:201/' \
    gw --zone 3 --next4 02:00:00:00:00:02 br0
check "another kind: status 1" fails 1 'is of kind nat44' gw --zone 2 br0
check "... also the other way" fails 1 'is of kind siit' \
    flex-gw $inside --zone 1 br0
check "siit has no tenants: status 1" fails 1 'no tenants' \
    flex-gw --zone 1 --port6 v6=1 --addr6 $gw6/64 --port4 v4 \
    --addr4 198.51.100.1/24 br0
check "no such port: status 1" fails 1 'v9' gw --install --port4 v9 br0
check "no such zone: status 1" fails 1 'zone 5 is not' gw --zone 5 br0
finish
