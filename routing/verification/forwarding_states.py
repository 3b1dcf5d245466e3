"""Forwarding states of packets under a plan, and the steps between them.

A state is a router together with the ingress port, tag and mark of a packet that arrives there. For a given
destination, a plan's rules depend on nothing else, so packets of all sources share the states in which they
meet. The steps result from running the plan's own rules on switch models, once for all ports and destinations
of an equivalence class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from routing.plan.model import ETH_TYPE_IPV4, NO_VLAN, RoutePlan, SwitchPlan, Table
from routing.verification.ingress_ports import ingress_port_classes
from routing.verification.packet_actions import Emission, Outcome, Packet, Shared
from routing.verification.rules import SOURCE_FIELDS, Numbers, RuleBook
from routing.verification.switch_model import SwitchModel
from routing.verification.treatments import Arrival, Branches, Handover, KnownOutcomes, Treatment
from topology.addressing import INITIAL_TTL, Host, hosts_of, interface_name, switch_name
from topology.base import Topology
from topology.failures import Failure


class Steps(NamedTuple):
    """The possible steps from a state.

    Attributes:
        steps: one step for each outcome that the switch may choose.
        ports: the ports whose failure may change the steps.
    """

    steps: tuple[Step, ...]
    ports: frozenset[int]


class NextStates(NamedTuple):
    """The next states of packets that rules pass to groups, by class of destinations.

    A class is left out unless every bucket of its group leads, without a fault, to exactly one state.

    Attributes:
        counts: for each class, the number of buckets that its group may choose; 0 if the class is left out.
        targets: the numbers of the next states, class by class.
    """

    counts: Numbers
    targets: Numbers


@dataclass(eq=False, slots=True)
class State:
    """The arrival of a packet at a router, for any destination.

    Attributes:
        number: 0, 1, ... in the order in which states are found.
        router: the router.
        packet: the packet's fields, without those of its destination.
        classes: for each destination host, the index of its class, which is also the index in `steps`; None
            until computed.
        steps: for each class, the steps without failures; None until computed.
        handovers: (first class, groups, packet): packets of class `first class` + i are passed to groups[i];
            `packet` has their fields at that point.
        next_states: the next states of packets that are passed to groups; None until computed.
        rerouted: the steps under failures, by (class, failed ports of the router), as far as computed.
    """

    number: int
    router: int
    packet: Packet
    classes: Numbers | None = None
    steps: list[Steps | None] = field(default_factory=list)
    handovers: list[tuple[int, Numbers, Arrival]] = field(default_factory=list)
    next_states: NextStates | None = None
    rerouted: dict[tuple[int, frozenset[int]], Steps] = field(default_factory=dict)

    def forget(self) -> None:
        """Discards the computed steps, after the rules of the router's switch have changed."""
        self.classes = None
        self.steps = []
        self.handovers = []
        self.next_states = None
        self.rerouted = {}


@dataclass(frozen=True, slots=True)
class Step:
    """One possible outcome of a packet's arrival at a switch.

    Attributes:
        share: the share of the state's packets that take this step, 0 to 1.
        fault: (kind, place) if the step breaks the plan's promise, or None.
        hop: (router, port) on which the packet leaves, or None.
        target: the next state, or None if the packet goes to a host or is lost.
    """

    share: float
    fault: tuple[str, str] | None = None
    hop: tuple[int, int] | None = None
    target: State | None = None


@dataclass(slots=True)
class _KnownSteps:
    """Caches of the steps at one router. Their keys contain ids of objects, which the values keep alive.

    Attributes:
        by_outcomes: steps by the id of a list of outcomes and the ports on which these depend.
        by_pair: step by the id of a pair (share, outcome); the lists in `by_outcomes` keep pairs alive.
        by_outcome: step by the share and the id of an outcome.
    """

    by_outcomes: dict[tuple[int, frozenset[int]], tuple[Shared, Steps]] = field(default_factory=dict)
    by_pair: dict[int, Step] = field(default_factory=dict)
    by_outcome: dict[tuple[float, int], tuple[Outcome, Step]] = field(default_factory=dict)


