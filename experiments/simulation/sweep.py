"""Sweep of simulations: each combination of routings, patterns, loads and options; resumable.

The plan and the tables of a routing are made once. Points are done by the processes of this machine, or by
the workers of a cluster; they are independent of one another, and have the same results wherever they are
done.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from experiments.events.base import Notify
from experiments.events.notices import Notice
from experiments.events.progress import PointsSimulated
from experiments.results.manifest import write_graph
from experiments.results.parts.swept_values import widened
from experiments.results.run_directory import MANIFEST, RunDirectory, kept_directory
from experiments.results.simulation.model import SimulationSummary
from experiments.results.simulation.record import SimulatedFabricRecord, SimulationRecord
from experiments.results.simulation.series import link_load_rows
from experiments.results.simulation.summary import summarise
from experiments.results.simulation.sweep import (
    SimulatedSweepManifest,
    holds_simulated_sweep,
    point_folder,
    read_simulated_manifest,
    simulated_manifest,
    simulated_rows,
    simulated_settings,
)
from experiments.results.sweep_points import POINTS, SimulatedPointRow, columns_of, row_of
from experiments.simulation.address import Scheduler
from experiments.simulation.fabric import (
    check_channels,
    check_decision,
    check_fabric,
    planned_routing,
    prepare_fabric,
    warn_of_repairs,
)
from experiments.simulation.files import write_faults, write_origin, write_simulation
from experiments.simulation.memory import require_memory
from experiments.simulation.replications import (
    KeptReplication,
    kept_replication,
    replications_of,
    seed_directory,
    write_means_of_kept,
)
from experiments.simulation.task import PlannedFabric, task_of
from experiments.simulation.tasks import Runner, task_runner
from experiments.spec.files.experiment_file import together
from experiments.spec.simulation.decisions import BUCKETS, COMPARING
from experiments.spec.simulation.model import SimulatedFabric
from experiments.spec.simulation.resolve import SimulatedSweep, Simulation
from experiments.spec.sweep import Point
from routing.registry import make_plan, routing
from simulation.tables.compiler import compile_tables
from topology.errors import ParameterError, Terminated

Points = Sequence[tuple[Point, Simulation]]


def run_simulated_sweep(
    chosen: SimulatedSweep,
    folder: Path,
    notify: Notify,
    *,
    workers: int | None = None,
    scheduler: Scheduler | None = None,
) -> int:
    """Simulates the points of a sweep that a folder does not hold yet, and returns their number.

    Args:
        chosen: specification of the sweep.
        folder: output directory, new, empty, or of the same sweep.
        notify: takes the events.
        workers: processes of this machine; None for one on each of its cores.
        scheduler: scheduler of a cluster that simulates instead; None without.

    Raises:
        UsageError: the folder holds something else, or an option makes no sense for this fabric.
        MachineError: the scheduler does not answer, or a worker has another version.
        KeyboardInterrupt: Ctrl-C; the folder holds the points that were done until then.
    """
    with kept_directory(folder, go_on=True) as directory:
        before = _held(chosen, folder)
        directory.drop_torn_row(POINTS)
        held = simulated_rows(folder)
        missing = [(point, one) for point, one in chosen.points if point not in held]
        if held:
            notify(Notice("sweep-resumed", folder=folder, measured=len(held), missing=len(missing)))
        if missing:
            groups = _groups(missing)
            _check_points(groups)
            with task_runner(workers, scheduler, notify) as run:
                _write_origin(chosen, directory, before)
                try:
                    _simulate(chosen, groups, directory, run, notify)
                except (KeyboardInterrupt, Terminated):
                    kept = len(simulated_rows(folder))
                    notify(
                        Notice(
                            "sweep-interrupted",
                            folder=folder,
                            points=kept,
                            missing=len(held) + len(missing) - kept,
                        )
                    )
                    raise
                finally:
                    _sort_rows(chosen, directory)
        return len(missing)


def _held(chosen: SimulatedSweep, folder: Path) -> SimulatedSweepManifest | None:
    """Returns the manifest that a folder holds, None if it is empty.

    Raises:
        ParameterError: it holds something else than points of the same sweep.
    """
    if all(path.name.endswith(".partial") for path in folder.iterdir()):
        return None
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
    together(held.experiment, chosen.experiment, folder)
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
    return held


def _simulate(
    chosen: SimulatedSweep,
    groups: Sequence[Points],
    directory: RunDirectory,
    run: Runner,
    notify: Notify,
) -> None:
    """Simulates points, those together whose routings have one plan."""
    done, missing = 0, sum(map(len, groups))
    keys = [variation.key for variation in chosen.sweep.vary]
    for group in groups:
        first = group[0][1].fabric
        notify(Notice("routing-started", routing=first.routing, summary=routing(first.routing).summary))
        fabric = prepare_fabric(first, notify)
        _warn(fabric, group, notify)
        for point, summary in _summaries(fabric, group, directory, run):
            done += 1
            row = row_of(point, summary, keys)
            directory.append_row(POINTS, columns_of(keys, SimulatedPointRow), row.cells())
            if summary.deadlock:
                notify(Notice("point-deadlocked", name=point.name, reason=summary.deadlock.text))
            notify(PointsSimulated(done, missing, point.name))


def _groups(points: Points) -> list[Points]:
    """Returns points by the plan and the tables that they need, in the order of their first points."""
    groups: dict[tuple[str, bool, bool], list[tuple[Point, Simulation]]] = {}
    for point, one in points:
        buckets = one.fabric.packet_decision().law == BUCKETS
        # The law of a controller's loop is that of the plan's routing, with all of its parameters.
        name = one.fabric.routing if buckets else planned_routing(one.fabric.routing)
        groups.setdefault((name, buckets, one.fabric.ordered_repair), []).append((point, one))
    return list(groups.values())


def _check_points(groups: Sequence[Points]) -> None:
    """Raises UsageError or MachineError if a point cannot be simulated, before the first of them is.

    Each plan is made for that and forgotten, as those of large fabrics may not fit into the memory together.
    """
    for group in groups:
        fabrics = _fabrics(group)
        first = fabrics[0]
        require_memory(first)
        plan = make_plan(first.topology, first.hosts, first.routing, ordered_repair=first.ordered_repair)
        compares = [fabric for fabric in fabrics if fabric.packet_decision().law in COMPARING]
        tables = compile_tables(plan) if compares else None
        for fabric in fabrics:
            check_channels(plan, fabric.routers)
            if tables is not None:
                check_decision(fabric, tables)


def _fabrics(group: Points) -> list[SimulatedFabric]:
    """Returns the fabrics of points, each once."""
    fabrics: list[SimulatedFabric] = []
    for _, one in group:
        if one.fabric not in fabrics:
            fabrics.append(one.fabric)
    return fabrics


def _warn(fabric: SimulatedFabricRecord, group: Points, notify: Notify) -> None:
    """Notifies of settings of points that have no effect, or too small a value; of the first it was done."""
    for other in _fabrics(group)[1:]:
        check_fabric(other, fabric.plan, fabric.tables, notify)
    broken = [(point, one) for point, one in group if one.packets.faults]
    for other in _fabrics(broken):
        warn_of_repairs(other, fabric.plan, notify)


def _summaries(
    fabric: SimulatedFabricRecord, group: Points, directory: RunDirectory, run: Runner
) -> Iterator[tuple[Point, SimulationSummary]]:
    """Yields points and their summaries as they are done, with their folders written.

    Each of several replications is kept as it is done; an interrupted sweep's are not done again.
    """
    kept = {point: _kept(point_folder(directory.path, point), one) for point, one in group}
    parts = [
        (point, one, part)
        for point, one in group
        for part in replications_of(one)
        if part.traffic.seed not in kept[point]
    ]
    for point, one in group:
        if len(kept[point]) == one.repeat:  # its process was ended before it wrote the row
            yield point, _write_point(point_folder(directory.path, point), one, kept[point])
    tasks = [task_of(part.fabric, part.packets) for _, _, part in parts]
    for number, outcome in run(PlannedFabric(fabric), tasks) if tasks else ():
        (point, one, part), pattern = parts[number], tasks[number].workload.pattern
        own_fabric = replace(fabric, options=part.fabric)
        record = SimulationRecord(own_fabric, part.traffic, pattern, outcome.result, outcome.faults)
        directory.keep()
        folder, summary = point_folder(directory.path, point), summarise(record)
        if one.repeat == 1:
            write_simulation(RunDirectory(folder, go_on=True), record, summary)
            yield point, summary
            continue
        write_simulation(seed_directory(RunDirectory(folder, go_on=True), part.traffic.seed), record, summary)
        kept[point][part.traffic.seed] = KeptReplication(summary, link_load_rows(record))
        if len(kept[point]) == one.repeat:
            yield point, _write_point(folder, one, kept[point])


def _kept(folder: Path, one: Simulation) -> dict[int, KeptReplication]:
    """Returns the replications of a point that its folder holds, by their seeds."""
    if one.repeat == 1:
        return {}
    seeds = [part.traffic.seed for part in replications_of(one)]
    found = {seed: kept_replication(folder, seed) for seed in seeds}
    return {seed: kept for seed, kept in found.items() if kept is not None}


def _write_point(
    folder: Path, one: Simulation, replications: Mapping[int, KeptReplication]
) -> SimulationSummary:
    """Writes the means of a point's replications into its folder, and returns its summary."""
    directory = RunDirectory(folder, go_on=True)
    write_origin(directory, one.fabric, one.traffic)
    return write_means_of_kept(directory, [kept for _, kept in sorted(replications.items())], one.repeat)


def _write_origin(
    chosen: SimulatedSweep, directory: RunDirectory, held: SimulatedSweepManifest | None
) -> None:
    """Writes everything that the points depend on; the schedule of faults where all have the same."""
    manifest = simulated_manifest(chosen)
    if held is not None:
        experiment = together(held.experiment, manifest.experiment, directory.path)
        manifest = replace(manifest, sweep=widened(manifest.sweep, held.sweep), experiment=experiment)
    directory.write_record(MANIFEST, manifest)
    write_graph(directory, chosen.fabric.topology)
    traffic = [one.packets for _, one in chosen.points]
    if len({one.faults for one in traffic}) == 1:
        write_faults(directory, traffic[0])


def _sort_rows(chosen: SimulatedSweep, directory: RunDirectory) -> None:
    """Writes the table of points in the order of points, not in that of their ends."""
    rows = simulated_rows(directory.path)
    if rows:
        keys = [variation.key for variation in chosen.sweep.vary]
        columns = columns_of(keys, SimulatedPointRow)
        cells = [row.cells() for row in rows.values()]
        directory.write_csv(POINTS, columns, ([row.get(name, "") for name in columns] for row in cells))
