"""Comparison of results of the same kind."""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name
from shlex import quote

from experiments.comparison.model import Comparison
from experiments.results.kinds import Results, folder_of
from experiments.results.open import Run, SimulatedSweep, Simulation, Sweep, open_results
from experiments.results.tables import reporting_corruption
from topology.errors import ParameterError


def compare(*results: Results | Path | str) -> Comparison:
    """Compares results of runs, simulations, sweeps or failovers.

    Args:
        results: at least two results of the same kind, or their folders.

    Raises:
        ParameterError: there are fewer than two results, a result occurs twice or is incomplete, or their
            kinds differ.

    Examples:
        With the results of two runs in results/tornado and results/uniform:

        >>> found = compare("results/tornado", "results/uniform")
        >>> found.differing["load"], found.results["accepted"]
        ([0.3, 0.2], [0.314286, 0.217715])
    """
    folders = [folder_of(one) for one in results]
    if len(folders) < 2:
        raise ParameterError(f"a comparison needs two runs or more, got {len(folders)}")
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise ParameterError("runs must be different, got one twice")
    opened = [open_results(folder) for folder in folders]
    kind = opened[0].kind
    for one in opened:
        if one.kind != kind:
            raise ParameterError(
                f"results must be of the same kind, got a {kind.name} ({folders[0]}) "
                f"and a {one.kind.name} ({one.folder}){_instead(opened[0], one)}"
            )
    compare_kind = resolve_name(kind.compare)
    with reporting_corruption(*folders):
        comparison: Comparison = compare_kind(opened)
    return comparison


def _instead(*both: Results) -> str:
    """Returns the end of a message: how else two results can be compared; empty if there is no way."""
    measured = [one.folder for one in both if isinstance(one, Run | Sweep)]
    if len(measured) == 1 and any(isinstance(one, Simulation | SimulatedSweep) for one in both):
        return (
            f"; `polarlab crosscheck {quote(str(measured[0]))}` repeats the packets of measured results in "
            "the simulator"
        )
    return ""
