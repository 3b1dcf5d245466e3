"""Manifests of simulated sweeps."""

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
    """Settings shared by all points of a simulated sweep, and the requested points.

    Attributes:
        routers: settings of routers and links.
        arrivals: arrival process: poisson, bernoulli or constant.
        seed: seed of the random generator; with replications, the first seed.
        warmup_cycles: length of the warm-up in cycles; null if it lasts until the steady state.
        window_cycles: length of the window in cycles.
        faults, faults_asked, replan_cycles: see `traffic` in the manifest of a simulation.
        routings, patterns, loads: swept values; points are all their combinations.
        repeat: number of replications of each point.
        ordered_repair: whether fast reroute follows an order of channels, so that failures cause no cyclic
            dependency between channels.
        vary: key of `--vary` -> further swept values; absent if there are none. A varied setting's
            own key, for example in `routers`, has its value at the first point.
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
        """Returns name -> value of the settings that all points share, including settings of the routers."""
        values = super().shared()
        del values["routers"]
        return {**values, **vars(self.routers)}


@dataclass(frozen=True, kw_only=True)
class SimulatedSweepManifest(Origin):
    """Manifest of a simulated sweep.

    Attributes:
        engine: `simulation`; manifests of sweeps with real packets lack this key.
        name: family of the topology, as on the command line.
        params: parameters of the topology.
        hosts: p, the number of hosts attached to each router that has any.
        sweep: settings of the sweep.
        sessions: start times of the sweep and of each resumption, in order; absent if it was not resumed.
    """

    engine: str = SIMULATION
    name: str
    params: Mapping[str, Value]
    hosts: int
    sweep: SimulatedSweepSettings
    sessions: tuple[str, ...] | None = omitted()


def simulated_settings(chosen: SimulatedSweep) -> SimulatedSweepSettings:
    """Returns the shared settings of all points of a simulated sweep.

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
    """Returns the manifest of a simulated sweep that starts now on this machine.

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
