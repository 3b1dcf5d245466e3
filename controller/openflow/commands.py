"""Commands to switches as plain data; `controller.openflow.codec` encodes them."""

from __future__ import annotations

from dataclasses import dataclass

from routing.plan.model import Group, Rule


@dataclass(frozen=True, slots=True)
class AskGroups:
    """Request for the groups that the switch holds."""


@dataclass(frozen=True, slots=True)
class AskRules:
    """Request for the rules that the switch holds."""


@dataclass(frozen=True, slots=True)
class AskPortStatistics:
    """Request for the counters of all ports."""


@dataclass(frozen=True, slots=True)
class PutGroup:
    """Addition of a group, or change of the group of its number if the switch has one."""

    group: Group
    exists: bool


@dataclass(frozen=True, slots=True)
class PutRule:
    """Addition of a rule, which replaces the one with the same match and priority."""

    rule: Rule
    cookie: int


@dataclass(frozen=True, slots=True)
class DropRules:
    """Deletion of the rules whose cookie agrees with a given one in the bits of a mask."""

    cookie: int
    mask: int = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class SetPortState:
    """Setting of a port administratively down, or up again."""

    port: int
    down: bool


@dataclass(frozen=True, slots=True)
class Barrier:
    """Request for an answer once all earlier commands are processed."""


Command = AskGroups | AskRules | AskPortStatistics | PutGroup | PutRule | DropRules | SetPortState | Barrier


@dataclass(frozen=True, slots=True)
class Message:
    """A command with the transaction id that the answers to it carry."""

    xid: int
    command: Command


Messages = dict[int, list[Message]]  # by datapath id
