"""Sweep of simulations: each combination of routings, patterns, loads and options; resumable.

The plan and the tables of a routing are made once. Points are done by the processes of this machine, or by
the workers of a cluster; they are independent of one another, and have the same results wherever they are
done.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from experiments.events.base import Notify
from experiments.events.outcomes import RoutingStarted, SweepResumed
from experiments.events.simulation import PointDeadlocked, PointsSimulated
from experiments.results.link_loads import LINK_LOAD_COLUMNS, LINK_LOADS, directed_links
from experiments.results.manifest import write_graph
from experiments.results.parts.sweep_rows import POINTS
from experiments.results.run_directory import MANIFEST, SUMMARY, RunDirectory, kept_directory, seed_folder
from experiments.results.simulation.model import SimulationSummary
from experiments.results.simulation.record import SimulatedFabricRecord, SimulationRecord
from experiments.results.simulation.replications import combine_simulations
from experiments.results.simulation.summary import summarise
from experiments.results.simulation.sweep import (
    holds_simulated_sweep,
    point_folder,
    read_simulated_manifest,
    simulated_columns,
    simulated_manifest,
    simulated_row,
    simulated_rows,
    simulated_settings,
)
from experiments.simulation.cluster import reached_cluster
from experiments.simulation.fabric import check_fabric, planned_routing, prepare_fabric
from experiments.simulation.simulate import write_origin, write_simulation
from experiments.simulation.tasks import Done, Task, run_here, run_in_processes, task_of, usable_cores
from experiments.spec.options import MAX_SEED
from experiments.spec.simulation.decisions import BUCKETS
from experiments.spec.simulation.model import SimulatedFabric
from experiments.spec.simulation.resolve import SimulatedSweep, Simulation
from experiments.spec.sweep import Point
from routing.registry import routing
from simulation.tables.model import ForwardingTables
from topology.errors import ParameterError, UsageError

Runner = Callable[[ForwardingTables, Sequence[Task]], Iterator[Done]]


@dataclass(frozen=True)
class _Part:
    """A simulation of a point: of several replications, that of one seed."""

    point: Point
    simulation: Simulation


def run_simulated_sweep(
    chosen: SimulatedSweep,
    folder: Path,
    notify: Notify,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
) -> int:
    """Simulates the points of a sweep that a folder does not hold yet, and returns their number.

    Args:
        chosen: specification of the sweep.
        folder: output directory, new, empty, or of the same sweep.
        notify: takes the events.
        workers: processes of this machine; None for one on each of its cores.
        scheduler: address of the scheduler of a cluster that simulates in their place; None without.

    Raises:
        UsageError: the folder holds something else, or an option makes no sense for this fabric.
        MachineError: the scheduler does not answer, or a worker has another version.
        KeyboardInterrupt: Ctrl-C; the folder holds the points that were done until then.
    """
    with kept_directory(folder, go_on=True) as directory:
        _check_held(chosen, folder)
        directory.drop_torn_row(POINTS)
        held = simulated_rows(folder)
        missing = [(point, one) for point, one in chosen.points if point not in held]
        if held:
            notify(SweepResumed(folder, len(held), len(missing)))
        if missing:
            with _runner(workers, scheduler, notify) as run:
                directory.write_record(MANIFEST, simulated_manifest(chosen))
                write_graph(directory, chosen.fabric.topology)
                try:
                    _simulate(chosen, missing, directory, run, notify)
                finally:
                    _sort_rows(chosen, directory)
        return len(missing)


def _check_held(chosen: SimulatedSweep, folder: Path) -> None:
    """Raises ParameterError unless a folder is empty, or holds points of the same sweep."""
    if all(path.name.endswith(".partial") for path in folder.iterdir()):
        return
    if not holds_simulated_sweep(folder):
        raise ParameterError(f"{folder} does not hold a sweep of simulations; choose another --out")
    held, wanted = read_simulated_manifest(folder), chosen.fabric
    for name, has, wants in (
        ("topology", (held.name, dict(held.params)), (wanted.name, dict(wanted.params))),
        ("hosts", held.hosts, wanted.hosts),
    ):
        if has != wants:
            raise ParameterError(
                f"{folder} holds a sweep of another {name}: {has}, not {wants}; choose another --out"
            )
    settings = simulated_settings(chosen)
    if held.sweep.varied.keys() != settings.varied.keys():
        keys = [", ".join(one.varied) or "nothing else" for one in (held.sweep, settings)]
        raise ParameterError(
            f"{folder} holds a sweep that varies {keys[0]}, not {keys[1]}; choose another --out"
        )
    different = held.sweep.difference(settings)
    if different is not None:
        mine, theirs = held.sweep.shared()[different], settings.shared()[different]
        raise ParameterError(
            f"{folder} holds a sweep with {different} {mine}, not {theirs}; choose another --out"
        )


@contextlib.contextmanager
def _runner(workers: int | None, scheduler: str | None, notify: Notify) -> Iterator[Runner]:
    """Gives the function that does tasks: here, in processes, or on a cluster."""
    if scheduler is not None:
        with reached_cluster(scheduler, notify) as cluster:
            yield cluster.run
        return
    count = workers or usable_cores()
    if count == 1:
        yield run_here
        return

    def run(tables: ForwardingTables, tasks: Sequence[Task]) -> Iterator[Done]:
        return run_in_processes(tables, tasks, count)

    yield run


def _simulate(
    chosen: SimulatedSweep,
    missing: Sequence[tuple[Point, Simulation]],
    directory: RunDirectory,
    run: Runner,
    notify: Notify,
) -> None:
    """Simulates points, those together whose routings have one plan."""
    groups: dict[str, list[tuple[Point, Simulation]]] = {}
    for point, one in missing:
        groups.setdefault(planned_routing(one.fabric.routing), []).append((point, one))
    done = 0
    for group in groups.values():
        first = group[0][1].fabric
        notify(RoutingStarted(first.routing, routing(first.routing).summary))
        for _, one in group:
            _check_decision(one.fabric)
        fabric = prepare_fabric(first, notify)
        checked = [first]
        for _, one in group:
            if one.fabric not in checked:
                check_fabric(one.fabric, fabric.plan, fabric.tables, notify)
                checked.append(one.fabric)
        for point, summary in _summaries(fabric, group, chosen.sweep.repeat, directory, run):
            done += 1
            row = simulated_row(point, summary, [variation.key for variation in chosen.sweep.vary])
            columns = simulated_columns(variation.key for variation in chosen.sweep.vary)
            directory.append_row(POINTS, columns, row.cells())
            if summary.deadlock:
                notify(PointDeadlocked(point.name, summary.deadlock.text))
            notify(PointsSimulated(done, len(missing), point.name))


def _check_decision(fabric: SimulatedFabric) -> None:
    """Raises UsageError if a decision needs the plan beside the tables, which tasks do not have."""
    if fabric.packet_decision().law == BUCKETS:
        raise UsageError(
            f"--decision {BUCKETS} must be simulated by itself, with `polarlab simulate`, got a sweep"
        )


def _summaries(
    fabric: SimulatedFabricRecord,
    group: Sequence[tuple[Point, Simulation]],
    repeat: int,
    directory: RunDirectory,
    run: Runner,
) -> Iterator[tuple[Point, SimulationSummary]]:
    """Yields points and their summaries as they are done, with their folders written."""
    parts = [part for point, one in group for part in _parts(point, one, repeat)]
    records: dict[Point, list[SimulationRecord]] = {}
    tasks = [task_of(part.simulation.fabric, part.simulation.packets) for part in parts]
    for number, result in run(fabric.tables, tasks):
        part, pattern = parts[number], tasks[number].workload.pattern
        one = replace(fabric, options=part.simulation.fabric)
        record = SimulationRecord(one, part.simulation.traffic, pattern, result)
        own = records.setdefault(part.point, [])
        own.append(record)
        if len(own) == repeat:
            del records[part.point]
            own.sort(key=lambda record: record.traffic.seed)
            yield part.point, _write_point(point_folder(directory.path, part.point), own)


def _parts(point: Point, one: Simulation, repeat: int) -> Iterator[_Part]:
    """Yields the simulations of a point, one for each seed."""
    first = one.traffic.seed
    if first + repeat - 1 > MAX_SEED:
        raise ParameterError(
            f"seeds of all replications must be at most {MAX_SEED}, got {first + repeat - 1}"
        )
    for seed in range(first, first + repeat):
        traffic = replace(one.traffic, seed=seed)
        fabric = one.fabric if repeat == 1 else replace(one.fabric, experiment=_of_seed(one, seed))
        yield _Part(point, Simulation(fabric, traffic))


def _of_seed(one: Simulation, seed: int) -> dict[str, object]:
    """Returns the experiment of a replication, as its manifest keeps it."""
    content = dict(one.fabric.experiment or {})
    return {**content, "traffic": {**content.get("traffic", {}), "seed": seed}}


def _write_point(folder: Path, records: Sequence[SimulationRecord]) -> SimulationSummary:
    """Writes the folder of a point, and returns its summary; replications have folders of their own in it."""
    directory = RunDirectory(folder, go_on=True)
    if len(records) == 1:
        summary = summarise(records[0])
        write_simulation(directory, records[0], summary)
        return summary
    summaries = []
    for record in records:
        summaries.append(summarise(record))
        own = RunDirectory(folder / seed_folder(record.traffic.seed), go_on=True)
        write_simulation(own, record, summaries[-1])
    summary = combine_simulations(summaries, len(records))
    fabric = records[0].fabric.options
    loads = np.mean([record.link_loads() for record in records], axis=0).tolist()
    links = zip(directed_links(fabric.topology), loads, strict=True)
    rows = ((link.name, link.port, round(load, 6), 0) for link, load in links)
    directory.write_csv(LINK_LOADS, LINK_LOAD_COLUMNS, rows)
    write_origin(directory, fabric, records[0].traffic)
    directory.write_record(SUMMARY, summary)
    return summary


def _sort_rows(chosen: SimulatedSweep, directory: RunDirectory) -> None:
    """Writes the table of points in their order, whatever the order in which they were done."""
    rows = simulated_rows(directory.path)
    if rows:
        columns = simulated_columns(variation.key for variation in chosen.sweep.vary)
        cells = [row.cells() for row in rows.values()]
        directory.write_csv(POINTS, columns, ([row.get(name, "") for name in columns] for row in cells))
