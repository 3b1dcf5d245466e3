"""Registry of the families of topologies by their names on the command line: one entry for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from topology.base import Params, Topology
from topology.errors import ParameterError, UsageError
from topology.families.graph_file import GraphFile
from topology.families.polarfly import PolarFly
from topology.families.polarstar import PolarStar
from topology.families.slimfly import LARGEST_Q, SMALLEST_Q, SlimFly
from topology.families.supernodes import LARGEST_DEGREE, SUPERNODE_KINDS
from topology.finite_fields.prime_powers import LARGEST_ORDER, SMALLEST_ORDER, check_order
from topology.parameters import Parameter, hint


@dataclass(frozen=True)
class Family:
    """A family of topologies: its constructor, and its description for the command line.

    Attributes:
        make: the constructor; its keyword arguments are the parameters, by their keys.
        parameters: the parameters, in the order of the help. They are the family's own: another family may
            have one of the same name with another type and meaning.
        summary: a phrase with the number of routers and the diameter.
        example: the words that name one member on the command line.
    """

    make: Callable[..., Topology]
    parameters: tuple[Parameter, ...]
    summary: str
    example: str


def _order(least: int, most: int) -> Parameter:
    """Returns the parameter q of a family that has a member for every prime power in a range."""
    return Parameter(
        name="q",
        type=int,
        help="order of the finite field",
        required=True,
        least=least,
        most=most,
        rule=partial(check_order, smallest=least, largest=most),
        domain_text=f"a prime power, {least} to {most}",
    )


FAMILIES: Mapping[str, Family] = {
    "polarfly": Family(
        PolarFly,
        (_order(SMALLEST_ORDER, LARGEST_ORDER),),
        "Erdos-Renyi polarity graph ER_q: q^2 + q + 1 routers, diameter 2",
        "polarfly --q 7",
    ),
    "polarstar": Family(
        PolarStar,
        (
            replace(_order(SMALLEST_ORDER, LARGEST_ORDER), required=False),
            Parameter(
                name="supernode",
                type=str,
                help="kind of the supernodes",
                choices=lambda: SUPERNODE_KINDS,
                default_text="iq; with --radix that of the most routers",
            ),
            Parameter(
                name="degree",
                type=int,
                help="links of each router inside its supernode (d')",
                least=0,
                most=LARGEST_DEGREE,
            ),
            Parameter(
                name="radix",
                type=int,
                help="network radix q + 1 + d' of the largest polarstar, in the place of q and degree",
                least=3,
            ),
        ),
        "star product of ER_q with a supernode: diameter 3",
        "polarstar --q 3 --supernode iq --degree 3",
    ),
    "slimfly": Family(
        SlimFly,
        (_order(SMALLEST_Q, LARGEST_Q),),
        "McKay-Miller-Siran graph: 2 q^2 routers, diameter 2",
        "slimfly --q 5",
    ),
    "graph": Family(
        GraphFile,
        (
            Parameter(
                name="from",
                type=str,
                help="graph file: GraphML (.graphml), adjacency list (.adjlist) or edge list (two names a "
                "line, no weights)",
                required=True,
                file=True,
                metavar="FILE",
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
        names = ", ".join(sorted(FAMILIES))
        raise UsageError(f"topology must be one of {names}, got {name!r}{hint(name, FAMILIES)}")
    return FAMILIES[name]


def make_topology(name: str, params: Params) -> Topology:
    """Returns the member of a family that has the given parameters.

    Args:
        name: the name of a family on the command line, as `polarfly`.
        params: the values of its parameters by their keys, as `{"q": 7}`.

    Returns:
        The topology.

    Raises:
        UsageError: the name is unknown.
        ParameterError: a required parameter is missing, the family does not have a parameter, or a value is
            outside its domain.
    """
    chosen = family(name)
    by_key = {parameter.key: parameter for parameter in chosen.parameters}
    required = {parameter.key for parameter in chosen.parameters if parameter.required}
    if foreign := sorted(params.keys() - by_key.keys()):
        options = ", ".join(f"--{parameter.name}" for parameter in chosen.parameters)
        raise ParameterError(
            f"parameters of {name} must be {options}, got --{foreign[0].replace('_', '-')}"
            f"{hint(foreign[0], by_key)}; as in: {chosen.example}"
        )
    if missing := sorted(required - params.keys()):
        raise ParameterError(f"{name} must be given --{by_key[missing[0]].name}, as in: {chosen.example}")
    return chosen.make(**{key: by_key[key].check(value) for key, value in params.items()})
