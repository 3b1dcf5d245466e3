"""Means over replications and their confidence intervals, key by key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.codec import omitted
from experiments.results.metrics import Engine, In, metrics, with_fields
from experiments.spec.options import MAX_REPEAT


@dataclass(frozen=True)
class Interval:
    """Mean over replications with its confidence interval (Student's t).

    Attributes:
        mean: arithmetic mean of the replications.
        ci95: half the width of the 95 % confidence interval of the mean, t s / sqrt(n) with the standard
            deviation s of n values and Student's t; None of a single value.
        values: value of each replication that has one.
    """

    mean: float
    ci95: float | None
    values: tuple[float, ...]


def check_seeds(seeds: Sequence[int]) -> None:
    """Raises ValueError if a record of results names a seed twice, or more seeds than an experiment may have.

    A reader opens a folder for each of them.
    """
    if len(seeds) > MAX_REPEAT or len({*seeds}) < len(seeds):
        raise ValueError(f"seeds must be different ones, at most {MAX_REPEAT}")


def _means(engine: Engine) -> list[tuple[str, Any, Any]]:
    """Returns a field for each metric that has a mean over replications."""
    return [(one.key, Interval | None, omitted(one.meaning)) for one in metrics(engine, In.SEEDS)]


@dataclass(frozen=True, kw_only=True)
@with_fields(_means(Engine.EMULATION))
class Replications:
    """Means over runs that differ in their seeds only: an Interval under the key of each metric.

    Attributes:
        asked: number of replications that were asked for.
        seeds: seeds of those that were measured.
    """

    asked: int
    seeds: tuple[int, ...]

    def __post_init__(self) -> None:
        check_seeds(self.seeds)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


@dataclass(frozen=True, kw_only=True)
@with_fields(_means(Engine.SIMULATION))
class SimulatedReplications:
    """Means over simulations that differ in their seeds only: an Interval under the key of each metric.

    Attributes:
        asked: number of replications that were asked for.
        seeds: seeds of those that were simulated.
        stable: number of those that were stable.
    """

    asked: int
    seeds: tuple[int, ...]
    stable: int

    def __post_init__(self) -> None:
        check_seeds(self.seeds)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
