"""The failures under which a plan is proven, and the ports by which they matter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from routing.plan.model import RoutePlan
from topology.failures import Failure
from topology.shortest_paths import connected_components


class Scenario(NamedTuple):
    """A failure and what is left.

    Attributes:
        failure: what has failed.
        components: for each router, the number of its connected component.
        split: whether working routers are in several components.
    """

    failure: Failure
    components: list[int]
    split: bool

    @classmethod
    def of(cls, plan: RoutePlan, failure: Failure) -> Scenario:
        """Returns the scenario in which a plan's fabric has a failure.

        Args:
            plan: the plan; its topology is the whole graph.
            failure: what has failed.
        """
        components = connected_components(plan.topology, failure)
        working = {c for router, c in enumerate(components) if router not in failure.failed_routers}
        return cls(failure, components, len(working) > 1)


class FailedPorts:
    """The scenarios by the ports that have failed in them."""

    def __init__(self, scenarios: Sequence[Scenario]) -> None:
        self._scenarios = scenarios
        # Those in which even packets that meet no dead port may fare otherwise.
        self._always = {
            number for number, one in enumerate(scenarios) if one.split or one.failure.failed_routers
        }
        self._by_port: dict[tuple[int, int], list[int]] = {}
        for number, scenario in enumerate(scenarios):
            for end in scenario.failure.failed_ends:
                self._by_port.setdefault(end, []).append(number)

    def touched(self, ports: Iterable[tuple[int, int]]) -> list[Scenario]:
        """Returns the scenarios that may matter to packets that meet some ports, in their order."""
        numbers = self._always.union(*(self._by_port.get(port, ()) for port in ports))
        return [self._scenarios[number] for number in sorted(numbers)]
