"""Faults of a run or a failover, and what followed from them, as a section of a report."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.report.model import Section, table_of
from experiments.results.metrics import Engine


def event_section(
    events: Sequence[tuple[float, str]], engine: Engine = Engine.EMULATION
) -> tuple[Section, ...]:
    """Returns a section with events in order of time; none where there are none.

    Args:
        events: seconds since the start of the traffic, or cycles of a simulation, and description.
        engine: what carried the packets.
    """
    if not events:
        return ()
    in_cycles = engine is Engine.SIMULATION
    column, form = ("cycle", "{:.0f}") if in_cycles else ("time_s", "{:.3f}")
    rows = [
        {"number": str(number), column: form.format(time), "event": text}
        for number, (time, text) in enumerate(events, 1)
    ]
    note = "The numbers are those of the vertical lines in the figures"
    note += "." if in_cycles else "; times are seconds of the traffic."
    return (Section("Faults and plans", note, table_of(rows, (column, "event"))),)
