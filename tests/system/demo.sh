#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
#
# What this software does, on real traffic, in about a minute: an IPv6-only
# and an IPv4-only host, joined by Open vSwitch, reach each other through
# nat64(); then two hosts through ila().  siit-net.sh (the variant with
# routers) and ila-net.sh have the pictures.
#
# Ends with "DEMO PASSED", or says what failed.  Leaves nothing behind.

began=${EPOCHREALTIME/./}
must_run=yes
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
. "$here/siit-net.sh"
. "$here/ila-net.sh"

n_steps=16
n_step=0
mbytes=100

seconds_since () {
    local us=$((${EPOCHREALTIME/./} - $1))
    printf '%d.%d s' $((us / 1000000)) $((us / 100000 % 10))
}

# step WORDS COMMAND...: one line of progress; the last line that COMMAND
# prints is its result.
step () {
    local words=$1 start=${EPOCHREALTIME/./}
    shift
    n_step=$((n_step + 1))
    printf '[%2d/%d] %s ... ' $n_step $n_steps "$words"
    "$@" >"$RUN/step.out" 2>&1 || give_up "$words"
    echo "$(tail -n 1 "$RUN/step.out") ($(seconds_since "$start"))"
}

# Also what must() of lib.sh calls, in the middle of a step, where standard
# output is a file.
exec 3>&1
give_up () {
    {
        echo FAILED
        sed 's/^/    /' "$RUN/step.out"
        state_of_switch | sed 's/^/    /'
        echo "DEMO FAILED: $*"
    } >&3 2>&1
    exit 1
}

# The steps.  Each prints its result last.

make_siit_net () {
    siit_net_routed
    echo "h6 (IPv6 only) - br0 - r1 - r2 - h4 (IPv4 only)"
}

ping_step () {
    ping_ok "$@" | tee "$RUN/ping.out"
    [ "${PIPESTATUS[0]}" = 0 ] || return
    awk -F'[/ ]' '/^rtt/ { print $8 " ms" }' "$RUN/ping.out"
}

# hops HOST DESTINATION HOP...: traceroute shows exactly these.
hops () {
    local host=$1 destination=$2
    shift 2
    in_host "$host" traceroute -n -q 1 -w 3 -m 8 "$destination" \
        | tee "$RUN/traceroute.out"
    [ "$(awk 'NR > 1 { print $2 }' "$RUN/traceroute.out" | xargs)" = "$*" ] \
        || { echo "wanted: $*"; return 1; }
    echo "$# hops: $*"
}

mtr_hops () {
    local host=$1 destination=$2
    shift 2
    in_host "$host" mtr -n --report --report-cycles 3 --interval 0.2 \
        "$destination" | tee "$RUN/mtr.out"
    [ "$(awk '/\|--/ { print $2 }' "$RUN/mtr.out" | xargs)" = "$*" ] \
        || { echo "wanted: $*"; return 1; }
    echo "each router shows, as 2001:db8:64::<its address>"
}

download () {
    local wanted got
    head -c "${mbytes}M" /dev/urandom >"$RUN/www/data" || return
    wanted=$(sha256sum <"$RUN/www/data")
    in_host h6 curl -sSf --max-time 120 -w '%{stderr}%{speed_download}\n' \
        "http://[$h4_from_6]/data" 2>"$RUN/curl.out" | sha256sum \
        >"$RUN/hash.out"
    got=$(cat "$RUN/hash.out")
    cat "$RUN/curl.out"
    rm "$RUN/www/data"
    [ "$wanted" = "$got" ] || { echo "hash: $got, not $wanted"; return 1; }
    awk '{ printf "hash is right, %.0f MB/s\n", $1 / 1e6 }' "$RUN/curl.out"
}

iperf3_step () {
    local result
    result=$(iperf3_to "$@") || { echo "$result"; return 1; }
    case " $* " in
    *" -u "*) echo "${result% *} Mbit/s, ${result#* } % lost" ;;
    *) echo "${result% *} Mbit/s" ;;
    esac
}

