"""Motifs: message exchanges that applications on a grid of ranks repeat.

A motif is a function in this module that returns a program for every rank, and an entry in MOTIFS. Ranks are
numbered along the first dimension of the grid, then along the second, and so on. The grid does not wrap
around.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from topology.errors import ParameterError
from topology.files.escaping import quoted
from topology.parameters import Parameter
from topology.plugins import Call, Registry
from traffic.workload.collectives.algorithms import Program, Span, Step

Grid = tuple[int, ...]
# (sizes of the grid, elements of a message, repetitions) -> a program for every rank
Programs = Callable[[Grid, int, int], list[Program]]


def halo(grid: Grid, elements: int, steps: int) -> list[Program]:
    """Returns the programs of halo exchanges: every rank computes, then sends to its neighbours.

    A rank starts its next step when all messages of its neighbours have arrived.

    Args:
        grid: sizes of the grid of ranks, in any number of dimensions.
        elements: length of a message.
        steps: number of steps, at least 1.

    Returns:
        A program for every rank.

    Source:
        The motifs Halo2D and Halo3D of SST's Ember (sstsimulator/sst-elements), without the order of Halo3D's
        dimensions and without its allreduce.
    """
    span = Span(0, elements)

    def program(rank: int) -> Program:
        near = [other for other in _neighbours(grid, rank) if other is not None]
        sends = [Step(other, span, computes=place == 0) for place, other in enumerate(near)]
        return (*sends, *(Step(source=other, receive_span=span) for other in near)) * steps

    return [program(rank) for rank in range(math.prod(grid))]


def sweep(grid: Grid, elements: int, blocks: int) -> list[Program]:
    """Returns the programs of wavefronts that sweep over a grid of ranks: two from each of its four corners.

    For each block of a sweep, a rank waits for its neighbours towards the corner, computes, and sends to the
    neighbours on the other side. Wavefronts follow one another without a pause.

    Args:
        grid: sizes of the grid of ranks, in two dimensions.
        elements: length of a message.
        blocks: number of blocks into which the planes of a rank are divided, at least 1.

    Returns:
        A program for every rank.

    Source:
        The motif Sweep3D of SST's Ember (sstsimulator/sst-elements).
    """
    span = Span(0, elements)

    def program(rank: int) -> Program:
        down_x, up_x, down_y, up_y = _neighbours(grid, rank)
        steps: list[Step] = []
        # From (0, 0), (X, 0), (X, Y) and (0, Y), for each of the two directions of the third dimension.
        corners = [(down_x, up_x, down_y, up_y), (up_x, down_x, down_y, up_y)]
        corners += [(up_x, down_x, up_y, down_y), (down_x, up_x, up_y, down_y)]
        for (from_x, to_x, from_y, to_y), _ in itertools.product(corners * 2, range(blocks)):
            steps += [Step(source=one, receive_span=span) for one in (from_x, from_y) if one is not None]
            sends = [Step(one, span) for one in (to_x, to_y) if one is not None] or [Step()]
            steps += [sends[0]._replace(computes=True), *sends[1:]]
        return tuple(steps)

    return [program(rank) for rank in range(math.prod(grid))]


def _neighbours(grid: Grid, rank: int) -> list[int | None]:
    """Returns a rank's lower and upper neighbour in each dimension; None outside the grid."""
    neighbours: list[int | None] = []
    stride = 1
    for size in grid:
        place = rank // stride % size
        neighbours += [rank - stride if place else None, rank + stride if place < size - 1 else None]
        stride *= size
    return neighbours


