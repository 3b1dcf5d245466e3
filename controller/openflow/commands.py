"""What the controller says to switches, as plain data; `controller.openflow.runtime` encodes it."""

from __future__ import annotations

from dataclasses import dataclass

from routing.plan.model import Group, Rule


@dataclass(frozen=True, slots=True)
class AskGroups:
    """Ask for the groups that the switch holds."""


@dataclass(frozen=True, slots=True)
class AskRules:
    """Ask for the rules that the switch holds."""


@dataclass(frozen=True, slots=True)
class AskPortStatistics:
    """Ask for the counters of all ports."""


@dataclass(frozen=True, slots=True)
class PutGroup:
    """Add a group, or change the one of its number where the switch has it already."""

    group: Group
    exists: bool


@dataclass(frozen=True, slots=True)
class PutRule:
    """Add a rule, or replace the one with the same match and priority."""

    rule: Rule
    cookie: int


@dataclass(frozen=True, slots=True)
class DropRules:
    """Delete the rules with a cookie."""

    cookie: int


@dataclass(frozen=True, slots=True)
class SetPortState:
    """Set a port administratively down, or up again."""

    port: int
    down: bool


@dataclass(frozen=True, slots=True)
class Barrier:
    """Answer when all that came before is done."""


Command = AskGroups | AskRules | AskPortStatistics | PutGroup | PutRule | DropRules | SetPortState | Barrier


@dataclass(frozen=True, slots=True)
class Message:
    """A command with the transaction id that answers to it will carry."""

    xid: int
    command: Command


Messages = dict[int, list[Message]]  # by datapath id
