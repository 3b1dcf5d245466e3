"""Progress of an experiment that has exclusive use of its fabric, taken from the experiment's events."""

from __future__ import annotations

import time

from experiments.events.base import Event
from experiments.events.marks import CollectiveStarted, ResultsWritten, TrafficStarted
from experiments.events.progress import CollectiveProgress, Progress, TrafficProgress
from experiments.observation.model import CollectiveStatus
from experiments.session.background import TrafficStatus
from experiments.validity.samples import HeldLately

_OLD_S = 3.0  # traffic without a report for this time has ended


class ExperimentProgress:
    """Latest progress of an experiment's traffic."""

    def __init__(self) -> None:
        self._started: TrafficStarted | CollectiveStarted | None = None
        self._reported: tuple[float, Progress] | None = None  # (time in s, latest report)

    def take(self, event: Event) -> None:
        """Updates the progress from an event."""
        if isinstance(event, Progress):
            self._reported = (time.monotonic(), event)
        elif isinstance(event, TrafficStarted | CollectiveStarted):
            self._started, self._reported = event, None
        elif isinstance(event, ResultsWritten):
            self._reported = None

    @property
    def held(self) -> HeldLately | None:
        """The longest times for which switches left frames unread in the last second, if observed."""
        event = self._latest()
        return event.held if event else None

    def traffic(self) -> TrafficStatus | None:
        """Returns the status of a pattern's current traffic; None if there is none."""
        event = self._latest()
        if not isinstance(event, TrafficProgress) or not isinstance(self._started, TrafficStarted):
            return None
        return TrafficStatus(
            self._started.pattern,
            self._started.load,
            event.seconds,
            event.offered,
            event.accepted,
            event.loss,
            None,
            event.latency_p99_ms,
        )

    def collective(self) -> CollectiveStatus | None:
        """Returns the status of the current collective operation; None if there is none."""
        event = self._latest()
        if not isinstance(event, CollectiveProgress) or not isinstance(self._started, CollectiveStarted):
            return None
        return CollectiveStatus(
            self._started.pattern,
            self._started.ranks,
            round(event.seconds, 3),
            None if event.done is None else round(event.done, 4),
            None if event.expected_s is None else round(event.expected_s, 1),
            event.accepted,
            event.latency_p99_ms,
        )

    def _latest(self) -> Progress | None:
        """Returns the latest progress; None without a recent report."""
        reported = self._reported
        return reported[1] if reported and time.monotonic() < reported[0] + _OLD_S else None
