"""Loop-free alternates (RFC 5286) of any graph, found by search and used only where they provably deliver.

A packet that router s reroutes around its dead link to n goes to another neighbour m with a mark, and
takes one minimal path from there; it is not rerouted again. The alternate m is therefore safe

- for the link, if the path from m to the destination does not lead back through s;
- for switch n, too, if that path does not lead through n either.

These are the conditions of RFC 5286, checked on the paths themselves. If no neighbour is safe, a tag sends
the packet through an intermediate router r: to m, on to r and from there to the destination without s and n,
like a remote alternate (RFC 7490). The order of preference is: safe for the switch, then without a tag, then
the fewest hops.

If minimal ports lead to several neighbours, the others serve while one is dead, and no alternate is needed. A
tagged packet whose next link is dead keeps its tag if a neighbour is safe for it; otherwise its tag is
replaced by that of a neighbour, from which it continues untagged.

Destinations with the same minimal ports and the same alternates share a group.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from routing.plan.groups import RouterView
from routing.reroute.alternate_choice import UNSAFE, Choice, choose_alternates
from routing.reroute.alternate_groups import Alternate, AlternateGroups, Alternates, Buckets, bucket_of
from routing.reroute.base import FastReroute, ProtectedGroups
from routing.reroute.destination_blocks import (
    Blocks,
    NextHopBlocks,
    destination_blocks,
    single_routers,
)
from routing.reroute.minimal_paths import Mask, MinimalPaths, Numbers, avoid
from routing.reroute.remote_alternates import RemoteSearch, min_hops
from topology.base import Topology
from topology.failures import failure_of
from topology.faults import Component, ComponentKind
from topology.shortest_paths import connected_components

# One alternate suffices for any single failure; a second one helps with some double failures.
_MAX_ALTERNATES = 2
# Replacing a tag by that of a neighbour adds at most this many hops.
_EXCHANGE_HOPS = 2


class AlternateSearch(MinimalPaths):
    """Search for the alternates of a topology's routers, one router after another.

    Attributes:
        remote: whether tags divert packets if no neighbour is safe.
        used_tags: bool array, N: whether any alternate found so far has a tag that names the router.
        has_hosts: bool array, N: whether each router has hosts.
        buckets: the buckets of all routers' groups.
    """

    remote = True

    def __init__(self, topology: Topology) -> None:
        """Computes the minimal paths of all pairs.

        Args:
            topology: any connected topology.
        """
        super().__init__(topology)
        self.used_tags = np.zeros(topology.routers, bool)
        self.has_hosts = topology.host_counts(1) > 0
        self.buckets = Buckets(bucket_of)

    def fast_reroute(self, view: RouterView) -> FastReroute:
        """Returns the protected groups of one router.

        Args:
            view: the router's ports and matches.
        """
        search = _RouterSearch(self, view)
        untagged = search.untagged()
        return FastReroute(untagged, search.tagged, tuple(search.unprotected))

    def serves(self, router: int, neighbours: Numbers) -> Mask:
        """Returns whether each neighbour, if it is loop-free, may be an alternate for untagged packets.

        Args:
            router: the router.
            neighbours: its neighbours, each once.

        Returns:
            bool array, neighbours x routers (destinations); always true here.
        """
        del router  # the same for all routers
        return np.ones((len(neighbours), self.topology.routers), bool)


class _Assignment(NamedTuple):
    """The numbers of some blocks of destinations, and the alternates that all of these blocks get."""

    blocks: Numbers
    alternates: Alternates


class _RouterSearch:
    """The search for one router's alternates."""

    def __init__(self, search: AlternateSearch, view: RouterView) -> None:
        self.unprotected: list[tuple[int, Component]] = []
        self._search = search
        self._view = view
        self._router = view.router
        behind = search.topology.neighbours(view.router).tolist()
        self._neighbours = np.array(list(dict.fromkeys(behind)), np.intp)
        row_of = {neighbour: row for row, neighbour in enumerate(self._neighbours.tolist())}
        self._row_by_place = [row_of[neighbour] for neighbour in behind]
        port_to = dict(reversed(view.neighbour_ports()))
        self._groups = AlternateGroups(port_to, view.port_sets, search.buckets)
        # neighbours x routers: the distance from each neighbour, and the hops that a path through it adds to
        # the minimal path.
        self._distances = search.distances[self._neighbours]
        self._remote_search = RemoteSearch(search, self._router, self._neighbours)
        self._extra_hops = 1 + self._distances - search.distances[self._router]
        self._max_extra_hops = 0
        # For each neighbour, the rows of all others in cyclic order after it, neighbours by rows. So
        # alternates around different dead links start with different neighbours.
        count = len(self._neighbours)
        self._rows_behind = (np.arange(count)[:, None] + np.arange(1, count)) % count

    def untagged(self) -> ProtectedGroups:
        """Returns the groups for untagged packets, and fills `unprotected`."""
        blocks = destination_blocks(self._view)
        paths = self._search.paths_from(self._neighbours)
        not_back = avoid(paths, self._router) & self._search.serves(self._router, self._neighbours)

        def not_lost(lost: npt.NDArray[np.int16]) -> Mask:
            # A dead switch is unreachable, so toward the neighbour itself only the link matters.
            safe: Mask = not_back & (avoid(paths, lost) | (self._search.everyone == lost))
            return safe

        def remaining(lost: int, rest: Numbers) -> list[_Assignment]:
            return self._assign_untagged(blocks, not_back, lost, rest)

        return self._protect(blocks, not_lost, remaining, mark=True)

    def tagged(self) -> ProtectedGroups:
        """Returns the groups for tagged packets."""
        return self._protect(single_routers(self._view), self._tag_kept, self._exchange, mark=False)

    def _protect(
        self,
        blocks: Blocks,
        safe: Callable[[npt.NDArray[np.int16]], Mask],
        remaining: Callable[[int, Numbers], list[_Assignment]],
        *,
        mark: bool,
    ) -> ProtectedGroups:
        """Builds the protected groups toward all blocks of destinations.

        Args:
            blocks: all destinations.
            safe: lost next hop toward each router (-1 for none) -> bool array, neighbours x routers: whether
                the neighbour delivers to the router without that next hop.
            remaining: (row of the lost neighbour, numbers of the blocks without a safe neighbour) -> the
                alternates of all these blocks.
            mark: whether the alternates mark packets.
        """
        first = len(self._groups)
        numbers = np.zeros(len(blocks), np.int64)
        self._max_extra_hops = 0
        behind = blocks.by_next_hop(self._row_by_place)
        loop_free = self._loop_free(blocks, behind, safe)
        for next_hop, own in behind:
            if next_hop < 0:
                numbers[own] = blocks.value_of_ports(own, self._groups.shared)
                continue
            assigned = loop_free.get(next_hop, [])
            if len(rest := _without(own, assigned)):
                assigned = [*assigned, *remaining(next_hop, rest)]
            for some, alternates in assigned:
                for ports, of_ports in blocks.by_ports(some):
                    numbers[of_ports] = self._groups.protected(ports, alternates, mark=mark)
        group_toward = np.zeros(self._search.topology.routers, np.int64)
        group_toward[blocks.members] = blocks.by_member(numbers)
        return ProtectedGroups(self._groups.groups(first), tuple(group_toward.tolist()), self._max_extra_hops)

    def _loop_free(
        self,
        blocks: Blocks,
        behind: list[NextHopBlocks],
        safe: Callable[[npt.NDArray[np.int16]], Mask],
    ) -> dict[int, list[_Assignment]]:
        """Returns row of a lost next hop -> untagged alternates of the blocks behind it.

        Blocks without an untagged alternate are left out.

        Args:
            blocks: the blocks of all destinations.
            behind: for each next hop, the blocks that need an alternate if it is lost.
            safe: see `_protect`.
        """
        behind = [one for one in behind if one.next_hop >= 0]
        if not behind or len(self._neighbours) < 2:
            return {}
        own = np.concatenate([one.blocks for one in behind])
        next_hops = np.array([one.next_hop for one in behind])
        index = np.repeat(np.arange(len(behind)), [len(one.blocks) for one in behind])
        lost = np.full(len(blocks), -1, np.int64)
        lost[own] = self._neighbours[next_hops][index]
        lost_by_router = np.full(self._search.topology.routers, -1, np.int16)
        lost_by_router[blocks.members] = blocks.by_member(lost)
        hops = np.where(safe(lost_by_router), self._extra_hops, np.int16(UNSAFE))
        rows = self._rows_behind[next_hops].T
        choices = choose_alternates(blocks.largest(hops, rows[:, index], own), index, rows, _MAX_ALTERNATES)
        assigned: dict[int, list[_Assignment]] = {}
        for choice in choices:
            one = self._assignment(choice, own)
            assigned.setdefault(int(next_hops[choice.next_hop]), []).append(one)
        return assigned

    def _assignment(self, choice: Choice, blocks: Numbers) -> _Assignment:
        self._max_extra_hops = max(self._max_extra_hops, choice.extra_hops)
        alternates = tuple([Alternate(neighbour) for neighbour in self._neighbours[choice.rows].tolist()])
        return _Assignment(blocks[choice.columns], alternates)

    def _assign_untagged(self, blocks: Blocks, not_back: Mask, row: int, rest: Numbers) -> list[_Assignment]:
        """Returns alternates of untagged packets to blocks for which no neighbour is safe.

        That is, no neighbour's path to these blocks avoids both this router and the lost neighbour.

        Blocks without an alternate are added to `unprotected`.

        Args:
            blocks: all destinations.
            not_back: bool array, neighbours x routers: whether the path avoids this router.
            row: the lost neighbour's row.
            rest: the numbers of these blocks, all of them behind the lost neighbour.
        """
        lost = int(self._neighbours[row])
        # Nobody sends to routers without hosts, so the long search would be wasted.
        receive = np.logical_or.reduceat(self._search.has_hosts[blocks.members], blocks.starts)[rest]
        idle, rest = _Assignment(rest[~receive], ()), rest[receive]
        assigned = self._remote(blocks, rest, row, lost)
        rest = _without(rest, assigned)
        self._note_unprotected(Component(ComponentKind.SWITCH, (lost,)), blocks, rest)
        if len(rest):
            only_link = self._loop_free(blocks, [NextHopBlocks(row, rest)], lambda _: not_back).get(row, [])
            rest = _without(rest, only_link)
            remote = self._remote(blocks, rest, row, None)
            rest = _without(rest, remote)
            ends = (min(self._router, lost), max(self._router, lost))
            self._note_unprotected(Component(ComponentKind.LINK, ends), blocks, rest)
            assigned += [*only_link, *remote, _Assignment(rest, ())]
        return [*assigned, idle]

    def _tag_kept(self, lost: npt.NDArray[np.int16]) -> Mask:
        """Returns whether packets may keep their tag on an alternate.

        `lost` is the lost next hop toward each router. The result is a bool array, neighbours (alternates) x
        routers named by the tag.
        """
        rows = np.searchsorted(self._neighbours, np.maximum(lost, 0))
        around = self._search.least_hops[np.ix_(self._neighbours, self._neighbours)]
        to_lost = around[:, np.minimum(rows, len(self._neighbours) - 1)]
        through = to_lost + self._search.distances[lost, self._search.everyone]
        return np.asarray(self._remote_search.not_back & (through > self._distances))

    def _exchange(self, row: int, rest: Numbers) -> list[_Assignment]:
        """Returns alternates with a new tag, for packets that no neighbour can forward with their old one."""
        neighbours = self._neighbours[self._rows_behind[row][:_MAX_ALTERNATES]].tolist()
        if neighbours:
            self._max_extra_hops = max(self._max_extra_hops, _EXCHANGE_HOPS)
        return [_Assignment(rest, tuple([Alternate(n, n) for n in neighbours]))]

    def _note_unprotected(self, component: Component, blocks: Blocks, rest: Numbers) -> None:
        """Adds to `unprotected` the routers of blocks that have no alternate while a component is dead.

        Routers that the failure disconnects are left out.
        """
        numbers = rest.tolist()
        if component.kind is ComponentKind.LINK:  # a parallel link takes over
            numbers = [block for block in numbers if len(blocks.ports(block)) == 1]
        if numbers:
            topology = self._search.topology
            part = connected_components(topology, failure_of(topology, [component]))
            own = part[self._router]
            routers = [router for block in numbers for router in blocks.routers(block).tolist()]
            self.unprotected += [(router, component) for router in routers if part[router] == own]

    def _remote(self, blocks: Blocks, rest: Numbers, row: int, dead: int | None) -> list[_Assignment]:
        """Assigns an alternate with a tag to each block for which there is one.

        Args:
            blocks: all destinations.
            rest: the numbers of the blocks that need alternates.
            row: the row of the lost neighbour; all others may be first hops.
            dead: a router that the alternates must also avoid; None if there is none.
        """
        assigned: list[_Assignment] = []
        if not self._search.remote:
            return assigned
        for block, to_tags, onward in self._remote_search.reached(blocks, rest, row, dead):
            targets = blocks.routers(block)
            # Every tag needs a rule in all switches, so prefer one that is already in use.
            best = min_hops(to_tags + (onward - self._search.used_tags), row)
            if best is not None:
                neighbour_row, tag = best
                self._search.used_tags[tag] = True
                alternate = Alternate(int(self._neighbours[neighbour_row]), tag)
                assigned.append(_Assignment(np.array([block]), (alternate,)))
                distances = self._search.distances
                hops = 1 + self._distances[neighbour_row, tag] + distances[tag, targets]
                extra_hops = int((hops - distances[self._router, targets]).max())
                self._max_extra_hops = max(self._max_extra_hops, extra_hops)
        return assigned


def _without(blocks: Numbers, assigned: list[_Assignment]) -> Numbers:
    """Returns the numbers of the blocks that are in none of the assignments."""
    done = set(chain.from_iterable(one.blocks.tolist() for one in assigned))
    if not done or len(done) == len(blocks):
        return blocks[len(done) :]
    return np.array([block for block in blocks.tolist() if block not in done], np.intp)
