# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
# shellcheck shell=bash
#
# What system tests are made of: hosts in network namespaces, joined by a
# bridge of the patched ovs-vswitchd, and real programs that run in them.
#
# A test sources this file first, which starts it anew in mount, network and
# process namespaces of its own.  Whatever it then makes (links, namespaces,
# processes, sockets, files in $RUN) is gone when it ends, also when it is
# killed, without a list of things to undo; and any number of tests can run at
# the same time under the same names.  "The switch" is where ovs-vswitchd runs
# and test scripts execute; hosts are below it.
#
# Speaks TAP: check() once for each thing that is to be shown, finish() at
# the end.  must() is for what has to work before anything can be shown.
#
# Environment: top_srcdir, top_builddir (as make sets them; default: the working
# folder if it has been built in, else "build" in the source folder); OVS_TREE,
# a built tree of the patched Open vSwitch, default $top_builddir/ovs.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${top_srcdir:=$(cd "$here/../.." && pwd)}"
if [ -z "$top_builddir" ] && [ -e "$PWD/ovs/vswitchd" ]; then
    top_builddir=$PWD
fi
: "${top_builddir:=$top_srcdir/build}"
: "${OVS_TREE:=$top_builddir/ovs}"
RUN=/run/flex

# skip_all REASON: nothing can be shown here.  A script that sets must_run does
# not take that for an answer.
skip_all () {
    if [ -n "$must_run" ]; then
        echo "${0##*/}: $*" >&2
        exit 1
    fi
    echo "1..0 # SKIP $*"
    exit 0
}

# Namespaces.

# Starts "$0 $@" again inside fresh namespaces, as their process 1, with which
# the kernel ends all others.
enter_namespaces () {
    local forward=
    [ "$(id -u)" = 0 ] || skip_all "only root can make network namespaces"
    unshare --mount --net --pid --fork true 2>/dev/null \
        || skip_all "this kernel or container lets root make no namespaces"
    [ -x "$OVS_TREE/vswitchd/ovs-vswitchd" ] \
        || skip_all "no ovs-vswitchd in $OVS_TREE"
    if unshare --help | grep -q forward-signals; then
        forward=--forward-signals
    fi
    export top_srcdir top_builddir OVS_TREE FLEX_NAMESPACES=1
    exec unshare --mount --net --pid --fork --kill-child $forward \
        --mount-proc bash "$0" "$@"
}

[ "$FLEX_NAMESPACES$$" = 11 ] || enter_namespaces "$@"
unset FLEX_NAMESPACES
trap 'exit 130' INT
trap 'exit 143' TERM HUP
mount --make-rprivate /
mount -t tmpfs tmpfs /run
mkdir -p "$RUN" /run/netns
cd "$RUN" || exit 1
ip link set lo up
PATH=$OVS_TREE/ovsdb:$OVS_TREE/vswitchd:$OVS_TREE/utilities:$PATH
PATH=$top_builddir/utilities:$top_srcdir/utilities:$PATH:/usr/sbin:/sbin
export PATH
export OVS_RUNDIR=$RUN OVS_LOGDIR=$RUN OVS_DBDIR=$RUN OVS_SYSCONFDIR=$RUN
export OVS_PKGDATADIR=$OVS_TREE/vswitchd
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY

# Reporting.

n_checks=0
n_failed=0

# Prints the standard input as a TAP comment.
comment () {
    sed 's/^/# /'
}

# check NAME COMMAND...: one TAP line; on failure, with what COMMAND printed.
check () {
    local name=$1 status
    shift
    n_checks=$((n_checks + 1))
    "$@" >"$RUN/check.out" 2>&1
    status=$?
    if [ $status = 0 ]; then
        echo "ok $n_checks - $name"
    else
        echo "not ok $n_checks - $name"
        n_failed=$((n_failed + 1))
        { echo "\$ $* (status $status)"; tail -n 40 "$RUN/check.out"; } \
            | comment
    fi
    return $status
}

# skip NAME REASON: one TAP line for what cannot be shown here.
skip () {
    n_checks=$((n_checks + 1))
    echo "ok $n_checks - $1 # SKIP $2"
}

# must COMMAND...: the test ends here if COMMAND fails.
must () {
    local status
    "$@" >"$RUN/must.out" 2>&1 && return
    status=$?
    { echo "\$ $* (status $status)"; cat "$RUN/must.out"; } | comment
    give_up "$*"
}

give_up () {
    state_of_switch | comment
    echo "Bail out! $* failed"
    exit 1
}

# Whatever helps to understand a failure.
state_of_switch () {
    local bridge

    for bridge in $(ovs-vsctl --timeout=5 list-br 2>/dev/null); do
        echo "-- $bridge"
        ovs-ofctl --no-stats dump-flows "$bridge"
    done
    echo "-- zones"
    ovs-vsctl --timeout=5 list Xlat_Zone
    echo "-- datapath flows"
    ovs-appctl -T 5 dpctl/dump-flows -m | head -n 40
    echo "-- ovs-vswitchd.log"
    grep -v '|INFO|' "$RUN/ovs-vswitchd.log" | tail -n 40
} 2>&1

finish () {
    if [ $n_failed != 0 ]; then
        state_of_switch | comment
    fi
    echo "1..$n_checks"
    [ $n_failed = 0 ]
    exit
}

