"""Search of the load at which a network saturates: the loads to try next."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.papers.performance.model import LoadSteps


def next_loads(loads: LoadSteps, tried: Mapping[float, bool], ahead: int = 1) -> list[float]:
    """Returns the loads of a curve to try next; none if its end is known to the precision.

    Args:
        loads: the loads of the curve.
        tried: load -> whether the network carries it.
        ahead: most loads on the way up that are tried at once, although the first may not be carried.
    """
    count = round(loads.most / loads.precision)
    known = {round(load / loads.precision): carried for load, carried in tried.items()}
    upward = sorted({*range(loads.steps, count, loads.steps), count})
    beyond = min((place for place, carried in known.items() if not carried), default=None)
    missing = [place for place in upward if place not in known and (beyond is None or place < beyond)]
    if missing:
        return [_load(loads, place) for place in missing[: max(ahead, 1)]]
    if beyond is None:
        return []
    carried = max((place for place in known if place < beyond), default=0)
    return [_load(loads, (carried + beyond) // 2)] if beyond - carried > 1 else []


def tried_in_order(loads: LoadSteps, known: Mapping[float, bool]) -> dict[float, bool]:
    """Returns the known loads that a search tries which takes one load after the other.

    Args:
        loads: the loads of the curve.
        known: load -> whether the network carries it; more loads than the search needs, or fewer.
    """
    tried: dict[float, bool] = {}
    while (found := next_loads(loads, tried)) and found[0] in known:
        tried[found[0]] = known[found[0]]
    return tried


def _load(loads: LoadSteps, place: int) -> float:
    return round(place * loads.precision, 9)
