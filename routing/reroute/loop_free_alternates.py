"""Loop-free alternates (RFC 5286) of any graph, searched for and taken only where they provably deliver.

A packet that router s reroutes around its dead link to n goes out to another neighbour m with a mark, and
from there by one minimal path; it is not rerouted again. So the alternate m is safe

- for the link, if the path from m to the destination does not lead back through s;
- for the switch n as well, if that path does not lead through n either.

These are the conditions of RFC 5286, checked on the paths themselves. Where no neighbour is safe, a tag
sends the packet through an intermediate router r: to m, on to r and from there to the destination without s
and n, as a remote alternate (RFC 7490) does. The preference is: safe for the switch, then without a tag,
then the fewest hops.

Where minimal ports lead to several neighbours, the others serve while one is dead, and no alternate is
needed. A tagged packet whose next link is dead keeps its tag where a neighbour is safe for it; else its tag
is exchanged for that of a neighbour, from which it goes on untagged.

Destinations with the same minimal ports and the same alternates share a group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from routing.plan.groups import RouterView
from routing.reroute.alternate_groups import Alternate, AlternateGroups, Alternates
from routing.reroute.base import FastReroute, ProtectedGroups
from topology.base import Topology
from topology.failures import failure_of
from topology.faults import Element, ElementKind
from topology.shortest_paths import connected_components

# One alternate is enough for any single failure; a second one helps in some cases of two.
_MAX_ALTERNATES = 2
# The exchange of a tag for that of a neighbour adds at most so many hops.
_EXCHANGE_HOPS = 2

# More hops than any path has.
_UNREACHABLE = np.iinfo(np.int16).max

Mask = npt.NDArray[np.bool_]
Routers = npt.NDArray[np.integer]


class AlternateSearch:
    """Search of the alternates of a topology's routers, one router after another."""

    def __init__(self, topology: Topology) -> None:
        """Prepares the tables of all pairs.

        Args:
            topology: any connected topology.
        """
        everyone = np.arange(topology.routers)
        self.topology = topology
        self.next_hops = topology.all_next_hops()
        self.distances = topology.distances(everyone[:, None], everyone)
        self.used_tags = np.zeros(topology.routers, bool)

    def fast_reroute(self, view: RouterView) -> FastReroute:
        """Returns the protected groups of one router.

        Args:
            view: the router's ports and matches.
        """
        search = _RouterSearch(self, view)
        untagged = search.untagged()
        return FastReroute(untagged, search.tagged, tuple(search.unprotected))

    def paths(self, origins: Routers, targets: Routers) -> list[Routers]:
        """Returns the routers on one minimal path per pair.

        Args:
            origins: first routers of the paths.
            targets: last routers of the paths; the shapes broadcast.

        Returns:
            One array per hop count from 0, each of the broadcast shape: the router that the path has then
            reached. A path that has arrived stays at its target.
        """
        at, target = np.broadcast_arrays(origins, targets)
        hops = [at]
        while (at != target).any():
            at = self.next_hops[at, target]
            hops.append(at)
        return hops


def _avoid(paths: list[Routers], unwanted: int) -> Mask:
    """Returns for each path whether it does not visit a router."""
    avoids = np.ones(paths[0].shape, bool)
    for routers in paths:
        avoids &= routers != unwanted
    return avoids


class _Block(NamedTuple):
    """Destination routers that share a rule, and the ports by which minimal paths to them begin."""

    routers: list[int]
    ports: tuple[int, ...]


_Assignments = list[tuple[_Block, Alternates]]


