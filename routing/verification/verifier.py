"""The proof of a route plan: every pair of hosts, every bucket that a group may choose, every given failure.

The proof runs the plan itself, rule by rule (`forwarding_states`), and knows nothing of the routing that made
it. It judges every state that packets can be in, once each, so that all sources share the work: packets
arrive from a state if every step from there leads to a state from which they arrive. A state that leads back
to itself is a loop. While nothing has failed, all destinations are judged at once (`hop_counts`); faults and
failures are judged destination by destination (`destination_proof`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np
import numpy.typing as npt

from routing.garbage_collection import without_garbage_collection
from routing.plan.model import RoutePlan
from routing.verification.destination_proof import DestinationProof
from routing.verification.forwarding_states import State, StateSpace
from routing.verification.hop_counts import Hops, hop_counts
from routing.verification.proof import Proof
from routing.verification.scenarios import FailedPorts, Scenario
from topology.addressing import Host
from topology.failures import NO_FAILURE, Failure


@without_garbage_collection()
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
        failures: the scenarios; under a failure, packets may take `plan.repair_hops` hops more.
        every_host: whether all hosts of a router are tried, or only its first one. The hosts of a router
            share all rules but those of their own ports.
        toward: the routers to whose hosts packets are tried; None for all.

    Returns:
        The proof; it is successful if `Proof.ok`.

    Raises:
        PlanError: a switch cannot hold its part of the plan, or rewrites the destinations of packets.
    """
    space = StateSpace(plan)
    hosts = [host for host in space.hosts if every_host or host.index == 0]
    destinations = [host for host in hosts if toward is None or host.router in toward]
    scenarios = [Scenario.of(plan, failure) for failure in failures]
    proof = Proof(scenarios=len(scenarios))
    for scenario in scenarios:
        down = scenario.failure.failed_routers
        sources, reached = (sum(host.router not in down for host in some) for some in (hosts, destinations))
        proof.pairs = max(proof.pairs, reached * (sources - 1))
    failed = FailedPorts(scenarios)
    starts = [(source, space.initial_state(source)) for source in hosts]
    hops = hop_counts(space, [state for _, state in starts])
    sound = _SoundPairs(plan, space, starts, hops)
    for destination in destinations:
        touched = scenarios
        part = None
        if sound.all_toward(destination):
            if failed.any_failed:
                part = _destination_proof(plan, space, starts, destination, hops)
            touched = failed.touched(part.ports() if part else ())
            untouched = len(scenarios) - len(touched)
            proof.delivered += sound.sources_toward(destination) * untouched
            proof.max_hops = max(proof.max_hops, sound.max_hops(destination) if untouched else 0)
        for scenario in touched:
            if destination.router not in scenario.failure.failed_routers:
                part = part or _destination_proof(plan, space, starts, destination, hops)
                part.add_to(proof, scenario)
    return proof


class _SoundPairs:
    """The pairs whose packets arrive within the promised hops while nothing has failed."""

    def __init__(
        self, plan: RoutePlan, space: StateSpace, starts: list[tuple[Host, State]], hops: Hops
    ) -> None:
        self._plan = plan
        self._space = space
        self._numbers = np.array([space.host_number(source) for source, _ in starts], np.intp)
        self._routers = np.array([source.router for source, _ in starts], np.intp)
        self._hops: Hops = hops[[state.number for _, state in starts]]

    def sources_toward(self, destination: Host) -> int:
        """Returns the number of sources other than the destination."""
        return int((self._numbers != self._space.host_number(destination)).sum())

    def max_hops(self, destination: Host) -> int:
        """Returns the most hops of packets from any other source to a destination."""
        return int(self._toward(destination).max(initial=0))

    def all_toward(self, destination: Host) -> bool:
        """Returns whether packets from all other sources arrive within the promised hops."""
        others = self._numbers != self._space.host_number(destination)
        bounds = _bounds_toward(self._plan, destination.router)[self._routers[others]]
        return bool((self._toward(destination) <= bounds).all())

    def _toward(self, destination: Host) -> Hops:
        number = self._space.host_number(destination)
        toward: Hops = self._hops[self._numbers != number, number]
        return toward


def _bounds_toward(plan: RoutePlan, router: int) -> npt.NDArray[np.int16]:
    """Returns, for each router, the promised hops to another one while nothing has failed."""
    return plan.hop_bound(plan.topology.distances(np.arange(plan.topology.routers), router))


def _destination_proof(
    plan: RoutePlan, space: StateSpace, starts: list[tuple[Host, State]], destination: Host, hops: Hops
) -> DestinationProof:
    column = hops[:, space.host_number(destination)]
    bounds: list[int] = _bounds_toward(plan, destination.router).tolist()
    return DestinationProof(space, starts, destination, column, bounds, plan.repair_hops)
