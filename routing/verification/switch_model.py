"""A switch in memory: the pipeline of OpenFlow 1.3, run on plan data and on packets as plain fields.

A model gives every outcome that a plan allows: where a group may pick among buckets, one for each of them. So
a proof over switch models (`verifier`) covers all choices of real switches, and rules can be tried without
any switch. Like Open vSwitch, a model drops output to the port that a packet came in by.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

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
from routing.verification.rule_book import Numbers, RuleBook
from topology.addressing import switch_name

Packet = dict[str, int]  # OXM field name -> value; fields that the packet does not have are absent


@dataclass(frozen=True, slots=True)
class Emission:
    """A packet that leaves the switch by a port."""

    port: int
    packet: Packet


Outcome = tuple[Emission, ...]  # everything that one arrival makes a switch send; () if it is dropped


class Treatment(NamedTuple):
    """The treatment of a packet to some destinations.

    Attributes:
        destinations: their numbers in the rule book.
        outcomes: every possible outcome with the share of packets that have it; 0 if only an adaptation may
            choose it.
        ports: the ports whose state mattered.
    """

    destinations: Numbers
    outcomes: Shared
    ports: frozenset[int]


class SwitchModel:
    """One switch with a plan installed."""

    def __init__(
        self, plan: SwitchPlan, book: RuleBook | None = None, numbers: Numbers | None = None
    ) -> None:
        """Installs a plan.

        Args:
            plan: the tables and groups of one switch.
            book: shared by the models of a fabric's switches, which have most rules in common; by default one
                without destinations, so that packets have all their fields.
            numbers: of the plan's rules in the book, in any order.

        Raises:
            PlanError: a switch cannot hold the plan: two rules of one table have the same match and
                priority, two groups the same number, a rule jumps backwards, a rule or bucket names a group
                that does not exist, or groups refer to one another in a circle.
        """
        self._book = RuleBook() if book is None else book
        self._router = plan.router
        self._groups = {group.number: group for group in plan.groups}
        if len(self._groups) < len(plan.groups):
            raise PlanError(f"two groups of {switch_name(plan.router)} have the same number")
        self._check_groups(plan.groups)
        self._numbers = self._book.numbers(plan.rules, plan.router) if numbers is None else numbers
        self._check_rules()
        self._tables = self._rules_by_table()
        self._choices: dict[int, list[_Choice]] = {}  # by the group's number
        self._best: dict[tuple[int, tuple[int, ...]], Numbers] = {}
        # What groups, by number and packet, and buckets, by packet and the identity of their actions, do.
        self._group_branches: dict[tuple[object, ...], _Branches] = {}
        self._bucket_branches: dict[tuple[object, ...], dict[int, _Branches]] = {}

    def _check_groups(self, groups: Iterable[Group]) -> None:
        sound: set[int] = set()  # numbers of groups that were followed to their outputs
        checked: set[int] = set()  # identities of actions
        for group in groups:
            self._check_chain(group, (), sound, checked)

    def _check_chain(self, group: Group, before: tuple[int, ...], sound: set[int], checked: set[int]) -> None:
        if group.number in sound:
            return
        if group.number in before:
            raise PlanError(f"groups refer to one another in a circle: {(*before, group.number)}")
        for actions in group.different_actions():
            if id(actions) in checked:
                continue
            self._book.check(actions, self._router)
            for action in actions:
                if isinstance(action, ToGroup):
                    if action.group not in self._groups:
                        raise PlanError(f"a bucket names group {action.group}, which does not exist: {group}")
                    self._check_chain(self._groups[action.group], (*before, group.number), sound, checked)
            checked.add(id(actions))
        sound.add(group.number)

    def _check_rules(self) -> None:
        facts, book = self._book.facts(), self._book
        identities, firsts = np.unique(facts.identity[self._numbers], return_index=True)
        if len(identities) < len(self._numbers):
            again = np.delete(self._numbers, firsts)[0]
            raise PlanError(f"two rules of a table have the same match and priority: {book.rules[again]}")
        effects = facts.effect[self._numbers]
        for effect in np.unique(effects).tolist():
            for group in book.effects[effect].groups:
                if group not in self._groups:
                    rule = book.rules[self._numbers[effects == effect][0]]
                    raise PlanError(f"a rule names group {group}, which does not exist: {rule}")

    def _rules_by_table(self) -> list[Numbers]:
        """Returns the rules of each table by ascending priority."""
        facts = self._book.facts()
        tables = facts.table[self._numbers]
        found = []
        for table in Table:
            numbers = self._numbers[tables == table]
            found.append(numbers[np.argsort(facts.priority[numbers], kind="stable")])
        return found

    def rule_for(self, table: Table, packet: Mapping[str, int]) -> Rule | None:
        """Returns the rule of a table that takes a packet.

        Args:
            table: the table.
            packet: the packet's fields.

        Returns:
            The matching rule with the highest priority, or None for a table miss.
        """
        [number] = self._best_rules(table, packet).tolist()
        return None if number < 0 else self._book.rules[number]

    def process(self, packet: Mapping[str, int], failed_ports: frozenset[int]) -> list[Outcome]:
        """Returns every possible outcome of a packet's arrival, where the book has no destinations.

        Args:
            packet: the packet's fields, `in_port` among them.
            failed_ports: ports that are down: groups avoid them, and output to them is lost.

        Returns:
            One outcome for each combination of buckets that groups may choose.
        """
        return [outcome for _, outcome in self.process_with_shares(packet, failed_ports)]

    def process_with_shares(self, packet: Mapping[str, int], failed_ports: frozenset[int]) -> Shared:
        """Returns every possible outcome of a packet's arrival, with the share of packets that have it.

        Args:
            packet: as for `process`.
            failed_ports: as for `process`.

        Returns:
            (share, outcome) for each combination of buckets; 0 if only an adaptation may choose it.
        """
        [treatment] = self.treatments(packet, np.zeros(1, np.intp), failed_ports)
        return treatment.outcomes

    def treatments(
        self,
        packet: Mapping[str, int],
        destinations: Numbers,
        failed_ports: frozenset[int],
        unseen: Collection[str] = (),
    ) -> list[Treatment]:
        """Returns every possible outcome of the arrival of a packet to each of some destinations.

        Args:
            packet: the packet's fields, `in_port` among them, without those of its destination.
            destinations: their numbers in the book.
            failed_ports: ports that are down: groups avoid them, and output to them is lost.
            unseen: fields that no rule past the ingress looks at; the packets that are sent lack them.

        Returns:
            Treatments of disjoint sets of the destinations, all of them together.
        """
        return list(self._run(Table.INGRESS, dict(packet), destinations, failed_ports, unseen))

    def _run(
        self,
        table: Table,
        packet: Packet,
        destinations: Numbers,
        failed_ports: frozenset[int],
        unseen: Collection[str],
    ) -> Iterator[Treatment]:
        best = self._best_rules(table, packet)[destinations]
        effects = np.full(len(best), _MISS)
        effects[best >= 0] = self._book.facts().effect[best[best >= 0]]
        for effect_number, taken in _parts(effects, destinations):
            if effect_number == _MISS:
                yield Treatment(taken, _NOTHING, _NO_PORTS)
                continue
            effect = self._book.effects[effect_number]
            changed = dict(packet)
            sent, ports = self._apply(effect.actions, changed, failed_ports)
            if effect.goto is None:
                yield Treatment(taken, sent, ports)
                continue
            for field in unseen:
                changed.pop(field, None)
            for rest in self._run(effect.goto, changed, taken, failed_ports, ()):
                yield Treatment(rest.destinations, _both(sent, rest.outcomes), ports | rest.ports)

    def _best_rules(self, table: Table, packet: Mapping[str, int]) -> Numbers:
        """Returns, for each destination, the number of the rule that takes the packet, or -1."""
        key = (int(table), self._book.conditions_met(table, packet))
        best = self._best.get(key)
        if best is None:
            best = self._best[key] = self._book.best_rules(self._tables[table], key[1])
        return best

    def _apply(self, actions: Actions, packet: Packet, failed_ports: frozenset[int]) -> _Branches:
        """Applies actions to a packet in place.

        Returns:
            The possible outcomes of their outputs, and the ports whose state mattered.
        """
        outcomes = _NOTHING
        ports = _NO_PORTS
        for action in actions:
            if isinstance(action, Output):
                ports |= {action.port}
                sent = _send(action.port, packet, failed_ports)
                outcomes = _both(outcomes, [(1.0, sent)])
            elif isinstance(action, ToGroup):
                branches, consulted = self._group(self._groups[action.group], packet, failed_ports)
                outcomes = _both(outcomes, branches)
                ports |= consulted
            else:
                _rewrite(action, packet)
        return outcomes, ports

    def _group(self, group: Group, packet: Packet, failed_ports: frozenset[int]) -> _Branches:
        """Applies a group to copies of a packet; equal packets are treated once."""
        state = (tuple(packet), tuple(packet.values()), failed_ports)
        key = (group.number, *state)
        known = self._group_branches.get(key)
        if known is None:
            known = self._group_branches[key] = self._choose(group, packet, failed_ports, state)
        return known

    def _choose(
        self, group: Group, packet: Packet, failed_ports: frozenset[int], state: tuple[object, ...]
    ) -> _Branches:
        possible, ports = self._possible_buckets(group, failed_ports)
        if not possible:
            return _NOTHING, frozenset(ports)
        total = max(sum(weight for _, weight in possible), 1)
        outcomes: Shared = []
        # Buckets of several groups may be one object.
        known = self._bucket_branches.setdefault(state, {})
        for bucket, weight in possible:
            if (branches := known.get(id(bucket.actions))) is None:
                # A bucket works on a copy: its rewrites are not seen by the actions after the group.
                branches = self._apply(bucket.actions, dict(packet), failed_ports)
                known[id(bucket.actions)] = branches
            outcomes += [(share * weight / total, outcome) for share, outcome in branches[0]]
            ports |= branches[1]
        return outcomes, frozenset(ports)

    def _possible_buckets(
        self, group: Group, failed_ports: frozenset[int]
    ) -> tuple[list[tuple[Bucket, int]], set[int]]:
        """Returns the buckets that the group may apply, with their weights, and the ports that mattered.

        They are those of now, and those after an adaptation: a bucket that only an adaptation may put in, or
        bring back to life, has the weight 0.
        """
        if group.number not in self._choices:
            self._choices[group.number] = self._different_choices(group)
        possible = []
        ports: set[int] = set()
        decided = False
        for choice in self._choices[group.number]:
            bucket, weight = choice.bucket, 0
            if choice.present and not decided:
                if bucket.watch_port is not None:
                    ports.add(bucket.watch_port)
                if bucket.watch_port is None or bucket.watch_port not in failed_ports:
                    # Only select groups have weights; the others apply the first bucket that lives.
                    decided = group.kind is not GroupKind.SELECT
                    weight = 1 if decided else choice.weight
            if weight or choice.candidate:
                possible.append((bucket, weight))
        return possible, ports

    def _different_choices(self, group: Group) -> list[_Choice]:
        # Most buckets of a group are one object; equal ones that are not are still one choice.
        numbers = self._book.bucket_numbers(group.buckets)
        weights: dict[int, int] = {}
        for number, bucket in zip(numbers, group.buckets, strict=True):
            weights[number] = weights.get(number, 0) + bucket.weight
        buckets = dict(zip(numbers, group.buckets, strict=True))
        candidates = dict(zip(self._book.bucket_numbers(group.candidates), group.candidates, strict=True))
        return [
            *(_Choice(buckets[one], weight, True, one in candidates) for one, weight in weights.items()),
            *(_Choice(b, 0, False, True) for one, b in candidates.items() if one not in weights),
        ]


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


Shared = list[tuple[float, Outcome]]
_Branches = tuple[Shared, frozenset[int]]
_NOTHING: Shared = [(1.0, ())]
_NO_PORTS: frozenset[int] = frozenset()
_MISS = -1  # in place of an effect


def _parts(keys: Numbers, items: Numbers) -> list[tuple[int, Numbers]]:
    """Returns items by their keys: each key with its items, in their order."""
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    bounds = np.flatnonzero(np.diff(keys)) + 1
    firsts = np.concatenate([[0], bounds]) if len(keys) else bounds
    return list(zip(keys[firsts].tolist(), np.split(items[order], bounds), strict=True)) if len(keys) else []


def _both(first: Shared, second: Shared) -> Shared:
    """Returns the outcomes of two steps that follow each other."""
    if first is _NOTHING:
        return second
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
