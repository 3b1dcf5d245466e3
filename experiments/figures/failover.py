"""The figure of a failover demonstration: what arrived and by how many hops, over time, and what happened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from experiments.figures.style import new_figure, save_figure
from experiments.results.failover_files import EVENT_COLUMNS, EVENTS, PROBE_COLUMNS, PROBES, STREAMS
from experiments.results.run_directory import SUMMARY, damage_told, read_csv, read_json
from experiments.results.text import parameters

_COLORS = {"watched": "#c2571a", "all": "#1f3b57"}
_STYLES = {"watched": "-", "all": "--"}
# Around a failure, this is shown enlarged.
_BEFORE_S, _AFTER_S = 0.1, 0.4


def is_failover(folder: Path) -> bool:
    """Returns whether a folder holds the probes of a failover demonstration."""
    return (folder / PROBES).exists()


def plot_failover(folder: Path) -> list[Path]:
    """Draws `failover` of the probes in a folder and returns the files.

    Raises:
        ParameterError: the folder holds no demonstration, or a damaged one.
        OSError: the figures cannot be written.
    """
    summary = read_json(folder / SUMMARY)
    probes = read_csv(folder / PROBES, PROBE_COLUMNS)
    events = read_csv(folder / EVENTS, EVENT_COLUMNS)
    with damage_told(folder):
        return save_figure(_draw(summary, probes, events), folder, "failover")


def _draw(summary: dict[str, Any], probes: dict[str, list[str]], events: dict[str, list[str]]) -> Any:
    figure = new_figure((12, 6.4))
    panels = figure.subplots(2, 2, sharex="col", sharey="row", width_ratios=(2.2, 1))
    happened = [(float(time_s), what) for time_s, what in zip(events["time_s"], events["event"], strict=True)]
    for column in panels.T:
        for name in STREAMS:
            _curves(column, probes, name)
        for number, (time_s, _) in enumerate(happened, start=1):
            for axes in column:
                axes.axvline(time_s, color="0.45", linewidth=0.8, linestyle=":")
            _number(column[0], time_s, number)
    broken = [time_s for time_s, what in happened if what.startswith("fail") and "controller" not in what]
    begin_s = min(broken, default=happened[0][0] if happened else 0.0)
    panels[1, 1].set_xlim(begin_s - _BEFORE_S, begin_s + _AFTER_S)
    panels[1, 0].set_xlim(0, max(map(float, probes["time_s"])))
    panels[0, 0].set_ylabel("probes lost [%]")
    panels[0, 0].set_ylim(-4, 112)
    panels[1, 0].set_ylabel("hops, mean (thin: most)")
    panels[1, 0].set_xlabel("time [s]")
    panels[1, 1].set_xlabel("time [s], the first failure enlarged")
    panels[1, 0].legend(loc="upper right", fontsize=8)
    told = "\n".join(f"{number}  {time_s:.3f} s  {what}" for number, (time_s, what) in enumerate(happened, 1))
    figure.supxlabel(told, fontsize=8, ha="left", x=0.06, family="monospace")
    params = parameters(summary["params"])
    figure.suptitle(
        f"{summary['name']} ({params}), {summary['routing']}: {summary['packets_lost']} of "
        f"{summary['packets_sent']} probes lost, longest silence {summary['gap_ms']:g} ms, "
        f"repaired by: {summary['repaired_by']}"
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
    label = "watched pairs, whose path crosses what fails" if name == "watched" else "all pairs"
    column[0].plot(times[shown], 100 * lost[shown] / sent[shown], linewidth=1.4, **style)
    column[1].plot(times[shown], mean[shown], linewidth=1.4, label=label, **style)
    if name == "watched":
        column[1].plot(times[shown], most[shown], linewidth=0.6, **style)
