"""Records of simulations: fabric, traffic and all counts, from which summary and tables are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.spec.simulation.applications import SimulatedApplication, SimulatedTrace
from experiments.spec.simulation.model import SimulatedFabric, SimulatedTraffic
from routing.plan.model import RoutePlan
from routing.registry import make_plan
from routing.verification.verifier import Prover
from simulation.applications import Iteration
from simulation.messages import Ideal
from simulation.result import FaultCourse, SimulationResult
from simulation.tables.model import ForwardingTables
from topology.files.plugin_files import Sources, needed, take_over
from topology.plugins import check_plugins
from traffic.workload.messages import MessageGraph
from traffic.workload.patterns import Pattern

AnyTraffic = SimulatedTraffic | SimulatedApplication | SimulatedTrace


@dataclass(frozen=True)
class PlannedFabric:
    """Fabric of simulated routers, ready for packets.

    On another machine the plan, which does not travel, is made anew when it is first needed.

    Attributes:
        options: its specification.
        tables: the plan of its routers as forwarding tables.
        bringup_s: seconds of each step so far.
        proven: the plan, and its proof, which proves plans that differ from it faster; None where it was not
            proven.
    """

    options: SimulatedFabric
    tables: ForwardingTables
    bringup_s: Mapping[str, float]
    proven: tuple[RoutePlan, Prover] | None

    @cached_property
    def plan(self) -> RoutePlan:
        """Plan of its routers."""
        if self.proven is not None:
            return self.proven[0]
        made_by = self.options
        return make_plan(
            made_by.topology, made_by.hosts, made_by.routing, ordered_repair=made_by.ordered_repair
        )

    @property
    def prover(self) -> Prover | None:
        """Proof of the plan; None where it was not proven."""
        return self.proven and self.proven[1]

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns the attributes that travel to other machines, which get the plug-ins of these before."""
        names = (self.options.topology.name, self.options.routing.partition(":")[0])
        travelling = {"options": self.options, "tables": self.tables, "bringup_s": self.bringup_s}
        return _with_plugins, needed(*names), travelling | {"proven": None}


def _with_plugins(files: Sources, kept: Mapping[str, str]) -> PlannedFabric:
    """Returns a fabric without attributes, once this machine has the same plug-ins as the one that sends it.

    Raises:
        UsageError: this machine lacks a plug-in's package, or has another version of it.
    """
    take_over(files)
    check_plugins(kept)
    return PlannedFabric.__new__(PlannedFabric)


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
