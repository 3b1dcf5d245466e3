"""The simulator: runs a workload over forwarding tables, and measures what happens to its packets."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from simulation.deadlock import find_deadlock
from simulation.kernels.credit import DEADLOCKED, DONE, RUNNING, run
from simulation.kernels.drop import run_dropping
from simulation.kernels.sources import BIRTH_BITS, draw_window
from simulation.kernels.state import (
    ACCEPTED,
    ARRIVED,
    ARRIVED_LATENCY,
    BEHIND,
    DELIVERED,
    DETOURED_COUNT,
    DROPPED,
    FLITS_SENT,
    IDLE,
    KIND,
    LATENCY_MAX,
    LATENCY_SUM,
    NEXT_BIRTH,
    OFFERED,
    PACKET_HOPS,
    TICK,
    WINDOW_BEGIN,
    WINDOW_END,
    State,
)
from simulation.network import SOURCE_CYCLES, event_cycles, link_ports, make_network
from simulation.result import SimulationResult
from simulation.settings import Decision, RouterSettings, Times
from simulation.tables.model import ForwardingTables
from simulation.workload import Workload
from topology.exit_status import Terminated

# (simulated cycles, packets that have arrived)
Progress = Callable[[int, int], None]

PERIOD = 1000  # cycles, after which the state is compared with that before
STEADY_CHANGE = 0.05  # most by which latency and accepted load differ between periods of a steady state
_LEAST_PERIODS = 3


def simulate(
    tables: ForwardingTables,
    workload: Workload,
    routers: RouterSettings,
    decision: Decision,
    times: Times,
    seed: int,
    progress: Progress | None = None,
) -> SimulationResult:
    """Runs a workload over forwarding tables.

    Args:
        tables: forwarding tables of a plan.
        workload: who sends to whom, and how much.
        routers: settings of routers and links.
        decision: law of adaptive choices.
        times: warm-up, window and drain.
        seed: seed of the run, at least 0; the same seed gives the same result on every machine.
        progress: is told simulated cycles and arrived packets after every period.

    Returns:
        The measures. Where Ctrl-C or a signal interrupts it, those so far.
    """
    network = make_network(tables, workload, routers, decision, seed)
    course = _Course(network, routers, progress)
    began = time.perf_counter()
    steady = None
    try:
        steady = course.warm_up(times)
        course.measure()
        course.drain(times)
    except (KeyboardInterrupt, Terminated):
        course.interrupted = True
    if course.interrupted or course.status == DEADLOCKED:
        course.shorten_window()
    return _result(course, tables, routers, steady, time.perf_counter() - began)


@dataclass
class _Course:
    """Periods of a simulation, and the counts after each."""

    network: State
    routers: RouterSettings
    progress: Progress | None
    interrupted: bool = False
    status: int = RUNNING
    batches: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def cycles(self) -> int:
        """Simulated cycles."""
        return int(self.network.counts[TICK]) // self.routers.ticks

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Counts of the kernel."""
        return self.network.counts

    def advance(self, cycles: int, *, drains: bool = False) -> None:
        """Runs the kernel for some cycles, unless it has come to an end."""
        if self.status != RUNNING:
            return
        until = int(self.counts[TICK]) + cycles * self.routers.ticks
        kernel = run if self.routers.flow_control == "credit" else run_dropping
        self.status = int(kernel(self.network, until, drains))
        if self.progress:
            self.progress(self.cycles, int(self.counts[ARRIVED]))

    def warm_up(self, times: Times) -> bool | None:
        """Runs the warm-up; returns whether the state was steady, or None if a length was given."""
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
        """Runs until the state is steady, or as long as it may take; returns whether it is."""
        before: tuple[float, float] | None = None
        for period in range(1, times.most_warmup // PERIOD + 1):
            arrived, latency = int(self.counts[ARRIVED]), int(self.counts[ARRIVED_LATENCY])
            self.advance(PERIOD)
            if self.status != RUNNING:
                return False
            packets = int(self.counts[ARRIVED]) - arrived
            now = (float(packets), (int(self.counts[ARRIVED_LATENCY]) - latency) / max(packets, 1))
            if before and period >= _LEAST_PERIODS and all(map(_is_near, now, before)):
                return True
            before = now
        return False

    def measure(self) -> None:
        """Runs the window, in periods that are batches."""
        end = int(self.counts[WINDOW_END])
        while self.cycles < end and self.status == RUNNING:
            before = self.counts[[ARRIVED, ARRIVED_LATENCY]].copy()
            cycles = min(PERIOD, end - self.cycles)
            self.advance(cycles)
            packets, latency = (self.counts[[ARRIVED, ARRIVED_LATENCY]] - before).tolist()
            self.batches.append((cycles, packets, latency))

    def drain(self, times: Times) -> None:
        """Runs on until the packets of the window have arrived; sources go on."""
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


def unloaded_cycles(hops: int, routers: RouterSettings) -> int:
    """Returns the latency of a packet that waits for nothing.

    Args:
        hops: links between routers that it takes.
        routers: settings of routers and links.

    Returns:
        Cycles from its birth to the arrival of its tail (credit) or of its first bit (drop).
    """
    links = hops * routers.link_cycles + 2 * routers.host_link_cycles
    cycles = links + (hops + 1) * routers.router_cycles
    return cycles + (SOURCE_CYCLES + routers.packet_flits - 1 if routers.flow_control == "credit" else 0)


def _result(
    course: _Course,
    tables: ForwardingTables,
    routers: RouterSettings,
    steady: bool | None,
    seconds: float,
) -> SimulationResult:
    counts, network = course.counts, course.network
    latency = int(counts[LATENCY_SUM]) / routers.latency_units
    unloaded = sum(int(n) * unloaded_cycles(hops, routers) for hops, n in enumerate(network.hops))
    begin, end = counts[[WINDOW_BEGIN, WINDOW_END]].tolist()
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
        queueing_sum=latency - unloaded,
        hops=np.trim_zeros(network.hops, "b"),
        detoured=int(counts[DETOURED_COUNT]),
        link_flits=network.ports[link_ports(tables), FLITS_SENT].astype(np.int64),
        host_packets=network.host_packets,
        batches=np.array(course.batches, np.int64).reshape(-1, 3),
        packet_hops=int(counts[PACKET_HOPS]),
        seconds=seconds,
        deadlock=find_deadlock(network, tables, course.cycles) if course.status == DEADLOCKED else None,
        interrupted=course.interrupted,
    )
