"""Moves of packets between routers: the links on which they may leave, by state and destination."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from routing.deadlock.channels import Channels, Numbers
from routing.verification.forwarding_states import State, StateSpace
from topology.addressing import Host
from topology.failures import NO_FAILURE, Failure

Mask = npt.NDArray[np.bool_]
Packed = npt.NDArray[np.uint64]  # a mask of destinations, 64 to a word
_WORD = 8  # bytes


class Moves(NamedTuple):
    """The k possible moves of packets in one state.

    Attributes:
        links: int64 array, k: the directed link on which the packets leave.
        targets: int64 array, k: the number of the state that they enter.
        packed: masks, one row for each move: whether packets to each of D destinations may make it.
        destinations: D.
    """

    links: Numbers
    targets: Numbers
    packed: Packed
    destinations: int

    @property
    def possible(self) -> Mask:
        """Whether packets to each of D destinations may make each move: bool array, k x D."""
        return unpack(self.packed, self.destinations)


def pack(masks: Mask) -> Packed:
    """Packs masks of destinations, 64 destinations to a word.

    Args:
        masks: bool array, m x D.

    Returns:
        uint64 array, m x ceil(D / 64).
    """
    words = -(-masks.shape[1] // (8 * _WORD))
    packed = np.zeros((len(masks), words * _WORD), np.uint8)
    packed[:, : -(-masks.shape[1] // 8)] = np.packbits(masks, axis=1)
    return packed.view(np.uint64)


def unpack(packed: Packed, count: int) -> Mask:
    """Unpacks masks of destinations that `pack` has packed.

    Args:
        packed: uint64 array, m x ceil(D / 64).
        count: D, the number of destinations.

    Returns:
        bool array, m x D.
    """
    return np.unpackbits(packed.view(np.uint8), axis=1, count=count).view(np.bool_)


class MoveFinder:
    """Finds the moves of packets to some hosts, without a failure or under one failure.

    Attributes:
        space: the states of a plan.
        hosts: the D destinations.
        failure: the failure.
    """

    def __init__(self, space: StateSpace, hosts: Sequence[Host], failure: Failure = NO_FAILURE) -> None:
        """Creates a finder without cached moves.

        Args:
            space: the states of a plan.
            hosts: the D destinations.
            failure: the failure.
        """
        self.space, self.hosts, self.failure = space, hosts, failure
        self._channels = Channels(space.topology)
        self._columns = np.array([space.host_number(host) for host in hosts], np.intp)
        self._known: dict[int, Moves] = {}
        self._sound: MoveFinder | None = None

    def under(self, failure: Failure) -> MoveFinder:
        """Returns a finder for another failure; it shares the moves that are the same under both.

        Args:
            failure: the failure.
        """
        finder = MoveFinder(self.space, self.hosts, failure)
        finder._sound = self
        return finder

    def moves(self, state: State, *, keep: bool = True) -> Moves:
        """Returns the moves of packets in a state.

        Args:
            state: the state.
            keep: whether to cache them, for states that packets enter several times.
        """
        if self._sound is not None and not self.failure.failed_ports(state.router):
            return self._sound.moves(state)
        found = self._known.get(state.number)
        if found is None:
            found = self._find(state)
            if keep:
                self._known[state.number] = found
        return found

    def _find(self, state: State) -> Moves:
        classes = self.space.classes(state)[self._columns]
        members, targets = self._by_groups(state)
        routers = np.array([self.space.states[number].router for number in targets.tolist()], np.int64)
        links = self._channels.links_to(state.router, routers)
        rest = np.setdiff1d(classes, members)
        other = [
            (class_, self._channels.link(*step.hop), step.target.number)
            for class_ in rest.tolist()
            for step in self.space.steps_of_class(state, class_, self.failure).steps
            if step.target is not None and step.hop is not None
        ]
        more = np.array(other, np.int64).reshape(-1, 3).T
        members, links = np.concatenate([members, more[0]]), np.concatenate([links, more[1]])
        targets = np.concatenate([targets, more[2]])
        moves, rows = np.unique(np.stack([links, targets]), axis=1, return_inverse=True)
        by_class = np.zeros((moves.shape[1], len(state.steps)), bool)
        by_class[rows.ravel(), members] = True
        return Moves(moves[0], moves[1], pack(by_class[:, classes]), len(classes))

    def _by_groups(self, state: State) -> tuple[Numbers, Numbers]:
        """Returns the moves of packets that rules pass to groups (see `NextStates`).

        The result is two int64 arrays with one entry for each move: the class of the destinations, and the
        number of the next state. Both are empty if the router has failed ports or parallel links; `_find`
        then derives these moves from the steps of the state.
        """
        router, neighbours = state.router, self.space.topology.neighbours(state.router)
        parallel = (neighbours[1:] == neighbours[:-1]).any()  # the next state does not identify the link
        if parallel or self.failure.failed_ports(router):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        counts, targets = self.space.next_states(state)
        return np.repeat(np.arange(len(counts)), counts), targets
