"""Intervals of a single simulation by the method of batch means.

The periods of the window are put together to batches of equal length, whose means are nearly independent if
the batches are long; Student's t then gives the interval of the mean [A. M. Law, Simulation Modeling and
Analysis, section 9.5.3]. Independence is judged by the autocorrelation of neighbouring batches.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from experiments.results.replications import interval_of
from experiments.results.simulation.model import BatchInterval, BatchMeans
from experiments.results.simulation.record import SimulationRecord
from experiments.spec.simulation.model import SimulatedTraffic
from simulation.settings import RouterSettings
from simulation.timing import unloaded_cycles

LEAST_BATCHES, MOST_BATCHES = 10, 30
MOST_AUTOCORRELATION = 0.2
# Where the first batches depend on one another more than this, 10 of three times the length do so as well,
# and are too few to show it.
_MOST_AT_FIRST = 0.5
# Lengths of a batch that are tried, in those of the first: with 30 batches, 15 and 10 come next.
_MERGED = (1, 2, 3)

Float64 = npt.NDArray[np.float64]


def batch_means(record: SimulationRecord) -> BatchMeans | None:
    """Returns the intervals of a simulation; None of one that is not stationary, or has too few periods.

    Faults change what is measured in the course of the window, and applications come to an end.

    Args:
        record: the simulation.
    """
    if not isinstance(record.traffic, SimulatedTraffic) or record.traffic.faults:
        return None
    routers, result = record.fabric.options.routers, record.result
    cycles = result.batches[:, 0]
    whole = cycles == record.traffic.times.period
    if whole.sum() < LEAST_BATCHES:
        return None
    cycles, packets, latency = result.batches[whole].T.astype(np.float64)
    latency = latency / routers.latency_units
    without_links = _cycles_without_links(packets, result.batch_hops[whole], routers)
    queueing = latency - without_links - result.batch_paths[whole]
    capacity = cycles * record.fabric.tables.hosts / routers.packet_flits
    period = record.traffic.times.period
    return BatchMeans(
        accepted=batch_interval(packets, capacity, period),
        latency_mean_cycles=batch_interval(latency, packets, period),
        queueing_frame_times=batch_interval(queueing, packets * routers.packet_flits, period),
    )


def _cycles_without_links(packets: Float64, hops: npt.NDArray[np.int64], routers: RouterSettings) -> Float64:
    """Returns the latencies of packets that wait for nothing, summed, but for the links between routers."""
    none, one = (unloaded_cycles(count, routers, path_cycles=0) for count in (0, 1))
    return np.asarray(packets * none + hops * (one - none), np.float64)


def batch_interval(sums: Float64, weights: Float64, period: int) -> BatchInterval | None:
    """Returns the interval of a mean, of the shortest batches that are nearly independent.

    Args:
        sums: sum of each period: float64 array, (periods,), at least LEAST_BATCHES.
        weights: number over which each is a mean: float64 array, (periods,).
        period: cycles of a period.

    Returns:
        The interval, without `ci95` if the batches depend on one another even at the longest length that
        leaves LEAST_BATCHES; None if there is nothing to take the mean of.
    """
    found: BatchInterval | None = None
    for length, values in _batches(sums, weights):
        interval = interval_of(values.tolist())
        assert interval is not None
        dependence = _autocorrelation(values)
        independent = dependence is None or dependence <= MOST_AUTOCORRELATION
        found = BatchInterval(
            interval.mean,
            interval.ci95 if independent else None,
            interval.values,
            batch_cycles=length * period,
            autocorrelation=None if dependence is None else round(dependence, 6),
        )
        if independent or (dependence is not None and dependence > _MOST_AT_FIRST):
            break
    return found


def _batches(sums: Float64, weights: Float64) -> Iterator[tuple[int, Float64]]:
    """Yields periods of a batch, and means of the batches, ever fewer; the first periods may be left out."""
    first = -(-len(sums) // MOST_BATCHES)
    for merged in _MERGED:
        length = first * merged
        count = len(sums) // length
        if count < LEAST_BATCHES:
            return
        tops, bottoms = (
            values[len(values) - count * length :].reshape(count, length).sum(axis=1)
            for values in (sums, weights)
        )
        if np.all(bottoms > 0):
            yield length, tops / bottoms


def _autocorrelation(values: Float64) -> float | None:
    """Returns the lag-1 autocorrelation of values; None if all are the same."""
    deviations = values - values.mean()
    variance = float((deviations**2).sum())
    if variance <= 1e-18 * max(1.0, float((values**2).sum())):
        return None
    return float((deviations[1:] * deviations[:-1]).sum()) / variance
