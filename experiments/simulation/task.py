"""Simulations as tasks that any process on any machine can run with the same result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.planned_fabric import PlannedFabric
from experiments.spec.fabric import FabricOptions
from experiments.spec.simulation.decisions import BUCKETS
from experiments.spec.simulation.model import SimulatedTraffic
from simulation.course import Progress
from simulation.result import FaultCourse, FaultOutcome, PlanOutcome, SimulationResult
from simulation.settings import Decision, RouterSettings, Times, Workload
from simulation.simulator import simulate
from topology.faults import Fault

if TYPE_CHECKING:
    from simulation.bucket_loop import BucketLoop
    from simulation.faults import SimulatedFaults, Tell


def _silent(_happened: FaultOutcome | PlanOutcome) -> None:
    """Ignores the outcome of a fault or of a plan: the default of `Task.run`'s `tell`."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of a task: counts of all packets, and when each fault and each new plan took effect, if any."""

    result: SimulationResult
    faults: FaultCourse | None


@dataclass(frozen=True)
class Task:
    """One simulation without its fabric, as many tasks share one fabric.

    Attributes:
        workload, routers, decision, times, seed: see `simulation.simulator.simulate`.
        faults: failures and repairs, with times in cycles.
        replan_cycles: cycles from a fault until switches have the plan for it; None without replanning.
    """

    workload: Workload
    routers: RouterSettings
    decision: Decision
    times: Times
    seed: int
    faults: Sequence[Fault] = ()
    replan_cycles: int | None = None

    def run(self, planned: PlannedFabric, progress: Progress | None = None, tell: Tell = _silent) -> Outcome:
        """Runs the simulation and returns its outcome; if interrupted, the outcome until then.

        Args:
            planned: the fabric.
            progress: called with the simulated cycles and arrived packets after every period.
            tell: called with every fault and every new plan.
        """
        loop = bucket_loop(planned, self.decision, self.routers)
        faults = self._faults(planned, loop, tell) if self.faults else None
        result = simulate(
            planned.tables,
            self.workload,
            self.routers,
            self.decision,
            self.times,
            self.seed,
            progress,
            interventions=[one for one in (faults, loop) if one is not None],
        )
        return Outcome(result, faults.course() if faults else None)

    def _faults(self, planned: PlannedFabric, loop: BucketLoop | None, tell: Tell) -> SimulatedFaults:
        from routing.replan.replan import Provers
        from simulation.faults import SimulatedFaults

        return SimulatedFaults(
            planned.plan,
            self.faults,
            self.replan_cycles,
            self.routers,
            provers=Provers(planned.prover),
            tell=tell,
            loop=loop,
        )


def task_of(fabric: FabricOptions, traffic: SimulatedTraffic) -> Task:
    """Creates the task of a simulation.

    Args:
        fabric: specification of the fabric.
        traffic: specification of the traffic.
    """
    pattern = fabric.pattern(traffic.pattern, traffic.seed)
    return Task(
        Workload(pattern=pattern, load=traffic.load, arrivals=traffic.arrivals),
        fabric.routers,
        fabric.packet_decision(),
        traffic.times,
        traffic.seed,
        traffic.faults,
        None if isinstance(traffic.replan_cycles, str) else traffic.replan_cycles,
    )


def bucket_loop(planned: PlannedFabric, decision: Decision, routers: RouterSettings) -> BucketLoop | None:
    """Returns the simulated controller's control loop; None if sources choose a path for each packet.

    Args:
        planned: the fabric; for a control loop, its tables list the ports among which a switch may choose.
        decision: rule by which packets or flows choose their paths.
        routers: settings of routers and links.
    """
    if decision.law != BUCKETS:
        return None
    from simulation.bucket_loop import BucketLoop

    return BucketLoop(planned.plan, planned.tables, decision.period, routers)
