"""A switch in memory: the pipeline of OpenFlow 1.3, run on plan data and packets as plain fields.

It gives every outcome that a plan allows: where a group may pick among buckets, each of them. So a walk
over switch models (`verifier`) covers whatever the real switches may do, and rules can be
tried out without any switch. Like Open vSwitch it drops output to the port that a packet came in by.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from operator import attrgetter, itemgetter

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
    """One switch with a plan installed.

    Raises:
        PlanError: two rules of one table with the same match and priority, two groups of one number, a
            jump backwards, a rule or bucket for a group that does not exist, or groups in a circle.
    """

    def __init__(self, plan: SwitchPlan, keys: MatchKeys | None = None) -> None:
        """Makes the switch; models that are given the same `keys` work out what they share only once."""
        keys = MatchKeys() if keys is None else keys
        self._groups = {group.number: group for group in plan.groups}
        if len(self._groups) < len(plan.groups):
            raise PlanError(f"two groups of one number on {switch_name(plan.router)}")
        sound: set[int] = set()  # whose chains were followed to their ends
        for group in plan.groups:
            self._check_chain(group, (), sound)
        rules: list[list[Rule]] = [[] for _ in Table]
        checked: set[int] = set()  # of actions, which many rules share
        for rule in plan.rules:
            rules[rule.table].append(rule)
            if rule.goto is not None or id(rule.actions) not in checked:
                self._check(rule)
                checked.add(id(rule.actions))
        self._tables = [_TableIndex(rules[table], keys) for table in Table]
        # The ports whose state mattered to what was processed, until somebody empties it.
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

    def _check(self, rule: Rule) -> None:
        if rule.goto is not None and rule.goto <= rule.table:
            raise PlanError(f"rule goes back to table {rule.goto}: {rule}")
        for action in rule.actions:
            if isinstance(action, ToGroup) and action.group not in self._groups:
                raise PlanError(f"rule names group {action.group}, which does not exist: {rule}")

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
        # What a controller may yet point a bucket at has no share of the packets, but is possible.
        weights: dict[Bucket, int] = {}
        for bucket in group.buckets:
            weights[bucket] = weights.get(bucket, 0) + bucket.weight
        alive: dict[Bucket, int] = {}
        for bucket, weight in weights.items():
            if bucket.watch_port is not None:
                self.consulted.add(bucket.watch_port)
            if bucket.watch_port is not None and bucket.watch_port in dead_ports:
                continue
            if group.kind is not GroupKind.SELECT:
                alive = {bucket: weight}  # the first; whether others live does not matter
                break
            if weight > 0:
                alive[bucket] = weight
        total = sum(alive.values())
        possible = alive | {bucket: 0 for bucket in group.candidates if bucket not in alive}
        if not possible:
            return _NOTHING
        # A bucket works on a copy: what it rewrites is not seen by the actions after the group.
        return [
            (share * weight / max(total, 1), outcome)
            for bucket, weight in possible.items()
            for share, outcome in self._apply(bucket.actions, dict(packet), dead_ports)
        ]


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


_Shape = tuple[tuple[str, int | None], ...]


class MatchKeys:
    """Matches as the fields and masks that they look at, and the values that these must have."""

    def __init__(self) -> None:
        # By identity, because a plan's switches share their matches; the match is kept, so is its id.
        self._known: dict[int, tuple[_Shape, tuple[int, ...], Match]] = {}

    def key(self, match: Match) -> tuple[_Shape, tuple[int, ...], Match]:
        """Returns shape and values of a match, the same for the same fields in any order, and the match."""
        known = self._known.get(id(match))
        if known is None:
            parts = sorted(match, key=attrgetter("field"))
            shape = tuple((part.field, part.mask) for part in parts)
            known = self._known[id(match)] = (shape, tuple(part.value for part in parts), match)
        return known


class _TableIndex:
    """A table's rules by the shape of their matches, so that a look-up is a few dictionary accesses."""

    def __init__(self, rules: Iterable[Rule], keys: MatchKeys) -> None:
        by_shape: dict[_Shape, dict[tuple[int, ...], Rule]] = {}
        hidden: set[tuple[int, _Shape, tuple[int, ...]]] = set()
        for rule in rules:
            shape, values, _ = keys.key(rule.match)
            entries = by_shape.setdefault(shape, {})
            other = entries.get(values)
            if other is None:
                entries[values] = rule
                continue
            # Two rules with one match: the one of lower priority never sees a packet.
            lower = min(other.priority, rule.priority)
            identity = (lower, shape, values)
            if other.priority == rule.priority or identity in hidden:
                raise PlanError(f"two rules with one match and priority: {rule}")
            hidden.add(identity)
            if rule.priority > other.priority:
                entries[values] = rule
        tops = {shape: max(r.priority for r in e.values()) for shape, e in by_shape.items()}
        # Highest priority first: a search ends when no shape that is left can beat the rule it has.
        self._shapes = sorted(
            ((tops[shape], shape, entries) for shape, entries in by_shape.items()),
            key=itemgetter(0),
            reverse=True,
        )

    def fields(self) -> set[str]:
        return {field for _, shape, _ in self._shapes for field, _ in shape}

    def lookup(self, packet: Mapping[str, int]) -> Rule | None:
        best: Rule | None = None
        for top, shape, entries in self._shapes:
            if best is not None and best.priority >= top:
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
