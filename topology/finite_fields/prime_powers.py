"""Prime powers up to 128: the orders of the supported fields."""

from __future__ import annotations

from topology.errors import ParameterError

SMALLEST_ORDER, LARGEST_ORDER = 2, 128


def prime_power(order: int) -> tuple[int, int] | None:
    """Returns the prime and the exponent of a prime power.

    Args:
        order: an integer; those below 2, a field's least number of elements, are not prime powers.

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
    """Returns the prime powers next below and next above an integer.

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
    """Checks the parameter q of a family: a supported order of a field.

    Args:
        order: the value that was given for q.
        smallest: the family's least q, at least 2.
        largest: the family's greatest q, at most 128.

    Raises:
        ParameterError: q is not a prime power in this range; the text names the nearest that are.
    """
    if not isinstance(order, int) or isinstance(order, bool):
        raise ParameterError(f"q must be a whole number, got {order!r}")
    if smallest <= order <= largest and prime_power(order):
        return
    nearest = " and ".join(str(n) for n in nearest_orders(order, smallest, largest))
    raise ParameterError(f"q must be a prime power, {smallest} to {largest}, got {order}; nearest: {nearest}")