@dataclass(frozen=True)
class Motif:
    """Definition of a motif.

    Attributes:
        dimensions: number of dimensions of its grid of ranks.
        programs: function of the grid, the message length and the repetitions; see Programs.
        repeated: parameter with the number of repetitions.
        most_messages: maximum number of messages that a rank sends in one repetition.
        description: definition, shown to users.
        source: publication of the motif.

    Examples:
        >>> def ring(grid, elements, rounds):
        ...     ranks, span = grid[0], Span(0, elements)
        ...     ends = [((rank + 1) % ranks, (rank - 1) % ranks) for rank in range(ranks)]
        ...     return [(Step(after, span, before, span),) * rounds for after, before in ends]
        >>> rounds = Parameter(name="rounds", type=int, help="rounds", least=1, most=100, default=1)
        >>> motif = Motif(1, ring, rounds, 1, "every rank of a ring sends to the next one", "-")
        >>> motif.default_grid(6), len(motif.programs((6,), 8, 2)[0])
        ((6,), 2)
    """

    dimensions: int
    programs: Programs
    repeated: Parameter
    most_messages: int
    description: str
    source: str

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The motif's parameters: the grid and the number of repetitions."""
        sizes = "x".join(("PX", "PY", "PZ")[: self.dimensions])
        grid = Parameter(
            name="grid",
            type=str,
            help=f"sizes of the grid of ranks, {sizes}",
            parse=self.parse_grid,
            domain_text=f"for example {self._example}",
            default_text="as equal as the number of ranks allows",
            metavar=sizes,
        )
        return grid, self.repeated

    @property
    def _example(self) -> str:
        return "x".join(["4"] * self.dimensions)

    def parse_grid(self, text: str) -> Grid:
        """Parses the sizes of a grid, for example `4x4`.

        Args:
            text: the sizes, separated by x.

        Raises:
            ParameterError: the text is malformed, or the grid has fewer than two ranks.
        """
        words = text.lower().split("x")
        valid = len(words) == self.dimensions and all(re.fullmatch(r"[1-9]\d{0,5}", one) for one in words)
        if not valid or math.prod(map(int, words)) < 2:
            raise ParameterError(
                f"grid must be {self.dimensions} sizes with two ranks or more, for example {self._example}, "
                f"got {quoted(text)}"
            )
        return tuple(map(int, words))

    def default_ranks(self, hosts: int) -> int:
        """Returns the default number of ranks: the most hosts that fill a grid with equal sides; at least 2.

        Args:
            hosts: number of hosts, at least 2.
        """
        size = 1
        while (size + 1) ** self.dimensions <= hosts:
            size += 1
        return max(2, int(size**self.dimensions))

    def default_grid(self, ranks: int) -> Grid:
        """Returns the grid for a number of ranks; its sizes are as equal as possible, the largest first.

        Args:
            ranks: number of ranks, at least 2.
        """
        sizes: list[int] = []
        for dimensions in range(self.dimensions, 1, -1):
            root = round(ranks ** (1 / dimensions))
            size = next(
                one for one in range(root + 1, 0, -1) if ranks % one == 0 and one**dimensions <= ranks
            )
            sizes.append(size)
            ranks //= size
        return tuple(sorted([*sizes, ranks], reverse=True))


def motif_usage(name: str) -> str:
    """Returns the syntax of a motif's name, for example `halo2d[:grid=PXxPY,steps=STEPS]`.

    Args:
        name: a name of MOTIFS.
    """
    motif = MOTIFS[name]
    forms = [f"{one.name}={one.metavar or one.name.upper()}" for one in motif.parameters]
    return f"{name}[:{','.join(forms)}]"


def _repeated(name: str, text: str, default: int) -> Parameter:
    return Parameter(name=name, type=int, help=text, least=1, most=10_000, default=default)


_STEPS = _repeated("steps", "number of consecutive exchanges", 1)
_EMBER = "SST Ember motif"


def _calls(_name: str, entry: Motif) -> Iterator[Call]:
    yield Call(entry.programs, ("grid", "elements", "repetitions"))


_OWN = {
    "halo2d": Motif(
        2,
        halo,
        _STEPS,
        4,
        "every rank of a grid exchanges messages with its 4 neighbours",
        f"{_EMBER} Halo2D",
    ),
    "halo3d": Motif(
        3,
        halo,
        _STEPS,
        6,
        "every rank of a grid exchanges messages with its 6 neighbours",
        f"{_EMBER} Halo3D",
    ),
    "sweep3d": Motif(
        2,
        sweep,
        _repeated("blocks", "number of consecutive messages of a wavefront to each neighbour", 10),
        16,
        "wavefronts sweep over a grid of ranks, two from each corner",
        f"{_EMBER} Sweep3D",
    ),
}
MOTIFS = Registry("motifs", "motif", Motif, _OWN, _calls)
