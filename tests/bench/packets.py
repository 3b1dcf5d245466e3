"""How fast probes are sent and received, how late, and what the two processes take of memory."""

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

from emulation.subprocesses import run
from topology.addressing import Host, format_mac
from traffic.engine import sockets
from traffic.engine.engine import run_traffic
from traffic.engine.jobs import HostSocket, TrafficJob
from traffic.engine.sender import Sender
from traffic.engine.telemetry import CountReporter
from traffic.metrics.measurements import Clock, Sent, TrafficResult
from traffic.metrics.window import Window
from traffic.wire.probe_frame import build_probe
from traffic.workload.patterns import Pattern
from traffic.workload.schedule import PatternSchedule

_NS = 1_000_000_000
_SECONDS = 3
_FRAME_BYTES = 200
_HOSTS = (Host(0, 0, 0), Host(1, 0, 1))
_FAST = 900_000  # packets/s asked for: more than can be sent
_SHARE = 0.7
_WINDOW_NS = (0, 10**12)


@contextmanager
def _namespaces(count: int) -> Iterator[list[int]]:
    """Gives processes in network namespaces of their own."""
    shells = [subprocess.Popen(["unshare", "-n", "sleep", "1200"]) for _ in range(count)]
    try:
        time.sleep(0.5)
        yield [shell.pid for shell in shells]
    finally:
        for shell in shells:
            shell.kill()
            shell.wait()


def _in(pid: int, script: str) -> None:
    run(["nsenter", "-t", str(pid), "-n", "sh", "-ec", script])


_NO_IPV6 = "for i in all default; do echo 1 > /proc/sys/net/ipv6/conf/$i/disable_ipv6; done"


@contextmanager
def _veth_pair() -> Iterator[int]:
    """Gives a process in a namespace of its own, in which a veth pair of p0 and p1 is up."""
    with _namespaces(1) as (pid,):
        _in(pid, f"{_NO_IPV6}; ip link set lo up; ip link add p0 type veth peer name p1")
        _in(pid, "ip link set p0 up; ip link set p1 up")
        yield pid


def socket_rates() -> list[Row]:
    """Probes per second by the sender's one busy core and the collector's, against scapy and a plain loop."""
    with _veth_pair() as pid:
        # What either end of the pair sends arrives at the other host.
        hosts = tuple(
            HostSocket(host.name, host.ip, f"p{number}", pid, f"p{1 - number}", pid)
            for number, host in enumerate(_HOSTS)
        )
        frame = build_probe(*_HOSTS, frame_bytes=_FRAME_BYTES, run=1)
        scapy_rate, plain_rate = _scapy_rate(pid, frame), _plain_rate(pid, frame)
        # Best of three: noise only ever takes away.
        rate = max(_rate(_sent_alone(hosts, frame, _FAST)) for _ in range(3))
        late = [_sent_alone(hosts, frame, round(_SHARE * rate)) for _ in range(3)]
        lag_ms = min(sent.lag.quantile_ms(0.99) or 0.0 for sent in late)
        both = _sent_and_received(hosts, frame)
    sent, received = int(both.sent.frames.sum()), int(both.received.frames.sum())
    received_rate = received / both.sent.seconds
    return [
        Row(
            "200-byte probes sent by one busy core, sequence and time stamped, unshaped",
            f"scapy's own send {scapy_rate:,.0f}/s, a plain Python loop {plain_rate:,.0f}/s",
            f"{rate:,.0f}/s",
            "over 400,000/s",
            rate > 400_000,
        ),
        Row(
            "the same received by another core, sequence and latency recorded",
            "-",
            f"{received_rate:,.0f}/s, as sent meanwhile; {sent - received} of {sent:,} lost",
            "over 250,000/s",
            received_rate > 250_000 and received == sent,
        ),
        Row(
            f"schedule lag at {_SHARE:.0%} of the rate of one core, 99th percentile",
            f"{_SHARE * rate:,.0f}/s asked for",
            f"{lag_ms:.2f} ms, best of three",
            "under 1 ms",
            lag_ms < 1,
        ),
    ]


def _job(hosts: tuple[HostSocket, ...], frame: bytes, rate: float) -> TrafficJob:
    schedule = PatternSchedule(Pattern("uniform", 2), rate / 2, _SECONDS * _NS, 64, 1)
    return TrafficJob(hosts, schedule.to_dict(), frame, 1, 64, _WINDOW_NS, _NS, _NS)


