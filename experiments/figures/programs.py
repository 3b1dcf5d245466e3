"""Figure of user programs: throughput of links, and times of programs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures.events import list_events, list_inches, mark_events
from experiments.figures.look import scaled
from experiments.figures.style import (
    DARK,
    LIGHT,
    RED,
    heading,
    legend_above,
    new_figure,
    printable,
    set_title,
)
from experiments.results.open import Run
from experiments.results.parts.programs import ProgramRecord
from experiments.results.tables import LINK_COLUMNS, LINKS

_MAX_NAMED = 5  # number of busiest links to draw and name in the legend
_STYLES = ("-", "--", "-.", ":", (0, (1, 3)))
_MAX_BARS = 40
_LONGEST_LABEL = 60


def draw_programs(run: Run) -> Figure:
    """Draws the throughput of links over time, and below it the time span of each program.

    Args:
        run: the run.

    Raises:
        ParameterError: a table is damaged.
    """
    programs = (run.summary.programs or ())[:_MAX_BARS]
    height = 0.6 + 0.28 * len(programs)
    events = run.events
    figure = new_figure((9.5, 4.2 + height + list_inches(events, 9.5)))
    if programs and (run.folder / LINKS).exists():
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(4.2, height))
        _throughput(above, run)
        _bars(below, programs)
    elif programs:  # links were not observed
        _bars(figure.subplots(), programs)
    else:
        axes = figure.subplots()
        if (run.folder / LINKS).exists():
            _throughput(axes, run)
        axes.set_xlabel("time in s")
    mark_events(figure.axes[0], events)
    list_events(figure, events)
    set_title(figure, heading(run.summary))
    return figure


def _throughput(axes: Axes, run: Run) -> None:
    table = run.table(LINKS, LINK_COLUMNS)
    times_s, sent_bytes = np.array(table["time_s"], float), np.array(table["tx_bytes"], float)
    names, place = np.unique(
        [f"{link} (port {port})" for link, port in zip(table["link"], table["port"], strict=True)],
        return_inverse=True,
    )
    totals = np.bincount(place, sent_bytes, len(names)) if len(names) else np.zeros(0)
    rate, most = run.summary.link_rate_bps / 1e6, 0.0
    busiest = np.argsort(-totals, kind="stable")
    for number, index in reversed(list(enumerate(busiest.tolist()))):
        if not totals[index]:
            continue
        chosen = place == index
        named = number < _MAX_NAMED
        edges, rates = _rates(times_s[chosen], sent_bytes[chosen])
        most = max(most, float(rates.max()))
        axes.stairs(
            rates,
            edges,
            baseline=None,
            color=DARK if named else LIGHT,
            linestyle=_STYLES[number] if named else "-",
            linewidth=1.4 if named else 0.6,
            label=str(names[index]).removesuffix(")").replace(" (", ", ") if named else None,
        )
    if not most or most > rate / 2:  # a line far above the curves would squeeze them
        axes.axhline(rate, color="0.5", linewidth=0.8, linestyle=":", label="link rate")
        most = max(most, rate)
    axes.set(ylabel="throughput of links, Mbit/s", ylim=(0, most * 1.1))
    axes.set_xlim(left=0)
    legend_above(axes, columns=3)


def _rates(
    times_s: npt.NDArray[np.float64], sent_bytes: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Returns the times in s of a link's readings, and its rate in Mbit/s between successive readings.

    A row counts bytes since the previous row; the first row is not used, as its start is unknown.
    """
    edges = times_s
    if len(edges) < 2:
        return np.array([0.0, 1.0]), np.zeros(1)
    return edges, sent_bytes[1:] * 8 / 1e6 / np.maximum(np.diff(edges), 1e-9)


def _bars(axes: Axes, programs: tuple[ProgramRecord, ...]) -> None:
    for row, program in enumerate(programs):
        if program.ended_s is not None:
            color = RED if program.failed else LIGHT if program.server else DARK
            hatch = "//" if program.failed else None
            axes.barh(
                row, program.ended_s - program.started_s, left=program.started_s, color=color, hatch=hatch
            )
    labels = [printable(program.line) for program in programs]
    shortened = [
        text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 3]}..." for text in labels
    ]
    axes.set_yticks(
        range(len(programs)), [text.replace("$", r"\$") for text in shortened], fontsize=scaled(8)
    )
    axes.invert_yaxis()
    axes.set_xlabel("time in s (light: servers, hatched: failed programs)")
