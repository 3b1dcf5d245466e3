"""The proof of a route plan: every pair of hosts, every bucket that a group may choose, every given failure.

The proof runs the plan itself, rule by rule (`forwarding_states`), and knows nothing of the routing that made
it. For one destination it judges every state that packets can be in, once each, so that all sources share the
work: packets arrive from a state if every step from there leads to a state from which they arrive. A state
that leads back to itself is a loop.

A failure changes the steps of those states only whose switches asked for the state of a failed port. So the
fabric without failures is judged once, and for every failure only these states and their predecessors are
judged again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import cache, cached_property

import numpy as np

from routing.garbage_collection import without_garbage_collection
from routing.plan.model import RoutePlan
from routing.verification.forwarding_states import State, StateSpace
from routing.verification.hop_counts import FAULTY, Hops, hop_counts
from topology.addressing import Host, interface_name, switch_name
from topology.failures import NO_FAILURE, Failure
from topology.shortest_paths import connected_components

MAX_LISTED_FAULTS = 20


@dataclass(repr=False)
class Proof:
    """The result of proving a plan; pairs are ordered pairs of different hosts.

    Attributes:
        pairs: number of pairs whose routers work, in the scenario with the most.
        scenarios: number of failures tried; no failure counts as one.
        delivered: pairs, summed over scenarios, whose packets arrive whatever the groups choose.
        cut_off: pairs, summed over scenarios, that the failure leaves without any path, which is not a fault
            of the plan.
        max_hops: links between routers on the longest path of any packet.
        loops: pairs, summed over scenarios, some choice for which leads in a circle.
        blackholes: the same for choices that drop the packet.
        misdelivered: the same for choices that reach another host, or the right one with a tag.
        over_bound: the same for choices with more hops than the plan promises.
        miscounted: the same for choices after which the TTL does not tell the number of hops.
        undelivered: (source, destination) routers of pairs with a loop, a blackhole or a misdelivery.
        faults: the first `MAX_LISTED_FAULTS` faults as sentences.
    """

    pairs: int = 0
    scenarios: int = 0
    delivered: int = 0
    cut_off: int = 0
    max_hops: int = 0
    loops: int = 0
    blackholes: int = 0
    misdelivered: int = 0
    over_bound: int = 0
    miscounted: int = 0
    undelivered: set[tuple[int, int]] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether all packets arrive within the promised hops, except those of pairs without a path."""
        return not (self.loops or self.blackholes or self.misdelivered or self.over_bound or self.miscounted)

    def __repr__(self) -> str:
        """Returns the verdict with the counts that matter, and those of faults where there are any."""
        always = ("pairs", "scenarios", "delivered", "max_hops")
        faulty = ("cut_off", "loops", "blackholes", "misdelivered", "over_bound", "miscounted")
        names = [*always, *(name for name in faulty if getattr(self, name))]
        counts = ", ".join(f"{name}={getattr(self, name)}" for name in names)
        return f"Proof({'ok' if self.ok else 'FAILED'}, {counts})"


