"""Course of a simulation: warm-up, window and drain, and the measures at its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from simulation.arrays.network import event_cycles
from simulation.arrays.ports import link_ports
from simulation.deadlock import find_deadlock, stuck_queues
from simulation.kernels.credit import DONE, RUNNING, run
from simulation.kernels.drop import run_dropping
from simulation.kernels.sources import BIRTH_BITS, draw_window
from simulation.kernels.state import (
    ACCEPTED,
    ARRIVED,
    ARRIVED_HOPS,
    ARRIVED_LATENCY,
    ARRIVED_PATHS,
    BEHIND,
    DELIVERED,
    DETOURED_COUNT,
    DROPPED,
    FLITS_SENT,
    IDLE,
    KIND,
    LATENCY_MAX,
    LATENCY_SUM,
    LOST,
    NEXT_BIRTH,
    OFFERED,
    OVERFLOWED,
    PACKET_HOPS,
    PATHS_SUM,
    TICK,
    WINDOW_BEGIN,
    WINDOW_END,
    State,
)
from simulation.result import SimulationResult
from simulation.settings import RouterSettings, Times
from simulation.tables.model import ForwardingTables
from simulation.timing import unloaded_cycles

# (simulated cycles, packets that have arrived)
Progress = Callable[[int, int], None]

DEADLOCKED = DONE + 1  # status of a course, beside those of the kernel

PERIOD = 1000  # cycles of the warm-up, after which the state is compared with that before
STEADY_CHANGE = 0.05  # most by which latency and accepted load differ between periods of a steady state
_LEAST_PERIODS = 3
# A source is behind by the time since the birth of the packet that it is to send next. In a steady state the
# mean of all sources does not grow by more than this share of the time; if it does in so many periods one
# after the other, while the accepted load has settled, the sources' queues grow without end.
_STEADY_GROWTH = 0.01
_OVERLOAD_PERIODS = 8
_OF_BATCHES = [ARRIVED, ARRIVED_LATENCY, ARRIVED_HOPS, ARRIVED_PATHS, LOST, OVERFLOWED]


class Intervention(Protocol):
    """Changes of a network in the course of its simulation."""

    @property
    def next_cycle(self) -> int | None:
        """The cycle of the next change, at least the present one; None after the last."""

    def act(self, network: State) -> State:
        """Makes the next change, at the begin of its cycle, and returns the network after it."""


class _Period(NamedTuple):
    """A period of the warm-up: arrived packets, their mean latency, and the sources' mean lag at its end."""

    packets: float
    latency: float
    lag: float


