"""Checks of parameters that several families share."""

from __future__ import annotations

from collections.abc import Callable

from topology.base import MAX_ROUTERS
from topology.errors import ParameterError


def check_integer(name: str, value: int, least: int, most: int | None = None) -> None:
    """Checks that a parameter is a whole number within bounds.

    Args:
        name: the name of the parameter, for messages.
        value: its value.
        least: the least value.
        most: the greatest value; None for no upper bound.

    Raises:
        ParameterError: the value is not a whole number, or outside the bounds.
    """
    domain = f"{least} to {most}" if most is not None else f"{least} or more"
    if not isinstance(value, int) or isinstance(value, bool):
        raise ParameterError(f"{name} must be a whole number, {domain}, got {value!r}")
    if value < least or (most is not None and value > most):
        raise ParameterError(f"{name} must be {domain}, got {value}")


def check_routers(family: str, routers: int) -> None:
    """Checks the number of routers against the limit of a topology.

    Args:
        family: the family with its article, such as `a dragonfly`.
        routers: N, the number of routers.

    Raises:
        ParameterError: there are more than MAX_ROUTERS routers.
    """
    if routers > MAX_ROUTERS:
        raise ParameterError(f"{family} must have at most {MAX_ROUTERS} routers, got {routers}")


def check_routers_of(
    family: str, name: str, value: int, routers_of: Callable[[int], int], step: int = 1
) -> None:
    """Checks the number of routers of a member, which grows with one parameter.

    Args:
        family: the family with its article, such as `a fat-tree`.
        name: the name of the parameter.
        value: its value.
        routers_of: value of the parameter -> number of routers, ascending.
        step: the difference between successive valid values.

    Raises:
        ParameterError: there are more than MAX_ROUTERS routers; the message names the largest value that
            fits, if there is one.
    """
    if routers_of(value) > MAX_ROUTERS:
        fitting = (smaller for smaller in range(value - step, 1, -step) if routers_of(smaller) <= MAX_ROUTERS)
        nearest = next(fitting, None)
        raise ParameterError(
            f"{family} must have at most {MAX_ROUTERS} routers, got {routers_of(value)}"
            f"{f'; nearest: {name} {nearest}' if nearest else ''}"
        )
