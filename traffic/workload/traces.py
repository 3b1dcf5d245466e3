"""Traces: messages with their times, as an application has sent them, read from a file."""

from __future__ import annotations

import numpy as np

from topology.addressing import hosts_of
from topology.base import Topology
from topology.errors import ParameterError
from topology.files.shown import quoted
from traffic.workload.flows.flow_list import read_transfer
from traffic.workload.flows.sizes import csv_lines, whole_number
from traffic.workload.messages import MessageGraph

COLUMNS = ["time_cycles", "source", "destination", "bytes"]
MAX_MESSAGES = 1_000_000
MAX_CYCLE = 10**9


def read_trace(path: str, topology: Topology, concentration: int) -> MessageGraph:
    """Returns the messages in a CSV file with the columns COLUMNS; lines that begin with # are comments.

    Args:
        path: of the file (UTF-8, with or without a byte order mark).
        topology: the graph of routers; its `host_counts` says which of them have hosts.
        concentration: p, the number of hosts at each router that has any.

    Returns:
        The messages, in the order of the file; each may be sent from its time on, and waits for no other.

    Raises:
        ParameterError: the file cannot be read, names an unknown host, or has times that go back or sizes
            below 1; the text names the line.
    """
    indices = {host.name: index for index, host in enumerate(hosts_of(topology, concentration))}
    rows: list[tuple[int, int, int, int]] = []
    for number, words in csv_lines(path, COLUMNS, "trace"):
        place = f"{path}, line {number}"
        transfer = read_transfer(words[1:], place, indices)
        time = whole_number(words[0])
        if time is None or time > MAX_CYCLE:
            raise ParameterError(
                f"{place}: time_cycles must be a whole number, 0 to {MAX_CYCLE}, got {quoted(words[0])}"
            )
        if rows and time < rows[-1][0]:
            raise ParameterError(f"{place}: time_cycles must not go back, got {time} after {rows[-1][0]}")
        rows.append((time, *transfer))
        if len(rows) > MAX_MESSAGES:
            raise ParameterError(f"{path}: messages must be at most {MAX_MESSAGES:,}, got more")
    if not rows:
        raise ParameterError(f"{path}: messages must be at least 1, got none")
    begin, source, destination, size = np.array(rows, np.int64).T
    return MessageGraph(source, destination, size, begin, np.zeros_like(begin), np.zeros((0, 2), np.int64))
