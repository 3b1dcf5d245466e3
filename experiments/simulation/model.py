"""Typed result of a search for saturation, and the error that keeps what an interrupted one has found."""

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
        load: load that hosts were asked to send, 0 to 1 of the injection capacity.
        offered: flits of the packets that were born in the window, of the injection capacity.
        accepted: flits of the packets that arrived in the window, of the injection capacity.
        latency_cycles: mean latency in cycles; None if no packet arrived.
        stable: whether the network carries the load, as in the summary of a simulation.
        deadlock: whether the packets came to be in a deadlock.
    """

    load: float
    offered: float
    accepted: float
    latency_cycles: float | None
    stable: bool
    deadlock: bool


@dataclass(frozen=True, kw_only=True)
class Saturation(SimulatedSettings):
    """Greatest load that a network of simulated routers carries, and the loads that were tried.

    Attributes:
        pattern: traffic pattern.
        endpoints: number of hosts of the fabric.
        arrivals: arrival process: poisson, bernoulli or constant.
        window_cycles: length of the measured window of each load in cycles.
        saturation: the greatest load that was carried; 0 if none was. `precision` more was not.
        precision: distance between neighbouring loads.
        points: loads that were tried, in their order.
        seed: seed of the random generator.
        versions: versions of the software that produced the result.
        interrupted: true if the search was ended early: the saturation is `saturation` or more.
        format: version of this record's meaning.
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
        """Returns the loads that were tried as a frame of pandas, a row for each.

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
        result: the loads that were tried until then.
    """

    def __init__(self, result: Saturation) -> None:
        """Keeps the result so far."""
        super().__init__()
        self.result = result
