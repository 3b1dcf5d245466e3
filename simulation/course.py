"""A simulation run: warm-up, measurement window and drain, and the measurements at its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from simulation.arrays.network import event_cycles
from simulation.arrays.ports import link_ports
from simulation.deadlock import find_deadlock, stuck_queues
from simulation.kernels.credit import DONE, RUNNING
from simulation.kernels.credit import run as run_lossless
from simulation.kernels.drop import run_dropping
from simulation.kernels.sources import TIME_BITS, draw_window
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
    NEXT_GENERATED,
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

# Called with (simulated cycles, packets that have arrived).
Progress = Callable[[int, int], None]

DEADLOCKED = DONE + 1  # status of a run, in addition to those of the kernel

PERIOD = 1000  # cycles; the warm-up compares the measurements of consecutive periods
STEADY_CHANGE = 0.05  # maximum relative change of latency and accepted load between periods in steady state
_MIN_PERIODS = 3
# Source lag: age of the oldest packet not yet sent by a source, 0 for an empty source queue. In steady state
# the mean lag of all sources grows by at most this share of the elapsed time. If it grows faster in this many
# consecutive periods while the accepted load has settled, the load is saturated: source queues grow forever.
_STEADY_GROWTH = 0.01
_OVERLOAD_PERIODS = 8
_BATCH_COUNTS = [ARRIVED, ARRIVED_LATENCY, ARRIVED_HOPS, ARRIVED_PATHS, LOST, OVERFLOWED]


class Intervention(Protocol):
    """Scheduled changes to a network during a simulation."""

    @property
    def next_cycle(self) -> int | None:
        """The cycle of the next change, the current cycle at the earliest; None after the last change."""

    def act(self, network: State) -> State:
        """Makes the next change, at the start of its cycle, and returns the changed network."""


class _Period(NamedTuple):
    """A period of the warm-up: arrived packets, their mean latency, and the mean source lag at its end."""

    packets: float
    latency: float
    lag: float


@dataclass
class SimulationRun:
    """A simulation in progress: runs the kernel period by period and records each period of the window.

    Attributes:
        network: the network; its fields may be replaced between periods.
        routers: settings of routers and links.
        progress: called with simulated cycles and arrived packets after every period.
        interventions: changes to the network, each at its own cycle; changes of the same cycle are made in
            this order.
        interrupted: whether Ctrl-C or a signal ended the run.
        status: result of the kernel, or DEADLOCKED.
        begin: cycle in which the last iteration of an application started.
        batches: for each period of the window: its cycles, arrived packets, the sums of their latencies, hops
            and link delays (only if delays differ between links, else 0), and lost packets.
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
        """The kernel's counts, `State.counts`."""
        return self.network.counts

    def advance(self, cycles: int, *, drains: bool = False) -> None:
        """Runs the kernel for a number of cycles; does nothing after the run has ended.

        Args:
            cycles: number of cycles.
            drains: whether to end the run when all packets of the window have arrived.
        """
        if self.status != RUNNING:
            return
        until = self.cycles + cycles
        kernel = run_lossless if self.routers.flow_control == "credit" else run_dropping
        while self.cycles < until and self.status == RUNNING:
            next_cycle = self._intervene()
            tick = min(until, next_cycle or until) * self.routers.ticks
            self.status = int(kernel(self.network, tick, drains))
        if self.status == RUNNING and kernel is run_lossless and len(stuck_queues(self.network)):
            self.status = DEADLOCKED
        if self.progress:
            self.progress(self.cycles, int(self.counts[ARRIVED]))

    def _intervene(self) -> int | None:
        """Makes the changes that are due now; returns the cycle of the next change, or None."""
        for one in self.interventions:
            while one.next_cycle == self.cycles:
                self.network = one.act(self.network)
        return min((one.next_cycle for one in self.interventions if one.next_cycle is not None), default=None)

    def warm_up(self, times: Times) -> bool | None:
        """Runs the warm-up.

        Args:
            times: lengths of warm-up, measurement window and drain.

        Returns:
            Whether a steady state was reached; None if the warm-up has a given length.
        """
        # The kernel counts an arrival when the packet's last hop starts, up to `event_cycles` before the
        # packet arrives. The window must be set before the first arrival in it is counted.
        steady = None
        if times.warmup is not None:
            self._set_window(times.warmup, times)
        else:
            steady = self._run_until_steady(times)
            self._set_window(self.cycles + event_cycles(self.routers), times)
        self._advance_to(int(self.counts[WINDOW_BEGIN]))
        return steady

    def _set_window(self, begin: int, times: Times) -> None:
        self.counts[WINDOW_BEGIN], self.counts[WINDOW_END] = begin, begin + times.window

    def _advance_to(self, end: int) -> None:
        while self.cycles < end and self.status == RUNNING:
            self.advance(min(PERIOD, end - self.cycles))

    def _run_until_steady(self, times: Times) -> bool:
        """Runs until the state is steady (returns True), the load is saturated or the limit is reached."""
        before = _Period(0.0, 0.0, 0.0)
        overloaded = 0
        for period in range(1, times.most_warmup // PERIOD + 1):
            arrived, latency = int(self.counts[ARRIVED]), int(self.counts[ARRIVED_LATENCY])
            self.advance(PERIOD)
            if self.status != RUNNING:
                return False
            packets = int(self.counts[ARRIVED]) - arrived
            mean = (int(self.counts[ARRIVED_LATENCY]) - latency) / max(packets, 1)
            now = _Period(packets, mean, self._mean_source_lag())
            grows = now.lag - before.lag > _STEADY_GROWTH * PERIOD
            settled = period >= _MIN_PERIODS and _is_near(now.packets, before.packets)
            if settled and not grows and _is_near(now.latency, before.latency):
                return True
            overloaded = overloaded + 1 if settled and grows else 0
            if overloaded == _OVERLOAD_PERIODS:
                return False
            before = now
        return False

    def _mean_source_lag(self) -> float:
        """Returns the mean age of sources' oldest unsent packets in cycles; an empty queue counts as 0."""
        hosts = self.network.hosts
        generated = hosts[hosts[:, KIND] != IDLE, NEXT_GENERATED] >> TIME_BITS
        return float(np.maximum(self.cycles - generated, 0).mean()) if len(generated) else 0.0

    def measure(self, times: Times) -> None:
        """Runs the measurement window, one batch per period.

        Args:
            times: lengths of warm-up, measurement window and drain.
        """
        end = int(self.counts[WINDOW_END])
        while self.cycles < end and self.status == RUNNING:
            self.batch(min(times.period, end - self.cycles))

    def batch(self, cycles: int, *, drains: bool = False) -> None:
        """Runs the kernel for a period of the window and records the batch.

        Python handles an interruption only after the compiled kernel has returned; that batch is recorded.

        Args:
            cycles: length of the period.
            drains: whether to end the run when all packets have arrived.
        """
        begin, before = self.cycles, self.counts[_BATCH_COUNTS].copy()
        try:
            self.advance(cycles, drains=drains)
        finally:
            *arrived, lost, overflowed = (self.counts[_BATCH_COUNTS] - before).tolist()
            packets, latency, hops, paths = arrived
            if self.cycles > begin:
                self.batches.append((self.cycles - begin, packets, latency, hops, paths, lost + overflowed))

    def drain(self, times: Times) -> None:
        """Runs until the packets of the window have arrived or the limit is reached.

        Sources keep sending, so that the last packets of the window meet the same load as the others.

        Args:
            times: lengths of warm-up, measurement window and drain.
        """
        hosts = self.network.hosts
        behind = (hosts[:, NEXT_GENERATED] >> TIME_BITS) < self.counts[WINDOW_END]
        self.counts[BEHIND] = int(((hosts[:, KIND] != IDLE) & behind).sum())
        end = self.cycles + times.most_drain
        while self.cycles < end and self.status == RUNNING:
            self.advance(min(PERIOD, end - self.cycles), drains=True)

    def shorten_window(self) -> None:
        """Ends the window at the current cycle, unless it has ended before."""
        begin, end = self.counts[[WINDOW_BEGIN, WINDOW_END]].tolist()
        begin = min(begin, self.cycles)
        self.counts[WINDOW_BEGIN], self.counts[WINDOW_END] = begin, min(end, max(begin, self.cycles))


def _is_near(now: float, before: float) -> bool:
    return abs(now - before) <= STEADY_CHANGE * max(before, 1e-9)


def _unloaded(network: State, routers: RouterSettings) -> int:
    """Returns the sum of the delivered packets' zero-load latencies, in cycles."""
    # The kernel sums link delays (PATHS_SUM) only if they differ between links.
    per_link = 0 if routers.global_link_cycles is not None else routers.link_cycles
    return int(network.counts[PATHS_SUM]) + sum(
        int(count) * unloaded_cycles(hops, routers, path_cycles=hops * per_link)
        for hops, count in enumerate(network.hops)
    )


def result_of(
    run: SimulationRun, tables: ForwardingTables, steady: bool | None, seconds: float
) -> SimulationResult:
    """Returns the measurements of a simulation that has ended.

    Args:
        run: the simulation.
        tables: forwarding tables.
        steady: whether the warm-up ended in a steady state; None if its length was given.
        seconds: wall time of the kernel.
    """
    routers = run.routers
    counts, network = run.counts, run.network
    batches = np.array(run.batches, np.int64).reshape(-1, 6)
    latency = int(counts[LATENCY_SUM]) / routers.latency_units
    begin, end = counts[[WINDOW_BEGIN, WINDOW_END]].tolist()
    differ = routers.global_link_cycles is not None
    waiting = int(draw_window(network)) if run.status != DONE else 0  # generated, but still at their sources
    return SimulationResult(
        cycles=run.cycles,
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
        deadlock=find_deadlock(network, tables, run.cycles) if run.status == DEADLOCKED else None,
        interrupted=run.interrupted,
    )
