"""The series of a run as CSV files: throughput, pairs, hops, latencies, the machine's idle share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from experiments.link_monitor import LinkLog
from experiments.live_fabric import LiveFabric
from experiments.results.collective import write_collective
from experiments.results.link_loads import directed_links
from experiments.results.run_directory import (
    HOP_COLUMNS,
    LATENCY_COLUMNS,
    LINK_COLUMNS,
    LINK_LOAD_COLUMNS,
    LINK_LOADS,
    PAIR_COLUMNS,
    THROUGHPUT_COLUMNS,
    RunDirectory,
)
from experiments.results.summaries import measured_loads
from experiments.results.validity import CpuSamples
from experiments.traffic_jobs import host_distances
from traffic.engine.engine import TrafficResult
from traffic.metrics.histogram import bin_middles_ms

_MOST_LINK_ROWS = 200_000


def write_series(
    directory: RunDirectory,
    fabric: LiveFabric,
    result: TrafficResult,
    cpu: CpuSamples,
    links: LinkLog | None,
) -> None:
    """Writes all series of a run.

    Raises:
        OSError: the disk is full, or went away.
    """
    if links:
        _write_links(directory, fabric, result, links)
    _write_throughput(directory, fabric, result)
    _write_pairs(directory, fabric, result)
    hops = result.received.hops
    directory.write_csv("hops.csv", HOP_COLUMNS, ((n, hops[n]) for n in np.flatnonzero(hops).tolist()))
    middles, counts = bin_middles_ms(), result.received.latency.counts
    directory.write_csv(
        "latency.csv",
        LATENCY_COLUMNS,
        ((f"{middles[n]:.6g}", counts[n]) for n in np.flatnonzero(counts).tolist()),
    )
    if result.outcome:
        write_collective(directory, result.outcome, [host.name for host in fabric.hosts])
    start_s = result.clock.monotonic_ns / 1e9
    directory.write_csv(
        "cpu.csv",
        ("time_s", "idle"),
        (
            (round(time_s - start_s, 3), round(idle, 4))
            for time_s, idle in zip(cpu.times_s, cpu.idle, strict=True)
        ),
    )


def _write_links(directory: RunDirectory, fabric: LiveFabric, result: TrafficResult, log: LinkLog) -> None:
    """Writes each directed link's load in the measured window, and what it carried over time.

    `time_s` is the end of the interval from the row before of that link.
    """
    links = directed_links(fabric.options.topology)
    measured = measured_loads(fabric, result, log)
    directory.write_csv(
        LINK_LOADS,
        LINK_LOAD_COLUMNS,
        (
            (link.name, link.port, round(load, 6), round(packets))
            for link, load, packets in zip(
                links, measured.loads.tolist(), measured.dropped.tolist(), strict=True
            )
        ),
    )
    start_s = result.clock.monotonic_ns / 1e9
    readings = len(log.history.series(1, 1)[0])
    stride = max(1, -(-readings * len(links) // _MOST_LINK_ROWS))

    def rows() -> Iterator[tuple[object, ...]]:
        for link in links:
            times, amounts = (part[::stride] for part in log.history.series(link.source + 1, link.port))
            steps = np.diff(amounts[:, :2], axis=0).astype(np.int64).tolist()
            for time_s, (sent, lost), waiting in zip(times[1:], steps, amounts[1:, 2], strict=True):
                yield round(time_s - start_s, 3), link.name, link.port, sent, lost, int(waiting)

    directory.write_csv("links.csv", LINK_COLUMNS, rows())


def _write_throughput(directory: RunDirectory, fabric: LiveFabric, result: TrafficResult) -> None:
    """Writes what each host sent and received in each interval; `time_s` is the interval's end."""
    sent, received = result.sent.bytes, result.received.bytes
    steps = max(len(sent), 1 + int(np.flatnonzero(received.any(axis=1)).max(initial=0)))
    tx = np.zeros((steps, len(fabric.hosts)), np.int64)
    rx = tx.copy()
    tx[: len(sent)] = sent
    rx[: len(received)] = received[:steps]
    span_s = result.interval_ns / 1e9
    directory.write_csv(
        "throughput.csv",
        THROUGHPUT_COLUMNS,
        (
            (round((step + 1) * span_s, 6), host.name, tx[step, index], rx[step, index])
            for step in range(steps)
            for index, host in enumerate(fabric.hosts)
        ),
    )


def _write_pairs(directory: RunDirectory, fabric: LiveFabric, result: TrafficResult) -> None:
    """Writes one row per ordered pair that sent in the measured window."""
    names = [host.name for host in fabric.hosts]
    distances = host_distances(fabric)
    sent, received = result.sent.frames, result.received
    frames = received.frames
    mean_ms = received.latency_sum_ns / np.maximum(frames, 1) / 1e6
    directory.write_csv(
        "pairs.csv",
        PAIR_COLUMNS,
        (
            (
                names[s],
                names[d],
                distances[s, d],
                sent[s, d],
                frames[s, d],
                round(mean_ms[s, d], 6) if frames[s, d] else "",
                received.hops_min[s, d] if frames[s, d] else "",
                received.hops_max[s, d] if frames[s, d] else "",
                received.out_of_order[s, d],
            )
            for s, d in np.argwhere(sent > 0).tolist()
        ),
    )
