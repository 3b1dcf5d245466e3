"""Look-up of rules in a switch's tables, and the facts about rules that do not depend on the switch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter, itemgetter

from routing.interner import Interner
from routing.plan.model import ETH_TYPE_IPV4, Actions, Match, Rule, ToGroup
from routing.verification.errors import PlanError

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
            raise PlanError(f"a rule's goto must be a later table than its own, got {rule.goto}: {rule}")
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


class TableIndex:
    """A table's rules by the shape of their matches, so that a look-up is a few dictionary accesses."""

    def __init__(self, rules: Iterable[InternedRule]) -> None:
        """Indexes the rules of one table.

        Args:
            rules: the rules with their interned matches, in any order.

        Raises:
            PlanError: two rules have the same match and priority.
        """
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
                raise PlanError(f"two rules of a table have the same match and priority: {rule}")
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
        """Returns the matching rule with the highest priority, or None.

        Args:
            packet: the packet's fields; it has no fields but these.
        """
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
