"""Registry entry of a topology family, and parameters that several families share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from topology.base import Topology
from topology.finite_fields.prime_powers import check_order
from topology.parameters import Parameter, Value

# The groups of families, in the order in which they are listed.
GROUPS = ("low-diameter", "dragonflies", "hierarchical", "classic", "random", "file")
SERIES = GROUPS[:-1]  # groups whose families have members of many sizes


@dataclass(frozen=True)
class Member:
    """Size of a member of a family, computed by formulas without its graph.

    Attributes:
        params: the parameters of the member, by key.
        radix: k', the network radix: the largest number of links of a router to other routers.
        routers: N, the number of routers.
        hosts: p, the number of hosts at each router that has any, as proposed by the family's source.
        hosting: the number of routers with hosts; None if all have hosts.

    Examples:
        >>> Member({"q": 3}, radix=4, routers=13, hosts=2).endpoints
        26
    """

    params: Mapping[str, Value]
    radix: int
    routers: int
    hosts: int
    hosting: int | None = None

    @property
    def endpoints(self) -> int:
        """The number of hosts in the whole fabric."""
        return self.hosts * (self.routers if self.hosting is None else self.hosting)


@dataclass(frozen=True)
class Family:
    """A family of topologies: its constructor, and its description for the command line.

    Attributes:
        make: the constructor; its keyword arguments are the keys of the parameters.
        parameters: the parameters, in the order of the help. They belong to this family: another family may
            have one of the same name with another type and meaning.
        summary: a phrase with the number of routers and the diameter.
        example: command-line words that name one member.
        group: the group under which the family is listed, one of GROUPS.
        members: function without arguments that yields the members for comparisons by size, in any order;
            some may be too large to be built. None for families that are not compared by size.

    Examples:
        >>> import networkx as nx
        >>> length = Parameter(name="length", type=int, help="routers", required=True, least=3, most=100)
        >>> def ring(length):
        ...     return polarlab.from_networkx(nx.cycle_graph(length))
        >>> register("ring", Family(ring, (length,), "ring of routers", "ring --length 5", "classic"))
        >>> polarlab.topology("ring", length=5)
        <graph: 5 routers, 5 links>
    """

    make: Callable[..., Topology]
    parameters: tuple[Parameter, ...]
    summary: str
    example: str
    group: str
    members: Callable[[], Iterable[Member]] | None = None


def carried_hosts(radix: int, diameter: int) -> int:
    """Returns the number of hosts per router whose uniform traffic the links of a network can carry.

    Args:
        radix: k', the network radix.
        diameter: D, the approximate number of links that a packet crosses.

    Returns:
        ceil(k' / D).

    Source:
        Slim Fly (SC14), section II-B2 (ceil(k' / 2)); PolarStar, Table 3 (k' / 3).
    """
    return -(-radix // diameter)


def order_parameter(least: int, most: int, required: bool = True) -> Parameter:
    """Returns the parameter q of a family that has a member for every prime power in a range.

    Args:
        least: the smallest order of the finite field.
        most: the largest order.
        required: whether it must be given.
    """
    return Parameter(
        name="q",
        type=int,
        help="order of the finite field",
        required=required,
        least=least,
        most=most,
        rule=partial(check_order, smallest=least, largest=most),
        domain_text=f"a prime power, {least} to {most}",
    )
