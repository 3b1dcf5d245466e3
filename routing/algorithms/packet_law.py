"""Per-packet laws: how source routers that decide per packet choose between the minimal path and detours.

Publications define routings with such routers. Switches cannot decide per packet: their groups divide flows,
and a control law (`bucket_control`) re-points buckets. This module declares the per-packet law of simulated
routers.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from topology.parameters import Parameter

LEAST_OCCUPIED, RANDOM = "least-occupied", "random"
CHANNEL, PORT = "channel", "port"

NEIGHBOUR = Parameter(
    name="neighbour",
    type=str,
    help="neighbour through which a detour starts",
    choices=lambda: (LEAST_OCCUPIED, RANDOM),
    default=LEAST_OCCUPIED,
)
BUFFER = Parameter(
    name="buffer",
    type=str,
    help="buffer that the threshold is a share of, in simulations with credits: one virtual channel's or the "
    "port's; ports of switches have one queue",
    choices=lambda: (CHANNEL, PORT),
    default=CHANNEL,
)


class PacketRule(enum.Enum):
    """Rule by which a source router chooses the path of a packet.

    Examples:
        >>> PacketRule("threshold")
        <PacketRule.THRESHOLD: 'threshold'>
    """

    # Minimal, unless the occupancy of the minimal output exceeds a threshold; then a random detour through
    # the least occupied port, or through a random one.
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
        own: parameters that apply only per packet; switches ignore them.

    Examples:
        >>> PacketLaw(PacketRule.THRESHOLD, shared=("threshold",)).shared
        ('threshold',)
    """

    rule: PacketRule
    shared: tuple[str, ...] = ()
    own: tuple[Parameter, ...] = ()
