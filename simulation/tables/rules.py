"""The rules of a fabric's switches as columns of numbers: each different rule is read once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from routing.plan.model import ETH_TYPE_IPV4, NO_VLAN, REROUTED_DSCP, RoutePlan, Rule
from simulation.tables.actions import INVALID, NO_TARGET, ActionBook, ActionEffect, check_effect
from simulation.tables.coverage import EVERYONE, NOBODY, Coverage, CoverageMaker
from simulation.tables.identities import IdentityTable
from simulation.tables.model import inexpressible
from topology.addressing import host_routers, hosts_of

Numbers = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

# Fields that the tables of the simulator know, in the order of their columns; other fields come last.
_FIELDS = ("in_port", "eth_type", "vlan_vid", "ip_dscp", "ipv4_dst", "eth_dst", "ipv4_src", "eth_src")
_COLUMN = {field: column for column, field in enumerate(_FIELDS)}
_OTHER = len(_FIELDS)

ANY, EXACT = 0, -1  # masks: of a match that does not look at a field, and of one that wants its value
_DSCP = (0, REROUTED_DSCP)  # by mark


@dataclass(frozen=True)
class MatchColumns:
    """Facts about matches, by number.

    Attributes:
        values: by field, the value that the match asks for.
        masks: by field, the mask under which it does.
        takes: by mark, whether an IPv4 packet with that mark may be taken.
        takes_untagged: whether a packet without a tag may be.
        sees_source: whether the match looks at who sent a packet.
        sees_other: whether it looks at a field that no table of the simulator has.
        sees_ingress: whether it looks at the ingress port.
        sees_destination: whether it makes a difference between destinations.
        coverage: the destinations that it covers.
    """

    values: dict[str, Numbers]
    masks: dict[str, Numbers]
    takes: tuple[Flags, Flags]
    takes_untagged: Flags
    sees_source: Flags
    sees_other: Flags
    sees_ingress: Flags
    sees_destination: Flags
    coverage: Coverage


@dataclass(frozen=True)
class RuleColumns:
    """Facts about rules, by number.

    Attributes:
        table: the number of the rule's table.
        rank: a number that ascends with the table and then with the priority.
        priority: the rule's priority.
        goto: the table in which packets continue, or -1.
        match: the number of its match.
        actions: the number of its actions.
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
        actions: the lists of actions of rules, to which those of buckets may be added.
        numbers: for each switch, the numbers of its rules by table and ascending priority.
        rules: facts about them.
        matches: facts about their matches.
    """

    def __init__(self, plan: RoutePlan) -> None:
        """Reads the rules.

        Args:
            plan: the plan.
        """
        self.hosts = hosts_of(plan.topology, plan.concentration)
        self.ip = np.array([host.ip for host in self.hosts], np.int64)
        self.mac = np.array([host.mac for host in self.hosts], np.int64)
        self.actions = ActionBook(plan.topology.routers)
        different, unsorted = _numbered_rules(switch.rules for switch in plan.switches)
        match, first = IdentityTable().of([tuple(map(attrgetter("match"), different))])
        self.rules = self._rule_columns(different, match)
        coverage = CoverageMaker(host_routers(plan.topology, plan.concentration), self.ip, self.mac)
        self.matches = _match_columns(coverage, [different[rule] for rule in first.tolist()])
        rank = self.rules.rank.astype(np.int16 if self.rules.rank.max(initial=0) < 1 << 15 else np.int64)
        self.numbers: list[Numbers] = [
            numbers[np.argsort(rank[numbers], kind="stable")].astype(np.int64) for numbers in unsorted
        ]

    def effect(self, actions: int, router: int) -> ActionEffect:
        """Returns the effect of the actions of a rule.

        Args:
            actions: the number of the list.
            router: the rule's switch, which an error names.

        Raises:
            PlanError: forwarding tables cannot express it.
        """
        effect = self.actions.effects[actions]
        check_effect(effect, router)
        return effect

    def rewrites(self, actions: int, router: int) -> ActionEffect:
        """Returns the effect of the actions of a rule after which packets go on to another table.

        Args:
            actions: the number of the list.
            router: the rule's switch, which an error names.

        Raises:
            PlanError: forwarding tables cannot express it.
        """
        effect = self.effect(actions, router)
        if effect.target != NO_TARGET:
            raise inexpressible(router, "a rule sends packets that go on to another table")
        if INVALID in (effect.tag, effect.mark):
            raise inexpressible(router, "a rule gives packets a tag or a mark that the fabric does not have")
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
    """Returns the different rules, and for each switch the numbers of its rules among them."""
    known = IdentityTable()
    different: list[Rule] = []
    numbered = []
    for rules in rules_by_switch:
        numbers, new = known.of([rules])
        numbered.append(numbers)
        different += map(rules.__getitem__, new.tolist())
    return different, numbered


def _match_columns(maker: CoverageMaker, rules: list[Rule]) -> MatchColumns:
    """Returns the facts about the matches of rules; match m is that of the m-th rule."""
    all_values, all_masks = _conditions(rules)
    values = {field: all_values[column] for field, column in _COLUMN.items()}
    masks = {field: all_masks[column] for field, column in _COLUMN.items()}

    def takes(field: str, value: int) -> Flags:
        return np.asarray(value & masks[field] == values[field])

    coverage = maker.make(values, masks)
    may_take = takes("eth_type", ETH_TYPE_IPV4) & (coverage.single != NOBODY)
    return MatchColumns(
        values=values,
        masks=masks,
        takes=(may_take & takes("ip_dscp", _DSCP[0]), may_take & takes("ip_dscp", _DSCP[1])),
        takes_untagged=takes("vlan_vid", NO_VLAN),
        sees_source=(masks["ipv4_src"] != ANY) | (masks["eth_src"] != ANY),
        sees_other=all_masks[_OTHER] != ANY,
        sees_ingress=masks["in_port"] != ANY,
        sees_destination=coverage.single != EVERYONE,
        coverage=coverage,
    )


def _conditions(rules: list[Rule]) -> tuple[Numbers, Numbers]:
    """Returns the values and the masks that matches ask for: columns x matches."""
    matches = list(map(attrgetter("match"), rules))
    lengths = np.fromiter(map(len, matches), np.int64, len(matches))
    owners = np.repeat(np.arange(len(matches)), lengths)
    parts = list(chain.from_iterable(matches))
    columns = np.fromiter(_columns_of(map(attrgetter("field"), parts)), np.int64, len(parts))
    values = np.zeros((_OTHER + 1, len(matches)), np.int64)
    masks = np.zeros_like(values)
    values[columns, owners] = np.fromiter(map(attrgetter("value"), parts), np.int64, len(parts))
    masks[columns, owners] = [EXACT if mask is None else mask for mask in map(attrgetter("mask"), parts)]
    return values, masks


def _columns_of(fields: Iterable[str]) -> Iterator[int]:
    known = _COLUMN
    return (known.get(field, _OTHER) for field in fields)
