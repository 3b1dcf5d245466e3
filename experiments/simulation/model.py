"""Typed result of a search for saturation, and the error that carries the result of an interrupted one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from experiments.codec import FORMAT, omitted
from experiments.results.frames import frame
from experiments.results.simulation.model import SimulatedSettings

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class LoadPoint:
    """A load that was tried.

    Attributes:
        load: requested load, 0 to 1 of the injection capacity.
        offered: flits of the packets generated in the window, as a fraction of the injection capacity.
        accepted: flits of the packets that arrived in the window, as a fraction of the injection capacity.
        latency_cycles: mean latency in cycles; None if no packet arrived.
        stable: whether the load is stable, by the rule of a simulation's summary.
        deadlock: whether the packets deadlocked.
    """

    load: float
    offered: float
    accepted: float
    latency_cycles: float | None
    stable: bool
    deadlock: bool


@dataclass(frozen=True, kw_only=True)
class Saturation(SimulatedSettings):
    """Highest stable load of a network of simulated routers, and the loads that were tried.

    Attributes:
        pattern: traffic pattern.
        endpoints: number of hosts of the fabric.
        arrivals: arrival process: poisson, bernoulli or constant.
        window_cycles: length of the measurement window of each load in cycles.
        saturation: the highest stable load; 0 if none was stable. A load `precision` higher saturates.
        precision: distance between neighbouring loads.
        points: loads that were tried, in the order of trial.
        seed: seed of the random generator.
        versions: versions of the software that produced the result.
        interrupted: true if the search ended early; `saturation` is then a lower bound.
        format: version of this record's meaning.

    Examples:
        >>> found = saturation("polarfly", q=3, pattern="tornado", cycles=1000, precision=0.25)
        >>> [(point.load, point.stable) for point in found.points]
        [(0.5, True), (0.75, False)]
    """

    pattern: str
    endpoints: int
    arrivals: str
    window_cycles: int
    saturation: float
    precision: float
    points: tuple[LoadPoint, ...]
    seed: int
    versions: Mapping[str, str]
    interrupted: bool | None = omitted()
    format: int = FORMAT

    def to_frame(self) -> pd.DataFrame:
        """Returns the tried loads as a pandas frame with a row for each.

        Raises:
            MachineError: pandas is not installed.
        """
        return frame([asdict(point) for point in self.points])

    def __repr__(self) -> str:
        loads = f"{self.saturation:g}, {len(self.points)} loads tried"
        return f"<Saturation of {self.routing} under {self.pattern}: {loads}>"


class SaturationInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a search for saturation.

    Attributes:
        result: the result so far.
    """

    def __init__(self, result: Saturation) -> None:
        """Stores the saturation found so far, which callers of the interrupted search read."""
        super().__init__()
        self.result = result
