"""All monitors that run with traffic: of processors, controller, switches, links and hosts."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil

from experiments.live_fabric import LiveFabric
from experiments.traffic_jobs import host_sockets
from experiments.validity.controller_monitor import ControllerMonitor
from experiments.validity.foreign_frames import HostBytes
from experiments.validity.held_monitor import HeldMonitor
from experiments.validity.link_monitor import LinkMonitor
from experiments.validity.samples import CpuSamples
from traffic.engine.interface_counters import InterfaceCounters


class CpuMonitor:
    """Monitor of the idle and stolen shares of the CPU; a context manager."""

    def __init__(self) -> None:
        self.samples = CpuSamples()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> CpuMonitor:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        before = _cpu_times()
        while not self._stop.wait(self.samples.span_s):
            now = _cpu_times()
            idle, stolen, total = (later - earlier for later, earlier in zip(now, before, strict=True))
            self.samples.times_s.append(time.monotonic())
            self.samples.idle.append(idle / max(0.01, total))
            self.samples.stolen.append(stolen / max(0.01, total))
            before = now


def _cpu_times() -> tuple[float, float, float]:
    """Returns (idle, stolen, total) CPU time since boot, in s, each summed over all cores."""
    times = psutil.cpu_times()
    # The user times already include those of guests.
    return times.idle + times.iowait, times.steal, sum(times) - times.guest - times.guest_nice


def cpu_stolen_s() -> float:
    """Returns the steal time of all cores since boot, in s: see "steal" in proc(5).

    Packets that arrive in that time may be lost.
    """
    return float(psutil.cpu_times().steal)


class HostMonitor:
    """Monitor of the bytes that links between switches and hosts carry; a context manager."""

    def __init__(self, fabric: LiveFabric) -> None:
        self._hosts = host_sockets(fabric)

    def __enter__(self) -> HostMonitor:
        self._counters = InterfaceCounters(self._hosts)
        return self

    def __exit__(self, *_error: object) -> None:
        self._counters.sample()
        self._counters.close()

    @property
    def carried(self) -> HostBytes:
        """The bytes between the start and the end of the context."""
        received, _, sent, frames_sent = self._counters.totals().T
        return HostBytes(sent, received, int(frames_sent.sum()))


class Monitors:
    """Monitors of a fabric; a context manager.

    Attributes:
        held: the monitor of the frames that switches hold.
    """

    def __init__(self, fabric: LiveFabric, frame_bytes: int, folder: Path | None = None) -> None:
        """Creates all monitors of a fabric; entering the context starts them.

        Args:
            fabric: the fabric.
            frame_bytes: length of the longest frames on its links.
            folder: folder of the results, for the table of links that is written during the run; None for no
                table.
        """
        self._cpu, self._controller = CpuMonitor(), ControllerMonitor(fabric)
        self.held = HeldMonitor(fabric.network, fabric.options.links.packet_s(frame_bytes))
        self._links = LinkMonitor(fabric, frame_bytes, folder)
        self._hosts = HostMonitor(fabric)
        self._opened = ExitStack()

    def __enter__(self) -> Monitors:
        for monitor in (self._cpu, self._controller, self.held, self._links):
            self._opened.enter_context(monitor)
        self.held.wait_until_sampling()
        self._opened.enter_context(self._hosts)
        return self

    def __exit__(self, *error: Any) -> None:
        self._opened.__exit__(*error)

    def observed(self) -> dict[str, Any]:
        """Returns the observations, keyed by the names of RunRecord's attributes."""
        return {
            "host_bytes": self._hosts.carried,
            "cpu": self._cpu.samples,
            "held": self.held.samples,
            "links": self._links.log,
            "controller": self._controller.samples,
        }
