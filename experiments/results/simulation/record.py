"""Records of simulations: fabric, traffic and all counts, from which summary and tables are made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from experiments.planned_fabric import PlannedFabric
from experiments.spec.fabric import FabricOptions
from experiments.spec.simulation.applications import SimulatedApplication, SimulatedTrace
from experiments.spec.simulation.model import SimulatedTraffic
from simulation.applications import Iteration
from simulation.messages import Ideal
from simulation.result import FaultCourse, SimulationResult
from traffic.workload.messages import MessageGraph
from traffic.workload.patterns import Pattern

AnyTraffic = SimulatedTraffic | SimulatedApplication | SimulatedTrace


@dataclass(frozen=True)
class ApplicationRecord:
    """Application of a simulation, as it was observed.

    Attributes:
        hosts: host of each rank; none for a trace.
        graph: messages of the last phase.
        ideals: ideal times of each phase: of each message size, or of the trace.
        iterations: the iterations that were completed.
        done: cycles from the begin of the last iteration to each message's arrival; -1 of those that did not
            arrive: int64 array, (messages,).
    """

    hosts: tuple[int, ...]
    graph: MessageGraph
    ideals: tuple[Ideal, ...]
    iterations: tuple[Iteration, ...]
    done: npt.NDArray[np.int64]


@dataclass(frozen=True)
class SimulationCounts:
    """What the files of a simulation are made of; without the plan of its fabric it is small.

    Attributes:
        fabric: specification of the fabric.
        traffic: specification of the traffic.
        result: counts of all packets.
        application: the application; None where packets were drawn.
    """

    fabric: FabricOptions
    traffic: AnyTraffic
    result: SimulationResult
    application: ApplicationRecord | None = None

    def link_loads(self) -> npt.NDArray[np.float64]:
        """Returns the load of each directed link in the window: float64 array, directed links."""
        return np.asarray(self.result.link_flits / max(1, self.result.window), np.float64)


@dataclass(frozen=True)
class SimulationRecord:
    """Simulation, as it was observed.

    Attributes:
        fabric: the fabric.
        traffic: specification of the traffic.
        pattern: its pattern on the fabric; None of an application.
        result: counts of all packets.
        faults: course of the faults; None without any.
        application: the application; None where packets were drawn.
    """

    fabric: PlannedFabric
    traffic: AnyTraffic
    pattern: Pattern | None
    result: SimulationResult
    faults: FaultCourse | None = None
    application: ApplicationRecord | None = None

    @property
    def counts(self) -> SimulationCounts:
        """What its files are made of."""
        return SimulationCounts(self.fabric.options, self.traffic, self.result, self.application)