@dataclass(frozen=True, slots=True)
class _Verdict:
    """The fate of packets in one state: the most hops to come, and the possible faults by kind and place."""

    hops: int
    faults: frozenset[tuple[str, str]] = frozenset()


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
    scenarios = [(failure, connected_components(plan.topology, failure)) for failure in failures]
    proof = Proof(scenarios=len(scenarios))
    for failure, _ in scenarios:
        sources, reached = (
            sum(host.router not in failure.failed_routers for host in some) for some in (hosts, destinations)
        )
        proof.pairs = max(proof.pairs, reached * (sources - 1))
    starts = [(source, space.initial_state(source)) for source in hosts]
    hops = hop_counts(space, [state for _, state in starts])
    sound = _SoundPairs(plan, space, starts, hops)
    for destination in destinations:
        pending = scenarios
        if sound.all_toward(destination):
            pending = [one for one in scenarios if one[0].any_failed]
            proof.delivered += sound.sources_toward(destination) * (len(scenarios) - len(pending))
            proof.max_hops = max(proof.max_hops, sound.max_hops(destination))
        if pending:
            column = hops[:, space.host_number(destination)]
            bounds = sound.bounds_toward(destination.router)
            part = _DestinationProof(space, starts, destination, column, bounds, plan.repair_hops)
            if any(failure.any_failed for failure, _ in pending):
                part.index_dependencies()
            for failure, components in pending:
                if destination.router not in failure.failed_routers:
                    part.add_to(proof, failure, components)
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
        self._everyone = np.arange(plan.topology.routers)

    def bounds_toward(self, router: int) -> list[int]:
        """Returns, for each router, the promised hops to another one."""
        bounds = self._plan.hop_bound(self._plan.topology.distances(self._everyone, router))
        return list(bounds.tolist())

    def sources_toward(self, destination: Host) -> int:
        """Returns the number of sources other than the destination."""
        return int((self._numbers != self._space.host_number(destination)).sum())

    def max_hops(self, destination: Host) -> int:
        """Returns the most hops of packets from any other source to a destination."""
        return int(self._toward(destination).max(initial=0))

    def all_toward(self, destination: Host) -> bool:
        """Returns whether packets from all other sources arrive within the promised hops."""
        others = self._numbers != self._space.host_number(destination)
        bounds = np.array(self.bounds_toward(destination.router))[self._routers[others]]
        return bool((self._toward(destination) <= bounds).all())

    def _toward(self, destination: Host) -> Hops:
        number = self._space.host_number(destination)
        toward: Hops = self._hops[self._numbers != number, number]
        return toward


class _DestinationProof:
    """The proof for packets to one host; states are named by their numbers."""

    def __init__(
        self,
        space: StateSpace,
        starts: list[tuple[Host, State]],
        destination: Host,
        hops: Hops,
        bounds: list[int],
        repair_hops: int,
    ) -> None:
        """Judges all states while nothing has failed.

        Args:
            space: the states of the plan.
            starts: every source and the initial state of its packets.
            destination: the host that packets go to.
            hops: for each state, the most hops to come while nothing has failed; FAULTY if there is a fault.
            bounds: for each router, the promised hops from there.
            repair_hops: promised hops beyond those under a failure.
        """
        self._repair_hops = repair_hops
        self._space = space
        self._destination = destination
        self.delivery = space.delivery_port(destination)
        self.steps = space.steps_toward(destination)
        self._bounds = bounds
        self._sources = [(source, state) for source, state in starts if source != destination]
        self._hops: list[int] = hops.tolist()
        found = [self._hops[state.number] for _, state in self._sources]
        self._max_hops = max(found, default=0)
        self._all_sound = self._max_hops < FAULTY and all(
            hops <= bounds[source.router] for (source, _), hops in zip(self._sources, found, strict=True)
        )
        self._predecessors: dict[int, list[int]] = {}
        self._states_by_port: dict[tuple[int, int], list[int]] = {}
        self._sources_by_state: dict[int, list[int]] = {}

    @cached_property
    def _unfailed(self) -> _Judge:
        """The judge of states while nothing has failed, for those whose faults `hops` does not tell."""
        return _Judge(self, NO_FAILURE, frozenset(), lambda _: None)

    def baseline(self, number: int) -> _Verdict | None:
        """Returns the verdict on a state while nothing has failed; None for one that was not met before."""
        if number >= len(self._hops):
            return None
        hops = self._hops[number]
        return _sound(hops) if hops < FAULTY else self._unfailed.verdict(self._space.states[number])

    def index_dependencies(self) -> None:
        """Indexes the predecessors of states, and the states whose steps depend on each port."""
        seen = {state.number for _, state in self._sources}
        pending = list(seen)
        while pending:
            number = pending.pop()
            state = self._space.states[number]
            steps, ports = self.steps(state, NO_FAILURE)
            for port in ports:
                self._states_by_port.setdefault((state.router, port), []).append(number)
            for step in steps:
                if step.target:
                    target = step.target.number
                    self._predecessors.setdefault(target, []).append(number)
                    if target not in seen:
                        seen.add(target)
                        pending.append(target)
        for index, (_, state) in enumerate(self._sources):
            self._sources_by_state.setdefault(state.number, []).append(index)

    def add_to(self, proof: Proof, failure: Failure, components: list[int]) -> None:
        """Adds the pairs of all sources to a proof.

        Args:
            proof: counts the pairs.
            failure: the scenario.
            components: for each router, the number of its connected component under the failure.
        """
        affected = self._with_predecessors(
            number for end in failure.failed_ends for number in self._states_by_port.get(end, ())
        )
        affected_sources = {index for number in affected for index in self._sources_by_state.get(number, ())}
        if not affected_sources and self._all_sound and not failure.failed_routers:
            proof.delivered += len(self._sources)
            proof.max_hops = max(proof.max_hops, self._max_hops)
            return
        judge = _Judge(self, failure, affected, self.baseline)
        slack = self._repair_hops if failure.any_failed else 0
        for source, state in self._sources:
            if source.router in failure.failed_routers:
                continue
            verdict = judge.verdict(state)
            if components[source.router] != components[self._destination.router]:
                proof.cut_off += 1
                continue
            bound = self._bounds[source.router] + slack
            _add_pair(proof, failure, source, self._destination, verdict, bound)

    def _with_predecessors(self, numbers: Iterable[int]) -> frozenset[int]:
        """Returns some states and all from which packets may come to them."""
        reached = set(numbers)
        pending = list(reached)
        while pending:
            for number in self._predecessors.get(pending.pop(), ()):
                if number not in reached:
                    reached.add(number)
                    pending.append(number)
        return frozenset(reached)


