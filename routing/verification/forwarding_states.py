"""Forwarding states of packets under a plan, and the steps between them.

A state is a router with the ingress port, tag and mark of a packet that arrives there. For one destination
these are all that the rules of a plan depend on, so that packets of all sources share the states that they
meet in. The steps come from running the plan's own rules on switch models, once for all ports and
destinations of an equivalence class.
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
from routing.verification.rule_lookup import rule_interner
from routing.verification.switch_model import Emission, Outcome, Packet, SwitchModel
from topology.addressing import INITIAL_TTL, Host, hosts_of, interface_name, switch_name
from topology.base import Topology
from topology.failures import Failure

_SOURCE_FIELDS = ("eth_src", "ipv4_src")


class Steps(NamedTuple):
    """The possible steps from a state.

    Attributes:
        steps: one for each outcome that the switch may choose.
        ports: the ports whose failure may change the steps.
    """

    steps: tuple[Step, ...]
    ports: frozenset[int]


@dataclass(eq=False, slots=True)
class State:
    """The arrival of a packet at a router, for any destination.

    Attributes:
        number: 0, 1, ... in the order in which states are met.
        router: the router.
        packet: the packet's fields without those of its destination.
        known: the steps found so far, by the equivalence class of the destination, and by that and the failed
            ports where those matter.
    """

    number: int
    router: int
    packet: Packet
    known: dict[int | tuple[int, frozenset[int]], Steps] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """One possible outcome of a packet's arrival at a switch.

    Attributes:
        share: the share of the state's packets that take this step, 0 to 1.
        fault: (kind, place) if the step breaks the plan's promise, or None.
        hop: (router, port) by which the packet leaves, or None.
        target: the next state, or None if the packet goes to a host or is lost.
    """

    share: float
    fault: tuple[str, str] | None = None
    hop: tuple[int, int] | None = None
    target: State | None = None


class StateSpace:
    """The states and steps of one plan.

    Attributes:
        topology: the fabric's graph.
        hosts: all hosts, router by router.
        states: the states met so far, by number.
    """

    def __init__(self, plan: RoutePlan) -> None:
        """Installs the plan on switch models.

        Args:
            plan: the plan of all switches.

        Raises:
            PlanError: a switch cannot hold its part of the plan, or rewrites the destinations of packets.
        """
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
        """Returns a function that gives the steps of packets to one host.

        Args:
            destination: the host.

        Returns:
            (state, failure) -> the possible steps from that state under that failure.
        """
        number = self._host_number[destination]
        classes = [host_classes[number] for host_classes in self._classes]

        def steps(state: State, failure: Failure) -> Steps:
            class_ = classes[state.router]
            known = state.known.get(class_)
            failed = failure.failed_ports(state.router)
            if known and (not failed or known.ports.isdisjoint(failed)):
                return known
            return self._steps(state, class_, destination, failed)

        return steps

    def delivery_port(self, destination: Host) -> tuple[int, int]:
        """Returns the (router, port) to which a host is attached."""
        return destination.router, self._host_port(destination)

    def _steps(self, state: State, class_: int, destination: Host, failed: frozenset[int]) -> Steps:
        key = (class_, failed)
        if failed and key in state.known:
            return state.known[key]
        model = self._models[state.router]
        model.consulted.clear()
        packet = state.packet | {"eth_dst": destination.mac, "ipv4_dst": destination.ip}
        outcomes = model.process_with_shares(packet, failed)
        ports = frozenset(model.consulted)
        steps = Steps(tuple(self._step(state.router, share, outcome) for share, outcome in outcomes), ports)
        # Steps that depend on none of the failed ports are those without a failure.
        state.known[class_ if ports.isdisjoint(failed) else key] = steps
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
