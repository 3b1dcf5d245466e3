"""Moore bound: the largest number of routers that a graph of given degree and diameter can have."""

from __future__ import annotations


def moore_bound(radix: int, diameter: int) -> int:
    """Returns the largest number of routers that a graph of given radix and diameter can have.

    Args:
        radix: k', the network radix, at least 2.
        diameter: D, at least 1.

    Returns:
        1 + k' ((k' - 1)^0 + ... + (k' - 1)^(D - 1)).
    """
    within, sphere = 1, radix
    for _ in range(diameter):
        within += sphere
        sphere *= radix - 1
    return within
