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
import sys
import time

HUGEPAGES = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"

CPUS = os.sched_getaffinity(0)
PMD_CPU = max(CPUS)


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
    """With 'pinned', one CPU is the PMD thread's own, and all else, this
    program too, has the others.  Two switches want networks of their own, as
    the names of their tap devices are the same."""

    def __init__(self, tree, memory_mb=1024, pinned=True, own_network=False):
        self.tree = tree
        self.prefix = ["unshare", "-n"] if own_network else []
        self.dir = tempfile.mkdtemp(prefix="flexiv-bench-")
        self.hugepages = Hugepages(memory_mb // 2 + 16)
        self.pids = []
        self.unixctl = None
        self.env = dict(os.environ, OVS_RUNDIR=self.dir, OVS_LOGDIR=self.dir,
                        OVS_DBDIR=self.dir, OVS_SYSCONFDIR=self.dir)
        if pinned and len(CPUS) > 1:
            os.sched_setaffinity(0, CPUS - {PMD_CPU})
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
        done = subprocess.run(self.prefix + [self._program(name)] + list(args),
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

    def appctl(self, command, *args):
        """Over one connection: a program for each call would take time from
        what is measured."""
        if not self.unixctl:
            sys.path.insert(0, os.path.join(self.tree, "python"))
            from ovs.unixctl.client import UnixctlClient
            error, self.unixctl = UnixctlClient.create(self.path("vs.ctl"))
            if error:
                raise RuntimeError("ovs-vswitchd: %s" % os.strerror(error))
        error, refused, result = self.unixctl.transact(command, list(args))
        if error or refused:
            raise RuntimeError("%s: %s" % (command, refused
                                           or os.strerror(error)))
        return result

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
        if self.unixctl:
            self.unixctl.close()
        for pid in reversed(self.pids):
            end(pid)
        self.pids = []
        self.hugepages.close()
        os.sched_setaffinity(0, CPUS)
        shutil.rmtree(self.dir, ignore_errors=True)

    def add_bridge(self, name):
        self.vsctl("--may-exist", "add-br", name, "--", "set", "bridge", name,
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
        """The PMD thread's processing cycles a packet over 'seconds', or None
        if there was no packet."""
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
        return None
    return (int(used.group(1)) * float(busy.group(1)) / 100
            / int(packets.group(1)))
