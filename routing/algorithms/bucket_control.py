"""Adaptation: from the occupancies of a switch's ports to the buckets of its groups.

A switch chooses among a group's buckets by the hash of a flow, so that what is controlled is the share of
the buckets that take detours. Single buckets are re-pointed, because that moves few flows: a change of
weights would move a quarter of all. What is moved when is a routing's law (`routing.algorithms.ugal_pf`,
`routing.algorithms.ugal`); here is what all laws work with.

A buffer adds up what comes too much, and a share adds up what the buffer tells: two integrals in a circle
swing for ever. So laws also see running means, and a group rests after a change.

Pure: it is told occupancies and answers with the groups to be changed.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from routing.plan.model import Group, SwitchPlan

BUCKETS = 64
# The weight of the newest reading in the running means.
NEWEST = 0.25
# By how much a minimal path's share may grow in one change. An empty queue does not tell whether its port
# idles or is almost busy: what comes back must not be more than what a queue can take until the next change.
SHARE_RETURNED = 1 / 32
# Ports whose occupancies differ by less are alike: a running mean never gets back to 0, and going by the last
# traces of what was would send all detours by one port.
ALIKE = 1 / 16
# Steps that a group rests after it took more detours, which must be quick, and after it took fewer.
REST_DETOURED, REST_RETURNED = 4, 20

Occupancies = Mapping[int, float]  # port -> share of its buffer that is full


class Change(enum.Enum):
    """What a law did to a group; the value is for how many steps it rests."""

    NONE = 0
    DETOURED = REST_DETOURED
    RETURNED = REST_RETURNED


@dataclass
class AdaptiveGroup:
    """A group whose first candidate is minimal, and where its buckets point.

    Attributes:
        group: as the plan has it.
        pointing: each bucket's candidate.
        rest: steps until it may change again.
    """

    group: Group
    pointing: list[int]
    rest: int = 0

    @property
    def ports(self) -> tuple[tuple[int, ...], ...]:
        """The ports of each candidate."""
        return self.group.ports

    @property
    def minimal_buckets(self) -> int:
        """How many buckets take the minimal path."""
        return self.pointing.count(0)

    @property
    def detoured(self) -> bool:
        """Whether any bucket takes a detour."""
        return any(self.pointing)

    def counts(self) -> list[int]:
        """Returns how many buckets each candidate has."""
        counts = [0] * len(self.ports)
        for candidate in self.pointing:
            counts[candidate] += 1
        return counts

    def move(self, origin: int, target: int) -> bool:
        """Re-points one bucket from an candidate to another; returns whether there was one."""
        if origin not in self.pointing:
            return False
        self.pointing[self.pointing.index(origin)] = target
        return True

    def changed_group(self) -> Group:
        """Returns the group as it is to be now."""
        candidates = self.group.candidates
        return replace(self.group, buckets=tuple(candidates[index] for index in self.pointing))


@dataclass
class PortOccupancies:
    """What is known of a switch's ports.

    Attributes:
        newest: the newest readings.
        means, means_before: running means with and without these.
    """

    newest: dict[int, float] = field(default_factory=dict)
    means: dict[int, float] = field(default_factory=dict)
    means_before: dict[int, float] = field(default_factory=dict)

    def read(self, occupancies: Occupancies) -> None:
        """Takes new readings; a port that is missing counts as it was of late."""
        self.means_before = dict(self.means)
        for port, occupancy in occupancies.items():
            self.newest[port] = occupancy
            mean = self.means.get(port, occupancy)
            self.means[port] = mean + NEWEST * (occupancy - mean)

    def now(self, ports: tuple[int, ...]) -> float:
        """Returns the newest reading of some ports, on average; 0 before there is any."""
        return _average(self.newest, ports)

    def mean(self, ports: tuple[int, ...]) -> float:
        """Returns the running mean of some ports, on average; 0 before there is any."""
        return _average(self.means, ports)

    def rise(self, ports: tuple[int, ...]) -> float:
        """Returns by how much some ports are more occupied than they were of late, on average."""
        newest, before = self.newest, self.means_before
        if len(ports) == 1:  # a law asks this of every group, many times a second
            now = newest.get(ports[0], 0.0)
            return now - before.get(ports[0], now)
        return sum(self.rise((port,)) for port in ports) / len(ports)


def _average(values: Mapping[int, float], ports: tuple[int, ...]) -> float:
    if len(ports) == 1:
        return values.get(ports[0], 0.0)
    return sum(values.get(port, 0.0) for port in ports) / len(ports)


# Moves buckets of a group and returns which way.
Law = Callable[[AdaptiveGroup, PortOccupancies], Change]


class SwitchAdapter:
    """The adaptive groups of one switch."""

    def __init__(self, plan: SwitchPlan, law: Law) -> None:
        self._law = law
        self._ports = PortOccupancies()
        self._groups = [
            AdaptiveGroup(group, [0] * len(group.buckets)) for group in plan.groups if group.candidates
        ]

    def update(self, occupancies: Occupancies) -> list[Group]:
        """Takes one step and returns the groups whose buckets it re-pointed.

        Args:
            occupancies: of the ports that could be read.
        """
        self._ports.read(occupancies)
        return [group.changed_group() for group in self._groups if self._changes(group)]

    def restore(self) -> list[Group]:
        """Points all buckets at the minimal paths and returns the groups that this changed."""
        changed = []
        for group in self._groups:
            group.rest = 0
            if group.detoured:
                group.pointing = [0] * len(group.pointing)
                changed.append(group.changed_group())
        return changed

    def _changes(self, group: AdaptiveGroup) -> bool:
        if group.rest:
            group.rest -= 1
            return False
        change = self._law(group, self._ports)
        if change is Change.NONE:
            return False
        group.rest = change.value
        return True


def returned_at_once(group: AdaptiveGroup) -> int:
    """Returns how many buckets may go back to the minimal path in one change."""
    detoured = len(group.pointing) - group.minimal_buckets
    return min(max(1, int(group.minimal_buckets * SHARE_RETURNED)), detoured)


def least_occupied(group: AdaptiveGroup, ports: PortOccupancies, counts: Iterable[int]) -> int:
    """Returns the detour with the least occupied port; of like ones that with the fewest buckets."""
    return min(
        (int(ports.mean(port) / ALIKE), count, index)
        for index, (port, count) in enumerate(zip(group.ports, counts, strict=True))
        if index
    )[2]
