"""UGAL (`ugal`): the minimal path or a random general Valiant path, by occupancy times hops.

The source compares the minimal path with a path through a random intermediate router, and takes the one whose
first port's occupancy times its hops is smaller. With buckets, this becomes: sampled detours that win against
the minimal path take buckets from it, and detours that no longer win return theirs. A threshold in favour of
the minimal path suppresses the noise of almost empty queues; it also provides hysteresis.

A group serves the destinations at one distance behind the same ports: they share the ports' occupancy and the
hops of the minimal path. The hops of their detours differ, and the group compares the mean. Groups of single
destinations compare each path's own hops, as the sources do (`lengths=own`).

Source: A. Singh, "Load-Balanced Routing in Interconnection Networks" (PhD thesis, Stanford, 2005), chapter on
UGAL; PolarFly (SC22), section VII-C.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Protocol

import numpy as np
import numpy.typing as npt

from routing.algorithms.bucket_control import (
    BUCKETS,
    AdaptiveGroup,
    Change,
    FarPort,
    Law,
    PortOccupancies,
    max_returned,
)
from routing.algorithms.first_hops import FirstHops
from routing.algorithms.group_detours import Intermediates, group_detours
from routing.algorithms.packet_law import PacketLaw, PacketRule
from routing.algorithms.routing import Routing
from routing.compiler import SourceTable, SourceTableMaker, compile_plan, evenly_spaced
from routing.path_sets.hierarchical import dragonfly_of
from routing.path_sets.registry import OVER, with_paths
from routing.plan.groups import GroupRole, RouterView, group_number
from routing.plan.model import Bucket, Group, GroupKind, RoutePlan, ToGroup
from routing.plan.tables import MAX_TAGS
from routing.reroute.base import FastReroute
from topology.base import Topology
from topology.parameters import Parameter

NAME = "ugal"
THRESHOLD = Parameter(
    name="threshold",
    type=float,
    help="a detour is taken if its occupancy times hops is lower than the minimal path's by more than this",
    unit="buffers times hops",
    least=0,
    most=256,
    default=0.5,
)
SAMPLED = Parameter(
    name="sampled",
    type=float,
    help="share of its minimal buckets that a group tries to replace per control step",
    above=0,
    most=1,
    default=0.25,
)
INTERMEDIATES = Parameter(
    name="intermediates",
    type=int,
    help="maximum number of intermediate routers of a group; of more candidates, evenly spaced ones are used",
    least=1,
    most=MAX_TAGS,
    default=64,
)
MEAN, OWN = "mean", "own"
LENGTHS = Parameter(
    name="lengths",
    type=str,
    help="hops of a detour: the mean over the destinations of a group, or its own, with a group for each "
    "destination",
    choices=lambda: (MEAN, OWN),
    default=MEAN,
)
CONGESTED = Parameter(
    name="congested",
    type=float,
    help="a path is avoided while the queue of its first global link is fuller than this",
    unit="buffers",
    least=0,
    most=1,
    default=0.5,
)
BY_GROUP = "ugal-group"

Distances = npt.NDArray[np.int16]
FarPorts = tuple[tuple[FarPort, ...], ...]
# (group, ports' occupancies) -> the cost of each candidate.
Costs = Callable[[AdaptiveGroup, PortOccupancies], list[float]]
_CONGESTION_COST = 1e6  # of a congested global link; higher than any product


def ugal_plan(
    topology: Topology, hosts_per_router: int, *, intermediates: int, buckets: int, over: str, lengths: str
) -> RoutePlan:
    """Returns the plan whose groups start on minimal paths; Valiant detours are their other candidates.

    A group's intermediate routers are evenly spaced among the eligible ones. A router is eligible if no
    minimal path to it starts on a minimal port of the group, and no minimal path from it to a destination
    of the group leads back through the source.

    Args:
        topology: the fabric's graph, connected.
        hosts_per_router: p, the number of hosts at each router that has any, 1 to 254.
        intermediates: the maximum number of intermediate routers of a group, at least 1; it limits
            candidates, not buckets.
        buckets: the number of buckets of a group, 2 to 256.
        over: path set for minimal paths, and for paths to and from the intermediate router; `min` for all
            shortest paths.
        lengths: a value of `LENGTHS`.

    Raises:
        UsageError: the topology's family does not have such paths.
        ParameterError: there are more hosts or routers than addresses and tags, or paths are longer than the
            packets' TTL allows.
    """
    topology = with_paths(topology, over)
    diameter = topology.diameter

    def bound(pair_distances: Distances) -> Distances:
        return np.where(pair_distances == 0, 0, 2 * diameter).astype(np.int16)

    one_group = np.zeros(topology.routers, np.int64)
    detours = _ByPaths(_distances(topology), RouterView.others, one_group, own_groups=lengths == OWN)
    return compile_plan(
        topology, hosts_per_router, NAME, bound, ugal_source_table(detours, intermediates, buckets)
    )


def ugal_group_plan(
    topology: Topology, hosts_per_router: int, *, intermediates: int, buckets: int
) -> RoutePlan:
    """Returns the plan whose OpenFlow groups start with hierarchical paths and may take detours.

    The detours lead via another group of the dragonfly.

    Args:
        topology: a dragonfly.
        hosts_per_router: p, the number of hosts at each router, 1 to 254.
        intermediates: the maximum number of entry routers of other groups that a group chooses among, at
            least 1.
        buckets: the number of buckets of a group, 2 to 256.

    Raises:
        UsageError: the topology is of another family.
        ParameterError: there are more hosts or routers than addresses and tags, or paths are longer than the
            packets' TTL allows.
    """
    paths, bound, entries = group_detours(topology, BY_GROUP)
    detours = _ByPaths(_distances(paths), entries, dragonfly_of(topology, BY_GROUP).group_of)
    source_table = ugal_source_table(detours, intermediates, buckets)
    return compile_plan(paths, hosts_per_router, BY_GROUP, bound, source_table)


def _distances(topology: Topology) -> Distances:
    everyone = np.arange(topology.routers)
    return topology.distances(everyone[:, None], everyone[None, :])


class Detours(Protocol):
    """The detours that UGAL chooses among."""

    @property
    def distances(self) -> Distances:
        """int16 array, N x N: hops of the minimal paths."""

    def first_hops(self, view: RouterView, reroute: FastReroute) -> FirstHops:
        """Returns the first hops of a router's own packets.

        Args:
            view: the router's ports and matches.
            reroute: its protected groups.
        """

    def kind(self, view: RouterView, destination: int) -> Hashable:
        """Returns a key; two destinations share a group only if their keys, distances and ports are equal.

        Args:
            view: the source's ports and matches.
            destination: a router.
        """

    def intermediates(self, view: RouterView, destinations: list[int]) -> list[int]:
        """Returns the intermediate routers of detours that fit all of the given destinations.

        Args:
            view: the source's ports and matches.
            destinations: routers that one OpenFlow group serves.
        """

    def onward_hops(self, intermediates: list[int], destinations: list[int]) -> Sequence[float]:
        """Returns the mean hops from each intermediate router to the destinations.

        Args:
            intermediates: the intermediate routers.
            destinations: routers that one OpenFlow group serves.
        """

    def far_ports(self, view: RouterView, first_hops: FirstHops, others: list[int]) -> FarPorts:
        """Returns `Group.far_ports` of candidates; an empty tuple if the law compares own queues alone.

        Args:
            view: the source's ports and matches.
            first_hops: the first hops of its packets.
            others: for each candidate, the router to which its packets are sent: the destination, or the
                intermediate router.
        """


@dataclass(frozen=True)
class _ByPaths:
    """Detours over minimal paths to and from an intermediate router.

    Attributes:
        distances: int16 array, N x N: hops of the minimal paths.
        choice: the routers that packets of each router may visit.
        group_of: int64 array, N: the group of each router. A path visits only the groups of its two ends.
        own_groups: whether each destination has a choice group of its own, with the hops of its own detours.
    """

    distances: Distances
    choice: Intermediates
    group_of: npt.NDArray[np.int64]
    own_groups: bool = False

    def first_hops(self, view: RouterView, reroute: FastReroute) -> FirstHops:
        """Returns the first hops of the router's own packets, which equal those of packets in transit."""
        return FirstHops(view, reroute)

    def kind(self, _view: RouterView, destination: int) -> Hashable:
        """Returns None if only distances and ports divide destinations into groups, else the destination."""
        return destination if self.own_groups else None

    def intermediates(self, view: RouterView, destinations: list[int]) -> list[int]:
        """Returns the intermediate routers that suit destinations with the same minimal ports.

        No minimal path to such an intermediate router starts on these ports, and no minimal path from it to
        one of the destinations leads back through the source.
        """
        away, onward = self.distances[view.router], self.distances[:, destinations]
        # Exclude routers with a minimal path to a destination through the source: the detour could return.
        through = away[:, None] + away[destinations][None, :] == onward
        own = self.group_of == self.group_of[view.router]
        fit = ~(through & (own[:, None] | own[destinations])).any(axis=1)
        sets, taken = view.port_sets.sets(), set(view.minimal_ports[destinations[0]])
        fit &= np.array([taken.isdisjoint(ports) for ports in sets])[view.port_sets.codes]
        choice = np.array(self.choice(view), np.int64)
        eligible: list[int] = choice[fit[choice]].tolist()
        return eligible

    def onward_hops(self, intermediates: list[int], destinations: list[int]) -> Sequence[float]:
        """Returns the mean hops of the minimal paths from each intermediate router to the destinations."""
        return _means(self.distances[np.ix_(intermediates, destinations)])

    def far_ports(self, _view: RouterView, _first_hops: FirstHops, _others: list[int]) -> FarPorts:
        """Returns an empty tuple: the law compares the source's own queues alone."""
        return ()


