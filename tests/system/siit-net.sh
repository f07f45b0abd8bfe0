# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
# shellcheck shell=bash
#
#  IPv6 only                     the switch                      IPv4 only
#                        +--------- br0 ----------+
#   h6 -------------- v6 |        flex-gw         | v4 -------------- h4
#     2001:db8:1::21     | ::1 [zone 1] 198.51.100.1 |      198.51.100.7
#                        +------------------------+
#
#   2001:db8:1::/120 is 192.0.2.0/24, so that h6 is 192.0.2.33 for h4;
#   IPv4 is 2001:db8:64::/96,        so that h4 is $h4_from_6 for h6.
#
# siit_net makes all that; siit_zone the zone, siit_gateway the flows.
# siit_net_routed puts two IPv4 routers between:
#
#   ... br0  v4 -------- r1 ---------------- r2 ---------------- h4
#       203.0.113.1  .2      203.0.113.9  .10   198.51.100.1   198.51.100.7

h6=2001:db8:1::21
h4=198.51.100.7
h6_from_4=192.0.2.33
h4_from_6=2001:db8:64::c633:6407
gw6=2001:db8:1::1

siit_switch_and_h6 () {
    start_ovs
    add_bridge br0
    add_host h6
    host_on_bridge h6 eth0 br0 v6
    address h6 eth0 $h6/64
    route h6 default via $gw6
}

siit_net () {
    gw4=198.51.100.1/24
    gw_options=()
    siit_switch_and_h6
    add_host h4
    host_on_bridge h4 eth0 br0 v4
    address h4 eth0 $h4/24
    route h4 default via 198.51.100.1
    siit_zone
    siit_gateway
}

siit_net_routed () {
    gw4=203.0.113.1/29
    gw_options=(--next4 203.0.113.2)
    siit_switch_and_h6
    siit_routers_and_h4
    siit_zone
    siit_gateway
}

siit_routers_and_h4 () {
    add_router r1
    host_on_bridge r1 left br0 v4
    address r1 left 203.0.113.2/29
    add_router r2
    host_to_host r1 right r2 left
    address r1 right 203.0.113.9/29
    address r2 left 203.0.113.10/29
    add_host h4
    host_to_host r2 right h4 eth0
    address r2 right 198.51.100.1/24
    address h4 eth0 $h4/24
    route h4 default via 198.51.100.1
    route r1 198.51.100.0/24 via 203.0.113.10
    route r1 default via 203.0.113.1
    route r2 default via 203.0.113.9
}

# siit_zone [KEY=VALUE...]: zone 1, with these in other_config.
siit_zone () {
    must ovs-vsctl --timeout=20 create Xlat_Zone zone=1 kind=siit \
        pool6='"2001:db8:64::/96"' \
        eamt='"2001:db8:1::/120"="192.0.2.0/24"'
    [ $# = 0 ] || siit_set "$@"
}

# siit_set KEY=VALUE...: changes zone 1 while it works.
siit_set () {
    local args=() pair
    for pair; do
        args+=("other_config:${pair%%=*}=\"${pair#*=}\"")
    done
    must ovs-vsctl --timeout=20 set Xlat_Zone 1 "${args[@]}"
}

# siit_gateway [OPTION...]: flex-gw's, beyond the usual.
siit_gateway () {
    must flex-gw --install --zone 1 --icmp-source \
        --port6 v6 --addr6 $gw6/64 --port4 v4 --addr4 $gw4 \
        "${gw_options[@]}" "$@" br0
}
