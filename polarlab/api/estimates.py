"""Estimates of experiments: points, time and memory, before anything is run or written."""

from __future__ import annotations

from dataclasses import replace

from experiments.points.estimate import (
    Estimate,
    Work,
    estimate_measurements,
    estimate_simulations,
    work_of,
)
from experiments.points.loads import LoadSteps, max_loads_left
from experiments.simulation.replications import replications_of
from experiments.simulation.sweep import estimate_simulated_sweep
from experiments.spec.experiment import Experiment
from experiments.spec.options import SATURATION, noun_of
from experiments.spec.resolve import Sweep
from experiments.spec.simulation.model import SimulatedTraffic
from experiments.spec.simulation.resolve import SimulatedSweep, Simulation
from topology.errors import UsageError


def estimate(experiment: Experiment, workers: int | None = None) -> Estimate:
    """Estimates the points, time and memory that an experiment would need; nothing is run or written.

    Args:
        experiment: a sweep, a simulation, or a search for saturation.
        workers: local processes that simulate points of a sweep; None for one per core.

    Raises:
        UsageError: the experiment is of a different kind or cannot be resolved, or its folder has results of
            a different sweep.
    """
    one = experiment.resolve()
    if isinstance(one, Sweep):
        return estimate_measurements(one.points, one.sweep, experiment.folder(one))
    if isinstance(one, SimulatedSweep):
        return estimate_simulated_sweep(one, experiment.folder(one), workers)
    if not isinstance(one, Simulation):
        raise UsageError(
            f"an estimate needs a sweep, a simulation or a saturation, got a {noun_of(experiment.kind)}"
        )
    traffic = one.traffic
    if not isinstance(traffic, SimulatedTraffic):
        return estimate_simulations([Work(one.fabric, None, one.repeat)], one.repeat, one.repeat, 1)
    if experiment.declared_kind == SATURATION:
        loads = LoadSteps(experiment.complete_values["precision"], steps=0)
        count = max_loads_left(loads, {})
        return estimate_simulations([Work(one.fabric, replace(traffic, load=0.5), count)], count, count, 1)
    work = work_of(one.fabric, [part.packets for part in replications_of(one)])
    return estimate_simulations([work], work.count, work.count, 1)
