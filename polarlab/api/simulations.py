"""Simulations, saturation and crosschecks; none of these needs root."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, cast

from experiments.events.base import OnEvent, ignore
from experiments.events.pace import paced
from experiments.results.kinds import Results, folder_of
from experiments.results.open import Simulation
from experiments.results.parts.crosscheck import Crosscheck
from experiments.simulation.model import Saturation, SaturationInterrupted
from experiments.spec.options import RUN, SATURATION, SIMULATE
from experiments.spec.simulation.resolve import Simulation as SimulationSpecification
from polarlab.api.arguments import keywords_in_errors
from polarlab.api.keywords import takes_options
from polarlab.api.requests import Folder, Subject, request_of
from topology.errors import UsageError
from topology.registry import FAMILIES

if TYPE_CHECKING:
    from polarlab.api.keyword_types import CrosscheckKeywords, SaturationKeywords, SimulateKeywords

__all__ = ["SaturationInterrupted"]  # for callers that print the loads tried so far


@takes_options(SIMULATE)
def simulate(
    experiment: Subject | None = None,
    /,
    *,
    again: Results | Folder | None = None,
    out: Folder | None = None,
    progress: OnEvent = ignore,
    **options: Unpack[SimulateKeywords],
) -> Simulation:
    """Simulates the packets of one experiment with the plan of its routing, and returns the results.

    Args:
        experiment: family of the topology, such as `polarfly`; a graph; the file of an experiment (.toml); an
            Experiment; or results, or their folder, to simulate again.
        again: results to simulate again, or their folder, instead of `experiment`; other options change the
            experiment.
        out: folder of the results; by default a new one in results/.
        progress: callback for progress events, at most one every 5 s during a long activity; `print` works.
        options: parameters of the family and options of `polarlab simulate` by name with underscores,
            such as `q=7, hosts=4, routing="ugal-pf", pattern="tornado", load=0.5, virtual_channels=4`; they
            override those of a file.

    Raises:
        UsageError: an option does not exist, is outside its domain, or makes no sense for this fabric.
        NegativeResult: the packets deadlocked; the folder has the results until then.
        KeyboardInterrupt: Ctrl-C; the folder has the measurements until then.

    Examples:
        >>> found = simulate("polarfly", q=3, pattern="tornado", load=0.3, cycles=1000, out="results/er3")
        >>> found.stable, round(found.summary.accepted, 2), found.summary.hops_mean
        (True, 0.31, 1.6987)
    """
    with keywords_in_errors(experiment):
        request = request_of(SIMULATE, experiment, options, again=again, out=out)
        one = cast(SimulationSpecification, request.resolve())
        from experiments.simulation.simulate import run_simulation

        folder = request.folder(one, out)
        run_simulation(one, folder, paced(progress))
        return Simulation(folder)


@takes_options(SATURATION)
def saturation(
    experiment: Subject, /, *, progress: OnEvent = ignore, **options: Unpack[SaturationKeywords]
) -> Saturation:
    """Returns the highest stable load of a simulated network, found by bisection.

    A load is stable if at least 0.99 of it is accepted and the mean latency is under 500 cycles.

    Args:
        experiment: family of the topology; a graph; the file of a simulation (.toml); an Experiment; or
            results of a simulation, or their folder.
        progress: callback for progress events, at most one every 5 s during a long activity; `print` works.
        options: those of `simulate` except the load, and `precision`, the resolution of the bisection, 0.01
            by default.

    Raises:
        UsageError: as for `simulate`.
        KeyboardInterrupt: Ctrl-C; the exception's `result` has the loads that were tried until then.

    Examples:
        >>> saturation("polarfly", q=3, pattern="tornado", cycles=1000, precision=0.1)
        <Saturation of min under tornado: 0.5, 3 loads tried>
    """
    with keywords_in_errors(experiment):
        request = request_of(SATURATION, experiment, options)
        one = cast(SimulationSpecification, request.resolve())
        from experiments.simulation.saturation import find_saturation

        return find_saturation(one, request.complete_values["precision"], paced(progress))


@takes_options(RUN)
def crosscheck(
    results: Subject, /, *, progress: OnEvent = ignore, **options: Unpack[CrosscheckKeywords]
) -> Crosscheck:
    """Compares measured points with a simulation of the same packets, and with theory.

    Args:
        results: a run or a sweep of a traffic pattern, or its folder; or, to measure it first, an argument of
            `polarlab.run`: family of the topology, a graph, an Experiment or its file.
        progress: callback for progress events; `print` works.
        options: parameters of the family and options of `polarlab run`, to measure first.

    Raises:
        ParameterError: the results are of a different kind, or cannot be simulated.
        UsageError: an option is given together with results, or cannot be run.
        MachineError: packets are to be measured, and this process does not run as root.

    Examples:
        With the results of a run in results/tornado:

        >>> crosscheck("results/tornado")
        <Crosscheck of results/tornado: 1 points>
    """
    if isinstance(results, Results) or (isinstance(results, str | os.PathLike) and _names_results(results)):
        folder = results if isinstance(results, Results) else Path(results)
        if options:
            name = next(iter(options))
            raise UsageError(f"{folder_of(folder)} has been measured; leave out {name}, an option of a run")
    else:
        from polarlab.api.experiments import run

        folder = run(results, progress=progress, **options)
    # After the measurement, which must not wait for a compiler.
    from experiments.simulation.crosscheck import crosscheck as crosscheck_folder

    return crosscheck_folder(folder_of(folder), progress)


def _names_results(subject: Folder) -> bool:
    """Returns whether a subject names results, rather than a family or the file of an experiment."""
    return subject not in FAMILIES and Path(subject).suffix != ".toml"
