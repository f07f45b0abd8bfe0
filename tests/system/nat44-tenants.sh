#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
#
# Two tenants whose hosts have the same IPv4 address, behind one zone of kind
# nat44: each gets its own answers, and reaches the other by the outside only.

. "$(dirname "$0")/lib.sh"
. "$here/nat64-net.sh"

download () {
    [ "$(in_host "$1" curl -sS -m 60 --local-port 40000 \
         "http://$s44/$1" | sha256sum)" = "$(sha256sum <"www/$1")" ]
}

ping_same () {
    in_host "$1" ping -n -c 3 -i 0.2 -W 3 -e 4711 $s44
}

large () {
    in_host "$1" python3 "$here/udp.py" ask $s44 7 20000
}

# gets HOST URL WORD: what is there begins with WORD.
gets () {
    prints "^$3" in_host "$1" curl -sS -m 10 "$2"
}

# answers_arp HOST ADDRESS
answers_arp () {
    in_host "$1" ip neigh flush all
    in_host "$1" ping -n -c 1 -W 2 "$2"
    prints lladdr ip -n "$1" neigh show "$2"
}

nat44_net
mkdir www one two
for host in t1 t2; do
    head -c 2M /dev/urandom >www/$host
done
echo "this is t1" >one/who
echo "this is t2" >two/who
start_http s "$PWD/www"
start_http t1 "$PWD/one"
start_http t2 "$PWD/two"
in_host s python3 "$here/udp.py" echo 7 >echo.log 2>&1 &
must until_ok 10 listening s u 7

check "both find the gateway" all_of "ping_ok t1 10.0.0.1" "ping_ok t2 10.0.0.1"
check "equal addresses and ports: each gets its own file" \
    in_all download t1 t2
check "equal identifiers of echoes: each gets its own" in_all ping_same t1 t2
check "UDP of 20000 bytes: each gets its own" in_all large t1 t2
check "a session is a tenant's" all_of \
    "n_sessions 1 2 proto=tcp,inside=10.0.0.5:40000,tenant=1" \
    "n_sessions 1 2 proto=tcp,inside=10.0.0.5:40000,tenant=2" \
    "n_sessions 0 2 tenant=3"
check "a traceroute shows the gateway" prints "^ 1  $pool44" \
    in_host t1 traceroute -n -q 1 -w 3 -m 3 $s44
check "no gateway for what is on the link" \
    not in_host t1 ping -n -c 1 -W 1 10.0.0.6

must ovs-vsctl --timeout=20 set Xlat_Zone 2 bib="[\
\"tcp,10.0.0.5:80,$pool44:8001,tenant=1\",\
\"tcp,10.0.0.5:80,$pool44:8002,tenant=2\"]"
check "static bindings of both: from outside" all_of \
    "gets s http://$pool44:8001/who 'this is t1'" \
    "gets s http://$pool44:8002/who 'this is t2'"
check "... from one tenant to the other, by the outside" all_of \
    "gets t1 http://$pool44:8002/who 'this is t2'" \
    "gets t2 http://$pool44:8001/who 'this is t1'"
check "... and to itself" gets t1 http://$pool44:8001/who "this is t1"
check "the pool's address is found by ARP" all_of \
    "answers_arp s $pool44" "gets s http://$pool44:8001/who 'this is t1'"
finish
