"""Collective operations as programs: what each rank sends to whom, and what it needs before that.

An algorithm is one function that returns a program per rank. A program is a list of steps; a step's message
leaves once all earlier steps of its rank are done, and a step is done when what it receives is there and
reduced. Elements are unsigned 32-bit integers, whose sum modulo 2^32 is the same in every order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from topology.errors import ParameterError, UsageError

ELEMENT = np.dtype("<u4")

Elements = npt.NDArray[np.uint32]


class Span(NamedTuple):
    """Elements `begin` to `end` - 1 of a rank's vector."""

    begin: int
    end: int


class Step(NamedTuple):
    """What a rank sends and receives at once.

    Attributes:
        to: the rank that it sends to, None if it sends nothing.
        sent: what of its own vector it sends.
        source: the rank that it receives from, None if it receives nothing.
        received: where that goes in its own vector.
        reduce: whether what arrives is added to what is there, or takes its place.
    """

    to: int | None = None
    sent: Span = Span(0, 0)
    source: int | None = None
    received: Span = Span(0, 0)
    reduce: bool = False


Program = tuple[Step, ...]
# (ranks, elements of a rank's vector) -> a program for every rank
Algorithm = Callable[[int, int], list[Program]]


def ring(ranks: int, elements: int) -> list[Program]:
    """Reduce-scatter around a ring, then allgather around it (Patarasuk and Yuan, JPDC 2009, section 4).

    Every rank sends 2 (n - 1) / n of its vector, always to its successor: no algorithm sends less.
    """
    parts = _parts(elements, ranks)

    def program(rank: int) -> Program:
        after, before = (rank + 1) % ranks, (rank - 1) % ranks
        steps = []
        for turn in range(2 * (ranks - 1)):
            sent, received = (rank - turn) % ranks, (rank - turn - 1) % ranks
            steps.append(Step(after, parts[sent], before, parts[received], reduce=turn < ranks - 1))
        return tuple(steps)

    return [program(rank) for rank in range(ranks)]


def recursive_doubling(ranks: int, elements: int) -> list[Program]:
    """Pairs at distances 1, 2, 4 ... exchange and add all they have (Thakur et al., IJHPCA 2005, 4.5)."""
    whole = Span(0, elements)

    def among(ranks: int) -> list[list[Step]]:
        distances = [1 << bit for bit in range(ranks.bit_length() - 1)]
        return [
            [Step(rank ^ apart, whole, rank ^ apart, whole, reduce=True) for apart in distances]
            for rank in range(ranks)
        ]

    return _folded(ranks, elements, among)


def rabenseifner(ranks: int, elements: int) -> list[Program]:
    """Reduce-scatter by halving, then allgather by doubling (Rabenseifner, ICCS 2004, section 2)."""

    def among(ranks: int) -> list[list[Step]]:
        parts = _parts(elements, ranks)
        programs = []
        for rank in range(ranks):
            low, high = 0, ranks
            halving, doubling = [], []
            while high - low > 1:
                middle = (low + high) // 2
                apart = middle - low
                lower, upper = (low, middle), (middle, high)
                kept, given = (upper, lower) if rank & apart else (lower, upper)
                kept_span, given_span = _together(parts, *kept), _together(parts, *given)
                partner = rank ^ apart
                halving.append(Step(partner, given_span, partner, kept_span, reduce=True))
                doubling.append(Step(partner, kept_span, partner, given_span))
                low, high = kept
            programs.append(halving + doubling[::-1])
        return programs

    return _folded(ranks, elements, among)


