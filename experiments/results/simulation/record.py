"""Records of simulations: fabric, traffic and all counts, from which summary and tables are computed."""

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
    """Observations of a simulated application.

    Attributes:
        hosts: host of each rank; empty for a trace.
        graph: messages of the last phase.
        ideals: ideal times of each phase; a phase is a message size, or the whole trace.
        iterations: the complete iterations.
        done: int64 array, one entry per message: cycles from the start of the last iteration to the
            message's arrival; -1 if it did not arrive.
    """

    hosts: tuple[int, ...]
    graph: MessageGraph
    ideals: tuple[Ideal, ...]
    iterations: tuple[Iteration, ...]
    done: npt.NDArray[np.int64]


@dataclass(frozen=True)
class SimulationCounts:
    """Data from which a simulation's files are written; small, as the fabric's plan is not included.

    Attributes:
        fabric: specification of the fabric.
        traffic: specification of the traffic.
        result: counts of all packets.
        application: the application; None for synthetic packets.
    """

    fabric: FabricOptions
    traffic: AnyTraffic
    result: SimulationResult
    application: ApplicationRecord | None = None

    def link_loads(self) -> npt.NDArray[np.float64]:
        """Returns a float64 array, one entry per directed link: its load in the window."""
        return np.asarray(self.result.link_flits / max(1, self.result.window), np.float64)


@dataclass(frozen=True)
class SimulationRecord:
    """Observations of a simulation.

    Attributes:
        fabric: the fabric.
        traffic: specification of the traffic.
        pattern: its pattern on the fabric; None for an application.
        result: counts of all packets.
        faults: when each fault and each new plan took effect; None without faults.
        application: the application; None for synthetic packets.
    """

    fabric: PlannedFabric
    traffic: AnyTraffic
    pattern: Pattern | None
    result: SimulationResult
    faults: FaultCourse | None = None
    application: ApplicationRecord | None = None

    @property
    def counts(self) -> SimulationCounts:
        """The part of the record from which the files of a simulation are written."""
        return SimulationCounts(self.fabric.options, self.traffic, self.result, self.application)
