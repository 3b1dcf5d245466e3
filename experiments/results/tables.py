"""The points of a sweep, and the table that holds what was measured at them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

from experiments.results.run_directory import MANIFEST, read_csv, read_json
from experiments.spec.sweep import Point
from topology.errors import ParameterError

POINTS = "points.csv"
SETTINGS = "sweep"  # the key of a manifest that holds what the sweep was asked for
COLUMNS = (
    "routing",
    "pattern",
    "load",
    "offered",
    "accepted",
    "accepted_ci95",
    "loss",
    "latency_mean_ms",
    "latency_mean_ci95_ms",
    "latency_p50_ms",
    "latency_p99_ms",
    "out_of_order",
    "predicted_accepted",
    "groups_modified",
    "valid",
    "cpu_idle",
    "generator_lag_ms_p99",
    "link_rate_error",
    "lost_outside_queues",
    "seed",
)


LATER_COLUMNS = ("accepted_ci95", "latency_mean_ci95_ms")


def row_of(point: Point, summary: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the row of a measured point."""
    latency, fidelity = summary["latency_ms"], summary["fidelity"]
    return {
        "routing": point.routing,
        "pattern": point.pattern,
        "load": f"{point.load:g}",
        **{name: summary[name] for name in ("offered", "accepted", "loss", "out_of_order", "seed")},
        **{f"latency_{name}_ms": latency[name] for name in ("mean", "p50", "p99")},
        "accepted_ci95": _half_width(summary, "accepted"),
        "latency_mean_ci95_ms": _half_width(summary, "latency_mean_ms"),
        "predicted_accepted": summary.get("predicted", {}).get("accepted"),
        "groups_modified": summary.get("adaptation", {}).get("groups_modified"),
        "valid": "yes" if fidelity["valid"] else "no",
        **{
            name: fidelity[name]
            for name in ("cpu_idle", "generator_lag_ms_p99", "link_rate_error", "lost_outside_queues")
        },
    }


def _half_width(summary: Mapping[str, Any], name: str) -> float | None:
    """Returns half the width of a mean's confidence interval, None of a single run."""
    half: float | None = summary.get("repeat", {}).get(name, {}).get("ci95")
    return half


_SETTINGS = (
    ("name", str),
    ("params", dict),
    ("hosts", int),
    ("link_rate_bps", int),
    ("queue_packets", int),
    ("frame_bytes", int),
)


def held_settings(folder: Path) -> dict[str, Any] | None:
    """Returns the settings of the sweep that a folder holds, None if it holds nothing.

    Raises:
        ParameterError: it holds something else, or a damaged sweep.
    """
    # A manifest that was being written when somebody ended us is none.
    if all(path.name.endswith(".partial") for path in folder.iterdir()):
        return None
    manifest = read_json(folder / MANIFEST)
    if SETTINGS not in manifest:
        raise ParameterError(f"{folder} holds no sweep; choose another --out")
    held = manifest[SETTINGS]
    if not isinstance(held, dict) or not all(isinstance(held.get(name), kind) for name, kind in _SETTINGS):
        raise ParameterError(f"{folder / MANIFEST} is damaged or not of PolarLab")
    return held


def measured_points(folder: Path) -> Iterable[Point]:
    """Returns the points that a folder holds.

    Raises:
        ParameterError: its table is damaged.
    """
    if not (folder / POINTS).exists():
        return []
    table = read_csv(folder / POINTS, COLUMNS, LATER_COLUMNS)
    rows = zip(table["routing"], table["pattern"], table["load"], strict=True)
    try:
        return [Point(name, pattern, float(load)) for name, pattern, load in rows]
    except ValueError:
        raise ParameterError(f"{folder / POINTS} is damaged") from None


def read_points(folder: Path, points: Iterable[Point]) -> list[dict[str, str]]:
    """Returns the rows of some points of a folder, in their order."""
    by_point = all_points(folder)
    return [by_point[point] for point in points]


def all_points(folder: Path) -> dict[Point, dict[str, str]]:
    """Returns the points of a folder, by routing, pattern and load, and their rows; errors as `read_csv`."""
    table = read_csv(folder / POINTS, COLUMNS, LATER_COLUMNS)
    rows = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    by_point = dict(zip(measured_points(folder), rows, strict=True))
    return {
        point: by_point[point] for point in sorted(by_point, key=attrgetter("routing", "pattern", "load"))
    }


def as_numbers(row: Mapping[str, str]) -> dict[str, Any]:
    """Returns a row with numbers for text, None where a value is missing, and whether the point is valid."""
    values: dict[str, Any] = {}
    for name, text in row.items():
        if name in ("routing", "pattern"):
            values[name] = text
        elif name == "valid":
            values[name] = text == "yes"
        elif name in ("out_of_order", "groups_modified", "seed"):
            values[name] = int(text) if text else None
        else:
            values[name] = float(text) if text else None
    return values
