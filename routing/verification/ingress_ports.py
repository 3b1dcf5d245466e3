"""Classes of ingress ports that a switch treats in the same way, so that a proof needs one port per class.

The treatment of a packet depends on its ingress port only through the rules that match the port, and through
output to that port, which is dropped. All fabric ports of a switch of ER_31 are in one class.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from operator import attrgetter

import numpy as np

from routing.plan.columns import group_parts
from routing.plan.model import PORT_INGRESS, FieldMatch, SwitchPlan, Table
from routing.verification.action_facts import ActionFacts
from routing.verification.rules import GroupIndex, Numbers, RuleBook


def ingress_port_classes(
    switch: SwitchPlan, ports: Collection[int], book: RuleBook, numbers: Numbers
) -> dict[int, int]:
    """Returns the class of every port of a switch, as an ingress port of IPv4 packets.

    Args:
        switch: the switch's plan.
        ports: the switch's ports.
        book: the rules of the fabric.
        numbers: the numbers of the switch's rules.

    Returns:
        Port -> first port that is treated in the same way, which represents the class; 0 is a cleared ingress
        port.
    """
    ports = [0, *ports]
    facts = book.facts()
    numbers = numbers[facts.takes_ipv4[numbers]]
    seen = facts.sees_ingress[numbers]
    effects: dict[int, set[object]] = {port: set() for port in ports}
    first_effects: dict[int, set[int]] = {port: set() for port in ports}
    seeing = numbers[seen]
    for number, effect in zip(seeing.tolist(), facts.effect[seeing].tolist(), strict=True):
        ingress, treatment = book.ingress_part(number)
        for port in _matching(ingress, effects.keys()):
            effects[port].add((treatment, effect))
            if treatment.table is Table.INGRESS:
                first_effects[port].add(effect)
    tables = facts.table[numbers]
    returns = _ReturnPorts(switch, book, {t: facts.effect[numbers[tables == t]] for t in Table})
    for_all = facts.effect[numbers[(tables == Table.INGRESS) & ~seen]]
    everywhere = returns.of(frozenset(np.flatnonzero(np.bincount(for_all)).tolist()))
    classes: dict[int, object] = {}
    for port in ports:
        returning = everywhere | returns.of(frozenset(first_effects[port]))
        # Output to a packet's own ingress port is dropped, so such a port forms its own class.
        alone = port in returning or PORT_INGRESS in returning
        classes[port] = frozenset(effects[port]), port if alone else -1
    first: dict[object, int] = {}
    return {port: first.setdefault(class_, port) for port, class_ in classes.items()}


def _matching(part: FieldMatch, ports: Collection[int]) -> Iterable[int]:
    """Returns those of the given ports that meet a match's condition on the ingress port."""
    if part.mask is None:
        return (part.value,) if part.value in ports else ()
    return [port for port in ports if port & part.mask == part.value]


class _ReturnPorts:
    """Finds the ports to which a switch may output packets before it clears their ingress port."""

    def __init__(self, switch: SwitchPlan, book: RuleBook, effects: Mapping[Table, Numbers]) -> None:
        """Stores a switch's plan and, by table, the numbers of its rules' effects."""
        self._groups = GroupIndex(group_parts(switch))
        self._book = book
        self._effects = effects
        self._by_table: dict[Table, frozenset[int]] = {}
        self._by_group: dict[int, frozenset[int]] = {}
        self._by_effects: dict[frozenset[int], frozenset[int]] = {}

    def of(self, numbers: frozenset[int]) -> frozenset[int]:
        """Returns the ports to which rules with the given effects may output packets.

        This includes output by rules of the tables in which packets continue.
        """
        known = self._by_effects.get(numbers)
        if known is None:
            effects = [self._book.effects[number] for number in numbers]
            found = self._of_actions([effect.facts for effect in effects])
            for table in {effect.goto for effect in effects}:
                if table is not None:
                    found |= self._of_table(table)
            known = self._by_effects[numbers] = frozenset(found)
        return known

    def _of_table(self, table: Table) -> frozenset[int]:
        if table not in self._by_table:
            numbers = np.flatnonzero(np.bincount(self._effects[table])).tolist()
            self._by_table[table] = self.of(frozenset(numbers))
        return self._by_table[table]

    def _of_actions(self, all_facts: Iterable[ActionFacts]) -> set[int]:
        all_facts = list(all_facts)
        found = set[int]().union(*map(attrgetter("returns"), all_facts))
        groups = set[int]().union(*map(attrgetter("returning_groups"), all_facts))
        return found.union(*map(self._of_group, groups))

    def _of_group(self, number: int) -> frozenset[int]:
        if number not in self._by_group:
            facts = self._book.action_facts(self._groups[number].different_actions())
            self._by_group[number] = frozenset(self._of_actions(facts))
        return self._by_group[number]
