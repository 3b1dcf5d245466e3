"""Courses of incidents in words, for the timeline."""

from __future__ import annotations

from experiments.observation.incidents import Incident
from experiments.observation.model import IncidentState
from experiments.observation.timeline import Timeline


class IncidentCourses:
    """The courses of incidents as a timeline has them: repairs once they are known, and ends that differ."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._told: tuple[int, str] | None = None  # number of the incident, and its losses as they were told

    def tell(self, incident: Incident) -> None:
        """Tells that all pairs of an incident are heard again, or the outcome of its probes."""
        state = incident.state
        if not state.running:
            self._tell_end(state)
        elif (
            state.repaired_by is not None and state.repaired_ms is not None and incident.changed_s is not None
        ):
            losses = _losses(state)
            text = f"none of the {state.pairs} probed pairs lost a packet"
            if state.lost:
                text = f"all {state.pairs} probed pairs heard again, by the {state.repaired_by}: {losses}"
            at_s = incident.changed_s + state.repaired_ms / 1e3
            self._timeline.add("repair", text, incident=state.number, monotonic_s=at_s)
            self._told = state.number, losses if state.lost else ""

    def _tell_end(self, state: IncidentState) -> None:
        if state.lost and state.repaired_ms is None:
            text = f"probed pairs stay silent: {state.lost} of {state.sent} probes lost"
            self._timeline.add("warning", text, incident=state.number)
        elif state.lost and self._told != (state.number, _losses(state)):
            text = f"by the end of the probes: {_losses(state)}"
            self._timeline.add("repair", text, incident=state.number)
        if traffic := state.traffic:
            text = (
                f"the traffic's longest silence since then: {traffic.silence_ms:g} ms, {traffic.pair} "
                f"(before: {traffic.before_ms:g} ms); "
                + ("it goes on; at least " if traffic.ongoing else "")
                + f"{traffic.lost} of its packets lost"
            )
            self._timeline.add("traffic", text, incident=state.number)


def _losses(state: IncidentState) -> str:
    return f"longest silence {state.silence_ms:g} ms, {state.lost} probes lost"
