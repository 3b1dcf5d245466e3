"""The effect of actions on packets, represented as plain fields, and the outcomes of a packet's arrival."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Final

from routing.plan.model import (
    PORT_INGRESS,
    VLAN_PRESENT,
    Action,
    Actions,
    CopyBits,
    DecrementTtl,
    LoadBits,
    PopVlan,
    PushVlan,
    SetField,
)
from routing.verification.proof import PlanError

Packet = dict[str, int]  # OXM field name -> value; absent fields are not in the packet


@dataclass(frozen=True, slots=True)
class Emission:
    """A packet that leaves the switch through a port."""

    port: int
    packet: Packet


Outcome = tuple[Emission, ...]  # all packets that a switch sends after one arrival; () if it drops the packet
Shared = list[tuple[float, Outcome]]  # outcomes, each with the share of packets that have it
ALL_DROPPED: Final[Shared] = [(1.0, ())]  # all packets are dropped


def both(first: Shared, second: Shared) -> Shared:
    """Returns the outcomes of two independent steps together: each pair of their outcomes is one outcome.

    Its share is the product of both shares, and it sends the packets of both.

    Args:
        first: the outcomes of the first step.
        second: the outcomes of the second step.
    """
    if first is ALL_DROPPED:
        return second
    return [(p * q, a + b) for (p, a), (q, b) in product(first, second)]


def send(port: int, packet: Packet, failed_ports: frozenset[int]) -> Outcome:
    """Returns the outcome of sending a packet to a port; the packet is lost if the port is down.

    A packet sent to the number of the port by which it came in is lost, too: only PORT_INGRESS sends it back.

    Args:
        port: the port, or PORT_INGRESS.
        packet: the packet's fields.
        failed_ports: the ports that are down.
    """
    in_port = packet["in_port"]
    target = in_port if port == PORT_INGRESS else port
    if target in failed_ports or port == in_port:
        return ()
    return (Emission(target, dict(packet)),)


def rewritten(actions: Actions, packet: Packet) -> Packet:
    """Returns a packet after some rewrites.

    Args:
        actions: rewrites of fields.
        packet: the packet's fields, which are not modified.
    """
    changed = dict(packet)
    for action in actions:
        rewrite(action, changed)
    return changed


def rewrite(action: Action, packet: Packet) -> None:
    """Applies one rewrite to a packet's fields, in place.

    Args:
        action: the rewrite.
        packet: the packet's fields.

    Raises:
        PlanError: the action is not a rewrite.
    """
    match action:
        case SetField(field, value):
            packet[field] = value
        case CopyBits(source, target, bits):
            low = (1 << bits) - 1
            packet[target] = packet.get(target, 0) & ~low | packet[source] & low
        case LoadBits(target, offset, bits, value):
            window = ((1 << bits) - 1) << offset
            packet[target] = packet.get(target, 0) & ~window | value << offset
        case PushVlan():
            packet["vlan_vid"] = VLAN_PRESENT
        case PopVlan():
            packet["vlan_vid"] = 0
        case DecrementTtl():
            packet["ip_ttl"] -= 1
        case _:
            raise PlanError(f"unknown action in a rule or bucket: {action}")