class _Judge:
    """Judges states under one failure, each once; states that it does not affect keep their verdicts."""

    def __init__(
        self,
        part: _DestinationProof,
        failure: Failure,
        affected: frozenset[int],
        baseline: Callable[[int], _Verdict | None],
    ) -> None:
        self._steps = part.steps
        self._delivery = part.delivery
        self._failure = failure
        self._affected = affected
        self._baseline = baseline
        self.verdicts: dict[int, _Verdict] = {}

    def verdict(self, state: State) -> _Verdict:
        """Returns the fate of packets in a state."""
        number = state.number
        known = self.verdicts.get(number)
        if known is None and number not in self._affected:
            known = self._baseline(number)
        if known is not None:
            if known is _PENDING:  # the packet came back to a state that it was in
                return _Verdict(0, frozenset({("loop", f"at {switch_name(state.router)}")}))
            return known
        self.verdicts[number] = _PENDING
        hops = 0
        faults: frozenset[tuple[str, str]] = frozenset()
        for step in self._steps(state, self._failure).steps:
            if step.fault:
                faults |= {step.fault}
            if step.target:
                beyond = self.verdict(step.target)
                hops = max(hops, beyond.hops + 1)
                if beyond.faults:
                    faults |= beyond.faults
            elif step.hop and step.hop != self._delivery:
                faults |= {("misdelivered", f"out of {interface_name(*step.hop)}")}
        verdict = _Verdict(hops, faults) if faults else _sound(hops)
        self.verdicts[number] = verdict
        return verdict


@cache
def _sound(hops: int) -> _Verdict:
    return _Verdict(hops)


_PENDING = _Verdict(-1)


def _add_pair(
    proof: Proof, failure: Failure, source: Host, destination: Host, verdict: _Verdict, bound: int
) -> None:
    faults = verdict.faults
    if verdict.hops > bound:
        faults |= {("over bound", f"{verdict.hops} hops, promised {bound}")}
    kinds = {kind for kind, _ in faults}
    proof.loops += "loop" in kinds
    proof.blackholes += "blackhole" in kinds
    proof.misdelivered += "misdelivered" in kinds
    proof.miscounted += "miscounted" in kinds
    proof.over_bound += "over bound" in kinds
    if kinds & {"loop", "blackhole", "misdelivered"}:
        proof.undelivered.add((source.router, destination.router))
    else:
        proof.delivered += 1
    proof.max_hops = max(proof.max_hops, verdict.hops)
    for kind, place in sorted(faults):
        if len(proof.faults) < MAX_LISTED_FAULTS:
            scenario = f" with {failure.name} down" if failure.any_failed else ""
            proof.faults.append(f"{source.name} to {destination.name}{scenario}: {kind} {place}")
