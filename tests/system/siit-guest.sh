#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
#
# What a guest's virtio driver sends: checksums to be completed by whoever
# puts them on a wire, TCP to be cut into segments.  First towards a wire, then
# towards another guest:
#
#   g6 ==== br0 ==== r1 ---- r2 ---- h4       == with offloads
#            =
#            +------ g4      takes the place and the address of h4 later
#
# g4 has negotiated no offload of what it receives, so that it checks all of
# that, and Open vSwitch has to complete and to cut what g6 sends to it.

. "$(dirname "$0")/lib.sh"
. "$here/siit-net.sh"
. "$here/guest.sh"

checks_itself=(guest_{csum,ecn,ufo,tso4,tso6,uso4,uso6}"=off")

# Virtio's numbers for "the device takes checksums to be completed", "the
# driver does", "the device takes TCP over IPv6 to be cut".
F_CSUM=0
F_GUEST_CSUM=1
F_HOST_TSO6=12

# UDP to a port that nobody listens on, its checksum (dead) wrong.
wrong_checksum=020000000407020000000001080045000\
01d0000000040112661c6336401c6336407000700090009dead61

# gateway OPTION...: what is said of the IPv4 side.
gateway () {
    must flex-gw --install --zone 1 --icmp-source \
        --port6 vg6 --addr6 $gw6/64 "$@" br0
}

# Addresses, and a file to fetch.
set_up_guest () {
    must in_guest "$1" "ip address add $2 dev eth0"
    must in_guest "$1" "ip route add default via $3"
    must in_guest "$1" "head -c 2000000 /dev/urandom >data"
    must in_guest "$1" "httpd -p 80 -h /tmp"
}

# A router without offloads before h4 is the wire.
set_up_wire () {
    siit_routers_and_h4
    must in_host r1 ethtool -K left tx on
    must in_host r1 ethtool -K right tx off tso off gso off gro off
    must mkdir www
    head -c 2M /dev/urandom >www/data
    start_http h4 "$PWD/www"
    in_host h4 "$here/udp.py" echo 7 >udp-echo.log 2>&1 &
    must until_ok 30 listening h4 u 7
}

watch_wire () {
    in_host r2 tcpdump -Z root -U -B 8192 -i left -Q in -w wire.pcap ip \
        2>tcpdump.log &
    watcher=$!
    must until_ok 30 grep -q listening tcpdump.log
}

# wire_shows LINES REGEX
wire_shows () {
    tcpdump -nn -vv -r wire.pcap >wire.txt 2>/dev/null
    [ "$(grep -cE "$2" wire.txt)" -ge "$1" ]
}

# UDP came last.
wire_is_complete () {
    until_ok 10 wire_shows 4 'udp (sum|cksum)'
    kill $watcher
    wait $watcher
    grep -qE 'udp (sum|cksum)' wire.txt
}

wire_is_right () {
    not grep -E '\(incorrect|bad udp|wrong icmp|bad cksum' wire.txt \
        && wire_shows 3 'ICMP echo request' \
        && wire_shows 1000 'Flags.*\(correct\)' \
        && wire_shows 4 'udp sum ok'
}

# What was translated in one piece was cut into segments later.
many_segments_in_one () {
    local translated on_wire
    translated=$(stat_of 1 translated-64)
    on_wire=$(grep -c '^[0-9]' wire.txt)
    echo "$translated packets translated, $on_wire on the wire"
    [ "$((translated * 2))" -lt "$on_wire" ]
}

# has_feature GUEST NUMBER: driver and device have agreed upon it.
has_feature () {
    prints 1 in_guest "$1" \
        "cut -c $(($2 + 1)) /sys/class/net/eth0/device/features"
}

# same HASH HASH
same () {
    printf '%s\n' "$@"
    [ -n "$1" ] && [ "$1" = "$2" ]
}

hash_of () {
    in_guest "$1" "sha256sum <$2"
}

