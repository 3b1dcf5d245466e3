"""Converts ranks' programs to messages with dependencies, for simulation without the messages' content."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from traffic.workload.collectives.algorithms import Program
from traffic.workload.collectives.execution import MessageTable
from traffic.workload.messages import MessageGraph

_START = -1  # stands for the start of the application among numbers of messages


def program_messages(
    slices: Sequence[Sequence[Program]], hosts: Sequence[int], compute_cycles: int
) -> MessageGraph:
    """Returns the messages of ranks' programs; each message waits for all earlier steps of the sending rank.

    Args:
        slices: for each slice, a program for every rank (`algorithms.sliced_programs`).
        hosts: the host of each rank; all different.
        compute_cycles: cycles that a rank computes before a step with `computes`, and after a step with
            `reduce`, to add the received elements.

    Returns:
        The messages in the order of MessageTable, followed by the computations. A rank's computations are
        sequential within a slice and concurrent in different slices.
    """
    table = MessageTable(slices, 1)
    graph = _Graph(len(table.messages))
    for task, program in enumerate(table.programs):
        rank, before = task % table.ranks, _START
        for step, sent, received in zip(program, table.sends[task], table.receives[task], strict=True):
            if step.computes and compute_cycles:
                before = graph.compute(rank, compute_cycles, before)
            if sent >= 0:
                graph.wait(sent, before)
            if received >= 0:
                adding = compute_cycles if step.reduce else 0
                # A computation of length 0 would join several dependencies into one; a single one needs none.
                alone = before == _START and not adding
                before = received if alone else graph.compute(rank, adding, before, received)
    host_of_rank = np.array(hosts, np.int64)
    messages = np.array([(m.source, m.destination, m.size) for m in table.messages], np.int64).reshape(-1, 3)
    computing = np.array(graph.computing, np.int64).reshape(-1, 2)
    computing_hosts = host_of_rank[computing[:, 0]]
    return MessageGraph(
        source=np.concatenate([host_of_rank[messages[:, 0]], computing_hosts]),
        destination=np.concatenate([host_of_rank[messages[:, 1]], computing_hosts]),
        bytes=np.concatenate([messages[:, 2], np.zeros(len(computing), np.int64)]),
        begin_cycles=np.zeros(len(messages) + len(computing), np.int64),
        compute_cycles=np.concatenate([np.zeros(len(messages), np.int64), computing[:, 1]]),
        dependencies=np.array(graph.dependencies, np.int64).reshape(-1, 2),
    )


class _Graph:
    """Dependencies of messages, and the computations between them.

    Attributes:
        computing: (rank, cycles) of each computation; computations are numbered after the messages.
        dependencies: pairs of numbers: a message or computation, and another one that waits for it.
    """

    def __init__(self, messages: int) -> None:
        """Creates a graph without computations and dependencies.

        Args:
            messages: number of messages.
        """
        self._messages = messages
        self.computing: list[tuple[int, int]] = []
        self.dependencies: list[tuple[int, int]] = []

    def compute(self, rank: int, cycles: int, *before: int) -> int:
        """Adds a computation that waits for others, and returns its number.

        Args:
            rank: the computing rank.
            cycles: length of the computation.
            *before: numbers of the messages and computations that it waits for.
        """
        number = self._messages + len(self.computing)
        self.computing.append((rank, cycles))
        for other in before:
            self.wait(number, other)
        return number

    def wait(self, number: int, before: int) -> None:
        """Adds a dependency, unless `before` is the start of the application.

        Args:
            number: number of the waiting message or computation.
            before: number of the message or computation that it waits for.
        """
        if before != _START:
            self.dependencies.append((before, number))
