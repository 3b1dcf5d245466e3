"""Tables of a simulation as CSV files: loads of links, hops, latencies, periods of the window, hosts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple

import numpy as np

from experiments.results.link_loads import LINK_LOAD_COLUMNS, LINK_LOADS, LinkLoadRow, directed_links
from experiments.results.run_directory import RunDirectory
from experiments.results.simulation.applications import write_application
from experiments.results.simulation.record import SimulationRecord
from experiments.results.simulation.tables import (
    HOST_COLUMNS,
    HOSTS,
    LATENCY_CYCLE_COLUMNS,
    LATENCY_CYCLES,
    PERIOD_COLUMNS,
    PERIODS,
)
from experiments.results.tables import HOP_COLUMNS, HOPS
from simulation.kernels.latency import middle_of_class
from topology.addressing import hosts_of


def write_series(directory: RunDirectory, record: SimulationRecord) -> None:
    """Writes all tables of a simulation.

    Args:
        directory: folder of the simulation.
        record: the simulation.

    Raises:
        OSError: the disk is full, or went away.
    """
    result = record.result
    directory.write_csv(LINK_LOADS, LINK_LOAD_COLUMNS, map(astuple, link_load_rows(record)))
    taken = np.flatnonzero(result.hops).tolist()
    directory.write_csv(HOPS, HOP_COLUMNS, ((n, result.hops[n]) for n in taken))
    directory.write_csv(PERIODS, PERIOD_COLUMNS, _periods(record))
    hosts = hosts_of(record.fabric.options.topology, record.fabric.options.hosts)
    received = ((host.name, count) for host, count in zip(hosts, result.host_packets.tolist(), strict=True))
    directory.write_csv(HOSTS, HOST_COLUMNS, received)
    directory.write_csv(LATENCY_CYCLES, LATENCY_CYCLE_COLUMNS, _latencies(record))
    write_application(directory, record)


def link_load_rows(record: SimulationRecord) -> tuple[LinkLoadRow, ...]:
    """Returns the load of each directed link, and the packets that it lost."""
    links = directed_links(record.fabric.options.topology)
    loads, drops = record.link_loads().tolist(), record.result.link_drops.tolist()
    return tuple(
        LinkLoadRow(link.name, link.port, round(load, 6), dropped)
        for link, load, dropped in zip(links, loads, drops, strict=True)
    )


def _latencies(record: SimulationRecord) -> Iterator[tuple[float, int]]:
    counts = record.result.latency_counts
    for number in np.flatnonzero(counts).tolist():
        yield middle_of_class(number), int(counts[number])


def _periods(record: SimulationRecord) -> Iterator[tuple[object, ...]]:
    """Yields the periods of the window."""
    flits, hosts = record.fabric.options.routers.packet_flits, record.fabric.tables.hosts
    units, end = record.fabric.options.routers.latency_units, record.result.warmup
    drops = record.result.batch_drops.tolist()
    for (cycles, packets, latency_sum), dropped in zip(record.result.batches.tolist(), drops, strict=True):
        end += cycles
        accepted = round(packets * flits / (cycles * hosts), 6) if cycles else ""
        latency = round(latency_sum / units / packets, 3) if packets else ""
        yield end, accepted, packets, latency, dropped
