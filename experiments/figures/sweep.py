"""Figure of a sweep: accepted and latency against offered, or what else varies; a panel for each pattern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.figures.style import invalid_handle, save_figures
from experiments.figures.sweeps.axes import Axis, axis_of
from experiments.figures.sweeps.curves import Quantity, draw_line
from experiments.figures.sweeps.panels import curve_handles, draw_points, new_panels, predicted_handle
from experiments.results.manifest import SweepSettings
from experiments.results.open import Sweep
from experiments.results.parts.crosscheck import Compared, kept_crosscheck
from experiments.results.sweep_points import PointRow
from experiments.results.tables import damage_named, read_csv_text
from experiments.results.text import hosts_text, parameters
from experiments.spec.sweep import Point

_LATENCY = Quantity("latency_mean_ms", "latency_mean_ci95_ms")
# The simulator's links pass a flit per cycle.
_FLITS_PER_PACKET = 4
_MOST_FAULTS = 6  # that a title names
_CROSSCHECKED: dict[str, Any] = {
    "linestyle": "-",
    "linewidth": 0.8,
    "marker": ".",
    "markersize": 4,
    "alpha": 0.6,
}


class SimulatedPoint(NamedTuple):
    """Stable point of the authors' simulator: offered and accepted fractions, latency in packet times."""

    offered: float
    accepted: float
    latency_packets: float


def plot_sweep(folder: Path) -> list[Path]:
    """Draws `sweep` of the points in a folder and returns the files.

    Args:
        folder: folder of the sweep.

    Raises:
        ParameterError: the folder does not hold a sweep, or a damaged one.
        OSError: the figures cannot be written.
    """
    return save_figures(draw_sweep(folder), folder)


def draw_sweep(folder: Path) -> dict[str, Figure]:
    """Returns the figure of a sweep by its name.

    Args:
        folder: folder of the sweep.

    Raises:
        ParameterError: the folder does not hold a sweep, or a damaged one.
    """
    results = Sweep(folder)
    rows, settings = list(results.points.values()), results.manifest.sweep
    with damage_named(folder):
        return {"sweep": _draw(rows, settings, kept_crosscheck(folder))}


def _draw(
    rows: Sequence[PointRow],
    settings: SweepSettings,
    crosschecked: Mapping[Point, Compared] = MappingProxyType({}),
) -> Figure:
    panels = new_panels(rows, axis_of)
    axis, is_simulated = panels.axis, False
    for pattern, own, accepted, latency in panels.each("ms"):
        for curve, style in panels.styles.items():
            chosen = [row for row in own if axis.curve(row) == curve]
            _crosschecked(accepted, latency, chosen, crosschecked, axis, style[1])
            invalid = [row for row in chosen if not row.valid]
            draw_points((accepted, latency), chosen, _LATENCY, axis, style, invalid)
        if not axis.key:
            for curve, style in panels.styles.items():
                is_simulated |= _simulated(accepted, latency, settings, curve, pattern, style)
    handles = _legend(panels.styles, is_simulated)
    if any(row.point in crosschecked for row in rows):
        handles.append(
            Line2D([], [], color="0.3", **_CROSSCHECKED, label="light: the same packets, simulated")
        )
    crossed = [] if all(row.valid for row in rows) else [invalid_handle()]
    return panels.finish(handles, crossed, _title(settings, rows, axis))


def _title(settings: SweepSettings, rows: Sequence[PointRow], axis: Axis) -> str:
    fixed = {
        "link_rate_bps": f"links of {settings.link_rate_bps / 1e6:g} Mbit/s",
        "frame_bytes": f"{settings.frame_bytes}-byte frames",
        "queue_packets": f"{settings.queue_packets}-packet queues",
    }
    words = [f"{settings.name} ({parameters(settings.params)})", hosts_text(settings.name, settings.hosts)]
    words += [text for name, text in fixed.items() if not settings.varies(name)]
    load = f" at a load of {rows[0].load:g}" if axis.key else ""
    return f"{', '.join(words)}{load}; fractions of the hosts' injection capacity{_faults_text(settings)}"


