# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
"""TCP request/response through two bridges, with ILA between them or not.

    namespace c -- br-a ==patch== br-b -- namespace s

Each host knows identifiers only; with ILA what crosses the patch has
locators."""

import json
import os
import statistics
import subprocess

PAIRS = 12
SECONDS = 1.5
CLIENTS = 200
PORT = "7000"
HOSTS = {"c": ("3333:0:0:1:5555:0:1:0", "02:00:00:00:0c:01"),
         "s": ("3333:0:0:1:5555:0:2:0", "02:00:00:00:0c:02")}
LOCATORS = {"c": "2001:0:0:1", "s": "2001:0:0:2"}


def ip(*args):
    subprocess.run(("ip",) + args, check=True)


class Hosts:
    """The two namespaces, and the veths that reach them as 'bc' and 'bs'."""

    def __init__(self):
        self.tag = "fxb%d" % os.getpid()
        self.made = []
        try:
            for host in HOSTS:
                self._make(host)
        except BaseException:
            self.close()
            raise

    def netns(self, host):
        return self.tag + host

    def link(self, host):
        return self.tag + "v" + host

    def _make(self, host):
        ns, link = self.netns(host), self.link(host)
        ip("netns", "add", ns)
        self.made.append(ns)
        ip("link", "add", link, "type", "veth", "peer", "name", "eth0",
           "netns", ns)
        ip("link", "set", link, "up")
        address, mac = HOSTS[host]
        ip("-n", ns, "link", "set", "eth0", "address", mac)
        ip("-n", ns, "link", "set", "eth0", "up")
        ip("-n", ns, "addr", "add", address + "/64", "dev", "eth0", "nodad")
        peer, peer_mac = HOSTS["s" if host == "c" else "c"]
        ip("-n", ns, "neigh", "add", peer, "lladdr", peer_mac, "dev", "eth0")
        # The userspace datapath does not complete partial checksums.
        subprocess.run(["ip", "netns", "exec", ns, "ethtool", "-K", "eth0",
                        "tx", "off"], check=True, stdout=subprocess.DEVNULL)

    def close(self):
        for ns in self.made:
            subprocess.run(["ip", "netns", "del", ns])
        self.made = []


def connect(switch, hosts):
    for bridge, peer in (("br-a", "br-b"), ("br-b", "br-a")):
        switch.add_bridge(bridge)
        switch.vsctl("add-port", bridge, "p-" + bridge, "--", "set",
                     "interface", "p-" + bridge, "type=patch",
                     "options:peer=p-" + peer, "ofport_request=2")
    for bridge, host in (("br-a", "c"), ("br-b", "s")):
        switch.vsctl("add-port", bridge, hosts.link(host), "--", "set",
                     "interface", hosts.link(host), "ofport_request=1")
    switch.vsctl("create", "Xlat_Zone", "zone=2", "kind=ila",
                 'pool6="3333:0:0:1::/64"')
    for host, (address, _) in HOSTS.items():
        identifier = address.split(":", 4)[4]
        switch.vsctl("create", "Ila_Mapping", "zone=2",
                     'identifier="%s"' % identifier,
                     'locator="%s"' % LOCATORS[host])


def set_flows(switch, ila):
    out, back = (("ila(zone=2,dir=to_locator),",
                  "ila(zone=2,dir=to_identifier),") if ila else ("", ""))
    for bridge in ("br-a", "br-b"):
        path = switch.path("flows.txt")
        with open(path, "w") as f:
            f.write("in_port=1,ipv6,actions=%soutput:2\n"
                    "in_port=2,ipv6,actions=%soutput:1\n" % (out, back))
        switch.ofctl("replace-flows", bridge, path)


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def one_run(switch, hosts, program):
    before = cpu_seconds(switch.pids[-1])
    done = subprocess.run(
        ["ip", "netns", "exec", hosts.netns("c"), program, "client",
         HOSTS["s"][0], PORT, str(CLIENTS), str(SECONDS)],
        stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    result = json.loads(done.stdout)
    result["cpu"] = (cpu_seconds(switch.pids[-1]) - before) / SECONDS
    return result


def note(plain, ila):
    def text(runs):
        return "%.0f/s, %.0f/%.0f/%.0f us, switch CPU %.0f %%" % (
            tuple(statistics.median(r[k] for r in runs)
                  for k in ("rate", "p50", "p90", "p99"))
            + (100 * statistics.median(r["cpu"] for r in runs),))
    return "ila %s; plain %s (50/90/99 %% latency)" % (text(ila), text(plain))


def run(switch, builddir):
    program = os.path.join(builddir, "tests/bench/rr")
    hosts = Hosts()
    server = None
    try:
        connect(switch, hosts)
        server = subprocess.Popen(
            ["ip", "netns", "exec", hosts.netns("s"), program, "server",
             HOSTS["s"][0], PORT])
        plain, ila = [], []
        for i in range(PAIRS + 1):
            for runs, on in ((plain, False), (ila, True)):
                set_flows(switch, on)
                result = one_run(switch, hosts, program)
                if i:
                    runs.append(result)
        ratios = sorted(b["rate"] / a["rate"] for a, b in zip(plain, ila))
        return {"ratio": statistics.median(ratios), "p5": ratios[0],
                "p95": ratios[-1], "note": note(plain, ila)}
    finally:
        if server:
            server.terminate()
            server.wait()
        hosts.close()
