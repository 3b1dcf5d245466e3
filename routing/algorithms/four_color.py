"""Detours of four colours (`four-color-valiant`, `four-color-adaptive`), which need no virtual channels.

`four-color-valiant` sends packets to other groups via a third one; `four-color-adaptive` starts with the
paths of `four-color` and takes the same detours by the control law of UGAL. Both keep to the order of
links of `routing.path_sets.coloured`, so they need no virtual channels. Packets within a group take their one
hop.

A packet that has reached the intermediate router named by its tag continues with a local hop to a gateway of
a higher colour, even if that router has a link to the destination's group. Table AFTER_TAG ensures this;
transit packets to the same destination take the direct link.

Source: after Camarero, Vallejo, Beivide, "Topological Characterization of Hamming and Dragonfly
Networks and Its Implications on Routing" (TACO 2014), section 6; the order of links is this project's own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import numpy.typing as npt

from routing.algorithms import ugal
from routing.algorithms.colour_detours import ColourDetours, Gateways, Span
from routing.algorithms.packet_law import PacketLaw, PacketRule
from routing.algorithms.routing import Routing
from routing.algorithms.valiant import INTERMEDIATES
from routing.compiler import AfterTagTable, SourceTable, compile_plan, detour_bucket, evenly_spaced
from routing.path_sets.coloured import FOUR_COLOR_RULE, coloured_dragonfly, coloured_paths
from routing.path_sets.restricted import Lengths, RestrictedTopology
from routing.plan.groups import GroupRole, RouterView, group_number
from routing.plan.model import Bucket, Group, GroupKind, RoutePlan
from routing.reroute.base import FastReroute, alternate_bucket, alternates_for_dead_port
from topology.base import Topology
from topology.faults import Component, ComponentKind

VALIANT = "four-color-valiant"
ADAPTIVE = "four-color-adaptive"
_MAX_HOPS = 5


def four_color_valiant_plan(topology: Topology, hosts_per_router: int, *, intermediates: int) -> RoutePlan:
    """Returns the plan in which packets to other groups visit a third group, in the order of four colours.

    Args:
        topology: a dragonfly with at least four links between every two groups.
        hosts_per_router: p, the number of hosts at each router, 1 to 254.
        intermediates: the maximum number of third-group routers that a source chooses among, 1 to 1024.

    Raises:
        UsageError: the topology is of another family.
        ParameterError: the dragonfly has no four colours, there are more hosts or routers than addresses and
            tags, or paths are longer than the packets' TTL allows.
    """
    paths, detours = _paths_and_detours(topology, VALIANT)
    source_table = partial(_source_table, detours, intermediates)
    return compile_plan(paths, hosts_per_router, VALIANT, _bound, source_table, partial(_after_tag, detours))


def four_color_adaptive_plan(
    topology: Topology, hosts_per_router: int, *, intermediates: int, buckets: int
) -> RoutePlan:
    """Returns the plan whose groups start with the paths of `four-color`; detours are their other candidates.

    Args:
        topology: a dragonfly with at least four links between every two groups.
        hosts_per_router: p, the number of hosts at each router, 1 to 254.
        intermediates: the maximum number of third-group routers that a group chooses among, 1 to 256.
        buckets: the number of buckets of a group, 2 to 256.

    Raises:
        UsageError: the topology is of another family.
        ParameterError: the dragonfly has no four colours, there are more hosts or routers than addresses and
            tags, or paths are longer than the packets' TTL allows.
    """
    paths, detours = _paths_and_detours(topology, ADAPTIVE)
    everyone = np.arange(paths.routers)
    choice = _Adaptive(detours, paths.distances(everyone[:, None], everyone[None, :]))
    source_table = ugal.ugal_source_table(choice, intermediates, buckets)
    return compile_plan(paths, hosts_per_router, ADAPTIVE, _bound, source_table, partial(_after_tag, detours))


def _paths_and_detours(topology: Topology, routing: str) -> tuple[RestrictedTopology, ColourDetours]:
    coloured = coloured_dragonfly(topology, FOUR_COLOR_RULE, routing)
    return coloured_paths(coloured), ColourDetours(coloured)


def _bound(distances: Lengths) -> Lengths:
    return np.where(distances == 0, 0, _MAX_HOPS).astype(np.int16)


@dataclass(frozen=True)
class _Adaptive:
    """The detours of four-color-adaptive; see `ugal.Detours`."""

    detours: ColourDetours
    distances: npt.NDArray[np.int16]

    def kind(self, view: RouterView, destination: int) -> Hashable:
        """Returns the destination's `Span`; None if it is in the source's group."""
        return None if _within_group(self.detours, view, destination) else self.detours.span(destination)

    def intermediates(self, view: RouterView, destinations: list[int]) -> list[int]:
        """Returns the intermediate routers; an empty list for destinations in the source's group."""
        if _within_group(self.detours, view, destinations[0]):
            return []
        return self.detours.intermediates(view.router, self.detours.span(destinations[0]))

    def onward_hops(self, intermediates: list[int], destinations: list[int]) -> Sequence[float]:
        """Returns the mean hops from each intermediate router over its gateways to the destinations."""
        return [self.detours.onward_hops(one, destinations) for one in intermediates]


