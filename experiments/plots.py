"""Figures of a run, drawn from its files alone; readable in grey."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # files, not windows

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.records import HOP_COLUMNS, SUMMARY, THROUGHPUT_COLUMNS, read_csv, read_json
from topology.errors import ParameterError

_MOST_HOPS = 255  # as many as a TTL can tell
FORMATS = ("png", "svg")
DPI = 130
_DARK, _LIGHT = "#1f3b57", "#a8bccf"


def plot_run(folder: Path) -> list[Path]:
    """Draws `throughput` (over time, and packets by hops) of the run in `folder` and returns the files.

    Raises:
        ParameterError: the folder holds no complete run, or a damaged one.
        OSError: the figures cannot be written.
    """
    if not folder.is_dir():
        raise ParameterError(f"{folder} is no folder of results")
    summary = read_json(folder / SUMMARY)
    with damage_told(folder):
        figure = _draw(folder, summary)
    return save_figure(figure, folder, "throughput")


@contextlib.contextmanager
def damage_told(folder: Path) -> Iterator[None]:
    """Says of whatever trips over the content of files that these are damaged: as a ParameterError."""
    try:
        yield
    except ParameterError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ParameterError(f"{folder} is damaged, or of another version of PolarLab") from error


def save_figure(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Writes a figure in every format and returns the files."""
    paths = [folder / f"{name}.{format_}" for format_ in FORMATS]
    for path in paths:
        figure.savefig(path, dpi=DPI)
    return paths


def new_figure(inches: tuple[float, float]) -> Figure:
    """Returns an empty figure that lays itself out."""
    return Figure(figsize=inches, layout="constrained")


def _draw(folder: Path, summary: dict[str, Any]) -> Figure:
    figure = new_figure((11, 4.2))
    over_time, by_hops = figure.subplots(1, 2, width_ratios=(2, 1))
    _throughput(over_time, folder, summary)
    _hops(by_hops, folder)
    params = ", ".join(f"{name} = {value}" for name, value in summary["params"].items())
    figure.suptitle(
        f"{summary['name']} ({params}), {summary['endpoints']} hosts, "
        f"{summary['link_rate_bps'] / 1e6:g} Mbit/s links: {summary['pattern']} traffic "
        f"under {summary['routing']} routing"
    )
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
        ("tx_bytes", "offered", _LIGHT, 4.0),
        ("rx_bytes", "accepted", _DARK, 1.5),
    ):
        bits = np.bincount(place, np.array(table[column], float))[:shown] * 8
        label = f"{name} {_fraction(summary[name])} of the injection capacity"
        rates = bits / np.diff(edges) / 1e6
        axes.stairs(rates, edges, baseline=None, label=label, color=color, linewidth=width)
    axes.axvspan(0, summary["warmup_s"], color="0.93", zorder=0, label="warm-up, not measured")
    capacity = summary["endpoints"] * summary["link_rate_bps"] / 1e6
    axes.axhline(capacity, color="0.5", linewidth=0.8, linestyle=":")
    axes.text(edges[-1], capacity, "all hosts' injection capacity ", va="bottom", ha="right", color="0.4")
    axes.set(xlabel="time in s", ylabel="all hosts together, Mbit/s", xlim=(0, float(edges[-1])))
    axes.set_ylim(0, capacity * 1.1)
    axes.legend(loc="center right")


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
    _bars(axes, hops - 0.2, expected, "sent, by distance in the graph", _LIGHT)
    _bars(axes, hops + 0.2, measured, "received, by hops taken", _DARK)
    axes.set(xlabel="links between routers", ylabel="packets in the measured window")
    axes.set_xticks(hops)
    axes.set_ylim(0, max(expected.max(), measured.max(), 1) * 1.4)
    axes.legend(loc="upper left")


def _bars(axes: Axes, places: npt.NDArray[Any], heights: npt.NDArray[Any], label: str, color: str) -> None:
    bars = axes.bar(places, heights, 0.38, label=label, color=color, edgecolor=_DARK)
    axes.bar_label(bars, [f"{int(height)}" for height in heights], padding=2, fontsize=8)
