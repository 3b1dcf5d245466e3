"""A route plan: everything that a fabric's switches shall hold, as plain data.

Nothing here speaks to a switch or imports a controller framework: a plan is made by a routing
(`routing.algorithms.minimal`), proven by walking it (`routing.verification.verifier`) and then installed
(`controller.installer`). The words are OpenFlow 1.3's; field names are those of its OXM fields.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from topology.base import Topology
from topology.faults import Element

ETH_TYPE_IPV4: Final = 0x0800
ETH_TYPE_ARP: Final = 0x0806
NO_VLAN: Final = 0  # value of vlan_vid that matches packets without a tag (OFPVID_NONE)
VLAN_PRESENT: Final = 0x1000  # set in vlan_vid beside the id of a tag (OFPVID_PRESENT)
PORT_INGRESS: Final = 0xFFFFFFF8  # output to the port that the packet came in by (OFPP_IN_PORT)

# The fields whose values are addresses.
IP_FIELDS: Final = frozenset({"ipv4_src", "ipv4_dst", "arp_spa", "arp_tpa"})
MAC_FIELDS: Final = frozenset({"eth_src", "eth_dst", "arp_sha", "arp_tha"})

# The upper bits of every rule's cookie, so that our rules can be told from others'. The rest is a fingerprint
# of the rule: no two of a switch's rules may have the same, and with 32 bits some of the two million rules of
# a large fabric would.
FINGERPRINT_BITS: Final = 48
COOKIE_MARK: Final = 0x504F << FINGERPRINT_BITS

# The DSCP of a packet that a switch has sent around a dead link: it is not sent around another. One of the
# values for experiments and local use (RFC 2474, section 6: pool 2).
REROUTED_DSCP: Final = 0b000011


class Table(enum.IntEnum):
    """The pipeline's tables."""

    INGRESS = 0
    SOURCE = 1
    TRANSIT = 2
    MINIMAL = 3
    MARKED = 4
    NOTES = 5  # no packet gets here: what a controller leaves for the next one


@dataclass(frozen=True, slots=True)
class FieldMatch:
    """One field of a match: `value` under `mask`, or exactly `value` where `mask` is None."""

    field: str
    value: int
    mask: int | None = None


Match = tuple[FieldMatch, ...]


def match(**fields: int | tuple[int, int]) -> Match:
    """Returns a match; each argument is a field's value or its (value, mask)."""
    return tuple(
        FieldMatch(name, *value) if isinstance(value, tuple) else FieldMatch(name, value)
        for name, value in fields.items()
    )


# ---- actions, applied in the order of their list ----


@dataclass(frozen=True, slots=True)
class Output:
    """Sends the packet out of a port; to its own ingress port only as PORT_INGRESS."""

    port: int


@dataclass(frozen=True, slots=True)
class ToGroup:
    """Hands the packet to a group."""

    group: int


@dataclass(frozen=True, slots=True)
class SetField:
    """Sets a field, `in_port` included."""

    field: str
    value: int


@dataclass(frozen=True, slots=True)
class CopyBits:
    """Copies the low `bits` bits of one field over those of another (Nicira's register move)."""

    source: str
    target: str
    bits: int


@dataclass(frozen=True, slots=True)
class LoadBits:
    """Writes a constant into `bits` bits of a field from bit `offset` (Nicira's register load)."""

    target: str
    offset: int
    bits: int
    value: int


@dataclass(frozen=True, slots=True)
class PushVlan:
    """Adds an empty VLAN tag."""


@dataclass(frozen=True, slots=True)
class PopVlan:
    """Removes the outermost VLAN tag."""


@dataclass(frozen=True, slots=True)
class DecrementTtl:
    """Takes one from the IPv4 time to live: a probe's TTL counts the hops between routers."""


Action = Output | ToGroup | SetField | CopyBits | LoadBits | PushVlan | PopVlan | DecrementTtl
Actions = tuple[Action, ...]


# ---- what a switch holds ----


@dataclass(frozen=True, slots=True)
class Rule:
    """One flow entry: apply `actions`, then go on in table `goto`; neither means drop."""

    table: Table
    priority: int
    match: Match
    actions: Actions = ()
    goto: Table | None = None


class GroupKind(enum.Enum):
    """How a group picks among its buckets."""

    INDIRECT = "indirect"  # the only one
    SELECT = "select"  # one by a hash of the packet
    FAST_FAILOVER = "fast-failover"  # the first whose watched port is up


@dataclass(frozen=True, slots=True)
class Bucket:
    """One choice of a group; alive while `watch_port` is up, or always where that is None."""

    actions: Actions
    watch_port: int | None = None
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Group:
    """A group entry.

    Attributes:
        number: its id on its switch.
        kind: how it picks.
        buckets: what it picks among.
        candidates: where a controller adapts the group, everything that one of its buckets may ever be; the
            minimal path comes first.
        hops: how many hops each candidate takes to the group's destinations, on average.
        ports: by which ports, equally, each candidate leaves while they are up.
    """

    number: int
    kind: GroupKind
    buckets: tuple[Bucket, ...]
    candidates: tuple[Bucket, ...] = ()
    hops: tuple[float, ...] = ()
    ports: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class SwitchPlan:
    """What one router's switch shall hold.

    Attributes:
        router: whose switch.
        rules, groups: what it holds.
        untagged_groups: number of the group that serves untagged packets to each router, in router order; 0
            for the router itself.
        tagged_groups: number of the group that serves packets whose tag names each router; 0 for a router
            that no tag names, and empty where no packet has a tag.
    """

    router: int
    rules: tuple[Rule, ...]
    groups: tuple[Group, ...]
    untagged_groups: tuple[int, ...] = ()
    tagged_groups: tuple[int, ...] = ()


@dataclass(frozen=True)
class RoutePlan:
    """What all switches of a fabric shall hold, and what that promises.

    Attributes:
        topology: the fabric's graph.
        concentration: p.
        routing: the name of the routing that made the plan.
        switches: one plan per router, in router order.
        hop_bound: given the distances of router pairs (int array), the most hops that a packet may
            take between them while nothing has failed.
        repair_hops: how many more it may take while something has.
        unprotected: (router, destination, link or switch): while that is dead, the router's switch knows no
            way to the destination until a controller acts.
    """

    topology: Topology
    concentration: int
    routing: str
    switches: tuple[SwitchPlan, ...]
    hop_bound: Callable[[npt.NDArray[np.int16]], npt.NDArray[np.int16]]
    repair_hops: int = 0
    unprotected: tuple[tuple[int, int, Element], ...] = ()

    def size(self) -> PlanSize:
        """Returns the largest and the total numbers of rules, groups and buckets."""
        buckets = [sum(len(g.buckets) for g in s.groups) for s in self.switches]
        return PlanSize(
            flows=sum(len(s.rules) for s in self.switches),
            groups=sum(len(s.groups) for s in self.switches),
            flows_per_switch_max=max(len(s.rules) for s in self.switches),
            groups_per_switch_max=max(len(s.groups) for s in self.switches),
            buckets_per_switch_max=max(buckets),
        )


@dataclass(frozen=True)
class PlanSize:
    """Numbers of flow entries, groups and buckets of a plan."""

    flows: int
    groups: int
    flows_per_switch_max: int
    groups_per_switch_max: int
    buckets_per_switch_max: int
