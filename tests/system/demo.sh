#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
#
# What this software does, on real traffic, in a minute or two: an IPv6-only
# and an IPv4-only host, joined by Open vSwitch, reach each other through
# nat64() without state; then two hosts through ila(); then many IPv6-only
# hosts share one IPv4 address, and so do two tenants with equal addresses.
# siit-net.sh (the variant with routers), ila-net.sh and nat64-net.sh have the
# pictures.
#
#     demo.sh [siit|ila|stateful]...    only these parts
#
# Ends with "DEMO PASSED", or says what failed.  Leaves nothing behind.

began=${EPOCHREALTIME/./}
must_run=yes
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
. "$here/siit-net.sh"
. "$here/ila-net.sh"
. "$here/nat64-net.sh"

parts=${*:-siit ila stateful}
case " $parts " in *" siit "*) n_steps=$((n_steps + 12)) ;; esac
case " $parts " in *" ila "*) n_steps=$((n_steps + 4)) ;; esac
case " $parts " in *" stateful "*) n_steps=$((n_steps + 14)) ;; esac
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
    start_ovs
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

# The stateful part.

clients=(c1 c2 c3)

make_nat64_net () {
    nat64_net 3
    echo "${clients[*]} (IPv6 only) - br0, $pool - s (IPv4 only)"
}

start_servers () {
    mkdir -p "$RUN/files"
    head -c 5M /dev/urandom >"$RUN/files/data"
    for host in "${clients[@]}" t1 t2; do
        echo "$host" >"$RUN/files/$host"
    done
    start_dns
    start_http s "$RUN/files"
    start_iperf3 s
    in_host s python3 -m pyftpdlib -i $s4 -p 21 -d "$RUN/files" \
        >"$RUN/ftp.log" 2>&1 &
    must until_ok 20 listening s t 21
    echo "DNS, HTTP, FTP and iperf3 at s"
}

# Names for s of either family, and a text that makes an answer long.
start_dns () {
    in_host s dnsmasq --conf-file=/dev/null --pid-file --user=root --no-hosts \
        --no-resolv --host-record=s.example,$s4,$s_from_6 \
        --txt-record="long.example,$(printf '%.0sx' {1..250})" \
        >"$RUN/dns.log" 2>&1 || { cat "$RUN/dns.log"; return 1; }
    must until_ok 10 listening s u 53
}

dns () {
    local host
    for host in "${clients[@]}"; do
        [ "$(in_host "$host" dig +short +tries=3 "$@" @$s_from_6 AAAA \
             s.example)" = $s_from_6 ] || return
    done
    echo "s.example is $s_from_6, ${#clients[@]} times"
}

# own_page HOST [SERVER]: what HOST gets is its own, from the port that all use.
port=40000
own_page () {
    [ "$(in_host "$1" curl -sS --max-time 20 --local-port $port \
         "http://${2:-[$s_from_6]}/$1")" = "$1" ]
}

own_pages () {
    in_all own_page "${clients[@]}" || return
    echo "by port 40000 of all: $(sessions 1 proto=tcp,remote=$s4:80 \
        | awk '{ print $3 }' | xargs)"
}

same_identifier () {
    in_host "$1" ping -n -c 3 -i 0.2 -W 3 -e 4711 $s_from_6
}

same_identifiers () {
    in_all same_identifier "${clients[@]}" || return
    echo "identifier 4711 of all: $(sessions 1 proto=icmp,remote=$s4 \
        | awk '{ print $3 }' | xargs)"
}

ftp () {
    in_host c2 curl -sSv --max-time 30 "ftp://[$s_from_6]/data" \
        2>"$RUN/ftp.out" | cmp - "$RUN/files/data" || return
    sed -n 's/^< \(229 .*)\).*/\1/p' "$RUN/ftp.out"
}

hairpin () {
    must ovs-vsctl --timeout=20 set Xlat_Zone 1 \
        bib="\"tcp,[2001:db8:1::13]:80,$pool:8080\""
    start_http c3 "$RUN/files"
    [ "$(in_host s curl -sS --max-time 10 http://$pool:8080/c3)" = c3 ] || return
    [ "$(in_host c1 curl -sS --max-time 10 \
         "http://[$pool_from_6]:8080/c3")" = c3 ] || return
    echo "$pool:8080 is port 80 of c3, also for c1"
}

many () {
    in_host c1 iperf3 --client $s_from_6 -t 2 -P 32 >"$RUN/many.out" || return
    echo "$(sessions 1 "inside=2001:db8:1::11,remote=$s4:5201" | wc -l)" \
        "sessions of c1"
}

flush () {
    local flushed
    flushed=$(ovs-appctl xlat/flush 1 | sed -n 's/flushed: //p')
    n_sessions 0 1 || return
    # The other one may still be in TIME-WAIT.
    port=40001 own_page c1 || return
    echo "$flushed sessions ended, new ones begin"
}

make_nat44_net () {
    nat44_net
    echo "t1 (10.0.0.5), t2 (10.0.0.5) - br1, $pool44 - s"
}

tenants () {
    own_page t1 $s44 || return
    own_page t2 $s44 || return
    in_all tenant_ping t1 t2 || return
    echo "10.0.0.5:40000 twice: $(sessions 2 proto=tcp \
        | awk '{ print $3 " of tenant " $6 }' | xargs)"
}

tenant_ping () {
    in_host "$1" ping -n -c 3 -i 0.2 -W 3 -e 4711 $s44
}

# The demo.

siit () {
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
    show ovs-ofctl --names dump-flows br0
    show_stats 1
    end_part
}

ila () {
    step "ILA: two hypervisors" make_ila_net
    step "ILA: ping" ping_step a $b
    start_iperf3 b
    step "ILA: TCP" iperf3_step $b a -t 2
    step "ILA: UDP" iperf3_step $b a -t 2 -u -b 50M -l 1400
    show_stats 1001
    end_part
}

stateful () {
    step "NAT64: hosts behind one IPv4 address" make_nat64_net
    step "NAT64: servers" start_servers
    step "NAT64: dig, UDP" dns
    step "NAT64: dig, TCP" dns +tcp
    step "NAT64: curl, all at once" own_pages
    step "NAT64: ping, all at once" same_identifiers
    step "NAT64: FTP, EPSV" ftp
    step "NAT64: TCP, IPv6 to IPv4" iperf3_step $s_from_6 c1 -t 2
    step "NAT64: TCP, IPv4 to IPv6" iperf3_step $s_from_6 c2 -t 2 -R
    step "NAT64: 32 connections" many
    step "NAT64: a server inside" hairpin
    step "NAT64: flush" flush
    step "NAT44: two tenants, one address" make_nat44_net
    step "NAT44: curl and ping of both" tenants
    show ovs-appctl xlat/sessions 2
    show_stats 1
    show_stats 2
    end_part
}

# Takes hosts, bridges and zones away; the switch goes on.
end_part () {
    local host bridge
    for host in $(ls /run/netns); do
        ip netns pids "$host" | xargs -r kill 2>/dev/null
        must ip netns del "$host"
    done
    for bridge in $(ovs-vsctl list-br); do
        must ovs-vsctl --timeout=20 del-br "$bridge"
    done
    must ovs-vsctl --timeout=20 -- --all destroy Xlat_Zone \
        -- --all destroy Ila_Mapping
    echo
}

show_stats () {
    echo
    echo "\$ ovs-appctl xlat/stats $1"
    ovs-appctl xlat/stats "$1" | grep -v ': 0$'
}

for part in $parts; do
    "$part"
done
echo
echo "All of it took $(seconds_since "$began")."
echo "DEMO PASSED"
