"""Summary and tables of a collective: completion times, bandwidths and failures."""

from __future__ import annotations

import itertools

from experiments.results.parts.collective import Acknowledgements, CollectiveSize, CollectiveSummary
from experiments.results.run_directory import RunDirectory
from experiments.results.tables import Columns
from experiments.spec.collective import CollectiveOptions
from traffic.metrics.measurements import CollectiveOutcome
from traffic.workload.collectives.registry import COLLECTIVES, split_collective

COLLECTIVE_SERIES = "collective.csv"
ITERATION_COLUMNS: Columns = {
    "message_bytes": "size of the message in bytes",
    "iteration": "number of the iteration of this size; negative numbers are warm-up",
    "start_s": "start of the iteration, in seconds since the start of the collective",
    "completion_ms": "time in ms from its start until the last rank had its result",
    "wrong_ranks": "number of ranks with a wrong result",
}
RANKS = "ranks.csv"
RANK_COLUMNS: Columns = {
    "message_bytes": "size of the message in bytes",
    "iteration": "number of the iteration of this size, as in `collective.csv`",
    "rank": "number of the rank",
    "host": "its host",
    "finished_ms": "time in ms from the iteration's start until the rank had its result",
}


def collective_summary(options: CollectiveOptions, outcome: CollectiveOutcome) -> CollectiveSummary:
    """Returns the summary of a collective; values outside `sizes` refer to the largest message.

    Args:
        options: specification of the collective.
        outcome: its measurements.
    """
    name, algorithm = split_collective(options.pattern)
    sizes = tuple(_size_summary(name, options.ranks, size, outcome) for size in options.message_bytes)
    measured = [size for size in sizes if size.iterations]
    return CollectiveSummary(
        name=name,
        algorithm=algorithm,
        ranks=options.ranks,
        **vars(max(measured or sizes, key=lambda size: size.message_bytes)),
        sizes=sizes,
        wrong_results=int(outcome.iterations["wrong_ranks"].sum()),
        resent=outcome.resent,
        acknowledgements=Acknowledgements(
            int(outcome.acknowledgements_sent.sum()), int(outcome.acknowledgements_received.sum())
        ),
        failed=outcome.failed or None,
    )


def _size_summary(name: str, ranks: int, message_bytes: int, outcome: CollectiveOutcome) -> CollectiveSize:
    """Returns completion times and bandwidths of one message size, without warm-up iterations.

    Source: NCCL tests, PERFORMANCE.md (algorithm bandwidth and bus bandwidth).
    """
    records = outcome.iterations
    chosen = records[(records["message_bytes"] == message_bytes) & (records["iteration"] >= 0)]
    if not len(chosen):
        return CollectiveSize(message_bytes, 0)
    completion_ms = chosen["completion_ns"] / 1e6
    mean_ms, min_ms, max_ms = map(float, (completion_ms.mean(), completion_ms.min(), completion_ms.max()))
    bandwidth_bps = message_bytes * 8 / (mean_ms / 1e3)
    return CollectiveSize(
        message_bytes,
        len(chosen),
        round(mean_ms, 3),
        round(min_ms, 3),
        round(max_ms, 3),
        round(bandwidth_bps),
        round(bandwidth_bps * COLLECTIVES[name].bus_factor(ranks)),
    )


def collective_troubles(outcome: CollectiveOutcome) -> list[str]:
    """Returns the problems of a collective, one sentence each."""
    troubles = [outcome.failed] if outcome.failed else []
    wrong = int((outcome.iterations["wrong_ranks"] > 0).sum())
    if wrong:
        troubles.append(f"ranks had wrong results in {wrong} iterations")
    return troubles


def write_collective(directory: RunDirectory, outcome: CollectiveOutcome, hosts: list[str]) -> None:
    """Writes the tables of iterations and of ranks.

    Args:
        directory: folder of the run.
        outcome: measurements; iterations numbered below 0 are warm-up.
        hosts: names of the fabric's hosts.

    Raises:
        OSError: the disk is full or was removed.
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
        RANKS,
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
