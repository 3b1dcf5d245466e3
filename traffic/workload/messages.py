"""Messages of an application and their dependencies: a message is sent after others have arrived."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from topology.addressing import hosts_of
from topology.base import Topology
from topology.errors import ParameterError
from topology.files.escaping import quoted
from traffic.workload.flows.flow_list import read_transfer
from traffic.workload.flows.sizes import csv_lines, whole_number

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class MessageGraph:
    """Messages between hosts and computations on hosts, numbered from 0.

    Arrays are int64 and, except `dependencies`, have one entry per message or computation. A message from a
    host to itself is a computation: nothing is sent, and it ends when its computing time has passed.

    Attributes:
        source, destination: indices of the hosts.
        bytes: length of each message, at least 0; 0 for a computation.
        begin_cycles: earliest cycle, since the application's start, in which a message may be sent.
        compute_cycles: cycles of computing between the arrival of a message's dependencies and its sending.
        dependencies: pairs of a message and a message that waits for it; shape (dependencies, 2).
    """

    source: Numbers
    destination: Numbers
    bytes: Numbers
    begin_cycles: Numbers
    compute_cycles: Numbers
    dependencies: Numbers

    def __len__(self) -> int:
        return len(self.source)

    @property
    def sent(self) -> npt.NDArray[np.bool_]:
        """Whether each entry is a message rather than a computation: bool array, (messages,)."""
        return np.asarray(self.source != self.destination)

    def waits_for(self) -> Numbers:
        """Returns the number of dependencies of each message: int64 array, (messages,)."""
        return np.bincount(self.dependencies[:, 1], minlength=len(self)).astype(np.int64)

    def successors(self) -> tuple[Numbers, Numbers]:
        """Returns the messages that wait for each message.

        Returns:
            Two arrays: the index in the second array at which each message's successors start, and at the end
            the second array's length; then the successors of all messages, concatenated.
        """
        order = np.argsort(self.dependencies[:, 0], kind="stable")
        counts = np.bincount(self.dependencies[:, 0], minlength=len(self))
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return starts, self.dependencies[order, 1]


COLUMNS = ["time_cycles", "source", "destination", "bytes"]
MAX_MESSAGES = 1_000_000
MAX_CYCLE = 10**9


def read_trace(path: str, topology: Topology, hosts_per_router: int) -> MessageGraph:
    """Reads messages from a CSV file with the columns COLUMNS; lines that start with # are comments.

    Args:
        path: path of the file (UTF-8, with or without a byte order mark).
        topology: the graph of routers; its `host_counts` defines which of them have hosts.
        hosts_per_router: concentration p, the number of hosts at each router with hosts.

    Returns:
        The messages, in the order of the file; each may be sent from its time on, without dependencies.

    Raises:
        ParameterError: the file cannot be read, names an unknown host, has a time before that of the previous
            line, or a size below 1; the message contains the line number.
    """
    indices = {host.name: index for index, host in enumerate(hosts_of(topology, hosts_per_router))}
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
            raise ParameterError(f"{place}: time_cycles must not decrease, got {time} after {rows[-1][0]}")
        rows.append((time, *transfer))
        if len(rows) > MAX_MESSAGES:
            raise ParameterError(f"{path}: number of messages must be at most {MAX_MESSAGES:,}, got more")
    if not rows:
        raise ParameterError(f"{path}: number of messages must be at least 1, got none")
    begin, source, destination, size = np.array(rows, np.int64).T
    return MessageGraph(source, destination, size, begin, np.zeros_like(begin), np.zeros((0, 2), np.int64))
