"""Figure of a failover demonstration: losses and hops of probes over time, and events."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.figures.events import Events, list_events, list_inches, mark_events
from experiments.figures.style import DARK, ORANGE, legend_above, new_figure, set_title
from experiments.results.failover import FailoverSummary
from experiments.results.open import Failover
from experiments.results.tables import PROBE_COLUMNS, PROBES, STREAMS
from experiments.results.text import parameters

_COLORS = {"watched": ORANGE, "all": DARK}
_STYLES = {"watched": "-", "all": "--"}
# Span around the first failure in the enlarged panels.
_BEFORE_S, _AFTER_S = 0.1, 0.4
_INCHES, _MIN_INCHES, _STACKED_INCHES = (12.0, 6.4), 6.0, 5.6
_SHORTEST_S = 0.01  # minimum time axis, for demonstrations interrupted immediately

Amounts = npt.NDArray[np.float64]
Table = dict[str, list[str]]


def draw_failover(results: Failover) -> dict[str, Figure]:
    """Draws a failover demonstration; returns name -> figure.

    Args:
        results: the demonstration.

    Raises:
        ParameterError: its files are damaged.
    """
    return {"failover": _draw(results.summary, results.table(PROBES, PROBE_COLUMNS), results.events)}


def _draw(summary: FailoverSummary, probes: Table, events: Events) -> Figure:
    figure, panels = _new_panels(list_inches(events, _INCHES[0]))
    series = {name: _series(probes, name) for name in STREAMS}
    # Pairs are probed in turn, so only a whole round covers all of them.
    series["all"] = series["all"].over_rounds(summary.all_pairs_interval_ms / 1e3)
    for losses, hops in panels.T:
        for name in STREAMS:
            _curves(losses, hops, series[name], name)
    broken = [time_s for time_s, what in events if what.startswith("fail") and "controller" not in what]
    begin_s = min(broken, default=events[0][0] if events else 0.0)
    panels[1, 1].set_xlim(begin_s - _BEFORE_S, begin_s + _AFTER_S)
    panels[1, 0].set_xlim(0, max(_SHORTEST_S, *map(float, probes["time_s"])))
    for row, numbered in zip(panels, (True, False), strict=True):
        for axes in row:
            mark_events(axes, events, numbered=numbered)
    for losses, hops in panels.T if figure.get_figwidth() <= _MIN_INCHES else panels.T[:1]:
        losses.set_ylabel("probes lost [%]")
        hops.set_ylabel("hops")
    panels[0, 0].set_ylim(-4, 125)
    panels[0, 0].set_yticks(range(0, 101, 20))
    panels[1, 0].set_xlabel("time [s]")
    panels[1, 1].set_xlabel("time [s], around the first failure")
    legend_above(panels[0, 0], columns=3, handles=_handles(summary))
    list_events(figure, events)
    ended = ", interrupted" if summary.interrupted else ""
    set_title(
        figure,
        f"{summary.name} ({parameters(summary.params)}), {summary.routing}{ended}: {summary.packets_lost} of "
        f"{summary.packets_sent} probes lost, longest silence {summary.gap_ms:g} ms, "
        f"repaired by: {summary.repaired_by}",
    )
    return figure


def _new_panels(below: float) -> tuple[Figure, npt.NDArray[Any]]:
    """Returns a figure with panels of losses above panels of hops; the second column enlarges a time span.

    In narrow figures, the enlarged panels are below the others.
    """
    figure = new_figure(_INCHES)
    if figure.get_figwidth() > _MIN_INCHES:
        figure.set_figheight(figure.get_figheight() + below)
        return figure, figure.subplots(2, 2, sharex="col", sharey="row", width_ratios=(2.2, 1))
    figure.set_figheight(_STACKED_INCHES + below)
    panels = figure.subplots(4, 1).reshape(2, 2).T
    for losses, hops in panels.T:
        hops.sharex(losses)
        losses.tick_params(labelbottom=False)
    for whole, enlarged in panels:
        enlarged.sharey(whole)
    return figure, panels


def _handles(summary: FailoverSummary) -> list[Line2D]:
    """Returns the entries of the legend."""
    watched: dict[str, Any] = {"color": _COLORS["watched"], "linestyle": _STYLES["watched"]}
    every: dict[str, Any] = {"color": _COLORS["all"], "linestyle": _STYLES["all"]}
    return [
        Line2D([], [], **watched, label="watched pairs (path crosses a failed link or switch)"),
        Line2D([], [], **watched, linewidth=0.6, label="their maximum hops"),
        Line2D([], [], **every, label=f"all pairs, per round of {summary.all_pairs_interval_ms:g} ms"),
    ]


class _Series(NamedTuple):
    """Probes of a stream over time: arrays with one entry per step; hops are NaN where no probe arrived."""

    times_s: Amounts
    sent: Amounts
    lost: Amounts
    hops_mean: Amounts
    hops_max: Amounts

    def over_rounds(self, round_s: float) -> _Series:
        """Aggregates the series to one step per round of `round_s` seconds."""
        if not len(self.times_s):
            return self
        rounds = np.floor(self.times_s / round_s + 1e-6).astype(int)
        count = int(rounds.max()) + 1

        def total(values: Amounts) -> Amounts:
            return np.bincount(rounds, np.nan_to_num(values), count).astype(np.float64)

        arrived = total(self.sent - self.lost)
        with np.errstate(invalid="ignore"):
            mean: Amounts = total((self.sent - self.lost) * self.hops_mean) / np.where(
                arrived > 0, arrived, np.nan
            )
        most = np.full(count, np.nan)
        np.fmax.at(most, rounds, self.hops_max)
        return _Series(
            np.arange(count, dtype=np.float64) * round_s, total(self.sent), total(self.lost), mean, most
        )


def _series(probes: Table, name: str) -> _Series:
    rows = [index for index, stream in enumerate(probes["stream"]) if stream == name]
    columns = ("time_s", "sent", "lost", "hops_mean", "hops_max")
    return _Series(*(np.array([float(probes[c][row] or "nan") for row in rows]) for c in columns))


def _curves(losses: Axes, hops: Axes, series: _Series, name: str) -> None:
    shown = series.sent > 0
    times_s = series.times_s[shown]
    style: dict[str, Any] = {
        "color": _COLORS[name],
        "linestyle": _STYLES[name],
        "drawstyle": "steps-post",
    }
    losses.plot(times_s, 100 * series.lost[shown] / series.sent[shown], linewidth=1.4, **style)
    hops.plot(times_s, series.hops_mean[shown], linewidth=1.4, **style)
    if name == "watched":
        hops.plot(times_s, series.hops_max[shown], linewidth=0.6, **style)
