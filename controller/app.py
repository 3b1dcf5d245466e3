"""The Ryu application: it only translates between switches and the installer."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

from controller import ryu_adapter as ryu
from controller.adaptive_loop import AdaptiveLoop
from controller.events import die, report
from controller.installer import AskPortStatistics, Installer, Message, PutGroup, Stage
from controller.port_statistics import PortCounters, PortStatisticsOccupancy
from topology.addressing import switch_name

# What the adaptation's messages carry; beyond all numbers that the installer gives.
ADAPTATION_XID = 0xFFFFFFFE
_REPORT_EVERY_S = 1.0

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


class PlanApp(ryu.RyuApp):  # type: ignore[misc]
    """Installs a plan on the switches that connect."""

    OFP_VERSIONS = (ryu.ofproto_v1_3.OFP_VERSION,)

    def __init__(self, installer: Installer, loop: AdaptiveLoop | None = None) -> None:
        super().__init__()
        self._installer = installer
        self._loop = loop
        self._datapaths: dict[int, Any] = {}
        self._announced = False

    def start(self) -> None:
        """Starts the application's threads: Ryu's, and the adaptation's where there is any."""
        super().start()
        if self._loop:
            self.threads.append(ryu.spawn(self._adapt))

    def _adapt(self) -> None:
        assert self._loop
        reported, reported_s = 0, 0.0
        due_s = time.monotonic()
        try:
            while True:
                self._adapt_once(self._loop)
                if self._loop.groups_modified > reported and due_s - reported_s >= _REPORT_EVERY_S:
                    reported, reported_s = self._loop.groups_modified, due_s
                    report("adapted", groups_modified=reported)
                due_s = max(due_s + self._loop.every_s, time.monotonic())
                ryu.sleep(due_s - time.monotonic())
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
            report("restored")
        for text in loop.complaints():
            report("warning", text=text)

    @ryu.set_ev_cls(ryu.ofp_event.EventOFPStateChange, [ryu.MAIN_DISPATCHER, ryu.DEAD_DISPATCHER])
    @_fatal_on_error
    def state_changed(self, event: Any) -> None:
        """A switch finished the handshake, or its connection is gone."""
        datapath = event.datapath
        number: int | None = datapath.id
        if number is None:  # it went before it told its id
            return
        if event.state == ryu.MAIN_DISPATCHER:
            self._datapaths[number] = datapath
            report("connected" if self._installer.knows(number) else "foreign", dpid=number)
            if self._loop:
                self._loop.reset(number)
            self._send(datapath, self._installer.connected(number))
        elif self._datapaths.get(number) is datapath:
            # A switch that connected again may already have a newer connection: that one counts.
            del self._datapaths[number]
            self._installer.disconnected(number)
            self._announced = False
            report("disconnected", dpid=number)

    @ryu.set_ev_cls(ryu.ofp_event.EventOFPGroupDescStatsReply, ryu.MAIN_DISPATCHER)
    @_fatal_on_error
    def groups_described(self, event: Any) -> None:
        """A switch listed its groups."""
        datapath = event.msg.datapath
        held = frozenset(entry.group_id for entry in event.msg.body)
        self._send(datapath, self._installer.groups_held(datapath.id, held))

    @ryu.set_ev_cls(ryu.ofp_event.EventOFPPortStatsReply, ryu.MAIN_DISPATCHER)
    @_fatal_on_error
    def ports_counted(self, event: Any) -> None:
        """A switch told its ports' counters."""
        if self._loop and isinstance(self._loop.source, PortStatisticsOccupancy):
            counters = {
                entry.port_no: PortCounters(entry.tx_bytes, entry.tx_dropped) for entry in event.msg.body
            }
            self._loop.source.replied(event.msg.datapath.id, time.monotonic(), counters)

    @ryu.set_ev_cls(ryu.ofp_event.EventOFPBarrierReply, ryu.MAIN_DISPATCHER)
    @_fatal_on_error
    def barrier_replied(self, event: Any) -> None:
        """A switch has done all that it was sent."""
        datapath = event.msg.datapath
        if self._installer.barrier_passed(datapath.id, event.msg.xid):
            ready, total = self._installer.count(Stage.READY), self._installer.total
            report("ready", switch=switch_name(datapath.id - 1), ready=ready, switches=total)
        if self._installer.installed and not self._announced:
            self._announced = True
            report("installed", switches=self._installer.total)

    @ryu.set_ev_cls(
        ryu.ofp_event.EventOFPErrorMsg,
        [ryu.HANDSHAKE_DISPATCHER, ryu.CONFIG_DISPATCHER, ryu.MAIN_DISPATCHER],
    )
    @_fatal_on_error
    def error_received(self, event: Any) -> None:
        """A switch refused something."""
        message = event.msg
        datapath_id = message.datapath.id or 0
        reason = ryu.error_text(message)
        if message.xid == ADAPTATION_XID and self._loop:
            self._loop.complain(f"{switch_name(datapath_id - 1)} reports {reason} to the adaptation")
            return
        report("refused", text=self._installer.refused(datapath_id, message.xid, reason))

    def _send(self, datapath: Any, messages: list[Message]) -> None:
        if messages:
            datapath.send(ryu.encode(datapath, messages))
