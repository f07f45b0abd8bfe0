#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
#
# TCP and UDP in quantity, both ways: nothing is corrupted, nothing stalls.

. "$(dirname "$0")/lib.sh"
. "$here/siit-net.sh"

# same_hash HOST URL FILE
same_hash () {
    [ "$(in_host "$1" curl -sS -m 60 "$2" | sha256sum)" \
        = "$(sha256sum <"$3")" ]
}

lost_at_most () {
    local most=$1 result
    shift
    result=$(iperf3_to "$@") || { echo "$result"; return 1; }
    echo "$result"
    awk -v most="$most" '{ exit $2 > most }' <<<"$result"
}

siit_net
mkdir www
head -c 20M /dev/urandom >www/data
start_http h4 "$PWD/www"
start_http h6 "$PWD/www"
start_iperf3 h4
start_iperf3 h6

check "HTTP from IPv4 to IPv6, 20 MB" \
    same_hash h6 "http://[$h4_from_6]/data" www/data
check "HTTP from IPv6 to IPv4, 20 MB" \
    same_hash h4 "http://$h6_from_4/data" www/data
check "iperf3, TCP, from IPv6" iperf3_to $h4_from_6 h6 -t 1
check "iperf3, TCP, from IPv6, backwards" iperf3_to $h4_from_6 h6 -t 1 -R
check "iperf3, TCP, from IPv4" iperf3_to $h6_from_4 h4 -t 1
check "iperf3, 8 connections" iperf3_to $h4_from_6 h6 -t 1 -P 8
check "iperf3, UDP, from IPv6" \
    lost_at_most 5 $h4_from_6 h6 -t 1 -u -b 20M -l 1400
check "iperf3, UDP, from IPv4" \
    lost_at_most 5 $h6_from_4 h4 -t 1 -u -b 20M -l 1400
finish
