"""Saturation: the highest stable load of a network of simulated routers, by bisection."""

from __future__ import annotations

from dataclasses import replace

from experiments.events.base import OnEvent
from experiments.events.notices import Notice
from experiments.planned_fabric import PlannedFabric
from experiments.points.engine import do_points
from experiments.points.in_turn import InTurn
from experiments.points.loads import LoadSteps, max_loads_left, next_loads
from experiments.results.manifest import simulation_versions
from experiments.results.simulation.record import SimulationRecord
from experiments.results.simulation.summary import (
    is_stable,
    latency_quantiles,
    offered_and_accepted,
    settings,
)
from experiments.simulation.model import LoadPoint, Saturation, SaturationInterrupted
from experiments.simulation.points import SimulatedGroup
from experiments.simulation.simulate import simulate_traffic
from experiments.spec.fabric import FabricOptions
from experiments.spec.simulation.model import SimulatedTraffic
from experiments.spec.simulation.resolve import Simulation
from topology.errors import Terminated

# Cycles after the window in which its packets may arrive: ten times the latency of a stable network.
_MAX_DRAIN = 5000


def find_saturation(simulation: Simulation, precision: float, on_event: OnEvent) -> Saturation:
    """Searches for the highest stable load of a network.

    Args:
        simulation: specification of fabric and traffic; its load is ignored.
        precision: distance between the loads that are tried, over 0 and at most 0.5.
        on_event: called with each event.

    Raises:
        UsageError: an option makes no sense for this fabric.
        SaturationInterrupted: Ctrl-C, or a signal; the exception has the loads tried so far.
    """
    search = _Bisection(simulation, precision, on_event)
    try:
        with InTurn(on_event) as in_turn:
            do_points([search], in_turn)
    except (KeyboardInterrupt, Terminated):
        if not search.is_planned:
            raise
        raise SaturationInterrupted(search.result(interrupted=True)) from None
    return search.result()


class _Bisection(SimulatedGroup[float, LoadPoint]):
    """Bisection for the highest stable load; its points are the loads to simulate, in the order of trial."""

    def __init__(self, simulation: Simulation, precision: float, on_event: OnEvent) -> None:
        self.fabric = simulation.fabric
        traffic = simulation.packets
        self._traffic = replace(traffic, times=replace(traffic.times, most_drain=_MAX_DRAIN))
        self._loads, self._points = LoadSteps(precision, steps=0), list[LoadPoint]()
        self._on_event = on_event
        self.is_planned = False

    @property
    def _tried(self) -> dict[float, bool]:
        return {point.load: point.stable for point in self._points}

    def wanted(self, ahead: int = 1) -> list[float]:
        """Returns the next loads to try.

        The first one lies halfway between the highest stable load and the lowest saturated load. Each further
        load is one that would come next after one of the possible outcomes of the loads before it.

        Args:
            ahead: number of loads to return.
        """
        return next_loads(self._loads, self._tried, ahead)

    @property
    def left(self) -> int:
        """Upper bound on the number of loads that are still to be tried."""
        return max_loads_left(self._loads, self._tried)

    def simulation(self, point: float) -> tuple[FabricOptions, SimulatedTraffic]:
        """Returns the fabric and the traffic at a load."""
        return self.fabric, replace(self._traffic, load=point)

    def do(self, fabric: PlannedFabric, point: float) -> LoadPoint:
        """Simulates a load and reports its progress."""
        self.is_planned = True
        record = simulate_traffic(fabric, self.simulation(point)[1], self._on_event)
        if record.result.interrupted:
            raise KeyboardInterrupt
        return self.condense(point, record)

    def condense(self, point: float, record: SimulationRecord) -> LoadPoint:
        """Returns the offered and accepted load, the latency and the stability of a simulation."""
        result, (offered, accepted) = record.result, offered_and_accepted(record)
        return LoadPoint(
            load=point,
            offered=offered,
            accepted=accepted,
            latency_cycles=latency_quantiles(result).mean,
            stable=is_stable(result),
            deadlock=result.deadlock is not None,
        )

    def keep(self, point: float, outcome: LoadPoint, _seconds_left: float | None) -> None:
        """Records and reports a load."""
        self._points.append(outcome)
        self._on_event(
            Notice(
                "load-tried",
                load=point,
                accepted=outcome.accepted,
                latency_cycles=outcome.latency_cycles,
                stable=outcome.stable,
            )
        )

    def result(self, *, interrupted: bool = False) -> Saturation:
        """Returns the result of the search, from the loads tried so far."""
        return Saturation(
            **settings(self.fabric),
            pattern=self._traffic.pattern,
            endpoints=self.fabric.topology.endpoints(self.fabric.hosts),
            arrivals=self._traffic.arrivals,
            window_cycles=self._traffic.times.window,
            saturation=max((point.load for point in self._points if point.stable), default=0.0),
            precision=self._loads.precision,
            points=tuple(self._points),
            seed=self._traffic.seed,
            versions=simulation_versions(),
            interrupted=True if interrupted else None,
        )