class StateSpace:
    """The states and steps of one plan.

    Attributes:
        topology: the fabric's graph.
        hosts: all hosts, router by router.
        states: the states found so far, by number.
    """

    def __init__(self, plan: RoutePlan) -> None:
        """Installs the plan on switch models.

        Args:
            plan: the plan of all switches.

        Raises:
            PlanError: a switch cannot install its part of the plan, or rewrites the destinations of packets.
        """
        self.topology = plan.topology
        self.hosts = hosts_of(plan.topology, plan.hosts_per_router)
        self.states: list[State] = []
        self._plan = plan
        values = {"eth_dst": [h.mac for h in self.hosts], "ipv4_dst": [h.ip for h in self.hosts]}
        self._book = RuleBook(values)
        rules = list(map(self._book.switch_numbers, plan.switches))
        self._first_rules = len(self._book)
        self._known_outcomes: KnownOutcomes = {}
        self._models = list(map(self._model, plan.switches, rules))
        self._ports = list(map(self._ingress_classes, plan.switches, rules))
        self._host_number = {host: number for number, host in enumerate(self.hosts)}
        self._everyone = np.arange(len(self.hosts))
        self._numbers: dict[tuple[int, ...], int] = {}
        self._peers = _peers(plan.topology)
        self._known_steps = [_KnownSteps() for _ in plan.switches]  # by router
        self._source_matters = _source_matters(self._book, dict(enumerate(rules)), plan.topology)

    def take(self, plan: RoutePlan) -> bool:
        """Installs another plan of the same fabric, keeping the steps at switches that do not change.

        Args:
            plan: the plan; a switch whose plan is the same object does not change.

        Returns:
            Whether this was possible. If not, everything must be recomputed: the plan is for another
            fabric, distinguishes ingress ports or sources that were equivalent, or most known rules are
            obsolete.

        Raises:
            PlanError: a switch cannot install its part of the plan, or rewrites the destinations of packets.
        """
        if plan.topology is not self.topology or plan.hosts_per_router != self._plan.hosts_per_router:
            return False
        changed = [new for old, new in zip(self._plan.switches, plan.switches, strict=True) if new is not old]
        rules = {switch.router: self._book.switch_numbers(switch) for switch in changed}
        if len(self._book) > 2 * self._first_rules:
            return False
        models = {s.router: self._model(s, rules[s.router]) for s in changed}
        if any(self._ingress_classes(s, rules[s.router]) != self._ports[s.router] for s in changed):
            return False
        if self._source_matters or _source_matters(self._book, rules, self.topology):
            return False
        self._plan = plan
        for router, model in models.items():
            self._models[router] = model
            self._known_steps[router] = _KnownSteps()
        for state in self.states:
            if state.router in models:
                state.forget()
        return True

    def _model(self, switch: SwitchPlan, rules: Numbers) -> SwitchModel:
        return SwitchModel(switch, self._book, rules, self._known_outcomes)

    def _ingress_classes(self, switch: SwitchPlan, rules: Numbers) -> dict[int, int]:
        links, hosts = self.topology.router_ports(switch.router, self._plan.hosts_per_router)
        return ingress_port_classes(switch, [*links, *hosts], self._book, rules)

    def initial_state(self, source: Host) -> State:
        """Returns the state of a packet that a host has just sent."""
        packet = {
            "in_port": self._host_port(source),
            "eth_type": ETH_TYPE_IPV4,
            "eth_src": source.mac,
            "vlan_vid": NO_VLAN,
            "ipv4_src": source.ip,
            "ip_dscp": 0,
            "ip_ttl": INITIAL_TTL,
        }
        return self._state(source.router, packet)

    def steps_toward(self, destination: Host) -> Callable[[State, Failure], Steps]:
        """Returns a function that computes the steps of packets to one host.

        Args:
            destination: the host.

        Returns:
            (state, failure) -> the possible steps from the state under the failure.
        """
        host = self._host_number[destination]

        def steps(state: State, failure: Failure) -> Steps:
            return self.steps_of_class(state, int(self.classes(state)[host]), failure, host)

        return steps

    def classes(self, state: State) -> Numbers:
        """Returns `State.classes`, computing them if needed."""
        if state.classes is None:
            classes = np.empty(len(self.hosts), np.intp)
            for part in self._parts_of(state, self._everyone, frozenset()):
                if isinstance(part, Handover):
                    groups, places = np.unique(part.groups, return_inverse=True)
                    classes[part.destinations] = len(state.steps) + places
                    state.handovers.append((len(state.steps), groups, part.arrival))
                    state.steps += [None] * len(groups)
                else:
                    classes[part.destinations] = len(state.steps)
                    state.steps.append(self._steps_of(state.router, part.outcomes, part.ports))
            state.classes = classes
        return state.classes

    def steps_of_class(self, state: State, class_: int, failure: Failure, host: int | None = None) -> Steps:
        """Returns the steps of packets to destinations of a class.

        Args:
            state: the state.
            class_: an entry of `State.classes`.
            failure: the failure.
            host: the number of a host of that class, if known.
        """
        known = state.steps[class_]
        if known is None:
            known = state.steps[class_] = self._steps_of(state.router, *self._by_group(state, class_))
        failed = failure.failed_ports(state.router)
        if not failed or known.ports.isdisjoint(failed):
            return known
        host = int(np.argmax(self.classes(state) == class_)) if host is None else host
        return self._rerouted(state, class_, host, failed)

    def next_states(self, state: State) -> NextStates:
        """Returns the next states, without failures, of packets that rules pass to groups."""
        if state.next_states is None:
            self.classes(state)
            counts = np.zeros(len(state.steps), np.intp)
            found = []
            for first, groups, arrival in state.handovers:
                own = counts[first : first + len(groups)]
                own[:], targets = self._after_groups(state.router, groups, arrival)
                found.append(targets)
            state.next_states = NextStates(counts, np.concatenate([*found, _NOWHERE]))
        return state.next_states

    def _after_groups(self, router: int, groups: Numbers, arrival: Arrival) -> tuple[Numbers, Numbers]:
        """Returns the fields of `NextStates` for classes whose packets are passed to the given groups."""
        model = self._models[router]
        counts, buckets = model.group_buckets.of(groups)
        after = np.full(len(model.group_buckets.buckets), -1, np.intp)
        for number in np.flatnonzero(np.bincount(buckets)).tolist():
            outcomes = model.by_bucket(model.group_buckets.buckets[number], arrival).outcomes
            steps = self._all_steps(router, outcomes)
            if len(steps) == 1 and steps[0].target is not None and not steps[0].fault:
                after[number] = steps[0].target.number
        targets = after[buckets]
        sound = np.ones(len(groups), bool)
        sound[np.repeat(np.arange(len(groups)), counts)[targets < 0]] = False
        return np.where(sound, counts, 0), targets[np.repeat(sound, counts)]

    def host_number(self, host: Host) -> int:
        """Returns the index of a host in `hosts`."""
        return self._host_number[host]

    def delivery_port(self, destination: Host) -> tuple[int, int]:
        """Returns the (router, port) to which a host is attached."""
        return destination.router, self._host_port(destination)

    def _rerouted(self, state: State, class_: int, host: int, failed: frozenset[int]) -> Steps:
        key = (class_, failed)
        if key not in state.rerouted:
            [part] = self._parts_of(state, self._everyone[host : host + 1], failed)
            if isinstance(part, Handover):
                treatment = self._models[state.router].by_group(int(part.groups[0]), part.arrival)
            else:
                treatment = part.outcomes, part.ports
            state.rerouted[key] = self._steps_of(state.router, *treatment)
        return state.rerouted[key]

    def _parts_of(
        self, state: State, destinations: Numbers, failed: frozenset[int]
    ) -> Iterator[Treatment | Handover]:
        unseen = () if self._source_matters else SOURCE_FIELDS
        return self._models[state.router].handovers(state.packet, destinations, failed, unseen)

    def _by_group(self, state: State, class_: int) -> Branches:
        """Returns the outcomes of packets that rules pass to a group, and the ports on which these depend.

        Args:
            state: the state.
            class_: a class of destinations whose packets rules pass to a group.
        """
        first, groups, arrival = next(one for one in reversed(state.handovers) if one[0] <= class_)
        return self._models[state.router].by_group(int(groups[class_ - first]), arrival)

    def _steps_of(self, router: int, outcomes: Shared, ports: frozenset[int]) -> Steps:
        # Packets from several ports are often passed to the same groups.
        known, key = self._known_steps[router].by_outcomes, (id(outcomes), ports)
        if key not in known:
            known[key] = outcomes, Steps(self._all_steps(router, outcomes), ports)
        return known[key][1]

    def _all_steps(self, router: int, outcomes: Shared) -> tuple[Step, ...]:
        if len(outcomes) == 1:
            return (self._step(router, outcomes[0]),)
        steps = list(map(self._known_steps[router].by_pair.get, map(id, outcomes)))
        for index in [index for index, step in enumerate(steps) if step is None]:
            steps[index] = self._step(router, outcomes[index])
        return tuple(filter(None, steps))

    def _step(self, router: int, outcome: tuple[float, Outcome]) -> Step:
        # Most outcomes come from buckets that several groups share.
        known = self._known_steps[router]
        key = (outcome[0], id(outcome[1]))
        if key not in known.by_outcome:
            known.by_outcome[key] = outcome[1], self._new_step(router, *outcome)
        step = known.by_pair[id(outcome)] = known.by_outcome[key][1]
        return step

    def _new_step(self, router: int, share: float, outcome: Outcome) -> Step:
        if len(outcome) != 1:
            kind = "misdelivered" if outcome else "blackhole"
            return Step(share, (kind, f"at {switch_name(router)}"))
        return self._follow(router, share, outcome[0])

    def _follow(self, router: int, share: float, emission: Emission) -> Step:
        port, packet = emission.port, emission.packet
        peer = self._peers.get((router, port))
        hops = 1 if peer else 0
        kind = None if packet["ip_ttl"] == INITIAL_TTL - hops else "miscounted"
        if peer is None and packet["vlan_vid"] != NO_VLAN:
            kind = "misdelivered"
        fault = (kind, f"out of {interface_name(router, port)}") if kind else None
        if peer is None:
            return Step(share, fault, (router, port))
        beyond = self._state(peer[0], {**packet, "in_port": peer[1], "ip_ttl": INITIAL_TTL})
        return Step(share, fault, (router, port), beyond)

    def _state(self, router: int, packet: Packet) -> State:
        in_port = self._ports[router][packet["in_port"]]
        key: tuple[int, ...] = (router, in_port, packet["vlan_vid"], packet["ip_dscp"])
        if self._source_matters:
            key += (packet["ipv4_src"],)
        number = self._numbers.setdefault(key, len(self.states))
        if number == len(self.states):
            self.states.append(State(number, router, packet | {"in_port": in_port}))
        return self.states[number]

    def _host_port(self, host: Host) -> int:
        return self.topology.host_port(host.router, host.index)


_NOWHERE = np.empty(0, np.intp)


def _source_matters(book: RuleBook, numbers: Mapping[int, Numbers], topology: Topology) -> bool:
    """Returns whether any rule tests a packet's source address, other than at the port of a host.

    If none does, packets of all sources share states.

    Args:
        book: the rules of the fabric.
        numbers: for each router, the numbers of its rules in the book.
        topology: the fabric's graph.
    """
    facts = book.facts()
    seeing = facts.sees_source & facts.takes_ipv4
    for router, own in numbers.items():
        of_links = set(topology.link_ports(router).tolist())
        for rule in map(book.rule, own[seeing[own]].tolist()):
            ports = [part.value for part in rule.match if part.field == "in_port" and part.mask is None]
            if rule.table is not Table.INGRESS or not ports or ports[0] in of_links:
                return True
    return False


def _peers(topology: Topology) -> dict[tuple[int, int], tuple[int, int]]:
    """Returns (router, port) -> (router, port) at the other end of the link."""
    peers = {}
    for link in topology.link_list:
        peers[link.a, link.port_a] = (link.b, link.port_b)
        peers[link.b, link.port_b] = (link.a, link.port_a)
    return peers
