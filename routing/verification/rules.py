"""The rules of a fabric, numbered, with the facts that lookups need as arrays.

The switches of a fabric share most of their rules, and a switch of a large fabric has thousands. Therefore
each rule is read once, and a switch is an array of rule numbers. A lookup handles a packet to many
destinations at once: the packet's other fields select rules, and each destination gets the best rule that
covers it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, compress, count, repeat
from operator import attrgetter, itemgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from routing.interner import Interner
from routing.plan.columns import GroupColumns, SwitchColumns
from routing.plan.model import (
    ETH_TYPE_IPV4,
    Actions,
    Bucket,
    FieldMatch,
    Group,
    Match,
    Rule,
    SwitchPlan,
    Table,
)
from routing.plan.rule_store import RuleStore
from routing.verification.action_facts import ActionFacts
from routing.verification.proof import PlanError
from topology.addressing import switch_name

Numbers = npt.NDArray[np.intp]

# The (field, mask) pairs that a match tests.
Shape = tuple[tuple[str, int | None], ...]


class Effect(NamedTuple):
    """The effect of a rule on a packet; rules with different matches may share it.

    Attributes:
        facts: facts about the rule's actions.
        goto: see `Rule`.
        rewriting: a number shared by effects with equal rewrites before the first output or group.
    """

    facts: ActionFacts
    goto: Table | None
    rewriting: int


class MatchFacts(NamedTuple):
    """Facts about a match; matches with equal fields in any order have the same facts.

    Attributes:
        number: the match's number.
        condition: a number that identifies the match's fields other than the destination.
        shape: the names of these fields, with their masks.
        values: the values that these fields must have.
        takes_ipv4: whether it may match IPv4 packets.
        sees_ingress: whether it tests the ingress port.
        sees_source: whether it tests who sent the packet.
        covered: the destinations that it covers; None if it covers all of them.
    """

    number: int
    condition: int
    shape: Shape
    values: tuple[int, ...]
    takes_ipv4: bool
    sees_ingress: bool
    sees_source: bool
    covered: Numbers | None


class IngressRule(NamedTuple):
    """The table, priority and other conditions of a rule that tests the ingress port.

    Attributes:
        table: the table.
        priority: the priority.
        match: the other fields of its match.
    """

    table: Table
    priority: int
    match: Match


@dataclass(frozen=True)
class Facts:
    """Facts about all rules of a book, by number.

    Attributes:
        table: the number of the rule's table.
        priority: its priority.
        rank: a number that ascends with the table, then with the priority.
        identity: the same number for rules with the same table, priority and match.
        effect: the number of its effect in `RuleBook.effects`.
        condition: see `MatchFacts`.
        takes_ipv4: whether it may match IPv4 packets.
        sees_ingress: whether its match tests the ingress port.
        sees_source: whether its match tests who sent the packet.
        covers_all: whether the rule covers all destinations.
        counts: how many destinations it covers; 0 if it covers all.
        starts: the index in `covered` of its first destination.
        covered: the destinations covered by the rules, rule by rule.
        handed_to: for each effect that only rewrites packets and then passes them to a group, the number of
            this group; -1 for other effects.
        rewriting: for each effect, its `Effect.rewriting`.
        named: the groups named by effects, effect by effect.
        naming: for each of these groups, the number of the effect.
    """

    table: npt.NDArray[np.int8]
    priority: Numbers
    rank: npt.NDArray[np.int16 | np.int32]
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
    handed_to: Numbers
    rewriting: Numbers
    named: Numbers
    naming: Numbers


def facts_of_rules(rows: Numbers, matches: Sequence[MatchFacts], effects: Sequence[Effect]) -> Facts:
    """Computes the facts about rules.

    Args:
        rows: one row for each rule: table, priority, number of its effect, number of its match.
        matches: the facts about matches, by number.
        effects: the effects, by number.
    """
    table, priority, effect, match = np.ascontiguousarray(rows.T)
    covers_all = np.array([one.covered is None for one in matches], bool)
    covered = [_NONE if one.covered is None else one.covered for one in matches]
    counts = np.fromiter(map(len, covered), np.intp, len(covered))
    ranks = priority - priority.min(initial=0)
    rank = np.unique(table * (ranks.max(initial=0) + 1) + ranks, return_inverse=True)[1]
    named = [effect.facts.groups for effect in effects]
    return Facts(
        table.astype(np.int8),
        priority,
        rank.astype(np.int16 if rank.max(initial=0) < 1 << 15 else np.int32),
        (match * (ranks.max(initial=0) + 1) + ranks) * len(Table) + table,
        effect,
        np.array([one.condition for one in matches], np.intp)[match],
        np.array([one.takes_ipv4 for one in matches], bool)[match],
        np.array([one.sees_ingress for one in matches], bool)[match],
        np.array([one.sees_source for one in matches], bool)[match],
        covers_all[match],
        counts[match],
        (np.cumsum(counts) - counts)[match],
        np.concatenate([*covered, _NONE]),
        np.array(list(map(_handed_to, effects)), np.intp),
        np.array([effect.rewriting for effect in effects], np.intp),
        np.array([*chain.from_iterable(named)], np.intp),
        np.repeat(np.arange(len(named)), list(map(len, named))),
    )


_NONE = np.empty(0, np.intp)


def _handed_to(effect: Effect) -> int:
    """Returns the group to which an effect passes packets, or -1, as in `Facts.handed_to`."""
    group = effect.facts.last_group
    return -1 if effect.goto is not None or group is None else group


def distinct_pairs(first: Numbers, second: Numbers) -> tuple[Numbers, list[tuple[int, int]]]:
    """Returns the index of each pair of numbers among the distinct pairs, and the distinct pairs.

    Args:
        first: the first numbers of the pairs, at least 0.
        second: the second numbers of the pairs, at least 0.
    """
    width = int(second.max(initial=0)) + 1
    distinct, places = np.unique(first * width + second, return_inverse=True)
    return places, [divmod(pair, width) for pair in distinct.tolist()]


def canonical_fields(match: Match) -> tuple[tuple[str, int, int | None], ...]:
    """Returns the fields of a match as (name, value, mask), sorted by name.

    Args:
        match: the match.
    """
    return tuple(sorted([(part.field, part.value, part.mask) for part in match], key=itemgetter(0)))


class GroupIndex(Mapping[int, Group]):
    """The groups of a switch, by number.

    Attributes:
        parts: the groups in order, in several sequences; some of these are columns.
    """

    def __init__(self, parts: Sequence[Sequence[Group]]) -> None:
        """Indexes groups.

        Args:
            parts: see the class.
        """
        self.parts = parts
        self._known: dict[int, Group] = {}
        for part in parts:
            if not isinstance(part, GroupColumns):
                self._known.update((group.number, group) for group in part)

    @cached_property
    def numbers(self) -> npt.NDArray[np.int64]:
        """The numbers of all groups, ascending."""
        columns = [part.numbers for part in self.parts if isinstance(part, GroupColumns)]
        objects = [g.number for part in self.parts if not isinstance(part, GroupColumns) for g in part]
        return np.sort(np.concatenate([np.array(objects, np.int64), *columns]))

    @property
    def ambiguous(self) -> bool:
        """Whether two groups have the same number."""
        return bool((self.numbers[1:] == self.numbers[:-1]).any())

    def has(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Returns, for each given number, whether there is such a group.

        Args:
            numbers: any numbers.
        """
        places = np.searchsorted(self.numbers, numbers)
        return np.asarray(np.append(self.numbers, -1)[places] == numbers)

    def __contains__(self, number: object) -> bool:
        """Returns whether there is a group with this number."""
        return number in self._known or self._place(number) is not None

    def __getitem__(self, number: int) -> Group:
        """Returns the group with this number."""
        found = self._known.get(number)
        if found is None:
            place = self._place(number)
            if place is None:
                raise KeyError(number)
            found = self._known[number] = place[0].group(place[1])
        return found

    def __iter__(self) -> Iterator[int]:
        """Yields the numbers of all groups."""
        for part in self.parts:
            if isinstance(part, GroupColumns):
                yield from part.numbers.tolist()
            else:
                yield from (group.number for group in part)

    def __len__(self) -> int:
        """Returns the number of groups."""
        return sum(map(len, self.parts))

    def _place(self, number: object) -> tuple[GroupColumns, int] | None:
        for groups, places in self._places:
            if number in places:
                return groups, places[number]
        return None

    @cached_property
    def _places(self) -> list[tuple[GroupColumns, dict[object, int]]]:
        """For each of `parts` that is `GroupColumns`: the part, and group number -> index in the part."""
        return [
            (part, {number: place for place, number in enumerate(part.numbers.tolist())})
            for part in self.parts
            if isinstance(part, GroupColumns)
        ]


