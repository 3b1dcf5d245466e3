"""Figures of a run, drawn from its files alone; readable in grey."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures.collective import draw_collective
from experiments.figures.links import draw_links
from experiments.figures.style import DARK, LIGHT, heading, new_figure, number_text, save_figure
from experiments.results.run_directory import (
    HOP_COLUMNS,
    LATENCY_COLUMNS,
    LINK_LOADS,
    SUMMARY,
    THROUGHPUT_COLUMNS,
    damage_told,
    read_csv,
    read_json,
    seed_folder,
)
from topology.errors import ParameterError

_MOST_HOPS = 255  # as many as a TTL can tell


def plot_run(folder: Path) -> list[Path]:
    """Draws the figures of the run in `folder` and returns the files.

    Of a repeated run, those of each seed. `throughput` (over time, and packets by hops); `latency` (its
    distribution); `links` (their loads on the fabric's drawing, and sorted); of a collective also
    `collective` (bandwidth over message size).

    Raises:
        ParameterError: the folder holds no complete run, or a damaged one.
        OSError: the figures cannot be written.
    """
    if not folder.is_dir():
        raise ParameterError(f"{folder} is no folder of results")
    summary = read_json(folder / SUMMARY)
    if "repeat" in summary:
        with damage_told(folder):
            folders = [folder / seed_folder(int(seed)) for seed in summary["repeat"]["seeds"]]
        return [path for each in folders for path in plot_run(each)]
    with damage_told(folder):
        figures = {"throughput": _draw(folder, summary), "latency": _latency(folder, summary)}
        if (folder / LINK_LOADS).exists():
            figures["links"] = draw_links(folder, summary)
        if "collective" in summary:
            figures["collective"] = draw_collective(folder, summary)
    return [path for name, figure in figures.items() for path in save_figure(figure, folder, name)]


def _draw(folder: Path, summary: dict[str, Any]) -> Figure:
    figure = new_figure((11, 4.2))
    over_time, by_hops = figure.subplots(1, 2, width_ratios=(2, 1))
    _throughput(over_time, folder, summary)
    _hops(by_hops, folder)
    figure.suptitle(heading(summary), parse_math=False)
    return figure


def _throughput(axes: Axes, folder: Path, summary: dict[str, Any]) -> None:
    table = read_csv(folder / "throughput.csv", THROUGHPUT_COLUMNS)
    times, place = np.unique(np.array(table["time_s"], float), return_inverse=True)
    if not len(times) or times[0] <= 0:
        raise ParameterError(f"{folder} is damaged: throughput.csv tells no intervals")
    end_s = summary["warmup_s"] + summary["measured_s"]
    shown = max(1, int((times <= end_s + 1e-6).sum()))  # what arrives later is of no full interval
    edges = np.concatenate([[0.0], times[:shown]])
    for column, name, color, width in (
        ("tx_bytes", "offered", LIGHT, 4.0),
        ("rx_bytes", "accepted", DARK, 1.5),
    ):
        bits = np.bincount(place, np.array(table[column], float))[:shown] * 8
        label = f"{name} {_fraction(summary[name])} of the injection capacity"
        rates = bits / np.diff(edges) / 1e6
        axes.stairs(rates, edges, baseline=None, label=label, color=color, linewidth=width)
    if summary["warmup_s"]:
        axes.axvspan(0, summary["warmup_s"], color="0.93", zorder=0, label="warm-up, not measured")
    capacity = summary["endpoints"] * summary["link_rate_bps"] / 1e6
    axes.axhline(capacity, color="0.5", linewidth=0.8, linestyle=":")
    axes.text(edges[-1], capacity, "all hosts' injection capacity ", va="bottom", ha="right", color="0.4")
    axes.set(xlabel="time in s", ylabel="all hosts together, Mbit/s", xlim=(0, float(edges[-1])))
    axes.set_ylim(0, capacity * 1.1)
    axes.legend(loc="lower right")


def _fraction(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _hops(axes: Axes, folder: Path) -> None:
    pairs = read_csv(folder / "pairs.csv", ("distance", "sent_frames"))
    counted = read_csv(folder / "hops.csv", HOP_COLUMNS)
    distance, taken = np.array(pairs["distance"], int), np.array(counted["hops"], int)
    if max(distance.max(initial=0), taken.max(initial=0)) > _MOST_HOPS:
        raise ParameterError(f"{folder} is damaged: packets cannot take so many hops")
    hops = np.arange(1 + max(distance.max(initial=0), taken.max(initial=0)))
    expected = np.bincount(distance, np.array(pairs["sent_frames"], float), len(hops))
    measured = np.bincount(taken, np.array(counted["packets"], float), len(hops))
    _bars(axes, hops - 0.2, expected, "sent, by distance in the graph", LIGHT)
    _bars(axes, hops + 0.2, measured, "received, by hops taken", DARK)
    axes.set(xlabel="links between routers", ylabel="packets in the measured window")
    axes.set_xticks(hops)
    axes.set_ylim(0, max(expected.max(), measured.max(), 1) * 1.4)
    axes.legend(loc="upper left")


def _bars(axes: Axes, places: npt.NDArray[Any], heights: npt.NDArray[Any], label: str, color: str) -> None:
    bars = axes.bar(places, heights, 0.38, label=label, color=color, edgecolor=DARK)
    axes.bar_label(bars, [f"{int(height)}" for height in heights], padding=2, fontsize=8)


_QUANTILES = (("p50", "50 %"), ("p99", "99 %"), ("p99_9", "99.9 %"))


def _latency(folder: Path, summary: dict[str, Any]) -> Figure:
    """Draws which share of the packets took longer than so many milliseconds."""
    table = read_csv(folder / "latency.csv", LATENCY_COLUMNS)
    figure = new_figure((7.5, 4.2))
    axes = figure.subplots()
    latency_ms, packets = np.array(table["latency_ms"], float), np.array(table["packets"], float)
    if packets.sum():
        slower = 1 - np.cumsum(packets) / packets.sum()
        # A log axis has no 0: the last step ends at less than a packet.
        axes.step(latency_ms, np.maximum(slower, 0.5 / packets.sum()), where="post", color=DARK)
        axes.set(xscale="log", yscale="log", ylim=(0.4 / packets.sum(), 1.5))
        for number, (name, share) in enumerate(_QUANTILES):
            value = summary["latency_ms"].get(name)
            if value:
                style = ("-", "--", ":")[number]
                axes.axvline(value, color="0.5", linestyle=style, label=f"{share}: {number_text(value)} ms")
        axes.legend(loc="lower left")
    axes.set(xlabel="latency in ms", ylabel="share of the packets that took longer")
    axes.set_title(heading(summary), fontsize=9, parse_math=False)
    return figure
