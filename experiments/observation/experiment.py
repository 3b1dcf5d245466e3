"""Progress of the experiment that has a fabric for itself, from its events."""

from __future__ import annotations

import time

from experiments.events.base import Event
from experiments.events.marks import CollectiveStarted, ResultsWritten, TrafficStarted
from experiments.events.progress import CollectiveProgress, Progress, TrafficProgress
from experiments.observation.model import CollectiveStatus
from experiments.session.background import TrafficStatus
from experiments.validity.samples import HeldLately

_OLD_S = 3.0  # after which traffic that tells nothing has ended


class ExperimentProgress:
    """Latest progress of the traffic of an experiment."""

    def __init__(self) -> None:
        self._begun: TrafficStarted | CollectiveStarted | None = None
        self._told: tuple[float, Progress] | None = None

    def take(self, event: Event) -> None:
        """Takes an event."""
        if isinstance(event, Progress):
            self._told = (time.monotonic(), event)
        elif isinstance(event, TrafficStarted | CollectiveStarted):
            self._begun, self._told = event, None
        elif isinstance(event, ResultsWritten):
            self._told = None

    @property
    def held(self) -> HeldLately | None:
        """The longest times for which switches held frames in the last second; None if not observed."""
        event = self._latest()
        return event.held if event else None

    def traffic(self) -> TrafficStatus | None:
        """Returns the traffic of a pattern that flows now; None if none does."""
        event = self._latest()
        if not isinstance(event, TrafficProgress) or not isinstance(self._begun, TrafficStarted):
            return None
        return TrafficStatus(
            self._begun.pattern,
            self._begun.load,
            event.seconds,
            event.offered,
            event.accepted,
            event.loss,
            None,
            event.latency_p99_ms,
        )

    def collective(self) -> CollectiveStatus | None:
        """Returns the collective operation that goes on now; None if none does."""
        event = self._latest()
        if not isinstance(event, CollectiveProgress) or not isinstance(self._begun, CollectiveStarted):
            return None
        return CollectiveStatus(
            self._begun.pattern,
            self._begun.ranks,
            round(event.seconds, 3),
            None if event.done is None else round(event.done, 4),
            None if event.expected_s is None else round(event.expected_s, 1),
            event.accepted,
            event.latency_p99_ms,
        )

    def _latest(self) -> Progress | None:
        """Returns the latest progress; None if the experiment tells of none any more."""
        told = self._told
        return told[1] if told and time.monotonic() < told[0] + _OLD_S else None
