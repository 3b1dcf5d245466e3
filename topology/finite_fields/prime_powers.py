"""Prime powers up to 128: the orders of the fields that are supported."""

from __future__ import annotations

from topology.errors import ParameterError

LARGEST_ORDER = 128


def prime_power(order: int) -> tuple[int, int] | None:
    """Returns (characteristic, degree) with order = characteristic ** degree, or None.

    1 is no prime power: a field has at least two elements.
    """
    if order < 2:
        return None
    characteristic = next((d for d in range(2, int(order**0.5) + 1) if order % d == 0), order)
    degree, rest = 0, order
    while rest % characteristic == 0:
        rest //= characteristic
        degree += 1
    return (characteristic, degree) if rest == 1 else None


def nearest_orders(order: int) -> tuple[int, ...]:
    """Returns the prime powers from 2 to 128 next below and next above `order`, those that exist."""
    orders = [n for n in range(2, LARGEST_ORDER + 1) if prime_power(n)]
    below = [n for n in orders if n < order][-1:]
    above = [n for n in orders if n > order][:1]
    return tuple(below + above)


def check_order(order: int) -> None:
    """Raises ParameterError, naming the nearest valid orders, unless GF(order) is supported."""
    if not isinstance(order, int) or isinstance(order, bool):
        raise ParameterError(f"q must be a whole number, got {order!r}")
    if order <= LARGEST_ORDER and prime_power(order):
        return
    rule = f"over {LARGEST_ORDER}" if order > LARGEST_ORDER else "no prime power"
    nearest = " and ".join(str(n) for n in nearest_orders(order))
    noun = "orders are" if " and " in nearest else "order is"
    raise ParameterError(f"q = {order} is {rule}; the nearest possible {noun} {nearest}")
