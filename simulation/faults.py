"""Faults of a simulation: links and switches that fail, repairs by the switches, and the controller's plans.

A fault takes effect at the begin of its cycle; elements that fail in one cycle fail together. From then on
switches use the groups of their plan with the ports that are up, as Open vSwitch does; a switch that hangs
leaves its links up, so that its neighbours notice nothing. After a delay, that of a controller which
notices, plans and installs, the switches have the plan made anew for what the controller knew at the fault,
and the ports toward a switch that hangs are down.
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
from simulation.arrays.forwarding import take_tables
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
from topology.faults import CONTROLLER, Element, ElementKind, Fault, link_element

# Is told every fault and every plan that takes effect.
Tell = Callable[[FaultOutcome | PlanOutcome], None]

_PLAN, _FAULT = range(2)  # the order of steps in one cycle


@dataclass(frozen=True)
class _Known:
    """Elements that are down and elements that are drained, as the controller knows them."""

    down: tuple[Element, ...] = ()
    drained: tuple[Element, ...] = ()


class SimulatedFaults:
    """Schedule of the faults of a simulation, and their consequences, step by step."""

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
        """Takes a schedule of faults.

        Args:
            plan: the plan of the whole fabric, which the switches hold at first.
            faults: the faults, their times in whole cycles.
            replan_cycles: cycles from a fault until the switches have the plan for it; None for never.
            routers: settings of routers and links.
            provers: prove the plans; those that have proven other plans of the fabric are faster.
            tell: is told every fault and every plan.
            loop: the adaptive loop that has to know of new tables; None where no law needs it.
        """
        self._whole, self._held = plan, plan
        self._held_for: tuple[Failure, Drain] = (NO_FAILURE, NO_DRAIN)
        self._loop = loop
        self._compilers = [(plan, PlanCompiler(plan, candidates=loop is not None))]
        self._provers = provers or Provers()
        self._replan_cycles = replan_cycles
        self._routers = routers
        self._tell = tell
        self._steps: list[tuple[int, int, int, Fault | _Known]] = [
            (round(fault.time_s), _FAULT, number, fault) for number, fault in enumerate(faults)
        ]
        heapq.heapify(self._steps)
        self._now = _Known()
        self._told = _Known()  # when the controller made the plan that the switches hold
        self._controller_works = True
        self._kinds: set[Arrival] = set()
        self._lost = 0
        self._counts: Int64 | None = None
        self._done: list[FaultOutcome] = []
        self._plans: list[PlanOutcome] = []

    @property
    def next_cycle(self) -> int | None:
        """The cycle of the next step; None after the last one."""
        return self._steps[0][0] if self._steps else None

    def act(self, network: State) -> State:
        """Takes the next step, and returns the network after it.

        Failures of one cycle are one step: tables are made once for all of them.

        Args:
            network: the network at the begin of the step's cycle.

        Raises:
            PlanError: a plan has rules that forwarding tables cannot express.
        """
        cycle, _, _, step = heapq.heappop(self._steps)
        self._settle(network.counts)
        if isinstance(step, Fault):
            self._take_fault(cycle, step)
            while not step.restores and (another := self._next_failure(cycle)):
                heapq.heappop(self._steps)
                self._take_fault(cycle, another)
        else:
            self._take_plan(cycle, step)
        tables = self._tables()
        network = take_tables(network, tables)
        if self._loop is not None:
            network = self._loop.take_tables(network, self._held, tables)
        break_outputs(network, self._broken(network, tables), self._routers.flow_control == "credit")
        return network

    def course(self) -> FaultCourse:
        """Returns the course of the faults until now."""
        if self._counts is not None:
            self._settle(self._counts)
        return FaultCourse(tuple(self._done), tuple(self._plans))

    def _settle(self, counts: Int64) -> None:
        """Counts the packets that were lost since the last step as losses of the last fault."""
        lost, self._lost = int(counts[LOST]) - self._lost, int(counts[LOST])
        self._counts = counts
        if lost and self._done:
            last = int(counts[LAST_LOSS]) // self._routers.ticks
            before = self._done[-1]
            self._done[-1] = replace(before, lost_packets=before.lost_packets + lost, last_loss_cycle=last)

    # ---- steps ----

    def _take_fault(self, cycle: int, fault: Fault) -> None:
        self._done.append(FaultOutcome(cycle, str(fault)))
        self._tell(self._done[-1])
        elements = self._single(fault.element)
        if fault.element == CONTROLLER:
            self._controller_works = fault.restores
            if not fault.restores:
                self._steps = [one for one in self._steps if one[1] == _FAULT]
                heapq.heapify(self._steps)
        elif fault.maintenance:
            drained = _changed(self._now.drained, [fault.element], removed=fault.restores)
            self._now = replace(self._now, drained=drained)
        else:
            self._now = replace(self._now, down=_changed(self._now.down, elements, removed=fault.restores))
        if self._replan_cycles is not None and self._controller_works:
            ready = cycle + self._replan_cycles
            self._steps = [one for one in self._steps if one[:2] != (ready, _PLAN)]
            self._steps.append((ready, _PLAN, 0, self._now))
            heapq.heapify(self._steps)

    def _next_failure(self, cycle: int) -> Fault | None:
        """Returns the next step if it is a failure in a cycle, else None."""
        if not self._steps or self._steps[0][0] != cycle:
            return None
        step = self._steps[0][-1]
        return step if isinstance(step, Fault) and not step.restores else None

    def _single(self, element: Element) -> list[Element]:
        """Returns an element, each of several parallel links by itself."""
        if element.kind is not ElementKind.LINK:
            return [element]
        return [link_element(link) for link in self._whole.topology.link_list if element.covers(link)]

    def _take_plan(self, cycle: int, known: _Known) -> None:
        """Gives the switches the plan for the failures that the controller knew, if that plan is sound."""
        topology = self._whole.topology
        names = ", ".join(element.location for element in known.down) or NO_FAILURE.name
        failure = replace(failure_of(topology, known.down), name=names)
        drain = drain_of(topology, known.drained)
        self._told = known
        if (failure, drain) == self._held_for:
            return
        try:
            plan = surviving_plan(self._whole, failure, drain, provers=self._provers)
        except NegativeResult:  # as in the controller: to stay with the plan before is better than to stop
            return
        rounds = update_rounds(self._held, plan, failure, drain)
        outcome = PlanOutcome(
            cycle=cycle,
            failed=failure.name,
            drained=drain.name,
            rules=sum(len(changes) for changed in rounds for changes in changed.values()),
            cut_off_pairs=len(cut_off_pairs(topology, failure)),
        )
        self._held, self._held_for = plan, (failure, drain)
        self._plans.append(outcome)
        self._tell(outcome)

    # ---- tables ----

    @property
    def _dead(self) -> frozenset[int]:
        """The routers that forward nothing."""
        return frozenset(e.routers[0] for e in self._now.down if e.kind is not ElementKind.LINK)

    def _failure(self) -> Failure:
        """Returns the ports that are down, and the routers that forward nothing."""
        hang = ElementKind.HANG
        down = [element for element in self._now.down if element.kind is not hang]
        down += [element for element in self._told.down if element.kind is hang]
        return replace(failure_of(self._whole.topology, down), failed_routers=self._dead)

    def _tables(self) -> ForwardingTables:
        tables = self._compiler().tables(self._failure(), self._kinds).without_routers(self._dead)
        self._kinds.update(kind for kind in Arrival if getattr(tables, kind.value).size)
        return tables

    def _compiler(self) -> PlanCompiler:
        """Returns the compiler of the plan that the switches hold; those of the whole plan and of it stay."""
        lasting = (id(self._whole), id(self._held))
        self._compilers = [entry for entry in self._compilers if id(entry[0]) in lasting]
        for plan, compiler in self._compilers:
            if plan is self._held:
                return compiler
        compiler = PlanCompiler(self._held, candidates=self._loop is not None)
        self._compilers.append((self._held, compiler))
        return self._compilers[-1][1]

    def _broken(self, network: State, tables: ForwardingTables) -> npt.NDArray[np.int8]:
        """Returns the outputs that send nothing: int8 array, (ports,)."""
        broken = np.zeros(len(network.inputs), np.int8)
        broken[link_ports(tables)[tables.links_up == 0]] = 1
        broken[np.isin(network.inputs[:, OWNER], sorted(self._dead))] = 1
        return broken


def _changed(before: Sequence[Element], elements: Iterable[Element], *, removed: bool) -> tuple[Element, ...]:
    """Returns elements with others added, or without them."""
    others = dict.fromkeys(elements)
    return tuple(one for one in before if one not in others) + (() if removed else tuple(others))
