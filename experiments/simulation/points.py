"""Simulated points: groups that share a plan and its tables, and the back ends that simulate them."""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import TypeVar

from emulation.subprocesses import usable_cores
from experiments.events.base import OnEvent
from experiments.events.notices import Notice
from experiments.planned_fabric import PlannedFabric
from experiments.points.engine import BackEnd, PointGroup
from experiments.points.in_turn import InTurn
from experiments.points.processes import Processes
from experiments.results.simulation.record import SimulationRecord
from experiments.simulation.address import Scheduler
from experiments.simulation.cluster import reached_cluster
from experiments.simulation.fabric import prepare_fabric
from experiments.simulation.memory import simulation_memory_bytes
from experiments.simulation.task import Outcome, Task, task_of
from experiments.spec.fabric import FabricOptions
from experiments.spec.simulation.model import SimulatedTraffic
from routing.registry import make_plan
from simulation.kernels.compiled import is_compiled, keeps_kernels
from simulation.settings import Decision, RouterSettings, Times, Workload
from simulation.simulator import simulate
from simulation.tables.compiler import compile_tables
from topology.families.low_diameter.polarfly import PolarFly
from traffic.workload.patterns import make_pattern

PointT = TypeVar("PointT")
OutcomeT = TypeVar("OutcomeT")


class SimulatedGroup(PointGroup[PlannedFabric, PointT, OutcomeT]):
    """Simulated points that share a plan and its tables.

    Attributes:
        fabric: specification of the fabric that is planned.
    """

    fabric: FabricOptions

    @abstractmethod
    def simulation(self, point: PointT) -> tuple[FabricOptions, SimulatedTraffic]:
        """Returns the fabric and the traffic of a point; the fabric has the plan that all points share.

        Args:
            point: the point.
        """

    @abstractmethod
    def condense(self, point: PointT, record: SimulationRecord) -> OutcomeT:
        """Reduces the record of a simulation to the outcome that the search or sweep keeps.

        Args:
            point: the point.
            record: the simulation.
        """

    def prepare(self, on_event: OnEvent) -> PlannedFabric:
        """Plans the fabric.

        Args:
            on_event: called with each event.
        """
        return prepare_fabric(self.fabric, on_event)

    @contextlib.contextmanager
    def fabric_up(self, on_event: OnEvent) -> Iterator[PlannedFabric]:
        """Yields the planned fabric."""
        yield self.prepare(on_event)

    def do(self, fabric: PlannedFabric, point: PointT) -> OutcomeT:
        """Simulates a point; raises KeyboardInterrupt if it is interrupted."""
        task = task_of(*self.simulation(point))
        return self.outcome(fabric, point, task, task.run(fabric))

    def outcome(self, fabric: PlannedFabric, point: PointT, task: Task, outcome: Outcome) -> OutcomeT:
        """Converts the outcome of a point's task to the outcome that the search or sweep keeps.

        Args:
            fabric: the fabric with the plan of all points.
            point: the point.
            task: the task of the point.
            outcome: the outcome of the task.
        """
        if outcome.result.interrupted:
            raise KeyboardInterrupt
        options, traffic = self.simulation(point)
        record = SimulationRecord(
            fabric.changed(options=options), traffic, task.workload.pattern, outcome.result, outcome.faults
        )
        return self.condense(point, record)

    def load(self, on_event: OnEvent) -> None:
        """Compiles and loads the kernel in this process, so that its forks need not do so."""
        flow_control = self.fabric.routers.flow_control
        if not is_compiled(flow_control):
            on_event(Notice("kernels-compiled", kept=keeps_kernels()))
        topology = PolarFly(2)
        short = simulate(
            compile_tables(make_plan(topology, 1, "min")),
            Workload(pattern=make_pattern("uniform", topology, 1, 1), load=0.5),
            RouterSettings(flow_control=flow_control),
            Decision(),
            Times(warmup=1, window=1, most_drain=1),
            1,
        )
        if short.interrupted:
            raise KeyboardInterrupt

    @cached_property
    def memory_bytes(self) -> int:
        """Estimated memory of the plan and of one simulation, in bytes."""
        return simulation_memory_bytes(self.fabric)


@contextlib.contextmanager
def back_end_for(workers: int | None, scheduler: Scheduler | None, on_event: OnEvent) -> Iterator[BackEnd]:
    """Yields the back end that simulates points.

    Args:
        workers: number of processes on this machine; None for one per core.
        scheduler: scheduler of a cluster that simulates instead; None for no cluster.
        on_event: called with each event.

    Raises:
        MachineError: the scheduler does not answer, or a worker has a different version.
    """
    count = workers or usable_cores()
    if scheduler is not None:
        with reached_cluster(scheduler, on_event) as cluster:
            yield cluster
    elif count == 1:
        with InTurn(on_event) as in_turn:
            yield in_turn
    else:
        with Processes(count, on_event) as processes:
            yield processes
