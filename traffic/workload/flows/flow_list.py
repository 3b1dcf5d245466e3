"""Lists of flows with start times, hosts and sizes: random, or read from a file."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from topology.addressing import hosts_of
from topology.base import Topology
from topology.errors import ParameterError
from topology.files.escaping import quoted
from traffic.workload.arrivals import InjectionSettings, poisson
from traffic.workload.flows.sizes import MAX_FLOW_BYTES, FlowSizes, csv_lines, whole_number
from traffic.workload.patterns import Pattern

COLUMNS = ["time_s", "source", "destination", "bytes"]
MAX_FLOWS = 200_000  # maximum number of flows per run
MAX_TIME_S = 86_400.0

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class FlowList:
    """Flows in the order of their starts; int64 arrays of the same length.

    Attributes:
        time_ns: start times, in ns since the start of the traffic, ascending.
        source, destination: indices of the hosts.
        bytes: payload in bytes, at least 1.
    """

    time_ns: Numbers
    source: Numbers
    destination: Numbers
    bytes: Numbers


def draw_flows(
    pattern: Pattern, sizes: FlowSizes, flows_per_s: float, duration_ns: int, seed: int
) -> FlowList:
    """Draws random flows: Poisson arrivals, destinations from a pattern, sizes from a distribution.

    Args:
        pattern: the destinations of each host's flows.
        sizes: distribution of the sizes.
        flows_per_s: mean number of flows per second of a sending host.
        duration_ns: all flows start before this time, in ns.
        seed: seed of the random generator.

    Returns:
        The flows; the same for the same arguments.

    Raises:
        ParameterError: more than MAX_FLOWS flows are expected.
    """
    expected = flows_per_s * len(pattern.senders) * duration_ns / 1e9
    if expected > MAX_FLOWS:
        raise ParameterError(
            f"number of flows must be at most {MAX_FLOWS:,}, got {expected:,.0f} at this load, link rate and "
            "duration; choose a shorter --duration"
        )
    generator = np.random.default_rng(seed)
    settings = InjectionSettings(pattern.senders, flows_per_s, 0.0, duration_ns)
    times, sources = [np.zeros(0)], [np.zeros(0, np.int64)]
    for chunk_ns, chunk_sources in poisson(settings, generator):
        due = int(np.searchsorted(chunk_ns, duration_ns))
        times.append(chunk_ns[:due])
        sources.append(chunk_sources[:due])
        if due < len(chunk_ns):
            break
    source = np.concatenate(sources)
    return FlowList(
        np.concatenate(times).astype(np.int64),
        source,
        pattern.destinations(source, generator),
        sizes.quantiles(generator.random(len(source))),
    )


def read_flows(path: str, topology: Topology, hosts_per_router: int) -> FlowList:
    """Reads flows from a CSV file with the columns COLUMNS; lines that start with # are comments.

    Args:
        path: path of the file (UTF-8, with or without a byte order mark).
        topology: the graph of routers; its `host_counts` defines which of them have hosts.
        hosts_per_router: concentration p, the number of hosts at each router with hosts.

    Returns:
        The flows, in the order of the file.

    Raises:
        ParameterError: the file cannot be read, names an unknown host, has a time before that of the previous
            line, or a size below 1; the message contains the line number.
    """
    indices = {host.name: index for index, host in enumerate(hosts_of(topology, hosts_per_router))}
    rows: list[tuple[int, int, int, int]] = []
    for number, words in csv_lines(path, COLUMNS, "flow file"):
        row = _row(words, f"{path}, line {number}", indices)
        if rows and row[0] < rows[-1][0]:
            raise ParameterError(
                f"{path}, line {number}: time_s must not decrease, got {row[0] / 1e9:g} after "
                f"{rows[-1][0] / 1e9:g}"
            )
        rows.append(row)
        if len(rows) > MAX_FLOWS:
            raise ParameterError(f"{path}: number of flows must be at most {MAX_FLOWS:,}, got more")
    if not rows:
        raise ParameterError(f"{path}: number of flows must be at least 1, got none")
    return FlowList(*np.array(rows, np.int64).T)


def _row(words: list[str], place: str, indices: dict[str, int]) -> tuple[int, int, int, int]:
    """Parses a line; returns the start in ns, the indices of source and destination, and the bytes."""
    transfer = read_transfer(words[1:], place, indices)
    try:
        time_s = float(words[0])
    except ValueError:
        time_s = math.nan
    if not 0 <= time_s <= MAX_TIME_S:
        raise ParameterError(f"{place}: time_s must be 0 to {MAX_TIME_S:g} s, got {quoted(words[0])}")
    return (round(time_s * 1e9), *transfer)


def read_transfer(words: list[str], place: str, indices: dict[str, int]) -> tuple[int, int, int]:
    """Parses source, destination and bytes of a line in a file of flows or messages.

    Args:
        words: names of source and destination, and the number of bytes.
        place: file and line, for error messages.
        indices: name of a host -> its index.

    Returns:
        (index of the source, index of the destination, bytes).

    Raises:
        ParameterError: a host is unknown or sends to itself, or the number of bytes is out of range.
    """
    for column, name in zip(COLUMNS[1:3], words, strict=False):
        if name not in indices:
            first, *_, last = indices
            raise ParameterError(
                f"{place}: {column} must be a host from {first} to {last}, got {quoted(name)}"
            )
    if words[0] == words[1]:
        raise ParameterError(f"{place}: destination must differ from the source, got {words[0]} twice")
    size = whole_number(words[2])
    if size is None or not 1 <= size <= MAX_FLOW_BYTES:
        raise ParameterError(
            f"{place}: bytes must be a whole number, 1 to {MAX_FLOW_BYTES}, got {quoted(words[2])}"
        )
    return indices[words[0]], indices[words[1]], size
