"""Saturation: the greatest load that a network of simulated routers carries, by bisection."""

from __future__ import annotations

from dataclasses import replace

from experiments.events.base import Notify
from experiments.events.notices import Notice
from experiments.results.manifest import simulation_versions
from experiments.results.simulation.record import SimulatedFabricRecord
from experiments.results.simulation.summary import (
    is_stable,
    latency_quantiles,
    offered_and_accepted,
    settings,
)
from experiments.simulation.fabric import prepare_fabric
from experiments.simulation.model import LoadPoint, Saturation, SaturationInterrupted
from experiments.simulation.simulate import simulate_traffic
from experiments.spec.simulation.model import SimulatedTraffic
from experiments.spec.simulation.resolve import Simulation
from topology.exit_status import Terminated

# Cycles after the window in which its packets may arrive: ten times the latency of a stable network.
_MOST_DRAIN = 5000


def find_saturation(simulation: Simulation, precision: float, notify: Notify) -> Saturation:
    """Returns the greatest load that a network carries.

    Args:
        simulation: specification of fabric and traffic; its load does not count.
        precision: distance between the loads that are tried, over 0 and at most 0.5.
        notify: takes the events.

    Raises:
        UsageError: an option makes no sense for this fabric.
        SaturationInterrupted: Ctrl-C, or a signal; it has the loads that were tried until then.
    """
    assert isinstance(simulation.traffic, SimulatedTraffic)  # the command has no applications
    fabric = prepare_fabric(simulation.fabric, notify)
    times = replace(simulation.traffic.times, most_drain=_MOST_DRAIN)
    traffic = replace(simulation.traffic, times=times)
    points: list[LoadPoint] = []
    carried, beyond = 0, int(1 / precision + 1e-9) + 1
    try:
        while beyond - carried > 1:
            middle = (carried + beyond) // 2
            point = _tried(fabric, replace(traffic, load=round(middle * precision, 9)), notify)
            points.append(point)
            notify(
                Notice(
                    "load-tried",
                    load=point.load,
                    accepted=point.accepted,
                    latency_cycles=point.latency_cycles,
                    stable=point.stable,
                )
            )
            carried, beyond = (middle, beyond) if point.stable else (carried, middle)
    except (KeyboardInterrupt, Terminated):
        found = _result(fabric, traffic, precision, points, interrupted=True)
        raise SaturationInterrupted(found) from None
    return _result(fabric, traffic, precision, points)


def _tried(fabric: SimulatedFabricRecord, traffic: SimulatedTraffic, notify: Notify) -> LoadPoint:
    record = simulate_traffic(fabric, traffic, notify)
    if record.result.interrupted:
        raise KeyboardInterrupt
    result, (offered, accepted) = record.result, offered_and_accepted(record)
    return LoadPoint(
        load=traffic.load,
        offered=offered,
        accepted=accepted,
        latency_cycles=latency_quantiles(result).mean,
        stable=is_stable(result),
        deadlock=result.deadlock is not None,
    )


def _result(
    fabric: SimulatedFabricRecord,
    traffic: SimulatedTraffic,
    precision: float,
    points: list[LoadPoint],
    *,
    interrupted: bool = False,
) -> Saturation:
    return Saturation(
        **settings(fabric.options),
        pattern=traffic.pattern,
        endpoints=fabric.tables.hosts,
        arrivals=traffic.arrivals,
        window_cycles=traffic.times.window,
        saturation=max((point.load for point in points if point.stable), default=0.0),
        precision=precision,
        points=tuple(points),
        seed=traffic.seed,
        versions=simulation_versions(),
        interrupted=True if interrupted else None,
    )
