"""Figures of a run, drawn only from its files; readable in grey."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures.collective import draw_collective
from experiments.figures.events import draw_course
from experiments.figures.flows import draw_flows
from experiments.figures.latency import draw_latency
from experiments.figures.links import draw_links
from experiments.figures.look import scaled
from experiments.figures.programs import draw_programs
from experiments.figures.style import (
    DARK,
    LIGHT,
    legend_above,
)
from experiments.results.link_loads import LINK_LOADS
from experiments.results.model import Summary
from experiments.results.open import Run
from experiments.results.tables import (
    HOP_COLUMNS,
    HOPS,
    PAIRS,
    THROUGHPUT,
    THROUGHPUT_COLUMNS,
)
from topology.errors import ParameterError

_MAX_DIGITS = 15  # with more digits above all bars, the numbers are rotated
_MAX_HOPS = 255  # largest TTL

Values = npt.NDArray[np.float64]


def draw_run(run: Run) -> dict[str, Figure]:
    """Draws a run of one seed; returns name -> figure.

    Figures are `throughput` (over time, and packets by hops; throughput of links if no traffic was
    generated), `latency` (distribution) or, for TCP flows, `slowdown` (by size), `links` (loads on a drawing
    of the fabric, and sorted), `programs` (times of user programs) and `collective` (bandwidth by message
    size).

    Args:
        run: the run.

    Raises:
        ParameterError: the results are incomplete or damaged.
    """
    figures = {
        "throughput": draw_course(run, _throughput, _hops) if run.summary.generated else draw_programs(run)
    }
    if run.summary.generated and run.summary.programs:
        figures["programs"] = draw_programs(run)
    if run.summary.flows is not None:
        figures["slowdown"] = draw_flows(run)
    elif run.summary.generated:
        figures["latency"] = draw_latency(run)
    if (run.folder / LINK_LOADS).exists():
        figures["links"] = draw_links(run)
    if run.summary.collective is not None:
        figures["collective"] = draw_collective(run)
    return figures


def _throughput(axes: Axes, run: Run) -> None:
    summary, table = run.summary, run.table(THROUGHPUT, THROUGHPUT_COLUMNS)
    times, place = np.unique(np.array(table["time_s"], float), return_inverse=True)
    if not len(times) or times[0] <= 0:
        raise ParameterError(f"{run.folder} is damaged: {THROUGHPUT} must have time intervals")
    end_s = summary.warmup_s + summary.measured_s
    shown = max(1, int((times <= end_s + 1e-6).sum()))  # packets that arrive later are not in a full interval
    edges = np.concatenate([[0.0], times[:shown]])
    for column, name, color, width in (
        ("tx_bytes", "offered", LIGHT, 4.0),
        ("rx_bytes", "accepted", DARK, 1.5),
    ):
        bits = np.bincount(place, np.array(table[column], float))[:shown] * 8
        rates = bits / np.diff(edges) / 1e6
        if summary.flows is None:
            label = f"{name} {_fraction(getattr(summary, name))} of the injection capacity"
        else:
            label = _interface_label(summary, column, edges, bits)
        axes.stairs(rates, edges, baseline=None, label=label, color=color, linewidth=width)
    if summary.warmup_s:
        axes.axvspan(0, summary.warmup_s, color="0.93", zorder=0, label="warm-up, not measured")
    capacity = summary.endpoints * summary.link_rate_bps / 1e6
    axes.axhline(capacity, color="0.5", linewidth=0.8, linestyle=":", label="injection capacity of all hosts")
    axes.set(xlabel="time in s", ylabel="total of all hosts, Mbit/s", xlim=(0, float(edges[-1])))
    axes.set_ylim(0, capacity * 1.1)
    legend_above(axes, columns=2)


def _interface_label(summary: Summary, column: str, edges: Values, bits: npt.NDArray[Any]) -> str:
    """Returns the label of a curve of all frames, including retransmissions and acknowledgements."""
    begin_s, capacity_bps = summary.warmup_s, summary.endpoints * summary.link_rate_bps
    inside = (edges[:-1] >= begin_s - 1e-6) & (edges[1:] <= begin_s + summary.measured_s + 1e-6)
    span_s = float(np.diff(edges)[inside].sum())
    fraction = float(bits[inside].sum()) / (capacity_bps * span_s) if span_s else None
    verb = "sent" if column == "tx_bytes" else "received"
    return f"all frames {verb}, including TCP's own: {_fraction(fraction)} of the injection capacity"


def _fraction(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _hops(axes: Axes, run: Run) -> None:
    pairs = run.table(PAIRS, ("distance", "sent_frames"))
    table = run.table(HOPS, HOP_COLUMNS)
    distance, taken = np.array(pairs["distance"], int), np.array(table["hops"], int)
    if max(distance.max(initial=0), taken.max(initial=0)) > _MAX_HOPS:
        raise ParameterError(f"{run.folder} is damaged: hops must be at most {_MAX_HOPS}")
    hops = np.arange(1 + max(distance.max(initial=0), taken.max(initial=0)))
    expected = np.bincount(distance, np.array(pairs["sent_frames"], float), len(hops))
    measured = np.bincount(taken, np.array(table["packets"], float), len(hops))
    of_flows = run.summary.flows is not None
    estimate = " (estimate, 1/8 sampled)" if of_flows else ""
    _bars(axes, hops - 0.2, expected, "sent, by distance in the graph", LIGHT)
    _bars(axes, hops + 0.2, measured, f"received, by hops taken{estimate}", DARK)
    counts = "frames of the whole run, including TCP's own" if of_flows else "packets in the window"
    axes.set(xlabel="links between routers", ylabel=counts)
    axes.set_xticks(hops)
    axes.ticklabel_format(axis="y", style="plain")  # a power of ten above the axis would overlap the legend
    # Long numbers above adjacent bars would overlap.
    longest = len(f"{int(max(expected.max(), measured.max()))}")
    upright = longest * len(hops) > _MAX_DIGITS
    for text in axes.texts:
        text.set_rotation(90 if upright else 0)
    axes.set_ylim(0, max(expected.max(), measured.max(), 1) * (1.35 if upright else 1.15))
    legend_above(axes)


def _bars(axes: Axes, places: npt.NDArray[Any], heights: npt.NDArray[Any], label: str, color: str) -> None:
    bars = axes.bar(places, heights, 0.38, label=label, color=color, edgecolor=DARK)
    axes.bar_label(bars, [f"{int(height)}" for height in heights], padding=2, fontsize=scaled(8))
