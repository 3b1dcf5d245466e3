"""A switch in memory: the pipeline of OpenFlow 1.3, run on plan data and on packets as plain fields.

A model returns every outcome that a plan allows: if a group may select among buckets, one outcome for each. A
proof over switch models (`verifier`) therefore covers all choices of real switches, and rules can be tried
without a switch. Like Open vSwitch, a model drops output to a packet's ingress port.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import pairwise

import numpy as np

from routing.plan.columns import GroupColumns, group_parts
from routing.plan.model import Actions, Bucket, Group, GroupKind, Output, Rule, SwitchPlan, Table, ToGroup
from routing.verification.group_choices import Choices, GroupBuckets, distinct_choices
from routing.verification.packet_actions import (
    ALL_DROPPED,
    Outcome,
    Packet,
    Shared,
    both,
    rewrite,
    rewritten,
    send,
)
from routing.verification.proof import PlanError
from routing.verification.rules import GroupIndex, Numbers, RuleBook
from routing.verification.treatments import (
    Arrival,
    Branches,
    BucketOutcomes,
    Handover,
    KnownOutcomes,
    Treatment,
)
from topology.addressing import switch_name


class SwitchModel:
    """One switch with a plan installed."""

    def __init__(
        self,
        plan: SwitchPlan,
        book: RuleBook | None = None,
        numbers: Numbers | None = None,
        known: KnownOutcomes | None = None,
    ) -> None:
        """Installs a plan.

        Args:
            plan: the tables and groups of one switch.
            book: the rules of the fabric, shared by the models of its switches; by default a new one without
                destinations, in which packets have all their fields.
            numbers: the numbers of the plan's rules in the book, in any order.
            known: known outcomes, also shared by the models of the fabric's switches.

        Raises:
            PlanError: a switch cannot install the plan: two rules of one table have the same match and
                priority, two groups have the same number, a rule jumps backwards, a rule or bucket names a
                group that does not exist, or groups refer to each other in a cycle.
        """
        self._book = RuleBook() if book is None else book
        self._known = {} if known is None else known
        self._router = plan.router
        self._groups = GroupIndex(group_parts(plan))
        if self._groups.ambiguous:
            raise PlanError(f"two groups of {switch_name(plan.router)} have the same number")
        self._check_groups()
        self._numbers = self._book.switch_numbers(plan) if numbers is None else numbers
        self._check_rules()
        self._tables = self._rules_by_table()
        self._choices: dict[int, Choices] = {}  # by the group's number
        self._best: dict[tuple[int, tuple[int, ...]], Numbers] = {}
        self._arrivals: dict[tuple[object, ...], Arrival] = {}  # by the packet and the failed ports

    @cached_property
    def group_buckets(self) -> GroupBuckets:
        """The buckets of the switch's groups."""
        return GroupBuckets(self._groups.parts)

    def _check_groups(self) -> None:
        sound: set[int] = set()  # numbers of groups whose chains have been checked
        checked: set[int] = set()  # identities of checked actions
        for part in self._groups.parts:
            if isinstance(part, GroupColumns):
                for place in self._unchecked(part).tolist():
                    self._check_chain(part.group(place), (), sound, checked)
            else:
                for group in part:
                    self._check_chain(group, (), sound, checked)

    def _unchecked(self, groups: GroupColumns) -> Numbers:
        """Returns the indices of the groups that have a bucket which is not known to be plain."""
        used = groups.used()
        plain = self._book.plain_of(groups.buckets)[used]
        if plain.all():
            return _NO_NUMBERS
        others = np.zeros(len(groups.buckets), bool)
        others[used[~plain]] = True
        owner = np.repeat(np.arange(len(groups)), groups.counts)
        return np.unique(owner[others[groups.members]])

    def _check_chain(self, group: Group, before: tuple[int, ...], sound: set[int], checked: set[int]) -> None:
        if group.number in sound:
            return
        if group.number in before:
            raise PlanError(f"groups refer to each other in a cycle: {(*before, group.number)}")
        if not group.candidates and self._book.are_plain(group.buckets):
            sound.add(group.number)
            return
        named: dict[int, None] = {}
        actions = [actions for actions in group.different_actions() if id(actions) not in checked]
        facts_of_actions = self._book.action_facts(actions)
        for facts in facts_of_actions:
            if facts.forbidden is not None:
                self._book.checked(facts.actions, self._router)
            for number in facts.groups:
                named[number] = None
        for number in named:
            if number not in self._groups:
                raise PlanError(f"a bucket names group {number}, which does not exist: {group}")
            self._check_chain(self._groups[number], (*before, group.number), sound, checked)
        checked.update(map(id, actions))
        both_lists = zip(actions, facts_of_actions, strict=True)
        self._book.note_plain(own for own, facts in both_lists if not facts.groups)
        sound.add(group.number)

    def _check_rules(self) -> None:
        facts, book = self._book.facts(), self._book
        identities = facts.identity[self._numbers]
        ascending = np.sort(identities)
        if (ascending[1:] == ascending[:-1]).any():
            second = np.delete(self._numbers, np.unique(identities, return_index=True)[1])[0]
            raise PlanError(
                f"two rules of a table have the same match and priority: {book.rule(int(second))}"
            )
        effects = facts.effect[self._numbers]
        used = np.bincount(effects, minlength=len(book.effects)) > 0
        missing = used[facts.naming] & ~self._groups.has(facts.named)
        if missing.any():
            first = int(np.argmax(missing))
            rule = book.rule(int(self._numbers[effects == facts.naming[first]][0]))
            raise PlanError(f"a rule names group {facts.named[first]}, which does not exist: {rule}")

    def _rules_by_table(self) -> list[Numbers]:
        """Returns the rules of each table in ascending order of priority."""
        facts = self._book.facts()
        numbers = self._numbers[np.argsort(facts.rank[self._numbers], kind="stable")]
        bounds = np.searchsorted(facts.table[numbers], np.arange(1, len(Table)))
        return np.split(numbers, bounds)

    def rule_for(self, table: Table, packet: Mapping[str, int]) -> Rule | None:
        """Returns the rule of a table that applies to a packet.

        Args:
            table: the table.
            packet: the packet's fields.

        Returns:
            The matching rule with the highest priority, or None for a table miss.
        """
        [number] = self._best_rules(table, packet).tolist()
        return None if number < 0 else self._book.rule(number)

    def process(self, packet: Mapping[str, int], failed_ports: frozenset[int]) -> list[Outcome]:
        """Returns every possible outcome of a packet's arrival, for a book without destinations.

        Args:
            packet: the packet's fields, including `in_port`.
            failed_ports: ports that are down; groups avoid them, and output to them is lost.

        Returns:
            One outcome for each combination of buckets that groups may select.
        """
        return [outcome for _, outcome in self.process_with_shares(packet, failed_ports)]

    def process_with_shares(self, packet: Mapping[str, int], failed_ports: frozenset[int]) -> Shared:
        """Returns every possible outcome of a packet's arrival, with the share of packets that have it.

        Args:
            packet: see `process`.
            failed_ports: see `process`.

        Returns:
            (share, outcome) for each combination of buckets; the share is 0 if only an adaptation may choose
            it.
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
        """Returns every possible outcome of the arrival of packets, for each of several destinations.

        Args:
            packet: the packet's fields, including `in_port`, without those of its destination.
            destinations: the numbers of the packets' destinations in the rule book.
            failed_ports: ports that are down; groups avoid them, and output to them is lost.
            unseen: fields that no rule after the ingress table matches; emitted packets lack them.

        Returns:
            Treatments of disjoint sets of destinations, which together are all destinations.
        """
        return list(self._followed(self.handovers(packet, destinations, failed_ports, unseen)))

    def handovers(
        self,
        packet: Mapping[str, int],
        destinations: Numbers,
        failed_ports: frozenset[int],
        unseen: Collection[str] = (),
    ) -> Iterator[Treatment | Handover]:
        """Yields the treatments of a packet's arrival, without following it through groups.

        Args:
            packet: see `treatments`.
            destinations: see `treatments`.
            failed_ports: see `treatments`.
            unseen: see `treatments`.

        Yields:
            Treatments and handovers for disjoint sets of destinations, which together are all destinations.
        """
        return self._run(Table.INGRESS, dict(packet), destinations, failed_ports, unseen)

    def _followed(self, parts: Iterable[Treatment | Handover]) -> Iterator[Treatment]:
        """Yields treatments; each handover is replaced by the treatments that its groups give the packet."""
        for part in parts:
            if isinstance(part, Treatment):
                yield part
                continue
            for group, taken in _by_key(part.groups, part.destinations):
                yield Treatment(taken, *self.by_group(group, part.arrival))

    def _run(
        self,
        table: Table,
        packet: Packet,
        destinations: Numbers,
        failed_ports: frozenset[int],
        unseen: Collection[str],
    ) -> Iterator[Treatment | Handover]:
        best = self._best_rules(table, packet)[destinations]
        facts = self._book.facts()
        effects = np.full(len(best), _MISS)
        effects[best >= 0] = facts.effect[best[best >= 0]]
        # Most rules of a switch make the same rewrites and then pass the packet to one group.
        groups = np.append(facts.handed_to, -1)[effects]
        handed = np.flatnonzero(groups >= 0)
        for _, places in _by_key(facts.rewriting[effects[handed]], handed):
            rewrites = self._book.effects[effects[places[0]]].facts.rewrites
            arrival = self._arrival(rewritten(rewrites, packet), failed_ports)
            yield Handover(destinations[places], groups[places], arrival)
        for effect_number, taken in _by_key(effects[groups < 0], destinations[groups < 0]):
            if effect_number == _MISS:
                yield Treatment(taken, ALL_DROPPED, _NO_PORTS)
                continue
            effect, changed = self._book.effects[effect_number], dict(packet)
            sent, ports = self._apply(effect.facts.actions, changed, failed_ports)
            if effect.goto is None:
                yield Treatment(taken, sent, ports)
                continue
            for name in unseen:
                changed.pop(name, None)
            later = self._run(effect.goto, changed, taken, failed_ports, ())
            if sent is ALL_DROPPED and not ports:
                yield from later
            else:
                for rest in self._followed(later):
                    yield Treatment(rest.destinations, both(sent, rest.outcomes), ports | rest.ports)

    def _best_rules(self, table: Table, packet: Mapping[str, int]) -> Numbers:
        """Returns, for each destination, the number of the rule that applies to a packet; -1 for a miss."""
        key = (int(table), self._book.conditions_met(table, packet))
        best = self._best.get(key)
        if best is None:
            best = self._best[key] = self._book.best_rules(self._tables[table], key[1])
        return best

    def _apply(self, actions: Actions, packet: Packet, failed_ports: frozenset[int]) -> Branches:
        """Applies actions to a packet in place.

        Returns:
            The possible outcomes of their outputs, and the ports on whose state these depend.
        """
        outcomes = ALL_DROPPED
        ports = _NO_PORTS
        for action in actions:
            if isinstance(action, Output):
                ports |= {action.port}
                sent = send(action.port, packet, failed_ports)
                outcomes = both(outcomes, [(1.0, sent)])
            elif isinstance(action, ToGroup):
                branches, consulted = self.by_group(action.group, self._arrival(packet, failed_ports))
                outcomes = both(outcomes, branches)
                ports |= consulted
            else:
                rewrite(action, packet)
        return outcomes, ports

    def _arrival(self, packet: Packet, failed_ports: frozenset[int]) -> Arrival:
        """Returns the `Arrival` that all packets with the same fields share while the same ports are down."""
        key = (tuple(packet), tuple(packet.values()), failed_ports)
        known = self._arrivals.get(key)
        if known is None:
            shared = {} if failed_ports else self._known.setdefault(key, {})
            known = self._arrivals[key] = Arrival(dict(packet), failed_ports, shared)
        return known

    def by_group(self, number: int, arrival: Arrival) -> Branches:
        """Returns the treatment of packets by a group; equal packets are processed once.

        Args:
            number: the number of the group.
            arrival: the packet, as it reaches the group.

        Returns:
            Outcomes and ports, as in `Treatment`.
        """
        known = arrival.by_group.get(number)
        if known is None:
            known = arrival.by_group[number] = self._choose(self._groups[number], arrival)
        return known

    def _choose(self, group: Group, arrival: Arrival) -> Branches:
        if group.kind is not GroupKind.SELECT and not group.candidates:
            return self._first_alive(group, arrival)
        if group.number not in self._choices:
            self._choices[group.number] = distinct_choices(group, self._book)
        possible, ports = self._choices[group.number].possible(arrival.failed_ports)
        if not possible:
            return ALL_DROPPED, frozenset(ports)
        total = max(sum(weight for _, weight in possible), 1)
        outcomes: Shared = []
        known = arrival.by_actions
        for bucket, weight in possible:
            branches = known.get(id(bucket.actions)) or self.by_bucket(bucket, arrival)
            outcomes += branches.shared(weight, total) if weight else branches.adapted
            ports |= branches.ports
        return outcomes, frozenset(ports)

    def _first_alive(self, group: Group, arrival: Arrival) -> Branches:
        """Returns the outcomes of a group that applies its first live bucket."""
        ports: list[int] = []  # ports on whose state the outcome depends
        for bucket in group.buckets:
            if bucket.watch_port is not None:
                ports.append(bucket.watch_port)
                if bucket.watch_port in arrival.failed_ports:
                    continue
            branches = self.by_bucket(bucket, arrival)
            consulted = branches.ports
            return branches.outcomes, consulted if consulted.issuperset(ports) else consulted.union(ports)
        return ALL_DROPPED, frozenset(ports)

    def by_bucket(self, bucket: Bucket, arrival: Arrival) -> BucketOutcomes:
        """Applies a bucket to a copy of a packet; actions after the group do not see the bucket's rewrites.

        Args:
            bucket: a bucket of a group of this switch.
            arrival: the packet, as it reaches the group.
        """
        actions = bucket.actions
        known = arrival.by_actions.get(id(actions))
        if known is None:
            facts = self._book.checked(actions, self._router)
            # The same group number means another group on another switch.
            shared = {} if facts.groups else arrival.shared
            known = shared.get(facts.number)
            if known is None:
                sent, ports = self._apply(actions, dict(arrival.packet), arrival.failed_ports)
                adapted = [(0.0, outcome) for _, outcome in sent]
                known = shared[facts.number] = BucketOutcomes(sent, adapted, ports, {})
            arrival.by_actions[id(actions)] = known
        return known


_NO_PORTS: frozenset[int] = frozenset()
_NO_NUMBERS = np.empty(0, np.intp)
_MISS = -1  # instead of the number of an effect, if no rule matches


def _by_key(keys: Numbers, items: Numbers) -> list[tuple[int, Numbers]]:
    """Groups items by key; the items of a key keep their order."""
    if not len(keys):
        return []
    order = np.argsort(keys, kind="stable")
    keys, items = keys[order], items[order]
    bounds = [0, *(np.flatnonzero(keys[1:] != keys[:-1]) + 1).tolist(), len(keys)]
    return [
        (key, items[a:b]) for key, (a, b) in zip(keys[bounds[:-1]].tolist(), pairwise(bounds), strict=True)
    ]
