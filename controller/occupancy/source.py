"""How full the output buffers of a fabric's switches are: what the adaptation asks, and the queues' answer.

The other answer, from OpenFlow's port statistics alone, is `controller.occupancy.port_statistics`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from controller.occupancy.queues import QueueReader, SwitchQueues
from topology.addressing import dpid_router, switch_name

NETLINK, PORT_STATISTICS = "netlink", "port-statistics"
SOURCES = (NETLINK, PORT_STATISTICS)


class OccupancySource(Protocol):
    """Anything that tells how full the ports of switches are."""

    def wanted(self, ready: Iterable[int], now_s: float) -> list[int]:
        """Returns the datapath ids of the switches whose port statistics are to be asked for."""

    def read(self) -> Mapping[int, Mapping[int, float]]:
        """Returns datapath id -> port -> share of its buffer that is full, of what is new."""

    def complaints(self) -> list[str]:
        """Returns what is amiss and was not said before."""


class Complaints:
    """What is to be said once."""

    def __init__(self) -> None:
        self._said: set[str] = set()
        self._new: list[str] = []

    def add(self, text: str) -> None:
        """Notes something; a second time it does nothing."""
        if text not in self._said:
            self._said.add(text)
            self._new.append(text)

    def take(self) -> list[str]:
        """Returns what was noted since the last call."""
        new, self._new = self._new, []
        return new


class NetlinkOccupancy:
    """The lengths of the packet-counted queues of all ports."""

    def __init__(self, switches: Mapping[int, SwitchQueues], queue_packets: int) -> None:
        """Takes over the sockets; datapath id -> queues, and how many packets a queue holds."""
        self._queue_packets = queue_packets
        self._switches = {number: (QueueReader(queues), queues.ports) for number, queues in switches.items()}
        self._complaints = Complaints()

    def wanted(self, _ready: Iterable[int], _now_s: float) -> list[int]:
        """Returns none: the kernel knows."""
        return []

    def read(self) -> dict[int, dict[int, float]]:
        """Returns datapath id -> port -> occupancy, 0 to 1; a switch that cannot be read is left out."""
        found = {}
        for number, (reader, ports) in self._switches.items():
            try:
                queues = reader.read()
            except OSError as error:
                self._complaints.add(
                    f"the queues of {switch_name(dpid_router(number))} cannot be read ({error})"
                )
                continue
            if len(queues) < len(ports):
                for port in sorted(set(ports.values()) - queues.keys()):
                    self._complaints.add(
                        f"{switch_name(dpid_router(number))} has no queue at port {port} any more"
                    )
            found[number] = {
                port: min(1.0, queue.packets / self._queue_packets) for port, queue in queues.items()
            }
        return found

    def close(self) -> None:
        """Closes the sockets."""
        for reader, _ in self._switches.values():
            reader.close()

    def complaints(self) -> list[str]:
        """Returns which switches and ports cannot be read, each once."""
        return self._complaints.take()
