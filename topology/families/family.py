"""Entry of a family of topologies in the registry, and the parameters that several families declare alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from topology.base import Topology
from topology.finite_fields.prime_powers import check_order
from topology.parameters import Parameter

# The groups of families, in the order of lists.
GROUPS = ("low-diameter", "dragonflies", "hierarchical", "classic", "random", "file")


@dataclass(frozen=True)
class Family:
    """A family of topologies: its constructor, and its description for the command line.

    Attributes:
        make: the constructor; its keyword arguments are the parameters, by their keys.
        parameters: the parameters, in the order of the help. They are the family's own: another family may
            have one of the same name with another type and meaning.
        summary: a phrase with the number of routers and the diameter.
        example: the words that name one member on the command line.
        group: the group of families under which lists show it, one of GROUPS.
    """

    make: Callable[..., Topology]
    parameters: tuple[Parameter, ...]
    summary: str
    example: str
    group: str


def order_parameter(least: int, most: int, required: bool = True) -> Parameter:
    """Returns the parameter q of a family that has a member for every prime power in a range.

    Args:
        least: the smallest order of the finite field.
        most: the largest.
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
