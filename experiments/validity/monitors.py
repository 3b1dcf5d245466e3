"""All that is observed while traffic runs: the processors, the switches and the links."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from experiments.live_fabric import LiveFabric
from experiments.validity.controller_monitor import ControllerMonitor
from experiments.validity.cpu_monitor import CpuMonitor
from experiments.validity.held_monitor import HeldMonitor
from experiments.validity.link_monitor import LinkMonitor
from experiments.validity.samples import HeldLately


class Monitors:
    """Monitors of a fabric; a context manager."""

    def __init__(self, fabric: LiveFabric, frame_bytes: int, folder: Path | None = None) -> None:
        """Prepares to observe.

        Args:
            fabric: the fabric.
            frame_bytes: length of its longest frames.
            folder: folder of the results, for the table of links that is written meanwhile; None for none.
        """
        self._cpu, self._controller = CpuMonitor(), ControllerMonitor(fabric)
        self._held = HeldMonitor(fabric.network, fabric.options.links.packet_s(frame_bytes))
        self._links = LinkMonitor(fabric, frame_bytes, folder)
        self._opened = ExitStack()

    def __enter__(self) -> Monitors:
        for monitor in (self._cpu, self._controller, self._held, self._links):
            self._opened.enter_context(monitor)
        self._held.wait_until_looking()
        return self

    def __exit__(self, *error: Any) -> None:
        self._opened.__exit__(*error)

    @property
    def held_lately(self) -> HeldLately | None:
        """The longest times for which switches held frames in the last second; None if nothing was seen."""
        return self._held.latest

    def observed(self) -> dict[str, Any]:
        """Returns the observations, as RunRecord's attributes of these names."""
        return {
            "cpu": self._cpu.samples,
            "held": self._held.samples,
            "links": self._links.log,
            "controller": self._controller.samples,
        }
