"""Four-colour routing on three-level dragonflies (`four-color`), which needs no virtual channels.

A source tags packets to other supergroups with the router at which they enter that supergroup; links of the
right label lead to it (`routing.path_sets.three_level_colours`). There the tag is popped, and table AFTER_TAG
sends the packet to a gateway of the second half, even if the router has a link of its own to the
destination's group. Within a supergroup, packets go as in the two-level four-color.

Source: after Camarero, Vallejo, Beivide, "Topological Characterization of Hamming and Dragonfly Networks and
Its Implications on Routing" (TACO 2014), sections 6.2 and 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from routing.algorithms.first_hops import FirstHops, GatewayGroups, Gateways
from routing.algorithms.half_paths import HalfPaths
from routing.compiler import AfterTagTable, SourceTable, compile_plan
from routing.path_sets.coloured import FOUR_COLOR, source_lengths
from routing.path_sets.restricted import Lengths
from routing.path_sets.three_level_colours import (
    ThreeLevelColours,
    three_level_coloured_paths,
    three_level_colours,
)
from routing.plan.groups import GroupRole, RouterView, group_number
from routing.plan.model import Group, GroupKind, RoutePlan
from routing.reroute.base import FastReroute
from topology.families.dragonflies.dragonfly3 import Dragonfly3
from topology.faults import Component, ComponentKind

_MOST_HOPS = 7


def three_level_plan(dragonfly: Dragonfly3, hosts_per_router: int) -> RoutePlan:
    """Returns the plan in which packets take minimal paths in the order of four colours.

    Args:
        dragonfly: a three-level dragonfly.
        hosts_per_router: p, the number of hosts at each router, 1 to 254.

    Raises:
        ParameterError: two groups or two supergroups do not have links of all four labels, there are more
            hosts or routers than addresses and tags, or paths are longer than the packets' TTL allows.
    """
    colours = _Colours(three_level_colours(dragonfly))
    paths = three_level_coloured_paths(colours.coloured)
    return compile_plan(
        paths,
        hosts_per_router,
        FOUR_COLOR,
        _bound,
        partial(_source_table, colours),
        partial(_after_tag, colours),
    )


def _bound(distances: Lengths) -> Lengths:
    return np.where(distances == 0, 0, _MOST_HOPS).astype(np.int16)


@dataclass(frozen=True)
class _Colours:
    """The labels of a three-level dragonfly, with the second halves within a supergroup."""

    coloured: ThreeLevelColours

    @cached_property
    def _second_halves(self) -> HalfPaths:
        inside = self.coloured.inside
        return HalfPaths(inside, source_lengths(inside, self.coloured.inside_paths))

    def exceptions(self, router: int) -> dict[int, tuple[int, ...]]:
        """Returns `FirstHops.exceptions`: destinations in the supergroup whose gateway is not the source."""
        start = router - router % self.coloured.size
        return {
            start + destination: tuple(start + gateway for gateway in gateways)
            for destination, gateways in self.coloured.inside.own_gateways(router - start).items()
        }

    def second_hops(self, router: int) -> list[Gateways]:
        """Returns, for each router of the supergroup, the gateways to it after the tag has been popped.

        Args:
            router: the router that the tag names.
        """
        coloured = self.coloured
        inside = coloured.inside
        place = router % coloured.size
        start = router - place
        found = [
            tuple((start + gateway, weight) for gateway, weight in gateways)
            for gateways in self._second_halves.gateways(place)
        ]
        number = int(inside.colour[place]) // 2
        group = np.flatnonzero(inside.dragonfly.group_of == inside.dragonfly.group_of[place])
        gateways = group[inside.colour[group] == 2 * (1 - number) + 1]
        for other in group[inside.colour[group] == 2 * number].tolist():
            if other != place:
                found[other] = tuple((start + gateway, 1) for gateway in gateways.tolist())
        return found


def _source_table(colours: _Colours, view: RouterView, reroute: FastReroute) -> SourceTable:
    coloured = colours.coloured
    supergroup_of = coloured.dragonfly.supergroup_of
    first_hops = FirstHops(view, reroute, colours.exceptions(view.router))
    choices = list(reroute.untagged.group_toward)
    numbers = coloured.second_number(np.arange(len(choices))).tolist()
    groups: dict[tuple[int, int], Group] = {}
    for destination in view.others():
        key = int(supergroup_of[destination]), numbers[destination]
        if key[0] == supergroup_of[view.router]:
            choices[destination] = first_hops.toward(destination)
            continue
        if key not in groups:
            entries = coloured.entries(view.router, *key)
            number = group_number(GroupRole.CHOICE_BY_COLOUR, len(groups))
            groups[key] = Group(number, GroupKind.SELECT, tuple(map(first_hops.detour, entries)))
        choices[destination] = groups[key].number
    return SourceTable(groups=(*first_hops.groups, *groups.values()), choices=tuple(choices))


def _after_tag(colours: _Colours, view: RouterView, reroute: FastReroute) -> AfterTagTable:
    groups = GatewayGroups(view, reroute.untagged, GroupRole.AFTER_TAG)
    choices = [0] * view.topology.routers
    unprotected = []
    start = view.router - view.router % colours.coloured.size
    for place, gateways in enumerate(colours.second_hops(view.router)):
        if gateways:
            group = groups.group(start + place, gateways)
            choices[start + place] = group.number
            if len(group.buckets) == 1:
                ends = sorted((view.router, gateways[0][0]))
                component = Component(ComponentKind.LINK, (ends[0], ends[1]))
                unprotected.append((start + place, component))
    return AfterTagTable(tuple(choices), tuple(groups.groups), tuple(unprotected))
