"""Figures of results of every kind."""

from __future__ import annotations

from pathlib import Path

from experiments.figures.failover import plot_failover
from experiments.figures.failovers import plot_failovers
from experiments.figures.run import plot_run
from experiments.figures.sweep import plot_sweep
from experiments.results.open import Failover, Failovers, Sweep, open_results


def plot_results(folder: Path) -> list[Path]:
    """Draws the figures of a run, a sweep or failovers into their folder and returns the files.

    Args:
        folder: folder of the results.

    Raises:
        ParameterError: the folder holds none of these, or damaged results.
        OSError: the figures cannot be written.
    """
    match open_results(folder):
        case Sweep():
            return plot_sweep(folder)
        case Failover():
            return plot_failover(folder)
        case Failovers():
            return plot_failovers(folder)
        case _:
            return plot_run(folder)
