"""The states of packets under a plan, and the steps that its switches take them.

A state is a router with the ingress port, tag and mark of a packet that arrives there; for one destination
that is all that the rules of a plan go by, so that packets of all sources share the states that they meet in.
The steps come from running the plan's own rules on switch models.
"""

from __future__ import annotations

from dataclasses import dataclass

from controller.failures import Failure
from controller.plan import ETH_TYPE_IPV4, NO_VLAN, RoutePlan, Table
from controller.switch_model import Emission, Outcome, Packet, SwitchModel, fields_read
from topology.addressing import Host, hosts_of, interface_name, switch_name
from topology.graph import Topology

INITIAL_TTL = 64
_SOURCE_FIELDS = ("eth_src", "ipv4_src")

StateKey = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class State:
    """A packet that arrives at a router; `key` tells states apart, for one destination."""

    router: int
    packet: Packet
    key: StateKey


@dataclass(frozen=True, slots=True)
class Step:
    """One of the things that may happen to a packet at a switch.

    Attributes:
        share: of the packets in this state, those to which it happens.
        fault: what goes wrong, by its kind and place, or None.
        hop: the (router, port) of the link that is taken, or None.
        target: the state that follows, or None where the packet was delivered or is lost.
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
        self.hosts = hosts_of(plan.topology, plan.hosts_per_router)
        self._models = [SwitchModel(switch) for switch in plan.switches]
        self._peers = _peers(plan.topology)
        later = (r for s in plan.switches for r in s.rules if r.table is not Table.INGRESS)
        # Sources can share states as long as no rule past the ingress looks at who sent.
        self._source_matters = bool(fields_read(later) & set(_SOURCE_FIELDS))

    def start(self, source: Host, destination: Host) -> State:
        """Returns the state in which a packet from one host to another begins."""
        packet = {
            "in_port": self._host_port(source),
            "eth_type": ETH_TYPE_IPV4,
            "eth_src": source.mac,
            "eth_dst": destination.mac,
            "vlan_vid": NO_VLAN,
            "ipv4_src": source.ip,
            "ipv4_dst": destination.ip,
            "ip_dscp": 0,
            "ip_ttl": INITIAL_TTL,
        }
        return self._state(source.router, packet)

    def steps(self, state: State, destination: Host, failure: Failure) -> list[Step]:
        """Returns everything that may happen to a packet in a state on its way to `destination`."""
        return self.steps_and_ports(state, destination, failure)[0]

    def steps_and_ports(
        self, state: State, destination: Host, failure: Failure
    ) -> tuple[list[Step], frozenset[int]]:
        """Returns the same, and the ports whose failure might change it."""
        model = self._models[state.router]
        model.consulted.clear()
        dead_ports = failure.dead_ports(state.router)
        delivery = (destination.router, self._host_port(destination))
        outcomes = model.process_with_shares(state.packet, dead_ports)
        steps = [self._step(state.router, share, outcome, delivery) for share, outcome in outcomes]
        return steps, frozenset(model.consulted)

    def _step(self, router: int, share: float, outcome: Outcome, delivery: tuple[int, int]) -> Step:
        if len(outcome) != 1:
            kind = "misdelivered" if outcome else "blackhole"
            return Step(share, (kind, f"at {switch_name(router)}"))
        return self._follow(router, share, outcome[0], delivery)

    def _follow(self, router: int, share: float, emission: Emission, delivery: tuple[int, int]) -> Step:
        port, packet = emission.port, emission.packet
        where = f"out of {interface_name(router, port)}"
        if (router, port) == delivery and packet["vlan_vid"] == NO_VLAN:
            counted = packet["ip_ttl"] == INITIAL_TTL
            return Step(share, None if counted else ("miscounted", where))
        peer = self._peers.get((router, port))
        if peer is None:
            return Step(share, ("misdelivered", where))
        fault = None if packet["ip_ttl"] == INITIAL_TTL - 1 else ("miscounted", where)
        beyond = self._state(peer[0], {**packet, "in_port": peer[1], "ip_ttl": INITIAL_TTL})
        return Step(share, fault, (router, port), beyond)

    def _state(self, router: int, packet: Packet) -> State:
        key: StateKey = (router, packet["in_port"], packet["vlan_vid"], packet["ip_dscp"])
        if self._source_matters:
            key += (packet["ipv4_src"],)
        return State(router, packet, key)

    def _host_port(self, host: Host) -> int:
        return self.topology.host_port(host.router, host.index)


def _peers(topology: Topology) -> dict[tuple[int, int], tuple[int, int]]:
    """Returns (router, port) -> (router, port) at the link's other end."""
    peers = {}
    for link in topology.link_list:
        peers[link.a, link.port_a] = (link.b, link.port_b)
        peers[link.b, link.port_b] = (link.a, link.port_a)
    return peers
