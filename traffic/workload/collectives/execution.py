"""The ranks of a collective at work: their programs, their messages and their vectors.

Pure: what is to be sent is put into connections, what arrived is handed in; see `collective_worker`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from traffic.workload.collectives.algorithms import ELEMENT, Elements, Program, Step


@dataclass(frozen=True)
class Message:
    """A message of one iteration.

    Attributes:
        source, destination: ranks.
        task: the slice and rank whose program receives it.
        size: in bytes.
        segments: how many.
    """

    source: int
    destination: int
    task: int
    size: int
    segments: int


class Messages:
    """The numbers of all messages of a collective's programs; the same in every iteration.

    The k-th message that a rank sends to another within a slice is the k-th that this one receives from it.
    """

    def __init__(self, slices: Sequence[Sequence[Program]], segment_bytes: int) -> None:
        self.programs: list[Program] = [program for programs in slices for program in programs]
        self.ranks = len(slices[0])
        self.all: list[Message] = []
        # Of each task's step: the number of the message that it sends, and that it receives; -1 for none.
        self.sends: list[list[int]] = [[-1] * len(program) for program in self.programs]
        self.receives: list[list[int]] = [[-1] * len(program) for program in self.programs]
        for first in range(0, len(self.programs), self.ranks):
            self._number(first, segment_bytes)

    def _number(self, first: int, segment_bytes: int) -> None:
        on_the_way: dict[tuple[int, int], list[int]] = {}
        for rank in range(self.ranks):
            for place, step in enumerate(self.programs[first + rank]):
                if step.to is not None:
                    size = (step.sent.end - step.sent.begin) * ELEMENT.itemsize
                    segments = max(1, -(-size // segment_bytes))
                    number = self.sends[first + rank][place] = len(self.all)
                    self.all.append(Message(rank, step.to, first + step.to, size, segments))
                    on_the_way.setdefault((rank, step.to), []).append(number)
        for rank in range(self.ranks):
            for place, step in enumerate(self.programs[first + rank]):
                if step.source is not None:
                    self.receives[first + rank][place] = on_the_way[step.source, rank].pop(0)


class Inbox:
    """A message as it arrives, segment by segment, in any order and perhaps more than once."""

    __slots__ = ("_missing", "_there", "data")

    def __init__(self, message: Message) -> None:
        self.data = bytearray(message.size)
        self._there = bytearray(message.segments)
        self._missing = message.segments

    def take(self, segment: int, offset: int, payload: memoryview) -> bool:
        """Takes a segment's bytes; returns whether the message is complete now and was not before."""
        if self._there[segment]:
            return False
        self._there[segment] = 1
        self.data[offset : offset + len(payload)] = payload
        self._missing -= 1
        return not self._missing

    @property
    def complete(self) -> bool:
        """Whether all of it is there."""
        return not self._missing


class Ranks:
    """All ranks in one iteration.

    Attributes:
        vectors: each rank's vector.
        outgoing: message number -> its bytes, of all that were begun to be sent.
        begun: numbers of messages that became ready to be sent since this was emptied last.
        unfinished: how many tasks (slices of ranks) have not come to their end.
    """

    def __init__(self, messages: Messages, vectors: list[Elements]) -> None:
        self.vectors = vectors
        self.outgoing: dict[int, bytes] = {}
        self.begun: list[int] = []
        self.unfinished = len(messages.programs)
        self._messages = messages
        self._inboxes: dict[int, Inbox] = {}
        self._next = [0] * len(messages.programs)
        self._begun = [False] * len(messages.programs)
        self._finished = np.zeros(messages.ranks, np.int64)
        self._pending = [len(messages.programs) // messages.ranks] * messages.ranks

    def start(self, now_ns: int) -> None:
        """Begins all programs."""
        for task in range(len(self._messages.programs)):
            self._go_on(task, now_ns)

    def take(self, number: int, segment: int, offset: int, payload: memoryview, now_ns: int) -> None:
        """Takes a segment of a message; whoever waited for the message goes on."""
        message = self._messages.all[number]
        inbox = self._inboxes.get(number)
        if inbox is None:
            inbox = self._inboxes[number] = Inbox(message)
        if inbox.take(segment, offset, payload):
            self._go_on(message.task, now_ns)

    def finished_ns(self) -> npt.NDArray[np.int64]:
        """Returns when each rank had its result."""
        return self._finished

    def _go_on(self, task: int, now_ns: int) -> None:
        """Does all steps of a task that can be done."""
        program, rank = self._messages.programs[task], task % self._messages.ranks
        while self._next[task] < len(program):
            place = self._next[task]
            step = program[place]
            if not self._begun[task]:
                self._begun[task] = True
                self._send(step, self._messages.sends[task][place], rank)
            number = self._messages.receives[task][place]
            if number >= 0:
                inbox = self._inboxes.get(number)
                if inbox is None or not inbox.complete:
                    return
                self._receive(step, inbox, rank)
            self._next[task], self._begun[task] = place + 1, False
        if not self._begun[task]:
            self._begun[task] = True  # never again
            self.unfinished -= 1
            self._pending[rank] -= 1
            if not self._pending[rank]:
                self._finished[rank] = now_ns

    def _send(self, step: Step, number: int, rank: int) -> None:
        if number >= 0:
            # A copy: what is sent again must not be what the rank has by then.
            self.outgoing[number] = self.vectors[rank][step.sent.begin : step.sent.end].tobytes()
            self.begun.append(number)

    def _receive(self, step: Step, inbox: Inbox, rank: int) -> None:
        received = np.frombuffer(inbox.data, ELEMENT)
        own = self.vectors[rank][step.received.begin : step.received.end]
        if step.reduce:
            own += received
        else:
            own[:] = received
        inbox.data = bytearray()  # the segments' marks stay, for what arrives twice
