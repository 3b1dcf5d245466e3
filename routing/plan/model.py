"""The route plan: all rules and groups of a fabric's switches, as plain data.

A routing builds the plan (`routing.algorithms.minimal`), the verifier proves it by following packets through
it (`routing.verification.verifier`), and the controller installs it (`controller.installer`). Terms are those
of OpenFlow 1.3; field names are those of its OXM fields.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

import numpy as np
import numpy.typing as npt

from topology.base import Topology
from topology.faults import Component

ETH_TYPE_IPV4: Final = 0x0800
ETH_TYPE_ARP: Final = 0x0806
NO_VLAN: Final = 0  # vlan_vid of packets without a tag (OFPVID_NONE)
VLAN_PRESENT: Final = 0x1000  # bit of vlan_vid that marks a packet with a tag (OFPVID_PRESENT)
PORT_INGRESS: Final = 0xFFFFFFF8  # output to the packet's ingress port (OFPP_IN_PORT)

# Fields whose values are addresses.
IP_FIELDS: Final = frozenset({"ipv4_src", "ipv4_dst", "arp_spa", "arp_tpa"})
MAC_FIELDS: Final = frozenset({"eth_src", "eth_dst", "arp_sha", "arp_tha"})

# The upper bits of every rule's cookie distinguish our rules from those of others; the rest is a fingerprint
# of the rule. Two rules of a switch must not share a fingerprint; with 32 bits, some of the two million rules
# of a large fabric would.
FINGERPRINT_BITS: Final = 48
COOKIE_MARK: Final = 0x504F << FINGERPRINT_BITS

# The mark of a rerouted packet, which is never rerouted again: a DSCP for experiments and local use (RFC
# 2474, section 6, pool 2).
REROUTED_DSCP: Final = 0b000011


class Table(enum.IntEnum):
    """The tables of a switch, in the order in which packets pass them.

    Examples:
        >>> [table.name for table in Table if table <= Table.MINIMAL]
        ['INGRESS', 'SOURCE', 'TRANSIT', 'AFTER_TAG', 'MINIMAL']
    """

    INGRESS = 0
    SOURCE = 1
    TRANSIT = 2
    AFTER_TAG = 3  # empty in plans whose packets continue minimally after their tag is popped
    MINIMAL = 4
    MARKED = 5
    NOTES = 6  # never reached by packets: a controller leaves notes for its successor here


@dataclass(frozen=True, slots=True)
class FieldMatch:
    """One field of a match: a value under a mask, or an exact value if the mask is None."""

    field: str
    value: int
    mask: int | None = None


Match = tuple[FieldMatch, ...]


def match(**fields: int | tuple[int, int]) -> Match:
    """Returns the match for packets whose fields all have the given values.

    Args:
        **fields: OXM field name -> value, or (value, mask).
    """
    return tuple(
        FieldMatch(name, *value) if isinstance(value, tuple) else FieldMatch(name, value)
        for name, value in fields.items()
    )


# ---- actions, applied in the order of their list ----


@dataclass(frozen=True, slots=True)
class Output:
    """Output to a port; output to the packet's own ingress port requires PORT_INGRESS as the port."""

    port: int


@dataclass(frozen=True, slots=True)
class ToGroup:
    """Processing by a group.

    Examples:
        >>> Bucket((ToGroup(7),)).actions
        (ToGroup(group=7),)
    """

    group: int


@dataclass(frozen=True, slots=True)
class SetField:
    """Assignment of a constant to a field, which may be `in_port`."""

    field: str
    value: int


@dataclass(frozen=True, slots=True)
class CopyBits:
    """Copy of the low `bits` bits of one field to the low bits of another (Nicira's register move)."""

    source: str
    target: str
    bits: int


@dataclass(frozen=True, slots=True)
class LoadBits:
    """Assignment of a constant to `bits` bits of a field, from bit `offset` on (Nicira's register load)."""

    target: str
    offset: int
    bits: int
    value: int


@dataclass(frozen=True, slots=True)
class PushVlan:
    """Addition of an empty VLAN tag."""


@dataclass(frozen=True, slots=True)
class PopVlan:
    """Removal of the outermost VLAN tag."""


@dataclass(frozen=True, slots=True)
class DecrementTtl:
    """Decrement of the IPv4 time to live by one; the TTL of a probe counts its hops between routers."""


