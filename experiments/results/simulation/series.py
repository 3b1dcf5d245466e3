"""Tables of a simulation as CSV files: link loads, hops, latencies, periods of the window, hosts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple

import numpy as np

from experiments.results.link_loads import (
    LINK_LOAD_COLUMNS,
    LINK_LOADS,
    LinkLoadRow,
    directed_links,
    load_rows,
)
from experiments.results.run_directory import RunDirectory
from experiments.results.simulation.applications import write_application
from experiments.results.simulation.record import SimulationCounts
from experiments.results.tables import (
    HOP_COLUMNS,
    HOPS,
    HOST_COLUMNS,
    HOSTS,
    LATENCY_CYCLE_COLUMNS,
    LATENCY_CYCLES,
    PERIOD_COLUMNS,
    PERIODS,
)
from simulation.kernels.latency import bin_centre
from topology.addressing import hosts_of


def write_series(directory: RunDirectory, counts: SimulationCounts) -> None:
    """Writes all tables of a simulation.

    Args:
        directory: folder of the simulation.
        counts: the simulation.

    Raises:
        OSError: the disk is full or was removed.
    """
    result = counts.result
    directory.write_csv(LINK_LOADS, LINK_LOAD_COLUMNS, map(astuple, link_load_rows(counts)))
    taken = np.flatnonzero(result.hops).tolist()
    directory.write_csv(HOPS, HOP_COLUMNS, ((n, result.hops[n]) for n in taken))
    directory.write_csv(PERIODS, PERIOD_COLUMNS, _periods(counts))
    hosts = hosts_of(counts.fabric.topology, counts.fabric.hosts)
    received = ((host.name, count) for host, count in zip(hosts, result.host_packets.tolist(), strict=True))
    directory.write_csv(HOSTS, HOST_COLUMNS, received)
    directory.write_csv(LATENCY_CYCLES, LATENCY_CYCLE_COLUMNS, _latencies(counts))
    write_application(directory, counts)


def link_load_rows(counts: SimulationCounts) -> list[LinkLoadRow]:
    """Returns the load and dropped packets of each directed link."""
    return load_rows(directed_links(counts.fabric.topology), counts.link_loads(), counts.result.link_drops)


def _latencies(counts: SimulationCounts) -> Iterator[tuple[float, int]]:
    packets = counts.result.latency_counts
    for number in np.flatnonzero(packets).tolist():
        yield bin_centre(number), int(packets[number])


def _periods(counts: SimulationCounts) -> Iterator[tuple[object, ...]]:
    """Yields the rows of the table of periods, into which the measurement window is divided."""
    fabric = counts.fabric
    flits, hosts = fabric.routers.packet_flits, fabric.topology.endpoints(fabric.hosts)
    units, end = fabric.routers.latency_units, counts.result.warmup
    drops = counts.result.batch_drops.tolist()
    for (cycles, packets, latency_sum), dropped in zip(counts.result.batches.tolist(), drops, strict=True):
        end += cycles
        accepted = round(packets * flits / (cycles * hosts), 6) if cycles else ""
        latency = round(latency_sum / units / packets, 3) if packets else ""
        yield end, accepted, packets, latency, dropped
