"""Commands to switches as plain data; `controller.openflow.codec` encodes them."""

from __future__ import annotations

from dataclasses import dataclass

from routing.plan.model import Group, Rule


@dataclass(frozen=True, slots=True)
class AskGroups:
    """Request for the groups that the switch has."""


@dataclass(frozen=True, slots=True)
class AskRules:
    """Request for the rules that the switch has."""


@dataclass(frozen=True, slots=True)
class AskPortStatistics:
    """Request for the counters of all ports."""


@dataclass(frozen=True, slots=True)
class PutGroup:
    """Addition of a group, or modification if the switch already has a group with this number."""

    group: Group
    exists: bool


@dataclass(frozen=True, slots=True)
class PutRule:
    """Addition of a rule; it replaces a rule with the same match and priority."""

    rule: Rule
    cookie: int


@dataclass(frozen=True, slots=True)
class DropRules:
    """Deletion of the rules whose cookie equals `cookie` in the bits of `mask`."""

    cookie: int
    mask: int = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class SetPortState:
    """Change of a port to administratively down, or back up."""

    port: int
    down: bool


@dataclass(frozen=True, slots=True)
class Barrier:
    """Request for a reply once all earlier commands are processed."""


Command = AskGroups | AskRules | AskPortStatistics | PutGroup | PutRule | DropRules | SetPortState | Barrier


@dataclass(frozen=True, slots=True)
class Message:
    """A command with its transaction id, which the replies to it repeat."""

    xid: int
    command: Command


Messages = dict[int, list[Message]]  # by datapath id
