"""What a switch does by itself when a port of its is dead: fast-failover groups, one bucket after another.

A group's first bucket is the minimal way. The others go around, mark the packet as repaired and leave it to
the next switch, which sends marked packets on minimally and never around anything (table 4): a packet to a
dead switch would circle between that switch's neighbours otherwise. How to go around is the topology's
matter; where nothing is known for one, packets for a dead port are lost until the controller acts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from controller.plan import (
    REPAIRED_DSCP,
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
from controller.router_view import Block, RouterView, group_number
from topology.graph import Topology

MARK = SetField("ip_dscp", REPAIRED_DSCP)


@dataclass(frozen=True)
class Repair:
    """The groups by which one router sends packets on, each with its ways around.

    Attributes:
        groups: the groups.
        onward: group number for packets that are to reach each router; 0 for the router itself.
        tagged: group number for packets whose tag names each router; 0 for the router itself.
    """

    groups: tuple[Group, ...]
    onward: tuple[int, ...]
    tagged: tuple[int, ...]


# Makes one router's repair.
RepairMaker = Callable[[RouterView], Repair]


def failover_group(number: int, port: int, around: tuple[Bucket, ...]) -> Group:
    """Returns the group that sends by a port, or, while that is dead, by the first way around that is not."""
    return Group(number, GroupKind.FAST_FAILOVER, (by_port(port), *around))


def by_port(port: int, before: Actions = ()) -> Bucket:
    """Returns the bucket that sends by a port after some changes, and is alive while the port is."""
    return Bucket((*before, DecrementTtl(), Output(port)), watch_port=port)


def no_repair(view: RouterView) -> Repair:
    """Returns groups without any way around: those of the ports."""
    return Repair((), view.ports, view.ports)


def without_local_repair(plan: RoutePlan) -> RoutePlan:
    """Returns a plan in which all packets go by their port, dead or alive, until the controller acts."""
    return replace(plan, switches=tuple(map(_without_ways_around, plan.switches)))


def _without_ways_around(switch: SwitchPlan) -> SwitchPlan:
    ports = {
        group.number: ToGroup(group_number(Block.PORT, group.buckets[0].watch_port or 0))
        for group in switch.groups
        if group.kind is GroupKind.FAST_FAILOVER
    }

    def straight(actions: Actions) -> Actions:
        return tuple(
            ports.get(action.group, action) if isinstance(action, ToGroup) else action for action in actions
        )

    def all_straight(buckets: tuple[Bucket, ...]) -> tuple[Bucket, ...]:
        return tuple(replace(bucket, actions=straight(bucket.actions)) for bucket in buckets)

    groups = tuple(
        replace(g, buckets=all_straight(g.buckets), alternatives=all_straight(g.alternatives))
        for g in switch.groups
        if g.number not in ports
    )
    rules = tuple(replace(rule, actions=straight(rule.actions)) for rule in switch.rules)
    return replace(switch, rules=rules, groups=groups)


def repair_maker(topology: Topology) -> RepairMaker:
    """Returns what makes the repairs of a topology's routers."""
    from controller import polarfly_repair
    from topology.polarfly import PolarFly

    return polarfly_repair.repair if isinstance(topology, PolarFly) else no_repair
