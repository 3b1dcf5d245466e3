"""A switch in memory: the pipeline of OpenFlow 1.3, run on plan data and on packets as plain fields.

A model gives every outcome that a plan allows: where a group may pick among buckets, one for each of them. So
a proof over switch models (`verifier`) covers all choices of real switches, and rules can be tried without
any switch. Like Open vSwitch, a model drops output to the port that a packet came in by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from routing.plan.model import (
    PORT_INGRESS,
    VLAN_PRESENT,
    Action,
    Actions,
    Bucket,
    CopyBits,
    DecrementTtl,
    Group,
    GroupKind,
    LoadBits,
    Output,
    PopVlan,
    PushVlan,
    Rule,
    SetField,
    SwitchPlan,
    Table,
    ToGroup,
)
from routing.verification.errors import PlanError
from routing.verification.rule_lookup import InternedRule, RuleInterner, TableIndex, rule_interner
from topology.addressing import switch_name

Packet = dict[str, int]  # OXM field name -> value; fields that the packet does not have are absent


@dataclass(frozen=True, slots=True)
class Emission:
    """A packet that leaves the switch by a port."""

    port: int
    packet: Packet


Outcome = tuple[Emission, ...]  # everything that one arrival makes a switch send; () if it is dropped


class SwitchModel:
    """One switch with a plan installed."""

    def __init__(self, plan: SwitchPlan, interner: RuleInterner | None = None) -> None:
        """Installs a plan.

        Args:
            plan: the tables and groups of one switch.
            interner: shared by the models of a fabric's switches, which have most rules in common.

        Raises:
            PlanError: a switch cannot hold the plan: two rules of one table have the same match and
                priority, two groups the same number, a rule jumps backwards, a rule or bucket names a group
                that does not exist, or groups refer to one another in a circle.
        """
        interner = rule_interner() if interner is None else interner
        self._groups = {group.number: group for group in plan.groups}
        if len(self._groups) < len(plan.groups):
            raise PlanError(f"two groups of {switch_name(plan.router)} have the same number")
        sound: set[int] = set()  # numbers of groups that were followed to their outputs
        for group in plan.groups:
            self._check_chain(group, (), sound)
        tables: list[list[InternedRule]] = [[] for _ in Table]
        for interned in interner.intern(plan.rules):
            tables[interned.rule.table].append(interned)
            for number in interned.groups:
                if number not in self._groups:
                    raise PlanError(f"a rule names group {number}, which does not exist: {interned.rule}")
        self._tables = [TableIndex(rules) for rules in tables]
        self._choices: dict[int, list[_Choice]] = {}  # by the group's number
        # The ports whose state mattered to the packets processed so far; a caller may empty it.
        self.consulted: set[int] = set()

    def _check_chain(self, group: Group, before: tuple[int, ...], sound: set[int]) -> None:
        if group.number in sound:
            return
        if group.number in before:
            raise PlanError(f"groups refer to one another in a circle: {(*before, group.number)}")
        for bucket in (*group.buckets, *group.candidates):
            for action in bucket.actions:
                if isinstance(action, ToGroup):
                    if action.group not in self._groups:
                        raise PlanError(f"a bucket names group {action.group}, which does not exist: {group}")
                    self._check_chain(self._groups[action.group], (*before, group.number), sound)
        sound.add(group.number)

    def rule_for(self, table: Table, packet: Mapping[str, int]) -> Rule | None:
        """Returns the rule of a table that takes a packet.

        Args:
            table: the table.
            packet: the packet's fields.

        Returns:
            The matching rule with the highest priority, or None for a table miss.
        """
        return self._tables[table].lookup(packet)

    def fields_past_ingress(self) -> frozenset[str]:
        """Returns the names of the fields that rules look at after the ingress table."""
        later = (self._tables[table] for table in Table if table is not Table.INGRESS)
        return frozenset(field for index in later for field in index.fields())

    def process(self, packet: Mapping[str, int], failed_ports: frozenset[int]) -> list[Outcome]:
        """Returns every possible outcome of a packet's arrival.

        Args:
            packet: the packet's fields, `in_port` among them.
            failed_ports: ports that are down: groups avoid them, and output to them is lost.

        Returns:
            One outcome for each combination of buckets that groups may choose.
        """
        return [outcome for _, outcome in self.process_with_shares(packet, failed_ports)]

    def process_with_shares(
        self, packet: Mapping[str, int], failed_ports: frozenset[int]
    ) -> list[tuple[float, Outcome]]:
        """Returns every possible outcome of a packet's arrival, with the share of packets that have it.

        Args:
            packet: the packet's fields, `in_port` among them.
            failed_ports: ports that are down: groups avoid them, and output to them is lost.

        Returns:
            (share, outcome) for each combination of buckets; 0 if only an adaptation may choose it.
        """
        return self._run(Table.INGRESS, dict(packet), failed_ports)

    def _run(self, table: Table, packet: Packet, failed_ports: frozenset[int]) -> _Shared:
        rule = self._tables[table].lookup(packet)
        if rule is None:
            return _NOTHING
        sent = self._apply(rule.actions, packet, failed_ports)
        if rule.goto is None:
            return sent
        rest = self._run(rule.goto, packet, failed_ports)
        return rest if sent == _NOTHING else _both(sent, rest)

    def _apply(self, actions: Actions, packet: Packet, failed_ports: frozenset[int]) -> _Shared:
        """Applies actions to a packet in place, and returns the possible outcomes of their outputs."""
        outcomes = _NOTHING
        for action in actions:
            if isinstance(action, Output):
                self.consulted.add(action.port)
                sent = _send(action.port, packet, failed_ports)
                outcomes = _both(outcomes, [(1.0, sent)])
            elif isinstance(action, ToGroup):
                branches = self._group(self._groups[action.group], packet, failed_ports)
                outcomes = _both(outcomes, branches)
            else:
                _rewrite(action, packet)
        return outcomes

    def _group(self, group: Group, packet: Packet, failed_ports: frozenset[int]) -> _Shared:
        possible = self._possible_buckets(group, failed_ports)
        if not possible:
            return _NOTHING
        total = max(sum(weight for _, weight in possible), 1)
        # A bucket works on a copy: its rewrites are not seen by the actions after the group.
        return [
            (share * weight / total, outcome)
            for bucket, weight in possible
            for share, outcome in self._apply(bucket.actions, dict(packet), failed_ports)
        ]

    def _possible_buckets(self, group: Group, failed_ports: frozenset[int]) -> list[tuple[Bucket, int]]:
        """Returns the buckets that the group may apply now or after an adaptation, with their weights.

        A bucket that only an adaptation may put in, or bring back to life, has the weight 0.
        """
        if group.number not in self._choices:
            self._choices[group.number] = _choices(group)
        possible = []
        decided = False
        for choice in self._choices[group.number]:
            bucket, weight = choice.bucket, 0
            if choice.present and not decided:
                if bucket.watch_port is not None:
                    self.consulted.add(bucket.watch_port)
                if bucket.watch_port is None or bucket.watch_port not in failed_ports:
                    # Only select groups have weights; the others apply the first bucket that lives.
                    decided = group.kind is not GroupKind.SELECT
                    weight = 1 if decided else choice.weight
            if weight or choice.candidate:
                possible.append((bucket, weight))
        return possible


@dataclass(frozen=True, slots=True)
class _Choice:
    """One of the different buckets that a group has or may get.

    Attributes:
        bucket: the bucket.
        weight: the sum of the weights of all such buckets of the group.
        present: whether the group has such a bucket.
        candidate: whether an adaptation may give it one.
    """

    bucket: Bucket
    weight: int
    present: bool
    candidate: bool


def _choices(group: Group) -> list[_Choice]:
    weights: dict[Bucket, int] = {}
    for bucket in group.buckets:
        weights[bucket] = weights.get(bucket, 0) + bucket.weight
    candidates = dict.fromkeys(group.candidates)
    different = [*weights, *(bucket for bucket in candidates if bucket not in weights)]
    return [_Choice(b, weights.get(b, 0), b in weights, b in candidates) for b in different]


_Shared = list[tuple[float, Outcome]]
_NOTHING: _Shared = [(1.0, ())]


def _both(first: _Shared, second: _Shared) -> _Shared:
    """Returns the outcomes of two steps that follow each other."""
    return [(p * q, a + b) for (p, a), (q, b) in product(first, second)]


def _send(port: int, packet: Packet, failed_ports: frozenset[int]) -> Outcome:
    in_port = packet["in_port"]
    target = in_port if port == PORT_INGRESS else port
    if target in failed_ports or port == in_port:
        return ()
    return (Emission(target, dict(packet)),)


def _rewrite(action: Action, packet: Packet) -> None:
    match action:
        case SetField(field, value):
            packet[field] = value
        case CopyBits(source, target, bits):
            low = (1 << bits) - 1
            packet[target] = packet.get(target, 0) & ~low | packet[source] & low
        case LoadBits(target, offset, bits, value):
            window = ((1 << bits) - 1) << offset
            packet[target] = packet.get(target, 0) & ~window | value << offset
        case PushVlan():
            packet["vlan_vid"] = VLAN_PRESENT
        case PopVlan():
            packet["vlan_vid"] = 0
        case DecrementTtl():
            packet["ip_ttl"] -= 1
        case _:
            raise PlanError(f"a rule or bucket has an unknown action: {action}")
