"""Faults, and what followed from them, in figures over time: numbered vertical lines, and a list below."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures.style import printable

Events = Sequence[tuple[float, str]]
# Events in the list below a figure; the report and `summary.json` have all.
_MOST_LISTED = 14
_MOST_NUMBERED = 40


def mark_events(axes: Axes, events: Events, *, numbered: bool = True) -> None:
    """Draws a vertical line at each event, with its number at the upper edge.

    Args:
        axes: axes over time in s, whose limits are final.
        events: time in s, and description, in order of time.
        numbered: whether the lines have numbers.
    """
    left, right = axes.get_xlim()
    levels = [float("-inf")] * 3  # right end of the last number on each of three levels
    width = 0.022 * (right - left)
    for number, (time_s, _) in enumerate(events, 1):
        if not left <= time_s <= right:
            continue
        axes.axvline(time_s, color="0.45", linewidth=0.8, linestyle=":", zorder=1.5)
        if numbered and len(events) <= _MOST_NUMBERED:
            free = [place for place, end in enumerate(levels) if time_s - width / 2 >= end]
            level = free[0] if free else levels.index(min(levels))
            levels[level] = time_s + width / 2
            _number(axes, time_s, 0.97 - 0.055 * level, number)


def _number(axes: Axes, time_s: float, height: float, number: int) -> None:
    axes.text(
        time_s,
        height,
        str(number),
        transform=axes.get_xaxis_transform(),
        ha="center",
        va="center",
        fontsize=7,
        clip_on=True,
        zorder=7,
        bbox={"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": "0.45", "linewidth": 0.6},
    )


def list_events(figure: Figure, events: Events) -> None:
    """Writes the events below a figure, a line for each, with the numbers of their lines."""
    if not events:
        return
    lines = [f"{number:>2}  {time_s:8.3f} s  {what}" for number, (time_s, what) in enumerate(events, 1)]
    if len(lines) > _MOST_LISTED:
        lines[_MOST_LISTED - 1 :] = [f"    and {len(lines) - _MOST_LISTED + 1} more"]
    text = printable("\n".join(lines))
    figure.supxlabel(text, fontsize=8, ha="left", x=0.05, family="monospace", parse_math=False)
