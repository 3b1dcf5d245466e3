"""Figure of a collective: bandwidth and completion time by message size."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures.style import (
    DARK,
    LIGHT,
    heading,
    legend_above,
    new_panels,
    plain_log_labels,
    set_title,
)
from experiments.results.collective import COLLECTIVE_SERIES, ITERATION_COLUMNS
from experiments.results.open import Run


def draw_collective(run: Run) -> Figure:
    """Draws bandwidths and the completion time of each iteration.

    Args:
        run: run of a collective.

    Raises:
        ParameterError: its table is missing or damaged.
    """
    collective = run.summary.collective
    assert collective is not None
    measured = (size for size in collective.sizes if size.iterations)
    sizes = sorted(measured, key=lambda size: size.message_bytes)
    figure, [left, right] = new_panels((11, 4.4))
    places = [size.message_bytes for size in sizes]
    for key, label, marker, color in (
        ("bus_bandwidth_bps", "bus bandwidth", "o", DARK),
        ("algorithm_bandwidth_bps", "algorithm bandwidth", "s", LIGHT),
    ):
        rates = [getattr(size, key) / 1e6 for size in sizes]
        left.plot(places, rates, marker=marker, color=color, markeredgecolor=DARK, label=label)
    rate = run.summary.link_rate_bps / 1e6
    left.axhline(rate, color="0.5", linestyle=":", label="link rate")
    highest = max([rate, *((size.algorithm_bandwidth_bps or 0) / 1e6 for size in sizes)])
    left.set(ylabel="Mbit/s", ylim=(0, highest * 1.15))
    legend_above(left, columns=3)
    table = run.table(COLLECTIVE_SERIES, ITERATION_COLUMNS)
    counted = np.array(table["iteration"], int) >= 0
    right.plot(
        np.array(table["message_bytes"], float)[counted],
        np.array(table["completion_ms"], float)[counted],
        linestyle="none",
        marker="o",
        markerfacecolor="none",
        color=DARK,
        label="one iteration",
    )
    right.set(ylabel="completion time in ms", yscale="log")
    plain_log_labels(right.yaxis)
    legend_above(right, columns=2)
    for axes in (left, right):
        size_axis(axes, places)
    placement = f"{collective.ranks} ranks, {run.summary.placement} placement"
    set_title(figure, f"{heading(run.summary)}\n{placement}")
    return figure


def size_axis(axes: Axes, sizes: list[int]) -> None:
    """Sets a logarithmic horizontal axis of message sizes in bytes."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [_size(size) for size in sizes], rotation=30)
    axes.set_xticks([], minor=True)
    axes.set_xlabel("message size")


def _size(message_bytes: int) -> str:
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if message_bytes >= unit:
            return f"{message_bytes / unit:g} {name}"
    return f"{message_bytes} B"
