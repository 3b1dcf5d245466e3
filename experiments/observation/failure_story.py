"""Headline of a fabric's failures, from the events of an experiment or the incidents of a session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from experiments.events.base import Event
from experiments.events.headline import QUIET, Headline
from experiments.events.notices import Notice
from experiments.observation.model import IncidentState
from routing.replan.surviving_graph import cut_off_pairs
from topology.base import Topology
from topology.failures import failure_of
from topology.faults import components_of_graph, is_of_graph


class FailureStory:
    """The failures of a fabric, and the headline of the latest."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._failed: dict[str, None] = {}  # in order
        self._subject: tuple[str, ...] = ()  # components that a session makes fail with probes around
        self._began = False  # whether they have failed since
        self._cut_off = 0
        self._announced = ""
        self._headline: Headline | None = None

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of the components that have failed."""
        return tuple(self._failed)

    @property
    def line(self) -> tuple[str, str]:
        """The headline and its level; empty without a failure."""
        return (str(self._headline), self._headline.level) if self._headline else (self._announced, QUIET)

    # ---- experiments ----

    def take(self, event: Event) -> None:
        """Updates the headline from an event of an experiment."""
        if isinstance(event, Headline):
            self._headline = event
        elif isinstance(event, Notice) and event.key == "failover-started":
            self._headline = None
            self._announced = "All pairs deliver; {failing} fails after {fail_s:g} s".format_map(event.values)
        elif isinstance(event, Notice) and event.key == "fault-injected" and not event.values["maintenance"]:
            self._note(event.values["component"], restores=event.values["restores"])

    def _note(self, component: str, *, restores: bool) -> None:
        """Notes a scheduled failure or restoration."""
        if not restores:
            began = not self._failed or self._headline is None
            self._failed[component] = None
            if began or (self._headline and self._headline.repaired):
                self._headline = Headline(self.failed)
            elif self._headline:
                self._headline = replace(self._headline, failed=self.failed)
            return
        self._failed.pop(component, None)
        if self._headline and not self._failed:
            self._headline = replace(self._headline, back=True)

    # ---- sessions ----

    def begin(self, components: Sequence[str]) -> None:
        """Notes the components that a session is about to make fail while it sends probes."""
        self._subject, self._began = tuple(components), False

    def observe(self, failed: Sequence[str], incident: IncidentState | None, *, whole: bool) -> None:
        """Updates the headline from the state of a session.

        Args:
            failed: names of the components that have failed.
            incident: the probes around the latest probed change.
            whole: whether everything works again with the initial plan.
        """
        unprobed = not _places(failed) <= _places((*self._failed, *self._subject))
        if self.failed != tuple(failed):
            self._failed = dict.fromkeys(failed)
            self._cut_off = self._cut_off_pairs()
        there = _places(self._subject) <= _places(failed)
        if unprobed or (self._began and not there):  # another failure, or one is back: the probes are over
            self._subject = ()
        self._began |= there
        probed = incident if incident and incident.pairs else None
        if not failed:
            if self._headline:
                heard = probed and probed.what.startswith("restore") and probed.repaired_ms is not None
                self._headline = replace(self._headline, back=True, right=whole and bool(heard))
            return
        if probed and probed.what.startswith("fail") and self._subject:
            self._headline = headline_of(self._subject, probed)
        elif unprobed or self._headline is None or self._headline.back:
            self._headline = Headline(self.failed, every_pair=False)
        self._headline = replace(self._headline, cut_off=self._cut_off)

    def _cut_off_pairs(self) -> int:
        """Returns the number of ordered pairs of working switches without a path between them."""
        components = components_of_graph(self._failed, self._topology)
        return len(cut_off_pairs(self._topology, failure_of(self._topology, components)))


def headline_of(failed: tuple[str, ...], incident: IncidentState) -> Headline:
    """Returns the headline of a failure from the probes around it.

    Args:
        failed: names of the components that failed.
        incident: the probes.
    """
    by = incident.repaired_by or ""
    if not by and not incident.running:
        by = "nobody" if incident.lost else "nothing was broken"
    crossed = incident.sent and all(map(is_of_graph, failed))
    if by == "nothing was broken" and crossed and not _planned_first(incident):
        hangs = any(name.startswith("hang:") for name in failed)  # only the controller can notice
        by = "controller" if hangs else "switches"  # before a probe was due
    lost = incident.lost + (incident.traffic.lost if incident.traffic else 0)
    return Headline(failed, lost=lost, repaired_ms=incident.repaired_ms, repaired_by=by, every_pair=False)


def _places(names: Iterable[str]) -> set[str]:
    """Removes kinds (`link:`) and numbers of parallel links (`.2`) from names.

    Kinds are removed because the kind of a returning switch is at first `hang:`.
    """
    return {name.partition(":")[2].partition(".")[0] for name in names}


def _planned_first(incident: IncidentState) -> bool:
    """Returns whether the controller may have helped before the second probe after the change."""
    return incident.planned_ms is not None and incident.planned_ms < 2 * incident.interval_ms
