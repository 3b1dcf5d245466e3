"""Verbs of a session in Python: background traffic, loads, drops, paths, tables, failures, the controller."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.spec.options import DEFAULT_LOAD, DEFAULT_PATTERN
from polarlab.api.analysis.theory import SwitchRules, switch_rules
from polarlab.api.frames import Rows
from routing.plan.model import RoutePlan
from topology.addressing import switch_router
from topology.faults import FORCE
from topology.parameters import Value

if TYPE_CHECKING:  # at run time only where Mininet is known to be there
    from experiments.maintenance import DrainOutcome
    from experiments.programs.session_record import SessionRecorder
    from experiments.results.parts.programs import TrafficOutcome
    from experiments.session.fabric_session import FabricSession
    from experiments.session.links import Drops, LinkLoad
    from experiments.session.paths import PathReport
    from experiments.session.routing_parameters import RoutingStatus
    from experiments.session.status import ControllerStatus, TrafficStatus


@dataclass(frozen=True)
class SwitchTables:
    """Tables and groups of a switch as it holds them now, with counters; print it.

    Attributes:
        switch: name of the switch.
        flows: a line for each rule, in Open vSwitch's words.
        groups: a line for each group.
    """

    switch: str
    flows: tuple[str, ...]
    groups: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join((*self.flows, *self.groups))

    def __repr__(self) -> str:
        return f"<{self.switch}: {len(self.flows)} rules, {len(self.groups)} groups>"


class SessionVerbs(ABC):
    """Verbs that `Fabric` shares with the prompt of `polarlab up`: typed results, and nothing is printed.

    While something is measured, those that change the fabric or send probes raise UsageError.

    Attributes:
        recorder: what keeps the session's lines for a folder; None without one.
    """

    recorder: SessionRecorder | None = None

    @property
    @abstractmethod
    def session(self) -> FabricSession:
        """The session; raises UsageError while the fabric is not up."""

    @property
    def plan(self) -> RoutePlan:
        """The rules and groups of the switches."""
        return self.session.fabric.plan

    def start_traffic(
        self, pattern: str = DEFAULT_PATTERN, load: float = DEFAULT_LOAD, seed: int = 1
    ) -> None:
        """Starts background traffic, which flows until `stop_traffic`.

        Args:
            pattern: traffic pattern, one of `patterns()` that is not a collective.
            load: offered load, over 0 and at most 1 of the injection capacity.
            seed: seed of the random generator.

        Raises:
            UsageError: traffic flows already, or a value is outside its domain.
        """
        self.session.start_traffic(pattern, load, seed)

    def stop_traffic(self) -> TrafficOutcome:
        """Stops the background traffic, and returns its outcome.

        Raises:
            UsageError: none flows.
        """
        return self.session.stop_traffic()

    def traffic_status(self) -> TrafficStatus | None:
        """Returns the present rates of the background traffic; None if none flows."""
        return self.session.traffic_status()

    def stop_measurement(self) -> None:
        """Stops the measurement of the program or of the page; its folder keeps what was measured until then.

        In the thread that measures, `traffic` then raises KeyboardInterrupt.

        Raises:
            UsageError: nothing is measured.
        """
        self.session.turns.stop()

    def loads(self, seconds: float = 1.0) -> Rows[LinkLoad]:
        """Returns the loads of all links in the next seconds, each direction by itself, the highest first.

        Args:
            seconds: 0.1 to 3600 s.

        Raises:
            ParameterError: the time is outside its domain.
        """
        return Rows(self.session.loads(seconds))

    def drops(self) -> Drops:
        """Returns the packets that queues and ingress checks dropped since the fabric was built."""
        return self.session.drops()

    def path(self, source: str, destination: str) -> PathReport:
        """Returns the paths between two places, by the rules and by probes that are sent now; print it.

        Args:
            source: name of a host, or of a switch, which stands for its first host.
            destination: the same of another router.

        Raises:
            UsageError: the fabric does not have a place, both are at one switch, or something is measured.
        """
        return self.session.path(source, destination)

    def rules(self, switch: str) -> SwitchRules:
        """Returns the rules and groups of a switch, as planned.

        Args:
            switch: the switch, as `s3`.

        Raises:
            UsageError: the fabric does not have that switch.
        """
        return switch_rules(self.plan, switch_router(switch, self.plan.topology.routers))

    def tables(self, switch: str) -> SwitchTables:
        """Returns the rules and groups that a switch holds now, with their counters.

        Args:
            switch: the switch, as `s3`.

        Raises:
            UsageError: the fabric does not have that switch.
            CommandError: the switch does not answer.
        """
        switch_router(switch, self.plan.topology.routers)
        flows, groups = self.session.fabric.network.dump_tables(switch)
        return SwitchTables(switch, flows, groups)

    # ---- the adaptation ----

    def routing(self) -> RoutingStatus:
        """Returns the routing with the parameters that hold now; print it."""
        return self.session.routing_status()

    def set_routing(self, **values: Value) -> RoutingStatus:
        """Has an adaptive routing go on with other parameters; no rule changes. Print the result.

        Results of `traffic` name the parameters that held.

        Args:
            values: parameters of the routing's law and of its control, as `threshold=0.5`; those that are
                absent stay.

        Raises:
            UsageError: the routing has not such a parameter, it cannot change while the fabric is up, traffic
                is measured, or the controller does not run.
            ParameterError: a value is outside its domain.
        """
        words = " ".join(f"{name.replace('_', '-')}={value}" for name, value in values.items())
        with self._noted(f"routing {words}"):
            return self.session.set_routing(values)

    # ---- failures ----

    def fail(self, elements: str) -> tuple[str, ...]:
        """Makes elements fail, and returns their names; one that has failed already stays so.

        Args:
            elements: elements with commas, as in fault schedules: `link:s1-s7,switch:s4`, `hang:s4`,
                `random:2`, `controller`.

        Raises:
            UsageError: the fabric does not have an element.
        """
        with self._noted(f"fail {elements}"):
            return tuple(element.name for element in self.session.fail(elements))

    def restore(self, elements: str = "all") -> tuple[str, ...]:
        """Restores elements, and returns their names; one that works stays so.

        Args:
            elements: elements as for `fail`, or `all`: everything that failed or ended, the controller too.

        Raises:
            UsageError: the fabric does not have an element.
        """
        with self._noted(f"restore {elements}"):
            return tuple(element.name for element in self.session.restore(elements))

    def hang(self, switch: str) -> str:
        """Kills a switch's program while its links stay up, and returns the element's name.

        Args:
            switch: the switch, as `s4`.

        Raises:
            UsageError: the fabric does not have that switch.
        """
        with self._noted(f"hang {switch}"):
            return self.session.hang(switch).name

    @property
    def failures(self) -> tuple[str, ...]:
        """The names of the elements that have failed and were not restored."""
        return tuple(element.name for element in self.session.standing_failures())

    def drain(self, elements: str, *, force: bool = False) -> DrainOutcome:
        """Leads traffic around elements, and returns when the last of it has left them; print the result.

        They carry no transit traffic then, and can fail and be restored without loss, but for the packets of
        a drained switch's own hosts.

        Args:
            elements: switches and links with commas, as `s3` or `link:s1-s2`.
            force: whether they are drained even if that cuts others off.

        Raises:
            UsageError: an element does not exist, has failed or is drained; its drain would cut others off;
                or the controller does not run.
        """
        with self._noted(f"drain {elements}" + (f" {FORCE}" if force else "")):
            return self.session.drain(elements, force=force)

    def undrain(self, elements: str = "all") -> DrainOutcome:
        """Has traffic use drained elements again, and returns when it may; print the result.

        Args:
            elements: elements as for `drain`, or `all`.

        Raises:
            UsageError: an element does not exist or is not drained, or the controller does not run.
        """
        with self._noted(f"undrain {elements}"):
            return self.session.undrain(elements)

    @property
    def drained(self) -> tuple[str, ...]:
        """The names of the elements that are drained."""
        return tuple(element.name for element in self.session.drained())

    def kill_controller(self) -> None:
        """Kills the controller; the switches keep their rules."""
        with self._noted("controller kill"):
            self.session.kill_controller()

    def start_controller(self) -> float:
        """Starts the controller unless it runs, and returns the seconds until it was in charge again."""
        with self._noted("controller start"):
            return self.session.start_controller()

    def controller(self) -> ControllerStatus:
        """Returns the state of the controller."""
        return self.session.controller_status()

    @contextlib.contextmanager
    def _noted(self, line: str) -> Iterator[None]:
        """Has the recorder keep a verb as the line of the prompt that does the same."""
        if self.recorder is None:
            yield
            return
        with self.recorder.line(line, self.session.standing_failures) as statuses:
            yield
            statuses.append(0)
