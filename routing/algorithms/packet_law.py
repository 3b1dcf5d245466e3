"""Per-packet laws: how source routers that decide per packet choose between the minimal path and detours.

Publications define routings with such routers. Switches cannot decide per packet: their groups divide flows,
and a control law (`bucket_control`) re-points buckets. This module declares the per-packet law of simulated
routers.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class PacketRule(enum.Enum):
    """Rule by which a source router chooses the path of a packet.

    Examples:
        >>> PacketRule("threshold")
        <PacketRule.THRESHOLD: 'threshold'>
    """

    # Minimal, unless the occupancy of the minimal output exceeds a threshold; then a random detour through
    # the least occupied port.
    THRESHOLD = "threshold"
    # The minimum of occupancy times hops, over the minimal path and some random detours.
    PRODUCT = "product"
    # The same among the paths whose first global link is not congested, if there are any (piggyback routing:
    # Jiang, Kim and Dally, "Indirect Adaptive Routing on Large Scale Interconnection Networks", ISCA 2009).
    PIGGYBACK = "piggyback"


@dataclass(frozen=True)
class PacketLaw:
    """The per-packet law of a routing.

    Attributes:
        rule: its rule.
        shared: keys of the control-law parameters that also apply per packet.

    Examples:
        >>> PacketLaw(PacketRule.THRESHOLD, shared=("threshold",)).shared
        ('threshold',)
    """

    rule: PacketRule
    shared: tuple[str, ...] = ()
