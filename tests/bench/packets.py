"""How fast probes are sent and received, on an unshaped pair of hosts' sockets."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rows import Row
from scapy.config import conf
from scapy.layers.l2 import Ether
from scapy.sendrecv import sendp

from emulation.commands import run
from topology.addressing import Host
from traffic import sockets
from traffic.engine import run_traffic
from traffic.frames import build_probe
from traffic.job import HostSocket, TrafficJob
from traffic.patterns import Pattern
from traffic.schedule import PatternSchedule

_SECONDS = 3
_FRAME_BYTES = 200
_HOSTS = (Host(0, 0, 0), Host(1, 0, 1))
_FAST = 700_000  # packets/s asked for: more than can be sent


@contextmanager
def _veth_pair() -> Iterator[list[int]]:
    """Gives two processes in namespaces of their own that a veth pair joins."""
    shells = [subprocess.Popen(["unshare", "-n", "sleep", "600"]) for _ in _HOSTS]
    try:
        time.sleep(0.5)
        a, b = (shell.pid for shell in shells)
        pair = f"name p0 index 1001 netns {a} type veth peer name p1 index 2001 netns {b}"
        run(["ip", "link", "add", *pair.split()])
        for number, pid in enumerate((a, b)):
            quiet = "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6"
            up = f"{quiet}; ip link set lo up; ip link set p{number} up"
            run(["nsenter", "-t", str(pid), "-n", "sh", "-c", up])
        yield [a, b]
    finally:
        for shell in shells:
            shell.kill()
            shell.wait()


def socket_rates() -> list[Row]:
    """Probes per second by the sender's one busy core and the collector's, against scapy's sender."""
    with _veth_pair() as pids:
        hosts = tuple(
            HostSocket(host.name, host.ip, f"p{number}", pids[number]) for number, host in enumerate(_HOSTS)
        )
        frame = build_probe(*_HOSTS, frame_bytes=_FRAME_BYTES, run=1)
        scapy_rate = _scapy_rate(pids[0], frame)
        end_ns = _SECONDS * 10**9
        schedule = PatternSchedule(Pattern("uniform", 2), _FAST / 2, end_ns, 64, 1)
        job = TrafficJob(hosts, schedule.to_dict(), frame, 1, 64, (0, 10**12), 10**9, 10**9)
        result = run_traffic(job, os.environ, Path("/tmp"))
    sent, received = int(result.sent.frames.sum()), int(result.received.frames.sum())
    sent_rate = sent / result.sent.seconds
    received_rate = received / result.sent.seconds
    scapy_text = f"scapy's own send {scapy_rate:,.0f}/s"
    return [
        Row(
            "200-byte probes sent by one core, unshaped",
            scapy_text,
            f"{sent_rate:,.0f}/s",
            "over 150,000/s",
            sent_rate > 150_000,
        ),
        Row(
            "the same received by one core",
            "-",
            f"{received_rate:,.0f}/s, {sent - received} of {sent:,} lost",
            "over 150,000/s",
            received_rate > 150_000,
        ),
    ]


def _scapy_rate(pid: int, frame: bytes) -> float:
    packet = Ether(frame)
    count = 3000
    with sockets.namespaces():
        sockets.enter(pid)
        conf.ifaces.reload()
        started = time.perf_counter()
        sendp(packet, iface="p0", count=count, verbose=False)
    return count / (time.perf_counter() - started)
