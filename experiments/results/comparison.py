"""Runs side by side: in what they differ, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.results.run_directory import SUMMARY, damage_told, read_json
from topology.errors import ParameterError

# What a run was told to do.
_SETTINGS = (
    *("name", "params", "routing", "pattern", "load", "hosts", "link_rate_bps", "queue_packets"),
    *("mtu", "link_delay_ms", "link_loss"),
    *("frame_bytes", "arrivals", "warmup_s", "duration_s", "seed", "ranks", "placement", "slices"),
)


@dataclass(frozen=True)
class Comparison:
    """Some runs; every table has a row of one value per run under each name.

    Attributes:
        runs: the runs' names.
        same: the settings that all have in common.
        differing: those that they differ in.
        results: what was measured; None where a run has no such result.
        collectives: of each run, (message size in bytes, bus bandwidth in bit/s) by size; empty if it ran no
            collective.
    """

    runs: tuple[str, ...]
    same: dict[str, Any]
    differing: dict[str, list[Any]]
    results: dict[str, list[Any]]
    collectives: list[list[tuple[int, float]]]


def compare(folders: Sequence[Path]) -> Comparison:
    """Returns the runs of some folders side by side.

    Raises:
        ParameterError: there are fewer than two, one is named twice, or one holds no complete run, or a
            damaged one.
    """
    if len(folders) < 2:
        raise ParameterError("a comparison is of two runs or more")
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise ParameterError("a run is named twice")
    summaries, results, collectives = [], [], []
    for folder in folders:
        summary = read_json(folder / SUMMARY)
        with damage_told(folder):
            if "accepted" not in summary:
                raise ParameterError(f"{folder} is no run: {SUMMARY} has no accepted traffic")
            results.append(_results(summary))
            _check_numbers(results[-1])
            collectives.append(_bandwidths(summary))
        summaries.append(summary)
    settings = {name: [summary.get(name) for summary in summaries] for name in _SETTINGS}
    return Comparison(
        _names(folders),
        {name: values[0] for name, values in settings.items() if all(v == values[0] for v in values)},
        {name: values for name, values in settings.items() if any(v != values[0] for v in values)},
        {
            **_by_size(summaries),
            **({"resent": [_resent(summary) for summary in summaries]} if any(collectives) else {}),
            **{name: [result[name] for result in results] for name in results[0]},
        },
        collectives,
    )


def _by_size(summaries: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    """Returns completion times and bus bandwidths of collectives by message size in bytes."""
    told = [
        {size["message_bytes"]: size for size in summary.get("collective", {}).get("sizes", [])}
        for summary in summaries
    ]
    sizes = sorted({size for sizes in told for size in sizes})
    return {
        f"{name} at {size}": [sizes.get(size, {}).get(name) for sizes in told]
        for size in sizes
        for name in ("completion_ms", "bus_bandwidth_bps")
    }


def _resent(summary: dict[str, Any]) -> int | None:
    resent: int | None = summary.get("collective", {}).get("resent")
    return resent


def _bandwidths(summary: dict[str, Any]) -> list[tuple[int, float]]:
    sizes = summary.get("collective", {}).get("sizes", [])
    return sorted((s["message_bytes"], s["bus_bandwidth_bps"]) for s in sizes if s["iterations"])


def _check_numbers(result: dict[str, Any]) -> None:
    """Raises ValueError if a result is no number, or none that something can have come to."""
    for value in result.values():
        if value is not None and not math.isfinite(value):
            raise ValueError(value)


def _results(summary: dict[str, Any]) -> dict[str, Any]:
    latency, received = summary["latency_ms"], summary["packets"]["received"]
    hops = {int(count): packets for count, packets in summary["hops"].items()}
    total = sum(hops.values())
    return {
        "offered": summary["offered"],
        "accepted": summary["accepted"],
        "predicted": summary.get("predicted", {}).get("accepted"),
        "loss": summary["loss"],
        "latency_mean_ms": latency["mean"],
        "latency_p50_ms": latency["p50"],
        "latency_p99_ms": latency["p99"],
        "latency_p99_9_ms": latency.get("p99_9"),
        "hops_mean": round(sum(h * n for h, n in hops.items()) / total, 4) if total else None,
        "reordered": round(summary["out_of_order"] / received, 6) if received else None,
        "rules": summary["rules"]["flows"],
        "groups": summary["rules"]["groups"],
        "valid": summary["fidelity"]["valid"],
    }


def _names(folders: Sequence[Path]) -> tuple[str, ...]:
    """Returns the folders' last names, or all of their paths where these are not different."""
    short = tuple(folder.resolve().name for folder in folders)
    return short if len(set(short)) == len(short) else tuple(map(str, folders))
