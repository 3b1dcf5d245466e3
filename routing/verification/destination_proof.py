"""The proof for packets to one host: every state is judged, and judged again if a failure affects it.

A failure changes only the steps of states in which the switch would look at a failed port. So if a plan
is sound without failures, only these states and their predecessors are judged again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from typing import NamedTuple

from routing.plan.model import RoutePlan
from routing.verification.forwarding_states import State, StateSpace
from routing.verification.hop_counts import Hops
from routing.verification.proof import MAX_LISTED_FAULTS, Proof
from topology.addressing import Host, interface_name, switch_name
from topology.failures import NO_FAILURE, Failure
from topology.shortest_paths import connected_components


class Scenario(NamedTuple):
    """A failure, and the connected components that remain.

    Attributes:
        failure: the failure.
        components: for each router, the number of its connected component.
        split: whether working routers are in several components.
    """

    failure: Failure
    components: list[int]
    split: bool

    @classmethod
    def of(cls, plan: RoutePlan, failure: Failure) -> Scenario:
        """Returns the scenario of a failure in a plan's fabric.

        Args:
            plan: the plan; its topology is the whole graph.
            failure: the failure.
        """
        components = connected_components(plan.topology, failure)
        working = {c for router, c in enumerate(components) if router not in failure.failed_routers}
        return cls(failure, components, len(working) > 1)


class FailedPorts:
    """Finds the scenarios in which given ports have failed."""

    def __init__(self, scenarios: Sequence[Scenario]) -> None:
        self._scenarios = scenarios
        # With a failed router or a split fabric, even packets on paths without a dead port may be affected.
        self._always = {
            number for number, one in enumerate(scenarios) if one.split or one.failure.failed_routers
        }
        self._by_port: dict[tuple[int, int], list[int]] = {}
        for number, scenario in enumerate(scenarios):
            for end in scenario.failure.failed_ends:
                self._by_port.setdefault(end, []).append(number)

    def touched(self, ports: Iterable[tuple[int, int]]) -> list[Scenario]:
        """Returns, in order, the scenarios that may affect packets whose paths depend on some ports.

        Args:
            ports: (router, port) pairs.
        """
        numbers = self._always.union(*(self._by_port.get(port, ()) for port in ports))
        return [self._scenarios[number] for number in sorted(numbers)]


@dataclass(frozen=True, slots=True)
class _Verdict:
    """The fate of packets in one state: the maximum remaining hops, and the possible faults (kind, place)."""

    hops: int
    faults: frozenset[tuple[str, str]] = frozenset()


class DestinationProof:
    """The proof for packets to one host; states are identified by number."""

    def __init__(
        self,
        space: StateSpace,
        starts: list[tuple[Host, State]],
        destination: Host,
        bounds: list[int],
        repair_hops: int,
    ) -> None:
        """Prepares the proof.

        Args:
            space: the states of the plan.
            starts: (source, initial state of its packets) for every source.
            destination: the host that packets go to.
            bounds: for each router, the promised maximum of hops from there.
            repair_hops: the promised maximum of additional hops under a failure.
        """
        self._repair_hops = repair_hops
        self._space = space
        self._destination = destination
        self.delivery = space.delivery_port(destination)
        self.steps = space.steps_toward(destination)
        self._bounds = bounds
        self._sources = [(source, state) for source, state in starts if source != destination]

    def add_all(self, proof: Proof, scenario: Scenario) -> None:
        """Adds the pairs of all sources to a proof, judging every state.

        Args:
            proof: the proof that counts the pairs.
            scenario: the failure.
        """
        judge = _Judge(self, scenario.failure, lambda _: None)
        self._add(proof, scenario, judge, range(len(self._sources)))

    def _add(self, proof: Proof, scenario: Scenario, judge: _Judge, sources: Iterable[int]) -> None:
        failure, components = scenario.failure, scenario.components
        slack = self._repair_hops if failure.any_failed else 0
        for index in sources:
            source, state = self._sources[index]
            if source.router in failure.failed_routers:
                continue
            if components[source.router] != components[self._destination.router]:
                proof.cut_off += 1
                continue
            bound = self._bounds[source.router] + slack
            _add_pair(proof, failure, source, self._destination, judge.verdict(state), bound)


class FailureProof(DestinationProof):
    """The proof under failures, for a destination whose packets all arrive in time without failures."""

    def __init__(
        self,
        space: StateSpace,
        starts: list[tuple[Host, State]],
        destination: Host,
        bounds: list[int],
        repair_hops: int,
        hops: Hops,
    ) -> None:
        """Indexes the states by the failures that affect them.

        Args:
            space: the states of the plan.
            starts: (source, initial state of its packets) for every source.
            destination: the host that packets go to.
            bounds: for each router, the promised maximum of hops from there.
            repair_hops: the promised maximum of additional hops under a failure.
            hops: for each state, the maximum remaining hops without failures.
        """
        super().__init__(space, starts, destination, bounds, repair_hops)
        self._hops: list[int] = hops.tolist()
        self._predecessors: dict[int, list[int]] = {}
        self._states_by_port: dict[tuple[int, int], list[int]] = {}
        self._sources_by_state: dict[int, list[int]] = {}
        self._reached: set[int] = set()  # states that packets reach without failures
        self._index_dependencies()

    def ports(self) -> Collection[tuple[int, int]]:
        """Returns the (router, port) pairs whose failure may change the paths that packets normally take."""
        return self._states_by_port.keys()

    def add_affected(self, proof: Proof, scenario: Scenario) -> None:
        """Adds the pairs of all sources to a proof; judges only sources whose packets may meet a dead port.

        Args:
            proof: the proof that counts the pairs.
            scenario: the failure, which leaves the working routers connected.
        """
        failure = scenario.failure
        met = (self._states_by_port.get(end, ()) for end in failure.failed_ends)
        affected = self._with_predecessors(chain.from_iterable(met))
        sources = {index for number in affected for index in self._sources_by_state.get(number, ())}
        judge = _Judge(self, failure, lambda number: self._unaffected(number, affected))
        self._add(proof, scenario, judge, sorted(sources))
        others = len(self._sources) - len(sources)
        if failure.failed_routers:
            working = (source.router not in failure.failed_routers for source, _ in self._sources)
            others = sum(works and index not in sources for index, works in enumerate(working))
        proof.delivered += others
        if others:
            proof.max_hops = max(proof.max_hops, self._max_hops_without(sources, failure.failed_routers))

    def _unaffected(self, number: int, affected: Collection[int]) -> _Verdict | None:
        """Returns a state's verdict if nothing has failed; None if the failure may change it.

        Always None for states that packets reach only under failures: the ports that affect them are not
        indexed, so that any failure must be assumed to change them.
        """
        if number in affected or number not in self._reached:
            return None
        return _sound(self._hops[number])

    def _index_dependencies(self) -> None:
        """Indexes the predecessors of states, and the states whose steps depend on each port."""
        self._reached.update(state.number for _, state in self._sources)
        pending = list(self._reached)
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
                    if target not in self._reached:
                        self._reached.add(target)
                        pending.append(target)
        for index, (_, state) in enumerate(self._sources):
            self._sources_by_state.setdefault(state.number, []).append(index)

    def _max_hops_without(self, sources: Collection[int], routers: Collection[int]) -> int:
        """Returns the maximum hops without failures over all sources, except those given.

        Args:
            sources: indices of sources to leave out.
            routers: routers whose hosts are left out.
        """
        for index in self._by_hops:
            source, state = self._sources[index]
            if index not in sources and source.router not in routers:
                return self._hops[state.number]
        return 0

    @cached_property
    def _by_hops(self) -> list[int]:
        """The indices of the sources, in descending order of their packets' hops without failures."""
        hops = [self._hops[state.number] for _, state in self._sources]
        return sorted(range(len(hops)), key=hops.__getitem__, reverse=True)

    def _with_predecessors(self, numbers: Iterable[int]) -> frozenset[int]:
        """Returns the given states and all states from which packets may reach them."""
        reached = set(numbers)
        pending = list(reached)
        while pending:
            for number in self._predecessors.get(pending.pop(), ()):
                if number not in reached:
                    reached.add(number)
                    pending.append(number)
        return frozenset(reached)


