"""Forwarding rules of tables 2 to 5: from a destination or a tag to the group that serves it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial

import numpy as np
import numpy.typing as npt

from routing.plan.model import Actions, Match, Rule, SetField, Table, ToGroup, match
from routing.plan.tables import PRIORITY_BLOCK, PRIORITY_ROUTER, tag_of, to_router
from topology.base import DestinationBlock, Topology

# Open vSwitch drops output to the port that a packet came in by, and a rerouted packet may have to go back
# there. No port has the number 0.
CLEAR_INGRESS = SetField("in_port", 0)


def forwarding_rule(table: Table, destination: Match, group: int, priority: int = PRIORITY_ROUTER) -> Rule:
    """Returns the rule that hands untagged packets for other routers' hosts to a group.

    Args:
        table: MINIMAL for packets without a mark, MARKED for those that were rerouted before, AFTER_TAG for
            those whose tag has just been popped.
        destination: the match of the packets' destination.
        group: number of the group.
        priority: PRIORITY_ROUTER, or PRIORITY_BLOCK where the match stands for several routers.
    """
    return Rule(table, priority, destination, _to_group(group))


def tag_rule(router: int, group: int) -> Rule:
    """Returns the rule of table TRANSIT that hands packets with another router's tag to a group.

    Args:
        router: the router that the tag names.
        group: number of the group.
    """
    return Rule(Table.TRANSIT, PRIORITY_ROUTER, match(vlan_vid=tag_of(router)), _to_group(group))


@cache
def _to_choice(number: int) -> Actions:
    """Returns the actions of a rule that hands packets to a group which chooses a path."""
    return (ToGroup(number),)


@cache
def _to_group(number: int) -> Actions:
    """Returns the actions of a forwarding rule: one object per group, which many rules share."""
    return (CLEAR_INGRESS, ToGroup(number))


class ForwardingRules:
    """The forwarding rules of a fabric's switches; most are equal on many switches, and are one object."""

    def __init__(self, topology: Topology, matches: Sequence[Match]) -> None:
        """Prepares to make rules.

        Args:
            topology: the fabric's graph.
            matches: for each router, in router order, the match of packets to its hosts.
        """
        self._topology = topology
        self._matches = matches
        makers: dict[Table, Callable[[int, int], Rule]] = {
            Table.SOURCE: self._source_rule,
            Table.TRANSIT: tag_rule,
            Table.AFTER_TAG: partial(self._router_rule, Table.AFTER_TAG),
            Table.MINIMAL: partial(self._router_rule, Table.MINIMAL),
            Table.MARKED: partial(self._router_rule, Table.MARKED),
        }
        self._grids = {table: _RuleGrid(topology.routers, make) for table, make in makers.items()}
        # By table, the first router and the number of routers of the destinations, and the group.
        self._block_rules: dict[tuple[Table, int, int, int], Rule] = {}

    def toward(self, table: Table, groups: npt.ArrayLike) -> list[Rule]:
        """Returns the rules of a table toward single routers, by router.

        Args:
            table: SOURCE, AFTER_TAG, MINIMAL or MARKED, whose rules match the router's hosts, or TRANSIT,
                whose rules match the router's tag.
            groups: for each router, in router order, the number of the group that serves its packets; 0 for
                no rule.
        """
        return self._grids[table].rules(np.asarray(groups))

    def toward_block(self, table: Table, block: DestinationBlock, group: int) -> Rule:
        """Returns the rule of table MINIMAL or MARKED for a block of destinations.

        Args:
            table: the table.
            block: the destination routers.
            group: number of the group that serves their packets.
        """
        first, routers = block.routers[0], len(block.routers)
        key = (table, first, routers, group)
        if key not in self._block_rules:
            destination, priority = self._matches[first], PRIORITY_ROUTER
            if routers > 1:
                destination, priority = to_router(self._topology, first, block.low_bits), PRIORITY_BLOCK
            self._block_rules[key] = forwarding_rule(table, destination, group, priority)
        return self._block_rules[key]

    def _source_rule(self, router: int, group: int) -> Rule:
        return Rule(Table.SOURCE, PRIORITY_ROUTER, self._matches[router], _to_choice(group))

    def _router_rule(self, table: Table, router: int, group: int) -> Rule:
        return forwarding_rule(table, self._matches[router], group)


class _RuleGrid:
    """Rules by router and group, each made when it is first asked for."""

    def __init__(self, routers: int, make: Callable[[int, int], Rule]) -> None:
        self._make = make
        self._row_of: dict[int, int] = {}  # by group
        self._rules = np.empty((1, routers), object)
        self._made = np.zeros((1, routers), bool)

    def rules(self, groups: npt.NDArray[np.int64]) -> list[Rule]:
        """Returns a rule for each router whose group is not 0."""
        routers = np.flatnonzero(groups)
        wanted = groups[routers]
        different, places = np.unique(wanted, return_inverse=True)
        rows = np.array([self._row(group) for group in different.tolist()], np.intp)[places]
        for index in np.flatnonzero(~self._made[rows, routers]).tolist():
            router = int(routers[index])
            self._rules[rows[index], router] = self._make(router, int(wanted[index]))
        self._made[rows, routers] = True
        found: list[Rule] = self._rules[rows, routers].tolist()
        return found

    def _row(self, group: int) -> int:
        row = self._row_of.setdefault(group, len(self._row_of))
        if row == len(self._rules):
            self._rules = np.concatenate([self._rules, np.empty_like(self._rules)])
            self._made = np.concatenate([self._made, np.zeros_like(self._made)])
        return row
