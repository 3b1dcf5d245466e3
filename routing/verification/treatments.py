"""Treatments of packets by rules, groups and buckets: possible outcomes, with their shares of the packets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from routing.verification.packet_actions import Packet, Shared
from routing.verification.rules import Numbers

# Outcomes, and the ports whose state mattered.
Branches = tuple[Shared, frozenset[int]]


class BucketOutcomes(NamedTuple):
    """The possible outcomes of a bucket.

    Attributes:
        outcomes: with their shares of the bucket's packets.
        adapted: with the share 0, for a bucket that only an adaptation may choose.
        ports: the ports whose state mattered.
        parts: `outcomes` with their shares of the packets of a group, by the weights of bucket and group.
    """

    outcomes: Shared
    adapted: Shared
    ports: frozenset[int]
    parts: dict[tuple[int, int], Shared]

    def shared(self, weight: int, total: int) -> Shared:
        """Returns the outcomes with their shares of the packets of a group.

        Groups that give the bucket the same part get the same objects, by which what follows is found again.

        Args:
            weight: the weight of the bucket.
            total: the sum of the weights of the group's buckets.
        """
        part = self.parts.get((weight, total))
        if part is None:
            part = [(share * weight / total, outcome) for share, outcome in self.outcomes]
            self.parts[weight, total] = part
        return part


# What buckets that lead to no group do: by the packet, then by the numbers of the facts about their actions.
KnownOutcomes = dict[tuple[object, ...], dict[int, BucketOutcomes]]


@dataclass(frozen=True, eq=False, slots=True)
class Arrival:
    """A packet at groups of a switch under a failure of some ports, and its treatment as far as known.

    Attributes:
        packet: its fields.
        failed_ports: the ports that are down.
        shared: the treatment by buckets that lead to no group, by the numbers of the facts about their
            actions, on all switches.
        by_group: the treatment by groups, by their numbers.
        by_actions: that by buckets, by the identity of their actions, which the plan keeps.
    """

    packet: Packet
    failed_ports: frozenset[int]
    shared: dict[int, BucketOutcomes]
    by_group: dict[int, Branches] = field(default_factory=dict)
    by_actions: dict[int, BucketOutcomes] = field(default_factory=dict)


class Treatment(NamedTuple):
    """The treatment of a packet to some destinations.

    Attributes:
        destinations: their numbers in the rule book.
        outcomes: every possible outcome with the share of packets that have it; 0 if only an adaptation may
            choose it.
        ports: the ports whose state mattered.
    """

    destinations: Numbers
    outcomes: Shared
    ports: frozenset[int]


class Handover(NamedTuple):
    """The handing over of a packet to groups, by the last action of rules, and nothing else.

    Attributes:
        destinations: the numbers of the packet's possible destinations in the rule book.
        groups: for each of these, the number of the group that the packet is handed over to.
        arrival: the packet, as it comes to the groups.
    """

    destinations: Numbers
    groups: Numbers
    arrival: Arrival
