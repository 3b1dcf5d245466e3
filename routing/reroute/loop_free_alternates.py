"""Ways around a dead link or switch of any graph: searched for, and taken only where they provably work.

A packet that router s sends around its dead link to n goes out by another neighbour m with a mark, and from
there by one minimal path, around nothing any more. So the way is safe

- for the link, if the path from m to the destination does not come back through s;
- for the switch n as well, if it does not lead through n either.

That is a loop-free alternate (RFC 5286) whose conditions are checked on the paths themselves. Where no
neighbour is safe, a tag sends the packet by way of a router r: by m, on to r and from there to the
destination without s and n, as a remote alternate (RFC 7490) does. What is safe for the switch comes first,
then what needs no tag, then what takes the fewest hops.

Where several ports begin shortest paths, the others go on while one is dead, and no way around is needed. A
packet whose tag's next link is dead keeps its tag where a neighbour is safe for it, and gets that of a
neighbour where none is; from there it goes on as without a tag.

Destinations that have the same ports and the same ways around share a group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from routing.plan.groups import GroupRole, RouterView, group_number, push_tag
from routing.plan.model import Bucket, Group, GroupKind, SetField, ToGroup
from routing.plan.tables import tag_of
from routing.reroute.base import MARK, FastReroute, ProtectedGroups, by_port
from topology.base import Topology
from topology.failures import failure_of
from topology.faults import Element, ElementKind
from topology.shortest_paths import connected_components

# Ways around that a group knows where there are several: another helps in some cases of two failures.
_WAYS = 2
# A neighbour to which a tag is exchanged is at most so many hops out of a packet's way.
_EXCHANGE_HOPS = 2

# More hops than any way has.
_FAR = np.iinfo(np.int16).max

Mask = npt.NDArray[np.bool_]
Routers = npt.NDArray[np.integer]


class AlternateSearch:
    """Searches the ways around of a topology's routers."""

    def __init__(self, topology: Topology) -> None:
        """Takes any connected topology."""
        everyone = np.arange(topology.routers)
        self.topology = topology
        self.next_hops = topology.all_next_hops()
        self.distances = topology.distances(everyone[:, None], everyone)
        self.tags = np.zeros(topology.routers, bool)  # that were chosen so far

    def fast_reroute(self, view: RouterView) -> FastReroute:
        """Returns the ways around of one router."""
        search = _RouterSearch(self, view)
        untagged = search.untagged()
        return FastReroute(untagged, search.tagged, tuple(search.unprotected))

    def paths(self, origins: Routers, targets: Routers) -> list[Routers]:
        """Returns the routers on minimal paths, one for each pair, hop by hop; shapes broadcast."""
        at, target = np.broadcast_arrays(origins, targets)
        found = [at]
        while (at != target).any():
            at = self.next_hops[at, target]
            found.append(at)
        return found


def _avoid(paths: list[Routers], unwanted: int) -> Mask:
    """Returns which paths do not visit a router."""
    avoids = np.ones(paths[0].shape, bool)
    for routers in paths:
        avoids &= routers != unwanted
    return avoids


class _Unit(NamedTuple):
    """Destinations that one rule stands for, and the ports by which minimal routes lead there."""

    routers: list[int]
    ports: tuple[int, ...]


class _Around(NamedTuple):
    """A way around: out to a neighbour, with a tag for a router unless that is None."""

    neighbour: int
    tag: int | None = None


_Ways = tuple[_Around, ...]
_Found = list[tuple[_Unit, _Ways]]