def pairwise(ranks: int, elements: int) -> list[Program]:
    """In step k every rank sends to the one k after it and receives from the one k before it.

    Thakur et al., IJHPCA 2005, section 4.3. The vector is laid out as `AllToAll` says.
    """
    parts = _parts(elements // 2, ranks)

    def program(rank: int) -> Program:
        steps = []
        for apart in range(1, ranks):
            to, source = (rank + apart) % ranks, (rank - apart) % ranks
            received = Span(*(elements // 2 + place for place in parts[source]))
            steps.append(Step(to, parts[to], source, received))
        return tuple(steps)

    return [program(rank) for rank in range(ranks)]


def _parts(elements: int, count: int) -> list[Span]:
    """Returns a vector in parts that differ by one element at most."""
    return [Span(part * elements // count, (part + 1) * elements // count) for part in range(count)]


def _together(parts: list[Span], first: int, end: int) -> Span:
    return Span(parts[first].begin, parts[end - 1].end)


def _folded(ranks: int, elements: int, among: Callable[[int], list[list[Step]]]) -> list[Program]:
    """Returns an algorithm for a power of two of ranks, for any number (Thakur et al., section 4.5).

    Of the first 2 k ranks, where k are too many, each even one hands its vector to the next and gets the
    result from it.
    """
    power = 1 << ranks.bit_length() - 1
    extra = ranks - power
    whole = Span(0, elements)
    real = [2 * place + 1 if place < extra else place + extra for place in range(power)]
    programs: list[Program] = [()] * ranks
    for place, steps in enumerate(among(power)):
        rank = real[place]
        own = [
            step._replace(
                to=None if step.to is None else real[step.to],
                source=None if step.source is None else real[step.source],
            )
            for step in steps
        ]
        if place < extra:
            even = rank - 1
            own = [Step(source=even, received=whole, reduce=True), *own, Step(even, whole)]
            programs[even] = (Step(rank, whole), Step(source=rank, received=whole))
        programs[rank] = tuple(own)
    return programs


class Collective(Protocol):
    """A collective operation; vectors are of one length for all ranks.

    Attributes:
        algorithms: by name; the first is the default.
        text: what it is.
        source: where its algorithms are from.
    """

    algorithms: Mapping[str, Algorithm]
    text: str
    source: str

    def granule(self, ranks: int) -> int:
        """Returns what the bytes of a message have to be a multiple of."""

    def bus_factor(self, ranks: int) -> float:
        """Returns bus bandwidth over algorithm bandwidth, as NCCL's tests define it (PERFORMANCE.md)."""

    def elements(self, message_bytes: int) -> int:
        """Returns how long a rank's vector is for a message of that size."""

    def start(self, ranks: int, elements: int, seed: int) -> list[Elements]:
        """Returns what every rank begins with: random numbers, others for every rank."""

    def result(self, start: list[Elements]) -> list[Elements]:
        """Returns the part of every rank's vector that is its result, as it has to be."""

    def outcome(self, vector: Elements) -> Elements:
        """Returns the part of a rank's vector that is its result."""


class AllReduce:
    """Every rank ends with the sum of all ranks' vectors; the message is the vector."""

    algorithms: Mapping[str, Algorithm] = {
        "ring": ring,
        "recursive-doubling": recursive_doubling,
        "rabenseifner": rabenseifner,
    }
    text = "every rank ends with the sum of all ranks' vectors"
    source = "Thakur et al., IJHPCA 2005"

    def granule(self, _ranks: int) -> int:
        """An element."""
        return ELEMENT.itemsize

    def bus_factor(self, ranks: int) -> float:
        """2 (n - 1) / n."""
        return 2 * (ranks - 1) / ranks

    def elements(self, message_bytes: int) -> int:
        """As many as the message has."""
        return message_bytes // ELEMENT.itemsize

    def start(self, ranks: int, elements: int, seed: int) -> list[Elements]:
        """Random numbers."""
        return [_random(seed, rank, elements) for rank in range(ranks)]

    def result(self, start: list[Elements]) -> list[Elements]:
        """The sum, modulo 2^32."""
        total = np.zeros_like(start[0])
        for vector in start:
            total += vector
        return [total] * len(start)

    def outcome(self, vector: Elements) -> Elements:
        """All of it."""
        return vector


class AllToAll:
    """Rank i's part j goes to rank j, as its part i; the message is all parts of a rank.

    The first half of a vector is what a rank sends, the second what it receives.
    """

    algorithms: Mapping[str, Algorithm] = {"pairwise": pairwise}
    text = "every rank has a part of its own for every other"
    source = "Thakur et al., IJHPCA 2005, section 4.3"

    def granule(self, ranks: int) -> int:
        """An element for every rank."""
        return ELEMENT.itemsize * ranks

    def bus_factor(self, ranks: int) -> float:
        """(n - 1) / n."""
        return (ranks - 1) / ranks

    def elements(self, message_bytes: int) -> int:
        """Twice as many as the message has."""
        return 2 * (message_bytes // ELEMENT.itemsize)

    def start(self, ranks: int, elements: int, seed: int) -> list[Elements]:
        """Random numbers, and each rank's own part where it belongs."""
        half = elements // 2
        vectors = []
        for rank, own in enumerate(_parts(half, ranks)):
            vector = np.zeros(elements, ELEMENT)
            vector[:half] = _random(seed, rank, half)
            vector[half + own.begin : half + own.end] = vector[own.begin : own.end]
            vectors.append(vector)
        return vectors

    def result(self, start: list[Elements]) -> list[Elements]:
        """Part i of every rank, one behind the other, for rank i."""
        parts = _parts(len(start[0]) // 2, len(start))
        return [np.concatenate([vector[part.begin : part.end] for vector in start]) for part in parts]

    def outcome(self, vector: Elements) -> Elements:
        """What was received."""
        return vector[len(vector) // 2 :]


def _random(seed: int, rank: int, elements: int) -> Elements:
    return np.random.default_rng([seed, rank]).integers(0, 1 << 32, elements, ELEMENT)


COLLECTIVES: Mapping[str, Collective] = {"allreduce": AllReduce(), "all-to-all": AllToAll()}


def is_collective(pattern: str) -> bool:
    """Returns whether a pattern's name is that of a collective, with or without an algorithm."""
    return pattern.partition(":")[0] in COLLECTIVES


def split_collective(pattern: str) -> tuple[str, str]:
    """Returns the collective and the algorithm of a name like `allreduce:ring`.

    Raises:
        UsageError: there is no such algorithm.
    """
    name, colon, algorithm = pattern.partition(":")
    algorithms = COLLECTIVES[name].algorithms
    if colon and algorithm not in algorithms:
        raise UsageError(f"{name} has no algorithm {algorithm!r}; there are: {', '.join(algorithms)}")
    return name, algorithm if colon else next(iter(algorithms))


def check_message(name: str, ranks: int, message_bytes: int) -> None:
    """Raises ParameterError unless a collective of so many ranks can have messages of that size."""
    granule = COLLECTIVES[name].granule(ranks)
    if message_bytes < granule or message_bytes % granule:
        raise ParameterError(
            f"a message of {name} with {ranks} ranks is a multiple of {granule} bytes, got {message_bytes}; "
            f"{max(1, round(message_bytes / granule)) * granule} would do"
        )


def sliced(algorithm: Algorithm, ranks: int, elements: int, slices: int) -> list[list[Program]]:
    """Returns the programs of an algorithm on each of some slices of the vectors, to be run side by side.

    While one slice waits for its last packet, another one sends.
    """
    programs = []
    for part in _parts(elements, slices):
        own = algorithm(ranks, part.end - part.begin)
        programs.append([tuple(_moved(step, part.begin) for step in program) for program in own])
    return programs


def _moved(step: Step, places: int) -> Step:
    sent, received = (Span(span.begin + places, span.end + places) for span in (step.sent, step.received))
    return step._replace(sent=sent, received=received)