# host_fetches HOST URL GUEST
host_fetches () {
    same "$(in_host "$1" curl -sS -m 30 "$2" | sha256sum)" \
         "$(hash_of "$3" data)"
}

# guest_fetches GUEST URL HASH
guest_fetches () {
    in_guest "$1" "wget -q -T 15 -O got \"$2\"" \
        && same "$(hash_of "$1" got)" "$3"
}

# udp_echo GUEST ADDRESS: datagrams of odd and even lengths come back.
udp_echo () {
    local size
    for size in 1 64 999 1400; do
        in_guest "$1" "head -c $size /dev/urandom >asked && \
nc.openbsd -u -W 1 -w 5 -p 40007 $2 7 <asked >answer; cmp asked answer" \
            || { echo "$size bytes"; return 1; }
    done
}

# refused GUEST: prints how many wrong checksums its kernel has met.
refused () {
    in_guest "$1" "cat /proc/net/snmp /proc/net/snmp6" | awk '
        /^(Tcp|Udp|Icmp):/ && column[$1] { sum += $column[$1] }
        /^(Tcp|Udp|Icmp):/ {
            for (i = 2; i <= NF; i++)
                if ($i == "InCsumErrors") { column[$1] = i; n++ }
        }
        /^(Udp6|Icmp6)InCsumErrors/ { sum += $2; n++ }
        END { print n == 5 ? sum : "of which protocols?" }'
}

send_wrong_checksum () {
    must ovs-ofctl packet-out br0 \
        "in_port=local packet=$wrong_checksum actions=output:vg4"
}

need_guests
start_ovs_with_dpdk
add_bridge br0
siit_zone
set_up_wire
start_guest g6 vg6 02:00:00:00:06:21
start_guest g4 vg4 02:00:00:00:04:07 "${checks_itself[@]}"
gateway --port4 v4 --addr4 203.0.113.1/29 --next4 203.0.113.2
wait_for_guest g6
set_up_guest g6 $h6/64 $gw6

check "an IPv6 guest that leaves checksums and segments to others" \
    all_of "has_feature g6 $F_CSUM" "has_feature g6 $F_HOST_TSO6"
watch_wire
check "ping, guest to wire" in_guest g6 "ping -c 3 -W 5 $h4_from_6"
check "TCP, guest to wire" host_fetches h4 "http://$h6_from_4/data" g6
check "UDP, guest to wire and back" udp_echo g6 $h4_from_6
must wire_is_complete
check "every checksum on the wire is right" wire_is_right
check "many segments came in one frame" many_segments_in_one
check "TCP, wire to guest" guest_fetches g6 "http://[$h4_from_6]/data" \
    "$(sha256sum <www/data)"

gateway --port4 vg4 --addr4 198.51.100.1/24
wait_for_guest g4
set_up_guest g4 $h4/24 198.51.100.1
must in_guest g4 \
    "mkfifo echo; nc.openbsd -u -l 7 0<>echo 1>&0 2>echo.log &"

check "an IPv4 guest that checks what it gets" \
    all_of "has_feature g4 $F_CSUM" "not has_feature g4 $F_GUEST_CSUM"
check "ping, IPv6 guest to IPv4 guest" in_guest g6 "ping -c 3 -W 5 $h4_from_6"
check "ping, IPv4 guest to IPv6 guest" in_guest g4 "ping -c 3 -W 5 $h6_from_4"
check "TCP, IPv6 guest to IPv4 guest" \
    guest_fetches g4 "http://$h6_from_4/data" "$(hash_of g6 data)"
check "TCP, IPv4 guest to IPv6 guest" \
    guest_fetches g6 "http://[$h4_from_6]/data" "$(hash_of g4 data)"
check "UDP, IPv6 guest to IPv4 guest and back" udp_echo g6 $h4_from_6
check "no checksum refused by the IPv6 guest" prints '^0$' refused g6
check "no checksum refused by the IPv4 guest" prints '^0$' refused g4
send_wrong_checksum
check "... but it does refuse a wrong one" \
    until_ok 10 prints '^1$' refused g4
finish
