"""Moore bound: the number of routers that no graph of a degree and a diameter exceeds."""

from __future__ import annotations


def moore_bound(radix: int, diameter: int) -> int:
    """Returns the number of routers that no graph of a radix and a diameter exceeds.

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
