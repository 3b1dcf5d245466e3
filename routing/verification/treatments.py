"""Treatments of packets by rules, groups and buckets: possible outcomes, with their shares of the packets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from routing.verification.packet_actions import Packet, Shared
from routing.verification.rules import Numbers

# Outcomes, and the ports on whose state they depend.
Branches = tuple[Shared, frozenset[int]]


class BucketOutcomes(NamedTuple):
    """The possible outcomes of a bucket.

    Attributes:
        outcomes: the outcomes with their shares of the bucket's packets.
        adapted: the outcomes with share 0, for a bucket that only an adaptation may choose.
        ports: the ports on whose state the outcomes depend.
        parts: cache of the results of `shared`, by (weight of the bucket, total weight).
    """

    outcomes: Shared
    adapted: Shared
    ports: frozenset[int]
    parts: dict[tuple[int, int], Shared]

    def shared(self, weight: int, total: int) -> Shared:
        """Returns the outcomes; their shares are of all packets of a group, not of the bucket's packets.

        Groups with the same bucket weight and total get the same objects, so that later steps can be
        cached.

        Args:
            weight: the weight of the bucket.
            total: the sum of the weights of the group's buckets.
        """
        part = self.parts.get((weight, total))
        if part is None:
            part = [(share * weight / total, outcome) for share, outcome in self.outcomes]
            self.parts[weight, total] = part
        return part


# Outcomes of buckets without groups: by the packet, then by the number of the facts about their actions.
KnownOutcomes = dict[tuple[object, ...], dict[int, BucketOutcomes]]


@dataclass(frozen=True, eq=False, slots=True)
class Arrival:
    """A packet that reaches the groups of a switch while some ports are down, and what is known about it.

    Attributes:
        packet: its fields.
        failed_ports: the ports that are down.
        shared: the outcomes of buckets without groups, by the number of the facts about their actions; shared
            by all switches.
        by_group: the treatment by each group, by number.
        by_actions: the outcomes of buckets, by the identity of their actions, which the plan keeps alive.
    """

    packet: Packet
    failed_ports: frozenset[int]
    shared: dict[int, BucketOutcomes]
    by_group: dict[int, Branches] = field(default_factory=dict)
    by_actions: dict[int, BucketOutcomes] = field(default_factory=dict)


class Treatment(NamedTuple):
    """The possible outcomes of a packet's arrival at a switch, for destinations with equal outcomes.

    Attributes:
        destinations: the numbers of these destinations in the rule book.
        outcomes: every possible outcome with the share of packets that have it; 0 if only an adaptation may
            choose it.
        ports: the ports on whose state the outcomes depend.
    """

    destinations: Numbers
    outcomes: Shared
    ports: frozenset[int]


class Handover(NamedTuple):
    """A packet that rules only rewrite and then pass to a group that depends on the destination.

    Attributes:
        destinations: the numbers of the packet's possible destinations in the rule book.
        groups: for each destination, the number of the group to which the packet is passed.
        arrival: the packet as it reaches the groups.
    """

    destinations: Numbers
    groups: Numbers
    arrival: Arrival
