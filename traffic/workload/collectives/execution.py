"""Execution of one iteration of a collective: the ranks' programs, messages and vectors.

It sends nothing: the caller transports the segments of messages and passes in those that arrive
(`traffic.engine`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from traffic.workload.collectives.algorithms import Program, Step
from traffic.workload.collectives.operations import ELEMENT, Elements


@dataclass(frozen=True)
class Message:
    """A message from one rank to another, sent once in every iteration.

    Attributes:
        source, destination: ranks.
        task: index of the receiving program: slice x number of ranks + destination.
        size: size in bytes; may be 0.
        segments: number of frames that carry it, at least 1.
    """

    source: int
    destination: int
    task: int
    size: int
    segments: int


class MessageTable:
    """All messages of a collective's programs, numbered from 0; the same in every iteration.

    Within a slice, the k-th send of rank i to rank j matches the k-th receive of rank j from rank i.

    Attributes:
        programs: one program per task: the programs of the first slice by rank, then of the next slice.
        ranks: number of ranks.
        messages: the messages by number.
        sends, receives: for each task and step, the message that the step sends or receives, by number; -1
            for none.
    """

    def __init__(self, slices: Sequence[Sequence[Program]], segment_bytes: int) -> None:
        """Numbers the messages.

        Args:
            slices: for each slice, a program for every rank (`algorithms.sliced_programs`).
            segment_bytes: maximum number of a message's bytes in one frame.
        """
        self.programs: list[Program] = [program for programs in slices for program in programs]
        self.ranks = len(slices[0])
        self.messages: list[Message] = []
        self.sends: list[list[int]] = [[-1] * len(program) for program in self.programs]
        self.receives: list[list[int]] = [[-1] * len(program) for program in self.programs]
        for first in range(0, len(self.programs), self.ranks):
            self._number(first, segment_bytes)

    def _number(self, first: int, segment_bytes: int) -> None:
        """Numbers the messages of the slice whose first task is `first`."""
        unreceived: dict[tuple[int, int], list[int]] = {}
        for rank in range(self.ranks):
            for index, step in enumerate(self.programs[first + rank]):
                if step.destination is not None:
                    size = step.send_span.length * ELEMENT.itemsize
                    segments = max(1, -(-size // segment_bytes))
                    number = self.sends[first + rank][index] = len(self.messages)
                    task = first + step.destination
                    self.messages.append(Message(rank, step.destination, task, size, segments))
                    unreceived.setdefault((rank, step.destination), []).append(number)
        for rank in range(self.ranks):
            for index, step in enumerate(self.programs[first + rank]):
                if step.source is not None:
                    self.receives[first + rank][index] = unreceived[step.source, rank].pop(0)


class Inbox:
    """Reassembles one message from segments, which may arrive in any order and repeatedly."""

    __slots__ = ("_arrived", "_missing", "data")

    def __init__(self, message: Message) -> None:
        self.data = bytearray(message.size)
        self._arrived = bytearray(message.segments)
        self._missing = message.segments

    def receive(self, segment: int, offset: int, payload: memoryview) -> bool:
        """Stores a segment, unless it arrived before.

        Args:
            segment: number of the segment within the message, from 0.
            offset: position of its first byte in the message.
            payload: its bytes.

        Returns:
            Whether this segment was the last missing one.
        """
        if self._arrived[segment]:
            return False
        self._arrived[segment] = 1
        self.data[offset : offset + len(payload)] = payload
        self._missing -= 1
        return not self._missing

    @property
    def complete(self) -> bool:
        """Whether all segments have arrived."""
        return not self._missing


class Iteration:
    """One run of a collective through all its programs.

    Attributes:
        vectors: each rank's vector; programs change it in place.
        outgoing: message number -> bytes, for all messages that have become ready.
        ready: the messages that can be sent, by number; the caller clears the list after sending them.
        unfinished: number of tasks (programs) with remaining steps.
    """

    def __init__(self, table: MessageTable, vectors: list[Elements]) -> None:
        """Prepares an iteration; call `start` to run it.

        Args:
            table: the messages of the collective's programs.
            vectors: each rank's initial vector.
        """
        self.vectors = vectors
        self.outgoing: dict[int, bytes] = {}
        self.ready: list[int] = []
        self.unfinished = len(table.programs)
        self._table = table
        self._inboxes: dict[int, Inbox] = {}
        self._complete = 0
        self._next_step = [0] * len(table.programs)
        self._step_begun = [False] * len(table.programs)
        self._finished_ns = np.zeros(table.ranks, np.int64)
        self._unfinished_tasks = [len(table.programs) // table.ranks] * table.ranks

    def start(self, now_ns: int) -> None:
        """Starts all programs.

        Args:
            now_ns: current time in nanoseconds since the iteration's start, recorded in `finished_ns`.
        """
        for task in range(len(self._table.programs)):
            self._advance(task, now_ns)

    def receive(self, number: int, segment: int, offset: int, payload: memoryview, now_ns: int) -> None:
        """Stores a segment; if it completes a message, executes the steps that waited for the message.

        A segment that arrived before is ignored.

        Args:
            number: number of the message in the message table.
            segment: number of the segment within the message, from 0.
            offset: position of the segment's first byte in the message.
            payload: the segment's bytes.
            now_ns: current time in nanoseconds since the iteration's start, recorded in `finished_ns`.
        """
        message = self._table.messages[number]
        inbox = self._inboxes.get(number)
        if inbox is None:
            inbox = self._inboxes[number] = Inbox(message)
        if inbox.receive(segment, offset, payload):
            self._complete += 1
            self._advance(message.task, now_ns)

    @property
    def done(self) -> float:
        """The fraction of messages that have arrived, 0 to 1."""
        return self._complete / len(self._table.messages) if self._table.messages else 1.0

    def finished_ns(self) -> npt.NDArray[np.int64]:
        """Returns the time at which each rank had its result: int64 array, one entry per rank."""
        return self._finished_ns

    def _advance(self, task: int, now_ns: int) -> None:
        """Executes the steps of a task (a rank's program for a slice) until one must wait for a message."""
        program, rank = self._table.programs[task], task % self._table.ranks
        while self._next_step[task] < len(program):
            index = self._next_step[task]
            step = program[index]
            if not self._step_begun[task]:
                self._step_begun[task] = True
                self._send(step, self._table.sends[task][index], rank)
            number = self._table.receives[task][index]
            if number >= 0:
                inbox = self._inboxes.get(number)
                if inbox is None or not inbox.complete:
                    return
                self._reduce_or_replace(step, inbox, rank)
            self._next_step[task], self._step_begun[task] = index + 1, False
        if not self._step_begun[task]:
            self._step_begun[task] = True  # marks the task as ended, so that it ends only once
            self.unfinished -= 1
            self._unfinished_tasks[rank] -= 1
            if not self._unfinished_tasks[rank]:
                self._finished_ns[rank] = now_ns

    def _send(self, step: Step, number: int, rank: int) -> None:
        if number >= 0:
            # A copy, because a retransmitted segment must have its original bytes.
            self.outgoing[number] = self.vectors[rank][step.send_span.begin : step.send_span.end].tobytes()
            self.ready.append(number)

    def _reduce_or_replace(self, step: Step, inbox: Inbox, rank: int) -> None:
        received = np.frombuffer(inbox.data, ELEMENT)
        target = self.vectors[rank][step.receive_span.begin : step.receive_span.end]
        if step.reduce:
            target += received
        else:
            target[:] = received
        inbox.data = bytearray()  # frees the data; the marks of arrived segments stay, to detect duplicates
