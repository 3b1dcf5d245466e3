"""Figure of a sweep: accepted load and latency by offered load or a key of `--vary`; panels per pattern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, NamedTuple

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.figures.look import current
from experiments.figures.sweeps.axes import Axis
from experiments.figures.sweeps.panels import SweepPanels, curve_handles, new_sweep_panels
from experiments.results.manifest import SweepSettings
from experiments.results.metrics import Engine
from experiments.results.open import SimulatedSweep, Sweep
from experiments.results.parts.crosscheck import Compared, kept_crosscheck
from experiments.results.sweep_points import SweptRow
from experiments.results.tables import read_csv_text
from experiments.results.text import fabric_text
from experiments.spec.fabric import CREDIT
from experiments.spec.simulation.model import RouterRecord
from experiments.spec.sweep import Point

# Packet length in the authors' simulator, whose links carry one flit per cycle.
_FLITS_PER_PACKET = 4
_MAX_FAULTS = 6  # faults named in a title
_CROSSCHECKED: dict[str, Any] = {
    "linestyle": "-",
    "linewidth": 0.8,
    "marker": ".",
    "markersize": 4,
    "alpha": 0.6,
}
_FRACTIONS = "fractions of the hosts' injection capacity"
_HOLLOW: dict[str, Any] = {"markersize": 9, "markerfacecolor": "none"}


class SimulatedPoint(NamedTuple):
    """Stable point of the PolarFly authors' simulator: offered and accepted load, latency in packet times."""

    offered: float
    accepted: float
    latency_packets: float


def draw_sweep(results: Sweep | SimulatedSweep) -> dict[str, Figure]:
    """Draws a sweep; returns name -> figure.

    Args:
        results: the sweep.

    Raises:
        ParameterError: its files are damaged.
    """
    rows, engine = list(results.points.values()), results.engine
    settings: Any = results.manifest.sweep
    panels = new_sweep_panels(rows, engine)
    panels.draw(rows)
    handles = curve_handles(panels.styles, engine.done)
    measured = engine is Engine.EMULATION
    if measured and current().look.booksim and _draw_booksim(panels, settings):
        style: dict[str, Any] = {"color": "0.3", "linestyle": "none", **_HOLLOW}
        handles.append(Line2D([], [], marker="o", label="hollow: the authors' simulator", **style))
    if _draw_crosschecked(panels, rows, kept_crosscheck(results.folder)):
        label = "light: the same packets, simulated"
        handles.append(Line2D([], [], color="0.3", **_CROSSCHECKED, label=label))
    fixed = _of_links(settings) if measured else _of_routers(settings.routers)
    with_credits = not measured and settings.routers.flow_control == CREDIT
    model = "fluid model of routers that drop" if with_credits else "fluid model"
    title = f"{_title(results, fixed, rows, panels.axis)}{engine.mark}; {_FRACTIONS}{_faults_text(settings)}"
    return {"sweep": panels.finish(handles, title, model)}


def _of_links(settings: SweepSettings) -> dict[str, str]:
    """Returns name of a setting of emulated links -> its words in a title."""
    return {
        "link_rate_bps": f"{settings.link_rate_bps / 1e6:g} Mbit/s links",
        "frame_bytes": f"{settings.frame_bytes}-byte frames",
        "queue_packets": f"{settings.queue_packets}-packet queues",
    }


def _of_routers(routers: RouterRecord) -> dict[str, str]:
    """Returns name of a setting of simulated routers -> its words in a title."""
    words = {"packet_flits": f"{routers.packet_flits}-flit packets"}
    if routers.flow_control != CREDIT:
        return {**words, "queue_packets": f"{routers.queue_packets}-packet queues"}
    words["virtual_channels"] = f"{routers.virtual_channels} virtual channels"
    return {**words, "buffer_flits": f"{routers.buffer_flits}-flit buffers"}


def _title(
    results: Sweep | SimulatedSweep, fixed: Mapping[str, str], rows: Sequence[SweptRow], axis: Axis
) -> str:
    """Returns a title: the fabric, the fixed settings, and the load if all points have the same load."""
    manifest = results.manifest
    shown = [text for name, text in fixed.items() if not manifest.sweep.varies(name)]
    load = f" at a load of {rows[0].load:g}" if axis.key and not axis.loads else ""
    return f"{', '.join([fabric_text(manifest), *shown])}{load}"


def _draw_crosschecked(
    panels: SweepPanels, rows: Sequence[SweptRow], simulated: Mapping[Point, Compared]
) -> bool:
    """Draws, as light lines, results of simulations of the same packets; returns whether there are any."""
    for pattern, (accepted, latency) in panels.pairs.items():
        for curve, (_, color) in panels.styles.items():
            curves: tuple[list[tuple[float, float]], list[tuple[float, float]]] = ([], [])
            for row in rows:
                place, one = panels.axis.place(row, row.offered), simulated.get(row.point)
                if (panels.axis.panel(row), panels.axis.curve(row)) != (pattern, curve):
                    continue
                if place is not None and one is not None:
                    curves[0].append((place, one.accepted_simulated))
                    curves[1].append((place, one.latency_ms_simulated))
            if curves[0]:
                accepted.plot(*zip(*sorted(curves[0]), strict=True), color=color, **_CROSSCHECKED)
                # Without program times, latencies on idle links are tiny and would stretch the axis.
                latency.plot(
                    *zip(*sorted(curves[1]), strict=True), color=color, scaley=False, **_CROSSCHECKED
                )
    return any(row.point in simulated for row in rows)


def _draw_booksim(panels: SweepPanels, settings: SweepSettings) -> bool:
    """Draws results of the PolarFly authors' simulator; returns whether there are any."""
    found = False
    packet_ms = settings.frame_bytes * 8 / settings.link_rate_bps * 1e3
    for pattern, (accepted, latency) in panels.pairs.items() if not settings.varied else ():
        for curve, (marker, color) in panels.styles.items():
            stable = simulated_curve(settings, curve, pattern)
            style: dict[str, Any] = {"marker": marker, "linestyle": "none", "color": color, **_HOLLOW}
            offered = [point.offered for point in stable]
            accepted.plot(offered, [point.accepted for point in stable], **style)
            latency.plot(offered, [point.latency_packets * packet_ms for point in stable], **style)
            found |= bool(stable)
    return found


def _faults_text(settings: SweepSettings) -> str:
    """Returns the faults of all points, as the end of a title; empty without faults."""
    if settings.varies("faults_asked"):
        return ""
    if settings.faults_asked:
        return f"; random faults at each point, {settings.faults_asked}"
    if not settings.faults:
        return ""
    named, more = settings.faults[:_MAX_FAULTS], len(settings.faults) - _MAX_FAULTS
    return "; at each point " + ", ".join(named) + (f" and {more} more" if more > 0 else "")


def simulated_curve(settings: SweepSettings, routing: str, pattern: str) -> list[SimulatedPoint]:
    """Returns the stable points of the PolarFly authors' simulator; empty for fabrics without such results.

    Saturated points are excluded: the simulator's lossless network is not comparable to switches that drop
    packets.

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
