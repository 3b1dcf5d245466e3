"""Applications by their names on the command line: collectives and motifs, as programs of their ranks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from topology.errors import ParameterError
from topology.parameters import Value, join_parameters, split_parameters
from traffic.workload.collectives.algorithms import Program, most_messages, sliced_programs
from traffic.workload.collectives.operations import ELEMENT
from traffic.workload.collectives.registry import COLLECTIVES, check_granule, is_collective, split_collective
from traffic.workload.motifs import MOTIFS


def is_application(pattern: str) -> bool:
    """Returns whether a name is that of a collective or of a motif.

    Args:
        pattern: the name of a pattern or an application, with or without parameters, as `halo2d:4x4`.
    """
    return is_collective(pattern) or pattern.partition(":")[0] in MOTIFS


def application_name(text: str) -> str:
    """Returns the one name of all texts that mean the same application, as `allreduce:ring` for `allreduce`.

    Args:
        text: a name of COLLECTIVES or MOTIFS, alone or followed by a colon and parameters.

    Raises:
        UsageError: the application has not such a parameter.
        ParameterError: the value of a parameter is outside its domain.
    """
    if is_collective(text):
        return ":".join(split_collective(text))
    name, values = _split_motif(text)
    return join_parameters(name, values, MOTIFS[name].parameters)


def _split_motif(text: str) -> tuple[str, dict[str, Value]]:
    return split_parameters(text, MOTIFS[text.partition(":")[0]].parameters)


def default_ranks(pattern: str, hosts: int) -> int:
    """Returns the number of ranks where none is given: all hosts, or of a motif the ranks of its grid.

    Args:
        pattern: the application's name, with its parameters.
        hosts: number of hosts of the fabric, at least 2.
    """
    if is_collective(pattern):
        return hosts
    name, values = _split_motif(pattern)
    if "grid" in values:
        return math.prod(MOTIFS[name].parse_grid(str(values["grid"])))
    return MOTIFS[name].default_ranks(hosts)


@dataclass(frozen=True)
class Application:
    """An application of a number of ranks.

    Attributes:
        name: its name without parameters.
        algorithm: the algorithm of a collective, or the grid of a motif, as `4x4`.
        ranks: number of ranks, at least 2.
        granule: number of bytes that message sizes are multiples of.
        bus_factor: ratio of bus bandwidth to algorithm bandwidth; None of a motif, which has neither.
        computes: whether its ranks compute: in motifs, and to add what they receive.
        most_messages: bound on the messages of a slice.
        programs: (bytes of a message, slices of a vector that are worked on side by side) -> for each slice a
            program for every rank.
    """

    name: str
    algorithm: str
    ranks: int
    granule: int
    bus_factor: float | None
    computes: bool
    most_messages: int
    programs: Callable[[int, int], list[list[Program]]]

    def check_message(self, message_bytes: int) -> None:
        """Checks the size of a message: of a collective's vector, or of a motif's message to a neighbour.

        Args:
            message_bytes: the size in bytes.

        Raises:
            ParameterError: the size is not a positive multiple of the granule.
        """
        check_granule(self.name, self.ranks, message_bytes, self.granule)


def make_application(pattern: str, ranks: int) -> Application:
    """Returns an application of a number of ranks.

    Args:
        pattern: its name, with its parameters.
        ranks: number of ranks, at least 2.

    Raises:
        UsageError: the application has not such a parameter.
        ParameterError: the value of a parameter is outside its domain, or the number of ranks is not that of
            the motif's grid.
    """
    return _of_collective(pattern, ranks) if is_collective(pattern) else _of_motif(pattern, ranks)


def _of_collective(pattern: str, ranks: int) -> Application:
    name, chosen = split_collective(pattern)
    collective = COLLECTIVES[name]
    algorithm = collective.algorithms[chosen]

    def programs(message_bytes: int, slices: int) -> list[list[Program]]:
        return sliced_programs(algorithm, ranks, collective.vector_elements(message_bytes), slices)

    return Application(
        name=name,
        algorithm=chosen,
        ranks=ranks,
        granule=collective.granule(ranks),
        bus_factor=collective.bus_factor(ranks),
        computes=any(step.reduce for program in algorithm(2, 2) for step in program),
        most_messages=ranks * most_messages(algorithm, ranks),
        programs=programs,
    )


def _of_motif(pattern: str, ranks: int) -> Application:
    name, values = _split_motif(pattern)
    motif = MOTIFS[name]
    grid = motif.parse_grid(str(values["grid"])) if "grid" in values else motif.default_grid(ranks)
    if math.prod(grid) != ranks:
        raise ParameterError(f"ranks of {pattern} must be {math.prod(grid)}, those of its grid, got {ranks}")
    times = int(values.get(motif.repeated.key, motif.repeated.default or 1))

    def programs(message_bytes: int, _slices: int) -> list[list[Program]]:
        return [motif.programs(grid, message_bytes // ELEMENT.itemsize, times)]

    return Application(
        name=name,
        algorithm="x".join(map(str, grid)),
        ranks=ranks,
        granule=ELEMENT.itemsize,
        bus_factor=None,
        computes=True,
        most_messages=ranks * times * motif.most_messages,
        programs=programs,
    )
