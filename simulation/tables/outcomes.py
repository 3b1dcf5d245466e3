"""Outcomes of a switch's groups: the outputs by which packets leave, with their changes, by weight.

A group does not look at packets, so that its outcomes are told relative to the packets that it gets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from math import gcd, lcm
from typing import NamedTuple

from routing.plan.model import Bucket, Group, GroupKind, SwitchPlan
from routing.verification.proof import PlanError
from simulation.tables.actions import KEPT, NO_TARGET, ActionBook, ActionEffect, check_effect, group_target
from simulation.tables.model import inexpressible
from topology.addressing import switch_name

NO_OUTPUT = -1  # of packets that are lost
MAX_WEIGHT = (1 << 31) - 1


class Outputs:
    """The outputs of a router, numbered from 0: its links in the order of its neighbours, then its hosts.

    Attributes:
        links: the ports of its links.
        hosts: the ports of its hosts.
    """

    def __init__(self, links: Sequence[int], hosts: Sequence[int]) -> None:
        """Numbers the outputs of a router by the ports of its links and of its hosts."""
        self.links, self.hosts = links, hosts
        self._numbers = {port: number for number, port in enumerate([*links, *hosts])}

    def number(self, port: int) -> int:
        """Returns the number of the output at a port; of a port that is neither's, one behind those of hosts.

        Args:
            port: any number.
        """
        return self._numbers.get(port, len(self._numbers))


class Outcome(NamedTuple):
    """One outcome of a group.

    Attributes:
        output: the output by which packets leave, or NO_OUTPUT.
        tag: their tag from then on; KEPT for the one that they had at the group.
        mark: their mark from then on, or KEPT.
        cleared: whether their ingress port was cleared before the output.
        weight: their share, relative to the group's other outcomes.
    """

    output: int
    tag: int
    mark: int
    cleared: bool
    weight: int


Outcomes = tuple[Outcome, ...]
LOST: Outcomes = (Outcome(NO_OUTPUT, KEPT, KEPT, True, 1),)


class SwitchGroups:
    """The groups of one switch while some of its ports are down."""

    def __init__(
        self, switch: SwitchPlan, actions: ActionBook, outputs: Outputs, failed_ports: frozenset[int]
    ) -> None:
        """Takes the groups.

        Args:
            switch: the switch's plan.
            actions: lists of actions, to which those of buckets are added.
            outputs: the switch's outputs.
            failed_ports: the ports that are down.

        Raises:
            PlanError: two groups have the same number.
        """
        self._router = switch.router
        self._actions = actions
        self._outputs = outputs
        self._failed = failed_ports
        self._groups = {group_target(group.number): group for group in switch.groups}
        if len(self._groups) < len(switch.groups):
            raise PlanError(f"two groups of {switch_name(switch.router)} have the same number")
        self._known: dict[int, Outcomes] = {}
        self._open: set[int] = set()  # targets whose outcomes are being found

    def adaptive_group(self, target: int) -> Group | None:
        """Returns the adaptive group that a target is; None for other targets.

        Args:
            target: a group or a port, as of `ActionEffect`.

        Raises:
            PlanError: forwarding tables cannot express the group.
        """
        group = self._groups.get(target)
        if group is None or not group.candidates:
            return None
        minimal = group.buckets.count(group.candidates[0])
        if group.kind is not GroupKind.SELECT or minimal < len(group.buckets):
            raise inexpressible(
                self._router, f"buckets of adaptive group {group.number:#x} must be its minimal path"
            )
        return group

    def outcomes(self, target: int) -> Outcomes:
        """Returns the outcomes of packets that are handed to a target.

        Args:
            target: a group that is not adaptive, or a port, as of `ActionEffect`.

        Returns:
            LOST if all of them are.

        Raises:
            PlanError: forwarding tables cannot express it.
        """
        known = self._known.get(target)
        if known is None:
            known = self._known[target] = self._find(target)
        return known

    def bucket(self, bucket: Bucket) -> Outcomes:
        """Returns the outcomes of packets that take a bucket.

        Args:
            bucket: the bucket, alive or not.

        Raises:
            PlanError: forwarding tables cannot express it.
        """
        effect = self._actions.effect(bucket.actions)
        check_effect(effect, self._router)
        return changed(self.outcomes(effect.target), effect)

    def alive(self, bucket: Bucket) -> bool:
        """Returns whether the port that a bucket watches is up.

        Args:
            bucket: any bucket of the switch.
        """
        return bucket.watch_port is None or bucket.watch_port not in self._failed

    def _find(self, target: int) -> Outcomes:
        if target <= 0:
            port = -target
            down = target == NO_TARGET or port in self._failed
            return LOST if down else _output(self._outputs.number(port))
        group = self._groups.get(target)
        if group is None:
            raise inexpressible(self._router, f"group {target - 1:#x} does not exist")
        if group.candidates:
            raise inexpressible(
                self._router, f"adaptive group {group.number:#x} must not be named by a bucket"
            )
        if target in self._open:
            raise inexpressible(
                self._router, f"groups refer to one another in a circle, as {group.number:#x}"
            )
        self._open.add(target)
        alive = [bucket for bucket in group.buckets if self.alive(bucket)]
        if group.kind is GroupKind.SELECT:
            found = self._divided(alive)
        else:
            found = self.bucket(alive[0]) if alive else LOST
        self._open.remove(target)
        return found

    def _divided(self, buckets: Iterable[Bucket]) -> Outcomes:
        """Returns the outcomes of packets that divide among buckets by weight."""
        parts = [(bucket.weight, self.bucket(bucket)) for bucket in buckets if bucket.weight]
        if not parts:
            return LOST
        totals = [sum(one.weight for one in part) for _, part in parts]
        common = lcm(*totals)
        return merged(
            one._replace(weight=weight * (common // total) * one.weight)
            for (weight, part), total in zip(parts, totals, strict=True)
            for one in part
        )


@cache
def _output(output: int) -> Outcomes:
    return (Outcome(output, KEPT, KEPT, False, 1),)


def changed(outcomes: Outcomes, effect: ActionEffect) -> Outcomes:
    """Returns the outcomes of packets that a list of actions changes before it hands them over.

    Args:
        outcomes: those of packets that get there.
        effect: the effect of the actions.
    """
    if effect.tag == KEPT and effect.mark == KEPT and not effect.cleared:
        return outcomes
    return tuple(
        [
            Outcome(
                output,
                effect.tag if tag == KEPT else tag,
                effect.mark if mark == KEPT else mark,
                cleared or effect.cleared,
                weight,
            )
            if output != NO_OUTPUT
            else Outcome(output, tag, mark, cleared, weight)
            for output, tag, mark, cleared, weight in outcomes
        ]
    )


def merged(outcomes: Iterable[Outcome]) -> Outcomes:
    """Returns outcomes with equal ones taken together, in order, and with the least weights.

    Args:
        outcomes: at least one.

    Raises:
        PlanError: weights do not fit into 32 bits.
    """
    weights: dict[tuple[int, int, int, bool], int] = {}
    for output, tag, mark, cleared, weight in outcomes:
        key = (output, tag, mark, cleared)
        weights[key] = weights.get(key, 0) + weight
    divisor = gcd(*weights.values())
    if sum(weights.values()) // divisor > MAX_WEIGHT:
        raise PlanError("a group cannot be simulated: the weights of its outcomes do not fit into 32 bits")
    return tuple([Outcome(*key, weight // divisor) for key, weight in sorted(weights.items())])
