"""Manifests of sweeps of simulations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from experiments.codec import omitted
from experiments.results.manifest import Origin, origin, simulation_versions
from experiments.results.parts.swept_values import SweptSettings, swept_values
from experiments.spec.options import SIMULATED_SWEEP, SIMULATION
from experiments.spec.simulation.model import RouterRecord, fault_settings, router_record
from experiments.spec.simulation.resolve import SimulatedSweep
from topology.parameters import Value

_BY_ROUTING = "that of the routing"


@dataclass(frozen=True, kw_only=True)
class SimulatedSweepSettings(SweptSettings):
    """Settings that all points of a sweep of simulations share, and the points that were asked for.

    Attributes:
        routers: settings of routers and links.
        arrivals: arrival process: poisson, bernoulli or constant.
        seed: seed of the random generator; of replications the first.
        warmup_cycles: cycles before the window; null where it begins once the state is steady.
        window_cycles: cycles of the window.
        faults, faults_asked, replan_cycles: as `traffic` in the manifest of a simulation.
        routings, patterns, loads: values that the sweep goes over, each with each.
        repeat: replications of each point.
        ordered_repair: whether fast reroute keeps to an order of channels, so that failures bring no circle.
        vary: key of `--vary` -> further values that the sweep goes over; a setting that varies is that of the
            first point here. Absent if there is none.
    """

    kind = SIMULATED_SWEEP

    routers: RouterRecord
    arrivals: str
    seed: int
    warmup_cycles: int | None
    window_cycles: int
    routings: tuple[str, ...]
    patterns: tuple[str, ...]
    loads: tuple[float, ...]
    repeat: int = 1
    ordered_repair: bool = False
    faults: tuple[str, ...] | None = omitted()
    faults_asked: str | None = omitted()
    replan_cycles: int | str | None = omitted()
    vary: Mapping[str, tuple[Value, ...]] | None = omitted()

    def shared(self) -> dict[str, object]:
        """Returns the settings that all points share by name, those of the routers included."""
        values = super().shared()
        del values["routers"]
        return {**values, **vars(self.routers)}


@dataclass(frozen=True, kw_only=True)
class SimulatedSweepManifest(Origin):
    """Manifest of a sweep of simulations.

    Attributes:
        engine: `simulation`; manifests of sweeps of real packets have no such key.
        name: family of the topology, as on the command line.
        params: parameters of the topology.
        hosts: p, hosts attached to each router that has any.
        sweep: settings of the sweep.
    """

    engine: str = SIMULATION
    name: str
    params: Mapping[str, Value]
    hosts: int
    sweep: SimulatedSweepSettings


def simulated_settings(chosen: SimulatedSweep) -> SimulatedSweepSettings:
    """Returns the settings that the points of a sweep of simulations share.

    Args:
        chosen: specification of the sweep.
    """
    first, sweep = chosen.points[0][1], chosen.sweep
    decision = first.fabric.decision or _BY_ROUTING
    return SimulatedSweepSettings(
        routers=replace(router_record(first.fabric), decision=decision),
        arrivals=first.packets.arrivals,
        seed=first.traffic.seed,
        warmup_cycles=first.packets.times.warmup,
        window_cycles=first.packets.times.window,
        **swept_values(sweep),
        ordered_repair=first.fabric.ordered_repair,
        **fault_settings(first.packets),
    )


def simulated_manifest(chosen: SimulatedSweep) -> SimulatedSweepManifest:
    """Returns the manifest of a sweep of simulations that starts now on this machine.

    Args:
        chosen: specification of the sweep.
    """
    settings, fabric = simulated_settings(chosen), chosen.fabric
    return SimulatedSweepManifest(
        **origin(settings.seed, simulation_versions(), chosen.experiment),
        name=fabric.name,
        params=dict(fabric.params),
        hosts=fabric.hosts,
        sweep=settings,
    )
