#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
#
# Our ILA on one side, Linux's on the other.  Where Linux's adj-transport is
# wrong, its checksum-neutral mapping is not.
#
#   a --- bra (zone 1) ---- l: Linux with ILA, SIR address 3333:0:0:1:4444:0:2:0
#         2001:db8:f::1     2001:db8:f::2, locator 2001:0:0:2

. "$(dirname "$0")/lib.sh"

# Identifiers whose C bit is clear, as checksum-neutral mapping needs.
id_a=4444:0:1:0 id_b=4444:0:2:0
. "$here/ila-net.sh"

add_host l
ip -n l ila list >/dev/null 2>&1 \
    || skip_all "this kernel has no ILA (CONFIG_IPV6_ILA)"

ila_csum_mode=neutral-map
start_ovs
ila_hypervisor a bra 1 $a
host_on_bridge l eth0 bra net-a
address l eth0 2001:db8:f::2/64
address l lo $b/128
must in_host l sysctl -qw net.ipv6.conf.all.forwarding=1
must ip -n l ila add loc_match 2001:0:0:2 loc 3333:0:0:1 dev eth0 \
    csum-mode neutral-map ident-type use-format
must ip -n l route add $a/128 encap ila 2001:0:0:1 csum-mode neutral-map \
    ident-type use-format hook-type output via 2001:db8:f::1
ila_gateway a bra 1 1 2

check "a pings Linux" ping_ok a $b
start_iperf3 l
check "TCP to Linux" iperf3_to $b a -t 1
check "TCP from Linux" iperf3_to $b a -t 1 -R
finish