class _RouterSearch:
    """The ways around of one router."""

    def __init__(self, search: AlternateSearch, view: RouterView) -> None:
        self.unprotected: list[tuple[int, Element]] = []
        self._search = search
        self._view = view
        self._router = view.router
        self._everyone = np.arange(search.topology.routers)
        self._behind = search.topology.neighbours(view.router).tolist()
        self._neighbours = np.array(list(dict.fromkeys(self._behind)))
        self._groups = _Groups({n: port for port, n in reversed(list(enumerate(self._behind, start=1)))})
        # neighbours x routers: how far it is from each neighbour, and how many hops more than minimal it
        # is by way of it.
        self._out = search.distances[self._neighbours]
        self._detour = 1 + self._out - search.distances[self._router]
        self._most_hops = 0

    def untagged(self) -> ProtectedGroups:
        """Returns the ways of packets without a tag."""
        blocks = self._search.topology.destination_blocks(self._router)
        units = [_Unit(list(block.routers), self._view.minimal_ports[block.routers[0]]) for block in blocks]
        paths = self._search.paths(self._neighbours[:, None], self._everyone)
        return self._ways(units, partial(self._around, paths, _avoid(paths, self._router)), marked=True)

    def tagged(self) -> ProtectedGroups:
        """Returns the ways of packets with a tag."""
        units = [_Unit([router], self._view.minimal_ports[router]) for router in self._view.others()]
        return self._ways(units, self._around_with_tag, marked=False)

    def _ways(
        self, all_units: list[_Unit], around: Callable[[int, list[_Unit]], _Found], *, marked: bool
    ) -> ProtectedGroups:
        known = len(self._groups.made)
        numbers = [0] * len(self._everyone)
        self._most_hops = 0
        for lost, units in self._by_only_neighbour(all_units):
            for unit, ways in _nothing(units) if lost is None else around(lost, units):
                number = self._groups.sending(unit.ports, ways, several=lost is None, marked=marked)
                for router in unit.routers:
                    numbers[router] = number
        return ProtectedGroups(tuple(self._groups.made[known:]), tuple(numbers), self._most_hops)

    def _by_only_neighbour(self, units: Iterable[_Unit]) -> Iterator[tuple[int | None, list[_Unit]]]:
        """Yields units by their one next hop; those with several by None."""
        found: dict[int | None, list[_Unit]] = {}
        for unit in units:
            neighbours = {self._behind[port - 1] for port in unit.ports}
            found.setdefault(neighbours.pop() if len(neighbours) == 1 else None, []).append(unit)
        yield from found.items()

    def _around(self, paths: list[Routers], for_link: Mask, lost: int, units: list[_Unit]) -> _Found:
        """Returns units with their ways around a neighbour; notes for which there are none.

        Args:
            paths: from all neighbours to all routers.
            for_link: which of these do not come back.
            lost: the neighbour.
            units: those that are reached by way of it.
        """
        rows = self._rows(lost)
        # What is dead cannot be reached, so to the neighbour itself only the link matters.
        for_switch = for_link & (_avoid(paths, lost) | (self._everyone == lost))
        link = Element(ElementKind.LINK, (min(self._router, lost), max(self._router, lost)))
        found: _Found = []
        left = units
        for safe, dead, element in (
            (for_switch, lost, Element(ElementKind.SWITCH, (lost,))),
            (for_link, None, link),
        ):
            if not left:
                break
            found += self._by_neighbour(left, rows, safe[rows])
            left = _without(left, found)
            found += self._by_tag(left, rows, dead)
            left = _without(left, found)
            self._note_unprotected(element, left)
        return [*found, *_nothing(left)]

    def _note_unprotected(self, element: Element, units: list[_Unit]) -> None:
        """Notes the destinations that have no way around something dead, and are not cut off by it either."""
        if element.kind is ElementKind.LINK:  # one of several parallel links does not matter
            units = [unit for unit in units if len(unit.ports) == 1]
        if units:
            part = connected_components(self._search.topology, failure_of(self._search.topology, [element]))
            here = part[self._router]
            self.unprotected += [(d, element) for unit in units for d in unit.routers if part[d] == here]

    def _rows(self, lost: int) -> npt.NDArray[np.int64]:
        """Returns the places of all neighbours but one, beginning behind it.

        So the traffic of different dead links goes different ways.
        """
        place = int(np.flatnonzero(self._neighbours == lost)[0])
        return (place + np.arange(1, len(self._neighbours))) % len(self._neighbours)

    def _by_neighbour(self, units: list[_Unit], rows: npt.NDArray[np.int64], safe: Mask) -> _Found:
        """Returns units with untagged ways around, each of the fewest hops, and few different ones in all."""
        if not units or not len(rows):
            return []
        members = np.concatenate([unit.routers for unit in units])
        starts = np.cumsum([0, *(len(unit.routers) for unit in units[:-1])])
        works = np.logical_and.reduceat(safe[:, members], starts, axis=1)
        hops = np.maximum.reduceat(self._detour[rows][:, members], starts, axis=1)
        hops = np.where(works, hops, _FAR)
        best = works & (hops == hops.min(axis=0))
        left = works.any(axis=0)
        found: _Found = []
        while left.any():
            first = int(best[:, left].sum(axis=1).argmax())
            chosen = best[first] & left
            left &= ~chosen
            others = np.flatnonzero(works[:, chosen].all(axis=1))
            places = [first, *(place for place in others.tolist() if place != first)][:_WAYS]
            ways = tuple(_Around(int(self._neighbours[rows[place]])) for place in places)
            found += [(units[index], ways) for index in np.flatnonzero(chosen).tolist()]
            self._most_hops = max(self._most_hops, int(hops[places][:, chosen].max()))
        return found

    def _by_tag(self, units: list[_Unit], rows: npt.NDArray[np.int64], dead: int | None) -> _Found:
        """Returns units with a tagged way around, where there is one; `dead` is to be avoided, too."""
        if not units or not len(rows):
            return []
        search = self._search
        to_tag = self._not_back[rows]
        to_tag_and_not_dead = to_tag if dead is None else to_tag & self._all_paths_avoid(dead)[rows]
        found: _Found = []
        for unit in units:
            targets = np.array(unit.routers)
            paths = search.paths(self._everyone[:, None], targets)
            works = _avoid(paths, self._router).all(axis=1)
            if dead is None or dead in unit.routers:
                works = to_tag & works
            else:
                works = to_tag_and_not_dead & works & _avoid(paths, dead).all(axis=1)
            if works.any():
                cost = np.where(works, self._out[rows] + search.distances[:, targets].max(axis=1), _FAR)
                # Every tag takes a rule in all switches: rather one that is in use already.
                preferred = 2 * cost.astype(np.int32) - search.tags
                place, tag = divmod(int(preferred.argmin()), len(self._everyone))
                search.tags[tag] = True
                way = _Around(int(self._neighbours[rows[place]]), tag)
                found.append((unit, (way,)))
                whole = 1 + self._out[rows[place], tag] + search.distances[tag, targets]
                longer = whole - search.distances[self._router, targets]
                self._most_hops = max(self._most_hops, int(longer.max()))
        return found

    @cached_property
    def _not_back(self) -> Mask:
        """From which neighbours to which routers no shortest path comes back."""
        return self._all_paths_avoid(self._router)

    def _all_paths_avoid(self, unwanted: int) -> Mask:
        """Returns from which neighbours to which routers no shortest path at all visits another router."""
        by_way_of_it = self._out[:, [unwanted]] + self._search.distances[unwanted]
        return np.asarray(by_way_of_it > self._out)

    def _around_with_tag(self, lost: int, units: list[_Unit]) -> _Found:
        rows = self._rows(lost)
        safe = self._not_back & self._all_paths_avoid(lost)
        found = self._by_neighbour(units, rows, safe[rows])
        exchanged = tuple(_Around(n, n) for n in self._neighbours[rows][:_WAYS].tolist())
        if exchanged and (left := _without(units, found)):
            found += [(unit, exchanged) for unit in left]
            self._most_hops = max(self._most_hops, _EXCHANGE_HOPS)
            return found
        return [*found, *_nothing(_without(units, found))]


