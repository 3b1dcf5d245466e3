"""The rules of a fabric, numbered, with the facts about them that look-ups need as arrays.

The switches of a fabric share most of their rules, and a switch of a large one has thousands. So a rule is
read once, and a switch is an array of rule numbers. A look-up is for a packet to many destinations at once:
the packet's other fields choose rules, and each destination gets the best of those that cover it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
import numpy.typing as npt

from routing.interner import Interner
from routing.plan.model import (
    ETH_TYPE_IPV4,
    Actions,
    Bucket,
    CopyBits,
    FieldMatch,
    LoadBits,
    Match,
    Rule,
    SetField,
    Table,
    ToGroup,
)
from routing.verification.errors import PlanError
from topology.addressing import switch_name

Numbers = npt.NDArray[np.intp]

SOURCE_FIELDS = frozenset({"eth_src", "ipv4_src"})

# The (field, mask) pairs that a match looks at.
_Shape = tuple[tuple[str, int | None], ...]


@dataclass(frozen=True, slots=True)
class Effect:
    """The treatment of a packet that a rule takes; rules with other matches may have the same.

    Attributes:
        actions: as of `Rule`.
        goto: as of `Rule`.
        groups: the numbers of the groups that the actions name.
    """

    actions: Actions
    goto: Table | None
    groups: tuple[int, ...]


@dataclass(frozen=True)
class Facts:
    """Facts about all rules of a book, by their numbers.

    Attributes:
        table: the number of the rule's table.
        priority: its priority.
        identity: one number for rules of the same table, priority and match.
        effect: the number of its effect, in `RuleBook.effects`.
        condition: the number of its match without the destination.
        takes_ipv4: whether it may take IPv4 packets.
        sees_ingress: whether its match looks at the ingress port.
        sees_source: whether its match looks at who sent the packet.
        covers_all: whether the rule makes no difference between destinations.
        counts: the number of destinations that it covers; 0 if it makes no difference.
        starts: the index in `covered` of the first of them.
        covered: the destinations that the rules cover, rule by rule.
    """

    table: npt.NDArray[np.int8]
    priority: Numbers
    identity: Numbers
    effect: Numbers
    condition: Numbers
    takes_ipv4: npt.NDArray[np.bool_]
    sees_ingress: npt.NDArray[np.bool_]
    sees_source: npt.NDArray[np.bool_]
    covers_all: npt.NDArray[np.bool_]
    counts: Numbers
    starts: Numbers
    covered: Numbers


class RuleBook:
    """The rules of a fabric's switches and the destinations of its packets.

    Attributes:
        rules: the rules by their numbers.
        effects: the effects by their numbers.
        destinations: the number of destinations.
    """

    def __init__(self, values: Mapping[str, Sequence[int]] | None = None) -> None:
        """Makes an empty book.

        Args:
            values: for each field in which destinations differ, the value of every destination; none where
                all packets have one destination.
        """
        self.rules: list[Rule] = []
        self.effects: list[Effect] = []
        self._values = values or {}
        # Nor may the ingress port be copied: then it would matter beyond the rules that look at it.
        self._guarded = {*self._values, "in_port"} if values else set[str]()
        self.destinations = len(next(iter(self._values.values()))) if values else 1
        self._destinations_by_value: dict[tuple[str, int | None], dict[int, Numbers]] = {}
        self._number_of: dict[int, int] = {}  # by the rule's identity; the book keeps all rules
        self._columns: list[tuple[int, int, int, int, int, bool, bool, bool, bool, int]] = []
        self._covered: list[Numbers] = []
        self._identities: dict[tuple[object, ...], int] = {}
        self._effect_numbers: dict[tuple[Actions, Table | None], int] = {}
        self._conditions: dict[tuple[FieldMatch, ...], int] = {}
        # By table and by the shape of conditions, the numbers of conditions by the values that they ask for.
        self._by_shape: dict[int, dict[_Shape, dict[tuple[int, ...], int]]] = {}
        self._checked: dict[int, Actions] = {}
        bucket_numbers = count()
        self._buckets: Interner[Bucket, int] = Interner(lambda _: next(bucket_numbers))
        self._facts: Facts | None = None

    def numbers(self, rules: Iterable[Rule], router: int) -> Numbers:
        """Returns the numbers of a switch's rules; those that are new to the book are read.

        Args:
            rules: the rules.
            router: their switch, which an error names.

        Raises:
            PlanError: a rule jumps backwards, or changes or copies the destinations of IPv4 packets.
        """
        rules = tuple(rules)
        found = list(map(self._number_of.get, map(id, rules)))
        return np.array(
            [
                self._add(rule, router) if number is None else number
                for rule, number in zip(rules, found, strict=True)
            ],
            np.intp,
        )

    def check(self, actions: Actions, router: int) -> None:
        """Checks that actions leave the destinations of packets alone, and do not copy the ingress port.

        Args:
            actions: actions of a rule or a bucket.
            router: their switch, which an error names.

        Raises:
            PlanError: an action does so.
        """
        if id(actions) in self._checked:
            return
        for action in actions:
            fields = _fields_changed_or_copied(action)
            if not fields.isdisjoint(self._guarded):
                names = ", ".join(sorted(fields.intersection(self._guarded)))
                raise PlanError(f"{switch_name(router)} must not change or copy {names}: {action}")
        self._checked[id(actions)] = actions

    def bucket_numbers(self, buckets: Iterable[Bucket]) -> list[int]:
        """Returns a number for each bucket, which equal buckets of all switches share.

        Args:
            buckets: any buckets.
        """
        return self._buckets.intern(buckets)

    def facts(self) -> Facts:
        """Returns the facts about the rules read so far."""
        if self._facts is None:
            columns = list(zip(*self._columns, strict=True)) or [()] * 10
            table, priority, identity, effect, condition, ipv4, ingress, source, all_, counts = columns
            counted = np.array(counts, np.intp)
            self._facts = Facts(
                np.array(table, np.int8),
                np.array(priority, np.intp),
                np.array(identity, np.intp),
                np.array(effect, np.intp),
                np.array(condition, np.intp),
                np.array(ipv4, bool),
                np.array(ingress, bool),
                np.array(source, bool),
                np.array(all_, bool),
                counted,
                np.cumsum(counted) - counted,
                np.concatenate([*self._covered, np.empty(0, np.intp)]),
            )
        return self._facts

    def conditions_met(self, table: Table, packet: Mapping[str, int]) -> tuple[int, ...]:
        """Returns the numbers of the conditions that a packet meets, whatever its destination.

        Args:
            table: the table that the packet is in.
            packet: its fields; it has no fields but these and those of its destination.
        """
        met = []
        for shape, by_values in self._by_shape.get(table, {}).items():
            try:
                values = tuple(
                    packet[field] if mask is None else packet[field] & mask for field, mask in shape
                )
            except KeyError:  # the packet has no such field
                continue
            if values in by_values:
                met.append(by_values[values])
        return tuple(met)

    def best_rules(self, numbers: Numbers, conditions: Iterable[int]) -> Numbers:
        """Returns the rule that takes a packet, for each of its possible destinations.

        Args:
            numbers: the rules of one table of a switch, by ascending priority.
            conditions: those that the packet meets.

        Returns:
            For each destination, the number of the matching rule with the highest priority; -1 for a miss.
        """
        facts = self.facts()
        condition = facts.condition[numbers]
        met = np.zeros(len(numbers), bool)
        for number in conditions:
            met |= condition == number
        numbers = numbers[met]
        covers_all = facts.covers_all[numbers]
        best = np.full(self.destinations, -1, np.intp)
        some = numbers[~covers_all]
        counts = facts.counts[some]
        offsets = np.repeat(facts.starts[some] - (np.cumsum(counts) - counts), counts)
        # Of several values for one index the last one stays, and priorities ascend.
        best[facts.covered[offsets + np.arange(len(offsets))]] = np.repeat(some, counts)
        if covers_all.any():
            top = numbers[covers_all][-1]
            best[(best < 0) | (facts.priority[best] < facts.priority[top])] = top
        return best

    def _add(self, rule: Rule, router: int) -> int:
        known = self._number_of.get(id(rule))
        if known is not None:
            return known
        if rule.goto is not None and rule.goto <= rule.table:
            raise PlanError(f"a rule's goto must be a later table than its own, got {rule.goto}: {rule}")
        takes_ipv4 = all(part.field != "eth_type" or part.value == ETH_TYPE_IPV4 for part in rule.match)
        if takes_ipv4:
            self.check(rule.actions, router)
        covered = self._covered_by(rule.match)
        if covered is not None:
            self._covered.append(covered)
        self._columns.append(
            (
                rule.table,
                rule.priority,
                self._identity_number(rule),
                self._effect_number(rule),
                self._condition_number(rule),
                takes_ipv4,
                any(part.field == "in_port" for part in rule.match),
                any(part.field in SOURCE_FIELDS for part in rule.match),
                covered is None,
                0 if covered is None else len(covered),
            )
        )
        self._facts = None
        self.rules.append(rule)
        self._number_of[id(rule)] = len(self.rules) - 1
        return len(self.rules) - 1

    def _identity_number(self, rule: Rule) -> int:
        match = rule.match
        if len(match) > 1:
            match = tuple(sorted(match, key=lambda part: part.field))
        parts = tuple([(part.field, part.value, part.mask) for part in match])
        return self._identities.setdefault((rule.table, rule.priority, parts), len(self._identities))

    def _effect_number(self, rule: Rule) -> int:
        key = (rule.actions, rule.goto)
        number = self._effect_numbers.setdefault(key, len(self.effects))
        if number == len(self.effects):
            groups = tuple(action.group for action in rule.actions if isinstance(action, ToGroup))
            self.effects.append(Effect(rule.actions, rule.goto, groups))
        return number

    def _condition_number(self, rule: Rule) -> int:
        parts = tuple([part for part in rule.match if part.field not in self._values])
        if len(parts) > 1:
            parts = tuple(sorted(parts, key=lambda part: part.field))
        number = self._conditions.setdefault(parts, len(self._conditions))
        shape = tuple([(part.field, part.mask) for part in parts])
        by_values = self._by_shape.setdefault(rule.table, {}).setdefault(shape, {})
        by_values[tuple([part.value for part in parts])] = number
        return number

    def _covered_by(self, match: Match) -> Numbers | None:
        """Returns the destinations that a match covers; None if it makes no difference between them."""
        covered: Numbers | None = None
        for part in match:
            if part.field in self._values:
                ones = self._index(part.field, part.mask).get(part.value, _NONE)
                covered = ones if covered is None else np.intersect1d(covered, ones)
        return None if covered is not None and len(covered) == self.destinations else covered

    def _index(self, field: str, mask: int | None) -> dict[int, Numbers]:
        """Returns the destinations with each value of a field under a mask."""
        key = (field, mask)
        if key not in self._destinations_by_value:
            index: dict[int, list[int]] = {}
            for destination, value in enumerate(self._values[field]):
                index.setdefault(value if mask is None else value & mask, []).append(destination)
            self._destinations_by_value[key] = {
                value: np.array(ones, np.intp) for value, ones in index.items()
            }
        return self._destinations_by_value[key]


_NONE = np.empty(0, np.intp)


def _fields_changed_or_copied(action: object) -> set[str]:
    if isinstance(action, CopyBits):
        return {action.source, action.target}
    if isinstance(action, SetField) and action.field != "in_port":
        return {action.field}
    return {action.target} if isinstance(action, LoadBits) else set()