# learned_mtu HOST DESTINATION MTU: HOST now knows the path's MTU.
learned_mtu () {
    ip -n "$1" route get "$2" | tee "$RUN/route.out"
    grep -q " mtu $3\b" "$RUN/route.out"
}

# A router on the IPv4 side has a small link: its ICMPv4 error must reach the
# IPv6 host as a Packet Too Big, 20 bytes more for the larger header.
pmtud_by_router () {
    must ip -n r1 link set right mtu 1400
    must ip -n r2 link set left mtu 1400
    iperf3_to $h4_from_6 h6 -t 1 || return
    learned_mtu h6 $h4_from_6 1420 || return
    must ip -n r1 link set right mtu 1500
    must ip -n r2 link set left mtu 1500
    echo "a 1400 byte link, h6 learned 1420"
}

# The gateway's own error, when the IPv6 side is the small one.
pmtud_by_gateway () {
    siit_set mtu6=1280
    until_ok 5 prints 'mtu6.*1280' ovs-appctl xlat/show 1 || return
    in_host h4 ping -n -c 2 -i 0.2 -W 2 -M do -s 1400 $h6_from_4
    learned_mtu h4 $h6_from_4 1260 || return
    iperf3_to $h6_from_4 h4 -t 1 || return
    siit_set mtu6=1500
    echo "mtu6=1280 while running, h4 learned 1260"
}

make_ila_net () {
    ila_hypervisor a bra 1001 $a
    ila_hypervisor b brb 1002 $b
    ila_wire
    ila_gateway a bra 1001 1 2
    ila_gateway b brb 1002 2 1
    echo "a - bra (locator 2001:0:0:1) - brb (locator 2001:0:0:2) - b"
}

show () {
    echo
    echo "\$ $*"
    "$@"
}

step "Two hosts, two IPv4 routers, the switch" make_siit_net
step "Ping, IPv6 to IPv4" ping_step h6 $h4_from_6
step "Ping, IPv4 to IPv6" ping_step h4 $h6_from_4
step "Traceroute, IPv6 to IPv4" hops h6 $h4_from_6 \
    $gw6 2001:db8:64::cb00:7102 2001:db8:64::cb00:710a $h4_from_6
step "Traceroute, IPv4 to IPv6" hops h4 $h6_from_4 \
    198.51.100.1 203.0.113.9 203.0.113.1 $h6_from_4
step "mtr, IPv6 to IPv4" mtr_hops h6 $h4_from_6 \
    $gw6 2001:db8:64::cb00:7102 2001:db8:64::cb00:710a $h4_from_6
mkdir "$RUN/www"
start_http h4 "$RUN/www"
start_iperf3 h4
start_iperf3 h6
step "HTTP download of $mbytes MB, IPv4 to IPv6" download
step "TCP, IPv6 to IPv4" iperf3_step $h4_from_6 h6 -t 2
step "TCP, IPv4 to IPv6" iperf3_step $h6_from_4 h4 -t 2
step "UDP, IPv6 to IPv4" iperf3_step $h4_from_6 h6 -t 2 -u -b 50M -l 1400
step "Path MTU, a small link at a router" pmtud_by_router
step "Path MTU, a small IPv6 side" pmtud_by_gateway
step "ILA: two hypervisors" make_ila_net
step "ILA: ping" ping_step a $b
start_iperf3 b
step "ILA: TCP" iperf3_step $b a -t 2
step "ILA: UDP" iperf3_step $b a -t 2 -u -b 50M -l 1400

show ovs-ofctl --names dump-flows br0
show ovs-appctl xlat/stats 1 | grep -v ': 0$'
show ovs-appctl xlat/stats 1001 | grep -v ': 0$'
echo
echo "All of it took $(seconds_since "$began")."
echo "DEMO PASSED"
