"""Control of the buckets of adaptive groups by the occupancy of a switch's ports.

A switch selects a group's bucket by the hash of a flow, so the controlled variable is the share of buckets
that take detours. Buckets are re-pointed one at a time, because that moves few flows: a change of weights
would move a quarter of all flows. A routing's control law decides which buckets move and when
(`routing.algorithms.ugal_pf`, `routing.algorithms.ugal`); this module contains what all laws share.

A queue integrates excess load, and the share of detours integrates the queue; two integrators in a loop
oscillate. Therefore laws also use running means, and a group rests after a change.

No side effects: occupancies are arguments, and changed groups are results.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from routing.plan.model import Group, SwitchPlan
from topology.parameters import Parameter
from topology.plugins import returned

# Occupancies that differ by less count as equal: a running mean never returns to exactly 0, and its remainder
# would send all detours through one port.
OCCUPANCY_TIE = 1 / 16

# Open vSwitch divides a group of n equal buckets evenly up to n = 256.
MAX_BUCKETS = 256
BUCKETS = Parameter(
    name="buckets",
    type=int,
    help="buckets of an adaptive group; sets the step size of its detour share",
    least=2,
    most=MAX_BUCKETS,
    default=64,
)
# The share of the minimal path may grow only slowly, because an empty queue does not distinguish an idle port
# from an almost busy one: the returning traffic must fit into the queue until the next change.
RETURN_STEP = Parameter(
    name="return-step",
    type=float,
    help="maximum growth of the minimal path's share in one change",
    above=0,
    most=1,
    default=1 / 32,
    default_text="1/32",
)
MEAN_WEIGHT = Parameter(
    name="mean-weight",
    type=float,
    help="weight of the newest reading in the running means of occupancy",
    above=0,
    most=1,
    default=0.25,
)
# The switch to more detours must be quick.
REST_DETOURED = Parameter(
    name="rest-detoured",
    type=int,
    help="rest period of a group after it has taken more detours",
    unit="control steps",
    least=0,
    most=1000,
    default=4,
)
REST_RETURNED = Parameter(
    name="rest-returned",
    type=int,
    help="rest period of a group after it has taken fewer detours",
    unit="control steps",
    least=0,
    most=1000,
    default=20,
)
# Control parameters of every adaptive routing, in addition to those of its law.
CONTROL_PARAMETERS = (RETURN_STEP, MEAN_WEIGHT, REST_DETOURED, REST_RETURNED)

Occupancies = Mapping[int, float]  # port -> occupied share of its buffer, 0 to 1
FarPort = tuple[int, int]  # a port of another switch: router, port
Means = dict[FarPort, float]  # running means of the occupancies of all switches, which they share


class Change(enum.Enum):
    """Whether a control law has moved buckets of a group to detours, back to the minimal path, or not at all.

    Examples:
        A law that moves a bucket to the first detour while the minimal port is half full:

        >>> def half_full(group, ports):
        ...     if ports.mean(group.ports[0]) > 0.5 and group.move(0, 1):
        ...         return Change.DETOURED
        ...     return Change.NONE
        >>> law: Law = half_full
        >>> group = AdaptiveGroup(Group(3, GroupKind.SELECT, (), ports=((1,), (2,))), [0, 0], 1 / 32)
        >>> law(group, PortOccupancies(0.25, means={1: 0.9})), group.counts()
        (<Change.DETOURED: 2>, [1, 1])
    """

    NONE = enum.auto()
    DETOURED = enum.auto()
    RETURNED = enum.auto()


@dataclass(frozen=True, kw_only=True)
class Control:
    """The settings of the control of adaptive groups: values of CONTROL_PARAMETERS.

    Attributes:
        return_step: maximum growth (over 0, at most 1) of the minimal path's share in one change.
        mean_weight: weight (over 0, at most 1) of the newest reading in the running means.
        rest_detoured, rest_returned: control steps for which a group stays unchanged after it has
            taken more detours, or after it has returned some.
    """

    return_step: float
    mean_weight: float
    rest_detoured: int
    rest_returned: int

    def rest(self, change: Change) -> int:
        """Returns the number of control steps for which a group stays unchanged after a change."""
        return {Change.NONE: 0, Change.DETOURED: self.rest_detoured, Change.RETURNED: self.rest_returned}[
            change
        ]


@dataclass
class AdaptiveGroup:
    """A group whose buckets each point at one of the group's candidates; candidate 0 is the minimal path.

    Attributes:
        group: the group as in the plan.
        pointing: for each bucket, the index of its candidate.
        return_step: maximum growth of the minimal path's share in one change, 0 to 1.
        rest: number of control steps until the group may change again.

    Examples:
        >>> minimal, detour = Bucket((ToGroup(1),)), Bucket((ToGroup(2),))
        >>> buckets = (minimal,) * BUCKETS.default
        >>> group = Group(3, GroupKind.SELECT, buckets, (minimal, detour), ports=((1,), (2,)))
        >>> adaptive = AdaptiveGroup(group, [0] * len(buckets), return_step=1 / 32)
        >>> adaptive.move(0, 1), adaptive.counts()
        (True, [63, 1])
    """

    group: Group
    pointing: list[int]
    return_step: float
    rest: int = 0

    @property
    def ports(self) -> tuple[tuple[int, ...], ...]:
        """The ports on which packets of each candidate leave."""
        return self.group.ports

    @property
    def minimal_buckets(self) -> int:
        """The number of buckets that take the minimal path."""
        return self.pointing.count(0)

    @property
    def has_detours(self) -> bool:
        """Whether any bucket takes a detour."""
        return any(self.pointing)

    def counts(self) -> list[int]:
        """Returns the number of buckets of each candidate."""
        counts = [0] * len(self.ports)
        for candidate in self.pointing:
            counts[candidate] += 1
        return counts

    def move(self, origin: int, target: int) -> bool:
        """Re-points one bucket from a candidate to another.

        Args:
            origin: index of the candidate that loses a bucket.
            target: index of the candidate that gets it.

        Returns:
            Whether the origin had a bucket.
        """
        if origin not in self.pointing:
            return False
        self.pointing[self.pointing.index(origin)] = target
        return True

    def changed_group(self) -> Group:
        """Returns the group with each bucket replaced by the candidate at which it points."""
        candidates = self.group.candidates
        return replace(self.group, buckets=tuple(candidates[index] for index in self.pointing))

    def take_group(self, group: Group) -> None:
        """Adopts the group's candidates from another plan.

        Buckets whose candidate is removed take the minimal path.

        Args:
            group: the group in the other plan.
        """
        indices = {bucket: index for index, bucket in enumerate(group.candidates)}
        before = self.group.candidates
        self.pointing = [indices.get(before[index], 0) for index in self.pointing]
        self.group = group


@dataclass
class PortOccupancies:
    """The occupancies of a switch's ports and their running means.

    Attributes:
        mean_weight: weight (over 0, at most 1) of the newest reading in the running means.
        newest: port -> newest reading, 0 to 1.
        means: port -> running mean, with the newest reading.
        means_before: port -> running mean, without the newest reading.
        far: (router, port) -> running mean, for ports of any switch.

    Examples:
        >>> ports = PortOccupancies(mean_weight=0.25)
        >>> ports.add({1: 0.0})
        >>> ports.add({1: 0.8})
        >>> ports.now((1,)), ports.mean((1,)), ports.rise((1,))
        (0.8, 0.2, 0.8)
    """

    mean_weight: float
    newest: dict[int, float] = field(default_factory=dict)
    means: dict[int, float] = field(default_factory=dict)
    means_before: dict[int, float] = field(default_factory=dict)
    far: Mapping[FarPort, float] = field(default_factory=dict)

    def add(self, occupancies: Occupancies) -> None:
        """Adds new readings to the running means.

        Args:
            occupancies: port -> occupied share of its buffer, 0 to 1; a port without a reading keeps its last
                reading and mean.
        """
        self.means_before = dict(self.means)
        for port, occupancy in occupancies.items():
            self.newest[port] = occupancy
            mean = self.means.get(port, occupancy)
            self.means[port] = mean + self.mean_weight * (occupancy - mean)

    def now(self, ports: tuple[int, ...]) -> float:
        """Returns the newest occupancy, averaged over ports.

        Args:
            ports: one port or more, weighted equally.

        Returns:
            The occupied share of the ports' buffers, 0 to 1; 0 before the first reading.
        """
        return _average(self.newest, ports)

    def mean(self, ports: tuple[int, ...]) -> float:
        """Returns the running mean of the occupancy, averaged over ports.

        Args:
            ports: one port or more, weighted equally.

        Returns:
            The occupied share of the ports' buffers, 0 to 1; 0 before the first reading.
        """
        return _average(self.means, ports)

    def far_mean(self, ports: tuple[FarPort, ...]) -> float:
        """Returns the running mean of the occupancy of ports of other switches, averaged over them.

        Args:
            ports: ports as (router, port), weighted equally.

        Returns:
            The occupied share of the ports' buffers, 0 to 1; 0 before the first reading and without ports.
        """
        return sum(self.far.get(port, 0.0) for port in ports) / len(ports) if ports else 0.0

    def rise(self, ports: tuple[int, ...]) -> float:
        """Returns the newest reading minus the previous running mean, averaged over ports.

        Args:
            ports: one port or more, weighted equally.
        """
        newest, before = self.newest, self.means_before
        if len(ports) == 1:  # the common case; laws ask for every group many times a second
            now = newest.get(ports[0], 0.0)
            return now - before.get(ports[0], now)
        return sum(self.rise((port,)) for port in ports) / len(ports)


def _average(values: Mapping[int, float], ports: tuple[int, ...]) -> float:
    if len(ports) == 1:
        return values.get(ports[0], 0.0)
    return sum(values.get(port, 0.0) for port in ports) / len(ports)


# A control law: moves buckets of a group, given the ports' occupancies; returns the direction.
Law = Callable[[AdaptiveGroup, PortOccupancies], Change]


class SwitchAdapter:
    """The adaptive groups of one switch under a control law."""

    def __init__(self, plan: SwitchPlan, law: Law, control: Control, shared: Means | None = None) -> None:
        """Starts with all buckets on minimal paths.

        Args:
            plan: the plan of the switch; its groups with candidates are adaptive.
            law: the control law.
            control: the settings of the control.
            shared: running means that the adapters of all switches write and read; None if the law needs no
                queues of other switches.
        """
        self._law = law
        self._control = control
        self._router = plan.router
        self._shared = shared
        self._ports = PortOccupancies(control.mean_weight, far={} if shared is None else shared)
        self._groups = [
            AdaptiveGroup(group, [0] * len(group.buckets), control.return_step)
            for group in plan.groups
            if group.candidates
        ]

    def update(self, occupancies: Occupancies) -> list[Group]:
        """Takes one control step.

        Args:
            occupancies: port -> occupied share of its buffer, for the ports that could be read.

        Returns:
            The groups whose buckets were re-pointed, ready to install on the switch.
        """
        return [group.changed_group() for group in self.step(occupancies)]

    def step(self, occupancies: Occupancies) -> list[AdaptiveGroup]:
        """Takes one control step, like `update`, but returns the adaptive groups themselves.

        Args:
            occupancies: port -> occupied share of its buffer, for the ports that could be read.

        Returns:
            The groups whose buckets were re-pointed.
        """
        self._ports.add(occupancies)
        if self._shared is not None:
            for port in occupancies:
                self._shared[self._router, port] = self._ports.means[port]
        return [group for group in self._groups if self._changes(group)]

    @property
    def groups(self) -> Sequence[AdaptiveGroup]:
        """The adaptive groups in their current state."""
        return self._groups

    def use_law(self, law: Law, control: Control) -> None:
        """Changes the control law; buckets, running means and rest periods are kept.

        Args:
            law: the control law.
            control: the settings of the control.
        """
        self._law, self._control = law, control
        self._ports.mean_weight = control.mean_weight
        for group in self._groups:
            group.return_step = control.return_step

    def use_plan(self, plan: SwitchPlan) -> None:
        """Switches to another plan; groups that both plans have keep their detours.

        Args:
            plan: the plan; its groups with candidates are adaptive.
        """
        known = {adaptive.group.number: adaptive for adaptive in self._groups}
        self._groups = []
        for group in plan.groups:
            if group.candidates:
                adaptive = known.get(group.number)
                if adaptive is None:
                    adaptive = AdaptiveGroup(group, [0] * len(group.buckets), self._control.return_step)
                if adaptive.group is not group:
                    adaptive.take_group(group)
                self._groups.append(adaptive)

    def present(self, group: Group) -> Group:
        """Returns a group with its current buckets, ready to install on the switch.

        Args:
            group: a group of the plan; one that is not adaptive is returned as it is.
        """
        ones = (adaptive for adaptive in self._groups if adaptive.group.number == group.number)
        return next((adaptive.changed_group() for adaptive in ones), group)

    def restore(self) -> list[Group]:
        """Points all buckets at the minimal paths and returns the groups that changed."""
        changed = []
        for group in self._groups:
            group.rest = 0
            if group.has_detours:
                group.pointing = [0] * len(group.pointing)
                changed.append(group.changed_group())
        return changed

    def _changes(self, group: AdaptiveGroup) -> bool:
        if group.rest:
            group.rest -= 1
            return False
        change = returned(self._law, self._law(group, self._ports), Change)
        if change is Change.NONE:
            return False
        group.rest = self._control.rest(change)
        return True


def max_returned(group: AdaptiveGroup) -> int:
    """Returns the number of buckets that may return to the minimal path in one change.

    Args:
        group: a group with detours.

    Returns:
        1 to the number of its detoured buckets.

    Examples:
        >>> group = Group(3, GroupKind.SELECT, (), ports=((1,), (2,)))
        >>> max_returned(AdaptiveGroup(group, [0] * 48 + [1] * 16, return_step=1 / 16))
        3
    """
    detoured = len(group.pointing) - group.minimal_buckets
    return min(max(1, int(group.minimal_buckets * group.return_step)), detoured)


def least_occupied(group: AdaptiveGroup, ports: PortOccupancies, counts: Iterable[int]) -> int:
    """Returns the detour with the least occupied ports; among ties, the one with the fewest buckets.

    Args:
        group: the group, with at least one detour.
        ports: the ports' occupancies.
        counts: number of buckets of each candidate.

    Returns:
        Index of the candidate, at least 1.

    Examples:
        >>> ports = PortOccupancies(0.25, means={1: 0.9, 2: 0.5, 3: 0.1})
        >>> group = Group(4, GroupKind.SELECT, (), ports=((1,), (2,), (3,)))
        >>> adaptive = AdaptiveGroup(group, [0, 1, 2], return_step=1 / 32)
        >>> least_occupied(adaptive, ports, adaptive.counts())
        2
    """
    return min(
        (int(ports.mean(port) / OCCUPANCY_TIE), count, index)
        for index, (port, count) in enumerate(zip(group.ports, counts, strict=True))
        if index
    )[2]
