"""Fabrics up to the papers' size: time and memory until all rules are installed, and idle switches."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
from fabrics import fabric_options
from rows import Row

from emulation.requirements import available_memory_bytes
from experiments.events.base import ignore
from experiments.live_fabric import LiveFabric, live_fabric
from topology.addressing import format_ip

_GIB = 1 << 30
_POLL_INTERVAL_S, _IDLE_S, _SETTLED_S = 0.1, 20.0, 5.0
_REPLAN_TIMEOUT_S = 60.0


class TakenMemory:
    """Memory of the machine that is taken, beyond what was when this object was made."""

    def __init__(self) -> None:
        self._before, self.peak_bytes = available_memory_bytes(), 0
        self._ended = threading.Event()

    @property
    def taken_bytes(self) -> int:
        return self._before - available_memory_bytes()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Keeps the peak up to date during a block."""
        thread = threading.Thread(target=self._sample)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _sample(self) -> None:
        while not self._ended.wait(_POLL_INTERVAL_S):
            self.peak_bytes = max(self.peak_bytes, self.taken_bytes)


def _rows(q: int, max_s: float, max_gib: float | None = None, *, used: bool = False) -> list[Row]:
    """Returns the rows of ER_q, one host a router, `min` with fast reroute.

    Args:
        q: the order.
        max_s: goal of the time in seconds.
        max_gib: goal of the memory once up; None for none.
        used: whether idle switches, pings and a cut link are measured as well.
    """
    options = fabric_options(q, 1, 20_000_000)
    time.sleep(_SETTLED_S)  # until the kernel has removed what was before
    topology, memory = options.topology, TakenMemory()
    name = f"ER_{q} ({topology.routers} switches, {topology.links} links)"
    started = time.monotonic()
    with memory.watched(), live_fabric(options, ignore) as fabric:
        up_s = time.monotonic() - started
        fabric.network.finish_merging()
        merged_s, up_gib = time.monotonic() - started, memory.taken_bytes / _GIB
        text = (
            f"{up_s:.1f} s, {fabric.rules.flows:,} rules; {memory.peak_bytes / _GIB:.1f} GiB at the peak, "
            f"{up_gib:.1f} GiB once pages are merged, {merged_s - up_s:.0f} s later"
        )
        goal = f"at most {max_s:g} s" + (f" and {max_gib:g} GiB" if max_gib else "")
        reached = up_s <= max_s and (max_gib is None or up_gib <= max_gib)
        more = _use(fabric, name) if used else []
    return [Row(f"{name} up with all rules", "-", text, goal, reached), *more]


def _use(fabric: LiveFabric, name: str) -> list[Row]:
    """Returns rows of idle switches, of a ping over two hops, and of a link on its path that is cut."""
    time.sleep(_SETTLED_S)
    before = _processor_s(fabric)
    time.sleep(_IDLE_S)
    cores = (_processor_s(fabric) - before) / _IDLE_S
    topology, network, controller = fabric.options.topology, fabric.network, fabric.controller
    far = next(host for host in fabric.hosts if topology.distances(0, host.router) == 2)
    ping = f"ping -q -i 0.02 -c 100 {format_ip(far.ip)}"
    idle = _ping(network["h1_1"].cmd(ping))
    port = f"s1-eth{list(topology.minimal_ports(0))[far.router][0]}"
    cut_s = time.monotonic()
    network.set_interfaces(0, [port], "down")
    cut = _ping(network["h1_1"].cmd(ping))
    replan = controller.wait_for_plan(lambda failed: failed != "none", _REPLAN_TIMEOUT_S)
    replanned_s = time.monotonic() - cut_s
    network.set_interfaces(0, [port], "up")
    whole = controller.wait_until_recovered(_REPLAN_TIMEOUT_S)
    return [
        Row(f"{name}: idle switches", "-", f"{cores:.2f} of a core", "at most 0.6 of a core", cores <= 0.6),
        Row(
            f"{name}: ping over two hops, every 20 ms; then its link is cut",
            "-",
            f"{idle[0]} of 100, {idle[1]:.2f} ms on average; {cut[0]} of 100 from the cut on, and the "
            f"controller's new plan after {replanned_s:.1f} s",
            "all, and all but 5; a new plan, and the old one when the link is back",
            idle[0] == 100 and cut[0] >= 95 and replan is not None and whole,
        ),
    ]


def _ping(said: str) -> tuple[int, float]:
    """Returns the number of answers and their mean round-trip time in ms."""
    received = re.search(r"(\d+) received", said)
    average = re.search(r"rtt min/avg/max/mdev = [\d.]+/([\d.]+)/", said)
    if not received or not average:
        raise RuntimeError(f"ping said nothing of round trips: {said}")
    return int(received[1]), float(average[1])


def _processor_s(fabric: LiveFabric) -> float:
    """Returns the processor time that all programs of switches have taken, in seconds."""
    switches = [switch.vswitch for switch in fabric.network.switches]
    times = [psutil.Process(p.pid).cpu_times() for v in switches if v for p in v.processes]
    return float(sum(one.user + one.system for one in times))


def er13() -> list[Row]:
    """ER_13: 183 switches."""
    return _rows(13, 8)


def er17() -> list[Row]:
    """ER_17: 307 switches."""
    return _rows(17, 12)


def er23() -> list[Row]:
    """ER_23: 553 switches."""
    return _rows(23, 30, 5)


def er31() -> list[Row]:
    """ER_31, of the papers: 993 switches, in use as well."""
    return _rows(31, 300, 14, used=True)
