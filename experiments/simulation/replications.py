"""Replications of a simulation: one for each seed, and the folder of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import NamedTuple

from experiments.codec import read_record
from experiments.results.link_loads import (
    LINK_LOAD_COLUMNS,
    LINK_LOADS,
    LinkLoadRow,
    mean_rows,
    read_link_loads,
)
from experiments.results.manifest import experiment_of_seed
from experiments.results.replications import combine
from experiments.results.run_directory import SUMMARY, RunDirectory, seed_folder
from experiments.results.simulation.model import SimulationSummary
from experiments.spec.simulation.resolve import Simulation


def replications_of(one: Simulation) -> tuple[Simulation, ...]:
    """Returns the simulations of a specification, one for each seed; itself where there is only one.

    Args:
        one: specification of a simulation.
    """
    if one.repeat == 1:
        return (one,)
    fabric, first = one.fabric, one.traffic.seed
    content = fabric.experiment
    return tuple(
        Simulation(
            replace(fabric, experiment=None if content is None else experiment_of_seed(content, seed)),
            replace(one.traffic, seed=seed),
        )
        for seed in range(first, first + one.repeat)
    )


def seed_directory(directory: RunDirectory, seed: int) -> RunDirectory:
    """Returns the folder of a replication in the folder of all of them.

    Args:
        directory: folder of all replications.
        seed: seed of the replication.
    """
    return RunDirectory(directory.path / seed_folder(seed), go_on=True)


class KeptReplication(NamedTuple):
    """A replication as its folder has it.

    Attributes:
        summary: its result.
        loads: its loads of links.
    """

    summary: SimulationSummary
    loads: Sequence[LinkLoadRow]


def kept_replication(folder: Path, seed: int) -> KeptReplication | None:
    """Returns the replication that a folder of all of them holds; None if it is not complete.

    Args:
        folder: folder of all replications.
        seed: seed of the replication.

    Raises:
        ParameterError: a file is damaged.
    """
    own = folder / seed_folder(seed)
    if not (own / SUMMARY).exists():  # which is written last
        return None
    return KeptReplication(read_record(own / SUMMARY, SimulationSummary), read_link_loads(own / LINK_LOADS))


def write_means(directory: RunDirectory, kept: Sequence[KeptReplication], asked: int) -> SimulationSummary:
    """Writes the loads of links and the summary of replications, which are means, and returns the summary.

    Args:
        directory: folder of all replications.
        kept: the replications, one at least.
        asked: number of replications that were asked for.
    """
    rows = mean_rows([one.loads for one in kept])
    directory.write_csv(LINK_LOADS, LINK_LOAD_COLUMNS, map(astuple, rows))
    summary = combine([one.summary for one in kept], asked)
    directory.write_record(SUMMARY, summary)
    return summary
