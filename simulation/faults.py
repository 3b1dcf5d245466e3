"""Faults of a simulation: failing links and switches, local repair by switches, and the controller's plans.

A fault takes effect at the start of its cycle; components that fail in the same cycle fail together. From
then on, switches apply their groups to the ports that are still up, as Open vSwitch does. A hanging switch
leaves its links up, so its neighbours do not notice. After the replanning delay (the controller's time to
detect, plan and install), the switches have a new plan for the fabric as the controller knew it at the time
of the fault, and ports toward a hanging switch are down.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from routing.plan.model import RoutePlan
from routing.replan.replan import Provers, surviving_plan
from routing.replan.surviving_graph import cut_off_pairs
from routing.replan.update_order import update_rounds
from simulation.arrays.forwarding import replace_tables
from simulation.arrays.ports import link_ports
from simulation.bucket_loop import BucketLoop
from simulation.kernels.failures import break_outputs
from simulation.kernels.state import LAST_LOSS, LOST, OWNER, Int64, State
from simulation.result import FaultCourse, FaultOutcome, PlanOutcome
from simulation.settings import RouterSettings
from simulation.tables.compiler import PlanCompiler
from simulation.tables.model import ForwardingTables
from simulation.tables.packets import Arrival
from topology.drains import NO_DRAIN, Drain, drain_of
from topology.errors import NegativeResult
from topology.failures import NO_FAILURE, Failure, failure_of
from topology.faults import CONTROLLER, Component, ComponentKind, Fault, link_component

# Called with every fault and every new plan when it takes effect.
Tell = Callable[[FaultOutcome | PlanOutcome], None]

_PLAN, _FAULT = range(2)  # order of the steps within a cycle


@dataclass(frozen=True)
class _ComponentState:
    """The components that are down, and those that are drained."""

    down: tuple[Component, ...] = ()
    drained: tuple[Component, ...] = ()


class SimulatedFaults:
    """Intervention that applies scheduled faults to a network, and the controller's plans for them."""

    def __init__(
        self,
        plan: RoutePlan,
        faults: Sequence[Fault],
        replan_cycles: int | None,
        routers: RouterSettings,
        *,
        provers: Provers | None = None,
        tell: Tell = lambda _happened: None,
        loop: BucketLoop | None = None,
    ) -> None:
        """Schedules faults.

        Args:
            plan: the plan of the intact fabric, installed at the start.
            faults: the faults; their times are in whole cycles.
            replan_cycles: cycles from a fault until the switches have the plan for it; None for no new plans.
            routers: settings of routers and links.
            provers: verify new plans; reusing provers that have verified other plans of the fabric is faster.
            tell: called with every fault and every new plan.
            loop: the adaptive loop to update with new tables; None for decision laws without one.
        """
        self._whole, self._installed = plan, plan
        self._installed_for: tuple[Failure, Drain] = (NO_FAILURE, NO_DRAIN)
        self._loop = loop
        self._compilers = [(plan, PlanCompiler(plan, candidates=loop is not None))]
        self._provers = provers or Provers()
        self._replan_cycles = replan_cycles
        self._routers = routers
        self._tell = tell
        self._steps: list[tuple[int, int, int, Fault | _ComponentState]] = [
            (round(fault.time_s), _FAULT, number, fault) for number, fault in enumerate(faults)
        ]
        heapq.heapify(self._steps)
        self._now = _ComponentState()
        self._controller_view = _ComponentState()  # `_now` at the fault that led to the last plan
        self._controller_works = True
        self._kinds: set[Arrival] = set()
        self._lost = 0
        self._counts: Int64 | None = None
        self._fault_outcomes: list[FaultOutcome] = []
        self._plans: list[PlanOutcome] = []

    @property
    def next_cycle(self) -> int | None:
        """The cycle of the next step; None after the last step."""
        return self._steps[0][0] if self._steps else None

    def act(self, network: State) -> State:
        """Applies the next fault or plan and returns the changed network.

        All failures of a cycle are one step: the tables are computed once for all of them.

        Args:
            network: the network at the start of the step's cycle.

        Raises:
            PlanError: a plan has rules that forwarding tables cannot express.
        """
        cycle, _, _, step = heapq.heappop(self._steps)
        self._attribute_losses(network.counts)
        if isinstance(step, Fault):
            self._apply_fault(cycle, step)
            while not step.restores and (another := self._next_failure(cycle)):
                heapq.heappop(self._steps)
                self._apply_fault(cycle, another)
        else:
            self._install_plan(cycle, step)
        tables = self._tables()
        network = replace_tables(network, tables)
        if self._loop is not None:
            network = self._loop.replace_tables(network, self._installed, tables)
        break_outputs(network, self._broken(network, tables), self._routers.flow_control == "credit")
        return network

    def course(self) -> FaultCourse:
        """Returns the faults and plans so far."""
        if self._counts is not None:
            self._attribute_losses(self._counts)
        return FaultCourse(tuple(self._fault_outcomes), tuple(self._plans))

    def _attribute_losses(self, counts: Int64) -> None:
        """Attributes the packets lost since the last step to the last fault."""
        lost, self._lost = int(counts[LOST]) - self._lost, int(counts[LOST])
        self._counts = counts
        if lost and self._fault_outcomes:
            last = int(counts[LAST_LOSS]) // self._routers.ticks
            before = self._fault_outcomes[-1]
            self._fault_outcomes[-1] = replace(
                before, lost_packets=before.lost_packets + lost, last_loss_cycle=last
            )

    # ---- steps ----

    def _apply_fault(self, cycle: int, fault: Fault) -> None:
        self._fault_outcomes.append(FaultOutcome(cycle, str(fault)))
        self._tell(self._fault_outcomes[-1])
        components = self._separate_links(fault.component)
        if fault.component == CONTROLLER:
            self._controller_works = fault.restores
            if not fault.restores:
                self._steps = [one for one in self._steps if one[1] == _FAULT]
                heapq.heapify(self._steps)
        elif fault.maintenance:
            drained = _changed(self._now.drained, [fault.component], removed=fault.restores)
            self._now = replace(self._now, drained=drained)
        else:
            self._now = replace(self._now, down=_changed(self._now.down, components, removed=fault.restores))
        if self._replan_cycles is not None and self._controller_works:
            ready = cycle + self._replan_cycles
            self._steps = [one for one in self._steps if one[:2] != (ready, _PLAN)]
            self._steps.append((ready, _PLAN, 0, self._now))
            heapq.heapify(self._steps)

    def _next_failure(self, cycle: int) -> Fault | None:
        """Returns the next step if it is a failure in the given cycle, else None."""
        if not self._steps or self._steps[0][0] != cycle:
            return None
        step = self._steps[0][-1]
        return step if isinstance(step, Fault) and not step.restores else None

    def _separate_links(self, component: Component) -> list[Component]:
        """Returns the component as a list, with parallel links listed one by one."""
        if component.kind is not ComponentKind.LINK:
            return [component]
        return [link_component(link) for link in self._whole.topology.link_list if component.covers(link)]

    def _install_plan(self, cycle: int, known: _ComponentState) -> None:
        """Installs a plan for the components that the controller knows to be down or drained.

        If the plan fails its proof, the previous one stays.
        """
        topology = self._whole.topology
        names = ", ".join(component.location for component in known.down) or NO_FAILURE.name
        failure = replace(failure_of(topology, known.down), name=names)
        drain = drain_of(topology, known.drained)
        self._controller_view = known
        if (failure, drain) == self._installed_for:
            return
        try:
            plan = surviving_plan(self._whole, failure, drain, provers=self._provers)
        except NegativeResult:  # like the controller: keeping the previous plan is better than aborting
            return
        rounds = update_rounds(self._installed, plan, failure, drain)
        outcome = PlanOutcome(
            cycle=cycle,
            failed=failure.name,
            drained=drain.name,
            rules=sum(len(changes) for changed in rounds for changes in changed.values()),
            cut_off_pairs=len(cut_off_pairs(topology, failure)),
        )
        self._installed, self._installed_for = plan, (failure, drain)
        self._plans.append(outcome)
        self._tell(outcome)

    # ---- tables ----

    @property
    def _dead(self) -> frozenset[int]:
        """The routers that do not forward packets."""
        return frozenset(e.routers[0] for e in self._now.down if e.kind is not ComponentKind.LINK)

    def _failure(self) -> Failure:
        """Returns the failure that switches see: dead routers, and ports that are down."""
        hang = ComponentKind.HANG
        down = [component for component in self._now.down if component.kind is not hang]
        down += [component for component in self._controller_view.down if component.kind is hang]
        return replace(failure_of(self._whole.topology, down), failed_routers=self._dead)

    def _tables(self) -> ForwardingTables:
        tables = self._compiler().tables(self._failure(), self._kinds).without_routers(self._dead)
        # Packets under way keep their tags and marks: later tables must cover these kinds of arrival, too.
        self._kinds.update(kind for kind in Arrival if getattr(tables, kind.value).size)
        return tables

    def _compiler(self) -> PlanCompiler:
        """Returns the compiler of the installed plan.

        The cache keeps only this compiler and that of the intact fabric's plan.
        """
        kept = (id(self._whole), id(self._installed))
        self._compilers = [entry for entry in self._compilers if id(entry[0]) in kept]
        for plan, compiler in self._compilers:
            if plan is self._installed:
                return compiler
        compiler = PlanCompiler(self._installed, candidates=self._loop is not None)
        self._compilers.append((self._installed, compiler))
        return self._compilers[-1][1]

    def _broken(self, network: State, tables: ForwardingTables) -> npt.NDArray[np.int8]:
        """Returns 1 for each output that cannot send, else 0: int8 array, (ports,)."""
        broken = np.zeros(len(network.inputs), np.int8)
        broken[link_ports(tables)[tables.links_up == 0]] = 1
        broken[np.isin(network.inputs[:, OWNER], sorted(self._dead))] = 1
        return broken


def _changed(
    before: Sequence[Component], components: Iterable[Component], *, removed: bool
) -> tuple[Component, ...]:
    """Returns `before` with the given components added or, if `removed`, taken away."""
    others = dict.fromkeys(components)
    return tuple(one for one in before if one not in others) + (() if removed else tuple(others))
