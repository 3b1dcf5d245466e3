"""What a switch does by itself when a port of its is dead: fast-failover groups, one bucket after another.

A group's first bucket is the minimal way. The others go around, mark the packet as repaired and leave it to
the next switch, which sends marked packets on minimally and never around anything (table 4): a packet to a
dead switch would circle between that switch's neighbours otherwise. How to go around is known for ER_q
(`routing.reroute.polarfly`) and searched for in any other graph (`routing.reroute.loop_free_alternates`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from routing.plan.groups import GroupRole, RouterView, group_number
from routing.plan.model import (
    REROUTED_DSCP,
    Actions,
    Bucket,
    DecrementTtl,
    Group,
    GroupKind,
    Output,
    RoutePlan,
    SetField,
    SwitchPlan,
    ToGroup,
)
from topology.faults import Element

MARK = SetField("ip_dscp", REROUTED_DSCP)


@dataclass(frozen=True)
class ProtectedGroups:
    """Groups by which a router sends packets on, each with its ways around.

    Attributes:
        groups: the groups.
        toward: group number toward each router; 0 for the router itself.
        max_extra_hops: how many hops more a packet takes for being sent around, at most.
    """

    groups: tuple[Group, ...]
    toward: tuple[int, ...]
    max_extra_hops: int


@dataclass(frozen=True)
class FastReroute:
    """How one router sends packets on.

    Attributes:
        untagged: packets without a tag, to the router that they are for.
        make_tagged: makes `tagged`.
        unprotected: (destination, link or switch) where no way around what is dead is known.
    """

    untagged: ProtectedGroups
    make_tagged: Callable[[], ProtectedGroups]
    unprotected: tuple[tuple[int, Element], ...] = ()

    @cached_property
    def tagged(self) -> ProtectedGroups:
        """Packets with a tag, to the router that it names; only needed where sources set tags."""
        return self.make_tagged()


# Makes one router's repair.
RerouteMaker = Callable[[RouterView], FastReroute]


def failover_group(number: int, port: int, around: tuple[Bucket, ...]) -> Group:
    """Returns the group that sends by a port, or, while that is dead, by the first way around that is not."""
    return Group(number, GroupKind.FAST_FAILOVER, (by_port(port), *around))


def by_port(port: int, before: Actions = ()) -> Bucket:
    """Returns the bucket that sends by a port after some changes, and is alive while the port is."""
    return Bucket((*before, DecrementTtl(), Output(port)), watch_port=port)


def without_local_repair(plan: RoutePlan) -> RoutePlan:
    """Returns a plan in which all packets go by their port, dead or alive, until the controller acts."""
    switches = tuple(map(_without_ways_around, plan.switches))
    return replace(plan, switches=switches, repair_hops=0, unprotected=())


def _without_ways_around(switch: SwitchPlan) -> SwitchPlan:
    ports = {
        group.number: ToGroup(group_number(GroupRole.PORT, group.buckets[0].watch_port or 0))
        for group in switch.groups
        if group.kind is GroupKind.FAST_FAILOVER
    }

    def straight(actions: Actions) -> Actions:
        return tuple(
            ports.get(action.group, action) if isinstance(action, ToGroup) else action for action in actions
        )

    def all_straight(buckets: tuple[Bucket, ...]) -> tuple[Bucket, ...]:
        return tuple(replace(bucket, actions=straight(bucket.actions), watch_port=None) for bucket in buckets)

    groups = tuple(
        replace(g, buckets=all_straight(g.buckets), candidates=all_straight(g.candidates))
        for g in switch.groups
        if g.number not in ports
    )
    rules = tuple(replace(rule, actions=straight(rule.actions)) for rule in switch.rules)
    return replace(
        switch,
        rules=rules,
        groups=groups,
        untagged_groups=tuple(ports[n].group if n in ports else n for n in switch.untagged_groups),
        tagged_groups=tuple(ports[n].group if n in ports else n for n in switch.tagged_groups),
    )
