"""Search of the load at which a network saturates: the loads to try next."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class LoadSteps:
    """Loads at which a curve is measured: steps upward until one is not carried, and then between.

    All are multiples of the precision.

    Attributes:
        precision: distance of the greatest load that is carried and the least that is not, at the end.
        steps: number of precisions between two loads on the way up; 0 without one: all loads are halved.
        most: the greatest load.
    """

    precision: float = 0.02
    steps: int = 10
    most: float = 1.0

    @property
    def count(self) -> int:
        """Number of loads that there are."""
        return int(self.most / self.precision + 1e-9)

    def load(self, place: int) -> float:
        """Returns a load.

        Args:
            place: its number, from 1 on.
        """
        return round(place * self.precision, 9)


def next_loads(loads: LoadSteps, tried: Mapping[float, bool], ahead: int = 1) -> list[float]:
    """Returns the loads of a curve to try next; none if its end is known to the precision.

    Args:
        loads: the loads of the curve.
        tried: load -> whether the network carries it.
        ahead: most loads that are tried at once, although the first may show that others are not needed.
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


def most_loads_left(loads: LoadSteps, tried: Mapping[float, bool]) -> int:
    """Returns the number of loads that are still to be tried, at most.

    Args:
        loads: the loads of the curve.
        tried: load -> whether the network carries it.
    """
    missing, carried, beyond = _open(loads, tried)
    between = loads.steps if missing else beyond - carried
    return len(missing) + math.ceil(math.log2(max(between, 1)))


def _open(loads: LoadSteps, tried: Mapping[float, bool]) -> tuple[list[int], int, int]:
    """Returns the places on the way up that are missing, and those between which the end is.

    The second is the last that is carried, the third the first that is not: the same if all are carried.
    """
    known = {round(load / loads.precision): carried for load, carried in tried.items()}
    upward = sorted({*range(loads.steps, loads.count, loads.steps), loads.count}) if loads.steps else []
    beyond = min((place for place, carried in known.items() if not carried), default=None)
    missing = [place for place in upward if place not in known and (beyond is None or place < beyond)]
    end = beyond or (0 if loads.steps else loads.count + 1)
    return missing, max((place for place in known if place < end), default=0), end


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
