"""The figure of a sweep: accepted and latency against offered, a panel per pattern, a curve per routing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from experiments.figures.style import new_figure, plain_log_labels, printable, save_figure
from experiments.results.run_directory import MANIFEST, damage_told, read_csv, read_csv_text, read_json
from experiments.results.tables import COLUMNS, LATER_COLUMNS, POINTS, SETTINGS
from experiments.results.text import parameters

# Curves are told apart by their markers, so that they can be read in grey.
_STYLES = {
    "min": ("o", "#1f3b57"),
    "ugal-pf": ("s", "#c2571a"),
    "ugal": ("^", "#5b8c5a"),
    "valiant": ("D", "#7b5ea7"),
    "compact-valiant": ("v", "#8c6d1f"),
}
_OTHER_STYLE = ("x", "0.3")
# The bars show a load that is alone, through which no line goes.
_PREDICTED: dict[str, Any] = {"linestyle": ":", "linewidth": 1.2, "marker": "_", "markersize": 11}
_PANEL_INCHES = 3.1
# The simulator's links pass a flit per cycle.
_FLITS_PER_PACKET = 4

Curve = list[tuple[float, float]]


class SimulatedPoint(NamedTuple):
    """What the authors' simulator accepted, stably, at an offered load; the latency is in packet times."""

    offered: float
    accepted: float
    latency_packets: float


def is_sweep(folder: Path) -> bool:
    """Returns whether a folder holds the points of a sweep."""
    return (folder / POINTS).exists()


def plot_sweep(folder: Path) -> list[Path]:
    """Draws `sweep` of the points in a folder and returns the files.

    Raises:
        ParameterError: the folder holds no sweep, or a damaged one.
        OSError: the figures cannot be written.
    """
    table = read_csv(folder / POINTS, COLUMNS, LATER_COLUMNS)
    settings = read_json(folder / MANIFEST).get(SETTINGS)
    with damage_told(folder):
        figure = _draw(table, settings)
    return save_figure(figure, folder, "sweep")


def _draw(table: dict[str, list[str]], settings: Any) -> Any:
    patterns, routings = list(dict.fromkeys(table["pattern"])), list(dict.fromkeys(table["routing"]))
    figure = new_figure((max(7.5, 1.2 + _PANEL_INCHES * len(patterns)), 6.8))
    panels = figure.subplots(2, len(patterns), sharex=True, sharey="row", squeeze=False)
    for pattern, accepted, latency in zip(patterns, panels[0], panels[1], strict=True):
        for routing in routings:
            marker, color = _STYLES.get(routing, _OTHER_STYLE)
            style = {"marker": marker, "linestyle": "-", "color": color, "markersize": 5}
            for axes, name, half in (
                (accepted, "accepted", "accepted_ci95"),
                (latency, "latency_mean_ms", "latency_mean_ci95_ms"),
            ):
                curve = _curve(table, routing, pattern, name)
                _line(axes, curve, style)
                _bars(axes, curve, dict(_curve(table, routing, pattern, half)), color)
            simulated = simulated_curve(settings, routing, pattern)
            hollow = {"marker": marker, "linestyle": "none", "color": color, "markersize": 9}
            hollow["markerfacecolor"] = "none"
            packet_ms = settings["frame_bytes"] * 8 / settings["link_rate_bps"] * 1e3
            _line(accepted, [(point.offered, point.accepted) for point in simulated], hollow)
            delays = [(point.offered, point.latency_packets * packet_ms) for point in simulated]
            _line(latency, delays, hollow)
            predicted = _curve(table, routing, pattern, "predicted_accepted")
            _line(accepted, predicted, {**_PREDICTED, "color": color})
        accepted.plot([0, 1], [0, 1], color="0.85", linewidth=0.8, zorder=0)
        accepted.set_title(printable(pattern), parse_math=False)
        accepted.set(xlim=(0, 1.03), ylim=(0, 1.03))
        latency.set(xlabel="offered", yscale="log")
        plain_log_labels(latency.yaxis)
    panels[0][0].set_ylabel("accepted")
    panels[1][0].set_ylabel("mean latency in ms")
    is_simulated = any(simulated_curve(settings, r, p) for r in routings for p in patterns)
    figure.legend(handles=_legend(routings, is_simulated), loc="outside lower center", ncols=4)
    params = parameters(settings["params"])
    figure.suptitle(
        f"{settings['name']} ({params}), {settings['hosts']} hosts a router, links of "
        f"{settings['link_rate_bps'] / 1e6:g} Mbit/s,\n{settings['frame_bytes']}-byte frames, "
        f"{settings['queue_packets']}-packet queues; fractions of the hosts' injection capacity",
        parse_math=False,
    )
    return figure


def _legend(routings: Sequence[str], is_simulated: bool) -> list[Line2D]:
    handles = []
    for routing in routings:
        marker, color = _STYLES.get(routing, _OTHER_STYLE)
        handles.append(Line2D([], [], marker=marker, color=color, label=f"{routing}, measured"))
    simulated = Line2D(
        [], [], color="0.3", marker="o", markersize=9, markerfacecolor="none", linestyle="none"
    )
    simulated.set_label("hollow: the authors' simulator")
    predicted = Line2D([], [], color="0.3", **_PREDICTED, label="dotted, bars: fluid model")
    return [*handles, *([simulated] if is_simulated else []), predicted]


def _line(axes: Axes, curve: Sequence[Any], style: dict[str, Any]) -> None:
    if curve:
        axes.plot([x for x, _ in curve], [y for _, y in curve], **style)


def _bars(axes: Axes, curve: Curve, halves: dict[float, float], color: str) -> None:
    """Draws the confidence intervals of those points that have one."""
    for x, y in curve:
        if x in halves:
            axes.errorbar(x, y, yerr=halves[x], color=color, capsize=2, linewidth=1)


def _curve(table: dict[str, list[str]], routing: str, pattern: str, column: str) -> Curve:
    """Returns (offered, value) of a routing and pattern, by load, of points that have a value."""
    rows = zip(table["routing"], table["pattern"], table["offered"], table[column], strict=True)
    points = [(float(x), float(y)) for r, p, x, y in rows if (r, p) == (routing, pattern) and x and y]
    if not all(math.isfinite(number) for point in points for number in point):
        raise ValueError(column)
    return sorted(points)


def simulated_curve(settings: Any, routing: str, pattern: str) -> list[SimulatedPoint]:
    """Returns what the authors' simulator accepts of a pattern, for the fabric that it was run for.

    Only points at which it was stable: beyond, its lossless network and ours, which drops, differ.
    """
    if settings["name"] != "polarfly":
        return []
    text = resources.files("experiments").joinpath("reference/booksim_er5_p3.csv").read_text()
    columns = ("q", "p", "pattern", "routing", "offered", "accepted", "packet_latency_cycles", "stable")
    table = read_csv_text(text, columns)
    fabric = (str(settings["params"]["q"]), str(settings["hosts"]), pattern, routing, "yes")
    chosen = zip(*(table[name] for name in (*columns[:4], "stable")), strict=True)
    values = zip(*(map(float, table[name]) for name in columns[4:7]), strict=True)
    return [
        SimulatedPoint(offered, accepted, cycles / _FLITS_PER_PACKET)
        for row, (offered, accepted, cycles) in zip(chosen, values, strict=True)
        if row == fabric
    ]
