"""UGAL_PF's decision as a control law: from the occupancies of a switch's ports to its groups' buckets.

The paper decides for every packet: minimal, unless the output buffer toward the minimal next hop is over 2/3
full, then the neighbour with the least occupied buffer (PolarFly, section V-B). A switch decides by the
hash of a flow, so that here the share of a group's buckets that take detours is what is controlled: it grows
while the minimal port's buffer is over 2/3 full and shrinks while it is under 1/3; between the two nothing
changes. A buffer adds up what comes too much, and the share adds up what the buffer tells: two integrals in
a circle swing for ever. So the share only follows a buffer that is not already on its way back, and detours
are chosen by running means. Single buckets are moved, because that moves few flows: a change of weights would
move a quarter of all.

Pure: it is told occupancies and answers with the groups to be changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from controller.plan import Bucket, Group, Output, SwitchPlan

BUCKETS = 64
HIGH = 2 / 3
LOW = 1 / 3
# A buffer this full may be losing packets: then buckets move fast, up to so many at a time.
FULL = 0.97
MOST_MOVED = 6
# Steps of 50 ms that a group rests after a change: every change makes its switch look at its flows anew.
REST = 3
# The weight of the newest reading in the running mean that tells which way a buffer goes.
_NEWEST = 0.25
# A detour must be so much less occupied than what it relieves.
MARGIN = 1 / 4

Occupancies = Mapping[int, float]  # port -> share of its buffer that is full


def out_port(bucket: Bucket) -> int:
    """Returns the port by which a bucket sends."""
    return next(action.port for action in bucket.actions if isinstance(action, Output))


@dataclass
class _AdaptiveGroup:
    """A group whose first alternative is minimal, and where its buckets point."""

    group: Group
    ports: tuple[int, ...]  # of each alternative
    pointing: list[int]  # each bucket's alternative
    rest: int = 0  # steps until it may change again

    def detoured(self) -> bool:
        return any(self.pointing)

    def changed_group(self) -> Group:
        alternatives = self.group.alternatives
        return replace(self.group, buckets=tuple(alternatives[index] for index in self.pointing))


class SwitchAdapter:
    """The adaptive groups of one switch."""

    def __init__(self, plan: SwitchPlan) -> None:
        self._groups = [
            _AdaptiveGroup(group, tuple(map(out_port, group.alternatives)), [0] * len(group.buckets))
            for group in plan.groups
            if group.alternatives
        ]
        self._means: dict[int, float] = {}

    def update(self, occupancies: Occupancies) -> list[Group]:
        """Takes one step and returns the groups whose buckets it re-pointed.

        Args:
            occupancies: of the ports that could be read; one that is missing counts as it was of late.
        """
        changed = []
        before = dict(self._means)
        for port, occupancy in occupancies.items():
            mean = before.get(port, occupancy)
            self._means[port] = mean + _NEWEST * (occupancy - mean)
        for adaptive in self._groups:
            if adaptive.rest:
                adaptive.rest -= 1
                continue
            port = adaptive.ports[0]
            mean = before.get(port, occupancies.get(port, 0.0))
            minimal = occupancies.get(port, mean)
            moved = False
            if minimal >= FULL:
                moved = self._relieve(adaptive, 0, MOST_MOVED, self._means)
            elif minimal > HIGH and minimal >= mean:
                moved = self._relieve(adaptive, 0, 1, self._means)
            elif minimal < LOW and minimal <= mean and adaptive.detoured():
                moved = self._return(adaptive, occupancies)
            elif adaptive.detoured():
                moved = self._balance(adaptive, self._means)
            if moved:
                adaptive.rest = REST
                changed.append(adaptive.changed_group())
        return changed

    def _relieve(
        self,
        adaptive: _AdaptiveGroup,
        crowded: int,
        most: int,
        occupancies: Occupancies,
    ) -> bool:
        """Moves buckets from one alternative to those with the least occupied ports."""
        occupancy = occupancies.get(adaptive.ports[crowded], 0.0)
        counts = [0] * len(adaptive.ports)
        for index in adaptive.pointing:
            counts[index] += 1
        moved = 0
        for bucket in range(len(adaptive.pointing)):
            if moved == most:
                break
            if adaptive.pointing[bucket] != crowded:
                continue
            # Of equally free alternatives the one with the fewest buckets.
            free, target = min(
                ((occupancies.get(port, 0.0), counts[index]), index)
                for index, port in enumerate(adaptive.ports)
                if index
            )
            if free[0] > occupancy - MARGIN or free[0] > HIGH or target == crowded:
                break
            adaptive.pointing[bucket] = target
            counts[target] += 1
            moved += 1
        return moved > 0

    def _return(self, adaptive: _AdaptiveGroup, occupancies: Occupancies) -> bool:
        """Moves one bucket back to the minimal port, from the most occupied detour."""
        detours = [bucket for bucket, index in enumerate(adaptive.pointing) if index]
        bucket = max(detours, key=lambda b: occupancies.get(adaptive.ports[adaptive.pointing[b]], 0.0))
        adaptive.pointing[bucket] = 0
        return True

    def _balance(self, adaptive: _AdaptiveGroup, occupancies: Occupancies) -> bool:
        """Moves one bucket from a crowded detour to a free one."""
        crowded = max(
            set(adaptive.pointing) - {0},
            key=lambda index: occupancies.get(adaptive.ports[index], 0.0),
            default=None,
        )
        if crowded is None:
            return False
        occupancy = occupancies.get(adaptive.ports[crowded], 0.0)
        return occupancy > HIGH and self._relieve(adaptive, crowded, 1, occupancies)
