"""Forwarding rules of tables 2, 3 and 4: from a destination or a tag to the group that serves it."""

from __future__ import annotations

from functools import cache

from routing.plan.model import Actions, Match, Rule, SetField, Table, ToGroup, match
from routing.plan.tables import PRIORITY_ROUTER, tag_of

# Open vSwitch drops output to the port that a packet came in by, and after a detour a packet may have to
# go back there. Port 0 is none.
CLEAR_INGRESS = SetField("in_port", 0)


def forwarding_rule(table: Table, destination: Match, group: int, priority: int = PRIORITY_ROUTER) -> Rule:
    """Returns the rule by which a switch sends untagged packets for other routers' hosts to a group.

    In table MINIMAL it is for packets without a mark, in table MARKED for those that were repaired before.
    """
    return Rule(table, priority, destination, _to_group(group))


def tag_rule(router: int, tagged: int) -> Rule:
    """Returns the rule by which a switch sends packets with another router's tag on toward it."""
    return Rule(Table.TRANSIT, PRIORITY_ROUTER, match(vlan_vid=tag_of(router)), _to_group(tagged))


@cache
def _to_group(number: int) -> Actions:
    """Returns the same object for the same group: a proof works out what equals what by it."""
    return (CLEAR_INGRESS, ToGroup(number))