@dataclass
class Course:
    """Course of a simulation: periods, and the counts after each.

    Attributes:
        network: the network; a field of it may be replaced between periods.
        routers: settings of routers and links.
        progress: is told simulated cycles and arrived packets after every period.
        interventions: change the network at their cycles, those of one cycle in this order.
        interrupted: whether Ctrl-C or a signal ended it.
        status: result of the kernel, or DEADLOCKED.
        begin: cycle in which the last iteration of an application began.
        batches: cycles, arrived packets, the sum of their latencies, that of the links between routers which
            they took, the cycles of these links where they differ, and lost packets, of each period of the
            window.
    """

    network: State
    routers: RouterSettings
    progress: Progress | None
    interventions: Sequence[Intervention] = ()
    interrupted: bool = False
    status: int = RUNNING
    begin: int = 0
    batches: list[tuple[int, int, int, int, int, int]] = field(default_factory=list)

    @property
    def cycles(self) -> int:
        """Simulated cycles."""
        return int(self.network.counts[TICK]) // self.routers.ticks

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Counts of the kernel."""
        return self.network.counts

    def advance(self, cycles: int, *, drains: bool = False) -> None:
        """Runs the kernel for some cycles, unless it has come to an end.

        Args:
            cycles: number of cycles.
            drains: whether it ends when all packets of the window have arrived.
        """
        if self.status != RUNNING:
            return
        until = self.cycles + cycles
        kernel = run if self.routers.flow_control == "credit" else run_dropping
        while self.cycles < until and self.status == RUNNING:
            next_cycle = self._intervene()
            tick = min(until, next_cycle or until) * self.routers.ticks
            self.status = int(kernel(self.network, tick, drains))
        if self.status == RUNNING and kernel is run and len(stuck_queues(self.network)):
            self.status = DEADLOCKED
        if self.progress:
            self.progress(self.cycles, int(self.counts[ARRIVED]))

    def _intervene(self) -> int | None:
        """Changes the network as is due now; returns the cycle of the next change, or None."""
        for one in self.interventions:
            while one.next_cycle == self.cycles:
                self.network = one.act(self.network)
        return min((one.next_cycle for one in self.interventions if one.next_cycle is not None), default=None)

    def warm_up(self, times: Times) -> bool | None:
        """Runs the warm-up; returns whether the state was steady, or None if a length was given.

        Args:
            times: warm-up, window and drain.
        """
        # Arrivals are counted when they are certain: the window must be known before the first that is in it.
        steady = None
        if times.warmup is not None:
            self._set_window(times.warmup, times)
        else:
            steady = self._becomes_steady(times)
            self._set_window(self.cycles + event_cycles(self.routers), times)
        self._advance_to(int(self.counts[WINDOW_BEGIN]))
        return steady

    def _set_window(self, begin: int, times: Times) -> None:
        self.counts[WINDOW_BEGIN], self.counts[WINDOW_END] = begin, begin + times.window

    def _advance_to(self, end: int) -> None:
        while self.cycles < end and self.status == RUNNING:
            self.advance(min(PERIOD, end - self.cycles))

    def _becomes_steady(self, times: Times) -> bool:
        """Runs until the state is steady, or will never be; returns whether it is."""
        before = _Period(0.0, 0.0, 0.0)
        overloaded = 0
        for period in range(1, times.most_warmup // PERIOD + 1):
            arrived, latency = int(self.counts[ARRIVED]), int(self.counts[ARRIVED_LATENCY])
            self.advance(PERIOD)
            if self.status != RUNNING:
                return False
            packets = int(self.counts[ARRIVED]) - arrived
            mean = (int(self.counts[ARRIVED_LATENCY]) - latency) / max(packets, 1)
            now = _Period(packets, mean, self._mean_lag())
            grows = now.lag - before.lag > _STEADY_GROWTH * PERIOD
            settled = period >= _LEAST_PERIODS and _is_near(now.packets, before.packets)
            if settled and not grows and _is_near(now.latency, before.latency):
                return True
            overloaded = overloaded + 1 if settled and grows else 0
            if overloaded == _OVERLOAD_PERIODS:
                return False
            before = now
        return False

    def _mean_lag(self) -> float:
        """Returns the mean time since the birth of the next packet of a source, 0 if it is yet to come."""
        hosts = self.network.hosts
        born = hosts[hosts[:, KIND] != IDLE, NEXT_BIRTH] >> BIRTH_BITS
        return float(np.maximum(self.cycles - born, 0).mean()) if len(born) else 0.0

    def measure(self, times: Times) -> None:
        """Runs the window, in periods that are batches.

        Args:
            times: warm-up, window and drain.
        """
        end = int(self.counts[WINDOW_END])
        while self.cycles < end and self.status == RUNNING:
            self.batch(min(times.period, end - self.cycles))

    def batch(self, cycles: int, *, drains: bool = False) -> None:
        """Runs the kernel for a period of the window, or for less if all packets have arrived.

        An interruption comes when the kernel has run, and the period that it ran for counts as well.

        Args:
            cycles: length of the period.
            drains: whether it ends when all packets have arrived.
        """
        begin, before = self.cycles, self.counts[_OF_BATCHES].copy()
        try:
            self.advance(cycles, drains=drains)
        finally:
            *arrived, lost, overflowed = (self.counts[_OF_BATCHES] - before).tolist()
            packets, latency, hops, paths = arrived
            if self.cycles > begin:
                self.batches.append((self.cycles - begin, packets, latency, hops, paths, lost + overflowed))

    def drain(self, times: Times) -> None:
        """Runs on until the packets of the window have arrived; sources go on.

        Args:
            times: warm-up, window and drain.
        """
        hosts = self.network.hosts
        behind = (hosts[:, NEXT_BIRTH] >> BIRTH_BITS) < self.counts[WINDOW_END]
        self.counts[BEHIND] = int(((hosts[:, KIND] != IDLE) & behind).sum())
        end = self.cycles + times.most_drain
        while self.cycles < end and self.status == RUNNING:
            self.advance(min(PERIOD, end - self.cycles), drains=True)

    def shorten_window(self) -> None:
        """Ends the window now, unless it has ended."""
        begin, end = self.counts[[WINDOW_BEGIN, WINDOW_END]].tolist()
        begin = min(begin, self.cycles)
        self.counts[WINDOW_BEGIN], self.counts[WINDOW_END] = begin, min(end, max(begin, self.cycles))


def _is_near(now: float, before: float) -> bool:
    return abs(now - before) <= STEADY_CHANGE * max(before, 1e-9)


def _unloaded(network: State, routers: RouterSettings) -> int:
    """Returns the latencies of the delivered packets without their waiting, summed, in cycles."""
    # The kernel sums the links of paths where these differ.
    per_link = 0 if routers.global_link_cycles is not None else routers.link_cycles
    return int(network.counts[PATHS_SUM]) + sum(
        int(count) * unloaded_cycles(hops, routers, path_cycles=hops * per_link)
        for hops, count in enumerate(network.hops)
    )


def result_of(
    course: Course, tables: ForwardingTables, steady: bool | None, seconds: float
) -> SimulationResult:
    """Returns the measures of a simulation that has ended.

    Args:
        course: its course.
        tables: forwarding tables.
        steady: whether the warm-up ended because the state was steady; None if it was of a given length.
        seconds: wall time of the kernel.
    """
    routers = course.routers
    counts, network = course.counts, course.network
    batches = np.array(course.batches, np.int64).reshape(-1, 6)
    latency = int(counts[LATENCY_SUM]) / routers.latency_units
    begin, end = counts[[WINDOW_BEGIN, WINDOW_END]].tolist()
    differ = routers.global_link_cycles is not None
    waiting = int(draw_window(network)) if course.status != DONE else 0
    return SimulationResult(
        cycles=course.cycles,
        warmup=begin,
        window=end - begin,
        steady=steady,
        offered=int(counts[OFFERED]) + waiting,
        accepted=int(counts[ACCEPTED]),
        delivered=int(counts[DELIVERED]),
        dropped=int(counts[DROPPED]),
        latency_sum=latency,
        latency_max=int(counts[LATENCY_MAX]) / routers.latency_units,
        latency_counts=network.latencies,
        queueing_sum=latency - _unloaded(network, routers),
        hops=np.trim_zeros(network.hops, "b"),
        detoured=int(counts[DETOURED_COUNT]),
        link_flits=network.outputs[link_ports(tables), FLITS_SENT].astype(np.int64),
        link_drops=network.port_drops[link_ports(tables)],
        host_packets=network.host_packets,
        batches=batches[:, :3],
        batch_hops=batches[:, 3],
        batch_paths=batches[:, 4] if differ else batches[:, 3] * routers.link_cycles,
        batch_drops=batches[:, 5],
        packet_hops=int(counts[PACKET_HOPS]),
        seconds=seconds,
        deadlock=find_deadlock(network, tables, course.cycles) if course.status == DEADLOCKED else None,
        interrupted=course.interrupted,
    )
