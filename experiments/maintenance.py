"""Maintenance of a fabric that is up: links and switches that are drained, and used again."""

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
from topology.faults import Element, ElementKind, parse_drained

ALL = "all"
PLAN_TIMEOUT_S = 30.0
LOOK_EVERY_S = 0.005
# From the controller's last rule until Open vSwitch has brought its cached flows into line with it, and has
# sent the packets that it was working on.
SETTLE_S = 0.1

Place = tuple[int, int]  # datapath id, port


@dataclass(frozen=True)
class DrainOutcome:
    """Elements that were drained, or whose drain has ended; print it.

    Attributes:
        elements: their names, as `switch:s3`.
        drained: the names of all elements that are drained from then on.
        rules: number of rules and groups that the controller changed.
        rounds: number of rounds of changes.
        planning_ms: time to compute and prove the plan.
        installed_ms: time from the command until all switches held the plan.
        milliseconds: time from the command until it was done.
        cut_off: the switches that only drained elements connect to the largest part of the fabric, part by
            part.
        crossing_pairs: ordered pairs of switches whose traffic still crosses drained elements, as nothing
            else connects them.
        ended: whether the drain of the elements has ended.
        down: the elements that traffic uses once they are up, as they have failed or just returned.
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
            carried = f"only traffic of {self.crossing_pairs} pairs of switches that nothing else connects"
        elif any(name.startswith(ElementKind.SWITCH.value) for name in self.elements):
            carried = "no transit traffic"
        else:
            carried = "no traffic"
        return f"{_are(self.elements)} drained: {carried}; {after}"


class Maintenance:
    """The drained elements of one fabric; its controller keeps them, also when it is started again."""

    def __init__(self, fabric: LiveFabric) -> None:
        self._fabric = fabric
        self._topology = fabric.options.topology

    @property
    def drain_now(self) -> Drain:
        """The elements that are drained."""
        return drain_named(self._topology, self._fabric.controller.drained)

    @property
    def drained(self) -> tuple[Element, ...]:
        """The links and switches that are drained."""
        return self.drain_now.elements

    def drain(self, text: str, standing: Iterable[Element], *, force: bool = False) -> DrainOutcome:
        """Leads traffic around elements, and returns when the last of it has left them.

        Args:
            text: the elements, as `s3`, `link:s1-s2` or several with commas.
            standing: the elements that have failed.
            force: whether elements are drained even if that cuts others off.

        Raises:
            UsageError: an element does not exist, has failed or is drained; its drain would cut others off;
                or the controller does not run.
            NegativeResult: the controller has no plan for it.
        """
        began_s = time.monotonic()
        before, failure = self.drain_now, self._failure(standing)
        elements = parse_drained(text, self._topology)
        after = with_drained(self._topology, before, elements, failure, force=force)
        planned = self._planned(after)
        self._wait_until_empty(drain_of(self._topology, elements), failure)
        parts = cut_off(self._topology, failure, before, after)
        return _outcome(elements, after, planned, began_s, parts)

    def undrain(self, text: str = ALL) -> DrainOutcome:
        """Has traffic use drained elements again, and returns when all switches hold the plan.

        Args:
            text: the elements as for `drain`, or `all`.

        Raises:
            UsageError: an element does not exist or is not drained, or the controller does not run.
        """
        began_s = time.monotonic()
        before = self.drain_now
        if text == ALL and not before.any_drained:
            raise UsageError("nothing is drained")
        elements = before.elements if text == ALL else parse_drained(text, self._topology)
        after = without_drained(self._topology, before, elements)
        return _outcome(elements, after, self._planned(after), began_s, ended=True)

    def _planned(self, drain: Drain) -> Replanned:
        """Returns the controller's report once all switches hold a plan for a drain."""
        controller = self._fabric.controller
        if not controller.running:
            raise UsageError("the controller must run to lead traffic around; start it first")
        controller.wait_until_in_charge()
        before, deadline = controller.drained, time.monotonic() + PLAN_TIMEOUT_S
        controller.ask_for_drain([element.name for element in drain.elements])
        while controller.planned_drain != drain.name:
            reason = controller.drain_refusal
            if reason is None and controller.running and time.monotonic() < deadline:
                time.sleep(LOOK_EVERY_S)
                controller.catch_up()
                continue
            controller.ask_for_drain(before)
            if reason is not None:
                raise NegativeResult(reason)
            late = f"has not installed a plan around {drain.name} within {PLAN_TIMEOUT_S:g} s"
            raise ControllerError(f"the controller {late if controller.running else 'has ended'}")
        return controller.latest(Replanned)

    def _failure(self, standing: Iterable[Element]) -> Failure:
        """Returns the failure of elements between switches."""
        failed = (e for e in standing if e.kind is not ElementKind.CONTROLLER and e.host is None)
        return failure_of(self._topology, failed)

    # ---- the queues ----

    def _wait_until_empty(self, drain: Drain, failure: Failure) -> None:
        """Returns when the packets have left that waited for a drained element, and then at a drained switch.

        A queue is first in, first out: it has sent the packets that waited at a time once it was empty, or
        has sent as many bytes as waited. So traffic from and to a switch's own hosts does not matter.
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
        """Returns when the packets have left that wait in some queues now."""
        spec = self._fabric.options.links
        full_s = spec.queue_packets * spec.packet_s(spec.max_frame_bytes)
        try:
            readers = open_queue_readers(self._fabric.network)
        except (OSError, MachineError):  # then for as long as the longest of them takes
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
                    time.sleep(LOOK_EVERY_S)
        finally:
            for reader in readers.values():
                reader.close()


def _states(readers: Mapping[int, QueueReader], numbers: Collection[int]) -> dict[Place, QueueState]:
    """Returns the state of every queue of some switches."""
    states: dict[Place, QueueState] = {}
    for number in numbers:
        with contextlib.suppress(OSError):  # its namespace is gone
            states |= {(number, port): state for port, state in readers[number].read().items()}
    return states


def _has_left(before: QueueState | None, now: QueueState | None) -> bool:
    """Returns whether the packets that waited before have left; there is none without a queue."""
    if before is None or now is None or not now.packets:
        return True
    return now.sent_bytes - before.sent_bytes >= before.waiting_bytes


def _outcome(
    elements: Collection[Element],
    drain: Drain,
    planned: Replanned,
    began_s: float,
    parts: tuple[tuple[str, ...], ...] = (),
    *,
    ended: bool = False,
) -> DrainOutcome:
    return DrainOutcome(
        elements=tuple(element.name for element in elements),
        drained=tuple(element.name for element in drain.elements),
        rules=planned.rules,
        rounds=planned.rounds,
        planning_ms=round(planned.planning_s * 1e3, 1),
        installed_ms=round((planned.monotonic_s - began_s) * 1e3, 1),
        milliseconds=round((time.monotonic() - began_s) * 1e3, 1),
        cut_off=parts,
        crossing_pairs=planned.crossing_pairs,
        ended=ended,
        down=tuple(e.name for e in elements if e.location in planned.failed.split(", ")),
    )


def _are(elements: tuple[str, ...]) -> str:
    """Returns the names of elements and the verb."""
    names = ", ".join(name.removeprefix("switch:") for name in elements)
    return f"{names} {'is' if len(elements) == 1 else 'are'}"
