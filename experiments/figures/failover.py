"""Figure of a failover demonstration: losses and hops of the probes over time, and the events."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures.style import new_figure, save_figure
from experiments.results.failover import FailoverSummary
from experiments.results.open import Failover
from experiments.results.tables import EVENT_COLUMNS, EVENTS, PROBE_COLUMNS, PROBES, STREAMS, damage_named
from experiments.results.text import parameters

_COLORS = {"watched": "#c2571a", "all": "#1f3b57"}
_STYLES = {"watched": "-", "all": "--"}
# Span around the first failure that is shown enlarged.
_BEFORE_S, _AFTER_S = 0.1, 0.4


def plot_failover(folder: Path) -> list[Path]:
    """Draws `failover` of the probes in a folder and returns the files.

    Args:
        folder: folder of the demonstration.

    Raises:
        ParameterError: the folder does not hold a demonstration, or a damaged one.
        OSError: the figures cannot be written.
    """
    results = Failover(folder)
    summary = results.summary
    probes, events = results.table(PROBES, PROBE_COLUMNS), results.table(EVENTS, EVENT_COLUMNS)
    with damage_named(folder):
        return save_figure(_draw(summary, probes, events), folder, "failover")


def _draw(summary: FailoverSummary, probes: dict[str, list[str]], events: dict[str, list[str]]) -> Figure:
    figure = new_figure((12, 6.4))
    panels = figure.subplots(2, 2, sharex="col", sharey="row", width_ratios=(2.2, 1))
    events_s = [(float(time_s), what) for time_s, what in zip(events["time_s"], events["event"], strict=True)]
    for column in panels.T:
        for name in STREAMS:
            _curves(column, probes, name)
        for number, (time_s, _) in enumerate(events_s, start=1):
            for axes in column:
                axes.axvline(time_s, color="0.45", linewidth=0.8, linestyle=":")
            _number(column[0], time_s, number)
    broken = [time_s for time_s, what in events_s if what.startswith("fail") and "controller" not in what]
    begin_s = min(broken, default=events_s[0][0] if events_s else 0.0)
    panels[1, 1].set_xlim(begin_s - _BEFORE_S, begin_s + _AFTER_S)
    panels[1, 0].set_xlim(0, max(map(float, probes["time_s"])))
    panels[0, 0].set_ylabel("probes lost [%]")
    panels[0, 0].set_ylim(-4, 112)
    panels[1, 0].set_ylabel("hops, mean (thin: most)")
    panels[1, 0].set_xlabel("time [s]")
    panels[1, 1].set_xlabel("time [s], the first failure enlarged")
    panels[1, 0].legend(loc="upper right", fontsize=8)
    legend = "\n".join(
        f"{number}  {time_s:.3f} s  {what}" for number, (time_s, what) in enumerate(events_s, 1)
    )
    figure.supxlabel(legend, fontsize=8, ha="left", x=0.06, family="monospace")
    figure.suptitle(
        f"{summary.name} ({parameters(summary.params)}), {summary.routing}: {summary.packets_lost} of "
        f"{summary.packets_sent} probes lost, longest silence {summary.gap_ms:g} ms, "
        f"repaired by: {summary.repaired_by}"
    )
    return figure


def _number(axes: Axes, time_s: float, number: int) -> None:
    axes.annotate(
        str(number),
        (time_s, 104 + 5 * (number % 2) - 2.5),
        ha="center",
        va="center",
        fontsize=7,
        clip_on=True,
        annotation_clip=True,
        bbox={"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": "0.45", "linewidth": 0.6},
    )


def _curves(column: Any, probes: dict[str, list[str]], name: str) -> None:
    rows = [index for index, stream in enumerate(probes["stream"]) if stream == name]
    times = np.array([float(probes["time_s"][index]) for index in rows])
    sent = np.array([int(probes["sent"][index]) for index in rows])
    lost = np.array([int(probes["lost"][index]) for index in rows])
    mean = np.array([float(probes["hops_mean"][index] or "nan") for index in rows])
    most = np.array([float(probes["hops_max"][index] or "nan") for index in rows])
    shown = sent > 0
    style = {"color": _COLORS[name], "linestyle": _STYLES[name], "drawstyle": "steps-post"}
    label = "watched pairs, whose path crosses a failed element" if name == "watched" else "all pairs"
    column[0].plot(times[shown], 100 * lost[shown] / sent[shown], linewidth=1.4, **style)
    column[1].plot(times[shown], mean[shown], linewidth=1.4, label=label, **style)
    if name == "watched":
        column[1].plot(times[shown], most[shown], linewidth=0.6, **style)
