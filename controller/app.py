"""The controller's application: translates between the switches and the modules that make decisions."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from controller.adaptation_loop import AdaptiveLoop
from controller.fabric_state import SetPort
from controller.installer import Installer, Outcome, Stage
from controller.occupancy.port_statistics import PortCounters, PortStatisticsOccupancy
from controller.openflow import codec
from controller.openflow.commands import AskPortStatistics, DropRules, Message, PutGroup, PutRule
from controller.openflow.runtime import Runtime, Switch
from controller.replanner import Replan, Replanner
from controller.reports import (
    Adapted,
    Connected,
    Disconnected,
    Foreign,
    Incomplete,
    Installed,
    NotDrained,
    PortSet,
    Ready,
    Refused,
    Replanned,
    Report,
    Restored,
    RoutingSet,
    StateReports,
    TakingOver,
    Warned,
    Warnings,
    report,
)
from topology.addressing import dpid, dpid_router, switch_name
from topology.drains import Drain

ADAPTATION_XID = 0xFFFFFFFE  # transaction id of the adaptive loop's messages; the installer's are smaller
_REPORT_EVERY_S = 1.0
_TICK_S = 0.005
# Open vSwitch answers a barrier once its tables have changed, and revalidates its cached flows shortly after.
# Rounds of updates that are not urgent pause this long, so that the caches are up to date.
_PAUSE_S = 0.1
# Missing switches count as lost when no switch has made progress for this long. Open vSwitch waits up to 2 s
# for the hello of a busy controller, and up to 2 s before it reconnects. A plan made too soon, without a live
# switch, would cut off its hosts.
_LATE_AFTER_S = 5.0
# A shorter time for a controller that takes over from an earlier one, if every missing switch looks dead: no
# neighbour's port to it is up.
_UNSEEN_LATE_AFTER_S = 1.5
_MAX_FOREIGN = 64  # most switches from other fabrics to report: any process can connect


def _name(datapath_id: int) -> str:
    return switch_name(dpid_router(datapath_id))


class PlanApp:
    """Installs a plan on the switches that connect, replans after failures, and adapts groups to load.

    Each method translates between the switches of a runtime (`controller.openflow.runtime`) and the objects
    that make decisions: the installer, the replanner with the fabric's state, and the adaptive loop.
    """

    def __init__(
        self,
        installer: Installer,
        replanner: Replanner,
        loop: AdaptiveLoop | None = None,
        requested_drain: Callable[[], Drain | None] = lambda: None,
    ) -> None:
        """Prepares the application, which a runtime starts.

        Args:
            installer: installs the plan.
            replanner: the fabric's state and the current plan.
            loop: the adaptive loop; None for an oblivious routing.
            requested_drain: returns the drain that the parent requested since the last call; None if it
                requested none.
        """
        self._requested_drain = requested_drain
        self._installer = installer
        self._replanner = replanner
        self._loop = loop
        self._warnings = Warnings()
        self._state_reports = StateReports(replanner.state)
        self._switches: dict[int, Switch] = {}  # the fabric's, by datapath id
        self._foreign: set[int] = set()  # datapath ids of the other switches reported so far
        self._in_charge = False
        self._installed_once = False  # whether all switches have ever been ready at the same time
        self._last_progress_s: float | None = None  # when a switch was last described or became ready
        self._pending: Replan | None = None  # reported once all switches have it installed
        self._replan_started_s = 0.0
        self._returning_rules = 0  # rules that a takeover changes to return to the first plan
        self._round_sent_s = 0.0
        self._paused_since_s: float | None = None
        self._runtime: Runtime
        self._planning = False  # in another thread
        self._waits_for_plan = False  # whether that plan is the one with which it takes charge
        self._adapting_due_s = time.monotonic()
        self._adapted_reported, self._adapted_reported_s = 0, 0.0
        self._handlers: dict[str, Callable[[Switch, Any], None]] = {
            "OFPPortStatus": self._port_changed,
            "OFPGroupDescStatsReply": self._groups_described,
            "OFPFlowStatsReply": self._rules_described,
            "OFPFlowDescStatsReply": self._rules_described,  # its name in OpenFlow 1.5
            "OFPPortStatsReply": self._ports_counted,
            "OFPBarrierReply": self._barrier_replied,
            "OFPErrorMsg": self._error_received,
        }

    def start(self, runtime: Runtime) -> None:
        """Starts the replanning loop, and the adaptive loop, if any."""
        self._runtime = runtime
        runtime.repeat("the replanning loop", self._replan_step)
        if self._loop:
            runtime.repeat("the adaptive loop", self._adapt)

    # ---- replanning ----

    def _replan_step(self) -> float:
        if not self._planning:
            self._replan_or_wait(time.monotonic())
        return _TICK_S

    def _replan_or_wait(self, now_s: float) -> None:
        state = self._replanner.state
        self._set_ports(state.tick(now_s))
        drain = self._requested_drain()
        if drain is not None:
            self._replanner.ask_for(drain)
        self._state_reports.step(now_s, settled=self._settled)  # first, because planning takes long
        if not self._in_charge:
            self._take_charge_when_due(now_s)
        elif self._installer.resting:
            self._resume_when_due(now_s)
        elif self._installer.updating:
            late = now_s - self._round_sent_s > _LATE_AFTER_S
            if late or not self._installer.awaited:
                for datapath_id in self._installer.awaited:
                    self._warnings.add(f"{_name(datapath_id)} does not answer")
                    self._set_ports(state.switch_lost(dpid_router(datapath_id), now_s))
                self._execute(self._installer.skip_unanswered())
        else:
            self._set_ports(state.admit(now_s))
            if self._replanner.plan_due(now_s):
                self._replan(now_s)

    @property
    def _settled(self) -> bool:
        """Whether all switches have the plan for the current state and drain, and no other plan is due."""
        planning = self._pending or self._installer.updating or self._replanner.plan_due(math.inf)
        return self._in_charge and not planning and not self._replanner.state.returning

    def _resume_when_due(self, now_s: float) -> None:
        """Starts the next round of an update when the pause after the current one is over."""
        self._paused_since_s = now_s if self._paused_since_s is None else self._paused_since_s
        # A failure ends the pause early: the next plan repairs it, and is made only after this update.
        if now_s - self._paused_since_s >= _PAUSE_S or self._replanner.state.plan_due(now_s):
            self._paused_since_s = None
            self._execute(self._installer.next_round())

    def _replan(self, now_s: float) -> None:
        self._replan_started_s, self._returning_rules = now_s, 0
        self._planning = True
        # In a thread of its own: a switch that gets no answer for some seconds closes its connection.
        self._runtime.compute("the replanning loop", self._replanner.begin(), self._replanned)

    def _replanned(self, replan: Replan) -> None:
        self._planning = False
        self._pending = self._replanner.finish(replan)
        if self._pending.problem:
            report(Warned(self._pending.problem))
        if self._pending.refusal:
            report(NotDrained(self._pending.refusal))
        if self._loop:
            self._loop.use_plan(self._pending.plan)
        self._execute(
            self._installer.begin_update(
                self._pending.plan, self._pending.rounds, pauses=self._pending.unhurried
            )
        )
        if self._waits_for_plan:
            self._waits_for_plan = False
            self._execute(self._installer.take_charge())

    def _take_charge_when_due(self, now_s: float) -> None:
        """Takes charge of the fabric once all switches have connected, or the missing ones are late.

        A controller in charge replaces the rules of an earlier controller; until then, switches keep them.
        If anything has failed or is drained, it replans first: the switches already have most rules of that
        plan.
        """
        missing = self._installer.missing()
        taking_over = self._installer.count(Stage.DESCRIBED) > 0
        if not missing and not taking_over:  # `barrier_replied` takes charge
            return
        if missing and not self._late(missing, taking_over, now_s):
            return
        state = self._replanner.state
        for datapath_id in sorted(missing):
            self._set_ports(state.switch_lost(dpid_router(datapath_id), now_s))
        names = tuple(_name(datapath_id) for datapath_id in sorted(missing))
        total = self._installer.total
        self._take_charge(Incomplete(total, names) if missing else TakingOver(total))
        avoids = state.failure().any_failed or self._replanner.drain.any_drained
        if avoids:  # switches without earlier rules have the plan for no failures
            self._waits_for_plan = True
            self._replan(now_s)
            return
        outcome = self._installer.take_charge()
        sent = (message.command for messages in outcome.messages.values() for message in messages)
        self._returning_rules = sum(isinstance(command, PutRule | DropRules) for command in sent)
        self._replan_started_s = now_s
        self._execute(outcome)

    def _late(self, missing: frozenset[int], taking_over: bool, now_s: float) -> bool:
        if self._last_progress_s is None or now_s - self._last_progress_s <= _UNSEEN_LATE_AFTER_S:
            return False
        absent = {dpid_router(datapath_id) for datapath_id in missing}
        seen = any(self._replanner.state.seen_by_neighbour(router, absent) for router in absent)
        patience_s = _UNSEEN_LATE_AFTER_S if taking_over and not seen else _LATE_AFTER_S
        return now_s - self._last_progress_s > patience_s

    def _take_charge(self, event: Report) -> None:
        self._in_charge = True
        self._set_ports(self._replanner.state.release_adopted())
        report(event)

    def _set_ports(self, commands: list[SetPort]) -> None:
        for command in commands:
            datapath_id = dpid(command.router)
            switch = self._switches.get(datapath_id)
            if switch is not None and command.port in switch.ports:
                self._send(switch, self._installer.set_port(datapath_id, command.port, down=command.down))
                direction = "down" if command.down else "up"
                report(PortSet(switch_name(command.router), command.port, direction))

    def _execute(self, outcome: Outcome) -> None:
        if outcome.messages:
            self._round_sent_s = time.monotonic()
        for datapath_id, messages in outcome.messages.items():
            if datapath_id in self._switches:
                adapted = self._loop.adapted(datapath_id, messages) if self._loop else messages
                self._send(self._switches[datapath_id], adapted)
        if outcome.updated and self._pending:
            replan, self._pending = self._pending, None
            report(replan.report(time.monotonic() - self._replan_started_s))

    # ---- adaptation ----

    def _adapt(self) -> float:
        assert self._loop
        self._adapt_groups(self._loop)
        due_s, modified = self._adapting_due_s, self._loop.groups_modified
        if modified > self._adapted_reported and due_s - self._adapted_reported_s >= _REPORT_EVERY_S:
            self._adapted_reported, self._adapted_reported_s = modified, due_s
            report(Adapted(modified, round(self._loop.detoured(), 6)))
        now_s = time.monotonic()
        self._adapting_due_s = max(due_s + self._loop.every_s, now_s)
        return self._adapting_due_s - now_s

    def _adapt_groups(self, loop: AdaptiveLoop) -> None:
        ready = self._installer.ready() & self._switches.keys()
        for datapath_id in loop.source.due(ready, time.monotonic()):
            self._send(self._switches[datapath_id], [Message(ADAPTATION_XID, AskPortStatistics())])
        restored = loop.restored
        for datapath_id, groups in loop.step(ready):
            messages = [Message(ADAPTATION_XID, PutGroup(group, True)) for group in groups]
            self._send(self._switches[datapath_id], messages)
        if loop.restored > restored:
            report(Restored())
        for name in loop.new_names():
            report(RoutingSet(name))
        for text in loop.new_problems():
            report(Warned(text))

    # ---- events of switches ----

    def connected(self, switch: Switch) -> None:
        """Handles the end of a switch's handshake."""
        datapath_id = switch.id
        if not self._installer.knows(datapath_id):
            if datapath_id not in self._foreign and len(self._foreign) < _MAX_FOREIGN:
                self._foreign.add(datapath_id)
                report(Foreign(datapath_id))
            switch.refuse("the switch does not belong to this fabric")
            return
        if datapath_id in self._switches:  # the first one stays, or any process could displace a switch
            switch.refuse("the switch is already connected")
            return
        self._switches[datapath_id] = switch
        switch.served = True
        report(Connected(datapath_id))
        self._replanner.state.switch_connected(dpid_router(datapath_id))
        for port in switch.ports.values():
            self._note_port(datapath_id, port)
        if self._loop:
            self._loop.reset(datapath_id)
        self._send(switch, self._installer.connected(datapath_id))

    def disconnected(self, switch: Switch) -> None:
        """Handles the end of a connection."""
        if switch.served:
            switch.served = False
            del self._switches[switch.id]
            self._replanner.state.switch_disconnected(dpid_router(switch.id), time.monotonic())
            self._execute(self._installer.disconnected(switch.id))
            report(Disconnected(switch.id))

    def received(self, switch: Switch, message: Any) -> None:
        """Handles a message of a switch, in the framework's form."""
        handler = self._handlers[type(message).__name__]
        if switch.served:
            handler(switch, message)
        elif handler == self._error_received:
            switch.refuse(f"it reported an error during the handshake: {codec.error_text(message)}")

    def _note_port(self, datapath_id: int, port: Any, *, removed: bool = False) -> None:
        up = codec.port_is_up(port) and not removed
        admin_down = codec.port_is_set_down(port)
        state, now_s = self._replanner.state, time.monotonic()
        router = dpid_router(datapath_id)
        self._set_ports(state.port_changed(router, port.port_no, up, now_s, admin_down=admin_down))

    def _port_changed(self, switch: Switch, message: Any) -> None:
        self._note_port(switch.id, message.desc, removed=codec.port_is_removed(message))

    def _groups_described(self, switch: Switch, message: Any) -> None:
        groups, more = codec.described_groups(message), codec.more_follows(message)
        self._send(switch, self._installer.groups_described(switch.id, groups, more))

    def _rules_described(self, switch: Switch, message: Any) -> None:
        cookies = [entry.cookie for entry in message.body]
        more, asked = codec.more_follows(message), self._installer.is_queried(switch.id)
        self._send(switch, self._installer.rules_described(switch.id, cookies, more))
        if asked and not more:
            self._described(switch.id)

    def _described(self, datapath_id: int) -> None:
        """Evaluates the complete description of a switch's groups and rules.

        Records the ports that an earlier controller set down, counts the switch as lost if it has restarted
        without rules, and warns of rules that PolarLab did not install.
        """
        state, router = self._replanner.state, dpid_router(datapath_id)
        self._last_progress_s = time.monotonic()
        for port in self._installer.noted_ports(datapath_id):
            state.adopt(router, port)
        if self._in_charge:
            self._set_ports(state.release_adopted())
            if self._installer.connected_empty(datapath_id):  # restarted before its absence was noticed
                self._set_ports(state.switch_lost(router, self._last_progress_s))
        foreign = self._installer.foreign_rules(datapath_id)
        if foreign:
            name = _name(datapath_id)
            self._warnings.add(f"{name} has {foreign} rules that PolarLab did not install; they stay")

    def _ports_counted(self, switch: Switch, message: Any) -> None:
        if self._loop and isinstance(self._loop.source, PortStatisticsOccupancy):
            counters = {
                entry.port_no: PortCounters(entry.tx_bytes, entry.tx_dropped) for entry in message.body
            }
            self._loop.source.add_counters(switch.id, time.monotonic(), counters)

    def _barrier_replied(self, switch: Switch, message: Any) -> None:
        """Handles the reply of a switch that has processed all messages before the barrier."""
        outcome = self._installer.barrier_passed(switch.id, message.xid)
        self._execute(outcome)
        total = self._installer.total
        if outcome.ready:
            report(Ready(_name(switch.id), self._installer.count(Stage.READY), total))
            self._last_progress_s = time.monotonic()
            self._replanner.state.switch_filled(dpid_router(switch.id), self._last_progress_s)
        if self._installer.installed and not self._installed_once:
            self._installed_once = True
            if self._returning_rules:  # an earlier controller's plan was for a failure that is over
                seconds = time.monotonic() - self._replan_started_s
                report(Replanned("none", self._returning_rules, 1, 0, (), 0.0, seconds))
            self._take_charge(Installed(total))
            self._execute(self._installer.take_charge())

    def _error_received(self, switch: Switch, message: Any) -> None:
        reason = codec.error_text(message)
        if message.xid == ADAPTATION_XID and self._loop:
            self._loop.add_problem(f"{_name(switch.id)} rejected an adaptive group: {reason}")
        elif refusal := self._installer.refused(switch.id, message.xid, reason):
            report(Refused(refusal))

    def _send(self, switch: Switch, messages: list[Message]) -> None:
        if messages:
            switch.send(codec.encode(messages, switch.ports, switch.version, switch.id))
