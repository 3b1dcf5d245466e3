"""The proof for packets to one host, of what the counts of hops leave open.

These are the faults of a plan that is not sound, and all failures. A failure changes the steps of those
states only whose switches asked for the state of a failed port: only these and their predecessors are judged
again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain

from routing.verification.forwarding_states import State, StateSpace
from routing.verification.hop_counts import FAULTY, Hops
from routing.verification.proof import MAX_LISTED_FAULTS, Proof
from routing.verification.scenarios import Scenario
from topology.addressing import Host, interface_name, switch_name
from topology.failures import NO_FAILURE, Failure


@dataclass(frozen=True, slots=True)
class _Verdict:
    """The fate of packets in one state: the most hops to come, and the possible faults by kind and place."""

    hops: int
    faults: frozenset[tuple[str, str]] = frozenset()


class DestinationProof:
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
        self._reached: set[int] = set()  # states that packets are in while nothing has failed

    @cached_property
    def _unfailed(self) -> _Judge:
        """The judge of states while nothing has failed, for those whose faults `hops` does not tell."""
        return _Judge(self, NO_FAILURE, frozenset(), lambda _: None)

    def baseline(self, number: int) -> _Verdict | None:
        """Returns the verdict on a state while nothing has failed; None where failures may change it.

        Those may change that of any state which packets reach under failures only: which ports matter to it
        is not indexed.
        """
        if number >= len(self._hops) or (self._reached and number not in self._reached):
            return None
        hops = self._hops[number]
        return _sound(hops) if hops < FAULTY else self._unfailed.verdict(self._space.states[number])

    def ports(self) -> Collection[tuple[int, int]]:
        """Returns the (router, port) whose state matters to packets while nothing has failed."""
        self._index_dependencies()
        return self._states_by_port.keys()

    def _index_dependencies(self) -> None:
        """Indexes the predecessors of states, and the states whose steps depend on each port."""
        if self._reached:
            return
        seen = self._reached
        seen.update(state.number for _, state in self._sources)
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

    def add_to(self, proof: Proof, scenario: Scenario) -> None:
        """Adds the pairs of all sources to a proof.

        Args:
            proof: counts the pairs.
            scenario: the failure.
        """
        failure, components = scenario.failure, scenario.components
        affected: frozenset[int] = frozenset()
        if failure.any_failed:
            self._index_dependencies()
            met = (self._states_by_port.get(end, ()) for end in failure.failed_ends)
            affected = self._with_predecessors(chain.from_iterable(met))
        sources: Collection[int] = range(len(self._sources))
        if self._all_sound and not scenario.split:
            # Only sources whose packets may meet a dead port need be judged.
            sources = {index for number in affected for index in self._sources_by_state.get(number, ())}
            down = sum(source.router in failure.failed_routers for source, _ in self._sources)
            judged = sum(self._sources[one][0].router not in failure.failed_routers for one in sources)
            proof.delivered += len(self._sources) - down - judged
            proof.max_hops = max(proof.max_hops, self._most_hops_without(sources, failure.failed_routers))
        judge = _Judge(self, failure, affected, self.baseline)
        slack = self._repair_hops if failure.any_failed else 0
        for index in sorted(sources):
            source, state = self._sources[index]
            if source.router in failure.failed_routers:
                continue
            verdict = judge.verdict(state)
            if components[source.router] != components[self._destination.router]:
                proof.cut_off += 1
                continue
            bound = self._bounds[source.router] + slack
            _add_pair(proof, failure, source, self._destination, verdict, bound)

    def _most_hops_without(self, sources: Collection[int], routers: Collection[int]) -> int:
        """Returns the most hops of packets from other sources than some, and not from some routers."""
        for index in self._by_hops:
            source, state = self._sources[index]
            if index not in sources and source.router not in routers:
                return self._hops[state.number]
        return 0

    @cached_property
    def _by_hops(self) -> list[int]:
        """The sources by falling hops."""
        return sorted(
            range(len(self._sources)), key=lambda index: -self._hops[self._sources[index][1].number]
        )

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
        part: DestinationProof,
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
