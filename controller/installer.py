"""The installation of route plans: which messages each switch needs, and when it is done.

A state machine without I/O: it is told what switches say and answers with what to send them, as plain
data. `controller.app` translates both ways.

A switch that connects is asked what it holds and sent only what differs from its plan; it is ready when the
barrier behind the last message came back and no error did. Ours are the rules whose cookie carries our
mark and the rule's fingerprint; others are left alone. From one plan to the next the ready switches go
together, round by round (`routing.replan.update_order`), each round behind the barriers of the last.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from controller.openflow.commands import (
    AskGroups,
    AskRules,
    Barrier,
    Command,
    DropRules,
    Message,
    Messages,
    PutGroup,
    PutRule,
    SetPortState,
)
from routing.plan.model import COOKIE_MARK, FINGERPRINT_BITS, Group, RoutePlan, Rule, SwitchPlan, Table, match
from routing.replan.update_order import Removal, UpdateRound
from topology.addressing import dpid, switch_name

COOKIE_MASK = 0xFFFF << FINGERPRINT_BITS

Fingerprint = Callable[[Rule | Group], int]  # 32 bits, the same in every run


class Stage(enum.Enum):
    """How far a switch's installation is."""

    ABSENT = "absent"
    ASKED = "asked what it holds"
    TOLD = "told what it holds"
    SENT = "sent its plan"
    READY = "ready"
    REFUSED = "refused"


@dataclass
class _Progress:
    plan: SwitchPlan  # what it is to hold
    stage: Stage = Stage.ABSENT
    sent_plan: SwitchPlan | None = None  # what it was sent last
    next_xid: int = 1
    barrier: int = 0
    groups_held: dict[int, int] = field(default_factory=dict)  # number -> fingerprint
    rules_held: set[int] = field(default_factory=set)  # cookies with our mark
    foreign_rules: int = 0
    ports_noted: frozenset[int] = frozenset()  # as set down by a controller
    untold: int = 0  # questions that are not answered in full
    sent: dict[int, Rule | Group] = field(default_factory=dict)
    refusals: list[str] = field(default_factory=list)

    def message(self, command: Command) -> Message:
        xid = self.next_xid
        self.next_xid = xid % 0x7FFFFFFF + 1
        if isinstance(command, PutRule):
            self.sent[xid] = command.rule
        elif isinstance(command, PutGroup):
            self.sent[xid] = command.group
        elif isinstance(command, Barrier):
            self.barrier = xid
        return Message(xid, command)


@dataclass(frozen=True)
class Passed:
    """What the passing of a barrier led to.

    Attributes:
        ready: whether it made that switch ready.
        messages: what to send now.
        updated: whether it completed an update.
    """

    ready: bool = False
    messages: Messages = field(default_factory=dict)
    updated: bool = False


