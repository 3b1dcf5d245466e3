"""Verbs of a session, each declared once: background traffic, loads, drops, paths, failures, the controller.

The prompt, the live page and the page's unprivileged process read these declarations, so that the
implementation of a verb is imported only when it runs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from polarlab.api import lines
from polarlab.api.verb import Button, Field, Http, Line, Page, verb

if TYPE_CHECKING:  # imported at run time only after the check for Mininet
    from experiments.maintenance import DrainOutcome
    from experiments.programs.session_record import SessionRecorder
    from experiments.results.frames import Rows
    from experiments.results.parts.programs import TrafficOutcome
    from experiments.session.background import TrafficStatus
    from experiments.session.fabric_session import ControllerStatus, FabricSession
    from experiments.session.links import Drops, LinkLoad
    from experiments.session.paths import PathReport
    from experiments.session.routing_parameters import RoutingStatus
    from polarlab.api.analysis.theory import SwitchRules
    from routing.plan.model import RoutePlan
    from topology.parameters import Value

LOAD, SEED = msgspec.Meta(gt=0, le=1), msgspec.Meta(ge=0, le=2**63 - 1)
PATTERN_FIELD, LOAD_FIELD = Field(choices="patterns"), Field(step=0.01)
_DOWN = ("off", "hangs")  # states of a switch without a running program, in which the page hides some buttons


@dataclass(frozen=True)
class SwitchTables:
    """Current rules and groups of a switch, with counters; `print` shows them.

    Attributes:
        switch: name of the switch.
        flows: one line per rule, in Open vSwitch's notation.
        groups: one line per group.
    """

    switch: str
    flows: tuple[str, ...]
    groups: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join((*self.flows, *self.groups))

    def __repr__(self) -> str:
        return f"<{self.switch}: {len(self.flows)} rules, {len(self.groups)} groups>"


class SessionVerbs:
    """Verbs of a running fabric: they return typed results and print nothing.

    The prompt of `polarlab up`, `polarlab.Fabric`, the live page and its API are built from the declarations
    here (`polarlab.api.verb`). During a measurement, verbs that change the fabric or send probes raise
    UsageError.

    Attributes:
        recorder: records the session's lines in a folder; None without one.
    """

    recorder: SessionRecorder | None = None

    def __init__(self, session: FabricSession, recorder: SessionRecorder | None = None) -> None:
        """Creates the verbs of a session; see the attributes."""
        self._session, self.recorder = session, recorder

    @property
    def session(self) -> FabricSession:
        """The session; raises UsageError while the fabric is not up."""
        return self._session

    @property
    def plan(self) -> RoutePlan:
        """The rules and groups of the switches."""
        return self.session.fabric.plan

    # ---- failures ----

    @verb(
        Line(
            "fail COMPONENT[,COMPONENT...]",
            """
            Components are named as in fault schedules: link:s3-s8 (a cable is pulled), switch:s4 (a switch
            loses power), hang:s4 (its program dies, its links stay up), random:2 (two links), controller; the
            link of a host is link:s3-h3_1.
            `fail` alone lists what has failed or is drained, and interfaces that a program on a node has set
            down.
            """,
            alone=lines.failures,
            shown=lines.changes("failed"),
        ),
        Http("POST", "/api/fail", "elements"),
        Page(
            (
                Button("cut", "link", {"elements": "link:{}"}, unless=["dead"]),
                Button("cut", "host link", {"elements": "link:{}"}),
                Button("power off", "switch", {"elements": "switch:{}"}, unless=["off"]),
                Button("hang", "switch", {"elements": "hang:{}"}, unless=_DOWN),
                Button("kill", "controller", {"elements": "controller"}),
            )
        ),
    )
    def fail(self, elements: str) -> tuple[str, ...]:
        """Makes components fail and returns their names; one that has already failed is left as it is.

        Args:
            elements: comma-separated components, as in fault schedules: `link:s1-s7,switch:s4`, `hang:s4`,
                `random:2`, `controller`.

        Raises:
            UsageError: the fabric has no such component.
        """
        with self._noted(f"fail {elements}"):
            return tuple(component.name for component in self.session.fail(elements))

    @verb(
        Line(
            "restore COMPONENT[,COMPONENT...] | all",
            "`restore all` also starts the controller and switches that were stopped or ended by themselves.",
            shown=lines.changes("restored"),
        ),
        Http("POST", "/api/restore", "elements"),
        Page(
            (
                Button("restore", "link", {"elements": "link:{}"}, when=["dead"]),
                Button("restore", "host link", {"elements": "link:{}"}),
                Button("power on", "switch", {"elements": "switch:{}"}, when=["off"]),
                Button("start its program", "switch", {"elements": "hang:{}"}, when=["hangs"]),
                Button("start", "controller", {"elements": "controller"}),
                Button("restore everything", "controller", {"elements": "all"}),
            )
        ),
        summary="Restores components that have failed",
        needs="a component, such as link:s3-s8, or all",
    )
    def restore(self, elements: str = "all") -> tuple[str, ...]:
        """Restores components and returns their names; one that works is left as it is.

        Args:
            elements: components as for `fail`, or `all`: all that have failed or ended, including the
                controller.

        Raises:
            UsageError: the fabric has no such component.
        """
        with self._noted(f"restore {elements}"):
            return tuple(component.name for component in self.session.restore(elements))

    @verb(Line("hang SWITCH", "`restore hang:SWITCH` ends it.", shown=lines.changes("failed")))
    def hang(self, switch: str) -> str:
        """Kills a switch's program, leaving its links up, and returns the component's name.

        Args:
            switch: the switch, such as `s4`.

        Raises:
            UsageError: the fabric does not have that switch.
        """
        with self._noted(f"hang {switch}"):
            return self.session.hang(switch).name

    @property
    def failures(self) -> tuple[str, ...]:
        """The names of the components that have failed and were not restored."""
        return tuple(component.name for component in self.session.active_failures())

    @verb(
        Line(
            "drain COMPONENT[,COMPONENT...] [--force]",
            """
            Components are written s3 or link:s3-s8. A drained switch carries only the traffic of its own
            hosts, and can be switched off and on again; `undrain` returns it to service. A drain that would
            cut others off needs --force. `drain` alone lists what is drained.
            """,
            alone=lines.drained,
            shown=lines.drain,
        ),
        Http("POST", "/api/drain", "outcome"),
        Page(
            (
                Button("drain", "link", {"elements": "link:{}"}, unless=["drained"]),
                Button("drain", "switch", {"elements": "{}"}, unless=["drained", *_DOWN]),
            )
        ),
        summary="Diverts traffic from switches or links, without loss",
    )
    def drain(self, elements: str, *, force: bool = False) -> DrainOutcome:
        """Diverts traffic from components and returns when the last packet has left them; print the result.

        They then carry no transit traffic, and can fail and be restored without loss, except for packets of a
        drained switch's own hosts.

        Args:
            elements: comma-separated switches and links, such as `s3` or `link:s1-s2`.
            force: whether to drain them even if that cuts others off.

        Raises:
            UsageError: a component does not exist, has failed or is drained; its drain would cut others off;
                or the controller is not running.
        """
        with self._noted(f"drain {elements}" + (" --force" if force else "")):
            return self.session.drain(elements, force=force)

    @verb(
        Line("undrain COMPONENT[,COMPONENT...] | all"),
        Http("POST", "/api/undrain", "outcome"),
        Page(
            (
                Button("undrain", "link", {"elements": "link:{}"}, when=["drained"]),
                Button("undrain", "switch", {"elements": "{}"}, when=["drained"], unless=_DOWN),
            )
        ),
        summary="Returns drained switches or links to service",
        needs="a component, such as s3, or all",
    )
    def undrain(self, elements: str = "all") -> DrainOutcome:
        """Returns drained components to service, and waits until traffic may use them; print the result.

        Args:
            elements: components as for `drain`, or `all`.

        Raises:
            UsageError: a component does not exist or is not drained, or the controller is not running.
        """
        with self._noted(f"undrain {elements}"):
            return self.session.undrain(elements)

    @property
    def drained(self) -> tuple[str, ...]:
        """The names of the components that are drained."""
        return tuple(component.name for component in self.session.drained())

    # ---- the controller ----

    @verb(Line("controller kill", shown=lines.controller_changed))
    def kill_controller(self) -> None:
        """Kills the controller; the switches keep their rules."""
        with self._noted("controller kill"):
            self.session.kill_controller()

    @verb(Line("controller start", shown=lines.controller_changed))
    def start_controller(self) -> float:
        """Starts the controller unless it is running; returns the seconds until it had control again."""
        with self._noted("controller start"):
            return self.session.start_controller()

    @verb(Line("controller restart", shown=lines.controller_changed))
    def restart_controller(self) -> float:
        """Kills and restarts the controller; returns the seconds until it had control again."""
        with self._noted("controller restart"):
            self.session.kill_controller()
            return self.session.start_controller()

    @verb(Line("controller [status]", shown=lines.controller), summary="Shows the state of the controller")
    def controller(self) -> ControllerStatus:
        """Returns the state of the controller."""
        return self.session.controller_status()

    # ---- measurements ----

    @verb(
        Line(
            "drops",
            """
            `queue` counts packets that found a port's queue full, `lost` those that --link-loss dropped.
            Packets that hosts may not send (with another host's address, for example) are dropped at their
            switch's port.
            """,
            shown=lines.drops,
        ),
        summary="Prints the packets dropped since the fabric came up, by port and by host",
    )
    def drops(self) -> Drops:
        """Returns the packets dropped by queues and ingress checks since the fabric came up."""
        return self.session.drops()

    @verb(
        Line(
            "loads [SECONDS]",
            "Prints the 16 highest loads of the next second (or SECONDS), as fractions of the links' rate.",
            shown=lines.loads,
        ),
        summary="Measures the loads of links, by direction",
    )
    def loads(self, seconds: float = 1.0) -> Rows[LinkLoad]:
        """Returns the loads of all links over the next seconds, by direction, highest first.

        Args:
            seconds: 0.1 to 3600 s.

        Raises:
            ParameterError: the time is outside its domain.
        """
        from experiments.results.frames import Rows

        return Rows(self.session.loads(seconds))

    @verb(
        Line(
            "path PLACE PLACE",
            """
            Places are switches or hosts, as in `path s3 s17` or `path h3_1 h17_1`; a switch stands for its
            first host. The paths are those of the plan's rules under the failures of `fail`; 16 probes of
            different flows, sent now, show how many hops real packets take.
            """,
        ),
        summary="Prints the paths between two hosts or switches",
        needs="two switches or hosts",
    )
    def path(self, source: str, destination: str) -> PathReport:
        """Returns the paths between two hosts or switches, by the rules and by probes sent now; print it.

        Args:
            source: name of a host, or of a switch, which stands for its first host.
            destination: name of a host or switch at another router.

        Raises:
            UsageError: a host or switch does not exist, both are at one switch, or a measurement is running.
        """
        return self.session.path(source, destination)

    def rules(self, switch: str) -> SwitchRules:
        """Returns the rules and groups of a switch, as planned.

        Args:
            switch: the switch, such as `s3`.

        Raises:
            UsageError: the fabric does not have that switch.
        """
        from polarlab.api.analysis.theory import switch_rules
        from topology.addressing import switch_router

        return switch_rules(self.plan, switch_router(switch, self.plan.topology.routers))

    def tables(self, switch: str) -> SwitchTables:
        """Returns the current rules and groups of a switch, with counters.

        Args:
            switch: the switch, such as `s3`.

        Raises:
            UsageError: the fabric does not have that switch.
            CommandError: the switch does not answer.
        """
        from topology.addressing import switch_router

        switch_router(switch, self.plan.topology.routers)
        flows, groups = self.session.fabric.network.dump_tables(switch)
        return SwitchTables(switch, flows, groups)

    # ---- the adaptation ----

    @verb(
        Line("routing"),
        Http("GET", "/api/routing"),
        summary="Shows the routing with its current parameters",
    )
    def routing(self) -> RoutingStatus:
        """Returns the routing with its current parameters; print it."""
        return self.session.routing_status()

    @verb(
        Line(
            "routing PARAMETER=VALUE ...",
            """
            Parameters of its decision law and of its control, such as `routing threshold=0.5
            rest-returned=40`; no rule changes.
            """,
        ),
        Http("POST", "/api/routing"),
        Page(
            [Button("change", "routing"), Button("as launched", "routing", {"parameters": "{}"})],
            {"parameters": Field(choices="parameters")},
        ),
        summary="Changes parameters of an adaptive routing while it runs",
    )
    def set_routing(self, **values: Value) -> RoutingStatus:
        """Changes parameters of an adaptive routing while it runs; no rule changes. Print the result.

        Results of `traffic` record the parameters in use.

        Args:
            values: parameters of the routing's decision law and of its control, such as `threshold=0.5`;
                others keep their values.

        Raises:
            UsageError: the routing has no such parameter, the parameter cannot change while the fabric is
                up, a measurement is running, or the controller is not.
            ParameterError: a value is outside its domain.
        """
        words = " ".join(f"{name.replace('_', '-')}={value}" for name, value in values.items())
        with self._noted(f"routing {words}"):
            return self.session.set_routing(values)

    # ---- background traffic ----

    @verb(
        Line(
            "traffic start [PATTERN] [LOAD]",
            """
            All hosts send by a pattern (`polarlab patterns`; default uniform) at a load, as a fraction of
            their links' rate (default 0.3), until `traffic stop`, which prints the outcome. `traffic stop`
            also stops a measurement started from the live page; its folder keeps the results so far.
            """,
            shown=lines.traffic_started,
        ),
        Http("POST", "/api/traffic", limits={"load": LOAD, "seed": SEED}),
        Page(
            [Button("start", "traffic", unless=["traffic"])],
            {"pattern": PATTERN_FIELD, "load": LOAD_FIELD},
        ),
        summary="Starts traffic of a pattern between all hosts",
    )
    def start_traffic(self, pattern: str = "uniform", load: float = 0.3, seed: int = 1) -> None:
        """Starts background traffic, which runs until `stop_traffic`.

        Args:
            pattern: traffic pattern, one of `patterns()` that is not a collective.
            load: offered load, over 0 and at most 1 of the injection capacity.
            seed: seed of the random generator.

        Raises:
            UsageError: traffic is already running, or a value is outside its domain.
        """
        self.session.start_traffic(pattern, load, seed)

    @verb(
        Line("traffic stop", shown=lines.traffic_stopped),
        Http("DELETE", "/api/traffic"),
        Page([Button("stop", "traffic", when=["traffic"])]),
    )
    def stop_traffic(self) -> TrafficOutcome:
        """Stops the background traffic, and returns its outcome.

        Raises:
            UsageError: no background traffic is running.
        """
        return self.session.stop_traffic()

    @verb(
        Line("traffic [status]", shown=lines.traffic_status),
        summary="Shows the current rates of the background traffic",
    )
    def traffic_status(self) -> TrafficStatus | None:
        """Returns the current rates of the background traffic; None if none is running."""
        return self.session.traffic_status()

    def stop_measurement(self) -> None:
        """Stops the measurement that the program or the page started; its folder keeps the results so far.

        In the thread that measures, `traffic` then raises KeyboardInterrupt.

        Raises:
            UsageError: no measurement is running.
        """
        self.session.turns.stop()

    @contextlib.contextmanager
    def _noted(self, line: str) -> Iterator[None]:
        """Records the prompt line that is equivalent to the verb run in the block."""
        if self.recorder is None:
            yield
            return
        with self.recorder.line(line, self.session.active_failures) as statuses:
            yield
            statuses.append(0)
