"""Routings of four colours (`four-color`, `-valiant`, `-adaptive`), which need no virtual channels.

`four-color` takes minimal paths, `four-color-valiant` sends packets to other groups via a third one, and
`four-color-adaptive` chooses between both by piggybacking: it avoids paths whose first global link is
congested, although that link may start at another router of the group. All keep to one order of links
(`routing.path_sets.coloured`): the paper's, with the detours of `routing.algorithms.half_paths`, or this
project's own, with those of `routing.algorithms.colour_detours`. Packets within a group take the
link to their destination.

A packet that has reached the intermediate router named by its tag continues with a local hop to a gateway,
even if that router has a link to the destination's group. Table AFTER_TAG ensures this; transit packets to
the same destination take the direct link. In the paper's order, packets of a router's own hosts do not always
take its direct link either: groups of its source table ensure this.

Source: Camarero, Vallejo, Beivide, "Topological Characterization of Hamming and Dragonfly Networks and Its
Implications on Routing" (TACO 2014), section 6.2; adaptive routing: section 7.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Protocol

import numpy as np

from routing.algorithms import ugal
from routing.algorithms.colour_detours import ColourDetours, Span
from routing.algorithms.first_hops import FirstHops, GatewayGroups, Gateways, first_hops_source_table
from routing.algorithms.half_paths import HalfPaths
from routing.algorithms.minimal import minimal_plan
from routing.algorithms.packet_law import PacketLaw, PacketRule
from routing.algorithms.routing import Routing
from routing.algorithms.three_level_colours import three_level_plan
from routing.algorithms.valiant import INTERMEDIATES
from routing.compiler import AfterTagTable, SourceTable, compile_plan, evenly_spaced
from routing.path_sets.coloured import (
    FOUR_COLOR,
    FOUR_COLOR_PATHS,
    FOUR_COLOR_RULES,
    ORDER,
    OWN,
    PAPER,
    ColouredDragonfly,
    coloured_dragonfly,
    coloured_paths,
    source_lengths,
)
from routing.path_sets.restricted import Lengths, RestrictedTopology
from routing.plan.groups import GroupRole, RouterView, group_number
from routing.plan.model import Bucket, Group, GroupKind, RoutePlan
from routing.reroute.base import FastReroute
from topology.base import Topology
from topology.errors import UsageError
from topology.families.dragonflies.dragonfly3 import Dragonfly3
from topology.faults import Component, ComponentKind

VALIANT = "four-color-valiant"
ADAPTIVE = "four-color-adaptive"
_MAX_HOPS = {PAPER: 6, OWN: 5}


class ColouredDetours(Protocol):
    """Detours for one of the two orders of links: `paper` or `own`."""

    @property
    def coloured(self) -> ColouredDragonfly:
        """The dragonfly with its colours."""

    @property
    def distances(self) -> Lengths:
        """int16 array, N x N: hops of the minimal path for every [source, destination]."""

    def span(self, destination: int) -> Span:
        """Returns the set of destinations that share their intermediate routers with a destination."""

    def intermediates(self, router: int, span: Span) -> list[int]:
        """Returns the intermediate routers of a source, ascending.

        Args:
            router: the source.
            span: destinations, in groups other than the source's.
        """

    def weights(self, router: int, span: Span, intermediates: Sequence[int]) -> list[int]:
        """Returns the weights of intermediate routers, at least 1.

        Args:
            router: the source.
            span: destinations, in groups other than the source's.
            intermediates: intermediate routers.
        """

    def gateways(self, router: int) -> list[Gateways]:
        """Returns the gateways of an intermediate router, for each destination; empty if it has none."""

    def onward_hops(self, intermediates: Sequence[int], destinations: Sequence[int]) -> Sequence[float]:
        """Returns the mean hops from each intermediate router to destinations.

        Args:
            intermediates: intermediate routers.
            destinations: destinations of one span, at least one.
        """


def four_color_plan(topology: Topology, hosts_per_router: int, *, order: str) -> RoutePlan:
    """Returns the plan in which packets take minimal paths in the order of four colours.

    Args:
        topology: a dragonfly of two or three levels with at least four links between every two groups, and
            every two supergroups.
        hosts_per_router: p, the number of hosts at each router, 1 to 254.
        order: order of the links, a value of `ORDER`.

    Raises:
        UsageError: the topology is of another family.
        ParameterError: the dragonfly has no four colours, there are more hosts or routers than addresses and
            tags, or paths are longer than the packets' TTL allows.
    """
    if isinstance(topology, Dragonfly3):
        if order != PAPER:
            raise UsageError(f"order of {FOUR_COLOR} on {topology.name} must be {PAPER}, got {order}")
        return three_level_plan(topology, hosts_per_router)
    coloured = coloured_dragonfly(topology, FOUR_COLOR_RULES[order], FOUR_COLOR)
    paths = coloured_paths(coloured)
    if order == OWN:
        return minimal_plan(paths, hosts_per_router)
    source_table = first_hops_source_table(coloured.own_gateways)
    return compile_plan(paths, hosts_per_router, FOUR_COLOR, partial(_bound, 3), source_table)


def four_color_valiant_plan(
    topology: Topology, hosts_per_router: int, *, intermediates: int, order: str
) -> RoutePlan:
    """Returns the plan in which packets to other groups visit a third group, in the order of four colours.

    Args:
        topology: a dragonfly with at least four links between every two groups.
        hosts_per_router: p, the number of hosts at each router, 1 to 254.
        intermediates: the maximum number of third-group routers that a source chooses among, 1 to 1024.
        order: order of the links, a value of `ORDER`.

    Raises:
        UsageError: the topology is of another family.
        ParameterError: the dragonfly has no four colours, there are more hosts or routers than addresses and
            tags, or paths are longer than the packets' TTL allows.
    """
    paths, detours = _paths_and_detours(topology, VALIANT, order)
    bound = partial(_bound, _MAX_HOPS[order])
    source_table = partial(_source_table, detours, intermediates)
    return compile_plan(paths, hosts_per_router, VALIANT, bound, source_table, partial(_after_tag, detours))


def four_color_adaptive_plan(
    topology: Topology, hosts_per_router: int, *, intermediates: int, buckets: int, order: str
) -> RoutePlan:
    """Returns the plan whose groups start with the paths of `four-color`; detours are their other candidates.

    Args:
        topology: a dragonfly with at least four links between every two groups.
        hosts_per_router: p, the number of hosts at each router, 1 to 254.
        intermediates: the maximum number of third-group routers that a group chooses among, 1 to 256.
        buckets: the number of buckets of a group, 2 to 256.
        order: order of the links, a value of `ORDER`.

    Raises:
        UsageError: the topology is of another family.
        ParameterError: the dragonfly has no four colours, there are more hosts or routers than addresses and
            tags, or paths are longer than the packets' TTL allows.
    """
    paths, detours = _paths_and_detours(topology, ADAPTIVE, order)
    bound = partial(_bound, _MAX_HOPS[order])
    source_table = ugal.ugal_source_table(_Adaptive(detours), intermediates, buckets)
    return compile_plan(paths, hosts_per_router, ADAPTIVE, bound, source_table, partial(_after_tag, detours))


def _paths_and_detours(
    topology: Topology, routing: str, order: str
) -> tuple[RestrictedTopology, ColouredDetours]:
    coloured = coloured_dragonfly(topology, FOUR_COLOR_RULES[order], routing)
    paths = coloured_paths(coloured)
    if order == OWN:
        return paths, ColourDetours(coloured, paths.distance_table)
    return paths, HalfPaths(coloured, source_lengths(coloured, paths))


def _bound(most: int, distances: Lengths) -> Lengths:
    return np.where(distances == 0, 0, most).astype(np.int16)


@dataclass(frozen=True)
class _Adaptive:
    """The detours of four-color-adaptive; see `ugal.Detours`."""

    detours: ColouredDetours

    @property
    def distances(self) -> Lengths:
        """int16 array, N x N: hops of the minimal paths."""
        return self.detours.distances

    def first_hops(self, view: RouterView, reroute: FastReroute) -> FirstHops:
        """Returns the first hops of a router's own packets."""
        return _first_hops(self.detours.coloured, view, reroute)

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
        return self.detours.onward_hops(intermediates, destinations)

    def far_ports(self, view: RouterView, first_hops: FirstHops, others: list[int]) -> ugal.FarPorts:
        """Returns, for each candidate, the ports of the first global links on its path.

        They are those of gateways or of the source itself. In the paper, the routers of a group piggyback
        information on the queues of these links on packets.
        """
        group_of = self.detours.coloured.dragonfly.group_of
        neighbour_of = {port: neighbour for neighbour, port in view.neighbour_ports()}
        own = int(group_of[view.router])
        found = []
        for other in others:
            around = [neighbour_of[port] for port in first_hops.ports(other)]
            gateways = [one if group_of[one] == own else view.router for one in around]
            found.append(
                tuple(port for one in gateways for port in self._global_ports(one, int(group_of[other])))
            )
        return tuple(found)

    def _global_ports(self, gateway: int, group: int) -> tuple[tuple[int, int], ...]:
        """Returns the ports of a gateway that lead to a group, each as (router, port)."""
        key = gateway, group
        if key not in self._ports_of:
            dragonfly = self.detours.coloured.dragonfly
            ports = dragonfly.link_ports(gateway)[dragonfly.group_of[dragonfly.neighbours(gateway)] == group]
            self._ports_of[key] = tuple((gateway, int(port)) for port in ports)
        return self._ports_of[key]

    @cached_property
    def _ports_of(self) -> dict[tuple[int, int], tuple[tuple[int, int], ...]]:
        """Cache of `_global_ports` by gateway and group."""
        return {}


