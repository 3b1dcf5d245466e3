"""Typed reports from the controller process to its parent, one JSON object per line of standard output."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn

from controller.fabric_state import FabricState
from topology.errors import Status
from topology.plugins import plugin_failure


@dataclass(frozen=True)
class Report:
    """An event in the controller process.

    Attributes:
        event: the report's name in JSON.
        monotonic_s: time of the event on the machine's monotonic clock, which all its processes share.
    """

    event: ClassVar[str]
    monotonic_s: float = field(default_factory=time.monotonic, kw_only=True)


@dataclass(frozen=True)
class Planned(Report):
    """The plan is compiled.

    Attributes:
        flows: number of rules on all switches.
        groups: number of groups on all switches.
        digest: digest of the plan, for comparison with the parent's plan.
        seconds: time to compile the plan.
    """

    event: ClassVar[str] = "planned"
    flows: int
    groups: int
    digest: str
    seconds: float


@dataclass(frozen=True)
class Proven(Report):
    """The plan is proven.

    Attributes:
        pairs: number of ordered pairs of hosts.
        max_hops: number of hops of the longest path.
        seconds: time to prove the plan.
    """

    event: ClassVar[str] = "proven"
    pairs: int
    max_hops: int
    seconds: float


@dataclass(frozen=True)
class Listening(Report):
    """Switches can connect to this address."""

    event: ClassVar[str] = "listening"
    address: str


@dataclass(frozen=True)
class Connected(Report):
    """A switch of the fabric connected or reconnected."""

    event: ClassVar[str] = "connected"
    dpid: int


@dataclass(frozen=True)
class Foreign(Report):
    """A switch connected that does not belong to the fabric; it is left alone."""

    event: ClassVar[str] = "foreign"
    dpid: int


@dataclass(frozen=True)
class Disconnected(Report):
    """A switch's connection ended."""

    event: ClassVar[str] = "disconnected"
    dpid: int


@dataclass(frozen=True)
class Ready(Report):
    """A switch has its plan installed.

    Attributes:
        switch: name of the switch.
        ready: number of switches that have their plan installed now, this one included.
        switches: number of switches of the fabric.
    """

    event: ClassVar[str] = "ready"
    switch: str
    ready: int
    switches: int


@dataclass(frozen=True)
class Installed(Report):
    """All switches have their plan installed; the controller is now in charge of the fabric's rules."""

    event: ClassVar[str] = "installed"
    switches: int


@dataclass(frozen=True)
class Incomplete(Report):
    """The controller is in charge without the switches that did not connect in time."""

    event: ClassVar[str] = "incomplete"
    switches: int
    missing: tuple[str, ...]


@dataclass(frozen=True)
class TakingOver(Report):
    """All switches connected; those with rules of an earlier controller are now updated to the plan."""

    event: ClassVar[str] = "taking over"
    switches: int


@dataclass(frozen=True)
class Adapted(Report):
    """Adaptive groups were changed.

    Attributes:
        groups_modified: number of changes since the controller's start.
        detoured: fraction of the buckets of all adaptive groups that point at detours now, 0 to 1.
    """

    event: ClassVar[str] = "adapted"
    groups_modified: int
    detoured: float = 0.0


@dataclass(frozen=True)
class Restored(Report):
    """All adaptive groups point at their minimal paths again, as the parent process requested."""

    event: ClassVar[str] = "restored"


@dataclass(frozen=True)
class RoutingSet(Report):
    """The parameters of the adaptive routing `routing` have changed, as the parent process requested."""

    event: ClassVar[str] = "routing set"
    routing: str


@dataclass(frozen=True)
class PortSet(Report):
    """The controller set a port of a switch administratively `down`, or `up` again."""

    event: ClassVar[str] = "port"
    switch: str
    port: int
    set: str


@dataclass(frozen=True)
class Replanned(Report):
    """All switches have installed the plan for the surviving graph.

    Attributes:
        failed: names of the failed links and switches that the plan avoids; "none" for the first plan.
        rules: number of changed rules and groups.
        rounds: number of rounds of changes; each waits for the barriers of the previous one.
        cut_off_pairs: number of ordered pairs of live routers without a path between them.
        cut_off: the first few of those pairs, as text.
        planning_s: time to compile and prove the plan.
        seconds: time from the start of planning until all switches had the plan.
        drained: names of the drained links and switches that the plan avoids; "none" if there are none.
        crossing_pairs: number of ordered pairs of live routers that only drained links or switches connect.
    """

    event: ClassVar[str] = "replanned"
    failed: str
    rules: int
    rounds: int
    cut_off_pairs: int
    cut_off: tuple[str, ...]
    planning_s: float
    seconds: float
    drained: str = "none"
    crossing_pairs: int = 0


