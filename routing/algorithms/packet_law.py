"""Laws per packet: choices of source routers that decide for every packet between minimal path and detours.

Routings are published with routers that decide so. Switches cannot: their groups divide flows, and a control
law (`bucket_control`) re-points buckets. What a simulated router shall decide is declared here, beside that.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class PacketRule(enum.Enum):
    """Rule by which a source router chooses the path of a packet."""

    # Minimal, unless the output of the minimal path is occupied beyond a threshold; then a random detour that
    # leaves by the least occupied port.
    THRESHOLD = "threshold"
    # The least of occupancy times hops, over the minimal path and some random detours.
    PRODUCT = "product"
    # The same among the paths whose first global link is not congested, if there are any (piggyback routing:
    # Jiang, Kim and Dally, "Indirect Adaptive Routing on Large Scale Interconnection Networks", ISCA 2009).
    PIGGYBACK = "piggyback"


@dataclass(frozen=True)
class PacketLaw:
    """Law of a routing per packet.

    Attributes:
        rule: its rule.
        shared: keys of those parameters of the routing's control law that hold per packet, too.
    """

    rule: PacketRule
    shared: tuple[str, ...] = ()
