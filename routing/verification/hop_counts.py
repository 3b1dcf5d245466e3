"""The maximum hops from every state to every host, with or without a failure, for all hosts at once.

A state's hops follow from those of the states that its steps lead to. They are computed round by round: first
for states that deliver, then for those one hop before them, and so on. States that no round decides are
loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from routing.verification.forwarding_states import NextStates, State, StateSpace, Steps
from routing.verification.rules import Numbers
from topology.failures import NO_FAILURE, Failure

Hops = npt.NDArray[np.int16]
Mask = npt.NDArray[np.bool_]

FAULTY = 1 << 14  # hops if some choice loses, misdelivers or loops
_UNDECIDED = -1


def hop_counts(space: StateSpace, starts: Sequence[State], failure: Failure = NO_FAILURE) -> Hops:
    """Returns the maximum remaining hops from each state that packets may reach.

    Args:
        space: the states of a plan.
        starts: the states in which packets start.
        failure: the failure.

    Returns:
        One row for each state of `space.states`, one column for each host of `space.hosts` (int16); FAULTY or
        more if any choice has a fault.
    """
    rows = _rows(space, starts, failure)
    hops = np.full((len(space.states), len(space.hosts)), _UNDECIDED, np.int16)
    next_states = {target for row in rows.values() for target in row.next_states}
    # States that no step leads to are computed last, and only once, because they have the most choices.
    pending = [number for number in rows if number in next_states]
    decided = -1
    while pending and decided < (decided := int((hops >= 0).sum())):
        for number in pending:
            rows[number].fill(hops)
        pending = [number for number in pending if hops[number].min() < 0]
    hops[hops < 0] = FAULTY
    for number in rows.keys() - next_states:
        rows[number].fill(hops)
    return hops


def _rows(space: StateSpace, starts: Iterable[State], failure: Failure) -> dict[int, _Row]:
    """Returns, by number of the state, the rows of all states that are reachable from `starts`."""
    rows: dict[int, _Row] = {}
    pending = list(starts)
    deliveries = np.array([space.delivery_port(host) for host in space.hosts], np.intp).reshape(-1, 2)
    while pending:
        state = pending.pop()
        if state.number in rows:
            continue
        row = rows[state.number] = _row(space, state, failure, deliveries)
        pending += [space.states[number] for number in row.next_states if number not in rows]
    return rows


def _row(space: StateSpace, state: State, failure: Failure, deliveries: Numbers) -> _Row:
    classes = space.classes(state)
    known = space.next_states(state)
    if failure.failed_ports(state.router):
        known = NextStates(np.zeros_like(known.counts), known.targets[:0])
    others = np.flatnonzero(known.counts == 0).tolist()
    steps = {class_: space.steps_of_class(state, class_, failure) for class_ in others}
    return _Row(state.number, classes, known, steps, deliveries)


@dataclass(frozen=True, slots=True)
class _Choices:
    """The next states of packets to some hosts; the number of choices is the same for all these hosts.

    Attributes:
        hosts: the hosts; None for all.
        rows: for each of the hosts, its row in `targets`.
        targets: the states, in rows that hosts may share.
    """

    hosts: Numbers | None
    rows: Numbers
    targets: Numbers

    def fill(self, row: Hops, hops: Hops) -> None:
        """Computes the hops from one state to these hosts.

        Args:
            row: the hops from the state that the choices belong to; it is updated.
            hops: the hops from all states.
        """
        if self.hosts is None:
            block = hops[self.targets[0]]
            row[:] = _one_more(block.max(axis=0), block.min(axis=0))
        elif self.targets.shape[1] == 1:
            row[self.hosts] = _one_more(hops[self.targets[self.rows, 0], self.hosts])
        else:
            block = hops[self.targets[self.rows].T, self.hosts]
            row[self.hosts] = _one_more(block.max(axis=0), block.min(axis=0))


class _Row:
    """The steps from one state, prepared for computing hops."""

    def __init__(
        self,
        number: int,
        classes: Numbers,
        known: NextStates,
        steps: Mapping[int, Steps],
        deliveries: Numbers,
    ) -> None:
        self._number = number
        self._fixed: list[tuple[Numbers, Hops]] = []
        counts = known.counts.copy()
        starts = np.cumsum(counts) - counts
        targets = known.targets.tolist() if len(steps) else []
        for class_, own in steps.items():
            next_states, ended = _end(own)
            if ended:
                hosts = np.flatnonzero(classes == class_)
                good = _delivered(own, deliveries[hosts])
                self._fixed.append((hosts, np.where(good, 0, FAULTY).astype(np.int16)))
            else:
                counts[class_], starts[class_] = len(next_states), len(targets)
                targets += next_states
        all_targets = np.array(targets, np.intp) if len(steps) else known.targets
        # The numbers of the next states.
        self.next_states = set(np.flatnonzero(np.bincount(all_targets)).tolist())
        # Round up to few distinct numbers of choices; the last choice is repeated to fill them.
        most = np.where(counts > 2, (counts + 3) & ~3, counts)
        of_hosts = most[classes]
        self._choices = [
            _choices(classes, np.flatnonzero(of_hosts == count), most == count, (starts, counts), all_targets)
            for count in np.flatnonzero(np.bincount(most)).tolist()
            if count
        ]

    def fill(self, hops: Hops) -> None:
        """Computes the state's row from the rows of its next states."""
        row = hops[self._number]
        for hosts, fixed in self._fixed:
            row[hosts] = fixed
        for choices in self._choices:
            choices.fill(row, hops)


def _choices(
    classes: Numbers, hosts: Numbers, wanted: Mask, choices: tuple[Numbers, Numbers], targets: Numbers
) -> _Choices:
    """Returns the next states of packets to hosts whose numbers of choices `_Row` rounds to one value.

    Args:
        classes: for each host, its class.
        hosts: the hosts.
        wanted: for each class, whether its hosts are in `hosts`.
        choices: for each class, the index of its first target, and the number of its targets.
        targets: the states that packets may be in next.
    """
    starts, counts = (some[wanted, np.newaxis] for some in choices)
    table = targets[starts + np.minimum(np.arange(int(counts.max())), counts - 1)]
    row_by_class = np.cumsum(wanted) - 1
    return _Choices(None if len(wanted) == 1 else hosts, row_by_class[classes[hosts]], table)


def _end(steps: Steps) -> tuple[list[int], bool]:
    """Returns the numbers of the next states, and whether any step has a fault or no next state."""
    targets = [step.target.number for step in steps.steps if step.target is not None and not step.fault]
    return targets, len(targets) < len(steps.steps) or not targets


def _delivered(steps: Steps, deliveries: Numbers) -> npt.NDArray[np.bool_]:
    """Returns, for each host, given by its (router, port), whether all steps deliver packets to it."""
    if any(step.fault or step.target is not None or step.hop is None for step in steps.steps):
        return np.zeros(len(deliveries), bool)
    good = np.ones(len(deliveries), bool)
    for step in steps.steps:
        good &= (deliveries == step.hop).all(axis=1)
    return good


def _one_more(most: Hops, least: Hops | None = None) -> Hops:
    """Returns the hops from a state, given those from its next states; _UNDECIDED if not known yet.

    Args:
        most: the maximum hops over the next states, for each host.
        least: the minimum hops over the next states, negative if one of them is undecided; None if there is
            only one next state.
    """
    undecided = (most if least is None else least) < 0
    more: Hops = np.minimum(most + np.int16(1), np.int16(FAULTY))
    more[undecided & (most < FAULTY)] = _UNDECIDED
    return more
