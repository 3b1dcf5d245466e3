"""Registry of the families of topologies by their names on the command line: one entry for each."""

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
    """A parameter of a family and its option on the command line.

    Attributes:
        name: the keyword argument of the constructor; the option is `--name`.
        type: the type of its values.
        help: a noun phrase with unit, domain and default.
        required: whether every member of the family must be given one.
    """

    name: str
    type: type[int] | type[str]
    help: str
    required: bool = True


@dataclass(frozen=True)
class Family:
    """A family of topologies: its constructor, and its description for the command line.

    Attributes:
        make: the constructor; its keyword arguments are the parameters.
        parameters: the parameters, in the order of the help.
        summary: a phrase with the number of routers and the diameter.
        example: the words that name one member on the command line.
    """

    make: Callable[..., Topology]
    parameters: tuple[Parameter, ...]
    summary: str
    example: str


# Families that have a parameter of the same name share its option, and so its help.
_Q = Parameter("q", int, "order of the finite field: a prime power, 2 to 128 (slimfly: 3 to 89)")

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
                "supernode",
                str,
                f"kind of polarstar's supernodes: {', '.join(SUPERNODE_KINDS)} (default iq)",
                required=False,
            ),
            Parameter(
                "degree", int, "links of each router inside polarstar's supernodes (d')", required=False
            ),
            Parameter(
                "radix", int, "network radix q + 1 + d' of the largest polarstar, 3 or more", required=False
            ),
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
        (
            Parameter(
                "from",
                str,
                "graph file: GraphML (.graphml), adjacency list (.adjlist) or edge list (two names "
                "a line, no weights)",
            ),
        ),
        "any connected graph from a file",
        "graph --from examples/torus-3x3.edges",
    ),
}


def family(name: str) -> Family:
    """Returns the family of a name.

    Args:
        name: the name of a family on the command line, as `polarfly`.

    Returns:
        The family's entry in the registry.

    Raises:
        UsageError: the name is unknown; the text lists all names.
    """
    if name not in FAMILIES:
        raise UsageError(f"topology must be one of {', '.join(sorted(FAMILIES))}, got {name!r}")
    return FAMILIES[name]


def make_topology(name: str, params: Mapping[str, int | str]) -> Topology:
    """Returns the member of a family that has the given parameters.

    Args:
        name: the name of a family on the command line, as `polarfly`.
        params: the values of its parameters by their names, as `{"q": 7}`.

    Returns:
        The topology.

    Raises:
        UsageError: the name is unknown.
        ParameterError: a required parameter is missing, the family does not have a parameter, or a value is
            outside its domain.
    """
    chosen = family(name)
    parameters = {parameter.name for parameter in chosen.parameters}
    required = {parameter.name for parameter in chosen.parameters if parameter.required}
    if missing := sorted(required - params.keys()):
        raise ParameterError(f"{name} must be given --{missing[0]}, as in: {chosen.example}")
    if foreign := sorted(params.keys() - parameters):
        options = ", ".join(f"--{parameter.name}" for parameter in chosen.parameters)
        raise ParameterError(
            f"parameters of {name} must be {options}, got --{foreign[0]}; as in: {chosen.example}"
        )
    return chosen.make(**params)
