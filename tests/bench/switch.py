# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
"""A switch for a bench: ovsdb-server and ovs-vswitchd of one build tree, in a
folder of its own, with DPDK and one PMD thread."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

HUGEPAGES = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
PMD_CPU = max(os.sched_getaffinity(0))


def gone(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def end(pid):
    """Ends a process that is no child of ours, if need be by force."""
    for sig, tries in ((signal.SIGTERM, 200), (signal.SIGKILL, 100)):
        for k in range(tries):
            if gone(pid):
                return
            if not k:
                os.kill(pid, sig)
            time.sleep(.05)


class Hugepages:
    """Reserves 2 MB pages while it is open, if the machine lets us."""

    def __init__(self, n):
        self.before = None
        try:
            with open(HUGEPAGES) as f:
                self.before = int(f.read())
            self._write(self.before + n)
            with open(HUGEPAGES) as f:
                self.granted = int(f.read()) - self.before >= n
        except OSError:
            self.granted = False
        if not self.granted:
            self.close()

    def _write(self, n):
        with open(HUGEPAGES, "w") as f:
            f.write("%d\n" % n)

    def close(self):
        if self.before is not None:
            self._write(self.before)
            self.before = None


class Switch:
    def __init__(self, tree, memory_mb=1024):
        self.tree = tree
        self.dir = tempfile.mkdtemp(prefix="flexiv-bench-")
        self.hugepages = Hugepages(memory_mb // 2 + 16)
        self.pids = []
        self.env = dict(os.environ, OVS_RUNDIR=self.dir, OVS_LOGDIR=self.dir,
                        OVS_DBDIR=self.dir, OVS_SYSCONFDIR=self.dir)
        try:
            self._start(memory_mb)
        except BaseException:
            self.stop()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.stop()

    def path(self, name):
        return os.path.join(self.dir, name)

    def _program(self, name):
        for folder in ("utilities", "ovsdb", "vswitchd"):
            path = os.path.join(self.tree, folder, name)
            if os.path.exists(path):
                return path
        raise FileNotFoundError(name)

    def run(self, name, *args):
        done = subprocess.run([self._program(name)] + list(args),
                              env=self.env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=120)
        if done.returncode:
            raise RuntimeError("%s %s: %s" % (name, " ".join(args),
                                              done.stderr.strip()[-500:]))
        return done.stdout

    def vsctl(self, *args):
        return self.run("ovs-vsctl", "--db=unix:" + self.path("db.sock"),
                        *args)

    def ofctl(self, *args):
        return self.run("ovs-ofctl", "-O", "OpenFlow14", *args)

    def appctl(self, *args):
        return self.run("ovs-appctl", "-t", self.path("vs.ctl"), *args)

    def _daemon(self, name, *args):
        pidfile = self.path(name + ".pid")
        self.run(name, "--pidfile=" + pidfile, "--detach", "--no-chdir",
                 "-vconsole:off", "--log-file=" + self.path(name + ".log"),
                 *args)
        with open(pidfile) as f:
            self.pids.append(int(f.read()))

    def _start(self, memory_mb):
        self.run("ovsdb-tool", "create", self.path("conf.db"),
                 os.path.join(self.tree, "vswitchd/vswitch.ovsschema"))
        self._daemon("ovsdb-server", "--remote=punix:" + self.path("db.sock"),
                     self.path("conf.db"))
        pages = "" if self.hugepages.granted else "--no-huge "
        self.vsctl("--no-wait", "init", "--", "set", "o", ".",
                   "other_config:dpdk-init=true",
                   "other_config:pmd-cpu-mask=%x" % (1 << PMD_CPU),
                   "other_config:dpdk-extra=%s--in-memory -m %d --no-pci"
                   % (pages, memory_mb))
        self._daemon("ovs-vswitchd", "--unixctl=" + self.path("vs.ctl"),
                     "--disable-system", "unix:" + self.path("db.sock"))

    def stop(self):
        os.system("grep -v INFO "+self.path("ovs-vswitchd.log")+"|tail -5")
        for pid in reversed(self.pids):
            end(pid)
        self.pids = []
        self.hugepages.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    def add_bridge(self, name):
        self.vsctl("add-br", name, "--", "set", "bridge", name,
                   "datapath_type=netdev")
        self.ofctl("del-flows", name)

    def add_dpdk_port(self, bridge, name, devargs, number):
        self.vsctl("add-port", bridge, name, "--", "set", "interface", name,
                   "type=dpdk", "ofport_request=%d" % number,
                   "options:dpdk-devargs=" + devargs)
        error = self.vsctl("get", "interface", name, "error").strip()
        if error != "[]":
            raise RuntimeError("%s: %s" % (name, error))

    def cycles_per_packet(self, seconds):
        """The PMD thread's processing cycles a packet over 'seconds'."""
        self.appctl("dpif-netdev/pmd-stats-clear")
        time.sleep(seconds)
        text = self.appctl("dpif-netdev/pmd-stats-show")
        return busy_cycles_per_packet(text)


def busy_cycles_per_packet(text):
    """'text' is what dpif-netdev/pmd-stats-show prints."""
    block = [b for b in text.split("pmd thread") if "core_id" in b][0]
    used = re.search(r"Used TSC cycles: *(\d+)", block)
    busy = re.search(r"busy iterations: .*\( *([0-9.]+) % of used", block)
    packets = re.search(r"Rx packets: *(\d+)", block)
    if not packets or not int(packets.group(1)):
        raise RuntimeError("the switch forwards nothing:\n" + text)
    return (int(used.group(1)) * float(busy.group(1)) / 100
            / int(packets.group(1)))
