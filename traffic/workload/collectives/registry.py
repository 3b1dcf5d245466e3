"""Registry of collectives by command-line name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from topology.errors import ParameterError
from topology.parameters import Parameter, split_parameters
from topology.plugins import Call, Registry
from traffic.workload.collectives.operations import AllReduce, AllToAll, Collective


def _calls(_name: str, entry: Collective) -> Iterator[Call]:
    for algorithm in entry.algorithms.values():
        yield Call(algorithm, ("ranks", "elements"))


_OWN: Mapping[str, Collective] = {
    "allreduce": AllReduce(),
    "all-to-all": AllToAll(),
}
COLLECTIVES = Registry("collectives", "collective", Collective, _OWN, _calls)


def is_collective(pattern: str) -> bool:
    """Returns whether a name denotes a collective.

    Args:
        pattern: name of a pattern or collective, with or without an algorithm, such as `allreduce:ring`.

    Returns:
        Whether the part before the colon is one of COLLECTIVES.
    """
    return pattern.partition(":")[0] in COLLECTIVES


def split_collective(pattern: str) -> tuple[str, str]:
    """Splits a name like `allreduce:ring` into collective and algorithm.

    Args:
        pattern: a name of COLLECTIVES, alone or followed by a colon and the name of an algorithm, or by
            `:algorithm=` and that name.

    Returns:
        The names of the collective and of the algorithm; the collective's first algorithm if none is given.

    Raises:
        UsageError: the collective has no such algorithm or parameter.
    """
    pattern = COLLECTIVES.spelled(pattern)
    name = pattern.partition(":")[0]
    algorithm = algorithm_parameter(name)
    _, values = split_parameters(pattern, (algorithm,))
    return name, str(values.get(algorithm.key, algorithm.default))


def algorithm_parameter(name: str) -> Parameter:
    """Returns the parameter that selects the algorithm of a collective.

    Args:
        name: a name of COLLECTIVES.
    """
    algorithms = COLLECTIVES[name].algorithms
    return Parameter(
        name="algorithm",
        type=str,
        help="algorithm of the collective",
        choices=lambda: algorithms,
        default=next(iter(algorithms)),
    )


def check_message(name: str, ranks: int, message_bytes: int) -> None:
    """Checks that a message can be divided among the ranks of a collective.

    Args:
        name: a name of COLLECTIVES.
        ranks: the number of ranks, at least 2.
        message_bytes: the size of the message in bytes.

    Raises:
        ParameterError: the size is not a positive multiple of the collective's granule.
    """
    check_granule(name, ranks, message_bytes, COLLECTIVES[name].granule(ranks))


def check_granule(name: str, ranks: int, message_bytes: int, granule: int) -> None:
    """Checks that a message can be divided among ranks.

    Args:
        name: name of the application, for the error message.
        ranks: the number of ranks.
        message_bytes: the size of the message in bytes.
        granule: number of bytes that the size must be a multiple of.

    Raises:
        ParameterError: the size is not a positive multiple of the granule.
    """
    if message_bytes < granule or message_bytes % granule:
        nearest = max(1, round(message_bytes / granule)) * granule
        raise ParameterError(
            f"message size of {name} with {ranks} ranks must be a multiple of {granule} bytes, "
            f"got {message_bytes}; the nearest is {nearest}"
        )
