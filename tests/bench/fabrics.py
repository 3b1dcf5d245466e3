"""Fabrics: how soon they are up and gone, how true their links are, and how large they get."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

from rows import Row

from experiments.events.base import ignore
from experiments.live_fabric import LiveFabric, live_fabric
from experiments.pair_check import check_all_pairs
from experiments.spec.fabric import FabricOptions
from experiments.traffic_jobs import make_job
from topology.links import LinkSpec
from topology.registry import make_topology
from traffic.engine.engine import run_traffic
from traffic.workload.patterns import Pattern
from traffic.workload.schedule import PatternSchedule

_POLARLAB = str(Path(sys.executable).with_name("polarlab"))
_RATES_BPS = (500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000, 20_000_000, 50_000_000)
_PING = "ping -q -i 0.02 -c 100 10.0.5.1"  # two hops from h1_1 in ER_7


def er7_against_mininet() -> list[Row]:
    """ER_7's launch, idle ping and removal, by the command and by stock Mininet."""
    stock = _stock_mininet()
    started = time.monotonic()
    words = ["up", "polarfly", "--q", "7", "--exec", f"h1_1 {_PING}"]
    process = subprocess.Popen([_POLARLAB, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    moments = {}
    assert process.stderr
    for line in process.stderr:
        for step in ("all switches have installed", "taking the fabric down"):
            if step in line:
                moments[step] = time.monotonic()
    said, _ = process.communicate()
    down_s = time.monotonic() - moments["taking the fabric down"]
    up_s = moments["all switches have installed"] - started
    ping_ms = _average_ping_ms(said)
    return [
        Row(
            "ER_7, userspace: command to all switches ready, rules installed",
            f"Mininet's own build, without rules: {stock['up_s']:.1f} s",
            f"{up_s:.1f} s",
            "under 10 s",
            up_s < 10,
        ),
        Row(
            "the same fabric taken down",
            f"Mininet: {stock['down_s']:.1f} s",
            f"{down_s:.2f} s",
            "under 2 s",
            down_s < 2,
        ),
        Row(
            "ER_7 two-hop ping, idle (mean of 100)",
            f"one shared vswitchd: {stock['ping_ms']:.2f} ms",
            f"{ping_ms:.2f} ms",
            "under 1 ms",
            ping_ms < 1,
        ),
    ]


def _average_ping_ms(said: str) -> float:
    found = re.search(r"rtt min/avg/max/mdev = [\d.]+/([\d.]+)/", said)
    if not found:
        raise RuntimeError(f"ping said nothing of round trips: {said}")
    return float(found[1])


# Stock Mininet on the system's one vswitchd, its links unshaped; the rules are our controller's.
_STOCK = """
import json, os, subprocess, sys, time
from functools import partial
from mininet.net import Mininet
from mininet.node import OVSSwitch, RemoteController
from emulation.mininet_topo import FabricTopo
from topology.registry import make_topology
started = time.monotonic()
switch = partial(OVSSwitch, datapath="user", protocols="OpenFlow13", failMode="secure")
net = Mininet(topo=FabricTopo(make_topology("polarfly", {"q": 7})), switch=switch, controller=None)
net.start()
up_s = time.monotonic() - started
listen = "tcp:127.0.0.1:16654"
command = [sys.executable, "-m", "controller.service", "polarfly", "q=7", "--listen", listen]
service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
try:
    for line in service.stdout:
        event = json.loads(line)["event"]
        if event == "listening":
            for s in net.switches:
                s.cmd("ovs-vsctl set-controller", s.name, listen)
        if event == "installed":
            break
    for host in net.hosts:
        host.cmd("ethtool -K", host.defaultIntf().name, "tx off")
    net["h1_1"].cmd("ping -c 3 10.0.5.1")
    said = net["h1_1"].cmd(sys.argv[1])
finally:
    service.kill()
    started = time.monotonic()
    net.stop()
print(json.dumps({"up_s": up_s, "down_s": time.monotonic() - started, "said": said}))
"""


def _stock_mininet() -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", _STOCK, _PING], capture_output=True, text=True, check=False, timeout=300
    )
    if done.returncode:
        raise RuntimeError(f"stock Mininet failed: {done.stderr[-2000:]}")
    told = json.loads(done.stdout.splitlines()[-1])
    return {**told, "ping_ms": _average_ping_ms(told["said"])}


def fabric_options(q: int, hosts: int, rate_bps: int) -> FabricOptions:
    """Returns the options of ER_q under `min`, with a number of hosts at each router."""
    topology = make_topology("polarfly", {"q": q})
    return FabricOptions("polarfly", {"q": q}, topology, hosts, "min", LinkSpec(rate_bps, 32))


def link_rates() -> list[Row]:
    """What two hosts get through a link that they overload, against the rate that was asked for."""
    errors = {}
    for rate_bps in _RATES_BPS:
        with live_fabric(fabric_options(2, 1, rate_bps), ignore) as fabric:
            errors[rate_bps] = _rate_error(fabric, rate_bps)
    worst = max(errors.values(), key=abs)
    text = ", ".join(f"{rate / 1e6:g}: {error:+.2%}" for rate, error in errors.items())
    return [
        Row(
            "shaped link's measured rate, by Mbit/s asked for",
            "the rate asked for",
            text,
            "within 2 %",
            abs(worst) <= 0.02,
        )
    ]


def _rate_error(fabric: LiveFabric, rate_bps: int) -> float:
    """Two hosts that face each other offer 1.2 times the rate; 1,000-byte frames, five seconds."""
    pair = (
        fabric.hosts[0],
        next(host for host in fabric.hosts if fabric.options.topology.distances(0, host.router) == 1),
    )
    begin_ns, end_ns = 1_000_000_000, 6_000_000_000
    packets_per_s = 1.2 * rate_bps / 8000
    schedule = PatternSchedule(Pattern("uniform", 2), packets_per_s, end_ns, 4, 1)
    narrowed = fabric.changed(hosts=pair)
    job = make_job(narrowed, schedule, 1000, 1, 4, (begin_ns, end_ns))
    received = run_traffic(job, {}, fabric.network.run_dir).received
    rates = received.window_bytes * 8 / ((end_ns - begin_ns) / 1e9)
    return float(rates.mean()) / rate_bps - 1


def _largest(q: int) -> list[Row]:
    options = fabric_options(q, 1, 2_000_000)
    started = time.monotonic()
    with live_fabric(options, ignore) as fabric:
        up_s = time.monotonic() - started
        check = check_all_pairs(fabric, ignore)
        checked_s = time.monotonic() - started - up_s
        processes = [p.pid for s in fabric.network.switches if s.vswitch for p in s.vswitch.processes]
        mebibytes = sum(_resident_kib(pid) for pid in processes) / 1024
        down = time.monotonic()
    down_s = time.monotonic() - down
    topology = options.topology
    size = f"ER_{q} ({topology.routers} switches, {topology.links} links)"
    text = (
        f"up in {up_s:.1f} s, {check.delivered} pairs in {checked_s:.1f} s, {check.repeated} repeated, "
        f"{mebibytes / topology.routers:.0f} MiB a switch, gone in {down_s:.1f} s"
    )
    return [Row(f"{size} up and all pairs proven", "-", text, "it runs", check.wrong_hops == 0)]


def _resident_kib(pid: int) -> int:
    """Returns the memory that a process has to itself, and its share of what it shares."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    return 0


def largest_er11() -> list[Row]:
    """ER_11: 133 switches."""
    return _largest(11)


def largest_er13() -> list[Row]:
    """ER_13: 183 switches."""
    return _largest(13)
