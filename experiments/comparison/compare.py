"""Comparison of results of one kind, whatever the kind."""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name

from experiments.comparison.model import Comparison
from experiments.results.kinds import Results, folder_of
from experiments.results.open import open_results
from experiments.results.tables import damage_named
from topology.errors import ParameterError


def compare(*results: Results | Path | str) -> Comparison:
    """Returns the results of runs, of simulations, of sweeps or of failovers side by side.

    Args:
        results: at least two results of one kind, or their folders.

    Raises:
        ParameterError: there are fewer than two, one is named twice, one is not complete, or they are of
            different kinds.
    """
    folders = [folder_of(one) for one in results]
    if len(folders) < 2:
        raise ParameterError(f"a comparison needs two runs or more, got {len(folders)}")
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise ParameterError("a run is named twice")
    opened = [open_results(folder) for folder in folders]
    kind = opened[0].kind
    for one in opened:
        if one.kind != kind:
            raise ParameterError(
                f"results must be of one kind to be compared, got a {kind.name} ({folders[0]}) "
                f"and a {one.kind.name} ({one.folder})"
            )
    compare_kind = resolve_name(kind.compare)
    with damage_named(*folders):
        comparison: Comparison = compare_kind(opened)
    return comparison
