# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
"""The benches that run through Open vSwitch.

One PMD thread, fed without end, forwards from one memif to another.  What is
compared stands in flows for different destination addresses: the generator
changes the address, and nothing else happens while cycles are counted.  All
other threads and programs have the other CPUs.  A variant is judged by the
PMD thread's own count of cycles a packet, idle ones left out.

Every function returns {"ratio", "p5", "p95", "note"}."""

import contextlib
import mmap
import os
import random
import re
import signal
import statistics
import subprocess
import time

import frames
import rr
from switch import Switch

PAIRS = 40
PLACES = 5                # Addresses hash to other places in the EMC.
WINDOW_S = .01
SETTLE_S = .005


class Skip(Exception):
    """The bench cannot run here; the text says why."""


def percentile(values, p):
    values = sorted(values)
    return values[round(p * (len(values) - 1))]


def summary(ratios, note):
    return {"ratio": statistics.median(ratios), "p5": percentile(ratios, .05),
            "p95": percentile(ratios, .95), "note": note}


def add_flows(switch, bridge, *variants):
    """Each variant is a function: of a match, the flows for it."""
    path = switch.path("flows.txt")
    with open(path, "w") as f:
        for k in range(PLACES * len(variants)):
            flows = variants[k % len(variants)]
            for flow in flows("in_port=1,dl_dst=%s" % frames.dst_mac(k)):
                f.write(flow + "\n")
    switch.ofctl("replace-flows", bridge, path)


def alternate(load, n):
    """Measures 'n' variants in turn, in one order and the other, PAIRS times,
    and all of it with other addresses, PLACES times.  Returns a list of cycles
    a packet for each variant."""
    cycles = [[] for _ in range(n)]
    for place in range(PLACES):
        numbers = range(place * n, place * n + n)
        load.warm_up(numbers)
        for i in range(PAIRS):
            for k in sorted(range(n), reverse=i % 2):
                cycles[k].append(load.measure(numbers[k], WINDOW_S))
    return cycles


def rate_against_plain(switch, load, plain, changed):
    """Packets a second of 'changed' relative to 'plain'."""
    add_flows(switch, load.bridge, plain, changed)
    a, b = alternate(load, 2)
    return summary([x / y for x, y in zip(a, b)],
                   "%.0f cycles a packet against %.0f; %d pairs" % (
                       statistics.median(b), statistics.median(a), len(a)))


class Load:
    """Port 1 of 'bridge', which receives 'packets' over and over from a
    generator on a memif, and port 2, which goes back there.  More ports like
    port 2 may be added to any bridge."""

    def __init__(self, builddir, switch, bridge, packets, more=(),
                 keep_ports=False):
        self.switch = switch
        self.bridge = bridge
        sinks = [(bridge, 2)] + list(more)
        sockets = [switch.path("%s-%d.sock" % (bridge, k))
                   for k in range(len(sinks) + 1)]
        control = switch.path(bridge + ".control")
        capture = switch.path("load.pcap")
        frames.write_pcap(capture, packets)
        with open(control, "wb") as f:
            f.write(b"\xff")
        with open(control, "r+b") as f:
            self.control = mmap.mmap(f.fileno(), 1)
        vdevs = []
        for k, socket in enumerate(sockets):
            vdevs += ["--vdev", "net_memif%d,id=%d,role=server,"
                      "socket-abstract=no,socket=%s" % (k, k, socket)]
        self.process = subprocess.Popen(
            [os.path.join(builddir, "tests/bench/memif-gen"), "--no-huge",
             "--in-memory", "--no-pci", "-m", "256", "--no-telemetry",
             "--log-level=error"] + vdevs + ["--", capture, control]
            + (["keep-ports"] if keep_ports else []),
            stdout=subprocess.PIPE)
        try:
            # A client that comes before the server's port has started is
            # turned away for good.
            if self.process.stdout.readline() != b"ready\n":
                raise RuntimeError("the generator did not start")
            switch.add_bridge(bridge)
            for k, (br, number) in enumerate([(bridge, 1)] + sinks):
                switch.add_bridge(br)
                switch.add_dpdk_port(
                    br, "%s-%d" % (bridge, k), "net_memif_%s_%d,id=%d,"
                    "role=client,socket-abstract=no,socket=%s"
                    % (bridge, k, k, sockets[k]), number)
        except BaseException:
            self.__exit__()
            raise

    def warm_up(self, numbers):
        """Sends frames to all these addresses in short turns: whoever came
        first would have the better places in the EMC."""
        deadline = time.monotonic() + 30
        while received(self.switch, self.bridge, 1) < 10000:
            if time.monotonic() > deadline:
                raise RuntimeError("port 1 receives nothing")
            self._take_turns(numbers, .01)
        self._take_turns(numbers, 1)

    def _take_turns(self, numbers, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.control[0] = random.choice(numbers)
            time.sleep(.0005)

    def measure(self, number, seconds):
        """Cycles a packet of the frames to address 'number'."""
        self.control[0] = number
        for _ in range(20):
            time.sleep(SETTLE_S)
            cycles = self.switch.cycles_per_packet(seconds)
            if cycles:
                return cycles
            # The generator had to wait for its CPU all the time.
        raise RuntimeError("the switch forwards nothing")

    @contextlib.contextmanager
    def stopped(self):
        """Generator and switch stand still."""
        pids = (self.process.pid, self.switch.pids[-1])
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)

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
        self.control.close()


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


