"""Designs of PolarStars: all parameters that give a network radix, the largest graph first."""

from __future__ import annotations

from dataclasses import dataclass

from topology.errors import ParameterError
from topology.families.low_diameter.supernodes import (
    SUPERNODE_KINDS,
    check_kind,
    supernode_exists,
    supernode_order,
)
from topology.finite_fields.prime_powers import LARGEST_ORDER, prime_power


@dataclass(frozen=True)
class Design:
    """The parameters of a PolarStar of network radix q + 1 + d'.

    Attributes:
        q: the order of the structure graph's field, a prime power from 2 to 128.
        supernode: the kind of supernode, `iq`, `paley`, `complete`, `bdf` or `cayley`.
        degree: d', the degree of the supernode.
    """

    q: int
    supernode: str
    degree: int

    @property
    def routers(self) -> int:
        """N = (q^2 + q + 1) m."""
        return (self.q**2 + self.q + 1) * supernode_order(self.supernode, self.degree)


def _designs(radix: int, kinds: tuple[str, ...]) -> list[Design]:
    """Returns all PolarStars of a network radix, the largest first."""
    designs = [
        Design(q, kind, radix - 1 - q)
        for q in range(2, min(radix - 1, LARGEST_ORDER) + 1)
        if prime_power(q)
        for kind in kinds
        if supernode_exists(kind, radix - 1 - q)
    ]
    return sorted(designs, key=lambda design: (-design.routers, design.supernode))


def all_designs(radix: int) -> list[Design]:
    """Returns the PolarStars of a network radix with any supernode, including those too large to be built.

    Args:
        radix: the network radix k' = q + 1 + d'.

    Returns:
        The designs, the largest first; empty if there is none.
    """
    return _designs(radix, SUPERNODE_KINDS)


def designs_of_radix(radix: int, supernode: str | None = None) -> list[Design]:
    """Returns the PolarStars of a network radix.

    Args:
        radix: the network radix k' = q + 1 + d'.
        supernode: the kind of supernode; None for all kinds.

    Returns:
        At least one design, the largest first.

    Raises:
        ParameterError: the kind is unknown, or no PolarStar has that radix; the message names the nearest
            radices.
    """
    if supernode is not None:
        check_kind(supernode)
    kinds = SUPERNODE_KINDS if supernode is None else (supernode,)
    designs = _designs(radix, kinds)
    if not designs:
        near = [r for r in range(3, 2 * LARGEST_ORDER) if _designs(r, kinds)]
        nearest = [r for r in near if r < radix][-1:] + [r for r in near if r > radix][:1]
        raise ParameterError(
            f"radix must be the radix of a polarstar, got {radix}; nearest: {' and '.join(map(str, nearest))}"
        )
    return designs


def largest_design(radix: int, q: int | None, supernode: str | None, degree: int | None) -> Design:
    """Returns the PolarStar with the most routers for a network radix.

    Args:
        radix: the network radix k' = q + 1 + d'.
        q: must be None.
        supernode: the kind of supernode; None for all kinds.
        degree: must be None.

    Returns:
        The first of `designs_of_radix`.

    Raises:
        ParameterError: q or the degree is given in addition to the radix, the kind is unknown, or no
            PolarStar has that radix.
    """
    if q is not None or degree is not None:
        raise ParameterError("--radix cannot be combined with --q or --degree")
    return designs_of_radix(radix, supernode)[0]
