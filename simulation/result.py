"""Results of a simulation: measurements, deadlocks, faults and plans."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, kw_only=True)
class Deadlock:
    """Deadlock: packets in a cyclic dependency of buffers.

    Attributes:
        cycle: clock cycle in which the simulator detected it; the check runs at least every 1,000 cycles.
        waiting: packets that can never move again: those in the cyclic dependency and those behind it.
        arrived: packets that had arrived since the first clock cycle.
        cyclic_dependency: (directed link, virtual channel) of buffers, each of which waits for
            room in the next one, and the last in the first.
    """

    cycle: int
    waiting: int
    arrived: int
    cyclic_dependency: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class FaultOutcome:
    """A fault, and the packets lost between it and the next fault.

    Attributes:
        cycle: cycle of the fault.
        fault: the fault in the syntax of a fault schedule, for example `fail link:s1-s7`.
        lost_packets: packets lost on failed links and packets that a switch could not forward, also during
            warm-up and drain. Packets dropped by full queues do not count.
        last_loss_cycle: cycle of the last of these losses; None without losses.
    """

    cycle: int
    fault: str
    lost_packets: int = 0
    last_loss_cycle: int | None = None


@dataclass(frozen=True, kw_only=True)
class PlanOutcome:
    """A plan of the controller for a changed fabric.

    Attributes:
        cycle: cycle in which the switches installed it.
        failed: names of the failed components, or `none`.
        drained: names of the drained components that it avoids, or `none`.
        rules: number of changed rules and groups.
        cut_off_pairs: number of ordered pairs of live routers without a path.
    """

    cycle: int
    failed: str
    drained: str
    rules: int
    cut_off_pairs: int


@dataclass(frozen=True)
class FaultCourse:
    """The faults of a simulation and the controller's plans for them, each in chronological order."""

    done: tuple[FaultOutcome, ...] = ()
    plans: tuple[PlanOutcome, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SimulationResult:
    """Measurements of a simulation. A packet is generated when it enters its source queue.

    Attributes:
        cycles: simulated cycles: warm-up, window and drain.
        warmup: length of the warm-up in cycles.
        window: length of the measurement window in cycles; shorter than requested if the simulation ended
            within it.
        steady: whether the warm-up ended in a steady state; None if its length was given.
        offered: packets generated in the window.
        accepted: packets that arrived in the window.
        delivered: packets generated in the window that have arrived.
        dropped: packets generated in the window that were dropped by a full queue, dropped by a switch
            without a matching rule, or lost on a failed link.
        latency_sum: cycles from generation to the arrival of the tail (credit) or of the first bit (drop),
            summed over `delivered`.
        latency_max: the largest of these latencies.
        latency_counts: packets by latency, int64 array; the bins are defined in `simulation.kernels.latency`.
        queueing_sum: cycles spent in queues, summed over `delivered`.
        hops: packets by number of hops (links between routers), int64 array.
        detoured: packets of `delivered` that took a detour.
        link_flits: flits sent over each directed link in the window, int64 array.
        link_drops: packets lost by each directed link in the window, in its queue or on the wire, int64
            array.
        host_packets: packets that arrived at each host in the window, int64 array.
        batches: int64 array, (periods, 3): for each period of the window, its length in cycles, the arrived
            packets, and the sum of their latencies in cycles (credit) or ticks (drop).
        batch_hops: total hops of the packets that arrived in each period, int64 array.
        batch_paths: total link delay of these hops in cycles, int64 array.
        batch_drops: packets lost or dropped in each period of the window, int64 array.
        packet_hops: hops of all packets over all cycles; a measure of the simulated work.
        seconds: wall time of the kernel.
        deadlock: deadlock that ended the simulation, or None.
        interrupted: whether the simulation was interrupted.
    """

    cycles: int
    warmup: int
    window: int
    steady: bool | None
    offered: int
    accepted: int
    delivered: int
    dropped: int
    latency_sum: float
    latency_max: float
    latency_counts: npt.NDArray[np.int64]
    queueing_sum: float
    hops: npt.NDArray[np.int64]
    detoured: int
    link_flits: npt.NDArray[np.int64]
    link_drops: npt.NDArray[np.int64]
    host_packets: npt.NDArray[np.int64]
    batches: npt.NDArray[np.int64]
    batch_hops: npt.NDArray[np.int64]
    batch_paths: npt.NDArray[np.int64]
    batch_drops: npt.NDArray[np.int64]
    packet_hops: int
    seconds: float
    deadlock: Deadlock | None
    interrupted: bool
