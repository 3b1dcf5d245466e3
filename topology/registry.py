"""The families of topologies by their names on the command line: one line for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from topology.base import Topology
from topology.errors import ParameterError, UsageError
from topology.families.graph_file import GraphFile
from topology.families.polarfly import PolarFly
from topology.families.polarstar import PolarStar
from topology.families.slimfly import SlimFly
from topology.families.supernodes import SUPERNODE_KINDS


@dataclass(frozen=True)
class Parameter:
    """A parameter of a family: `--name` on the command line."""

    name: str
    type: type[int] | type[str]
    help: str
    required: bool = True


@dataclass(frozen=True)
class Family:
    """A family of topologies: how to make one member, and what the command line has to ask for."""

    make: Callable[..., Topology]
    parameters: tuple[Parameter, ...]
    summary: str
    example: str


_Q = Parameter("q", int, "order of the field: a prime power, 2 to 128 (slimfly: 3 to 89)")

FAMILIES: Mapping[str, Family] = {
    "polarfly": Family(
        PolarFly,
        (_Q,),
        "Erdos-Renyi polarity graph ER_q: q^2 + q + 1 routers, diameter 2",
        "polarfly --q 7",
    ),
    "polarstar": Family(
        PolarStar,
        (
            Parameter(_Q.name, int, _Q.help, required=False),
            Parameter(
                "supernode", str, f"polarstar's: {', '.join(SUPERNODE_KINDS)} (default iq)", required=False
            ),
            Parameter("degree", int, "of polarstar's supernode: d'", required=False),
            Parameter("radix", int, "network radix q + 1 + d' of the largest polarstar", required=False),
        ),
        "star product of ER_q with a supernode: diameter 3",
        "polarstar --q 3 --supernode iq --degree 3",
    ),
    "slimfly": Family(
        SlimFly,
        (_Q,),
        "McKay-Miller-Siran graph: 2 q^2 routers, diameter 2",
        "slimfly --q 5",
    ),
    "graph": Family(
        GraphFile,
        (Parameter("from", str, "a file: GraphML (.graphml), adjacency list (.adjlist) or edge list"),),
        "any connected graph from a file",
        "graph --from examples/torus-3x3.edges",
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
    required = {parameter.name for parameter in chosen.parameters if parameter.required}
    if missing := sorted(required - params.keys()):
        raise ParameterError(f"{name} needs --{missing[0]}, as in: {chosen.example}")
    if foreign := sorted(params.keys() - wanted):
        raise ParameterError(f"{name} has no parameter --{foreign[0]}; try: {chosen.example}")
    return chosen.make(**params)