def _means(hops: npt.NDArray[np.int16]) -> Sequence[float]:
    """Returns the mean of each row, with rounding that does not depend on the number of rows.

    Args:
        hops: int16 array, intermediates x destinations.
    """
    means: list[float] = (hops.sum(axis=1, dtype=np.int64) / hops.shape[1]).tolist()
    return means


@dataclass(frozen=True)
class _Design:
    """Data shared by all switches: detours, limits of groups, and distinct mean hops, each as one object."""

    detours: Detours
    intermediates: int
    buckets: int
    hops: dict[float, float] = field(default_factory=dict)

    def shared(self, hops: Iterable[float]) -> Iterator[float]:
        """Yields the given hops, with one object for equal numbers: of tens of millions, few are distinct."""
        return (self.hops.setdefault(one, one) for one in hops)


def ugal_source_table(detours: Detours, intermediates: int, buckets: int) -> SourceTableMaker:
    """Returns the function that builds source tables whose groups start on minimal paths.

    Detours are the other candidates of these groups.

    Args:
        detours: the detours.
        intermediates: the maximum number of intermediate routers of a group, at least 1; if more are
            eligible, evenly spaced ones are used.
        buckets: the number of buckets of a group, 2 to 256.
    """
    return partial(_source_table, _Design(detours, intermediates, buckets))


