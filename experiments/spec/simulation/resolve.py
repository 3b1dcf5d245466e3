"""Conversion of an experiment's values to typed specifications of simulations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from experiments.spec.collective import parse_sizes
from experiments.spec.experiment import Experiment
from experiments.spec.fabric import FabricOptions, fabric_options
from experiments.spec.files.experiment_file import kept_content
from experiments.spec.options import COLLECTIVE, SIMULATE, SIMULATED_SWEEP, STEADY, TRACE, options_of
from experiments.spec.simulation.applications import (
    SimulatedApplication,
    SimulatedTrace,
    check_application,
    check_trace,
)
from experiments.spec.simulation.model import (
    SimulatedTraffic,
    check_simulation,
)
from experiments.spec.sweep import Point, SweepOptions, sweep_options, values_at
from experiments.spec.traffic import asked_faults, read_faults
from experiments.spec.values import check_seeds, from_options
from simulation.settings import Times
from topology.errors import UsageError
from topology.faults import CYCLES

_FAULT_PERIOD = 100  # cycles; short enough that repairs are visible over time
# Number of periods in a window without faults, and their maximum length in cycles.
_PERIODS, _LONGEST_PERIOD = 30, 1000


@dataclass(frozen=True)
class Simulation:
    """Traffic on a fabric of simulated routers, and the number of replications, each with its own seed."""

    fabric: FabricOptions
    traffic: SimulatedTraffic | SimulatedApplication | SimulatedTrace
    repeat: int = 1

    @property
    def packets(self) -> SimulatedTraffic:
        """The traffic as synthetic packets; raises TypeError for applications, which sweeps do not have."""
        if not isinstance(self.traffic, SimulatedTraffic):
            raise TypeError(f"traffic must be packets of a pattern, got {type(self.traffic).__name__}")
        return self.traffic


@dataclass(frozen=True)
class SimulatedSweep:
    """Simulations of one graph: the swept values, and the simulation of each point."""

    sweep: SweepOptions
    points: tuple[tuple[Point, Simulation], ...]
    experiment: Mapping[str, Any]  # as kept in manifests

    @property
    def fabric(self) -> FabricOptions:
        """The fabric of the first point."""
        return self.points[0][1].fabric


def simulation_of(experiment: Experiment, values: Mapping[str, Any]) -> Simulation:
    """Returns the checked specification of a simulation.

    Args:
        experiment: the experiment.
        values: option -> value, complete.

    Raises:
        UsageError: options contradict each other.
        ParameterError: a value is outside its domain.
    """
    fabric = fabric_options(experiment, values)
    if experiment.traffic_kind == TRACE:
        trace = from_options(SimulatedTrace, values)
        check_trace(trace, fabric)
        return Simulation(fabric, trace)
    if experiment.traffic_kind == COLLECTIVE:
        sizes = parse_sizes(values["message-bytes"])
        application = from_options(SimulatedApplication, values, message_bytes=sizes)
        check_application(application, fabric)
        return Simulation(fabric, application)
    warmup, faults = None if values["warmup"] == STEADY else values["warmup"], values.get("faults")
    if faults and warmup is None:
        raise UsageError("--faults needs a warm-up of fixed length; give --warmup in cycles")
    window = values["cycles"]
    period = _FAULT_PERIOD if faults else min(_LONGEST_PERIOD, max(1, window // _PERIODS))
    times = Times(warmup=warmup, window=window, period=period)
    traffic = from_options(
        SimulatedTraffic,
        values,
        load=values.get("load", 1.0),
        times=times,
        faults=read_faults(
            faults, fabric.topology, values["seed"], (warmup or 0) + times.window, unit=CYCLES
        ),
        faults_asked=asked_faults(faults),
    )
    check_simulation(fabric, traffic)
    repeat = values.get("repeat", 1)
    check_seeds("replications", traffic.seed, repeat)
    return Simulation(fabric, traffic, repeat)


def simulated_sweep_of(experiment: Experiment, values: Mapping[str, Any]) -> SimulatedSweep:
    """Returns a checked sweep of simulations; each point is what `polarlab simulate` would run.

    Args:
        experiment: the experiment.
        values: option -> value, complete.
    """
    sweep, points = sweep_options(values, SIMULATED_SWEEP), []
    names = {option.name for option in options_of(SIMULATE, experiment.family)} - {"out"}
    for point in sweep.points():
        own = {name: value for name, value in values_at(point, values).items() if name in names}
        one = Experiment(SIMULATE, own, graph=experiment.graph)
        # Shared: building a large graph takes seconds, and all points must read the same files.
        vars(one).update(topology=experiment.topology, inputs=experiment.inputs)
        points.append((point, simulation_of(one, one.complete_values)))
    return SimulatedSweep(sweep, tuple(points), kept_content(experiment))
