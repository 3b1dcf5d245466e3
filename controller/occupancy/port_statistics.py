"""How full output buffers are, estimated from OpenFlow port statistics: for any OpenFlow 1.3 switch.

The counters tell how busy a port was, not how many packets wait. A port that dropped packets is taken for
full. Otherwise the mean queue of an M/D/1 server at the port's utilisation u is assumed, u^2 / (2 (1 - u))
packets (L. Kleinrock, "Queueing Systems", vol. 1, section 5.6). That needs a second or so of counting: this
source is slower than the queues themselves.

Pure: it is told the time and the switches' answers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from controller.occupancy.source import Complaints
from topology.addressing import dpid_router, switch_name

# How often a switch is asked, over what time its counters are compared, and when an answer is late.
EVERY_S = 0.25
WINDOW_S = 1.0
LATE_S = 1.0


class PortCounters(NamedTuple):
    """A port's counters since it came up."""

    sent_bytes: int
    dropped_packets: int


class _Sample(NamedTuple):
    time_s: float
    ports: Mapping[int, PortCounters]


@dataclass
class _Switch:
    ports: frozenset[int]
    samples: deque[_Sample] = field(default_factory=deque)
    asked_s: float | None = None  # when, if it has not answered yet
    next_s: float = 0.0
    fresh: bool = False


class PortStatisticsOccupancy:
    """Occupancies estimated from the counters that switches report."""

    def __init__(self, ports: Mapping[int, frozenset[int]], rate_bps: int, queue_packets: int) -> None:
        """Args: datapath id -> the ports that matter; the links' rate; how many packets a buffer holds."""
        self._switches = {number: _Switch(matter) for number, matter in ports.items()}
        self._rate_bps = rate_bps
        self._queue_packets = queue_packets
        self._complaints = Complaints()

    def wanted(self, ready: Iterable[int], now_s: float) -> list[int]:
        """Returns the switches to ask now; one that owes an answer is asked again when that is late."""
        asked = []
        for number in ready:
            switch = self._switches[number]
            late = switch.asked_s is not None and now_s - switch.asked_s > LATE_S
            if late:
                self._complaints.add(
                    f"{switch_name(dpid_router(number))} does not answer for its ports' statistics"
                )
            if late or (switch.asked_s is None and now_s >= switch.next_s):
                switch.asked_s, switch.next_s = now_s, now_s + EVERY_S
                asked.append(number)
        return asked

    def replied(self, number: int, now_s: float, counters: Mapping[int, PortCounters]) -> None:
        """A switch told its ports' counters."""
        switch = self._switches.get(number)
        if switch is None:
            return
        if switch.asked_s is not None and now_s - switch.asked_s > LATE_S:
            self._complaints.add(f"{switch_name(dpid_router(number))} answers late for its ports' statistics")
        for port in sorted(switch.ports - counters.keys()):
            self._complaints.add(f"{switch_name(dpid_router(number))} tells nothing of port {port}")
        switch.asked_s = None
        # A reboot, or a port made anew, counts from 0: what was before cannot be compared.
        last = switch.samples[-1].ports if switch.samples else {}
        if any(
            counters[port].sent_bytes < known.sent_bytes for port, known in last.items() if port in counters
        ):
            switch.samples.clear()
        known_ports = {port: counters[port] for port in switch.ports if port in counters}
        switch.samples.append(_Sample(now_s, known_ports))
        while len(switch.samples) > 2 and now_s - switch.samples[1].time_s >= WINDOW_S:
            switch.samples.popleft()
        switch.fresh = True

    def read(self) -> dict[int, dict[int, float]]:
        """Returns datapath id -> port -> occupancy, 0 to 1, of the switches that answered since last time."""
        found = {}
        for number, switch in self._switches.items():
            # Over a shorter time a burst would look like a busy port.
            if switch.fresh and switch.samples[-1].time_s - switch.samples[0].time_s >= WINDOW_S - EVERY_S:
                found[number] = self._estimates(switch)
            switch.fresh = False
        return found

    def complaints(self) -> list[str]:
        """Returns which switches and ports are not heard of, each once."""
        return self._complaints.take()

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
