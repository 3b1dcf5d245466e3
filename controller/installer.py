"""Installation of route plans: computes the messages for each switch and tracks its progress.

A state machine without I/O: messages from and to the switches are plain data, which `controller.app`
translates.

A switch that connects is queried for its groups and rules, and sent only the differences from its plan. It is
ready when it has answered the barrier after the last message and has reported no error. PolarLab recognises
its own rules by their cookie, which contains its mark and the rule's fingerprint; all other rules are left
alone. If a switch has far more of PolarLab's rules than its plan has, all of them are deleted before the plan
is sent. The ready switches go from one plan to the next together, in rounds (`routing.replan.update_order`);
a round starts when all barriers of the previous round are answered.
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

_MAX_REFUSALS = 100  # limit of errors kept for one switch
# Limit of PolarLab's rules on a switch beyond its plan. Up to this limit, stale rules are deleted one by one.
# Above it, all rules are deleted at once, because a switch can report any number of rules.
_MAX_STALE = 1 << 14

Fingerprint = Callable[[Rule | Group], int]  # a hash that is the same in every run


class Stage(enum.Enum):
    """Progress of a switch's installation."""

    ABSENT = "not connected"
    QUERIED = "its groups and rules are requested"
    DESCRIBED = "its groups and rules are known"
    SENT = "its plan is sent"
    READY = "its plan is installed"
    REFUSED = "it rejected rules or groups of its plan"


@dataclass
class _Progress:
    plan: SwitchPlan  # the plan that the switch should have
    stage: Stage = Stage.ABSENT
    sent_plan: SwitchPlan | None = None  # the plan that was sent last
    next_xid: int = 1
    barrier: int = 0  # transaction id of the last barrier
    installed_groups: dict[int, int] = field(default_factory=dict)  # number -> fingerprint
    installed_rules: set[int] = field(default_factory=set)  # cookies with PolarLab's mark
    overfull: bool = False  # there are too many such rules; installed_rules is incomplete
    foreign_rules: int = 0
    noted_ports: frozenset[int] = frozenset()  # ports that a controller set down, by `set_port`'s notes
    open_queries: int = 0
    sent: dict[int, Rule | Group] = field(default_factory=dict)  # by transaction id
    refusals: list[str] = field(default_factory=list)

    def new_xid(self) -> int:
        xid = self.next_xid
        self.next_xid = xid % 0x7FFFFFFF + 1
        return xid

    def message(self, command: Command) -> Message:
        xid = self.new_xid()
        if isinstance(command, PutRule):
            self.sent[xid] = command.rule
        elif isinstance(command, PutGroup):
            self.sent[xid] = command.group
        elif isinstance(command, Barrier):
            self.barrier = xid
        return Message(xid, command)


@dataclass(frozen=True)
class Outcome:
    """Instructions for the application after a switch has answered or disconnected.

    Attributes:
        ready: whether the switch became ready.
        messages: the messages to send now.
        updated: whether an update is complete.
    """

    ready: bool = False
    messages: Messages = field(default_factory=dict)
    updated: bool = False


