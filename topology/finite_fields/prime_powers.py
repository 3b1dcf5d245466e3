"""Prime powers up to 128: the orders of the supported fields."""

from __future__ import annotations

from topology.errors import ParameterError

SMALLEST_ORDER, LARGEST_ORDER = 2, 128


def prime_power(order: int) -> tuple[int, int] | None:
    """Factors a prime power into its prime and its exponent.

    Args:
        order: an integer; integers below 2, the smallest order of a field, are not prime powers.

    Returns:
        (characteristic, degree) with order = characteristic ** degree; None for any other integer.
    """
    if order < SMALLEST_ORDER:
        return None
    characteristic = next((d for d in range(2, int(order**0.5) + 1) if order % d == 0), order)
    degree, rest = 0, order
    while rest % characteristic == 0:
        rest //= characteristic
        degree += 1
    return (characteristic, degree) if rest == 1 else None


def nearest_orders(
    order: int, smallest: int = SMALLEST_ORDER, largest: int = LARGEST_ORDER
) -> tuple[int, ...]:
    """Returns the prime powers nearest to an integer, one below and one above it.

    Args:
        order: an integer.
        smallest: the least prime power to consider, at least 2.
        largest: the greatest prime power to consider, at most 128.

    Returns:
        One or two prime powers, ascending.
    """
    orders = [n for n in range(smallest, largest + 1) if prime_power(n)]
    below = [n for n in orders if n < order][-1:]
    above = [n for n in orders if n > order][:1]
    return tuple(below + above)


def check_order(order: int, smallest: int = SMALLEST_ORDER, largest: int = LARGEST_ORDER) -> None:
    """Checks that the parameter q of a family is a supported field order.

    Args:
        order: the value that was given for q.
        smallest: the family's least q, at least 2.
        largest: the family's greatest q, at most 128.

    Raises:
        ParameterError: q is not a prime power in this range; the message names the nearest valid values.
    """
    if not isinstance(order, int) or isinstance(order, bool):
        raise ParameterError(f"q must be a whole number, got {order!r}")
    if smallest <= order <= largest and prime_power(order):
        return
    nearest = " and ".join(str(n) for n in nearest_orders(order, smallest, largest))
    raise ParameterError(f"q must be a prime power, {smallest} to {largest}, got {order}; nearest: {nearest}")