class _Judge:
    """Judges states under one failure, each once.

    States that can reach each other are judged together, by Tarjan's algorithm (SIAM J. Comput., 1972):
    packets may loop among them, and each gets the faults of all. So a verdict does not depend on which states
    were judged before.
    """

    def __init__(
        self, part: DestinationProof, failure: Failure, known: Callable[[int], _Verdict | None]
    ) -> None:
        """Starts without any verdict.

        Args:
            part: the proof, which provides the steps of states.
            failure: the failure.
            known: number of a state -> its verdict if it is known, else None.
        """
        self._steps = part.steps
        self._delivery = part.delivery
        self._failure = failure
        self._known = known
        self._verdicts: dict[int, _Verdict] = {}
        self._order: dict[int, int] = {}  # number of a visited state -> order of its visit
        self._open: list[State] = []  # visited states whose loops are not known yet, in order
        self._own: dict[int, _Verdict] = {}  # verdicts of open states, before those of a loop are merged

    def verdict(self, state: State) -> _Verdict:
        """Returns the fate of packets in a state."""
        found = self._find(state.number)
        if found is None:
            self._visit(state)
            found = self._verdicts[state.number]
        return found

    def _find(self, number: int) -> _Verdict | None:
        found = self._verdicts.get(number)
        return self._known(number) if found is None else found

    def _visit(self, state: State) -> int:
        """Judges a state and its successors; returns the lowest `_order` that they lead back to."""
        first = self._order[state.number] = len(self._order)
        lowest = first
        self._open.append(state)
        hops = 0
        loops = False
        faults: set[tuple[str, str]] = set()
        for step in self._steps(state, self._failure).steps:
            if step.fault:
                faults.add(step.fault)
            if step.target is None:
                if step.hop and step.hop != self._delivery:
                    faults.add(("misdelivered", f"out of {interface_name(*step.hop)}"))
                continue
            number = step.target.number
            beyond = self._find(number)
            if beyond is None:
                back = self._order.get(number)
                lowest = min(lowest, self._visit(step.target) if back is None else back)
                beyond = self._verdicts.get(number)
            if beyond is None:
                loops = True
            else:
                hops = max(hops, beyond.hops + 1)
                faults |= beyond.faults
        self._own[state.number] = _Verdict(hops, frozenset(faults)) if faults else _sound(hops)
        if lowest == first:
            self._close(state, loops)
        return lowest

    def _close(self, first: State, loops: bool) -> None:
        """Assigns one verdict to all states of a strongly connected component; `first` was visited first."""
        members = [self._open.pop()]
        while members[-1] is not first:
            members.append(self._open.pop())
        owns = [self._own.pop(member.number) for member in members]
        verdict = owns[0]
        if loops:
            place = f"at {switch_name(min(member.router for member in members))}"
            verdict = _Verdict(0, frozenset({("loop", place)}).union(*(own.faults for own in owns)))
        for member in members:
            self._verdicts[member.number] = verdict


@cache
def _sound(hops: int) -> _Verdict:
    return _Verdict(hops)


def _add_pair(
    proof: Proof, failure: Failure, source: Host, destination: Host, verdict: _Verdict, bound: int
) -> None:
    faults = verdict.faults
    loops = any(kind == "loop" for kind, _ in faults)
    if verdict.hops > bound and not loops:
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
    if not loops:  # the hops of packets in a loop are unbounded
        proof.max_hops = max(proof.max_hops, verdict.hops)
    for kind, place in sorted(faults):
        if len(proof.faults) < MAX_LISTED_FAULTS:
            scenario = f" with {failure.name} down" if failure.any_failed else ""
            proof.faults.append(f"{source.name} to {destination.name}{scenario}: {kind} {place}")
