"""The result of a simulation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, kw_only=True)
class Deadlock:
    """Packets that wait for one another in a circle.

    Attributes:
        cycle: cycle in which the simulator found the circle; it looks every 1,000 cycles or more often.
        waiting: packets that can never move: those in the circle's queues, and behind them.
        arrived: packets that had arrived until then, since the first cycle.
        circle: (directed link, virtual channel) of buffers, each of which waits for room in the next one.
    """

    cycle: int
    waiting: int
    arrived: int
    circle: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class FaultOutcome:
    """A fault, and the packets that were lost between it and the next one.

    Attributes:
        cycle: its cycle.
        fault: the fault in the words of a fault schedule, as `fail link:s1-s7`.
        lost_packets: packets on links that broke, and packets for which switches had no way on, of the
            warm-up and the drain, too; those that full queues dropped are not among them.
        last_loss_cycle: the cycle of the last of these losses; None without any.
    """

    cycle: int
    fault: str
    lost_packets: int = 0
    last_loss_cycle: int | None = None


@dataclass(frozen=True, kw_only=True)
class PlanOutcome:
    """A plan of the controller for a changed fabric.

    Attributes:
        cycle: the cycle from which switches hold it.
        failed: names of the failed elements, or `none`.
        drained: names of the drained elements that it leads around, or `none`.
        rules: number of rules and groups that changed.
        cut_off_pairs: ordered pairs of live routers without any path.
    """

    cycle: int
    failed: str
    drained: str
    rules: int
    cut_off_pairs: int


@dataclass(frozen=True)
class FaultCourse:
    """The faults of a simulation, and the controller's plans for them, in order of time."""

    done: tuple[FaultOutcome, ...] = ()
    plans: tuple[PlanOutcome, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SimulationResult:
    """Measures of a simulation; "born" is the birth of a packet in its source's queue.

    Attributes:
        cycles: simulated cycles: warm-up, window and drain.
        warmup: cycles of the warm-up.
        window: cycles of the window, until the simulation's end if that came before.
        steady: whether the warm-up ended because the state was steady; None if it was of a given length.
        offered: packets born in the window.
        accepted: packets that arrived in the window.
        delivered: packets born in the window that arrived.
        dropped: packets born in the window that a full queue, or a switch without a rule for them, dropped,
            or that were lost on a link which broke.
        latency_sum: cycles from birth to the arrival of the tail (credit) or of the first bit (drop), summed
            over `delivered`.
        latency_max: the longest of these.
        latency_counts: packets by latency, int64 array; classes as of `simulation.kernels.latency`.
        queueing_sum: cycles of waiting in queues, summed over `delivered`.
        hops: packets by the number of links between routers that they took, int64 array.
        detoured: packets of `delivered` that took a detour.
        link_flits: flits that each directed link passed in the window, int64 array.
        link_drops: packets that each directed link lost in the window, in its queue or on it, int64 array.
        host_packets: packets that arrived at each host in the window, int64 array.
        batches: cycles, arrived packets and the sum of their latencies, of each period of the window, int64
            array, (periods, 3); latencies are in cycles (credit) or ticks (drop).
        batch_hops: links between routers that the arrived packets of each period took, int64 array.
        batch_paths: cycles of these links, int64 array.
        batch_drops: packets that were lost or dropped in each period of the window, int64 array.
        packet_hops: packets that passed a link between routers, over all cycles.
        seconds: wall time of the kernel.
        deadlock: deadlock that ended the simulation, or None.
        interrupted: whether it was interrupted.
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
