"""The errors of plans that forwarding tables cannot express."""

from __future__ import annotations

from routing.verification.errors import PlanError
from topology.addressing import switch_name


def inexpressible(router: int, reason: str) -> PlanError:
    """Returns the error of a switch whose treatment of packets forwarding tables cannot express.

    Args:
        router: the switch's router.
        reason: the property of the plan that they lack.
    """
    return PlanError(f"{switch_name(router)} cannot be simulated: {reason}")
