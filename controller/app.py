"""The Ryu application: it only translates between switches, the installer and the recovery."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

from controller.adaptation_loop import AdaptiveLoop
from controller.fabric_state import SetPort
from controller.installer import Installer, Outcome, Stage
from controller.occupancy.port_statistics import PortCounters, PortStatisticsOccupancy
from controller.openflow import codec, runtime
from controller.openflow.commands import AskPortStatistics, Message, PutGroup
from controller.replanner import Replan, Replanner
from controller.reports import (
    Adapted,
    Connected,
    Disconnected,
    Foreign,
    Incomplete,
    Installed,
    PortSet,
    Ready,
    Refused,
    Replanned,
    Report,
    Restored,
    TakingOver,
    Warned,
    die,
    report,
)
from topology.addressing import dpid, dpid_router, switch_name

# What the adaptation's messages carry; beyond all numbers that the installer gives.
ADAPTATION_XID = 0xFFFFFFFE
_REPORT_EVERY_S = 1.0
_LOOK_EVERY_S = 0.005
# When no switch was ready for so long since the last, those that are missing are taken for lost. Open vSwitch
# waits up to 2 s for a busy controller's greeting and up to 2 s before it calls again: to plan too soon
# without a switch that lives would cut its hosts off.
_LATE_AFTER_S = 5.0
# The same for those that a controller before us had filled and that no neighbour sees any more.
_UNSEEN_LATE_AFTER_S = 1.5

Handler = Callable[["PlanApp", Any], None]


def _fatal_on_error(handler: Handler) -> Handler:
    """Makes an exception of a handler end the controller; Ryu would log it and go on."""

    @functools.wraps(handler)
    def guarded(self: PlanApp, event: Any) -> None:
        try:
            handler(self, event)
        except Exception as error:  # the boundary to Ryu's event loop, which swallows exceptions
            die(f"{type(error).__name__} in {handler.__name__}: {error}")

    return guarded


class PlanApp(runtime.RyuApp):  # type: ignore[misc]
    """Installs a plan on the switches that connect, and keeps it true to what works of the fabric."""

    OFP_VERSIONS = (codec.OPENFLOW_VERSION,)

    def __init__(self, installer: Installer, replanner: Replanner, loop: AdaptiveLoop | None = None) -> None:
        super().__init__()
        self._installer = installer
        self._replanner = replanner
        self._loop = loop
        self._datapaths: dict[int, Any] = {}
        self._announced = False  # that we are in charge
        self._complete = False  # that all switches held their plan once
        self._last_news_s: float | None = None  # of a switch on its way to its plan
        self._replanned: Replan | None = None  # while the switches are being brought to it
        self._replan_began_s = 0.0
        self._sent_s = 0.0  # when the round of an update that is under way was sent

    def start(self) -> None:
        """Starts the threads: Ryu's, the recovery's, and the adaptation's where there is any."""
        super().start()
        self.threads.append(runtime.spawn(self._recover))
        if self._loop:
            self.threads.append(runtime.spawn(self._adapt))

    # ---- recovery ----

    def _recover(self) -> None:
        try:
            while True:
                self._recover_once(time.monotonic())
                runtime.sleep(_LOOK_EVERY_S)
        except Exception as error:  # a thread that dies must not die unnoticed
            die(f"{type(error).__name__} in the recovery: {error}")

    def _recover_once(self, now_s: float) -> None:
        state = self._replanner.state
        self._set_ports(state.tick(now_s))
        if not self._announced:
            self._begin(now_s)
        elif self._installer.updating:
            late = now_s - self._sent_s > _LATE_AFTER_S
            if late or not self._installer.awaited:
                for number in self._installer.awaited:
                    report(Warned(f"{switch_name(dpid_router(number))} does not answer"))
                    self._set_ports(state.switch_lost(dpid_router(number), now_s))
                self._follow(self._installer.skip_unanswered())
        elif state.plan_due(now_s):
            self._plan_again(now_s)

    def _plan_again(self, now_s: float) -> None:
        self._replan_began_s = now_s
        # Switches that nobody answers for some seconds close their connections.
        self._replanned = self._replanner.replan(runtime.call_in_thread)
        if self._replanned.problem:
            report(Warned(self._replanned.problem))
        self._follow(self._installer.begin_update(self._replanned.plan, self._replanned.rounds))

    def _begin(self, now_s: float) -> None:
        """Takes charge when all switches are there, or when it is no use to wait for the others.

        Switches that hold rules of a controller before us are left as they are until it is known what
        works: then they are brought to the plan for just that, which mostly is what they hold.
        """
        missing = self._installer.missing()
        taking_over = self._installer.count(Stage.DESCRIBED) > 0
        if missing:
            patience_s = _LATE_AFTER_S
            if taking_over and not self._seen(missing):
                patience_s = _UNSEEN_LATE_AFTER_S
            if self._last_news_s is None or now_s - self._last_news_s <= patience_s:
                return
        elif not taking_over:
            return
        state = self._replanner.state
        for number in sorted(missing):
            self._set_ports(state.switch_lost(dpid_router(number), now_s))
        names = tuple(switch_name(dpid_router(number)) for number in sorted(missing))
        total = self._installer.total
        self._announce(Incomplete(total, names) if missing else TakingOver(total))
        if state.failure().any_failed:
            self._plan_again(now_s)  # for the switches that hold the whole fabric's plan already
        self._follow(self._installer.take_charge())

    def _seen(self, missing: frozenset[int]) -> bool:
        absent = {dpid_router(number) for number in missing}
        return any(self._replanner.state.seen_by_neighbour(router, absent) for router in absent)

    def _announce(self, event: Report) -> None:
        self._announced = True
        self._set_ports(self._replanner.state.release_adopted())
        report(event)

    def _set_ports(self, commands: list[SetPort]) -> None:
        for command in commands:
            number = dpid(command.router)
            if number in self._datapaths and command.port in self._datapaths[number].ports:
                messages = self._installer.set_port(number, command.port, down=command.down)
                self._send(self._datapaths[number], messages)
                verb = "down" if command.down else "up"
                report(PortSet(switch_name(command.router), command.port, verb))

    def _follow(self, passed: Outcome) -> None:
        if passed.messages:
            self._sent_s = time.monotonic()
        for number, messages in passed.messages.items():
            if number in self._datapaths:
                self._send(self._datapaths[number], messages)
        if passed.updated and self._replanned:
            done, self._replanned = self._replanned, None
            report(
                Replanned(
                    failed=done.failure.name,
                    rules=done.rules,
                    rounds=len(done.rounds),
                    cut_off_pairs=done.cut_off_pairs,
                    cut_off=tuple(done.cut_off),
                    planning_s=done.seconds,
                    seconds=time.monotonic() - self._replan_began_s,
                )
            )

    # ---- adaptation ----

    def _adapt(self) -> None:
        assert self._loop
        reported, reported_s = 0, 0.0
        due_s = time.monotonic()
        try:
            while True:
                self._adapt_once(self._loop)
                if self._loop.groups_modified > reported and due_s - reported_s >= _REPORT_EVERY_S:
                    reported, reported_s = self._loop.groups_modified, due_s
                    report(Adapted(reported))
                due_s = max(due_s + self._loop.every_s, time.monotonic())
                runtime.sleep(due_s - time.monotonic())
        except Exception as error:  # a thread that dies must not die unnoticed
            die(f"{type(error).__name__} in the adaptive loop: {error}")

    def _adapt_once(self, loop: AdaptiveLoop) -> None:
        ready = self._installer.ready() & self._datapaths.keys()
        for number in loop.source.wanted(ready, time.monotonic()):
            if number in self._datapaths:
                self._send(self._datapaths[number], [Message(ADAPTATION_XID, AskPortStatistics())])
        restored = loop.restored
        for number, groups in loop.step(ready):
            if number not in self._datapaths:  # it went while another was sent to
                continue
            messages = [Message(ADAPTATION_XID, PutGroup(group, True)) for group in groups]
            self._send(self._datapaths[number], messages)
        if loop.restored > restored:
            report(Restored())
        for text in loop.complaints():
            report(Warned(text))

    # ---- what switches tell ----

    @runtime.set_ev_cls(
        runtime.ofp_event.EventOFPStateChange, [runtime.MAIN_DISPATCHER, runtime.DEAD_DISPATCHER]
    )
    @_fatal_on_error
    def state_changed(self, event: Any) -> None:
        """A switch finished the handshake, or its connection is gone."""
        datapath = event.datapath
        number: int | None = datapath.id
        if number is None:  # it went before it told its id
            return
        if event.state == runtime.MAIN_DISPATCHER:
            self._arrived(number, datapath)
        elif self._datapaths.get(number) is datapath:
            # A switch that connected again may already have a newer connection: that one counts.
            del self._datapaths[number]
            if self._installer.knows(number):
                self._replanner.state.switch_disconnected(dpid_router(number), time.monotonic())
            self._follow(self._installer.disconnected(number))
            report(Disconnected(number))

    def _arrived(self, number: int, datapath: Any) -> None:
        self._datapaths[number] = datapath
        report(Connected(number) if self._installer.knows(number) else Foreign(number))
        if not self._installer.knows(number):
            return
        self._replanner.state.switch_connected(dpid_router(number))
        for port in datapath.ports.values():
            self._port_told(number, port)
        if self._loop:
            self._loop.reset(number)
        self._send(datapath, self._installer.connected(number))

    def _told(self, number: int) -> None:
        """A switch told what it holds."""
        state, router = self._replanner.state, dpid_router(number)
        self._last_news_s = time.monotonic()
        for port in self._installer.noted_ports(number):
            state.adopt(router, port)
        if self._announced:
            self._set_ports(state.release_adopted())
            if self._installer.connected_empty(number):  # it was quicker back than it was missed
                self._set_ports(state.switch_lost(router, self._last_news_s))

    def _port_told(self, number: int, port: Any, *, gone: bool = False) -> None:
        state, router = self._replanner.state, dpid_router(number)
        up, admin_down = codec.port_is_up(port) and not gone, codec.port_is_set_down(port)
        now_s = time.monotonic()
        self._set_ports(state.port_changed(router, port.port_no, up, now_s, admin_down=admin_down))

    @runtime.set_ev_cls(runtime.ofp_event.EventOFPPortStatus, runtime.MAIN_DISPATCHER)
    @_fatal_on_error
    def port_changed(self, event: Any) -> None:
        """A port of a switch changed."""
        if self._installer.knows(event.msg.datapath.id):
            self._port_told(event.msg.datapath.id, event.msg.desc, gone=codec.port_is_removed(event.msg))

    @runtime.set_ev_cls(runtime.ofp_event.EventOFPGroupDescStatsReply, runtime.MAIN_DISPATCHER)
    @_fatal_on_error
    def groups_described(self, event: Any) -> None:
        """A switch listed its groups."""
        datapath, message = event.msg.datapath, event.msg
        held = codec.described_groups(message)
        self._send(datapath, self._installer.groups_described(datapath.id, held, codec.more_follows(message)))

    @runtime.set_ev_cls(runtime.ofp_event.EventOFPFlowStatsReply, runtime.MAIN_DISPATCHER)
    @_fatal_on_error
    def rules_described(self, event: Any) -> None:
        """A switch listed its rules."""
        datapath, message = event.msg.datapath, event.msg
        cookies = [entry.cookie for entry in message.body]
        more = codec.more_follows(message)
        self._send(datapath, self._installer.rules_described(datapath.id, cookies, more))
        if not more and self._installer.knows(datapath.id):
            self._told(datapath.id)
            foreign = self._installer.foreign_rules(datapath.id)
            if foreign:
                name = switch_name(dpid_router(datapath.id))
                report(Warned(f"{name} holds {foreign} rules that are not ours; they are left alone"))

    @runtime.set_ev_cls(runtime.ofp_event.EventOFPPortStatsReply, runtime.MAIN_DISPATCHER)
    @_fatal_on_error
    def ports_counted(self, event: Any) -> None:
        """A switch told its ports' counters."""
        if self._loop and isinstance(self._loop.source, PortStatisticsOccupancy):
            counters = {
                entry.port_no: PortCounters(entry.tx_bytes, entry.tx_dropped) for entry in event.msg.body
            }
            self._loop.source.replied(event.msg.datapath.id, time.monotonic(), counters)

    @runtime.set_ev_cls(runtime.ofp_event.EventOFPBarrierReply, runtime.MAIN_DISPATCHER)
    @_fatal_on_error
    def barrier_replied(self, event: Any) -> None:
        """A switch has done all that it was sent."""
        datapath = event.msg.datapath
        passed = self._installer.barrier_passed(datapath.id, event.msg.xid)
        self._follow(passed)
        if passed.ready:
            router = dpid_router(datapath.id)
            ready, total = self._installer.count(Stage.READY), self._installer.total
            report(Ready(switch_name(router), ready, total))
            self._last_news_s = time.monotonic()
            self._set_ports(self._replanner.state.switch_filled(router, self._last_news_s))
        if self._installer.installed and not self._complete:
            self._complete = True
            self._announce(Installed(self._installer.total))
            self._follow(self._installer.take_charge())

    @runtime.set_ev_cls(
        runtime.ofp_event.EventOFPErrorMsg,
        [runtime.HANDSHAKE_DISPATCHER, runtime.CONFIG_DISPATCHER, runtime.MAIN_DISPATCHER],
    )
    @_fatal_on_error
    def error_received(self, event: Any) -> None:
        """A switch refused something."""
        message = event.msg
        datapath_id = message.datapath.id or 0
        reason = codec.error_text(message)
        if message.xid == ADAPTATION_XID and self._loop:
            self._loop.complain(f"{switch_name(dpid_router(datapath_id))} reports {reason} to the adaptation")
            return
        report(Refused(self._installer.refused(datapath_id, message.xid, reason)))

    def _send(self, datapath: Any, messages: list[Message]) -> None:
        if messages:
            datapath.send(codec.encode(messages, datapath.ports))
