"""Replications of a simulation, one for each seed, and their common folder."""

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
    """Returns one simulation for each seed of a specification; with a single seed, the specification itself.

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
    """Returns the folder of a replication, which is inside the common folder of all replications.

    Args:
        directory: folder of all replications.
        seed: seed of the replication.
    """
    return RunDirectory(directory.path / seed_folder(seed), resume=True)


class KeptReplication(NamedTuple):
    """A replication read from its folder.

    Attributes:
        summary: its result.
        loads: its link loads.
    """

    summary: SimulationSummary
    loads: Sequence[LinkLoadRow]


def kept_replication(folder: Path, seed: int) -> KeptReplication | None:
    """Reads a replication from the common folder; returns None if it is not complete.

    Args:
        folder: folder of all replications.
        seed: seed of the replication.

    Raises:
        ParameterError: a file is damaged.
    """
    own = folder / seed_folder(seed)
    if not (own / SUMMARY).exists():  # the summary is written last
        return None
    return KeptReplication(read_record(own / SUMMARY, SimulationSummary), read_link_loads(own / LINK_LOADS))


def write_means(directory: RunDirectory, kept: Sequence[KeptReplication], asked: int) -> SimulationSummary:
    """Writes the mean link loads and the mean summary of replications, and returns the summary.

    Args:
        directory: folder of all replications.
        kept: the replications, at least one.
        asked: number of requested replications.
    """
    rows = mean_rows([one.loads for one in kept])
    directory.write_csv(LINK_LOADS, LINK_LOAD_COLUMNS, map(astuple, rows))
    summary = combine([one.summary for one in kept], asked)
    directory.write_record(SUMMARY, summary)
    return summary
