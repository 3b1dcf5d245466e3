"""Search for the load at which a network saturates: the loads to try next."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class LoadSteps:
    """Loads at which a curve is measured: steps upward until the network saturates, then bisection.

    All loads are multiples of the precision.

    Attributes:
        precision: distance between the highest stable and the lowest saturated load at the end.
        steps: step on the way up, in multiples of the precision; 0 for bisection only.
        max_load: the highest load.
    """

    precision: float = 0.02
    steps: int = 10
    max_load: float = 1.0

    @property
    def count(self) -> int:
        """Number of possible loads."""
        return int(self.max_load / self.precision + 1e-9)

    def load(self, place: int) -> float:
        """Returns the load with a given index among the possible loads.

        Args:
            place: the index, from 1.
        """
        return round(place * self.precision, 9)


def next_loads(loads: LoadSteps, tried: Mapping[float, bool], ahead: int = 1) -> list[float]:
    """Returns the loads of a curve to try next; empty once saturation is known to the precision.

    Args:
        loads: the loads of the curve.
        tried: load -> whether the load is stable.
        ahead: number of loads to try at the same time; the first may make the others unnecessary.
    """
    missing, carried, beyond = _open(loads, tried)
    spans = deque([(carried, beyond)] if not missing else [])
    while spans and len(missing) < ahead:
        low, high = spans.popleft()
        if high - low > 1:
            middle = (low + high) // 2
            missing.append(middle)
            spans += [(low, middle), (middle, high)]
    return [loads.load(place) for place in missing[:ahead]]


def max_loads_left(loads: LoadSteps, tried: Mapping[float, bool]) -> int:
    """Returns an upper bound of the number of loads that are still to be tried.

    Args:
        loads: the loads of the curve.
        tried: load -> whether the load is stable.
    """
    missing, carried, beyond = _open(loads, tried)
    between = loads.steps if missing else beyond - carried
    return len(missing) + math.ceil(math.log2(max(between, 1)))


def _open(loads: LoadSteps, tried: Mapping[float, bool]) -> tuple[list[int], int, int]:
    """Returns the state of a search; all loads are given as multiples of the precision.

    Returns:
        The steps upward that have not been tried, the highest stable load below saturation (0 if there is
        none), and the lowest saturated load. While no load is known to be saturated, the last value is the
        highest load plus 1 in a search without steps; with steps, the last two values are 0.
    """
    known = {round(load / loads.precision): carried for load, carried in tried.items()}
    upward = sorted({*range(loads.steps, loads.count, loads.steps), loads.count}) if loads.steps else []
    beyond = min((place for place, carried in known.items() if not carried), default=None)
    missing = [place for place in upward if place not in known and (beyond is None or place < beyond)]
    end = beyond or (0 if loads.steps else loads.count + 1)
    return missing, max((place for place in known if place < end), default=0), end


def tried_in_order(loads: LoadSteps, known: Mapping[float, bool]) -> dict[float, bool]:
    """Returns the known loads that a sequential search would try, in its order.

    Args:
        loads: the loads of the curve.
        known: load -> whether the load is stable; may have more or fewer loads than the search needs.
    """
    tried: dict[float, bool] = {}
    while (found := next_loads(loads, tried)) and found[0] in known:
        tried[found[0]] = known[found[0]]
    return tried
