"""Records of simulations: fabric, traffic and all counts, from which summary and tables are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from experiments.spec.simulation.model import SimulatedFabric, SimulatedTraffic
from routing.plan.model import RoutePlan
from simulation.result import SimulationResult
from simulation.tables.model import ForwardingTables
from traffic.workload.patterns import Pattern


@dataclass(frozen=True)
class SimulatedFabricRecord:
    """Fabric of simulated routers, ready for packets.

    Attributes:
        options: its specification.
        plan: plan of its routers.
        tables: the plan as forwarding tables.
        bringup_s: seconds of each step so far.
    """

    options: SimulatedFabric
    plan: RoutePlan
    tables: ForwardingTables
    bringup_s: Mapping[str, float]


@dataclass(frozen=True)
class SimulationRecord:
    """Simulation, as it was observed.

    Attributes:
        fabric: the fabric.
        traffic: specification of the traffic.
        pattern: its pattern on the fabric.
        result: counts of all packets.
    """

    fabric: SimulatedFabricRecord
    traffic: SimulatedTraffic
    pattern: Pattern
    result: SimulationResult

    def link_loads(self) -> npt.NDArray[np.float64]:
        """Returns the load of each directed link in the window: float64 array, directed links."""
        return np.asarray(self.result.link_flits / max(1, self.result.window), np.float64)
