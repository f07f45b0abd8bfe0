# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
"""The benches that run through Open vSwitch.

One PMD thread, fed without end, forwards to a port that throws away.  A and B
are two sets of OpenFlow flows on the same ports, put in turn; each is judged
by the PMD thread's own count of cycles a packet, which the pauses between do
not touch.  Every function returns {"ratio", "p5", "p95", "note"}."""

import os
import random
import signal
import statistics
import subprocess
import time

import frames
import rr
from switch import Switch

PAIRS = 60
WINDOW_S = .06
SETTLE_S = .06
GENERATOR_CPU = min(os.sched_getaffinity(0))


class Skip(Exception):
    """The bench cannot run here; the text says why."""


def percentile(values, p):
    values = sorted(values)
    return values[round(p * (len(values) - 1))]


def summary(ratios, note):
    return {"ratio": statistics.median(ratios), "p5": percentile(ratios, .05),
            "p95": percentile(ratios, .95), "note": note}


def measure(switch, bridge, flows):
    """Puts 'flows' and returns the cycles a packet."""
    switch.ofctl("replace-flows", bridge, write_flows(switch, flows))
    time.sleep(SETTLE_S)
    return switch.cycles_per_packet(WINDOW_S)


def write_flows(switch, flows):
    path = switch.path("flows.txt")
    with open(path, "w") as f:
        f.write("\n".join(flows) + "\n")
    return path


def alternate(switch, bridge, *variants):
    """Measures each of 'variants' in turn, PAIRS times; returns a list of
    cycles for each."""
    cycles = [[] for _ in variants]
    for i in range(PAIRS + 2):
        for k, flows in enumerate(variants):
            value = measure(switch, bridge, flows)
            if i >= 2:
                cycles[k].append(value)
    return cycles


def rate_against_plain(switch, bridge, plain, changed):
    """Packets a second of 'changed' relative to 'plain'."""
    a, b = alternate(switch, bridge, plain, changed)
    return summary([x / y for x, y in zip(a, b)],
                   "%.0f cycles a packet against %.0f; %d pairs" % (
                       statistics.median(b), statistics.median(a), len(a)))


class Load:
    """Port 1 of 'bridge', which receives 'packets' over and over from a
    generator on a memif, and port 2, which throws away."""

    def __init__(self, builddir, switch, bridge, packets):
        self.socket = switch.path(bridge + ".sock")
        capture = switch.path("load.pcap")
        frames.write_pcap(capture, packets)
        self.process = subprocess.Popen(
            [os.path.join(builddir, "tests/bench/memif-gen"), "--no-huge",
             "--in-memory", "--no-pci", "-m", "128", "--no-telemetry",
             "--log-level=error", "-l", str(GENERATOR_CPU), "--vdev",
             "net_memif0,role=server,socket-abstract=no,socket="
             + self.socket, "--", capture], stdout=subprocess.PIPE)
        try:
            self._attach(switch, bridge)
        except BaseException:
            self.__exit__()
            raise

    def _attach(self, switch, bridge):
        # A client that comes before the server's port has started is turned
        # away for good.
        if self.process.stdout.readline() != b"ready\n":
            raise RuntimeError("the generator did not start")
        switch.add_bridge(bridge)
        switch.add_dpdk_port(bridge, bridge + "-src", "net_memif_%s,"
                             "role=client,socket-abstract=no,socket=%s"
                             % (bridge, self.socket), 1)
        switch.add_dpdk_port(bridge, bridge + "-sink",
                             "net_null_%s,no-rx=1" % bridge, 2)
        wait_for_packets(switch, bridge, 1)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def check_counter(switch, zone, least=1000):
    """A rate that was measured on drops would be no rate."""
    text = switch.appctl("xlat/stats", str(zone))
    values = {}
    for line in text.splitlines():
        words = line.replace(":", " ").replace("=", " ").split()
        if len(words) >= 2 and words[-1].isdigit():
            values[words[-2]] = int(words[-1])
    if values.get("translated", 0) < least or (
            values["translated"] != values.get("packets")):
        raise RuntimeError("not all was translated:\n" + text)


