# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
# shellcheck shell=bash
#
#  IPv6 only                     the switch                      IPv4 only
#                        +--------- br0 ----------+
#   c1 -------------- c1 |        flex-gw         | v4 -------------- s
#     2001:db8:1::11     | ::1 [zone 1] 198.51.100.1 |      198.51.100.7
#   c2 -------------- c2 |                        |
#     2001:db8:1::12     +------------------------+
#   ...
#
#   All clients share 198.51.100.1, the gateway's own address.  IPv4 is
#   2001:db8:64::/96, so that s is $s_from_6 for them.
#
# nat64_net N makes that with N clients.  nat44_net makes two tenants whose
# hosts have the same address, on a bridge of its own, for which s needs to be
# there:
#
#  IPv4 inside                    the switch                      outside
#                        +--------- br1 ----------+
#   t1 -------------- t1 |        flex-gw         | w4 -------------- s
#     10.0.0.5, tenant 1 | 10.0.0.1 [zone 2] 203.0.113.1 |  203.0.113.7
#   t2 -------------- t2 |                        |
#     10.0.0.5, tenant 2 +------------------------+

s4=198.51.100.7
s_from_6=2001:db8:64::c633:6407
pool=198.51.100.1
pool_from_6=2001:db8:64::c633:6401
gw6=2001:db8:1::1
s44=203.0.113.7
pool44=203.0.113.1

# nat64_net N [KEY=VALUE...]: zone 1 with these in other_config.
nat64_net () {
    local n=$1 i
    shift
    start_ovs
    add_bridge br0
    add_server eth0 br0 v4 $s4/24
    must ovs-vsctl --timeout=20 create Xlat_Zone zone=1 kind=nat64 \
        pool6='"2001:db8:64::/96"' pool4="\"$pool\""
    zone_set 1 max-sessions=10000 "$@"
    gw_options=()
    for i in $(seq "$n"); do
        add_client "c$i" "2001:db8:1::1$i"
    done
    nat64_gateway
}

# add_server INTERFACE BRIDGE PORT ADDRESS: one more link of s.
add_server () {
    [ -e /run/netns/s ] || add_host s
    host_on_bridge s "$1" "$2" "$3"
    address s "$1" "$4"
}

# add_client NAME ADDRESS
add_client () {
    add_host "$1"
    host_on_bridge "$1" eth0 br0 "$1"
    address "$1" eth0 "$2/64"
    route "$1" default via $gw6
    gw_options+=(--port6 "$1")
}

# nat64_gateway [OPTION...]: flex-gw's, beyond the usual.
nat64_gateway () {
    must flex-gw --install --zone 1 --icmp-source --addr6 $gw6/64 \
        --port4 v4 --addr4 $pool/24 "${gw_options[@]}" "$@" br0
}

# nat44_net [KEY=VALUE...]
nat44_net () {
    local tenant
    [ -e "$RUN/db.sock" ] || start_ovs
    add_bridge br1
    add_server eth1 br1 w4 $s44/24
    must ovs-vsctl --timeout=20 create Xlat_Zone zone=2 kind=nat44 \
        pool4="\"$pool44\""
    zone_set 2 max-sessions=10000 "$@"
    for tenant in 1 2; do
        add_host t$tenant
        host_on_bridge t$tenant eth0 br1 t$tenant
        address t$tenant eth0 10.0.0.5/24
        route t$tenant default via 10.0.0.1
    done
    must flex-gw --install --nat44 --zone 2 --icmp-source \
        --port-in t1=1 --port-in t2=2 --addr-in 10.0.0.1/24 \
        --port4 w4 --addr4 $pool44/24 br1
}

# zone_set ZONE KEY=VALUE...: other_config, while the zone works.
zone_set () {
    local zone=$1 args=() pair
    shift
    for pair; do
        args+=("other_config:${pair%%=*}=\"${pair#*=}\"")
    done
    must ovs-vsctl --timeout=20 set Xlat_Zone "$zone" "${args[@]}"
}

# sessions ZONE [FILTER]: one line each, "PROTO INSIDE OUTSIDE > REMOTE ...".
sessions () {
    ovs-appctl -T 5 xlat/sessions "$@" | sed 1d
}

# n_sessions NUMBER ZONE [FILTER]: there are so many.
n_sessions () {
    local n=$1 found
    shift
    sessions "$@"
    found=$(sessions "$@" | wc -l)
    [ "$found" = "$n" ] || { echo "$found, not $n"; return 1; }
}

# in_all FUNCTION HOST...: runs FUNCTION HOST for all at the same time; fails
# if one does.
in_all () {
    local function=$1 host pids=() pid status=0
    shift
    for host; do
        "$function" "$host" >"$RUN/all-$host.out" 2>&1 &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        wait "$pid" || status=1
    done
    for host; do
        sed "s/^/$host: /" "$RUN/all-$host.out"
    done
    return $status
}
