"""The states of packets under a plan, and the steps that its switches take them.

A state is a router with the ingress port, tag and mark of a packet that arrives there; for one destination
that is all that the rules of a plan go by, so that packets of all sources share the states that they meet in.
The steps come from running the plan's own rules on switch models, once for all ports and destinations that a
switch cannot tell apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from routing.plan.model import ETH_TYPE_IPV4, NO_VLAN, RoutePlan
from routing.verification.equivalence_classes import (
    DESTINATION_FIELDS,
    destination_classes,
    ingress_port_classes,
)
from routing.verification.switch_model import Emission, Outcome, Packet, SwitchModel, rule_interner
from topology.addressing import INITIAL_TTL, Host, hosts_of, interface_name, switch_name
from topology.base import Topology
from topology.failures import Failure

_SOURCE_FIELDS = ("eth_src", "ipv4_src")


class Steps(NamedTuple):
    """Everything that may happen to a packet in a state, and the ports whose failure might change it."""

    steps: tuple[Step, ...]
    ports: frozenset[int]


@dataclass(eq=False, slots=True)
class State:
    """A packet that arrives at a router, whatever its destination.

    Attributes:
        number: what tells states apart: 0, 1, ...
        router: where it is.
        packet: its fields, but for those of its destination.
        known: what may happen to it, by the class of its destination (`equivalence_classes`), and
            by that and the dead ports where these matter.
    """

    number: int
    router: int
    packet: Packet
    known: dict[int | tuple[int, frozenset[int]], Steps] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """One of the things that may happen to a packet at a switch.

    Attributes:
        share: of the packets in this state, those to which it happens.
        fault: what goes wrong, by its kind and place, or None.
        hop: the (router, port) that it leaves by, or None.
        target: the state that follows, or None where the packet goes to a host or is lost.
    """

    share: float
    fault: tuple[str, str] | None = None
    hop: tuple[int, int] | None = None
    target: State | None = None


class StateSpace:
    """The states and steps of one plan.

    Raises:
        PlanError: the plan is no valid content for its switches.
    """

    def __init__(self, plan: RoutePlan) -> None:
        self.topology = plan.topology
        self.hosts = hosts_of(plan.topology, plan.concentration)
        self.states: list[State] = []
        interner = rule_interner()
        self._models = [SwitchModel(switch, interner) for switch in plan.switches]
        self._classes = destination_classes(plan.switches, self.hosts, interner)
        port_counts = (plan.topology.degrees + plan.topology.host_counts(plan.concentration)).tolist()
        self._ports = ingress_port_classes(plan.switches, port_counts, interner)
        self._host_number = {host: number for number, host in enumerate(self.hosts)}
        self._numbers: dict[tuple[int, ...], int] = {}
        self._peers = _peers(plan.topology)
        # Sources can share states as long as no rule past the ingress looks at who sent.
        self._source_matters = any(
            not model.fields_past_ingress().isdisjoint(_SOURCE_FIELDS) for model in self._models
        )

    def start(self, source: Host) -> State:
        """Returns the state in which a packet from a host begins."""
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

    def toward(self, destination: Host) -> Callable[[State, Failure], Steps]:
        """Returns what tells the steps of packets to one host, in a state under a failure."""
        number = self._host_number[destination]
        classes = [of_hosts[number] for of_hosts in self._classes]

        def steps(state: State, failure: Failure) -> Steps:
            class_ = classes[state.router]
            known = state.known.get(class_)
            dead = failure.failed_ports(state.router)
            if known and (not dead or known.ports.isdisjoint(dead)):
                return known
            return self._steps(state, class_, destination, dead)

        return steps

    def delivery(self, destination: Host) -> tuple[int, int]:
        """Returns the (router, port) by which packets leave to a host."""
        return destination.router, self._host_port(destination)

    def _steps(self, state: State, class_: int, destination: Host, dead: frozenset[int]) -> Steps:
        key = (class_, dead)
        if dead and key in state.known:
            return state.known[key]
        model = self._models[state.router]
        model.consulted.clear()
        packet = state.packet | {"eth_dst": destination.mac, "ipv4_dst": destination.ip}
        outcomes = model.process_with_shares(packet, dead)
        ports = frozenset(model.consulted)
        steps = Steps(tuple(self._step(state.router, share, outcome) for share, outcome in outcomes), ports)
        # What looked at no dead port would be the same if nothing were broken.
        state.known[class_ if ports.isdisjoint(dead) else key] = steps
        return steps

    def _step(self, router: int, share: float, outcome: Outcome) -> Step:
        if len(outcome) != 1:
            kind = "misdelivered" if outcome else "blackhole"
            return Step(share, (kind, f"at {switch_name(router)}"))
        return self._follow(router, share, outcome[0])

    def _follow(self, router: int, share: float, emission: Emission) -> Step:
        port, packet = emission.port, emission.packet
        where = f"out of {interface_name(router, port)}"
        peer = self._peers.get((router, port))
        hops = 1 if peer else 0
        fault = None if packet["ip_ttl"] == INITIAL_TTL - hops else ("miscounted", where)
        if peer is None:
            if packet["vlan_vid"] != NO_VLAN:
                fault = ("misdelivered", where)
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
            fields = {name: packet[name] for name in packet.keys() - DESTINATION_FIELDS}
            self.states.append(State(number, router, fields | {"in_port": in_port}))
        return self.states[number]

    def _host_port(self, host: Host) -> int:
        return self.topology.host_port(host.router, host.index)


def _peers(topology: Topology) -> dict[tuple[int, int], tuple[int, int]]:
    """Returns (router, port) -> (router, port) at the link's other end."""
    peers = {}
    for link in topology.link_list:
        peers[link.a, link.port_a] = (link.b, link.port_b)
        peers[link.b, link.port_b] = (link.a, link.port_a)
    return peers
