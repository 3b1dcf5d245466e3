"""The rules of all switches as columns of numbers; each distinct rule is parsed once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from routing.plan.model import ETH_TYPE_IPV4, NO_VLAN, REROUTED_DSCP, RoutePlan, Rule
from simulation.tables.actions import INVALID, NO_TARGET, ActionEffect, ActionRegistry, check_effect
from simulation.tables.coverage import ALL_ROUTERS, NO_ROUTER, Coverage, CoverageFinder
from simulation.tables.identities import IdentityTable
from simulation.tables.model import inexpressible
from topology.addressing import host_routers, hosts_of

Numbers = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

# Match fields that forwarding tables support, in the order of their columns; all other fields share the last.
_FIELDS = ("in_port", "eth_type", "vlan_vid", "ip_dscp", "ipv4_dst", "eth_dst", "ipv4_src", "eth_src")
_COLUMN = {field: column for column, field in enumerate(_FIELDS)}
_OTHER = len(_FIELDS)

ANY, EXACT = 0, -1  # masks of a field that is not matched, and of one that is matched exactly
_DSCP = (0, REROUTED_DSCP)  # the packets' DSCP, by mark


@dataclass(frozen=True)
class MatchColumns:
    """Properties of matches, by number of the match.

    Attributes:
        values: by field, the required value.
        masks: by field, the mask of the required value.
        accepts: by mark, whether it may match an IPv4 packet with that mark.
        accepts_untagged: whether it may match an untagged packet.
        uses_source: whether it depends on the sender.
        uses_other_field: whether it depends on a field that forwarding tables do not support.
        uses_ingress: whether it depends on the ingress port.
        uses_destination: whether it distinguishes destinations.
        coverage: the destinations that it covers.
    """

    values: dict[str, Numbers]
    masks: dict[str, Numbers]
    accepts: tuple[Flags, Flags]
    accepts_untagged: Flags
    uses_source: Flags
    uses_other_field: Flags
    uses_ingress: Flags
    uses_destination: Flags
    coverage: Coverage


@dataclass(frozen=True)
class RuleColumns:
    """Properties of rules, by number of the rule.

    Attributes:
        table: number of the rule's table.
        rank: sort key: ascends with the table, then with the priority.
        priority: the rule's priority.
        goto: table in which packets continue, or -1.
        match: number of its match.
        actions: number of its action list.
    """

    table: Numbers
    rank: Numbers
    priority: Numbers
    goto: Numbers
    match: Numbers
    actions: Numbers


class PlanRules:
    """The rules of a plan.

    Attributes:
        hosts: all hosts, router by router.
        ip: their IPv4 addresses.
        mac: their MAC addresses.
        actions: the rules' action lists; the lists of buckets may be added.
        numbers: for each switch, the numbers of its rules by table and ascending priority.
        rules: properties of the rules.
        matches: properties of their matches.
    """

    def __init__(self, plan: RoutePlan) -> None:
        """Parses the rules of a plan.

        Args:
            plan: the plan.
        """
        self.hosts = hosts_of(plan.topology, plan.hosts_per_router)
        self.ip = np.array([host.ip for host in self.hosts], np.int64)
        self.mac = np.array([host.mac for host in self.hosts], np.int64)
        self.actions = ActionRegistry(plan.topology.routers)
        distinct, unsorted = _numbered_rules(switch.rules for switch in plan.switches)
        match, first = IdentityTable().numbers_of([tuple(map(attrgetter("match"), distinct))])
        self.rules = self._rule_columns(distinct, match)
        coverage = CoverageFinder(host_routers(plan.topology, plan.hosts_per_router), self.ip, self.mac)
        self.matches = _match_columns(coverage, [distinct[rule] for rule in first.tolist()])
        rank = self.rules.rank.astype(np.int16 if self.rules.rank.max(initial=0) < 1 << 15 else np.int64)
        self.numbers: list[Numbers] = [
            numbers[np.argsort(rank[numbers], kind="stable")].astype(np.int64) for numbers in unsorted
        ]

    def effect(self, actions: int, router: int) -> ActionEffect:
        """Returns the effect of a rule's action list.

        Args:
            actions: number of the action list.
            router: the rule's switch, for the error message.

        Raises:
            PlanError: forwarding tables cannot express it.
        """
        effect = self.actions.effects[actions]
        check_effect(effect, router)
        return effect

    def rewrites(self, actions: int, router: int) -> ActionEffect:
        """Returns the effect of the action list of a rule whose packets continue in another table.

        Args:
            actions: number of the action list.
            router: the rule's switch, for the error message.

        Raises:
            PlanError: forwarding tables cannot express it.
        """
        effect = self.effect(actions, router)
        if effect.target != NO_TARGET:
            raise inexpressible(router, "a rule outputs packets and also continues in another table")
        if INVALID in (effect.tag, effect.mark):
            raise inexpressible(router, "a rule sets a tag or a mark that the fabric does not use")
        return effect

    def _rule_columns(self, rules: list[Rule], match: Int32) -> RuleColumns:
        count = len(rules)
        table = np.fromiter(map(attrgetter("table"), rules), np.int64, count)
        priority = np.fromiter(map(attrgetter("priority"), rules), np.int64, count)
        levels, level = np.unique(priority, return_inverse=True)
        return RuleColumns(
            table=table,
            rank=table * len(levels) + level,
            priority=priority,
            goto=np.array([-1 if rule.goto is None else rule.goto for rule in rules], np.int64),
            match=match.astype(np.int64),
            actions=self.actions.numbers(map(attrgetter("actions"), rules)),
        )


def _numbered_rules(rules_by_switch: Iterable[tuple[Rule, ...]]) -> tuple[list[Rule], list[Int32]]:
    """Returns the distinct rules, and for each switch the numbers of its rules among them."""
    known = IdentityTable()
    distinct: list[Rule] = []
    numbered = []
    for rules in rules_by_switch:
        numbers, new = known.numbers_of([rules])
        numbered.append(numbers)
        distinct += map(rules.__getitem__, new.tolist())
    return distinct, numbered


def _match_columns(finder: CoverageFinder, rules: list[Rule]) -> MatchColumns:
    """Returns the properties of the rules' matches, in the order of the rules."""
    all_values, all_masks = _conditions(rules)
    values = {field: all_values[column] for field, column in _COLUMN.items()}
    masks = {field: all_masks[column] for field, column in _COLUMN.items()}

    def accepts(field: str, value: int) -> Flags:
        return np.asarray(value & masks[field] == values[field])

    coverage = finder.find(values, masks)
    may_match = accepts("eth_type", ETH_TYPE_IPV4) & (coverage.single != NO_ROUTER)
    return MatchColumns(
        values=values,
        masks=masks,
        accepts=(may_match & accepts("ip_dscp", _DSCP[0]), may_match & accepts("ip_dscp", _DSCP[1])),
        accepts_untagged=accepts("vlan_vid", NO_VLAN),
        uses_source=(masks["ipv4_src"] != ANY) | (masks["eth_src"] != ANY),
        uses_other_field=all_masks[_OTHER] != ANY,
        uses_ingress=masks["in_port"] != ANY,
        uses_destination=coverage.single != ALL_ROUTERS,
        coverage=coverage,
    )


def _conditions(rules: list[Rule]) -> tuple[Numbers, Numbers]:
    """Returns the values and masks of all matches: two arrays, columns x matches."""
    matches = list(map(attrgetter("match"), rules))
    lengths = np.fromiter(map(len, matches), np.int64, len(matches))
    owners = np.repeat(np.arange(len(matches)), lengths)
    conditions = list(chain.from_iterable(matches))
    columns = np.fromiter(_columns_of(map(attrgetter("field"), conditions)), np.int64, len(conditions))
    values = np.zeros((_OTHER + 1, len(matches)), np.int64)
    masks = np.zeros_like(values)
    values[columns, owners] = np.fromiter(map(attrgetter("value"), conditions), np.int64, len(conditions))
    masks[columns, owners] = [EXACT if mask is None else mask for mask in map(attrgetter("mask"), conditions)]
    return values, masks


def _columns_of(fields: Iterable[str]) -> Iterator[int]:
    known = _COLUMN
    return (known.get(field, _OTHER) for field in fields)