def _source_table(design: _Design, view: RouterView, reroute: FastReroute) -> SourceTable:
    members: dict[tuple[int, int, Hashable], list[int]] = {}
    away = design.detours.distances[view.router].tolist()
    first_hops = design.detours.first_hops(view, reroute)
    for other in view.others():
        key = (away[other], first_hops.toward(other), design.detours.kind(view, other))
        members.setdefault(key, []).append(other)
    groups = []
    choices = [0] * view.topology.routers
    # One object per intermediate router, shared by the groups.
    detour = cache(first_hops.detour)
    for index, destinations in enumerate(members.values()):
        number = group_number(GroupRole.CHOICE_BY_DISTANCE, index)
        groups.append(_group(view, first_hops, design, detour, number, destinations))
        for other in destinations:
            choices[other] = number
    return SourceTable(groups=(*first_hops.groups, *groups), choices=tuple(choices))


def _group(
    view: RouterView,
    first_hops: FirstHops,
    design: _Design,
    detour: Callable[[int], Bucket],
    number: int,
    destinations: list[int],
) -> Group:
    """Returns the group for destinations at the same distance and with the same minimal ports."""
    minimal = Bucket((ToGroup(first_hops.toward(destinations[0])),))
    eligible = design.detours.intermediates(view, destinations)
    intermediates = evenly_spaced(eligible, design.intermediates, view.router)
    if not intermediates:
        return Group(number, GroupKind.INDIRECT, (minimal,))
    away = design.detours.distances[view.router]
    onward = design.detours.onward_hops(intermediates, destinations)
    hops = (float(away[destinations[0]]), *np.add(away[intermediates], onward).tolist())
    return Group(
        number,
        GroupKind.SELECT,
        (minimal,) * design.buckets,
        candidates=(minimal, *map(detour, intermediates)),
        hops=tuple(design.shared(hops)),
        ports=tuple(map(first_hops.ports, (destinations[0], *intermediates))),
        far_ports=design.detours.far_ports(view, first_hops, [destinations[0], *intermediates]),
    )


