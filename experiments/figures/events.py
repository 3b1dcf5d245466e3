"""Faults and their consequences in figures over time: numbered vertical lines, and a list below."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import TypeVar

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures.look import current, scaled
from experiments.figures.style import heading, new_panels, printable, set_title
from experiments.results.metrics import Engine
from experiments.results.open import Run, Simulation

Events = Sequence[tuple[float, str]]
IN_SECONDS, IN_CYCLES = "{:8.3f} s", "cycle {:,.0f}"  # formats of times
# Up to this many events are listed below a figure in one column. Longer lists have several columns, and no
# new plans.
_FEW = 14
_MAX_LISTED = 200
_LINE_INCHES, _CHARACTER_INCHES = 0.14, 0.068  # height of a line and width of a character in the list
_NUMBER_INCHES = 0.15  # width of an event's number with its frame
_LEVELS = 3  # rows of numbers above vertical lines that are close together


AnyRun = TypeVar("AnyRun", Run, Simulation)


def draw_course(
    run: AnyRun, draw_over_time: Callable[[Axes, AnyRun], None], draw_hops: Callable[[Axes, AnyRun], None]
) -> Figure:
    """Draws the throughput of a run over time with its events, and next to it packets by hops.

    Args:
        run: run or simulation of one seed.
        draw_over_time: draws the throughput.
        draw_hops: draws the packets by hops.
    """
    events, form = run.events, IN_CYCLES if run.summary.engine is Engine.SIMULATION else IN_SECONDS
    figure, [over_time, by_hops] = new_panels((11, 4.4), (2, 1), below=list_inches(events, 11, form))
    draw_over_time(over_time, run)
    draw_hops(by_hops, run)
    mark_events(over_time, events)
    list_events(figure, events, form)
    set_title(figure, heading(run.summary))
    return figure


def mark_events(axes: Axes, events: Events, *, numbered: bool = True) -> None:
    """Draws a vertical line at each event, with its number at the top if there is space.

    Args:
        axes: axes over time, with final limits.
        events: (time in the unit of the axes, description), by time.
        numbered: whether the lines have numbers.
    """
    left, right = axes.get_xlim()
    levels = [float("-inf")] * _LEVELS  # for each row of numbers, the right end of its last number
    # The layout engine runs later, but the width of axes is nearly final.
    figure = axes.get_figure(root=True)
    assert figure is not None
    width = _NUMBER_INCHES * figure.dpi / axes.bbox.width * (right - left)
    listed = set(_listed(events)) if numbered else set()
    for number, (time_s, _) in enumerate(events, 1):
        if not left <= time_s <= right:
            continue
        axes.axvline(time_s, color="0.45", linewidth=0.8, linestyle=":", zorder=1.5)
        free = [place for place, end in enumerate(levels) if time_s - width / 2 >= end]
        if number in listed and free:
            levels[free[0]] = time_s + width / 2
            _number(axes, time_s, 0.97 - 0.055 * free[0], number)


def _listed(events: Events) -> list[int]:
    """Returns the positions, from 1, of the events to list: all or, if there are many, all but new plans."""
    numbers = range(1, len(events) + 1)
    if len(events) <= _FEW:
        return list(numbers)
    return [number for number in numbers if not events[number - 1][1].startswith("the controller's ")]


def _number(axes: Axes, time_s: float, height: float, number: int) -> None:
    axes.text(
        time_s,
        height,
        str(number),
        transform=axes.get_xaxis_transform(),
        ha="center",
        va="center",
        fontsize=scaled(7),
        clip_on=True,
        zorder=7,
        bbox={"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": "0.45", "linewidth": 0.6},
    )


def list_inches(events: Events, width: float, form: str = IN_SECONDS) -> float:
    """Returns the height in inches of the list of events below a figure that is `width` inches wide."""
    return scaled(_LINE_INCHES) * len(_list(events, current().look.width or width, form))


def list_events(figure: Figure, events: Events, form: str = IN_SECONDS) -> None:
    """Lists the events below a figure, each with the number of its vertical line and its time."""
    lines = _list(events, figure.get_figwidth(), form)
    if lines:
        text = printable("\n".join(lines))
        figure.supxlabel(text, fontsize=scaled(8), ha="left", x=0.05, family="monospace", parse_math=False)


def _list(events: Events, width: float, form: str) -> list[str]:
    """Returns the text lines of the list of events; entries fill columns, from top to bottom."""
    numbers = _listed(events)
    times = {n: form.format(events[n - 1][0]) for n in numbers[:_MAX_LISTED]}
    entries = [f"{n:>2}  {time}  {events[n - 1][1]}" for n, time in times.items()]
    if len(numbers) > _MAX_LISTED:
        entries.append(f"    and {len(numbers) - _MAX_LISTED} more")
    if not entries:
        return []
    column = 3 + max(map(len, entries))
    most = int(0.93 * width / scaled(_CHARACTER_INCHES))  # characters per line
    columns = 1 if len(entries) <= _FEW else max(1, most // column)
    if column > most:  # narrow figures, for a column of a paper
        entries = [line for entry in entries for line in textwrap.wrap(entry, most, subsequent_indent="    ")]
    rows = -(-len(entries) // columns)
    lines = ["".join(f"{entry:<{column}}" for entry in entries[row::rows]).rstrip() for row in range(rows)]
    if len(numbers) < len(events):
        lines.append("    plans of the controller are not listed here")
    return lines
