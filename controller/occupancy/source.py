"""Occupancy of output buffers: the interface of its sources, and the source that reads kernel queues.

The other source, `controller.occupancy.port_statistics`, needs only OpenFlow.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from typing import Protocol

from controller.occupancy.queues import QueueReader, SwitchQueues
from topology.addressing import dpid_router, switch_name

NETLINK, PORT_STATISTICS = "netlink", "port-statistics"
SOURCES = (NETLINK, PORT_STATISTICS)


class OccupancySource(Protocol):
    """A source of the occupancies of switches' output buffers."""

    def due(self, ready: Iterable[int], now_s: float) -> list[int]:
        """Returns the datapath ids, among the ready ones, whose port statistics to request now."""

    def read(self) -> Mapping[int, Mapping[int, float]]:
        """Returns datapath id -> port -> occupancy, 0 to 1, for switches with new values."""

    def new_problems(self) -> list[str]:
        """Returns the problems since the last call; one that persists is returned every second."""


MAX_PROBLEMS = 1000  # a limit, because switches can cause any number of different messages
_REPEAT_S = 1.0  # every measurement, of a few seconds, has to learn of the problems that persist


class ProblemLog:
    """Messages about problems; one that persists is returned every second."""

    def __init__(self) -> None:
        self._known_s: dict[str, float] = {}  # text -> time when it was last returned
        self._new: list[str] = []

    def add(self, text: str) -> None:
        """Adds a problem unless it was added in the last second."""
        now_s = time.monotonic()
        if text not in self._known_s and len(self._known_s) >= MAX_PROBLEMS:
            return
        if now_s - self._known_s.get(text, -math.inf) >= _REPEAT_S:
            self._known_s[text] = now_s
            self._new.append(text)

    def take(self) -> list[str]:
        """Returns the problems added since the last call."""
        new, self._new = self._new, []
        return new


class NetlinkOccupancy:
    """Occupancies computed from the numbers of packets in the kernel queues of the ports."""

    def __init__(self, switches: Mapping[int, SwitchQueues], queue_packets: int) -> None:
        """Takes over the sockets.

        Args:
            switches: datapath id -> its queues.
            queue_packets: capacity of a queue, in packets.
        """
        self._queue_packets = queue_packets
        self._switches = {
            datapath_id: (QueueReader(queues), queues.ports) for datapath_id, queues in switches.items()
        }
        self._problems = ProblemLog()

    def due(self, _ready: Iterable[int], _now_s: float) -> list[int]:
        """Returns no switches: the kernel is read instead."""
        return []

    def read(self) -> dict[int, dict[int, float]]:
        """Returns datapath id -> port -> occupancy, 0 to 1, without switches that cannot be read."""
        occupancies = {}
        for datapath_id, (reader, ports) in self._switches.items():
            name = switch_name(dpid_router(datapath_id))
            try:
                queues = reader.read()
            except OSError as error:
                self._problems.add(f"cannot read the queues of {name}: {error}")
                continue
            if len(queues) < len(ports):
                for port in sorted(set(ports.values()) - queues.keys()):
                    self._problems.add(f"port {port} of {name} has lost its queue")
            occupancies[datapath_id] = {
                port: min(1.0, queue.packets / self._queue_packets) for port, queue in queues.items()
            }
        return occupancies

    def close(self) -> None:
        """Closes the sockets."""
        for reader, _ in self._switches.values():
            reader.close()

    def new_problems(self) -> list[str]:
        """Returns messages about switches and ports that cannot be read, each at most once a second."""
        return self._problems.take()
