"""Occupancy of output buffers, estimated from the port statistics of any OpenFlow 1.3 switch.

The counters show a port's utilisation, not the number of waiting packets. If a port dropped packets, its
buffer counts as full. Otherwise the estimate is the mean queue of an M/D/1 server at the port's utilisation
u: u^2 / (2 (1 - u)) packets (L. Kleinrock, "Queueing Systems", vol. 1, section 5.6). Measuring utilisation
takes about a second, so this source reacts more slowly than reading the queues.

Pure: times and the switches' replies are arguments.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from controller.occupancy.source import ProblemLog
from topology.addressing import dpid_router, switch_name

EVERY_S = 0.25  # period of the requests to a switch
WINDOW_S = 1.0  # time between the compared counters
LATE_S = 1.0  # time after which a request counts as unanswered
MAX_AGE_S = EVERY_S  # time from a request to its reply beyond which the reply delays the adaptation


class PortCounters(NamedTuple):
    """Bytes that a port has sent, and packets that it has dropped, since the port came up."""

    sent_bytes: int
    dropped_packets: int


class _Sample(NamedTuple):
    time_s: float
    ports: Mapping[int, PortCounters]


@dataclass
class _Switch:
    ports: frozenset[int]
    samples: deque[_Sample] = field(default_factory=deque)
    requested_s: float | None = None  # time of the unanswered request
    next_s: float = 0.0
    fresh: bool = False


class PortStatisticsOccupancy:
    """Occupancies estimated from the port counters of switches."""

    def __init__(self, ports: Mapping[int, frozenset[int]], rate_bps: int, queue_packets: int) -> None:
        """Starts without counters.

        Args:
            ports: datapath id -> the ports to estimate.
            rate_bps: rate of the links.
            queue_packets: capacity of a buffer, in packets.
        """
        self._switches = {datapath_id: _Switch(numbers) for datapath_id, numbers in ports.items()}
        self._rate_bps = rate_bps
        self._queue_packets = queue_packets
        self._problems = ProblemLog()

    def due(self, ready: Iterable[int], now_s: float) -> list[int]:
        """Returns the datapath ids whose statistics to request now, or again because the reply is overdue."""
        due = []
        for datapath_id in ready:
            switch = self._switches[datapath_id]
            late = switch.requested_s is not None and now_s - switch.requested_s > LATE_S
            if late:
                self._problems.add(f"{_name(datapath_id)} does not answer requests for port statistics")
            if late or (switch.requested_s is None and now_s >= switch.next_s):
                switch.requested_s, switch.next_s = now_s, now_s + EVERY_S
                due.append(datapath_id)
        return due

    def add_counters(self, datapath_id: int, now_s: float, counters: Mapping[int, PortCounters]) -> None:
        """Adds a switch's reply.

        Args:
            datapath_id: the switch; ignored if it does not belong to the fabric.
            now_s: time of the reply.
            counters: port -> its counters.
        """
        switch = self._switches.get(datapath_id)
        if switch is None:
            return
        if switch.requested_s is not None and now_s - switch.requested_s > MAX_AGE_S:
            self._problems.add(f"{_name(datapath_id)} answers requests for port statistics late")
        for port in sorted(switch.ports - counters.keys()):
            self._problems.add(f"{_name(datapath_id)} reports no statistics for port {port}")
        switch.requested_s = None
        # After a restart, counters start at 0 and cannot be compared with earlier ones.
        last = switch.samples[-1].ports if switch.samples else {}
        if any(
            counters[port].sent_bytes < before.sent_bytes for port, before in last.items() if port in counters
        ):
            switch.samples.clear()
        known_ports = {port: counters[port] for port in switch.ports if port in counters}
        switch.samples.append(_Sample(now_s, known_ports))
        while len(switch.samples) > 2 and now_s - switch.samples[1].time_s >= WINDOW_S:
            switch.samples.popleft()
        switch.fresh = True

    def read(self) -> dict[int, dict[int, float]]:
        """Returns datapath id -> port -> occupancy, 0 to 1, for switches that replied since the last call."""
        occupancies = {}
        for datapath_id, switch in self._switches.items():
            # Over a shorter time, a burst would look like a busy port.
            if switch.fresh and switch.samples[-1].time_s - switch.samples[0].time_s >= WINDOW_S - EVERY_S:
                occupancies[datapath_id] = self._estimates(switch)
            switch.fresh = False
        return occupancies

    def new_problems(self) -> list[str]:
        """Returns messages about switches and ports without statistics, each at most once a second."""
        return self._problems.take()

    def _estimates(self, switch: _Switch) -> dict[int, float]:
        first, before, last = switch.samples[0], switch.samples[-2], switch.samples[-1]
        seconds = last.time_s - first.time_s
        estimates = {}
        for port, counters in last.ports.items():
            if port not in first.ports or port not in before.ports:
                continue
            bits = 8 * (counters.sent_bytes - first.ports[port].sent_bytes)
            dropped = counters.dropped_packets > before.ports[port].dropped_packets
            estimates[port] = 1.0 if dropped else self._occupancy(bits / seconds / self._rate_bps)
        return estimates

    def _occupancy(self, utilisation: float) -> float:
        if utilisation >= 1:
            return 1.0
        return min(1.0, utilisation**2 / (2 * (1 - utilisation)) / self._queue_packets)


def _name(datapath_id: int) -> str:
    return switch_name(dpid_router(datapath_id))