SET_MAC = "set_field:02:00:00:00:00:99->eth_dst,output:2"
SIIT_ZONE = ("--", "create", "Xlat_Zone", "zone=1", "kind=siit",
             'pool6="2001:db8:64::/96"',
             'eamt={"2001:db8:1::/120"="192.0.2.0/24"}')


def siit_frames():
    """256 flows each way, in runs of a batch."""
    six = [frames.udp6("2001:db8:1::%x" % (k & 0xff),
                       "2001:db8:64::c633:6407", 1024 + k, 53)
           for k in range(256)]
    four = [frames.udp4("198.51.100.7", "192.0.2.%d" % (k & 0xff), 53,
                        1024 + k) for k in range(256)]
    return [f for k in range(0, 256, 32) for f in
            six[k:k + 32] + four[k:k + 32]]


def siit_bench(ovs, builddir, changed):
    with Switch(ovs) as switch, Load(builddir, switch, "br0", siit_frames()):
        switch.vsctl(*SIIT_ZONE[1:])
        plain = ["in_port=1,ip,actions=" + SET_MAC,
                 "in_port=1,ipv6,actions=" + SET_MAC]
        result = rate_against_plain(switch, "br0", plain, changed)
        check_counter(switch, 1)
        return result


def siit_action(ovs, ovs_unpatched, builddir):
    return siit_bench(ovs, builddir, [
        "in_port=1,ip,actions=nat64(zone=1)," + SET_MAC,
        "in_port=1,ipv6,actions=nat64(zone=1)," + SET_MAC])


def siit_action_recirc(ovs, ovs_unpatched, builddir):
    return siit_bench(ovs, builddir, [
        "table=0,in_port=1,ip,actions=nat64(zone=1),resubmit(,1)",
        "table=0,in_port=1,ipv6,actions=nat64(zone=1),resubmit(,1)",
        "table=1,ip,actions=" + SET_MAC,
        "table=1,ipv6,actions=" + SET_MAC])


SIR = "3333:0:0:1"
FIRST_ID = 0x5555000000010000


def ila_zone(switch, n):
    """Zone 2 with 'n' mappings, from a file."""
    path = switch.path("mappings.txt")
    with open(path, "w") as f:
        for k in range(n):
            f.write("%s 2001:0:0:%x\n" % (frames.groups(FIRST_ID + k),
                                          k % 0xffff + 1))
    switch.vsctl("create", "Xlat_Zone", "zone=2", "kind=ila",
                 'pool6="%s::/64"' % SIR,
                 'other_config:mapping-file="%s"' % path)


ILA_PLAIN = ["in_port=1,ipv6,actions=" + SET_MAC]
ILA = ["in_port=1,ipv6,actions=ila(zone=2)," + SET_MAC]


def ila_frames(n):
    return [frames.udp6("2001:db8:1::21",
                        "%s:%s" % (SIR, frames.groups(FIRST_ID + k)),
                        1024, 53) for k in range(n)]


def ila_action(ovs, ovs_unpatched, builddir):
    with Switch(ovs) as switch, Load(builddir, switch, "br0",
                                     ila_frames(1000)):
        ila_zone(switch, 1000)
        result = rate_against_plain(switch, "br0", ILA_PLAIN, ILA)
        check_counter(switch, 2)
        return result


def wait_for_packets(switch, bridge, port, seconds=30):
    for _ in range(seconds * 10):
        text = switch.ofctl("dump-ports", bridge, str(port))
        if int(text.split("rx pkts=")[1].split(",")[0]) > 1000:
            return
        time.sleep(.1)
    raise RuntimeError("port %d receives nothing" % port)