class Installer:
    """The installation of a plan, and of those after it, on all switches of a fabric."""

    def __init__(self, plan: RoutePlan, fingerprint: Fingerprint) -> None:
        self._switches = {dpid(switch.router): _Progress(switch) for switch in plan.switches}
        self._degrees = plan.topology.degrees.tolist()
        self._fingerprint = fingerprint
        # A switch that holds rules of ours when it comes is left as it is until `go_ahead`.
        self._in_charge = False
        self._rounds: list[UpdateRound] = []
        self._awaited: set[int] = set()  # switches whose barrier the current round waits for

    # ---- what the switches say; each returns what to send ----

    def connected(self, datapath_id: int) -> list[Message]:
        """A switch connected, for the first time or again: it is asked what it holds."""
        progress = self._switches.get(datapath_id)
        # Its answer to a barrier of a connection before this one will not come.
        self._awaited.discard(datapath_id)
        return [] if progress is None else self._ask(progress)

    def groups_told(self, datapath_id: int, held: Mapping[int, int], more: bool) -> list[Message]:
        """A switch told (some of) its groups: number -> fingerprint; `more` if others are to come."""
        progress = self._switches.get(datapath_id)
        if progress is None or progress.stage is not Stage.ASKED:
            return []
        progress.groups_held.update(held)
        return [] if more else self._told(progress)

    def rules_told(self, datapath_id: int, cookies: list[int], more: bool) -> list[Message]:
        """A switch told (some of) its rules, by their cookies; `more` if others are to come."""
        progress = self._switches.get(datapath_id)
        if progress is None or progress.stage is not Stage.ASKED:
            return []
        ours = {cookie for cookie in cookies if cookie & COOKIE_MASK == COOKIE_MARK}
        progress.rules_held |= ours
        progress.foreign_rules += sum(cookie not in ours for cookie in cookies)
        return [] if more else self._told(progress)

    def barrier_passed(self, datapath_id: int, xid: int) -> Passed:
        """A barrier came back."""
        progress = self._switches.get(datapath_id)
        if progress is None or xid != progress.barrier:
            return Passed()
        if progress.stage is Stage.READY and datapath_id in self._awaited:
            self._awaited.discard(datapath_id)
            progress.sent.clear()
            # One that refused something holds neither plan: what it holds is to be found out.
            asked = {datapath_id: self._ask(progress)} if progress.refusals else {}
            passed = self._next_round()
            return replace(passed, messages={**asked, **passed.messages})
        if progress.stage is Stage.ABSENT:  # it had been given up, and answers after all
            return Passed(messages={datapath_id: self._ask(progress)})
        if progress.stage is not Stage.SENT:
            return Passed()
        if progress.sent_plan is not progress.plan:  # it was planned again meanwhile
            return Passed(messages={datapath_id: self._ask(progress)})
        progress.stage = Stage.REFUSED if progress.refusals else Stage.READY
        progress.sent.clear()
        return Passed(ready=progress.stage is Stage.READY)

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

    def disconnected(self, datapath_id: int) -> Passed:
        """A switch's connection is gone; its rules stay, but they are not known to be complete."""
        progress = self._switches.get(datapath_id)
        if progress is None:
            return Passed()
        progress.stage = Stage.ABSENT
        if datapath_id in self._awaited:
            self._awaited.discard(datapath_id)
            return self._next_round()
        return Passed()

    # ---- another plan ----

    def retarget(self, plan: RoutePlan, rounds: list[UpdateRound]) -> Passed:
        """Begins to bring all ready switches from the plan that they hold to another, by these rounds."""
        self.aim(plan)
        self._rounds = list(rounds)
        self._awaited.clear()
        return self._next_round()

    def aim(self, plan: RoutePlan) -> None:
        """Sets what switches are to hold from now on, before any of them holds anything else of ours."""
        for switch in plan.switches:
            self._switches[dpid(switch.router)].plan = switch

    def go_ahead(self) -> Passed:
        """Has the switches that were left as they are brought to the plan."""
        self._in_charge = True
        told = [(number, p) for number, p in self._switches.items() if p.stage is Stage.TOLD]
        return Passed(messages={number: self._mend(progress) for number, progress in told})

    @property
    def updating(self) -> bool:
        """Whether an update is under way."""
        return bool(self._rounds or self._awaited)

    def set_port(self, datapath_id: int, port: int, *, down: bool) -> list[Message]:
        """Returns what sets a port of a switch down, and has it noted in the switch; or up again.

        Another controller could not tell such a port from one that somebody else set down.
        """
        note = self._note(port)
        commands = [note if down else DropRules(note.cookie), SetPortState(port, down)]
        return [self._switches[datapath_id].message(command) for command in commands]

    def _note(self, port: int) -> PutRule:
        rule = Rule(Table.NOTES, 1, match(in_port=port))
        return PutRule(rule, COOKIE_MARK | self._fingerprint(rule))

    def _notes(self, router: int) -> dict[int, int]:
        """Returns the cookie of every note that a router's switch may hold, and which port it is about."""
        return {self._note(port).cookie: port for port in range(1, self._degrees[router] + 1)}

    def _next_round(self) -> Passed:
        if self._awaited:
            return Passed()
        while self._rounds:
            messages: Messages = {}
            for router, changes in self._rounds.pop(0).items():
                progress = self._switches[dpid(router)]
                if progress.stage is Stage.READY:
                    progress.refusals.clear()
                    commands = [progress.message(self._put(change, exists=True)) for change in changes]
                    messages[dpid(router)] = [*commands, progress.message(Barrier())]
            if messages:
                self._awaited = set(messages)
                return Passed(messages=messages)
        return Passed(updated=True)

    # ---- one switch ----

    def _ask(self, progress: _Progress) -> list[Message]:
        progress.stage = Stage.ASKED
        progress.sent.clear()
        progress.refusals.clear()
        progress.groups_held.clear()
        progress.rules_held.clear()
        progress.foreign_rules = 0
        progress.untold = 2
        return [progress.message(AskGroups()), progress.message(AskRules())]

    def _told(self, progress: _Progress) -> list[Message]:
        progress.untold -= 1
        if progress.untold:
            return []
        notes = self._notes(progress.plan.router)
        progress.ports_noted = frozenset(notes[cookie] for cookie in progress.rules_held & notes.keys())
        progress.stage = Stage.TOLD
        if progress.rules_held and not self._in_charge:
            return []
        return self._mend(progress)

    def _mend(self, progress: _Progress) -> list[Message]:
        """Returns what leads from what a switch holds to what it is to hold."""
        plan = progress.plan
        commands: list[Command] = []
        for group in plan.groups:
            held = progress.groups_held.get(group.number)
            if held != self._fingerprint(group):
                commands.append(self._put(group, exists=held is not None))
        wanted = {COOKIE_MARK | self._fingerprint(rule): rule for rule in plan.rules}
        commands += [
            PutRule(rule, cookie) for cookie, rule in wanted.items() if cookie not in progress.rules_held
        ]
        # After ours are there: what a stale rule had taken is ours to take.
        stale = progress.rules_held - wanted.keys() - self._notes(plan.router).keys()
        commands += [DropRules(cookie) for cookie in sorted(stale)]
        progress.stage, progress.sent_plan = Stage.SENT, plan
        return [progress.message(command) for command in (*commands, Barrier())]

    def _put(self, what: Rule | Group | Removal, *, exists: bool) -> PutRule | PutGroup | DropRules:
        if isinstance(what, Removal):
            return DropRules(COOKIE_MARK | self._fingerprint(what.rule))
        if isinstance(what, Group):
            return PutGroup(what, exists)
        return PutRule(what, COOKIE_MARK | self._fingerprint(what))

    # ---- how far it is ----

    def ready(self) -> frozenset[int]:
        """Returns the datapath ids of the switches that hold their plan."""
        return frozenset(number for number, p in self._switches.items() if p.stage is Stage.READY)

    def missing(self) -> frozenset[int]:
        """Returns the datapath ids of the switches that did not come, or did not get as far as others."""
        arrived = (Stage.TOLD, Stage.READY)
        return frozenset(number for number, p in self._switches.items() if p.stage not in arrived)

    def holds_nothing(self, datapath_id: int) -> bool:
        """Returns whether a switch, when it connected, held no rule of ours."""
        progress = self._switches[datapath_id]
        return progress.stage is not Stage.ASKED and not progress.rules_held

    def give_up(self) -> Passed:
        """Goes on with the next round without those that do not answer; they are not ready any more."""
        for number in self._awaited:
            self._switches[number].stage = Stage.ABSENT
        self._awaited.clear()
        return self._next_round()

    @property
    def awaited(self) -> frozenset[int]:
        """The datapath ids of the switches whose answer the current round waits for."""
        return frozenset(self._awaited)

    def knows(self, datapath_id: int) -> bool:
        """Returns whether that switch belongs to the plan."""
        return datapath_id in self._switches

    def foreign_rules(self, datapath_id: int) -> int:
        """Returns how many rules a switch held, when it connected, that are not ours."""
        return self._switches[datapath_id].foreign_rules

    def ports_noted(self, datapath_id: int) -> frozenset[int]:
        """Returns the ports of a switch that, when it connected, a controller had set down."""
        return self._switches[datapath_id].ports_noted

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
