"""Faults of a run or a failover, and what followed from them, as a section of a report."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.report.model import Section, table_of


def event_section(events: Sequence[tuple[float, str]]) -> tuple[Section, ...]:
    """Returns a section with events in order of time; none where there are none.

    Args:
        events: seconds since the start of the traffic, and description.
    """
    if not events:
        return ()
    rows = [
        {"number": str(number), "time_s": f"{time_s:.3f}", "event": text}
        for number, (time_s, text) in enumerate(events, 1)
    ]
    note = "The numbers are those of the vertical lines in the figures; times are seconds of the traffic."
    return (Section("Faults and plans", note, table_of(rows, ("time_s", "event"))),)