SET_MAC = "set_field:02:00:00:00:01:99->eth_dst,output:2"
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


def plain_ip(match):
    return [match + ",ip,actions=" + SET_MAC,
            match + ",ipv6,actions=" + SET_MAC]


def siit_bench(ovs, builddir, changed):
    with Switch(ovs) as switch, \
            Load(builddir, switch, "br0", siit_frames()) as load:
        switch.vsctl(*SIIT_ZONE[1:])
        result = rate_against_plain(switch, load, plain_ip, changed)
        check_counter(switch, 1)
        return result


def siit_action(ovs, ovs_unpatched, builddir):
    return siit_bench(ovs, builddir, lambda match: [
        match + ",ip,actions=nat64(zone=1)," + SET_MAC,
        match + ",ipv6,actions=nat64(zone=1)," + SET_MAC])


def siit_action_recirc(ovs, ovs_unpatched, builddir):
    return siit_bench(ovs, builddir, lambda match: [
        "table=0," + match + ",ip,actions=nat64(zone=1),resubmit(,1)",
        "table=0," + match + ",ipv6,actions=nat64(zone=1),resubmit(,1)",
        "table=1,ip,actions=" + SET_MAC,
        "table=1,ipv6,actions=" + SET_MAC])


SESSIONS = 100000


