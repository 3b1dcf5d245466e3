"""Facts about the matches and effects of a fabric's rules, and about the rules as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from routing.plan.model import Match, Table
from routing.verification.action_facts import ActionFacts

Numbers = npt.NDArray[np.intp]

# The (field, mask) pairs that a match looks at.
Shape = tuple[tuple[str, int | None], ...]


class Effect(NamedTuple):
    """The treatment of a packet that a rule takes; rules with other matches may have the same.

    Attributes:
        facts: about the rule's actions.
        goto: as of `Rule`.
        rewriting: a number that effects with equal rewrites before the first output or group share.
    """

    facts: ActionFacts
    goto: Table | None
    rewriting: int


class MatchFacts(NamedTuple):
    """Facts about a match; equal matches, with their fields in any order, have the same.

    Attributes:
        number: the match's number.
        condition: the number of the match without the destination.
        shape: the fields of that condition with their masks.
        values: what it asks of them.
        takes_ipv4: whether it may take IPv4 packets.
        sees_ingress: whether it looks at the ingress port.
        sees_source: whether it looks at who sent the packet.
        covered: the destinations that it covers; None if it makes no difference between them.
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
    """A rule that looks at the ingress port, without that port.

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
    """Facts about all rules of a book, by their numbers.

    Attributes:
        table: the number of the rule's table.
        priority: its priority.
        rank: a number that ascends with the table and then with the priority.
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
        handed_to: for each effect, the number of the group that packets are handed over to in the end, if
            nothing else happens to them but rewrites; -1 for other effects.
        rewriting: for each effect, its `Effect.rewriting`.
        named: the groups that effects name, effect by effect.
        naming: for each of these, the number of the effect.
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
    """Returns the facts about rules.

    Args:
        rows: rules by table, priority, number of the effect and number of the match.
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
    """Returns the entry of an effect in `Facts.handed_to`."""
    group = effect.facts.last_group
    return -1 if effect.goto is not None or group is None else group


def different_pairs(first: Numbers, second: Numbers) -> tuple[Numbers, list[tuple[int, int]]]:
    """Returns the different pairs of numbers from 0, and for each pair its index among them.

    Args:
        first: the first numbers of the pairs.
        second: the second ones.
    """
    width = int(second.max(initial=0)) + 1
    different, places = np.unique(first * width + second, return_inverse=True)
    return places, [divmod(pair, width) for pair in different.tolist()]


def in_any_order(match: Match) -> tuple[tuple[str, int, int | None], ...]:
    """Returns the fields of a match in an order that does not depend on theirs.

    Args:
        match: the match.
    """
    return tuple(sorted([(part.field, part.value, part.mask) for part in match], key=itemgetter(0)))