def ila_action_million(ovs, ovs_unpatched, builddir):
    packets = ila_frames(1000000)
    random.Random(1).shuffle(packets)
    with Switch(ovs) as switch, Load(builddir, switch, "br0", packets):
        ila_zone(switch, 1000000)
        result = rate_against_plain(switch, "br0", ILA_PLAIN, ILA)
        check_counter(switch, 2)
        return result


def ila_vs_vxlan(ovs, ovs_unpatched, builddir):
    """What each adds to plain output, with one destination of 1,000."""
    with Switch(ovs) as switch, Load(builddir, switch, "br0",
                                     ila_frames(1000)):
        ila_zone(switch, 1000)
        add_vxlan(switch)
        vxlan = ["in_port=1,ipv6,actions=set_field:02:00:00:00:00:99->eth_dst,"
                 "output:9"]
        plain, ila, push = alternate(switch, "br0", ILA_PLAIN, ILA, vxlan)
        check_counter(switch, 2)
        # Single windows differ by more than ILA costs: medians of each,
        # spread by leaving out a third in turn.
        parts = [(statistics.median(plain[k::3]), statistics.median(ila[k::3]),
                  statistics.median(push[k::3])) for k in range(3)]
        ratios = [(v - p) / max(i - p, 1) for p, i, v in parts]
        ratios.append((statistics.median(push) - statistics.median(plain))
                      / max(statistics.median(ila) - statistics.median(plain),
                            1))
        return summary(ratios, "plain %.0f, ila %.0f, vxlan %.0f cycles a "
                       "packet" % tuple(map(statistics.median,
                                            (plain, ila, push))))


def add_vxlan(switch):
    """Port 9 of br0 pushes VXLAN and leaves by a sink of br-phy."""
    switch.add_bridge("br-phy")
    switch.add_dpdk_port("br-phy", "phy", "net_null2,no-rx=1", 1)
    switch.ofctl("add-flow", "br-phy", "actions=output:1")
    subprocess.run(["ip", "addr", "add", "203.0.113.1/24", "dev", "br-phy"],
                   check=True)
    subprocess.run(["ip", "link", "set", "br-phy", "up"], check=True)
    switch.vsctl("add-port", "br0", "vx", "--", "set", "interface", "vx",
                 "type=vxlan", "options:remote_ip=203.0.113.2",
                 "options:key=7", "ofport_request=9")
    switch.appctl("tnl/neigh/set", "br-phy", "203.0.113.2",
                  "02:00:00:00:01:02")


def ila_rr(ovs, ovs_unpatched, builddir):
    with Switch(ovs) as switch:
        return rr.run(switch, builddir)


def idle_patches(ovs, ovs_unpatched, builddir):
    """The same flows in two switches, one after the other, in turn."""
    if not ovs_unpatched:
        raise Skip("no unpatched tree (make ovs-unpatched)")
    packets = ila_frames(1000)
    with Switch(ovs, 512) as new, Switch(ovs_unpatched, 512) as old, \
            Load(builddir, new, "br0", packets), \
            Load(builddir, old, "br0", packets):
        for switch in (new, old):
            switch.ofctl("replace-flows", "br0",
                         write_flows(switch, ILA_PLAIN))
        # Both PMD threads share one CPU: stop one while the other runs.
        cycles = {new: [], old: []}
        for i in range(PAIRS + 2):
            for switch, other in ((old, new), (new, old)):
                os.kill(other.pids[-1], signal.SIGSTOP)
                try:
                    time.sleep(.01)
                    cycles[switch].append(switch.cycles_per_packet(WINDOW_S))
                finally:
                    os.kill(other.pids[-1], signal.SIGCONT)
        ratios = [a / b for a, b in zip(cycles[old][2:], cycles[new][2:])]
        return summary(ratios, "%.0f cycles a packet against %.0f; %d pairs"
                       % (statistics.median(cycles[new]),
                          statistics.median(cycles[old]), len(ratios)))
