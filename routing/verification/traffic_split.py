"""The split of traffic under a plan: the links that each pair's packets take, with their shares.

As in the proof, the plan itself is run, and each bucket of a select group gets its share of the packets. A
prediction from this split (the fluid model) is therefore about the plan's rules, not the routing's
intentions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from routing.garbage_collection import without_garbage_collection
from routing.plan.model import RoutePlan
from routing.verification.forwarding_states import State, StateSpace, Steps
from routing.verification.verifier import Prover
from topology.addressing import Host
from topology.failures import NO_FAILURE, Failure


@dataclass(frozen=True)
class TrafficSplit:
    """The states of packets to every destination, and the steps between them.

    Directed links are numbered as in `topology.base`. Pairs are ordered pairs of routers that have hosts;
    each router is represented by its first host.

    Attributes:
        states: the number of states.
        starts: int64, routers x routers: the initial state of packets of each (source, destination); -1 on
            the diagonal and for routers without hosts.
        origins: int64, one per step between routers: the state before the step.
        targets: int64, one per step: the state after the step.
        links: int64, one per step: the directed link.
        shares: float64, one per step: the share of the packets in the origin state that take the step.
        delivered: float64, one per state: the share of its packets that are delivered there.
    """

    states: int
    starts: npt.NDArray[np.int64]
    origins: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int64]
    links: npt.NDArray[np.int64]
    shares: npt.NDArray[np.float64]
    delivered: npt.NDArray[np.float64]


@without_garbage_collection()
def traffic_split(plan: RoutePlan, prover: Prover | None = None) -> TrafficSplit:
    """Returns the split of a plan's traffic without failures.

    Args:
        plan: the plan; adaptive groups use their initial buckets.
        prover: a prover that has proven the plan, so that its steps are known.

    Returns:
        The states and steps of all pairs of routers that have hosts.

    Raises:
        PlanError: a switch cannot install its part of the plan, or rewrites the destinations of packets.
    """
    collector = _Collector(plan, (prover or Prover()).space(plan))
    first_hosts = tuple(host for host in collector.space.hosts if host.index == 0)
    for destination in first_hosts:
        collector.add_destination(first_hosts, destination)
    return collector.result()


class _Collector:
    """Collects the states that packets with a positive share reach, destination by destination."""

    def __init__(self, plan: RoutePlan, space: StateSpace) -> None:
        self.space = space
        routers = plan.topology.routers
        self._link_numbers = plan.topology.link_numbers
        self._starts = np.full((routers, routers), -1, np.int64)
        self._steps: list[tuple[int, int, int]] = []
        self._shares: list[float] = []
        self._delivered: list[float] = []

    def add_destination(self, sources: tuple[Host, ...], destination: Host) -> None:
        """Adds the states and steps of packets to one host.

        Args:
            sources: the first hosts of all routers that have hosts.
            destination: one of them.
        """
        numbers: dict[int, int] = {}
        steps = self.space.steps_toward(destination)
        for source in sources:
            if source != destination:
                start = self._explore(self.space.initial_state(source), destination, steps, numbers)
                self._starts[source.router, destination.router] = start

    def _explore(
        self,
        state: State,
        destination: Host,
        steps: Callable[[State, Failure], Steps],
        numbers: dict[int, int],
    ) -> int:
        """Adds a state and all that follow it; returns its number in the result."""
        if state.number in numbers:
            return numbers[state.number]
        number = numbers[state.number] = len(self._delivered)
        self._delivered.append(0.0)
        for step in steps(state, NO_FAILURE).steps:
            if not step.share:  # only a later adaptation may choose it
                continue
            if step.target and step.hop:
                target = self._explore(step.target, destination, steps, numbers)
                self._steps.append((number, target, self._link_numbers[step.hop]))
                self._shares.append(step.share)
            elif step.fault is None and step.hop == self.space.delivery_port(destination):
                self._delivered[number] += step.share
        return number

    def result(self) -> TrafficSplit:
        """Returns everything that was added."""
        steps = np.array(self._steps, np.int64).reshape(-1, 3)
        return TrafficSplit(
            states=len(self._delivered),
            starts=self._starts,
            origins=steps[:, 0],
            targets=steps[:, 1],
            links=steps[:, 2],
            shares=np.array(self._shares),
            delivered=np.array(self._delivered),
        )
