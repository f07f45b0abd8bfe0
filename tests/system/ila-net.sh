# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
# shellcheck shell=bash
#
# Two hypervisors, each with one host; the SIR prefix is 3333:0:0:1::/64,
# identifiers are 5555:0:1:0 and 5555:0:2:0 unless a test sets others first.
#
#    a                 bra                      brb                  b
#  3333:0:0:1:    +- flex-gw ---+         +--- flex-gw -+     3333:0:0:1:
#  5555:0:1:0     |  zone 1     |  wire   |   zone 2    |     5555:0:2:0
#  eth0 -------- host           net ----- net           host -------- eth0
#                 | 2001:0:0:1: |         | 2001:0:0:2: |
#                 | :/64        |         | :/64        |
#                 +-------------+         +-------------+
#                    2001:db8:f::1           2001:db8:f::2
#
# The wire is a pair of patch ports, or what ila_wire makes: a test that
# wants another defines it anew.

: "${id_a:=5555:0:1:0}" "${id_b:=5555:0:2:0}"
a=3333:0:0:1:$id_a
b=3333:0:0:1:$id_b

# ila_hypervisor HOST BRIDGE ZONE ADDRESS
ila_hypervisor () {
    add_bridge "$2"
    add_host "$1"
    host_on_bridge "$1" eth0 "$2" "host-$1"
    address "$1" eth0 "$4/64"
    ila_zone "$3"
}

# ila_zone ZONE
ila_zone () {
    must ovs-vsctl --timeout=20 create Xlat_Zone zone="$1" kind=ila \
        pool6='"3333:0:0:1::/64"'
    ila_mapping "$1" $id_a 2001:0:0:1
    ila_mapping "$1" $id_b 2001:0:0:2
}

ila_mapping () {
    must ovs-vsctl --timeout=20 create Ila_Mapping zone="$1" \
        identifier="\"$2\"" locator="\"$3\"" \
        csum_mode="${ila_csum_mode:-adj-transport}"
}

ila_wire () {
    must ovs-vsctl --timeout=20 \
        add-port bra net-a -- set interface net-a type=patch \
        options:peer=net-b -- \
        add-port brb net-b -- set interface net-b type=patch \
        options:peer=net-a
}

# ila_gateway HOST BRIDGE ZONE NUMBER OTHER
ila_gateway () {
    must flex-gw --install --ila --zone "$3" \
        --port6 "host-$1" --addr6 3333:0:0:1::1/64 \
        --port-net "net-$1" --addr-net "2001:db8:f::$4/64" \
        --next-net "2001:db8:f::$5" --locator "2001:0:0:$4::/64" "$2"
}

ila_net () {
    start_ovs
    ila_hypervisor a bra 1 $a
    ila_hypervisor b brb 2 $b
    ila_wire
    ila_gateway a bra 1 1 2
    ila_gateway b brb 2 2 1
}
