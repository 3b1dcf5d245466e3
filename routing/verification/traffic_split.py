"""Where a plan sends packets, as shares: the links that each pair's packets take, and how often.

The plan itself is run, as in the proof; where a group picks among buckets each gets its share. So what is
computed from this (the fluid model) is what the rules say, not what a routing was meant to do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from routing.plan.model import RoutePlan
from routing.verification.forwarding_states import State, StateSpace, Steps
from topology.addressing import Host
from topology.failures import NO_FAILURE, Failure


@dataclass(frozen=True)
class TrafficSplit:
    """The states of packets to every destination, and the steps between them.

    A directed link has the number `adjacency.starts[router] + port - 1` of the port that it leaves by.

    Attributes:
        states: how many states there are.
        starts: int64, routers x routers: the state in which packets of a (source, destination) begin; -1 on
            the diagonal and where either of the two has no hosts.
        origins: int64, one per step between routers: the state that it leaves.
        targets: int64: the state that it leads to.
        links: int64: the directed link that it takes.
        shares: float64: the share of its origin's packets that take it.
        delivered: float64, one per state: the share of its packets that are delivered there.
    """

    states: int
    starts: npt.NDArray[np.int64]
    origins: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int64]
    links: npt.NDArray[np.int64]
    shares: npt.NDArray[np.float64]
    delivered: npt.NDArray[np.float64]


def traffic_split(plan: RoutePlan) -> TrafficSplit:
    """Returns where the plan sends packets between the first hosts of every two routers.

    Raises:
        PlanError: the plan is no valid content for its switches.
    """
    collected = _Collected(plan)
    first_hosts = tuple(host for host in collected.space.hosts if host.index == 0)
    for destination in first_hosts:
        collected.add_destination(first_hosts, destination)
    return collected.result()


class _Collected:
    def __init__(self, plan: RoutePlan) -> None:
        self.space = StateSpace(plan)
        routers = plan.topology.routers
        self._link_starts = plan.topology.adjacency.starts.tolist()
        self._starts = np.full((routers, routers), -1, np.int64)
        self._steps: list[tuple[int, int, int]] = []
        self._shares: list[float] = []
        self._delivered: list[float] = []

    def add_destination(self, sources: tuple[Host, ...], destination: Host) -> None:
        numbers: dict[int, int] = {}
        steps = self.space.toward(destination)
        for source in sources:
            if source != destination:
                start = self._explore(self.space.start(source), destination, steps, numbers)
                self._starts[source.router, destination.router] = start

    def _explore(
        self,
        state: State,
        destination: Host,
        steps: Callable[[State, Failure], Steps],
        numbers: dict[int, int],
    ) -> int:
        if state.number in numbers:
            return numbers[state.number]
        number = numbers[state.number] = len(self._delivered)
        self._delivered.append(0.0)
        for step in steps(state, NO_FAILURE).steps:
            if not step.share:  # what a controller may choose, but has not chosen
                continue
            if step.target and step.hop:
                router, port = step.hop
                link = self._link_starts[router] + port - 1
                target = self._explore(step.target, destination, steps, numbers)
                self._steps.append((number, target, link))
                self._shares.append(step.share)
            elif step.fault is None and step.hop == self.space.delivery(destination):
                self._delivered[number] += step.share
        return number

    def result(self) -> TrafficSplit:
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
