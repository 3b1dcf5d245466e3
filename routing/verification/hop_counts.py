"""The most hops from every state to every host under one failure or none, for all hosts at once.

A state's hops follow from those of the states that its steps lead to. So they are found round by round: first
the states that deliver, then those one hop before them, and so on. What no round decides is a loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from routing.verification.forwarding_states import State, StateSpace, Steps
from routing.verification.rule_book import Numbers
from topology.failures import NO_FAILURE, Failure

Hops = npt.NDArray[np.int16]

FAULTY = 1 << 14  # hops where some choice loses, misdelivers or circles
_UNDECIDED = -1


def hop_counts(space: StateSpace, starts: Sequence[State], failure: Failure = NO_FAILURE) -> Hops:
    """Returns the most hops to come from each state that packets may reach.

    Args:
        space: the states of a plan.
        starts: the states that packets begin in.
        failure: what has failed.

    Returns:
        One row for each state of `space.states`, one column for each host of `space.hosts` (int16); FAULTY or
        more where any choice has a fault.
    """
    rows = _rows(space, starts, failure)
    hops = np.full((len(space.states), len(space.hosts)), _UNDECIDED, np.int16)
    led_to = {target for row in rows.values() for target in row.led_to()}
    # States that no step leads to are judged last, and once: they have the most choices.
    pending = [number for number in rows if number in led_to]
    decided = -1
    while pending and decided < (decided := int((hops >= 0).sum())):
        for number in pending:
            rows[number].fill(hops)
        pending = [number for number in pending if hops[number].min() < 0]
    hops[hops < 0] = FAULTY
    for number in rows.keys() - led_to:
        rows[number].fill(hops)
    return hops


def _rows(space: StateSpace, starts: Iterable[State], failure: Failure) -> dict[int, _Row]:
    """Returns the rows of all states that steps lead to from some states."""
    rows: dict[int, _Row] = {}
    pending = list(starts)
    deliveries = np.array([space.delivery_port(host) for host in space.hosts], np.intp).reshape(-1, 2)
    while pending:
        state = pending.pop()
        if state.number in rows:
            continue
        steps = space.steps_by_class(state, failure)
        row = rows[state.number] = _Row(state.number, space.classes(state), steps, deliveries)
        pending += [space.states[number] for number in row.led_to() if number not in rows]
    return rows


@dataclass(frozen=True, slots=True)
class _Choices:
    """The states that packets to some hosts may be in next.

    Attributes:
        hosts: the hosts; None for all.
        targets: the states.
    """

    hosts: Numbers | None
    targets: Numbers


class _Row:
    """The steps from one state, in the form in which hops are computed."""

    def __init__(self, number: int, classes: Numbers, steps: Sequence[Steps], deliveries: Numbers) -> None:
        self._number = number
        ends = list(map(_end, steps))
        # Hosts with one possible step each, whatever the class: their next states.
        single = np.array([targets[0] if len(targets) == 1 and not ended else -1 for targets, ended in ends])
        self._next = single[classes] if len(ends) > 1 else None
        self._hosts = np.flatnonzero(self._next >= 0) if self._next is not None else None
        self._choices: list[_Choices] = []
        self._fixed: list[tuple[Numbers, Hops]] = []
        for class_, (targets, ended) in enumerate(ends):
            if single[class_] >= 0 and self._next is not None:
                continue
            hosts = np.flatnonzero(classes == class_)
            if ended:
                good = _delivered(steps[class_], deliveries[hosts])
                self._fixed.append((hosts, np.where(good, 0, FAULTY).astype(np.int16)))
            else:
                self._choices.append(_Choices(None if len(ends) == 1 else hosts, np.array(targets, np.intp)))

    def led_to(self) -> set[int]:
        """Returns the numbers of the states that steps lead to."""
        found = set(np.unique(self._next).tolist()) - {-1} if self._next is not None else set[int]()
        return found.union(*(choices.targets.tolist() for choices in self._choices))

    def fill(self, hops: Hops) -> None:
        """Computes the state's row from those of the states that its steps lead to."""
        row = hops[self._number]
        for hosts, fixed in self._fixed:
            row[hosts] = fixed
        if self._next is not None and self._hosts is not None and len(self._hosts):
            row[self._hosts] = _one_more(hops[self._next[self._hosts], self._hosts])
        for choices in self._choices:
            if choices.hosts is None:
                block = hops[choices.targets]
                row[:] = _one_more(block.max(axis=0), block.min(axis=0))
            else:
                block = hops[choices.targets[:, np.newaxis], choices.hosts]
                row[choices.hosts] = _one_more(block.max(axis=0), block.min(axis=0))


def _end(steps: Steps) -> tuple[list[int], bool]:
    """Returns the states that steps lead to, and whether one of them leads to none, or has a fault."""
    targets = [step.target.number for step in steps.steps if step.target is not None and not step.fault]
    return targets, len(targets) < len(steps.steps) or not targets


def _delivered(steps: Steps, deliveries: Numbers) -> npt.NDArray[np.bool_]:
    """Returns, for each of some hosts, whether every possible step delivers packets to that host."""
    if any(step.fault or step.target is not None or step.hop is None for step in steps.steps):
        return np.zeros(len(deliveries), bool)
    good = np.ones(len(deliveries), bool)
    for step in steps.steps:
        good &= (deliveries == step.hop).all(axis=1)
    return good


def _one_more(most: Hops, least: Hops | None = None) -> Hops:
    """Returns the hops one step before states, some of which may not be decided yet."""
    undecided = (most if least is None else least) < 0
    more: Hops = np.minimum(most + np.int16(1), np.int16(FAULTY))
    more[undecided & (most < FAULTY)] = _UNDECIDED
    return more