SOURCE_FIELDS = frozenset({"eth_src", "ipv4_src"})


class _StoredRules(NamedTuple):
    """The rules of a store that a rule book has read.

    Attributes:
        store: the store.
        numbers: the numbers of the rules in the book, in order.
        refused: bool array: whether a switch must refuse each rule.
    """

    store: RuleStore
    numbers: range
    refused: npt.NDArray[np.bool_]


class RuleBook:
    """The rules of a fabric's switches, and the destinations of its packets.

    Attributes:
        effects: the effects, by number.
        destinations: the number of destinations.
    """

    def __init__(self, values: Mapping[str, Sequence[int]] | None = None) -> None:
        """Creates an empty book.

        Args:
            values: for each field in which destinations differ, the value of every destination; None if all
                packets have the same destination.
        """
        self.effects: list[Effect] = []
        self._count = 0
        self._rules: dict[int, Rule] = {}  # rules that were read as objects, by number
        self._stored: dict[int, _StoredRules] = {}  # by the identity of the store, which is kept alive
        self._values = values or {}
        # A copy of the ingress port would have effects beyond the rules that test it, so it is forbidden.
        self._guarded = {*self._values, "in_port"} if values else set[str]()
        self.destinations = len(next(iter(self._values.values()))) if values else 1
        self._destinations_by_value: dict[tuple[str, int | None], dict[int, Numbers]] = {}
        self._ingress_parts: dict[int, tuple[FieldMatch, IngressRule]] = {}
        self._number_of: dict[int, int] = {}  # by the rule's identity; the book keeps all rules alive
        # For each rule: table, priority, effect and match; rules read as objects follow the arrays as rows.
        self._columns: list[Numbers] = []
        self._rows: list[tuple[int, int, int, int]] = []
        self._matches: list[MatchFacts] = []  # by number
        self._match_facts: Interner[Match, MatchFacts] = Interner(self._new_match, canonical_fields)
        self._conditions: dict[tuple[Shape, tuple[int, ...]], int] = {}
        # By table and by the shape of conditions: required values -> number of the condition.
        self._by_shape: dict[int, dict[Shape, dict[tuple[int, ...], int]]] = {}
        self._conditions_by_table: set[tuple[int, int]] = set()  # the conditions in `_by_shape`
        self._effect_numbers: dict[tuple[int, Table | None], int] = {}
        action_numbers, rewriting_numbers, bucket_numbers = count(), count(), count()
        self._actions: Interner[Actions, ActionFacts] = Interner(
            lambda actions: ActionFacts.of(actions, next(action_numbers), self._guarded)
        )
        self._rewritings: Interner[Actions, int] = Interner(lambda _: next(rewriting_numbers))
        self._plain: set[int] = set()  # identities of plain lists of actions
        # Results of `plain_of` by the identity of the list of buckets, which the value keeps alive.
        self._plain_buckets: dict[int, tuple[list[Bucket], npt.NDArray[np.bool_]]] = {}
        self._buckets: Interner[Bucket, int] = Interner(lambda _: next(bucket_numbers))
        self._facts: Facts | None = None

    def __len__(self) -> int:
        """Returns the number of rules read so far."""
        return self._count

    def rule(self, number: int) -> Rule:
        """Returns a rule.

        Args:
            number: its number.
        """
        found = self._rules.get(number)
        if found is None:
            stored = next(one for one in self._stored.values() if number in one.numbers)
            found = stored.store.rule(number - stored.numbers.start)
        return found

    def ingress_part(self, number: int) -> tuple[FieldMatch, IngressRule]:
        """Splits a rule into its condition on the ingress port and the rest.

        Args:
            number: the number of a rule that tests the ingress port.
        """
        known = self._ingress_parts.get(number)
        if known is None:
            rule = self.rule(number)
            rest = tuple([part for part in rule.match if part.field != "in_port"])
            [ingress] = [part for part in rule.match if part.field == "in_port"]
            known = self._ingress_parts[number] = ingress, IngressRule(rule.table, rule.priority, rest)
        return known

    def switch_numbers(self, switch: SwitchPlan) -> Numbers:
        """Returns the numbers of a switch's rules, after reading those that are new to the book.

        Args:
            switch: the plan of the switch; its rules may be columns.

        Raises:
            PlanError: see `numbers`.
        """
        columns = switch.columns
        if not isinstance(columns, SwitchColumns):
            return self.numbers(switch.rules, switch.router)
        stored = self._stored.get(id(columns.store))
        if stored is None or len(stored.numbers) < len(columns.store):
            stored = self._stored[id(columns.store)] = self._read_store(columns.store)
        for index in np.flatnonzero(stored.refused[columns.rules]).tolist():
            self._add(columns.store.rule(int(columns.rules[index])), switch.router)
        return columns.rules + stored.numbers.start

    def numbers(self, rules: Iterable[Rule], router: int) -> Numbers:
        """Returns the numbers of a switch's rules, after reading those that are new to the book.

        Args:
            rules: the rules.
            router: their switch, for error messages.

        Raises:
            PlanError: a rule jumps backwards, or changes or copies the destinations of IPv4 packets.
        """
        rules = tuple(rules)
        known = map(self._number_of.get, map(id, rules), repeat(-1))
        found = np.fromiter(known, np.intp, len(rules))
        for index in np.flatnonzero(found < 0).tolist():
            found[index] = self._add(rules[index], router)
        return found

    def checked(self, actions: Actions, router: int) -> ActionFacts:
        """Returns the facts about actions, after checking that they do not change destinations of packets.

        They must not copy the ingress port, either: a copy would have effects beyond the rules that test the
        port.

        Args:
            actions: actions of a rule or a bucket.
            router: their switch, for error messages.

        Raises:
            PlanError: an action changes a destination or copies the ingress port.
        """
        facts = self._actions.one(actions)
        if facts.forbidden is not None:
            action, fields = facts.forbidden
            names = ", ".join(sorted(fields))
            raise PlanError(f"{switch_name(router)} must not change or copy {names}: {action}")
        return facts

    def action_facts(self, actions: Iterable[Actions]) -> list[ActionFacts]:
        """Returns the facts about several lists of actions.

        Args:
            actions: actions of rules or buckets.
        """
        return self._actions.intern(actions)

    def are_plain(self, buckets: Iterable[Bucket]) -> bool:
        """Returns whether all buckets are known to be plain: their actions name no group and are allowed.

        Args:
            buckets: any buckets.
        """
        return self._plain.issuperset(map(id, map(attrgetter("actions"), buckets)))

    def note_plain(self, actions: Iterable[Actions]) -> None:
        """Notes that lists of actions name no group and are allowed.

        Args:
            actions: actions whose facts were requested, so that the book keeps them alive.
        """
        self._plain.update(map(id, actions))

    def plain_of(self, buckets: list[Bucket]) -> npt.NDArray[np.bool_]:
        """Returns, for each bucket of a fabric, whether it is plain; see `are_plain`.

        Args:
            buckets: the buckets that the groups of all switches share; they are read once.
        """
        known = self._plain_buckets.get(id(buckets))
        if known is None or len(known[1]) < len(buckets):
            actions = [bucket.actions for bucket in buckets]
            facts = self.action_facts(actions)
            plain = [not one.groups and one.forbidden is None for one in facts]
            self.note_plain(compress(actions, plain))
            known = self._plain_buckets[id(buckets)] = buckets, np.array(plain, bool)
        return known[1]

    def bucket_numbers(self, buckets: Iterable[Bucket]) -> list[int]:
        """Returns a number for each bucket; equal buckets of all switches have the same number.

        Args:
            buckets: any buckets.
        """
        return self._buckets.intern(buckets)

    def facts(self) -> Facts:
        """Returns the facts about the rules read so far."""
        if self._facts is None:
            self._flush()
            self._columns = [np.concatenate([*self._columns, np.empty((0, 4), np.intp)])]
            self._facts = facts_of_rules(self._columns[0], self._matches, self.effects)
        return self._facts

    def conditions_met(self, table: Table, packet: Mapping[str, int]) -> tuple[int, ...]:
        """Returns the numbers of the conditions that a packet meets, whatever its destination.

        Args:
            table: the table that the packet is in.
            packet: its fields; those of its destination are not included.
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
        """Returns the rule that applies to a packet, for each of its possible destinations.

        Args:
            numbers: the rules of one table of a switch, in ascending order of priority.
            conditions: the conditions that the packet meets.

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
        places = facts.starts[some]
        if (counts != 1).any():
            places = np.repeat(places - (np.cumsum(counts) - counts), counts)
            places += np.arange(len(places))
            some = np.repeat(some, counts)
        # If an index occurs several times, the last value stays; priorities ascend.
        best[facts.covered[places]] = some
        if covers_all.any():
            top = numbers[covers_all][-1]
            best[(best < 0) | (facts.priority[best] < facts.priority[top])] = top
        return best

    def _add(self, rule: Rule, router: int) -> int:
        known = self._known(rule)
        if known is not None:
            return known
        table, goto = rule.table, rule.goto
        if goto is not None and goto <= table:
            raise PlanError(f"goto of a rule must be a later table than its own, got {goto}: {rule}")
        match = self._match_facts.one(rule.match)
        actions = self.checked(rule.actions, router) if match.takes_ipv4 else self._actions.one(rule.actions)
        self._note_condition(table, match)
        self._rows.append((table, rule.priority, self._effect(actions, goto), match.number))
        self._facts = None
        number, self._count = self._count, self._count + 1
        self._rules[number] = rule
        self._number_of[id(rule)] = number
        return number

    def _known(self, rule: Rule) -> int | None:
        """Returns the number of a rule that was read before, or None."""
        known = self._number_of.get(id(rule))
        if known is None:
            for stored in self._stored.values():
                number = stored.store.number_of(rule)
                if number is not None and not stored.refused[number]:
                    known = self._number_of[id(rule)] = stored.numbers[number]
                    break
        return known

    def _read_store(self, store: RuleStore) -> _StoredRules:
        """Reads all rules of a store at once; `_add` reads a single one."""
        columns = store.columns()
        matches = self._match_facts.intern(store.matches)
        actions = self._actions.intern(store.actions)
        places, effects = distinct_pairs(columns.actions, columns.goto + 1)
        gotos = [None, *Table]
        effect = np.array([self._effect(actions[a], gotos[goto]) for a, goto in effects], np.intp)[places]
        for match, table in distinct_pairs(columns.match, columns.table)[1]:
            self._note_condition(table, matches[match])
        numbers = np.array([one.number for one in matches], np.intp)[columns.match]
        ipv4 = np.array([one.takes_ipv4 for one in matches], bool)[columns.match]
        forbidden = np.array([one.forbidden is not None for one in actions], bool)[columns.actions]
        backwards = (columns.goto >= 0) & (columns.goto <= columns.table)
        self._flush()
        self._columns.append(np.stack([columns.table, columns.priority, effect, numbers], axis=1))
        self._facts = None
        first, self._count = self._count, self._count + len(store)
        return _StoredRules(store, range(first, self._count), backwards | (forbidden & ipv4))

    def _effect(self, actions: ActionFacts, goto: Table | None) -> int:
        """Returns the number of the effect of rules with the given actions and `goto`."""
        effect = self._effect_numbers.setdefault((actions.number, goto), len(self.effects))
        if effect == len(self.effects):
            self.effects.append(Effect(actions, goto, self._rewritings.one(actions.rewrites)))
        return effect

    def _note_condition(self, table: int, match: MatchFacts) -> None:
        if (table, match.condition) not in self._conditions_by_table:
            self._conditions_by_table.add((table, match.condition))
            by_values = self._by_shape.setdefault(table, {}).setdefault(match.shape, {})
            by_values[match.values] = match.condition

    def _flush(self) -> None:
        """Moves the rows of single rules into an array."""
        if self._rows:
            self._columns.append(np.array(self._rows, np.intp))
            self._rows = []

    def _new_match(self, match: Match) -> MatchFacts:
        parts = sorted(
            (part for part in match if part.field not in self._values), key=lambda part: part.field
        )
        shape = tuple([(part.field, part.mask) for part in parts])
        values = tuple([part.value for part in parts])
        facts = MatchFacts(
            len(self._matches),
            self._conditions.setdefault((shape, values), len(self._conditions)),
            shape,
            values,
            all(part.field != "eth_type" or part.value == ETH_TYPE_IPV4 for part in match),
            any(part.field == "in_port" for part in match),
            any(part.field in SOURCE_FIELDS for part in match),
            self._covered_by(match),
        )
        self._matches.append(facts)
        return facts

    def _covered_by(self, match: Match) -> Numbers | None:
        """Returns the destinations that a match covers; None if it covers all of them."""
        covered: Numbers | None = None
        for part in match:
            if part.field in self._values:
                ones = self._index(part.field, part.mask).get(part.value, _NONE)
                covered = ones if covered is None else np.intersect1d(covered, ones)
        return None if covered is not None and len(covered) == self.destinations else covered

    def _index(self, field: str, mask: int | None) -> dict[int, Numbers]:
        """Returns, by value of a field under a mask, the destinations that have this value."""
        key = (field, mask)
        if key not in self._destinations_by_value:
            index: dict[int, list[int]] = {}
            for destination, value in enumerate(self._values[field]):
                index.setdefault(value if mask is None else value & mask, []).append(destination)
            self._destinations_by_value[key] = {
                value: np.array(ones, np.intp) for value, ones in index.items()
            }
        return self._destinations_by_value[key]