def _sent_alone(hosts: tuple[HostSocket, ...], frame: bytes, rate: float) -> Sent:
    """Returns what the sender does where nobody receives: a receiver's share is the sender's core's, too."""
    sender = Sender(_job(hosts, frame, rate), Window(_WINDOW_NS), CountReporter(lambda _line: None))
    lead_ns = 50_000_000
    try:
        return sender.run(
            Clock(time.monotonic_ns() + lead_ns, time.time_ns() + lead_ns),
            lambda: False,
        )
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def _sent_and_received(hosts: tuple[HostSocket, ...], frame: bytes) -> TrafficResult:
    return run_traffic(_job(hosts, frame, _FAST), os.environ, Path("/tmp"))


def _rate(sent: Sent) -> float:
    return float(sent.frames.sum()) / sent.seconds


def _scapy_rate(pid: int, frame: bytes) -> float:
    packet = Ether(frame)
    count = 3000
    with sockets.namespaces():
        sockets.enter(pid)
        conf.ifaces.reload()
        started = time.perf_counter()
        sendp(packet, iface="p0", count=count, verbose=False)
    return count / (time.perf_counter() - started)


def _plain_rate(pid: int, frame: bytes) -> float:
    """Returns how fast a loop sends one and the same frame."""
    with sockets.namespaces():
        sockets.enter(pid)
        sender = sockets.open_sender("p0")
    count = 400_000
    with sender:
        send = sender.send
        started = time.perf_counter()
        for _ in range(count):
            send(frame)
    return count / (time.perf_counter() - started)


_MANY, _PER_HOST_PER_S, _HOUR_S = 1000, 7, 3600
_TIMES_FASTER = 15


def memory() -> list[Row]:
    """What generator and collector take of memory in an hour's traffic of 1,000 hosts, played faster."""
    hosts = tuple(Host(number, 0, number) for number in range(_MANY))
    seconds = _HOUR_S / _TIMES_FASTER
    rate = _PER_HOST_PER_S * _TIMES_FASTER
    with _bridged(hosts) as found:
        frame = build_probe(hosts[0], hosts[1], frame_bytes=_FRAME_BYTES, run=1)
        end_ns = round(seconds * _NS)
        schedule = PatternSchedule(Pattern("uniform", _MANY), rate, end_ns, 64, 1)
        job = TrafficJob(found, schedule.to_dict(), frame, 1, 64, _WINDOW_NS, _NS, end_ns // 240)
        peaks: dict[int, float] = {}
        result = run_traffic(job, os.environ, Path("/tmp"), lambda _live: peaks.update(_resident_mib()))
    sent, received = int(result.sent.frames.sum()), int(result.received.frames.sum())
    total = sum(peaks.values())
    return [
        Row(
            f"generator and collector, {_MANY:,} hosts, an hour of {_MANY * _PER_HOST_PER_S:,} packets/s "
            f"(in {seconds:.0f} s): memory",
            "-",
            f"{total:.0f} MiB together; {sent:,} sent, {sent - received:,} lost",
            "under 300 MiB",
            total < 300,
        )
    ]


@contextmanager
def _bridged(hosts: tuple[Host, ...]) -> Iterator[tuple[HostSocket, ...]]:
    """Gives hosts' interfaces, all in one namespace, that a bridge in another joins."""
    with _namespaces(2) as (near, far):
        for pid in (near, far):
            _in(pid, f"{_NO_IPV6}; ip link set lo up")
        _in(far, "ip link add br0 type bridge; ip link set br0 up")
        made, forwarded = [], []
        for place, host in enumerate(hosts):
            ends = f"name h{place} index {2000 + place} netns {near} address {format_mac(host.mac)}"
            made.append(f"link add {ends} type veth peer name b{place} index {5000 + place} netns {far}")
            forwarded.append(f"fdb add {format_mac(host.mac)} dev b{place} master static")
        run(["ip", "-batch", "-"], stdin="\n".join(made))
        places = range(len(hosts))
        _in(near, "ip -batch - <<END\n" + "\n".join(f"link set h{n} up" for n in places) + "\nEND")
        up = "\n".join(f"link set b{n} master br0 up" for n in places)
        _in(far, f"ip -batch - <<END\n{up}\nEND\nbridge -batch - <<END\n" + "\n".join(forwarded) + "\nEND")
        time.sleep(1)
        yield tuple(
            HostSocket(h.name, h.ip, f"h{place}", near, f"b{place}", far) for place, h in enumerate(hosts)
        )


def _resident_mib() -> dict[int, float]:
    """Returns the traffic processes' highest resident memory so far."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"traffic.engine.worker" in (folder / "cmdline").read_bytes():
                status = (folder / "status").read_text()
                kib = int(status.partition("VmHWM:")[2].split()[0])
                found[int(folder.name)] = kib / 1024
        except (OSError, ValueError, IndexError):
            continue
    return found