def _group(detours: ColouredDetours, view: RouterView) -> int:
    return int(detours.coloured.dragonfly.group_of[view.router])


def _within_group(detours: ColouredDetours, view: RouterView, destination: int) -> bool:
    return bool(_group(detours, view) == detours.coloured.dragonfly.group_of[destination])


def _first_hops(coloured: ColouredDragonfly, view: RouterView, reroute: FastReroute) -> FirstHops:
    return FirstHops(view, reroute, coloured.own_gateways(view.router))


def _source_table(detours: ColouredDetours, most: int, view: RouterView, reroute: FastReroute) -> SourceTable:
    first_hops = _first_hops(detours.coloured, view, reroute)
    bucket = cache(partial(_detour_bucket, cache(first_hops.detour)))
    # Minimal groups, which stay for destinations within the source's group, or without a detour.
    choices = list(reroute.untagged.group_toward)
    number_of: dict[Span, int] = {}
    numbers: dict[tuple[tuple[int, int], ...], int] = {}  # by (intermediate router, weight) of all buckets
    outside = np.flatnonzero(detours.coloured.dragonfly.group_of != _group(detours, view)).tolist()
    for destination in outside:
        span = detours.span(destination)
        if span not in number_of:
            chosen = evenly_spaced(detours.intermediates(view.router, span), most, view.router)
            weights = detours.weights(view.router, span, chosen)
            number = group_number(GroupRole.CHOICE_BY_COLOUR, len(numbers))
            shares = tuple(zip(chosen, weights, strict=True))
            number_of[span] = numbers.setdefault(shares, number) if chosen else 0
        choices[destination] = number_of[span] or first_hops.toward(destination)
    groups = tuple(
        Group(number, GroupKind.SELECT, tuple([bucket(*share) for share in shares]))
        for shares, number in numbers.items()
    )
    return SourceTable(groups=(*first_hops.groups, *groups), choices=tuple(choices))


