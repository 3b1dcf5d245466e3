"""The figure of docs/lab/simulation-validation.md: the simulator, the papers' simulator and real packets.

PYTHONPATH=.:tests .venv/bin/python tests/bench/simulation_figure.py docs/figures

The curves of the papers' simulator are those of tests/unit/data; the real packets are those of
docs/crosscheck.json, which `polarlab crosscheck results/SWEEP --json` left.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures.style import curve_styles, legend_above, new_figure, save_new_figure
from routing.registry import make_plan
from simulation.settings import Decision, RouterSettings, Times, Workload
from simulation.simulator import simulate
from simulation.tables.compiler import compile_tables
from topology.families.low_diameter.polarfly import PolarFly
from traffic.workload.patterns import Pattern, make_pattern

_DATA = Path("tests/unit/data")
_ROUTERS, _HOSTS = 31, 3
_DECISIONS = {"min": Decision(), "ugal": Decision(law="product"), "ugal-pf": Decision(law="threshold")}
_CURVES = (("uniform", "min"), ("uniform", "ugal"), ("perm2hop", "ugal-pf"))
_TIMES = Times(warmup=3000, window=10_000, most_drain=5000)
_MAX_LATENCY = 100


def draw() -> Figure:
    """Returns the figure."""
    figure = new_figure((11, 4.6))
    left, right = figure.subplots(1, 2)
    _draw_latencies(left)
    _draw_accepted(right)
    return figure


def _rows(name: str) -> list[dict[str, str]]:
    with open(_DATA / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _pattern(name: str, topology: PolarFly) -> Pattern:
    if name == "uniform":
        return make_pattern(name, topology, _HOSTS, 1)
    rows = [row for row in _rows("booksim_permutations.csv") if row["pattern"] == name]
    partner = {int(row["router"]): int(row["destination_router"]) for row in rows}
    partners = [partner[router] * _HOSTS + host for router in range(_ROUTERS) for host in range(_HOSTS)]
    return Pattern(name, _ROUTERS * _HOSTS, tuple(partners))


def _draw_latencies(axes: Axes) -> None:
    """Draws latency over load: lines are ours, markers those of the papers' simulator."""
    topology = PolarFly(5)
    reference = [row for row in _rows("booksim_er5_p3.csv") if row["stable"] == "yes"]
    for pattern, routing in _CURVES:
        marker, color = curve_styles([routing])[routing]
        rows = [row for row in reference if (row["pattern"], row["routing"]) == (pattern, routing)]
        loads = [float(row["offered"]) for row in rows]
        tables = compile_tables(make_plan(topology, _HOSTS, routing))
        ours = []
        for load in loads:
            workload = Workload(pattern=_pattern(pattern, topology), load=load)
            routers = RouterSettings(channel_policy="any")
            result = simulate(tables, workload, routers, _DECISIONS[routing], _TIMES, 1)
            ours.append(result.latency_sum / max(result.delivered, 1))
        theirs = [float(row["packet_latency_cycles"]) for row in rows]
        axes.plot(loads, ours, color=color, label=f"{routing}, {pattern}")
        axes.plot(loads, theirs, marker, color=color, markerfacecolor="none")
    axes.set_ylim(0, _MAX_LATENCY)
    axes.set_xlabel("offered load")
    axes.set_ylabel("mean packet latency (cycles)")
    axes.text(0.03, 0.95, "lines: PolarLab\nmarkers: BookSim", transform=axes.transAxes, va="top")
    legend_above(axes, columns=3)


def _draw_accepted(axes: Axes) -> None:
    """Draws accepted load, simulated over measured."""
    with open("docs/crosscheck.json", encoding="utf-8") as file:
        points: list[dict[str, Any]] = json.load(file)["points"]
    for routing in dict.fromkeys(point["routing"] for point in points):
        marker, color = curve_styles([routing])[routing]
        own = [point for point in points if point["routing"] == routing and point["valid"]]
        measured = [point["accepted"] for point in own]
        simulated = [point["accepted_simulated"] for point in own]
        axes.plot(measured, simulated, marker, color=color, markerfacecolor="none", label=routing)
        lossless = [point["accepted_credit"] for point in own]
        axes.plot(measured, lossless, "x", color=color, label=f"{routing}, credits")
        predicted = [(p["accepted"], p["accepted_predicted"]) for p in own if p["accepted_predicted"]]
        if predicted:
            axes.plot(*zip(*predicted, strict=True), "+", color="0.3", label="fluid model (min)")
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=0.8, zorder=0)
    axes.set_xlabel("accepted, real packets")
    axes.set_ylabel("accepted, simulated or predicted")
    legend_above(axes, columns=3)


if __name__ == "__main__":
    save_new_figure(draw(), Path(sys.argv[1]) / "simulation.png", "png")
