"""The proof of a route plan: every pair of hosts, every choice of a group, every asked-for failure.

The walk runs the plan itself, rule by rule, on switch models; it knows nothing of how the plan was
made. For one destination it explores the states (router, ingress port, tag, mark) that packets can
be in, once each, so that all sources share the work: a packet arrives from a state if every outcome of
the switch leads on to a state from which it arrives. A state that leads back to itself is a loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from controller.plan import ETH_TYPE_IPV4, NO_VLAN, RoutePlan, Table
from controller.switch_model import Emission, Outcome, Packet, SwitchModel, fields_read
from topology.addressing import Host, hosts_of, interface_name
from topology.graph import Topology

INITIAL_TTL = 64
_SOURCE_FIELDS = ("eth_src", "ipv4_src")
_FAULTS_KEPT = 20


@dataclass(frozen=True)
class Failure:
    """What is broken in one scenario: links, by their (router, port) at both ends, and routers."""

    name: str = "none"
    dead_ends: frozenset[tuple[int, int]] = frozenset()
    dead_routers: frozenset[int] = frozenset()

    @property
    def breaks_something(self) -> bool:
        """Whether anything is broken at all."""
        return bool(self.dead_ends or self.dead_routers)


NO_FAILURE = Failure()


def link_failures(topology: Topology) -> Iterator[Failure]:
    """Yields the failure of every single link."""
    for link in topology.link_list:
        ends = frozenset({(link.a, link.port_a), (link.b, link.port_b)})
        yield Failure(f"link s{link.a + 1}-s{link.b + 1}", ends)


def switch_failures(topology: Topology) -> Iterator[Failure]:
    """Yields the failure of every single switch: its links are dead, its hosts cut off."""
    for router in range(topology.routers):
        ends = {
            end
            for link in topology.link_list
            if router in (link.a, link.b)
            for end in ((link.a, link.port_a), (link.b, link.port_b))
        }
        yield Failure(f"switch s{router + 1}", frozenset(ends), frozenset({router}))


@dataclass
class Proof:
    """What a walk found.

    Attributes:
        pairs: ordered pairs of different hosts (that live, where switches fail: the most of any scenario).
        scenarios: the failures tried, no failure being one.
        delivered: pairs, summed over scenarios, whose packets arrive whatever the groups choose.
        max_hops: the longest path found, in links between routers.
        loops, blackholes, misdelivered, over_bound, miscounted: pairs with a choice that circles, is
            dropped, reaches another host, takes more hops than promised, or whose TTL tells other
            than the hops.
        faults: the first of them in words.
    """

    pairs: int = 0
    scenarios: int = 0
    delivered: int = 0
    max_hops: int = 0
    loops: int = 0
    blackholes: int = 0
    misdelivered: int = 0
    over_bound: int = 0
    miscounted: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether everything arrives as promised."""
        found = (self.loops, self.blackholes, self.misdelivered, self.over_bound, self.miscounted)
        return not any(found)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What becomes of packets in one state: the most hops to come, and what may go wrong, where."""

    hops: int
    faults: frozenset[tuple[str, str]] = frozenset()


_DELIVERED = _Verdict(0)


def prove(plan: RoutePlan, failures: Iterable[Failure] = (NO_FAILURE,)) -> Proof:
    """Walks a plan for every ordered pair of hosts under each of `failures`.

    Hop bounds hold for the fabric without failures; under a failure only arrival is asked for.

    Raises:
        PlanError: the plan is no valid content for its switches.
    """
    walker = _Walker(plan)
    proof = Proof()
    for failure in failures:
        walker.scenario(failure, proof)
    return proof


class _Walker:
    def __init__(self, plan: RoutePlan) -> None:
        self._topology = plan.topology
        self._bound = plan.hop_bound
        self._hosts = hosts_of(plan.topology, plan.hosts_per_router)
        self._models = [SwitchModel(switch) for switch in plan.switches]
        self._peers = _peers(plan.topology)
        later = (r for s in plan.switches for r in s.rules if r.table is not Table.INGRESS)
        # Sources can share states as long as no rule past the ingress looks at who sent.
        self._source_matters = bool(fields_read(later) & set(_SOURCE_FIELDS))

    def scenario(self, failure: Failure, proof: Proof) -> None:
        alive = [host for host in self._hosts if host.router not in failure.dead_routers]
        proof.scenarios += 1
        proof.pairs = max(proof.pairs, len(alive) * (len(alive) - 1))
        everyone = np.arange(self._topology.routers)
        for destination in alive:
            distances = self._topology.distances(everyone, destination.router)
            bounds = None if failure.breaks_something else self._bound(distances).tolist()
            walk = _DestinationWalk(self, destination, failure)
            for source in alive:
                if source != destination:
                    bound = None if bounds is None else bounds[source.router]
                    _count(proof, failure, source, destination, walk.verdict(source), bound)

    def arrive(self, router: int, packet: Packet, failure: Failure) -> list[Outcome]:
        dead = frozenset(port for where, port in failure.dead_ends if where == router)
        return self._models[router].process(packet, dead)

    def peer(self, router: int, port: int) -> tuple[int, int] | None:
        return self._peers.get((router, port))

    def host_port(self, host: Host) -> int:
        return self._topology.host_port(host.router, host.index)

    @property
    def source_matters(self) -> bool:
        return self._source_matters


class _DestinationWalk:
    """All states of packets to one host under one failure, each judged once."""

    def __init__(self, walker: _Walker, destination: Host, failure: Failure) -> None:
        self._walker = walker
        self._destination = destination
        self._delivery = (destination.router, walker.host_port(destination))
        self._failure = failure
        self._verdicts: dict[tuple[int, ...], _Verdict | None] = {}

    def verdict(self, source: Host) -> _Verdict:
        packet = {
            "in_port": self._walker.host_port(source),
            "eth_type": ETH_TYPE_IPV4,
            "eth_src": source.mac,
            "eth_dst": self._destination.mac,
            "vlan_vid": NO_VLAN,
            "ipv4_src": source.ip,
            "ipv4_dst": self._destination.ip,
            "ip_dscp": 0,
            "ip_ttl": INITIAL_TTL,
        }
        return self._state(source.router, packet)

    def _state(self, router: int, packet: Packet) -> _Verdict:
        key: tuple[int, ...] = (router, packet["in_port"], packet["vlan_vid"], packet["ip_dscp"])
        if self._walker.source_matters:
            key += (packet["ipv4_src"],)
        if key in self._verdicts:
            known = self._verdicts[key]
            # None marks a state that is being judged: the packet came back to it.
            return known or _Verdict(0, frozenset({("loop", f"at s{router + 1}")}))
        self._verdicts[key] = None
        verdict = self._judge(router, packet)
        self._verdicts[key] = verdict
        return verdict

    def _judge(self, router: int, packet: Packet) -> _Verdict:
        hops = 0
        faults: frozenset[tuple[str, str]] = frozenset()
        for outcome in self._walker.arrive(router, packet, self._failure):
            if len(outcome) != 1:
                kind = "misdelivered" if outcome else "blackhole"
                faults |= {(kind, f"at s{router + 1}")}
                continue
            verdict = self._follow(router, outcome[0])
            hops = max(hops, verdict.hops)
            faults |= verdict.faults
        return _Verdict(hops, faults)

    def _follow(self, router: int, emission: Emission) -> _Verdict:
        port, packet = emission.port, emission.packet
        where = f"out of {interface_name(router, port)}"
        if (router, port) == self._delivery and packet["vlan_vid"] == NO_VLAN:
            counted = packet["ip_ttl"] == INITIAL_TTL
            return _DELIVERED if counted else _Verdict(0, frozenset({("miscounted", where)}))
        peer = self._walker.peer(router, port)
        if peer is None:
            return _Verdict(0, frozenset({("misdelivered", where)}))
        faults: frozenset[tuple[str, str]] = frozenset()
        if packet["ip_ttl"] != INITIAL_TTL - 1:
            faults = frozenset({("miscounted", where)})
        beyond = self._state(peer[0], {**packet, "in_port": peer[1], "ip_ttl": INITIAL_TTL})
        return _Verdict(beyond.hops + 1, beyond.faults | faults)


def _count(
    proof: Proof, failure: Failure, source: Host, destination: Host, verdict: _Verdict, bound: int | None
) -> None:
    found = verdict.faults
    if bound is not None and verdict.hops > bound:
        found |= {("over bound", f"{verdict.hops} hops, promised {bound}")}
    kinds = {kind for kind, _ in found}
    proof.loops += "loop" in kinds
    proof.blackholes += "blackhole" in kinds
    proof.misdelivered += "misdelivered" in kinds
    proof.miscounted += "miscounted" in kinds
    proof.over_bound += "over bound" in kinds
    proof.delivered += not kinds & {"loop", "blackhole", "misdelivered"}
    proof.max_hops = max(proof.max_hops, verdict.hops)
    for kind, where in sorted(found):
        if len(proof.faults) < _FAULTS_KEPT:
            broken = f" with {failure.name} down" if failure.breaks_something else ""
            proof.faults.append(f"{source.name} to {destination.name}{broken}: {kind} {where}")


def _peers(topology: Topology) -> dict[tuple[int, int], tuple[int, int]]:
    """Returns (router, port) -> (router, port) at the link's other end."""
    peers = {}
    for link in topology.link_list:
        peers[link.a, link.port_a] = (link.b, link.port_b)
        peers[link.b, link.port_b] = (link.a, link.port_a)
    return peers