class _RouterSearch:
    """The search of one router's alternates."""

    def __init__(self, search: AlternateSearch, view: RouterView) -> None:
        self.unprotected: list[tuple[int, Element]] = []
        self._search = search
        self._view = view
        self._router = view.router
        self._everyone = np.arange(search.topology.routers)
        self._behind = search.topology.neighbours(view.router).tolist()
        self._neighbours = np.array(list(dict.fromkeys(self._behind)))
        self._groups = AlternateGroups({n: port for port, n in reversed([*enumerate(self._behind, start=1)])})
        # neighbours x routers: the distance from each neighbour, and the hops that a path through it adds to
        # the minimal one.
        self._distances = search.distances[self._neighbours].astype(np.int16)  # has room for _UNREACHABLE
        self._extra_hops = 1 + self._distances - search.distances[self._router]
        self._max_extra_hops = 0

    def untagged(self) -> ProtectedGroups:
        """Returns the groups of untagged packets; collects `unprotected`."""
        ports = self._view.minimal_ports
        blocks = [
            _Block(list(block.routers), ports[block.routers[0]])
            for block in self._search.topology.destination_blocks(self._router)
        ]
        paths = self._search.paths(self._neighbours[:, None], self._everyone)
        assign = partial(self._assign_untagged, paths, _avoid(paths, self._router))
        return self._protect(blocks, assign, mark=True)

    def tagged(self) -> ProtectedGroups:
        """Returns the groups of tagged packets."""
        ports = self._view.minimal_ports
        blocks = [_Block([router], ports[router]) for router in self._view.others()]
        return self._protect(blocks, self._assign_tagged, mark=False)

    def _protect(
        self,
        blocks: list[_Block],
        assign: Callable[[int, list[_Block]], _Assignments],
        *,
        mark: bool,
    ) -> ProtectedGroups:
        """Returns the groups toward blocks, given the alternates around each lost neighbour."""
        first = len(self._groups.groups)
        group_toward = [0] * len(self._everyone)
        self._max_extra_hops = 0
        for lost, behind in self._by_next_hop(blocks):
            assigned = _unprotected(behind) if lost is None else assign(lost, behind)
            for block, alternates in assigned:
                if lost is None:
                    number = self._groups.shared(block.ports)
                else:
                    number = self._groups.protected(block.ports, alternates, mark=mark)
                for router in block.routers:
                    group_toward[router] = number
        groups = tuple(self._groups.groups[first:])
        return ProtectedGroups(groups, tuple(group_toward), self._max_extra_hops)

    def _by_next_hop(self, blocks: Iterable[_Block]) -> Iterator[tuple[int | None, list[_Block]]]:
        """Yields blocks by their only next hop; those with several next hops by None."""
        behind: dict[int | None, list[_Block]] = {}
        for block in blocks:
            next_hops = {self._behind[port - 1] for port in block.ports}
            behind.setdefault(next_hops.pop() if len(next_hops) == 1 else None, []).append(block)
        yield from behind.items()

    def _assign_untagged(
        self, paths: list[Routers], not_back: Mask, lost: int, blocks: list[_Block]
    ) -> _Assignments:
        """Returns the alternates of untagged packets around a neighbour; notes where there are none.

        Args:
            paths: from all neighbours to all routers.
            not_back: for each of these paths, whether it does not lead back through this router.
            lost: the neighbour.
            blocks: those behind it.
        """
        rows = self._rows_behind(lost)
        # A dead switch cannot be reached, so toward the neighbour itself only the link matters.
        not_lost = not_back & (_avoid(paths, lost) | (self._everyone == lost))
        link = Element(ElementKind.LINK, (min(self._router, lost), max(self._router, lost)))
        assigned: _Assignments = []
        rest = blocks
        for safe, dead, element in (
            (not_lost, lost, Element(ElementKind.SWITCH, (lost,))),
            (not_back, None, link),
        ):
            if not rest:
                break
            assigned += self._loop_free(rest, rows, safe[rows])
            rest = _without(rest, assigned)
            assigned += self._remote(rest, rows, dead)
            rest = _without(rest, assigned)
            self._note_unprotected(element, rest)
        return [*assigned, *_unprotected(rest)]

    def _assign_tagged(self, lost: int, blocks: list[_Block]) -> _Assignments:
        """Returns the alternates of tagged packets around a neighbour."""
        rows = self._rows_behind(lost)
        safe = self._not_back & self._all_paths_avoid(lost)
        assigned = self._loop_free(blocks, rows, safe[rows])
        rest = _without(blocks, assigned)
        exchange = tuple(Alternate(n, n) for n in self._neighbours[rows][:_MAX_ALTERNATES].tolist())
        if rest and exchange:
            self._max_extra_hops = max(self._max_extra_hops, _EXCHANGE_HOPS)
        return [*assigned, *((block, exchange) for block in rest)]

    def _note_unprotected(self, element: Element, blocks: list[_Block]) -> None:
        """Notes blocks without an alternate around a dead element, unless it cuts them off altogether."""
        if element.kind is ElementKind.LINK:  # of parallel links, the others serve
            blocks = [block for block in blocks if len(block.ports) == 1]
        if blocks:
            component = connected_components(
                self._search.topology, failure_of(self._search.topology, [element])
            )
            own = component[self._router]
            self.unprotected += [
                (d, element) for block in blocks for d in block.routers if component[d] == own
            ]

    def _rows_behind(self, lost: int) -> npt.NDArray[np.int64]:
        """Returns the rows of all neighbours but a lost one, in cyclic order behind it.

        So the alternates around different dead links begin with different neighbours.
        """
        row = int(np.flatnonzero(self._neighbours == lost)[0])
        return (row + np.arange(1, len(self._neighbours))) % len(self._neighbours)

    def _loop_free(self, blocks: list[_Block], rows: npt.NDArray[np.int64], safe: Mask) -> _Assignments:
        """Returns untagged alternates of the fewest hops, with few different ones in all.

        Args:
            blocks: destinations that want alternates.
            rows: rows of the neighbours that may serve.
            safe: for each of these rows and each router, whether the path from the neighbour is safe.
        """
        if not blocks or not len(rows):
            return []
        members = np.concatenate([block.routers for block in blocks])
        starts = np.cumsum([0, *(len(block.routers) for block in blocks[:-1])])
        works = np.logical_and.reduceat(safe[:, members], starts, axis=1)
        hops = np.maximum.reduceat(self._extra_hops[rows][:, members], starts, axis=1)
        hops = np.where(works, hops, _UNREACHABLE)
        best = works & (hops == hops.min(axis=0))
        rest = works.any(axis=0)
        assigned: _Assignments = []
        while rest.any():
            first = int(best[:, rest].sum(axis=1).argmax())
            chosen = best[first] & rest
            rest &= ~chosen
            others = np.flatnonzero(works[:, chosen].all(axis=1)).tolist()
            taken = [first, *(row for row in others if row != first)][:_MAX_ALTERNATES]
            alternates = tuple(Alternate(int(self._neighbours[rows[row]])) for row in taken)
            assigned += [(blocks[index], alternates) for index in np.flatnonzero(chosen).tolist()]
            self._max_extra_hops = max(self._max_extra_hops, int(hops[taken][:, chosen].max()))
        return assigned

    def _remote(self, blocks: list[_Block], rows: npt.NDArray[np.int64], dead: int | None) -> _Assignments:
        """Returns one tagged alternate for each of the blocks that have any.

        Args:
            blocks: destinations that want alternates.
            rows: rows of the neighbours that may serve.
            dead: a router that the alternates must avoid as well; None for none.
        """
        if not blocks or not len(rows):
            return []
        search = self._search
        to_tag = self._not_back[rows]
        to_tag_and_not_dead = to_tag if dead is None else to_tag & self._all_paths_avoid(dead)[rows]
        assigned: _Assignments = []
        for block in blocks:
            targets = np.array(block.routers)
            paths = search.paths(self._everyone[:, None], targets)
            works = _avoid(paths, self._router).all(axis=1)
            if dead is None or dead in block.routers:
                works = to_tag & works
            else:
                works = to_tag_and_not_dead & works & _avoid(paths, dead).all(axis=1)
            if works.any():
                onward = search.distances[:, targets].max(axis=1)
                cost = np.where(works, self._distances[rows] + onward, _UNREACHABLE)
                # Every tag takes a rule in all switches: of equal ones, one that is in use already.
                row, tag = divmod(
                    int((2 * cost.astype(np.int32) - search.used_tags).argmin()), len(self._everyone)
                )
                search.used_tags[tag] = True
                assigned.append((block, (Alternate(int(self._neighbours[rows[row]]), tag),)))
                hops = 1 + self._distances[rows[row], tag] + search.distances[tag, targets]
                extra_hops = int((hops - search.distances[self._router, targets]).max())
                self._max_extra_hops = max(self._max_extra_hops, extra_hops)
        return assigned

    @cached_property
    def _not_back(self) -> Mask:
        """Neighbours x routers: whether none of the shortest paths leads back through this router."""
        return self._all_paths_avoid(self._router)

    def _all_paths_avoid(self, unwanted: int) -> Mask:
        """Returns for neighbours x routers whether none of the shortest paths visits another router."""
        through = self._distances[:, [unwanted]] + self._search.distances[unwanted]
        return np.asarray(through > self._distances)


def _unprotected(blocks: list[_Block]) -> _Assignments:
    """Returns blocks with no alternates."""
    return [(block, ()) for block in blocks]


def _without(blocks: list[_Block], assigned: _Assignments) -> list[_Block]:
    """Returns the blocks that have no alternates yet."""
    done = {id(block) for block, _ in assigned}
    return [block for block in blocks if id(block) not in done]
