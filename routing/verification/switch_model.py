"""A switch in memory: the pipeline of OpenFlow 1.3, run on plan data and packets as plain fields.

It gives every outcome that a plan allows: where a group may pick among buckets, each of them. So a walk
over switch models (`verifier`) covers whatever the real switches may do, and rules can be
tried out without any switch. Like Open vSwitch it drops output to the port that a packet came in by.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from operator import attrgetter, itemgetter

from routing.interner import Interner
from routing.plan.model import (
    ETH_TYPE_IPV4,
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
    Match,
    Output,
    PopVlan,
    PushVlan,
    Rule,
    SetField,
    SwitchPlan,
    Table,
    ToGroup,
)
from topology.addressing import switch_name
from topology.errors import PolarLabError

Packet = dict[str, int]  # OXM field name -> value; fields that the packet does not have are absent


class PlanError(PolarLabError):
    """A plan is no valid content for a switch: the text names the rule."""


@dataclass(frozen=True, slots=True)
class Emission:
    """A packet leaving the switch by a port."""

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
                that does not exist, or groups hand on in a circle.
        """
        interner = rule_interner() if interner is None else interner
        self._groups = {group.number: group for group in plan.groups}
        if len(self._groups) < len(plan.groups):
            raise PlanError(f"two groups of one number on {switch_name(plan.router)}")
        sound: set[int] = set()  # whose chains were followed to their ends
        for group in plan.groups:
            self._check_chain(group, (), sound)
        tables: list[list[InternedRule]] = [[] for _ in Table]
        for interned in interner.intern(plan.rules):
            tables[interned.rule.table].append(interned)
            for number in interned.groups:
                if number not in self._groups:
                    raise PlanError(f"rule names group {number}, which does not exist: {interned.rule}")
        self._tables = [_TableIndex(rules) for rules in tables]
        self._choices: dict[int, list[_Choice]] = {}  # by the group's number
        # The ports whose state mattered to the packets processed so far; a caller may empty it.
        self.consulted: set[int] = set()

    def _check_chain(self, group: Group, before: tuple[int, ...], sound: set[int]) -> None:
        if group.number in sound:
            return
        if group.number in before:
            raise PlanError(f"groups hand on in a circle: {(*before, group.number)}")
        for bucket in (*group.buckets, *group.candidates):
            for action in bucket.actions:
                if isinstance(action, ToGroup):
                    if action.group not in self._groups:
                        raise PlanError(f"a bucket names group {action.group}, which does not exist: {group}")
                    self._check_chain(self._groups[action.group], (*before, group.number), sound)
        sound.add(group.number)

    def rule_for(self, table: Table, packet: Mapping[str, int]) -> Rule | None:
        """Returns the rule of `table` that takes the packet, or None for a table miss."""
        return self._tables[table].lookup(packet)

    def fields_past_ingress(self) -> frozenset[str]:
        """Returns the names of the fields that rules look at after the ingress table."""
        later = (self._tables[table] for table in Table if table is not Table.INGRESS)
        return frozenset(field for index in later for field in index.fields())

    def process(self, packet: Mapping[str, int], dead_ports: frozenset[int]) -> list[Outcome]:
        """Returns every outcome that the arrival of a packet may have.

        Args:
            packet: its fields, `in_port` among them.
            dead_ports: ports that are down: groups avoid them, what is sent to them is lost.
        """
        return [outcome for _, outcome in self.process_with_shares(packet, dead_ports)]

    def process_with_shares(
        self, packet: Mapping[str, int], dead_ports: frozenset[int]
    ) -> list[tuple[float, Outcome]]:
        """Returns every outcome with the share of packets that has it; arguments as `process`."""
        return self._run(Table.INGRESS, dict(packet), dead_ports)

    def _run(self, table: Table, packet: Packet, dead_ports: frozenset[int]) -> _Shared:
        rule = self._tables[table].lookup(packet)
        if rule is None:
            return _NOTHING
        here = self._apply(rule.actions, packet, dead_ports)
        if rule.goto is None:
            return here
        rest = self._run(rule.goto, packet, dead_ports)
        return rest if here == _NOTHING else _both(here, rest)

    def _apply(self, actions: Actions, packet: Packet, dead_ports: frozenset[int]) -> _Shared:
        """Applies actions to `packet` in place and returns what they may send."""
        outcomes = _NOTHING
        for action in actions:
            if isinstance(action, Output):
                self.consulted.add(action.port)
                sent = _send(action.port, packet, dead_ports)
                outcomes = _both(outcomes, [(1.0, sent)])
            elif isinstance(action, ToGroup):
                branches = self._group(self._groups[action.group], packet, dead_ports)
                outcomes = _both(outcomes, branches)
            else:
                _rewrite(action, packet)
        return outcomes

    def _group(self, group: Group, packet: Packet, dead_ports: frozenset[int]) -> _Shared:
        possible = self._possible_buckets(group, dead_ports)
        if not possible:
            return _NOTHING
        total = max(sum(weight for _, weight in possible), 1)
        # A bucket works on a copy: its rewrites are not seen by the actions after the group.
        return [
            (share * weight / total, outcome)
            for bucket, weight in possible
            for share, outcome in self._apply(bucket.actions, dict(packet), dead_ports)
        ]

    def _possible_buckets(self, group: Group, dead_ports: frozenset[int]) -> list[tuple[Bucket, int]]:
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
                if bucket.watch_port is None or bucket.watch_port not in dead_ports:
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
    """Returns the outcomes of two steps that are both taken."""
    return [(p * q, a + b) for (p, a), (q, b) in product(first, second)]


