"""Outcomes of a switch's groups: the outputs through which packets leave, their rewrites and weights.

Groups have no matches. Tags and marks of their outcomes are therefore relative to those of incoming packets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from math import gcd, lcm
from typing import NamedTuple

from routing.plan.model import Bucket, Group, GroupKind, SwitchPlan
from routing.verification.proof import PlanError
from simulation.tables.actions import (
    KEPT,
    NO_TARGET,
    ActionEffect,
    ActionRegistry,
    check_effect,
    group_target,
)
from simulation.tables.model import inexpressible
from topology.addressing import switch_name

NO_OUTPUT = -1  # packets are lost
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
        """Returns the number of the output at a port.

        Args:
            port: any port number.

        Returns:
            The number; for a port without a link or host, the first number after the hosts' outputs.
        """
        return self._numbers.get(port, len(self._numbers))


class Outcome(NamedTuple):
    """One outcome of a group.

    Attributes:
        output: the output through which packets leave, or NO_OUTPUT.
        tag: their tag afterwards; KEPT for the tag with which they reached the group.
        mark: their mark afterwards, or KEPT.
        cleared: whether their ingress port was cleared before the output.
        weight: share of the packets, relative to the group's other outcomes.
    """

    output: int
    tag: int
    mark: int
    cleared: bool
    weight: int


Outcomes = tuple[Outcome, ...]
LOST: Outcomes = (Outcome(NO_OUTPUT, KEPT, KEPT, True, 1),)


class SwitchGroups:
    """The groups of one switch, for a given set of failed ports."""

    def __init__(
        self, switch: SwitchPlan, actions: ActionRegistry, outputs: Outputs, failed_ports: frozenset[int]
    ) -> None:
        """Indexes the groups of a switch.

        Args:
            switch: the switch's plan.
            actions: registry of action lists; the lists of buckets are added.
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
        self._in_progress: set[int] = set()  # targets that are being resolved, to detect cycles

    def adaptive_group(self, target: int) -> Group | None:
        """Returns the adaptive group with the given target code; None for other targets.

        Args:
            target: a group or a port, see `ActionEffect`.

        Raises:
            PlanError: forwarding tables cannot express the group.
        """
        group = self._groups.get(target)
        if group is None or not group.candidates:
            return None
        minimal = group.buckets.count(group.candidates[0])
        if group.kind is not GroupKind.SELECT or minimal < len(group.buckets):
            raise inexpressible(
                self._router, f"all buckets of adaptive group {group.number:#x} must be its minimal path"
            )
        return group

    def outcomes(self, target: int) -> Outcomes:
        """Returns the outcomes of packets that are sent to a target.

        Args:
            target: a non-adaptive group or a port, see `ActionEffect`.

        Returns:
            The outcomes; LOST if all packets are lost.

        Raises:
            PlanError: forwarding tables cannot express it.
        """
        known = self._known.get(target)
        if known is None:
            known = self._known[target] = self._find(target)
        return known

    def bucket(self, bucket: Bucket) -> Outcomes:
        """Returns the outcomes of packets that use a bucket.

        Args:
            bucket: the bucket, live or dead.

        Raises:
            PlanError: forwarding tables cannot express it.
        """
        effect = self._actions.effect(bucket.actions)
        check_effect(effect, self._router)
        return with_effect(self.outcomes(effect.target), effect)

    def alive(self, bucket: Bucket) -> bool:
        """Returns whether a bucket is live: it watches no port, or a port that is up.

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
            raise inexpressible(self._router, f"a bucket must not refer to adaptive group {group.number:#x}")
        if target in self._in_progress:
            raise inexpressible(
                self._router, f"groups refer to one another cyclically, for example {group.number:#x}"
            )
        self._in_progress.add(target)
        alive = [bucket for bucket in group.buckets if self.alive(bucket)]
        if group.kind is GroupKind.SELECT:
            outcomes = self._split_by_weight(alive)
        else:
            outcomes = self.bucket(alive[0]) if alive else LOST
        self._in_progress.remove(target)
        return outcomes

    def _split_by_weight(self, buckets: Iterable[Bucket]) -> Outcomes:
        """Returns the outcomes of packets that are distributed among buckets by weight."""
        parts = [(bucket.weight, self.bucket(bucket)) for bucket in buckets if bucket.weight]
        if not parts:
            return LOST
        # Weights are relative within each bucket: scale them to a common total before they are combined.
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


def with_effect(outcomes: Outcomes, effect: ActionEffect) -> Outcomes:
    """Returns the outcomes of packets that an action list rewrites before it sends them to a target.

    Args:
        outcomes: the outcomes of packets at the target.
        effect: the effect of the action list.
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
    """Returns sorted outcomes, with equal outcomes merged and with the smallest integer weights.

    Args:
        outcomes: at least one outcome.

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
