"""Forwarding rules of tables 2 to 5: they pass packets to a group by destination or tag."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from routing.plan.model import Actions, Match, Rule, SetField, Table, ToGroup, match
from routing.plan.rule_store import RuleStore
from routing.plan.tables import PRIORITY_BLOCK, PRIORITY_ROUTER, tag_of, to_router
from topology.base import DestinationBlock, Topology

# Open vSwitch drops output to the ingress port of a packet, but a rerouted packet may have to return there.
# No port has the number 0.
CLEAR_INGRESS = SetField("in_port", 0)


def forwarding_rule(table: Table, destination: Match, group: int, priority: int = PRIORITY_ROUTER) -> Rule:
    """Returns the rule that passes untagged packets for other routers' hosts to a group.

    Args:
        table: MINIMAL for packets without a mark, MARKED for packets that were rerouted before, AFTER_TAG for
            packets whose tag has just been popped.
        destination: the match of the packets' destination.
        group: number of the group.
        priority: PRIORITY_ROUTER, or PRIORITY_BLOCK if the match covers several routers.
    """
    return Rule(table, priority, destination, _to_group(group))


def tag_rule(router: int, group: int) -> Rule:
    """Returns the rule of table TRANSIT that passes packets with another router's tag to a group.

    Args:
        router: the router that the tag names.
        group: number of the group.
    """
    return Rule(Table.TRANSIT, PRIORITY_ROUTER, match(vlan_vid=tag_of(router)), _to_group(group))


@cache
def _to_choice(number: int) -> Actions:
    """Returns the actions of a rule that passes packets to a group which chooses a path."""
    return (ToGroup(number),)


@cache
def _to_group(number: int) -> Actions:
    """Returns the actions of a forwarding rule: one object per group, which many rules share."""
    return (CLEAR_INGRESS, ToGroup(number))


class ForwardingRules:
    """The forwarding rules of a fabric's switches, by number; most are shared by many switches.

    Attributes:
        store: the rules.
    """

    def __init__(self, topology: Topology, matches: Sequence[Match]) -> None:
        """Creates the store and its tables.

        Args:
            topology: the fabric's graph.
            matches: for each router, in router order, the match for packets to its hosts.
        """
        self.store = RuleStore()
        self._topology = topology
        self._matches = matches
        tables = (Table.SOURCE, Table.TRANSIT, Table.AFTER_TAG, Table.MINIMAL, Table.MARKED)
        self._grids = {table: _RuleGrid(self.store, table, self._matches_of(table)) for table in tables}
        # By table, first router and number of routers of the block, and group.
        self._block_rules: dict[tuple[Table, int, int, int], int] = {}

    def toward(self, table: Table, groups: npt.ArrayLike) -> npt.NDArray[np.intp]:
        """Returns the numbers in the store of a table's rules, one for each destination router with a group.

        The numbers are in router order.

        Args:
            table: SOURCE, AFTER_TAG, MINIMAL or MARKED, whose rules match the router's hosts, or TRANSIT,
                whose rules match the router's tag.
            groups: for each router, in router order, the number of the group for its packets; 0 for
                no rule.
        """
        return self._grids[table].rules(np.asarray(groups, np.int64))

    def toward_block(self, table: Table, block: DestinationBlock, group: int) -> int:
        """Returns the number that the rule for a block of destinations has in the store.

        Args:
            table: MINIMAL or MARKED.
            block: the destination routers.
            group: number of the group for their packets.
        """
        first, routers = block.routers[0], len(block.routers)
        key = (table, first, routers, group)
        if key not in self._block_rules:
            destination, priority = self._matches[first], PRIORITY_ROUTER
            if routers > 1:
                destination, priority = to_router(self._topology, first, block.low_bits), PRIORITY_BLOCK
            [number] = self.store.add([forwarding_rule(table, destination, group, priority)])
            self._block_rules[key] = number
        return self._block_rules[key]

    def _matches_of(self, table: Table) -> Callable[[], Iterable[Match]]:
        """Returns a function that yields, for each destination router, the match of the table's rule."""
        if table is Table.TRANSIT:
            return lambda: (match(vlan_vid=tag_of(router)) for router in range(self._topology.routers))
        return lambda: self._matches


class _RuleGrid:
    """The rules of one table, each for one destination router; they are added to a store on demand.

    Their numbers in the store form a grid: a row for each group, a column for each destination router.
    """

    def __init__(self, store: RuleStore, table: Table, matches: Callable[[], Iterable[Match]]) -> None:
        self._store = store
        self._table = table
        self._make_matches = matches
        self._actions = _to_choice if table is Table.SOURCE else _to_group
        self._groups = np.empty(0, np.int64)  # ascending; parallel to `_row_of`
        self._row_of = np.empty(0, np.intp)  # the index of each group's row
        self._actions_of = np.empty(0, np.intp)  # by row, the index of the actions in the store

    def rules(self, groups: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
        """Returns the numbers of the rules that pass packets to the given groups, in router order.

        Args:
            groups: for each destination router, the number of the group for packets to it; 0 for a router
                without a rule, which the result leaves out.
        """
        routers = np.flatnonzero(groups)
        if not len(routers):
            return routers
        rows = self._rows(groups[routers])
        numbers = self._numbers[rows, routers]
        new = numbers < 0
        if new.any():
            actions = self._actions_of[rows[new]]
            first = self._store.add_columns(
                self._table, PRIORITY_ROUTER, self._matches[routers[new]], actions
            )
            numbers[new] = np.arange(first, first + len(actions))
            self._numbers[rows[new], routers[new]] = numbers[new]
        return numbers

    @cached_property
    def _matches(self) -> npt.NDArray[np.intp]:
        """For each destination router, the index of its match in the store."""
        return np.array(list(map(self._store.match_index, self._make_matches())), np.intp)

    @cached_property
    def _numbers(self) -> npt.NDArray[np.intp]:
        return np.full((1, len(self._matches)), -1, np.intp)

    def _rows(self, groups: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
        """Returns the row of each group in `_numbers`, after adding rows for groups that are new."""
        last = max(len(self._groups) - 1, 0)
        places = np.minimum(np.searchsorted(self._groups, groups), last)
        unknown = self._groups[places] != groups if len(self._groups) else np.ones(len(groups), bool)
        if unknown.any():
            self._add_rows(np.unique(groups[unknown]))
            places = np.searchsorted(self._groups, groups)
        return self._row_of[places]

    def _add_rows(self, groups: npt.NDArray[np.int64]) -> None:
        actions = [self._store.actions_index(self._actions(group)) for group in groups.tolist()]
        rows = np.arange(len(self._actions_of), len(self._actions_of) + len(groups))
        self._actions_of = np.append(self._actions_of, actions)
        places = np.searchsorted(self._groups, groups)
        self._groups = np.insert(self._groups, places, groups)
        self._row_of = np.insert(self._row_of, places, rows)
        while len(self._numbers) < len(self._actions_of):
            self._numbers = np.concatenate([self._numbers, np.full_like(self._numbers, -1)])
