"""The actions of a rule or a bucket on packets as plain fields, and the outcomes of a packet's arrival."""

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

Packet = dict[str, int]  # OXM field name -> value; fields that the packet does not have are absent


@dataclass(frozen=True, slots=True)
class Emission:
    """A packet that leaves the switch by a port."""

    port: int
    packet: Packet


Outcome = tuple[Emission, ...]  # everything that one arrival makes a switch send; () if it is dropped
Shared = list[tuple[float, Outcome]]  # outcomes, each with the share of packets that have it
NOTHING: Final[Shared] = [(1.0, ())]  # all packets are dropped


def both(first: Shared, second: Shared) -> Shared:
    """Returns the outcomes of two steps that follow each other.

    Args:
        first: the outcomes of the first step.
        second: those of the second one.
    """
    if first is NOTHING:
        return second
    return [(p * q, a + b) for (p, a), (q, b) in product(first, second)]


def send(port: int, packet: Packet, failed_ports: frozenset[int]) -> Outcome:
    """Returns the outcome of an output, which loses packets where they came in, or where the port is down.

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
    """Returns a packet after rewrites.

    Args:
        actions: rewrites of fields.
        packet: the packet's fields, which are left alone.
    """
    changed = dict(packet)
    for action in actions:
        rewrite(action, changed)
    return changed


def rewrite(action: Action, packet: Packet) -> None:
    """Changes a packet's fields by one rewrite.

    Args:
        action: the rewrite.
        packet: the packet's fields.

    Raises:
        PlanError: the action is neither a rewrite nor an output or a group.
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
            raise PlanError(f"a rule or bucket has an unknown action: {action}")
