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
    """Mean over replications, and its confidence interval (Student's t).

    Attributes:
        mean: arithmetic mean of the replications.
        ci95: half the width of the 95 % confidence interval of the mean: t s / sqrt(n), with the standard
            deviation s of n values and Student's t; None for a single value.
        values: value of each replication that has one.
    """

    mean: float
    ci95: float | None
    values: tuple[float, ...]


def check_seeds(seeds: Sequence[int]) -> None:
    """Raises ValueError if a record has a seed twice, or more seeds than an experiment may have.

    Without the limit, a forged record could make a reader open any number of folders.
    """
    if len(seeds) > MAX_REPEAT or len({*seeds}) < len(seeds):
        raise ValueError(f"seeds must be different, at most {MAX_REPEAT}")


def _means(engine: Engine) -> list[tuple[str, Any, Any]]:
    """Returns (name, type, default) of a dataclass field for each metric with a mean over replications."""
    return [(one.key, Interval | None, omitted(one.meaning)) for one in metrics(engine, In.SEEDS)]


@dataclass(frozen=True, kw_only=True)
@with_fields(_means(Engine.EMULATION))
class Replications:
    """Means over runs that differ only in their seeds; each metric's key is a field with an Interval.

    Attributes:
        asked: requested number of replications.
        seeds: seeds of the measured replications.
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
    """Means over simulations that differ only in their seeds; each metric's key is a field with an Interval.

    Attributes:
        asked: requested number of replications.
        seeds: seeds of the simulated replications.
        stable: number of stable replications.
    """

    asked: int
    seeds: tuple[int, ...]
    stable: int

    def __post_init__(self) -> None:
        check_seeds(self.seeds)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