def _send(port: int, packet: Packet, dead_ports: frozenset[int]) -> Outcome:
    in_port = packet["in_port"]
    target = in_port if port == PORT_INGRESS else port
    if target in dead_ports or port == in_port:
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
            raise PlanError(f"unknown action {action}")


# The (field, mask) pairs that a match looks at, by field.
_Shape = tuple[tuple[str, int | None], ...]


@dataclass(frozen=True, slots=True)
class MatchKey:
    """A match in the form that look-ups use.

    Attributes:
        shape: the fields and masks that it looks at, the same for the same fields in any order.
        values: the value that each of them must have.
        takes_ipv4: whether it may take IPv4 packets.
    """

    shape: _Shape
    values: tuple[int, ...]
    takes_ipv4: bool


@dataclass(slots=True, eq=False)
class InternedRule:
    """The one object for all equal rules of a fabric, with facts that do not depend on the switch.

    Attributes:
        rule: the first of the equal rules.
        match_key: of its match.
        groups: the groups that its actions name.
    """

    rule: Rule
    match_key: MatchKey
    groups: tuple[int, ...]


RuleInterner = Interner[Rule, InternedRule]


def rule_interner() -> RuleInterner:
    """Returns an interner for rules, which refuses a rule that jumps backwards with a PlanError."""
    match_keys = Interner(_match_key)
    groups_named = Interner(_groups_named)

    def interned(rule: Rule) -> InternedRule:
        if rule.goto is not None and rule.goto <= rule.table:
            raise PlanError(f"rule goes back to table {rule.goto}: {rule}")
        [match_key], [groups] = match_keys.intern((rule.match,)), groups_named.intern((rule.actions,))
        return InternedRule(rule, match_key, groups)

    return Interner(interned)


def _match_key(match: Match) -> MatchKey:
    parts = sorted(match, key=attrgetter("field"))
    return MatchKey(
        shape=tuple((part.field, part.mask) for part in parts),
        values=tuple(part.value for part in parts),
        takes_ipv4=all(part.field != "eth_type" or part.value == ETH_TYPE_IPV4 for part in parts),
    )


def _groups_named(actions: Actions) -> tuple[int, ...]:
    return tuple(action.group for action in actions if isinstance(action, ToGroup))


class _TableIndex:
    """A table's rules by the shape of their matches, so that a look-up is a few dictionary accesses."""

    def __init__(self, rules: Iterable[InternedRule]) -> None:
        self._entries: dict[_Shape, dict[tuple[int, ...], Rule]] = {}
        hidden: set[tuple[int, _Shape, tuple[int, ...]]] = set()
        for interned in rules:
            rule, key = interned.rule, interned.match_key
            entries = self._entries.get(key.shape)
            if entries is None:
                entries = self._entries[key.shape] = {}
            other = entries.get(key.values)
            if other is None:
                entries[key.values] = rule
                continue
            # Of two rules with one match, the one of lower priority never takes a packet.
            identity = (min(other.priority, rule.priority), key.shape, key.values)
            if other.priority == rule.priority or identity in hidden:
                raise PlanError(f"two rules with one match and priority: {rule}")
            hidden.add(identity)
            if rule.priority > other.priority:
                entries[key.values] = rule

    @cached_property
    def _shapes(self) -> list[tuple[int, _Shape, dict[tuple[int, ...], Rule]]]:
        """The highest priority and the rules of each shape, highest priority first."""
        tops = {shape: max(r.priority for r in rules.values()) for shape, rules in self._entries.items()}
        shapes = [(tops[shape], shape, rules) for shape, rules in self._entries.items()]
        return sorted(shapes, key=itemgetter(0), reverse=True)

    def fields(self) -> set[str]:
        """Returns the names of the fields that rules look at."""
        return {field for shape in self._entries for field, _ in shape}

    def lookup(self, packet: Mapping[str, int]) -> Rule | None:
        """Returns the rule that takes a packet, or None."""
        best: Rule | None = None
        for top, shape, entries in self._shapes:
            if best is not None and best.priority >= top:  # no shape that is left can beat it
                break
            try:
                values = tuple(
                    packet[field] if mask is None else packet[field] & mask for field, mask in shape
                )
            except KeyError:  # the packet has no such field, so no rule of this shape takes it
                continue
            rule = entries.get(values)
            if rule is not None and (best is None or rule.priority > best.priority):
                best = rule
        return best
