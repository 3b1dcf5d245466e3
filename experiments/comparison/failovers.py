"""Failovers side by side."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.codec import plain
from experiments.comparison.model import Comparison
from experiments.comparison.settings import flat_settings, side_by_side
from experiments.results.open import Failover

# Entries of a summary that are settings, or have a table of their own.
_NO_RESULTS = ("name", "params", "routing", "hosts", "local_repair", "faults", "phases", "format")


def compare_failovers(names: Sequence[str], failovers: Sequence[Failover]) -> Comparison:
    """Returns failovers side by side: every value of their summaries, and their phases' counts.

    Args:
        names: a name for each failover.
        failovers: the failovers.

    Raises:
        ParameterError: one is damaged.
    """
    sides = side_by_side([flat_settings(failover.manifest) for failover in failovers])
    summaries = [plain(failover.summary) for failover in failovers]
    phases = [
        {
            f"{phase}.{name}": value
            for phase, counts in summary["phases"].items()
            for name, value in counts.items()
        }
        for summary in summaries
    ]
    values = [
        {**{name: value for name, value in summary.items() if name not in _NO_RESULTS}, **counts}
        for summary, counts in zip(summaries, phases, strict=True)
    ]
    return Comparison(
        kind="failovers",
        runs=tuple(names),
        same=sides.same,
        differing=sides.differing,
        results={name: [value.get(name) for value in values] for name in values[0]},
    )
