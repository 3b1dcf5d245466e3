"""Forwarding equivalence classes: destinations and ingress ports that a switch treats alike.

The treatment of a packet depends on its destination, and on its ingress port, only through the rules that
match them. Destinations that are covered by rules with equal effects form one class (the term is RFC 3031's,
section 2.1), and one of them stands for all in a proof: a switch of ER_31 has about 65 classes for its 993
destinations, and one for all fabric ports.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from routing.plan.model import (
    PORT_INGRESS,
    Actions,
    CopyBits,
    FieldMatch,
    LoadBits,
    Output,
    SetField,
    SwitchPlan,
    ToGroup,
)
from routing.verification.errors import PlanError
from routing.verification.rule_lookup import InternedRule, RuleInterner, rule_interner
from topology.addressing import Host, switch_name

DESTINATION_FIELDS = frozenset({"eth_dst", "ipv4_dst"})


def destination_classes(
    switches: Iterable[SwitchPlan], hosts: Sequence[Host], interner: RuleInterner | None = None
) -> list[list[int]]:
    """Returns the class of every host, as a destination of IPv4 packets, at every switch.

    Args:
        switches: the switches' plans.
        hosts: all hosts of the fabric.
        interner: of the plan's rules, where it is used elsewhere too.

    Returns:
        For each switch, in the order of `switches`, a class number for each host, in the order of `hosts`.
        Two hosts with one number at a switch are treated alike there; numbers of different switches are not
        related.

    Raises:
        PlanError: a switch rewrites the destinations of IPv4 packets, or copies them to another field.
    """
    values = {"eth_dst": [host.mac for host in hosts], "ipv4_dst": [host.ip for host in hosts]}
    interner = rule_interner() if interner is None else interner
    classifier = _Classifier(values)
    return [classifier.classes(switch, interner.intern(switch.rules)) for switch in switches]


def ingress_port_classes(
    switches: Iterable[SwitchPlan], port_counts: Iterable[int], interner: RuleInterner | None = None
) -> list[list[int]]:
    """Returns a representative of every port's class, as an ingress port of IPv4 packets, at every switch.

    Args:
        switches: the switches' plans.
        port_counts: the number of ports of each switch, in the order of `switches`.
        interner: of the plan's rules, where it is used elsewhere too.

    Returns:
        For each switch, for each port from 0 (which stands for an ingress port that was cleared) to its last
        one, the lowest port that is treated alike.

    Raises:
        PlanError: a switch copies the ingress port to another field.
    """
    interner = rule_interner() if interner is None else interner
    classifiers: dict[int, _Classifier] = {}
    representatives = []
    for switch, port_count in zip(switches, port_counts, strict=True):
        if port_count not in classifiers:
            classifiers[port_count] = _Classifier({"in_port": range(port_count + 1)})
        rules = interner.intern(switch.rules)
        classes = classifiers[port_count].classes(switch, rules)
        returning = _possible_return_ports(switch, rules)
        # Output to a packet's own ingress port is dropped, so such a port is in a class of its own.
        for port in range(port_count + 1):
            if port in returning or PORT_INGRESS in returning:
                classes[port] = -port
        first: dict[int, int] = {}
        representatives.append([first.setdefault(class_, port) for port, class_ in enumerate(classes)])
    return representatives


def _possible_return_ports(switch: SwitchPlan, rules: Iterable[InternedRule]) -> set[int]:
    """Returns the ports that packets may be output to while their ingress port has not been cleared."""
    groups = {group.number: group for group in switch.groups}
    ports: set[int] = set()
    seen: set[int] = set()
    pending = [interned.rule.actions for interned in set(rules) if interned.match_key.takes_ipv4]
    while pending:
        for action in pending.pop():
            if isinstance(action, SetField) and action.field == "in_port":
                break
            if isinstance(action, Output):
                ports.add(action.port)
            elif isinstance(action, ToGroup) and action.group not in seen:
                seen.add(action.group)
                group = groups[action.group]
                pending += [bucket.actions for bucket in (*group.buckets, *group.candidates)]
    return ports


@dataclass(frozen=True, slots=True)
class _Coverage:
    """The items whose packets a rule may take, and its effect on them.

    Attributes:
        effect: a number for everything about the rule but its match of the items' fields.
        items: the covered items; none where the rule covers all, because it makes no difference then.
    """

    effect: int
    items: Sequence[int]


class _Classifier:
    """Sorts items (hosts or ports) into classes by the rules that cover them; each rule is read once."""

    def __init__(self, values: Mapping[str, Sequence[int]]) -> None:
        """Takes, for each field that items differ in, the value of every item."""
        self._values = values
        self._item_count = len(next(iter(values.values())))
        self._items_by_value: dict[tuple[str, int | None], dict[int, list[int]]] = {}
        self._effects: dict[tuple[object, ...], int] = {}
        # The rules read so far, and those of them that make a difference between items.
        self._read: set[InternedRule] = set()
        self._coverages: dict[InternedRule, _Coverage] = {}

    def classes(self, switch: SwitchPlan, rules: Sequence[InternedRule]) -> list[int]:
        """Returns the number of each item's class at a switch.

        Args:
            switch: the switch's plan.
            rules: its rules, interned, in their order.

        Returns:
            One number per item; items with one number are treated alike.

        Raises:
            PlanError: the switch changes or copies a field that items differ in.
        """
        for group in switch.groups:
            for bucket in (*group.buckets, *group.candidates):
                self._check(bucket.actions, switch)
        for interned in rules:
            if interned not in self._read:
                self._read.add(interned)
                self._read_rule(interned, switch)
        # A class is the sequence of effects that its items meet: its number stands for those met so far.
        numbers: dict[tuple[int, int], int] = {}
        classes = [0] * self._item_count
        for interned in rules:
            coverage = self._coverages.get(interned)
            if coverage is not None:
                effect = coverage.effect
                for item in coverage.items:
                    extended = (classes[item], effect)
                    classes[item] = numbers.setdefault(extended, len(numbers) + 1)
        return classes

    def _read_rule(self, interned: InternedRule, switch: SwitchPlan) -> None:
        if not interned.match_key.takes_ipv4:
            return
        rule = interned.rule
        self._check(rule.actions, switch)
        items = self._covered([part for part in rule.match if part.field in self._values])
        if items:
            rest = tuple(part for part in rule.match if part.field not in self._values)
            effect = (rule.table, rule.priority, rest, rule.actions, rule.goto)
            self._coverages[interned] = _Coverage(self._effects.setdefault(effect, len(self._effects)), items)

    def _covered(self, parts: Sequence[FieldMatch]) -> Sequence[int]:
        """Returns the items that some parts of a match cover, or none where they cover all."""
        if not parts:
            return ()
        first, *others = (self._index(part).get(part.value, []) for part in parts)
        items = [item for item in first if all(item in other for other in others)] if others else first
        return () if len(items) == self._item_count else items

    def _index(self, part: FieldMatch) -> dict[int, list[int]]:
        """Returns the items with each value of a part's field under the part's mask."""
        key = (part.field, part.mask)
        if key not in self._items_by_value:
            index: dict[int, list[int]] = {}
            for item, value in enumerate(self._values[part.field]):
                index.setdefault(value if part.mask is None else value & part.mask, []).append(item)
            self._items_by_value[key] = index
        return self._items_by_value[key]

    def _check(self, actions: Actions, switch: SwitchPlan) -> None:
        for action in actions:
            if isinstance(action, CopyBits):
                fields = {action.source, action.target}
            elif isinstance(action, SetField) and action.field != "in_port":
                fields = {action.field}
            elif isinstance(action, LoadBits):
                fields = {action.target}
            else:
                continue
            if not fields.isdisjoint(self._values):
                names = ", ".join(sorted(fields.intersection(self._values)))
                raise PlanError(f"{switch_name(switch.router)} must not change or copy {names}: {action}")