def inside_frames():
    return [frames.udp6("2001:db8:1::%x" % (k // 64 + 1),
                        "2001:db8:64::%x:%x" % (0x0901, 0x0203),
                        1024 + k % 64, 53) for k in range(SESSIONS)]


def outside_frames(switch):
    """A frame to each session from outside."""
    ends = []
    more = ["--limit=20000"]
    while more:
        # By the program: in Python, reading so much takes minutes.
        text = switch.run("ovs-appctl", "-t", switch.path("vs.ctl"),
                          "xlat/sessions", "1", *more)
        ends += re.findall(r" ([0-9.]+):([0-9]+) > 9\.1\.2\.3:53 ", text)
        more = re.findall(r"^more: (--cursor=\d+)$", text, re.M)
        more += ["--limit=20000"] if more else []
    if len(ends) != SESSIONS:
        raise RuntimeError("there are %d sessions" % len(ends))
    return [frames.udp4("9.1.2.3", ip, 53, int(port)) for ip, port in ends]


def make_sessions(switch, builddir, packets):
    """Sends 'packets' until each has a session."""
    with Load(builddir, switch, "br-first", packets,
              keep_ports=True) as load:
        switch.ofctl("add-flow", "br-first",
                     "ipv6,actions=nat64(zone=1),output:2")
        load.control[0] = 0
        deadline = time.monotonic() + 30
        while ("\nsessions: %d\n" % SESSIONS
               not in switch.appctl("xlat/stats", "1")):
            if time.monotonic() > deadline:
                raise RuntimeError("sessions are missing:\n"
                                   + switch.appctl("xlat/stats", "1"))
            time.sleep(.1)
    switch.vsctl("del-br", "br-first")


def nat64_action(ovs, ovs_unpatched, builddir):
    """Sessions in random order, in runs of a batch each way."""
    with Switch(ovs) as switch:
        switch.vsctl("create", "Xlat_Zone", "zone=1", "kind=nat64",
                     'pool6="2001:db8:64::/96"', 'pool4="192.0.2.0/28"',
                     "other_config:max-sessions=%d" % SESSIONS,
                     "other_config:udp-timeout=3600")
        six = inside_frames()
        make_sessions(switch, builddir, six)
        four = outside_frames(switch)
        random.Random(1).shuffle(six)
        random.Random(2).shuffle(four)
        packets = [f for k in range(0, SESSIONS, 32)
                   for f in six[k:k + 32] + four[k:k + 32]]
        with Load(builddir, switch, "br0", packets,
                  keep_ports=True) as load:
            result = rate_against_plain(
                switch, load, plain_ip, lambda match: [
                    match + ",ip,actions=nat64(zone=1)," + SET_MAC,
                    match + ",ipv6,actions=nat64(zone=1)," + SET_MAC])
        check_counter(switch, 1)
        return result


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


def plain_ipv6(match):
    return [match + ",ipv6,actions=" + SET_MAC]


def ila(match):
    return [match + ",ipv6,actions=ila(zone=2)," + SET_MAC]


def ila_frames(n):
    return [frames.udp6("2001:db8:1::21",
                        "%s:%s" % (SIR, frames.groups(FIRST_ID + k)),
                        1024, 53) for k in range(n)]


def ila_bench(ovs, builddir, n, packets):
    with Switch(ovs) as switch, Load(builddir, switch, "br0",
                                     packets) as load:
        ila_zone(switch, n)
        result = rate_against_plain(switch, load, plain_ipv6, ila)
        check_counter(switch, 2)
        return result


def ila_action(ovs, ovs_unpatched, builddir):
    return ila_bench(ovs, builddir, 1000, ila_frames(1000))


def ila_action_million(ovs, ovs_unpatched, builddir):
    packets = ila_frames(1000000)
    random.Random(1).shuffle(packets)
    return ila_bench(ovs, builddir, 1000000, packets)


def received(switch, bridge, port):
    text = switch.ofctl("dump-ports", bridge, str(port))
    return int(text.split("rx pkts=")[1].split(",")[0])


def ila_vs_vxlan(ovs, ovs_unpatched, builddir):
    """What each adds to plain output, with one destination of 1,000."""
    with Switch(ovs) as switch, \
            Load(builddir, switch, "br0", ila_frames(1000),
                 [("br-phy", 1)]) as load:
        ila_zone(switch, 1000)
        add_vxlan(switch)
        add_flows(switch, "br0", plain_ipv6, ila, lambda match: [
            match + ",ipv6,actions=set_field:02:00:00:00:01:99->eth_dst,"
            "output:9"])
        plain, with_ila, push = alternate(load, 3)
        check_counter(switch, 2)
        return summary([(v - p) / max(i - p, 1)
                        for p, i, v in zip(plain, with_ila, push)],
                       "plain %.0f, ila %.0f, vxlan %.0f cycles a packet"
                       % tuple(map(statistics.median,
                                   (plain, with_ila, push))))


def add_vxlan(switch):
    """Port 9 of br0 pushes VXLAN and leaves by port 1 of br-phy.  The network
    below is the one that ILA wants: IPv6."""
    switch.ofctl("add-flow", "br-phy", "actions=output:1")
    subprocess.run(["ip", "addr", "add", "2001:db8:f::1/64", "dev", "br-phy",
                    "nodad"],
                   check=True)
    subprocess.run(["ip", "link", "set", "br-phy", "up"], check=True)
    switch.vsctl("add-port", "br0", "vx", "--", "set", "interface", "vx",
                 "type=vxlan", "options:remote_ip=2001:db8:f::2",
                 "options:key=7", "ofport_request=9")
    switch.appctl("tnl/neigh/set", "br-phy", "2001:db8:f::2",
                  "02:00:00:00:01:02")


def ila_rr(ovs, ovs_unpatched, builddir):
    with Switch(ovs, pinned=False) as switch:
        return rr.run(switch, builddir)


def idle_patches(ovs, ovs_unpatched, builddir):
    """The same flows in two switches, one after the other, in turn."""
    if not ovs_unpatched:
        raise Skip("no unpatched tree (make ovs-unpatched)")
    packets = ila_frames(1000)
    with Switch(ovs, 512) as new, \
            Switch(ovs_unpatched, 512, own_network=True) as old, \
            Load(builddir, new, "br0", packets) as new_load, \
            Load(builddir, old, "br0", packets) as old_load:
        cycles = {}
        for load in (new_load, old_load):
            add_flows(load.switch, "br0", plain_ipv6)
            load.warm_up([0])
            cycles[load] = []
        # Both PMD threads share one CPU: one stops while the other runs.
        for i in range(PAIRS * PLACES + 2):
            for load, other in ((old_load, new_load), (new_load, old_load)):
                with other.stopped():
                    cycles[load].append(load.measure(0, WINDOW_S))
        ratios = [a / b for a, b in zip(cycles[old_load][2:],
                                        cycles[new_load][2:])]
        return summary(ratios, "%.0f cycles a packet against %.0f; %d pairs"
                       % (statistics.median(cycles[new_load]),
                          statistics.median(cycles[old_load]), len(ratios)))