# until_ok SECONDS COMMAND...: runs COMMAND until it succeeds.
until_ok () {
    local deadline=$((SECONDS + $1))
    shift
    until "$@" >"$RUN/until.out" 2>&1; do
        if [ $SECONDS -gt $deadline ]; then
            cat "$RUN/until.out"
            return 1
        fi
        sleep 0.05
    done
}

# Combinations for check: shows "a and b", "not a", "a prints b".
all_of () {
    local command
    for command; do
        eval "$command" || { echo "failed: $command"; return 1; }
    done
}

not () {
    ! "$@"
}

# prints REGEX COMMAND...: COMMAND succeeds, its output has a matching line.
prints () {
    local regex=$1
    shift
    "$@" >"$RUN/prints.out" 2>&1
    local status=$?
    cat "$RUN/prints.out"
    [ $status = 0 ] && grep -qE -- "$regex" "$RUN/prints.out"
}

# The switch.

# Starts the switch, unless it runs.
start_ovs () {
    [ ! -e "$RUN/ovsdb-server.pid" ] || return 0
    if [ ! -e "$RUN/conf.db" ]; then
        must ovsdb-tool create "$RUN/conf.db" \
            "$OVS_TREE/vswitchd/vswitch.ovsschema"
    fi
    must ovsdb-server --detach --no-chdir --pidfile --log-file \
        -vconsole:off --remote="punix:$RUN/db.sock" "$RUN/conf.db"
    must ovs-vsctl --no-wait init
    start_vswitchd
}

start_vswitchd () {
    must ovs-vswitchd --detach --no-chdir --pidfile --log-file -vconsole:off
}

stop_vswitchd () {
    local pid
    pid=$(cat "$RUN/ovs-vswitchd.pid")
    must ovs-appctl exit
    must until_ok 20 not kill -0 "$pid"
}

add_bridge () {
    must ovs-vsctl --timeout=20 add-br "$1" -- set bridge "$1" \
        datapath_type=netdev fail_mode=secure
}

# Hosts.

# add_host NAME: a host without links.  No DAD, no router advertisements.
add_host () {
    must ip netns add "$1"
    must in_host "$1" sysctl -qw net.ipv6.conf.all.accept_dad=0 \
        net.ipv6.conf.default.accept_dad=0 \
        net.ipv6.conf.default.accept_ra=0
    must ip -n "$1" link set lo up
}

# add_router NAME: a host that forwards, and has something to say each time
# that a packet cannot pass.
add_router () {
    add_host "$1"
    must in_host "$1" sysctl -qw net.ipv4.ip_forward=1 \
        net.ipv6.conf.all.forwarding=1 net.ipv4.icmp_ratelimit=0 \
        net.ipv6.icmp.ratelimit=0
}

in_host () {
    local host=$1
    shift
    ip netns exec "$host" "$@"
}

# host_on_bridge HOST INTERFACE BRIDGE PORT: a link between the two.  Packets
# from a veth carry checksums that are yet to be completed, which the
# userspace datapath leaves to the receiver; "tx off" has the host do it.
host_on_bridge () {
    link_to_bridge "$@"
    must in_host "$1" ethtool -K "$2" tx off
}

link_to_bridge () {
    must ip link add "$4" type veth peer name "$2" netns "$1"
    must ip link set "$4" up
    must ip -n "$1" link set "$2" up
    must ovs-vsctl --timeout=20 add-port "$3" "$4"
}

# host_to_host HOST INTERFACE HOST INTERFACE
host_to_host () {
    must ip -n "$1" link add "$2" type veth peer name "$4" netns "$3"
    must ip -n "$1" link set "$2" up
    must ip -n "$3" link set "$4" up
}

address () {
    must ip -n "$1" address add "$3" dev "$2"
}

route () {
    local host=$1
    shift
    must ip -n "$host" route add "$@"
}

# Programs.

# listening HOST PROTO PORT: a server is ready.  PROTO: t(cp) or u(dp).
listening () {
    in_host "$1" ss -Hln"$2" "sport = :$3" | grep -q .
}

start_iperf3 () {
    must in_host "$1" iperf3 --server --daemon
    must until_ok 10 listening "$1" t 5201
}

# start_http HOST DIRECTORY: a server of static files on port 80.
start_http () {
    in_host "$1" python3 "$here/http-server.py" "$2" 80 \
        >"$RUN/http-$1.log" 2>&1 &
    must until_ok 10 listening "$1" t 80
}

ping_ok () {
    local host=$1
    shift
    in_host "$host" ping -n -c 3 -i 0.2 -W 3 "$@"
}

# iperf3_to SERVER_ADDRESS HOST OPTION...: prints "MBIT/S LOST_PERCENT" of
# what arrived; fails if nothing did.
iperf3_to () {
    local server=$1 host=$2
    shift 2
    in_host "$host" iperf3 --json --client "$server" "$@" \
        >"$RUN/iperf3.json" || { cat "$RUN/iperf3.json"; return 1; }
    python3 "$here/iperf3-result.py" "$RUN/iperf3.json"
}

# stat_of ZONE NAME: one of a zone's counters.
stat_of () {
    ovs-appctl -T 5 xlat/stats "$1" | awk -v name="$2" '
        { gsub(/[:=,]/, " ") }
        { for (i = 1; i < NF; i++) if ($i == name) { print $(i + 1); exit } }'
}
