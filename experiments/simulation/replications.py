"""Replications of a simulation: one for each seed, and the folder of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from experiments.results.link_loads import LINK_LOAD_COLUMNS, LINK_LOADS, directed_links
from experiments.results.manifest import experiment_of_seed
from experiments.results.run_directory import SUMMARY, RunDirectory, seed_folder
from experiments.results.simulation.model import SimulationSummary
from experiments.results.simulation.record import SimulationRecord
from experiments.results.simulation.replications import combine_simulations
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


def write_means(
    directory: RunDirectory,
    records: Sequence[SimulationRecord],
    summaries: Sequence[SimulationSummary],
    asked: int,
) -> SimulationSummary:
    """Writes the loads of links and the summary of replications, which are means, and returns the summary.

    Args:
        directory: folder of all replications.
        records: the simulations, one at least.
        summaries: their results.
        asked: number of replications that were asked for.
    """
    loads = np.mean([record.link_loads() for record in records], axis=0).tolist()
    drops = np.sum([record.result.link_drops for record in records], axis=0).tolist()
    links = zip(directed_links(records[0].fabric.options.topology), loads, drops, strict=True)
    rows = ((link.name, link.port, round(load, 6), dropped) for link, load, dropped in links)
    directory.write_csv(LINK_LOADS, LINK_LOAD_COLUMNS, rows)
    summary = combine_simulations(summaries, asked)
    directory.write_record(SUMMARY, summary)
    return summary
