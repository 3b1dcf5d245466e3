"""Confidence intervals of a single simulation by the method of batch means.

The periods of the window are merged into batches of equal length. The means of long batches are nearly
independent, so that Student's t gives the interval of their mean [A. M. Law, Simulation Modeling and
Analysis, section 9.5.3]. Independence is judged by the autocorrelation of adjacent batches.
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

MIN_BATCHES, MAX_BATCHES = 10, 30
MAX_AUTOCORRELATION = 0.2
# If the shortest batches are correlated more strongly than this, longer batches are not tried: 10 batches of
# three times the length are still correlated, but too few to show it.
_MAX_INITIAL_CORRELATION = 0.5
# Batch lengths to try, as multiples of the shortest: they give 30, 15 and 10 batches.
_MERGED = (1, 2, 3)

Float64 = npt.NDArray[np.float64]


def batch_means(record: SimulationRecord) -> BatchMeans | None:
    """Returns means over batches of a simulation's window.

    The result is None if the window has too few periods, or the simulation is not stationary. Simulations
    with faults or applications are not: faults change the network during the window, and applications end.

    Args:
        record: the simulation.
    """
    if not isinstance(record.traffic, SimulatedTraffic) or record.traffic.faults:
        return None
    routers, result = record.fabric.options.routers, record.result
    cycles = result.batches[:, 0]
    whole = cycles == record.traffic.times.period
    if whole.sum() < MIN_BATCHES:
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
    """Returns, for each period, the sum of its packets' zero-load latencies in cycles.

    Latencies of links are not included.

    Args:
        packets: number of packets in each period.
        hops: sum of these packets' hops, in each period.
        routers: settings of routers and links.
    """
    none, one = (unloaded_cycles(count, routers, path_cycles=0) for count in (0, 1))
    return np.asarray(packets * none + hops * (one - none), np.float64)


def batch_interval(sums: Float64, weights: Float64, period: int) -> BatchInterval | None:
    """Returns the confidence interval of a ratio of sums, by batch means.

    The batches are the shortest ones whose means are nearly independent.

    Args:
        sums: float64 array, one entry per period, at least MIN_BATCHES: the numerator in each period.
        weights: float64 array, one entry per period: the denominator in each period.
        period: length of a period in cycles.

    Returns:
        The interval, without `ci95` if all batches that were tried are correlated; None if there are no
        batches with a positive denominator.
    """
    found: BatchInterval | None = None
    for length, values in _batches(sums, weights):
        interval = interval_of(values.tolist())
        assert interval is not None
        dependence = _autocorrelation(values)
        independent = dependence is None or dependence <= MAX_AUTOCORRELATION
        found = BatchInterval(
            interval.mean,
            interval.ci95 if independent else None,
            interval.values,
            batch_cycles=length * period,
            autocorrelation=None if dependence is None else round(dependence, 6),
        )
        if independent or (dependence is not None and dependence > _MAX_INITIAL_CORRELATION):
            break
    return found


def _batches(sums: Float64, weights: Float64) -> Iterator[tuple[int, Float64]]:
    """Yields (periods per batch, mean of each batch) for longer and longer batches.

    If the periods cannot be divided evenly into batches, the first periods are left out.
    """
    first = -(-len(sums) // MAX_BATCHES)
    for merged in _MERGED:
        length = first * merged
        count = len(sums) // length
        if count < MIN_BATCHES:
            return
        tops, bottoms = (
            values[len(values) - count * length :].reshape(count, length).sum(axis=1)
            for values in (sums, weights)
        )
        if np.all(bottoms > 0):
            yield length, tops / bottoms


def _autocorrelation(values: Float64) -> float | None:
    """Returns the lag-1 autocorrelation of values; None if all are equal."""
    deviations = values - values.mean()
    variance = float((deviations**2).sum())
    if variance <= 1e-18 * max(1.0, float((values**2).sum())):
        return None
    return float((deviations[1:] * deviations[:-1]).sum()) / variance
