"""Fast reroute (RFC 5714): groups with alternates that a switch uses by itself when a port is dead.

The first bucket of a group is the minimal path. The other buckets are alternates: they mark the packet as
rerouted and send it to the next switch, which forwards marked packets minimally and never reroutes them
(table 4); otherwise packets to a dead switch would loop between that switch's neighbours. Alternates of
packets with a routing's tag change the tag instead of marking. Families with known alternates are registered
in `routing.families`; for any other graph, alternates are searched (`routing.reroute.loop_free_alternates`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

from routing.plan.groups import GroupRole, RouterView, group_number, push_tag
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
from routing.plan.tables import tag_of
from topology.faults import Component

MARK = SetField("ip_dscp", REROUTED_DSCP)


@dataclass(frozen=True)
class ProtectedGroups:
    """The groups by which a router forwards packets minimally, each with its alternates.

    Attributes:
        groups: the groups, possibly in columns.
        group_toward: number of the group toward each router, in router order; 0 for the router itself.
        max_extra_hops: the maximum number of hops that an alternate adds to a packet's path.
    """

    groups: Sequence[Group]
    group_toward: tuple[int, ...]
    max_extra_hops: int


@dataclass(frozen=True)
class FastReroute:
    """The protected groups of one router.

    Attributes:
        untagged: groups for untagged packets, by destination router.
        make_tagged: builds `tagged`, which only routings whose sources push tags need.
        unprotected: (destination, link or switch): while that component is dead, the router has no alternate
            toward the destination.

    Examples:
        >>> seen = []
        >>> def source_table(view, reroute):
        ...     seen.append(reroute)
        ...     return SourceTable(choices=reroute.untagged.group_toward)
        >>> graph = make_topology("polarfly", {"q": 3})
        >>> plan = compile_plan(graph, 1, "mine", lambda distances: distances, source_table)
        >>> seen[2].untagged.max_extra_hops, seen[2].unprotected
        (3, ())
    """

    untagged: ProtectedGroups
    make_tagged: Callable[[], ProtectedGroups]
    unprotected: tuple[tuple[int, Component], ...] = ()

    @cached_property
    def tagged(self) -> ProtectedGroups:
        """The groups for tagged packets, by the router that the tag names."""
        return self.make_tagged()


# Builds the fast reroute of one router.
RerouteMaker = Callable[[RouterView], FastReroute]


def failover_group(number: int, port: int, alternates: tuple[Bucket, ...]) -> Group:
    """Returns the group that outputs to a port or, while that is dead, uses the first live alternate.

    Args:
        number: number of the group.
        port: the minimal port.
        alternates: the buckets to use instead, in order of preference.
    """
    return Group(number, GroupKind.FAST_FAILOVER, (alternate_bucket(port), *alternates))


@cache
def alternate_bucket(port: int, mark: bool = False, tag: int | None = None) -> Bucket:
    """Returns the bucket that outputs to a fabric port as an alternate; all routers share one object.

    Args:
        port: the port.
        mark: whether packets are marked as rerouted.
        tag: the router whose tag packets get: pushed if packets are marked, otherwise replacing the tag that
            they have; None to leave packets as they are.
    """
    changes: Actions = ()
    if mark:
        changes = (MARK,) if tag is None else (MARK, *push_tag(tag))
    elif tag is not None:
        changes = (SetField("vlan_vid", tag_of(tag)),)
    return Bucket((*changes, DecrementTtl(), Output(port)), watch_port=port)


def alternates_for_dead_port(groups: Mapping[int, Group], number: int, port: int) -> tuple[Bucket, ...]:
    """Returns the buckets of a protected group that packets use while a port is dead.

    Args:
        groups: the protected groups of a router, by number.
        number: number of the group.
        port: the dead port.

    Returns:
        Buckets that watch other ports, in order of preference, each once.
    """
    group = groups.get(number)
    if group is None:
        return ()
    buckets: dict[Bucket, None] = {}
    for bucket in group.buckets:
        if bucket.watch_port is not None:
            buckets[bucket] = None
        else:
            for action in bucket.actions:
                if isinstance(action, ToGroup):
                    buckets |= dict.fromkeys(alternates_for_dead_port(groups, action.group, port))
    return tuple(bucket for bucket in buckets if bucket.watch_port != port)


def without_local_repair(plan: RoutePlan) -> RoutePlan:
    """Returns a plan without alternates: packets leave on the minimal port, dead or alive.

    Args:
        plan: a plan with fast reroute; the user interface calls this local repair.
    """
    switches = tuple(map(_without_alternates, plan.switches))
    return replace(plan, switches=switches, repair_hops=0, unprotected=())


def _without_alternates(switch: SwitchPlan) -> SwitchPlan:
    port_groups = {
        group.number: ToGroup(group_number(GroupRole.PORT, group.buckets[0].watch_port or 0))
        for group in switch.groups
        if group.kind is GroupKind.FAST_FAILOVER
    }

    def minimal(actions: Actions) -> Actions:
        return tuple(
            port_groups.get(action.group, action) if isinstance(action, ToGroup) else action
            for action in actions
        )

    made: dict[int, tuple[Bucket, Bucket]] = {}  # many groups share a bucket, by its identity

    def one_minimal(bucket: Bucket) -> Bucket:
        if id(bucket) not in made:
            made[id(bucket)] = bucket, replace(bucket, actions=minimal(bucket.actions), watch_port=None)
        return made[id(bucket)][1]

    def all_minimal(buckets: tuple[Bucket, ...]) -> tuple[Bucket, ...]:
        return tuple(map(one_minimal, buckets))

    groups = tuple(
        replace(g, buckets=all_minimal(g.buckets), candidates=all_minimal(g.candidates))
        for g in switch.groups
        if g.number not in port_groups
    )
    rules = tuple(replace(rule, actions=minimal(rule.actions)) for rule in switch.rules)
    return replace(
        switch,
        rules=rules,
        groups=groups,
        untagged_groups=tuple(
            port_groups[n].group if n in port_groups else n for n in switch.untagged_groups
        ),
        tagged_groups=tuple(port_groups[n].group if n in port_groups else n for n in switch.tagged_groups),
    )
