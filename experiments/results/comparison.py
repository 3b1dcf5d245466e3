"""Comparison of runs side by side: the settings in which they differ, and their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.results.model import Summary
from experiments.results.open import Run, open_results
from topology.errors import ParameterError

Value = int | float | str | bool | None | Mapping[str, int | str]
# Settings of runs, as attributes of their summaries.
_SETTINGS = (
    *("name", "params", "routing", "pattern", "load", "hosts", "link_rate_bps", "queue_packets"),
    *("mtu", "link_delay_ms", "link_loss"),
    *("frame_bytes", "arrivals", "warmup_s", "duration_s", "seed", "ranks", "placement", "slices"),
)


@dataclass(frozen=True)
class Comparison:
    """Runs side by side; every table has, under each name, one value for each run.

    Attributes:
        runs: names of the runs.
        same: settings that all runs share.
        differing: settings in which they differ.
        results: measured results; None where a run has no such result.
        collectives: (message size in bytes, bus bandwidth in bit/s) by size, for each run; empty if it is
            not a collective.
    """

    runs: tuple[str, ...]
    same: Mapping[str, Value]
    differing: Mapping[str, list[Value]]
    results: Mapping[str, list[float | None]]
    collectives: list[list[tuple[int, float]]]


def compare(folders: Sequence[Path]) -> Comparison:
    """Returns the runs of some folders side by side.

    Args:
        folders: at least two folders of runs.

    Raises:
        ParameterError: there are fewer than two, one is named twice, or one does not hold a complete run.
    """
    if len(folders) < 2:
        raise ParameterError(f"a comparison needs two runs or more, got {len(folders)}")
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise ParameterError("a run is named twice")
    summaries = [_summary(folder) for folder in folders]
    collectives = [_bandwidths(summary) for summary in summaries]
    settings = {name: [getattr(summary, name) for summary in summaries] for name in _SETTINGS}
    results = [_results(summary) for summary in summaries]
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


def _summary(folder: Path) -> Summary:
    results = open_results(folder)
    if not isinstance(results, Run):
        raise ParameterError(f"{folder} does not hold a run")
    return results.summary


def _by_size(summaries: Sequence[Summary]) -> dict[str, list[float | None]]:
    """Returns completion times and bus bandwidths of collectives by message size in bytes."""
    tables = [
        {size.message_bytes: size for size in summary.collective.sizes} if summary.collective else {}
        for summary in summaries
    ]
    sizes = sorted({size for table in tables for size in table})
    return {
        f"{name} at {size}": [getattr(table.get(size), name, None) for table in tables]
        for size in sizes
        for name in ("completion_ms", "bus_bandwidth_bps")
    }


def _resent(summary: Summary) -> int | None:
    return summary.collective.resent if summary.collective else None


def _bandwidths(summary: Summary) -> list[tuple[int, float]]:
    sizes = summary.collective.sizes if summary.collective else ()
    return sorted((s.message_bytes, s.bus_bandwidth_bps) for s in sizes if s.bus_bandwidth_bps is not None)


def _results(summary: Summary) -> dict[str, float | None]:
    latency, received = summary.latency_ms, summary.packets.received
    total = sum(summary.hops.values())
    hops = sum(count * packets for count, packets in summary.hops.items())
    return {
        "offered": summary.offered,
        "accepted": summary.accepted,
        "predicted": summary.predicted.accepted if summary.predicted else None,
        "loss": summary.loss,
        "latency_mean_ms": latency.mean,
        "latency_p50_ms": latency.p50,
        "latency_p99_ms": latency.p99,
        "latency_p99_9_ms": latency.p99_9,
        "hops_mean": round(hops / total, 4) if total else None,
        "reordered": round(summary.out_of_order / received, 6) if received else None,
        "rules": summary.rules.flows,
        "groups": summary.rules.groups,
        "valid": summary.fidelity.valid,
    }


def _names(folders: Sequence[Path]) -> tuple[str, ...]:
    """Returns the folders' last names, or their whole paths where two last names are the same."""
    short = tuple(folder.resolve().name for folder in folders)
    return short if len(set(short)) == len(short) else tuple(map(str, folders))
