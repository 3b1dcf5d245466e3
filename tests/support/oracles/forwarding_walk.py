"""Forwarding tables compared with the walk, in every state that packets of any pair of hosts reach."""

from __future__ import annotations

from collections.abc import Iterable

from routing.plan.model import NO_VLAN, REROUTED_DSCP, RoutePlan
from routing.plan.tables import router_of_tag
from routing.verification.forwarding_states import State, StateSpace, Steps
from simulation.tables.check import PacketKind, forwarded, gathered, look_up, next_hop_of
from simulation.tables.compiler import PlanCompiler
from simulation.tables.model import NO_TAG, ForwardingTables
from topology.failures import Failure


def compare_with_walk(plan: RoutePlan, failures: Iterable[Failure]) -> int:
    """Returns the number of (failure, destination, state) that were compared, all of which agree."""
    space, compiler = StateSpace(plan), PlanCompiler(plan)
    return sum(_Comparison(plan, space, compiler.tables(failure), failure).compare() for failure in failures)


class _Comparison:
    """One plan under one failure."""

    def __init__(
        self, plan: RoutePlan, space: StateSpace, tables: ForwardingTables, failure: Failure
    ) -> None:
        self.topology = plan.topology
        self.space = space
        self.tables = tables
        self.failure = failure
        self.agreed: dict[tuple[int, int], tuple[Steps, list[State]]] = {}  # by steps and value

    def compare(self) -> int:
        down = self.failure.failed_routers
        alive = [host for host in self.space.hosts if host.router not in down]
        compared = 0
        for destination in alive:
            todo = [self.space.initial_state(host) for host in alive if host != destination]
            reached = set()
            steps_from = self.space.steps_toward(destination)
            while todo:
                state = todo.pop()
                if state.number not in reached:
                    reached.add(state.number)
                    todo += self.follow(state, steps_from(state, self.failure), destination)
            compared += len(reached)
        return compared

    def follow(self, state: State, steps: Steps, destination) -> list[State]:
        """Compares one state, and returns those that follow it."""
        vlan, mark = state.packet["vlan_vid"], int(state.packet["ip_dscp"] == REROUTED_DSCP)
        tag = NO_TAG if vlan == NO_VLAN else router_of_tag(vlan)
        of_links = self.topology.link_ports(state.router)
        kind = PacketKind(state.packet["in_port"] not in (0, *of_links.tolist()), tag, mark)
        if state.router == destination.router and tag in (NO_TAG, state.router):
            port = self.space.delivery_port(destination)
            arrives = [step.hop == port and step.target is None for step in steps.steps] == [True]
            delivered = self.tables.delivered[self.space.host_number(destination)]
            assert delivered == arrives, (self.failure.name, state.router, kind)
            return []
        value = look_up(self.tables, kind, state.router, destination.router)
        if (id(steps), value) not in self.agreed:
            self.agreed[id(steps), value] = steps, self.targets(state, kind, steps, value)
        return self.agreed[id(steps), value][1]

    def targets(self, state: State, kind: PacketKind, steps: Steps, value: int) -> list[State]:
        ways = []
        for step in steps.steps:
            if step.target is None:
                assert step.hop is None, (self.failure.name, state.router, kind)
                ways.append((step.share, None))
                continue
            way = next_hop_of(self.topology, *step.hop, step.target.packet)
            assert self.tables.link_targets[way[0]] == step.target.router
            assert self.tables.links_up[way[0]]
            ways.append((step.share, way))
        walked, compiled = gathered(ways), forwarded(self.tables, value)
        assert walked.agrees(compiled), (self.failure.name, state.router, kind, walked, compiled)
        return [step.target for step in steps.steps if step.target]
