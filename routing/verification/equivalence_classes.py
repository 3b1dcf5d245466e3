"""What a switch cannot tell apart: destinations, and ports, for which it has like rules.

What a switch does with a packet depends on its destination, and on the port that it came in by, only
through the rules that match them. Those that are covered by rules with like actions form one class, and
one of them stands for all: a switch of ER_31 has about 65 classes for its 993 destinations, and one for all
fabric ports.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from routing.plan.model import (
    ETH_TYPE_IPV4,
    PORT_INGRESS,
    Actions,
    CopyBits,
    FieldMatch,
    LoadBits,
    Match,
    Output,
    Rule,
    SetField,
    SwitchPlan,
    ToGroup,
)
from routing.verification.switch_model import PlanError
from topology.addressing import Host, switch_name

DESTINATION_FIELDS = frozenset({"eth_dst", "ipv4_dst"})


def destination_classes(switches: Iterable[SwitchPlan], hosts: Sequence[Host]) -> list[list[int]]:
    """Returns, for every switch and every host, the number of the host's class at that switch.

    Raises:
        PlanError: a switch rewrites the destinations of IPv4 packets, or reads them other than by matches.
    """
    reader = _Reader({"eth_dst": [h.mac for h in hosts], "ipv4_dst": [h.ip for h in hosts]})
    return [reader.classes(switch, _actions_on_ipv4(switch)) for switch in switches]


def port_classes(switches: Iterable[SwitchPlan], ports: Iterable[int]) -> list[list[int]]:
    """Returns, for every switch and every port, from 0, the first port that is like it.

    Args:
        switches: the switches' plans.
        ports: how many ports each has; 0 is none.

    Raises:
        PlanError: a switch copies the ports that packets come in by.
    """
    readers: dict[int, _Reader] = {}
    found = []
    for switch, number in zip(switches, ports, strict=True):
        if number not in readers:
            readers[number] = _Reader({"in_port": range(number + 1)})
        actions = _actions_on_ipv4(switch)
        classes = readers[number].classes(switch, actions)
        # A port that a packet may be sent back by is like no other: it may be the one that it came in by.
        exposed = _without_clearing(switch, actions)
        for port in range(number + 1):
            if port in exposed or PORT_INGRESS in exposed:
                classes[port] = -port
        first: dict[int, int] = {}
        found.append([first.setdefault(class_, port) for port, class_ in enumerate(classes)])
    return found


def _without_clearing(switch: SwitchPlan, actions: Iterable[Actions]) -> set[int]:
    """Returns the ports that packets may be sent by while they have the port that they came in by."""
    groups = {group.number: group for group in switch.groups}
    found: set[int] = set()
    waiting = list(actions)
    seen: set[int] = set()
    while waiting:
        for action in waiting.pop():
            if isinstance(action, SetField) and action.field == "in_port":
                break
            if isinstance(action, Output):
                found.add(action.port)
            elif isinstance(action, ToGroup) and action.group not in seen:
                seen.add(action.group)
                group = groups[action.group]
                waiting += [bucket.actions for bucket in (*group.buckets, *group.candidates)]
    return found


def _actions_on_ipv4(switch: SwitchPlan) -> Iterable[Actions]:
    """Returns what rules may do to IPv4 packets; many share the same object."""
    found: dict[int, Actions] = {}
    for rule in switch.rules:
        if id(rule.actions) not in found and _takes_ipv4(rule):
            found[id(rule.actions)] = rule.actions
    return found.values()


def _takes_ipv4(rule: Rule) -> bool:
    return all(part.field != "eth_type" or part.value == ETH_TYPE_IPV4 for part in rule.match)


@dataclass(frozen=True, slots=True)
class _Covering:
    """What a rule says about some fields.

    Attributes:
        rule: the rule, which has to stay as its id is what it is known by.
        behaviour: a number for everything but these fields.
        items: whose values it covers; none where it does not tell any apart.
    """

    rule: Rule
    behaviour: int
    items: Sequence[int]


class _Reader:
    """Reads whose fields rules cover; rules that several switches share only once."""

    def __init__(self, values: Mapping[str, Sequence[int]]) -> None:
        """Takes, for each of the fields, the value that each item has."""
        self._values = values
        self._items = len(next(iter(values.values())))
        self._by_mask: dict[tuple[str, int | None], dict[int, list[int]]] = {}
        self._behaviours: dict[object, int] = {}
        self._known: dict[int, _Covering] = {}
        self._saying_nothing: dict[int, Match] = {}

    def classes(self, switch: SwitchPlan, on_ipv4: Iterable[Actions]) -> list[int]:
        """Returns the number of each item's class, given what the switch's rules may do to IPv4 packets."""
        for actions in on_ipv4:
            self._check(actions, switch)
        for group in switch.groups:
            for bucket in (*group.buckets, *group.candidates):
                self._check(bucket.actions, switch)
        # A class is told by the behaviours that have come together, in the order of the rules.
        numbers: dict[tuple[int, int], int] = {}
        found = [0] * self._items
        for rule in switch.rules:
            if id(rule.match) in self._saying_nothing:
                continue
            covering = self._known.get(id(rule)) or self._read(rule)
            behaviour = covering.behaviour
            for item in covering.items:
                together = (found[item], behaviour)
                found[item] = numbers.setdefault(together, len(numbers) + 1)
        return found

    def _read(self, rule: Rule) -> _Covering:
        here = tuple(part for part in rule.match if part.field in self._values)
        others = tuple(part for part in rule.match if part.field not in self._values)
        items = self._covered(here) if _takes_ipv4(rule) else ()
        if not items:
            self._saying_nothing[id(rule.match)] = rule.match
        same = (rule.table, rule.priority, others, rule.actions, rule.goto)
        behaviour = self._behaviours.setdefault(same, len(self._behaviours))
        covering = self._known[id(rule)] = _Covering(rule, behaviour, items)
        return covering

    def _covered(self, parts: Match) -> Sequence[int]:
        """Returns the items that have the values, unless those are all."""
        if not parts:
            return ()
        first, *rest = (self._index(part).get(part.value, []) for part in parts)
        found = [item for item in first if all(item in other for other in rest)] if rest else first
        return () if len(found) == self._items else found

    def _index(self, part: FieldMatch) -> dict[int, list[int]]:
        key = (part.field, part.mask)
        if key not in self._by_mask:
            index: dict[int, list[int]] = {}
            for item, value in enumerate(self._values[part.field]):
                index.setdefault(value if part.mask is None else value & part.mask, []).append(item)
            self._by_mask[key] = index
        return self._by_mask[key]

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
                raise PlanError(
                    f"{switch_name(switch.router)} changes or copies what tells packets apart: {action}"
                )
