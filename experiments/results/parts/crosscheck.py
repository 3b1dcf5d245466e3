"""Cross-checks, kept in the folder of the measured results: real packets beside the same ones simulated."""

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
    """A measured point beside the same packets on simulated switches.

    Attributes:
        routing, pattern, load: the point.
        valid: whether the measurement is valid.
        accepted: bytes that arrived, of the injection capacity, as measured.
        accepted_simulated: the same in the simulation.
        accepted_credit: the same with lossless routers in the place of switches, and decisions for every
            packet: the pattern at its load, not the same packets.
        accepted_predicted: the same by the fluid model; None for adaptive routings.
        hops_mean, hops_mean_simulated: mean number of links between routers that packets took.
        queueing_frame_times, queueing_frame_times_simulated: mean time that packets waited in queues, in
            times of a frame on a link.
        latency_ms_simulated: mean latency to the first bit in the simulation, in ms: as `latency_ms` of a
            run, without the time that programs take.
        seed: seed of the random generator.
        options: option that a sweep varies -> its value at the point; absent where it varies nothing else.
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
    """A quantity of replications beside its mean in their simulations.

    Attributes:
        mean: mean over the replications, as measured.
        ci95: half the width of its 95 % confidence interval.
        simulated: mean over the simulations of the same packets.
        within: whether that lies within the interval.
    """

    mean: float
    ci95: float
    simulated: float
    within: bool


@dataclass(frozen=True, kw_only=True)
class Replicated:
    """Replications of a point, which differ in their seeds alone, beside their simulations.

    Attributes:
        routing, pattern, load, options: the point.
        seeds: the replications' seeds.
        accepted, hops_mean, queueing_frame_times: the quantities of the same names of its points.
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
    """Results of real packets beside simulations of the same packets.

    Attributes:
        results: their folder.
        points: the points that could be compared.
        replicated: points of several seeds, judged by the intervals of the measurements; absent without any.
        format: version of this record's meaning.
    """

    results: str
    points: tuple[Compared, ...]
    replicated: tuple[Replicated, ...] | None = omitted()
    format: int = FORMAT

    def to_frame(self) -> pd.DataFrame:
        """Returns the points as a frame of pandas, a row for each.

        Raises:
            MachineError: pandas is not installed.
        """
        return frame([asdict(point) for point in self.points])

    def __repr__(self) -> str:
        return f"<Crosscheck of {self.results}: {len(self.points)} points>"


def kept_crosscheck(folder: Path) -> dict[Point, Compared]:
    """Returns the simulated points that the folder of a sweep keeps; none without a cross-check.

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
