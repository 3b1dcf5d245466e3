"""The proof of a route plan: every pair of hosts, every bucket that a group may select, every given failure.

The proof runs the plan itself, rule by rule (`forwarding_states`), and does not depend on the routing that
built it. It judges every state that packets can be in, once each, so that all sources share the work: packets
arrive from a state if every step from there leads to a state from which they arrive. A state that leads back
to itself is a loop. Without failures, all destinations are judged at once (`hop_counts`); faults and failures
are judged destination by destination (`destination_proof`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from routing.garbage_collection import without_garbage_collection
from routing.plan.model import RoutePlan
from routing.verification.destination_proof import DestinationProof, FailedPorts, FailureProof, Scenario
from routing.verification.forwarding_states import StateSpace
from routing.verification.hop_counts import Hops, hop_counts
from routing.verification.proof import Proof
from topology.addressing import Host
from topology.failures import NO_FAILURE, Failure


def prove(
    plan: RoutePlan,
    failures: Iterable[Failure] = (NO_FAILURE,),
    *,
    every_host: bool = True,
    toward: Collection[int] | None = None,
) -> Proof:
    """Proves a plan for every ordered pair of hosts under each of some failures.

    Args:
        plan: the plan.
        failures: the scenarios; under a failure, packets may take `plan.repair_hops` additional hops.
        every_host: whether to try all hosts of a router, or only its first one. The hosts of a router share
            all rules except those of their own ports.
        toward: the destination routers to try; None for all.

    Returns:
        The proof; it is successful if `Proof.ok`.

    Raises:
        PlanError: a switch cannot install its part of the plan, or rewrites the destinations of packets.
    """
    return Prover().prove(plan, failures, every_host=every_host, toward=toward)


class Prover:
    """Proves several plans of one fabric; results for switches that do not change are reused."""

    def __init__(self) -> None:
        """Starts without results."""
        self._space: StateSpace | None = None

    def space(self, plan: RoutePlan) -> StateSpace:
        """Returns the states and steps of a plan, including those computed by its proof.

        Args:
            plan: the plan.

        Raises:
            PlanError: a switch cannot install its part of the plan, or rewrites the destinations of packets.
        """
        space, self._space = self._space, None
        if space is None or not space.take(plan):
            space = StateSpace(plan)
        self._space = space
        return space

    @without_garbage_collection()
    def prove(
        self,
        plan: RoutePlan,
        failures: Iterable[Failure] = (NO_FAILURE,),
        *,
        every_host: bool = True,
        toward: Collection[int] | None = None,
    ) -> Proof:
        """Proves a plan like the function `prove`.

        Args:
            plan: the plan.
            failures: the scenarios; under a failure, packets may take `plan.repair_hops` additional hops.
            every_host: whether to try all hosts of a router, or only its first one.
            toward: the destination routers to try; None for all.

        Returns:
            The proof, equal to that of a new prover.

        Raises:
            PlanError: a switch cannot install its part of the plan, or rewrites the destinations of packets.
        """
        space = self.space(plan)
        self._space = None  # if the proof raises an error, its results are discarded
        work = _Work(plan, space, every_host)
        scenarios = [Scenario.of(plan, failure) for failure in failures]
        proof = Proof(scenarios=len(scenarios))
        destinations = [h for h in work.hosts if toward is None or h.router in toward]
        for scenario in scenarios:
            down = scenario.failure.failed_routers
            counts = (sum(h.router not in down for h in some) for some in (work.hosts, destinations))
            sources, reached = counts
            proof.pairs = max(proof.pairs, reached * (sources - 1))
        if len(scenarios) == 1:
            work.prove_one(proof, scenarios[0], destinations)
        else:
            work.prove_several(proof, scenarios, destinations)
        self._space = space
        return proof


class _Work:
    """The proof of one plan: its states, and the hosts whose packets are tried."""

    def __init__(self, plan: RoutePlan, space: StateSpace, every_host: bool) -> None:
        self.hosts = [host for host in space.hosts if every_host or host.index == 0]
        self._plan = plan
        self._space = space
        self._starts = [(source, space.initial_state(source)) for source in self.hosts]
        self._states = [state for _, state in self._starts]
        self._rows = np.array([state.number for state in self._states], np.intp)
        self._routers = np.array([source.router for source in self.hosts], np.intp)
        self._numbers = np.array([space.host_number(source) for source in self.hosts], np.intp)
        self._everyone = np.arange(plan.topology.routers)

    def prove_one(self, proof: Proof, scenario: Scenario, destinations: Iterable[Host]) -> None:
        """Proves all pairs of hosts in one scenario.

        The pairs with one destination are proven together if all their packets arrive within the promised
        hops. Otherwise they are judged pair by pair, to find the faults.

        Args:
            proof: the proof that counts the pairs.
            scenario: the failure, or no failure.
            destinations: the destination hosts.
        """
        failure = scenario.failure
        hops = hop_counts(self._space, self._states, failure)[self._rows]
        components = np.array(scenario.components)[self._routers]
        working = ~np.isin(self._routers, [*failure.failed_routers])
        slack = self._plan.repair_hops if failure.any_failed else 0
        for destination in destinations:
            if destination.router in failure.failed_routers:
                continue
            sources = working & (self._numbers != self._space.host_number(destination))
            connected = sources & (components == scenario.components[destination.router])
            own_hops = hops[connected, self._space.host_number(destination)]
            if (own_hops <= self._bounds(destination)[self._routers[connected]] + slack).all():
                proof.delivered += len(own_hops)
                proof.cut_off += int(sources.sum()) - len(own_hops)
                proof.max_hops = max(proof.max_hops, int(own_hops.max(initial=0)))
            else:
                self._destination_proof(destination).add_all(proof, scenario)

    def prove_several(
        self, proof: Proof, scenarios: Sequence[Scenario], destinations: Iterable[Host]
    ) -> None:
        """Proves all pairs of hosts in several scenarios.

        For each destination, one proof without failures covers all scenarios that cannot affect its packets.

        Args:
            proof: the proof that counts the pairs.
            scenarios: the failures, including no failure if that is to be proven.
            destinations: the destination hosts.
        """
        failed = FailedPorts(scenarios)
        hops = hop_counts(self._space, self._states)
        for destination in destinations:
            number = self._space.host_number(destination)
            others = np.flatnonzero(self._numbers != number)
            column = hops[:, number]
            own_hops = column[self._rows[others]]
            if (own_hops > self._bounds(destination)[self._routers[others]]).any():
                walk = self._destination_proof(destination)
                for scenario in scenarios:
                    if destination.router not in scenario.failure.failed_routers:
                        walk.add_all(proof, scenario)
                continue
            part = self._failure_proof(destination, column)
            touched = failed.touched(part.ports())
            if untouched := len(scenarios) - len(touched):
                proof.delivered += len(others) * untouched
                proof.max_hops = max(proof.max_hops, int(own_hops.max(initial=0)))
            for scenario in touched:
                if destination.router in scenario.failure.failed_routers:
                    continue
                if scenario.split:
                    part.add_all(proof, scenario)
                else:
                    part.add_affected(proof, scenario)

    def _bounds(self, destination: Host) -> npt.NDArray[np.int16]:
        """Returns, for each router, the plan's promised maximum of hops to a destination without failures."""
        return self._plan.hop_bound(self._plan.topology.distances(self._everyone, destination.router))

    def _destination_proof(self, destination: Host) -> DestinationProof:
        bounds = self._bounds(destination).tolist()
        return DestinationProof(self._space, self._starts, destination, bounds, self._plan.repair_hops)

    def _failure_proof(self, destination: Host, hops: Hops) -> FailureProof:
        bounds = self._bounds(destination).tolist()
        return FailureProof(self._space, self._starts, destination, bounds, self._plan.repair_hops, hops)