@dataclass(frozen=True)
class Unusable(Report):
    """The links and switches that are unusable now, whether or not the installed plan avoids them.

    Attributes:
        failed: their names; "none" if all are usable.
        held_until_s: link -> time when its hold-down ends, on the clock of `monotonic_s`, for links that are
            held down because they flapped; their ports may be up.
        settled: whether all switches have the plan for this state and drain, and no other plan is due.
    """

    event: ClassVar[str] = "unusable"
    failed: str
    held_until_s: dict[str, float]
    settled: bool


@dataclass(frozen=True)
class NotDrained(Report):
    """The requested drain is refused; the previous one remains in force."""

    event: ClassVar[str] = "not drained"
    text: str


@dataclass(frozen=True)
class Warned(Report):
    """A problem that the controller works around."""

    event: ClassVar[str] = "warning"
    text: str


@dataclass(frozen=True)
class Refused(Report):
    """A switch rejected a rule or a group."""

    event: ClassVar[str] = "refused"
    text: str


@dataclass(frozen=True)
class Fatal(Report):
    """The controller ends because of an error; its exit status shows which kind."""

    event: ClassVar[str] = "fatal"
    text: str


_WARNINGS_AT_ONCE = 20  # a burst of this many warnings, then one a second
_KINDS = {kind.event: kind for kind in Report.__subclasses__()}


def format_report(event: Report) -> str:
    """Returns a report as one line of JSON."""
    details = dataclasses.asdict(event)
    first = {"event": event.event, "monotonic_s": details.pop("monotonic_s")}
    return json.dumps(first | details) + "\n"


def parse_report(line: str) -> Report:
    """Returns the report in a line that `format_report` wrote.

    Raises:
        ValueError: the line is malformed.
    """
    try:
        details: dict[str, Any] = json.loads(line)
        kind: Callable[..., Report] = _KINDS[details.pop("event")]
        return kind(**{key: tuple(v) if isinstance(v, list) else v for key, v in details.items()})
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        text = line.strip()[:80]
        raise ValueError(f"report must be one JSON object of a known event, got {text!r}") from error


def report(event: Report) -> None:
    """Writes a report to standard output."""
    sys.stdout.write(format_report(event))
    sys.stdout.flush()


class Warnings:
    """Rate-limited warnings, because any client of the controller could cause any number of them."""

    def __init__(self) -> None:
        self._allowed: float = _WARNINGS_AT_ONCE
        self._since_s = time.monotonic()
        self._suppressed = 0

    def add(self, text: str) -> None:
        """Reports a warning, with the number of suppressed ones before it; suppresses it above the limit."""
        now_s = time.monotonic()
        self._allowed = min(_WARNINGS_AT_ONCE, self._allowed + now_s - self._since_s)
        self._since_s = now_s
        if self._allowed < 1:
            self._suppressed += 1
            return
        more = f" (and {self._suppressed} earlier warnings)" if self._suppressed else ""
        self._allowed, self._suppressed = self._allowed - 1, 0
        report(Warned(text + more))


def die(reason: str) -> NoReturn:
    """Reports an error and ends the process at once: it must not run without one of its threads.

    Args:
        reason: the error in words; not used if the code of a plug-in raised the error.
    """
    failure = plugin_failure(sys.exc_info()[1])
    try:
        traceback.print_exc(file=sys.stderr)
        sys.stderr.flush()
        report(Fatal(str(failure or reason)))
    finally:  # also without a reader of the reports
        os._exit(Status.USAGE if failure else Status.INTERNAL)


# Least time between two reports, as links can change at any rate. The first change of a settled state is
# reported at once.
_EVERY_S = 0.1


class StateReports:
    """Reports a fabric's state when it changes, at most about twenty times a second."""

    def __init__(self, state: FabricState) -> None:
        """Starts from a state without failures, which needs no report."""
        self._state = state
        self._changes = state.changes
        self._settled = True
        self._reported_s = 0.0

    def step(self, now_s: float, *, settled: bool) -> None:
        """Reports the state if it has changed since the last report.

        Args:
            now_s: the current time.
            settled: whether the switches have the plan for this state, and no other plan is due.
        """
        if settled == self._settled and self._state.changes == self._changes:
            return
        became_unsettled = self._settled and not settled
        if not became_unsettled and now_s < self._reported_s + _EVERY_S:
            return
        self._changes, self._settled, self._reported_s = self._state.changes, settled, now_s
        report(Unusable(self._state.failure().name, self._state.held_until_s(), settled))
