"""Figures of results of every kind."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from experiments.figures.failover import draw_failover
from experiments.figures.failovers import draw_series
from experiments.figures.look import PLAIN, Look, drawn_as
from experiments.figures.run import draw_run
from experiments.figures.simulation.single import draw_simulation
from experiments.figures.simulation.sweep import draw_simulated_sweep
from experiments.figures.sweep import draw_sweep
from experiments.results.open import Failover, Failovers, SimulatedSweep, Simulation, Sweep, open_results


def draw_results(folder: Path, look: Look = PLAIN) -> dict[str, Figure]:
    """Returns the figures of a run, a simulation, a sweep or failovers by their names, without a file.

    Args:
        folder: folder of the results.
        look: how they are drawn.

    Raises:
        ParameterError: the folder holds none of these, or damaged results; the look has an order or an axis
            that they cannot have.
    """
    with drawn_as(look):
        return _drawn(folder)


def _drawn(folder: Path) -> dict[str, Figure]:
    match open_results(folder):
        case Simulation() as results:
            return draw_simulation(results)
        case SimulatedSweep() as results:
            return draw_simulated_sweep(results)
        case Sweep():
            return draw_sweep(folder)
        case Failover():
            return draw_failover(folder)
        case Failovers():
            return draw_series(folder)
        case _:
            return draw_run(folder)
