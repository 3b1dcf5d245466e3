"""The installation of a route plan: which messages each switch needs, and when it is done.

A state machine without I/O: it is told what switches say and answers with what to send them, as plain
data. `controller.app` translates both ways. A switch is ready when the barrier behind its last
message came back and no error did; a plan is installed when all of its switches are ready.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from controller.plan import COOKIE_MARK, Group, RoutePlan, Rule, SwitchPlan
from topology.addressing import dpid, switch_name


@dataclass(frozen=True, slots=True)
class AskGroups:
    """Ask for the groups that the switch holds."""


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
class Barrier:
    """Answer when all that came before is done."""


Command = AskGroups | AskPortStatistics | PutGroup | PutRule | Barrier


@dataclass(frozen=True, slots=True)
class Message:
    """A command with the transaction id that answers to it will carry."""

    xid: int
    command: Command


class Stage(enum.Enum):
    """How far a switch's installation is."""

    ABSENT = "absent"
    ASKED = "asked for its groups"
    SENT = "sent its plan"
    READY = "ready"
    REFUSED = "refused"


@dataclass
class _Progress:
    plan: SwitchPlan
    stage: Stage = Stage.ABSENT
    next_xid: int = 1
    barrier: int = 0
    sent: dict[int, Rule | Group] = field(default_factory=dict)
    refusals: list[str] = field(default_factory=list)


class Installer:
    """The installation of one plan on all switches of its fabric."""

    def __init__(self, plan: RoutePlan) -> None:
        self._switches = {dpid(switch.router): _Progress(switch) for switch in plan.switches}

    # ---- what the switches say; each returns what to send to that switch ----

    def connected(self, datapath_id: int) -> list[Message]:
        """A switch connected, for the first time or again: it gets its plan in any case."""
        progress = self._switches.get(datapath_id)
        if progress is None:
            return []
        progress.stage = Stage.ASKED
        progress.sent.clear()
        progress.refusals.clear()
        return [_message(progress, AskGroups())]

    def groups_held(self, datapath_id: int, held: frozenset[int]) -> list[Message]:
        """A switch told which group numbers it holds: it gets its groups, its rules and a barrier."""
        progress = self._switches.get(datapath_id)
        if progress is None or progress.stage is not Stage.ASKED:
            return []
        plan = progress.plan
        messages = []
        for group in plan.groups:
            messages.append(_message(progress, PutGroup(group, group.number in held)))
            progress.sent[messages[-1].xid] = group
        for index, rule in enumerate(plan.rules):
            messages.append(_message(progress, PutRule(rule, COOKIE_MARK | index)))
            progress.sent[messages[-1].xid] = rule
        messages.append(_message(progress, Barrier()))
        progress.barrier = messages[-1].xid
        progress.stage = Stage.SENT
        return messages

    def barrier_passed(self, datapath_id: int, xid: int) -> bool:
        """A barrier came back. Returns whether this made the switch ready."""
        progress = self._switches.get(datapath_id)
        if progress is None or progress.stage is not Stage.SENT or xid != progress.barrier:
            return False
        progress.stage = Stage.REFUSED if progress.refusals else Stage.READY
        progress.sent.clear()
        return progress.stage is Stage.READY

    def refused(self, datapath_id: int, xid: int, reason: str) -> str:
        """A switch sent an error. Returns it in words, with the rule or group that it refuses."""
        progress = self._switches.get(datapath_id)
        if progress is None:
            return f"datapath {datapath_id:#x}, not of this fabric, reports {reason}"
        what = progress.sent.get(xid)
        name = switch_name(progress.plan.router)
        text = f"{name} reports {reason}" + (f" for {what}" if what else "")
        progress.refusals.append(text)
        return text

    def disconnected(self, datapath_id: int) -> None:
        """A switch's connection is gone; its rules stay, but they are not known to be complete."""
        if datapath_id in self._switches:
            self._switches[datapath_id].stage = Stage.ABSENT

    # ---- how far it is ----

    def ready(self) -> frozenset[int]:
        """Returns the datapath ids of the switches that hold their plan."""
        return frozenset(number for number, p in self._switches.items() if p.stage is Stage.READY)

    def knows(self, datapath_id: int) -> bool:
        """Returns whether that switch belongs to the plan."""
        return datapath_id in self._switches

    def count(self, stage: Stage) -> int:
        """Returns how many switches are at a stage."""
        return sum(progress.stage is stage for progress in self._switches.values())

    @property
    def total(self) -> int:
        """The number of switches that the plan is for."""
        return len(self._switches)

    @property
    def installed(self) -> bool:
        """Whether every switch holds its plan and refused none of it."""
        return self.count(Stage.READY) == self.total


def _message(progress: _Progress, command: Command) -> Message:
    xid = progress.next_xid
    progress.next_xid = xid % 0x7FFFFFFF + 1
    return Message(xid, command)
