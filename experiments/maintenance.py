"""Maintenance of a live fabric: draining links and switches, and using them again."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from controller.occupancy.queues import QueueReader, QueueState
from controller.reports import Replanned
from experiments.controller_reports import ControllerError
from experiments.live_fabric import LiveFabric, open_queue_readers
from topology.addressing import dpid
from topology.drains import Drain, cut_off, drain_named, drain_of, with_drained, without_drained
from topology.errors import MachineError, NegativeResult, UsageError
from topology.failures import Failure, failure_of
from topology.faults import Component, ComponentKind, parse_drained

ALL = "all"
PLAN_TIMEOUT_S = 30.0
POLL_INTERVAL_S = 0.005
# Time after the controller's last rule in which Open vSwitch updates its cached flows and sends the packets
# that it is processing.
SETTLE_S = 0.1

Place = tuple[int, int]  # datapath id, port


@dataclass(frozen=True)
class DrainOutcome:
    """Outcome of a drain, or of the end of a drain; as text, a description in one line.

    Attributes:
        elements: names of the links and switches, like `switch:s3`.
        drained: names of all links and switches that are drained afterwards.
        rules: number of rules and groups that the controller changed.
        rounds: number of rounds of changes.
        planning_ms: time to compute and prove the plan.
        installed_ms: time from the command until all switches had installed the plan.
        milliseconds: time from the command until the drain, or its end, was complete.
        cut_off: switches that the drain separates from the largest connected part of the fabric, one tuple
            per part (`topology.drains.cut_off`).
        crossing_pairs: number of ordered pairs of switches whose traffic still crosses drained links or
            switches, because no other path connects them.
        ended: whether this is the outcome of a drain's end.
        down: links and switches that are no longer drained, but down; traffic uses them once they are up.
    """

    elements: tuple[str, ...]
    drained: tuple[str, ...]
    rules: int
    rounds: int
    planning_ms: float
    installed_ms: float
    milliseconds: float
    cut_off: tuple[tuple[str, ...], ...] = ()
    crossing_pairs: int = 0
    ended: bool = False
    down: tuple[str, ...] = ()

    def __str__(self) -> str:
        after = f"{self.milliseconds:.1f} ms after the command"
        if self.ended and self.down:
            again = f"once up, {_are(self.down)} in use again"
            return f"{_are(self.elements)} not drained any more; {again}; {after}"
        if self.ended:
            return f"{_are(self.elements)} in use again; {after}"
        if self.crossing_pairs:
            carried = f"only traffic of {self.crossing_pairs} pairs of switches without another path"
        elif any(name.startswith(ComponentKind.SWITCH.value) for name in self.elements):
            carried = "no transit traffic"
        else:
            carried = "no traffic"
        return f"{_are(self.elements)} drained: {carried}; {after}"


class Maintenance:
    """Drains links and switches of one fabric; they stay drained if the controller is restarted."""

    def __init__(self, fabric: LiveFabric) -> None:
        self._fabric = fabric
        self._topology = fabric.options.topology

    @property
    def drain_now(self) -> Drain:
        """The current drain."""
        return drain_named(self._topology, self._fabric.controller.drained)

    @property
    def drained(self) -> tuple[Component, ...]:
        """The links and switches that are drained."""
        return self.drain_now.components

    def drain(self, text: str, active_failures: Iterable[Component], *, force: bool = False) -> DrainOutcome:
        """Diverts traffic from links and switches, and returns when the last packet has left them.

        Args:
            text: the links and switches, like `s3` or `link:s1-s2`, separated by commas.
            active_failures: the components that have failed.
            force: whether to drain them even if that cuts other switches off.

        Raises:
            UsageError: a link or switch does not exist, has failed or is drained already; its drain would cut
                others off; or the controller does not run.
            NegativeResult: the controller has no plan for the drain.
        """
        began_s = time.monotonic()
        before, failure = self.drain_now, self._failure(active_failures)
        components = parse_drained(text, self._topology)
        after = with_drained(self._topology, before, components, failure, force=force)
        planned = self._planned(after)
        self._wait_until_empty(drain_of(self._topology, components), failure)
        parts = cut_off(self._topology, failure, before, after)
        return _outcome(components, after, planned, began_s, parts)

    def undrain(self, text: str = ALL) -> DrainOutcome:
        """Ends drains, and returns when all switches have installed the new plan.

        Args:
            text: the links and switches as for `drain`, or `all`.

        Raises:
            UsageError: a link or switch does not exist or is not drained, or the controller does not run.
        """
        began_s = time.monotonic()
        before = self.drain_now
        if text == ALL and not before.any_drained:
            raise UsageError("nothing is drained")
        components = before.components if text == ALL else parse_drained(text, self._topology)
        after = without_drained(self._topology, before, components)
        return _outcome(components, after, self._planned(after), began_s, ended=True)

    def _planned(self, drain: Drain) -> Replanned:
        """Makes a drain the current one; returns the report of its plan once all switches have that plan."""
        controller = self._fabric.controller
        if not controller.running:
            raise UsageError("the controller must run to divert traffic; start it first")
        controller.wait_until_in_charge()
        before, deadline = controller.drained, time.monotonic() + PLAN_TIMEOUT_S
        controller.ask_for_drain([component.name for component in drain.components])
        while controller.planned_drain != drain.name:
            reason = controller.drain_refusal
            if reason is None and controller.running and time.monotonic() < deadline:
                time.sleep(POLL_INTERVAL_S)
                controller.catch_up()
                continue
            controller.ask_for_drain(before)
            if reason is not None:
                raise NegativeResult(reason)
            late = f"has not installed a plan that avoids {drain.name} within {PLAN_TIMEOUT_S:g} s"
            raise ControllerError(f"the controller {late if controller.running else 'has ended'}")
        return controller.latest(Replanned)

    def _failure(self, active_failures: Iterable[Component]) -> Failure:
        """Combines failed switches and links between switches; ignores all other components."""
        failed = (e for e in active_failures if e.kind is not ComponentKind.CONTROLLER and e.host is None)
        return failure_of(self._topology, failed)

    # ---- the queues ----

    def _wait_until_empty(self, drain: Drain, failure: Failure) -> None:
        """Waits until the packets that are on their way through a drained link or switch have left it.

        Waits first for the queues that lead into a drained link or switch, then for those of drained
        switches. A queue is first in, first out: the packets that waited have left once it was empty or has
        sent as many bytes as waited. So traffic of a drained switch's own hosts does not matter.
        """
        links = [
            link
            for link in self._topology.link_list
            if failure.failed_ends.isdisjoint(link.ends)
            and (drain.ends.issuperset(link.ends) or {link.a, link.b} & drain.routers)
        ]
        ends = {(dpid(router), port): router for link in links for router, port in link.ends}
        first = {place for place, router in ends.items() if router not in drain.routers}
        for places in (first, ends.keys() - first):
            time.sleep(SETTLE_S + self._fabric.options.links.delay_ms / 1e3)
            if places:
                self._wait_for_queues(places)

    def _wait_for_queues(self, places: Collection[Place]) -> None:
        """Waits until the packets that now wait in the queues of these ports have left."""
        spec = self._fabric.options.links
        full_s = spec.queue_packets * spec.packet_s(spec.max_frame_bytes)
        try:
            readers = open_queue_readers(self._fabric.network)
        except (OSError, MachineError):  # queues cannot be read: wait for the time of a full queue
            time.sleep(full_s)
            return
        deadline = time.monotonic() + 2 * full_s + 1.0
        try:
            before: dict[Place, QueueState] = {}
            waiting = set(places)
            while waiting and time.monotonic() < deadline:
                now = _states(readers, {number for number, _ in waiting})
                before = before or now
                waiting = {place for place in waiting if not _has_left(before.get(place), now.get(place))}
                if waiting:
                    time.sleep(POLL_INTERVAL_S)
        finally:
            for reader in readers.values():
                reader.close()


def _states(readers: Mapping[int, QueueReader], numbers: Collection[int]) -> dict[Place, QueueState]:
    """Returns (datapath id, port) -> state of the queue, for all ports of switches given by datapath id."""
    states: dict[Place, QueueState] = {}
    for number in numbers:
        with contextlib.suppress(OSError):  # the switch's namespace is gone
            states |= {(number, port): state for port, state in readers[number].read().items()}
    return states


def _has_left(before: QueueState | None, now: QueueState | None) -> bool:
    """Returns whether the packets that waited in a queue at `before` have left it; True if either is None."""
    if before is None or now is None or not now.packets:
        return True
    return now.sent_bytes - before.sent_bytes >= before.waiting_bytes


def _outcome(
    components: Collection[Component],
    drain: Drain,
    planned: Replanned,
    began_s: float,
    parts: tuple[tuple[str, ...], ...] = (),
    *,
    ended: bool = False,
) -> DrainOutcome:
    return DrainOutcome(
        elements=tuple(component.name for component in components),
        drained=tuple(component.name for component in drain.components),
        rules=planned.rules,
        rounds=planned.rounds,
        planning_ms=round(planned.planning_s * 1e3, 1),
        installed_ms=round((planned.monotonic_s - began_s) * 1e3, 1),
        milliseconds=round((time.monotonic() - began_s) * 1e3, 1),
        cut_off=parts,
        crossing_pairs=planned.crossing_pairs,
        ended=ended,
        down=tuple(e.name for e in components if e.location in planned.failed.split(", ")),
    )


def _are(components: tuple[str, ...]) -> str:
    """Returns the components' names, followed by `is` or `are`."""
    names = ", ".join(name.removeprefix("switch:") for name in components)
    return f"{names} {'is' if len(components) == 1 else 'are'}"
