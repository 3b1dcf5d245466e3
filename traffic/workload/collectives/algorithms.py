"""Algorithms of collective operations, each as one program of sends and receives per rank.

An algorithm is a function of the number of ranks and the length of their vectors that returns a program for
every rank. A program is a sequence of steps. A step's message is sent when all earlier steps of its rank are
done. A step is done when the message that it receives has arrived and is in the rank's vector.

Ranks are numbered from 0 to n - 1, and elements of a vector from 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from topology.plugins import wrong_result


class Span(NamedTuple):
    """Elements `begin` to `end` - 1 of a rank's vector.

    Examples:
        >>> Span(2, 6).length, Span(2, 6).shifted(4)
        (4, Span(begin=6, end=10))
    """

    begin: int
    end: int

    @property
    def length(self) -> int:
        """The number of elements."""
        return self.end - self.begin

    def shifted(self, elements: int) -> Span:
        """Returns the span shifted towards the end of the vector.

        Args:
            elements: number of elements to shift by.

        Returns:
            A span of the same length.
        """
        return Span(self.begin + elements, self.end + elements)


class Step(NamedTuple):
    """One send and one receive of a rank, which take place concurrently.

    Attributes:
        destination: rank to send to; None if nothing is sent.
        send_span: span of the rank's vector to send.
        source: rank to receive from; None if nothing is received.
        receive_span: span of the rank's vector for the received elements.
        reduce: whether received elements are added to the vector's elements; if not, they replace them.
        computes: whether the rank computes before the step, as applications do between exchanges.

    Examples:
        Two ranks exchange whole vectors of 8 elements, and add them:

        >>> whole = Span(0, 8)
        >>> programs: list[Program] = [(Step(other, whole, other, whole, reduce=True),) for other in (1, 0)]
        >>> programs == AllReduce.algorithms["recursive-doubling"](2, 8)
        True
    """

    destination: int | None = None
    send_span: Span = Span(0, 0)
    source: int | None = None
    receive_span: Span = Span(0, 0)
    reduce: bool = False
    computes: bool = False


Program = tuple[Step, ...]
# (number of ranks, elements of a rank's vector) -> a program for every rank
Algorithm = Callable[[int, int], list[Program]]


def ring(ranks: int, elements: int) -> list[Program]:
    """Returns the programs of a ring allreduce: a reduce-scatter, then an allgather.

    Every rank sends 2 (n - 1) / n of its vector, always to its successor. No algorithm sends less.

    Args:
        ranks: n, at least 2.
        elements: the length of a rank's vector, at least 0.

    Returns:
        A program of 2 (n - 1) steps for every rank.

    Source:
        Patarasuk and Yuan, JPDC 2009, section 4.
    """
    parts = split_evenly(elements, ranks)

    def program(rank: int) -> Program:
        successor, predecessor = (rank + 1) % ranks, (rank - 1) % ranks
        steps = []
        for step in range(2 * (ranks - 1)):
            sent, received = (rank - step) % ranks, (rank - step - 1) % ranks
            steps.append(Step(successor, parts[sent], predecessor, parts[received], reduce=step < ranks - 1))
        return tuple(steps)

    return [program(rank) for rank in range(ranks)]


def recursive_doubling(ranks: int, elements: int) -> list[Program]:
    """Returns the programs of an allreduce in which pairs at distances 1, 2, 4 ... exchange whole vectors.

    Args:
        ranks: n, at least 2; if it is not a power of two, some pairs of ranks act as one rank.
        elements: the length of a rank's vector, at least 0.

    Returns:
        A program for every rank, of log2(n) steps if n is a power of two.

    Source:
        Thakur, Rabenseifner and Gropp, IJHPCA 2005, section 4.5.
    """
    whole = Span(0, elements)

    def exchanges(ranks: int) -> list[list[Step]]:
        distances = [1 << bit for bit in range(ranks.bit_length() - 1)]
        return [
            [Step(rank ^ distance, whole, rank ^ distance, whole, reduce=True) for distance in distances]
            for rank in range(ranks)
        ]

    return _for_any_number_of_ranks(ranks, elements, exchanges)


def rabenseifner(ranks: int, elements: int) -> list[Program]:
    """Returns the programs of an allreduce by recursive halving, then recursive doubling.

    The first half scatters the sums (each rank ends with one part), the second half gathers them.

    Args:
        ranks: n, at least 2.
        elements: the length of a rank's vector, at least 0.

    Returns:
        A program for every rank, of 2 log2(n) steps if n is a power of two. Otherwise, with m the largest
        power of two below n, the first 2 (n - m) ranks form pairs: one rank of a pair first sends its vector
        to the other one, does not take part in the exchanges, and receives the result at the end.

    Source:
        Rabenseifner, ICCS 2004, section 2.
    """

    def exchanges(ranks: int) -> list[list[Step]]:
        parts = split_evenly(elements, ranks)
        return [_halving_and_doubling(rank, parts) for rank in range(ranks)]

    return _for_any_number_of_ranks(ranks, elements, exchanges)


def _halving_and_doubling(rank: int, parts: list[Span]) -> list[Step]:
    """Returns a rank's steps of Rabenseifner's algorithm; `parts` has one span per rank."""
    low, high = 0, len(parts)
    halving, doubling = [], []
    while high - low > 1:
        middle = (low + high) // 2
        distance = middle - low
        lower, upper = (low, middle), (middle, high)
        kept, given = (upper, lower) if rank & distance else (lower, upper)
        kept_span, given_span = _union(parts, *kept), _union(parts, *given)
        partner = rank ^ distance
        halving.append(Step(partner, given_span, partner, kept_span, reduce=True))
        doubling.append(Step(partner, kept_span, partner, given_span))
        low, high = kept
    return halving + doubling[::-1]


def binary_tree(ranks: int, elements: int) -> list[Program]:
    """Returns the programs of an allreduce over a binary tree of ranks: sums go up, the result comes down.

    The parent of rank i is (i - 1) // 2, and rank 0 is the root. Every message is a whole vector.

    Args:
        ranks: n, at least 2.
        elements: the length of a rank's vector, at least 0.

    Returns:
        A program of at most six steps for every rank; the longest chain of dependent messages has length
        2 floor(log2(n)).

    Source:
        The allreduce of SST's Firefly (CollectiveTreeFuncSM of sstsimulator/sst-elements).
    """
    whole = Span(0, elements)

    def program(rank: int) -> Program:
        children = [child for child in (2 * rank + 1, 2 * rank + 2) if child < ranks]
        parent = (rank - 1) // 2
        gather = [Step(source=child, receive_span=whole, reduce=True) for child in children]
        via_parent = [Step(parent, whole), Step(source=parent, receive_span=whole)] if rank else []
        return (*gather, *via_parent, *(Step(child, whole) for child in children))

    return [program(rank) for rank in range(ranks)]


def pairwise(ranks: int, elements: int) -> list[Program]:
    """Returns the programs of an all-to-all in which rank i sends to i + k and receives from i - k in step k.

    Args:
        ranks: n, at least 2.
        elements: the length of a rank's vector: the n parts that it sends, then the n parts that it receives.

    Returns:
        A program of n - 1 steps for every rank.

    Source:
        Thakur, Rabenseifner and Gropp, IJHPCA 2005, section 4.3.
    """
    half = elements // 2
    parts = split_evenly(half, ranks)

    def program(rank: int) -> Program:
        steps = []
        for distance in range(1, ranks):
            destination, source = (rank + distance) % ranks, (rank - distance) % ranks
            steps.append(Step(destination, parts[destination], source, parts[source].shifted(half)))
        return tuple(steps)

    return [program(rank) for rank in range(ranks)]


def split_evenly(elements: int, count: int) -> list[Span]:
    """Splits a vector into consecutive parts whose lengths differ by at most one element.

    Args:
        elements: the length of the vector, at least 0.
        count: the number of parts, at least 1; with more parts than elements, some are empty.

    Returns:
        `count` spans from 0 to `elements`.

    Examples:
        >>> split_evenly(10, 3)
        [Span(begin=0, end=3), Span(begin=3, end=6), Span(begin=6, end=10)]
    """
    return [Span(part * elements // count, (part + 1) * elements // count) for part in range(count)]


def _union(parts: list[Span], first: int, end: int) -> Span:
    return Span(parts[first].begin, parts[end - 1].end)


def _for_any_number_of_ranks(
    ranks: int, elements: int, exchanges: Callable[[int], list[list[Step]]]
) -> list[Program]:
    """Extends an algorithm for a power-of-two number of ranks to any number of ranks.

    With 2^m + k ranks, the first 2 k form pairs: the even rank of a pair sends its vector to the odd rank,
    which takes part on behalf of both and sends the result back (Thakur et al., section 4.5).
    """
    power = 1 << ranks.bit_length() - 1
    extra = ranks - power
    whole = Span(0, elements)
    active = [2 * index + 1 if index < extra else index + extra for index in range(power)]
    programs: list[Program] = [()] * ranks
    for index, exchanged in enumerate(exchanges(power)):
        rank = active[index]
        steps = [
            step._replace(
                destination=None if step.destination is None else active[step.destination],
                source=None if step.source is None else active[step.source],
            )
            for step in exchanged
        ]
        if index < extra:
            even = rank - 1
            steps = [Step(source=even, receive_span=whole, reduce=True), *steps, Step(even, whole)]
            programs[even] = (Step(rank, whole), Step(source=rank, receive_span=whole))
        programs[rank] = tuple(steps)
    return programs


def most_messages(algorithm: Algorithm, ranks: int) -> int:
    """Returns an upper bound on the messages that a rank sends, without generating its program.

    Args:
        algorithm: one of the algorithms in this module.
        ranks: the number of ranks, at least 2.
    """
    exact: dict[Algorithm, int] = {ring: 2 * (ranks - 1), pairwise: ranks - 1}
    return exact.get(algorithm, 2 * ranks.bit_length() + 1)


def programs_of(function: Callable[..., object], ranks: int, *arguments: object) -> list[Program]:
    """Returns the programs that an algorithm or a motif makes.

    Args:
        function: the algorithm or the motif's function.
        ranks: the number of ranks, at least 2.
        *arguments: the arguments of the function.

    Raises:
        ParameterError: it returns something other than a program for every rank.
    """
    programs: Any = function(*arguments)
    listed = isinstance(programs, list | tuple) and all(isinstance(one, list | tuple) for one in programs)
    if not listed or len(programs) != ranks or not {type(step) for one in programs for step in one} <= {Step}:
        raise wrong_result(function, programs, f"a list of {ranks} programs, each a tuple of Steps")
    return list(programs)


def sliced_programs(algorithm: Algorithm, ranks: int, elements: int, slices: int) -> list[list[Program]]:
    """Returns an algorithm's programs for consecutive slices of the vectors; the slices run concurrently.

    Slices keep the links busy: while one slice waits for its last packet, another one sends.

    Args:
        algorithm: the algorithm, applied to each slice separately.
        ranks: the number of ranks, at least 2.
        elements: the length of a rank's whole vector.
        slices: the number of slices, at least 1.

    Returns:
        For each slice, a program for every rank, with spans of the whole vector.
    """
    programs = []
    for part in split_evenly(elements, slices):
        of_slice = programs_of(algorithm, ranks, ranks, part.length)
        programs.append([tuple(_shifted(step, part.begin) for step in program) for program in of_slice])
    return programs


def _shifted(step: Step, elements: int) -> Step:
    return step._replace(
        send_span=step.send_span.shifted(elements), receive_span=step.receive_span.shifted(elements)
    )
