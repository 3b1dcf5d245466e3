"""The families of topologies by their names on the command line: one line for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from topology.errors import ParameterError, UsageError
from topology.graph import Topology
from topology.polarfly import PolarFly


@dataclass(frozen=True)
class Parameter:
    """A parameter of a family: `--name` on the command line."""

    name: str
    type: type[int] | type[str]
    help: str


@dataclass(frozen=True)
class Family:
    """A family of topologies: how to make one member, and what the command line has to ask for."""

    make: Callable[..., Topology]
    parameters: tuple[Parameter, ...]
    summary: str
    example: str


FAMILIES: Mapping[str, Family] = {
    "polarfly": Family(
        PolarFly,
        (Parameter("q", int, "order of the field: a prime power from 2 to 128"),),
        "Erdos-Renyi polarity graph ER_q: q^2 + q + 1 routers, diameter 2",
        "polarfly --q 7",
    ),
}


def family(name: str) -> Family:
    """Returns the family called `name`.

    Raises:
        UsageError: there is none; those that exist are named.
    """
    if name not in FAMILIES:
        known = ", ".join(sorted(FAMILIES))
        raise UsageError(f"unknown topology {name!r}; there are: {known}")
    return FAMILIES[name]


def make_topology(name: str, params: Mapping[str, int | str]) -> Topology:
    """Returns the member of a family that `params` name.

    Raises:
        UsageError: there is no such family, a parameter is missing or foreign, or its value invalid.
    """
    chosen = family(name)
    wanted = {parameter.name for parameter in chosen.parameters}
    if missing := sorted(wanted - params.keys()):
        raise ParameterError(f"{name} needs --{missing[0]}, as in: {chosen.example}")
    if foreign := sorted(params.keys() - wanted):
        raise ParameterError(f"{name} has no parameter --{foreign[0]}; try: {chosen.example}")
    return chosen.make(**params)
