"""Applications by command-line name: collectives and motifs, as programs of ranks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import TypeVar

from topology.errors import ParameterError
from topology.parameters import Value, join_parameters, split_parameters
from topology.plugins import wrong_result
from traffic.workload.collectives.algorithms import Program, most_messages, programs_of, sliced_programs
from traffic.workload.collectives.operations import ELEMENT
from traffic.workload.collectives.registry import COLLECTIVES, check_granule, is_collective, split_collective
from traffic.workload.motifs import MOTIFS

N = TypeVar("N")


def is_application(pattern: str) -> bool:
    """Returns whether a name denotes a collective or a motif.

    Args:
        pattern: name of a pattern or application, with or without parameters, for example `halo2d:4x4`.
    """
    return is_collective(pattern) or pattern.partition(":")[0] in MOTIFS


def application_name(text: str) -> str:
    """Returns the canonical name of an application, for example `allreduce:ring` for `allreduce`.

    Args:
        text: a name of COLLECTIVES or MOTIFS, alone or followed by a colon and parameters.

    Raises:
        UsageError: the application has no such parameter.
        ParameterError: a parameter's value is out of range.
    """
    if is_collective(text):
        return ":".join(split_collective(text))
    name, values = _split_motif(text)
    return join_parameters(name, values, MOTIFS[name].parameters)


def _split_motif(text: str) -> tuple[str, dict[str, Value]]:
    text = MOTIFS.spelled(text)
    return split_parameters(text, MOTIFS[text.partition(":")[0]].parameters)


def default_ranks(pattern: str, hosts: int) -> int:
    """Returns the default number of ranks: all hosts for a collective, the size of the grid for a motif.

    Args:
        pattern: the application's name, with its parameters.
        hosts: number of hosts in the fabric, at least 2.
    """
    if is_collective(pattern):
        return hosts
    name, values = _split_motif(pattern)
    if "grid" in values:
        return math.prod(MOTIFS[name].parse_grid(str(values["grid"])))
    return MOTIFS[name].default_ranks(hosts)


@dataclass(frozen=True)
class Application:
    """An application for a given number of ranks.

    Attributes:
        name: its name without parameters.
        algorithm: the algorithm of a collective, or the grid of a motif, for example `4x4`.
        ranks: number of ranks, at least 2.
        granule: message sizes are multiples of this number of bytes.
        bus_factor: ratio of bus bandwidth to algorithm bandwidth; None for a motif.
        computes: whether its ranks compute: in motifs, and in collectives that add received elements.
        most_messages: upper bound on the number of messages of a slice.
        programs: (bytes of a message, number of concurrent slices of a vector) -> for each slice, a program
            for every rank.
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
        """Checks a message size: of a collective's message, or of a motif's message to a neighbour.

        Args:
            message_bytes: size in bytes.

        Raises:
            ParameterError: the size is not a positive multiple of the granule.
        """
        check_granule(self.name, self.ranks, message_bytes, self.granule)


def make_application(pattern: str, ranks: int) -> Application:
    """Returns an application for a given number of ranks.

    Args:
        pattern: the application's name, with its parameters.
        ranks: number of ranks, at least 2.

    Raises:
        UsageError: the application has no such parameter.
        ParameterError: a parameter's value is out of range, or the number of ranks does not match the motif's
            grid.
    """
    return (
        _collective_application(pattern, ranks)
        if is_collective(pattern)
        else _motif_application(pattern, ranks)
    )


def _number(function: Callable[..., object], value: N) -> N:
    """Returns the result of a collective's function; raises ParameterError if it is not a number."""
    if not isinstance(value, Real):
        raise wrong_result(function, value, "a number")
    return value


def _collective_application(pattern: str, ranks: int) -> Application:
    name, chosen = split_collective(pattern)
    collective = COLLECTIVES[name]
    algorithm = collective.algorithms[chosen]

    def programs(message_bytes: int, slices: int) -> list[list[Program]]:
        return sliced_programs(algorithm, ranks, collective.vector_elements(message_bytes), slices)

    return Application(
        name=name,
        algorithm=chosen,
        ranks=ranks,
        granule=_number(collective.granule, collective.granule(ranks)),
        bus_factor=_number(collective.bus_factor, collective.bus_factor(ranks)),
        computes=any(step.reduce for program in programs_of(algorithm, 2, 2, 2) for step in program),
        most_messages=ranks * most_messages(algorithm, ranks),
        programs=programs,
    )


def _motif_application(pattern: str, ranks: int) -> Application:
    name, values = _split_motif(pattern)
    motif = MOTIFS[name]
    grid = motif.parse_grid(str(values["grid"])) if "grid" in values else motif.default_grid(ranks)
    if math.prod(grid) != ranks:
        raise ParameterError(f"ranks of {pattern} must be {math.prod(grid)} (its grid), got {ranks}")
    times = int(values.get(motif.repeated.key, motif.repeated.default or 1))

    def programs(message_bytes: int, _slices: int) -> list[list[Program]]:
        return [programs_of(motif.programs, ranks, grid, message_bytes // ELEMENT.itemsize, times)]

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