def _faults_text(settings: SweepSettings) -> str:
    """Returns the faults that all points had, for the end of a title; nothing without faults."""
    if settings.varies("faults_asked"):
        return ""
    if settings.faults_asked:
        return f"; at each point random faults, {settings.faults_asked}"
    if not settings.faults:
        return ""
    named, more = settings.faults[:_MOST_FAULTS], len(settings.faults) - _MOST_FAULTS
    return "; at each point " + ", ".join(named) + (f" and {more} more" if more > 0 else "")


def _crosschecked(
    accepted: Axes,
    latency: Axes,
    rows: Sequence[PointRow],
    simulated: Mapping[Point, Compared],
    axis: Axis,
    color: str,
) -> None:
    """Draws the same packets on simulated switches: lighter lines beside the measured ones."""
    curves: tuple[list[tuple[float, float]], list[tuple[float, float]]] = ([], [])
    for row in rows:
        place, one = axis.place(row, row.offered), simulated.get(row.point)
        if place is not None and one is not None:
            curves[0].append((place, one.accepted_simulated))
            curves[1].append((place, one.latency_ms_simulated))
    draw_line(accepted, sorted(curves[0]), {**_CROSSCHECKED, "color": color})
    # Without the time that programs take, latencies on idle links are so short that they would fill the axis.
    draw_line(latency, sorted(curves[1]), {**_CROSSCHECKED, "color": color, "scaley": False})


def _simulated(
    accepted: Axes,
    latency: Axes,
    settings: SweepSettings,
    routing: str,
    pattern: str,
    look: tuple[str, str],
) -> bool:
    """Draws the points of the authors' simulator; returns whether there are any."""
    marker, color = look
    simulated = [] if settings.varied else simulated_curve(settings, routing, pattern)
    hollow = {
        "marker": marker,
        "linestyle": "none",
        "color": color,
        "markersize": 9,
        "markerfacecolor": "none",
    }
    packet_ms = settings.frame_bytes * 8 / settings.link_rate_bps * 1e3
    draw_line(accepted, [(point.offered, point.accepted) for point in simulated], hollow)
    draw_line(latency, [(point.offered, point.latency_packets * packet_ms) for point in simulated], hollow)
    return bool(simulated)


def _legend(styles: Mapping[str, tuple[str, str]], is_simulated: bool) -> list[Line2D]:
    simulated = Line2D(
        [], [], color="0.3", marker="o", markersize=9, markerfacecolor="none", linestyle="none"
    )
    simulated.set_label("hollow: the authors' simulator")
    handles = curve_handles(styles, "measured")
    return [*handles, *([simulated] if is_simulated else []), predicted_handle()]


def simulated_curve(settings: SweepSettings, routing: str, pattern: str) -> list[SimulatedPoint]:
    """Returns the points of the authors' simulator, for the fabrics that it was run for.

    Only points at which it was stable: beyond, its lossless network and ours, which drops, differ.

    Args:
        settings: settings of the sweep.
        routing: name of the routing.
        pattern: name of the pattern.
    """
    if settings.name != "polarfly" or "expand" in settings.params:
        return []
    text = resources.files("experiments").joinpath("reference/booksim_er5_p3.csv").read_text()
    columns = ("q", "p", "pattern", "routing", "offered", "accepted", "packet_latency_cycles", "stable")
    table = read_csv_text(text, columns)
    fabric = (str(settings.params["q"]), str(settings.hosts), pattern, routing, "yes")
    chosen = zip(*(table[name] for name in (*columns[:4], "stable")), strict=True)
    values = zip(*(map(float, table[name]) for name in columns[4:7]), strict=True)
    return [
        SimulatedPoint(offered, accepted, cycles / _FLITS_PER_PACKET)
        for row, (offered, accepted, cycles) in zip(chosen, values, strict=True)
        if row == fabric
    ]
