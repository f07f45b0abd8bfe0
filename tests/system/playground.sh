#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
#
# playground.sh [siit|routed|nat64|nat44|ila] [COMMAND...]: the network of a system test,
# and a shell (or COMMAND) in the middle of it.  Hosts are network namespaces:
# "h6 ping ..." runs ping in h6.  All is gone when the shell ends.

must_run=yes
. "$(dirname "$0")/lib.sh"
. "$here/siit-net.sh"
. "$here/nat64-net.sh"
. "$here/ila-net.sh"

kind=${1:-siit}
shift
case $kind in
siit) siit_net; hosts="h6 h4" picture=$here/siit-net.sh ;;
routed) siit_net_routed; hosts="h6 r1 r2 h4" picture=$here/siit-net.sh ;;
nat64) nat64_net 3; hosts="c1 c2 c3 s" picture=$here/nat64-net.sh ;;
nat44) nat44_net; hosts="t1 t2 s" picture=$here/nat64-net.sh ;;
ila) ila_net; hosts="a b" picture=$here/ila-net.sh ;;
*) echo "usage: playground.sh [siit|routed|nat64|nat44|ila] [COMMAND...]"
   exit 2 ;;
esac

for host in $hosts; do
    echo "$host () { ip netns exec $host \"\$@\"; }; export -f $host"
done >rc
{
    sed -n "/^#  */s/^# \{0,2\}//p" "$picture"
    echo
    echo "Try: ${hosts%% *} ping ..., ovs-vsctl show, ovs-appctl xlat/list"
} >motd
export h6 h4 h6_from_4 h4_from_6 gw6 s4 s_from_6 pool pool_from_6 s44 pool44
export a b

if [ $# != 0 ]; then
    . ./rc
    "$@"
else
    cat motd
    echo "PS1='$kind \\$ '" >>rc
    bash --noprofile --rcfile rc -i
fi
