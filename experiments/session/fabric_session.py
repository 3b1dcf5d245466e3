"""The verbs (operations) of a session: failures, controller, loads, drops, paths, background traffic."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from emulation.fault_injection import FaultInjector
from emulation.open_vswitch import VSwitch
from emulation.subprocesses import CommandError
from experiments.events.base import Event, OnEvent, ignore
from experiments.events.marks import ProcessEnded
from experiments.events.notices import Notice
from experiments.live_fabric import LiveFabric
from experiments.maintenance import ALL, DrainOutcome, Maintenance
from experiments.results.parts.programs import TrafficOutcome
from experiments.session.background import BackgroundTraffic, TrafficStatus, background_options
from experiments.session.interfaces import check_power, interfaces_down
from experiments.session.links import Drops, LinkLoad, count_drops, measure_loads, missing_ports
from experiments.session.paths import PathReport, report_paths
from experiments.session.routing_parameters import RoutingStatus, changeable_parameters, changed_routing
from experiments.session.turns import FabricBusy, Turns, one_at_a_time
from experiments.session.watch import Watch
from experiments.spec.values import check_range
from routing.registry import routing as routing_named
from topology.addressing import switch_router
from topology.errors import PolarLabError, UsageError
from topology.faults import CONTROLLER, Component, ComponentKind, parse_components
from topology.parameters import Value
from traffic.metrics.silence import Silence


@dataclass(frozen=True)
class ControllerStatus:
    """The state of the controller.

    Attributes:
        running: whether its process runs.
        pid: its process; None if it does not run.
        killed: whether the session killed it. A controller that is neither running nor killed has ended by
            itself.
        planned_failure: name of the failure that its current plan is for; `none` for the whole fabric.
        planned_drain: names of the components that its current plan drains; `none` for none.
    """

    running: bool
    pid: int | None
    killed: bool
    planned_failure: str
    planned_drain: str = "none"


MAX_LOADS_S = 3_600
_REPORTED_S = 0.2  # time within which the controller's reports arrive


class FabricSession:
    """A session on a running fabric; a context manager that watches the fabric's processes.

    `SessionVerbs` in `polarlab.api.verbs` describes the arguments and errors of its verbs. They return typed
    results and print nothing. Verbs that change the fabric run one at a time, from whatever thread they are
    called, and are refused (FabricBusy) during a measurement. Events come from other threads.

    Attributes:
        fabric: the fabric.
        turns: decides which verb or measurement may use the fabric at a time.
        busy: lock to hold while using the shells of nodes, so that none is restarted meanwhile.
    """

    def __init__(
        self,
        fabric: LiveFabric,
        on_event: OnEvent = ignore,
        keep: Callable[[TrafficOutcome], None] = lambda _outcome: None,
        changed: Callable[[Iterable[Component]], None] = lambda _active_failures: None,
    ) -> None:
        """Prepares the session.

        Args:
            fabric: the fabric.
            on_event: called with an event when a process or background traffic ends by itself.
            keep: called with the outcome of background traffic that has ended.
            changed: called with all failed components when a process of the fabric has ended by itself.
        """
        self.fabric = fabric
        self.busy, self.turns = threading.RLock(), Turns()
        self._on_event, self._keep, self._changed = on_event, keep, changed
        self._faults = FaultInjector(fabric.network)
        self._maintenance = Maintenance(fabric)
        self._watch = Watch(fabric, self._report_end, self.busy)
        self._traffic: BackgroundTraffic | None = None
        self._draws = 0

    def __enter__(self) -> FabricSession:
        self._watch.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        try:
            if self._traffic and self._traffic.running and kind is None:
                with self.turns.last_verb() as turn, contextlib.suppress(PolarLabError):
                    if turn:
                        self._on_event(Notice("traffic-stopped", outcome=self.stop_traffic()))
        finally:
            # Also after Ctrl-C: the watch would otherwise restart shells while the fabric is taken down.
            try:
                self._end_traffic()
            finally:
                self._watch.__exit__()

    # ---- failures ----

    @one_at_a_time
    def fail(self, text: str) -> tuple[Component, ...]:
        """Makes components fail and returns them; each call with `random:3` draws new components."""
        components = self.named(text, to_fail=True)
        self._draws += 1
        for component in components:
            self.turns.check_open()
            if component == CONTROLLER:
                self.kill_controller()
            else:
                self._faults.fail(component)
        return components

    @one_at_a_time
    def restore(self, text: str) -> tuple[Component, ...]:
        """Restores components and returns them; working ones are not changed."""
        if text == "all":
            return self._restore_all()
        components = self.named(text)
        for component in components:
            self.turns.check_open()
            if component == CONTROLLER:
                self.start_controller()
            else:
                self._faults.restore(component)
        return components

    @one_at_a_time
    def hang(self, switch: str) -> Component:
        """Kills a switch's program while its links stay up, like `fail("hang:s4")`; returns the component."""
        component = Component(
            ComponentKind.HANG, (switch_router(switch, self.fabric.options.topology.routers),)
        )
        self._faults.fail(component)
        return component

    @one_at_a_time
    def stop_switch(self, switch: str) -> Component:
        """Kills a switch's program like `hang`, and returns the component.

        Raises:
            UsageError: the fabric has no such switch, or the switch has no power.
        """
        self._check_power(switch)
        return self.hang(switch)

    @one_at_a_time
    def start_switch(self, switch: str) -> bool:
        """Starts a switch's programs that are not running; returns whether there were any.

        Raises:
            UsageError: the fabric has no such switch, or the switch has no power.
            CommandError: the switch does not come up.
        """
        router = self._check_power(switch)
        vswitch: VSwitch = self.fabric.network[switch].vswitch
        ended = vswitch.daemon_killed or bool(vswitch.ended_programs())
        self._faults.restore(Component(ComponentKind.HANG, (router,)))
        return ended

    def active_failures(self) -> tuple[Component, ...]:
        """Returns the components that have failed, by a verb or by themselves, and were not restored."""
        active_failures = self._faults.active_failures
        dead = {
            component.routers for component in active_failures if component.kind is not ComponentKind.LINK
        }
        ended = [component for component in self._ended_switches() if component.routers not in dead]
        controller = () if self.fabric.controller.running else (CONTROLLER,)
        return (*active_failures, *ended, *controller)

    def interfaces_down(self) -> tuple[str, ...]:
        """Returns the interfaces that a user's command has set down, like `ip link set h1_1-eth0 down`."""
        down = self._interfaces_down()
        if down:  # the controller may have set them down, and its report may not have arrived yet
            time.sleep(_REPORTED_S)
            down &= self._interfaces_down()
        return tuple(sorted(down))

    # ---- maintenance ----

    @one_at_a_time
    def drain(self, text: str, *, force: bool = False) -> DrainOutcome:
        """Diverts traffic from links and switches, and returns when the last packet has left them."""
        return self._maintenance.drain(text, self.active_failures(), force=force)

    @one_at_a_time
    def undrain(self, text: str = ALL) -> DrainOutcome:
        """Ends drains, and returns when all switches have installed the new plan."""
        return self._maintenance.undrain(text)

    def drained(self) -> tuple[Component, ...]:
        """Returns the switches and links that are drained."""
        return self._maintenance.drained

    # ---- the controller ----

    @one_at_a_time
    def kill_controller(self) -> None:
        """Kills the controller; the switches keep their rules."""
        self.fabric.controller.stop()

    @one_at_a_time
    def start_controller(self) -> float:
        """Starts the controller unless it runs, and returns the seconds until it controls all switches."""
        if self.fabric.controller.running:
            return 0.0
        began_s = time.monotonic()
        if not self.fabric.controller.stopped:  # the controller has ended by itself
            self.fabric.controller.stop()
        self.fabric.restart_controller(self._on_event)
        self.fabric.controller.wait_until_in_charge()
        return time.monotonic() - began_s

    def controller_status(self) -> ControllerStatus:
        """Returns the state of the controller."""
        controller = self.fabric.controller
        with contextlib.suppress(PolarLabError):  # after a fatal report, the controller does not run
            controller.catch_up()
        running = controller.running
        plan = controller.planned_failure, controller.planned_drain
        return ControllerStatus(running, controller.pid if running else None, controller.stopped, *plan)

    # ---- the adaptation ----

    def routing_status(self) -> RoutingStatus:
        """Returns the routing with its current parameters."""
        name = self.fabric.controller.routing
        present = routing_named(name)
        values = {one.name: present.given.get(one.key, one.default) for one in changeable_parameters(present)}
        known = {key: value for key, value in values.items() if value is not None}
        return RoutingStatus(present.name, self.fabric.options.routing, known)

    @one_at_a_time
    def set_routing(self, values: Mapping[str, Value]) -> RoutingStatus:
        """Changes parameters of the adaptive control law; the rules on switches stay the same."""
        controller = self.fabric.controller
        name = changed_routing(controller.routing, values)
        if not controller.running:
            raise UsageError("the controller must run to change the routing's parameters; start it first")
        controller.wait_until_in_charge()
        controller.set_routing(name)
        return self.routing_status()

    # ---- measurements ----

    def loads(self, seconds: float = 1.0) -> tuple[LinkLoad, ...]:
        """Measures the loads of all links in the next `seconds`, one load per direction; highest first."""
        check_range("time of loads", seconds, 0.1, MAX_LOADS_S, "s")
        return measure_loads(self.fabric, seconds)

    def drops(self) -> Drops:
        """Returns the packets that queues and ingress checks dropped since the fabric was built."""
        return count_drops(self.fabric)

    def missing_ports(self) -> tuple[str, ...]:
        """Returns the links of ports whose interfaces were deleted, named as in LinkLoad.

        The loads of these links cannot be measured.

        Raises:
            MachineError: the queues cannot be read.
        """
        return missing_ports(self.fabric)

    def path(self, source: str, destination: str) -> PathReport:
        """Returns the paths between two hosts, according to the plan and to probes that are sent now."""
        self.controller_status()
        failed = [
            component
            for component in self.active_failures()
            if component.kind is not ComponentKind.CONTROLLER and component.host is None
        ]
        with self.turns.probing():
            return report_paths(self.fabric, source, destination, failed, self._maintenance.drain_now)

    # ---- background traffic ----

    @one_at_a_time
    def start_traffic(self, pattern: str, load: float, seed: int = 1) -> None:
        """Starts traffic of a pattern between all hosts, which runs until `stop_traffic`."""
        background_options(self.fabric, pattern, load, seed)  # reports invalid values first
        if self._traffic and self._traffic.running:
            raise UsageError("background traffic is already running; stop it first")
        self._end_traffic()  # keeps the outcome of previous traffic, even if it failed
        self._traffic = BackgroundTraffic(self.fabric, pattern, load, seed, self._on_event)

    @one_at_a_time
    def stop_traffic(self) -> TrafficOutcome:
        """Stops the background traffic and returns its outcome."""
        if self._traffic is None:
            raise UsageError("no background traffic is running; start it first")
        try:
            return self._traffic.stop()
        finally:
            self._end_traffic()

    def _end_traffic(self) -> None:
        """Ends any background traffic at once, and keeps its outcome as far as it is known."""
        traffic, self._traffic = self._traffic, None
        outcome = traffic.kill() if traffic else None
        if outcome:
            self._keep(outcome)

    def traffic_status(self) -> TrafficStatus | None:
        """Returns the current rates of the background traffic; None if there is none."""
        return self._traffic.status() if self._traffic and self._traffic.running else None

    def traffic_silences(self) -> tuple[Silence, ...]:
        """Returns reports on host pairs that received nothing for a while (`BackgroundTraffic.silences`)."""
        return self._traffic.silences if self._traffic and self._traffic.running else ()

    # ---- processes that end by themselves ----

    def renew_shells(self) -> tuple[str, ...]:
        """Starts a new shell for each node whose shell has ended, and returns the names of these nodes.

        The caller must hold the lock `busy`.
        """
        return self._watch.renew_shells()

    def watch_program(self, node: str, command: str, pid: int) -> None:
        """Reports the end of a program that a node runs in the background."""
        self._watch.add_program(node, command, pid)

    def _interfaces_down(self) -> frozenset[str]:
        self.controller_status()
        return interfaces_down(self.fabric, self.active_failures())

    def _report_end(self, event: Event) -> None:
        if isinstance(event, ProcessEnded):
            self._changed(self.active_failures())
        self._on_event(event)

    def _check_power(self, switch: str) -> int:
        """Returns the router number of a switch; raises UsageError if the switch has no power."""
        router = switch_router(switch, self.fabric.options.topology.routers)
        check_power(router, self._faults.active_failures)
        return router

    def _restore_all(self) -> tuple[Component, ...]:
        restored = self._faults.active_failures
        try:
            self._faults.restore_all(self.turns.check_open)
        except CommandError:  # it must not keep ended programs from being restored, nor be hidden by a close
            with contextlib.suppress(FabricBusy):
                self._restore_ended()
            raise
        return (*restored, *self._restore_ended())

    def _restore_ended(self) -> list[Component]:
        """Restarts the switches and the controller that have ended, and returns them."""
        restored = []
        for component in self._ended_switches():
            self.turns.check_open()
            self._faults.restore(component)
            restored.append(component)
        self.turns.check_open()
        if not self.fabric.controller.running:
            self.start_controller()
            restored.append(CONTROLLER)
        return restored

    def named(self, text: str, *, to_fail: bool = False) -> tuple[Component, ...]:
        """Parses names of components, including links of hosts.

        Args:
            text: the names. A text like `random:3` stands for the components that the latest `fail` drew.
            to_fail: whether to draw new random components instead.
        """
        draw = self._draws + 1 if to_fail else max(1, self._draws)
        return parse_components(text, self.fabric.options.topology, draw, self.fabric.hosts)

    def _ended_switches(self) -> list[Component]:
        """Returns the switches with a program that a verb has killed, or that has ended by itself."""
        ended = []
        for switch in self.fabric.network.switches:
            vswitch: VSwitch | None = switch.vswitch
            if vswitch and (vswitch.daemon_killed or vswitch.ended_programs()):
                router = switch_router(switch.name, self.fabric.options.topology.routers)
                ended.append(Component(ComponentKind.HANG, (router,)))
        return ended