def make_ugal_law(datapath_id: int, *, threshold: float, sampled: float) -> Law:
    """Returns the control law of a switch.

    Args:
        datapath_id: the switch; it seeds the law's samples, which are the same in every run and differ
            between switches.
        threshold: at least 0; a detour is taken if occupancy times hops of the minimal path exceeds
            occupancy times hops of the detour by more than this.
        sampled: per step, a group tries to move this share of its minimal buckets to detours, 0 to 1.
    """
    return _law(datapath_id, threshold, sampled, _products)


def make_piggyback_law(datapath_id: int, *, threshold: float, sampled: float, congested: float) -> Law:
    """Returns the control law of a switch that knows how full the global links of its group are.

    Paths whose first global link is congested are taken only if all are; among the others, as in UGAL.

    Args:
        datapath_id: see `make_ugal_law`, as for the next two.
        threshold: least difference of products.
        sampled: the share of minimal buckets that a group tries to replace per step.
        congested: the share of a queue above which a global link is congested, 0 to 1.
    """

    def costs(group: AdaptiveGroup, ports: PortOccupancies) -> list[float]:
        marks = (ports.far_mean(far) > congested for far in group.group.far_ports)
        return [
            cost + _CONGESTION_COST * mark for cost, mark in zip(_products(group, ports), marks, strict=True)
        ]

    return _law(datapath_id, threshold, sampled, costs)


def _products(group: AdaptiveGroup, ports: PortOccupancies) -> list[float]:
    """Returns, for each candidate of a group, the occupancy of its first ports multiplied by its hops."""
    return [ports.mean(p) * hops for p, hops in zip(group.ports, group.group.hops, strict=True)]


def _law(datapath_id: int, threshold: float, sampled: float, costs_of: Costs) -> Law:
    generator = np.random.default_rng(datapath_id)

    def law(group: AdaptiveGroup, ports: PortOccupancies) -> Change:
        costs = costs_of(group, ports)
        worst = max(set(group.pointing) - {0}, key=lambda index: costs[index], default=0)
        if worst and costs[worst] >= costs[0]:
            for _ in range(max_returned(group)):
                group.move(max(set(group.pointing) - {0}, key=lambda index: costs[index]), 0)
            return Change.RETURNED
        trials = max(1, int(group.minimal_buckets * sampled))
        moved = 0
        for sample in generator.integers(1, len(costs), trials).tolist():
            if costs[sample] + threshold < costs[0]:
                moved += group.move(0, sample)
        return Change.DETOURED if moved else Change.NONE

    return law


ROUTING = Routing(
    ugal_plan,
    "minimal or via a random router, by occupancy times hops",
    "Singh, PhD thesis, Stanford, 2005",
    make_ugal_law,
    plan_parameters=(INTERMEDIATES, BUCKETS, OVER, LENGTHS),
    law_parameters=(THRESHOLD, SAMPLED),
    packet_law=PacketLaw(PacketRule.PRODUCT),
)
BY_GROUP_ROUTING = Routing(
    ugal_group_plan,
    "hierarchical or via a random other group, by occupancy times hops (dragonfly)",
    "Kim et al., ISCA 2008, section 4.2",
    make_ugal_law,
    plan_parameters=(INTERMEDIATES, BUCKETS),
    law_parameters=(THRESHOLD, SAMPLED),
    packet_law=PacketLaw(PacketRule.PRODUCT),
    families=("dragonfly",),
)
