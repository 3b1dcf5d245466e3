"""Records of simulations: fabric, traffic and all counts, from which summary and tables are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from experiments.spec.simulation.applications import SimulatedApplication, SimulatedTrace
from experiments.spec.simulation.model import SimulatedFabric, SimulatedTraffic
from routing.plan.model import RoutePlan
from routing.verification.verifier import Prover
from simulation.applications import Iteration
from simulation.messages import Ideal
from simulation.result import FaultCourse, SimulationResult
from simulation.tables.model import ForwardingTables
from traffic.workload.messages import MessageGraph
from traffic.workload.patterns import Pattern

AnyTraffic = SimulatedTraffic | SimulatedApplication | SimulatedTrace


@dataclass(frozen=True)
class SimulatedFabricRecord:
    """Fabric of simulated routers, ready for packets.

    Attributes:
        options: its specification.
        plan: plan of its routers.
        tables: the plan as forwarding tables.
        bringup_s: seconds of each step so far.
        prover: proof of the plan, which proves plans that differ from it faster.
    """

    options: SimulatedFabric
    plan: RoutePlan
    tables: ForwardingTables
    bringup_s: Mapping[str, float]
    prover: Prover


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

    fabric: SimulatedFabric
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

    fabric: SimulatedFabricRecord
    traffic: AnyTraffic
    pattern: Pattern | None
    result: SimulationResult
    faults: FaultCourse | None = None
    application: ApplicationRecord | None = None

    @property
    def counts(self) -> SimulationCounts:
        """What its files are made of."""
        return SimulationCounts(self.fabric.options, self.traffic, self.result, self.application)
