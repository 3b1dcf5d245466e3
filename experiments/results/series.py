"""Tables of a run as CSV files: throughput, pairs, hops, latencies, link loads, CPU and held frames."""

from __future__ import annotations

from dataclasses import astuple, fields
from itertools import chain

import numpy as np

from experiments.results.collective import write_collective
from experiments.results.flows.statistics import write_flows
from experiments.results.link_loads import (
    LINK_LOAD_COLUMNS,
    LINK_LOADS,
    DirectedLink,
    directed_links,
    load_rows,
)
from experiments.results.parts.host_links import HOST_LINKS, HostLinkRow
from experiments.results.record import RunRecord
from experiments.results.run_directory import RunDirectory
from experiments.results.tables import (
    CPU,
    CPU_COLUMNS,
    HELD,
    HELD_COLUMNS,
    HOP_COLUMNS,
    HOPS,
    LATENCY,
    LATENCY_COLUMNS,
    LINK_COLUMNS,
    LINKS,
    PAIR_COLUMNS,
    PAIRS,
    THROUGHPUT,
    THROUGHPUT_COLUMNS,
)
from traffic.metrics.histogram import bin_middles_ms

_MAX_LINK_ROWS = 200_000


def write_series(directory: RunDirectory, record: RunRecord) -> None:
    """Writes all tables of a run.

    Args:
        directory: folder of the run.
        record: observations of the run.

    Raises:
        OSError: the disk is full or was removed.
    """
    _write_links(directory, record)
    if record.generated:
        _write_throughput(directory, record)
        _write_pairs(directory, record)
        _write_distributions(directory, record)
    if record.result.outcome:
        write_collective(directory, record.result.outcome, [host.name for host in record.fabric.hosts])
    if record.result.flows:
        write_flows(directory, record)
    _write_machine(directory, record)


def _write_machine(directory: RunDirectory, record: RunRecord) -> None:
    """Writes, second by second, the CPU use and how long each switch held frames before processing them."""
    start_s = record.start_s
    samples = zip(record.cpu.times_s, record.cpu.idle, record.cpu.stolen, strict=True)
    rows = (
        (round(time_s - start_s, 3), round(idle, 4), round(stolen, 4)) for time_s, idle, stolen in samples
    )
    directory.write_csv(CPU, CPU_COLUMNS, rows)
    if record.held is None:
        return
    packet_s = record.fabric.options.links.packet_s(record.traffic.frame_bytes)
    held = (
        (
            round(second.end_s - start_s, 3),
            switch,
            sample.frames,
            sample.waiting,
            round(second.held_s(switch) / packet_s, 4),
            round(second.held_rms_s(switch) / packet_s, 4),
        )
        for second in record.held.seconds
        for switch, sample in second.switches.items()
    )
    directory.write_csv(HELD, HELD_COLUMNS, held)


def _write_distributions(directory: RunDirectory, record: RunRecord) -> None:
    """Writes two histograms of the measurement window's packets: by number of hops, and by latency."""
    hops, middles = record.result.received.hops, bin_middles_ms()
    counts = record.result.received.latency.counts
    directory.write_csv(HOPS, HOP_COLUMNS, ((n, hops[n]) for n in np.flatnonzero(hops).tolist()))
    rows = ((f"{middles[n]:.6g}", counts[n]) for n in np.flatnonzero(counts).tolist())
    directory.write_csv(LATENCY, LATENCY_COLUMNS, rows)


def _write_links(directory: RunDirectory, record: RunRecord) -> None:
    """Writes each directed link's load in the window, and its bytes, drops and queue over time.

    `time_s` is the end of an interval that starts at the link's previous row.
    """
    measured, log = record.link_loads(), record.links
    if measured is None or log is None:
        return
    columns = [entry.name for entry in fields(HostLinkRow)]
    directory.write_csv(HOST_LINKS, columns, map(astuple, record.host_links() or ()))
    links = directed_links(record.fabric.options.topology)
    rows = load_rows(links, measured.loads, measured.dropped)
    directory.write_csv(LINK_LOADS, LINK_LOAD_COLUMNS, map(astuple, rows))
    readings = len(log.history.series(1, 1)[0])
    stride = max(1, -(-readings * len(links) // _MAX_LINK_ROWS))

    def readings_of(link: DirectedLink) -> list[tuple[object, ...]]:
        times, amounts = (part[::stride] for part in log.history.series(link.source + 1, link.port))
        steps = np.diff(amounts[:, :2], axis=0).astype(np.int64).tolist()
        name, start_s = link.name, record.start_s
        return [
            (round(time_s - start_s, 3), name, link.port, sent, lost, int(waiting))
            for time_s, (sent, lost), waiting in zip(times[1:], steps, amounts[1:, 2], strict=True)
        ]

    directory.write_csv(LINKS, LINK_COLUMNS, chain.from_iterable(map(readings_of, links)))


def _write_throughput(directory: RunDirectory, record: RunRecord) -> None:
    """Writes bytes sent and received by each host per interval; `time_s` is the interval's end."""
    result, names = record.result, [host.name for host in record.fabric.hosts]
    sent, received = result.sent.bytes, result.received.bytes
    steps = max(len(sent), 1 + int(np.flatnonzero(received.any(axis=1)).max(initial=0)))
    tx = np.zeros((steps, len(names)), np.int64)
    rx = tx.copy()
    tx[: len(sent)] = sent
    rx[: len(received)] = received[:steps]
    span_s = result.interval_ns / 1e9
    directory.write_csv(
        THROUGHPUT,
        THROUGHPUT_COLUMNS,
        (
            (round((step + 1) * span_s, 6), name, tx[step, index], rx[step, index])
            for step in range(steps)
            for index, name in enumerate(names)
        ),
    )


def _write_pairs(directory: RunDirectory, record: RunRecord) -> None:
    """Writes one row per ordered pair of hosts with traffic in the measurement window."""
    names = [host.name for host in record.fabric.hosts]
    distances = record.fabric.host_distances()
    sent, received = record.result.sent.frames, record.result.received
    frames = received.frames
    mean_ms = received.latency_sum_ns / np.maximum(frames, 1) / 1e6
    directory.write_csv(
        PAIRS,
        PAIR_COLUMNS,
        (
            (
                names[s],
                names[d],
                distances[s, d],
                sent[s, d],
                frames[s, d],
                round(mean_ms[s, d], 6) if mean_ms[s, d] else "",
                received.hops_min[s, d] if received.hops_max[s, d] else "",
                received.hops_max[s, d] if received.hops_max[s, d] else "",
                received.out_of_order[s, d],
            )
            for s, d in np.argwhere(sent > 0).tolist()
        ),
    )