Action = Output | ToGroup | SetField | CopyBits | LoadBits | PushVlan | PopVlan | DecrementTtl
Actions = tuple[Action, ...]


# ---- rules and groups of a switch ----


@dataclass(frozen=True, slots=True)
class Rule:
    """One flow entry: applies its actions, then continues in table `goto`; with neither, drops the packet.

    Attributes:
        table: the table that contains the rule.
        priority: of the rules that match a packet, the one with the highest priority applies.
        match: the fields that a packet must have; empty for all packets.
        actions: the actions, in the order of application.
        goto: the table in which the packet continues, or None.

    Examples:
        Packets to any host continue along minimal paths:

        >>> rule = Rule(Table.SOURCE, PRIORITY_ROUTER, TO_ANY_HOST, goto=Table.MINIMAL)
        >>> rule.priority, rule.actions, rule.goto
        (100, (), <Table.MINIMAL: 4>)
    """

    table: Table
    priority: int
    match: Match
    actions: Actions = ()
    goto: Table | None = None


class GroupKind(enum.Enum):
    """The kinds of groups, by how they select a packet's bucket.

    Examples:
        >>> [kind.value for kind in GroupKind]
        ['indirect', 'select', 'fast-failover']
    """

    INDIRECT = "indirect"  # its only bucket
    SELECT = "select"  # a bucket chosen by a hash of the packet
    FAST_FAILOVER = "fast-failover"  # the first bucket whose watched port is up


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket of a group: a list of actions that the group may choose for a packet.

    Attributes:
        actions: the actions, in the order of application.
        watch_port: the bucket is alive while this port is up; None for always.
        weight: weight of the bucket in a select group, relative to the other buckets.

    Examples:
        A detour: packets get a tag for router 4 and continue with group 7.

        >>> detour = Bucket((*push_tag(4), ToGroup(7)))
        >>> detour.actions[-1], detour.weight
        (ToGroup(group=7), 1)
    """

    actions: Actions
    watch_port: int | None = None
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Group:
    """An entry of a switch's group table.

    Attributes:
        number: the group's id on its switch.
        kind: how the group selects a bucket.
        buckets: the buckets to select from.
        candidates: for a group that a controller adapts, all buckets that it may use, the minimal path first;
            empty for other groups.
        hops: for each candidate, the mean hops to the group's destinations; empty unless the adaptive
            law needs them.
        ports: for each candidate, the ports on which its packets leave, in equal shares, while they are up.
        far_ports: for each candidate, ports of this or other switches, each as (router, port), whose
            occupancies the law also needs; empty if it needs none.

    Examples:
        >>> halves = Group(1, GroupKind.SELECT, (Bucket((ToGroup(7),)), Bucket((ToGroup(8),))))
        >>> [bucket.actions for bucket in halves.buckets]
        [(ToGroup(group=7),), (ToGroup(group=8),)]
    """

    number: int
    kind: GroupKind
    buckets: tuple[Bucket, ...]
    candidates: tuple[Bucket, ...] = ()
    hops: tuple[float, ...] = ()
    ports: tuple[tuple[int, ...], ...] = ()
    far_ports: tuple[tuple[tuple[int, int], ...], ...] = ()

    def different_actions(self) -> Iterable[Actions]:
        """Returns the actions of all buckets and candidates, each object once."""
        return {id(b.actions): b.actions for b in (*self.buckets, *self.candidates)}.values()


class Columns(Protocol):
    """The rules and groups of one switch in columns, from which objects are built when they are needed."""

    def build_rules(self) -> tuple[Rule, ...]:
        """Builds the rules of the switch, in order."""

    def build_groups(self) -> tuple[Group, ...]:
        """Builds the groups of the switch, in order."""

    def counts(self) -> tuple[int, int, int]:
        """Counts the rules, the groups and the buckets of these groups."""


@dataclass(frozen=True)
class SwitchPlan:
    """The rules and groups of one router's switch.

    If a switch was built from columns, its rules and groups are built when they are first read. Copies with
    other rules or groups have no columns.

    Attributes:
        router: the router, 0 .. N - 1.
        rules: flow entries of all tables.
        groups: group entries.
        untagged_groups: number of the group for untagged packets to each router, in router order; 0 for the
            router itself.
        tagged_groups: number of the group for packets whose tag names each router; 0 for a router that no tag
            names; empty if no packet has a tag.
    """

    router: int
    rules: tuple[Rule, ...]
    groups: tuple[Group, ...]
    untagged_groups: tuple[int, ...] = ()
    tagged_groups: tuple[int, ...] = ()
    columns: ClassVar[Columns | None] = None  # set on instances that `of_columns` returns

    @classmethod
    def of_columns(
        cls, router: int, columns: Columns, untagged_groups: tuple[int, ...], tagged_groups: tuple[int, ...]
    ) -> SwitchPlan:
        """Returns the plan of a switch whose rules and groups are given as columns.

        Args:
            router: the router, 0 .. N - 1.
            columns: its rules and groups.
            untagged_groups: see the class.
            tagged_groups: see the class.
        """
        switch = cls.__new__(cls)
        vars(switch).update(
            router=router, columns=columns, untagged_groups=untagged_groups, tagged_groups=tagged_groups
        )
        return switch

    if not TYPE_CHECKING:  # unknown names remain errors for the type checker

        def __getattr__(self, name: str) -> Any:
            """Builds rules or groups from columns on first access."""
            if name not in {"rules", "groups"} or self.columns is None:
                raise AttributeError(f"{type(self).__name__} has no attribute {name}")
            vars(self)[name] = self.columns.build_rules() if name == "rules" else self.columns.build_groups()
            return vars(self)[name]

    def counts(self) -> tuple[int, int, int]:
        """Counts the rules, the groups and the buckets of these groups."""
        if self.columns is not None:
            return self.columns.counts()
        return len(self.rules), len(self.groups), sum(len(group.buckets) for group in self.groups)


@dataclass(frozen=True, repr=False)
class RoutePlan:
    """The rules and groups of all switches of a fabric, and the bounds on packets' hops that they keep.

    Attributes:
        topology: the fabric's graph.
        hosts_per_router: p, the number of hosts at each router that has any.
        routing: the name of the routing that built the plan.
        switches: one plan per router, in router order.
        hop_bound: distances of router pairs (int16 array) -> the maximum number of hops of a packet between
            them without failures (int16 array of the same shape).
        repair_hops: the maximum number of additional hops of a packet while one link or switch has failed.
        unprotected: (router, destination, link or switch): while that component is dead, the router's switch
            has no alternate toward the destination, and its packets are lost until the controller acts.

    Examples:
        >>> valiant = plan(topology("polarfly", q=3), "valiant", hosts=2)
        >>> valiant
        <plan of valiant for polarfly: 13 switches, 958 rules, 205 groups>
        >>> valiant.repair_hops, valiant.size().flows_per_switch_max
        (3, 74)
    """

    topology: Topology
    hosts_per_router: int
    routing: str
    switches: tuple[SwitchPlan, ...]
    hop_bound: Callable[[npt.NDArray[np.int16]], npt.NDArray[np.int16]]
    repair_hops: int = 0
    unprotected: tuple[tuple[int, int, Component], ...] = ()

    def __repr__(self) -> str:
        """Returns the routing, the graph and the plan's size; all rules would be thousands of lines."""
        size = self.size()
        return (
            f"<plan of {self.routing} for {self.topology.name}: {len(self.switches)} switches, "
            f"{size.flows} rules, {size.groups} groups>"
        )

    def size(self) -> PlanSize:
        """Counts the rules, groups and buckets, in total and for the largest switch."""
        flows, groups, buckets = zip(*(switch.counts() for switch in self.switches), strict=True)
        return PlanSize(
            flows=sum(flows),
            groups=sum(groups),
            flows_per_switch_max=max(flows),
            groups_per_switch_max=max(groups),
            buckets_per_switch_max=max(buckets),
        )


@dataclass(frozen=True)
class PlanSize:
    """How many flow entries, groups and buckets a plan has.

    Attributes:
        flows: rules of all switches.
        groups: groups of all switches.
        flows_per_switch_max: maximum number of rules of a switch.
        groups_per_switch_max: maximum number of groups of a switch.
        buckets_per_switch_max: maximum number of buckets of a switch, over all its groups.
    """

    flows: int
    groups: int
    flows_per_switch_max: int
    groups_per_switch_max: int
    buckets_per_switch_max: int
