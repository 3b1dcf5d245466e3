"""The plan compiler: translates the rules and groups of all switches to forwarding tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from routing.garbage_collection import without_garbage_collection
from routing.plan.model import RoutePlan
from simulation.tables.detours import CandidateRegistry, Detours
from simulation.tables.forwarding import SwitchForwarding, SwitchTables
from simulation.tables.lookup import SwitchRules
from simulation.tables.model import NO_CHOICE, AdaptiveChoices, Choices, ForwardingTables
from simulation.tables.outcomes import NO_OUTPUT, Outputs
from simulation.tables.packets import Arrival
from simulation.tables.rules import PlanRules
from topology.failures import NO_FAILURE, Failure

Int32 = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]

Arrivals = tuple[Arrival, ...]  # in the order of the enumeration

_ALWAYS: Arrivals = (Arrival.HOST, Arrival.UNTAGGED)
_BY_TAG: Arrivals = (Arrival.TAGGED, Arrival.MARKED_TAGGED)


def compile_tables(
    plan: RoutePlan, failure: Failure = NO_FAILURE, *, candidates: bool = False
) -> ForwardingTables:
    """Compiles a plan to forwarding tables.

    Args:
        plan: the plan.
        failure: the links and routers that are down.
        candidates: whether the tables list the candidates of adaptive groups in the groups' order.

    Raises:
        PlanError: forwarding tables cannot express the plan's treatment of packets.
    """
    return PlanCompiler(plan, candidates=candidates).tables(failure)


class PlanCompiler:
    """Compiles one plan for several failures; only switches affected by a failure are compiled again."""

    @without_garbage_collection()
    def __init__(self, plan: RoutePlan, *, candidates: bool = False) -> None:
        """Parses the rules of a plan.

        Args:
            plan: the plan, which must not change.
            candidates: whether tables list the candidates of adaptive groups in the groups' order.
        """
        self._plan = plan
        self._rules = PlanRules(plan)
        self._buckets = CandidateRegistry(self._rules.actions, keeps_order=candidates)
        topology = plan.topology
        self._link_starts = topology.adjacency.starts
        self._outputs = [
            Outputs(*topology.router_ports(router, plan.hosts_per_router))
            for router in range(topology.routers)
        ]
        routers = np.array([host.router for host in self._rules.hosts], np.int32)
        self._host_routers = routers
        bounds = np.searchsorted(routers, np.arange(topology.routers + 1)).tolist()
        self._switch_rules = [
            SwitchRules(
                self._rules,
                router,
                topology.routers,
                self._outputs[router],
                slice(*bounds[router : router + 2]),
            )
            for router in range(topology.routers)
        ]
        self._forwarding = list(map(self._switch_forwarding, range(topology.routers)))
        self._known: dict[tuple[int, Arrivals], SwitchTables] = {}

    def _switch_forwarding(self, router: int, failed_ports: frozenset[int] = frozenset()) -> SwitchForwarding:
        return SwitchForwarding(
            self._plan.switches[router],
            self._switch_rules[router],
            self._rules,
            self._buckets,
            self._outputs[router],
            failed_ports,
        )

    @without_garbage_collection()
    def tables(self, failure: Failure = NO_FAILURE, under_way: Collection[Arrival] = ()) -> ForwardingTables:
        """Returns the forwarding tables for a failure.

        Args:
            failure: the links and routers that are down.
            under_way: kinds of packets already in the network, in addition to those that the switches emit.

        Raises:
            PlanError: forwarding tables cannot express the plan's treatment of packets.
        """
        affected = {
            router: self._switch_forwarding(router, failure.failed_ports(router))
            for router in range(len(self._forwarding))
            if failure.failed_ports(router)
        }
        switches = [affected.get(router, own) for router, own in enumerate(self._forwarding)]
        arrivals = _arrivals(switches, under_way)
        compiled = [
            switch.tables(arrivals) if router in affected else self._unaffected(router, arrivals)
            for router, switch in enumerate(switches)
        ]
        return self._assemble(compiled, arrivals, failure)

    def _unaffected(self, router: int, arrivals: Arrivals) -> SwitchTables:
        key = (router, arrivals)
        if key not in self._known:
            self._known[key] = self._forwarding[router].tables(arrivals)
        return self._known[key]

    def _assemble(
        self, switches: Sequence[SwitchTables], arrivals: Arrivals, failure: Failure
    ) -> ForwardingTables:
        topology = self._plan.topology
        choice_starts = _starts(len(one.choices.starts) - 1 for one in switches)
        adaptive_starts = _starts(
            0 if one.adaptive is None else len(one.adaptive.minimal) for one in switches
        )
        targets = topology.adjacency.neighbours

        def rows(arrival: Arrival) -> Int32:
            if arrival not in arrivals:
                return np.zeros((0, 0), np.int32)
            table = np.empty((len(switches), len(switches)), np.int32)
            for router, one in enumerate(switches):
                own = one.rows[arrival]
                shift = np.where(own >= 0, choice_starts[router], -adaptive_starts[router])
                table[router] = np.where(own == NO_CHOICE, NO_CHOICE, own + shift)
            return table

        delivered = np.concatenate([one.delivered for one in switches]).astype(np.int32)
        delivered[np.isin(self._host_routers, [*failure.failed_routers])] = 0
        up = np.ones(len(targets), np.int32)
        up[[topology.link_numbers[end] for end in failure.failed_ends]] = 0
        return ForwardingTables(
            link_starts=self._link_starts.astype(np.int32),
            link_targets=targets,
            reverse_links=topology.reverse_links.astype(np.int32),
            host_routers=self._host_routers,
            delivered=delivered,
            **{arrival.value: rows(arrival) for arrival in Arrival},
            choices=self._choices(switches),
            adaptive=_adaptive(switches, choice_starts),
            links_up=up,
            global_links=self._global_links(targets),
        )

    def _global_links(self, targets: Int32) -> Int32:
        """Returns 1 for each directed link that leads out of a cluster, else 0."""
        topology = self._plan.topology
        owners = np.repeat(np.arange(topology.routers), topology.degrees)
        return topology.clusters().are_apart(owners, targets, topology.routers).astype(np.int32)

    def _choices(self, switches: Sequence[SwitchTables]) -> Choices:
        columns = [one.choices for one in switches]
        links = [
            np.where(one.outputs == NO_OUTPUT, -1, one.outputs + self._link_starts[router])
            for router, one in enumerate(columns)
        ]
        return Choices(
            starts=_concatenated_starts([one.starts for one in columns]),
            links=_concatenated(links),
            tags=_concatenated([one.tags for one in columns]),
            marks=_concatenated([one.marks for one in columns]),
            weights=_concatenated([one.weights for one in columns]),
        )


def _arrivals(switches: Sequence[SwitchForwarding], under_way: Collection[Arrival]) -> Arrivals:
    """Returns the kinds of packets that occur in the fabric, and checks the treatment of their tags.

    Starts with the kinds that hosts send, and adds kinds that switches emit until none is missing.
    """
    arrivals = tuple(arrival for arrival in Arrival if arrival in {*_ALWAYS, *under_way})
    tags = np.zeros((2, len(switches)), bool)
    while True:
        emitted = [switch.emitted_tags(arrivals, tags) for switch in switches]
        all_tags = np.logical_or.reduce([one.tags for one in emitted])
        found: set[Arrival] = {*arrivals}
        if any(one.marked for one in emitted) or all_tags[1].any():
            found.add(Arrival.MARKED)
        found.update(arrival for arrival in _BY_TAG if all_tags[arrival.mark].any())
        if Arrival.TAGGED in found and any(switch.chooses_after_tag for switch in switches):
            found.add(Arrival.AFTER_TAG)
        if len(found) == len(arrivals) and (all_tags <= tags).all():
            break
        arrivals = tuple(arrival for arrival in Arrival if arrival in found)
        tags |= all_tags
    for arrival in found.intersection(_BY_TAG):
        for switch in switches:
            switch.check_tags(arrival, tags[arrival.mark])
    return arrivals


def _adaptive(switches: Sequence[SwitchTables], choice_starts: Numbers) -> AdaptiveChoices:
    starts = choice_starts.tolist()
    uses = [0 if one.adaptive is None else len(one.adaptive.minimal) for one in switches]
    own = [(start, one.adaptive) for start, one in zip(starts, switches, strict=False) if one.adaptive]

    def choices(get: Callable[[Detours], Numbers]) -> Int32:
        return _concatenated([_shifted(get(one), start) for start, one in own])

    bounds = _starts(len(one.detours) for _, one in own)
    detours, hops = np.empty(bounds[-1], np.int32), np.zeros(bounds[-1], np.int32)
    for first, last, (start, one) in zip(bounds[:-1].tolist(), bounds[1:].tolist(), own, strict=True):
        detours[first:last] = _shifted(one.keys, start).astype(np.int32)[one.detours]
        if one.hops is not None:
            hops[first:last] = one.hops
    return AdaptiveChoices(
        minimal=choices(lambda one: one.minimal),
        minimal_hops=_concatenated([one.minimal_hops for _, one in own]),
        bundle_starts=_concatenated_starts([one.bundle_starts for _, one in own]),
        bundle_choices=choices(lambda one: one.bundle_keys),
        bundle_detours=_concatenated(
            [one.bundle_detours + shift for (_, one), shift in zip(own, bounds.tolist(), strict=False)]
        ),
        bundle_sizes=_concatenated([one.bundle_sizes for _, one in own]),
        detours=detours,
        detour_hops=hops,
        routers=np.repeat(np.arange(len(switches), dtype=np.int32), uses),
        groups=_concatenated([one.groups for _, one in own]),
        candidate_starts=_concatenated_starts([one.candidate_starts for _, one in own]),
        candidates=choices(lambda one: one.keys[one.candidates]),
    )


def _shifted(choices: Numbers, start: int) -> Numbers:
    """Converts the numbers of choices within a switch to numbers within the whole fabric."""
    return np.where(choices >= 0, choices + start, NO_CHOICE)


def _starts(counts: Iterable[int]) -> Numbers:
    return np.cumsum([0, *counts])


def _concatenated(parts: Sequence[npt.NDArray[np.int64]]) -> Int32:
    """Concatenates arrays, converted to int32."""
    return np.concatenate([np.empty(0, np.int32), *(part.astype(np.int32) for part in parts)])


def _concatenated_starts(parts: Sequence[Numbers]) -> Int32:
    """Concatenates the `starts` arrays of several switches (see `Choices`) to one for the whole fabric."""
    shifts = np.cumsum([0, *(int(part[-1]) for part in parts)])
    shifted = [part[:-1] + shift for part, shift in zip(parts, shifts.tolist(), strict=False)]
    return _concatenated([*shifted, shifts[-1:]])