def _within_group(detours: ColourDetours, view: RouterView, destination: int) -> bool:
    group_of = detours.coloured.dragonfly.group_of
    return bool(group_of[view.router] == group_of[destination])


def _source_table(detours: ColourDetours, most: int, view: RouterView, reroute: FastReroute) -> SourceTable:
    bucket = cache(partial(_detour_bucket, cache(partial(detour_bucket, reroute))))
    # Minimal groups, which stay for destinations within the source's group, or without a detour.
    choices = list(reroute.untagged.group_toward)
    number_of: dict[Span, int] = {}
    numbers: dict[tuple[tuple[int, int], ...], int] = {}  # by (intermediate router, weight) of all buckets
    for destination in view.others():
        if _within_group(detours, view, destination):
            continue
        span = detours.span(destination)
        if span not in number_of:
            chosen = evenly_spaced(detours.intermediates(view.router, span), most, view.router)
            weights = detours.weights(view.router, span, chosen)
            number = group_number(GroupRole.CHOICE_BY_COLOUR, len(numbers))
            shares = tuple(zip(chosen, weights, strict=True))
            number_of[span] = numbers.setdefault(shares, number) if chosen else 0
        choices[destination] = number_of[span] or choices[destination]
    groups = (
        Group(number, GroupKind.SELECT, tuple([bucket(*share) for share in shares]))
        for shares, number in numbers.items()
    )
    return SourceTable(groups=tuple(groups), choices=tuple(choices))


def _detour_bucket(detour: Callable[[int], Bucket], intermediate: int, weight: int) -> Bucket:
    return Bucket(detour(intermediate).actions, weight=weight)


def _after_tag(detours: ColourDetours, view: RouterView, reroute: FastReroute) -> AfterTagTable:
    tables = _AfterTag(view, reroute)
    gateways = detours.gateways(view.router)
    choices = [
        tables.number(destination, found) if found else 0 for destination, found in enumerate(gateways)
    ]
    if not tables.groups:
        return AfterTagTable()
    return AfterTagTable(tuple(choices), tuple(tables.groups), tuple(tables.unprotected))


class _AfterTag:
    """The groups of table AFTER_TAG of one router, built on first use."""

    def __init__(self, view: RouterView, reroute: FastReroute) -> None:
        self.groups: list[Group] = []
        self.unprotected: list[tuple[int, Component]] = []
        self._router = view.router
        self._port_to = dict(view.neighbour_ports())
        self._group_toward = reroute.untagged.group_toward
        self._protected = {group.number: group for group in reroute.untagged.groups}
        self._numbers: dict[tuple[Gateways, int], int] = {}

    def number(self, destination: int, gateways: Gateways) -> int:
        """Returns the number of the group that divides packets among gateways by weight.

        While the port to a gateway is dead, the other gateways take its share; for a single gateway, the
        alternates of the minimal path are used.

        Args:
            destination: the packets' destination.
            gateways: at least one gateway with its weight.
        """
        single = len(gateways) == 1
        key = (gateways, self._group_toward[destination] if single else 0)
        if key not in self._numbers:
            self._numbers[key] = self._add(*key)
        number = self._numbers[key]
        if single and len(self.groups[number - group_number(GroupRole.AFTER_TAG)].buckets) == 1:
            ends = sorted((self._router, gateways[0][0]))
            self.unprotected.append((destination, Component(ComponentKind.LINK, (ends[0], ends[1]))))
        return number

    def _add(self, gateways: Gateways, minimal: int) -> int:
        number = group_number(GroupRole.AFTER_TAG, len(self.groups))
        ports = [(self._port_to[gateway], weight) for gateway, weight in gateways]
        if len(ports) > 1:
            group = Group(number, GroupKind.SELECT, tuple(_weighted_bucket(*one) for one in ports))
        else:
            port = ports[0][0]
            alternates = alternates_for_dead_port(self._protected, minimal, port)
            group = Group(number, GroupKind.FAST_FAILOVER, (alternate_bucket(port), *alternates))
        self.groups.append(group)
        return number


@cache
def _weighted_bucket(port: int, weight: int) -> Bucket:
    bucket = alternate_bucket(port)
    return Bucket(bucket.actions, bucket.watch_port, weight)


VALIANT_ROUTING = Routing(
    four_color_valiant_plan,
    "via a third group, over gateways of four colours, acyclic (dragonfly, trunking 4)",
    "after Camarero et al., TACO 2014, section 6",
    plan_parameters=(INTERMEDIATES,),
    families=("dragonfly",),
)
ADAPTIVE_ROUTING = Routing(
    four_color_adaptive_plan,
    "four-color or via a third group, by occupancy times hops (dragonfly, trunking 4)",
    "after Camarero et al., TACO 2014, section 6",
    ugal.make_ugal_law,
    plan_parameters=ugal.BY_GROUP_ROUTING.plan_parameters,
    law_parameters=ugal.ROUTING.law_parameters,
    packet_law=PacketLaw(PacketRule.PIGGYBACK),
    families=("dragonfly",),
)