class Installer:
    """Installs a plan, and the plans that replace it, on all switches of a fabric."""

    def __init__(self, plan: RoutePlan, fingerprint: Fingerprint) -> None:
        self._switches = {dpid(switch.router): _Progress(switch) for switch in plan.switches}
        self._topology = plan.topology
        self._fingerprint = fingerprint
        ports = sorted({*plan.topology.ports.links.tolist()})
        notes = {port: Rule(Table.NOTES, 1, match(in_port=port)) for port in ports}
        self._port_notes = {port: PutRule(note, self._cookie(note)) for port, note in notes.items()}
        # Until `take_charge`, a switch that connects with PolarLab's rules keeps them unchanged: a plan made
        # before all failures are known could cut off hosts.
        self._in_charge = False
        self._rounds: list[UpdateRound] = []
        self._awaited: set[int] = set()  # datapath ids whose barrier replies the round waits for
        self._pauses = False  # whether the update pauses after each round
        self._resting = False  # paused between two rounds, or after the last

    # ---- events of switches ----

    def connected(self, datapath_id: int) -> list[Message]:
        """Returns the queries for a switch that connected or reconnected."""
        progress = self._switches.get(datapath_id)
        # A barrier that was sent over an earlier connection is never answered.
        self._awaited.discard(datapath_id)
        return [] if progress is None else self._query(progress)

    def groups_described(self, datapath_id: int, groups: Mapping[int, int], more: bool) -> list[Message]:
        """Records the groups that a switch has described; returns the messages to send to it next.

        Args:
            datapath_id: the switch.
            groups: group number -> fingerprint, for the groups in this message.
            more: whether more of the description follows in another message.
        """
        progress = self._switches.get(datapath_id)
        if progress is None or progress.stage is not Stage.QUERIED:
            return []
        progress.installed_groups.update(groups)
        return [] if more else self._query_answered(progress)

    def is_queried(self, datapath_id: int) -> bool:
        """Returns whether a switch has yet to describe some of its rules and groups."""
        return self._switches[datapath_id].stage is Stage.QUERIED

    def rules_described(self, datapath_id: int, cookies: list[int], more: bool) -> list[Message]:
        """Records the rules that a switch has described; returns the messages to send to it next.

        Args:
            datapath_id: the switch.
            cookies: the cookies of the rules in this message.
            more: whether more of the description follows in another message.
        """
        progress = self._switches.get(datapath_id)
        if progress is None or progress.stage is not Stage.QUERIED:
            return []
        ours = {cookie for cookie in cookies if cookie & COOKIE_MASK == COOKIE_MARK}
        notes = self._notes(progress.plan.router)
        progress.installed_rules |= ours & notes.keys() if progress.overfull else ours
        progress.overfull |= len(progress.installed_rules) > len(progress.plan.rules) + _MAX_STALE
        progress.foreign_rules += sum(cookie not in ours for cookie in cookies)
        return [] if more else self._query_answered(progress)

    def barrier_passed(self, datapath_id: int, xid: int) -> Outcome:
        """Handles a barrier reply, which confirms all messages before it; returns what to do next."""
        progress = self._switches.get(datapath_id)
        if progress is None or xid != progress.barrier:
            return Outcome()
        if progress.stage is Stage.READY and datapath_id in self._awaited:
            self._awaited.discard(datapath_id)
            progress.sent.clear()
            # After an error the switch may have neither the old plan nor the new one.
            queries = {datapath_id: self._query(progress)} if progress.refusals else {}
            outcome = self._after_answer()
            return replace(outcome, messages={**queries, **outcome.messages})
        if progress.stage is Stage.ABSENT:  # it answers after `skip_unanswered` gave it up
            return Outcome(messages={datapath_id: self._query(progress)})
        if progress.stage is not Stage.SENT:
            return Outcome()
        if progress.sent_plan is not progress.plan:  # the plan changed meanwhile
            return Outcome(messages={datapath_id: self._query(progress)})
        progress.stage = Stage.REFUSED if progress.refusals else Stage.READY
        progress.sent.clear()
        return Outcome(ready=progress.stage is Stage.READY)

    def refused(self, datapath_id: int, xid: int, reason: str) -> str | None:
        """Returns a message about an error that a switch reported, with the rule or group that it rejected.

        Returns None after many errors of a switch about one plan, because a switch can send any number.
        """
        progress = self._switches[datapath_id]
        if len(progress.refusals) >= _MAX_REFUSALS:
            return None
        entry = progress.sent.get(xid)
        name = switch_name(progress.plan.router)
        text = f"{name} reports {reason}" + (f" for {entry}" if entry else "")
        progress.refusals.append(text)
        return text

    def disconnected(self, datapath_id: int) -> Outcome:
        """Handles a disconnection, after which a switch may keep its rules; returns what to do next."""
        progress = self._switches.get(datapath_id)
        if progress is None:
            return Outcome()
        progress.stage = Stage.ABSENT
        for known in (progress.installed_groups, progress.installed_rules, progress.sent, progress.refusals):
            known.clear()
        if datapath_id in self._awaited:
            self._awaited.discard(datapath_id)
            return self._after_answer()
        return Outcome()

    # ---- updates ----

    def begin_update(self, plan: RoutePlan, rounds: list[UpdateRound], *, pauses: bool = False) -> Outcome:
        """Starts an update of all ready switches from their current plan to another.

        Args:
            plan: the new plan.
            rounds: the changes from the current plan to the new one, in order.
            pauses: whether the update pauses after each round (`resting`) until `next_round` is called.
        """
        self.set_plan(plan)
        self._rounds = list(rounds)
        self._awaited.clear()
        self._pauses = pauses and bool(rounds)
        return self.next_round()

    def set_plan(self, plan: RoutePlan) -> None:
        """Sets the plan of switches that are not ready yet; ready switches need `begin_update`."""
        for switch in plan.switches:
            self._switches[dpid(switch.router)].plan = switch

    def take_charge(self) -> Outcome:
        """Starts to replace an earlier controller's rules, which switches keep until this call.

        Returns:
            The messages that bring the switches with such rules to the plan.
        """
        self._in_charge = True
        waiting = [(key, p) for key, p in self._switches.items() if p.stage is Stage.DESCRIBED]
        return Outcome(messages={key: self._fill(progress) for key, progress in waiting})

    @property
    def updating(self) -> bool:
        """Whether an update is in progress."""
        return bool(self._rounds or self._awaited or self._resting)

    @property
    def resting(self) -> bool:
        """Whether the update is paused until `next_round` is called."""
        return self._resting

    def set_port(self, datapath_id: int, port: int, *, down: bool) -> list[Message]:
        """Returns the messages that set a port down and leave a note on the switch, or that undo both.

        The note is a rule in a table that no packet reaches. From it a later controller knows that a
        controller, and not an operator, set the port down.
        """
        note = self._port_notes[port]
        commands = [note if down else DropRules(note.cookie), SetPortState(port, down)]
        progress = self._switches[datapath_id]
        # Not with `message`, which remembers what is sent until the next barrier: ports can flap often.
        return [Message(progress.new_xid(), command) for command in commands]

    def _notes(self, router: int) -> dict[int, int]:
        """Returns cookie -> port for the note rules (see `set_port`) that a router's switch may have."""
        return {self._port_notes[port].cookie: port for port in self._topology.link_ports(router).tolist()}

    def _cookie(self, rule: Rule) -> int:
        return COOKIE_MARK | self._fingerprint(rule)

    def _after_answer(self) -> Outcome:
        """Pauses or continues the update when a switch has answered its barrier or has disconnected."""
        self._resting = self._pauses and not self._awaited
        return Outcome() if self._resting else self.next_round()

    def next_round(self) -> Outcome:
        """Starts the next round of an update unless barrier replies of the current one are missing."""
        self._resting = False
        if self._awaited:
            return Outcome()
        while self._rounds:
            messages: Messages = {}
            for router, changes in self._rounds.pop(0).items():
                progress = self._switches[dpid(router)]
                if progress.stage is Stage.READY:
                    progress.refusals.clear()
                    commands = [progress.message(self._put(progress, change)) for change in changes]
                    messages[dpid(router)] = [*commands, progress.message(Barrier())]
            if messages:
                self._awaited = set(messages)
                return Outcome(messages=messages)
        return Outcome(updated=True)

    # ---- one switch ----

    def _query(self, progress: _Progress) -> list[Message]:
        progress.stage = Stage.QUERIED
        progress.sent.clear()
        progress.refusals.clear()
        progress.installed_groups.clear()
        progress.installed_rules.clear()
        progress.overfull = False
        progress.foreign_rules = 0
        progress.open_queries = 2
        return [progress.message(AskGroups()), progress.message(AskRules())]

    def _query_answered(self, progress: _Progress) -> list[Message]:
        progress.open_queries -= 1
        if progress.open_queries:
            return []
        notes = self._notes(progress.plan.router)
        progress.noted_ports = frozenset(notes[cookie] for cookie in progress.installed_rules & notes.keys())
        progress.stage = Stage.DESCRIBED
        if progress.installed_rules and not self._in_charge:
            return []
        return self._fill(progress)

    def _fill(self, progress: _Progress) -> list[Message]:
        """Returns the messages that bring the switch from its current state to its plan."""
        plan, installed = progress.plan, progress.installed_rules
        commands: list[Command] = []
        if progress.overfull:
            commands.append(DropRules(COOKIE_MARK, COOKIE_MASK))
            commands += [self._port_notes[port] for port in sorted(progress.noted_ports)]
            installed = set()
        # Groups go first: a switch rejects a rule that refers to a group it does not have.
        for group in plan.groups:
            if progress.installed_groups.get(group.number) != self._fingerprint(group):
                commands.append(self._put(progress, group))
        planned = {self._cookie(rule): rule for rule in plan.rules}
        commands += [PutRule(rule, cookie) for cookie, rule in planned.items() if cookie not in installed]
        # Stale rules go last: packets match them until the planned rules are installed.
        stale = installed - planned.keys() - self._notes(plan.router).keys()
        commands += [DropRules(cookie) for cookie in sorted(stale)]
        progress.stage, progress.sent_plan = Stage.SENT, plan
        return [progress.message(command) for command in (*commands, Barrier())]

    def _put(self, progress: _Progress, change: Rule | Group | Removal) -> PutRule | PutGroup | DropRules:
        if isinstance(change, Removal):
            return DropRules(self._cookie(change.rule))
        if isinstance(change, Group):
            exists = change.number in progress.installed_groups
            progress.installed_groups[change.number] = self._fingerprint(change)
            return PutGroup(change, exists)
        return PutRule(change, self._cookie(change))

    # ---- progress ----

    def ready(self) -> frozenset[int]:
        """Returns the datapath ids of the switches that have their plan installed."""
        return frozenset(key for key, p in self._switches.items() if p.stage is Stage.READY)

    def missing(self) -> frozenset[int]:
        """Returns the datapath ids of the switches that are neither ready nor waiting for `take_charge`."""
        arrived = (Stage.DESCRIBED, Stage.READY)
        return frozenset(key for key, p in self._switches.items() if p.stage not in arrived)

    def connected_empty(self, datapath_id: int) -> bool:
        """Returns whether a switch connected without rules of PolarLab."""
        progress = self._switches[datapath_id]
        return progress.stage is not Stage.QUERIED and not progress.installed_rules

    def skip_unanswered(self) -> Outcome:
        """Starts the next round without the switches that have not answered; they are no longer ready."""
        for datapath_id in self._awaited:
            self._switches[datapath_id].stage = Stage.ABSENT
        self._awaited.clear()
        return self.next_round()

    @property
    def awaited(self) -> frozenset[int]:
        """Datapath ids of the switches whose barrier replies the current round waits for."""
        return frozenset(self._awaited)

    def knows(self, datapath_id: int) -> bool:
        """Returns whether a switch belongs to the plan."""
        return datapath_id in self._switches

    def foreign_rules(self, datapath_id: int) -> int:
        """Returns the number of rules that a switch had when it connected and that are not PolarLab's."""
        return self._switches[datapath_id].foreign_rules

    def noted_ports(self, datapath_id: int) -> frozenset[int]:
        """Returns a switch's ports that an earlier controller had set down before the switch connected."""
        return self._switches[datapath_id].noted_ports

    def count(self, stage: Stage) -> int:
        """Returns the number of switches at a stage."""
        return sum(progress.stage is stage for progress in self._switches.values())

    @property
    def total(self) -> int:
        """Number of switches of the plan."""
        return len(self._switches)

    @property
    def installed(self) -> bool:
        """Whether all switches are ready."""
        return self.count(Stage.READY) == self.total
