"""Comparison of folders of results of one kind: runs, simulations, sweeps, failovers or series of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.comparison.failovers import compare_failovers, compare_series
from experiments.comparison.model import Comparison
from experiments.comparison.runs import compare_runs, compare_simulations
from experiments.comparison.sweeps import compare_simulated_sweeps, compare_sweeps
from experiments.results.open import Failover, Failovers, Run, SimulatedSweep, Simulation, Sweep, open_results
from experiments.results.tables import damage_named
from topology.errors import ParameterError

# Each kind of results: its name, and the function that compares some of them under given names.
_KINDS: Mapping[type, tuple[str, Callable[[Sequence[str], Sequence[Any]], Comparison]]] = {
    Run: ("run", compare_runs),
    Simulation: ("simulation", compare_simulations),
    Sweep: ("sweep", compare_sweeps),
    SimulatedSweep: ("sweep of simulations", compare_simulated_sweeps),
    Failover: ("failover", compare_failovers),
    Failovers: ("series of failovers", compare_series),
}


def compare(folders: Sequence[Path]) -> Comparison:
    """Returns the results of some folders side by side.

    Args:
        folders: at least two folders of runs, of simulations, of sweeps, of failovers, or of series of
            failovers.

    Raises:
        ParameterError: there are fewer than two, one is named twice, one does not hold complete results, or
            they are of different kinds.
    """
    if len(folders) < 2:
        raise ParameterError(f"a comparison needs two runs or more, got {len(folders)}")
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise ParameterError("a run is named twice")
    results = [open_results(folder) for folder in folders]
    kind, compare_kind = _KINDS[type(results[0])]
    for folder, result in zip(folders, results, strict=True):
        other = _KINDS[type(result)][0]
        if other != kind:
            raise ParameterError(
                f"results must be of one kind to be compared, got a {kind} ({folders[0]}) "
                f"and a {other} ({folder})"
            )
    with damage_named(*folders):
        return compare_kind(_names(folders), results)


def _names(folders: Sequence[Path]) -> tuple[str, ...]:
    """Returns the folders' last names, or their whole paths where two last names are the same."""
    short = tuple(folder.resolve().name for folder in folders)
    return short if len(set(short)) == len(short) else tuple(map(str, folders))
