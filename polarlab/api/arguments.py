"""Arguments of Python's functions that are not what they should be, in one line with the remedy."""

from __future__ import annotations

from typing import Any

from routing.plan.model import RoutePlan
from topology.base import Topology
from topology.errors import ParameterError


def checked_topology(value: Any) -> Topology:
    """Returns a graph of PolarLab.

    Args:
        value: the argument.

    Raises:
        ParameterError: it is something else; the text names the function that makes a graph of it.
    """
    if isinstance(value, Topology):
        return value
    if _is_of_networkx(value):
        remedy = "; polarlab.from_networkx(graph) makes it one"
    elif isinstance(value, str):
        remedy = "; polarlab.topology(name, ...) makes one of a family"
    else:
        remedy = ""
    raise ParameterError(f"topology must be a graph of PolarLab, got {_shown(value)}{remedy}")


def checked_plan(value: Any) -> RoutePlan:
    """Returns a plan.

    Args:
        value: the argument.

    Raises:
        ParameterError: it is something else; the text names the functions that make a plan of it.
    """
    if isinstance(value, RoutePlan):
        return value
    graph = "polarlab.from_networkx(graph)" if _is_of_networkx(value) else "graph"
    raise ParameterError(f"plan must be a plan, got {_shown(value)}; polarlab.plan({graph}) makes one")


def _is_of_networkx(value: Any) -> bool:
    """Returns whether a value is a graph of networkx, without importing it."""
    return any(kind.__module__.partition(".")[0] == "networkx" for kind in type(value).__mro__)


def _shown(value: Any) -> str:
    if _is_of_networkx(value):
        return f"a {type(value).__name__} of networkx"
    shown = value is None or isinstance(value, str | int | float | Topology)
    return repr(value) if shown else f"a {type(value).__name__}"
