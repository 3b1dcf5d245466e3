"""What a collective came to: completion times, bandwidths, and what went wrong."""

from __future__ import annotations

import itertools
from typing import Any

from experiments.results.run_directory import RunDirectory
from experiments.spec.collective import CollectiveOptions
from traffic.metrics.measurements import CollectiveOutcome
from traffic.workload.collectives.operations import COLLECTIVES, split_collective

ITERATION_COLUMNS = ("message_bytes", "iteration", "start_s", "completion_ms", "wrong_ranks")
RANK_COLUMNS = ("message_bytes", "iteration", "rank", "host", "finished_ms")
COLLECTIVE_SERIES = "collective.csv"


def collective_summary(options: CollectiveOptions, outcome: CollectiveOutcome) -> dict[str, Any]:
    """Returns the `collective` of a run's summary; its own numbers are those of the largest message."""
    name, algorithm = split_collective(options.pattern)
    sizes = [_size_summary(name, options.ranks, size, outcome) for size in options.message_bytes]
    measured = [size for size in sizes if size["iterations"]]
    return {
        "name": name,
        "algorithm": algorithm,
        "ranks": options.ranks,
        **max(measured or sizes, key=lambda size: size["message_bytes"]),
        "sizes": sizes,
        "wrong_results": int(outcome.iterations["wrong_ranks"].sum()),
        "resent": outcome.resent,
        "acknowledgements": {
            "sent": outcome.acknowledgements_sent,
            "received": outcome.acknowledgements_received,
        },
        **({"failed": outcome.failed} if outcome.failed else {}),
    }


def _size_summary(name: str, ranks: int, message_bytes: int, outcome: CollectiveOutcome) -> dict[str, Any]:
    """Returns completion and bandwidths of one size, over the iterations that count.

    The algorithm's bandwidth is the message's size over the completion time, the bus bandwidth that times
    what the collective has each rank send of its message at least (NCCL tests, PERFORMANCE.md).
    """
    records = outcome.iterations
    chosen = records[(records["message_bytes"] == message_bytes) & (records["iteration"] >= 0)]
    result: dict[str, Any] = {"message_bytes": message_bytes, "iterations": len(chosen)}
    names = ("completion_ms", "completion_ms_min", "completion_ms_max")
    if not len(chosen):
        bandwidths = ("algorithm_bandwidth_bps", "bus_bandwidth_bps")
        return {**result, **dict.fromkeys((*names, *bandwidths))}
    completion_ms = chosen["completion_ns"] / 1e6
    values = (completion_ms.mean(), completion_ms.min(), completion_ms.max())
    bandwidth_bps = message_bytes * 8 / (completion_ms.mean() / 1e3)
    return {
        **result,
        **{key: round(float(value), 3) for key, value in zip(names, values, strict=True)},
        "algorithm_bandwidth_bps": round(float(bandwidth_bps)),
        "bus_bandwidth_bps": round(float(bandwidth_bps * COLLECTIVES[name].bus_factor(ranks))),
    }


def collective_troubles(outcome: CollectiveOutcome) -> list[str]:
    """Returns why a collective did not end as it should, in words."""
    troubles = [outcome.failed] if outcome.failed else []
    wrong = int((outcome.iterations["wrong_ranks"] > 0).sum())
    if wrong:
        troubles.append(f"ranks had wrong results in {wrong} iterations")
    return troubles


def write_collective(directory: RunDirectory, outcome: CollectiveOutcome, hosts: list[str]) -> None:
    """Writes each iteration's completion, and when each rank had its result; errors as `write_csv`.

    `hosts` are the names of the fabric's hosts. Iterations below 0 are warm-up.
    """
    records = outcome.iterations
    directory.write_csv(
        COLLECTIVE_SERIES,
        ITERATION_COLUMNS,
        (
            (
                record["message_bytes"],
                record["iteration"],
                round(record["start_ns"] / 1e9, 6),
                round(record["completion_ns"] / 1e6, 6),
                record["wrong_ranks"],
            )
            for record in records
        ),
    )
    directory.write_csv(
        "ranks.csv",
        RANK_COLUMNS,
        (
            (
                records[turn]["message_bytes"],
                records[turn]["iteration"],
                rank,
                hosts[outcome.hosts[rank]],
                round(outcome.finished_ns[turn, rank] / 1e6, 6),
            )
            for turn, rank in itertools.product(*map(range, outcome.finished_ns.shape))
        ),
    )
