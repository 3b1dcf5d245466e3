"""Cross-checks, kept in the folder of measured results: real packets against a simulation of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.codec import FORMAT, omitted, read_record
from experiments.results.frames import frame
from experiments.spec.sweep import Point
from topology.parameters import Value

if TYPE_CHECKING:
    import pandas as pd

CROSSCHECK = "crosscheck.json"


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A measured point and a simulation of the same packets.

    Attributes:
        routing, pattern, load: the point.
        valid: whether the measurement is valid.
        accepted: measured accepted load, as a fraction of the injection capacity.
        accepted_simulated: accepted load of the simulation.
        accepted_credit: accepted load of lossless simulated routers with per-packet decisions; these get the
            same pattern and load, but not the same packets.
        accepted_predicted: accepted load by the fluid model; None for adaptive routings.
        hops_mean, hops_mean_simulated: mean number of links between routers that packets took.
        queueing_frame_times, queueing_frame_times_simulated: mean queueing time of packets, in transmission
            times of a frame; the measured time, a latency minus held times, may be below 0 at low loads.
        latency_ms_simulated: mean latency in ms until arrival of the first bit in the simulation; excludes
            processing times of programs, which `latency_ms` of a run includes.
        seed: seed of the random generator.
        options: varied option -> its value at the point; absent if the sweep varies no option.
    """

    routing: str
    pattern: str
    load: float
    valid: bool
    accepted: float | None
    accepted_simulated: float
    accepted_credit: float
    accepted_predicted: float | None
    hops_mean: float
    hops_mean_simulated: float
    queueing_frame_times: float | None
    queueing_frame_times_simulated: float
    latency_ms_simulated: float
    seed: int
    options: Mapping[str, Value] | None = omitted()


@dataclass(frozen=True, kw_only=True)
class Judged:
    """Mean of a quantity over measured replications, compared to its mean over their simulations.

    Attributes:
        mean: measured mean over the replications.
        ci95: half the width of its 95 % confidence interval.
        simulated: mean over the simulations of the same packets.
        within: whether `simulated` lies within the interval.
    """

    mean: float
    ci95: float
    simulated: float
    within: bool


@dataclass(frozen=True, kw_only=True)
class Replicated:
    """Replications of a point, which differ only in their seeds, compared to their simulations.

    Attributes:
        routing, pattern, load, options: the point.
        seeds: seeds of the replications.
        accepted, hops_mean, queueing_frame_times: comparison of the quantity of this name.
    """

    routing: str
    pattern: str
    load: float
    seeds: tuple[int, ...]
    accepted: Judged | None
    hops_mean: Judged | None
    queueing_frame_times: Judged | None
    options: Mapping[str, Value] | None = omitted()


@dataclass(frozen=True)
class Crosscheck:
    """Results of real packets compared to simulations of the same packets.

    Attributes:
        results: their folder.
        points: the points that could be compared.
        replicated: points with several seeds, judged by the intervals of the measurements; absent if there
            are none.
        format: version of this record's meaning.

    Examples:
        With the results of a run in results/tornado:

        >>> point = crosscheck("results/tornado").points[0]
        >>> round(point.accepted, 2), round(point.accepted_simulated, 2), round(point.accepted_predicted, 2)
        (0.31, 0.31, 0.3)
    """

    results: str
    points: tuple[Compared, ...]
    replicated: tuple[Replicated, ...] | None = omitted()
    format: int = FORMAT

    def to_frame(self) -> pd.DataFrame:
        """Returns the points as a pandas data frame, one row each.

        Raises:
            MachineError: pandas is not installed.
        """
        return frame([asdict(point) for point in self.points])

    def __repr__(self) -> str:
        return f"<Crosscheck of {self.results}: {len(self.points)} points>"


def kept_crosscheck(folder: Path) -> dict[Point, Compared]:
    """Returns the points of the cross-check in a sweep's folder; empty without a cross-check.

    Args:
        folder: folder of the sweep.

    Raises:
        ParameterError: the file is damaged.
    """
    path = folder / CROSSCHECK
    if not path.exists():
        return {}
    points = read_record(path, Crosscheck).points
    return {
        Point(one.routing, one.pattern, one.load, tuple(sorted((one.options or {}).items()))): one
        for one in points
    }
