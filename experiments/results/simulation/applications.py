"""Results and tables of simulated applications: completion by message size, and messages of traces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.results.run_directory import RunDirectory
from experiments.results.simulation.application_model import (
    CompletionCycles,
    SimulatedCollective,
    SimulatedMessages,
    Spread,
)
from experiments.results.simulation.record import ApplicationRecord, SimulationCounts, SimulationRecord
from experiments.results.tables import (
    ITERATION_COLUMNS,
    ITERATIONS,
    MESSAGE_COLUMNS,
    MESSAGES,
    RANK_COLUMNS,
    RANK_CYCLES,
)
from experiments.spec.simulation.applications import SimulatedApplication, SimulatedTrace
from simulation.applications import Iteration
from topology.addressing import hosts_of


def application_parts(record: SimulationRecord) -> dict[str, Any]:
    """Returns field -> value for the fields that an application adds to a simulation's summary.

    Args:
        record: the simulation.
    """
    if record.application is None:
        return {}
    if isinstance(record.traffic, SimulatedApplication):
        return {"collective": _collective(record.traffic, record.application)}
    return {"trace": _trace(record.application)}


def _collective(options: SimulatedApplication, record: ApplicationRecord) -> SimulatedCollective:
    application = options.application
    sizes = tuple(_size(options, record, phase) for phase in range(len(options.message_bytes)))
    measured = [size for size in sizes if size.iterations]
    return SimulatedCollective(
        name=application.name,
        algorithm=application.algorithm,
        ranks=options.ranks,
        **vars(max(measured or sizes, key=lambda size: size.message_bytes)),
        sizes=sizes,
    )


def _size(options: SimulatedApplication, record: ApplicationRecord, phase: int) -> CompletionCycles:
    """Returns completion time and bandwidths of one message size.

    Source: NCCL tests, PERFORMANCE.md (algorithm bandwidth and bus bandwidth).
    """
    message_bytes, ideal = options.message_bytes[phase], record.ideals[phase]
    cycles = [one.cycles for one in record.iterations if one.phase == phase]
    times: dict[str, Any] = {}
    if cycles:
        mean, factor = sum(cycles) / len(cycles), options.application.bus_factor
        bandwidth = message_bytes / options.flit_bytes / mean
        times = {
            "completion_cycles": round(mean, 3),
            "completion_cycles_min": min(cycles),
            "completion_cycles_max": max(cycles),
            "slowdown": round(mean / ideal.cycles, 6),
            "algorithm_bandwidth": None if factor is None else round(bandwidth, 6),
            "bus_bandwidth": None if factor is None else round(bandwidth * factor, 6),
        }
    return CompletionCycles(
        message_bytes=message_bytes,
        iterations=len(cycles),
        ideal_cycles=ideal.cycles,
        ideal_path_cycles=ideal.path_cycles,
        ideal_link_cycles=ideal.link_cycles,
        **times,
    )


def _trace(record: ApplicationRecord) -> SimulatedMessages:
    cycles = _message_cycles(record)
    arrived = cycles >= 0
    ideal = record.ideals[0]
    return SimulatedMessages(
        messages=len(record.graph),
        completed=int(arrived.sum()),
        bytes=int(record.graph.bytes.sum()),
        completion_cycles=record.iterations[0].cycles if record.iterations else None,
        ideal_cycles=ideal.cycles,
        message_cycles=_spread(cycles[arrived]),
        slowdown=_spread(cycles[arrived] / ideal.message_cycles[arrived]),
    )


def _message_cycles(record: ApplicationRecord) -> npt.NDArray[np.int64]:
    """Returns int64 cycles from each message's scheduled time to its arrival; -1 if it did not arrive."""
    done = record.done
    return np.asarray(np.where(done >= 0, done - record.graph.begin_cycles, -1), np.int64)


def _spread(values: npt.NDArray[Any]) -> Spread | None:
    if not len(values):
        return None
    p50, p99 = np.quantile(values, (0.5, 0.99), method="inverted_cdf").tolist()
    mean, most = float(values.mean()), float(values.max())
    return Spread(*(round(float(value), 6) for value in (mean, p50, p99, most)))


def write_application(directory: RunDirectory, counts: SimulationCounts) -> None:
    """Writes the tables of an application: iterations and ranks, or messages of a trace.

    Args:
        directory: folder of the simulation.
        counts: counts of the simulation; without an application, nothing is written.

    Raises:
        OSError: the disk is full or was removed.
    """
    application, options = counts.application, counts.fabric
    if application is None:
        return
    names = [host.name for host in hosts_of(options.topology, options.hosts)]
    if isinstance(counts.traffic, SimulatedTrace):
        directory.write_csv(MESSAGES, MESSAGE_COLUMNS, _messages(application, names))
    elif isinstance(counts.traffic, SimulatedApplication):
        sizes = counts.traffic.message_bytes
        numbered = list(_numbered(application.iterations))
        rows = (
            (sizes[one.phase], number, one.begin, one.cycles, application.ideals[one.phase].cycles)
            for number, one in numbered
        )
        directory.write_csv(ITERATIONS, ITERATION_COLUMNS, rows)
        ranks = (
            (sizes[one.phase], number, rank, names[host], one.host_cycles[host])
            for number, one in numbered
            for rank, host in enumerate(application.hosts)
        )
        directory.write_csv(RANK_CYCLES, RANK_COLUMNS, ranks)


def _numbered(iterations: tuple[Iteration, ...]) -> Iterator[tuple[int, Iteration]]:
    """Yields (index, iteration); the index counts iterations of the same message size from 0."""
    before = [one.phase for one in iterations]
    for place, one in enumerate(iterations):
        yield place - before.index(one.phase), one


def _messages(record: ApplicationRecord, names: list[str]) -> Iterator[tuple[object, ...]]:
    graph, cycles, ideal = record.graph, _message_cycles(record), record.ideals[0].message_cycles
    columns = (graph.begin_cycles, graph.source, graph.destination, graph.bytes, cycles, ideal)
    for begin, source, destination, size, taken, least in zip(*(c.tolist() for c in columns), strict=True):
        slowdown = round(taken / least, 6) if taken >= 0 else ""
        yield begin, names[source], names[destination], size, taken if taken >= 0 else "", least, slowdown