def _nothing(units: list[_Unit]) -> _Found:
    return [(unit, ()) for unit in units]


def _without(units: list[_Unit], found: _Found) -> list[_Unit]:
    done = {id(unit) for unit, _ in found}
    return [unit for unit in units if id(unit) not in done]


class _Groups:
    """The groups of a router; those with equal buckets are one."""

    def __init__(self, port_to: dict[int, int]) -> None:
        self._port_to = port_to
        self._known: dict[tuple[tuple[int, ...], _Ways, bool], int] = {}
        self._numbers: dict[tuple[GroupKind, tuple[Bucket, ...]], int] = {}
        self.made: list[Group] = []

    def sending(self, ports: tuple[int, ...], ways: _Ways, *, several: bool, marked: bool) -> int:
        """Returns the number of the group that sends by some ports, or by ways around them.

        Args:
            ports: by which it sends, evenly.
            ways: around them while all are dead.
            several: whether the ports lead to several neighbours.
            marked: whether the ways are for packets without a tag, which are marked.
        """
        key = (ports, ways, marked)
        if key not in self._known:
            self._known[key] = self._make(ports, ways, several=several, marked=marked)
        return self._known[key]

    def _make(self, ports: tuple[int, ...], ways: _Ways, *, several: bool, marked: bool) -> int:
        if several:  # while one port is dead, the others have its share
            return self._group(GroupKind.SELECT, tuple(map(by_port, ports)))
        around = tuple(self._bucket(way, marked=marked) for way in ways)
        turned = [(*ports[place:], *ports[:place]) for place in range(len(ports))]
        numbers = [self._group(GroupKind.FAST_FAILOVER, (*map(by_port, turn), *around)) for turn in turned]
        if len(numbers) == 1:
            return numbers[0]
        return self._group(GroupKind.SELECT, tuple(Bucket((ToGroup(number),)) for number in numbers))

    def _group(self, kind: GroupKind, buckets: tuple[Bucket, ...]) -> int:
        key = (kind, buckets)
        if key not in self._numbers:
            self._numbers[key] = group_number(GroupRole.PROTECTED, len(self.made))
            self.made.append(Group(self._numbers[key], kind, buckets))
        return self._numbers[key]

    def _bucket(self, way: _Around, *, marked: bool) -> Bucket:
        port = self._port_to[way.neighbour]
        if marked:
            return by_port(port, (MARK, *(() if way.tag is None else push_tag(way.tag))))
        return by_port(port, () if way.tag is None else (SetField("vlan_vid", tag_of(way.tag)),))
