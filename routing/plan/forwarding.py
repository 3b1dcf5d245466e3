"""Forwarding rules of tables 2, 3 and 4: from a destination or a tag to the group that serves it."""

from __future__ import annotations

from functools import cache

from routing.plan.groups import GroupRole, RouterView, group_number
from routing.plan.model import Actions, Match, Rule, SetField, Table, ToGroup, match
from routing.plan.tables import PRIORITY_BLOCK, PRIORITY_ROUTER, tag_of, to_router
from topology.base import DestinationBlock

# Open vSwitch drops output to the port that a packet came in by, and a rerouted packet may have to go back
# there. No port has the number 0.
CLEAR_INGRESS = SetField("in_port", 0)


def forwarding_rule(table: Table, destination: Match, group: int, priority: int = PRIORITY_ROUTER) -> Rule:
    """Returns the rule that hands untagged packets for other routers' hosts to a group.

    Args:
        table: MINIMAL for packets without a mark, MARKED for those that were rerouted before.
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
def _to_group(number: int) -> Actions:
    """Returns the actions of a forwarding rule: one object per group, which many rules share."""
    return (CLEAR_INGRESS, ToGroup(number))


class ForwardingRules:
    """The forwarding rules of a fabric's switches; most are equal on many switches, and are one object."""

    def __init__(self) -> None:
        # By table; then by the first router and the number of routers of the destinations, and the group.
        self._rules: dict[Table, dict[tuple[int, int, int], Rule]] = {table: {} for table in Table}

    def minimal(self, view: RouterView, block: DestinationBlock, group: int) -> Rule:
        """Returns the rule of table MINIMAL for a block of destinations.

        Args:
            view: the router whose rule it is.
            block: the destination routers.
            group: number of the group that protects the minimal paths to them.
        """
        return self._to_block(Table.MINIMAL, view, block, group)

    def marked(self, view: RouterView, block: DestinationBlock) -> Rule:
        """Returns the rule of table MARKED for a block of destinations: the minimal port, dead or alive.

        Args:
            view: the router whose rule it is.
            block: the destination routers.
        """
        group = group_number(GroupRole.PORT, view.first_ports[block.routers[0]])
        return self._to_block(Table.MARKED, view, block, group)

    def tag(self, router: int, group: int) -> Rule:
        """Returns the rule of table TRANSIT for packets whose tag names another router.

        Args:
            router: the router that the tag names.
            group: number of the group that serves the tag.
        """
        rules = self._rules[Table.TRANSIT]
        key = (router, 1, group)
        if key not in rules:
            rules[key] = tag_rule(router, group)
        return rules[key]

    def _to_block(self, table: Table, view: RouterView, block: DestinationBlock, group: int) -> Rule:
        rules = self._rules[table]
        first = block.routers[0]
        key = (first, len(block.routers), group)
        if key not in rules:
            destination, priority = view.matches[first], PRIORITY_ROUTER
            if len(block.routers) > 1:
                destination = to_router(view.topology, first, block.low_bits)
                priority = PRIORITY_BLOCK
            rules[key] = forwarding_rule(table, destination, group, priority)
        return rules[key]