def _detour_bucket(detour: Callable[[int], Bucket], intermediate: int, weight: int) -> Bucket:
    return Bucket(detour(intermediate).actions, weight=weight)


def _after_tag(detours: ColouredDetours, view: RouterView, reroute: FastReroute) -> AfterTagTable:
    groups = GatewayGroups(view, reroute.untagged, GroupRole.AFTER_TAG)
    choices = [0] * view.topology.routers
    unprotected = []
    for destination, gateways in enumerate(detours.gateways(view.router)):
        if gateways:
            group = groups.group(destination, gateways)
            choices[destination] = group.number
            if len(group.buckets) == 1:
                ends = sorted((view.router, gateways[0][0]))
                unprotected.append((destination, Component(ComponentKind.LINK, (ends[0], ends[1]))))
    if not groups.groups:
        return AfterTagTable()
    return AfterTagTable(tuple(choices), tuple(groups.groups), tuple(unprotected))


MINIMAL_ROUTING = Routing(
    four_color_plan,
    "hierarchical over gateways of four colours, acyclic (dragonfly, dragonfly3, trunking 4)",
    FOUR_COLOR_PATHS.source,
    plan_parameters=(ORDER,),
    families=("dragonfly", "dragonfly3"),
)
VALIANT_ROUTING = Routing(
    four_color_valiant_plan,
    "via a third group, over gateways of four colours, acyclic (dragonfly, trunking 4)",
    "Camarero et al., TACO 2014, section 6.2",
    plan_parameters=(INTERMEDIATES, ORDER),
    families=("dragonfly",),
)
ADAPTIVE_ROUTING = Routing(
    four_color_adaptive_plan,
    "four-color or via a third group, by queues of the group's global links (dragonfly, trunking 4)",
    "Camarero et al., TACO 2014, section 6.2",
    ugal.make_piggyback_law,
    plan_parameters=(*ugal.BY_GROUP_ROUTING.plan_parameters, ORDER),
    law_parameters=(*ugal.ROUTING.law_parameters, ugal.CONGESTED),
    packet_law=PacketLaw(PacketRule.PIGGYBACK),
    families=("dragonfly",),
)
